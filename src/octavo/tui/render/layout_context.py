"""Values that renderers of blocks need (`LayoutContext`), expanded blocks (`ViewState`), and inline text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from rich.style import Style

from octavo.api.folding import fold
from octavo.api.safety import safe_line
from octavo.documents.blocks import Block, Run
from octavo.lazy_import import lazy
from octavo.tui.render.block_slices import child_above_slice
from octavo.tui.render.deferred import LinkDestination, link_destination
from octavo.tui.render.styled_lines import Clickable, Line, StyledText, decoration, flatten_emoji, wrap
from octavo.tui.render.styles import SUBSCRIPTS, SUPERSCRIPTS, Styles, icon_sign, icon_words

if TYPE_CHECKING:
    from octavo.tui.render.deferred import DeferredContent, LinkTargets, LinkTitle

_format_inline = lazy("octavo.tui.render.formulas:format_inline")


_MAX_SCRIPT_LENGTH = 3
"""A superscript or subscript with more letters is shown muted instead of in small letters."""
_LONG_SCRIPT = re.compile(rf"(?=.*[^\W\d_])\S.{{{_MAX_SCRIPT_LENGTH},}}")
_WORD_SEPARATORS = re.compile(r"[\s_-]+")
_BLANKS = re.compile(r"[ \t]+")
_MARKS = {
    "bold": Style(bold=True),
    "italic": Style(italic=True),
    "strike": Style(strike=True),
    "underline": Style(underline=True),
}


def icon_text(name: str, text: str, styles: Styles) -> str:
    """Return the character for the icon `name`. Without a character, return its name such as `[rocket]`, or
    an empty string if the adjacent `text` already contains the name. Return a diamond if `name` is not valid."""
    if sign := icon_sign(name, ascii=styles.ascii):
        return sign
    words = icon_words(name)
    if words is None:
        return styles.glyphs.diamond
    return "" if words.replace(" ", "") in _WORD_SEPARATORS.sub("", fold(text)) else non_breaking(f"[{words}]", styles)


def label_with_icon(icon_name: object, label: str, styles: Styles) -> str:
    """Return a label, with the character of its icon before it. Without an icon, return the label alone."""
    sign = icon_text(str(icon_name), label, styles) if icon_name else ""
    return f"{sign} {flatten_emoji(label)}" if sign else flatten_emoji(label)


def file_label(address: str) -> str:
    """Return the decoded file name at the end of a URL or path, else the whole text. Empty for a `data:` URL."""
    if address[:5].lower() == "data:":
        return ""
    path = address.split("?")[0].split("#")[0].rstrip("/")
    # The last part of the URL of an upload is a path with escaped slashes.
    return flatten_emoji(safe_line(unquote(path.rsplit("/", 1)[-1]).rsplit("/", 1)[-1]) or address)


def render_runs(
    runs: Iterable[Run], styles: Styles, base: Style | None = None, targets: LinkTargets | None = None
) -> list[StyledText]:
    """Return inline text as styled text. `base` is the style of text without marks. `targets` has titles of links."""
    return [piece for part in render_each_run(_collapse_blanks(runs), styles, base, targets) for piece in part]


def _collapse_blanks(runs: Iterable[Run]) -> list[Run]:
    """Return inline text with one space for several spaces or tabs, except in code and at the start of a line."""
    collapsed_runs: list[Run] = []
    last_letter = "\n"
    for run in runs:
        text = run.text
        is_spread = "  " in text or "\t" in text or (last_letter == " " and text[:1] == " ")
        if is_spread and run.kind == "text" and "code" not in run.marks:
            words = text.lstrip(" \t") if last_letter in ("\n", " ") else text
            indent = text[: len(text) - len(words)] if last_letter == "\n" else ""
            text = indent + _BLANKS.sub(" ", words)
            run = run._replace(text=text)
        last_letter = text[-1:] or (last_letter if run.kind == "text" else "\ufffc")
        collapsed_runs.append(run)
    return collapsed_runs


def render_each_run(
    runs: Iterable[Run], styles: Styles, base: Style | None = None, targets: LinkTargets | None = None
) -> list[list[StyledText]]:
    """Return the styled text of each run separately. See `render_runs` for the parameters."""
    background = styles.text if base is None else base
    pieces_of_runs: list[list[StyledText]] = []
    clickable: Clickable | None = None
    all_runs = list(runs)
    for index, run in enumerate(all_runs):
        if run.kind == "icon":
            adjacent_texts = [
                each.text for each in (*all_runs[max(0, index - 1) : index], *all_runs[index + 1 : index + 2])
            ]
            run = run._replace(text=icon_text(str(run.attrs.get("name", "")), " ".join(adjacent_texts), styles))
            if not run.text and all_runs[index + 1 :] and (not index or all_runs[index - 1].text[-1:].isspace()):
                all_runs[index + 1] = all_runs[index + 1]._replace(text=all_runs[index + 1].text.removeprefix(" "))
        is_script = bool({"sup", "sub"} & run.marks) and index > 0
        if is_script and all_runs[index - 1].text[-1:].isalnum() and _LONG_SCRIPT.fullmatch(run.text):
            # In `Q<sub>stock</sub>`, two words without a sign between them would look like one.
            run = run._replace(text=("^" if "sup" in run.marks else "_") + run.text)
        is_first = index == 0 or not _is_same_link(all_runs[index - 1], run)
        is_last = index + 1 == len(all_runs) or not _is_same_link(run, all_runs[index + 1])
        if run.link and run.kind != "image":
            if clickable is None or clickable.target != run.link or is_first:
                clickable = _clickable_of_link(run.link)
        else:
            clickable = None
        replacement = (
            targets.replacement_text(run, is_whole_link=is_first and is_last)
            if targets is not None and run.link
            else None
        )
        if replacement is not None:
            run = run._replace(text=replacement, kind="text")
        pieces_of_runs.append(_render_run(run, styles, background, clickable, (is_first, is_last), targets))
    return pieces_of_runs


def _is_same_link(first: Run, second: Run) -> bool:
    kinds = ("mention", "button")
    return first.link == second.link and first.kind not in kinds and second.kind not in kinds


def _clickable_of_link(address: str) -> Clickable | None:
    return None if link_destination(address) is LinkDestination.REFUSED else Clickable("link", address)


def _render_run(
    run: Run,
    styles: Styles,
    background: Style,
    clickable: Clickable | None,
    ends: tuple[bool, bool],
    targets: LinkTargets | None,
) -> list[StyledText]:
    """Return the styled text of a run. `ends` says whether it is the first, and the last, run of its link."""
    text = flatten_emoji(run.text.replace("\t", " "))
    if styles.ascii:
        text = text.replace("•", styles.glyphs.bullets[0])
    style = background
    if run.kind != "text":
        special = _render_special_run(run, text, styles, background, clickable, targets)
        if special is not None:
            return special
    if "kbd" in run.marks:
        return [StyledText(non_breaking(f" {text} ", styles), styles.chip, clickable)]
    if run.marks or run.attrs or run.kind != "text":
        text, style = _with_script_letters(run, text, styles, _run_style(run, styles, background))
    if run.kind == "mention":
        text = text.removesuffix(".md")
    if run.link is None:
        return [StyledText(text, style)]
    destination = link_destination(run.link, targets)
    return _render_link(destination, text, style, styles, clickable, ends)


def _render_special_run(
    run: Run, text: str, styles: Styles, background: Style, clickable: Clickable | None, targets: LinkTargets | None
) -> list[StyledText] | None:
    """Return the styled text of a run such as an emoji, button or formula. None if it is rendered like plain text."""
    attrs, glyphs = run.attrs, styles.glyphs
    match run.kind:
        case "emoji" if styles.ascii and (name := str(attrs.get("code", ""))) and not text.isascii():
            return [StyledText(f":{name}:", background, clickable)]
        case "break":
            return [StyledText("\n", background)]
        case "image":
            name = text.strip() or file_label(str(attrs.get("src") or "")) or "image"
            style, clickable_image = styles.muted + Style(italic=True), Clickable("image", str(attrs.get("src") or ""))
            sign = non_breaking(f"{glyphs.image} ", styles)  # Keep the sign on the line of its name.
            if run.link is None:
                return [StyledText(f"{sign}{name}", style, clickable_image)]
            destination = link_destination(run.link, targets)
            linked = _render_link(destination, name, style, styles, _clickable_of_link(run.link), (True, True))
            return [StyledText(sign, style, clickable_image), *linked]
        case "icon":
            return [StyledText(text, background + styles.accent, clickable)] if text else []
        case "math":
            return [StyledText(_format_inline(text, ascii=styles.ascii), background + Style(italic=True), clickable)]
        case "expression":
            return [StyledText(f"{{{text}}}", styles.code, clickable)]
        case "button":
            return _render_button(run, text.strip(), styles, background, clickable, targets)
        case "footnote":
            label = str(attrs.get("label") or text)
            note = Clickable("note", label)
            mark = f"[{label}]" if styles.ascii or not label.isdigit() else superscript(label)
            if not attrs.get("inline"):
                return [StyledText(mark, styles.accent, note)]
            underlined = StyledText(text, background + Style(underline=True), clickable or note)
            return [underlined, decoration(mark, styles.accent, note)]
    return None


def _run_style(run: Run, styles: Styles, background: Style) -> Style:
    style = background
    for mark in run.marks:
        if (mark_style := _MARKS.get(mark)) is not None:
            style += mark_style
    if color := run.attrs.get("color"):
        style += styles.style_for_color(str(color))
    if "mark" in run.marks and (run.attrs.get("background") or not color):
        style = styles.cursor + style if not styles.is_monochrome else style + Style(reverse=True)
    if run.kind == "code" or "code" in run.marks:
        style = styles.code + Style(bold=style.bold, italic=style.italic, strike=style.strike)
    return style


def _with_script_letters(run: Run, text: str, styles: Styles, style: Style) -> tuple[str, Style]:
    """Return the text and the style of a run. Superscript gets raised letters, subscript lowered letters, and without
    Unicode a `^` or `_` before the text. Long text with letters is only muted."""
    if "sup" in run.marks or "sub" in run.marks:
        if len(text) > _MAX_SCRIPT_LENGTH and any(char.isalpha() for char in text):
            style += styles.muted  # Words in superscript letters are hard to read.
        elif styles.ascii:
            text = f"^{text}" if "sup" in run.marks else f"_{text}"
        else:
            text = superscript(text) if "sup" in run.marks else subscript(text)
    return text, style


def _render_button(
    run: Run, label: str, styles: Styles, background: Style, clickable: Clickable | None, targets: LinkTargets | None
) -> list[StyledText]:
    """Render a button. The button looks disabled if it is disabled in the page, does nothing, or has a broken link."""
    attrs = run.attrs
    style = styles.button if attrs.get("style") == "primary" else styles.chip
    if clickable is None and attrs.get("action") in ("ask", "search", "select"):
        clickable = Clickable(str(attrs["action"]), str(attrs.get("query") or label))
    clickable = None if attrs.get("disabled") else clickable
    destination = None if clickable is None or not run.link else link_destination(run.link, targets)
    if clickable is None or destination is LinkDestination.BROKEN:
        style = styles.disabled
    label = label_with_icon(attrs.get("icon"), label, styles)
    broken = [decoration(styles.glyphs.no, styles.error)] if destination is LinkDestination.BROKEN else []
    return [StyledText(non_breaking(f" {label} ", styles), style, clickable), *broken, decoration(" ", background)]


def non_breaking(text: str, styles: Styles) -> str:
    """Return `text` with non-breaking spaces. Unchanged above 40 characters, or if only ASCII may be painted."""
    return text if styles.ascii or len(text) > 40 else text.replace(" ", "\u00a0")


def _render_link(
    destination: LinkDestination,
    text: str,
    style: Style,
    styles: Styles,
    clickable: Clickable | None,
    ends: tuple[bool, bool],
) -> list[StyledText]:
    """Render one of the runs of a link. `ends` is (True for the first run, True for the last run). The last run gets a
    sign if the link is broken, refused or external. White space at both ends of the link stays plain."""
    first, last = ends
    words = text.lstrip() if first else text
    before, words = text[: len(text) - len(words)], words.rstrip() if last else words
    if first and last and not words:
        return [StyledText(text, style)]
    result = [StyledText(before, style)] if before else []
    after = text[len(before) + len(words) :]
    glyphs = styles.glyphs
    sign: StyledText | None = None
    match destination:
        case LinkDestination.BROKEN:
            piece = StyledText(words, style + styles.error + Style(underline=True), clickable)
            sign = decoration(glyphs.no, styles.error)
        case LinkDestination.REFUSED:
            piece = StyledText(words, style)
            sign = decoration(glyphs.no, styles.error)
        case LinkDestination.OUTSIDE:
            piece = StyledText(words, style + styles.link, clickable)
            sign = decoration(glyphs.external, styles.accent, clickable)
        case _:
            piece = StyledText(words, style + styles.link, clickable)
    result += [piece] if words else []
    result += [sign] if sign and last else []
    return [*result, StyledText(after, style)] if after else result


def superscript(text: str) -> str:
    """Return `text` in superscript characters. If Unicode lacks one of these characters, return `^` and `text`."""
    return text.translate(SUPERSCRIPTS) if all(ord(letter) in SUPERSCRIPTS for letter in text) else f"^{text}"


def subscript(text: str) -> str:
    """Return a text in subscript characters, or `_` and the text if Unicode lacks one of the characters."""
    return text.translate(SUBSCRIPTS) if all(ord(letter) in SUBSCRIPTS for letter in text) else f"_{text}"


T = TypeVar("T")

MIN_BLOCK_WIDTH = 16
"""Minimum width in cells in which a block is rendered, however deeply it is nested."""


@dataclass
class ViewState:
    """Blocks that the user expanded, tabs that are selected, and how far wide blocks are scrolled. Kept when the page
    is reloaded. Blocks are identified by their keys."""

    expanded: dict[str, bool] = field(default_factory=dict)
    """True for a block that the user expanded, False for a block that the user collapsed, by block key."""
    tab_selections: dict[str, int] = field(default_factory=dict)
    """A number for each tab that was selected, by slug. The tab that was selected last has the highest number."""
    pan_offsets: dict[str, int] = field(default_factory=dict)
    """Number of cells by which each wide block is scrolled to the right, by block key."""
    overflow: dict[str, int] = field(default_factory=dict)
    """Number of cells that did not fit when a wide block was last rendered, by block key."""

    @property
    def snapshot(self) -> tuple[dict[str, bool], dict[str, int], dict[str, int]]:
        """Copies of the expanded blocks, selected tabs and offsets. Equal copies mean equal rendered lines."""
        return self.expanded.copy(), self.tab_selections.copy(), self.pan_offsets.copy()

    def copy(self) -> ViewState:
        """Return a copy whose dictionaries can be changed without an effect on this state."""
        expanded, tab_selections, pan_offsets = self.snapshot
        return ViewState(expanded, tab_selections, pan_offsets, self.overflow.copy())

    def pan_offset(self, key: str, overflow: int, start: int = 0) -> int:
        """Return how many cells the block `key` is scrolled to the right. Store `overflow`, the number of cells that do
        not fit. `start` is the offset until the user scrolls the block."""
        self.overflow[key] = overflow
        if start:
            self.pan_offsets.setdefault(key, start)
        return min(self.pan_offsets.get(key, 0), overflow)

    def pan_by(self, key: str, step: int) -> bool:
        """Scroll the block `key` right by `step` cells, or left if negative. Return whether the block moved."""
        previous_offset = min(self.pan_offsets.get(key, 0), self.overflow.get(key, 0))
        offset = self.pan_offsets[key] = max(0, min(previous_offset + step, self.overflow.get(key, 0)))
        return offset != previous_offset

    def is_expanded(self, block: Block) -> bool:
        """Return whether a collapsible block shows all its content. The page decides until the user toggles it."""
        return self.expanded.get(
            block.key, bool(block.attrs.get("open")) or block.attrs.get("expanded") in (True, "full")
        )

    def toggle(self, block: Block, *, is_whole: bool = False) -> None:
        """Collapse a block that is expanded, or whose text is all visible (`is_whole`). Otherwise, expand the block."""
        self.expanded[block.key] = not (is_whole or self.is_expanded(block))

    def choose_tab(self, tab: Block) -> None:
        """Select a tab and all other tabs with the same slug."""
        self.tab_selections[tab_slug(tab)] = max(self.tab_selections.values(), default=0) + 1

    def selected_tab_index(self, tabs: Block) -> int:
        """Return the index of the visible tab of a tabs block. 0 if the user has selected none of its tabs."""
        if not self.tab_selections:
            return 0
        times = [self.tab_selections.get(tab_slug(tab), 0) for tab in tabs.children]
        return times.index(max(times)) if times else 0

    def hides_child(self, parent: Block, child: Block) -> bool:
        """Return True if `child` is not visible in `parent`: `parent` is collapsed, or `child` is an unselected tab."""
        if parent.kind in ("expandable", "prompt"):
            return not self.is_expanded(parent)
        return parent.kind == "tabs" and parent.children[self.selected_tab_index(parent)] is not child

    def hides(self, path: Sequence[Block]) -> bool:
        """Return True if the last block of `path` is not visible. The others are its containers, outermost first."""
        return any(self.hides_child(parent, child) for parent, child in pairwise(path))

    def expand_path(self, path: Sequence[Block]) -> bool:
        """Expand containers and select tabs to show the last block of `path`. Return False if nothing changed."""
        has_changed = False
        for parent, child in pairwise(path):
            if self.hides_child(parent, child):
                has_changed = True
                if parent.kind == "tabs":
                    self.choose_tab(child)
                else:
                    self.expanded[parent.key] = True
        return has_changed


def path_to_block(block: Block, key: str) -> list[Block]:
    """Return the blocks from `block` down to the block with `key`, including both. Empty if `block` lacks the key."""
    path: list[Block] = []
    iterators = [iter((block,))]
    while iterators:
        for candidate in iterators[-1]:
            path.append(candidate)
            if candidate.key == key:
                return path
            iterators.append(iter(candidate.children))
            break
        else:
            iterators.pop()
            del path[-1:]
    return []


def tab_slug(tab: Block) -> str:
    """Return the folded slug of a tab, else its folded title. Tabs with the same slug are selected together."""
    return fold(str(tab.attrs.get("slug") or tab.attrs.get("title") or "")).strip()


@dataclass
class LayoutContext:
    """Values that the renderers of all blocks of a page need: styles, expanded blocks, widths and deferred content."""

    styles: Styles
    view_state: ViewState
    render_block: Callable[[LayoutContext, Block, int], list[Line]]
    """Function that renders a block. The last argument is the width in cells."""
    available_width: int = 0
    """Maximum width in cells of a table or code at the top level. The table or code may be wider than the text."""
    spare_width: int = 0
    """Number of cells by which the current block may be wider than the text around it. 0 inside a box."""
    ignores_code_wrap: bool = False
    """True if code is not wrapped, even with the attribute `wrap`. Lines split into slices are always wrapped."""
    source_of: Callable[[Block], str] = field(default=lambda block: "")
    """Returns the Markdown of a block, to show if the block cannot be rendered. Empty if it is not known."""
    has_heading_rules: bool = True
    """True if a rule is drawn below large headings."""
    has_background: bool = False
    """True if the container of the current block has drawn a background."""
    depth: int = 0
    list_depth: int = 0
    deferred: DeferredContent | None = None
    block_above: Block | None = None
    """The block above the current block in the same container. None for the first block."""
    _shared_results: dict[tuple[str, int, int], tuple[Block, Any]] = field(default_factory=dict)
    """Results of `shared_by_slices`. Each is stored with its block, so that no other block can get the same `id()`."""

    def render_blocks(
        self,
        blocks: Iterable[Block],
        width: int,
        *,
        is_tight: bool = False,
        above: Block | None = None,
        may_be_wide: bool = False,
    ) -> list[Line]:
        """Render blocks one below the other. `is_tight` leaves out blank lines between them. `above` is the block above
        the first. `may_be_wide` allows blocks to be wider than the text."""
        width = max(width, MIN_BLOCK_WIDTH)
        spare_width = self.spare_width
        # The text is centered, so half of the spare cells are at its left.
        self.spare_width = 0 if not may_be_wide else spare_width // 2 if self.depth == 0 else spare_width
        self.depth += 1
        all_lines: list[Line] = []
        previous_block = above
        for block in blocks:
            self.block_above = previous_block
            lines = self.render_block(self, block, width)
            if not lines:
                continue
            if previous_block is not None and not is_tight:
                all_lines += [Line([]) for _ in range(blank_lines_between(previous_block, block))]
            all_lines += lines
            previous_block = block
        self.depth -= 1
        self.spare_width = spare_width
        return all_lines

    def render_children(self, block: Block, width: int, *, may_be_wide: bool = False) -> list[Line]:
        """Render the children of a block or slice, one below the other. See `render_blocks`."""
        return self.render_blocks(block.children, width, above=child_above_slice(block), may_be_wide=may_be_wide)

    def text_lines(self, runs: Iterable[Run], width: int, style: Style | None = None) -> list[Line]:
        """Return inline text with styles, wrapped to `width` cells."""
        return [Line(pieces) for pieces in wrap(self.styled_runs(runs, style), width)]

    def styled_runs(self, runs: Iterable[Run], style: Style | None = None) -> list[StyledText]:
        """Return inline text with styles. A link text that only repeats its URL becomes the title of its target."""
        return render_runs(runs, self.styles, style, self.link_targets)

    def shared_by_slices(self, name: str, whole: Block, compute: Callable[[Block], T], available_width: int = 0) -> T:
        """Return `compute(whole)`, computed once for all slices of a block. Stored by `name` and `available_width`."""
        key = name, id(whole), available_width
        if key not in self._shared_results:
            self._shared_results[key] = whole, compute(whole)
        result: T = self._shared_results[key][1]
        return result

    @property
    def link_targets(self) -> LinkTargets | None:
        """Object that resolves the links of the page. None if the links are not resolved."""
        return self.deferred.targets if self.deferred is not None else None

    def title_of(self, address: str) -> LinkTitle | None:
        """Return the title of the page, space or file that a URL or path leads to. None if it is not known."""
        return self.link_targets.title_of(address) if self.link_targets is not None else None

    def max_width(self, width: int) -> int:
        """Return the maximum width in cells of a block such as a table, if the text around it is `width` cells wide."""
        return width + self.spare_width


def blank_lines_between(previous: Block, block: Block) -> int:
    if previous.kind == block.kind and block.kind in ("content-ref", "file", "embed", "include"):
        return 0
    is_section = block.kind == "heading" and block.attrs.get("level", 2) <= 2
    return 2 if is_section and previous.kind not in ("heading", "divider") else 1
