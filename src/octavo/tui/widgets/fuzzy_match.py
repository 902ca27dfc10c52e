"""Fuzzy search with a few typed letters: whole words rank first, single letters in order rank last."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText, fold


@dataclass(frozen=True, slots=True)
class Match:
    """Score of a text for a query, and the indexes of the matching letters."""

    score: float
    indexes: tuple[int, ...] = ()

    def highlight(self, content: Content, style: str | Style) -> Content:
        """Return `content`, the styled form of the matched text, with the matching letters in `style`."""
        start = end = -1
        for place in (*self.indexes, -1):
            if place != end:
                if start >= 0:
                    content = content.stylize(style, start, end)
                start = place
            end = place + 1
        return content


def match(query: str, text: str) -> Match | None:
    """Return how well `text` matches `query`. Each word must occur in the text, or its letters must follow in order.
    None if not."""
    folded = FoldedText(text)
    score, places = 0.0, set[int]()
    for word in fold(query).split():
        found = _match_substring(word, folded.text) or _match_letters(word, folded.text)
        if found is None:
            return None
        score += found.score
        for place in found.indexes:
            places.update(range(*folded.within(place, place + 1)))
    return Match(score - len(text) / 1000, tuple(sorted(places)))


def _match_substring(word: str, text: str) -> Match | None:
    best: Match | None = None
    start = text.find(word)
    while start >= 0:
        whole = _starts_word(text, start)
        score = (100.0 if whole else 60.0) - min(start, 40) / 10
        if best is None or score > best.score:
            best = Match(score, tuple(range(start, start + len(word))))
        start = text.find(word, start + 1)
    return best


def _match_letters(word: str, text: str) -> Match | None:
    """Match the letters of `word` in order. Each must start a word or be near the letter before."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _starts_word(text, start):
            continue
        places, far = [start], 0
        for wanted in word[1:]:
            found = _find_next(wanted, text, places[-1] + 1)
            if found is None:
                break
            places.append(found[0])
            far += found[1]
        if len(places) == len(word) and far <= 3 * len(word):
            return Match(30.0 - far, tuple(places))
    return None


def _find_next(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Return the index of the next `letter` from `start` on and its distance: skipped letters, or 2 for each skipped
    word."""
    nearest = text.find(letter, start)
    if nearest < 0:
        return None
    words = 0
    for place in range(start, len(text)):
        if text[place].isalnum() and _starts_word(text, place):
            if text[place] == letter and 2 * words < nearest - start:
                return place, 2 * words
            words += 1
    return nearest, nearest - start


def _starts_word(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()
