"""Screens and widgets that go: what works for them ends first, they hear of nothing any more, and they are freed."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from textual.app import App
from textual.dom import DOMNode
from textual.signal import Signal
from textual.worker import Worker
from textual.worker_manager import WorkerManager

from octavo.tui.app.garbage_collection import Garbage
from octavo.tui.terminal.textual_internals import before_removal, message_pumps, use_workers


class _Workers(WorkerManager):
    """Those of an app. What goes begins none: an answer, or a new size, that comes to it then would be for parts it has
    no more."""

    def __init__(self, app: App[Any]) -> None:
        super().__init__(app)
        self.gone: WeakSet[DOMNode] = WeakSet()

    def add_worker(self, worker: Worker[Any], start: bool = True, exclusive: bool = True) -> None:
        if worker.node in self.gone:
            worker.cancel()
        else:
            super().add_worker(worker, start, exclusive)


class Teardown:
    """What works for a screen of an app ends when the screen begins to go.

    Textual stops it when all that was in the screen is gone: what came just then was to be shown in nothing. And it holds
    who listens to a signal, or watches a field of the app, until that changes, which may be never.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app, self._working = app, _Workers(app)
        use_workers(app, self._working)
        before_removal(app, self._taken_down)
        self.garbage = Garbage(lambda: message_pumps(app))
        self.signals: list[Signal[Any]] = [app.app_suspend_signal]
        """Those that outlive who listens."""

    def _taken_down(self, gone: set[DOMNode]) -> None:
        self._working.gone.update(gone)
        for worker in tuple(self._app.workers):
            if worker.node in gone:
                worker.cancel()
        for signal in self.signals:
            for each in gone:
                signal.unsubscribe(each)
        for watchers in self._app.__dict__.get("__watchers", {}).values():
            watchers[:] = [(node, watcher) for node, watcher in watchers if node not in gone]
        self.garbage.taken_down(gone)
