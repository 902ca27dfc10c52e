"""Fuzzy search with a few typed letters: whole words rank first, single letters in order rank last."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.style import Style

from octavo.api.folding import FoldedText, fold


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """Score of a text for a query, and the indexes of the matching letters."""

    score: float
    indexes: tuple[int, ...] = ()

    def highlight(self, content: Content, style: str | Style) -> Content:
        """Return `content`, the styled form of the matched text, with the matching letters in `style`."""
        start = end = -1
        for index in (*self.indexes, -1):
            if index != end:
                if start >= 0:
                    content = content.stylize(style, start, end)
                start = index
            end = index + 1
        return content


def match(query: str, text: str) -> FuzzyMatch | None:
    """Return how well `text` matches: it has every word of `query`, or its letters in order. None if it does not."""
    folded = FoldedText(text)
    score, matched = 0.0, set[int]()
    for word in fold(query).split():
        word_match = _match_substring(word, folded.text) or _match_letters(word, folded.text)
        if word_match is None:
            return None
        score += word_match.score
        for index in word_match.indexes:
            matched.update(range(*folded.original_range(index, index + 1)))
    return FuzzyMatch(score - len(text) / 1000, tuple(sorted(matched)))


def _match_substring(word: str, text: str) -> FuzzyMatch | None:
    best: FuzzyMatch | None = None
    start = text.find(word)
    while start >= 0:
        starts_word = _starts_word(text, start)
        score = (100.0 if starts_word else 60.0) - min(start, 40) / 10
        if best is None or score > best.score:
            best = FuzzyMatch(score, tuple(range(start, start + len(word))))
        start = text.find(word, start + 1)
    return best


def _match_letters(word: str, text: str) -> FuzzyMatch | None:
    """Match the letters of `word` in order. Each must start a word or be near the letter before."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _starts_word(text, start):
            continue
        indexes, distance = [start], 0
        for wanted in word[1:]:
            next_letter = _find_next(wanted, text, indexes[-1] + 1)
            if next_letter is None:
                break
            indexes.append(next_letter[0])
            distance += next_letter[1]
        if len(indexes) == len(word) and distance <= 3 * len(word):
            return FuzzyMatch(30.0 - distance, tuple(indexes))
    return None


def _find_next(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Return the index of the next `letter`, and its distance: skipped letters, or 2 for each skipped word."""
    nearest_index = text.find(letter, start)
    if nearest_index < 0:
        return None
    skipped_words = 0
    for index in range(start, len(text)):
        if text[index].isalnum() and _starts_word(text, index):
            if text[index] == letter and 2 * skipped_words < nearest_index - start:
                return index, 2 * skipped_words
            skipped_words += 1
    return nearest_index, nearest_index - start


def _starts_word(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()
