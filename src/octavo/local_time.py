"""Converts dates and times for users to local time. Times for programs, such as in JSON, stay in UTC."""

from __future__ import annotations

from datetime import datetime


def localize(moment: datetime) -> datetime:
    """Return `moment` in the time zone of this computer. A `moment` without a time zone is taken as local time. If
    `moment` has no local date, such as in the year 1, return it unchanged."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return moment
