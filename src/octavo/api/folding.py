"""Text as people compare it: whatever its case, its width and the way its accents are encoded.

All text that a person typed or sees is compared in this form, and only compared: what is stored, sent and shown stays as it is.

    fold("Straße") == fold("STRASSE")          fold("İstanbul") == fold("istanbul")
    fold("Ｄｏｃｓ") == fold("docs")            fold("e\\u0301") == fold("é") != fold("e")
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_UNSEEN = re.compile(
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
"""What takes no room of its own: soft hyphens, joiners, directions, variants of signs."""
_ALIKE = str.maketrans({"ı": "i", "‘": "'", "’": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "‐": "-"})
"""What keyboards lack, or languages have of their own, by what is typed in its place."""
_DOT_OF_I = re.compile("(?<=i)\u0307+")


def fold(text: str) -> str:
    """Return `text` in the form in which it is compared. Folding that again changes nothing."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", _UNSEEN.sub("", text)).casefold().translate(_ALIKE)
    return unicodedata.normalize("NFKC", _DOT_OF_I.sub("", plain))


class Range(NamedTuple):
    """From where to where in a text, in characters."""

    start: int
    end: int


class FoldedText:
    """A text that was folded, and where each of its characters came from."""

    def __init__(self, text: str) -> None:
        self.text = fold(text)
        self._starts: Sequence[int] = range(len(text))
        self._ends: Sequence[int] = range(1, len(text) + 1)
        if not text.isascii():
            self._starts, self._ends = [], []
            for start, end in _letters(text):
                several = len(fold(text[start:end]))
                self._starts += [start] * several
                self._ends += [end] * several

    def within(self, start: int, end: int) -> Range:
        """Return where in the text as it is the characters from `start` to `end` of the folded text stand: whole letters."""
        return Range(self._starts[start], self._ends[end - 1])

    def find(self, folded: str) -> Iterator[Range]:
        """Yield where `folded` (in its folded form, not empty) stands in the text as it is."""
        at = self.text.find(folded)
        while at >= 0:
            yield self.within(at, at + len(folded))
            at = self.text.find(folded, at + len(folded))


def _letters(text: str) -> Iterator[Range]:
    """Yield each letter with the marks, and the parts of a syllable, that follow it."""
    start = 0
    for at in range(1, len(text)):
        if not _goes_on(text[at]):
            yield Range(start, at)
            start = at
    if text:
        yield Range(start, len(text))


@cache
def _goes_on(letter: str) -> bool:
    """Whether `letter` belongs to the letter before it: a mark, a vowel or an end of a Korean syllable, or what is unseen."""
    if letter.isascii():
        return False
    first = unicodedata.normalize("NFKD", letter)[0]
    return (
        unicodedata.category(first) in ("Mn", "Mc", "Me")
        or "\u1160" <= first <= "\u11ff"
        or _UNSEEN.match(letter) is not None
    )
