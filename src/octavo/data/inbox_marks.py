"""Marks of inbox rows: done, snoozed or read. Stored on this machine for each profile.

    marks = InboxMarks(state)
    await marks.mark_done(row)                 # hides the row until its next change
    await marks.snooze(row, until=tomorrow)    # hides the row until tomorrow
    await marks.snooze(row, until=None)        # hides the row until its next change
    await marks.mark_read(row)
    await marks.restore(row.key)               # removes the done or snooze mark
    marks.group(rows).active                   # the rows that still need the user

A mark stores the stamp of its row. When the stamp changes, the row appears again, unless it is snoozed until a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from octavo.data.database import time_of_timestamp
from octavo.data.inbox import InboxRow
from octavo.data.state_db import NotSaved, StateDb
from octavo.local_time import localize

MarkKind = Literal["done", "snoozed", "read"]
MAX_MARKS = 5000
"""Maximum number of marks of a profile. If there are more, the oldest are deleted."""
_MORNING_HOUR = 8
"""Hour of the day at which a snooze until “tomorrow” or “next week” ends."""


@dataclass(frozen=True)
class Mark:
    """The state of an inbox row: done, snoozed or read, with the texts that the row had at `marked_at`."""

    key: str
    kind: MarkKind
    stamp: str
    marked_at: datetime
    until: datetime | None = None
    """Time at which a snooze ends. None for a snooze until the next change of the row, and for other marks."""
    reason_text: str = ""
    title: str = ""
    context: str = ""

    def hides(self, stamp: str, now: datetime) -> bool:
        """Return whether the mark hides its row at `now`. If the row has another `stamp` than the mark, only a snooze
        until a time hides the row. A read mark never hides its row."""
        if self.kind == "snoozed" and self.until is not None:
            return now < self.until
        return self.kind != "read" and self.stamp == stamp


@dataclass(frozen=True)
class MarkedRows:
    """The rows of an inbox, grouped by their marks."""

    active: tuple[InboxRow, ...] = ()
    """Rows that are neither done nor snoozed, in the order of the inbox."""
    unread: frozenset[str] = frozenset()
    """Keys of the active rows that are new or have changed since the user read them."""
    snoozed: tuple[tuple[InboxRow, datetime | None], ...] = ()
    """Snoozed rows, each with the end of its snooze, earliest first. Rows snoozed until they change have None."""
    done: tuple[InboxRow, ...] = ()


Marks = dict[tuple[str, bool], Mark]
"""Marks by row key, and by whether they are `read` marks: a row can have both a `read` mark and another mark."""


class InboxMarks:
    """The done, snooze and read marks of the inbox rows of one profile."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._marks: Marks | None = None

    def group(self, rows: Iterable[InboxRow]) -> MarkedRows:
        """Return `rows`, grouped by their marks into active, snoozed and done rows."""
        now, all_marks = self._state.now(), self._all()
        active: list[InboxRow] = []
        snoozed: list[tuple[InboxRow, datetime | None]] = []
        done: list[InboxRow] = []
        unread: set[str] = set()
        for row in rows:
            hiding_mark, read_mark = all_marks.get((row.key, False)), all_marks.get((row.key, True))
            if hiding_mark is None or not hiding_mark.hides(row.stamp, now):
                active.append(row)
                if read_mark is None or read_mark.stamp != row.stamp:
                    unread.add(row.key)
            elif hiding_mark.kind == "snoozed":
                snoozed.append((row, hiding_mark.until))
            else:
                done.append(row)
        snoozed.sort(key=lambda each: (each[1] is None, each[1].timestamp() if each[1] else 0.0))
        return MarkedRows(tuple(active), frozenset(unread), tuple(snoozed), tuple(done))

    def done_since(self, since: datetime) -> tuple[Mark, ...]:
        """Return the done marks set at or after `since`, the newest first. The inbox rows may no longer exist."""
        done_marks = [each for each in self._all().values() if each.kind == "done" and each.marked_at >= since]
        return tuple(sorted(done_marks, key=lambda done_mark: done_mark.marked_at, reverse=True))

    async def mark_done(self, *rows: InboxRow) -> None:
        """Mark rows as done, which hides them until their next change. Raises NotSaved, and then marks no row."""
        await self._mark("done", rows)

    async def snooze(self, *rows: InboxRow, until: datetime | None) -> None:
        """Hide rows until a time. If `until` is None, hide them until their next change. Raises NotSaved."""
        await self._mark("snoozed", rows, until)

    async def mark_read(self, *rows: InboxRow) -> None:
        """Mark rows as read. Raises NotSaved."""
        unread = [row for row in rows if (mark := self._all().get((row.key, True))) is None or mark.stamp != row.stamp]
        if unread:
            await self._mark("read", unread)

    async def mark_unread(self, *rows: InboxRow) -> None:
        """Mark rows as unread. Raises NotSaved."""
        await self._put({(row.key, True): None for row in rows})

    async def restore(self, *keys: str) -> None:
        """Show the done or snoozed rows with these keys again. Raises NotSaved."""
        await self._put({(key, False): None for key in keys})

    def reload(self) -> None:
        """Read the marks from disk at the next use. Another Octavo process may have changed them."""
        self._marks = None

    async def _mark(self, kind: MarkKind, rows: Iterable[InboxRow], until: datetime | None = None) -> None:
        now = self._state.now()
        new_marks: dict[tuple[str, bool], Mark | None] = {
            (row.key, kind == "read"): Mark(
                row.key, kind, row.stamp, now, until, row.reason_text, row.title, row.context
            )
            for row in rows
        }
        await self._put(new_marks)
        if (excess_count := len(self._all()) - MAX_MARKS) > 0:
            oldest_marks = sorted(self._all().items(), key=lambda each: each[1].marked_at)[:excess_count]
            await self._put({mark_key: None for mark_key, _ in oldest_marks})

    async def _put(self, changes: dict[tuple[str, bool], Mark | None]) -> None:
        """Set (None: delete) the marks in `changes`, in memory and on disk. Keys are as in `Marks`. Raises NotSaved."""
        marks = self._all()
        old_marks = [(mark_key, marks.get(mark_key)) for mark_key in changes]
        _apply(marks, changes.items())
        namespace = self._state.namespace

        def write(db: sqlite3.Connection) -> None:
            for (key, is_read), mark in changes.items():
                if mark is None:
                    db.execute(_DELETE, (namespace, key, is_read))
                else:
                    until = mark.until.timestamp() if mark.until is not None else None
                    values = (mark.kind, mark.stamp, mark.marked_at.timestamp(), until)
                    words = (mark.reason_text, mark.title, mark.context)
                    db.execute(_PUT, (namespace, key, is_read, *values, *words))

        try:
            await self._state.write(write)
        except NotSaved:
            _apply(marks, [(each, mark) for each, mark in old_marks if marks.get(each) == changes[each]])
            raise
        if self._marks is not None and self._marks is not marks:
            _apply(self._marks, changes.items())  # `_marks` was read before `changes` were saved, so apply them again

    def _all(self) -> Marks:
        if self._marks is None:
            rows = self._state.rows(_READ, self._state.namespace)
            self._marks = {(row[0], bool(row[1])): _mark_of(row) for row in rows}
        return self._marks


_READ = "SELECT key, is_read, kind, stamp, marked_at, until, words, title, context FROM inbox_marks WHERE namespace = ?"
_PUT = "INSERT OR REPLACE INTO inbox_marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM inbox_marks WHERE namespace = ? AND key = ? AND is_read = ?"


def _mark_of(row: tuple[Any, ...]) -> Mark:
    key, is_read, kind, stamp, marked_at, until, *texts = row
    mark_kind: MarkKind = "read" if is_read else "snoozed" if kind == "snoozed" else "done"
    until_time = time_of_timestamp(until) if until is not None else None
    return Mark(key, mark_kind, stamp, time_of_timestamp(marked_at), until_time, *texts)


def _apply(marks: Marks, changes: Iterable[tuple[tuple[str, bool], Mark | None]]) -> None:
    for mark_key, mark in changes:
        if mark is None:
            marks.pop(mark_key, None)
        else:
            marks[mark_key] = mark


def end_of_snooze(choice: Literal["hour", "tomorrow", "next week"], now: datetime) -> datetime:
    """Return when a snooze ends: in an hour, tomorrow morning, or on Monday morning in local time."""
    if choice == "hour":
        return localize(now + timedelta(hours=1))
    morning = localize(now).replace(hour=_MORNING_HOUR, minute=0, second=0, microsecond=0, tzinfo=None)
    # The time zone is added last, because summer time may begin or end before the snooze ends.
    return localize(morning + timedelta(days=1 if choice == "tomorrow" else 7 - morning.weekday()))
