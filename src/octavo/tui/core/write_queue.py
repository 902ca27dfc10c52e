"""Queue of all writes of the user, and their undo. Start at `WriteQueue.queue`.

There is one undo history for all writes: writes of the outbox, direct writes, and changes on this machine. `u` always
undoes the newest write that can still be undone. If a newer write cannot be undone, `u` first says why, and the next
press of `u` undoes the write before it. A write that is being sent stays the newest until its result is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar

from octavo.api import comments
from octavo.data.queries import all_threads_op, open_threads_op
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox, WriteGroup
from octavo.tui.core.routes import ToThread
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.data.writes.direct import SendResult
    from octavo.tui.core.session import Session

T = TypeVar("T")
P = ParamSpec("P")

NOTICE_SECONDS = 3.0
MAX_PROGRESS_SECONDS = 90.0
"""Longest time that a progress notification stays. Searching for a write whose response was lost takes a minute."""
_PROGRESS_DELAY = 0.2
"""Seconds after which a progress notification appears. Without this delay, short actions would make it flash."""
_MAX_UNDO_STEPS = 100
UNDO_AGAIN = "Press u to try the undo again."


class DirectUndo(NamedTuple):
    """A request that undoes a write which was sent without the outbox."""

    action: str
    """Words that follow “Could not”, such as “convert #7 back to draft”."""
    send: Callable[[], Coroutine[Any, Any, SendResult[Any]]]
    """Sends the request. If only a part of the undo succeeds, the result is a `DirectUndo` for the rest."""
    message: str


class LocalChange(NamedTuple):
    """A change that is stored only on this machine, such as a snooze. `apply` and `undo` raise NotSaved."""

    action: str
    """Words that follow “Could not”, such as “snooze it”."""
    apply: Callable[[], Awaitable[object]]
    """Makes the change. Returns False if the change is not possible anymore."""
    undo: Callable[[], Awaitable[object]] | None = None
    """Undoes the change. Returns False if that is not possible anymore. None for a change without undo."""
    undo_message: str = ""


@dataclass(eq=False)
class _RunningWrite:
    action: str


_UndoStep: TypeAlias = WriteGroup | DirectUndo | LocalChange | _RunningWrite | str
"""An entry of the undo history. A string says why a write cannot be undone."""


def _in_background(
    method: Callable[Concatenate[WriteQueue, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[WriteQueue, P], None]:
    """Turn a coroutine method of `WriteQueue` into a method that runs the coroutine in the background."""

    def run_method(queue: WriteQueue, /, *args: P.args, **keywords: P.kwargs) -> None:
        queue.run(method(queue, *args, **keywords))

    return run_method


class WriteQueue:
    """Sends what the user writes, and undoes the newest write. Writes that are queued together are undone together."""

    def __init__(
        self, app: HostApp[Any], session: Callable[[], Session], go: Callable[[ToThread], None], undo_seconds: float
    ) -> None:
        """`go` shows the thread of a write that was undone. For `undo_seconds` after a write, the user can undo it
        before it is sent."""
        self._app, self._get_session, self._go_to_thread, self._undo_seconds = app, session, go, undo_seconds
        self._lock = asyncio.Lock()
        """Held while a write is stored or undone, so that the undo history is in the order of the writes. Never held
        during a request, because a new comment would wait while its draft stays, and the user could send it again."""
        self._order_lock = asyncio.Lock()
        """Held while an undo is sent, or a write that the screen already shows, so that they are sent in order."""
        self._steps: list[_UndoStep] | None = None
        """The undo history, the newest entry last. None until it is first needed."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._view_of_entry: dict[str, str] = {}
        """The Textual mode of the view in which each outbox entry was created, by entry ID."""

    async def flush(self, max_seconds: float = 2.0) -> None:
        """Wait for running tasks, at most `max_seconds`. Then send all delayed writes, and forget the undo history."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max_seconds)
        await self._get_session().outbox.send_now()
        self._steps = None

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background. `flush` waits for it."""
        task = self._app.background(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @_in_background
    async def queue(self, *writes: NewWrite, message: str = "", in_review: bool = False) -> None:
        """Store writes in the outbox, show `message`, and send the writes after the undo delay. With `in_review`, store
        them as pending comments, which are sent with the review, and show the number of pending comments instead."""
        app, outbox = self._app, self._get_session().outbox
        async with self._lock:
            try:
                entries = await (outbox.add_pending_comments(writes) if in_review else outbox.add_all(writes))
            except NotSaved as error:
                action = f"add the {writes[0].action} to your review" if in_review else writes[0].action
                app.say(f"Could not {action}: {error}", tone="failed")
                return
            self._add_step(WriteGroup(tuple(entry.id for entry in entries)))
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
        self, action: str, sending: Coroutine[Any, Any, SendResult[tuple[OutboxEntry, ...]]], *, message: str
    ) -> None:
        """Await `sending`, which queues comments or a review. Show `message`, or say why `action` was not possible."""
        app, running_write = self._app, _RunningWrite(action)
        self._add_step(running_write)
        result = await sending
        entries = result.result
        ids = tuple(entry.id for entry in entries or ())
        self._end_step(running_write, WriteGroup(ids, entries[0].review) if entries else None)
        if result.kind != "done":
            app.say(f"Could not {action}. {result.message}", tone="failed")
            return
        delay = self._undo_seconds
        app.say(message, seconds=max(delay, NOTICE_SECONDS), undo=delay > 0)

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
        make_undo: Callable[[T], DirectUndo | str] | None = None,
        is_visible: bool = False,
    ) -> None:
        """Send a write without the outbox, then show `message`, or the error and `failure_hint`. `on_success` is called
        with the result. `make_undo` gets the result, and returns how to undo the write or why this is not possible.
        Without `make_undo`, `no_undo_reason` says why. `is_visible` is True if the screen already shows the write."""
        app, running_write = self._app, _RunningWrite(action)
        self._add_step(running_write)
        if is_visible and not self._order_lock.locked():
            async with self._order_lock:
                outcome = await sending
        else:
            outcome = await self._send_with_progress(action, sending, in_order=is_visible)
        step: _UndoStep | None = None
        if outcome.kind == "done" and outcome.result is not None and make_undo is not None:
            step = make_undo(outcome.result)
        elif outcome.kind in ("done", "unknown"):
            step = no_undo_reason or _cannot_undo(action)
        self._end_step(running_write, step)
        if outcome.kind != "done" or outcome.result is None:
            text = f"{outcome.message} {failure_hint}".rstrip()
            app.say(text, tone="care" if outcome.kind == "same" else "failed")
            return
        if outcome.message or message:
            can_undo = isinstance(step, DirectUndo)
            app.say(outcome.message or message, tone="care" if outcome.message else "done", undo=can_undo)
        if on_success is not None and not app.is_ending:
            on_success(outcome.result)

    def _end_step(self, running_write: _RunningWrite, step: _UndoStep | None) -> None:
        """Replace `running_write` in the undo history by `step`. If `step` is None, only remove `running_write`."""
        new_steps = [] if step is None else [step]
        history = self._history()
        history[:] = [step for each in history for step in (new_steps if each is running_write else [each])]

    @_in_background
    async def apply_change(self, change: LocalChange, *, message: str) -> None:
        """Make a change on this machine, then show `message`, or why the change is not possible."""
        app = self._app
        async with self._lock:
            try:
                apply_result = await change.apply()
            except NotSaved as error:
                app.say(f"Could not {change.action}: {error}", tone="failed")
                return
            if apply_result is not False:
                self._add_step(change if change.undo is not None else _cannot_undo(change.action))
        if apply_result is False:
            reason = "it was edited, sent, removed or decided in the meantime. Text that you typed is saved as a draft."
            app.say(f"Could not {change.action}: {reason}", tone="failed")
        elif change.undo is None:
            app.say(message)
        else:
            app.say(message, seconds=max(self._undo_seconds, NOTICE_SECONDS), undo=True)

    def _history(self) -> list[_UndoStep]:
        """Return the undo history itself, not a copy, because `undo` changes the history while it awaits a request."""
        if self._steps is None:
            self._steps = list(self._get_session().outbox.unsent_groups)
        return self._steps

    def _add_step(self, step: _UndoStep) -> None:
        history = self._history()
        history.append(step)
        del history[:-_MAX_UNDO_STEPS]

    async def _send_with_progress(
        self, action: str, sending: Coroutine[Any, Any, SendResult[T]], *, in_order: bool
    ) -> SendResult[T]:
        """Send a write and show its progress, with `in_order` after earlier writes that the screen already shows."""
        title, is_waiting = running_text(action), in_order and self._order_lock.locked()
        with show_progress(self._app, f"{title} Waiting for an earlier change." if is_waiting else title) as show:
            if not in_order:
                return await sending
            async with self._order_lock:
                show(title)
                return await sending

    def forbid_undo(self, reason: str) -> None:
        """Add a step to the undo history for a write that cannot be undone. Undoing the step only shows `reason`."""
        self._add_step(reason)

    def add_undo(self, undo: DirectUndo) -> None:
        """Add `undo`, a request that undoes a write, to the undo history."""
        self._add_step(undo)

    @_in_background
    async def undo(self) -> None:
        """Undo the newest write, or show the reason why it cannot be undone."""
        app = self._app
        async with self._lock:
            history, undo_result = self._history(), None
            while history and undo_result is None:
                step = history.pop()
                if isinstance(step, _RunningWrite):
                    history.append(step)
                    app.say(
                        f"Could not undo “{step.action}” yet: it is being sent. Press u again in a moment.", tone="care"
                    )
                    return
                if isinstance(step, str):
                    app.say(step, tone="care")
                    return
                if isinstance(step, DirectUndo):
                    self._close_undo_notices()
                    self.run(self._send_undo(step))
                    return
                try:
                    if isinstance(step, LocalChange):
                        await self._undo_change(step)
                        return
                    undo_result = await self._get_session().outbox.undo(step)
                except NotSaved as error:
                    history.append(step)
                    app.say(f"Could not undo your last change: {error}", tone="failed")
                    return
                if undo_result is not None:
                    # Remove the steps whose writes were all undone.
                    done_ids = undo_result.ended_ids
                    history[:] = [
                        each
                        for each in history
                        if not (isinstance(each, WriteGroup) and done_ids.issuperset(each.entry_ids))
                    ]
                    if undo_result.sending_ids:
                        history.append(step._replace(entry_ids=undo_result.sending_ids))
        self._close_undo_notices()
        app.say(undo_result.message if undo_result is not None else "Nothing to undo.")
        if undo_result is not None and undo_result.undone and not app.is_ending:
            entry = undo_result.undone[0]
            view = self._view_of_entry.get(entry.id, "")
            self._go_to_thread(_route_to_written_thread(self._get_session().live, entry, view))

    async def _undo_change(self, change: LocalChange) -> None:
        assert change.undo is not None, "the history has only changes that can be undone"
        is_undone = await change.undo() is not False
        self._close_undo_notices()
        reason = f"Nothing to undo for “{change.action}”: the comments were edited or are no longer pending."
        self._app.say(change.undo_message if is_undone else reason, tone="done" if is_undone else "care")

    async def _send_undo(self, undo: DirectUndo) -> None:
        outcome = await self._send_with_progress(undo.action, undo.send(), in_order=True)
        if isinstance(outcome.result, DirectUndo):
            self._add_step(outcome.result)
        elif outcome.can_be_sent_again:
            self._add_step(undo)  # The undo was not sent, so the next press of `u` tries the undo again.
        is_done = outcome.kind == "done" and not outcome.message
        self._app.say(undo.message if is_done else outcome.message, tone="done" if is_done else "failed")

    def _close_undo_notices(self) -> None:
        for notice in self._app.notices.shown():
            if notice.offers_undo:
                self._app.notices.close(notice.number)


def discard_consequences(entries: Sequence[OutboxEntry]) -> str:
    """Return sentences about the effects of discarding unsent changes, to show before the user confirms."""
    sentences = ["These changes will not be sent." if len(entries) > 1 else "This change will not be sent."]
    if any(each.draft_key and each.traits.text for each in entries):
        sentences.append("Your text will be kept as a draft.")
    if any(each.state == "unknown" for each in entries):
        sentences.append("If a change has already reached the server, it may still take effect.")
    return " ".join(sentences)


async def discard_entries(app: HostApp[Any], outbox: Outbox, entries: Iterable[OutboxEntry]) -> None:
    """Discard unsent changes. If a change is being sent or was sent, tell the user instead. Stop at a disk error."""
    for entry in entries:
        try:
            discarded_entry = await outbox.discard(entry.id)
        except NotSaved as error:
            app.say(f"Could not discard “{entry.action}”: {error}", tone="failed")
            return
        if discarded_entry is None:
            app.say(f"Could not discard “{entry.action}”: it is being sent or was already sent.", tone="failed")


def _cannot_undo(action: str) -> str:
    return f"You cannot undo “{action}” by pressing u."


def running_text(action: str) -> str:
    """Return the notice that is shown while an action is running, such as `Approving #4…` for `approve #4`."""
    verb, _, item = action.partition(" ")
    stem = f"{verb}t" if verb in ("set", "submit") else verb.removesuffix("e")
    return f"{stem[:1].upper()}{stem[1:]}ing {item}…"


@contextmanager
def show_progress(app: HostApp[Any], text: str) -> Iterator[Callable[[str], None]]:
    """Show `text` as a notification while the `with` block runs, unless the block ends at once. Yields a function that
    replaces the text."""
    delay, notice_number = Delay(app), 0

    def replace(text: str) -> None:
        nonlocal notice_number
        delay.stop()
        app.notices.close(notice_number)
        notice_number = app.notices.say(text, seconds=MAX_PROGRESS_SECONDS)

    delay.start(_PROGRESS_DELAY, lambda: replace(text))
    try:
        yield replace
    finally:
        delay.stop()
        app.notices.close(notice_number)


def _route_to_written_thread(live: Live, entry: OutboxEntry, mode: str) -> ToThread:
    at, thread_id = entry.at, entry.traits.thread_id
    thread = live.peek(comments.Get(at=at, comment_id=thread_id, format="markdown")).value if thread_id else None
    # If the thread itself is not cached, a cached list of threads may have it.
    for op in (all_threads_op(at), open_threads_op(at)):
        if thread_id and thread is None and (threads := live.peek(op).value) is not None:
            thread = next((each for each in threads.items if each.id == thread_id), None)
    target = thread.target if thread is not None else None
    page = target.page.id if target is not None and target.page is not None else entry.traits.page_id or None
    node = target.node.id if target is not None and target.node is not None else ""
    return ToThread(at, thread, page, node or entry.traits.block_key, mode)
