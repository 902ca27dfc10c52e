"""Everything the person writes, one after the other: into the outbox or at once, and taken back in the same order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import NewWrite
from octavo.tui.shell.host import Host
from octavo.tui.shell.routes import ToThread
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.writes.direct import SendResult
    from octavo.data.writes.machine import OutboxEntry

T = TypeVar("T")
P = ParamSpec("P")

NOTICE_SECONDS = 3.0
REMEMBERED = 100
"""How many things can be taken back, one after the other."""


@dataclass(frozen=True)
class DirectUndo:
    """How what was sent once is taken back."""

    action: str
    """What that does, to follow "Couldn't": "take #7 back to draft"."""
    send: Callable[[], Coroutine[Any, Any, SendResult[Any]]]
    message: str


@dataclass(frozen=True)
class LocalChange:
    """A change on this machine alone. `do` and `back` raise NotSaved."""

    action: str
    """Follows “Could not”: “snooze it”."""
    do: Callable[[], Awaitable[object]]
    """Makes the change. Returns False if a pending comment cannot be changed any more."""
    undo: Callable[[], Awaitable[object]] | None = None
    """Undoes the change, in its turn among the writes. None if `u` does not undo it."""
    undo_message: str = ""


def _in_background(
    work: Callable[Concatenate[Writes, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[Writes, P], None]:
    """Make of what a queue does a method that only begins it: it goes on whatever screen is shown."""

    def begin(queue: Writes, /, *args: P.args, **keywords: P.kwargs) -> None:
        queue.begin(work(queue, *args, **keywords))

    return begin


class Writes:
    """The writes of the app. What is begun together is taken back together."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self._turn = asyncio.Lock()
        """So that a key pressed right after another finds what that one did."""
        self._final = ""
        """Why the last write cannot be taken back, when it cannot."""
        self._back: DirectUndo | None = None
        """What takes back the last write, when it is none of the outbox."""
        self._done: list[tuple[LocalChange | None, bool]] = []
        """What `u` takes back, the last at the end: what was changed here, and whether writes of the outbox went with it,
        which keeps those in their order."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._views: dict[str, str] = {}
        """The view each write was made in."""

    async def deliver(self, within: float = 2.0) -> None:
        """Send what is held for undo: the person leaves. What was begun gets `within` seconds to come so far."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
        await self._app.session.outbox.send_now()
        self._done.clear()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`, which `deliver` waits for."""
        task = self._app.background(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @_in_background
    async def queue(
        self, *writes: NewWrite, said: str = "", here: LocalChange | None = None, in_review: bool = False
    ) -> None:
        """Put writes into the outbox, then show `said`. They are sent when the undo delay is over.

        `here` is done with them, and undone with them. `in_review`: the write is a pending comment, which is sent with a
        review.
        """
        app, outbox = self._app, self._app.session.outbox
        async with self._turn:
            try:
                if here is not None:
                    await here.do()
                entries = (await outbox.add_pending_comment(writes[0]),) if in_review else await outbox.add_all(writes)
            except NotSaved as error:
                doing = f"add the {writes[0].action} to your review" if in_review else writes[0].action
                app.say(f"Could not {doing}: {error}", tone="failed")
                return
            self._is_done(here)
            if in_review:
                pending = plural(len(outbox.pending_comments(entries[0].at)), "pending comment")
                app.say(
                    f"Added to your review, which now has {pending}. Press a or A to submit the review, or H to list its comments."
                )
                return
            self._views |= dict.fromkeys((entry.id for entry in entries), app.current_mode)
            held = app.settings.undo_seconds if entries[-1].state == "held" else 0.0
        app.say(said, seconds=max(held, NOTICE_SECONDS), undo=held > 0)

    @_in_background
    async def submit_review(
        self,
        doing: str,
        sending: Coroutine[Any, Any, SendResult[T]],
        *,
        said: str,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Send the pending comments with a review, and show `said`. They are sent when the undo delay is over."""
        app = self._app
        async with self._turn:
            sent = await sending
            if sent.kind != "done":
                app.say(f"Could not {doing}. {sent.message}", tone="failed")
                return
            self._is_done(None)
        held = app.settings.undo_seconds
        app.say(said, seconds=max(held, NOTICE_SECONDS), undo=held > 0)
        if then is not None and not app.ending:
            then()

    @_in_background
    async def send(
        self,
        doing: str,
        sending: Coroutine[Any, Any, SendResult[T]],
        *,
        said: str = "",
        then: Callable[[T], None] | None = None,
        otherwise: str = "",
        final: str = "",
        back: Callable[[T], DirectUndo] | None = None,
        is_shown: bool = False,
    ) -> None:
        """Send a write that the user waits for, and show its result.

        `otherwise` ends the message if it was not done. `back` returns what `u` does after it, and `final` says why `u` does
        not undo it. `is_shown`: the screen shows the write at once, so there is no progress message.
        """
        app = self._app
        if is_shown:
            async with self._turn:
                sent = await sending
                self._can_undo(doing, sent, final, back)
        else:
            # Not in turn with the others: if the response is lost, the result takes a minute.
            sent = await self._followed(doing, sending)
            self._can_undo(doing, sent, final, back)
        if sent.kind != "done" or sent.result is None:
            app.say(f"{sent.message} {otherwise}".rstrip(), tone="failed")
            return
        if sent.message or said:
            app.say(sent.message or said, tone="care" if sent.message else "done", undo=back is not None)
        if then is not None and not app.ending:
            then(sent.result)

    def _can_undo(self, doing: str, sent: SendResult[T], final: str, back: Callable[[T], DirectUndo] | None) -> None:
        """Note what `u` does after a direct write."""
        if sent.kind in ("done", "unknown"):
            self.is_final(final or f"You cannot undo “{doing}” with u.")
        if sent.kind == "done" and sent.result is not None and back is not None:
            self.take_back_by(back(sent.result))

    @_in_background
    async def change(self, change: LocalChange, *, said: str) -> None:
        """Change something on this machine, then show `said`."""
        app = self._app
        async with self._turn:
            try:
                done = await change.do()
            except NotSaved as error:
                app.say(f"Could not {change.action}: {error}", tone="failed")
                return
            if change.undo is not None:
                self._is_done(change, writes=False)
        if done is False:
            why = "the comment is no longer pending. Your text is saved as a draft."
            app.say(f"Could not {change.action}: {why}", tone="failed")
        elif change.undo is None:
            app.say(said)
        else:
            app.say(said, seconds=max(app.settings.undo_seconds, NOTICE_SECONDS), undo=True)

    def _is_done(self, change: LocalChange | None, *, writes: bool = True) -> None:
        """Let `u` undo this first."""
        self._final, self._back = "", None
        self._done = [*self._done[1 - REMEMBERED :], (change, writes)]

    async def _followed(self, doing: str, sending: Coroutine[Any, Any, SendResult[T]]) -> SendResult[T]:
        number = self._app.notices.say(f"{doing[:1].upper()}{doing[1:]}…", seconds=90)
        try:
            return await sending
        finally:
            self._app.notices.close(number)

    def is_final(self, why: str) -> None:
        """Let `u` show why the last write cannot be undone."""
        self._final, self._back = why, None

    def take_back_by(self, back: DirectUndo) -> None:
        """Let `u` undo the last write by sending `back`."""
        self._final, self._back = "", back

    @_in_background
    async def undo(self) -> None:
        """Take back what was written last, or say why that cannot be."""
        app = self._app
        async with self._turn:
            if self._final:
                app.say(self._final, tone="care")
                self._final = ""
                return
            if (back := self._back) is not None:
                self._back = None
                self._close_undo()
                self.begin(self._take_back(back))
                return
            change, writes = self._done[-1] if self._done else (None, True)
            try:
                if change is not None and change.undo is not None:
                    await change.undo()
                del self._done[-1:]
                if change is not None and not writes:
                    self._close_undo()
                    app.say(change.undo_message)
                    return
                undone = await app.session.outbox.undo()
            except NotSaved as error:
                app.say(f"Could not undo your last change: {error}", tone="failed")
                return
        self._close_undo()
        app.say(undone.message if undone is not None else "Nothing to undo.")
        if undone is not None and undone.undone and not app.ending:
            first = undone.undone[0]
            app.go(_place_of(app, first, self._views.get(first.id, "")))

    async def _take_back(self, back: DirectUndo) -> None:
        sent = await self._followed(back.action, back.send())
        done = sent.kind == "done" and not sent.message
        self._app.say(back.message if done else sent.message, tone="done" if done else "failed")

    def _close_undo(self) -> None:
        """Take the notices away that offer to take something back."""
        for notice in self._app.notices.shown():
            if notice.undo:
                self._app.notices.close(notice.number)


def _place_of(app: Host, entry: OutboxEntry, view: str) -> ToThread:
    """Where a write was made in a `view`: the thread it is done to, as far as that is known."""
    from octavo.api import comments  # the first screen does without
    from octavo.data.queries import open_threads_of

    at, wanted, live = entry.at, entry.facts.thread, app.session.live
    thread = live.peek(comments.Get(at=at, comment_id=wanted, format="markdown")).value if wanted else None
    # What the views of threads follow, and the inbox.
    for op in (
        comments.List(at=at, status="all", format="markdown", limit=200),
        open_threads_of(at),
    ):
        if wanted and thread is None and (known := live.peek(op).value) is not None:
            thread = next((each for each in known.items if each.id == wanted), None)
    target = thread.target if thread is not None else None
    page = target.page.id if target is not None and target.page is not None else entry.facts.page or None
    node = target.node.id if target is not None and target.node is not None else ""
    return ToThread(at, thread, page, node or entry.facts.node, view)
