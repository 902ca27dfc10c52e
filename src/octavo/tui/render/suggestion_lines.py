"""The text of a comment with its suggestions as word diffs."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.suggesting import suggestions
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_lines import render_diff_unit
from octavo.tui.render.diff_sequence import build_diff, build_source_diff
from octavo.tui.render.diff_sides import SideWidths
from octavo.tui.render.diff_units import ContextSize
from octavo.tui.render.layout import lay_out, render_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import keep_quoted_lines


def suggestion_lines(
    text: str, compared: Sequence[PageComparison], width: int, styles: Styles, notes: Sequence[Sequence[Line]] = ()
) -> list[Line]:
    """Return the lines of a comment. `compared` has a comparison for each suggestion in `text`, and `notes` the lines
    between its label and its diff."""
    from octavo.documents.parse import parse  # lazy: the parser, 30 ms

    out: list[Line] = []
    written, start = text.split("\n"), 0

    def words(end: int) -> None:
        part = keep_quoted_lines("\n".join(written[start:end]))
        if part.strip():
            out.extend(lay_out(parse(part).blocks, width, styles, source=part).lines)
            out.append(Line([]))

    for number, (each, one) in enumerate(zip(suggestions(text), compared, strict=True)):
        words(each.lines[0])
        out.append(Line([Piece("Suggested change", styles.muted)]))
        out += [*(notes[number] if notes else ()), *_diff_lines(one, width, styles), Line([])]
        start = each.lines[1]
    words(len(written))
    return out[:-1]


def _diff_lines(compared: PageComparison, width: int, styles: Styles) -> list[Line]:
    found = (
        build_diff(compared.diff, ContextSize(), {})
        if not compared.diff.is_empty
        else build_source_diff(compared.hunks)
    )
    context = LayoutContext(styles, Folds(), render_block, room=width)
    room = SideWidths.for_width(width, split=False)
    lines = [
        line
        for unit in found.complete().units
        if unit.kind != "title"
        for line in render_diff_unit(context, unit, room)
    ]
    while lines and not "".join(piece.text for piece in lines[0].pieces).strip(" │┊"):
        lines.pop(0)
    return lines
