"""The writes under way of a profile, as they are on disk, for every instance of the app."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime
from functools import partial

from octavo.data import ledger
from octavo.data.entry import Entry
from octavo.data.state import State

Also = Callable[[sqlite3.Connection, Entry], None]
"""What else belongs into the transaction of a step."""


class Pending:
    """All entries that are not done, oldest first."""

    def __init__(self, state: State, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.entries: tuple[Entry, ...] = ()
        self._read: dict[str, Entry] = {}
        self._watchers: list[Callable[[], None]] = []
        self._done: list[Callable[[Entry], None]] = []
        self.reload()

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each change. Returns the way out."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    def on_done(self, told: Callable[[Entry], None]) -> None:
        """Tell of each write that is done, whoever sent it, before the watchers see it gone."""
        self._done.append(told)

    def find(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == entry_id), None)

    def refresh(self) -> None:
        """See what other instances did."""
        if self.state.changed():
            self.reload()

    async def insert(self, entry: Entry, also: Also | None = None) -> None:
        """Returns when `entry` is on disk. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            ledger.insert(db, self.state.namespace, entry)
            if also:
                also(db, entry)

        await self.state.write(work)
        self.reload()

    async def step(self, entry_id: str, change: Callable[[Entry], Entry], also: Also | None = None) -> Entry | None:
        """Take one step with the entry as it is on disk. None when it is gone, or cannot take it any more."""
        now = self.now()

        def work(db: sqlite3.Connection) -> Entry | None:
            after = ledger.step(db, self.state.namespace, entry_id, change, now)
            if after and also:
                also(db, after)
            return after

        after = await self.state.write(work)
        self.reload()
        return after

    async def remove(self, entry_id: str, also: Also, *states: str) -> Entry | None:
        """Forget an entry that is in one of `states`. None when it is not, or gone."""

        def work(db: sqlite3.Connection) -> Entry | None:
            entry = ledger.find(db, entry_id)
            if entry is None or entry.state not in states:
                return None
            ledger.remove(db, entry_id)
            also(db, entry)
            return entry

        removed = await self.state.write(work)
        self.reload()
        return removed

    def reload(self) -> None:
        """Read all entries again, and tell who wants to know what became of them."""
        before, now = self._read, {}
        entries = []
        for entry_id, record in self.state.read(lambda db: ledger.records(db, self.state.namespace)):
            entry = before.get(record) or self._decoded(entry_id, record)
            if entry is not None:
                now[record] = entry
                entries.append(entry)
        self._read = now
        after = tuple(entries)
        if after == self.entries:
            return
        gone = [entry for entry in self.entries if entry.id not in {each.id for each in after}]
        self.entries = after
        for entry in gone:
            done = self.state.read(partial(ledger.done, entry_id=entry.id))
            if done is not None:
                for told in tuple(self._done):
                    told(done)
        self.tell()

    def tell(self) -> None:
        """Let the watchers look again."""
        for watcher in tuple(self._watchers):
            watcher()

    def _decoded(self, entry_id: str, record: str) -> Entry | None:
        try:
            return ledger.read(record)
        except (ValueError, LookupError, TypeError, AttributeError):
            notice = f"A write of another version of Octavo cannot be read. It stays in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
