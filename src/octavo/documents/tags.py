"""Parses the tags of platform Markdown: `{% name key="value" %}`.

Values are quoted or bare. A quoted value may span lines and contain quotes. So a quote ends the value only if another
attribute, a word without a value, or the end of the tag follows. If a quote is not closed, the value ends at the end of
the tag on the same line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import NamedTuple

from octavo.api.safety import safe_text
from octavo.documents.blocks import NO_ATTRS

MAX_TAG_LENGTH = 20_000
"""Maximum length of a platform tag in characters."""

_NAME = re.compile(r"\{%-?[ \t\n]*(@?[A-Za-z][\w@./:-]*)")
_KEY = re.compile(r"[A-Za-z_@:][\w:.-]*")
_END = re.compile(r"-?%\}")
_BLANK = re.compile(r"[ \t\n]*+")
_SHORT_END = re.compile(
    r"(\{%-?[ \t]*[A-Za-z][\w-]*+(?:[ \t]++[A-Za-z][\w:.-]*+=(?:\"[^\"\n%{}]*+\"|'[^'\n%{}]*+'))++)[ \t]*+\}(?=[ \t]*+(?:\n|$))"
)
"""A tag that wrongly ends with `}`. It is accepted, because otherwise the tag would extend to the end of the next
tag."""
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
    """A tag with its end position in the source. `words` are the values without a key."""

    name: str
    arguments: Mapping[str, str] = NO_ATTRS
    words: tuple[str, ...] = ()
    raw: str = ""
    """The source between the name and the end of the tag."""
    end: int = 0

    @property
    def closes(self) -> str | None:
        """Return the name of the tag that this tag closes. None if it is not an end tag."""
        return self.name[3:] if self.name.startswith("end") and len(self.name) > 3 else None


class TagScanner:
    """Finds the tags of one source. The total work is linear in its length."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tags: dict[int, Tag | None] = {}
        self._scan_budget = 8 * len(source) + 20 * MAX_TAG_LENGTH

    def tag_at(self, position: int) -> Tag | None:
        """Return the tag that begins at `position`. None if there is none."""
        if position not in self._tags:
            self._tags[position] = self._scan(position)
        return self._tags[position]

    def _scan(self, start: int) -> Tag | None:
        source = self._source
        if not (opening := _NAME.match(source, start)):
            return None
        limit = min(len(source), start + MAX_TAG_LENGTH)
        if self._scan_budget <= 0:
            line_end = source.find("\n", start)
            limit = min(limit, line_end if line_end >= 0 else limit)
        if source.find("%}", start, limit) < 0:
            self._scan_budget -= limit - start
            return None
        if short := _SHORT_END.match(source, start):
            tag = _read_tag(f"{short[1]} %}}", opening[1], opening.end() - start, len(short[1]) + 3)
            return tag._replace(end=short.end()) if tag is not None else None
        tag = _read_tag(source, opening[1], opening.end(), limit)
        if tag is None:
            self._scan_budget -= limit - start
        return tag


def _read_tag(source: str, name: str, position: int, limit: int) -> Tag | None:
    start = position
    if name in _CONDITIONS:
        end = _end_of_expression(source, position, limit)
        expression = safe_text(source[position:end].strip(" -\n\t"))
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
    """Return the end of a condition: the first `%}` outside of quoted text."""
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
    if not (key := _KEY.match(source, position, limit)):
        return None, position
    equals = _skip_blanks(source, key.end(), limit)
    if not source.startswith("=", equals):
        return None, position
    return key[0], _skip_blanks(source, equals + 1, limit)


def _read_value(source: str, position: int, limit: int) -> tuple[str, int]:
    opener = source[position : position + 1]
    if opener not in _QUOTE:
        bare = _UNQUOTED.match(source, position, limit)
        return (_unescaped_value(bare[0]), bare.end()) if bare else ("", position)
    unclosed, unclosable = _unclosed_value_end(source, position + 1, limit)
    for closer in _QUOTE[opener].finditer(source, position + 1, limit):
        if 0 <= unclosable < closer.start():
            break
        if not _is_escaped(source, closer.start(), position) and _AFTER_VALUE.match(source, closer.end(), limit):
            return _unescaped_value(source[position + 1 : closer.start()]), closer.end()
    end = unclosed if unclosed >= 0 else source.find("%}", position, limit)
    if end < 0:
        return "", limit
    return _unescaped_value(source[position + 1 : end].strip(" -\"'\u201c\u201d")), end


def _unclosed_value_end(source: str, start: int, limit: int) -> tuple[int, int]:
    """Return the end of a tag whose value on this line has an unclosed quote, and the position from which no quote can
    close it: the next line, or the next tag on this line. -1 if there is none."""
    line_end = min(limit, _line_end(source, start))
    end = source.find("%}", start, line_end)
    if end < 0 or source.find("{%", start, end) >= 0:
        return -1, -1
    next_tag = source.find("{%", end, line_end)
    return end, next_tag if next_tag >= 0 else line_end


def _is_escaped(source: str, position: int, first: int) -> bool:
    """Return whether an odd number of backslashes precedes a position. A pair of backslashes is one escaped
    backslash."""
    first_backslash = position
    while first_backslash > first and source[first_backslash - 1] == "\\":
        first_backslash -= 1
    return (position - first_backslash) % 2 == 1


def _unescaped_value(value: str) -> str:
    return safe_text(_ESCAPED.sub(r"\1", html.unescape(value)))
