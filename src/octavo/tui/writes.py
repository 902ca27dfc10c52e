"""Everything the person writes, one after the other: into the outbox or at once, and taken back in the same order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.data.outbox import Queued as Queued
from octavo.data.state import NotSaved

if TYPE_CHECKING:
    from octavo.data.once import Sent
    from octavo.tui.app import Octavo

T = TypeVar("T")

NOTICE_SECONDS = 3.0


class Writes:
    """The writes of the app. What is begun together is taken back together."""

    def __init__(self, app: Octavo) -> None:
        self._app = app
        self._turn = asyncio.Lock()
        """So that a key pressed right after another finds what that one did."""
        self._final = ""
        """Why the last write cannot be taken back, when it cannot."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def deliver(self, within: float = 2.0) -> None:
        """Send what is held for undo: the person leaves. What was begun gets `within` seconds to come so far."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
        await self._app.session.outbox.deliver()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._app.background(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def queue(self, writes: Sequence[Queued], said: str) -> None:
        """Put `writes` on disk, then say so; they are sent when the time to undo is over."""
        self._begin(self._add(writes, said))

    async def _add(self, writes: Sequence[Queued], said: str) -> None:
        app = self._app
        async with self._turn:
            try:
                entries = await app.session.outbox.add_all(writes)
            except NotSaved as error:
                app.say(f"Couldn't {writes[0].doing}: {error}", tone="failed")
                return
            held = app.settings.undo_seconds if entries[-1].state == "held" else 0.0
            self._final = ""
        app.say(said, seconds=max(held, NOTICE_SECONDS), undo=held > 0)

    def write(
        self,
        doing: str,
        op: Operation[Any],
        *edits: tuple[Operation[Any], Callable[[Any], Any]],
        said: str,
        then: Callable[[Any], None] | None,
        otherwise: str,
        final: str,
    ) -> None:
        """Send a write now. When it is refused its `edits` are taken back with a sentence."""
        self._begin(self._send(doing, op, *edits, said=said, then=then, otherwise=otherwise, final=final))

    async def _send(
        self,
        doing: str,
        op: Operation[Any],
        *edits: tuple[Operation[Any], Callable[[Any], Any]],
        said: str,
        then: Callable[[Any], None] | None,
        otherwise: str,
        final: str,
    ) -> None:
        app = self._app
        async with self._turn:
            try:
                answer = await app.session.live.write(op, *edits)
            except ApiError as error:
                app.say(f"Couldn't {doing}: {error} {otherwise}".rstrip(), tone="failed")
                return
            self.is_final(final or f"To {doing} cannot be taken back with u.")
        if said:
            app.say(said)
        if then is not None and not app.ending:
            then(answer)

    def send_once(
        self,
        doing: str,
        sending: Coroutine[Any, Any, Sent[T]],
        *,
        said: str = "",
        then: Callable[[T], None] | None = None,
        otherwise: str = "",
    ) -> None:
        """Do what is sent once, and tell what became of it. `otherwise` is what is said beside, when it was not done."""
        self._begin(self._sent_once(doing, sending, said, then, otherwise))

    async def _sent_once(
        self,
        doing: str,
        sending: Coroutine[Any, Any, Sent[T]],
        said: str,
        then: Callable[[T], None] | None,
        otherwise: str,
    ) -> None:
        app = self._app
        # Not in turn with the others: where the answer is lost it takes a minute until it is known.
        number = app.notices.say(f"{doing[:1].upper()}{doing[1:]}…", seconds=90)
        try:
            sent = await sending
        finally:
            app.notices.close(number)
        if sent.kind in ("done", "unknown"):
            self.is_final(f"To {doing} cannot be taken back with u.")
        if sent.kind != "done" or sent.answer is None:
            app.say(f"{sent.sentence} {otherwise}".rstrip(), tone="failed")
            return
        if sent.sentence or said:
            app.say(sent.sentence or said, tone="care" if sent.sentence else "done")
        if then is not None and not app.ending:
            then(sent.answer)

    def is_final(self, why: str) -> None:
        """The last write cannot be taken back, and what came before it is not what `u` is about."""
        self._final = why

    def undo(self) -> None:
        """Take back what was written last, or say why that cannot be."""
        self._begin(self._undo())

    async def _undo(self) -> None:
        app = self._app
        async with self._turn:
            if self._final:
                app.say(self._final, tone="care")
                self._final = ""
                return
            try:
                undone = await app.session.outbox.undo()
            except NotSaved as error:
                app.say(f"Couldn't take back what you wrote last: {error}", tone="failed")
                return
        for notice in app.notices.shown():
            if notice.undo:
                app.notices.close(notice.number)
        app.say(undone.sentence if undone is not None else "Nothing to undo.")
