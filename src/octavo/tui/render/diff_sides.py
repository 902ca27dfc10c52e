"""The two sides of a diff: old and new version, side by side or one above the other. Renders the gutter, notes about
changes, and changed attributes of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block
from octavo.tui.render.styled_lines import Line, StyledText, cells, decoration, indent, pad, with_background, wrap
from octavo.tui.render.styles import PLAIN, Styles

GUTTER = 7
"""Width in cells of the line number and sign that are before each line."""
SIDE_GAP = 3
"""Width in cells of the vertical rule between the old and the new side."""


@dataclass(frozen=True)
class SideWidths:
    """Width of a diff and of one side in cells, equal in a unified diff. `only_new` hides the old version."""

    width: int
    side: int
    only_new: bool = False

    @classmethod
    def for_width(cls, width: int, *, split: bool) -> SideWidths:
        """Return the widths for a diff of `width` cells. If `split`, the old and the new version are side by side."""
        return cls(width, (width - SIDE_GAP) // 2 if split else width)

    @property
    def is_split(self) -> bool:
        """True if the old and the new version are side by side."""
        return self.side < self.width

    @property
    def text_width(self) -> int:
        """Width in cells of the text on one side, without gutter and margin."""
        return self.side - GUTTER - 1


@dataclass
class SidePair:
    """Lines of the old version, and the lines of the new version that are shown next to them."""

    old: list[Line] = field(default_factory=list)
    new: list[Line] = field(default_factory=list)
    is_same: bool = False
    """True if the lines of both versions have the same text. A unified diff then shows only the new lines."""


@dataclass(slots=True)
class SideBySideLine(Line):
    """A row of a split diff. `old_block` is the block at the left, `block` the block at the right."""

    old_block: Block | None = None
    right_start: int = 0
    """Index of the cell where the new version begins."""


def join_sides(pairs: Iterable[SidePair], side_widths: SideWidths, styles: Styles) -> list[Line]:
    """Return the lines of `pairs`. A split diff shows both sides side by side. A unified diff shows changed old lines
    (unless `only_new`) above new lines."""
    lines: list[Line] = []
    for pair in pairs:
        if side_widths.is_split:
            lines += _side_by_side(pair, side_widths, styles)
        else:
            lines += pair.new if pair.is_same or side_widths.only_new else [*pair.old, *pair.new]
    return lines


def merge_replacements(pairs: Iterable[SidePair], side_widths: SideWidths) -> list[SidePair]:
    """Join consecutive changed pairs (the first pair gets the lines), so that all removed lines are above all added
    lines. In a split diff, do not join a pair with old lines to a pair above that has new lines."""
    merged_pairs: list[SidePair] = []
    for pair in pairs:
        last = merged_pairs[-1] if merged_pairs else None
        stays_beside = side_widths.is_split and last is not None and bool(last.new and pair.old)
        if last is not None and not last.is_same and not pair.is_same and not stays_beside:
            last.old += pair.old
            last.new += pair.new
        else:
            merged_pairs.append(pair)
    return merged_pairs


def blank_line(side_widths: SideWidths, styles: Styles) -> Line:
    """Return an empty line. In a split diff, it contains the vertical rule between the sides."""
    return _side_by_side(SidePair([Line([])]), side_widths, styles)[0] if side_widths.is_split else Line([])


def _side_by_side(pair: SidePair, side_widths: SideWidths, styles: Styles) -> list[Line]:
    rule = decoration(f" {styles.glyphs.vertical} ", styles.line)
    lines: list[Line] = []
    for old, new in zip_longest(pair.old, pair.new):
        left = pad(old.pieces if old is not None else [], side_widths.side)
        # If both sides are the same, only the right one has a block, so that the cursor stops there once.
        old_block = old.block if old is not None and not pair.is_same else None
        pieces = [*left, rule, *(new.pieces if new is not None else [StyledText("", PLAIN)])]
        lines.append(
            SideBySideLine(pieces, new.block if new is not None else None, None, old_block, side_widths.side + SIDE_GAP)
        )
    return lines


_ASCII_SIGNS = str.maketrans({"→": "->", "–": "-", "·": "-", "…": "~", "“": '"', "”": '"', "×": "x"})
_MAX_VALUE_LENGTH = 200
"""If the old and the new value of an attribute both have more characters than this, only excerpts are shown."""
_EXCERPT_LENGTH = 40
"""Maximum number of characters of an excerpt."""
_LETTERS_BEFORE_DIFFERENCE = 10
"""Maximum number of characters in an excerpt before the first difference."""
_KINDS_BEFORE_ATTRIBUTES = ("heading", "hint", "page", "code")
"""Kinds of blocks whose name is shown before the attribute, as in “hint style”."""
_DISPLAY_NAMES = {
    "src": "URL",
    "alt": "alternative text",
    "id": "anchor",
    "spaced": "blank lines between items",
    "full_width": "full width",
}


def add_gutter(
    lines: Iterable[Line], sign: str, number: int | None, styles: Styles, width: int, unchanged_style: Style = PLAIN
) -> list[Line]:
    """Return `lines` with `sign` before each and `number` before the first. `sign` is `+`, `-`, `~` (changed), `>`
    (moved) or a space (unchanged). `unchanged_style` is the background of lines that are not added or removed."""
    background = {"+": styles.add_line, "-": styles.remove_line}.get(sign) or unchanged_style
    glyph = {"-": styles.glyphs.minus, " ": styles.glyphs.vertical, ">": styles.glyphs.arrow}.get(sign, sign)
    sign_styles = {"+": styles.success, "-": styles.error, "~": styles.warning, ">": styles.warning}
    sign_style = sign_styles.get(sign, styles.line) + Style(bold=sign != " ")
    all_lines = []
    label = f"{'' if number is None else number:>4} "
    for line in lines:
        pieces = [
            decoration(label, styles.muted),
            decoration(glyph, sign_style),
            decoration(" "),
            *(
                piece._replace(style=piece.style + background) if _is_box_background(piece, styles) else piece
                for piece in line.pieces
            ),
        ]
        all_lines.append(
            Line(pad(with_background(background, pieces), width, background) if background else pieces, line.block)
        )
        label = "     "
    return all_lines


def _is_box_background(piece: StyledText, styles: Styles) -> bool:
    return piece.style.bgcolor is not None and piece.style.bgcolor == styles.surface.bgcolor


def note_lines(text: str, styles: Styles, width: int, sign: str = "~") -> list[Line]:
    """Return a note about a change, such as `moved from line 12`, as lines with `sign` in the gutter."""
    lines = [
        Line(part)
        for part in wrap(
            [StyledText(drawable_text(styles, text), styles.muted + Style(italic=True))], width - GUTTER - 1
        )
    ]
    return add_gutter(lines, sign, None, styles, width)


def drawable_text(styles: Styles, text: str) -> str:
    """Return `text`, with ASCII characters in place of its symbols if only ASCII may be painted."""
    return text.translate(_ASCII_SIGNS) if styles.ascii else text


def note_sides(
    texts: Iterable[str],
    styles: Styles,
    side_widths: SideWidths,
    block: Block | None = None,
    sign: str = "~",
    *,
    is_old_side: bool = False,
) -> list[SidePair]:
    """Return `texts`, notes about `block`, as lines of the new version (old if `is_old_side`). Empty without texts."""
    lines = assign_block([line for text in texts for line in note_lines(text, styles, side_widths.side, sign)], block)
    if not lines:
        return []
    return [SidePair(old=lines) if is_old_side else SidePair(new=lines)]


_UNUSUAL_SPACES = re.compile(r"^ +| +$| {2,}")
_VISIBLE_SPACE = str.maketrans({"\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\f": r"\f"})
"""Escapes that make line breaks and tabs visible."""


def render_attribute_changes(
    changed: Iterable[model.AttributeChange], kind: str, styles: Styles, side_widths: SideWidths, block: Block | None
) -> list[SidePair]:
    """Render changed attributes of a block, such as `hint style: info → warning`. A change that does not fit on one
    line is shown as removed and added lines. Several changed attributes of code share a line."""
    pairs: list[SidePair] = []
    line_text = ""
    for change in changed:
        base_name, comma, rest_of_name = change.name.partition(",")
        name = _DISPLAY_NAMES.get(base_name, base_name) + comma + rest_of_name
        name = f"{kind} {name}" if kind in _KINDS_BEFORE_ATTRIBUTES else name
        old, new = _excerpts_if_long(
            *(" ".join(value.split()) if value is not None else None for value in (change.old, change.new))
        )
        if old == new:
            # The values differ only in white space, so show it.
            old, new = (
                _UNUSUAL_SPACES.sub(lambda match: "·" * len(match[0]), value or "").translate(_VISIBLE_SPACE)
                for value in (change.old, change.new)
            )
        text = f"{name}: {'none' if old is None else old} → {'none' if new is None else new}"
        if cells(text) <= side_widths.text_width:
            joined_text = f"{line_text} {styles.glyphs.separator} {text.removeprefix('code ')}"
            if line_text and kind == "code" and cells(joined_text) <= side_widths.text_width:
                pairs.pop()
                text = joined_text
            pairs += note_sides([text], styles, side_widths, block)
            line_text = text
            continue
        line_text = ""
        sides = []
        prefix = f"{name}: "
        prefix, line_start = (prefix, "") if cells(prefix) <= side_widths.text_width // 2 else ("", prefix)
        for sign, value in (("-", old), ("+", new)):
            pieces = [StyledText(line_start + value, styles.text)] if value is not None else []
            lines = (
                [Line(part, block) for part in wrap(pieces, side_widths.text_width - cells(prefix))] if pieces else []
            )
            sides.append(add_gutter(hang_indent(lines, prefix, styles), sign, None, styles, side_widths.side))
        pairs.append(SidePair(sides[0], sides[1]))
    return pairs


def _excerpts_if_long(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    if old is None or new is None or min(len(old), len(new)) <= _MAX_VALUE_LENGTH:
        return old, new
    start = max(0, model.common_prefix_length(old, new) - _LETTERS_BEFORE_DIFFERENCE)
    return f"…{old[start : start + _EXCERPT_LENGTH]}…", f"…{new[start : start + _EXCERPT_LENGTH]}…"


def assign_block(lines: list[Line], block: Block | None) -> list[Line]:
    """Set the block of each line in `lines` that has text but no block yet. Return `lines`."""
    for line in lines:
        if line.block is None and line.pieces:
            line.block = block
    return lines


def hang_indent(lines: list[Line], prefix: str, styles: Styles) -> list[Line]:
    """Return `lines` with a prefix such as a bullet before the first, and as many spaces before the others."""
    if not prefix:
        return lines
    return indent(lines, [decoration(prefix, styles.muted)], [decoration(" " * cells(prefix))])
