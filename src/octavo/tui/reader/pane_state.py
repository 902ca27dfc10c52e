"""What a pane shows while it has nothing to show: loading, failed, empty."""

from __future__ import annotations

from textual.content import Content

from octavo.tui.reader.reading_pane import Reader
from octavo.tui.widgets.empty_states import Waiting, failed


class Stateful(Reader):
    """A reader whose content may be on its way, or may not come. What is on show is never taken away for that."""

    _waiting: Waiting | None = None
    _failure: tuple[str, str] | None = None

    @property
    def has_content(self) -> bool:
        """Whether something is on show, even if it is empty."""
        raise NotImplementedError

    def empty_lines(self) -> list[Content]:
        """What is shown for content that is empty."""
        raise NotImplementedError

    def wait_for(self, what: str) -> None:
        """Say that `what` is loading, if nothing is on show yet."""
        self._failure = None
        if not self.has_content and self._waiting is None:
            self._waiting = Waiting(self, what)
            self.repaint()

    def fail(self, what: str, cause: str) -> None:
        """Say what did not load and why, if nothing is on show yet."""
        self.settled()
        if not self.has_content:
            self._failure = (what, cause)
        self.repaint()

    def settled(self) -> None:
        """Nothing is awaited any more, and nothing failed."""
        self._failure = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @property
    def why_empty(self) -> str:
        """Why no key can do anything here, when nothing is on show."""
        if self._waiting is not None:
            return f"{self._waiting.what} is still loading."
        return "There is no page here."

    def state_lines(self) -> list[Content]:
        if self._failure is not None:
            return failed(*self._failure)
        if self._waiting is not None:
            return self._waiting.lines()
        return self.empty_lines() if self.has_content else []
