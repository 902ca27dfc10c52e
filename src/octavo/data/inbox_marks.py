"""What a person did with rows of the inbox: done, put off, read. Kept on this machine, for one profile.

    marks = InboxMarks(state)
    await marks.done(row)                      # away, until something new happens to it
    await marks.snooze(row, until=tomorrow)    # away until then; until=None: until something new happens
    await marks.read(row)
    await marks.undo()                         # takes the last of these back
    marks.sorted(rows).here                    # what still needs the person

A mark holds the stamp of its row. Marks are rows of a table and not facts: there are many, two terminals make them side by
side, and those of things that are gone for long are dropped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from octavo.data.database import moment
from octavo.data.inbox import Row
from octavo.data.state_db import NotSaved, StateDb

MarkKind = Literal["done", "snoozed", "read"]
GONE_FOR = timedelta(days=60)
"""A mark this old is dropped when there is no row any more that it is of."""
MOST_MARKS = 5000
"""The newest are kept, whatever there is."""
REMEMBERED = 100
"""How many marks can be taken back, one after the other."""


@dataclass(frozen=True)
class Mark:
    """What was done with a row, and what it said then."""

    key: str
    kind: MarkKind
    stamp: str
    marked_at: datetime
    until: datetime | None = None
    """When a row that was put off comes back. None: when something new happened to it."""
    words: str = ""
    title: str = ""
    context: str = ""

    def hides(self, stamp: str, now: datetime) -> bool:
        """Whether it takes a row that has `stamp` now out of the inbox."""
        if self.kind == "snoozed" and self.until is not None:
            return now < self.until
        return self.kind != "read" and self.stamp == stamp


@dataclass(frozen=True)
class MarkedRows:
    """The rows of an inbox by what was done with them."""

    here: tuple[Row, ...] = ()
    """What needs the person, in its order."""
    unread: frozenset[str] = frozenset()
    """The keys of those to which something happened since they were read."""
    snoozed: tuple[tuple[Row, datetime | None], ...] = ()
    """What was put off, and until when, the next first; last what sleeps until something new happens."""
    done: tuple[Row, ...] = ()


Marks = dict[tuple[str, bool], Mark]
"""By key of the row, and whether it says that it was read: a row is read, and beside that done or put off."""


class InboxMarks:
    """The marks of one profile."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._marks: Marks | None = None
        self._history: list[list[tuple[tuple[str, bool], Mark | None]]] = []
        """What stood where something was marked, before it was."""

    def sort(self, rows: Iterable[Row]) -> MarkedRows:
        """Which of `rows` need the person now."""
        now, marks = self._state.now(), self._all()
        here: list[Row] = []
        asleep: list[tuple[Row, datetime | None]] = []
        done: list[Row] = []
        unread: set[str] = set()
        for row in rows:
            away, seen = marks.get((row.key, False)), marks.get((row.key, True))
            if away is None or not away.hides(row.stamp, now):
                here.append(row)
                if seen is None or seen.stamp != row.stamp:
                    unread.add(row.key)
            elif away.kind == "snoozed":
                asleep.append((row, away.until))
            else:
                done.append(row)
        asleep.sort(key=lambda each: (each[1] is None, each[1].timestamp() if each[1] else 0.0))
        return MarkedRows(tuple(here), frozenset(unread), tuple(asleep), tuple(done))

    def done_since(self, since: datetime) -> tuple[Mark, ...]:
        """What was done since a moment, such as the beginning of the day, the last first: also what is gone by now."""
        found = [each for each in self._all().values() if each.kind == "done" and each.marked_at >= since]
        return tuple(sorted(found, key=lambda each: each.marked_at, reverse=True))

    def next_return(self) -> datetime | None:
        """When the next row that was put off until a moment comes back."""
        now = self._state.now()
        return min((each.until for each in self._all().values() if each.until and each.until > now), default=None)

    async def mark_done(self, *rows: Row) -> None:
        """Take rows out of the inbox until something new happens to them. Raises NotSaved, and then none is."""
        await self._mark("done", rows)

    async def snooze(self, *rows: Row, until: datetime | None) -> None:
        """Put rows off. Raises NotSaved, and then none is."""
        await self._mark("snoozed", rows, until)

    async def mark_read(self, *rows: Row) -> None:
        """Say that rows were read, as they are now. Raises NotSaved."""
        unread = [row for row in rows if (seen := self._all().get((row.key, True))) is None or seen.stamp != row.stamp]
        if unread:
            await self._mark("read", unread)

    async def mark_unread(self, *rows: Row) -> None:
        """Say that rows were not read. Raises NotSaved."""
        await self._put({(row.key, True): None for row in rows})

    async def restore(self, *keys: str) -> None:
        """Let what was done or put off need the person again. Raises NotSaved."""
        await self._put({(key, False): None for key in keys})

    @property
    def can_undo(self) -> bool:
        """Whether there is something to take back."""
        return bool(self._history)

    async def undo(self) -> tuple[str, ...]:
        """Take back what was marked last, all of it. Returns the keys of its rows; none, when there is nothing. Raises
        NotSaved."""
        if not self._history:
            return ()
        before = self._history[-1]
        await self._put(dict(before), remember=False)
        self._history.pop()
        return tuple(key for (key, _), _ in before)

    async def delete_old(self, rows: Iterable[Row]) -> None:
        """Drop old marks of what is not among `rows`, which must be all there are. Raises NotSaved."""
        there, horizon = {row.key for row in rows}, self._state.now() - GONE_FOR
        marks = sorted(self._all().items(), key=lambda each: each[1].marked_at, reverse=True)
        gone = [
            place
            for number, (place, mark) in enumerate(marks)
            if number >= MOST_MARKS or (mark.marked_at < horizon and mark.key not in there)
        ]
        if gone:
            await self._put(dict.fromkeys(gone), remember=False)

    def reload(self) -> None:
        """Look again at what is on disk: another terminal may have marked something."""
        self._marks = None

    async def _mark(self, kind: MarkKind, rows: Iterable[Row], until: datetime | None = None) -> None:
        now = self._state.now()
        await self._put(
            {
                (row.key, kind == "read"): Mark(row.key, kind, row.stamp, now, until, row.words, row.title, row.context)
                for row in rows
            }
        )

    async def _put(self, changes: dict[tuple[str, bool], Mark | None], *, remember: bool = True) -> None:
        """Let these marks be so, None for no mark: in memory at once, and on disk when this returns."""
        marks = self._all()
        before = [(place, marks.get(place)) for place in changes]
        _apply(marks, changes.items())
        namespace = self._state.namespace

        def write(db: sqlite3.Connection) -> None:
            for (key, is_read), mark in changes.items():
                if mark is None:
                    db.execute(_DELETE, (namespace, key, is_read))
                else:
                    db.execute(_PUT, (namespace, key, is_read, *_columns(mark)))

        try:
            await self._state.write(write)
        except NotSaved:
            _apply(marks, [(place, mark) for place, mark in before if marks.get(place) == changes[place]])
            raise
        if remember:
            self._history = [*self._history[1 - REMEMBERED :], before]

    def _all(self) -> Marks:
        if self._marks is None:
            rows = self._state.rows(_READ, self._state.namespace)
            self._marks = {(row[0], bool(row[1])): _mark_of(*row) for row in rows}
        return self._marks


_READ = "SELECT key, is_read, kind, stamp, marked_at, until, words, title, context FROM inbox_marks WHERE namespace = ?"
_PUT = "INSERT OR REPLACE INTO inbox_marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM inbox_marks WHERE namespace = ? AND key = ? AND is_read = ?"


def _columns(mark: Mark) -> tuple[object, ...]:
    until = mark.until.timestamp() if mark.until is not None else None
    return mark.kind, mark.stamp, mark.marked_at.timestamp(), until, mark.words, mark.title, mark.context


def _mark_of(
    key: str,
    is_read: int,
    kind: str,
    stamp: str,
    marked_at: float,
    until: float | None,
    words: str,
    title: str,
    context: str,
) -> Mark:
    known: MarkKind = "read" if is_read else "snoozed" if kind == "snoozed" else "done"
    comes_back = moment(until) if until is not None else None
    return Mark(key, known, stamp, moment(marked_at), comes_back, words, title, context)


def _apply(marks: Marks, changes: Iterable[tuple[tuple[str, bool], Mark | None]]) -> None:
    for place, mark in changes:
        if mark is None:
            marks.pop(place, None)
        else:
            marks[place] = mark


def snooze_until(choice: Literal["hour", "tomorrow", "next week"], now: datetime, morning: int = 8) -> datetime:
    """When a row comes back that is put off so: in an hour, or at `morning` o'clock of the next day, or of Monday.

    `now` is in the zone of the person.
    """
    if choice == "hour":
        return now + timedelta(hours=1)
    days = 1 if choice == "tomorrow" else 7 - now.weekday()
    return (now + timedelta(days=days)).replace(hour=morning, minute=0, second=0, microsecond=0)
