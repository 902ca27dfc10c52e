"""The `Shell` protocol: the app as views and their parts know it. Only the package `octavo.tui.app` knows more of the app."""

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
    from octavo.tui.shell.navigation_history import NavigationHistory
    from octavo.tui.shell.routes import Route
    from octavo.tui.shell.session import Session, SignInMethods
    from octavo.tui.shell.workspace import Workspace
    from octavo.tui.shell.write_queue import WriteQueue
    from octavo.tui.widgets.notices import NoticeBoard, Tone


class SuggestionActions(Protocol):
    """Applies suggested changes to pages. The package `writing` implements it, and threads use it."""

    def why_not_apply(self, at: Discussion | None, thread: Comment, message: Comment | Reply) -> str | None:
        """Return a sentence why the suggestion in a message cannot be applied, else None."""

    def apply(self, at: Discussion, thread: Comment, message: Comment | Reply) -> None:
        """Apply the suggestion in a message to its page."""


class Shell(Protocol):
    """The app. It shows one session at a time."""

    workspace: Workspace
    writes: WriteQueue
    history: NavigationHistory
    settings: Settings
    sign_in_methods: SignInMethods
    notices: NoticeBoard
    settings_errors: tuple[str, ...]
    """Errors in the settings file, a sentence each."""
    exit_callbacks: set[Callable[[], None]]
    """Callbacks that save unfinished input when the terminal closes."""
    is_opening: bool
    """True until the first screen shows its data."""

    @property
    def session(self) -> Session:
        """The current session. Every view except sign-in has a session."""

    @property
    def has_session(self) -> bool:
        """True if an account is signed in."""

    @property
    def is_ending(self) -> bool:
        """True if the app is quitting and its screens are being removed."""

    async def show_session(self, session: Session, view: str = "") -> None:
        """End the current session and show `session` in `view`, or in the default view of the user."""

    def signal(self, name: str) -> Signal[Any]:
        """Return a new signal whose subscriptions end with their subscribers."""

    def go(self, route: Route) -> None:
        """Navigate to a route."""

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        """Show a notification where it covers no focused content. `message` is plain text, never markup."""

    def explain(self, sentence: str) -> None:
        """Show why a key is disabled."""

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` to its end on whatever screen is shown. An exception other than ApiError is reported as a bug."""

    def note_page_shown(self, screen: Any) -> None:
        """Note that `screen` shows a page. The startup ends with the first page."""

    async def action_quit(self) -> None:
        """Save unfinished input and quit."""

    @property
    def suggestions(self) -> SuggestionActions:
        """Applies suggested changes."""

    def undo(self) -> None:
        """Undo the last write, or cancel it if it is not sent yet."""

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
