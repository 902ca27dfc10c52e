"""All replacements of private parts of Textual, and all uses of such parts, each with its reason. Tried with Textual 8.2.8.

No other module overrides or uses a private name of Textual; a test checks that. A replacement at module level holds for
every app. Other replacements are functions and decorators for the classes that need them. Each replacement is made only
if the part of Textual is the one that the replacement was written for (`has_parts`).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary
from zlib import crc32

from rich.console import RenderableType
from textual._compositor import Compositor
from textual._context import active_message_pump
from textual._parser import ParseError as ParseError
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.binding import BindingsMap
from textual.cache import FIFOCache, LRUCache
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Compose, Event, Key, Mount, Resize
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.timer import Timer, TimerCallback
from textual.widget import Widget
from textual.worker import Worker
from textual.worker_manager import WorkerManager

if TYPE_CHECKING:
    from textual.widgets import Input

V = TypeVar("V", bound=Screen[Any])

State: TypeAlias = tuple[Any, ...]
"""The state of what a node is in, its type, id and classes, and which pseudo-classes it has."""

SOURCES = 1000
"""Stylesheets that are kept parsed: more than the app and all its screens and widgets have."""


def _names_in(code: CodeType) -> set[str]:
    """Return all names in a function and in the functions within it: no version of Python compiles them to others."""
    names = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return names.union(*(_names_in(each) for each in code.co_consts if isinstance(each, CodeType)))


def fingerprint(kind: type, name: str) -> int:
    """Return a number that changes when a method or property of Textual is written with other names. 0 if there is none."""
    part = next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)
    function = getattr(part, "fget", None) or getattr(part, "__func__", part)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = sorted(each for each in _names_in(code) if each.isidentifier() and each != "__class__") if code else []
    return crc32(" ".join(names).encode()) if names else 0


PARTS: dict[type, dict[str, int]] = {
    Compositor: {
        "visible_widgets": 0x4AFE78A0,
        "reflow": 0x4C993E47,
        "clear": 0xBEC2AD62,
    },
    Widget: {
        "on_event": 0xC90C9A86,
        "refresh": 0x8965538B,
    },
    App: {
        "_fatal_error": 0xB2320153,
        "_prune": 0x516B9499,
    },
    Screen: {
        "_binding_chain": 0x93FD9604,
    },
    Stylesheet: {
        "set_variables": 0xB21E7C04,
        "parse": 0xBC88A289,
        "reparse": 0x57B6371B,
        "apply": 0x451D3498,
        "update_nodes": 0xF5F7F95D,
    },
    Timer: {
        "_start": 0x51A8F712,
    },
    Worker: {
        "cancel": 0xC3902025,
    },
    LinuxDriver: {
        "_sigcont_application": 0xDEA96D5C,
    },
}
"""The fingerprint of each part of Textual that is replaced here."""
OTHER_PARTS = {
    f"{kind.__name__}.{name}"
    for kind, parts in PARTS.items()
    for name, known in parts.items()
    if fingerprint(kind, name) != known
}
"""The parts of the installed Textual that are not those that the replacements were written for."""


def has_parts(*names: str) -> bool:
    """Return whether the installed Textual has these parts as the replacements of them expect."""
    return OTHER_PARTS.isdisjoint(names)


def _there(compositor: Compositor) -> dict[Widget, tuple[Region, Region]]:
    """What is painted, without what is out of the tree: parts go before the whole does, and until that is laid out anew
    Textual paints them, on a screen they no longer have."""
    visible = _visible(compositor)
    if any(widget.parent is None for widget in visible):
        return {widget: place for widget, place in visible.items() if widget.parent is not None}
    return visible


if has_parts("Compositor.visible_widgets"):
    _visible = cast(
        "Callable[[Compositor], dict[Widget, tuple[Region, Region]]]", Compositor.__dict__["visible_widgets"].fget
    )
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
    """What is taken down before it is there has no parts to make ready, nor has what is opened while the app ends."""
    if not (isinstance(event, Mount) and (is_being_removed(widget) or is_ending(widget.app))):
        await MessagePump.on_event(widget, event)


if has_parts("Widget.on_event"):
    Widget.on_event = _heard  # type: ignore[method-assign, assignment]  # of message pumps, which ask no such thing


def _refreshed(
    widget: Widget, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
) -> Widget:
    """Forget what a widget took, each time it says that it takes other room. Textual does so the first time, until all is
    told of it. What was laid out in between, as all is whose styles have come (those of the first dialog of its kind), was
    kept as what it takes from then on: who changed once more at that moment was cut off. And it forgets nothing of what is
    not mounted yet, which is laid out with the rest already.
    """
    if layout:
        if widget._layout_required:
            widget._layout_updates += 1
        if not widget._is_mounted:
            widget._layout_cache.clear()
            widget.clear_cached_dimensions()
    return _refresh(widget, *regions, repaint=repaint, layout=layout, recompose=recompose)


if has_parts("Widget.refresh"):
    _refresh = Widget.refresh
    Widget.refresh = _refreshed  # type: ignore[method-assign, assignment]  # the one way in which it says so


_TOLD = "_octavo_told"
"""What a compositor has as the map of the last time all was laid out: one that is kept beside it would keep its widgets."""


def _laid_out(compositor: Compositor, parent: Widget, size: Size) -> Any:
    """Say what has room since all was laid out the last time. Who asked meanwhile where a widget is made a map that had it
    already, and Textual tells none of those in it that they have room: a pane that was shown again stayed as it was hidden.
    """
    compositor._full_map = vars(compositor).setdefault(_TOLD, {})
    found = _reflow(compositor, parent, size)
    setattr(compositor, _TOLD, compositor._full_map)
    return found


def _cleared(compositor: Compositor) -> None:
    vars(compositor).pop(_TOLD, None)
    _clear(compositor)


if has_parts("Compositor.reflow", "Compositor.clear"):
    _reflow, _clear = Compositor.reflow, Compositor.clear
    Compositor.reflow = _laid_out  # type: ignore[method-assign, assignment]  # in its place
    Compositor.clear = _cleared  # type: ignore[method-assign, assignment]  # of a screen that closes


class OnceParsed(Stylesheet):
    """Parses each source once for each set of colours, and styles a widget again only where that may change something.

    Textual parses all of them for each screen that brings one. And with each focus and class that changes it looks up the
    styles of all that is in that place: nine in ten of them stay as they are.
    """

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(SOURCES)
        self._asked: tuple[set[str], ...] = ()
        """The pseudo-classes that rules ask for, each for itself."""
        self._styled: WeakKeyDictionary[DOMNode, tuple[State, RulesMap]] = WeakKeyDictionary()
        """In which state each node was styled with these rules, and what came of it."""
        self._states: dict[DOMNode, State] | None = None
        """Those of the nodes that are looked at together."""

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)
            self._require_parse = True

    def parse(self) -> None:
        super().parse()
        assert self._rules is not None
        self._asked = tuple({name} for name in sorted(set().union(*(rule.pseudo_classes for rule in self._rules))))
        self._styled.clear()

    def reparse(self) -> None:
        if self._require_parse:
            self.parse()

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[tuple[Any, ...], RulesMap] | None = None
    ) -> None:
        if type(node) is DOMNode:  # made to be asked for the styles of a part, once
            super().apply(node, animate=animate, cache=cache)
            return
        if self._require_parse:
            self.parse()
        state = self._state_of(node)
        # What is under way to other styles, or was set to others, has not those that came of it.
        if self._styled.get(node) != (state, node.styles.base.get_rules()):
            super().apply(node, animate=animate, cache=cache)
            self._styled[node] = state, node.styles.base.get_rules()

    def update_nodes(self, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        self._states = {}
        super().update_nodes(nodes, animate=animate)
        self._states = None

    def _state_of(self, node: DOMNode) -> State:
        """All that selectors ask of a node and of what it is in."""
        if self._states is not None and (known := self._states.get(node)) is not None:
            return known
        parent = node.parent
        state: State = (
            self._state_of(parent) if isinstance(parent, DOMNode) else None,
            type(node),
            node.id,
            node.classes,
            tuple(map(node.has_pseudo_classes, self._asked)),
        )
        if self._states is not None:
            self._states[node] = state
        return state


def new_stylesheet(variables: dict[str, str]) -> Stylesheet:
    """Return an empty stylesheet for an app: of Textual's kind if its parts are others than `OnceParsed` expects."""
    is_known = has_parts(*(f"Stylesheet.{name}" for name in PARTS[Stylesheet]))
    return OnceParsed(variables=variables) if is_known else Stylesheet(variables=variables)


# Of an app


def replace_crash_screen(
    app: App[Any], report: Callable[[Exception], RenderableType], *, first: Callable[[], None]
) -> None:
    """Let `app` end with what `report` makes of a bug, after `first` was called: Textual's crash screen prints local
    variables."""

    if not has_parts("App._fatal_error"):
        return

    def end() -> None:
        first()
        if app._exception is not None and not app._exit_renderables:  # what follows from it says nothing new
            app._exit_renderables.append(report(app._exception))
        app._close_messages_no_wait()

    app._fatal_error = end  # type: ignore[method-assign]  # what Textual calls then


def before_removal(app: App[Any], told: Callable[[set[DOMNode]], None]) -> None:
    """Call `told` with widgets and screens that are to be removed, and all in them, before they hear of it. Textual has
    events only for when they are gone."""
    if not has_parts("App._prune"):
        return
    prune = app._prune

    def tell(*nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        told({each for node in nodes for each in node.walk_children(with_self=True)})
        return prune(*nodes, parent=parent)

    app._prune = tell  # type: ignore[method-assign]  # the one way out


def use_workers(app: App[Any], workers: WorkerManager) -> None:
    """Let `workers` be those of `app`, which has none yet."""
    app._workers = workers


def _ended(worker: Worker[Any]) -> None:
    """Cancel it, and end its work where that has not begun: it never will, and Python would tell of it."""
    _cancel_worker(worker)
    if iscoroutine(work := worker._work) and getcoroutinestate(work) == CORO_CREATED:
        work.close()


if has_parts("Worker.cancel"):
    _cancel_worker = Worker.cancel
    Worker.cancel = _ended  # type: ignore[method-assign, assignment]  # also what Textual cancels, as one of a group does the one before


def message_pumps(app: App[Any]) -> Iterable[MessagePump]:
    """All that gets messages in `app` now."""
    return app._registry


def forget_sizes(pumps: Iterable[MessagePump]) -> None:
    """Let go of what widgets came out as in rooms they no longer have: each keeps sixteen such results, 10 KB."""
    for each in pumps:
        if isinstance(each, Widget):
            each._box_model_cache.clear()


def has_screen(app: App[Any], mode: str) -> bool:
    """Return whether a mode of `app` has a screen already."""
    return bool(app._screen_stacks.get(mode))


def all_screens(app: App[Any]) -> list[Screen[Any]]:
    """The screens of all modes; Textual tells those of one."""
    return [screen for stack in app._screen_stacks.values() for screen in stack]


def is_ending(app: App[Any]) -> bool:
    """Whether `app` was told to end: what is on the screen is being taken down."""
    return app._exit


def keymap_of(app: App[Any]) -> dict[str, str]:
    """The keys that the user gave commands, by their ids."""
    return dict(app._keymap)


def end_with(app: App[Any], error: Exception) -> None:
    """End `app` as it ends with a bug in a handler of its own."""
    app._handle_exception(error)


def add_line_filters(app: App[Any], filters: Iterable[LineFilter]) -> None:
    """Let every line that is painted go through these too, last of all."""
    app._filters += filters


# Of a screen


def prepare_screen(screen: Screen[Any], event: Event) -> bool:
    """Prepare a screen for `event`, and return whether the screen should handle it.

    Before the screen has widgets, it gets the breakpoint classes of the terminal's size: Textual sets them after the first
    layout, which shows panes in another width for a moment. A resize to a size that the terminal no longer has is not
    handled: two sizes that wait at once would alternate for ever.
    """
    app = screen.app
    if isinstance(event, Compose):
        across = screen._get_breakpoint_classes(app.size.width, app.HORIZONTAL_BREAKPOINTS or [])
        screen.add_class(*across, *screen._get_breakpoint_classes(app.size.height, app.VERTICAL_BREAKPOINTS or []))
    return not isinstance(event, Resize) or event.size == app.size


def with_bindings_of(pane: Callable[[V], Widget | None]) -> Callable[[type[V]], type[V]]:
    """Put before a screen class: keys that nothing else has are those of `pane`, though it has no focus. Textual asks what
    has the focus, and what that stands in."""

    def bind(kind: type[V]) -> type[V]:
        if not has_parts("Screen._binding_chain"):
            return kind
        bindings_of = cast("Callable[[V], list[tuple[DOMNode, BindingsMap]]]", Screen.__dict__["_binding_chain"].fget)

        def chain(screen: V) -> list[tuple[DOMNode, BindingsMap]]:
            found = bindings_of(screen)
            if (beside := pane(screen)) is not None:
                bindings = beside._bindings.copy()
                if screen.app._keymap:
                    bindings.apply_keymap(screen.app._keymap)
                found.insert(len(found) - 1, (beside, bindings))
            return found

        kind._binding_chain = property(chain)  # type: ignore[method-assign, assignment]  # in its place
        return kind

    return bind


def mark_for_repaint(screen: Screen[Any], regions: Iterable[Region]) -> None:
    """Drop the rendered lines of `regions` of a screen that is covered in part. The screen on top is painted anyway."""
    screen._set_dirty(*regions)


def painted_rows(screen: Screen[Any]) -> list[Strip]:
    """Return what `screen`, the one on show, looks like now, a row of the terminal each."""
    return screen._compositor.render_strips(screen.size)


def is_being_removed(node: DOMNode) -> bool:
    """Whether it is to go, and what is in it first, or is gone. It cannot be asked for its keys any more, and what is in
    it not for anything."""
    return node._pruning or node._closing  # of what the tree does not hold, as scroll bars, only the latter is set


def is_whole(widget: Widget) -> bool:
    """Whether it has its parts, and keeps them for now. It is asked wherever something was waited for meanwhile, and where
    one is told of something: Textual's `is_mounted` and `is_attached` hold for what is being removed, and the former for
    what is gone."""
    return widget.is_mounted and not is_being_removed(widget)


def _while_there(node: DOMNode, callback: TimerCallback) -> TimerCallback:
    return lambda: None if is_being_removed(node) else callback()


def _begun(timer: Timer) -> None:
    """Call nothing once what the timer is for is being removed: one that ended while that was busy is called when that no
    longer is, and what was in there is gone by then.

    And run in the context of what it is for. Textual runs it in that of whoever set it, and a dialog that was closed is held
    by the notice that was said there, as long as the screen below shows that.
    """
    context, target, callback = copy_context(), timer._target(), timer._callback
    if target is not None:
        context.run(active_message_pump.set, cast("MessagePump", target))
    if isinstance(target, DOMNode) and callback is not None:
        if isinstance(callback, partial) and callback.func == target.call_next:  # one that is called once
            timer._callback = partial(callback.func, *(_while_there(target, each) for each in callback.args))
        else:
            timer._callback = _while_there(target, callback)
    timer._task = asyncio.get_running_loop().create_task(timer._run_timer(), name=timer.name, context=context)


if has_parts("Timer._start"):
    Timer._start = _begun  # type: ignore[method-assign, assignment]  # the one way in which one begins


# Of what scrolls


def tell_scroll_bars(widget: Widget, size: Size) -> None:
    """Show in the scroll bars of `widget` that what it holds is of this size, and lay nothing out again."""
    widget._scroll_update(size)


def vertical_scroll_bar(widget: Widget, made: Callable[[], ScrollBar]) -> ScrollBar:
    """The vertical scroll bar of `widget`, which is `made` when it is first asked for: Textual makes one of its own."""
    bar = widget._vertical_scrollbar
    if bar is None:
        bar = widget._vertical_scrollbar = made()
        bar.display = False
        widget.app._start_widget(widget, bar)
    return bar


# Text inputs


class _Lines:
    """Lines of a wrapped text as `TextArea` looks them up: by number, in a list."""

    def __init__(self, find: Callable[[int], tuple[int, int]]) -> None:
        self._find = find

    def __getitem__(self, number: int) -> tuple[int, int]:
        return self._find(number)


def find_lines_with(wrapped: Any, find: Callable[[int], tuple[int, int]]) -> None:
    """Let `TextArea` use `wrapped` instead of a `WrappedDocument`. `find` returns the row and section of a line."""
    wrapped._offset_to_line_info = _Lines(find)


def has_suggestion(line: Input) -> bool:
    """Return whether the line shows a suggestion behind its text."""
    return bool(line._suggestion)


# Of a driver


def resume_only_stopped(driver: LinuxDriver, is_up: Callable[[], bool]) -> None:
    """Let `driver` take up the terminal again only where it was stopped, as long as it `is_up`: a terminal that goes away
    sends SIGHUP and then SIGCONT, which Textual answers in any case."""

    def resume(*signal_and_frame: Any) -> None:
        if driver._must_signal_resume or not is_up():
            driver._sigcont_application(*signal_and_frame)

    if has_parts("LinuxDriver._sigcont_application"):
        signal.signal(signal.SIGCONT, resume)


def key_parser(driver: LinuxDriver) -> XTermParser:
    """What makes messages of what the terminal of `driver` sends."""
    return XTermParser(driver._debug)


def keys_of(parser: XTermParser, sequence: str, *, alt: bool = False) -> list[Key]:
    """The keys that `sequence` is known to be, `alt` with that key held."""
    return list(parser._sequence_to_key_events(sequence, alt=alt))


def is_bound(app: App[Any], key: str) -> bool:
    """Whether what has the focus, the screen on show or `app` has a binding for `key`."""
    return any(key in bindings.key_to_bindings for _, bindings in app.screen._modal_binding_chain)


def app_of(driver: LinuxDriver) -> App[Any]:
    """The app that `driver` drives."""
    return driver._app
