"""What a page shows that is found after the first paint: until it is there, the page shows what it has."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from copy import copy
from functools import partial
from threading import Lock
from typing import Generic, TypeVar

from octavo.tui.render.failed_block import run_guarded

Thing = TypeVar("Thing")
Result = TypeVar("Result")
_CAPACITY = 12


class RecentResults(Generic[Thing, Result]):
    """What was found out about the things asked about last, each known by its identity: to compare two pages takes as long
    as to go through them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Thing, Result]] = {}
        self._lock = Lock()

    def get(self, owner: Thing) -> Result | None:
        """What is kept of a thing, if anything is."""
        known = self._known.get(id(owner))
        return known[1] if known is not None and known[0] is owner else None

    def put(self, owner: Thing, found: Result) -> Result:
        """Keep what was found, in place of what was kept longest."""
        with self._lock:  # threads keep results too
            self._known[id(owner)] = (owner, found)
            while len(self._known) > _CAPACITY:
                self._known.pop(next(iter(self._known)), None)
        return found


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BATCH_SECONDS = 0.05
"""Seconds: what is found within them is shown together."""


class AsyncCache(Generic[K, V]):
    """Answers by what was asked. Setting a block asks (`get`); what it missed is wanted once it is on show (`want`),
    and found one after the other (`work`)."""

    def __init__(self, load: Callable[[K], Awaitable[V | None]], capacity: int = 200) -> None:
        self._load = load
        self._capacity = capacity
        self._known: OrderedDict[K, V | None] = OrderedDict()
        self._requested: dict[K, None] = {}
        self._is_loading = False
        self.missing: list[K] = []
        """What was asked and is not known, until `Sources.take_missed`."""

    @property
    def has_requests(self) -> bool:
        """Whether anything waits to be found, and nobody looks for it."""
        return bool(self._requested) and not self._is_loading

    def get(self, key: K) -> V | None:
        """What was found for `key`. None when it is not known yet (then it is missed) or there is nothing."""
        with suppress(KeyError):
            value = self._known[key]
            self._known.move_to_end(key)
            return value
        self.missing.append(key)
        return None

    def for_thread(self) -> AsyncCache[K, V]:
        """Return a cache with the same answers for another thread. It has its own list of what was missed."""
        other = copy(self)
        other.missing = []
        return other

    def knows(self, key: K) -> bool:
        """Whether it is known what there is for `key`, be it nothing."""
        return key in self._known

    def request(self, key: K) -> None:
        """Let `key` be found."""
        if key not in self._known:
            self._requested[key] = None

    def clear_requests(self) -> None:
        """Want nothing any more: another page is on show."""
        self._requested.clear()

    async def load_requested(self) -> bool:
        """Find some of what is wanted, unless that is being done. True when something is known that was not."""
        if self._is_loading:
            return False
        self._is_loading, found, started = True, False, time.monotonic()
        try:
            while self._requested and not (found and time.monotonic() - started > BATCH_SECONDS):
                key = next(iter(self._requested))
                (result,) = await asyncio.gather(self._load(key), return_exceptions=True)
                value = self._known[key] = run_guarded(partial(_got, result), lambda: None)
                self._requested.pop(key, None)
                found = found or value is not None
        finally:
            self._is_loading = False
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return found


def _got(result: V | BaseException | None) -> V | None:
    """What was found, or what ended the search."""
    if isinstance(result, BaseException):
        raise result
    return result
