"""What is written in a dialog: a draft until the server has it, so that neither esc nor a refusal loses a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.data.state import NotSaved

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

SAID = "What you wrote is kept: it is there when you open this again."


class Kept:
    """The draft of one place. `begin` is what stands there when nothing is kept."""

    def __init__(self, app: Octavo, place: str, begin: str = "") -> None:
        self._app, self._place, self._begin = app, place, begin

    @property
    def text(self) -> str:
        """What to begin with."""
        draft = self._app.session.drafts.get(self._place)
        return self._begin if draft is None else draft

    def keep(self, text: str) -> None:
        """Keep `text`; what was there to begin with is no draft."""
        try:
            self._app.session.drafts.save_now(self._place, "" if text.strip() == self._begin.strip() else text)
        except NotSaved as error:
            self._app.say(str(error), tone="failed")

    def drop(self) -> None:
        """The server has it."""
        self.keep(self._begin)
