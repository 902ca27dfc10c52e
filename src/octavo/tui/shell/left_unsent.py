"""What the person wrote and did not send, for every view: where it hangs, and the mark that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.data.unsent_index import UnsentIndex, UnsentText
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from textual.signal import Signal
    from textual.timer import Timer

    from octavo.tui.shell.host import Host
    from octavo.tui.shell.session import Session

AGAIN = 2.0
"""Seconds between two attempts to save what could not be saved."""


class LeftUnsent:
    """Follows the drafts and the held comments of a session. The index is made anew only when one begins or goes.

    A draft that could not be saved is saved again until that works.
    """

    def __init__(self, app: Host, changed: Callable[[], None]) -> None:
        """`changed` is called before the views are told."""
        self.changed: Signal[None] = app.signal("left unsent")
        """Other words are not sent, or they hang elsewhere."""
        self.reworded: Signal[None] = app.signal("drafts")
        """Some of them may be other words."""
        self.index = UnsentIndex()
        self._tell = changed
        self._session: Session | None = None
        self._app = app
        self._again: Timer | None = None
        """Saves again what could not be saved, as long as there is any."""
        self._made_of: tuple[frozenset[str], frozenset[str], tuple[str, ...]] = frozenset(), frozenset(), ()
        self._leave: list[Callable[[], None]] = []

    def follow(self, session: Session) -> None:
        """Follow what is written in `session`."""
        self._session = session
        self._leave = [session.drafts.observe(self._look), session.outbox.observe(self._look)]
        self._look()

    def leave(self) -> None:
        """Follow nothing, and know nothing."""
        while self._leave:
            self._leave.pop()()
        if self._again is not None:
            self._again.stop()
        self._again = None
        self._session, self.index, self._made_of = None, UnsentIndex(), (frozenset(), frozenset(), ())

    def _look(self) -> None:
        if self._session is None:
            return
        held = [each for each in self._session.outbox.entries if each.state == "pending"]
        late = self._session.drafts.late_keys()
        made_of = self._session.drafts.keys(), late, tuple(each.id for each in held)
        if late and self._again is None:
            self._again = self._app.set_interval(AGAIN, self._save_again)
        elif not late and self._again is not None:
            self._again.stop()
            self._again = None
        if made_of != self._made_of:
            self._made_of, self.index = made_of, UnsentIndex(made_of[0], held, late)
            self._tell()
            self.changed.publish(None)
        self.reworded.publish(None)

    def _save_again(self) -> None:
        if self._session is not None:
            self._app.background(self._session.drafts.save_again())

    @property
    def trouble(self) -> str:
        """How many texts are not on disk as they are now, and why. Empty: all are."""
        late = self._made_of[1]
        if self._session is None or not late:
            return ""
        return f"{plural(len(late), 'draft')} not saved yet: {self._session.drafts.unsaved_reason}"


def mark(words: Iterable[UnsentText], *, tight: bool = False) -> Content:
    """The sign of drafts and of held comments with a word, or where room is `tight` without. Empty where there are none."""
    among: Sequence[UnsentText] = tuple(words)
    held, late = sum(bool(each.entry_id) for each in among), sum(each.is_late for each in among)
    return _mark(len(among) - held - late, held, late, tight) if among else Content("")


def beside(words: Iterable[UnsentText], said: str) -> Content:
    """What is `said` at the right end of a row, after the mark of what is not sent there."""
    said_there, sign = Content.styled(said, "$octavo-muted"), mark(words)
    return Content.assemble(sign, "  ", said_there) if sign else said_there


@lru_cache(100)
def _mark(drafts: int, held: int, late: int, tight: bool) -> Content:
    note, error = "$octavo-note", "$error"
    parts = [("!", "not saved yet" if late == 1 else f"{late} not saved yet", error)] * bool(late)
    parts += [("✎", "draft" if drafts == 1 else f"{drafts} drafts", note)] * bool(drafts)
    parts += [("◌", "pending" if held == 1 else f"{held} pending", note)] * bool(held)
    said = [Content.styled(sign if tight else f"{sign} {words}", style) for sign, words, style in parts]
    return Content("" if tight else " ").join(said)
