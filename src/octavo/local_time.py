"""The local time of dates and times that users see. Times that programs read, such as JSON, stay in UTC."""

from __future__ import annotations

from datetime import datetime


def localize(moment: datetime) -> datetime:
    """Return `moment` in the time zone of the computer. Without a time zone, it is local. A moment without a local date
    stays unchanged."""
    try:
        return moment.astimezone()
    except (OverflowError, ValueError):
        return moment
