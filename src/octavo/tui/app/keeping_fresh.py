"""Looks what others did while the app is open, and says in the frame what is new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from octavo.settings import in_words

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer

    from octavo.api.operation import Operation
    from octavo.data.polling import Poller
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell

EVERY = 5.0
"""Seconds after which it is mostly seen again whether a look is due."""


class KeepingFresh:
    """The looks of one session after the other."""

    def __init__(self, app: Shell, terminal: App[int], *, every: float | None) -> None:
        """`app` is shown in `terminal`, which says whether anybody looks at it. `every`: seconds between two times it is
        seen whether a look is due. None: never, but when `look_if_due` is called."""
        self.poller: Poller | None = None
        """When to look, and what to ask. None: it was not yet seen whether a look is due."""
        self._session: Session | None = None
        self._app, self._terminal, self._every = app, terminal, every
        self._timer: Timer | None = None
        self._looks_at_files = False

    def begin(self, session: Session) -> None:
        """Look from now on. The first screen is painted."""
        self._session = session
        if not self._terminal.app_focus:
            session.live.syncer.hide()
        if self._timer is None and self._every is not None:
            self._timer = self._terminal.set_interval(self._every, self.look_if_due)

    def end(self) -> None:
        """The session ends."""
        self._session = self.poller = None

    def key_pressed(self) -> None:
        """Somebody is there, and has seen what was said to be new."""
        if self.poller is not None:
            self.poller.key_pressed()
            self._app.workspace.news.dismiss()

    def hide(self) -> None:
        """Fetch less: the terminal is hidden."""
        if self._session is not None:
            self._session.live.syncer.hide()
        if self.poller is not None:
            self.poller.hide()

    def show(self) -> None:
        """Fetch everything again: the terminal is shown."""
        if self._session is not None:
            self._session.live.syncer.show()
        if self.poller is not None:
            self.poller.show()
            self.look_if_due()

    def look_if_due(self) -> None:
        """Look, where it is time for it."""
        if self._session is None or self._app.is_ending:
            return
        if self.poller is None:
            from octavo.data.polling import Poller  # nothing is due before the first screen is long there

            session = self._session
            then = self._app.workspace.inbox.poll
            self.poller = Poller(session.live, visible=self._on_show, after_round=then)
            if not self._terminal.app_focus:
                self.poller.hide()
        if self.poller.is_due:
            self._app.background(self._look(self.poller))
        if self._session.reload_files is not None and not self._looks_at_files:
            self._app.background(self._look_at_files(self._session, self._session.reload_files))

    async def _look_at_files(self, session: Session, look: Callable[[], Awaitable[bool]]) -> None:
        """Show what changed in the files of a folder."""
        self._looks_at_files = True
        try:
            differs = await look()
        except OSError as error:
            self._app.say(f"Could not read the changed files in this folder: {in_words(error)}", tone="failed")
            return
        finally:
            self._looks_at_files = False
        if differs and session is self._session and not self._app.is_ending:
            self._app.say("Loaded the changed files in this folder.")
            for op in self._on_show():
                self._app.background(session.live.refresh(op))

    async def _look(self, poller: Poller) -> None:
        news = await poller.run()
        if poller is self.poller and not self._app.is_ending:
            self._app.workspace.news.add(news)
            self._app.workspace.update_connection()

    def _on_show(self) -> Sequence[Operation[Any]]:
        return self._app.workspace.visible_operations
