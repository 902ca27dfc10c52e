"""Spaces that are available offline: the responses that their views ask for, fetched ahead, pinned on disk and kept
current.

    offline.keep(space)                    # from now on, also after a restart
    offline.of("docs")                     # the progress, or None
    offline.let_go("docs")                 # and delete the copies

Of several instances of Octavo, the one that holds the lock `offline` downloads. The others show its progress, and
one of them takes over when it ends. Spaces are downloaded one after the other, with `AT_ONCE` requests that yield
to those the user waits for. None is sent while the rate limit runs low. A turn fetches the space, its threads and
its lists of change requests, then only what has changed since (`offline_parts.py`). Each response is pinned when
it arrives, so an interrupted turn goes on where it ended.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from octavo.api.errors import ApiError, Forbidden, NotFound, PaginationError, RateLimited, Unauthorized, Unreachable
from octavo.api.operation import Listing, ListPage
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.concurrency import Tasks
from octavo.data.observers import Observers
from octavo.data.state import NotSaved, State

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.data.offline_parts import OfflinePart

AT_ONCE = 2
"""Requests at the same time. The client sends six: the others are left for the user."""
STORED_EVERY = 3.0
"""Seconds between two times that progress is stored, for other instances of Octavo."""
TAKE_OVER_EVERY = 5.0
"""Seconds between two times that an instance looks whether the one that downloads has ended."""
EVERY = timedelta(minutes=10)
"""Time between two turns of a space that no list reports as changed: no list counts replies."""
SHOWN_EVERY = 0.3
"""Seconds between two reports of progress."""
SIZED_EVERY = 50
"""Responses between two measurements of the size on disk."""
MOST_LISTED = 10_000
"""Items of a list that are available offline."""
FIRST_WAIT, LONGEST_WAIT = 5.0, 300.0
"""Seconds of the first and the longest pause after no request got through."""
USUAL_PAGE = 6_000
"""Bytes of a page on disk if none is there yet: the mean of the demo library."""
MANY_PAGES = 500
"""Pages from which the user is asked before a download."""
_MOST_REMEMBERED = 100
"""Failures that are stored for the next start. The next turn finds all of them again."""
_FACT = _ROLE = "offline"
"""Name of the fact that the spaces are stored under, and of the lock of the instance that downloads."""

Phase = Literal["waiting", "reading", "kept", "lost"]


@dataclass(frozen=True)
class FailedRead:
    """A part of a space that could not be fetched."""

    what: str
    """The part, such as `the page Tides`."""
    why: str
    """The cause, as a sentence."""


@dataclass(frozen=True)
class KeptSpace:
    """A space that is available offline, and the progress of its download."""

    id: str
    title: str
    state: Phase = "waiting"
    """`lost` if the space may no longer be read. Its copies are still here."""
    why: str = ""
    """The cause of `waiting` or `lost`, as a sentence."""
    read: int = 0
    """Number of the `of` responses that are here."""
    of: int = 0
    bytes: int = 0
    pages: int = 0
    failed: tuple[FailedRead, ...] = ()
    read_at: datetime | None = None
    """When the last complete turn ended. None if there was none."""


@dataclass(frozen=True)
class Size:
    """Estimated size of a download."""

    pages: int
    bytes: int
    """Estimated from the pages on disk."""

    @property
    def is_large(self) -> bool:
        """Return whether the user is asked before the download."""
        return self.pages > MANY_PAGES


class Offline:
    """The spaces of a profile that are available offline."""

    def __init__(self, live: Live, state: State, *, low: Callable[[], float] = lambda: 0.0) -> None:
        """`low` returns the seconds that background requests have to wait because the rate limit runs low."""
        self._live, self._state, self._low = live, state, low
        self._spaces: dict[str, KeptSpace] = {each.id: _interrupted(each) for each in _remembered(state.recall(_FACT))}
        self._edits = 0
        """How often `_spaces` was stored."""
        self._is_reloading = False
        self._was_refused = False
        """Whether another instance held the lock when this one last asked for it."""
        self._leave_state: Callable[[], None] | None = None
        """Ends the calls of `_reload_soon`. None before `begin`."""
        self._release: Callable[[], None] | None = None
        """Releases the lock that lets this instance download. None while it does not hold the lock."""
        self._stored_at = 0.0
        self._stamps: dict[str, str] = {}
        """The stamp of each space in the list of spaces, when the space was last fetched."""
        self._due: dict[str, None] = {}
        """The spaces that are to be fetched, in order."""
        self._changed: Observers[[]] = Observers()
        self._wake, self._rests = asyncio.Event(), asyncio.Event()
        self._tasks = Tasks("Updating the offline spaces")
        self._turn: _Turn | None = None
        self._telling: asyncio.TimerHandle | None = None

    def of(self, space_id: str) -> KeptSpace | None:
        """Return the progress of a space. None if it is not available offline."""
        return self._spaces.get(space_id)

    @property
    def all(self) -> tuple[KeptSpace, ...]:
        """The spaces that are available offline, the oldest first."""
        return tuple(self._spaces.values())

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` when anything of `all` changed. Returns a function that ends this."""
        return self._changed.add(watcher)

    def begin(self) -> None:
        """Start to fetch what is due, from now on. Does nothing the second time."""
        if self._leave_state is None:
            self._due |= dict.fromkeys(self._spaces)
            self._leave_state = self._state.committed.add(self._reload_soon)
            self._tasks.start(self._run(), name="offline spaces")

    async def size(self, at: SpaceRef) -> Size:
        """Estimate the size of a download. Sends one request. Raises ApiError."""
        from octavo.api.content import ListPages  # lazy: an API area

        tree = await self._live.fetch(ListPages(at=at))
        pages = sum(page.type == "document" for page in tree.walk())
        mean = await asyncio.to_thread(self._live.shelf.usual_length, "/content/page/")
        return Size(pages, round(pages * (mean or USUAL_PAGE)))

    def keep(self, space: Space) -> None:
        """Make a space available offline, or fetch now what has changed in one that is."""
        known = self._spaces.get(space.id)
        title = space.title or "Untitled"
        kept = replace(known, title=title) if known is not None else KeptSpace(space.id, title)
        self._change(replace(kept, state="waiting") if self._was_refused else kept)
        self._store(space.id, is_new=True)
        self._look_at(space.id)

    def let_go(self, space_id: str) -> None:
        """Delete what is available offline of a space, and download no more of it."""
        self._drop(space_id)
        self._store(space_id)

    def _drop(self, space_id: str) -> None:
        if self._turn is not None and self._turn.space_id == space_id:
            self._turn.stop()
        self._due.pop(space_id, None)
        self._stamps.pop(space_id, None)
        if self._spaces.pop(space_id, None) is not None:
            self._live.shelf.unpin(_keeper(space_id))
            self._tell()

    def spaces_came(self, spaces: Iterable[Space]) -> None:
        """Fetch the spaces that have changed according to a list of the server."""
        if not self._spaces:
            return
        from octavo.data.stamps import space_stamp  # lazy: loads API areas

        for space in spaces:
            if space.id in self._spaces and self._stamps.get(space.id, stamp := space_stamp(space)) != stamp:
                self._stamps[space.id] = stamp
                self._look_at(space.id)
            elif space.id in self._due:
                self._wake.set()  # the server has responded

    async def rested(self) -> None:
        """Wait until nothing is to be fetched, or no request gets through."""
        await self._rests.wait()

    async def close(self) -> None:
        """Stop fetching."""
        if self._telling is not None:
            self._telling.cancel()
        if self._leave_state is not None:
            self._leave_state()
        await self._tasks.close()
        if self._release is not None:
            self._release()
            self._release = None

    # Downloading

    def _look_at(self, space_id: str) -> None:
        self._due[space_id] = None
        self._rests.clear()
        self._wake.set()

    async def _run(self) -> None:
        wait = FIRST_WAIT
        while True:
            self._wake.clear()
            if not self._due:
                if await self._slept(EVERY.total_seconds()):
                    self._due |= dict.fromkeys(self._spaces)
                continue
            if not await self._may_download():
                await self._slept(TAKE_OVER_EVERY)
                continue
            if (space_id := next(iter(self._due), None)) is None:
                continue
            try:
                await self._taken(space_id)
            except ApiError as error:
                if space_id in self._spaces:
                    self._change(replace(self._spaces[space_id], state="waiting", why=str(error)))
                    self._store(space_id)
                    again = error.trace.retry_at
                    asked = (again - self._live.now()).total_seconds() if again is not None else 0.0
                    await self._slept(max(wait, asked))
                    wait = min(wait * 2, LONGEST_WAIT)
            else:
                wait = FIRST_WAIT

    async def _slept(self, seconds: float) -> bool:
        """Wait, or until there is something to fetch. Return whether the time is over."""
        self._rests.set()
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return True
        finally:
            self._rests.clear()
        return False

    async def _taken(self, space_id: str) -> None:
        """Take a turn. Raises ApiError if no request gets through or the space cannot be read."""
        turn = self._turn = _Turn(self._live, space_id, self._low, lambda: self._progress(space_id, turn))
        self._change(replace(self._spaces[space_id], state="reading", why=""))
        self._due.pop(space_id, None)
        try:
            space = await turn.run()
        except (Forbidden, NotFound) as error:
            if space_id in self._spaces:
                self._change(replace(self._spaces[space_id], state="lost", why=str(error)))
                self._store(space_id)
            return
        except BaseException:
            self._due[space_id] = None  # the turn did not complete
            raise
        finally:
            self._turn = None
        if space is not None and space_id in self._spaces:
            from octavo.data.stamps import space_stamp

            self._stamps[space_id] = space_stamp(space)
            self._progress(space_id, turn)
            kept = self._spaces[space_id]
            self._change(replace(kept, title=space.title or kept.title, state="kept", why="", read_at=self._live.now()))
            self._store(space_id)

    def _progress(self, space_id: str, turn: _Turn) -> None:
        known = self._spaces.get(space_id)
        if known is not None:
            self._change(
                replace(known, read=turn.read, of=turn.of, bytes=turn.bytes, pages=turn.pages, failed=turn.failed)
            )
            now = asyncio.get_running_loop().time()
            if now - self._stored_at > STORED_EVERY:
                self._stored_at = now
                self._store(space_id)

    def _change(self, kept: KeptSpace) -> None:
        before, self._spaces[kept.id] = self._spaces.get(kept.id), kept
        if before is None or before.state != kept.state:
            self._tell()
        elif before != kept and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(SHOWN_EVERY, self._tell)

    def _tell(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        self._changed.notify()

    # Other instances

    async def _may_download(self) -> bool:
        """Return whether this instance downloads: it holds the lock, or there can be none."""
        if self._release is not None or self._state.read_only:
            return True
        try:
            self._release = self._state.take(_ROLE)
        except NotSaved:
            return True
        if self._release is None:
            self._was_refused = True
            await self._reload()
            return False
        if self._was_refused:
            self._was_refused = False
            await self._reload()
            self._live.shelf.reload_versions()
            self._spaces = {each.id: _interrupted(each) for each in self._spaces.values()}
            self._due |= dict.fromkeys(self._spaces)
            self._tell()
        return True

    def _store(self, space_id: str, *, is_new: bool = False) -> None:
        """Store one space as it is here, or that it is gone. Without `is_new`, a space that another instance has removed
        meanwhile stays removed."""
        self._edits += 1
        kept = self._spaces.get(space_id)

        def changed(stored: Any) -> list[Any]:
            facts = [each for each in stored if isinstance(each, dict)] if isinstance(stored, list) else []
            if kept is None:
                return [each for each in facts if each.get("id") != space_id]
            if all(each.get("id") != space_id for each in facts):
                return [*facts, _said(kept)] if is_new else facts
            if is_new and not kept.of:
                return facts  # another instance has added the space: its progress stays
            return [_said(kept) if each.get("id") == space_id else each for each in facts]

        self._state.change(_FACT, changed)

    def _reload_soon(self) -> None:
        if not self._is_reloading:
            self._is_reloading = True
            self._tasks.start(self._reload(), name="offline spaces of other instances")

    async def _reload(self) -> None:
        """Take over what other instances have added, removed and downloaded."""
        try:
            edits = -1
            while edits != self._edits:  # else `stored` is older than the spaces here
                edits = self._edits
                stored = {each.id: each for each in _remembered(await self._state.recall_now(_FACT))}
        except NotSaved:
            return
        finally:
            self._is_reloading = False
        for space_id in self._spaces.keys() - stored.keys():
            self._drop(space_id)
        for space_id, each in stored.items():
            known = self._spaces.get(space_id)
            if known is None:
                self._change(each)
                self._look_at(space_id)
            elif self._was_refused:
                self._change(each)
            elif each.state == "waiting" and known.state in ("kept", "lost"):
                self._look_at(space_id)  # another instance asked for what has changed


class _Turn:
    """One complete check of a space, which fetches what has changed."""

    def __init__(self, live: Live, space_id: str, low: Callable[[], float], progressed: Callable[[], None]) -> None:
        self.space_id = space_id
        self.read = self.of = self.bytes = self.pages = 0
        self._live, self._shelf, self._low, self._progressed = live, live.shelf, low, progressed
        self._at, self._keeper = SpaceRef(space_id=space_id), _keeper(space_id)
        self._wanted: dict[str, OfflinePart] = {}
        self._pinned: Mapping[str, int | None] = {}
        """The size of each response that is pinned. None if it is not on disk."""
        self._failures: dict[str, FailedRead] = {}
        self._abouts: dict[ChangeRequestRef, ChangeRequest] = {}
        self._queue: deque[OfflinePart] = deque()
        self._stopped = False
        self._is_cut = False
        """Whether a list that leads to other responses could not be read."""

    @property
    def failed(self) -> tuple[FailedRead, ...]:
        return tuple(self._failures.values())

    def stop(self) -> None:
        """Fetch nothing more of the space."""
        self._stopped = True
        self._queue.clear()

    async def run(self) -> Space | None:
        """Fetch what has changed. Return the space as it is now, None if the turn was stopped. Raises ApiError."""
        from octavo.api.spaces import Get  # lazy: an API area
        from octavo.data.offline_parts import of_space

        await self._find_pinned()
        await self._politely()
        self._space: Space = await self._live.fetch(Get(at=self._at), patiently=True)
        if self._space.deleted_at is not None:
            raise NotFound("This space was deleted.")
        self._shelf.pin(self._keeper, f"/v1/spaces/{self.space_id}")
        self._push(of_space(self._space))
        running: set[asyncio.Task[None]] = set()
        try:
            while (self._queue or running) and not self._stopped:
                while self._queue and len(running) < AT_ONCE:
                    running.add(asyncio.get_running_loop().create_task(self._take(self._queue.popleft())))
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                if errors := [error for task in ended if (error := task.exception()) is not None]:
                    raise errors[0]  # the exception of each task was retrieved: none is reported as lost
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if self._stopped:
                self._shelf.unpin(self._keeper)
        if self._stopped:
            return None
        if not self._is_cut:
            gone = self._pinned.keys() - self._wanted.keys() - {f"/v1/spaces/{self.space_id}"}
            self._shelf.unpin(self._keeper, gone)
        await self._measure()
        return self._space

    async def _find_pinned(self) -> None:
        self._pinned = await asyncio.to_thread(self._read_pinned)
        self.bytes = sum(each or 0 for each in self._pinned.values())

    def _read_pinned(self) -> Mapping[str, int | None]:
        self._shelf.flush()
        return self._shelf.pinned(self._keeper)

    async def _measure(self) -> None:
        self.bytes = sum(each or 0 for each in (await asyncio.to_thread(self._read_pinned)).values())

    def _push(self, parts: Iterable[OfflinePart]) -> None:
        """Add responses to those that are wanted."""
        for part in parts:
            if part.url not in self._wanted:
                self._wanted[part.url] = part
                self._queue.append(part)
        self.of = len(self._wanted)

    async def _take(self, part: OfflinePart) -> None:
        """Fetch a response unless its version on disk is current. Raises ApiError if no request gets through."""
        version, is_pinned = self._shelf.versions.get(part.url), self._pinned.get(part.url) is not None
        if version is None or version.stamp != part.stamp or part.is_always_due:
            await self._ask(part)
            return
        if _leads_on(part) or not is_pinned:
            cached = await self._cached(part)
            if cached is None or (isinstance(cached, ListPage) and cached.next is not None):
                await self._ask(part)
                return
            if not is_pinned:  # fetched for another keeper, such as the inbox
                self._shelf.pin(self._keeper, part.url)
            self._go_on_from(part, cached)
        self.read += 1
        self._progressed()

    async def _cached(self, part: OfflinePart) -> Any:
        """Return the response on disk. None if there is none."""
        body = self._shelf.body(part.op)
        decoded = await asyncio.to_thread(self._shelf.decoded, part.op, *body) if body is not None else None
        return decoded[0] if decoded is not None else None

    async def _ask(self, part: OfflinePart) -> None:
        await self._politely()
        if self._stopped:
            return
        try:
            value = self._given(part) or await self._answer(part)
        except ApiError as error:
            if isinstance(error, Unreachable | RateLimited | Unauthorized):
                raise
            self._failures[part.url] = FailedRead(part.what, str(error))
            self._is_cut = self._is_cut or _leads_on(part)
            self._shelf.put_version(part.url, "", str(error))
            self._shelf.pin(self._keeper, part.url)
        else:
            if self._stopped:
                return
            self._shelf.put_version(part.url, part.stamp)
            self._shelf.pin(self._keeper, part.url)
            self.read += 1
            self._go_on_from(part, value)
            if self.read % SIZED_EVERY == 0:
                await self._measure()
        self._progressed()

    async def _answer(self, part: OfflinePart) -> Any:
        from octavo.api.change_requests import ListOfOrganization  # lazy: an API area

        op = part.op
        if part.never_moves:
            return await self._live.known(op, patiently=True)
        value = await self._live.fetch(op, patiently=True)
        if isinstance(op, Listing) and not isinstance(op, ListOfOrganization):
            await self._live.read_on(op, MOST_LISTED, patiently=True, wait=self._politely)
            snapshot = self._live.peek(op)
            if snapshot.error is not None:
                raise snapshot.error
            value = snapshot.value if snapshot.value is not None else value
            if value.next is not None:
                raise PaginationError(f"Only the first {len(value.items)} items are available offline.")
        return value

    def _given(self, part: OfflinePart) -> Any:
        """Return the response if it is known without a request: a thread says that it has no replies. Else None."""
        from octavo.api.comments import ListReplies

        if isinstance(part.op, ListReplies) and part.stamp.startswith("0 "):
            none: ListPage[Any] = ListPage(items=())
            self._shelf.put(part.op, none)
            return none
        return None

    def _go_on_from(self, part: OfflinePart, value: Any) -> None:
        """Add the responses that a response leads to."""
        from octavo.api import change_requests, comments, content
        from octavo.data import offline_parts as parts

        match part.op, value:
            case content.ListPages(at=SpaceRef() as at), content.PageTree():
                self.pages = sum(page.type == "document" for page in value.walk())
                self._push(parts.of_tree(at, value, self._space.revision or ""))
            case comments.List(at=at, status="all"), ListPage():
                self._push(parts.of_threads(at, (each for each in value.items if _is_there(each))))
            case change_requests.List(at=at), ListPage():
                for about in value.items:
                    self._push(parts.of_request(about.ref(at), about))
                    self._abouts[about.ref(at)] = about
            case content.ListChanges(at=ChangeRequestRef() as at), content.Changes():
                if (about := self._abouts.get(at)) is not None:
                    self._push(parts.of_changes(at, about, value))

    async def _politely(self) -> None:
        """Wait while the server's limits run low."""
        while not self._stopped and (seconds := self._low()) > 0:  # noqa: ASYNC110  # no event tells of the rate limit
            await asyncio.sleep(min(seconds, 5.0))


def _keeper(space_id: str) -> str:
    return f"offline {space_id}"


def _leads_on(part: OfflinePart) -> bool:
    """Return whether a response is a list that leads to other responses of a space."""
    from octavo.api import change_requests, comments, content

    match part.op:
        case content.ListPages(at=SpaceRef()) | comments.List(status="all"):
            return True
        case change_requests.List() | content.ListChanges(at=ChangeRequestRef()):
            return True
    return False


def _is_there(thread: Comment) -> bool:
    """Return whether the server has a thread. An unsent one is in the outbox."""
    return not thread.id.startswith("pending-")


def _interrupted(kept: KeptSpace) -> KeptSpace:
    """Return a space as it is while no instance is known to download it."""
    return replace(kept, state="waiting") if kept.state == "reading" else kept


def _said(kept: KeptSpace) -> dict[str, Any]:
    """Return a space as it is stored."""
    at = kept.read_at.isoformat() if kept.read_at is not None else None
    few = replace(kept, failed=kept.failed[:_MOST_REMEMBERED])
    return {**asdict(few), "read_at": at}


def _remembered(facts: object) -> Iterator[KeptSpace]:
    """Return the spaces that are stored, without what an Octavo of another version stored in another way."""
    for fact in facts if isinstance(facts, list) else ():
        if not isinstance(fact, dict) or not isinstance(fact.get("id"), str):
            continue
        numbers = {name: fact[name] for name in ("read", "of", "bytes", "pages") if isinstance(fact.get(name), int)}
        words = {name: fact[name] for name in ("title", "why") if isinstance(fact.get(name), str)}
        state: Phase = next((each for each in get_args(Phase) if each == fact.get("state")), "waiting")
        failed = tuple(
            FailedRead(str(each["what"]), str(each["why"]))
            for each in fact.get("failed") or ()
            if isinstance(each, dict) and each.keys() >= {"what", "why"}
        )
        read_at = None
        if isinstance(fact.get("read_at"), str):
            with suppress(ValueError):
                read_at = datetime.fromisoformat(fact["read_at"])
        yield KeptSpace(
            fact["id"], **{"title": "Untitled", **words}, **numbers, state=state, failed=failed, read_at=read_at
        )
