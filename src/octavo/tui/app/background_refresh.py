"""Checks for changes by others while the app is open, and shows in the frame what is new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from octavo.settings import in_words

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer

    from octavo.api.operation import Operation
    from octavo.data.polling import Poller
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell

CHECK_INTERVAL = 5.0
"""Seconds between two checks whether a refresh is due."""


class BackgroundRefresh:
    """Periodic refreshes of the current session."""

    def __init__(self, app: Shell, terminal: App[int], *, check_interval: float | None) -> None:
        """`terminal` knows whether the terminal has the focus. `check_interval` is in seconds. None: `refresh_if_due` is
        called only from outside."""
        self.poller: Poller | None = None
        """Decides when to refresh and which operations. None before the first check."""
        self._session: Session | None = None
        self._app, self._terminal, self._interval = app, terminal, check_interval
        self._timer: Timer | None = None
        self._is_reading_files = False

    def begin(self, session: Session) -> None:
        """Start to refresh a session. Called after the first paint."""
        self._session = session
        if not self._terminal.app_focus:
            session.live.syncer.on_terminal_hidden()
        if self._timer is None and self._interval is not None:
            self._timer = self._terminal.set_interval(self._interval, self.refresh_if_due)

    def end(self) -> None:
        """Stop, because the session ends."""
        self._session = self.poller = None

    def key_pressed(self) -> None:
        """Count a key as activity of the user, and mark the news in the frame as seen."""
        if self.poller is not None:
            self.poller.key_pressed()
            self._app.workspace.news.dismiss()

    def hide(self) -> None:
        """Refresh less often, because the terminal lost the focus."""
        if self._session is not None:
            self._session.live.syncer.on_terminal_hidden()
        if self.poller is not None:
            self.poller.on_terminal_hidden()

    def show(self) -> None:
        """Refresh everything, because the terminal got the focus."""
        if self._session is not None:
            self._session.live.syncer.on_terminal_shown()
        if self.poller is not None:
            self.poller.on_terminal_shown()
            self.refresh_if_due()

    def refresh_if_due(self) -> None:
        """Refresh if it is time to."""
        if self._session is None or self._app.is_ending:
            return
        if self.poller is None:
            from octavo.data.polling import Poller  # lazy: after the first paint

            poll_inbox = self._app.workspace.inbox.poll
            self.poller = Poller(self._session.live, visible=self._visible_ops, after_round=poll_inbox)
            if not self._terminal.app_focus:
                self.poller.on_terminal_hidden()
        if self.poller.is_due:
            self._app.background(self._refresh(self.poller))
        if self._session.reload_files is not None and not self._is_reading_files:
            self._app.background(self._read_files(self._session, self._session.reload_files))

    async def _read_files(self, session: Session, read: Callable[[], Awaitable[bool]]) -> None:
        """Read the changed files of an open folder. `read` returns whether there were any."""
        self._is_reading_files = True
        try:
            is_changed = await read()
        except OSError as error:
            self._app.say(f"Could not read the changed files in this folder: {in_words(error)}", tone="failed")
            return
        finally:
            self._is_reading_files = False
        if is_changed and session is self._session and not self._app.is_ending:
            self._app.say("Loaded the changed files in this folder.")
            for op in self._visible_ops():
                self._app.background(session.live.refresh(op))

    async def _refresh(self, poller: Poller) -> None:
        news = await poller.run()
        if poller is self.poller and not self._app.is_ending:
            self._app.workspace.news.add(news)
            self._app.workspace.update_connection()

    def _visible_ops(self) -> Sequence[Operation[Any]]:
        return self._app.workspace.visible_operations
