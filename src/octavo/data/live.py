"""The responses that screens show: from the cache at once, then from the server, with unconfirmed writes applied.

    leave = live.watch(comments.List(at=here), self.show)
    await live.write(spaces.Update(at=here, title="Guide"), (spaces.Get(at=here), rename))

A response is cached as the server sent it. Each snapshot applies the writes of the outbox and the edits of `write`
to the response, so an undone write only has to be forgotten. A confirmed write stays applied until a response is
here that was requested after it: nothing flickers in between.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from copy import copy
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api.errors import ApiError, Forbidden, LocalFailure, NotFound, NotSent, Outcome
from octavo.api.operation import SPECS, Listing, ListPage, Operation
from octavo.api.paging import read_pages
from octavo.api.urgency import asked_for
from octavo.api.wire import encode, location
from octavo.concurrency import Tasks
from octavo.data.answer import Answer, Edit, Snapshot
from octavo.data.availability import Availability
from octavo.data.observers import Observers
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
"""Responses without watchers that stay in memory. All others are on disk."""
CONFIRMED = 200
"""Confirmed writes that may still be applied to an older response."""
LONG = 256 * 1024
"""Bytes of a cached response from which it is decoded in a thread."""
NOT_HERE = "Not available offline: Octavo has not loaded this before."


class Live:
    """Responses in memory, their watchers, and the writes that are applied to them."""

    def __init__(
        self,
        send: Send,
        shelf: ResponseCache,
        outbox: Outbox,
        *,
        index: Index | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`index` is the search index, which learns each response."""
        self.availability = Availability(send)
        self.send: Send = self.availability
        self.outbox = outbox
        self.reverts_pages = True
        """False once the server has edited content but could not revert a page."""
        self.marks_drafts = True
        """False once the server has said that change requests have no draft status."""
        self.specifications_read = 0
        """Number of times that a stored specification was parsed again. Results of earlier ones may be outdated."""
        self.left_out: Observers[[Operation[Any], int]] = Observers()
        """Called with the operation and the number of items of its response that cannot be read."""
        self.shelf = shelf
        self._index = index
        self.now = now
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._tasks = Tasks("A refresh")
        self._confirmed: list[tuple[int, Entry]] = []
        self._confirmations = 0
        self._written: list[Operation[Any]] = []
        """Confirmed writes of the outbox whose surroundings have not been fetched again yet."""
        self._closed = False
        outbox.basis_for = self._basis
        outbox.on_done(self._done)
        outbox.watch(self._refold)

    def unavailable(self, op: Operation[Any] | type[Operation[Any]]) -> str | None:
        """Return why nobody can run an operation here: the server or the plan does not have it. None if it is
        available, as far as is known."""
        return self.availability.unavailable(op)

    def watch(
        self,
        op: Operation[T],
        watcher: Callable[[Snapshot[T]], None],
        *,
        patiently: bool = False,
        anew: bool = True,
        most: int = 0,
    ) -> Callable[[], None]:
        """Call `watcher` now with the cached response and again on each change. Returns a function that ends this.

        The response is fetched in the background, unless it is cached and never changes, until the last watcher leaves.
        With `patiently`, requests the user waits for go first. Without `anew`, a response that others watch is not fetched
        again. A list is read on until it is whole or has `most` items.
        """
        self.outbox.start()
        answer = self._answer(op)
        is_kept_up = not anew and bool(answer.watchers) and answer.value is not None and answer.error is None
        answer.watchers.append(watcher)
        if patiently:
            answer.patient.append(watcher)
        if most:
            answer.most[watcher] = most
        answer.behind = patiently and (answer.behind or not answer.loading)
        if not (answer.loading or answer.final or is_kept_up):
            self._freshen(answer)
            answer.loading = True
        watcher(self._snapshot(answer))
        self._read_on(answer)
        return partial(self._leave, answer, watcher)

    def peek(self, op: Operation[T]) -> Snapshot[T]:
        """Return the snapshot of a response in memory or on disk. Sends nothing."""
        return self._snapshot(self._answer(op))

    @property
    def watched(self) -> tuple[Answer, ...]:
        """The responses that have watchers and may change."""
        return tuple(
            each for each in self._answers.values() if each.watchers and not each.final and not _is_pending(each.op)
        )

    def as_of(self, op: Operation[Any]) -> datetime | None:
        """Return when a response was last known to be current. None if there is none, or if it never changes."""
        answer = self._answers.get(encode(op).url)
        return answer.last_known if answer is not None else None

    def followed(self, op: Operation[Any]) -> Answer:
        """Return the response to a watched operation: the same object as long as it has watchers."""
        return self._answer(op)

    async def look_again(self, answer: Answer) -> bool:
        """Fetch a watched response again in the background. Return whether it differs. Watchers are only told of a
        difference. Raises ApiError, which is shown only if it concerns the thing itself."""
        if answer.loading or answer.final or not answer.watchers:
            return False
        before = answer.differed
        await self._ask(answer, behind=True, quietly=True)
        return answer.differed != before

    async def refresh(self, op: Operation[Any]) -> None:
        """Fetch a response again. The old one is shown meanwhile; an error is shown beside it."""
        await self._refresh(self._answer(op), behind=False)

    async def _refresh(self, answer: Answer, *, behind: bool) -> None:
        if not answer.final:
            try:
                await self._ask(answer, behind=behind)
            except ApiError:
                return  # the error is in the snapshot

    async def fetch(self, op: Operation[T], *, patiently: bool = False) -> T:
        """Fetch a response, cache and show it. With `patiently`, other requests go first and the cached response is
        not read. Raises ApiError."""
        value: T = await self._ask(self._answer(op, kept=not patiently), behind=patiently)
        return value

    async def known(self, op: Operation[T], *, patiently: bool = False) -> T:
        """Return the cached response, or fetch it: for responses that never change or may be outdated. Raises
        ApiError."""
        value = self.peek(op).value
        return value if value is not None else await self.fetch(op, patiently=patiently)

    def hurry(self, op: Operation[Any]) -> None:
        """Let a request for `op` that was sent patiently go before others: now the user waits for it."""
        if (answer := self._answers.get(encode(op).url)) is not None:
            answer.behind = False

    async def rested(self, op: Operation[Any]) -> None:
        """Wait until no request for the response runs. Sends nothing."""
        await self._answer(op).idle()

    def let_go(self, op: Operation[Any]) -> None:
        """Release the memory of a response unless it has watchers. It stays on disk."""
        key = encode(op).url
        if (answer := self._answers.get(key)) is not None and answer.idle_now:
            del self._answers[key]

    async def more(self, op: Listing[Any], *, patiently: bool = False) -> None:
        """Fetch the next page of a list, which a refresh then fetches as well. An error is in the snapshot."""
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
        except (ApiError, asyncio.CancelledError) as error:
            answer.wanted = max(1, answer.pages)
            if not isinstance(error, ApiError):
                raise
        finally:
            answer.extending = False

    async def read_on(
        self,
        op: Listing[Any],
        most: int,
        *,
        patiently: bool = False,
        wait: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Fetch further pages of a list until it is whole, has `most` items or `MOST_PAGES` pages, or one of them failed.
        `wait` is awaited before each."""
        answer = self._answer(op)
        await answer.idle()  # another caller may be fetching a page
        while self._snapshot(answer).goes_on(most):
            if wait is not None:
                await wait()
            await self.more(op, patiently=patiently)
            await answer.idle()

    async def write(self, op: Operation[T], *edits: tuple[Operation[Any], Callable[[Any], Any]]) -> T:
        """Send `op` now and show `edits` meanwhile. They are removed if it fails. Raises ApiError."""
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
                self.touched(op)  # the write may have arrived all the same
            raise
        self._confirmations += 1
        for answer, edit in made:
            edit.confirmed = self._confirmations
            self._show(answer)
        self.touched(op)
        return result

    def touched(self, op: Operation[Any]) -> None:
        """Fetch what a confirmed write may have changed: the watched responses above and below its path, and the
        lists that contain its target.

        A list of all things of a kind in an organization is one of them: the target may belong to it only now.
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
        """Remove what was deleted from the search index. Other responses may still contain parts of it: they are
        learned again."""
        if self._index is not None:
            self._index.lose(op)
            for answer in self._answers.values():
                answer.learned = None

    async def settled(self) -> None:
        """Wait until no background request runs. Raises the error of one, which is a bug: an ApiError is in the snapshot."""
        await self._tasks.wait_idle()

    async def close(self) -> None:
        """Cancel all background requests and start no more."""
        self._closed = True
        await self._tasks.close()

    def _freshen(self, answer: Answer) -> None:
        answer.stale = True
        if answer.freshening is None and not self._closed:
            # Until the task sends a request, the last request is its own only if that has ended.
            answer.asked_behind = 0 if answer.loading else answer.asked
            answer.freshening = self._tasks.start(self._freshened(answer))

    async def _freshened(self, answer: Answer) -> None:
        """Fetch the response until no write has affected it since the request was sent."""
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
        answer.most.pop(watcher, None)
        for task in (
            answer.freshening if not answer.watchers else None,
            answer.reading_on if not answer.most else None,
        ):
            if task is not None:
                # A watcher that leaves often comes back at once.
                task.get_loop().call_soon(self._abandon, answer)

    def _abandon(self, answer: Answer) -> None:
        """Cancel the background request for a response that nobody watches. A request of a caller who awaits it goes on."""
        if answer.reading_on is not None and not answer.most:
            answer.reading_on.cancel()
        task = answer.freshening
        if task is None or answer.watchers:
            return
        answer.freshening = None
        task.cancel()
        if answer.asked == answer.asked_behind:
            answer.asked += 1  # the response to the cancelled request does not count
            answer.loading = False
            answer.rest()

    async def _ask(self, answer: Answer, *, behind: bool, extend: bool = False, quietly: bool = False) -> Any:
        """Fetch a response. `behind`: nobody waits for it. `quietly`: watchers are told only if it differs."""
        answer.asked += 1
        ticket, mark = answer.asked, self._confirmations
        answer.behind = behind and (answer.behind or not answer.loading)
        if not quietly and not (answer.loading and answer.told_loading):
            answer.loading = True
            self._show(answer)
        error, before = answer.error, answer.differed
        try:
            to_cache, value, pages = await self._read(answer, extend=extend)
            error = None
        except ApiError as failed:
            if isinstance(failed, NotSent) and not self._is_here(answer) and not str(failed).startswith(NOT_HERE):
                failed.args = (f"{NOT_HERE} {failed}",)  # callers of the same request share one error
            error = copy(failed)  # without its traceback, whose frames would stay in memory with it
            if isinstance(failed, NotFound | Forbidden):
                self._lose(answer.op)
            raise
        else:
            if ticket == answer.asked:
                differed = answer.differed
                answer.accept(value, pages, self.now(), answer.mark if extend else mark)
                unreadable = getattr(value, "unreadable", 0)
                if to_cache is not None and not (unreadable and immutable(answer.op)):
                    # Not cached if it never changes and a part is unreadable: a newer Octavo may read that part.
                    still = answer.put if answer.differed == differed else None
                    answer.put = self.shelf.put(answer.op, to_cache, still=still)
                if self._index is not None and answer.learned is not value:
                    self._index.learn(answer.op, value)
                    answer.learned = value
                if unreadable:
                    self.left_out.notify(answer.op, unreadable)
            self._reached(answer)
            return value
        finally:
            if ticket == answer.asked:
                if quietly and error is not None and not isinstance(error, NotFound | Forbidden):
                    error = answer.error  # the shown response is as current as before
                is_shown = quietly and not answer.loading and error == answer.error and answer.differed == before
                answer.loading, answer.error = False, error
                answer.rest()
                if not is_shown:
                    self._show(answer)

    async def _read(self, answer: Answer, *, extend: bool) -> tuple[Any, Any, int]:
        """Return what to cache, all pages wanted as one, and their number; with `extend` only the pages after those that are
        here are fetched. Pages without a new item do not count.

        A list is cached whole, else its first page. None if there is nothing to cache. Raises ApiError.
        """
        if _is_pending(answer.op):
            return None, ListPage(items=()) if isinstance(answer.op, Listing) else None, 1
        if not isinstance(answer.op, Listing):
            value = await self._send(answer, answer.op)
            return value, value, 1
        first: ListPage[Any] | None = None
        read: ListPage[Any] | None = answer.value if extend else None
        pages = answer.pages if extend else 0
        async with aclosing(read_pages(partial(self._send, answer), answer.op, after=read)) as coming:
            async for page in coming:
                if read is None:
                    first = read = page
                    pages = 1
                else:
                    pages += bool(page.items and read.items)
                    read = _joined(read, page)
                if pages >= answer.wanted and read.items:
                    break
        assert read is not None, "a list must have a first page"
        return read if read.next is None else first, read, pages

    async def _send(self, answer: Answer, op: Operation[T]) -> T:
        with asked_for(lambda: not answer.behind):
            return await self.send(op)

    def _answer(self, op: Operation[Any], *, kept: bool = True) -> Answer:
        """Return the response to an operation, created if necessary. Without `kept`, the disk is not read."""
        if (spec := SPECS[type(op)]).method != "GET" or spec.again:
            raise TypeError(f"the responses of {spec.name} are not cached")
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
        """Return whether a response is in memory or on disk."""
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

        self._tasks.start(decode())

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
                from octavo.data.writes.optimistic_updates import fold  # lazy: loads the comments area

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
        self._read_on(answer)

    def _read_on(self, answer: Answer) -> None:
        """Read on in the background if a watcher wants more of the list than is here."""
        most = max(answer.most.values(), default=0)
        if answer.reading_on is None and not self._closed and answer.shown.goes_on(most):
            assert isinstance(answer.op, Listing), "only a list has more pages"
            patiently = all(watcher in answer.patient for watcher in answer.most)
            task = answer.reading_on = self._tasks.start(self.read_on(answer.op, most, patiently=patiently))
            task.add_done_callback(partial(self._read_it, answer))

    def _read_it(self, answer: Answer, task: asyncio.Task[None]) -> None:
        answer.reading_on = None
        if not task.cancelled() and task.exception() is None:
            self._read_on(answer)  # another watcher may want more

    def _refold(self) -> None:
        """Apply the changed outbox to all watched responses, and tell the watchers of those that differ."""
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
        """Fetch what could not be fetched before: the server has responded to `by`. The outbox need not wait either."""
        self.outbox.online()
        for answer in tuple(self._answers.values()):
            failed = isinstance(answer.error, NotSent | LocalFailure)
            if answer is not by and failed and answer.watchers and not answer.loading:
                self._freshen(answer)

    def _look_around_written(self) -> None:
        """Fetch what the confirmed writes may have changed: once for writes that are sent one after the other."""
        if self._written and (len(self._written) >= CONFIRMED // 2 or not self.outbox.is_going_out):
            written, self._written = self._written, []
            for op in written:
                self.touched(op)

    def _basis(self, op: DurableWrite) -> Basis:
        from octavo.data.writes.optimistic_updates import basis_of  # lazy: loads the comments area

        return basis_of(
            op,
            (
                (answer.op, (answer.shown if answer.watchers else self._snapshot(answer)).value)
                for answer in tuple(self._answers.values())
                if answer.value is not None and getattr(answer.op, "at", None) == op.at
            ),
        )


def reach(op: Operation[Any]) -> str:
    """Return the path of what a write changes: of an action its target, of a merge the space, of a part of a site the
    site."""
    spec, path = SPECS[type(op)], location(op)
    if spec.name.startswith("site_structure."):
        return "/".join(path.split("/")[:6])  # a part of a site that is created or moved is in several lists
    if spec.path == "/merge":
        return path.partition("/change-requests/")[0]
    if spec.path == "{content}":
        return path.rpartition("/content")[0]
    is_list = any(other.method == "GET" and other.path == spec.path for other in SPECS.values())
    return path if spec.method != "POST" or is_list else path.rpartition("/")[0]


def _spans(there: str, here: str) -> bool:
    """Return whether `there` is the path of a list of an organization that counts or contains things like the one at
    `here`."""
    return there.startswith("/v1/orgs/") and there.rpartition("/")[2] in here.split("/")[2::2]


def _joined(page: ListPage[Any], following: ListPage[Any]) -> ListPage[Any]:
    """Return two pages of a list as one."""
    items, unreadable = (*page.items, *following.items), page.unreadable + following.unreadable
    return page.model_copy(update={"items": items, "next": following.next, "unreadable": unreadable})


def _is_pending(op: Operation[Any]) -> bool:
    """Return whether an operation reads something that the server does not have yet."""
    return str(getattr(op, "comment_id", "")).startswith("pending-")
