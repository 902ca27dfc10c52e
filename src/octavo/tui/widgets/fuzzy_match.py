"""Finding what one means from a few typed letters: whole words first, letters in order last."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText, fold


@dataclass(frozen=True, slots=True)
class Match:
    """How well a text answers a query, and which characters of it do."""

    score: float
    places: tuple[int, ...] = ()

    def shown(self, content: Content, style: str | Style) -> Content:
        """`content` (of the text that was matched) with the characters that match in `style`."""
        start = end = -1
        for place in (*self.places, -1):
            if place != end:
                if start >= 0:
                    content = content.stylize(style, start, end)
                start = place
            end = place + 1
        return content


def match(query: str, text: str) -> Match | None:
    """How `text` answers `query`: every word of it must stand in it, or its letters in that order. None: not at all."""
    folded = FoldedText(text)
    score, places = 0.0, set[int]()
    for word in fold(query).split():
        found = _substring(word, folded.text) or _in_order(word, folded.text)
        if found is None:
            return None
        score += found.score
        for place in found.places:
            places.update(range(*folded.original_range(place, place + 1)))
    return Match(score - len(text) / 1000, tuple(sorted(places)))


def _substring(word: str, text: str) -> Match | None:
    best: Match | None = None
    start = text.find(word)
    while start >= 0:
        whole = _begins(text, start)
        score = (100.0 if whole else 60.0) - min(start, 40) / 10
        if best is None or score > best.score:
            best = Match(score, tuple(range(start, start + len(word))))
        start = text.find(word, start + 1)
    return best


def _in_order(word: str, text: str) -> Match | None:
    """The letters of `word` in this order: each begins a word, or stands near the one before it."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _begins(text, start):
            continue
        places, far = [start], 0
        for wanted in word[1:]:
            found = _next(wanted, text, places[-1] + 1)
            if found is None:
                break
            places.append(found[0])
            far += found[1]
        if len(places) == len(word) and far <= 3 * len(word):
            return Match(30.0 - far, tuple(places))
    return None


def _next(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Where `letter` stands next from `start` on, and how far that is: in letters, or in words it leaves out."""
    nearest = text.find(letter, start)
    if nearest < 0:
        return None
    words = 0
    for place in range(start, len(text)):
        if text[place].isalnum() and _begins(text, place):
            if text[place] == letter and 2 * words < nearest - start:
                return place, 2 * words
            words += 1
    return nearest, nearest - start


def _begins(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()
