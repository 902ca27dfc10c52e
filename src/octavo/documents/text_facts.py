"""Facts in a text that a reader relies on: numbers, units, warning words and URLs. Words are recognized in English, and
numbers in all scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from octavo.documents.diff_text import slices


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s<>\"'`)\]]+|mailto:[^\s<>\"'`)\]]+", re.IGNORECASE)
_TOKEN = re.compile(
    r"0[xX][0-9a-fA-F]+|[^\W\d_]+\d[^\W_]*|\d+[^\W\d_]+\d[^\W_]*"  # 0xff, v2, 9f8e
    r"|"
    r"(?:(?<![\w.)\]])[+\-−])?\d(?:[\d.,:]*\d)?"  # 5, -5, 1,000.50, 10:30, 2.0.1
    r"|(?<![-=])[<>]=?|[≤≥≠±~≈](?=\s?\d)"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)*"
    r"|[%‰°$€£¥]"
)
_LIMIT = re.compile(r"\bat (least|most)\b|\bup (to)\b|\b(less|more|fewer|greater) than\b", re.IGNORECASE)

_NUMBER_WORDS = word_set(
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half twice double"
    " triple minimum maximum < > <= >= ≤ ≥ ≠ ± ~ ≈"
)
"""Words and signs that count as numbers. “One” is missing, because it is rarely a number."""
_WARNING_WORDS = word_set(
    "not never no none must cannot only required optional mandatory deprecated forbidden avoid unless except warning"
    " caution danger dangerous irreversible irreversibly permanently unsupported insecure shall"
)
_NEGATIONS = {"cannot": "not", "can't": "not", "won't": "not", "without": "not"}
_LONG_UNITS = {
    "milliseconds": "ms", "millisecond": "ms", "msec": "ms", "microseconds": "µs", "nanoseconds": "ns", "seconds": "s",
    "secs": "s", "minutes": "min", "mins": "min", "hours": "h", "hrs": "h", "days": "d", "weeks": "wk", "months": "mo",
    "years": "y", "bytes": "B", "kilobytes": "KB", "megabytes": "MB", "gigabytes": "GB", "terabytes": "TB",
    "percent": "%", "dollars": "$", "euros": "€", "pixels": "px", "meters": "m", "metres": "m", "kilometers": "km",
    "kilometres": "km", "miles": "mi", "feet": "ft", "inches": "in", "celsius": "C", "fahrenheit": "F",
}  # fmt: skip
"""Units that are recognized without a number, with the short form that stands for the same unit."""
_SHORT_UNITS = {
    "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "day": "d", "week": "wk", "month": "mo", "year": "y",
    "byte": "B", "pixel": "px", "dollar": "$", "euro": "€", "inch": "in", "foot": "ft", "mile": "mi",
}  # fmt: skip
"""Other words that are units after a number."""
_CASED_UNITS = word_set(
    "ns µs us ms s min h d wk mo y B KB MB GB TB PB kB KiB MiB GiB TiB b kb Mb Gb kbit Mbit Gbit bps Kbps kbps Mbps Gbps"
    " Hz kHz MHz GHz px pt em rem dpi mm cm m km mi ft mg g kg lb oz ml V mV kV mA W kW MW Wh kWh Pa hPa kPa bar psi"
    " C F K dB rpm USD EUR GBP CHF JPY k M"
)
"""Symbols of units after a number. Case matters: Mb is not MB."""
_SIGNS = frozenset("%‰°$€£¥")
_LONE_UNITS = word_set("ms KB MB GB TB KiB MiB GiB kHz MHz GHz USD EUR Mbps Gbps")
"""Symbols that are also recognized without a number, as in “Timeout (ms)”."""


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Numbers, units, warning words and URLs of a text."""

    numbers: tuple[str, ...] = ()
    """The numbers in the order of the text, without their units."""
    units: tuple[str, ...] = ()
    """The units in the order of the text, each in its short form."""
    warnings: Counter[str] = field(default_factory=Counter)
    """How often each warning word occurs. All negations count as “not”."""
    urls: tuple[str, ...] = ()


def text_facts(text: str) -> TextFacts:
    """Return the facts in a text."""
    numbers: list[str] = []
    units: list[str] = []
    warnings: Counter[str] = Counter()
    urls: list[str] = []
    for part in slices(text):
        urls += _URL.findall(part)
        after_number = False
        for token in _tokens(_URL.sub(" ", part)):
            is_number = any(map(str.isdigit, token))
            if is_number:
                numbers.append(token.lower())
            elif (unit := short_unit(token, after_number=after_number)) is not None:
                units.append(unit)
            elif token.lower() in _NUMBER_WORDS:
                numbers.append(token.lower())
                is_number = token[0].isalpha()
            elif (word := _warning_word(token)) is not None:
                warnings[word] += 1
            after_number = is_number
        for match in _LIMIT.finditer(part):
            numbers.append(next(filter(None, match.groups())).lower())
    return TextFacts(tuple(numbers), tuple(units), warnings, tuple(urls))


def _tokens(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text))


def short_unit(token: str, *, after_number: bool) -> str | None:
    """Return the short form of a unit. None if `token` is not a unit, or is a unit only after a number and
    `after_number` is False."""
    if token in _SIGNS or token in _LONE_UNITS:
        return token
    if (unit := _LONG_UNITS.get(token.lower())) is not None:
        return unit
    if not after_number:
        return None
    return _SHORT_UNITS.get(token.lower()) or (token if token in _CASED_UNITS else None)


def _warning_word(token: str) -> str | None:
    word = token.lower().replace("’", "'")
    if word.endswith("n't"):
        return "not"
    word = _NEGATIONS.get(word, word)
    return word if word in _WARNING_WORDS else None
