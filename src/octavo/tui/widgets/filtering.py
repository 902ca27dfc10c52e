"""Search in list items: the filter of a list, and fuzzy search with a few typed letters. When the user adds to a
filter, only the earlier matches are searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from octavo.api.folding import FoldedText, fold

T = TypeVar("T")

_BATCH_SIZE = 200
"""Number of items prepared before the time is checked."""
_STEP_SECONDS, _PAUSE_SECONDS = 0.008, 0.001
"""Seconds in which texts are prepared before a pause, and seconds of the pause, in which key presses are handled."""


def is_narrower(words: Sequence[str], old_words: Sequence[str]) -> bool:
    """Return whether every text that contains all `words` also contains all of `old_words`."""
    return all(any(old in new for new in words) for old in old_words)


class SearchTexts(Generic[T]):
    """Search texts of the items of a list, folded for comparison (`fold`). The text of each item is read once, while
    the item stays in the list."""

    def __init__(self, text_of: Callable[[T], str]) -> None:
        self._text_of = text_of
        self._items: Sequence[T] = ()
        self._texts: list[str | None] = []
        """Folded texts by index. None where the text is not prepared yet. The end may be missing."""
        self._last_search: tuple[tuple[str, ...], Sequence[int]] | None = None
        """Words of the last search, and the indexes of the items that contain them."""

    def set_items(self, items: Sequence[T]) -> None:
        """Replace the items, and keep the texts of items that stay."""
        if self._texts:
            texts_by_id = dict(zip(map(id, self._items), self._texts, strict=False))
            self._texts = [texts_by_id.get(id(value)) for value in items]
        self._items, self._last_search = tuple(items), None

    def discard(self) -> None:
        """Discard all texts because they may have changed. The caller must apply an active filter again."""
        self._texts.clear()
        self._last_search = None

    def prepare(self, seconds: float) -> bool:
        """Prepare missing texts for about `seconds`. Return whether all texts are prepared."""
        deadline = perf_counter() + seconds
        for start in range(0, len(self._items), _BATCH_SIZE):
            if self._prepare_at(range(start, min(start + _BATCH_SIZE, len(self._items)))) and perf_counter() > deadline:
                return False
        return True

    def prepare_between_keys(self, widget: Widget) -> None:
        """Prepare missing texts in short steps with pauses, so that key presses are not delayed."""
        if not self.prepare(_STEP_SECONDS):
            widget.set_timer(_PAUSE_SECONDS, lambda: self.prepare_between_keys(widget))

    def matching(self, words: tuple[str, ...]) -> Sequence[int]:
        """Return the indexes of the items that contain every word."""
        indexes: Sequence[int] = range(len(self._items))
        if self._last_search is not None and is_narrower(words, self._last_search[0]):
            indexes = self._last_search[1]
        self._prepare_at(indexes)
        texts = self._texts
        for word in words:
            indexes = [index for index in indexes if word in (texts[index] or "")]
        self._last_search = (words, indexes)
        return indexes

    def _prepare_at(self, indexes: Sequence[int]) -> bool:
        """Prepare the texts at these indexes. Return False if none was missing."""
        texts = self._texts
        texts += [None] * (len(self._items) - len(texts))
        missing = [index for index in indexes if texts[index] is None]
        for index in missing:
            texts[index] = fold(self._text_of(self._items[index]))
        return bool(missing)


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
    """Return how well `text` matches: it has every word of `query`, or its letters in order. None if `text` does not
    match."""
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
    """Return a match of the letters of `word` in order. Each letter must start a word or be near the letter before.
    None if the letters do not match."""
    for start, letter in enumerate(text):
        if letter != word[0] or not _starts_word(text, start):
            continue
        indexes, distance = [start], 0
        for next_in_word in word[1:]:
            next_letter = _find_next(next_in_word, text, indexes[-1] + 1)
            if next_letter is None:
                break
            indexes.append(next_letter[0])
            distance += next_letter[1]
        if len(indexes) == len(word) and distance <= 3 * len(word):
            return FuzzyMatch(30.0 - distance, tuple(indexes))
    return None


def _find_next(letter: str, text: str, start: int) -> tuple[int, int] | None:
    """Return the index of the next `letter`, and its distance from `start`: the number of skipped characters. For a
    letter that starts a word, the distance is 2 for each skipped word if this is less."""
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


@dataclass(frozen=True)
class ListFilter:
    """A filter of a list, such as an author. At most one filter of each kind is active."""

    kind: str
    name: str
