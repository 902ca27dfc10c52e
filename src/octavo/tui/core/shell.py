"""Base class of the app, with all parts that views use. Only `octavo.tui.app` imports the complete class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import AwaitMount, Widget

from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.operation import Discussion
from octavo.settings import Settings
from octavo.tui.core.connection import Subscriptions
from octavo.tui.core.routes import NavigationHistory, Route
from octavo.tui.core.session import Session, SignInMethods, SignInState
from octavo.tui.core.workspace import Workspace
from octavo.tui.core.write_queue import WriteQueue
from octavo.tui.terminal.textual_internals import CachedStylesheet
from octavo.tui.widgets.commands import HostApp


class Shell(HostApp[int]):
    """The app as views see it. It shows one session at a time."""

    open_next: Callable[[], SignInState] | None
    """Returns the sign-in methods and the session for the next start. Raises OSError, ValueError or NotSaved. The
    attribute is None if Octavo quits."""
    stylesheet: CachedStylesheet
    _is_switching_back = False
    """True while the app switches to a view that has a screen already."""

    # Methods of the complete app

    switch_session: Callable[[Session, str], Coroutine[Any, Any, None]]
    """Ends the current session, then shows another. The second argument is a mode, or empty for the first view."""
    go: Callable[[Route], None]
    show_view: Callable[[str], None]
    """Switches to a view by its mode, such as `changes`."""
    show_help: Callable[[], None]
    """Shows the help of the focused widget in a dialog."""
    note_page_shown: Callable[[Screen[Any]], None]
    """Takes the picture of the screen that the next start shows first. Call this after the shown page or inbox has
    changed."""
    why_not_apply: Callable[[Discussion | None, Comment, Comment | Reply, bool], str | None]
    """Returns why the suggestion in a message cannot be applied, or None. The last argument is True to resolve the
    thread too."""
    apply_suggestion: Callable[[Discussion, Comment, Comment | Reply, bool], None]
    """Applies the suggestion in a message to its page. The last argument is True to resolve the thread too."""

    def __init__(self, settings: Settings, sign_in_methods: SignInMethods, session: Session | None) -> None:
        super().__init__()
        self.settings = settings
        self.settings_errors: tuple[str, ...] = settings.problems
        """Errors in the settings file, as sentences."""
        self.sign_in_methods = sign_in_methods
        self.may_ask_for_key = not sign_in_methods.previous_label
        """True if the sign-in screen opens when the server rejects the API key."""
        self._session = session
        self.open_next = None
        self.history = NavigationHistory(self, lambda: self.screens)
        self.workspace = Workspace(self, self.history)
        self.writes = WriteQueue(self, lambda: self.session, lambda route: self.go(route), settings.undo_seconds)

    @property
    def session(self) -> Session:
        """The current session. Only the sign-in screen has none."""
        assert self._session is not None, "Only the sign-in screen is shown without a session"
        return self._session

    @property
    def has_session(self) -> bool:
        """True if a session is open. Only the sign-in screen has none."""
        return self._session is not None

    @property
    def why_no_writes(self) -> str:
        return self._session.read_only_reason if self._session is not None else ""

    @property
    def screens(self) -> list[Screen[Any]]:
        return [screen for mode in self.MODES for screen in _screens_of(self, mode)]

    # Painting

    def delay_paint(self) -> None:
        """Paint nothing and compute no styles until `paint_first_screen`."""
        self.stylesheet.is_frozen = True
        # Textual starts tasks eagerly from Python 3.12 on. Then input would arrive before its screen exists.
        asyncio.get_running_loop().set_task_factory(None)
        self._batch = ExitStack()
        self._batch.enter_context(self.batch_update())

    def paint_first_screen(self) -> None:
        """Compute the styles of the screens, and paint the first screen."""
        self.stylesheet.is_frozen = False
        for screen in self.screen_stack:
            self.stylesheet.update(screen)
        self._batch.close()
        self.screen.refresh(repaint=False, layout=True)

    def switch_mode(self, mode: str) -> AwaitMount:
        self._is_switching_back = bool(_screens_of(self, mode))
        try:
            return super().switch_mode(mode)
        finally:
            self._is_switching_back = False

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay the next frames, except when the app switches to a view that has a screen already."""
        if not self._is_switching_back:
            super().delay_update(delay)

    # Notifications and commands

    def explain(self, sentence: str) -> None:
        self.say(sentence, tone="care")

    def report_error(self, error: BaseException) -> None:
        """Show an ApiError of a background task in a notification. Crash the app for other errors."""
        if isinstance(error, ApiError):
            self.say(str(error), tone="failed")
        else:
            super().report_error(error)

    def before_command(self, id: str) -> None:
        self.workspace.tour.complete_step(id)

    def undo(self) -> None:
        if self._session is not None:
            self.writes.undo()


@contextmanager
def explained(failure: str) -> Iterator[None]:
    """Raise an ApiError of the `with` block again, with the sentence `failure` before its message."""
    try:
        yield
    except ApiError as error:
        raise ApiError(f"{failure}: {error}", error.trace) from error


def _screens_of(app: App[Any], mode: str) -> list[Screen[Any]]:
    try:
        return app.get_screen_stack(mode)
    except KeyError:
        return []


def shell_of(node: DOMNode) -> Shell:
    """Return the app of a widget or screen."""
    assert isinstance(node.app, Shell), "Views run only in the app"
    return node.app


def subscriptions_of(widget: Widget) -> Subscriptions:
    """Return an object that follows the API responses that a widget or screen shows."""
    return Subscriptions(widget, shell_of(widget).workspace.connection)


def stop_subscriptions(widget: Any) -> None:
    """Stop the `subscriptions` of a widget or screen. Widgets and screens use this function as their method
    `on_unmount`."""
    widget.subscriptions.stop()
