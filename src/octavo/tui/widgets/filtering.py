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


def is_narrower(words: Sequence[str], before: Sequence[str]) -> bool:
    """Return whether every text that contains all `words` also contains all of `before`."""
    return all(any(old in new for new in words) for old in before)


class SearchTexts(Generic[T]):
    """Folded search texts of the items of a list. The text of each item is read once, while the item stays in the list."""

    def __init__(self, words_of: Callable[[T], str]) -> None:
        self._words_of = words_of
        self._values: Sequence[T] = ()
        self._made: list[str | None] = []
        """Folded texts by index. None where the text is not prepared yet. The end may be missing."""
        self._found: tuple[tuple[str, ...], Sequence[int]] | None = None
        """Words of the last search, and the indexes of the items that contain them."""

    def show(self, values: Sequence[T]) -> None:
        """Replace the items, and keep the texts of items that stay."""
        if self._made:
            known = dict(zip(map(id, self._values), self._made, strict=False))
            self._made = [known.get(id(value)) for value in values]
        self._values, self._found = tuple(values), None

    def forget(self) -> None:
        """Discard all texts because they may have changed. The caller must apply an active filter again."""
        self._made.clear()
        self._found = None

    def prepare(self, seconds: float) -> bool:
        """Prepare missing texts for about `seconds`. Return whether all texts are prepared."""
        until = perf_counter() + seconds
        for begin in range(0, len(self._values), _BATCH_SIZE):
            if self._make(range(begin, min(begin + _BATCH_SIZE, len(self._values)))) and perf_counter() > until:
                return False
        return True

    def prepare_between_keys(self, of: Widget) -> None:
        """Prepare missing texts in short steps with pauses, so that key presses are not delayed."""
        if not self.prepare(_STEP_SECONDS):
            of.set_timer(_PAUSE_SECONDS, lambda: self.prepare_between_keys(of))

    def matching(self, words: tuple[str, ...]) -> Sequence[int]:
        """Return the indexes of the items that contain every word."""
        places: Sequence[int] = range(len(self._values))
        if self._found is not None and is_narrower(words, self._found[0]):
            places = self._found[1]
        self._make(places)
        made = self._made
        for word in words:
            places = [place for place in places if word in (made[place] or "")]
        self._found = (words, places)
        return places

    def _make(self, places: Sequence[int]) -> bool:
        """Prepare the texts at these indexes. Return False if none was missing."""
        made = self._made
        made += [None] * (len(self._values) - len(made))
        missing = [place for place in places if made[place] is None]
        for place in missing:
            made[place] = fold(self._words_of(self._values[place]))
        return bool(missing)
