"""A pane of lines that are set only where one looks: scrolling, painting, selecting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.events import Blur, Focus, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from octavo.documents.blocks import Block
from octavo.tui.render.failed_block import unset
from octavo.tui.render.layout import stops
from octavo.tui.render.layout_context import NARROWEST
from octavo.tui.render.painting import painted, unpaintable
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import ScrollAnchor, VirtualLines
from octavo.tui.widgets.commands import Explained
from octavo.tui.widgets.scrolling import Scrolling, let_go

SYNC = 0.5
"""Seconds between two times that one is told how long all is: to be told paints everything anew."""


class GalleyPane(Explained, Scrolling, can_focus=True, inherit_bindings=False):
    """Lines of units. A subclass makes the galley for a width (`make_galley`)."""

    DEFAULT_CSS = """
    GalleyPane {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    class Moved(Message):
        """Another part is on show, there is more or less of it all, or the cursor is on another block."""

        def __init__(self, view: GalleyPane) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> GalleyPane:
            return self.view

    def __init__(
        self,
        *,
        ascii: bool = False,
        mono: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._ascii, self._mono = ascii, mono
        self._look: Styles | None = None
        self.galley: VirtualLines[Any] = VirtualLines((), lambda unit: 0, lambda unit: [])
        self.margin = 2
        self._width = 0
        self._changes = 0
        self._frame_key: tuple[int, ...] = ()
        self._frame: list[Strip] = []
        self.rows_on_show: list[tuple[int, int, Line]] = []
        """Unit, place in it and line of each row that is painted."""
        self._resizing: Timer | None = None
        self._syncing: Timer | None = None
        self._telling = False
        self.moved_at = -1.0
        """When one last moved in it, by `time.perf_counter`."""

    # What a subclass says

    def make_galley(self, width: int) -> VirtualLines[Any]:
        """The galley for a pane of `width` cells; also sets `margin`."""
        raise NotImplementedError

    def state_lines(self) -> list[Content]:
        """What is shown while there is nothing to show."""
        return []

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        """A strip with what lies over it."""
        return strip

    def foot(self) -> tuple[int, Strip] | None:
        """A row that is covered, and what covers it."""
        return None

    @property
    def foot_rows(self) -> int:
        """How many rows at the bottom are kept for the foot: one scrolls as far as it takes to see what it covers."""
        return 0

    def veiled(self, strip: Strip, row: int) -> Strip:
        """A row of the pane with what lies over all else."""
        return strip

    def scrolled(self, *, down: bool) -> None:
        """Another part is on show."""

    def keep_in_view(self) -> None:
        """There are fewer rows than before, or lines stand elsewhere: what was on show may not be any more."""

    def before_painting(self) -> None:
        """A frame is about to be painted."""

    def relaid(self) -> None:
        """Lines are others than before."""

    def written(self, block: Block) -> str:
        """How a block stands in the source, as far as that is known."""
        return ""

    def set_ahead(self, seconds: float) -> bool:
        """Set units from the one on show on, for so long. True when none near is left."""
        raise NotImplementedError

    def refine_soon(self) -> None:
        """Do, while nothing else happens, what can be done before it is looked at."""
        raise NotImplementedError

    # The look

    @property
    def look(self) -> Styles:
        """The look that the theme gives."""
        if self._look is None:
            self._look = Styles.of(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        return self._look

    @property
    def ground(self) -> Style:
        """The style of what has no style of its own."""
        return self.visual_style.rich_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        fresh = Styles.of(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        if fresh != self._look:
            self._look = fresh
            self.reset()

    # Laying out

    @property
    def pane_width(self) -> int:
        return self.scrollable_content_region.width

    def on_resize(self, event: Resize) -> None:
        width = self.pane_width
        if width <= 0 or width == self._width:
            self._sync()
            self.keep_in_view()
            return
        if not self._width or not len(self.galley):
            self.reset()
        elif self._resizing is None:
            self._resizing = self.set_timer(0.04, self._resized)

    def _resized(self) -> None:
        self._resizing = None
        if self.pane_width != self._width:
            self.reset()

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        """Set everything anew. What stands at the top stays there: the block `anchor` names, else the one on show."""
        self._look = None
        if self.pane_width <= 0:
            return
        held = anchor or self._anchor()
        self._width = self.pane_width
        self.galley = self.make_galley(self._width)
        self.relaid()
        self._changes += 1
        if self.was_painted:
            self.set_ahead(0.008)
        self._sync()
        if held is not None:
            self._hold(held)
        self.keep_in_view()
        self.refine_soon()
        self.refresh()

    def _anchor(self) -> ScrollAnchor | None:
        """What is at the top."""
        if not len(self.galley) or not self._width:
            return None
        unit, place = self.galley.at(self.scroll_offset.y)
        lines = self.galley.lines(unit)
        block = next((line.block for line in lines[place:] if line.block is not None), None)
        first = next((first for first, _, each in stops(lines) if each is block), 0)
        return ScrollAnchor(unit, block.key if block is not None else "", place - first, place, self._width)

    def _hold(self, anchor: ScrollAnchor) -> None:
        if not len(self.galley):
            return
        unit = self.unit_of(min(anchor.unit, len(self.galley) - 1), anchor.key)
        found = (first for first, _, block in stops(self.galley.lines(unit)) if block.key == anchor.key)
        first = next(found, -1) if anchor.key else -1
        if first < 0:
            first = anchor.place - anchor.offset if anchor.width == self._width else 0
        within = anchor.offset if anchor.width == self._width else min(0, anchor.offset)
        self._show_line(self.galley.top(unit) + max(0, first + within))

    def unit_of(self, near: int, key: str) -> int:
        """The unit that has the block called `key`, or else `near`."""
        return near

    def together(self, unit: int) -> range:
        """The units that are slices of the block of this one."""
        return range(unit, unit + 1)

    def _show_line(self, line: int) -> None:
        if line + self.size.height > self.virtual_size.height:
            self._sync()
        else:
            self.sync_after_refresh()
        self.scroll_to(y=max(0, line), animate=False, immediate=True, force=True)

    def change(self, unit: int) -> None:
        """One unit looks different now, with the other slices of its block."""
        for each in self.together(unit):
            self.galley.forget(each)
        self.galley.lines(unit)
        self.relaid()
        self._changes += 1
        self._sync()
        self.keep_in_view()
        self.refresh()
        self.refine_soon()

    def repaint(self) -> None:
        """What lies over the lines is different now."""
        self._changes += 1
        self.refresh()

    def sync_after_refresh(self) -> None:
        """There is more or less of it all than was told: tell it before long."""
        if self._syncing is None and self.is_running:
            self._syncing = self.set_timer(SYNC, self._sync)

    def _sync(self) -> None:
        if self._syncing is not None:
            self._syncing.stop()
            self._syncing = None
        size = Size(max(self._width, 1), self.galley.total + self.foot_rows)
        if size != self.virtual_size:
            self.virtual_size = size
            self.tell()  # how far one has read is of another whole now

    @contextmanager
    def steady(self) -> Iterator[None]:
        """What is at the top stays there, though units above it are set meanwhile and get their true heights."""
        galley, top = self.galley, self.scroll_offset.y
        unit, place = galley.at(top) if len(galley) else (0, 0)
        yield
        if galley is self.galley and len(galley) and galley.top(unit) + place != top:
            self._show_line(galley.top(unit) + place)

    # Scrolling

    @property
    def rows(self) -> int:
        """How many rows are on show."""
        return max(1, self.size.height - self.foot_rows)

    def go(self, line: int) -> None:
        """Bring `line` to the top, as far as that can be."""
        if line >= self.galley.total - 2 * self.rows:
            at_end = line + self.rows >= self.galley.total
            self.galley.settle_end(2 * self.rows)
            line = self.galley.total - self.rows if at_end else line
        self._show_line(line)
        self.refine_soon()

    def go_by(self, step: int) -> None:
        """Move by so many lines. Those one comes upon above are set before: they are as high as they are."""
        here = self.scroll_offset.y
        self.go((self.galley.settle_above(here, -step) if step < 0 else here) + step)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.moved_at = time.perf_counter()
            self.scrolled(down=new_value > old_value)
            self.tell()

    def tell(self) -> None:
        """Say, once the frame is drawn, that something moved, or how much there is."""
        if not self._telling and self.is_running:
            self._telling = True
            self.call_after_refresh(self._tell)

    def _tell(self) -> None:
        self._telling = False
        self.post_message(self.Moved(self))

    def action_scroll_lines(self, step: int) -> None:
        self.go_by(step)

    def action_scroll_half(self, step: int) -> None:
        self.go_by(step * max(1, self.rows // 2))

    def action_scroll_page(self, step: int) -> None:
        self.go_by(step * max(1, self.rows - 2))

    def action_scroll_edge(self, end: int) -> None:
        self.go(self.galley.total if end else 0)

    # Painting

    @property
    def was_painted(self) -> bool:
        """Whether anything has been on show yet: before that, nothing is done ahead of it."""
        return bool(self._frame)

    def paint(self) -> list[Strip]:
        """The rows on show."""
        top, width, height = self.scroll_offset.y, self.pane_width, self.size.height
        key = (top, width, height, self._changes, self.galley.total, int(self.has_focus))
        if key == self._frame_key:
            return self._frame
        ground = self.ground
        total = self.galley.total
        self.rows_on_show = self._rows_painted(top, width, ground)
        self.before_painting()
        frame = [self._row(row, y, width, ground) for y, row in enumerate(self.rows_on_show)]
        if not self.rows_on_show and not len(self.galley):
            frame = [self._state_strip(content, width, ground) for content in self.state_lines()[:height]]
        frame += [Strip.blank(width, ground)] * (height - len(frame))
        if (foot := self.foot()) is not None and frame:
            frame[foot[0]] = foot[1].crop_extend(0, width, ground)
        if not self.was_painted:
            self.refine_soon()
        self._frame, self._frame_key = frame, (*key[:4], self.galley.total, key[5])
        if self.galley.total != total:
            self.sync_after_refresh()
        return frame

    def _rows_painted(self, top: int, width: int, ground: Style) -> list[tuple[int, int, Line]]:
        """The rows from `top` on. A unit of which one cannot be painted is shown as it is written."""
        done: set[int] = set()
        while True:
            rows = self.galley.between(top, top + self.size.height)
            faulty = unpaintable(rows, lambda unit, line: self.painted_line(unit, line, width, ground)) - done
            if not faulty:
                return rows
            for unit in faulty:
                block = self.galley.units[unit].block or Block("change")
                self.galley.put(unit, unset(block, self.written, self.look, max(NARROWEST, width - 2 * self.margin)))
            done |= faulty

    def _row(self, row: tuple[int, int, Line], y: int, width: int, ground: Style) -> Strip:
        unit, place, line = row
        strip = self.painted_line(unit, line, width, ground)
        return self.veiled(self.decorate(strip, unit, place, line), y)

    def painted_line(self, unit: int, line: Line, width: int, ground: Style) -> Strip:
        """A line as it is painted, but for what lies over it."""
        strip = line.strip
        if strip is None or strip.cell_length != width:
            strip = line.strip = painted(line, self.margin_of(unit), width, ground)
        return strip

    def margin_of(self, unit: int) -> int:
        """The blank cells at the left of a unit."""
        return self.margin

    def _state_strip(self, content: Content, width: int, ground: Style) -> Strip:
        parts = content.truncate(width).render(self.visual_style, end="", parse_style=self.app.stylesheet.parse_style)
        return Strip([Segment(text, style.rich_style) for text, style in parts if text]).extend_cell_length(
            width, ground
        )

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.marked(self.paint()[crop.y : crop.bottom], self.scroll_offset.y + crop.y)
        strips = self.filtered(strips)
        if crop.column_span != (0, self.pane_width):
            strips = [strip.crop_extend(*crop.column_span, self.ground) for strip in strips]
        return strips

    def filtered(self, strips: list[Strip]) -> list[Strip]:
        """Rows in the colours the terminal has. A strip keeps what was made of it."""
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return let_go(strips)

    def marked(self, strips: list[Strip], line: int) -> list[Strip]:
        """Rows, the first of which shows `line`, with what is selected in them marked."""
        return strips

    def render_line(self, y: int) -> Strip:
        # Where its characters stand is asked of one row, under the mouse: to say so for all takes as long as painting.
        return self.paint()[y].apply_offsets(0, self.scroll_offset.y + y)

    def on_focus(self, event: Focus) -> None:
        self.repaint()

    def on_blur(self, event: Blur) -> None:
        self.repaint()
