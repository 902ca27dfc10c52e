"""The unfinished writes of a profile, as they are on disk, for all instances of Octavo."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from octavo.data import ledger
from octavo.data.entry import Entry
from octavo.data.observers import Observers
from octavo.data.state import State

Also = Callable[[sqlite3.Connection, Entry], None]
"""Other work in the transaction of a step."""


class Pending:
    """All entries that are not done, the oldest first."""

    def __init__(self, state: State, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.entries: tuple[Entry, ...] = ()
        self.by_name: dict[str, Entry] = {}
        """Entries by the provisional id of what they create: looked up for each message of a list."""
        self._read: dict[str, Entry] = {}
        self.changed: Observers[[]] = Observers()
        self.done: Observers[[Entry]] = Observers()
        """Called with each write that is done, in this instance or another, before `changed`."""
        self.reload()

    def find(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == entry_id), None)

    def refresh(self) -> None:
        """Read the entries again if another instance has written."""
        if self.state.changed():
            self.reload()

    async def insert(self, entries: Sequence[Entry], also: Also) -> None:
        """Insert all `entries`, or none. Returns when they are on disk. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            for entry in entries:
                ledger.insert(db, self.state.namespace, entry)
                also(db, entry)

        await self.state.write(work)
        self.reload()

    async def step(self, entry_id: str, change: Callable[[Entry], Entry], also: Also | None = None) -> Entry | None:
        """Apply a step to an entry as it is on disk. None if the entry is gone or cannot take the step. Raises
        NotSaved."""
        now = self.now()

        def work(db: sqlite3.Connection) -> Entry | None:
            after = ledger.step(db, self.state.namespace, entry_id, change, now)
            if after and also:
                also(db, after)
            return after

        after = await self.state.write(work)
        self.reload()
        return after

    async def release(self, entry_ids: Iterable[str], change: Callable[[Entry], Entry]) -> None:
        """Apply a step to several entries, as far as they can take it. Raises NotSaved."""
        now, ids = self.now(), tuple(entry_ids)

        def work(db: sqlite3.Connection) -> None:
            for entry_id in ids:
                ledger.step(db, self.state.namespace, entry_id, change, now)

        await self.state.write(work)
        self.reload()

    async def let_go(
        self, found: Callable[[Entry], bool], change: Callable[[Entry], Entry], then: Sequence[Entry], also: Also
    ) -> tuple[Entry, ...]:
        """Apply a step to all entries for which `found` is true, then insert `then`: all or nothing. Empty if one of
        `then` is there already. Raises NotSaved."""
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[str, ...]:
            here = [
                entry
                for entry_id, record in ledger.records(db, self.state.namespace)
                if (entry := self._decoded(entry_id, record))
            ]
            if any(
                type(each.op) is type(new.op) and each.target == new.target and each.is_on_its_way
                for each in here
                for new in then
            ):
                return ()
            taken = tuple(entry.id for entry in here if found(entry))
            for entry_id in taken:
                ledger.step(db, self.state.namespace, entry_id, change, now)
            for entry in then:
                ledger.insert(db, self.state.namespace, entry)
                also(db, entry)
            return (*taken, *(entry.id for entry in then))

        ids = await self.state.write(work)
        self.reload()
        return tuple(entry for entry in self.entries if entry.id in ids)

    async def remove(self, entry_ids: Iterable[str], also: Also, *states: str) -> tuple[Entry, ...]:
        """Delete the entries that are in one of `states`, and return them. Raises NotSaved."""
        ids = tuple(entry_ids)

        def work(db: sqlite3.Connection) -> tuple[Entry, ...]:
            found = (ledger.find(db, entry_id) for entry_id in ids)
            removed = tuple(entry for entry in found if entry is not None and entry.state in states)
            for entry in removed:
                ledger.remove(db, entry.id)
                also(db, entry)
            return removed

        removed = await self.state.write(work)
        self.reload()
        return removed

    def reload(self) -> None:
        """Read all entries again and notify the observers."""
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
        there = {each.id for each in after}
        gone = [entry for entry in self.entries if entry.id not in there]
        self.entries = after
        # Of those with one name the oldest.
        self.by_name = {each.pending_id: each for each in reversed(after)}
        for entry in gone:
            done = self.state.read(partial(ledger.done, entry_id=entry.id))
            if done is not None:
                self.done.notify(done)
        self.changed.notify()

    def _decoded(self, entry_id: str, record: str) -> Entry | None:
        try:
            return ledger.read(record)
        except ValueError:
            notice = f"An unsent change from another version of Octavo could not be read. The change is kept in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
