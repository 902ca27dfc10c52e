"""Painter of a pane: builds the strips of a frame. A frame is painted once, and a line once per width."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.contents import MARK_WIDTH
from octavo.tui.reader.moves import LinePosition, rows_from
from octavo.tui.render.failed_block import render_failed_block
from octavo.tui.render.layout_context import NARROWEST
from octavo.tui.render.painting import paint_line, unpaintable_units
from octavo.tui.render.styled_lines import Line, Piece, cells, crop, segments, width_of

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader


class LinePainter:
    """Painter of a pane's visible rows."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._frame_key: tuple[object, ...] = ()
        self._frame: list[Strip] = []
        self.visible_rows: list[tuple[int, int, Line]] = []
        """Unit, line number in the unit, and line of each painted row."""
        self._keep_until = 0.0

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
            contents.margin_of(unit) + max(contents.line_width, line.width) + MARK_WIDTH
            for unit, _, line in self.visible_rows
        ]
        return min(width, max(ends, default=width))

    def keep_frame(self, seconds: float) -> None:
        """Show the current frame for a number of seconds while there are no lines."""
        if self.was_painted:
            self._keep_until = time.perf_counter() + seconds
            self.pane.set_timer(seconds, self.pane.repaint)

    def paint(self) -> list[Strip]:
        """Return the strips of the visible rows."""
        pane = self.pane
        top, width, height = pane.top, pane.pane_width, pane.size.height
        key = (width, height, top, pane.paint_version, pane.virtual_lines.total, pane.has_focus)
        if key == self._frame_key:
            return self._frame
        if not len(pane.virtual_lines) and key[:2] == self._frame_key[:2] and time.perf_counter() < self._keep_until:
            self.visible_rows = []  # The old page must not react to clicks.
            return self._frame
        base_style = pane.base_style
        total = pane.virtual_lines.total
        self.visible_rows = self._paintable_rows(top, width, base_style)
        pane.before_painting()
        frame = [self._row(row, y, width, base_style) for y, row in enumerate(self.visible_rows)]
        if not self.visible_rows and not len(pane.virtual_lines):
            frame = [self._message_strip(content, width, base_style) for content in pane.state.lines()[:height]]
        frame += [Strip.blank(width, base_style)] * (height - len(frame))
        bar = pane.find_bar.bar_row() if pane.clickables.hints is None else pane.clickables.help_row()
        if bar is not None and frame:
            frame[bar[0]] = bar[1].crop_extend(0, width, base_style)
        if not self.was_painted:
            pane.call_later(pane.continue_work)
        self._frame, self._frame_key = frame, (*key[:4], pane.virtual_lines.total, key[5])
        if pane.virtual_lines.total != total:
            pane.call_later(pane.update_scroll_bar)
        return frame

    def _paintable_rows(self, top: LinePosition, width: int, base_style: Style) -> list[tuple[int, int, Line]]:
        """Return the rows from `top` on. Units with a line that cannot be painted are shown as Markdown source."""
        pane = self.pane
        replaced: set[int] = set()
        while True:
            rows = rows_from(pane.virtual_lines, top, pane.size.height)
            failed = unpaintable_units(rows, lambda unit, line: self.strip_of(unit, line, width, base_style)) - replaced
            if not failed:
                return rows
            for unit in failed:
                block = pane.virtual_lines.units[unit].block or Block("change")
                room = max(NARROWEST, width - 2 * pane.contents.margin)
                pane.virtual_lines.put(
                    unit, render_failed_block(block, pane.contents.block_markdown, pane.text_styles, room)
                )
            replaced |= failed

    def _row(self, row: tuple[int, int, Line], y: int, width: int, base_style: Style) -> Strip:
        """Return the strip of a row with search matches, the cursor bar, marks, a sticky table head, and link hints."""
        (unit, number, line), pane = row, self.pane
        strip = self.strip_of(unit, line, width, base_style)
        if pane.find_bar.needle and pane.find_bar.matches:
            strip = pane.find_bar.with_matches(strip, unit, number)
        strip = pane.contents.with_marks(pane.cursor.with_bar(strip, unit, line), unit, number, line)
        return pane.clickables.with_hints(pane.contents.with_sticky_head(strip, y), y)

    def strip_of(self, unit: int, line: Line, width: int, base_style: Style) -> Strip:
        """Return the strip of a line without marks over it."""
        strip = line.strip
        if strip is None or strip.cell_length != width:
            strip = line.strip = paint_line(line, self.pane.contents.margin_of(unit), width, base_style)
        return strip

    def _message_strip(self, content: Content, width: int, base_style: Style) -> Strip:
        pane = self.pane
        parts = content.truncate(width).render(pane.visual_style, end="", parse_style=pane.app.stylesheet.parse_style)
        return Strip([Segment(text, style.rich_style) for text, style in parts if text]).extend_cell_length(
            width, base_style
        )

    def bottom_line(self, sign: str, text: str, *parts: str, typing: bool = False) -> tuple[int, Strip]:
        """Return the number and strip of the last row, with `text` at the left and `parts` at the right.

        In a narrow pane, parts are dropped from the middle: the first and the last part remain longest."""
        styles, width = self.pane.text_styles, self.pane.pane_width
        between = f" {styles.glyphs.between} "
        style = self.pane.base_style + styles.panel
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
        return self.pane.size.height - 1, Strip(segments(pieces, style)).extend_cell_length(width, style)
