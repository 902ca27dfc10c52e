"""Replacements in asyncio and Textual that make the tests faster. The import of this module applies them to the process.

Measured with 380 tests of journeys and widgets, which take 47 s of processor time and 162 s on a busy machine:

| Replaced | Effect | Without the replacement |
| --- | --- | --- |
| clocks, selector of the event loop, `asyncio.wrap_future`, `Writer.submit` | skips time in which nothing can happen | 242 s |
| `Compositor.render_update` | renders changes, but makes no output for a terminal; journeys render only lists, trees and pages | 64 s of processor time |
| `KeyBar.before_paint` | computes key bars of journeys only when a test looks | 50 % more key bars |
| `_Bar._repaint_if_changed` | computes top bars of journeys only when a test looks | 2 % more processor time |
| `Pilot._wait_for_screen`, its intervals | waits only for widgets with messages, and checks more often | 62 s of processor time |
| `Stylesheet._parse_rules` | parses each source of CSS once for all apps | 20 ms more of processor time for each app |
| `RuleSet.__hash__` | hashes the rules of CSS without Python code | 14 % more of processor time for CSS |
| `_count_parameters` | counts the parameters of functions without `inspect.signature` | 1.3 % more of processor time |
| `_strip_control_codes` | translates only texts with control codes | 1.2 % more of processor time |

A skip moves `time.monotonic` and `time.perf_counter` forward by the time until the next timer. All timers run in their order
and at their time on these clocks. Nothing is skipped while a thread works for the event loop, while a socket or pipe is open,
or while a child program runs. Before a skip, the started transactions of databases end, or the time passes.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, TypeVar

from textual import _callback, _wait, content
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual._queue import Queue
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from octavo.data.database import Transaction, Writer
from octavo.tui.terminal.polite_thread import background_thread

T = TypeVar("T")

MAX_SKIP = 10.0
"""Seconds that may be skipped between two events that are not timers. A longer wait may be a wait for an event that this
module does not know, so the rest of it is real."""

_monotonic, _perf_counter = time.monotonic, time.perf_counter
_wrap_future = asyncio.wrap_future
_wait_for_screen = Pilot._wait_for_screen
_count_all_parameters, _strip_control_codes = _callback._count_parameters, content._strip_control_codes
_parse_rules, _set_variables_of = Stylesheet._parse_rules, Stylesheet.set_variables
_rules: dict[tuple[tuple[str, str], ...], LRUCache[Any, Any]] = {}
"""The parsed sources of CSS, by the variables of the first theme. Rules of other themes are not shared."""
_submit = Writer.submit
_transactions: set[Future[Any]] = set()
"""The started transactions of databases. Most of them are not awaited by the event loop."""
_skipped = 0.0
_is_painting_delayed = False
_paints_only_lists = False
"""True to paint only lists, trees and pages, which load data for visible rows. They have their own `render_lines`."""


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
        if skips and _transactions:
            skips = not wait(_transactions.copy(), timeout).not_done
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


def _counting_submit(writer: Writer, function: Transaction[T]) -> Future[T]:
    """Submit a transaction, and remember it until it ends."""
    future = _submit(writer, function)
    _transactions.add(future)
    future.add_done_callback(_transactions.discard)
    return future


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
    from octavo.tui.core.view import _Bar  # lazy: imports clocks, which this module replaces first
    from octavo.tui.widgets.bars import KeyBar  # lazy: as above

    before, _is_painting_delayed = _is_painting_delayed, True
    before_paint, repaint_if_changed = KeyBar.before_paint, _Bar._repaint_if_changed
    KeyBar.before_paint = _compute_nothing  # type: ignore[assignment, method-assign]  # for all key bars
    _Bar._repaint_if_changed = _repaint  # type: ignore[assignment, method-assign]  # for all top bars and status bars
    try:
        yield
    finally:
        _is_painting_delayed = before
        KeyBar.before_paint, _Bar._repaint_if_changed = before_paint, repaint_if_changed  # type: ignore[method-assign]  # the originals


def _compute_nothing(_: Widget) -> None:
    """Do nothing: a key bar is also computed when the screen is rendered."""


def _repaint(bar: Any) -> None:
    """Compute a bar again when the screen is next rendered, whether its text has changed or not."""
    if not bar._needs_paint:
        bar._needs_paint = True
        bar.refresh()


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
        loads_rows = type(widget).render_lines is not Widget.render_lines and not hasattr(widget, "before_paint")
        if loads_rows and area.overlaps(clip):
            widget.render_lines(region.intersection(clip) - region.offset)


def _count_parameters(function: Any) -> int:
    """Count the parameters of a function or method as Textual does."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType) or hasattr(plain, "__wrapped__") or hasattr(plain, "__signature__"):
        return _count_all_parameters(function)
    code = plain.__code__
    count = code.co_argcount + code.co_kwonlyargcount - (plain is not function)
    return count + bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)


def _strip_any_control_codes(text: str) -> str:
    return text if text.isprintable() else _strip_control_codes(text)


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


if hasattr(os, "waitid"):
    time.monotonic = lambda: _monotonic() + _skipped
    time.perf_counter = lambda: _perf_counter() + _skipped
    selectors.DefaultSelector = _Selector  # type: ignore[misc]  # for all event loops
    asyncio.wrap_future = asyncio.futures.wrap_future = _counting_wrap_future
    Writer.submit = _counting_submit  # type: ignore[assignment, method-assign]  # for all databases
_wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 0.005, 0.001
Pilot._wait_for_screen = _wait_for_busy_widgets  # type: ignore[assignment, method-assign]  # for all apps
Compositor.render_update = _render_changes  # type: ignore[assignment]  # for all apps
Stylesheet._parse_rules = _share_rules  # type: ignore[assignment, method-assign]  # for all apps
Stylesheet.set_variables = _set_variables  # type: ignore[assignment, method-assign]  # for all apps
_callback._count_parameters = _count_parameters  # type: ignore[assignment]  # for all callbacks
content._strip_control_codes = _strip_any_control_codes  # type: ignore[assignment]  # Textual passes no table
RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]  # for all apps
