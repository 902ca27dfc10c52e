"""Screens and widgets that go: what works for them ends first."""

from __future__ import annotations

from textual.app import App, ReturnType
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.widget import Widget


class TakingDown(App[ReturnType]):
    """Put before an app: what works for a screen ends when the screen begins to go.

    Textual stops it when all that was in the screen is gone: what came just then was to be shown in nothing.
    """

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        for worker in tuple(self.workers):
            if any(node in nodes for node in worker.node.ancestors_with_self):
                worker.cancel()
        return super()._prune(*nodes, parent=parent)
