"""What the screens know: answers shown at once, refreshed behind, with unconfirmed writes on top.

    leave = live.watch(comments.List(at=here), self.show)
    await live.write(spaces.Update(at=here, title="Guide"), (spaces.Get(at=here), rename))

An answer is kept as the server gave it. What is shown is that answer with the writes of the outbox and the edits of
`write` on top: taking a write back is forgetting it. A confirmed write stays on top of an answer until a newer one
was asked for after it, so nothing flickers in between.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from copy import copy
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api.errors import ApiError, Forbidden, LocalFailure, NotFound, NotSent, Outcome, PaginationError
from octavo.api.operation import SPECS, Listing, ListPage, Operation
from octavo.api.urgency import asked_for
from octavo.api.wire import encode, location
from octavo.data.answer import Answer, Edit, Snapshot
from octavo.data.availability import Availability
from octavo.data.response_cache import ResponseCache, immutable
from octavo.data.sending import Send
from octavo.data.state import utc_now
from octavo.data.writes.attempt import Basis
from octavo.data.writes.machine import Entry
from octavo.data.writes.outbox import Outbox

if TYPE_CHECKING:
    from octavo.data.index import Index
    from octavo.data.writes.attempt import DurableWrite

__all__ = ["Live", "Send", "Snapshot"]

T = TypeVar("T")

KEPT = 40
"""Answers nobody watches that stay in memory. All others are on the shelf, a few milliseconds away."""
CONFIRMED = 200
"""Writes done that may still lie on top of an older answer."""
LONG = 256 * 1024
"""Bytes of a kept answer that take too long to decode while the screen waits."""
NOT_HERE = "Not available offline: this was not loaded before."
EMPTY_PAGES = 10
"""Empty pages in a row that are read in search of the next item: an empty page is not the end (C10)."""


class Live:
    """The one object screens ask for data and give writes to."""

    def __init__(
        self,
        send: Send,
        shelf: ResponseCache,
        outbox: Outbox,
        *,
        index: Index | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`index`: what learns the words of all that is read."""
        self.availability = Availability(send)
        self.send: Send = self.availability
        self.outbox = outbox
        self.reverts_pages = True
        """False once the server was found to edit content, but not to put a page back as it was."""
        self.marks_drafts = True
        """False once the server said that it has no operation to mark a change request ready, or a draft."""
        self.specifications_read = 0
        """How often a specification was read anew that was filed here: what was made of one before may be old."""
        self.left_out: Callable[[Operation[Any], int], None] = _nobody
        """Called with how much of an answer could not be read."""
        self.shelf = shelf
        self._index = index
        self.now = now
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._confirmed: list[tuple[int, Entry]] = []
        self._confirmations = 0
        self._written: list[Operation[Any]] = []
        """Writes of the outbox that were done, and around which nothing was asked again yet."""
        self._closed = False
        outbox.basis_for = self._basis
        outbox.on_done(self._done)
        outbox.watch(self._refold)

    def unavailable(self, op: Operation[Any] | type[Operation[Any]]) -> str | None:
        """Why an operation cannot be done here whoever asks, in a sentence: the server does not have it, or the plan does
        not include it. None: it can, as far as is known."""
        return self.availability.unavailable(op)

    def watch(
        self, op: Operation[T], watcher: Callable[[Snapshot[T]], None], *, patiently: bool = False, anew: bool = True
    ) -> Callable[[], None]:
        """Call `watcher` at once with what is known, and again on each change. Returns the way out.

        A refresh starts behind, unless the answer is known and can never change. It ends when the last watcher leaves.
        `patiently`: it is one of many, and what a person waits for is asked before it. Not `anew`: what others watch, and
        so keep as it is, is not asked again because of one more.
        """
        self.outbox.start()
        answer = self._answer(op)
        is_kept_up = not anew and bool(answer.watchers) and answer.value is not None and answer.error is None
        answer.watchers.append(watcher)
        if patiently:
            answer.patient.append(watcher)
        answer.behind = patiently and (answer.behind or not answer.loading)
        if not (answer.loading or answer.final or is_kept_up):
            self._freshen(answer)
            answer.loading = True
        watcher(self._snapshot(answer))
        return partial(self._leave, answer, watcher)

    def peek(self, op: Operation[T]) -> Snapshot[T]:
        """What is known now. Asks nobody."""
        return self._snapshot(self._answer(op))

    @property
    def watched(self) -> tuple[Answer, ...]:
        """All that somebody watches and that may change."""
        return tuple(
            each for each in self._answers.values() if each.watchers and not each.final and not _is_pending(each.op)
        )

    def as_of(self, op: Operation[Any]) -> datetime | None:
        """The last time at which the answer to `op` was known to be as it is. None: there is none, or it never changes."""
        answer = self._answers.get(encode(op).url)
        return answer.last_known if answer is not None else None

    def followed(self, op: Operation[Any]) -> Answer:
        """The answer to `op`, which somebody watches: the same one for as long as they do."""
        return self._answer(op)

    async def look_again(self, answer: Answer) -> bool:
        """Ask again for what is watched, while nobody waits for it: nothing is shown but what came differently. Whether
        it did. Raises ApiError, which is shown only where it says something of the thing itself."""
        if answer.loading or answer.final or not answer.watchers:
            return False
        before = answer.differed
        await self._ask(answer, behind=True, quietly=True)
        return answer.differed != before

    async def refresh(self, op: Operation[Any]) -> None:
        """Ask again. The old answer stays on show until the new one is here; an error is shown beside it."""
        await self._refresh(self._answer(op), behind=False)

    async def _refresh(self, answer: Answer, *, behind: bool) -> None:
        if not answer.final:
            try:
                await self._ask(answer, behind=behind)
            except ApiError:
                return  # it is in the snapshot

    async def fetch(self, op: Operation[T], *, patiently: bool = False) -> T:
        """A fresh answer, kept and shown as well. `patiently`: what others wait for goes before, and what is kept need not be
        read for it. Raises ApiError."""
        value: T = await self._ask(self._answer(op, kept=not patiently), behind=patiently)
        return value

    async def known(self, op: Operation[T], *, patiently: bool = False) -> T:
        """What is known, asked for only when nothing is: for what never changes, or may be of yesterday. Raises ApiError."""
        value = self.peek(op).value
        return value if value is not None else await self.fetch(op, patiently=patiently)

    async def rested(self, op: Operation[Any]) -> None:
        """Wait until no question for it is open. Asks nothing."""
        await self._answer(op).idle()

    def let_go(self, op: Operation[Any]) -> None:
        """Hold its answer in memory no longer, unless somebody watches it: it is on the shelf."""
        key = encode(op).url
        if (answer := self._answers.get(key)) is not None and answer.idle_now:
            del self._answers[key]

    async def more(self, op: Listing[Any], *, patiently: bool = False) -> None:
        """Append the next page to the list on show. From then on a refresh reads as many pages again."""
        answer = self._answer(op)
        if answer.value is None:
            await self.refresh(op)
            return
        if answer.extending or answer.value.next is None:
            return
        answer.extending = True
        try:
            answer.wanted = answer.pages + 1
            await answer.idle()
            if answer.pages < answer.wanted and answer.value.next is not None:
                await self._ask(answer, extend=True, behind=patiently)
        except ApiError:
            answer.wanted = max(1, answer.pages)
        finally:
            answer.extending = False

    async def write(self, op: Operation[T], *edits: tuple[Operation[Any], Callable[[Any], Any]]) -> T:
        """Send `op` now, with `edits` on show from this moment. Taken back when it fails. Raises ApiError."""
        made = [(self._answer(target), Edit(change)) for target, change in edits]
        for answer, edit in made:
            answer.edits.append(edit)
            self._show(answer)
        try:
            result = await self.send(op)
        except BaseException as error:
            for answer, edit in made:
                answer.edits.remove(edit)
                self._show(answer)
            if isinstance(error, asyncio.CancelledError) or (
                isinstance(error, ApiError) and error.outcome is Outcome.UNKNOWN
            ):
                self.touched(op)  # it may have happened all the same
            raise
        self._confirmations += 1
        for answer, edit in made:
            edit.confirmed = self._confirmations
            self._show(answer)
        self.touched(op)
        return result

    def touched(self, op: Operation[Any]) -> None:
        """`op` was confirmed elsewhere: refresh what lies above and below its path, and the lists that show it.

        A list of all there is of its kind in an organization is among them: it may belong there only from now on.
        """
        here, whole = reach(op), location(op)
        it = here.rpartition("/")[2]
        self._lose(op)
        for answer in tuple(self._answers.values()):
            there = location(answer.op)
            near = f"{here}/".startswith(f"{there}/") or f"{there}/".startswith(f"{here}/")
            if answer.watchers and not answer.final and (near or answer.lists(it) or _spans(there, whole)):
                self._freshen(answer)

    def _lose(self, op: Operation[Any]) -> None:
        """Let no words be found of what is gone. Some of them may be in answers that are still so."""
        if self._index is not None:
            self._index.lose(op)
            for answer in self._answers.values():
                answer.learned = None

    async def settled(self) -> None:
        """Wait until nothing is under way. What went wrong unexpectedly is raised."""
        while self._tasks:
            for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
            await asyncio.sleep(0)  # those that had ended before are taken off by a callback that is still to come

    async def close(self) -> None:
        """Stop asking."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _freshen(self, answer: Answer) -> None:
        answer.stale = True
        if answer.freshening is None and not self._closed:
            # Until it asks, the last question is its own only if that was answered.
            answer.asked_behind = 0 if answer.loading else answer.asked
            answer.freshening = self._behind(self._freshened(answer))

    async def _freshened(self, answer: Answer) -> None:
        """Ask until the answer is younger than everything that touched it."""
        try:
            while True:
                answer.stale = False
                answer.asked_behind = answer.asked + 1
                await self._refresh(answer, behind=not answer.waits)
                if not answer.stale:
                    return
        finally:
            if answer.freshening is asyncio.current_task():
                answer.freshening = None

    def _leave(self, answer: Answer, watcher: Callable[[Snapshot[Any]], None]) -> None:
        if watcher in answer.watchers:
            answer.watchers.remove(watcher)
        if watcher in answer.patient:
            answer.patient.remove(watcher)
        if answer.freshening is not None and not answer.watchers:
            # Who leaves often comes back in the same moment.
            answer.freshening.get_loop().call_soon(self._abandon, answer)

    def _abandon(self, answer: Answer) -> None:
        """Ask no more for what nobody watches. A question of somebody who waits for the answer goes on."""
        task = answer.freshening
        if task is None or answer.watchers:
            return
        answer.freshening = None
        task.cancel()
        if answer.asked == answer.asked_behind:
            answer.asked += 1  # whatever comes is late
            answer.loading = False
            answer.rest()

    async def _ask(self, answer: Answer, *, behind: bool, extend: bool = False, quietly: bool = False) -> Any:
        """`behind`: nobody waits for it. `quietly`: it is shown only where it is another answer."""
        answer.asked += 1
        ticket, mark = answer.asked, self._confirmations
        answer.behind = behind and (answer.behind or not answer.loading)
        if not quietly and not (answer.loading and answer.told_loading):
            answer.loading = True
            self._show(answer)
        error, before = answer.error, answer.differed
        try:
            first, value, pages = await (self._next(answer) if extend else self._read(answer))
            error = None
        except ApiError as failed:
            if isinstance(failed, NotSent) and not self._is_here(answer) and not str(failed).startswith(NOT_HERE):
                failed.args = (f"{NOT_HERE} {failed}",)  # those who asked for the same share one error
            error = copy(failed)  # without the frames it came through: it may be kept for days
            if isinstance(failed, NotFound | Forbidden):
                self._lose(answer.op)
            raise
        else:
            if ticket == answer.asked:
                differed = answer.differed
                answer.accept(value, pages, self.now(), answer.mark if extend else mark)
                unreadable = getattr(value, "unreadable", 0)
                if first is not None and not (unreadable and immutable(answer.op)):
                    # What never changes is asked again at the next start: a newer Octavo may read what this one cannot.
                    is_whole = isinstance(value, ListPage) and value.next is None
                    still = answer.put if answer.differed == differed else None
                    answer.put = self.shelf.put(answer.op, value if is_whole else first, still=still)
                if self._index is not None and answer.learned is not value:
                    self._index.learn(answer.op, value)
                    answer.learned = value
                if unreadable:
                    self.left_out(answer.op, unreadable)
            self._reached(answer)
            return value
        finally:
            if ticket == answer.asked:
                if quietly and error is not None and not isinstance(error, NotFound | Forbidden):
                    error = answer.error  # what is on show is as good as it was
                is_shown = quietly and not answer.loading and error == answer.error and answer.differed == before
                answer.loading, answer.error = False, error
                answer.rest()
                if not is_shown:
                    self._show(answer)

    async def _read(self, answer: Answer) -> tuple[Any, Any, int]:
        """The first page, all pages wanted as one, and how many they are."""
        if _is_pending(answer.op):
            return None, ListPage(items=()) if isinstance(answer.op, Listing) else None, 1
        first = value = await self._send(answer, answer.op)
        pages = 1
        if isinstance(answer.op, Listing):
            first = value = _once(first)
            value, pages = await self._further(answer, value, pages)
        return first, value, pages

    async def _send(self, answer: Answer, op: Operation[T]) -> T:
        with asked_for(lambda: not answer.behind):
            return await self.send(op)

    async def _next(self, answer: Answer) -> tuple[Any, Any, int]:
        """All of it, if the list ends with that, all pages as one, and how many they are."""
        value, pages = await self._further(answer, answer.value, answer.pages)
        return value if value.next is None else None, value, pages

    async def _further(self, answer: Answer, value: ListPage[Any], pages: int) -> tuple[ListPage[Any], int]:
        """Read on until as many pages are there as are wanted. Those without anything new do not count."""
        cursors: set[str] = set()
        empty = 0
        while value.next is not None and (pages < answer.wanted or not value.items):
            cursor = value.next.page
            if not cursor:
                raise PaginationError(
                    "Could not load the rest of the list: the page cursor is invalid. Refresh to retry."
                )
            if cursor in cursors or empty == EMPTY_PAGES:
                why = "repeated pages" if cursor in cursors else "sent only empty pages"
                raise PaginationError(f"Could not load the rest of the list: the server {why}. Refresh to retry.")
            cursors.add(cursor)
            before = len(value.items)
            value = _joined(value, await self._send(answer, answer.op.model_copy(update={"page": cursor})))
            if len(value.items) == before:
                empty += 1
            else:
                pages += before > 0
        return value, pages

    def _answer(self, op: Operation[Any], *, kept: bool = True) -> Answer:
        """Not `kept`: who asks for it does without what is on the shelf."""
        if (spec := SPECS[type(op)]).method != "GET" or spec.again:
            raise TypeError(f"{spec.name} is not a read whose answer is kept")
        key = encode(op).url
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = Answer(op, final_once_known=immutable(op))
            self._forget_some()
        if kept and not answer.unpacked:
            answer.unpacked = True
            if answer.value is None and not _is_pending(op) and (body := self.shelf.body(op)):
                self._unpack(answer, *body)
        self._answers.move_to_end(key)
        return answer

    def _is_here(self, answer: Answer) -> bool:
        """Whether there is anything to show of it."""
        return answer.value is not None or (not answer.unpacked and self.shelf.body(answer.op) is not None)

    def _unpack(self, answer: Answer, body: bytes, kept_at: datetime) -> None:
        if len(body) <= LONG:
            if decoded := self.shelf.decoded(answer.op, body, kept_at):
                answer.keep(*decoded)
            return

        async def decode() -> None:
            decoded = await asyncio.to_thread(self.shelf.decoded, answer.op, body, kept_at)
            if decoded and answer.value is None:
                answer.keep(*decoded)
                self._show(answer)

        self._behind(decode())

    def _forget_some(self) -> None:
        idle = [key for key, answer in self._answers.items() if answer.idle_now]
        for key in idle[: max(0, len(idle) - KEPT)]:
            del self._answers[key]

    def _snapshot(self, answer: Answer) -> Snapshot[Any]:
        value, pending = answer.value, 0
        if value is not None:
            on_top = [entry for mark, entry in self._confirmed if mark > answer.mark]
            on_top += self.outbox.entries
            if on_top:
                from octavo.data.writes.optimistic_updates import fold  # brings the comments with it

                value, pending = fold(answer.op, value, on_top, self.outbox.me)
            for edit in answer.edits:
                value = edit.change(value)
                pending += not edit.confirmed
        answer.told_loading = answer.loading
        answer.shown = Snapshot(value, answer.error, answer.loading, answer.fetched_at, pending, answer.pages)
        return answer.shown

    def _show(self, answer: Answer) -> None:
        snapshot = self._snapshot(answer)
        for watcher in tuple(answer.watchers):
            watcher(snapshot)

    def _refold(self) -> None:
        """The outbox changed."""
        self._look_around_written()
        for answer in tuple(self._answers.values()):
            if answer.watchers:
                before = answer.shown
                if self._snapshot(answer) != before:
                    for watcher in tuple(answer.watchers):
                        watcher(answer.shown)

    def _done(self, entry: Entry) -> None:
        self._confirmations += 1
        self._confirmed = [*self._confirmed[1 - CONFIRMED :], (self._confirmations, entry)]
        self._written.append(entry.op)

    def _reached(self, by: Answer) -> None:
        """The server answers `by`: what waits for that need not, and what was asked for in vain before is asked again."""
        self.outbox.online()
        for answer in tuple(self._answers.values()):
            failed = isinstance(answer.error, NotSent | LocalFailure)
            if answer is not by and failed and answer.watchers and not answer.loading:
                self._freshen(answer)

    def _look_around_written(self) -> None:
        """Ask again around all that was written: once for what goes out one after the other."""
        if self._written and (len(self._written) >= CONFIRMED // 2 or not self.outbox.is_going_out):
            written, self._written = self._written, []
            for op in written:
                self.touched(op)

    def _basis(self, op: DurableWrite) -> Basis:
        from octavo.data.writes.optimistic_updates import basis_of  # brings the comments with it

        return basis_of(
            op,
            (
                (answer.op, (answer.shown if answer.watchers else self._snapshot(answer)).value)
                for answer in tuple(self._answers.values())
                if answer.value is not None and getattr(answer.op, "at", None) == op.at
            ),
        )

    def _behind(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What is no `ApiError` is a bug, and nobody waits for this task: the loop tells of it."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            task.get_loop().call_exception_handler({"message": "A refresh failed", "exception": error, "task": task})


def reach(op: Operation[Any]) -> str:
    """The path of what a write changes: a verb changes what it is applied to, a merge the whole space, a part of a site that."""
    spec, path = SPECS[type(op)], location(op)
    if spec.name.startswith("site_structure."):
        return "/".join(path.split("/")[:6])  # what is made or moved in one list of a site is in others too
    if spec.path == "/merge":
        return path.partition("/change-requests/")[0]
    if spec.path == "{content}":
        return path.rpartition("/content")[0]
    is_list = any(other.method == "GET" and other.path == spec.path for other in SPECS.values())
    return path if spec.method != "POST" or is_list else path.rpartition("/")[0]


def _spans(there: str, here: str) -> bool:
    """Whether `there` lists things of a whole organization such as one on the path `here`, with their counts."""
    return there.startswith("/v1/orgs/") and there.rpartition("/")[2] in here.split("/")[2::2]


def _once(page: ListPage[Any]) -> ListPage[Any]:
    """A page without what is in it twice: lists call their rows by these ids."""
    ids: set[str] = set()
    items = []
    for item in page.items:
        if (name := getattr(item, "id", None)) not in ids:
            items.append(item)
        if name is not None:
            ids.add(name)
    return page if len(items) == len(page.items) else page.model_copy(update={"items": tuple(items)})


def _joined(page: ListPage[Any], further: ListPage[Any]) -> ListPage[Any]:
    """Two pages as one, without what came twice because the list moved in between."""
    ids = {item.id for item in page.items if hasattr(item, "id")}
    items = (*page.items, *(item for item in _once(further).items if getattr(item, "id", None) not in ids))
    return page.model_copy(
        update={"items": items, "next": further.next, "unreadable": page.unreadable + further.unreadable}
    )


def _nobody(op: Operation[Any], unreadable: int) -> None:
    """Nobody asked to be told."""


def _is_pending(op: Operation[Any]) -> bool:
    """Whether it asks for something that the server does not have yet."""
    return str(getattr(op, "comment_id", "")).startswith("pending-")
