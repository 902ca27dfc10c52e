"""Converts dates and times for users to local time. Times for programs, such as in JSON, stay in UTC."""

from __future__ import annotations

from datetime import datetime


def localize(moment: datetime) -> datetime:
    """Return `moment` in the time zone of this computer. Without a time zone, `moment` counts as local. A moment
    without a local date, such as one in the year 1, is returned unchanged. The result has a fixed offset, never a
    `ZoneInfo`, so that sums are right when the clocks change."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return moment
