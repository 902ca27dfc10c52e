"""Marks of inbox rows, and their state after a restart."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from octavo.api.operation import ChangeRequestRef
from octavo.data.drafts import Drafts
from octavo.data.inbox import InboxRow
from octavo.data.inbox_marks import MAX_MARKS, InboxMarks, end_of_snooze
from octavo.data.state_db import MIGRATIONS, NotSaved, StateDb
from tests.data.connections import refuse_to_save
from tests.server.small_platform import START, Clock


def row(key: str = "a", stamp: str = "1") -> InboxRow:
    at = ChangeRequestRef(space_id="s", change_request_id=key)
    return InboxRow(
        key, "review requested", (), "review requested", f"#{key} Rotate", "Handbook", START, "s", at, stamp
    )


@pytest.fixture
def marks(state: StateDb) -> InboxMarks:
    return InboxMarks(state)


def here(marks: InboxMarks, *rows: InboxRow) -> list[str]:
    return [each.key for each in marks.group(rows).active]


async def test_done_row_returns_with_news(marks: InboxMarks, clock: Clock) -> None:
    await marks.mark_done(row("a"))
    sorted_ = marks.group([row("a"), row("b")])
    assert (sorted_.active, sorted_.done) == ((row("b"),), (row("a"),))
    clock.forward(days=30)
    assert here(marks, row("a")) == []
    assert here(marks, row("a", "2")) == ["a"]


async def test_mark_that_is_being_saved_survives_a_reload(tmp_path: Path, clock: Clock) -> None:
    state, may_write = StateDb(tmp_path, "mia@test", now=clock), threading.Event()
    marks = InboxMarks(state)
    state.submit(lambda db: may_write.wait())
    saving = asyncio.create_task(marks.mark_done(row("a")))
    await asyncio.sleep(0)
    marks.reload()
    assert here(marks, row("a")) == ["a"]
    may_write.set()
    await saving
    assert here(marks, row("a")) == []
    state.close()


async def test_snoozed_row_returns_at_its_time(marks: InboxMarks, clock: Clock) -> None:
    await marks.snooze(row("a"), until=clock() + timedelta(hours=1))
    clock.forward(minutes=59)
    assert here(marks, row("a"), row("a", "2")) == [], "Also when something new happened: it was put off until then"
    assert marks.group([row("a")]).snoozed == ((row("a"), START + timedelta(hours=1)),)
    clock.forward(minutes=1)
    assert here(marks, row("a")) == ["a"]


async def test_row_snoozed_until_a_change_returns_with_the_change(marks: InboxMarks, clock: Clock) -> None:
    await marks.snooze(row("a"), until=None)
    await marks.snooze(row("b"), until=clock() + timedelta(days=1))
    clock.forward(days=30)
    assert marks.group([row("a")]).snoozed == ((row("a"), None),)
    assert here(marks, row("a", "2")) == ["a"]


async def test_snoozed_rows_are_sorted_by_their_time(marks: InboxMarks, clock: Clock) -> None:
    await marks.snooze(row("a"), until=None)
    await marks.snooze(row("b"), until=clock() + timedelta(days=7))
    await marks.snooze(row("c"), until=clock() + timedelta(hours=1))
    assert [each.key for each, _ in marks.group([row("a"), row("b"), row("c")]).snoozed] == ["c", "b", "a"]


async def test_read_row_is_unread_after_news(marks: InboxMarks) -> None:
    assert marks.group([row("a")]).unread == {"a"}
    await marks.mark_read(row("a"))
    assert marks.group([row("a")]).unread == set()
    assert marks.group([row("a", "2")]).unread == {"a"}
    await marks.mark_unread(row("a"))
    assert marks.group([row("a")]).unread == {"a"}


async def test_restored_rows_are_active_again(marks: InboxMarks) -> None:
    rows = [row("a"), row("b"), row("c")]
    before = marks.group(rows)
    await marks.mark_done(row("a"), row("b"))
    await marks.snooze(row("c"), until=None)
    assert here(marks, *rows) == []
    await marks.restore("a", "b", "c")
    assert marks.group(rows) == before


async def test_rows_done_today_are_listed_even_if_they_disappeared(marks: InboxMarks, clock: Clock) -> None:
    await marks.mark_done(row("a"))
    clock.forward(days=1)
    await marks.mark_done(row("b"), row("c"))
    await marks.snooze(row("d"), until=None)
    today = clock().replace(hour=0)
    assert {each.key for each in marks.done_since(today)} == {"b", "c"}
    (of_c,) = [each for each in marks.done_since(today) if each.key == "c"]
    assert (of_c.title, of_c.reason_text, of_c.context) == ("#c Rotate", "review requested", "Handbook")


async def test_marks_survive_a_restart_and_belong_to_one_profile(tmp_path: Path, clock: Clock) -> None:
    state = StateDb(tmp_path, "mia", now=clock)
    marks = InboxMarks(state)
    until = clock() + timedelta(hours=1)
    await marks.mark_done(row("a"))
    await marks.snooze(row("b"), until=until)
    await marks.mark_read(row("c"))
    rows = [row("a"), row("b"), row("c"), row("d")]
    before = marks.group(rows)
    state.close()
    state = StateDb(tmp_path, "mia", now=clock)
    assert InboxMarks(state).group(rows) == before
    assert (before.done, before.snoozed, before.unread) == ((row("a"),), ((row("b"), until),), frozenset({"d"}))
    other = StateDb(tmp_path, "tom", now=clock)
    assert here(InboxMarks(other), *rows) == ["a", "b", "c", "d"]
    other.close()
    state.clear()
    assert here(InboxMarks(state), *rows) == ["a", "b", "c", "d"]
    state.close()


async def test_marks_of_another_terminal_are_read_on_request(tmp_path: Path, clock: Clock) -> None:
    state, second = (StateDb(tmp_path, "mia", now=clock) for _ in range(2))
    marks, theirs = InboxMarks(state), InboxMarks(second)
    assert here(theirs, row("a")) == ["a"]
    await marks.mark_done(row("a"))
    theirs.reload()
    assert here(theirs, row("a")) == []
    await theirs.mark_done(row("b"))
    marks.reload()
    assert here(marks, row("a"), row("b")) == []
    state.close()
    second.close()


async def test_mark_that_cannot_be_saved_is_not_set(marks: InboxMarks, state: StateDb) -> None:
    await marks.mark_done(row("a"))
    allow = refuse_to_save(state)
    with pytest.raises(NotSaved):
        await marks.mark_done(row("b"))
    with pytest.raises(NotSaved):
        await marks.restore("a")
    assert here(marks, row("a"), row("b")) == ["b"]
    allow()
    await marks.restore("a")
    assert here(marks, row("a"), row("b")) == ["a", "b"]


async def test_number_of_stored_marks_is_limited(marks: InboxMarks, clock: Clock) -> None:
    await marks.mark_done(row("old"))
    clock.forward(seconds=1)
    many = [row(str(number)) for number in range(MAX_MARKS)]
    await marks.mark_done(*many)
    assert len(marks.done_since(START)) == MAX_MARKS
    marks.reload()
    assert here(marks, row("old"), many[0]) == ["old"]


async def test_older_state_file_keeps_its_data(tmp_path: Path, clock: Clock) -> None:
    old = StateDb(tmp_path, "mia", migrations=MIGRATIONS[:1], now=clock)
    await Drafts(old).save("here", "Typed")
    old.close()
    state = StateDb(tmp_path, "mia", now=clock)
    await InboxMarks(state).mark_done(row("a"))
    assert Drafts(state).get("here") == "Typed"
    assert here(InboxMarks(state), row("a")) == []
    state.close()


def test_later_is_in_an_hour_in_the_morning_or_on_monday() -> None:
    assert START.strftime("%A") == "Sunday"
    assert end_of_snooze("hour", START) == START + timedelta(hours=1)
    assert end_of_snooze("tomorrow", START).isoformat() == "2026-03-02T08:00:00+00:00"
    assert end_of_snooze("next week", START).isoformat() == "2026-03-02T08:00:00+00:00"
    assert end_of_snooze("next week", START + timedelta(days=1)).isoformat() == "2026-03-09T08:00:00+00:00"


async def test_marks_are_saved_from_a_damaged_file_and_older_backups_have_none(tmp_path: Path, clock: Clock) -> None:
    old = StateDb(tmp_path, "mia", migrations=MIGRATIONS[:1], now=clock)
    await Drafts(old).save("here", "Typed")
    old.close()
    StateDb(tmp_path, "mia", now=clock).close()
    (tmp_path / "state.db").write_bytes(b"SQLite format 3\0" + b"no more" * 5000)
    state = StateDb(tmp_path, "mia", now=clock)
    assert Drafts(state).get("here") == "Typed"
    await InboxMarks(state).mark_done(row("a"))
    assert here(InboxMarks(state), row("a")) == []
    state.close()
