"""Finding what one means from a few typed letters: whole words first, letters in order last."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.style import Style


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
    letters = [character.lower()[:1] for character in text]
    lowered = "".join(letters)
    if len(lowered) != len(text):
        return None
    score, places = 0.0, set[int]()
    for word in query.lower().split():
        found = _substring(word, lowered) or _in_order(word, lowered)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
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
    """The letters of `word` in this order, the first at the beginning of a word, each as near as can be."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _begins(text, start):
            continue
        places = [start]
        for wanted in word[1:]:
            next_place = text.find(wanted, places[-1] + 1)
            if next_place < 0:
                return None
            places.append(next_place)
        gaps = places[-1] - places[0] + 1 - len(word)
        if gaps <= 3 * len(word):
            return Match(30.0 - gaps, tuple(places))
    return None


def _begins(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()
