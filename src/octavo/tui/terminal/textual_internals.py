"""All uses and replacements of private parts of Textual, each with its reason. Tried with Textual 8.2.8.

No other module uses or overrides a private name of Textual; a test checks that. A part is replaced only if the installed
Textual has the part that the replacement was written for: see `PARTS`.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial, wraps
from inspect import CORO_CREATED, getattr_static, getcoroutinestate, iscoroutine
from types import CodeType
from typing import Any, cast
from zlib import crc32

from rich.console import RenderableType
from textual._compositor import Compositor
from textual._context import active_message_pump
from textual._parser import ParseError as ParseError
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.binding import Binding, BindingsMap
from textual.cache import FIFOCache, LRUCache
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Event, Key, Mount
from textual.geometry import Region, Size
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.timer import Timer, TimerCallback
from textual.widget import Widget
from textual.worker import Worker
from textual.worker_manager import WorkerManager

# Guards


def _names_in(code: CodeType) -> set[str]:
    """Return all names in a function and its inner functions. They are the same in every version of Python."""
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def fingerprint(kind: type, name: str) -> int:
    """Return a hash of the names in the code of a method or property. 0 if the class has no such part."""
    part = getattr_static(kind, name, None)
    function = getattr(part, "fget", None) or getattr(part, "__func__", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(name for name in _names_in(code) if name.isidentifier() and name != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


PARTS: dict[tuple[type, str], int] = {
    (Compositor, "visible_widgets"): 0x4AFE78A0,
    (Compositor, "reflow"): 0x4C993E47,
    (Widget, "on_event"): 0xC90C9A86,
    (Widget, "refresh"): 0x8965538B,
    (App, "_fatal_error"): 0xB2320153,
    (App, "_prune"): 0x516B9499,
    (Screen, "_binding_chain"): 0x93FD9604,
    (Screen, "_compositor_refresh"): 0xEA0E41F0,
    (Screen, "_update_focus_styles"): 0x57F2EAC2,
    (Stylesheet, "set_variables"): 0xB21E7C04,
    (Stylesheet, "parse"): 0xBC88A289,
    (Stylesheet, "reparse"): 0x57B6371B,
    (Timer, "_start"): 0x51A8F712,
    (Worker, "cancel"): 0xC3902025,
    (LinuxDriver, "_sigcont_application"): 0xDEA96D5C,
    (Strip, "__init__"): 0xFAF8C6FC,
}
"""The fingerprint of each part of Textual that is replaced or relied on."""
OTHER_PARTS = {part for part, known in PARTS.items() if fingerprint(*part) != known}
"""The parts that are different in the installed Textual. They are not replaced."""


def replaces(kind: type, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for the replacement of a method or property. The first argument of the replacement is the
    original."""

    def replace(replacement: Callable[..., Any]) -> Callable[..., Any]:
        if (kind, name) not in OTHER_PARTS:
            part = getattr_static(kind, name)
            original = getattr(part, "fget", part)

            @wraps(original)
            def call(*args: Any, **options: Any) -> Any:
                return replacement(original, *args, **options)

            setattr(kind, name, property(call) if isinstance(part, property) else call)
        return replacement

    return replace


# Caches


class CachedStylesheet(Stylesheet):
    """A stylesheet that parses each CSS source once for each theme.

    Textual parses all sources again for each screen that has a source of its own, which takes 25 to 90 ms.
    """

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(1000)  # Textual keeps 64 sources, and Octavo has more.

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()


def new_stylesheet(variables: dict[str, str]) -> Stylesheet:
    """Return an empty `CachedStylesheet`. If the stylesheets of the installed Textual are different, return a
    stylesheet of Textual."""
    is_known = OTHER_PARTS.isdisjoint((Stylesheet, name) for name in ("set_variables", "parse", "reparse"))
    return CachedStylesheet(variables=variables) if is_known else Stylesheet(variables=variables)


class _NoCache(FIFOCache[Any, Any]):
    def __setitem__(self, key: object, value: object) -> None:
        """Ignore the entry, so that nothing is cached."""


_NO_CACHE = _NoCache(0)
_FILTER_CACHE = "_filter_cache"
_CACHES = (
    "_divide_cache",
    "_crop_cache",
    "_style_cache",
    "_line_length_cache",
    "_crop_extend_cache",
    "_offsets_cache",
)


def disable_caches(strips: Iterable[Strip], *, filtered: bool = True) -> list[Strip]:
    """Disable the caches of `strips` and return them. Without `filtered`, the cache of filtered strips stays enabled.

    A strip has seven caches, which take more memory than its cells. A strip that is cropped to its full width also
    caches itself. Only the garbage collector can release such a strip, and each frame has dozens of them.
    """
    strips = list(strips)
    if (Strip, "__init__") in OTHER_PARTS:
        return strips
    for strip in strips:
        for name in _CACHES:
            setattr(strip, name, _NO_CACHE)
        if filtered:
            setattr(strip, _FILTER_CACHE, _NO_CACHE)
    return strips


# Timers and workers


def is_being_removed(node: DOMNode) -> bool:
    """Return whether a node is being removed or was removed. Its children and its key bindings may be gone already."""
    return node._pruning or node._closing  # Textual sets only `_closing` for scroll bars.


def _unless_removed(node: DOMNode, callback: TimerCallback) -> TimerCallback:
    return lambda: None if is_being_removed(node) else callback()


@replaces(Timer, "_start")
def _start_for_target(_: Callable[..., Any], timer: Timer) -> None:
    """Start a timer that calls nothing if its target is being removed, and that runs in the context of its target.

    A busy widget handles a timer late, maybe after its children are removed. Textual runs a timer in the context in which
    it was created: the timer of a notification that a dialog shows would keep the closed dialog in memory.
    """
    context, target, callback = copy_context(), timer._target(), timer._callback
    if target is not None:
        context.run(active_message_pump.set, cast("MessagePump", target))
    if isinstance(target, DOMNode) and callback is not None:
        if isinstance(callback, partial) and callback.func == target.call_next:  # the form that `set_timer` uses
            timer._callback = partial(callback.func, *(_unless_removed(target, each) for each in callback.args))
        else:
            timer._callback = _unless_removed(target, callback)
    timer._task = asyncio.get_running_loop().create_task(timer._run_timer(), name=timer.name, context=context)


@replaces(Worker, "cancel")
def _close_unstarted_work(original: Callable[..., None], worker: Worker[Any]) -> None:
    """Cancel a worker and close its coroutine if it has not started. Otherwise Python warns that it was never awaited."""
    original(worker)
    if iscoroutine(work := worker._work) and getcoroutinestate(work) == CORO_CREATED:
        work.close()


# Widgets


def is_whole(widget: Widget) -> bool:
    """Return whether a widget has its children and is not being removed.

    Check this after each `await` and in each callback. Textual's `is_mounted` and `is_attached` are also true for a widget
    that is being removed.
    """
    return widget.is_mounted and not is_being_removed(widget)


@replaces(Widget, "on_event")
async def _skip_late_mount(original: Callable[..., Any], widget: Widget, event: Event) -> None:
    """Do not send `Mount` to a widget that is being removed, or while the app exits: the widget has no children."""
    if not (isinstance(event, Mount) and (is_being_removed(widget) or is_ending(widget.app))):
        await original(widget, event)


@replaces(Widget, "refresh")
def _forget_size(original: Callable[..., Widget], widget: Widget, *regions: Region, **options: bool) -> Widget:
    """Forget the size of a widget at each `refresh(layout=True)`.

    Textual forgets the size only at the first such refresh after a layout, and never before the widget is mounted. If
    Textual computed the size between two refreshes, it kept this size and cut the widget off.
    """
    if options.get("layout"):
        if widget._layout_required:
            widget._layout_updates += 1
        if not widget._is_mounted:
            widget._layout_cache.clear()
            widget.clear_cached_dimensions()
    return original(widget, *regions, **options)


@replaces(Compositor, "visible_widgets")
def _attached_widgets(original: Callable[..., Any], compositor: Compositor) -> dict[Widget, tuple[Region, Region]]:
    """Do not paint removed widgets. Textual paints them until the next layout, and they have no screen any more."""
    visible: dict[Widget, tuple[Region, Region]] = original(compositor)
    if any(widget.parent is None for widget in visible):
        return {widget: regions for widget, regions in visible.items() if widget.parent is not None}
    return visible


_LAST_MAP = "_octavo_last_map"
"""The attribute of a compositor with the map of its last layout."""


@replaces(Compositor, "reflow")
def _compare_with_last_layout(original: Callable[..., Any], compositor: Compositor, parent: Widget, size: Size) -> Any:
    """Compare a layout with the previous layout to find the widgets that become visible.

    Textual compares with its newest map of regions. If a scroll has updated that map since the previous layout, the new
    widgets are in it already, and Textual sends them no events with their size.
    """
    compositor._full_map = getattr(compositor, _LAST_MAP, {})
    result = original(compositor, parent, size)
    setattr(compositor, _LAST_MAP, compositor._full_map)
    return result


def update_scroll_bars(widget: Widget, size: Size) -> None:
    """Show the size of the content in the scroll bars of a widget, without a layout."""
    widget._scroll_update(size)


def vertical_scroll_bar(widget: Widget, make: Callable[[], ScrollBar]) -> ScrollBar:
    """Return the vertical scroll bar of a widget. `make` creates the bar at the first call, instead of Textual."""
    bar = widget._vertical_scrollbar
    if bar is None:
        bar = widget._vertical_scrollbar = make()
        bar.display = False
        widget.app._start_widget(widget, bar)
    return bar


def use_as_lines(wrapped: Any) -> None:
    """Let `TextArea` look up lines by number in `wrapped`, which replaces a `WrappedDocument`."""
    wrapped._offset_to_line_info = wrapped


# Apps


def use_workers(app: App[Any], workers: WorkerManager) -> None:
    """Replace the worker manager of an app that has no workers yet."""
    app._workers = workers


def replace_crash_screen(
    app: App[Any], report: Callable[[Exception], RenderableType], *, first: Callable[[], None]
) -> None:
    """Call `first` when `app` crashes, and print what `report` returns. Textual's crash screen prints local variables."""
    if (App, "_fatal_error") in OTHER_PARTS:
        return

    def end() -> None:
        first()
        if app._exception is not None and not app._exit_renderables:  # Only the first error is reported.
            app._exit_renderables.append(report(app._exception))
        app._close_messages_no_wait()

    app._fatal_error = end  # type: ignore[method-assign]  # Textual has no public hook for a crash.


def crash(app: App[Any], error: Exception) -> None:
    """End an app as if one of its event handlers had raised `error`."""
    app._handle_exception(error)


def before_removal(app: App[Any], notify: Callable[[set[DOMNode]], None]) -> None:
    """Call `notify` with all widgets and screens that are about to be removed. Textual's own events come only after the
    removal."""
    if (App, "_prune") in OTHER_PARTS:
        return
    prune = app._prune

    def notify_and_prune(*nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        notify({each for node in nodes for each in node.walk_children(with_self=True)})
        return prune(*nodes, parent=parent)

    app._prune = notify_and_prune  # type: ignore[method-assign]  # All ways to remove a widget call this method.


def message_pumps(app: App[Any]) -> Iterable[MessagePump]:
    """Return the app, and all screens and widgets that receive messages now."""
    return app._registry


def watchers_of(app: App[Any]) -> Iterable[list[tuple[DOMNode, object]]]:
    """Return the lists of watchers of the app's reactive attributes, each with the node that watches."""
    watchers: dict[str, list[tuple[DOMNode, object]]] = app.__dict__.get("__watchers", {})
    return watchers.values()


def is_ending(app: App[Any]) -> bool:
    """Return whether `app.exit` was called. Its widgets are being removed then."""
    return app._exit


# Screens


@replaces(Screen, "_compositor_refresh")
def _paint_unless_batched(original: Callable[..., None], screen: Screen[Any]) -> None:
    """Paint nothing while the app batches updates. Textual renders the frame and throws it away: its changes are not
    painted after the batch either."""
    if not screen.app._batch_count:
        original(screen)


@replaces(Screen, "_update_focus_styles")
def _skip_focus_styles(original: Callable[..., None], screen: Screen[Any], *focused: Any, **options: Any) -> None:
    """Compute no styles for a new focus while the first screen is built: `Shell.paint_first_screen` computes all."""
    if not getattr(screen.app, "is_opening", False):
        original(screen, *focused, **options)


def add_bindings(node: DOMNode, bindings: Iterable[Binding]) -> None:
    """Add key bindings to a widget, screen or app. Its own bindings come first."""
    node._bindings = BindingsMap.merge([node._bindings, BindingsMap(bindings)])


@replaces(Screen, "_binding_chain")
def _add_fallback_bindings(original: Callable[..., Any], screen: Screen[Any]) -> list[tuple[DOMNode, BindingsMap]]:
    """Add the key bindings of the screen's `fallback_pane`, if it has one, after those of the screen.

    Textual uses only the bindings of the focused widget and of its ancestors.
    """
    chain: list[tuple[DOMNode, BindingsMap]] = original(screen)
    pane: Widget | None = getattr(screen, "fallback_pane", None)
    if pane is not None:
        bindings = pane._bindings.copy()
        bindings.apply_keymap(screen.app._keymap)
        chain.insert(len(chain) - 1, (pane, bindings))
    return chain


def mark_for_repaint(screen: Screen[Any], regions: Iterable[Region]) -> None:
    """Drop the rendered lines of `regions` of a screen below a dialog. The dialog on top paints them again."""
    screen._set_dirty(*regions)


def painted_rows(screen: Screen[Any]) -> list[Strip]:
    """Return the rows of the terminal as the current `screen` paints them now."""
    return screen._compositor.render_strips(screen.size)


# The terminal driver


def resume_only_stopped(driver: LinuxDriver, is_running: Callable[[], bool]) -> None:
    """Let `driver` handle SIGCONT only after a stop, or while it is not running.

    A terminal that closes sends SIGHUP and then SIGCONT. Textual would start to use the closed terminal again.
    """

    def resume(*signal_and_frame: Any) -> None:
        if driver._must_signal_resume or not is_running():
            driver._sigcont_application(*signal_and_frame)

    if (LinuxDriver, "_sigcont_application") not in OTHER_PARTS:
        signal.signal(signal.SIGCONT, resume)


def key_events(parser: XTermParser, sequence: str, *, alt: bool = False) -> list[Key]:
    """Return the key events for an escape sequence. Empty if it is unknown. `alt`: the alt key is pressed, too."""
    return list(parser._sequence_to_key_events(sequence, alt=alt))


def write_to_terminal(app: App[Any], text: str) -> None:
    """Write an escape sequence to the terminal of an app. Does nothing if the app has no terminal."""
    if app._driver is not None:
        app._driver.write(text)
        app._driver.flush()
