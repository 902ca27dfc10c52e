"""What a filter looks in and what it leaves. A letter more looks only among what the letters before it left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Generic, TypeVar

from textual.widget import Widget

from octavo.api.folding import fold

T = TypeVar("T")

_AT_A_TIME = 200
"""Values whose words are made before one looks at the clock."""
_SLICE, _BETWEEN = 0.008, 0.001
"""Seconds that words are made at a time, and those in which keys go on before more are."""


def narrows(words: Sequence[str], before: Sequence[str]) -> bool:
    """Whether what holds all `words` holds all of `before`, too."""
    return all(any(old in new for new in words) for old in before)


class FilterWords(Generic[T]):
    """The folded words of so many values. Each is asked for them once, for as long as it is among the values."""

    def __init__(self, words_of: Callable[[T], str]) -> None:
        self._words_of = words_of
        self._values: Sequence[T] = ()
        self._made: list[str | None] = []
        """The words of the first of the values, as far as they were made; None where they are not known."""
        self._found: tuple[tuple[str, ...], Sequence[int]] | None = None
        """The words that were looked for last, and the places of what holds them."""

    def show(self, values: Sequence[T]) -> None:
        """Look in these from now on."""
        if self._made:
            known = dict(zip(map(id, self._values), self._made, strict=False))
            self._made = [known.get(id(value)) for value in values]
        self._values, self._found = tuple(values), None

    def forget(self) -> None:
        """Ask all values again: their words may be others now. A filter that holds is to be applied once more."""
        self._made.clear()
        self._found = None

    def prepare(self, seconds: float) -> bool:
        """Make words that are not known, for about so long. Whether all are known now."""
        until = perf_counter() + seconds
        for begin in range(0, len(self._values), _AT_A_TIME):
            if self._make(range(begin, min(begin + _AT_A_TIME, len(self._values)))) and perf_counter() > until:
                return False
        return True

    def prepare_between_keys(self, of: Widget) -> None:
        """Make words that are not known, a while at a time: of many values that takes longer than a letter may."""
        if not self.prepare(_SLICE):
            of.set_timer(_BETWEEN, lambda: self.prepare_between_keys(of))

    def matching(self, words: tuple[str, ...]) -> Sequence[int]:
        """The places of the values that hold every word."""
        places: Sequence[int] = range(len(self._values))
        if self._found is not None and narrows(words, self._found[0]):
            places = self._found[1]
        self._make(places)
        made = self._made
        for word in words:
            places = [place for place in places if word in (made[place] or "")]
        self._found = (words, places)
        return places

    def _make(self, places: Sequence[int]) -> bool:
        """Make the words of the values at these places. False when they were known."""
        made = self._made
        made += [None] * (len(self._values) - len(made))
        missing = [place for place in places if made[place] is None]
        for place in missing:
            made[place] = fold(self._words_of(self._values[place]))
        return bool(missing)
