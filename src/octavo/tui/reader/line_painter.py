"""Painter of a reader: builds the strips of a frame. A frame is painted once, and a line once per width."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.contents import MARK
from octavo.tui.reader.moves import Top, rows_from
from octavo.tui.render.failed_block import render_failed_block
from octavo.tui.render.layout_context import NARROWEST
from octavo.tui.render.painting import paint_line, unpaintable_units
from octavo.tui.render.styled_lines import Line, Piece, cells, crop, segments, width_of

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader


class LinePainter:
    """Painter of a reader's visible rows."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._frame_key: tuple[object, ...] = ()
        self._frame: list[Strip] = []
        self.rows_on_show: list[tuple[int, int, Line]] = []
        """Unit, line number in the unit, and line of each painted row."""
        self._kept_until = 0.0

    @property
    def was_painted(self) -> bool:
        """True after the first frame. Before it, no lines are laid out ahead."""
        return bool(self._frame)

    @property
    def text_width(self) -> int:
        """Columns up to the right end of the visible text and its thread marks."""
        self.paint()
        contents, width = self.pane.contents, self.pane.size.width
        ends = [
            contents.margin_of(unit) + max(contents.measure, line.width) + MARK for unit, _, line in self.rows_on_show
        ]
        return min(width, max(ends, default=width))

    def keep_frame(self, seconds: float) -> None:
        """Show the current frame for a number of seconds while there are no lines."""
        if self.was_painted:
            self._kept_until = time.perf_counter() + seconds
            self.pane.set_timer(seconds, self.pane.repaint)

    def paint(self) -> list[Strip]:
        """Return the strips of the visible rows."""
        pane = self.pane
        top, width, height = pane.top, pane.pane_width, pane.size.height
        key = (width, height, top, pane.changes, pane.galley.total, pane.has_focus)
        if key == self._frame_key:
            return self._frame
        if not len(pane.galley) and key[:2] == self._frame_key[:2] and time.perf_counter() < self._kept_until:
            self.rows_on_show = []  # The old page must not react to clicks.
            return self._frame
        ground = pane.ground
        total = pane.galley.total
        self.rows_on_show = self._rows_painted(top, width, ground)
        pane.before_painting()
        frame = [self._row(row, y, width, ground) for y, row in enumerate(self.rows_on_show)]
        if not self.rows_on_show and not len(pane.galley):
            frame = [self._state_strip(content, width, ground) for content in pane.state.lines()[:height]]
        frame += [Strip.blank(width, ground)] * (height - len(frame))
        if (foot := pane.foot()) is not None and frame:
            frame[foot[0]] = foot[1].crop_extend(0, width, ground)
        if not self.was_painted:
            pane.call_later(pane.work_soon)
        self._frame, self._frame_key = frame, (*key[:4], pane.galley.total, key[5])
        if pane.galley.total != total:
            pane.call_later(pane.tell_length)
        return frame

    def _rows_painted(self, top: Top, width: int, ground: Style) -> list[tuple[int, int, Line]]:
        """Return the rows from `top` on. Units with a line that cannot be painted are shown as Markdown source."""
        pane = self.pane
        done: set[int] = set()
        while True:
            rows = rows_from(pane.galley, top, pane.size.height)
            faulty = unpaintable_units(rows, lambda unit, line: self.painted_line(unit, line, width, ground)) - done
            if not faulty:
                return rows
            for unit in faulty:
                block = pane.galley.units[unit].block or Block("change")
                room = max(NARROWEST, width - 2 * pane.contents.margin)
                pane.galley.put(unit, render_failed_block(block, pane.contents.written, pane.look, room))
            done |= faulty

    def _row(self, row: tuple[int, int, Line], y: int, width: int, ground: Style) -> Strip:
        unit, place, line = row
        strip = self.painted_line(unit, line, width, ground)
        return self.pane.veiled(self.pane.decorated(strip, unit, place, line), y)

    def painted_line(self, unit: int, line: Line, width: int, ground: Style) -> Strip:
        """Return the strip of a line without marks over it."""
        strip = line.strip
        if strip is None or strip.cell_length != width:
            strip = line.strip = paint_line(line, self.pane.contents.margin_of(unit), width, ground)
        return strip

    def _state_strip(self, content: Content, width: int, ground: Style) -> Strip:
        pane = self.pane
        parts = content.truncate(width).render(pane.visual_style, end="", parse_style=pane.app.stylesheet.parse_style)
        return Strip([Segment(text, style.rich_style) for text, style in parts if text]).extend_cell_length(
            width, ground
        )

    def at_foot(self, sign: str, text: str, *said: str, typing: bool = False) -> tuple[int, Strip]:
        """Return the number and strip of the last row, with `text` at the left and the parts `said` at the right.

        In a narrow reader, parts are dropped from the middle: the first and the last part remain longest."""
        look, width = self.pane.look, self.pane.pane_width
        between = f" {look.glyphs.between} "
        style = self.pane.ground + look.panel
        sign = f" {sign} " if sign else " "
        room = max(0, width - cells(sign) - 1)
        needed = min(cells(text) + (3 if typing else 2), room // 2) if text or typing else 0
        parts = list(said)
        while parts and cells(between.join(parts)) + needed > room:
            del parts[-2 if len(parts) > 1 else -1]
        tail = between.join(parts)
        left = max(0, room - cells(tail) - 3) if tail else max(0, room - 1)
        pieces = [Piece(sign, look.accent), *crop([Piece(text, look.text)], cells(text) - left, cells(text))]
        if typing:
            pieces.append(Piece(" ", Style(reverse=True)))
        blank = width - width_of(pieces) - cells(tail) - 1 if needed else 0
        pieces.append(Piece(" " * max(0, blank) + tail, look.muted))
        return self.pane.size.height - 1, Strip(segments(pieces, style)).extend_cell_length(width, style)
