"""What a pane shows while it has nothing to show: loading, failed, empty."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from octavo.tui.reader.pane import Pane
from octavo.tui.widgets.empty_states import Waiting, failed, nothing


class PaneState:
    """Whether what a pane shows is on its way, or did not come. What is on show is never taken away for that."""

    def __init__(self, pane: Pane, widget: Widget) -> None:
        """`widget` is the pane."""
        self.pane, self._widget = pane, widget
        self._waiting: Waiting | None = None
        self._failure: tuple[str, str] | None = None
        self._left: tuple[str, str] | None = None

    def wait_for(self, what: str) -> None:
        """Say that `what` is loading, if nothing is on show yet."""
        self._failure = self._left = None
        if not self.pane.contents.has_any and self._waiting is None:
            self._waiting = Waiting(self._widget, what)
            self.pane.repaint()

    def fail(self, what: str, cause: str) -> None:
        """Say what did not load and why, if nothing is on show yet."""
        self.settled()
        if not self.pane.contents.has_any:
            self._failure = (what, cause)
        self.pane.repaint()

    def leave(self, why: str, hint: str) -> None:
        """Say why what was on show is not any more, and what can be done."""
        self.settled()
        self._left = (why, hint)
        self.pane.repaint()

    def settled(self) -> None:
        """Nothing is awaited any more, and nothing failed."""
        self._failure = self._left = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @property
    def has_failed(self) -> bool:
        """Whether it is said that something did not load."""
        return self._failure is not None

    @property
    def awaited(self) -> str:
        """What is said to be loading. Empty when nothing is."""
        return self._waiting.what if self._waiting is not None else ""

    def why_empty(self, otherwise: str) -> str:
        """Why no key can do anything in a pane that shows nothing: it is still loading, or `otherwise`."""
        return f"Still loading {self.awaited}." if self._waiting is not None else otherwise

    def lines(self) -> list[Content]:
        """What is shown while there is nothing to show."""
        if self._failure is not None:
            return failed(*self._failure, self._widget.app)
        if self._waiting is not None:
            return self._waiting.lines()
        if self._left is not None and not self.pane.contents.has_any:
            return [Content(""), *nothing(*self._left)]
        return self.pane.contents.empty_lines() if self.pane.contents.has_any else []
