"""What is written in a dialog: a draft until the server has it, so that neither esc nor a refusal loses a word."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.data.state_db import NotSaved

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

SAID = "Saved as a draft. Open this dialog again to continue."


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

    @property
    def is_saved(self) -> bool:
        """Whether what is written is on disk as it is."""
        return all(draft.key != self._place for draft in self._drafts.unsaved())

    @property
    def trouble(self) -> str:
        """Why it is not saved, in a sentence, or why nothing can be saved. Empty: it can be."""
        if self._place in self._drafts.late_keys():
            return f"Could not save the draft: {self._drafts.unsaved_reason}. Octavo is retrying."
        return self._app.session.state.save_error

    def save(self, text: str) -> Awaitable[None]:
        """Await it: then `text` is kept. Awaiting raises NotSaved."""
        return self._drafts.save(self._place, self._draft(text))

    def save_now(self, text: str) -> None:
        """Keep `text` before this returns: the app ends. Raises NotSaved."""
        self._drafts.save_now(self._place, self._draft(text))

    def take_newer(self, text: str, written_at: datetime) -> None:
        """Keep `text`, which was written at that time, unless there is a newer draft. Raises NotSaved."""
        there = next((each for each in self._drafts.all() if each.key == self._place), None)
        if there is None or there.saved_at < written_at:
            self._drafts.get(self._place)  # what is there is replaced
            self._drafts.save_now(self._place, text)

    def keep(self, text: str) -> None:
        """Keep `text`, and say why that fails, once until it works."""
        is_told = self._place in self._drafts.late_keys()
        self._app.background(self._keep(self.save(text), is_told))

    def keep_now(self, text: str) -> None:
        """`keep` before this returns: the app ends."""
        is_told = self._place in self._drafts.late_keys()
        try:
            self.save_now(text)
        except NotSaved as error:
            if not is_told:
                self._app.say(str(error), tone="failed")

    def drop(self) -> None:
        """The server has it."""
        self.keep(self._begin)

    def _draft(self, text: str) -> str:
        return "" if text.strip() == self._begin.strip() else text

    async def _keep(self, saving: Awaitable[None], is_told: bool) -> None:
        try:
            await saving
        except NotSaved as error:
            if not is_told:
                self._app.say(str(error), tone="failed")


def why_not_saved(save: Callable[[str], None], text: str) -> str:
    """Save `text` before this returns, and answer why that failed, in a sentence: empty when it did not."""
    try:
        save(text)
    except NotSaved as error:
        return str(error)
    return ""
