"""The message of a pane without content: loading, failed or no longer available."""

from __future__ import annotations

from textual.content import Content

from octavo.tui.reader.viewport import Viewport
from octavo.tui.widgets.empty_states import LoadingMessage, empty_lines, failure_lines


class LoadingState:
    """Message of a pane that has no content: loading, failed or removed. Visible content is never replaced by a
    message."""

    def __init__(self, viewport: Viewport) -> None:
        self.viewport = viewport
        self._waiting: LoadingMessage | None = None
        self._failure: tuple[str, str] | None = None
        self._reason: tuple[str, str] | None = None

    def wait_for(self, subject: str) -> None:
        """Show that `subject` is loading, unless a page is shown."""
        self._failure = self._reason = None
        if not self.viewport.contents.has_content and self._waiting is None:
            self._waiting = LoadingMessage(self.viewport.widget, subject)
            self.viewport.repaint()

    def fail(self, subject: str, cause: str) -> None:
        """Show an error and its cause, unless a page is shown."""
        self.clear()
        if not self.viewport.contents.has_content:
            self._failure = (subject, cause)
        self.viewport.repaint()

    def show_reason(self, reason: str, hint: str) -> None:
        """Show the reason why the page is no longer available, and a hint."""
        self.clear()
        self._reason = (reason, hint)
        self.viewport.repaint()

    def clear(self) -> None:
        """Remove the message."""
        self._failure = self._reason = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @property
    def has_failed(self) -> bool:
        """True if an error is shown."""
        return self._failure is not None

    @property
    def loading_name(self) -> str:
        """Name of the page that is loading. Empty if none is loading."""
        return self._waiting.subject if self._waiting is not None else ""

    def why_empty(self, default: str) -> str:
        """Return the disabled reason of the keys in an empty pane: the page is still loading, or `default`."""
        return f"Still loading {self.loading_name}." if self._waiting is not None else default

    def lines(self) -> list[Content]:
        """Return the lines of the message."""
        if self._failure is not None:
            return failure_lines(*self._failure, self.viewport.widget.app)
        if self._waiting is not None:
            return self._waiting.lines()
        if self._reason is not None and not self.viewport.contents.has_content:
            return [Content(""), *empty_lines(*self._reason)]
        return self.viewport.contents.empty_lines() if self.viewport.contents.has_content else []
