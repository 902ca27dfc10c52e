"""What the person wrote and did not send, for every view: where it hangs, and the mark that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content

from octavo.data.unsent import Unsent, UnsentIndex

if TYPE_CHECKING:
    from textual.signal import Signal

    from octavo.tui.shell.host import Host
    from octavo.tui.shell.session import Session


class LeftUnsent:
    """Follows the drafts and the held comments of a session. The index is made anew only when one begins or goes."""

    def __init__(self, app: Host, changed: Callable[[], None]) -> None:
        """`changed` is called before the views are told."""
        self.changed: Signal[None] = app.signal("left unsent")
        """Other words are not sent, or they hang elsewhere."""
        self.reworded: Signal[None] = app.signal("drafts")
        """Some of them may be other words."""
        self.index = UnsentIndex()
        self._tell = changed
        self._session: Session | None = None
        self._made_of: tuple[frozenset[str], tuple[str, ...]] = frozenset(), ()
        self._leave: list[Callable[[], None]] = []

    def follow(self, session: Session) -> None:
        """Follow what is written in `session`."""
        self._session = session
        self._leave = [session.drafts.watch(self._look), session.outbox.watch(self._look)]
        self._look()

    def leave(self) -> None:
        """Follow nothing, and know nothing."""
        while self._leave:
            self._leave.pop()()
        self._session, self.index, self._made_of = None, UnsentIndex(), (frozenset(), ())

    def _look(self) -> None:
        if self._session is None:
            return
        held = [each for each in self._session.outbox.entries if each.state == "gathered"]
        made_of = self._session.drafts.places(), tuple(each.id for each in held)
        if made_of != self._made_of:
            self._made_of, self.index = made_of, UnsentIndex(made_of[0], held)
            self._tell()
            self.changed.publish(None)
        self.reworded.publish(None)


def mark(words: Iterable[Unsent], *, tight: bool = False) -> Content:
    """The sign of drafts and of held comments with a word, or where room is `tight` without. Empty where there are none."""
    among: Sequence[Unsent] = tuple(words)
    held = sum(bool(each.entry) for each in among)
    return _mark(len(among) - held, held, tight) if among else Content("")


def beside(words: Iterable[Unsent], said: str) -> Content:
    """What is `said` at the right end of a row, after the mark of what is not sent there."""
    said_there, sign = Content.styled(said, "$octavo-muted"), mark(words)
    return Content.assemble(sign, "  ", said_there) if sign else said_there


@lru_cache(100)
def _mark(drafts: int, held: int, tight: bool) -> Content:
    parts = [("✎", "draft" if drafts == 1 else f"{drafts} drafts")] * bool(drafts)
    parts += [("◌", "held" if held == 1 else f"{held} held")] * bool(held)
    said = [sign if tight else f"{sign} {words}" for sign, words in parts]
    return Content.styled(("" if tight else " ").join(said), "$octavo-note")
