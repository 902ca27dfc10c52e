"""What is put in place of private parts of Textual, each for its reason. Tried with Textual 8.2.8.

Imported for what it does. A part that is no more as it was then is left as it is: none of this is needed to work, but for
`visible_widgets`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.cache import FIFOCache
from textual.events import Event, Mount
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget

# Textual keeps a thousand of its results, each with all lines of a widget: it calls it with them where it meant the class.
StylesCache.get_inner_outer = classmethod(lru_cache(1024)(StylesCache.get_inner_outer.__wrapped__))  # type: ignore[arg-type, assignment, method-assign]


_visible = cast(
    "Callable[[Compositor], dict[Widget, tuple[Region, Region]]]", Compositor.__dict__["visible_widgets"].fget
)


def _there(compositor: Compositor) -> dict[Widget, tuple[Region, Region]]:
    """What is painted, without what is out of the tree: parts go before the whole does, and until that is laid out anew
    Textual paints them, on a screen they no longer have."""
    visible = _visible(compositor)
    if any(widget.parent is None for widget in visible):
        return {widget: place for widget, place in visible.items() if widget.parent is not None}
    return visible


Compositor.visible_widgets = property(_there)  # type: ignore[method-assign, assignment]  # the one way into its painting


_CACHES = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}
"""Those of each line that is painted. Most stay empty, and seven empty ones are five times what the line takes."""


def _made(strip: Strip, segments: Any, cell_length: int | None = None) -> None:
    strip._segments = list(segments)
    strip._cell_length = cell_length
    strip._render_cache = None
    strip._link_ids = None
    strip._cell_count = None


def _asked(strip: Strip, name: str) -> FIFOCache[Any, Any]:
    """A cache that was not asked for before."""
    if (size := _CACHES.get(name)) is None:
        raise AttributeError(name)
    cache: FIFOCache[Any, Any] = FIFOCache(size)
    setattr(strip, name, cache)
    return cache


if set(Strip.__slots__) == {*_CACHES, "_segments", "_cell_length", "_render_cache", "_link_ids", "_cell_count"}:
    Strip.__init__ = _made  # type: ignore[method-assign, assignment]  # the same, but for the caches
    Strip.__getattr__ = _asked  # type: ignore[attr-defined]  # for what has a slot and is not there


async def _heard(widget: Widget, event: Event) -> None:
    """What is taken down before it is there has no parts to make ready."""
    if not (isinstance(event, Mount) and widget._pruning):
        await MessagePump.on_event(widget, event)


Widget.on_event = _heard  # type: ignore[method-assign, assignment]  # of message pumps, which ask no such thing
