"""What scrolls and leaves no garbage behind: its frames are gone when the next is drawn."""

from __future__ import annotations

from collections.abc import Iterable

from textual.cache import FIFOCache
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip


class _KeepsNothing(FIFOCache[tuple[int, ...], list[Strip]]):
    def __setitem__(self, key: tuple[int, ...], value: list[Strip]) -> None:
        """Do nothing."""


_NOTHING = _KeepsNothing(0)


def let_go(strips: Iterable[Strip]) -> list[Strip]:
    """`strips`, gone as soon as nobody shows them. Textual's compositor lets a strip remember what it is cut into. That of
    one as wide as its place is the strip itself, and only a look for garbage finds it: dozens with every frame."""
    strips = list(strips)
    for strip in strips:
        strip._divide_cache = _NOTHING
    return strips


class Scrolling(ScrollView):
    """A view of lines, scrolled in cells."""

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        bar = self._vertical_scrollbar
        if bar is None:
            bar = self._vertical_scrollbar = _Bar(name="vertical", thickness=self.scrollbar_size_vertical)
            bar.display = False
            self.app._start_widget(self, bar)
        return bar


class _Bar(ScrollBar):
    def render_lines(self, crop: Region) -> list[Strip]:
        return let_go(super().render_lines(crop))
