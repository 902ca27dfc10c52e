"""The protocol of the app that views use. Only the package `octavo.tui.app` uses the app class itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.signal import Signal
    from textual.timer import Timer

    from octavo.api.comments import Comment, Reply
    from octavo.api.places import Discussion
    from octavo.settings import Settings
    from octavo.tui.core.routes import NavigationHistory, Route
    from octavo.tui.core.session import Session, SignInMethods, SignInState
    from octavo.tui.core.workspace import Workspace
    from octavo.tui.core.write_queue import WriteQueue
    from octavo.tui.widgets.notices import NoticeBoard, Tone


class SuggestionActions(Protocol):
    """Applies suggested changes in threads to pages. The package `writing` implements this protocol."""

    def why_not_apply(self, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
        """Return the reason why the suggestion in a message cannot be applied, or None."""

    def apply(self, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
        """Apply the suggestion in a message to its page."""


class Shell(Protocol):
    """The app as views see it. It shows one session at a time."""

    workspace: Workspace
    writes: WriteQueue
    history: NavigationHistory
    settings: Settings
    sign_in_methods: SignInMethods
    notices: NoticeBoard
    open_next: Callable[[], SignInState] | None
    """Function that returns the session to open after the app has ended. None if Octavo quits."""
    settings_errors: tuple[str, ...]
    """Errors in the settings file, as sentences."""
    exit_callbacks: set[Callable[[], None]]
    """Callbacks that save unfinished input when the terminal closes."""
    may_ask_for_key: bool
    """True unless the user went back from the sign-in screen, although the server rejects the API key."""
    is_opening: bool
    """True until the first screen shows its data."""

    @property
    def session(self) -> Session:
        """The current session. Only the sign-in screen has none."""

    @property
    def has_session(self) -> bool:
        """True if an account is signed in."""

    @property
    def is_ending(self) -> bool:
        """True if the app is quitting and its screens are being removed."""

    async def show_session(self, session: Session, view: str = "") -> None:
        """End the current session, then show `session` in `view`, by default in the start view of the user."""

    def signal(self, name: str) -> Signal[Any]:
        """Return a new signal that the app owns, so that it outlives its subscribers."""

    def go(self, route: Route) -> None:
        """Navigate to a route."""

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        """Show a notification. `message` is plain text, not markup."""

    def explain(self, sentence: str) -> None:
        """Show the reason why a key is disabled."""

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` until it ends, even if its screen is closed. Exceptions other than ApiError are reported as bugs."""

    def note_page_shown(self, screen: Any) -> None:
        """Note that `screen` shows a page, which ends the startup."""

    async def action_quit(self) -> None:
        """Save unfinished input and quit."""

    @property
    def suggestions(self) -> SuggestionActions:
        """Applies suggested changes."""

    def undo(self) -> None:
        """Undo the last write, or cancel it if it was not sent yet."""

    def show_view(self, view: str) -> None:
        """Switch to a view by its mode, such as `changes`."""

    def show_help(self) -> None:
        """Show the help of the focused widget in a dialog."""

    # Methods of `textual.app.App`

    @property
    def screen(self) -> Screen[Any]: ...

    @property
    def screens(self) -> list[Screen[Any]]:
        """Screens of all views."""

    @property
    def screen_stack(self) -> list[Screen[Any]]: ...

    @property
    def current_mode(self) -> str: ...

    @property
    def theme(self) -> str: ...

    @property
    def theme_variables(self) -> dict[str, str]: ...

    def push_screen(self, screen: Any, *more: Any, **also: Any) -> Any: ...

    def pop_screen(self) -> Awaitable[None]: ...

    def switch_mode(self, mode: str) -> Awaitable[None]: ...

    def suspend(self) -> AbstractContextManager[None]: ...

    def copy_to_clipboard(self, text: str) -> None: ...

    def set_interval(self, interval: float, callback: Callable[[], None]) -> Timer: ...

    def call_from_thread(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
