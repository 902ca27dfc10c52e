"""What those parts of the shell that views share may ask of the app: its session, its screens, saying and going."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from octavo.settings import Settings
from octavo.tui.shell.routes import Route

if TYPE_CHECKING:
    from textual.screen import Screen
    from textual.signal import Signal
    from textual.timer import Timer

    from octavo.tui.shell.session import Session, SignInMethods
    from octavo.tui.widgets.notices import NoticeBoard, Tone


class Host(Protocol):
    """An app that shows one session at a time."""

    settings: Settings
    sign_in_methods: SignInMethods
    notices: NoticeBoard
    mistakes: tuple[str, ...]
    """What is wrong with the settings, a sentence each."""
    before_end: set[Callable[[], None]]
    """Called when the terminal goes away: they keep what is being typed (D6)."""
    opening: bool
    """Until the first screen holds what is known."""

    @property
    def session(self) -> Session:
        """What is on show is of this. There is one wherever a view but sign-in is."""

    @property
    def has_session(self) -> bool:
        """Whether one is signed in."""

    @property
    def ending(self) -> bool:
        """Whether the app was told to end: what is on the screen is being taken down."""

    async def start(self, session: Session, view: str = "") -> None:
        """Leave what was, and show `session`: a view of it, or the one a person of it begins in."""

    def signal(self, name: str) -> Signal[Any]:
        """A signal that outlives who listens to it."""

    def go(self, route: Route) -> None:
        """Go to a place."""

    def say(self, message: str, *, tone: Tone = "done", seconds: float | None = None, undo: bool = False) -> None:
        """Tell the person what happened, where it hides nothing they look at. Never markup."""

    def explain(self, sentence: str) -> None:
        """Say why a key cannot act."""

    def background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` to its end whatever screen is shown. An error that is not an ApiError is a bug, and seen."""

    def page_shown(self, screen: Any) -> None:
        """A page is on show in `screen`, which is what a start shows."""

    async def action_quit(self) -> None:
        """End, with what is typed kept."""

    # Of Textual

    @property
    def screen(self) -> Screen[Any]: ...

    @property
    def screens(self) -> list[Screen[Any]]:
        """Those of all views."""

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
