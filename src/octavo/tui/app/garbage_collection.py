"""Frees what was closed, in pauses: what is shown hangs together in circles, which only a look for garbage finds. To look
through all there is takes a tenth of a second, and Python does it in the middle of a key press.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from functools import _lru_cache_wrapper
from typing import Any
from weakref import WeakSet

from textual.dom import DOMNode
from textual.message_pump import MessagePump

from octavo.tui.terminal import malloc

PAUSE = 1.5
"""Seconds without a key after which nobody waits for the next."""
LATER = 30.0
"""Seconds without a key after which nobody is there. What was still in use after a look, by a question under way and its
deadline, is looked for once more then, and what stays is looked at no more until it is closed and as much time goes by."""
BETWEEN_KEYS = 0.05
"""Seconds after a key, when what it led to is painted."""
STAYED_BLOCKS = 35_000
"""Blocks of memory in use, more than after the last look at everything, for which no pause is waited for: some 3 MB, of
15 000 objects. Blocks are counted, for Python tells how many objects stayed only by handing out all of them (`caches`)."""
_NEW, _YOUNG, _ALL = 500, 20, 1000
"""What Python does by itself: objects more than at its last look at the new ones, such looks between two at all that is
young, and those between two at everything. Often enough that little is looked at: Python counts what is made less what is
let go, and where a page is read, which lets lines go as it sets others, there are five times as many. Seldom enough that a
dialog was closed by then: what was open is looked at no more. The last is for days in which no key is pressed: a page of
1 MB that is read to its end takes 214 looks at the young, and one at all of it holds the loop for 200 ms."""


class Garbage:
    """What was taken down and is not yet gone."""

    def __init__(self, pumps: Callable[[], Iterable[MessagePump]] = tuple) -> None:
        """`pumps`: all that gets messages now."""
        self._pumps = pumps
        self._woken = False
        self._closed: WeakSet[DOMNode] = WeakSet()
        self._late: WeakSet[DOMNode] = WeakSet()
        """What was still there after a look, until nobody is there."""
        self._begun = False
        self._next: asyncio.TimerHandle | None = None
        self._hurried = False
        """No pause is waited for."""
        self._pressed = 0.0
        self._young_looks = 0
        self._blocks = 0
        """How many were in use after the last look at everything."""
        self._stays = False
        """Whether something stayed that is looked at again."""
        self._caches: list[_lru_cache_wrapper[Any]] = []
        """What Textual and Rich have worked out and may need again: thousands of small things, made in the middle of what
        is closed soon and left behind in its memory, so that none of it can be given back. Made anew in milliseconds."""

    def begin(self) -> None:
        """What there is now is never looked at again."""
        malloc.keep_large_blocks_apart()
        self._caches = list(caches("textual.", "rich."))
        self.enable()
        self._blocks = sys.getallocatedblocks()
        self._begun = True

    def enable(self) -> None:
        """Let Python look by itself, at what comes from now on: its first look at all that a start made, and those it takes
        while the other views are imported, hold the keys for a tenth of a second each."""
        gc.freeze()
        gc.set_threshold(_NEW, _YOUNG, _ALL)
        gc.enable()

    def key_pressed(self) -> None:
        """Somebody waits for what a key does."""
        self._pressed = time.monotonic()
        if self._begun and not self._hurried and (looks := gc.get_count()[2]) != self._young_looks:
            self._young_looks = looks
            if self._has_grown():
                self._hurried = True
                self._look_in(BETWEEN_KEYS)

    def taken_down(self, nodes: Iterable[DOMNode]) -> None:
        """These are shown no more."""
        self._closed.update(nodes)
        if self._begun:
            self._look_in(PAUSE)

    def _look_in(self, seconds: float) -> None:
        """Look then, if not sooner."""
        loop = asyncio.get_running_loop()
        if self._next is not None:
            if self._next.when() <= loop.time() + seconds:
                return
            self._next.cancel()
        self._next = loop.call_later(seconds, self._look, context=Context())

    def _look(self) -> None:
        self._next = None
        idle = time.monotonic() - self._pressed
        wanted = PAUSE if self._closed else LATER
        if idle < wanted and not self._hurried:
            self._look_in(wanted - idle)
            return
        if not self._woken:
            self._woken = True
            self.wake()
            self._look_in(BETWEEN_KEYS)
            return
        self._woken = self._hurried = False
        self.look(nobody_there=idle >= LATER)
        if self._late or self._stays:
            self._look_in(LATER)

    def wake(self) -> None:
        """Let all that is at rest turn round once: its loop holds the last message, with who sent it."""
        for each in tuple(self._pumps()):
            each.check_idle()

    def look(self, *, nobody_there: bool = False) -> None:
        """Free what was closed. What is young is looked at first: that is all where it was open for a moment.

        `nobody_there`: the look may take longer. What had stayed is looked at as well, if something of it may be closed,
        and what stays now is not looked at again until then: looks between keys are at what came since.
        """
        gc.collect(1)
        if self._closed or nobody_there or self._has_grown():
            for cache in self._caches:
                cache.cache_clear()
            if nobody_there and (self._closed or self._late):
                gc.unfreeze()
            gc.collect()
            if nobody_there:
                gc.freeze()
            malloc.trim()
            self._blocks, self._stays = sys.getallocatedblocks(), not nobody_there
        if nobody_there:
            self._late.clear()
        self._late |= self._closed
        self._closed = WeakSet()

    def _has_grown(self) -> bool:
        return sys.getallocatedblocks() - self._blocks > STAYED_BLOCKS


def caches(*of: str) -> Iterator[_lru_cache_wrapper[Any]]:
    """The caches of functions and methods in modules whose names begin so.

    They are found by name, not among all objects: who holds all of those while another thread makes a tuple of what it is
    still being told, breaks that (`SystemError` in CPython), and this runs in a thread.
    """
    found: dict[int, _lru_cache_wrapper[Any]] = {}
    for name, module in tuple(sys.modules.items()):
        if name.startswith(of):
            for each in tuple(vars(module).values()):
                parts = tuple(vars(each).values()) if isinstance(each, type) else (each,)
                for part in parts:
                    function = getattr(part, "__func__", getattr(part, "fget", part))
                    if isinstance(function, _lru_cache_wrapper) and function.__module__.startswith(of):
                        found[id(function)] = function
    yield from found.values()
