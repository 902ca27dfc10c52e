"""What takes long to be worked out of something, kept for those things that were asked about last."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_CAPACITY = 12


class RecentResults(Generic[K, V]):
    """What was found out about the things asked about last, each known by its identity: to compare two pages takes as long
    as to go through them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[K, V]] = {}
        self._lock = Lock()

    def get(self, thing: K) -> V | None:
        """What is kept of a thing, if anything is."""
        known = self._known.get(id(thing))
        return known[1] if known is not None and known[0] is thing else None

    def put(self, thing: K, found: V) -> V:
        """Keep what was found, in place of what was kept longest."""
        with self._lock:  # threads keep results too
            self._known[id(thing)] = (thing, found)
            while len(self._known) > _CAPACITY:
                self._known.pop(next(iter(self._known)), None)
        return found
