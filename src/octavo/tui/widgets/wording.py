"""Short texts for ages, times and counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

clock: Callable[[], datetime] = partial(datetime.now, UTC)
"""Returns the current time for everything the app shows. Tests and screenshots replace it with a fixed time."""


def short_age(moment: datetime | None, now: datetime | None = None) -> str:
    """Return an age such as `12s`, `8m`, `3h`, `5d`, `7w`, `2y`. Empty if `moment` is None."""
    if moment is None:
        return ""
    seconds = max(0, int(((now or clock()) - _aware(moment)).total_seconds()))
    for size, letter in ((31_536_000, "y"), (604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size and not (letter == "w" and seconds < 28 * 86_400):
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


_JUST_NOW = frozenset(f"{seconds}s" for seconds in range(5))


def long_age(moment: datetime | None, now: datetime | None = None) -> str:
    """Return an age such as `8 minutes ago` or `just now`. Empty if `moment` is None."""
    short = short_age(moment, now)
    if not short:
        return ""
    if short in _JUST_NOW:
        return "just now"
    words = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "y": "year"}
    number, word = short[:-1], words[short[-1]]
    return f"{number} {word}{'' if number == '1' else 's'} ago"


def offline_since(as_of: datetime | None) -> str:
    """Return the remark on a list that is shown without a connection, with the age of its data."""
    return f"Offline. Last updated {long_age(as_of)}" if as_of is not None else "Offline"


def time_of_day(moment: datetime) -> str:
    """Return the local time, such as `14:05`, with the weekday if it is not today: `Tue 14:05`."""
    local_time, today = _aware(moment).astimezone(), clock().astimezone().date()
    return f"{local_time:%H:%M}" if local_time.date() == today else f"{local_time:%a %H:%M}"


def plural(number: int, singular: str, plural_form: str = "") -> str:
    """Return a number with its noun: `1 reply`, `2 replies`."""
    return f"{number} {singular if number == 1 else plural_form or singular + 's'}"


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def as_clause(sentence: str) -> str:
    """Return a sentence as a part of another: `The page is gone.` becomes `the page is gone`."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
