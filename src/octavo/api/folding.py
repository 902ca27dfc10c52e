r"""Compares text regardless of case, width, encoding of accents, and invisible characters.

Text that a user typed or sees is compared in this form. Stored, sent and displayed text stays as it is.

  fold("Straße") == fold("STRASSE")          fold("İstanbul") == fold("istanbul")
  fold("Ｄｏｃｓ") == fold("docs")            fold("e\u0301") == fold("é") != fold("e")
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
"""Invisible characters: soft hyphens, joiners, direction marks, variation selectors."""
_SUBSTITUTES = str.maketrans({"ı": "i", "‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "‐": "-"})
"""Characters that keyboards lack, with the characters that users type instead."""
_DOT_OF_I = re.compile("(?<=i)\u0307+")


def fold(text: str) -> str:
    """Return `text` in the form that is used for comparisons. A folded text stays unchanged."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text)).casefold().translate(_SUBSTITUTES)
    return unicodedata.normalize("NFKC", _DOT_OF_I.sub("", plain))


class Range(NamedTuple):
    """A range of characters in a text."""

    start: int
    end: int


class FoldedText:
    """A folded text that maps its characters back to the original text."""

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
        """Return the range in the original text for a range of the folded text, extended to whole letters."""
        return Range(self._starts[start], self._ends[end - 1])

    def find(self, folded: str) -> Iterator[Range]:
        """Yield the ranges in the original text where `folded` occurs. `folded` is in folded form and not empty."""
        at = self.text.find(folded)
        while at >= 0:
            yield self.original_range(at, at + len(folded))
            at = self.text.find(folded, at + len(folded))


def _letters(text: str) -> Iterator[Range]:
    start = 0
    for at in range(1, len(text)):
        if not _is_continuation(text[at]):
            yield Range(start, at)
            start = at
    if text:
        yield Range(start, len(text))


@cache
def _is_continuation(letter: str) -> bool:
    """Return whether `letter` continues the letter before it, such as a combining mark."""
    if letter.isascii():
        return False
    first = unicodedata.normalize("NFKD", letter)[0]
    return (
        unicodedata.category(first) in ("Mn", "Mc", "Me")
        or "\u1160" <= first <= "\u11ff"
        or _INVISIBLE.match(letter) is not None
    )
