"""The tags of platform markdown: `{% name key="value" %}`.

Values stand in quotes of any kind, or bare; they may span lines and hold quotes of their own, so a quote ends a
value only where another attribute or the end of the tag follows it, perhaps after words that have no value. A quote
that is not closed ends with its tag, on the line it begins on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import NamedTuple

from octavo.api.safety import text as safe
from octavo.documents.blocks import NO_ATTRS

MAX_TAG_LENGTH = 20_000
"""No tag is longer than this many characters."""

_NAME = re.compile(r"\{%-?[ \t\n]*(@?[A-Za-z][\w@./:-]*)")
_KEY = re.compile(r"[A-Za-z_@:][\w:.-]*")
_END = re.compile(r"-?%\}")
_BLANK = re.compile(r"[ \t\n]*+")
_SHORT_END = re.compile(
    r"(\{%-?[ \t]*[A-Za-z][\w-]*+(?:[ \t]++[A-Za-z][\w:.-]*+=(?:\"[^\"\n%{}]*+\"|'[^'\n%{}]*+'))++)[ \t]*+\}(?=[ \t]*+(?:\n|$))"
)
"""A tag whose end lacks its sign: without it the tag would go on to the end of the next one."""
_UNQUOTED = re.compile(r"(?:(?!-?%\})[^ \t\n])+")
_CLOSING_QUOTES = {'"': '"\u201d', "'": "'", "\u201c": '\u201d\u201c"', "\u201d": '\u201d\u201c"'}
_QUOTE = {opener: re.compile(f"[{closers}]") for opener, closers in _CLOSING_QUOTES.items()}
_AFTER_VALUE = re.compile(
    r"(?:[ \t\n]++[A-Za-z][\w:.-]*+(?=[ \t\n]|-?%\})){0,4}+[ \t\n]*+(?:-?%\}|[A-Za-z_@:][\w:.-]*=)"
)
_ESCAPED = re.compile(r"\\([\\_*\[\](){}`#+.!|\"'<>~$-])")
_MAX_ENDS_IN_EXPRESSION = 4
_CONDITIONS = ("if", "elseif", "elif", "unless")


class Tag(NamedTuple):
    """A tag and where it ends in the source. `words` are the values that have no key."""

    name: str
    arguments: Mapping[str, str] = NO_ATTRS
    words: tuple[str, ...] = ()
    raw: str = ""
    """What stands between the name and the end, as it is written."""
    end: int = 0

    @property
    def closes(self) -> str | None:
        """The name of the tag this one closes."""
        return self.name[3:] if self.name.startswith("end") and len(self.name) > 3 else None


class TagScanner:
    """Finds the tags of one source. The work is linear in its length, whatever it holds."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._found: dict[int, Tag | None] = {}
        self._patience = 8 * len(source) + 20 * MAX_TAG_LENGTH

    def at(self, position: int) -> Tag | None:
        """The tag that begins at `position`, or None."""
        if position not in self._found:
            self._found[position] = self._scan(position)
        return self._found[position]

    def _scan(self, start: int) -> Tag | None:
        source = self._source
        if not (opening := _NAME.match(source, start)):
            return None
        limit = min(len(source), start + MAX_TAG_LENGTH)
        if self._patience <= 0:
            line_end = source.find("\n", start)
            limit = min(limit, line_end if line_end >= 0 else limit)
        if source.find("%}", start, limit) < 0:
            self._patience -= limit - start
            return None
        if short := _SHORT_END.match(source, start):
            written = _read_tag(f"{short[1]} %}}", opening[1], opening.end() - start, len(short[1]) + 3)
            return written._replace(end=short.end()) if written is not None else None
        tag = _read_tag(source, opening[1], opening.end(), limit)
        if tag is None:
            self._patience -= limit - start
        return tag


def _read_tag(source: str, name: str, position: int, limit: int) -> Tag | None:
    start = position
    if name in _CONDITIONS:
        end = _end_of_expression(source, position, limit)
        expression = safe(source[position:end].strip(" -\n\t"))
        return Tag(name, {"expression": expression}, (), source[position:end], end + 2)
    arguments: dict[str, str] = {}
    words: list[str] = []
    while True:
        position = _skip_blanks(source, position, limit)
        if ending := _END.match(source, position, limit):
            return Tag(name, arguments, tuple(words), source[start:position].strip(), ending.end())
        if position >= limit:
            return None
        key, position = _read_key(source, position, limit)
        value, after = _read_value(source, position, limit)
        position = max(after, position + 1)
        if key is not None:
            arguments.setdefault(key, value)
        elif value:
            words.append(value)


def _end_of_expression(source: str, position: int, limit: int) -> int:
    """Where the tag of a condition ends: at the first end that stands in no text of the expression."""
    first = end = source.find("%}", position, limit)
    for _ in range(_MAX_ENDS_IN_EXPRESSION):
        if all(source.count(quote, position, end) % 2 == 0 for quote in "\"'"):
            return end
        if (end := source.find("%}", end + 2, min(limit, _line_end(source, first)))) < 0:
            break
    return first


def _line_end(source: str, position: int) -> int:
    end = source.find("\n", position)
    return end if end >= 0 else len(source)


def _skip_blanks(source: str, position: int, limit: int) -> int:
    blanks = _BLANK.match(source, position, limit)
    return blanks.end() if blanks else position


def _read_key(source: str, position: int, limit: int) -> tuple[str | None, int]:
    """The key that stands before `=`, and where its value begins."""
    if not (key := _KEY.match(source, position, limit)):
        return None, position
    equals = _skip_blanks(source, key.end(), limit)
    if not source.startswith("=", equals):
        return None, position
    return key[0], _skip_blanks(source, equals + 1, limit)


def _read_value(source: str, position: int, limit: int) -> tuple[str, int]:
    """The value at `position`, and the position after it."""
    opener = source[position : position + 1]
    if opener not in _QUOTE:
        bare = _UNQUOTED.match(source, position, limit)
        return (_clean(bare[0]), bare.end()) if bare else ("", position)
    unclosed, certain = _unclosed_value_end(source, position + 1, limit)
    for closer in _QUOTE[opener].finditer(source, position + 1, limit):
        if 0 <= certain < closer.start():
            break
        if not _is_escaped(source, closer.start(), position) and _AFTER_VALUE.match(source, closer.end(), limit):
            return _clean(source[position + 1 : closer.start()]), closer.end()
    end = unclosed if unclosed >= 0 else source.find("%}", position, limit)
    if end < 0:
        return "", limit
    return _clean(source[position + 1 : end].strip(" -\"'\u201c\u201d")), end


def _unclosed_value_end(source: str, start: int, limit: int) -> tuple[int, int]:
    """Where a tag ends on the line on which one of its values begins, if the quote of that value is not closed; and the place
    from which on no quote can close it: the next line, or another tag on this one. -1 if there is none."""
    line_end = min(limit, _line_end(source, start))
    end = source.find("%}", start, line_end)
    if end < 0 or source.find("{%", start, end) >= 0:
        return -1, -1
    another = source.find("{%", end, line_end)
    return end, another if another >= 0 else line_end


def _is_escaped(source: str, position: int, first: int) -> bool:
    """Whether an odd number of backslashes stands before a place: two of them are one that is written out."""
    before = position
    while before > first and source[before - 1] == "\\":
        before -= 1
    return (position - before) % 2 == 1


def _clean(value: str) -> str:
    return safe(_ESCAPED.sub(r"\1", html.unescape(value)))
