"""Screens and widgets that go: what works for them ends first, they hear of nothing any more, and they are freed."""

from __future__ import annotations

from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from typing import Any
from weakref import WeakSet

from textual.app import App, ReturnType
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.events import Event, InputEvent
from textual.signal import Signal
from textual.widget import Widget
from textual.worker import Worker
from textual.worker_manager import WorkerManager

from octavo.tui.app.garbage_collection import Garbage
from octavo.tui.terminal import textual_internals  # noqa: F401  # for what it puts in place


class _Workers(WorkerManager):
    """Those of an app. What goes begins none: an answer, or a new size, that comes to it then would be for parts it has
    no more."""

    def __init__(self, app: App[Any]) -> None:
        super().__init__(app)
        self.gone: WeakSet[DOMNode] = WeakSet()

    def add_worker(self, worker: Worker[Any], start: bool = True, exclusive: bool = True) -> None:
        if worker.node in self.gone:
            _end(worker)
        else:
            super().add_worker(worker, start, exclusive)


def _end(worker: Worker[Any]) -> None:
    worker.cancel()
    if iscoroutine(work := worker._work) and getcoroutinestate(work) == CORO_CREATED:
        work.close()  # it will never begin: Python would tell of it


class TakingDown(App[ReturnType]):
    """Put before an app: what works for a screen ends when the screen begins to go.

    Textual stops it when all that was in the screen is gone: what came just then was to be shown in nothing. And it holds
    who listens to a signal, or watches a field of the app, until that changes, which may be never.
    """

    def __init__(self) -> None:
        super().__init__()
        self._workers: _Workers = _Workers(self)
        self.garbage = Garbage(lambda: self._registry)
        self.signals: list[Signal[Any]] = [self.app_suspend_signal]
        """Those that outlive who listens."""

    async def on_event(self, event: Event) -> None:
        if isinstance(event, InputEvent):
            self.garbage.key_pressed()
        await super().on_event(event)

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        gone = {each for node in nodes for each in node.walk_children(with_self=True)}
        self._workers.gone.update(gone)
        for worker in tuple(self.workers):
            if worker.node in gone:
                _end(worker)
        for signal in self.signals:
            for each in gone:
                signal.unsubscribe(each)
        for watchers in self.__dict__.get("__watchers", {}).values():
            watchers[:] = [(node, watcher) for node, watcher in watchers if node not in gone]
        self.garbage.taken_down(gone)
        return super()._prune(*nodes, parent=parent)
