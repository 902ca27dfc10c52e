"""Finds URLs and tags in the source of a page, to report their lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from octavo.documents.checks.findings import Place
from octavo.documents.limits import sanitize

_MAX_TARGET = 2_000
"""Maximum number of characters of a URL that is searched for."""
_BEFORE = (
    r"""(?:=\s*["'“”]?|\{%-?\s*[\w-]+\s+["'“”]?)""",
    r"""(?:\]\(\s*<?|<)""",
    r"""(?:^|[\s("'<=“”:])""",
)
"""Text before a URL: an attribute of a tag, else the syntax of links and images, else any text that ends a word. The first
match wins, because a tag can repeat its URL as a link, for programs that do not know the tag."""
_AFTER = r"""(?![^\s)"'>“”])"""
_ENTITIES = {"&": "(?:amp|#38|#x26)", '"': "(?:quot|#34|#x22)", "'": "(?:#39|#x27|apos)", "<": "lt", ">": "gt"}


class SourcePlaces:
    """Converts positions in the safe source of a page to places in the file that the page was read from."""

    def __init__(self, source: str, file_text: str) -> None:
        """`source` is `Document.source` of a page, `file_text` the text that the page was parsed from."""
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self._file_lines = file_text.split("\n") if source != file_text else []
        if len(self._file_lines) != len(self._starts):
            # The file has unusual line separators. So columns are counted in the sanitized source.
            self._file_lines = []

    def place(self, start: int, end: int) -> Place:
        """Return the place of a range of the source."""
        return Place(*self._line_and_column(start, is_end=False), *self._line_and_column(end, is_end=True))

    def offset(self, line: int, column: int) -> int:
        """Return the position of a line, counted from 0, and a column, counted from 1."""
        return min(self._start_of(line) + column - 1, max(self._start_of(line), self._start_of(line + 1) - 1))

    def find_url(self, url: str, lines: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the ranges in which some lines, counted from 0, contain a URL. For a URL that the lines name by a label,
        return the ranges of its definitions. Empty if the URL is not found."""
        if not url.strip() or len(url) > _MAX_TARGET:
            return []
        pattern = "".join(map(_pattern_of, url))
        first, last = self._start_of(lines[0]), self._start_of(lines[1])
        for before in _BEFORE:
            found = re.finditer(f"{before}({pattern}){_AFTER}", self._source[first:last])
            if places := [(match.start(1) + first, match.end(1) + first) for match in found]:
                return places
        definition = re.compile(rf"^[ \t>]*\[[^\]\n]+\]:[ \t]*<?({pattern}){_AFTER}", re.MULTILINE)
        return [match.span(1) for match in definition.finditer(self._source)]

    def find_tag(self, tag: str, line: int) -> tuple[int, int]:
        """Return the range of the first tag on a line or after it that begins as `tag`, such as `{% hint`. For the line
        of a closing tag, the last such tag before the end of the line. Return the whole line if there is none."""
        at = self._start_of(line)
        pattern = _tag_pattern(tag)
        if "{% end" in tag or tag.startswith("</"):
            before = list(pattern.finditer(self._source, max(0, at - _MAX_TARGET), self._start_of(line + 1)))
            if before:
                return before[-1].span()
        match = pattern.search(self._source, at)
        return match.span() if match else self.line_range(line)

    def line_range(self, line: int) -> tuple[int, int]:
        """Return the range of the text on a line, without the white space around the text."""
        start, end = self._start_of(line), self._start_of(line + 1)
        text = self._source[start:end]
        return start + len(text) - len(text.lstrip()) if text.strip() else start, start + len(text.rstrip())

    def _start_of(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._source)

    def _line_and_column(self, position: int, *, is_end: bool) -> tuple[int, int]:
        line = bisect_right(self._starts, position) - 1
        column = position - self._starts[line]
        if self._file_lines:
            column = _column_in_file(self._file_lines[line], column, is_end=is_end)
        return line + 1, column + 1


def _column_in_file(text: str, column: int, *, is_end: bool) -> int:
    """Return the index in a line of the file for an index in the same line of the safe source, in which invisible
    characters are missing."""
    if sanitize(text) == text:
        return column
    find = bisect_left if is_end else bisect_right
    found = find(range(len(text) + 1), column, key=lambda length: len(sanitize(text[:length])))
    return min(found if is_end else max(0, found - 1), len(text))


def _pattern_of(character: str) -> str:
    """Return a pattern for a character of a URL, which the source may escape or write as an entity."""
    if character.isalnum():
        return character
    if character in _ENTITIES:
        return rf"(?:\\?{re.escape(character)}|&{_ENTITIES[character]};)"
    return r"\s+" if character == " " else rf"\\?{re.escape(character)}"


def _tag_pattern(tag: str) -> re.Pattern[str]:
    """Return a pattern for a tag that begins as `{% hint`, `<details` or `</details`."""
    if tag.startswith("{%"):
        name = tag.removeprefix("{%").strip()
        return re.compile(rf"\{{%-?\s*{re.escape(name)}(?![\w-])(?:[^%\n]*?-?%\}})?" if name else r"\{%-?[^\n]*")
    return re.compile(rf"{re.escape(tag)}(?![\w-])[^>\n]*>?", re.IGNORECASE)
