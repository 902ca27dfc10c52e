"""Rendering of inline text: marks, links, code, keys, mentions, buttons and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Run
from octavo.documents.html import file_name
from octavo.lazy_import import lazy
from octavo.tui.render.icons import SUBSCRIPTS, SUPERSCRIPTS, icon_sign, icon_words
from octavo.tui.render.link_targets import LinkDestination, link_destination
from octavo.tui.render.styled_lines import Clickable, Piece, flatten_emoji
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.tui.render.link_targets import LinkTargets

_format_inline = lazy("octavo.tui.render.formulas:format_inline")

_LONGEST_SCRIPT = 3
"""Maximum number of letters of a text that is shown as superscript or subscript."""
_WORD_SEPARATORS = re.compile(r"[\s_-]+")
_BLANKS = re.compile(r"[ \t]+")
_MARKS = {
    "bold": Style(bold=True),
    "italic": Style(italic=True),
    "strike": Style(strike=True),
    "underline": Style(underline=True),
}


def icon_text(name: str, text: str, styles: Styles) -> str:
    """Return the character for an icon, or its name in brackets. Empty if that name is part of the adjacent `text`."""
    if sign := icon_sign(name, ascii=styles.ascii):
        return sign
    words = icon_words(name)
    if words is None:
        return styles.glyphs.diamond
    return "" if words.replace(" ", "") in _WORD_SEPARATORS.sub("", fold(text)) else non_breaking(f"[{words}]", styles)


def label_with_icon(name: object, label: str, styles: Styles) -> str:
    """Return a label with its icon before it, if it has an icon."""
    sign = icon_text(str(name), label, styles) if name else ""
    return f"{sign} {flatten_emoji(label)}" if sign else flatten_emoji(label)


def render_runs(
    runs: Iterable[Run], styles: Styles, base: Style | None = None, targets: LinkTargets | None = None
) -> list[Piece]:
    """Return runs as styled text on the style `base`. A line feed marks a line break. `targets` gives the titles and
    destinations of links."""
    return [piece for part in render_each_run(_collapse_blanks(runs), styles, base, targets) for piece in part]


def _collapse_blanks(runs: Iterable[Run]) -> list[Run]:
    """Return runs with repeated spaces collapsed, as in a browser. Spaces at the start of a line are kept as its
    indent."""
    out: list[Run] = []
    before = "\n"
    for run in runs:
        text = run.text
        is_spread = "  " in text or "\t" in text or (before == " " and text[:1] == " ")
        if is_spread and run.kind == "text" and "code" not in run.marks:
            words = text.lstrip(" \t") if before in ("\n", " ") else text
            indent = text[: len(text) - len(words)] if before == "\n" else ""
            text = indent + _BLANKS.sub(" ", words)
            run = run._replace(text=text)
        before = text[-1:] or (before if run.kind == "text" else "\ufffc")
        out.append(run)
    return out


def render_each_run(
    runs: Iterable[Run], styles: Styles, base: Style | None = None, targets: LinkTargets | None = None
) -> list[list[Piece]]:
    """Return the styled text of each run."""
    background = styles.text if base is None else base
    out: list[list[Piece]] = []
    spot: Clickable | None = None
    every = list(runs)
    for index, run in enumerate(every):
        if run.kind == "icon":
            beside = [each.text for each in (*every[max(0, index - 1) : index], *every[index + 1 : index + 2])]
            run = run._replace(text=icon_text(str(run.attrs.get("name", "")), " ".join(beside), styles))
            if not run.text and every[index + 1 :] and (not index or every[index - 1].text[-1:].isspace()):
                every[index + 1] = every[index + 1]._replace(text=every[index + 1].text.removeprefix(" "))
        first = index == 0 or not _same_link(every[index - 1], run)
        last = index + 1 == len(every) or not _same_link(run, every[index + 1])
        if run.link and run.kind != "image":
            if spot is None or spot.target != run.link or first:
                spot = _clickable_of_link(run.link)
        else:
            spot = None
        shown = targets.replacement_text(run, alone=first and last) if targets is not None and run.link else None
        if shown is not None:
            run = run._replace(text=shown, kind="text")
        out.append(_render_run(run, styles, background, spot, (first, last), targets))
    return out


def _same_link(first: Run, second: Run) -> bool:
    kinds = ("mention", "button")
    return first.link == second.link and first.kind not in kinds and second.kind not in kinds


def _clickable_of_link(address: str) -> Clickable | None:
    return None if link_destination(address) is LinkDestination.REFUSED else Clickable("link", address)


def _render_run(
    run: Run,
    styles: Styles,
    background: Style,
    spot: Clickable | None,
    ends: tuple[bool, bool],
    targets: LinkTargets | None,
) -> list[Piece]:
    """Return the styled text of one run. `ends` has two values: True if a link begins with the run, and True if a link
    ends with the run."""
    text = flatten_emoji(run.text.replace("\t", " "))
    if styles.ascii:
        text = text.replace("•", styles.glyphs.bullets[0])
    style = background
    if run.kind != "text":
        special = _render_special_run(run, text, styles, background, spot, targets)
        if special is not None:
            return special
    if "kbd" in run.marks:
        return [Piece(non_breaking(f" {text} ", styles), styles.chip, spot)]
    if run.marks or run.attrs or run.kind != "text":
        text, style = _with_script_letters(run, text, styles, _run_style(run, styles, background))
    if run.kind == "mention":
        text = text.removesuffix(".md")
    if run.link is None:
        return [Piece(text, style)]
    where = link_destination(run.link) if targets is None else targets.destination(run.link)
    return _render_link(where, text, style, styles, spot, ends)


def _render_special_run(
    run: Run, text: str, styles: Styles, background: Style, spot: Clickable | None, targets: LinkTargets | None
) -> list[Piece] | None:
    """Return the styled text of a run that is more than text, such as an image or a button. None for text."""
    attrs, glyphs = run.attrs, styles.glyphs
    match run.kind:
        case "emoji" if styles.ascii and (name := str(attrs.get("code", ""))) and not text.isascii():
            return [Piece(f":{name}:", background, spot)]
        case "break":
            return [Piece("\n", background)]
        case "image":
            name = text.strip() or file_name(str(attrs.get("src") or "")) or "image"
            style, seen = styles.muted + Style(italic=True), Clickable("image", str(attrs.get("src") or ""))
            sign = non_breaking(f"{glyphs.picture} ", styles)  # The sign stays on the line of its name.
            if run.link is None:
                return [Piece(f"{sign}{name}", style, seen)]
            where = link_destination(run.link) if targets is None else targets.destination(run.link)
            linked = _render_link(where, name, style, styles, _clickable_of_link(run.link), (True, True))
            return [Piece(sign, style, seen), *linked]
        case "icon":
            return [Piece(text, background + styles.accent, spot)] if text else []
        case "math":
            return [Piece(_format_inline(text, ascii=styles.ascii), background + Style(italic=True), spot)]
        case "expression":
            return [Piece(f"{{{text}}}", styles.code, spot)]
        case "button":
            return _render_button(run, text.strip(), styles, background, spot, targets)
        case "footnote":
            note = Clickable("note", str(attrs.get("label") or text))
            if attrs.get("inline"):
                dotted = Piece(text, background + Style(underline=True), spot or note)
                return [dotted, Piece(glyphs.note, styles.accent, note if spot else dotted.clickable, True)]
            mark = f"[{text}]" if styles.ascii or not text.isdigit() else superscript(text)
            return [Piece(mark, styles.accent, note)]
    return None


def _run_style(run: Run, styles: Styles, background: Style) -> Style:
    """Return the style of a run of text, by its marks and its color."""
    style = background
    for mark in run.marks:
        if (more := _MARKS.get(mark)) is not None:
            style += more
    if colour := run.attrs.get("color"):
        style += styles.style_for_color(str(colour))
    if "mark" in run.marks and (run.attrs.get("background") or not colour):
        style = styles.cursor + style if not styles.mono else style + Style(reverse=True)
    if run.kind == "code" or "code" in run.marks:
        style = styles.code + Style(bold=style.bold, italic=style.italic, strike=style.strike)
    return style


def _with_script_letters(run: Run, text: str, styles: Styles, style: Style) -> tuple[str, Style]:
    """Return the text of a run with its style. Superscript and subscript are drawn with small characters."""
    if "sup" in run.marks or "sub" in run.marks:
        if len(text) > _LONGEST_SCRIPT and any(char.isalpha() for char in text):
            style += styles.muted  # Not small letters: words in superscript are hard to read.
        elif styles.ascii:
            text = f"^{text}" if "sup" in run.marks else f"_{text}"
        else:
            text = superscript(text) if "sup" in run.marks else subscript(text)
    return text, style


def _render_button(
    run: Run, label: str, styles: Styles, background: Style, spot: Clickable | None, targets: LinkTargets | None
) -> list[Piece]:
    """Return a button. A button with a broken link looks disabled, and gives the reason when it is pressed."""
    attrs = run.attrs
    style = styles.button if attrs.get("style") == "primary" else styles.chip
    if spot is None and attrs.get("action") in ("ask", "search", "select"):
        spot = Clickable(str(attrs["action"]), str(attrs.get("query") or label))
    spot = None if attrs.get("disabled") else spot
    where = (
        None
        if spot is None or not run.link
        else link_destination(run.link)
        if targets is None
        else targets.destination(run.link)
    )
    if spot is None or where is LinkDestination.BROKEN:
        style = styles.disabled
    label = label_with_icon(attrs.get("icon"), label, styles)
    broken = [Piece(styles.glyphs.no, styles.error, None, True)] if where is LinkDestination.BROKEN else []
    return [Piece(non_breaking(f" {label} ", styles), style, spot), *broken, Piece(" ", background, None, True)]


def non_breaking(text: str, styles: Styles) -> str:
    """Return a text with non-breaking spaces, so that a button or a key is not wrapped."""
    return text if styles.ascii or len(text) > 40 else text.replace(" ", "\u00a0")


def _render_link(
    where: LinkDestination, text: str, style: Style, styles: Styles, spot: Clickable | None, ends: tuple[bool, bool]
) -> list[Piece]:
    """Return the text of a link and its sign. Spaces at its ends are outside the link, and a link of only spaces is not
    shown, as in a browser."""
    first, last = ends
    words = text.lstrip() if first else text
    before, words = text[: len(text) - len(words)], words.rstrip() if last else words
    if first and last and not words:
        return [Piece(text, style)]
    out = [Piece(before, style)] if before else []
    after = text[len(before) + len(words) :]
    glyphs = styles.glyphs
    sign: Piece | None = None
    match where:
        case LinkDestination.BROKEN:
            piece = Piece(words, style + styles.error + Style(underline=True), spot)
            sign = Piece(glyphs.no, styles.error, None, True)
        case LinkDestination.REFUSED:
            piece = Piece(words, style)
            sign = Piece(glyphs.no, styles.error, None, True)
        case LinkDestination.OUTSIDE:
            piece = Piece(words, style + styles.link, spot)
            sign = Piece(glyphs.outside, styles.accent, spot, True)
        case _:
            piece = Piece(words, style + styles.link, spot)
    out += [piece] if words else []
    out += [sign] if sign and last else []
    return [*out, Piece(after, style)] if after else out


def superscript(text: str) -> str:
    """Return a text in superscript characters, or with `^` before it if a character is missing."""

    return text.translate(SUPERSCRIPTS) if all(ord(c) in SUPERSCRIPTS for c in text) else f"^{text}"


def subscript(text: str) -> str:
    """Return a text in subscript characters, or with `_` before it if a character is missing."""

    return text.translate(SUBSCRIPTS) if all(ord(c) in SUBSCRIPTS for c in text) else f"_{text}"
