"""Caches of recent results and of results that are loaded in the background."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
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
    """Cache of results for the most recent objects. Objects are compared by identity, because comparing two pages takes
    as long as reading them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Thing, Result]] = {}
        self._lock = Lock()

    def get(self, owner: Thing) -> Result | None:
        """Return the cached result for an object. None if there is no result."""
        known = self._known.get(id(owner))
        return known[1] if known is not None and known[0] is owner else None

    def put(self, owner: Thing, found: Result) -> Result:
        """Cache a result and return it. The oldest result is dropped when the cache is full."""
        with self._lock:  # Worker threads add results too.
            self._known[id(owner)] = (owner, found)
            while len(self._known) > _CAPACITY:
                self._known.pop(next(iter(self._known)), None)
        return found


def stream_cached(
    cache: RecentResults[Thing, list[Result]], owner: Thing, split: Callable[[Thing], Iterable[Result]]
) -> Iterator[Result]:
    """Yield the pieces of an object as `split` makes them. They are cached if there are several."""
    if (known := cache.get(owner)) is not None:
        yield from known
        return
    found: list[Result] = []
    for piece in split(owner):
        found.append(piece)
        yield piece
    if len(found) > 1:
        cache.put(owner, found)


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BATCH_SECONDS = 0.05
"""Results that are loaded within this time are shown together."""


class AsyncCache(Generic[K, V]):
    """Cache of results that are loaded in the background.

    Rendering a block calls `get`, which records keys without a result in `missing`. Once the block is visible, the pane
    calls `request` for these keys and `load_requested` to load them one by one.
    """

    def __init__(self, load: Callable[[K], Awaitable[V | None]], capacity: int = 200) -> None:
        self._load = load
        self._capacity = capacity
        self._known: OrderedDict[K, V | None] = OrderedDict()
        self._requested: dict[K, None] = {}
        self._is_loading = False
        self.missing: list[K] = []
        """Keys without a result, since the last `DeferredContent.take_missing`."""

    @property
    def has_requests(self) -> bool:
        """True if keys are requested and are not loading yet."""
        return bool(self._requested) and not self._is_loading

    def get(self, key: K) -> V | None:
        """Return the result for `key`. None if the key is not loaded yet, which records it as missing, or if it has no
        result."""
        with suppress(KeyError):
            value = self._known[key]
            self._known.move_to_end(key)
            return value
        self.missing.append(key)
        return None

    def for_background_thread(self) -> AsyncCache[K, V]:
        """Return a copy for use in the background thread. It has the same results, but its own list of missing keys."""
        other = copy(self)
        other.missing = []
        return other

    def knows(self, key: K) -> bool:
        """Return whether `key` is loaded, with or without a result."""
        return key in self._known

    def request(self, key: K) -> None:
        """Queue `key` for loading, if it is not loaded yet."""
        if key not in self._known:
            self._requested[key] = None

    def clear_requests(self) -> None:
        """Clear the queue. Called when another page is shown."""
        self._requested.clear()

    async def load_requested(self) -> bool:
        """Load queued keys, and return whether any result is new. Does nothing while another call is loading."""
        if self._is_loading:
            return False
        self._is_loading, found, started = True, False, time.monotonic()
        try:
            while self._requested and not (found and time.monotonic() - started > BATCH_SECONDS):
                key = next(iter(self._requested))
                (result,) = await asyncio.gather(self._load(key), return_exceptions=True)
                value = self._known[key] = run_guarded(partial(_result_or_raise, result), lambda: None)
                self._requested.pop(key, None)
                found = found or value is not None
        finally:
            self._is_loading = False
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return found


def _result_or_raise(result: V | BaseException | None) -> V | None:
    """Return a result, or raise the exception that loading ended with."""
    if isinstance(result, BaseException):
        raise result
    return result
