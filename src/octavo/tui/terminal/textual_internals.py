"""All uses of private parts of Textual, and all replacements of its methods, each with its reason. Tested with Textual
8.2.8.

No other module uses a private name of Textual, as a test checks. `replaced_parts.py` checks that the installed Textual
still fits a replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from typing import Any

from rich.segment import Segment
from textual._compositor import Compositor
from textual._parser import ParseError as ParseError
from textual._xterm_parser import XTermParser as TextualParser
from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.cache import FIFOCache, LRUCache
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.events import Event, Key, Mount
from textual.geometry import Region, Size
from textual.keys import Keys
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer, TimerCallback
from textual.widget import Widget
from textual.worker import Worker

from octavo.tui.terminal.replaced_parts import UNREPLACED_PARTS, replaces


class CachedStylesheet(Stylesheet):
    """Stylesheet that parses each CSS source only once for each theme."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(1000)  # Textual would keep only 64 sources, but Octavo has more.

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()


def is_being_removed(node: DOMNode) -> bool:
    """Return True if a widget or screen is being removed or was removed. Its children and bindings may be missing."""
    return node._pruning or node._closing  # For a scroll bar, Textual sets only `_closing`.


@replaces(MessagePump, "set_timer", 0xEE6ACDA5)
@replaces(MessagePump, "set_interval", 0x9118517E)
def _start_for_target(
    original: Callable[..., Timer], target: DOMNode, delay: float, callback: TimerCallback | None = None, **options: Any
) -> Timer:
    """Start a timer that does nothing once its target is removed. It runs in the context of the target, because another
    context would keep closed dialogs in memory."""

    def call_unless_removed() -> Any:
        is_late = is_being_removed(target) or (target.app._exit and target is not target.app)
        return callback() if callback is not None and not is_late else None

    with target._context():
        return original(target, delay, None if callback is None else call_unless_removed, **options)


@replaces(Worker, "cancel", 0xC3902025)
def _close_unstarted_work(original: Callable[..., None], worker: Worker[Any]) -> None:
    """Cancel a worker. If its coroutine was not started, close it, because Python would print a warning otherwise."""
    original(worker)
    if iscoroutine(work := worker._work) and getcoroutinestate(work) == CORO_CREATED:
        work.close()


def is_fully_mounted(widget: Widget) -> bool:
    """Return True if a widget has its children and is not being removed. Check this after each `await` and in
    callbacks, because `is_mounted` is not enough."""
    return widget.is_mounted and not is_being_removed(widget)


@replaces(Widget, "on_event", 0xC90C9A86)
async def _skip_late_mount(original: Callable[..., Any], widget: Widget, event: Event) -> None:
    """Do not send `Mount` to a widget during its removal or while the app exits. Its children may be missing then."""
    if not (isinstance(event, Mount) and (is_being_removed(widget) or widget.app._exit)):
        await original(widget, event)


@replaces(Widget, "refresh", 0x8965538B)
def _forget_size(original: Callable[..., Widget], widget: Widget, *regions: Region, **options: bool) -> Widget:
    """Forget the cached size of a widget at each `refresh(layout=True)`. Textual would keep a size that was computed
    between two refreshes."""
    if options.get("layout"):
        if widget._layout_required:
            widget._layout_updates += 1
        if not widget._is_mounted:
            widget._layout_cache.clear()
            widget.clear_cached_dimensions()
    return original(widget, *regions, **options)


@replaces(Compositor, "visible_widgets", 0x4AFE78A0)
def _attached_widgets(original: Callable[..., Any], compositor: Compositor) -> dict[Widget, tuple[Region, Region]]:
    """Return the visible widgets and their regions. Textual would paint removed widgets until the next layout."""
    return {widget: regions for widget, regions in original(compositor).items() if widget.parent is not None}


@replaces(Compositor, "update_widgets", 0x675D3A84)
def _update_before_paint(original: Callable[..., None], compositor: Compositor, widgets: set[Widget]) -> None:
    """Call `before_paint` of each widget that has this method and is about to be painted, unless updates are batched."""
    for widget in widgets:
        if hasattr(widget, "before_paint") and not widget.app._batch_count:
            widget.before_paint()
    original(compositor, widgets)


@replaces(Compositor, "reflow", 0x4C993E47)
def _lay_out_with_scroll_bars(original: Callable[..., Any], compositor: Compositor, parent: Widget, size: Size) -> Any:
    """Lay out widgets. Compare with the last layout to find newly visible widgets: Textual misses widgets that become
    visible by scrolling. If scroll bars appear or disappear, lay out again before a frame is painted."""
    last_map, last_widgets = getattr(compositor, "_octavo_last_map", {}), compositor.widgets
    compositor._full_map = last_map
    result = original(compositor, parent, size)
    if _has_new_scroll_bars(compositor):
        compositor._full_map, compositor.widgets = last_map, last_widgets
        result = original(compositor, parent, size)
    compositor._octavo_last_map = compositor._full_map  # type: ignore[attr-defined]  # A new attribute.
    return result


def _has_new_scroll_bars(compositor: Compositor) -> bool:
    """Resize scrollable widgets, and call their `fit_to_size`. Return True if a scroll bar appeared or disappeared."""
    has_changed = False
    for widget, (region, _, _, virtual_size, container_size, *_) in compositor._full_map.items():
        if not widget.is_scrollable:
            continue
        old_bars = widget.scrollbars_enabled
        if widget._size_updated(region.size, virtual_size, container_size) and hasattr(widget, "fit_to_size"):
            widget.fit_to_size()
        if widget.scrollbars_enabled != old_bars:
            has_changed = True
            widget._layout_required = False
            for ancestor in widget.ancestors_with_self:
                if isinstance(ancestor, Widget):
                    ancestor._clear_arrangement_cache()
    return has_changed


def update_scroll_bars(widget: Widget, size: Size) -> None:
    """Set the size of the content for the scroll bars of a widget. This does not lay out the widget again."""
    widget._scroll_update(size)


def wrap_lines(text_area: Any) -> None:
    """Wrap the lines of a `TextArea` for its current width."""
    text_area._rewrap_and_refresh_virtual_size()


@replaces(App, "_fatal_error", 0xB2320153)
def _report_crash(original: Callable[..., None], app: App[Any]) -> None:
    """Print what the method `crash_report` of the app returns for the first error, if the app has this method. Textual
    would print local variables, even tokens."""
    report: Callable[[Exception | None], Any] | None = getattr(app, "crash_report", None)
    if report is None:
        original(app)
        return
    if not app._exit_renderables:
        app._exit_renderables.append(report(app._exception))
    app._close_messages_no_wait()


@replaces(App, "_close_all", 0x0B2D4406)
async def _keep_widgets_at_end(original: Callable[..., Any], app: App[Any]) -> None:
    """If `App.ends_process` is True, do not remove the widgets when the app ends. The app then ends faster, and even if
    a screen handles no messages."""
    if not getattr(app, "ends_process", False):
        await original(app)


def crash(app: App[Any], error: Exception) -> None:
    """End the app with an error, as if an event handler had raised it."""
    app._handle_exception(error)


@replaces(App, "_prune", 0x516B9499)
def _notify_before_removal(original: Callable[..., Any], app: App[Any], *nodes: Widget, **options: Any) -> Any:
    """Call `App.before_removal` with all widgets and screens to be removed. Textual sends its events afterwards."""
    if hasattr(app, "before_removal"):
        app.before_removal({each for node in nodes for each in node.walk_children(with_self=True)})
    return original(app, *nodes, **options)


def message_pumps(app: App[Any]) -> Iterable[MessagePump]:
    """Return everything in the app that receives messages: the app itself, screens and widgets."""
    return app._registry


def watchers_of(app: App[Any]) -> Iterable[list[tuple[DOMNode, object]]]:
    """Return the watchers of each reactive attribute of the app, as a list per attribute."""
    watchers: dict[str, list[tuple[DOMNode, object]]] = app.__dict__.get("__watchers", {})
    return watchers.values()


@replaces(Screen, "_compositor_refresh", 0xEA0E41F0)
def _paint_unless_batched(original: Callable[..., None], screen: Screen[Any]) -> None:
    """Paint nothing while updates are batched: Textual would lose the frame. If `screen` is below the current screen,
    paint its changes once. Then paint the current screen too, because Textual would forget its waiting changes."""
    if not screen.app._batch_count:
        original(screen)
        if (current := screen.app.screen) is not screen:
            screen._repaint_required = current._repaint_required = False
            current._dirty_widgets.add(current)
            current.check_idle()


@replaces(Screen, "_screen_resized", 0x77FF0FD5)
def _lay_out_new_size(original: Callable[..., None], screen: Screen[Any], size: Size) -> None:
    """Lay out a screen if its size has changed. Textual would lay out each new screen two or three times."""
    if screen._size != size:
        original(screen, size)


def add_bindings(node: DOMNode, bindings: Iterable[Binding]) -> None:
    """Add key bindings to a widget, screen or app. Bindings that a key already has are tried before the new ones."""
    node._bindings = BindingsMap.merge([node._bindings, BindingsMap(bindings)])


@replaces(Screen, "_binding_chain", 0x93FD9604)
def _add_fallback_bindings(original: Callable[..., Any], screen: Screen[Any]) -> list[tuple[DOMNode, BindingsMap]]:
    """Return the screen's key bindings, with the bindings of `Screen.fallback_pane` before the bindings of the app."""
    chain: list[tuple[DOMNode, BindingsMap]] = original(screen)
    pane: Widget | None = getattr(screen, "fallback_pane", None)
    if pane is not None:
        bindings = pane._bindings.copy()
        bindings.apply_keymap(screen.app._keymap)
        chain.insert(len(chain) - 1, (pane, bindings))
    return chain


def bindings_of_key(screen: Screen[Any], key: str) -> list[tuple[DOMNode, Binding]]:
    """Return the bindings of a key, each with its node, from the focused widget to the app. Bindings with priority get
    the key first. If several bindings have priority, the last of them gets the key."""
    chain = screen._binding_chain
    return [(node, binding) for node, bindings in chain for binding in bindings.key_to_bindings.get(key, ())]


_CACHE_SIZES = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}
"""The caches of a strip, and how many results each keeps."""


@replaces(Strip, "__init__", 0xFAF8C6FC)
def _make_strip(_: object, strip: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    """Make a strip without caches. Most caches would stay empty, and seven empty caches need five times its memory."""
    strip._segments, strip._cell_length = list(segments), cell_length
    strip._render_cache = strip._link_ids = strip._cell_count = None


def _make_cache(strip: Strip, name: str) -> FIFOCache[Any, Any]:
    """Make the cache `name` of a strip when the cache is first read. Raises AttributeError if `name` is not a cache."""
    if name not in _CACHE_SIZES:
        raise AttributeError(name)
    cache: FIFOCache[Any, Any] = FIFOCache(_CACHE_SIZES[name])
    setattr(strip, name, cache)
    return cache


if (Strip, "__init__") not in UNREPLACED_PARTS:
    Strip.__getattr__ = _make_cache  # type: ignore[attr-defined]  # Python calls it for attributes that are not set.


def drop_rendered_lines(widget: Widget, regions: Iterable[Region]) -> None:
    """Make a widget render `regions` again when it is next painted. If `regions` is empty, all lines are rendered."""
    widget._set_dirty(*regions)


def painted_rows(screen: Screen[Any]) -> list[Strip]:
    """Return what `screen` would paint now, row by row. `screen` must be the current screen."""
    return screen._compositor.render_strips(screen.size)


class XTermParser(TextualParser):
    """Parser of terminal input that ignores escape sequences with impossible key numbers, which would crash the app."""

    def _parse_extended_key(self, sequence: str) -> list[Key] | None:  # type: ignore[override]  # Textual caches it
        try:
            return super()._parse_extended_key(sequence)
        except (ValueError, OverflowError):
            return [Key(Keys.Ignore, sequence)]

    def key_events(self, sequence: str, *, alt: bool = False) -> list[Key]:
        """Return the keys that an escape sequence stands for. Empty if it is unknown. `alt` adds alt to the keys."""
        return list(self._sequence_to_key_events(sequence, alt=alt))


def write_to_terminal(app: App[Any], text: str) -> None:
    """Write an escape sequence to the terminal. Do nothing if the app has no driver, because it is not running."""
    if app._driver is not None:
        app._driver.write(text)
