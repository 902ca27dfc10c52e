"""Spaces that are available offline: the responses that their views ask for, fetched ahead, pinned on disk and kept
current.

    offline.add(space)                     # from now on, also after a restart
    offline.get("docs")                    # the progress, or None
    offline.remove("docs")                 # and delete the copies

Of several instances of Octavo, the one that holds the lock `offline` downloads. The others show its progress, and
one of them takes over when it ends. Spaces are downloaded one after the other: `OfflinePlanner` says what a space needs,
and the Syncer fetches what is not current on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, get_args

from octavo.api.places import SpaceRef
from octavo.concurrency import Tasks
from octavo.data.observers import Observers
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.syncer import RoundKind

if TYPE_CHECKING:
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.data.offline_plan import OfflinePlanner

EVERY = timedelta(minutes=10)
"""Time between two rounds of a space that no list reports as changed: the lists of the organization do not count replies."""
TAKE_OVER_EVERY = 5.0
"""Seconds between two times that an instance looks whether the one that downloads has ended."""
RETRY_AFTER = 60.0
"""Seconds until a space is tried again that could not be fetched at all."""
SHOWN_EVERY = 0.3
"""Seconds between two reports of progress."""
STORED_EVERY = 10
"""Reports of progress between two times that it is stored for other instances of Octavo, with the size on disk."""
USUAL_PAGE = 6_000
"""Bytes of a page on disk if none is there yet: the mean of the demo library."""
MANY_PAGES = 500
"""Pages from which the user is asked before a download."""
_MOST_REMEMBERED = 100
"""Failures that are stored for the next start. The next round finds all of them again."""
_FACT = _ROLE = "offline"
"""Name of the fact that the spaces are stored under, and of the lock of the instance that downloads."""
_RATE_LIMIT = "The server's rate limit is almost reached."

Phase = Literal["waiting", "reading", "kept", "lost"]


@dataclass(frozen=True)
class FailedDownload:
    """A part of a space that could not be fetched."""

    what: str
    """The part, such as `the page Tides`."""
    why: str
    """The cause, as a sentence."""


@dataclass(frozen=True)
class OfflineSpace:
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
    failed: tuple[FailedDownload, ...] = ()
    read_at: datetime | None = None
    """When the last complete round ended. None if there was none."""


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


class OfflineSpaces:
    """The spaces of a profile that are available offline."""

    def __init__(self, live: Live, state: StateDb) -> None:
        self._live, self._state = live, state
        self._spaces: dict[str, OfflineSpace] = {
            each.id: _interrupted(each) for each in _remembered(state.get_fact(_FACT))
        }
        self._edits = 0
        """How often `_spaces` was stored."""
        self._is_reloading = False
        self._was_refused = False
        """Whether another instance held the lock when this one last asked for it."""
        self._leave_state: Callable[[], None] | None = None
        """Ends the calls of `_reload_soon`. None before `begin`."""
        self._release: Callable[[], None] | None = None
        """Releases the lock that lets this instance download. None while it does not hold the lock."""
        self._stamps: dict[str, str] = {}
        """The stamp of each space in the list of spaces, when the space was last fetched."""
        self._due: dict[str, RoundKind] = {}
        """The spaces that need a round, in order, and why."""
        self._changed: Observers[[]] = Observers()
        self._wake, self._rests = asyncio.Event(), asyncio.Event()
        self._tasks = Tasks("Updating the offline spaces")
        self._plan: OfflinePlanner | None = None
        """The plan of the space that is being downloaded."""

    def get(self, space_id: str) -> OfflineSpace | None:
        """Return the progress of a space. None if it is not available offline."""
        return self._spaces.get(space_id)

    @property
    def all(self) -> tuple[OfflineSpace, ...]:
        """The spaces that are available offline, the oldest first."""
        return tuple(self._spaces.values())

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` when anything of `all` changed. Returns a function that ends this."""
        return self._changed.add(watcher)

    def begin(self) -> None:
        """Start to fetch what is due, from now on. Does nothing the second time."""
        if self._leave_state is None:
            self._due |= dict.fromkeys(self._spaces, "start")
            self._leave_state = self._state.committed.add(self._reload_soon)
            self._tasks.start(self._run(), name="offline spaces")

    async def size(self, at: SpaceRef) -> Size:
        """Estimate the size of a download. Sends one request. Raises ApiError."""
        from octavo.api.content import ListPages  # lazy: an API area

        tree = await self._live.fetch(ListPages(at=at))
        pages = sum(page.type == "document" for page in tree.walk())
        mean = await asyncio.to_thread(self._live.cache.mean_body_size, "/content/page/")
        return Size(pages, round(pages * (mean or USUAL_PAGE)))

    def add(self, space: Space) -> None:
        """Make a space available offline, or fetch now what has changed in one that is."""
        known = self._spaces.get(space.id)
        title = space.title or "Untitled"
        kept = replace(known, title=title) if known is not None else OfflineSpace(space.id, title)
        self._change(replace(kept, state="waiting") if self._was_refused else kept)
        self._store(space.id, is_new=True)
        self._look_at(space.id, "refresh")

    def remove(self, space_id: str) -> None:
        """Delete what is available offline of a space, and download no more of it."""
        self._drop(space_id)
        self._store(space_id)

    def _drop(self, space_id: str) -> None:
        from octavo.data.offline_plan import keeper_of  # lazy: loads API areas

        keeper = keeper_of(space_id)
        if self._plan is not None and self._plan.keeper == keeper:
            self._plan = None
        self._live.syncer.drop(keeper)
        self._due.pop(space_id, None)
        self._stamps.pop(space_id, None)
        if self._spaces.pop(space_id, None) is not None:
            self._live.cache.unpin(keeper)
            self._changed.notify()

    def spaces_came(self, spaces: Iterable[Space]) -> None:
        """Fetch the spaces that have changed according to a list of the server."""
        if not self._spaces:
            return
        from octavo.data.stamps import space_stamp  # lazy: loads API areas

        for space in spaces:
            if space.id in self._spaces and self._stamps.get(space.id, stamp := space_stamp(space)) != stamp:
                self._stamps[space.id] = stamp
                self._look_at(space.id, "poll")

    async def rested(self) -> None:
        """Wait until nothing is to be fetched, or requests have to wait."""
        await self._rests.wait()

    async def close(self) -> None:
        """Stop fetching."""
        if self._leave_state is not None:
            self._leave_state()
        await self._tasks.close()
        if self._plan is not None:
            self._live.syncer.drop(self._plan.keeper)
        if self._release is not None:
            self._release()
            self._release = None

    # Downloading

    def _look_at(self, space_id: str, why: RoundKind) -> None:
        self._due[space_id] = why
        self._rests.clear()
        self._wake.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            if not self._due:
                if await self._slept(EVERY.total_seconds()):
                    self._due |= dict.fromkeys(self._spaces, "poll")
            elif not await self._may_download():
                await self._slept(TAKE_OVER_EVERY)
            elif self._due:
                space_id = next(iter(self._due))
                if not await self._download(space_id, self._due.pop(space_id)):
                    self._due.setdefault(space_id, "poll")
                    await self._slept(RETRY_AFTER)

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

    async def _download(self, space_id: str, round_kind: RoundKind) -> bool:
        """Fetch what is not current on disk. Return False if the space itself could not be fetched."""
        from octavo.data.offline_plan import OfflinePlanner, keeper_of  # lazy: loads API areas

        syncer = self._live.syncer
        pinned = await asyncio.to_thread(self._read_pinned, keeper_of(space_id))
        if space_id not in self._spaces:
            return True
        plan = self._plan = OfflinePlanner(space_id, self._live.cache, pinned)
        self._change(replace(self._spaces[space_id], state="reading", why=""))
        syncer.run(plan, round_kind)
        await self._show_until_idle(plan, space_id)
        while self._plan is plan and (why := syncer.pause_reason(plan.keeper)) is not None:
            self._change(replace(self._spaces[space_id], state="waiting", why=why or _RATE_LIMIT))
            self._store(space_id)
            self._rests.set()
            while syncer.is_idle(plan.keeper) and syncer.pause_reason(plan.keeper) is not None:
                await syncer.wait_change()
            self._rests.clear()
            if self._plan is plan:
                self._change(replace(self._spaces[space_id], state="reading", why=""))
                await self._show_until_idle(plan, space_id)
        if self._plan is not plan:
            return True
        is_fetched = self._finish(plan, space_id, pinned)
        syncer.drop(plan.keeper)  # the next round has a plan of its own
        return is_fetched

    async def _show_until_idle(self, plan: OfflinePlanner, space_id: str) -> None:
        """Show the progress until all responses are here, or failed, or have to wait."""
        for step in count(1):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._live.syncer.wait_idle(plan.keeper), SHOWN_EVERY)
                break
            await self._show_progress(plan, space_id, with_size=step % STORED_EVERY == 0)
        await self._show_progress(plan, space_id, with_size=True)

    async def _show_progress(self, plan: OfflinePlanner, space_id: str, *, with_size: bool) -> None:
        """Show how much is here. `with_size` also measures the size on disk, and stores all for other instances."""
        pinned = await asyncio.to_thread(self._read_pinned, plan.keeper) if with_size else {}
        if self._plan is not plan:
            return  # removed meanwhile
        syncer, known = self._live.syncer, self._spaces[space_id]
        held_back, failures = syncer.queue.unfinished(plan.keeper), syncer.failures(plan.keeper)
        failed = {each.want: each.cause for each in failures if each.want.url not in held_back}
        of = syncer.progress(plan.keeper).wanted
        self._change(
            replace(
                known,
                read=of - len(held_back) - len(failed),
                of=of,
                bytes=sum(size or 0 for size in pinned.values()) if with_size else known.bytes,
                pages=plan.pages or known.pages,
                failed=tuple(FailedDownload(want.label, why) for want, why in (failed | plan.incomplete).items()),
            )
        )
        if with_size:
            self._store(space_id)

    def _finish(self, plan: OfflinePlanner, space_id: str, pinned: Mapping[str, int | None]) -> bool:
        """Note the end of a round. Return False if the space itself could not be fetched."""
        from octavo.data.stamps import space_stamp  # lazy: loads API areas

        syncer, known, space = self._live.syncer, self._spaces[space_id], plan.space
        failures = {each.want.url: each for each in syncer.failures(plan.keeper)}
        failure = failures.get(plan.space_want.url)
        if failure is not None and plan.space_want.url in self._live.cache.versions:  # a refusal is stored
            self._change(replace(known, state="lost", why=failure.cause))
        elif failure is not None or space is None:
            self._change(replace(known, state="waiting", why=failure.cause if failure is not None else ""))
        elif space.deleted_at is not None:
            self._change(replace(known, state="lost", why="This space was deleted."))
        else:
            if not any(map(plan.is_list, failures)):
                self._live.cache.unpin(plan.keeper, pinned.keys() - plan.wanted)
            self._stamps[space_id] = space_stamp(space)
            title = space.title or known.title
            self._change(replace(known, title=title, state="kept", why="", read_at=self._live.now()))
        self._store(space_id)
        return self._spaces[space_id].state != "waiting"

    def _read_pinned(self, keeper: str) -> Mapping[str, int | None]:
        self._live.cache.flush()
        return self._live.cache.pinned_sizes(keeper)

    def _change(self, space: OfflineSpace) -> None:
        before, self._spaces[space.id] = self._spaces.get(space.id), space
        if before != space:
            self._changed.notify()

    # Other instances

    async def _may_download(self) -> bool:
        """Return whether this instance downloads: it holds the lock, or there can be none."""
        if self._release is not None or self._state.read_only:
            return True
        try:
            self._release = self._state.try_lock(_ROLE)
        except NotSaved:
            return True
        if self._release is None:
            self._was_refused = True
            await self._reload()
            return False
        if self._was_refused:
            self._was_refused = False
            await self._reload()
            self._live.cache.reload_versions()
            self._spaces = {each.id: _interrupted(each) for each in self._spaces.values()}
            self._due |= dict.fromkeys(self._spaces, "start")
            self._changed.notify()
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

        self._state.change_fact(_FACT, changed)

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
                stored = {each.id: each for each in _remembered(await self._state.read_fact(_FACT))}
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
                self._look_at(space_id, "poll")
            elif self._was_refused:
                self._change(each)
            elif each.state == "waiting" and known.state in ("kept", "lost"):
                self._look_at(space_id, "refresh")  # another instance asked for what has changed


def _interrupted(kept: OfflineSpace) -> OfflineSpace:
    """Return a space as it is while no instance is known to download it."""
    return replace(kept, state="waiting") if kept.state == "reading" else kept


def _said(kept: OfflineSpace) -> dict[str, Any]:
    """Return a space as it is stored."""
    at = kept.read_at.isoformat() if kept.read_at is not None else None
    few = replace(kept, failed=kept.failed[:_MOST_REMEMBERED])
    return {**asdict(few), "read_at": at}


def _remembered(facts: object) -> Iterator[OfflineSpace]:
    """Return the spaces that are stored, without what an Octavo of another version stored in another way."""
    for fact in facts if isinstance(facts, list) else ():
        if not isinstance(fact, dict) or not isinstance(fact.get("id"), str):
            continue
        numbers = {name: fact[name] for name in ("read", "of", "bytes", "pages") if isinstance(fact.get(name), int)}
        words = {name: fact[name] for name in ("title", "why") if isinstance(fact.get(name), str)}
        state: Phase = next((each for each in get_args(Phase) if each == fact.get("state")), "waiting")
        failed = tuple(
            FailedDownload(str(each["what"]), str(each["why"]))
            for each in fact.get("failed") or ()
            if isinstance(each, dict) and each.keys() >= {"what", "why"}
        )
        read_at = None
        if isinstance(fact.get("read_at"), str):
            with suppress(ValueError):
                read_at = datetime.fromisoformat(fact["read_at"])
        yield OfflineSpace(
            fact["id"], **{"title": "Untitled", **words}, **numbers, state=state, failed=failed, read_at=read_at
        )
