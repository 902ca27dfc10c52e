"""Dates and times are shown in local time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from octavo.api.comments import Comment
from octavo.api.users import User
from octavo.cli.event_log import LogEntry
from octavo.client.policy import retry_sentence
from octavo.data.inbox_marks import end_of_snooze
from octavo.local_time import localize
from octavo.tui.core.item_info import item_details
from octavo.tui.inbox.row_commands import snooze_end_label
from octavo.tui.review.page_blame import _date
from octavo.tui.widgets import short_texts

LATE = datetime(2026, 3, 1, 20, 30, tzinfo=UTC)
"""A Sunday evening. In Kathmandu, which is 5:45 hours ahead, it is Monday."""
EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
MoveTo = Callable[[str], None]


@pytest.fixture
def move_to(monkeypatch: pytest.MonkeyPatch) -> Iterator[MoveTo]:
    """Set the time zone of the machine until the end of the test."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("moment", [EARLIEST, LATEST])
def test_times_outside_the_calendar_do_not_fail(move_to: MoveTo, zone: str, moment: datetime) -> None:
    move_to(zone)
    assert localize(moment) == moment


def test_times_are_shown_on_the_local_day(move_to: MoveTo, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to("Asia/Kathmandu")
    monkeypatch.setattr(short_texts, "clock", lambda: LATE - timedelta(hours=3))
    assert short_texts.time_of_day(LATE) == "Mon 02:15"
    assert short_texts.last_updated(LATE - timedelta(hours=4)) == "Last updated at 22:15"
    assert short_texts.last_updated(LATE - timedelta(days=3)) == "Last updated 2 days ago"
    assert retry_sentence(LATE, LATE - timedelta(hours=3)) == "Try again tomorrow at 02:15:00."
    assert retry_sentence(LATE, LATE - timedelta(days=9)) == "Try again on 2026-03-02 at 02:15:00."
    assert _date(LATE) == "2 March 2026"
    _, facts = item_details(Comment(id="k1", posted_by=User(id="u1", display_name="Ada"), posted_at=LATE))
    assert dict(facts)["posted"].startswith("2026-03-02 02:15 +0545 · ")
    entry = LogEntry(LATE, "info", "start", {})
    assert entry.text.startswith("02:15:00 info")
    assert entry.as_json["time"] == "2026-03-01T20:30:00.000Z"


def test_snooze_ends_in_the_local_morning(move_to: MoveTo) -> None:
    move_to("Asia/Kathmandu")
    tomorrow = end_of_snooze("tomorrow", LATE)
    assert tomorrow == datetime(2026, 3, 3, 2, 15, tzinfo=UTC)
    assert snooze_end_label(tomorrow.astimezone(UTC), LATE) == "Tue 08:00"
    assert snooze_end_label(LATE + timedelta(hours=1), LATE) == "03:15"
    next_week = end_of_snooze("next week", LATE)
    assert snooze_end_label(next_week, LATE + timedelta(hours=12)) == "09 Mar", "Mon 08:00 would be taken for today"


@pytest.mark.parametrize(
    "before_change", [datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]
)
def test_snooze_is_right_when_the_clocks_change(move_to: MoveTo, before_change: datetime) -> None:
    move_to("Europe/Berlin")
    assert end_of_snooze("hour", before_change) == before_change + timedelta(hours=1)
    morning = end_of_snooze("tomorrow", before_change - timedelta(hours=6))
    assert f"{morning.astimezone():%d %H:%M}" == f"{localize(before_change):%d} 08:00"
