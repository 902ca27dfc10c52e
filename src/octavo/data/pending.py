"""The writes under way of a profile, as they are on disk, for every instance of the app."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from octavo.data import ledger
from octavo.data.state import State
from octavo.data.writes.machine import Entry

Also = Callable[[sqlite3.Connection, Entry], None]
"""What else belongs into the transaction of a step."""


class Pending:
    """All entries that are not done, oldest first."""

    def __init__(self, state: State, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.entries: tuple[Entry, ...] = ()
        self.by_name: dict[str, Entry] = {}
        """By what their results are called: asked of each message of a list."""
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

    async def insert(self, entries: Sequence[Entry], also: Also) -> None:
        """Returns when all `entries` are on disk; none is otherwise. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            for entry in entries:
                ledger.insert(db, self.state.namespace, entry)
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

    async def release(self, entry_ids: Iterable[str], change: Callable[[Entry], Entry]) -> None:
        """Take one step with several entries, as far as they can. Raises NotSaved."""
        now, ids = self.now(), tuple(entry_ids)

        def work(db: sqlite3.Connection) -> None:
            for entry_id in ids:
                ledger.step(db, self.state.namespace, entry_id, change, now)

        await self.state.write(work)
        self.reload()

    async def let_go(
        self, found: Callable[[Entry], bool], change: Callable[[Entry], Entry], then: Sequence[Entry], also: Also
    ) -> tuple[Entry, ...]:
        """Take one step with all entries that are `found` on disk, and put `then` after them: all of it or nothing.
        None are answered where one of `then` is there already. Raises NotSaved."""
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
        """Forget the entries that are in one of `states`, and answer them. Raises NotSaved."""
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
        there = {each.id for each in after}
        gone = [entry for entry in self.entries if entry.id not in there]
        self.entries = after
        # Of those with one name the oldest.
        self.by_name = {each.pending_id: each for each in reversed(after)}
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
        except ValueError:
            notice = (
                f"An unsent change from another version of Octavo cannot be read. It stays in state.db as {entry_id}."
            )
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
