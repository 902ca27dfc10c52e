"""The block cursor of a pane: a bar at the left of the selected block, and the commands that move it. The selected
block is always visible."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from textual.geometry import Region
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.reading_position import (
    START,
    BlockSpan,
    LinePosition,
    ScrollTo,
    last_top,
    lines_between,
    scrolled_top,
)
from octavo.tui.reader.viewport import PanePart, Viewport, explain
from octavo.tui.render.painting import overlay_text
from octavo.tui.render.styled_lines import Line
from octavo.tui.widgets.commands import Command, Commands

_PAN = 16
"""Cells by which a key scrolls wide code or tables."""
_MOST_UNITS, _MOST_LINES, _MOST_BARS = 100, 1500, 300
"""Limits of two caches. The cache of selectable blocks has at most `_MOST_UNITS` units and about
`_MOST_LINES` lines, the cache of lines with the cursor bar at most `_MOST_BARS` lines. The limits are low,
because freeing many lines at a time is slow."""


class BlockCursor(PanePart):
    """Selected block of a pane, and movement to other blocks."""

    def __init__(self, viewport: Viewport) -> None:
        super().__init__(viewport)
        self.selected: tuple[int, Block] | None = None
        """Unit index and block of the last selection. While None, the cursor follows the first visible
        block."""
        self._bar_block: Block | None = None
        self._selected_ids: frozenset[int] = frozenset()
        """Identities of the selected block and all blocks inside it: the bar is drawn along all of them."""
        self._spans: dict[int, tuple[list[Line], list[BlockSpan]]] = {}
        self._cached_lines = 0
        """Number of lines cached with the selectable blocks."""
        self._strips_with_bar: dict[int, tuple[Strip, Strip]] = {}
        """Strips without and with the bar by the identity of their line."""
        self._bar_key: tuple[int, bool] = (0, False)

    def forget_lines(self) -> None:
        self._spans, self._cached_lines = {}, 0
        self._strips_with_bar = {}

    # Painting

    def before_painting(self, *, is_shown: bool) -> None:
        """Prepare for the next frame. The bar is drawn if `is_shown`."""
        selected = self.current()
        self._bar_block = selected.block if selected is not None else None
        key = (id(self._bar_block), self.viewport.widget.has_focus)
        if key != self._bar_key:
            self._bar_key, self._strips_with_bar = key, {}
            self._selected_ids = _ids_inside(self._bar_block)
        if not is_shown:
            self._bar_block = None

    def with_bar(self, strip: Strip, unit_index: int, line: Line) -> Strip:
        """Return the strip of a line, with the cursor bar if the line belongs to the selected block."""
        viewport = self.viewport
        at = viewport.contents.cursor_bar_column(line, self._selected_ids) if self._bar_block is not None else None
        if at is None:
            return strip
        cached = self._strips_with_bar.get(id(line))
        if cached is not None and cached[0] is strip:
            return cached[1]
        styles = viewport.text_styles
        style = viewport.base_style + (styles.accent if viewport.widget.has_focus else styles.muted)
        strip_with_bar = overlay_text(
            strip, max(0, viewport.contents.margin_of(unit_index) + at), styles.glyphs.bar, style
        )
        if len(self._strips_with_bar) >= _MOST_BARS:
            self._strips_with_bar.clear()
        self._strips_with_bar[id(line)] = (strip, strip_with_bar)
        return strip_with_bar

    # Selectable blocks

    def spans_of(self, unit_index: int) -> list[BlockSpan]:
        """Return the selectable blocks of a unit."""
        lines = self.viewport.virtual_lines.lines(unit_index)
        cached = self._spans.get(unit_index)
        if cached is None or cached[0] is not lines:
            if cached is not None:
                self._forget_spans(unit_index)
            while self._spans and (len(self._spans) >= _MOST_UNITS or self._cached_lines > _MOST_LINES):
                self._forget_spans(next(iter(self._spans)))
            self._cached_lines += len(lines)
            cached = self._spans[unit_index] = (
                lines,
                [
                    BlockSpan(unit_index, first, last, block)
                    for first, last, block in self.viewport.contents.spans_in(lines)
                ],
            )
        return cached[1]

    def _forget_spans(self, unit_index: int) -> None:
        self._cached_lines -= len(self._spans.pop(unit_index)[0])

    def spans_from(
        self, unit_index: int, block: Block | None, step: int, may_match: Callable[[int], bool]
    ) -> Iterator[BlockSpan]:
        """Yield the selectable blocks after a block, or before it if `step` is negative. Units that fail `may_match`
        are skipped without being laid out."""
        found = self.spans_of(unit_index) if 0 <= unit_index < len(self.viewport.virtual_lines) else []
        at = next((index for index, span in enumerate(found) if span.block is block), -1 if step > 0 else len(found))
        yield from found[at + 1 :] if step > 0 else reversed(found[: max(0, at)])
        for following in range(unit_index + step, len(self.viewport.virtual_lines) if step > 0 else -1, step):
            if may_match(following) and self.viewport.contents.has_spans(following):
                found = self.spans_of(following)
                yield from found if step > 0 else reversed(found)

    def current(self) -> BlockSpan | None:
        """Return the selected block. At first, this is the first visible block. None if there is none."""
        if self.selected is not None and self.selected[0] < len(self.viewport.virtual_lines):
            unit, block = self.selected
            found = self.spans_of(unit)
            same_key = (span for span in found if block.key and span.block.key == block.key)
            if span := next((span for span in found if span.block is block), None) or next(same_key, None):
                return span
        return next(iter(self.visible_spans()), None)

    @property
    def region(self) -> Region:
        """Screen region of the selected block."""
        selected = self.current()
        if selected is None:
            return Region()
        viewport = self.viewport
        row = viewport.row_of(selected.start, viewport.widget.size.height)
        block = Region(
            viewport.widget.region.x,
            viewport.widget.region.y + row,
            viewport.widget.size.width,
            selected.last - selected.first + 1,
        )
        return block.intersection(viewport.widget.region)

    def visible_spans(self) -> list[BlockSpan]:
        """Return the selectable blocks that have a visible line."""
        viewport, virtual_lines = self.viewport, self.viewport.virtual_lines
        if not len(virtual_lines):
            return []
        out: list[BlockSpan] = []
        unit, start = viewport.top.unit_index, -viewport.top.line
        sticky_rows = viewport.contents.sticky_rows(viewport.top)
        while unit < len(virtual_lines) and start < viewport.rows:
            out += [
                span
                for span in self.spans_of(unit)
                if start + span.last >= sticky_rows and start + span.first < viewport.rows
            ]
            start += len(virtual_lines.lines(unit))
            unit += 1
        return viewport.contents.reachable_spans(out)

    def layout_changed(self) -> None:
        """Select a visible block if a resize or a new layout moved the selected block below the last row."""
        if self.selected is not None:
            self.top_changed(down=False)  # The top stays in place, so the block moved below the last row.

    def top_changed(self, *, down: bool) -> None:
        """Select another block if the selected block scrolled out of view: the first visible block if `down`, otherwise
        the last."""
        visible = self.visible_spans()
        selected = self.current()
        if visible and selected is not None and all(span.block is not selected.block for span in visible):
            self.select(visible[0] if down else visible[-1], scroll_to=None)

    def select(self, span: BlockSpan, *, scroll_to: ScrollTo | None = "near") -> None:
        """Select a block and scroll to it, unless `scroll_to` is None."""
        unit, first, last, block = span
        self.selected = (unit, block)
        self.viewport.moved_at = time.perf_counter()
        if scroll_to is not None:
            self.scroll_to_lines(unit, first, last, scroll_to)
            self.selected = (unit, block)  # Scrolling may have selected another block.
        self.viewport.repaint()
        self.viewport.notify_moved()

    def scroll_into_view(self) -> None:
        """Scroll as little as needed to show the whole selected block. A block that is higher than the pane does not
        scroll if it begins near the top row or above and still fills a third of the pane."""
        if (selected := self.current()) is None:
            return
        unit, first, last, block = selected
        inside = _ids_inside(block)
        last = max([last, *(span.last for span in self.spans_of(unit) if id(span.block) in inside)])
        room = self.viewport.rows
        row = self.viewport.row_of(selected.start, 2 * room)
        is_read = row <= 1 and row + last - first > room // 3
        if last - first < room or not is_read:
            self.scroll_to_lines(unit, first, last, "near")

    def scroll_to_lines(self, unit_index: int, first: int, last: int, scroll_to: ScrollTo) -> None:
        """Scroll to lines of a unit, below the sticky table head."""
        viewport, start = self.viewport, LinePosition(unit_index, first)
        top = scrolled_top(viewport.virtual_lines, viewport.top, viewport.rows, start, last - first + 1, scroll_to)
        covered = viewport.contents.sticky_rows(top)
        if 0 <= lines_between(viewport.virtual_lines, top, start, viewport.rows) < covered:
            viewport.show_in_row(start, covered)
        else:
            viewport.go_to(top)

    def go_to_edge(self, end: int) -> None:
        """Scroll to the top, or to the bottom if `end` is 1, and select the block there."""
        self.viewport.go_to(last_top(self.viewport.virtual_lines, self.viewport.rows) if end else START)
        if visible := self.visible_spans():
            self.select(visible[-1 if end else 0], scroll_to=None)

    def move(self, step: int) -> bool:
        """Select the next block, or the previous block if `step` is negative. Return False if there is none."""
        selected = self.current()
        if selected is None:
            return False
        following = next(self.spans_from(selected.unit_index, selected.block, step, lambda unit: True), None)
        self.select(following or selected)
        return following is not None

    def pan(self, step: int) -> None:
        """Scroll the wide parts of the selected block to the right, or to the left if `step` is negative.
        If the block has no wide part, scroll the first visible block that has one."""
        viewport = self.viewport
        selected = self.current()
        for span in ([] if selected is None else [selected]) + self.visible_spans():
            wide = {block.key for block in viewport.contents.wide_blocks(span) if viewport.folds.hidden.get(block.key)}
            if wide:
                has_moved = [viewport.folds.pan_by(key, step * _PAN) for key in sorted(wide)]
                if any(has_moved):
                    viewport.lay_out_unit(span.unit_index)
                return
        explain(viewport.widget, "Nothing to scroll here: no code or table is wider than the pane.")

    def find_next(
        self, step: int, wanted: Callable[[BlockSpan], bool], may_match: Callable[[int], bool]
    ) -> BlockSpan | None:
        """Return the next selectable block that passes `wanted`, or the previous if `step` is negative. None if there
        is none. Units that fail `may_match` are skipped without being laid out."""
        selected = self.current()
        if selected is None:
            return None
        return next(filter(wanted, self.spans_from(selected.unit_index, selected.block, step, may_match)), None)


def _pan(step: int) -> Callable[[object, BlockCursor], None]:
    return lambda _, cursor: cursor.pan(step)


PANNING: Commands[BlockCursor] = Commands(
    "page",
    (
        Command("pan_right", "right", "Scroll right", "Scroll wide code or tables to the right", run=_pan(1), shown=False),
        Command("pan_left", "left", "Scroll left", "Scroll wide code or tables to the left", run=_pan(-1), shown=False),
    ),
    find=lambda view: view.cursor,
)  # fmt: skip


def _ids_inside(block: Block | None) -> frozenset[int]:
    """Return the identities of a block and all blocks inside it. The search goes level by level: that is three times as
    fast for a huge table."""
    found: set[int] = set()
    row = [block] if block is not None else []
    while row:
        found.update(map(id, row))
        row = [child for each in row for child in each.children]
    return frozenset(found)
