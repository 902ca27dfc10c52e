"""Search text of list items for the filter. A longer query searches only the matches of the query before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Generic, TypeVar

from textual.widget import Widget

from octavo.api.folding import fold

T = TypeVar("T")

_BATCH_SIZE = 200
"""Number of items prepared before the time is checked."""
_STEP_SECONDS, _PAUSE_SECONDS = 0.008, 0.001
"""Seconds of preparing at a time, and seconds of pause for key presses before the next."""


def is_narrower(words: Sequence[str], old_words: Sequence[str]) -> bool:
    """Return whether every text that contains all `words` also contains all of `old_words`."""
    return all(any(old in new for new in words) for old in old_words)


class SearchTexts(Generic[T]):
    """Folded search texts of the items of a list. The text of each item is read once, while the item stays in the list."""

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
            known = dict(zip(map(id, self._items), self._texts, strict=False))
            self._texts = [known.get(id(value)) for value in items]
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
