"""Folds text for comparisons that ignore case, width, invisible characters and how accents are encoded. Also converts
text for the full-text indexes of SQLite."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
"""Matches soft hyphens, joiners, direction marks and variation selectors."""
_SUBSTITUTES = str.maketrans({"ı": "i", "‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "‐": "-"})
"""For each character that is not on keyboards, the character that users type instead."""
_DOT_OF_I = re.compile("(?<=i)\u0307+")


def fold(text: str) -> str:
    """Return `text` in folded form: in lower case, with one form for each accent and width. `Été` gives `été`."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold().translate(_SUBSTITUTES)
    return unicodedata.normalize("NFKC", _DOT_OF_I.sub("", plain))


class Range(NamedTuple):
    """Start and end of some characters in a text. The end is the position after them."""

    start: int
    end: int


class FoldedText:
    """A folded text, with the position of each character in the original text."""

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
        """Return the range of the original text for the folded range from `start` to `end`, as whole letters."""
        return Range(self._starts[start], self._ends[end - 1])

    def find(self, folded: str) -> Iterator[Range]:
        """Yield the ranges of the original text in which `folded` occurs. `folded` is a folded text and not empty."""
        position = self.text.find(folded)
        while position >= 0:
            yield self.original_range(position, position + len(folded))
            position = self.text.find(folded, position + len(folded))


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
    """Return whether a character, such as a combining mark, belongs to the character before it."""
    if letter.isascii():
        return False
    first_letter = unicodedata.normalize("NFKD", letter)[0]
    return (
        unicodedata.category(first_letter) in ("Mn", "Mc", "Me")
        or "\u1160" <= first_letter <= "\u11ff"
        or _INVISIBLE.match(letter) is not None
    )


_JOINT = "\u200b"
"""Character that separates words in an index. It stands around each character of scripts without spaces, and after
words such as `C++`. Sanitized text never contains it."""
SIGNED = r"(?:\+\+|#)(?![^\W\d_])"
"""Pattern of the signs at the end of words such as `C++`, `C#` and `C++17`."""
_SIGNED = re.compile(rf"(?<=[^\W_])(?:{SIGNED}|[\U000f002b\U000f0023]+)")
_SIGNS = {ord("+"): "\U000f002b", ord("#"): "\U000f0023"}
"""Letters in the private-use area for `+` and `#` in an index, because the tokenizer `unicode61` ignores signs."""
_NO_SIGNS = {ord(letter): chr(sign) for sign, letter in _SIGNS.items()}
_MENTION_BASE = 0xF1000
_MENTION = re.compile("[\U000f1021-\U000f107e]+")
"""Matches a mention of a page in an indexed text: the URL of the page in private-use letters."""
MAX_SPLIT_WORD_LENGTH = 60
"""Maximum number of letters of a compound word that is split. Longer words are data, not names."""
MAX_SUBWORDS = 8
"""Maximum number of subwords of a compound word that is split. Words with more are data, not names."""


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of characters from scripts without spaces between words, such as Japanese."""
    return re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")


def to_index_text(text: str) -> str:
    """Convert text for the tokenizer `unicode61`. Letters of scripts without spaces become words, and so does `C++`."""
    if "+" in text or "#" in text or not text.isascii():
        text = _SIGNED.sub(lambda found: found[0].translate(_SIGNS) + _JOINT, text)
    return text if text.isascii() else _unspaced().sub(rf"{_JOINT}\1{_JOINT}", text)


def from_index_text(text: str) -> str:
    """Convert the result of `to_index_text` back to the original text."""
    return text if text.isascii() else text.replace(_JOINT, "").translate(_NO_SIGNS)


PLAIN_LETTERS = str.maketrans("łøđħŧ", "lodht") | str.maketrans({"æ": "ae", "œ": "oe"})
"""Letters that users type for `ł` and the like. The tokenizer `unicode61` does not replace such letters itself."""


def fold_for_search(text: str) -> str:
    """Return `text` in folded form, with plain letters for `ł` and the like. Accents stay: `Łódź` gives `lódź`."""
    return fold(text).translate(PLAIN_LETTERS)


def fold_to_index_text(text: str) -> str:
    """Return the text that an index stores for `text`: folded, and converted for the tokenizer `unicode61`."""
    return to_index_text(fold_for_search(text))


_WORD = re.compile(r"[^\W_]+")


@cache
def _subword_boundary() -> re.Pattern[str]:
    """Return the pattern of the boundaries in compound words: `get|Station` and `HTTP|Server`, but not `URLs`."""
    letters = [chr(code) for code in range(0x530)]  # Latin, Greek and Cyrillic; few other scripts have upper case.
    lower, upper = ("".join(each for each in letters if test(each)) for test in (str.islower, str.isupper))
    return re.compile(f"(?<=[{lower}0-9])(?=[{upper}])|(?<=[{upper}])(?=[{upper}](?!s(?![{lower}]))[{lower}])")


def subword_starts(text: str) -> list[int]:
    """Return the positions inside words at which a subword begins, such as `S` and `I` in `getStationId`."""
    return [found.start() for found in _subword_boundary().finditer(text)]


def subwords(text: str) -> str:
    """Return the subwords and ends of compound words: `getStationId` gives `get Station Id StationId`."""
    ordered_subwords: dict[str, None] = {}
    for word in _WORD.findall(text):
        if (
            word.islower()
            or word.isupper()
            or len(word) > MAX_SPLIT_WORD_LENGTH
            or not (starts := subword_starts(word))
        ):
            continue
        if len(starts) < MAX_SUBWORDS:
            parts = [word[start:end] for start, end in zip([0, *starts], [*starts, len(word)], strict=True)]
            ordered_subwords[" ".join([*parts, *(word[start:] for start in starts[:-1])])] = None
    return " ".join(ordered_subwords)


def encode_mention(address: str) -> str:
    """Return the characters that a search index stores for a mention of the page with the URL `address`."""
    letters = "".join(
        each if "!" <= each <= "~" else "".join(f"%{byte:02X}" for byte in each.encode()) for each in address
    )
    return "".join(chr(_MENTION_BASE + ord(each)) for each in letters)


def mentioned_urls(text: str) -> Iterator[str]:
    """Yield the URLs of all pages that are mentioned in an indexed text."""
    for found in _MENTION.finditer(text):
        yield _address(found[0])


def end_after_mention(text: str, end: int) -> int:
    """Return where to cut an indexed text without splitting a mention: at `end`, or after the mention around `end`."""
    return next((found.end() for found in _MENTION.finditer(text) if found.start() < end < found.end()), end)


def with_titles(
    text: str, title: Callable[[str], str | None], highlights: Iterable[Range] = ()
) -> tuple[str, tuple[Range, ...]]:
    """Return an indexed text with page titles in place of mentions, and the ranges of the `highlights` in the new text.
    If `title` returns None for a URL, the last part of the URL's path is the title."""

    def title_of_mention(found: re.Match[str]) -> str:
        address = _address(found[0])
        return title(address) or address.partition("#")[0].rstrip("/").rpartition("/")[2].removesuffix(".md") or address

    return _replace(_MENTION, title_of_mention, text, highlights)


FORMULA = re.compile(r"\$\$([^$]{1,1000})\$\$")
"""Matches a LaTeX formula in a text."""


def with_formulas(
    text: str, layout: Callable[[str], str], highlights: Iterable[Range] = ()
) -> tuple[str, tuple[Range, ...]]:
    """Return a text with each LaTeX formula replaced by its `layout`, and the ranges of the `highlights` in the new
    text. `layout` gets the formula without `$$`. A highlight inside a formula grows to the whole formula."""
    return _replace(FORMULA, lambda found: layout(found[1]), text, highlights)


def _replace(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str, highlights: Iterable[Range]
) -> tuple[str, tuple[Range, ...]]:
    """Return a text with matches of a pattern replaced by `replacement`, and the new ranges of `highlights`."""
    pieces: list[str] = []
    new_highlights = list(highlights)
    end_of_last = shift = 0
    for match in pattern.finditer(text):
        new_part = replacement(match)
        pieces += [text[end_of_last : match.start()], new_part]
        end_of_last = match.end()
        start, end = match.start() + shift, match.end() + shift
        growth = len(new_part) - (end - start)
        new_highlights = [
            each
            if each.end <= start
            else Range(each.start + growth, each.end + growth)
            if each.start >= end
            else Range(min(each.start, start), max(each.end, end) + growth)
            for each in new_highlights
        ]
        shift += growth
    return "".join([*pieces, text[end_of_last:]]), tuple(dict.fromkeys(new_highlights))


def _address(found: str) -> str:
    return "".join(chr(ord(each) - _MENTION_BASE) for each in found)


_LABEL = re.compile(r'"([^"\n]{1,300})"|[\[({|>]+([^][(){}|"\n]{1,300})[\])}|]+')
_MESSAGE = re.compile(r"^[^:\n]{1,200}:[ \t]*([^\n]+)$")
_TITLE_LINE = re.compile(r"^[ \t]*(?:title|section|subgraph|accTitle:?|accDescr:?)[ \t]+([^\n]+)$")
_INVISIBLE_LINE = re.compile(r"^[ \t]*(?:%%|---|(?:style|classDef|class|linkStyle|click|direction)\b(?![ \t]*[:\[({]))")
"""Matches the start of a line in a Mermaid diagram that contains no visible text."""


def diagram_labels(line: str) -> str:
    """Return the visible text in a line of a Mermaid diagram. Empty if the line has none."""
    if _INVISIBLE_LINE.match(line):
        return ""
    if title_match := _TITLE_LINE.match(line):
        line = f"[{title_match[1]}]" if not _LABEL.search(line) else line
    labels = [first or second for first, second in _LABEL.findall(line)]
    if not labels and (message_match := _MESSAGE.match(line)):
        labels = [message_match[1]]
    return " ".join(filter(None, (each.strip(" /\\;") for each in labels)))
