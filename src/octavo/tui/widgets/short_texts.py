"""Short texts of one line: without control characters, and cut or padded to a width. Also ages, times and counts as
texts.

Textual is imported only to build a `Content`, because the command line uses this module without Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from octavo.api.folding import FoldedText
from octavo.api.safety import safe_text
from octavo.local_time import localize

if TYPE_CHECKING:
    from textual.content import Content
    from textual.style import Style

AnyText: TypeAlias = "str | Content"
"""A text without styles (`str`) or with styles (`Content`)."""

Mark = Literal["ok", "care", "bad", "asking", "note"]

_LINE_BREAKS = str.maketrans({"\n": " ", "\t": " "})


@dataclass(frozen=True, slots=True)
class InfoRow:
    """Row of an `InfoTable`, with a status mark and a label: `InfoRow("care", "approval", "Tom W. approved rev 16, this is rev 18")`."""

    mark: Mark
    label: str
    text: AnyText = ""


def _content(text: str) -> Content:
    from textual.content import Content  # lazy: the command line uses this module without Textual

    return Content(text)


def safe(text: AnyText) -> Content:
    """Return `text` in one line without control characters. A `Content` loses its styles if its text changes."""
    plain = text if isinstance(text, str) else text.plain
    if plain.isascii() and plain.isprintable():
        return _content(text) if isinstance(text, str) else text
    safe_string = safe_text(plain).translate(_LINE_BREAKS)
    if not isinstance(text, str) and safe_string == plain:
        return text
    return _content(safe_string)


def safe_lines(text: AnyText) -> Content:
    """Return `text`, made safe by `safe_text`. Line breaks stay. If a character is unsafe, styles are lost."""
    plain = text if isinstance(text, str) else text.plain
    safe_string = safe_text(plain)
    return text if not isinstance(text, str) and safe_string == plain else _content(safe_string)


def fit(content: Content, width: int, *, right: bool = False) -> Content:
    """Return `content` cut or padded to exactly `width` cells. With `right`, a short text is at the right end."""
    if width <= 0:
        return _content("")
    missing_width = width - content.cell_length
    if missing_width < 0:
        cut_text = content.truncate(width, ellipsis=True)
        return cut_text if not cut_text.plain.endswith("……") else cut_text[:-1].pad_right(1)
    return content.pad_left(missing_width) if right else content.pad_right(missing_width)


def spread(left: Content, right: Content, width: int) -> Content:
    """Return a line with `left` and `right` at its ends. To fit, `left` is cut to no less than a third of `width`."""
    if not right:
        return fit(left, width)
    left_width = max(width - right.cell_length - 1, min(left.cell_length, width // 3))
    return fit(fit(left, left_width) + _content(" ") + right, width)


def highlight(content: Content, words: Iterable[str], style: str | Style) -> Content:
    """Return `content` with all occurrences of `words` in `style`. The words must be folded by `api.folding.fold`."""
    folded = FoldedText(content.plain)
    for word in words:
        for start, end in folded.find(word) if word else ():
            content = content.stylize(style, start, end)
    return content


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters. A text that was cut ends with “…”."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def first_few(texts: Sequence[str], max_count: int, more: str = "more") -> list[str]:
    """Return the first `max_count` texts. If there are more, a last text says how many: `and 3 more`."""
    rest_count = len(texts) - max_count
    return [*texts[:max_count], f"and {rest_count} {more}"] if rest_count > 0 else list(texts)


def join_texts(pieces: Iterable[AnyText]) -> Content:
    """Return the texts that are not empty, joined by ` · `."""
    return _content(" · ").join([safe(piece) for piece in pieces if piece])


clock: Callable[[], datetime] = partial(datetime.now, UTC)
"""Returns the current time, from which all ages in the app are computed. Tests and screenshots replace it."""


def short_age(moment: datetime | None, now: datetime | None = None) -> str:
    """Return the time since `moment`, such as `12s`, `8m`, `3h`, `5d`, `7w` or `2y`. Empty if `moment` is None."""
    if moment is None:
        return ""
    seconds = max(0, int(((now or clock()) - _with_time_zone(moment)).total_seconds()))
    for size, letter in ((31_536_000, "y"), (604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size and not (letter == "w" and seconds < 28 * 86_400):
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def long_age(moment: datetime | None) -> str:
    """Return the time since `moment` as text, such as `8 minutes ago`, or `just now` for less than a minute. Empty if
    `moment` is None."""
    short_text = short_age(moment)
    if not short_text:
        return ""
    if short_text.endswith("s"):
        return "just now"
    unit_names = {"m": "minute", "h": "hour", "d": "day", "w": "week", "y": "year"}
    number, unit = short_text[:-1], unit_names[short_text[-1]]
    return f"{number} {unit}{'' if number == '1' else 's'} ago"


def offline_since(as_of: datetime | None) -> str:
    """Return a note for a list that cannot be updated, such as `Offline. Last updated at 14:05`."""
    return f"Offline. {last_updated(as_of)}" if as_of is not None else "Offline"


def last_updated(moment: datetime) -> str:
    """Return a text that stays true while shown: `Last updated at 14:05`, or `Last updated 3 days ago` after a day."""
    return f"Last updated {lasting_age(moment)}"


def lasting_age(moment: datetime) -> str:
    """Return an age that stays true while it is shown: `at 14:05`, or an age such as `3 days ago` after a day."""
    is_recent = clock() - _with_time_zone(moment) < timedelta(days=1)
    return f"at {time_of_day(moment)}" if is_recent else long_age(moment)


def time_of_day(moment: datetime) -> str:
    """Return the local time, such as `14:05`. For another day than today, add the weekday, such as `Tue 14:05`."""
    local_time, today = localize(_with_time_zone(moment)), localize(clock()).date()
    return f"{local_time:%H:%M}" if local_time.date() == today else f"{local_time:%a %H:%M}"


def plural(number: int, singular: str, plural_form: str = "") -> str:
    """Return a number with its noun, such as `2 replies`. Pass `plural_form` if the plural needs more than an “s”."""
    return f"{number} {singular if number == 1 else plural_form or singular + 's'}"


def _with_time_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def as_clause(sentence: str) -> str:
    """Return a sentence as part of another: `The page is missing.` becomes `the page is missing`."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
