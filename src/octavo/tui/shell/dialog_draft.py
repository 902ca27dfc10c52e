"""What is written in a dialog: a draft until the server has it, so that neither esc nor a refusal loses a word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.data.state import NotSaved

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

SAID = "What you wrote is kept: it is there when you open this again."


class DialogDraft:
    """The draft of one place. `begin` is what stands there when nothing is kept, and is no draft."""

    def __init__(self, app: Shell, place: str, begin: str = "") -> None:
        self._app, self._place, self._begin = app, place, begin
        self._drafts = app.session.drafts

    @property
    def place(self) -> str:
        """Its place among the drafts."""
        return self._place

    @property
    def text(self) -> str:
        """What to begin with."""
        draft = self._drafts.get(self._place)
        return self._begin if draft is None else draft

    def save(self, text: str) -> Awaitable[None]:
        """Await it: then `text` is kept, as it is when the app ends before. Awaiting raises NotSaved."""

        def before_end() -> None:
            with suppress(NotSaved):
                self._drafts.flush()

        saving = self._drafts.save(self._place, self._draft(text))
        self._app.before_end.add(before_end)
        return self._saved(saving, before_end)

    def save_now(self, text: str) -> None:
        """Keep `text` before this returns: the app ends. Raises NotSaved."""
        self._drafts.save_now(self._place, self._draft(text))

    def keep(self, text: str) -> None:
        """Keep `text`, and say so if that fails."""
        self._app.background(self._keep(self.save(text)))

    def keep_now(self, text: str) -> None:
        """`keep` before this returns: the app ends."""
        try:
            self.save_now(text)
        except NotSaved as error:
            self._app.say(str(error), tone="failed")

    def drop(self) -> None:
        """The server has it."""
        self.keep(self._begin)

    def _draft(self, text: str) -> str:
        return "" if text.strip() == self._begin.strip() else text

    async def _saved(self, saving: Awaitable[None], before_end: Callable[[], None]) -> None:
        try:
            await saving
        finally:
            self._app.before_end.discard(before_end)

    async def _keep(self, saving: Awaitable[None]) -> None:
        try:
            await saving
        except NotSaved as error:
            self._app.say(str(error), tone="failed")


def why_not_saved(save: Callable[[str], None], text: str) -> str:
    """Save `text` before this returns, and answer why that failed, in a sentence: empty when it did not."""
    try:
        save(text)
    except NotSaved as error:
        return str(error)
    return ""
