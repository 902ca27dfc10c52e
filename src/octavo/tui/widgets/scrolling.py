"""What scrolls and leaves no garbage behind: its frames are gone when the next is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.color import Color
from rich.segment import Segment
from textual.cache import FIFOCache
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from octavo.tui.terminal.textual_internals import update_scroll_bars, vertical_scroll_bar


class _KeepsNothing(FIFOCache[Any, Any]):
    def __setitem__(self, key: object, value: object) -> None:
        """Do nothing."""


_NOTHING = _KeepsNothing(0)
_FILTERED = "_filter_cache"
_MADE_OF_IT = (
    "_divide_cache",
    "_crop_cache",
    "_style_cache",
    "_line_length_cache",
    "_crop_extend_cache",
    "_offsets_cache",
)


def let_go(strips: Iterable[Strip], *, filtered: bool = True) -> list[Strip]:
    """`strips`, small, and gone as soon as nobody shows them; those that are not `filtered` keep what filters make of them.

    Textual's strips remember what is made of them, in seven caches that take more memory than their cells. What one as wide
    as its place is cut into is the strip itself, and only a look for garbage finds it: dozens with every frame.
    """
    strips = list(strips)
    for strip in strips:
        for name in _MADE_OF_IT:
            setattr(strip, name, _NOTHING)
        if filtered:
            setattr(strip, _FILTERED, _NOTHING)
    return strips


class Scrolling(ScrollView):
    """What is scrolled in cells, and may get longer: its scroll bar tells, and nothing around it is laid out again, unless
    it is as large as what it holds."""

    virtual_size = Reactive(Size(0, 0))

    def watch_virtual_size(self, size: Size) -> None:
        update_scroll_bars(self, size)
        if self.styles.auto_dimensions:
            self.refresh(layout=True)

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return vertical_scroll_bar(self, lambda: _Bar(name="vertical", thickness=self.scrollbar_size_vertical))


class _Bar(ScrollBar):
    """A bar drawn as it is: through all that styles can do to a widget, its few cells take as long as a page of text."""

    _drawn: tuple[tuple[object, ...], list[Strip]] = ((), [])
    """What the bar looks like by, and its rows."""

    def render_lines(self, crop: Region) -> list[Strip]:
        bar = self.render()
        if not isinstance(bar, ScrollBarRender):
            return let_go(super().render_lines(crop))
        filters = self.get_line_filters()
        looks = (bar.style, bar.virtual_size, bar.window_size, bar.position, self.size, *filters)
        if self._drawn[0] != looks:
            self._drawn = (looks, self._rows(bar, filters))
        strips = self._drawn[1][crop.y : crop.bottom]
        if crop.column_span != (0, bar.thickness):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _rows(self, bar: ScrollBarRender, filters: Sequence[LineFilter]) -> list[Strip]:
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
        ground, background, made = self.visual_style.rich_style, self.background_colors[1], {}
        for each in {id(cell): cell for cell in cells}.values():  # most cells are one and the same segment
            strip = Strip(Segment.apply_style([each], ground), bar.thickness)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            made[id(each)] = strip
        let_go(made.values())
        return [made[id(cell)] for cell in cells]
