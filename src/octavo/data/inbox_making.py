"""Builds the rows of the inbox in a thread, because thousands of threads take a while: once for all responses that
have arrived, and only of places with new responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from octavo.concurrency import Tasks
from octavo.data.inbox import BuiltRows, Inbox, InboxFacts, inbox_of


class InboxMaking:
    """The rows of the inbox, and the task that builds them."""

    def __init__(self, known: Callable[[], InboxFacts], show: Callable[[], None]) -> None:
        self.inbox = Inbox()
        self.may_begin = False
        """Whether enough is loaded to build rows. Until then, the rows may be those of an earlier run."""
        self._known, self._show = known, show
        self._made = BuiltRows()
        self._tasks = Tasks("Building the rows of the inbox")
        self._task: asyncio.Task[None] | None = None
        self._is_stale = self._is_untold = False
        self._at = 0.0
        self._sooner = asyncio.Event()

    def soon(self, wait: float, *, anew: bool = True) -> None:
        """Build and show the rows within `wait` seconds. Without `anew`, only show them: nothing they are built from
        has changed."""
        loop = asyncio.get_running_loop()
        at = loop.time() + wait
        self._at = min(self._at, at) if self._is_untold else at
        self._is_stale, self._is_untold = self._is_stale or anew, True
        self._sooner.set()
        if self._task is None or self._task.done():
            self._task = self._tasks.start(self._make(), name="rows of the inbox")

    @property
    def at_rest(self) -> bool:
        """Return whether the rows are made of all that is loaded."""
        return self._task is None or self._task.done()

    async def up_to_date(self) -> None:
        """Wait until the rows are made of all that is loaded."""
        self.soon(0.0, anew=False)
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Stop building rows: nobody watches them."""
        if self._task is not None:
            self._task.cancel()

    async def _make(self) -> None:
        loop = asyncio.get_running_loop()
        while self._is_untold:
            self._sooner.clear()
            if (wait := self._at - loop.time()) > 0:
                timer = loop.call_later(wait, self._sooner.set)
                await self._sooner.wait()
                timer.cancel()
                continue
            self._is_untold, stale = False, self._is_stale
            self._is_stale = False
            if stale and self.may_begin:
                self.inbox = await asyncio.to_thread(inbox_of, self._known(), self._made)
            self._show()
