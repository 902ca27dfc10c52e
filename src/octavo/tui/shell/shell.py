"""What views and what they are made of may ask of the app. Nobody but the app itself knows more of it than this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from octavo.tui.shell.host import Host

if TYPE_CHECKING:
    from octavo.api.comments import Comment, Reply
    from octavo.api.places import Discussion
    from octavo.tui.shell.navigation_history import NavigationHistory
    from octavo.tui.shell.workspace import Workspace
    from octavo.tui.shell.write_queue import Writes


class Suggestions(Protocol):
    """Suggested wordings, put into pages: writing knows how, and threads show them."""

    def why_not_apply(self, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
        """Why what a message suggests cannot be put into the page, in a sentence."""

    def apply(self, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
        """Put what a message suggests into the page."""


class Shell(Host, Protocol):
    """The app, as those below it know it: what all views share, and what is written."""

    workspace: Workspace
    writes: Writes
    trail: NavigationHistory

    @property
    def suggestions(self) -> Suggestions:
        """What becomes of suggested wordings."""

    def undo(self) -> None:
        """Take back the last write, or stop it while it waits."""

    def show_view(self, view: str) -> None:
        """Show another view."""

    def show_help(self) -> None:
        """Show what can be done where the focus is, over it."""
