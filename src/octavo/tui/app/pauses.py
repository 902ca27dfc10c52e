"""Work for the time when the user presses no keys: frees memory, and imports the modules of other views.

Widgets reference one another, so only the garbage collector frees them. A full collection takes a tenth of a second,
and Python would start it while the user presses keys. After a collection, the free memory is returned to the system.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context
from functools import _lru_cache_wrapper, cache, partial
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import Any
from weakref import WeakSet

from textual.app import App
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.signal import Signal
from textual.worker import Worker
from textual.worker_manager import WorkerManager

from octavo.tui.terminal.textual_internals import message_pumps, watchers_of

PAUSE = 1.5
"""Seconds without a key after which garbage is collected. The user does not notice the short delay."""
LONG_PAUSE = 30.0
"""Seconds without a key after which a slower garbage collection may also check objects frozen by `gc.freeze`."""
PAINT_SECONDS = 0.05
"""Seconds from a key press until its effect is painted. A collection also starts this long after `wake`."""
MAX_NEW_BLOCKS = 35_000
"""Number of new memory blocks (about 3 MB) after which the garbage collection no longer waits for a pause."""
_YOUNG_THRESHOLD = 500
"""Number of new objects after which Python collects the youngest generation."""
_MIDDLE_THRESHOLD = 20
"""Number of young collections after which Python collects the middle generation."""
_FULL_THRESHOLD = 1000
"""Number of middle collections after which Python collects all generations."""


class Garbage:
    """Collects garbage while the user presses no keys. Knows which removed widgets are still in memory."""

    def __init__(self, pumps: Callable[[], Iterable[MessagePump]] = tuple) -> None:
        """`pumps` returns everything that has a message loop: the app, its screens and widgets."""
        self._pumps = pumps
        self._is_woken = False
        """True if `wake` was called since the last collection."""
        self._removed: WeakSet[DOMNode] = WeakSet()
        """Widgets that were removed since the last collection."""
        self._survivors: WeakSet[DOMNode] = WeakSet()
        """Removed widgets that were still in memory after a collection."""
        self._is_started = False
        self._next_check: asyncio.TimerHandle | None = None
        self._is_urgent = False
        """True if the next collection does not wait for a pause, because memory has grown."""
        self._last_key = 0.0
        self._young_collections = 0
        self._blocks_after_full_collection = 0
        self._has_survivors = False
        """True if the last full collection did not freeze its survivors. The next collection checks them again."""
        self._caches: list[_lru_cache_wrapper[Any]] = []
        """The `lru_cache` functions of Textual and Rich. Cleared because they keep widgets in memory."""

    def start(self) -> None:
        """Begin to collect garbage in pauses. Objects that exist now, such as modules, are frozen and so ignored."""
        return_large_allocations()
        self._caches = list(caches("textual.", "rich."))
        self.enable()
        self._blocks_after_full_collection = sys.getallocatedblocks()
        self._is_started = True

    def enable(self) -> None:
        """Let Python collect new garbage. Objects that exist now are frozen, so they are ignored."""
        gc.freeze()
        gc.set_threshold(_YOUNG_THRESHOLD, _MIDDLE_THRESHOLD, _FULL_THRESHOLD)
        gc.enable()

    def on_key_pressed(self) -> None:
        """Postpone the next collection, as the user is active. If memory has grown, collect after the next paint."""
        self._last_key = time.monotonic()
        if self._is_started and not self._is_urgent and (collections := gc.get_count()[2]) != self._young_collections:
            self._young_collections = collections
            if self._has_grown():
                self._is_urgent = True
                self._schedule(PAINT_SECONDS)

    def add(self, nodes: Iterable[DOMNode]) -> None:
        """Record widgets that are being removed, so that a collection in the next pause frees their memory."""
        self._removed.update(nodes)
        if self._is_started:
            self._schedule(PAUSE)

    def _schedule(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._next_check is not None:
            if self._next_check.when() <= loop.time() + seconds:
                return
            self._next_check.cancel()
        self._next_check = loop.call_later(seconds, self._check, context=Context())

    def _check(self) -> None:
        """Collect garbage. If the user has pressed a key recently and memory has not grown, try again later."""
        self._next_check = None
        idle_seconds = time.monotonic() - self._last_key
        pause = PAUSE if self._removed else LONG_PAUSE
        if idle_seconds < pause and not self._is_urgent:
            self._schedule(pause - idle_seconds)
            return
        if not self._is_woken:
            self._is_woken = True
            self.wake()
            self._schedule(PAINT_SECONDS)
            return
        self._is_woken = self._is_urgent = False
        self.collect(is_long_pause=idle_seconds >= LONG_PAUSE)
        if self._survivors or self._has_survivors:
            self._schedule(LONG_PAUSE)

    def wake(self) -> None:
        """Wake all message loops, because a waiting loop keeps its last message, and the sender, in memory."""
        for pump in tuple(self._pumps()):
            pump.check_idle()

    def collect(self, *, is_long_pause: bool = False) -> None:
        """Collect young garbage. Check older objects, too, if `is_long_pause`, if widgets were removed, or if memory
        has grown. Objects frozen by `gc.freeze` are checked only if `is_long_pause`."""
        gc.collect(1)
        if self._removed or is_long_pause or self._has_grown():
            for cache in self._caches:
                cache.cache_clear()
            if is_long_pause and (self._removed or self._survivors):
                gc.unfreeze()
            gc.collect()
            if is_long_pause:
                gc.freeze()
            return_free_memory()
            self._blocks_after_full_collection, self._has_survivors = sys.getallocatedblocks(), not is_long_pause
        if is_long_pause:
            self._survivors.clear()
        self._survivors |= self._removed
        self._removed = WeakSet()

    def _has_grown(self) -> bool:
        return sys.getallocatedblocks() - self._blocks_after_full_collection > MAX_NEW_BLOCKS


def caches(*prefixes: str) -> Iterator[_lru_cache_wrapper[Any]]:
    """Yield the `lru_cache` functions in all loaded modules whose names start with one of `prefixes`."""
    # `gc.get_objects` would raise SystemError here if another thread is building a tuple.
    modules = [module for name, module in tuple(sys.modules.items()) if name.startswith(prefixes)]
    functions = {id(function): function for module in modules for function in _functions(module)}
    for function in functions.values():
        if isinstance(function, _lru_cache_wrapper) and function.__module__.startswith(prefixes):
            yield function


def _functions(module: ModuleType) -> Iterator[Any]:
    """Yield everything that a module and its classes define. Methods and properties are replaced by their functions."""
    for member in tuple(vars(module).values()):
        for attribute in tuple(vars(member).values()) if isinstance(member, type) else (member,):
            yield getattr(attribute, "__func__", getattr(attribute, "fget", attribute))


class Workers(WorkerManager):
    """The workers of the app. A worker of a widget that is being removed is canceled instead of started."""

    def __init__(self, app: App[Any]) -> None:
        super().__init__(app)
        self.removed: WeakSet[DOMNode] = WeakSet()

    def add_worker(self, worker: Worker[Any], start: bool = True, exclusive: bool = True) -> None:
        if worker.node in self.removed:
            worker.cancel()
        else:
            super().add_worker(worker, start, exclusive)


class Teardown:
    """Ends the workers and subscriptions of a widget when its removal begins. Textual would end them later."""

    def __init__(self, app: App[Any], signals: Sequence[Signal[Any]]) -> None:
        """When a widget is removed, it is unsubscribed from all `signals` of the app."""
        self._app, self.workers, self._signals = app, Workers(app), signals
        self.garbage = Garbage(lambda: message_pumps(app))

    def on_removal(self, removed_nodes: set[DOMNode]) -> None:
        """End the workers and subscriptions of these widgets, which are about to be removed."""
        self.workers.removed.update(removed_nodes)
        for worker in tuple(self.workers):
            if worker.node in removed_nodes:
                worker.cancel()
        for signal in self._signals:
            for node in removed_nodes:
                signal.unsubscribe(node)
        for watchers in watchers_of(self._app):
            watchers[:] = [(node, watcher) for node, watcher in watchers if node not in removed_nodes]
        self.garbage.add(removed_nodes)


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Parameter numbers of the C function `mallopt`."""
_MIN_LARGE_ALLOCATION = 128 * 1024
"""Minimum size in bytes of memory that is given back to the system as soon as it is freed."""


def use_one_arena() -> None:
    """Let all threads allocate from one malloc arena, to save memory. Call this before the first thread starts."""
    _call("mallopt", _M_ARENA_MAX, 1)


def return_large_allocations() -> None:
    """Let malloc give large blocks of memory back to the system as soon as they are freed."""
    _call("mallopt", _M_MMAP_THRESHOLD, _MIN_LARGE_ALLOCATION)


def return_free_memory() -> None:
    """Give the memory that malloc no longer needs back to the system."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if address := _c_function_address(name):
        from _ctypes import call_function

        call_function(address, arguments)


@cache
def _c_function_address(name: str) -> int:
    """Return the address of a C function. 0 if there is no such function. Does not import `ctypes`, which is slow."""
    try:
        from _ctypes import dlopen, dlsym

        return dlsym(dlopen(None, 0), name)  # type: ignore[arg-type]  # None is this process
    except (ImportError, OSError):
        return 0


IDLE_CHECK_INTERVAL = 0.6
"""Seconds between two checks whether data is still loading."""
MAX_IDLE_WAIT = 6.0
"""After this many seconds, `run_when_idle` no longer waits for data to load."""
PAUSE_BEFORE_IMPORTS = 4.0
"""Seconds after the first paint until modules are imported, if the user presses no key."""
PRELOADED_MODULES = (
    "octavo.documents.source_reader",
    "octavo.documents.diff",
    "octavo.tui.content.content_screen",
    "octavo.tui.review.request_list",
    "octavo.tui.review.request_view",
    "octavo.tui.inbox.inbox_screen",
)
"""Modules that take more than 10 ms to import. Views that few users open are not included."""


class Preloading:
    """Imports the modules of other views after the first key or after a pause, so that these views open fast."""

    def __init__(self, app: App[Any], is_loading: Callable[[], bool], garbage: Garbage) -> None:
        """`is_loading` returns True while data is loading. The imports begin when loading ends, but at the latest after
        `MAX_IDLE_WAIT` seconds. After the imports, `garbage` is started."""
        self._app, self._is_loading, self._garbage = app, is_loading, garbage
        self._has_begun = False

    def begin(self) -> None:
        """Import the modules soon, in a thread. Only the first call has an effect."""
        if not self._has_begun and not self._app.is_headless:
            self._has_begun = True
            importer = Thread(target=self._import_modules, daemon=True, name="octavo-preload")
            run_when_idle(self._app, self._is_loading, importer.start)

    def _import_modules(self) -> None:
        for name in PRELOADED_MODULES:
            import_module(name)
        self._garbage.start()


def run_when_idle(app: App[Any], is_loading: Callable[[], bool], run: Callable[[], None]) -> None:
    """Call `run` as soon as `is_loading` returns False, but at the latest after `MAX_IDLE_WAIT` seconds."""

    def check(waited_seconds: float) -> None:
        if is_loading() and waited_seconds < MAX_IDLE_WAIT:
            app.set_timer(IDLE_CHECK_INTERVAL, partial(check, waited_seconds + IDLE_CHECK_INTERVAL))
        else:
            run()

    app.set_timer(IDLE_CHECK_INTERVAL, partial(check, IDLE_CHECK_INTERVAL))
