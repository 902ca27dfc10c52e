"""Makes the rows of the inbox, in a thread: of thousands of threads that takes a while. Not for each of a thousand answers,
but of all that came meanwhile, and of each place only where something came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from octavo.data.inbox import Inbox, Known, MadeRows, inbox_of


class InboxMaking:
    """The rows, and when they are made anew."""

    def __init__(self, known: Callable[[], Known], show: Callable[[], None]) -> None:
        self.inbox = Inbox()
        self.may_begin = False
        """Whether enough is known to make any: before, what is there may be all of an earlier run."""
        self._known, self._show = known, show
        self._made = MadeRows()
        self._task: asyncio.Task[None] | None = None
        self._is_stale = self._is_untold = False
        self._at = 0.0
        self._sooner = asyncio.Event()

    def soon(self, wait: float, *, anew: bool = True) -> None:
        """Make them in so many seconds at the latest, and show them. Not `anew`: what they are made of is as it was."""
        loop = asyncio.get_running_loop()
        at = loop.time() + wait
        self._at = min(self._at, at) if self._is_untold else at
        self._is_stale, self._is_untold = self._is_stale or anew, True
        self._sooner.set()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._make(), name="rows of the inbox")
            self._task.add_done_callback(tell_of_bugs)

    @property
    def at_rest(self) -> bool:
        """Whether they are made of all that is known."""
        return self._task is None or self._task.done()

    async def up_to_date(self) -> None:
        """Wait until they are made of all that is known."""
        self.soon(0.0, anew=False)
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Nobody watches."""
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


def tell_of_bugs(task: asyncio.Task[None]) -> None:
    """What is no `ApiError` is a bug, and nobody waits for this task: the loop tells of it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().call_exception_handler({"message": "The inbox failed", "exception": error, "task": task})
