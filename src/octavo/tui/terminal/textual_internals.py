"""All uses and replacements of private parts of Textual, each with its reason. Tried with Textual 8.2.8.

No other module uses or overrides a private name of Textual, except `textual_parts.py`; a test checks that. That module
also checks each part before its replacement.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import RenderableType
from textual._compositor import Compositor
from textual._parser import ParseError as ParseError
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Event, Key, Mount
from textual.geometry import Region, Size
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget
from textual.worker_manager import WorkerManager

from octavo.tui.terminal.textual_parts import OTHER_PARTS, replaces
from octavo.tui.terminal.textual_parts import is_being_removed as is_being_removed

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

    Textual forgets the size at the first such refresh before a layout, and not before the widget is mounted. If the size
    was computed in between, Textual kept it and cut the widget off.
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
        if app._exception is not None and not app._exit_renderables:  # An error caused by the first says nothing new.
            app._exit_renderables.append(report(app._exception))
        app._close_messages_no_wait()

    app._fatal_error = end  # type: ignore[method-assign]  # Textual has no public hook for a crash.


def crash(app: App[Any], error: Exception) -> None:
    """End an app as if one of its event handlers had raised `error`."""
    app._handle_exception(error)


def before_removal(app: App[Any], notify: Callable[[set[DOMNode]], None]) -> None:
    """Call `notify` with all widgets and screens that are about to be removed. Textual has events only for after that."""
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
