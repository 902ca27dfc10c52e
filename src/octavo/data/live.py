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
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from octavo.api.errors import ApiError, Forbidden, NotFound, NotSent, Outcome, PaginationError
from octavo.api.operation import SPECS, Listing, ListPage, Operation
from octavo.api.paging import read_pages
from octavo.api.wire import encode, location
from octavo.concurrency import Tasks
from octavo.data.answer import MOST_PAGES, Answer, Edit, Snapshot, Watcher
from octavo.data.availability import Availability
from octavo.data.observers import Observers
from octavo.data.response_cache import ResponseCache, never_changes
from octavo.data.sending import Send
from octavo.data.state_db import utc_now
from octavo.data.sync_queue import Rank, Want
from octavo.data.syncer import Syncer
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.write_kind import Basis

if TYPE_CHECKING:
    from octavo.data.search_index import SearchIndex
    from octavo.data.writes.write_kind import DurableWrite

__all__ = ["Live", "Send", "Snapshot"]

T = TypeVar("T")

KEPT = 40
"""Responses without watchers that stay in memory. All others are on disk."""
CONFIRMED = 200
"""Confirmed writes that may still be applied to an older response."""
LONG = 256 * 1024
"""Bytes of a cached response from which it is decoded in a thread."""
NOT_HERE = "Not available offline: Octavo has not loaded this before."


class _Response(NamedTuple):
    """A response as it came, and what it is worth."""

    value: Any
    """All pages of a list as one."""
    to_cache: Any
    """A list as a whole, else its first page. None if there is nothing to cache."""
    pages: int
    mark: int
    """Number of confirmed writes when the request was sent."""
    requested_at: datetime


class Live:
    """Responses in memory, their watchers, and the writes that are applied to them."""

    def __init__(
        self,
        send: Send,
        shelf: ResponseCache,
        outbox: Outbox,
        *,
        index: SearchIndex | None = None,
        now: Callable[[], datetime] = utc_now,
        low: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`index` is the search index, which learns each response. `low` returns the seconds that background requests have
        to wait because the rate limit runs low."""
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
        self.syncer: Syncer[_Response] = Syncer(shelf, self._read, self._accept, self._fail, now=now, low=low)
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._tasks = Tasks("A refresh")
        self._confirmed: list[tuple[int, OutboxEntry]] = []
        self._confirmations = 0
        self._written: list[Operation[Any]] = []
        """Confirmed writes of the outbox whose surroundings have not been fetched again yet."""
        self._closed = False
        outbox.basis_for = self._basis
        outbox.observe_done(self._done)
        outbox.observe(self._refold)

    def unavailable(self, op: Operation[Any] | type[Operation[Any]]) -> str | None:
        """Return why nobody can run an operation here: the server or the plan does not have it. None if it is
        available, as far as is known."""
        return self.availability.unavailable(op)

    def watch(
        self,
        op: Operation[T],
        watcher: Callable[[Snapshot[T]], None],
        *,
        rank: Rank = Rank.NOW,
        anew: bool = True,
        most: int = 0,
    ) -> Callable[[], None]:
        """Call `watcher` now with the cached response and again on each change. Returns a function that ends this.

        The response is fetched in the background, unless it is cached and never changes, until the last watcher leaves.
        Without `anew`, a response that others watch is not fetched again. A list is read on until it is whole or has
        `most` items.
        """
        self.outbox.start()
        answer = self._answer(op)
        is_kept_up = not anew and bool(answer.watchers) and answer.value is not None and answer.error is None
        new = Watcher(watcher, rank, most)
        answer.watchers.append(new)
        if not answer.final and (answer.loading or not is_kept_up):
            self._want(answer)
        watcher(self._snapshot(answer))
        self._read_on(answer)
        return partial(self._leave, answer, new)

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
        before = answer.value
        await self.syncer.get(answer.op, Rank.AWAITED)
        return answer.value is not before

    async def refresh(self, op: Operation[Any]) -> None:
        """Fetch a response again. The old one is shown meanwhile; an error is shown beside it."""
        answer = self._answer(op)
        if not answer.final:
            try:
                await self._fetch(answer, Rank.NOW)
            except ApiError:
                return  # the error is in the snapshot

    async def fetch(self, op: Operation[T], *, rank: Rank = Rank.NOW) -> T:
        """Fetch a response, cache and show it. The cached response is not read for ranks after NOW. Raises ApiError."""
        value: T = await self._fetch(self._answer(op, kept=rank is Rank.NOW), rank)
        return value

    async def _fetch(self, answer: Answer, rank: Rank) -> Any:
        if answer.mark_asked != self._confirmations:
            self.syncer.queue.invalidate(answer.url)  # the caller must see the writes that were confirmed since
        was_shown, answer.loading = answer.shown.loading and answer.loading, True
        if answer.watchers:
            self._want(answer)  # if the request fails, it is sent again for them
        if not was_shown:
            self._show(answer)
        try:
            return await self.syncer.get(answer.op, rank)
        except asyncio.CancelledError:
            self._ended(answer)
            raise

    async def known(self, op: Operation[T], *, rank: Rank = Rank.NOW) -> T:
        """Return the cached response, or fetch it: for responses that never change or may be outdated. Raises
        ApiError."""
        value = self.peek(op).value
        return value if value is not None else await self.fetch(op, rank=rank)

    def hurry(self, op: Operation[Any]) -> None:
        """Let the request for `op` go before others: now the user waits for it."""
        self.syncer.hurry(encode(op).url)

    async def rested(self, op: Operation[Any]) -> None:
        """Wait until no request for the response runs. Sends nothing."""
        await self._landed(self._answer(op))

    def let_go(self, op: Operation[Any]) -> None:
        """Release the memory of a response unless it has watchers. It stays on disk."""
        key = encode(op).url
        if (answer := self._answers.get(key)) is not None and self._is_idle(answer):
            del self._answers[key]

    async def more(self, op: Listing[Any], *, rank: Rank = Rank.NOW) -> None:
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
            await self._landed(answer)
            if answer.pages < answer.wanted and answer.value.next is not None:
                await self._extend(answer, rank)
        except (ApiError, asyncio.CancelledError) as error:
            answer.wanted = max(1, answer.pages)
            if not isinstance(error, ApiError):
                raise
        finally:
            answer.extending = False

    async def _extend(self, answer: Answer, rank: Rank) -> None:
        """Fetch the page after those that are here. Raises ApiError."""
        assert isinstance(answer.op, Listing), "only a list goes on"
        before, now = answer.value, self.now()
        answer.loading = True
        self._show(answer)
        try:
            send = partial(self.syncer.get, rank=rank)
            _, value, pages = await self._read_list(answer.op, send, answer=answer, after=before)
        except ApiError as error:
            answer.error = copy(error)
            raise
        else:
            if answer.value is before:  # else it was read again meanwhile, with all pages that are wanted
                answer.error = None
                self._take(answer, _Response(value, value if value.next is None else None, pages, answer.mark, now))
        finally:
            self._ended(answer, is_shown=False)
            self._show(answer)

    async def read_on(
        self,
        op: Listing[Any],
        most: int,
        *,
        rank: Rank = Rank.NOW,
        wait: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Fetch further pages of a list until it is whole, has `most` items or `MOST_PAGES` pages, or one of them failed.
        `wait` is awaited before each."""
        answer = self._answer(op)
        await self._landed(answer)  # another caller may be fetching a page
        while self._snapshot(answer).goes_on(most):
            if wait is not None:
                await wait()
            await self.more(op, rank=rank)
            await self._landed(answer)

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
        self.syncer.reached()
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

        def is_near(other: Operation[Any]) -> bool:
            there = location(other)
            near = f"{here}/".startswith(f"{there}/") or f"{there}/".startswith(f"{here}/")
            answer = self._answers.get(encode(other).url)
            return near or _spans(there, whole) or (answer is not None and answer.lists(it))

        self.syncer.invalidate(is_near)
        for answer in tuple(self._answers.values()):
            if answer.watchers and not answer.final and is_near(answer.op):
                self._want(answer)
                if not answer.shown.loading:
                    self._show(answer)

    def _lose(self, op: Operation[Any]) -> None:
        """Remove what was deleted from the search index. Other responses may still contain parts of it: they are
        learned again."""
        if self._index is not None:
            self._index.remove(op)
            for answer in self._answers.values():
                answer.learned = None

    async def settled(self) -> None:
        """Wait until no background request runs. Raises the error of one, which is a bug: an ApiError is in the snapshot."""
        while self.is_busy:
            await self._tasks.wait_idle()
            await self.syncer.wait_all_idle()

    @property
    def is_busy(self) -> bool:
        """Return whether a background request runs or is about to start."""
        return bool(self._tasks) or self.syncer.is_busy

    async def close(self) -> None:
        """Cancel all background requests and start no more."""
        self._closed = True
        await self.syncer.close()
        await self._tasks.close()

    def _want(self, answer: Answer) -> None:
        """Fetch a response in the background for its watchers."""
        if not self._closed:
            answer.loading = True
            rank = min(each.rank for each in answer.watchers)
            self.syncer.add(Want(answer.op, answer.url, answer.keeper, rank, max_age=timedelta()))

    def _leave(self, answer: Answer, watcher: Watcher) -> None:
        if watcher in answer.watchers:
            answer.watchers.remove(watcher)
            # A watcher that leaves often comes back at once.
            asyncio.get_running_loop().call_soon(self._abandon, answer)

    def _abandon(self, answer: Answer) -> None:
        """Cancel the background requests for a response that nobody watches. A request of a caller who awaits it goes on."""
        if answer.reading_on is not None and not any(each.most for each in answer.watchers):
            answer.reading_on.cancel()
        if not answer.watchers:
            self.syncer.drop(answer.keeper)
            self._ended(answer)

    def _ended(self, answer: Answer, *, is_shown: bool = True) -> None:
        """Note that a request was cancelled. Others may go on."""
        was_loading, answer.loading = answer.loading, self.syncer.queue.is_moving(answer.url)
        if is_shown and was_loading and not answer.loading:
            self._show(answer)

    async def _landed(self, answer: Answer) -> None:
        """Wait until no request for a response runs."""
        while answer.loading and not self._closed:
            await self.syncer.wait_step()

    async def _read(self, op: Operation[Any], most: int) -> _Response:
        """Fetch a response: of a list all pages that are wanted, and at least `most` items if it has as many. Raises
        ApiError."""
        mark, now = self._confirmations, self.now()
        answer = self._answers.get(encode(op).url)
        if answer is not None:
            answer.mark_asked = mark
        if _is_pending(op):
            return _Response(ListPage(items=()) if isinstance(op, Listing) else None, None, 1, mark, now)
        if not isinstance(op, Listing) or op.page is not None:
            value = await self.send(op)
            return _Response(value, None if getattr(op, "page", None) else value, 1, mark, now)
        first, read, pages = await self._read_list(op, self.send, answer=answer, most=most)
        return _Response(read, read if read.next is None else first, pages, mark, now)

    async def _read_list(
        self,
        op: Listing[Any],
        send: Send,
        *,
        answer: Answer | None = None,
        after: ListPage[Any] | None = None,
        most: int = 0,
    ) -> tuple[ListPage[Any], ListPage[Any], int]:
        """Return the first page, all pages as one, and their number. Pages without a new item do not count. Raises
        ApiError."""
        first = read = after
        pages = answer.pages if answer is not None and after is not None else 0
        async with aclosing(read_pages(send, op, after=after)) as coming:
            try:
                async for page in coming:
                    if first is None or read is None:
                        first = read = page
                        pages = 1
                    else:
                        pages += bool(page.items and read.items)
                        read = _joined(read, page)
                    wanted = answer.wanted if answer is not None else 1
                    if pages >= wanted and read.items and (len(read.items) >= most or pages >= MOST_PAGES):
                        break
            except PaginationError:
                if not most or read is None:
                    raise  # else the items that came are used
        assert first is not None, "a list must have a first page"
        assert read is not None, "a list must have a first page"
        return first, read, pages

    def _accept(self, op: Operation[Any], response: _Response, again: bool) -> Any:
        """Take a response: into memory and the cache, and show it. `again`: it is fetched once more."""
        if getattr(op, "page", None) is not None:
            return response.value  # it becomes a part of a list
        answer = self._answer(op, kept=False)
        was_shown = not answer.loading and answer.error is None and answer.value == response.value
        answer.error, answer.loading = None, again
        value = self._take(answer, response)
        self.outbox.online()
        if not was_shown:
            self._show(answer)
        return value

    def _take(self, answer: Answer, response: _Response) -> Any:
        """Take a response into memory, the cache and the search index. Return its value."""
        is_same = answer.accept(response.value, response.pages, self.now(), response.mark)
        answer.requested_at = response.requested_at
        value, unreadable = answer.value, getattr(response.value, "unreadable", 0)
        if response.to_cache is not None and not (unreadable and never_changes(answer.op)):
            # Not cached if it never changes and a part is unreadable: a newer Octavo may read that part.
            answer.put = self.shelf.put(answer.op, response.to_cache, still=answer.put if is_same else None)
        if self._index is not None and answer.learned is not value:
            self._index.learn(answer.op, value)
            answer.learned = value
        if unreadable:
            self.left_out.notify(answer.op, unreadable)
        return value

    def _fail(self, op: Operation[Any], error: ApiError) -> None:
        """Show an error. A background request shows it only if it concerns the thing itself."""
        if isinstance(error, NotFound | Forbidden):
            self._lose(op)
        answer = self._answers.get(encode(op).url)
        if answer is None or getattr(op, "page", None) is not None:
            return
        if isinstance(error, NotSent) and not self._is_here(answer) and not str(error).startswith(NOT_HERE):
            error.args = (f"{NOT_HERE} {error}",)  # callers of the same request share one error
        was_loading, before = answer.loading, answer.error
        if was_loading or isinstance(error, NotFound | Forbidden):
            answer.error = copy(error)  # without its traceback, whose frames would stay in memory with it
        answer.loading = False
        if was_loading or answer.error is not before:
            self._show(answer)

    def _answer(self, op: Operation[Any], *, kept: bool = True) -> Answer:
        """Return the response to an operation, created if necessary. Without `kept`, the disk is not read."""
        if (spec := SPECS[type(op)]).method != "GET" or spec.repeats_request:
            raise TypeError(f"the responses of {spec.name} are not cached")
        key = encode(op).url
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = Answer(op, key, final_once_known=never_changes(op))
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
        idle = [key for key, answer in self._answers.items() if self._is_idle(answer)]
        for key in idle[: max(0, len(idle) - KEPT)]:
            del self._answers[key]

    def _is_idle(self, answer: Answer) -> bool:
        """Return whether a response may be removed from memory."""
        return not (answer.watchers or answer.loading or answer.edits or answer.url in self.syncer.queue.flights)

    def _snapshot(self, answer: Answer) -> Snapshot[Any]:
        value, pending = answer.value, 0
        if value is not None:
            on_top = [entry for mark, entry in self._confirmed if mark > answer.mark]
            on_top += self.outbox.entries
            if on_top:
                from octavo.data.writes.optimistic_updates import apply_entries  # lazy: loads the comments area

                value, pending = apply_entries(answer.op, value, on_top, self.outbox.me)
            for edit in answer.edits:
                value = edit.change(value)
                pending += not edit.confirmed
        answer.shown = Snapshot(value, answer.error, answer.loading, answer.fetched_at, pending, answer.pages)
        return answer.shown

    def _show(self, answer: Answer) -> None:
        snapshot = self._snapshot(answer)
        for watcher in tuple(answer.watchers):
            watcher.callback(snapshot)
        self._read_on(answer)

    def _read_on(self, answer: Answer) -> None:
        """Read on in the background if a watcher wants more of the list than is here."""
        most = max((each.most for each in answer.watchers), default=0)
        if answer.reading_on is None and not self._closed and answer.shown.goes_on(most):
            assert isinstance(answer.op, Listing), "only a list has more pages"
            rank = min(each.rank for each in answer.watchers if each.most)
            task = answer.reading_on = self._tasks.start(self.read_on(answer.op, most, rank=rank))
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
                        watcher.callback(answer.shown)

    def _done(self, entry: OutboxEntry) -> None:
        self._confirmations += 1
        self._confirmed = [*self._confirmed[1 - CONFIRMED :], (self._confirmations, entry)]
        self._written.append(entry.op)
        self.syncer.reached()

    def _look_around_written(self) -> None:
        """Fetch what the confirmed writes may have changed: once for writes that are sent one after the other."""
        if self._written and (len(self._written) >= CONFIRMED // 2 or not self.outbox.is_sending):
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
