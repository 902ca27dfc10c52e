"""A scrolling widget that does not keep the strips of old frames in memory, and whose moves wait for its first lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.color import Color
from rich.segment import Segment
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from octavo.tui.terminal.textual_internals import disable_caches, update_scroll_bars, vertical_scroll_bar
from octavo.tui.widgets.commands import HasCommands


class ScrollWidget(HasCommands, ScrollView):
    """A scroll view whose scroll bar follows the size of the content. Such a change needs a layout only if the size
    of the widget is automatic."""

    MOVES: ClassVar[frozenset[str]] = frozenset()
    """Names of the commands that wait for the first lines. The other commands say that the lines are loading."""
    waiting_commands: tuple[str, ...] = ()
    """Ids of the commands that were pressed before there were lines."""
    virtual_size = Reactive(Size(0, 0))

    def watch_virtual_size(self, size: Size) -> None:
        update_scroll_bars(self, size)
        if self.styles.auto_dimensions:
            self.refresh(layout=True)

    @property
    def is_waiting_for_lines(self) -> bool:
        """True if there are no lines yet, because the first lines are still being loaded, parsed or compared."""
        return False

    def action_command(self, id: str) -> object:
        if self.is_waiting_for_lines and id.partition(".")[2] in self.MOVES:
            self.waiting_commands += (id,)
            return None
        self.run_waiting_commands()
        return super().action_command(id)

    def run_waiting_commands(self) -> None:
        """Run the commands that waited for the first lines, in order, unless they still must wait."""
        if self.waiting_commands and not self.is_waiting_for_lines:
            ids, self.waiting_commands = self.waiting_commands, ()
            for id in ids:
                self.action_command(id)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return vertical_scroll_bar(
            self, lambda: _FastScrollBar(name="vertical", thickness=self.scrollbar_size_vertical)
        )


class _FastScrollBar(ScrollBar):
    """A scroll bar that draws its own cells. Textual would draw the bar as slowly as a page of text."""

    _cache: tuple[tuple[object, ...], list[Strip]] = ((), [])
    """The values that determine the look of the bar, and the strips drawn for them."""

    def render_lines(self, crop: Region) -> list[Strip]:
        bar = self.render()
        if not isinstance(bar, ScrollBarRender):
            return disable_caches(super().render_lines(crop))
        filters = self.get_line_filters()
        state = (bar.style, bar.virtual_size, bar.window_size, bar.position, self.size, *filters)
        if self._cache[0] != state:
            self._cache = (state, self._draw_rows(bar, filters))
        strips = self._cache[1][crop.y : crop.bottom]
        if crop.column_span != (0, bar.thickness):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _draw_rows(self, bar: ScrollBarRender, filters: Sequence[LineFilter]) -> list[Strip]:
        style = self.app.console.get_style(bar.style)
        cells = bar.render_bar(
            self.size.height,
            bar.virtual_size,
            bar.window_size,
            bar.position,
            bar.thickness,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        ).segments
        ground, background, strips = self.visual_style.rich_style, self.background_colors[1], {}
        for each in {id(cell): cell for cell in cells}.values():  # most cells are the same segment object
            strip = Strip(Segment.apply_style([each], ground), bar.thickness)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips[id(each)] = strip
        disable_caches(strips.values())
        return [strips[id(cell)] for cell in cells]
