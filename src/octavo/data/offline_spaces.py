"""Downloads the spaces that are available offline, and keeps their responses current and pinned on disk.

    offline.add(space)              # also after a restart
    offline.get("docs")             # the progress, or None if the space is not available offline
    offline.remove("docs")          # also deletes the offline copy

Several Octavo processes may run at a time. Only the process that has the lock `offline` downloads spaces, and the other
processes show its progress. When it ends, another process takes over.

Spaces are downloaded one by one: `OfflinePlanner` returns the responses that a space needs, and the Syncer fetches those
that are not current on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter

from octavo.api.content import ListPages
from octavo.api.operation import SpaceRef
from octavo.concurrency import Tasks
from octavo.data.live_response import Observers
from octavo.data.state_db import NotSaved, StateDb
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.data.offline_plan import OfflinePlanner

SYNC_INTERVAL = timedelta(minutes=10)
"""Time after which all offline spaces are synced, even if no change is known."""
LOCK_CHECK_SECONDS = 5.0
RETRY_DELAY = 60.0
"""Seconds until Octavo tries again to download a space that could not be fetched."""
PROGRESS_SECONDS = 0.3
REPORTS_PER_SAVE = 10
"""Number of progress reports after which the progress and the size on disk are stored for other processes."""
DEFAULT_PAGE_BYTES = 6_000
"""Assumed bytes of a page as long as no page is on disk: the mean of the demo library."""
MANY_PAGES = 500
"""If a space has more pages, the user must confirm its download."""
_MAX_STORED_FAILURES = 100
"""Maximum number of failed downloads that are stored for a space."""
_STATE_KEY = _LOCK = "offline"
"""Name under which `state.db` has the offline spaces, and name of the lock for downloads."""
# lazy: these load parts of the API that the first screen does not need
_new_planner: Callable[..., OfflinePlanner] = lazy("octavo.data.offline_plan:OfflinePlanner")
_owner_of = lazy("octavo.data.offline_plan:owner_of")
_space_fingerprint = lazy("octavo.data.inbox_plan:space_fingerprint")
_RATE_LIMIT = "The server's rate limit is almost reached."
_NOT_STORED = "Octavo could not save the response on this computer. Check whether the disk is full."

Phase = Literal["waiting", "reading", "kept", "lost"]


class FailedDownload(NamedTuple):
    """A response of an offline space that is missing on disk or incomplete."""

    label: str
    """Name of the response, such as `the page Tides`."""
    reason: str
    """Sentence that says why the response is missing or incomplete."""


@dataclass(frozen=True)
class OfflineSpace:
    """A space that is available offline, and the progress of its download."""

    id: str
    title: str
    state: Phase = "waiting"
    """`waiting`: the download has not begun, is paused, or will be tried again. `reading`: it is running. `kept`: it
    has ended, perhaps with failed responses. `lost`: the space was deleted, or the user has no access."""
    why: str = ""
    """Sentence that says why the state is `waiting` or `lost`. Empty if there is no reason."""
    downloaded: int = 0
    """Number of responses of the space that are on disk."""
    wanted: int = 0
    """Number of responses that the space needs."""
    bytes: int = 0
    pages: int = 0
    failed: tuple[FailedDownload, ...] = ()
    read_at: datetime | None = None
    """When the download last reached the state `kept`. None if the download never reached this state."""


class DownloadSize(NamedTuple):
    """Estimated size of an offline space before its download."""

    page_count: int
    byte_count: int
    """Bytes on disk, estimated from the mean size of all cached pages."""

    @property
    def is_large(self) -> bool:
        """True if the user must confirm the download."""
        return self.page_count > MANY_PAGES


class OfflineSpaces:
    """The offline spaces of a profile, and their downloads."""

    def __init__(self, live: Live, state: StateDb) -> None:
        self._live, self._state = live, state
        self._spaces: dict[str, OfflineSpace] = {
            stored_space.id: _reset_running_download(stored_space)
            for stored_space in _stored_spaces(state.get_value(_STATE_KEY))
        }
        self._was_lock_taken = False
        """True if another process had the lock when this process last tried to get it."""
        self._unsubscribe: Callable[[], None] | None = None
        """Stops calls of `_reload`. None before `begin`."""
        self._unlock: Callable[[], None] | None = None
        """Releases the lock. None while this process does not have the lock."""
        self._fingerprints: dict[str, str] = {}
        """Fingerprint of each space at its last sync, by space ID."""
        self._due_ids: dict[str, bool] = {}
        """IDs of the spaces that must be synced. True if the sync also repeats requests that the server refused."""
        self.changed: Observers[[]] = Observers()
        """Called when a space was added or removed, or its progress has changed."""
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._tasks = Tasks("Updating the offline spaces")
        self._planner: OfflinePlanner | None = None
        """Planner of the newest download. None before the first download, or after its space was removed."""

    def get(self, space_id: str) -> OfflineSpace | None:
        """Return a space with its progress. None if the space is not available offline."""
        return self._spaces.get(space_id)

    @property
    def all(self) -> tuple[OfflineSpace, ...]:
        """The spaces that are available offline, in the order in which they were added."""
        return tuple(self._spaces.values())

    def begin(self) -> None:
        """Start the downloads. Later calls do nothing."""
        if self._unsubscribe is None:
            self._due_ids |= dict.fromkeys(self._spaces, False)
            self._unsubscribe = self._state.committed.add(self._reload)
            self._tasks.start(self._run(), name="offline spaces")

    async def estimate_size(self, at: SpaceRef) -> DownloadSize:
        """Return the estimated size of a download. Sends one request. Raises ApiError."""
        tree = await self._live.fetch(ListPages(at=at))
        page_count = sum(page.type == "document" for page in tree.walk())
        mean_bytes = await asyncio.to_thread(self._live.cache.mean_body_size, "/content/page/")
        return DownloadSize(page_count, round(page_count * (mean_bytes or DEFAULT_PAGE_BYTES)))

    def add(self, space: Space) -> None:
        """Make a space available offline. If it is available offline already, sync it now."""
        old_space = self._spaces.get(space.id)
        title = space.title or "Untitled"
        offline_space = replace(old_space, title=title) if old_space is not None else OfflineSpace(space.id, title)
        self._change(replace(offline_space, state="waiting") if self._was_lock_taken else offline_space)
        self._save_or_delete(space.id, is_new=True)
        self._add_due(space.id, retries_refused=True)

    def remove(self, space_id: str) -> None:
        """Stop syncing a space, and delete its offline copy."""
        self._drop(space_id)
        self._save_or_delete(space_id)

    def _drop(self, space_id: str) -> None:
        owner = _owner_of(space_id)
        if self._planner is not None and self._planner.owner == owner:
            self._planner = None
        self._live.syncer.drop(owner)
        self._due_ids.pop(space_id, None)
        self._fingerprints.pop(space_id, None)
        if self._spaces.pop(space_id, None) is not None:
            self._live.cache.unpin(owner)
            self.changed.notify()

    def refresh_changed(self, spaces: Iterable[Space]) -> None:
        """Sync the offline spaces that have changed according to `spaces`, a new list from the server."""
        if not self._spaces:
            return
        for space in spaces:
            if (
                space.id in self._spaces
                and self._fingerprints.get(space.id, fingerprint := _space_fingerprint(space)) != fingerprint
            ):
                self._fingerprints[space.id] = fingerprint
                self._add_due(space.id)

    async def wait_idle(self) -> None:
        """Wait until no space is being downloaded. Also returns while downloads are paused."""
        await self._idle.wait()

    async def close(self) -> None:
        """Stop downloading."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        await self._tasks.close()
        if self._planner is not None:
            self._live.syncer.drop(self._planner.owner)
        if self._unlock is not None:
            self._unlock()
            self._unlock = None

    def _add_due(self, space_id: str, *, retries_refused: bool = False) -> None:
        self._due_ids[space_id] = retries_refused
        self._idle.clear()
        self._wake.set()

    async def _run(self) -> None:
        for owner in await asyncio.to_thread(self._live.cache.pin_owners):
            if owner not in map(_owner_of, self._spaces):
                self._live.cache.unpin(owner)  # left by a removal during which Octavo was killed or the disk was full
        while True:
            self._wake.clear()
            if not self._due_ids:
                if await self._sleep(SYNC_INTERVAL.total_seconds()):
                    self._due_ids |= dict.fromkeys(self._spaces, False)
            elif not await self._try_become_downloader():
                await self._sleep(LOCK_CHECK_SECONDS)
            elif self._due_ids:
                space_id = next(iter(self._due_ids))
                if not await self._download(space_id, self._due_ids.pop(space_id)):
                    self._due_ids.setdefault(space_id, False)
                    await self._sleep(RETRY_DELAY)

    async def _sleep(self, seconds: float) -> bool:
        """Wait for `seconds`, and return True. If a space must be synced before the end, return False at once."""
        self._idle.set()
        try:
            async with asyncio.timeout(seconds):  # unlike `wait_for` of Python 3.11, this never ignores a cancel
                await self._wake.wait()
        except TimeoutError:
            return True
        finally:
            self._idle.clear()
        return False

    async def _download(self, space_id: str, retries_refused: bool) -> bool:
        """Download a space. Return False if Octavo must try again later. `retries_refused` resends refused requests."""
        syncer = self._live.syncer
        pinned = await asyncio.to_thread(self._read_pinned, _owner_of(space_id))
        if space_id not in self._spaces:
            return True
        self._planner = planner = _new_planner(space_id, self._live.cache, pinned)
        self._begin_reading(space_id)
        syncer.run(planner, retries_refused=retries_refused)
        await self._show_until_idle(planner, space_id)
        while self._planner is planner and (why := syncer.pause_reason(planner.owner)) is not None:
            self._change(replace(self._spaces[space_id], state="waiting", why=why or _RATE_LIMIT))
            self._save_or_delete(space_id)
            self._idle.set()
            while syncer.is_idle(planner.owner) and syncer.pause_reason(planner.owner) is not None:
                await syncer.wait_change()
            self._idle.clear()
            if self._planner is planner:
                self._begin_reading(space_id)
                await self._show_until_idle(planner, space_id)
        if self._planner is not planner:
            return True
        is_fetched = self._finish(planner, space_id, pinned)
        syncer.drop(planner.owner)  # The next sync has its own planner.
        return is_fetched

    def _begin_reading(self, space_id: str) -> None:
        self._change(replace(self._spaces[space_id], state="reading", why=""))
        self._save_or_delete(space_id, begins=True)

    async def _show_until_idle(self, planner: OfflinePlanner, space_id: str) -> None:
        """Show the progress of a download until it has ended or is paused."""
        for step in count(1):
            with suppress(TimeoutError):
                async with asyncio.timeout(PROGRESS_SECONDS):
                    await self._live.syncer.wait_idle(planner.owner)
                break
            await self._show_progress(planner, space_id, with_size=step % REPORTS_PER_SAVE == 0)
        await self._show_progress(planner, space_id, with_size=True)

    async def _show_progress(self, planner: OfflinePlanner, space_id: str, *, with_size: bool) -> None:
        """Show the progress of a download. If `with_size`, also measure the size on disk and store the progress."""
        pinned = await asyncio.to_thread(self._read_pinned, planner.owner) if with_size else {}
        if self._planner is not planner:
            return  # the space was removed meanwhile
        syncer, old_space = self._live.syncer, self._spaces[space_id]
        unfinished, failures = syncer.queue.unfinished_urls(planner.owner), syncer.failures(planner.owner)
        causes = {failure.needed: failure.cause for failure in failures if failure.needed.url not in unfinished}
        unstored_urls = (self._live.cache.unstored_urls & planner.needed_by_url.keys()) - unfinished
        causes |= {planner.needed_by_url[url]: _NOT_STORED for url in sorted(unstored_urls)}
        needed_count = syncer.progress(planner.owner).needed_count
        self._change(
            replace(
                old_space,
                downloaded=needed_count - len(unfinished) - len(causes),
                wanted=needed_count,
                bytes=sum(size or 0 for size in pinned.values()) if with_size else old_space.bytes,
                pages=planner.page_count or old_space.pages,
                failed=tuple(
                    FailedDownload(needed.label, why) for needed, why in (causes | planner.incomplete).items()
                ),
            )
        )
        if with_size:
            self._save_or_delete(space_id)

    def _finish(self, planner: OfflinePlanner, space_id: str, pinned: Mapping[str, int | None]) -> bool:
        """Store the result of a space's download. If it is known which responses the space needs, unpin the others in
        `pinned`, whose keys are URLs. Return False if Octavo must try again later."""
        syncer, old_space, space = self._live.syncer, self._spaces[space_id], planner.space
        failure_by_url = {each.needed.url: each for each in syncer.failures(planner.owner)}
        failure = failure_by_url.get(planner.needed_space.url)
        # After status 403 or 404, the queue has no error, because the request is not repeated. The space is lost.
        if failure is not None and planner.needed_space.url not in syncer.queue.errors:
            self._change(replace(old_space, state="lost", why=failure.cause))
        elif failure is not None or space is None:
            self._change(replace(old_space, state="waiting", why=failure.cause if failure is not None else ""))
        elif space.deleted_at is not None:
            self._change(replace(old_space, state="lost", why="This space was deleted."))
        else:
            if planner.urls_with_dependents.isdisjoint(failure_by_url):
                self._live.cache.unpin(planner.owner, pinned.keys() - planner.needed_by_url.keys())
            self._fingerprints[space_id] = _space_fingerprint(space)
            title = space.title or old_space.title
            self._change(replace(old_space, title=title, state="kept", why="", read_at=self._live.now()))
        self._save_or_delete(space_id)
        return self._spaces[space_id].state != "waiting"

    def _read_pinned(self, owner: str) -> Mapping[str, int | None]:
        self._live.cache.flush()
        return self._live.cache.pinned_sizes(owner)

    def _change(self, space: OfflineSpace) -> None:
        old_space, self._spaces[space.id] = self._spaces.get(space.id), space
        if old_space != space:
            self.changed.notify()

    async def _try_become_downloader(self) -> bool:
        """Try to get the lock for downloads. Return False if another process has the lock and downloads."""
        if self._unlock is not None or self._state.read_only:
            return True
        try:
            self._unlock = self._state.try_lock(_LOCK)
        except NotSaved:
            return True
        if self._unlock is None:
            self._was_lock_taken = True
            self._reload()
            return False
        if self._was_lock_taken:
            self._was_lock_taken = False
            self._reload()
            self._live.cache.reload_versions()
            self._spaces = {space.id: _reset_running_download(space) for space in self._spaces.values()}
            self._due_ids |= dict.fromkeys(self._spaces, False)
            self.changed.notify()
        return True

    def _save_or_delete(self, space_id: str, *, is_new: bool = False, begins: bool = False) -> None:
        """Store the state of a space in state.db, or delete the record of a removed space. A missing record is added
        only with `is_new`. The state `waiting`, with which another process requests a sync, stays unless `begins`."""
        space = self._spaces.get(space_id)

        def with_changes(stored: Any) -> list[Any]:
            records = [each for each in stored if isinstance(each, dict)] if isinstance(stored, list) else []
            if space is None:
                return [record for record in records if record.get("id") != space_id]
            if all(record.get("id") != space_id for record in records):
                return [*records, _to_json(space)] if is_new else records
            if is_new and not space.wanted:
                return records  # Another process added the space, so the progress of that process is kept.
            return [
                _to_json(space) | ({"state": "waiting"} if record.get("state") == "waiting" and not begins else {})
                if record.get("id") == space_id
                else record
                for record in records
            ]

        self._state.change_value(_STATE_KEY, with_changes)

    def _reload(self) -> None:
        """Update the offline spaces from state.db, where other processes may have changed them."""
        stored_spaces = {each.id: each for each in _stored_spaces(self._state.get_value(_STATE_KEY))}
        for space_id in self._spaces.keys() - stored_spaces.keys():
            self._drop(space_id)
        for space_id, each in stored_spaces.items():
            old_space = self._spaces.get(space_id)
            if old_space is None:
                self._change(each)
                self._add_due(space_id)
            elif self._was_lock_taken:
                self._change(each)
            elif each.state == "waiting" and old_space.state != "waiting":
                self._add_due(space_id, retries_refused=True)  # another process has requested a sync


def _reset_running_download(space: OfflineSpace) -> OfflineSpace:
    """Return the space with the state `waiting` if Octavo ended during its download, else unchanged."""
    return replace(space, state="waiting") if space.state == "reading" else space


@cache
def _codec() -> TypeAdapter[OfflineSpace]:
    return TypeAdapter(OfflineSpace)


def _to_json(space: OfflineSpace) -> dict[str, Any]:
    json_object: dict[str, Any] = _codec().dump_python(
        replace(space, failed=space.failed[:_MAX_STORED_FAILURES]), mode="json"
    )
    return json_object


def _stored_spaces(records: object) -> Iterator[OfflineSpace]:
    """Yield the offline spaces in state.db. If the record of a space is invalid, yield only the ID and title."""
    for record in records if isinstance(records, list) else ():
        if isinstance(record, dict) and isinstance(record.get("id"), str):
            try:
                yield _codec().validate_python({"title": "Untitled", **record})
            except ValueError:
                yield OfflineSpace(record["id"], str(record.get("title", "Untitled")))
