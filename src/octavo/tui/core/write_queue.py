"""Queue of all writes of the user, and their undo. Start at `WriteQueue.queue`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from octavo.api import comments
from octavo.data.queries import open_threads_of
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import NewWrite
from octavo.tui.core.routes import ToThread
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.data.writes.direct import SendResult
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.session import Session

T = TypeVar("T")
P = ParamSpec("P")

NOTICE_SECONDS = 3.0
MAX_PROGRESS_SECONDS = 90.0
"""Longest time that a progress notification stays. Reading back a write whose response was lost takes a minute."""
MAX_UNDO = 100
"""Maximum number of writes that can be undone."""


class DirectUndo(NamedTuple):
    """Request that undoes a write that was sent directly, without the outbox."""

    action: str
    """Words that follow “Could not”, such as “convert #7 back to draft”."""
    send: Callable[[], Coroutine[Any, Any, SendResult[Any]]]
    message: str


class LocalChange(NamedTuple):
    """A change on this machine that sends nothing. `apply` and `undo` raise NotSaved."""

    action: str
    """Words that follow “Could not”, such as “snooze it”."""
    apply: Callable[[], Awaitable[object]]
    """Makes the change. Returns False if a comment is no longer pending, so it cannot be changed."""
    undo: Callable[[], Awaitable[object]] | None = None
    """Undoes the change. None if the change cannot be undone."""
    undo_message: str = ""


def _in_background(
    work: Callable[Concatenate[WriteQueue, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[WriteQueue, P], None]:
    """Decorate a coroutine method of `WriteQueue`, so that calling it starts it in the background."""

    def start(queue: WriteQueue, /, *args: P.args, **keywords: P.kwargs) -> None:
        queue.run(work(queue, *args, **keywords))

    return start


class WriteQueue:
    """Sends all writes of the user and undoes them. Writes that are queued together are undone together."""

    def __init__(
        self,
        app: HostApp[Any],
        session: Callable[[], Session],
        go: Callable[[ToThread], None],
        undo_seconds: float,
    ) -> None:
        """`session` returns the current session. `go` shows the comment of a write that was undone. `undo_seconds` is
        the undo delay."""
        self._app, self._session, self._go, self._undo_seconds = app, session, go, undo_seconds
        self._lock = asyncio.Lock()
        """Makes each write wait for the previous write, so that a command starts from the result of the previous
        command."""
        self._no_undo_reason = ""
        """Reason why the last write cannot be undone, as a sentence. Empty if it can be undone."""
        self._direct_undo: DirectUndo | None = None
        """Undo of the last write if it was sent directly, else None."""
        self._undoable: list[tuple[LocalChange | None, bool]] = []
        """Writes that can be undone, newest last. Each has its local change, if any, and True if it also has entries in
        the outbox."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._view_of_entry: dict[str, str] = {}
        """Mode of the view in which each outbox entry was created, by entry id."""

    async def flush(self, max_seconds: float = 2.0) -> None:
        """Send the writes that are still waiting for their undo delay, because the app quits. Running tasks get
        `max_seconds` seconds to finish."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max_seconds)
        await self._session().outbox.send_now()
        self._undoable.clear()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background. `flush` waits for it."""
        task = self._app.background(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @_in_background
    async def queue(
        self, *writes: NewWrite, message: str = "", local_change: LocalChange | None = None, in_review: bool = False
    ) -> None:
        """Add writes to the outbox, then show `message`. They are sent after the undo delay. `local_change` is made and
        undone together with the writes. With `in_review`, the write is a pending comment, which is sent with a review."""
        app, outbox = self._app, self._session().outbox
        async with self._lock:
            try:
                if local_change is not None:
                    await local_change.apply()
                entries = (await outbox.add_pending_comment(writes[0]),) if in_review else await outbox.add_all(writes)
            except NotSaved as error:
                action = f"add the {writes[0].action} to your review" if in_review else writes[0].action
                app.say(f"Could not {action}: {error}", tone="failed")
                return
            self._add_undoable(local_change)
            if in_review:
                count = plural(len(outbox.pending_comments(entries[0].at)), "pending comment")
                app.say(
                    f"Your review now has {count}. To submit the review, press a to approve or A to request changes. To list its comments, press H."
                )
                return
            self._view_of_entry |= dict.fromkeys((entry.id for entry in entries), app.current_mode)
            delay = self._undo_seconds if entries[-1].state == "held" else 0.0
        app.say(message, seconds=max(delay, NOTICE_SECONDS), undo=delay > 0)

    @_in_background
    async def submit_review(
        self,
        action: str,
        sending: Coroutine[Any, Any, SendResult[T]],
        *,
        message: str,
        on_success: Callable[[], None] | None = None,
    ) -> None:
        """Submit a review with its pending comments after the undo delay, and show `message`."""
        app = self._app
        async with self._lock:
            result = await sending
            if result.kind != "done":
                app.say(f"Could not {action}. {result.message}", tone="failed")
                return
            self._add_undoable(None)
        delay = self._undo_seconds
        app.say(message, seconds=max(delay, NOTICE_SECONDS), undo=delay > 0)
        if on_success is not None and not app.is_ending:
            on_success()

    @_in_background
    async def send(
        self,
        action: str,
        sending: Coroutine[Any, Any, SendResult[T]],
        *,
        message: str = "",
        on_success: Callable[[T], None] | None = None,
        failure_hint: str = "",
        no_undo_reason: str = "",
        make_undo: Callable[[T], DirectUndo] | None = None,
        is_visible: bool = False,
    ) -> None:
        """Send a write directly, and show its result. `failure_hint` is added to the error message. `make_undo` returns
        the undo of the write; `no_undo_reason` is the reason if there is none. With `is_visible`, the screen already
        shows the write, so no progress is shown."""
        app = self._app
        if is_visible:
            async with self._lock:
                outcome = await sending
                self._set_direct_undo(action, outcome, no_undo_reason, make_undo)
        else:
            # Outside the lock: if the response is lost, it takes a minute to find out the result.
            outcome = await self._send_with_progress(action, sending)
            self._set_direct_undo(action, outcome, no_undo_reason, make_undo)
        if outcome.kind != "done" or outcome.result is None:
            app.say(f"{outcome.message} {failure_hint}".rstrip(), tone="failed")
            return
        if outcome.message or message:
            app.say(outcome.message or message, tone="care" if outcome.message else "done", undo=make_undo is not None)
        if on_success is not None and not app.is_ending:
            on_success(outcome.result)

    def _set_direct_undo(
        self, action: str, outcome: SendResult[T], no_undo_reason: str, make_undo: Callable[[T], DirectUndo] | None
    ) -> None:
        """Set the undo of a write that was sent directly."""
        if outcome.kind in ("done", "unknown"):
            self.forbid_undo(no_undo_reason or f"You cannot undo “{action}” by pressing u.")
        if outcome.kind == "done" and outcome.result is not None and make_undo is not None:
            self.set_undo(make_undo(outcome.result))

    @_in_background
    async def change(self, change: LocalChange, *, message: str) -> None:
        """Make a local change, then show `message`."""
        app = self._app
        async with self._lock:
            try:
                done = await change.apply()
            except NotSaved as error:
                app.say(f"Could not {change.action}: {error}", tone="failed")
                return
            if change.undo is not None:
                self._add_undoable(change, writes=False)
        if done is False:
            reason = "the comment is no longer pending. Your text is saved as a draft."
            app.say(f"Could not {change.action}: {reason}", tone="failed")
        elif change.undo is None:
            app.say(message)
        else:
            app.say(message, seconds=max(self._undo_seconds, NOTICE_SECONDS), undo=True)

    def _add_undoable(self, change: LocalChange | None, *, writes: bool = True) -> None:
        """Add a write to the writes that can be undone."""
        self._no_undo_reason, self._direct_undo = "", None
        self._undoable = [*self._undoable[1 - MAX_UNDO :], (change, writes)]

    async def _send_with_progress(self, action: str, sending: Coroutine[Any, Any, SendResult[T]]) -> SendResult[T]:
        with show_progress(self._app, f"{action[:1].upper()}{action[1:]}…"):
            return await sending

    def forbid_undo(self, reason: str) -> None:
        """Make `undo` show why the last write cannot be undone."""
        self._no_undo_reason, self._direct_undo = reason, None

    def set_undo(self, undo: DirectUndo) -> None:
        """Set the request that undoes the last write."""
        self._no_undo_reason, self._direct_undo = "", undo

    @_in_background
    async def undo(self) -> None:
        """Undo the last write, or show the reason why it cannot be undone."""
        app = self._app
        async with self._lock:
            if self._no_undo_reason:
                app.say(self._no_undo_reason, tone="care")
                self._no_undo_reason = ""
                return
            if (direct_undo := self._direct_undo) is not None:
                self._direct_undo = None
                self._close_undo_notices()
                self.run(self._send_undo(direct_undo))
                return
            change, writes = self._undoable[-1] if self._undoable else (None, True)
            try:
                if change is not None and change.undo is not None:
                    await change.undo()
                del self._undoable[-1:]
                if change is not None and not writes:
                    self._close_undo_notices()
                    app.say(change.undo_message)
                    return
                undone = await self._session().outbox.undo()
            except NotSaved as error:
                app.say(f"Could not undo your last change: {error}", tone="failed")
                return
        self._close_undo_notices()
        app.say(undone.message if undone is not None else "Nothing to undo.")
        if undone is not None and undone.undone and not app.is_ending:
            entry = undone.undone[0]
            self._go(_route_to_written_thread(self._session().live, entry, self._view_of_entry.get(entry.id, "")))

    async def _send_undo(self, undo: DirectUndo) -> None:
        outcome = await self._send_with_progress(undo.action, undo.send())
        is_done = outcome.kind == "done" and not outcome.message
        self._app.say(undo.message if is_done else outcome.message, tone="done" if is_done else "failed")

    def _close_undo_notices(self) -> None:
        """Close the notifications that offer to undo a write."""
        for notice in self._app.notices.shown():
            if notice.undo:
                self._app.notices.close(notice.number)


@contextmanager
def show_progress(app: HostApp[Any], text: str) -> Iterator[Callable[[str], None]]:
    """Show `text` as a notification while the `with` block runs. The value is a function that shows another text."""
    number = app.notices.say(text, seconds=MAX_PROGRESS_SECONDS)

    def replace(text: str) -> None:
        nonlocal number
        app.notices.close(number)
        number = app.notices.say(text, seconds=MAX_PROGRESS_SECONDS)

    try:
        yield replace
    finally:
        app.notices.close(number)


def _route_to_written_thread(live: Live, entry: OutboxEntry, view: str) -> ToThread:
    """Return the route to the comment or thread that an outbox entry has changed."""
    at, thread_id = entry.at, entry.facts.thread
    thread = live.peek(comments.Get(at=at, comment_id=thread_id, format="markdown")).value if thread_id else None
    # The thread may be missing as a single response, but be in the cached lists of the thread views and the inbox.
    for op in (
        comments.List(at=at, status="all", format="markdown", limit=200),
        open_threads_of(at),
    ):
        if thread_id and thread is None and (threads := live.peek(op).value) is not None:
            thread = next((each for each in threads.items if each.id == thread_id), None)
    target = thread.target if thread is not None else None
    page = target.page.id if target is not None and target.page is not None else entry.facts.page or None
    node = target.node.id if target is not None and target.node is not None else ""
    return ToThread(at, thread, page, node or entry.facts.node, view)
