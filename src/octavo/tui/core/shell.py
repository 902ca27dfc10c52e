"""Base class of the app, which gives views the session, navigation and writes: start at `Shell`. Only `octavo.tui.app`
imports the subclass with all views."""

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
from octavo.tui.core.write_queue import WriteQueue, show_progress
from octavo.tui.widgets.commands import HostApp


class Shell(HostApp[int]):
    """Base class of the app: the attributes and methods that views use. Shows one session at a time."""

    open_next: Callable[[], SignInState] | None
    """Returns what the app shows when it starts again. None if Octavo quits. Raises OSError, ValueError or NotSaved."""
    _is_switching_back = False
    """True while the app switches to a view that was open before."""

    switch_session: Callable[[Session, str], Coroutine[Any, Any, None]]
    """Shows a session after sign-in, in the view with the given Textual mode. An empty mode is the usual view."""
    go: Callable[[Route], None]
    show_view: Callable[[str], None]
    """Switches to the view of a Textual mode, such as `changes`."""
    show_help: Callable[[], None]
    """Shows the help of the focused widget in a dialog."""
    note_page_shown: Callable[[Screen[Any]], None]
    """Saves a picture of the screen for the next start. Call this after the shown page or inbox has changed."""
    why_not_apply: Callable[[Discussion | None, Comment, Comment | Reply, bool], str | None]
    """Returns why the suggestion in a comment or reply cannot be applied. None if it can be applied. The last argument
    is True to resolve the thread too."""
    apply_suggestion: Callable[[Discussion, Comment, Comment | Reply, bool], None]
    """Applies the suggestion in a comment or reply to its page. The last argument is True to resolve the thread too."""

    def __init__(self, settings: Settings, sign_in_methods: SignInMethods, session: Session | None) -> None:
        super().__init__()
        self.settings = settings
        self.settings_errors: tuple[str, ...] = settings.problems
        """Sentences about errors in the settings file."""
        self.sign_in_methods = sign_in_methods
        self.may_ask_for_key = not sign_in_methods.previous_label
        """True if the app may open the sign-in screen when the server rejects the API key."""
        self._session = session
        self.open_next = None
        self.history = NavigationHistory(self, lambda: self.screens)
        self.workspace = Workspace(self, self.history)
        self.writes = WriteQueue(self, lambda: self.session, lambda route: self.go(route), settings.undo_seconds)
        self.forms_being_sent: set[str] = set()
        """Names of the drafts of forms that were sent, and have no response yet."""

    @property
    def session(self) -> Session:
        """The current session. Only the sign-in screen runs without one."""
        assert self._session is not None, "Only the sign-in screen is shown without a session"
        return self._session

    @property
    def has_session(self) -> bool:
        """True if a session is open. False on the sign-in screen."""
        return self._session is not None

    @property
    def why_no_writes(self) -> str:
        return self._session.read_only_reason if self._session is not None else ""

    @property
    def screens(self) -> list[Screen[Any]]:
        return [screen for mode in self.MODES for screen in _screens_of(self, mode)]

    def delay_paint(self) -> None:
        """Paint nothing until `paint_first_screen`."""
        # From Python 3.12 on, Textual starts tasks eagerly, so input would arrive before its screen exists.
        asyncio.get_running_loop().set_task_factory(None)
        self._batch = ExitStack()
        self._batch.enter_context(self.batch_update())

    def paint_first_screen(self) -> None:
        """End the delay that `delay_paint` began, and paint the first screen."""
        self._batch.close()
        self.screen.refresh(repaint=False, layout=True)

    def switch_mode(self, mode: str) -> AwaitMount:
        self._is_switching_back = bool(_screens_of(self, mode))
        try:
            return super().switch_mode(mode)
        finally:
            self._is_switching_back = False

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay the next frames by `delay` seconds, unless the app switches to a view that was open before."""
        if not self._is_switching_back:
            super().delay_update(delay)

    def explain(self, sentence: str) -> None:
        self.say(sentence, tone="care")

    def report_error(self, error: BaseException) -> None:
        """Show the message of an ApiError from a background task. Any other error crashes the app."""
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
def opening(app: HostApp[Any], text: str, failure: str) -> Iterator[None]:
    """Show `text` while the `with` block loads data for a dialog, a screen or a command. Meanwhile, keys and clicks wait, and esc
    cancels the current task. If the user has opened another screen, raise CancelledError at the end. Put `failure`
    before the message of an ApiError, as `explained` does."""
    app.opening_task, screen = asyncio.current_task(), app.screen
    try:
        with show_progress(app, f"{text} Press esc to cancel."), explained(failure):
            yield
    finally:
        app.opening_task = None
    if app.screen is not screen:
        app.explain("You opened another view or dialog, so the last command was canceled.")
        raise asyncio.CancelledError


@contextmanager
def explained(failure: str) -> Iterator[None]:
    """Put `failure` and a colon before the message of an ApiError that the `with` block raises. `failure` is for
    example “Could not load the trash”."""
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
    """Return the Octavo app of a widget or screen."""
    assert isinstance(node.app, Shell), "Views run only in the app"
    return node.app


def subscriptions_of(widget: Widget) -> Subscriptions:
    """Return a new object with which a widget or screen follows API responses."""
    return Subscriptions(widget, shell_of(widget).workspace.connection)


def stop_subscriptions(widget: Any) -> None:
    """End the `subscriptions` of a widget or screen. Widget classes use this function as their method `on_unmount`."""
    widget.subscriptions.stop()
