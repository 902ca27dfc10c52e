"""Painting of lines as Textual strips, and of marks, labels and bars over them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from octavo.tui.render.failed_block import run_guarded
from octavo.tui.render.styled_lines import Line, Piece, cells, crop, segments, width_of
from octavo.tui.render.styles import Styles
from octavo.tui.terminal.textual_internals import disable_caches


def paint_line(line: Line, margin: int, width: int, base: Style) -> Strip:
    """Return a line as a strip of `width` cells, after a margin, on the style `base`."""
    if not line.pieces:
        return Strip.blank(width, base)
    used = margin + line.width
    parts = [Segment(" " * margin, base), *segments(line.pieces, base)]
    room = [Segment(" " * (width - used), base)] if used <= width else []
    strip = Strip([*parts, *room], max(used, width)).crop(0, width)
    return disable_caches([strip], filtered=False)[0]


def unpaintable_units(rows: Iterable[tuple[int, int, Line]], paint: Callable[[int, Line], Strip]) -> set[int]:
    """Return the units with a line that cannot be painted."""

    def is_painted(unit_index: int, line: Line) -> bool:
        return paint(unit_index, line) is not None

    return {unit for unit, _, line in rows if not run_guarded(partial(is_painted, unit, line), bool)}


def overlay_text(strip: Strip, position: int, text: str, style: Style) -> Strip:
    """Return a strip with `text` drawn over it, from cell `position` on. A negative position counts as 0, and the text
    is cut at the end of the strip."""
    width = strip.cell_length
    position = max(0, position)
    room = width - position
    if room <= 0 or not text:
        return strip
    wide = cells(text)
    if wide > room:
        text, wide = set_cell_size(text, room), room
    before, _, after = Segment.divide(strip, (position, position + wide, width))
    return Strip([*before, Segment(text, style), *after], width)


def restyle(strip: Strip, spans: Iterable[tuple[int, int, Style]]) -> Strip:
    """Return a strip with other styles in some ranges of cells."""
    width = strip.cell_length
    within = [(max(0, start), min(end, width), style) for start, end, style in spans if max(0, start) < min(end, width)]
    if not within:
        return strip
    edges = sorted({0, width, *(start for start, _, _ in within), *(end for _, end, _ in within)})
    laid = [Style()] * len(edges)
    for start, end, style in within:
        for at in range(bisect_left(edges, start), bisect_left(edges, end)):
            laid[at] += style
    parts = zip(Segment.divide(strip, edges[1:]), laid, strict=False)
    return Strip([Segment(text, (own or Style()) + style) for part, style in parts for text, own, _ in part], width)


def text_between(lines: Sequence[Line], margin: int, start: tuple[int, int] | None, end: tuple[int, int] | None) -> str:
    """Return the text between two positions without decorations. Each position is a line number and a column of the
    pane. None is the start or the end of the lines."""
    out: list[str] = []
    for number, line in enumerate(lines):
        low = start[1] - margin if start is not None and start[0] == number else 0
        high = end[1] - margin if end is not None and end[0] == number else 1 << 30
        at = 0
        kept = ""
        for text, _, _, is_decoration in line.pieces:
            part = text[max(0, low - at) : max(0, high - at)]
            if not is_decoration or (part and not part.strip() and kept):
                kept += part
            at += len(text)
        out.append(kept.rstrip())
    return "\n".join(out)


def bottom_line(
    styles: Styles, base_style: Style, width: int, sign: str, text: str, *parts: str, typing: bool = False
) -> Strip:
    """Return the strip of a row with `text` at the left and `parts` at the right. With `typing`, a text cursor
    follows the text.

    In a narrow pane, parts are dropped from right to left, but the last part is dropped after all others.
    """
    between = f" {styles.glyphs.between} "
    style = base_style + styles.panel
    sign = f" {sign} " if sign else " "
    room = max(0, width - cells(sign) - 1)
    needed = min(cells(text) + (3 if typing else 2), room // 2) if text or typing else 0
    visible = list(parts)
    while visible and cells(between.join(visible)) + needed > room:
        del visible[-2 if len(visible) > 1 else -1]
    tail = between.join(visible)
    left = max(0, room - cells(tail) - 3) if tail else max(0, room - 1)
    pieces = [Piece(sign, styles.accent), *crop([Piece(text, styles.text)], cells(text) - left, cells(text))]
    if typing:
        pieces.append(Piece(" ", Style(reverse=True)))
    blank = width - width_of(pieces) - cells(tail) - 1 if needed else 0
    pieces.append(Piece(" " * max(0, blank) + tail, styles.muted))
    return Strip(segments(pieces, style)).extend_cell_length(width, style)
