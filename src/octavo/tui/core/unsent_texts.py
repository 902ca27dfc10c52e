"""Drafts and pending comments of the session, and the marks that rows show for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from textual.content import Content

from octavo.data.unsent_index import UnsentIndex, UnsentText
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from textual.signal import Signal
    from textual.timer import Timer

    from octavo.tui.core.session import Session


RETRY_SECONDS = 2.0
"""Seconds between two attempts to save drafts."""


class UnsentTexts:
    """Index of the drafts and pending comments of a session, rebuilt when a text appears or disappears. Drafts that
    could not be saved are saved again until that works."""

    def __init__(self, app: HostApp[Any], on_change: Callable[[], None]) -> None:
        """`on_change` is called before the subscribers of the signal `changed`."""
        self.changed: Signal[None] = app.signal("left unsent")
        """Published when an unsent text has appeared, disappeared or moved."""
        self.text_changed: Signal[None] = app.signal("drafts")
        """Published when the wording of an unsent text may have changed."""
        self.index = UnsentIndex()
        self._before_publish = on_change
        self._session: Session | None = None
        self._app = app
        self._save_timer: Timer | None = None
        """Timer that saves drafts again. None while all drafts are saved."""
        self._indexed: tuple[frozenset[str], frozenset[str], tuple[str, ...]] = frozenset(), frozenset(), ()
        self._leave: list[Callable[[], None]] = []

    def follow(self, session: Session) -> None:
        """Follow the unsent texts of `session`."""
        self._session = session
        self._leave = [session.drafts.observe(self._on_texts_changed), session.outbox.observe(self._on_texts_changed)]
        self._on_texts_changed()

    def reset(self) -> None:
        """Stop following, and clear the index."""
        while self._leave:
            self._leave.pop()()
        if self._save_timer is not None:
            self._save_timer.stop()
        self._save_timer = None
        self._session, self.index, self._indexed = None, UnsentIndex(), (frozenset(), frozenset(), ())

    def _on_texts_changed(self) -> None:
        if self._session is None:
            return
        pending = [each for each in self._session.outbox.entries if each.state == "pending"]
        unsaved = self._session.drafts.late_keys()
        current = self._session.drafts.keys(), unsaved, tuple(each.id for each in pending)
        if unsaved and self._save_timer is None:
            self._save_timer = self._app.set_interval(RETRY_SECONDS, self._retry_saving)
        elif not unsaved and self._save_timer is not None:
            self._save_timer.stop()
            self._save_timer = None
        if current != self._indexed:
            self._indexed, self.index = current, UnsentIndex(current[0], pending, unsaved)
            self._before_publish()
            self.changed.publish(None)
        self.text_changed.publish(None)

    def _retry_saving(self) -> None:
        if self._session is not None:
            self._app.background(self._session.drafts.save_again())

    @property
    def why_not_saved(self) -> str:
        """Number of drafts that could not be saved, and the reason. Empty if all drafts are saved."""
        unsaved = self._indexed[1]
        if self._session is None or not unsaved:
            return ""
        return f"{plural(len(unsaved), 'draft')} not saved yet: {self._session.drafts.unsaved_reason}"


def unsent_mark(texts: Iterable[UnsentText], *, tight: bool = False) -> Content:
    """Return the mark of a row with drafts or pending comments: a symbol and a word. With `tight`, only the symbol.
    Empty if `texts` is empty."""
    all_texts = tuple(texts)
    pending, unsaved = sum(bool(each.entry_id) for each in all_texts), sum(each.is_late for each in all_texts)
    return _mark_content(len(all_texts) - pending - unsaved, pending, unsaved, tight) if all_texts else Content("")


def with_unsent_mark(texts: Iterable[UnsentText], label: str) -> Content:
    """Return `label` for the right end of a row, preceded by the mark of its unsent texts."""
    right, unsent = Content.styled(label, "$octavo-muted"), unsent_mark(texts)
    return Content.assemble(unsent, "  ", right) if unsent else right


@lru_cache(100)
def _mark_content(drafts: int, pending: int, unsaved: int, tight: bool) -> Content:
    note, error = "$octavo-note", "$error"
    parts = [("!", "not saved yet" if unsaved == 1 else f"{unsaved} not saved yet", error)] * bool(unsaved)
    parts += [("✎", "draft" if drafts == 1 else f"{drafts} drafts", note)] * bool(drafts)
    parts += [("◌", "pending" if pending == 1 else f"{pending} pending", note)] * bool(pending)
    marks = [Content.styled(sign if tight else f"{sign} {label}", style) for sign, label, style in parts]
    return Content("" if tight else " ").join(marks)
