"""Compares text regardless of case, width, encoding of accents, and invisible characters. Also prepares text for full-
text indexes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
"""Invisible characters: soft hyphens, joiners, direction marks, variation selectors."""
_SUBSTITUTES = str.maketrans({"ı": "i", "‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "‐": "-"})
"""Characters that are not on keyboards, and what users type instead."""
_DOT_OF_I = re.compile("(?<=i)\u0307+")


def fold(text: str) -> str:
    """Return `text` in the form for comparisons: `Été` -> `été`. A folded text stays unchanged."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold().translate(_SUBSTITUTES)
    return unicodedata.normalize("NFKC", _DOT_OF_I.sub("", plain))


class Range(NamedTuple):
    """A range of characters in a text."""

    start: int
    end: int


class FoldedText:
    """A folded text that knows the position of each character in the original text."""

    def __init__(self, text: str) -> None:
        self.text = fold(text)
        self._starts: Sequence[int] = range(len(text))
        self._ends: Sequence[int] = range(1, len(text) + 1)
        if not text.isascii():
            self._starts, self._ends = [], []
            for start, end in _letters(text):
                length = len(fold(text[start:end]))
                self._starts += [start] * length
                self._ends += [end] * length

    def original_range(self, start: int, end: int) -> Range:
        """Return the range of the original text for a range of the folded text. The result has whole letters only."""
        return Range(self._starts[start], self._ends[end - 1])

    def find(self, folded: str) -> Iterator[Range]:
        """Yield the ranges in the original text where `folded` occurs. `folded` is in folded form and not empty."""
        at = self.text.find(folded)
        while at >= 0:
            yield self.original_range(at, at + len(folded))
            at = self.text.find(folded, at + len(folded))


def _letters(text: str) -> Iterator[Range]:
    start = 0
    for index in range(1, len(text)):
        if not _is_continuation(text[index]):
            yield Range(start, index)
            start = index
    if text:
        yield Range(start, len(text))


@cache
def _is_continuation(letter: str) -> bool:
    """Return whether `letter` continues the one before it, like a combining mark."""
    if letter.isascii():
        return False
    first = unicodedata.normalize("NFKD", letter)[0]
    return (
        unicodedata.category(first) in ("Mn", "Mc", "Me")
        or "\u1160" <= first <= "\u11ff"
        or _INVISIBLE.match(letter) is not None
    )


_JOINT = "\u200b"
"""Inserted around characters of scripts without spaces, and after words such as `C++`, to separate words. Sanitized
text never contains this character."""
SIGNED = r"(?:\+\+|#)(?![^\W\d_])"
"""Signs at the end of a word, as in `C++`, `C#` and `C++17`."""
_SIGNED = re.compile(rf"(?<=[^\W_])(?:{SIGNED}|[\U000f002b\U000f0023]+)")
_SIGNS = {ord("+"): "\U000f002b", ord("#"): "\U000f0023"}
"""Private-use letters for signs that the SQLite tokenizer `unicode61` would ignore."""
_NO_SIGNS = {ord(letter): chr(sign) for sign, letter in _SIGNS.items()}
_MENTION_BASE = 0xF1000
_MENTION = re.compile("[\U000f1021-\U000f107e]+")
"""Matches the URL of a page in private-use letters, shown as its title."""
MAX_SPLIT_WORD_LENGTH = 60
"""Maximum number of letters in a word that is split into parts. Longer words are data, not names."""
MAX_WORD_PARTS = 8
"""Maximum number of parts in a word that is split. Words with more parts are data, not names."""


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the cached pattern for characters of scripts without spaces."""
    return re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")


def to_index_text(text: str) -> str:
    """Return `text` for the SQLite tokenizer `unicode61`. Each character of scripts without spaces becomes a word.
    `C++` stays different from `C`."""
    if "+" in text or "#" in text or not text.isascii():
        text = _SIGNED.sub(lambda found: found[0].translate(_SIGNS) + _JOINT, text)
    return text if text.isascii() else _unspaced().sub(rf"{_JOINT}\1{_JOINT}", text)


def from_index_text(text: str) -> str:
    """Return the original text for a result of `to_index_text`."""
    return text if text.isascii() else text.replace(_JOINT, "").translate(_NO_SIGNS)


PLAIN_LETTERS = str.maketrans("łøđħŧ", "lodht") | str.maketrans({"æ": "ae", "œ": "oe"})
"""Letters that `unicode61` keeps, and the letters that users type instead."""


def fold_for_search(text: str) -> str:
    """Return `text` folded, and with plain letters: `Łódź` -> `lódź`."""
    return fold(text).translate(PLAIN_LETTERS)


def fold_to_index_text(text: str) -> str:
    """Return `text` folded, and in the form for the tokenizer `unicode61`. Indexes store text in this form."""
    return to_index_text(fold_for_search(text))


_WORD = re.compile(r"[^\W_]+")


@cache
def _part_boundary() -> re.Pattern[str]:
    """Return a pattern for part starts: `get|Station`, `HTTP|Server`, not `URLs`."""
    letters = [chr(code) for code in range(0x530)]  # Latin, Greek and Cyrillic; few other scripts have upper case.
    lower, upper = ("".join(each for each in letters if test(each)) for test in (str.islower, str.isupper))
    return re.compile(f"(?<=[{lower}0-9])(?=[{upper}])|(?<=[{upper}])(?=[{upper}](?!s(?![{lower}]))[{lower}])")


def word_part_starts(text: str) -> list[int]:
    """Return the starts of parts inside a word, such as the capitals in `getStationId`."""
    return [found.start() for found in _part_boundary().finditer(text)]


def word_parts(text: str) -> str:
    """Return the parts of compound words: `getStationId` -> `get Station Id StationId`. Other words are left out."""
    parts_of_words: dict[str, None] = {}
    for word in _WORD.findall(text):
        if (
            word.islower()
            or word.isupper()
            or len(word) > MAX_SPLIT_WORD_LENGTH
            or not (starts := word_part_starts(word))
        ):
            continue
        if len(starts) < MAX_WORD_PARTS:
            pieces = [word[start:end] for start, end in zip([0, *starts], [*starts, len(word)], strict=True)]
            parts_of_words[" ".join([*pieces, *(word[start:] for start in starts[:-1])])] = None
    return " ".join(parts_of_words)


def encode_mention(address: str) -> str:
    """Return the placeholder that stands in indexed text for a mention of the page at `address`."""
    quoted = "".join(
        each if "!" <= each <= "~" else "".join(f"%{byte:02X}" for byte in each.encode()) for each in address
    )
    return "".join(chr(_MENTION_BASE + ord(each)) for each in quoted)


def mentioned_urls(text: str) -> Iterator[str]:
    """Yield the URLs of the pages mentioned in `text`."""
    for found in _MENTION.finditer(text):
        yield _address(found[0])


def end_after_mention(text: str, end: int) -> int:
    """Return the position where `text` can be cut: `end`, or the end of the mention that contains `end`."""
    return next((found.end() for found in _MENTION.finditer(text) if found.start() < end < found.end()), end)


def with_titles(
    text: str, title: Callable[[str], str | None], marks: Iterable[Range] = ()
) -> tuple[str, tuple[Range, ...]]:
    """Return `text` with page titles for mentions, and the new `marks`. Without a title, the end of the URL is used."""

    def title_of_mention(found: re.Match[str]) -> str:
        address = _address(found[0])
        return title(address) or address.partition("#")[0].rstrip("/").rpartition("/")[2].removesuffix(".md") or address

    return _replace(_MENTION, title_of_mention, text, marks)


FORMULA = re.compile(r"\$\$([^$]{1,1000})\$\$")
"""A formula in a text, in LaTeX."""


def with_formulas(
    text: str, layout: Callable[[str], str], marks: Iterable[Range] = ()
) -> tuple[str, tuple[Range, ...]]:
    """Return `text` with the `layout` of each LaTeX formula, and the new `marks`. A mark in a formula covers the
    formula."""
    return _replace(FORMULA, lambda found: layout(found[1]), text, marks)


def _replace(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str, marks: Iterable[Range]
) -> tuple[str, tuple[Range, ...]]:
    """Return `text` after the replacement, and the new ranges of `marks`."""
    pieces: list[str] = []
    new_marks = list(marks)
    end_of_last = shift = 0
    for match in pattern.finditer(text):
        inserted = replacement(match)
        pieces += [text[end_of_last : match.start()], inserted]
        end_of_last = match.end()
        start, end = match.start() + shift, match.end() + shift
        growth = len(inserted) - (end - start)
        new_marks = [
            each
            if each.end <= start
            else Range(each.start + growth, each.end + growth)
            if each.start >= end
            else Range(min(each.start, start), max(each.end, end) + growth)
            for each in new_marks
        ]
        shift += growth
    return "".join([*pieces, text[end_of_last:]]), tuple(dict.fromkeys(new_marks))


def _address(found: str) -> str:
    return "".join(chr(ord(each) - _MENTION_BASE) for each in found)


_LABEL = re.compile(r'"([^"\n]{1,300})"|[\[({|>]+([^][(){}|"\n]{1,300})[\])}|]+')
_MESSAGE = re.compile(r"^[^:\n]{1,200}:[ \t]*([^\n]+)$")
_TITLE_LINE = re.compile(r"^[ \t]*(?:title|section|subgraph|accTitle:?|accDescr:?)[ \t]+([^\n]+)$")
_INVISIBLE_LINE = re.compile(r"^[ \t]*(?:%%|---|(?:style|classDef|class|linkStyle|click|direction)\b(?![ \t]*[:\[({]))")
"""Matches the beginning of a diagram line without visible text."""


def diagram_labels(line: str) -> str:
    """Return the visible text of a line of a Mermaid diagram."""
    if _INVISIBLE_LINE.match(line):
        return ""
    if title_line := _TITLE_LINE.match(line):
        line = f"[{title_line[1]}]" if not _LABEL.search(line) else line
    labels = [first or second for first, second in _LABEL.findall(line)]
    if not labels and (message := _MESSAGE.match(line)):
        labels = [message[1]]
    return " ".join(filter(None, (each.strip(" /\\;") for each in labels)))
