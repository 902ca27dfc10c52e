"""The text of a comment with its suggestions as word diffs."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.suggestions import suggestions
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_lines import set_diff_unit
from octavo.tui.render.diff_sequence import changes, source_changes
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.diff_units import Unfolding
from octavo.tui.render.layout import lay_out, set_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.quotes import lines_kept
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.styles import Styles


def suggestion_lines(
    text: str, compared: Sequence[Compared], width: int, look: Styles, notes: Sequence[Sequence[Line]] = ()
) -> list[Line]:
    """Return the lines of a comment. `compared` has a comparison for each suggestion in `text`, and `notes` the lines
    between its label and its diff."""
    from octavo.documents.parse import parse  # lazy: the parser, 30 ms

    out: list[Line] = []
    written, start = text.split("\n"), 0

    def words(end: int) -> None:
        part = lines_kept("\n".join(written[start:end]))
        if part.strip():
            out.extend(lay_out(parse(part).blocks, width, look, source=part).lines)
            out.append(Line([]))

    for number, (each, one) in enumerate(zip(suggestions(text), compared, strict=True)):
        words(each.lines[0])
        out.append(Line([Piece("Suggested change", look.muted)]))
        out += [*(notes[number] if notes else ()), *_diff_lines(one, width, look), Line([])]
        start = each.lines[1]
    words(len(written))
    return out[:-1]


def _diff_lines(compared: Compared, width: int, look: Styles) -> list[Line]:
    found = changes(compared.diff, Unfolding(), {}) if not compared.diff.is_empty else source_changes(compared.hunks)
    setting = LayoutContext(look, Folds(), set_block, room=width)
    room = SideWidths.of(width, split=False)
    lines = [
        line for unit in found.whole().units if unit.kind != "title" for line in set_diff_unit(setting, unit, room)
    ]
    while lines and not "".join(piece.text for piece in lines[0].pieces).strip(" │┊"):
        lines.pop(0)
    return lines
