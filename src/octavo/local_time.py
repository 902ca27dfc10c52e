"""The local time of dates and times that users see. Times that programs read, such as JSON, stay in UTC."""

from __future__ import annotations

from datetime import datetime


def localize(moment: datetime) -> datetime:
    """Return `moment` in the time zone of the computer. A `moment` without a time zone counts as local time. A `moment`
    that has no local date, such as the first hours of the year 1, is returned unchanged."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return moment
