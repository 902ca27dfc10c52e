"""Replacements in asyncio and Textual that make the tests faster. The import of this module applies them to the process.

Measured with 380 tests of journeys and widgets, which take 47 s of processor time and 162 s on a busy machine:

| Replaced | Effect | Without the replacement |
| --- | --- | --- |
| clocks, selector of the event loop, `asyncio.wrap_future` | skips time in which nothing can happen | 242 s |
| `Compositor.render_update` | renders changes, but makes no output for a terminal; journeys render only lists, trees and pages | 64 s of processor time |
| `_get_dispatch_methods`, `Reactive.__get__`, `Strip.__init__`, hashes of CSS rules | skip work that gives the same result each time | 6 % more processor time |
| `Pilot._wait_for_screen`, its intervals | waits only for widgets with messages, and checks more often | 62 s of processor time |
| `Stylesheet._parse_rules` | parses each source of CSS once for all apps | 20 ms more of processor time for each app |

A skip moves `time.monotonic` and `time.perf_counter` forward by the time until the next timer. All timers run in their order
and at their time on these clocks. Nothing is skipped while a thread works for the event loop, while a socket or pipe is open,
or while a child program runs.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from rich.segment import Segment
from textual import _wait
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual._queue import Queue
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from octavo.tui.terminal.polite_thread import background_thread

T = TypeVar("T")

MAX_SKIP = 10.0
"""Seconds that may be skipped between two events that are not timers. A longer wait may be a wait for an event that this
module does not know, so the rest of it is real."""

_monotonic, _perf_counter = time.monotonic, time.perf_counter
_wrap_future = asyncio.wrap_future
_wait_for_screen = Pilot._wait_for_screen
_parse_rules, _set_variables_of = Stylesheet._parse_rules, Stylesheet.set_variables
_rules: dict[tuple[tuple[str, str], ...], LRUCache[Any, Any]] = {}
"""The parsed sources of CSS, by the variables of the first theme. Rules of other themes are not shared."""
_get_dispatch_methods, _get_reactive = MessagePump._get_dispatch_methods, Reactive.__get__
_Methods = list[tuple[type, Callable[..., Any]]]
_methods: dict[tuple[type, str, type[Message]], _Methods | None] = {}
"""The methods that handle a message, by the type of the receiver, their name and the type of the message. None if they
depend on the widget that sent the message."""
_skipped = 0.0
_is_painting_delayed = False
_paints_only_lists = False
"""True to paint only widgets with a `render_lines` of their own: lists, trees and pages, which load data for visible rows."""


def skipped() -> float:
    """Return the seconds that were skipped until now."""
    return _skipped


class _Selector(selectors.DefaultSelector):
    """A selector that skips the wait for the next timer if nothing else can happen."""

    def __init__(self) -> None:
        super().__init__()
        self.threads = 0
        """Number of futures of threads that the event loop awaits."""
        self._left = MAX_SKIP

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        global _skipped
        skips = timeout is not None and 0 < timeout <= self._left and self._waits_for_timers_only()
        if ready := super().select(0 if skips else timeout):
            self._left = MAX_SKIP
        elif skips and timeout is not None:
            self._left -= timeout
            _skipped += timeout
        return ready

    def _waits_for_timers_only(self) -> bool:
        return (
            not self.threads
            and background_thread.is_idle
            and len(self.get_map()) == 1  # The pipe by which threads wake the event loop is always open.
            and threading.current_thread() is threading.main_thread()
            and not _has_child_programs()
        )


def _has_child_programs() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _counting_wrap_future(
    future: Future[T] | asyncio.Future[T], *, loop: asyncio.AbstractEventLoop | None = None
) -> asyncio.Future[T]:
    """Wrap a future, and count it while a thread works on it: asyncio awaits threads only by this function."""
    awaited = _wrap_future(future, loop=loop)
    selector = getattr(awaited.get_loop(), "_selector", None)
    if isinstance(future, Future) and isinstance(selector, _Selector):
        selector.threads += 1

        def done(_: asyncio.Future[T]) -> None:
            selector.threads -= 1

        awaited.add_done_callback(done)
    return awaited


async def _wait_for_busy_widgets(pilot: Pilot[object], timeout: float = 30.0) -> bool:  # noqa: ASYNC109  # The signature of Textual.
    await asyncio.sleep(0)
    pumps: list[MessagePump] = [pilot.app]
    if pilot.app._screen_stack:
        pumps += pilot.app.screen.walk_children(Widget, with_self=True)
    return all(_is_idle(pump) for pump in pumps) or await _wait_for_screen(pilot, timeout)


def _is_idle(pump: MessagePump) -> bool:
    queue: Queue[object] = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters) and not pump._next_callbacks


@contextmanager
def painting_delayed() -> Iterator[None]:
    """Paint nothing meanwhile, except when `paint` is called. Journeys look only at idle apps."""
    global _is_painting_delayed
    before, _is_painting_delayed = _is_painting_delayed, True
    try:
        yield
    finally:
        _is_painting_delayed = before


def paint(screen: Screen[object]) -> None:
    """Paint the changed lists, trees and pages of a screen whose painting is delayed. A look at the screen paints all."""
    global _is_painting_delayed, _paints_only_lists
    if not _is_painting_delayed or not screen._compositor._dirty_regions:
        return
    _is_painting_delayed, _paints_only_lists = False, True
    try:
        screen._compositor_refresh()
    finally:
        _is_painting_delayed, _paints_only_lists = True, False


def _render_changes(
    compositor: Compositor, full: bool = False, screen_stack: list[Screen[object]] | None = None, simplify: bool = False
) -> None:
    """Render the changed regions as Textual does, but return no output, because tests have no terminal."""
    visible_screen_stack.set(screen_stack or [])
    screen = compositor.size.region
    if _is_painting_delayed:
        if full:
            compositor._dirty_regions.add(screen)
        return
    changed = compositor._dirty_regions.copy()
    compositor._dirty_regions.clear()
    if not (full or changed):
        return
    area = screen if full else Region.from_union(changed).intersection(screen)
    if not _paints_only_lists:
        for _ in compositor._get_renders(area):
            pass
        return
    for widget, (region, clip) in compositor.visible_widgets.items():
        if type(widget).render_lines is not Widget.render_lines and area.overlaps(clip):
            widget.render_lines(region.intersection(clip) - region.offset)


@wraps(_parse_rules)
def _share_rules(stylesheet: Stylesheet, *source: Any, **options: Any) -> list[RuleSet]:
    """Parse a source of CSS, unless another app with the first theme has parsed it."""
    variables = tuple(stylesheet._variables.items())
    if not stylesheet._parse_cache and (not _rules or variables in _rules):
        stylesheet._parse_cache = _rules.setdefault(variables, LRUCache(5_000))
    return _parse_rules(stylesheet, *source, **options)


@wraps(_set_variables_of)
def _set_variables(stylesheet: Stylesheet, variables: dict[str, str]) -> None:
    """Set variables, but do not clear the shared rules."""
    stylesheet._parse_cache = LRUCache(1000)
    _set_variables_of(stylesheet, variables)


def _dispatch_methods(
    pump: MessagePump, name: str, message: Message
) -> Iterable[tuple[type, Callable[..., Awaitable[Any]]]]:
    """Yield the methods that handle a message, and remember them for the next message of this type."""
    key = type(pump), name, type(message)
    if key not in _methods:
        _methods[key] = _find_methods(*key)
    if (methods := _methods[key]) is None:
        yield from _get_dispatch_methods(pump, name, message)
        return
    for owner, method in methods:
        if message._no_default_action:
            break
        yield owner, method.__get__(pump, owner)


def _find_methods(receiver: type, name: str, kind: type[Message]) -> _Methods | None:
    found = []
    for owner in receiver.__mro__:
        decorated = owner.__dict__.get("_decorated_handlers") or {}
        if any(each in decorated for each in kind.__mro__):
            return None
        method = owner.__dict__.get(f"_{name}") or owner.__dict__.get(name)
        if method is not None and not getattr(method, "_textual_on", None):
            found.append((owner, method))
    return found


def _get_stored_value(reactive: Reactive[Any], node: Any, kind: Any) -> Any:
    """Return the value of a reactive attribute. Textual first checks whether the node has an ID."""
    if node is not None and not hasattr(kind, reactive.compute_name):
        try:
            return node.__dict__[reactive.internal_name]
        except KeyError:
            pass
    return _get_reactive(reactive, node, kind)


def _init_strip(strip: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    """Initialize a strip with dictionaries as caches. Textual creates seven objects that limit their size."""
    caches: Any = strip
    caches._segments, caches._cell_length = list(segments), cell_length
    caches._divide_cache, caches._crop_cache, caches._style_cache, caches._filter_cache = {}, {}, {}, {}
    caches._line_length_cache, caches._crop_extend_cache, caches._offsets_cache = {}, {}, {}
    caches._render_cache = caches._link_ids = caches._cell_count = None


if hasattr(os, "waitid"):
    time.monotonic = lambda: _monotonic() + _skipped
    time.perf_counter = lambda: _perf_counter() + _skipped
    selectors.DefaultSelector = _Selector  # type: ignore[misc]  # for all event loops
    asyncio.wrap_future = asyncio.futures.wrap_future = _counting_wrap_future
_wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 0.005, 0.001
Pilot._wait_for_screen = _wait_for_busy_widgets  # type: ignore[assignment, method-assign]  # for all apps
Compositor.render_update = _render_changes  # type: ignore[assignment]  # for all apps
Stylesheet._parse_rules = _share_rules  # type: ignore[assignment, method-assign]  # for all apps
Stylesheet.set_variables = _set_variables  # type: ignore[assignment, method-assign]  # for all apps
MessagePump._get_dispatch_methods = _dispatch_methods  # type: ignore[assignment, method-assign]  # for all apps
Reactive.__get__ = _get_stored_value  # type: ignore[assignment, method-assign]  # for all apps
Strip.__init__ = _init_strip  # type: ignore[assignment, method-assign]  # for all apps
RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]  # Equal to the hash of Textual, but faster.
