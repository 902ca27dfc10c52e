"""Painter of a pane: builds the strips of a frame, each line once per width, and copies selected text without borders
and bullets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual.actions import SkipAction
from textual.content import Content
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.core.external_links import COPIED_BYTES
from octavo.tui.reader.contents import MARK_WIDTH
from octavo.tui.reader.reading_position import LinePosition, rows_from
from octavo.tui.render.failed_block import render_failed_block
from octavo.tui.render.layout_context import NARROWEST
from octavo.tui.render.painting import paint_line, restyle, text_between, unpaintable_units
from octavo.tui.render.styled_lines import Line, Piece, cells, crop, segments, width_of
from octavo.tui.render.virtual_lines import VirtualLines

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

    def strip_of(self, unit_index: int, line: Line, width: int, base_style: Style) -> Strip:
        """Return the strip of a line without marks over it."""
        strip = line.strip
        if strip is None or strip.cell_length != width:
            strip = line.strip = paint_line(line, self.pane.contents.margin_of(unit_index), width, base_style)
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


FIRST_COLLECT_SECONDS = 0.015
"""Seconds in which selected text is copied immediately. Longer text is collected between keys."""


class CopyPending(SkipAction):
    """The selected text is not collected yet. It is copied later."""


class CopiesWhenReady(Screen[None]):
    """Screen whose panes may need time to collect selected text. The text is copied once it is complete."""

    def action_copy_text(self) -> None:
        with suppress(CopyPending):  # The pane notifies the user.
            super().action_copy_text()


class SelectionCollector:
    """Collects the text of a selection."""

    def __init__(self, selection: Selection, virtual_lines: VirtualLines[Any]) -> None:
        self.selection, self.virtual_lines = selection, virtual_lines
        start, end = selection
        self._first, at = virtual_lines.at(start.y) if start is not None else (0, 0)
        self._start = (at, start.x) if start is not None else None
        last, at = virtual_lines.at(end.y) if end is not None else (None, 0)
        self._last = math.inf if last is None else last
        self._end = (at, end.x) if end is not None else None
        self._next = self._first
        self._texts: list[str] = []
        self._size = 0

    @property
    def text(self) -> str:
        return "\n".join(self._texts)

    def collect(self, margin_of: Callable[[int], int], seconds: float) -> bool:
        """Collect text for a number of seconds. Return True after the last line of the selection, or of the lines there
        are."""
        until, virtual_lines = time.perf_counter() + seconds, self.virtual_lines
        # The clipboard takes no more than COPIED_BYTES.
        while self._next < len(virtual_lines) and self._next <= self._last and self._size <= COPIED_BYTES:
            unit, self._next = self._next, self._next + 1
            start = self._start if unit == self._first else None
            end = self._end if unit == self._last else None
            if lines := virtual_lines.lines(unit)[: None if end is None else end[0] + 1]:
                lines = lines[0 if start is None else start[0] :]
                start, end = start and (0, start[1]), end and (len(lines) - 1, end[1])
                self._texts.append(text_between(lines, margin_of(unit), start, end))
                self._size += len(self._texts[-1])
            if time.perf_counter() >= until:
                return False
        return True

    @property
    def needs_more(self) -> bool:
        """True if the selection continues below the lines that exist so far."""
        return self._last >= len(self.virtual_lines) and self._size <= COPIED_BYTES


class TextSelection:
    """Selected text of a pane."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._collector: SelectionCollector | None = None

    def with_selection(self, strips: list[Strip], line: int) -> list[Strip]:
        """Return strips with the selected text highlighted. `line` is the line number of the first strip."""
        selection = self.pane.text_selection
        if selection is None:
            return strips
        style = self.pane.screen.get_component_rich_style("screen--selection")
        return [_highlighted(strip, selection, y, style) for y, strip in enumerate(strips, line)]

    def selected_text(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text. Raise CopyPending if it takes long to collect: then the text is copied later."""
        seconds = FIRST_COLLECT_SECONDS if isinstance(self.pane.screen, CopiesWhenReady) else math.inf
        if self._collect(selection, seconds):
            collector, self._collector = self._collector, None
            return (collector.text, "\n") if collector is not None and len(self.pane.virtual_lines) else None
        self.pane.explain("Octavo will copy the selection when it is fully loaded.")
        self.pane.continue_work()
        raise CopyPending

    def _collect(self, selection: Selection, seconds: float) -> bool:
        """Collect selected text for a number of seconds. Return True once it is complete."""
        collector, contents = self._collector, self.pane.contents
        if (
            collector is None
            or collector.selection != selection
            or collector.virtual_lines is not self.pane.virtual_lines
        ):
            collector = self._collector = SelectionCollector(selection, self.pane.virtual_lines)
        done = collector.collect(contents.margin_of, seconds)
        return done and (contents.is_whole or not collector.needs_more)

    def cancel_copy(self) -> None:
        """Cancel a copy that is not complete when the user leaves the page."""
        if self._collector is not None:
            self._collector = None
            self.pane.explain("Nothing was copied: you left the page before the selection was loaded.")

    @property
    def is_collecting(self) -> bool:
        """True while selected text is collected for a copy."""
        return self._collector is not None

    def collect_more(self, seconds: float) -> None:
        """Collect selected text for a number of seconds, and copy it once it is complete."""
        selection = self.pane.text_selection
        if self._collector is None or selection != self._collector.selection:
            self._collector = None  # The user has selected other text, or none.
        elif self._collect(selection, seconds):
            text = self._collector.text
            self.pane.screen.action_copy_text()
            if len(text.encode("utf-8", "replace")) <= COPIED_BYTES:
                self.pane.post_message(self.pane.Copied(text, "selection"))


def _highlighted(strip: Strip, selection: Selection, y: int, style: Style) -> Strip:
    if (span := selection.get_span(y)) is None:
        return strip
    text = strip.text
    start, end = cells(text[: span[0]]), cells(text if span[1] == -1 else text[: span[1]])
    return restyle(strip, [(start, end, style)])
