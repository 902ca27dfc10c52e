"""Finds who wrote and who approved each block of a page, and in which change request.

`PageBlame` works like `git blame`: it compares the revisions of the space from new to old. It loads the page only for
revisions that changed the page. A revision never changes, so its data stays in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change, Changes, Revision
from octavo.api.errors import NotFound, NotSent
from octavo.api.operation import SPECS, ChangeRequestRef, ContentRef, RevisionRef, SpaceRef, decode_response
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op
from octavo.data.queries import reviews_op
from octavo.data.writes.change_request_kinds import change_request_in
from octavo.documents.blame import Blame, Origin
from octavo.documents.blocks import EMPTY_PAGE, Block, Document
from octavo.documents.source_reader import parse

REVISIONS_PER_BATCH = 40
"""Number of revisions that are compared before the user decides whether to compare more."""
MAX_OTHER_PAGES = 10
"""If a revision changed more than this number of other pages, other pages are not searched for moved blocks."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """A revision of main, or the proposed content of a change request."""

    at: RevisionRef | ChangeRequestRef
    created_at: datetime | None
    type: str
    """Type of the revision in the API, such as `merge`. Empty for proposed content."""
    change_request: ChangeRequest | None = None
    """The change request that was merged as this revision, or that proposes this content. None for an edit of main."""
    is_first: bool = False
    """True for the first revision of the space."""

    @property
    def is_proposed(self) -> bool:
        """True for the content of a change request that is not merged."""
        return isinstance(self.at, ChangeRequestRef)


class PageBlame:
    """Finds the version in which each block of a page was written. `load` goes back in history step by step."""

    def __init__(self, live: Live, at: SpaceRef | ChangeRequestRef, page_id: str) -> None:
        self._live, self._at, self._page_id = live, at, page_id
        self._space = at if isinstance(at, SpaceRef) else at.space
        self._blame: Blame[ContentVersion] | None = None
        self._next = ""
        """ID of the next older revision to compare. Empty if there is none."""
        self._checked_ids: set[str] = set()
        self._compared: tuple[ContentVersion, bool] | None = None
        """The last compared version, and whether moved blocks must still be searched in it. None before the first."""
        self.searched_titles: dict[str, str] = {}
        """Titles of the other pages that were searched for moved blocks, by page ID."""
        self.known_since: datetime | None = None
        """Date of the oldest compared version that has a date. None if no compared version has a date."""
        self.has_no_access = False
        """True if the user does not have access to older revisions."""
        self.is_page_missing = False
        """True if the server does not have the page, for example because it was deleted."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The page's blocks that contain words. Empty until the page is loaded."""
        return self._blame.blocks if self._blame is not None else ()

    def origin(self, key: str) -> Origin[ContentVersion] | None:
        """Return the version that introduced the block `key`, and the block's page and key in it. None if unknown."""
        return self._blame.origins.get(key) if self._blame is not None else None

    @property
    def is_complete(self) -> bool:
        """True if the origins of all blocks are known."""
        return self._blame is not None and not self._blame.page_ids

    @property
    def has_older(self) -> bool:
        """True if `load` can compare older revisions."""
        return not self.is_complete and bool(self._next or self._blame is None)

    @property
    def checked_count(self) -> int:
        """Number of compared revisions of the space."""
        return len(self._checked_ids)

    async def load(self) -> AsyncIterator[None]:
        """In the first call, load the page. Compare up to `REVISIONS_PER_BATCH` older revisions. Yield after each step.
        Raises ApiError."""
        if self._blame is None:
            await self._load_newest()
            yield
        for _ in range(REVISIONS_PER_BATCH):
            if not self.has_older:
                return
            await self._check(self._space.revision_ref(self._next))
            yield

    async def _load_newest(self) -> None:
        if isinstance(self._at, SpaceRef):
            self._next = await load_current_revision(self._live, self._at)
            document = await self._document(self._space.revision_ref(self._next), self._page_id)
            self.is_page_missing = document is None
            self._blame = Blame(self._page_id, document or EMPTY_PAGE)
            return
        change_request, document = await asyncio.gather(
            self._live.fetch(change_requests.Get(at=self._at)), self._document(self._at, self._page_id)
        )
        base = change_request.base or ""
        self.is_page_missing = document is None
        blame: Blame[ContentVersion] = Blame(self._page_id, document or EMPTY_PAGE)
        version = ContentVersion(self._at, change_request.updated_at, "", change_request)
        if base:
            changes = await self._live.fetch(content.ListChanges(at=self._at, limit=1000))
            base_document = await self._document(self._space.revision_ref(base), self._page_id)
            if await asyncio.to_thread(blame.compare, version, {self._page_id: base_document}):
                await self._search_moved_blocks(blame, changes, self._at, self._space.revision_ref(base))
        self._blame, self._next = blame, base
        self.known_since = version.created_at

    async def _check(self, at: RevisionRef) -> None:
        assert self._blame is not None, "the page is loaded first"
        try:
            summary = await load_summary(self._live, at)
        except NotFound:
            self._next, self.has_no_access = "", True
            return
        revision = summary.revision
        merged_request = change_request_in(revision.merged_from) or change_request_in(summary.changes.merged_from)
        version = ContentVersion(at, revision.created_at, revision.type, merged_request, is_first=not summary.parent_id)
        previous = self._space.revision_ref(summary.parent_id) if summary.parent_id else None
        if self._compared is None or self._compared[0] != version:
            older_pages = await self._load_older_pages(summary, previous)
            may_have_moved_blocks = await asyncio.to_thread(self._blame.compare, version, older_pages)
            self._compared = version, may_have_moved_blocks
        if self._compared[1] and previous is not None:
            await self._search_moved_blocks(self._blame, summary.changes, at, previous)
        self._checked_ids.add(at.revision_id)
        self.known_since = revision.created_at or self.known_since
        self._next = summary.parent_id if summary.parent_id not in self._checked_ids else ""
        if previous is None:
            self._blame.finish(version)

    async def _load_older_pages(
        self, summary: RevisionSummary, previous: RevisionRef | None
    ) -> dict[str, Document | None]:
        """Return the pages of `previous`, the revision before `summary`, by ID. Only pages that may be the origin of
        blocks and that `summary` may have changed are loaded. None for a page that `previous` does not have."""
        assert self._blame is not None
        older_pages: dict[str, Document | None] = {}
        for page_id in self._blame.page_ids:
            changes = summary.changes_of(page_id)
            is_created = previous is None or any(change.type == "page_created" for change in changes)
            if is_created:
                older_pages[page_id] = None
            elif any(map(_changes_text, changes)) or (summary.changes.missing_count and not changes):
                older_pages[page_id] = await self._document(previous, page_id) if previous is not None else None
        return older_pages

    async def _search_moved_blocks(
        self, blame: Blame[ContentVersion], changes: Changes, at: RevisionRef | ChangeRequestRef, previous: RevisionRef
    ) -> None:
        """Find blocks that the version `at` moved to this page from another page. `changes` are the differences from
        `previous` to `at`. Do nothing if `changes` is incomplete or concerns more than `MAX_OTHER_PAGES` other
        pages."""
        changes_of_others = {
            change.page.id: change
            for change in changes.changes
            if change.page is not None and (change.type == "page_deleted" or _changes_text(change))
        }
        changes_of_others.pop(self._page_id, None)
        if changes.missing_count or len(changes_of_others) > MAX_OTHER_PAGES:
            return
        other_pages: dict[str, tuple[Document, Document | None]] = {}
        for page_id, change in changes_of_others.items():
            old_page = await self._document(previous, page_id)
            new_page = await self._document(at, page_id) if change.type != "page_deleted" else None
            other_pages[page_id] = (old_page or EMPTY_PAGE, new_page)
            self.searched_titles[page_id] = change.page.title if change.page is not None else ""
        await asyncio.to_thread(blame.trace_to_other_pages, other_pages)

    async def _document(self, at: ContentRef, page_id: str) -> Document | None:
        page = await find_page(self._live, page_source_op(at, page_id))
        return await asyncio.to_thread(parse, page_markdown(page)) if page is not None else None


def _changes_text(change: Change) -> bool:
    """Return whether a change has edited the text of a page. True also if the server does not say what was edited."""
    attributes = change.attributes
    return change.type == "page_edited" and (not isinstance(attributes, dict) or "document" in attributes)


@dataclass(frozen=True, slots=True)
class RequestPeople:
    """Names of the users who edited and who approved a change request."""

    editors: tuple[str, ...] = ()
    """Names of the users who edited the change request, its author first. Empty if the server does not name them."""
    approvers: tuple[str, ...] = ()


async def load_people(live: Live, at: ChangeRequestRef, change_request: ChangeRequest) -> RequestPeople:
    """Load who edited and who approved a change request. If it is merged, prefer the cached lists. Raises ApiError."""
    load = live.cached_or_fetch if change_request.status == "merged" else live.fetch
    contributors, reviews = await asyncio.gather(
        load(change_requests.ListContributors(at=at, limit=100)), load(reviews_op(at))
    )
    editors = [each.user.name for each in contributors.items if each.action_type == "edit"]
    approvers = [each.reviewer.name for each in reviews.items if each.status == "approved" and not each.outdated]
    return RequestPeople(
        tuple(dict.fromkeys(sorted(editors, key=lambda name: name != change_request.author_name))),
        tuple(dict.fromkeys(approvers)),
    )


class RevisionSummary(NamedTuple):
    """A revision without its pages and files, and the changes that this revision made."""

    revision: Revision
    """The revision without its pages and files."""
    changes: Changes

    @property
    def parent_id(self) -> str:
        """ID of the previous revision on main. Empty for the first revision of a space."""
        return self.revision.parents[0] if self.revision.parents else ""

    def changes_of(self, page_id: str) -> list[Change]:
        """Return the changes of one page."""
        return [change for change in self.changes.changes if change.page is not None and change.page.id == page_id]


async def load_summary(live: Live, at: RevisionRef) -> RevisionSummary:
    """Load a revision and the changes it made, from the cache if possible. Raises ApiError."""
    revision, changes = await asyncio.gather(
        _load_revision_header(live, at), live.cached_or_fetch(content.ListChanges(at=at, limit=1000))
    )
    return RevisionSummary(revision, changes)


async def load_current_revision(live: Live, at: SpaceRef) -> str:
    """Load the ID of a space's current revision. Without a connection, return the cached ID. Raises ApiError."""
    op = spaces.Get(at=at)
    try:
        space = await live.fetch(op)
    except NotSent:
        cached_space = live.peek(op).value
        if cached_space is None or cached_space.revision is None:
            raise
        return cached_space.revision
    # Some servers send the ID of the revision only with the content, which is larger.
    return space.revision or (await live.send(content.Get(at=at, metadata=False, computed=False))).id


async def _load_revision_header(live: Live, at: RevisionRef) -> Revision:
    """Return a revision without pages and files, from the cache or the server. Cache only what is returned."""
    name, codec = f"revision {at.space_id} {at.revision_id}", SPECS[content.Get].codec
    if (stored_revision := live.cache.read_derived(name)) is not None:
        revision: Revision = decode_response(codec, stored_revision)
        return revision
    full_revision = await live.send(content.Get(at=at, metadata=False, computed=False))
    fields = {"pages": (), "files": (), "reusable_contents": (), "variables": None}
    revision = full_revision.model_copy(update=fields)
    live.cache.put_derived(name, lambda: codec.dump_json(revision, by_alias=True))
    return revision
