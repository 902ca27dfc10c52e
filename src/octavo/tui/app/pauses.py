"""Work for the time when the user presses no keys: frees memory, and imports the modules of other views.

Widgets reference one another, so only the garbage collector frees them. A full collection may take a tenth of a second.
After a collection in a pause, Python rarely starts another collection while the user presses keys.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import _lru_cache_wrapper, partial
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import Any
from weakref import WeakSet

from textual.app import App
from textual.dom import DOMNode
from textual.signal import Signal
from textual.worker import Worker
from textual.worker_manager import WorkerManager

from octavo.tui.terminal.textual_internals import message_pumps, watchers_of
from octavo.tui.widgets.delay import Delay

PAUSE = 1.5
"""Seconds without a key after which garbage is collected. The user does not notice the short delay."""
WAKE_SECONDS = 0.05
"""Seconds to wait for all message loops to wake up before garbage is collected."""
_YOUNG_THRESHOLD = 500
"""Number of new objects after which Python collects the youngest generation."""
_MIDDLE_THRESHOLD = 20
"""Number of young collections after which Python collects the middle generation."""
_FULL_THRESHOLD = 10
"""Number of middle collections after which Python collects all generations."""


class GarbageCollector:
    """Collects garbage while the user presses no keys."""

    def __init__(self, app: App[Any]) -> None:
        self._app, self._pause = app, Delay(app)
        self._is_started = False
        self._caches: list[_lru_cache_wrapper[Any]] = []
        """The `lru_cache` functions of Textual and Rich. Cleared because they keep widgets in memory."""

    def start(self) -> None:
        """Begin to collect garbage in pauses. Objects that exist now, such as modules, are frozen and so ignored."""
        self._caches = list(caches("textual.", "rich."))
        self.enable()
        self._is_started = True

    def enable(self) -> None:
        """Let Python collect new garbage. Objects that exist now are frozen, so they are ignored."""
        gc.freeze()
        gc.set_threshold(_YOUNG_THRESHOLD, _MIDDLE_THRESHOLD, _FULL_THRESHOLD)
        gc.enable()

    def on_key_pressed(self) -> None:
        """Postpone a planned garbage collection, because the user is active."""
        if self._pause.is_waiting:
            self._pause.start(PAUSE, self._wake_and_collect)

    def collect_in_pause(self) -> None:
        """Collect garbage when the user pauses. Called when widgets are removed. Do nothing before `start`."""
        if self._is_started:
            self._pause.start_once(PAUSE, self._wake_and_collect)

    def wake(self) -> None:
        """Wake all message loops, because a waiting loop keeps its last message, and the sender, in memory."""
        for pump in tuple(message_pumps(self._app)):
            pump.check_idle()

    def _wake_and_collect(self) -> None:
        self.wake()
        self._pause.start(WAKE_SECONDS, self._collect)

    def _collect(self) -> None:
        for cache in self._caches:
            cache.cache_clear()
        gc.collect()


def caches(*prefixes: str) -> Iterator[_lru_cache_wrapper[Any]]:
    """Yield the `lru_cache` functions of all loaded modules with a module name that starts with one of `prefixes`."""
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
        self.garbage = GarbageCollector(app)

    def on_removal(self, removed_nodes: set[DOMNode]) -> None:
        """End the workers and subscriptions of `removed_nodes`, which are about to be removed."""
        self.workers.removed.update(removed_nodes)
        for worker in tuple(self.workers):
            if worker.node in removed_nodes:
                worker.cancel()
        for signal in self._signals:
            for node in removed_nodes:
                signal.unsubscribe(node)
        for watchers in watchers_of(self._app):
            watchers[:] = [(node, watcher) for node, watcher in watchers if node not in removed_nodes]
        self.garbage.collect_in_pause()


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
"""Modules that `Preloading` imports: each takes more than 10 ms. Views that few users open are not included."""


class Preloading:
    """Imports `PRELOADED_MODULES` after the first key or after a pause, so that the views in them open fast."""

    def __init__(self, app: App[Any], is_loading: Callable[[], bool], garbage: GarbageCollector) -> None:
        """`is_loading` returns True while data is loading. The imports begin when loading ends, but at the latest after
        `MAX_IDLE_WAIT` seconds. After the imports, `garbage.start` is called."""
        self._app, self._is_loading, self._garbage = app, is_loading, garbage
        self._has_begun = False

    def begin(self) -> None:
        """Import `PRELOADED_MODULES` in a thread once Octavo is idle. Later calls and headless apps import nothing."""
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
