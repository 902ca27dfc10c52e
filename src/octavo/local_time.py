"""Converts dates and times for users to local time. Times for programs, such as in JSON, stay in UTC."""

from __future__ import annotations

from datetime import datetime


def localize(moment: datetime) -> datetime:
    """Return `moment` in the time zone of this computer. If it has no time zone, it is local already. If it has no
    local date, as in the year 1, return it unchanged."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return moment
