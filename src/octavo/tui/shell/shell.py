"""Protocol of the app for views and their parts. Only the package `octavo.tui.app` knows more of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from octavo.tui.shell.host import Host

if TYPE_CHECKING:
    from octavo.api.comments import Comment, Reply
    from octavo.api.places import Discussion
    from octavo.tui.shell.navigation_history import NavigationHistory
    from octavo.tui.shell.workspace import Workspace
    from octavo.tui.shell.write_queue import WriteQueue


class SuggestionActions(Protocol):
    """Applies suggested changes to pages. The package `writing` implements it, and threads use it."""

    def why_not_apply(self, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
        """Return a sentence why the suggestion in a message cannot be applied, else None."""

    def apply(self, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
        """Apply the suggestion in a message to its page."""


class Shell(Host, Protocol):
    """The app as views know it: the shared state, the queue of writes, and the navigation history."""

    workspace: Workspace
    writes: WriteQueue
    trail: NavigationHistory

    @property
    def suggestions(self) -> SuggestionActions:
        """Applies suggested changes."""

    def undo(self) -> None:
        """Undo the last write, or cancel it if it is not sent yet."""

    def show_view(self, view: str) -> None:
        """Switch to a view by its mode, such as `changes`."""

    def show_help(self) -> None:
        """Show the help of the focused widget in a dialog."""
