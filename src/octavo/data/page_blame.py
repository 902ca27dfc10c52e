"""Finds who wrote each block of a page, in which change request, and who approved it, by comparing the versions of the page.

Start at `PageBlame`. It follows the revisions of the space from new to old, and loads the page only for revisions that
changed it. A revision never changes, so `RevisionSummary` and its changes stay in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change, Changes, Revision
from octavo.api.errors import NotFound, NotSent
from octavo.api.operation import SPECS, ChangeRequestRef, ContentRef, RevisionRef, SpaceRef, read
from octavo.data.live import Live
from octavo.data.loaders import find_page, get_page_source, page_markdown
from octavo.data.queries import reviews_of
from octavo.data.writes.change_request_kinds import change_request_in
from octavo.documents.blocks import Block, Document
from octavo.documents.diff import diff, new_keys
from octavo.documents.diff_nodes import NodeFactory
from octavo.documents.source_reader import parse

V = TypeVar("V")

_WHOLE_KINDS = frozenset({"row", "card", "figure", "prompt"})
"""Kinds of blocks that are one block for the reader, although they have children."""
_MIN_ELSEWHERE = 25
"""Minimum length of a text in characters to be recognized on another page. Shorter texts occur on many pages."""
_MIN_PART = 12
"""Minimum length of a text in characters to be recognized as a part of a block that was split."""
_MIN_SPLIT_SHARE = 0.9
"""Share of the characters of a block that its parts must have, so that the block was split and not shortened."""


@dataclass(frozen=True, slots=True)
class Origin(Generic[V]):
    """The place where a block was written: the version, and the page and the key of the block in that version."""

    version: V
    page: str
    block: str


@dataclass(frozen=True, slots=True)
class _Trail:
    """The place of a block of the page in the oldest version that has been compared."""

    page: str
    block: str
    text: str
    """The text of the block in the newest version, without links."""
    is_part: bool = False
    """True if the block is a part of a longer block of the older version, which was split."""


class Blame(Generic[V]):
    """The origins of the blocks of a page, as far as its older versions have been compared."""

    def __init__(self, page: str, document: Document) -> None:
        """`document` is the newest version of the page with the id `page`."""
        self.blocks = tuple(written_blocks(document))
        """The blocks of the page that have words, in the order of the page."""
        self.origins: dict[str, Origin[V]] = {}
        """The known origins, by the key of the block in the newest version."""
        self._documents = {page: document}
        self._trails = {block.key: _Trail(page, block.key, _text(block)) for block in self.blocks}
        self._arrived: dict[str, tuple[_Trail, str]] = {}
        """Blocks that the last compared version may have moved here from another page, with their words."""

    @property
    def pages(self) -> frozenset[str]:
        """The ids of the pages whose older versions are still needed. Empty if all origins are known."""
        return frozenset(trail.page for trail in self._trails.values())

    def compare(self, version: V, older: Mapping[str, Document | None]) -> bool:
        """Find the blocks that `version` wrote. Return whether some of these blocks may have come from other pages: see
        `trace_to_other_pages`.

        `older` has each page that `version` changed, as it was before the change, by page id. None stands for a page
        that `version` created.
        """
        self._arrived = {}
        for page, document in older.items():
            if page in self.pages:
                self._compare_page(version, page, document if document is not None else _EMPTY)
        return bool(self._arrived)

    def trace_to_other_pages(self, others: Mapping[str, tuple[Document, Document | None]]) -> None:
        """Find the blocks that the last compared version moved here from other pages. `others` has these pages before and
        after that version. None stands for a deleted page."""
        for page, (before, after) in others.items():
            remaining = {_words(block) for block in written_blocks(after)} if after is not None else set()
            moved = {words: block.key for block in written_blocks(before) if (words := _words(block)) not in remaining}
            for key, (trail, words) in list(self._arrived.items()):
                if words in moved:
                    del self._arrived[key], self.origins[key]
                    self._trails[key] = replace(trail, page=page, block=moved[words])
                    self._documents[page] = before

    def finish(self, version: V) -> None:
        """Take `version` as the origin of all remaining blocks, because there is no older version."""
        for key in list(self._trails):
            self._set_origin(key, version)

    def _set_origin(self, key: str, version: V) -> None:
        trail = self._trails.pop(key)
        self.origins[key] = Origin(version, trail.page, trail.block)

    def _compare_page(self, version: V, page: str, older: Document) -> None:
        newer, self._documents[page] = self._documents[page], older
        if newer.source == older.source:
            return  # The version changed only the title or other options of the page.
        versions = _TwoVersions(older, newer)
        for key, trail in [each for each in self._trails.items() if each[1].page == page]:
            if (source := versions.source_of(trail)) is not None:
                self._trails[key] = source
                continue
            words = versions.words(trail.block)
            self._set_origin(key, version)
            if len(trail.text) >= _MIN_ELSEWHERE and not trail.is_part:
                self._arrived[key] = trail, words


_EMPTY = Document("", (), "")


class _TwoVersions:
    """The blocks of two versions of a page. Each block of the newer version is paired with the block of the older
    version that it comes from."""

    def __init__(self, older: Document, newer: Document) -> None:
        self._older = {block.key: block for block in written_blocks(older)}
        self._newer = {block.key: block for block in written_blocks(newer)}
        pairs = new_keys(diff(older, newer))
        self._old_keys = {new: old for old, new in pairs.items() if old in self._older and new in self._newer}
        self._add_unpaired()
        self._part_sources: dict[str, str] | None = None

    def _add_unpaired(self) -> None:
        """Pair the remaining blocks whose words are equal. For example, these are the rows below a new paragraph that
        splits their table."""
        paired = set(self._old_keys.values())
        unpaired = {_words(block): key for key, block in self._older.items() if key not in paired}
        for key, block in self._newer.items():
            if unpaired and key not in self._old_keys and (old_key := unpaired.pop(_words(block), None)):
                self._old_keys[key] = old_key

    def words(self, key: str) -> str:
        """Return the words of a block of the newer version."""
        return _words(self._newer[key])

    def source_of(self, trail: _Trail) -> _Trail | None:
        """Return the place of the same words in the older version. None if the newer version wrote or edited them."""
        old_key = self._old_keys.get(trail.block)
        if old_key is not None:
            old = self._older[old_key]
            is_same = trail.text in _text(old) if trail.is_part else _words(old) == self.words(trail.block)
            if is_same:
                return replace(trail, block=old_key)
        if len(trail.text) < _MIN_PART or (source := self._find_split(trail.text)) is None:
            return None
        return replace(trail, block=source, is_part=True)

    def _find_split(self, text: str) -> str | None:
        """Return the key of an older block that was split into several blocks, one of which has `text`. None if there
        is no such block."""
        if self._part_sources is None:
            self._part_sources = dict(self._parts())
        return self._part_sources.get(text)

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Yield the text of each part of a split block, and the key of that block."""
        edited = [_text(block) for key, block in self._newer.items() if not self._is_unchanged(key)]
        kept = {self._old_keys[key] for key in self._newer if self._is_unchanged(key)}
        texts = [text for text in edited if len(text) >= _MIN_PART]
        for key, block in self._older.items():
            whole = _text(block)
            parts = [text for text in texts if text in whole] if key not in kept else []
            if len(parts) > 1 and sum(map(len, parts)) >= _MIN_SPLIT_SHARE * len(whole):
                yield from ((part, key) for part in parts)

    def _is_unchanged(self, key: str) -> bool:
        old_key = self._old_keys.get(key)
        return old_key is not None and _words(self._older[old_key]) == _words(self._newer[key])


def written_blocks(document: Document) -> Iterator[Block]:
    """Yield the blocks of a page that have words of their own, in the order of the page. Containers are replaced by their
    title, if they have one, and their blocks. Tables are replaced by their rows."""
    yield from _written(document.blocks)


def _written(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        inner = () if block.kind in _WHOLE_KINDS else block.children
        own = block._replace(children=()) if inner else block
        if (block.runs or not inner) and _text(own):
            yield own
        yield from _written(inner)


def _text(block: Block) -> str:
    """Return the text of a block, with the texts of its attributes such as URLs of images."""
    return NodeFactory().node(block).text


def _words(block: Block) -> str:
    """Return everything in a block that counts as written: its text and its links, but not its format."""
    links = [run.link for each in block.walk() for run in each.runs if run.link]
    return " ".join([_text(block), *links])


BATCH = 40
"""Number of revisions of a space that are checked before the user decides whether to continue."""
MAX_OTHER_PAGES = 10
"""Maximum number of other pages on which the blocks of a revision are searched. If the revision changed more other
pages, none is searched. Each page needs two requests."""


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """A version of the pages of a space: a revision of main, or the proposed content of a change request."""

    at: RevisionRef | ChangeRequestRef
    created_at: datetime | None
    type: str
    """The type of the revision, such as `merge`. Empty for a change request that is not merged."""
    change_request: ChangeRequest | None = None
    """The change request that was merged or that proposes the content. None for edits on main."""
    is_first: bool = False
    """True for the first revision of the space."""

    @property
    def is_proposed(self) -> bool:
        """True if the content is not merged."""
        return isinstance(self.at, ChangeRequestRef)


class PageBlame:
    """Origins of the blocks of a page, in main or in a change request, as far as they are loaded."""

    def __init__(self, live: Live, at: SpaceRef | ChangeRequestRef, page_id: str) -> None:
        self._live, self._at, self._page_id = live, at, page_id
        self._space = at if isinstance(at, SpaceRef) else at.space
        self._blame: Blame[ContentVersion] | None = None
        self._next = ""
        """Id of the next revision to check. Empty if there is none."""
        self._checked_ids: set[str] = set()
        self._compared: tuple[ContentVersion, bool] | None = None
        """The last compared version, and whether its other pages must be searched. If loading these pages fails, the next
        call does not compare the version again."""
        self.titles: dict[str, str] = {}
        """Titles of the other pages from which blocks were moved, by id."""
        self.known_since: datetime | None = None
        """Date of the oldest checked revision. None if the server does not return the date."""
        self.has_no_access = False
        """True if the user does not have access to the older revisions."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of the page that have words. Empty while the page is loading."""
        return self._blame.blocks if self._blame is not None else ()

    def origin(self, key: str) -> Origin[ContentVersion] | None:
        """Return the origin of a block. None if it is not known yet."""
        return self._blame.origins.get(key) if self._blame is not None else None

    @property
    def is_complete(self) -> bool:
        """True if the origins of all blocks are known."""
        return self._blame is not None and not self._blame.pages

    @property
    def has_older(self) -> bool:
        """True if there are older revisions to check."""
        return not self.is_complete and bool(self._next or self._blame is None)

    @property
    def checked_count(self) -> int:
        """Number of checked revisions of the space."""
        return len(self._checked_ids)

    async def load(self) -> AsyncIterator[None]:
        """Check some revisions, and yield after each. After an error, another call continues at the same revision. Raises
        ApiError."""
        if self._blame is None:
            await self._start()
            yield
        for _ in range(BATCH):
            if not self.has_older:
                return
            await self._check(RevisionRef(space_id=self._space.space_id, revision_id=self._next))
            yield

    async def _start(self) -> None:
        """Load the newest version of the page. In a change request, find the blocks that it proposes."""
        if isinstance(self._at, SpaceRef):
            self._next = await load_current_revision(self._live, self._at)
            document = await self._document(self._revision(self._next), self._page_id)
            self._blame = Blame(self._page_id, document or _EMPTY)
            return
        change_request, document = await asyncio.gather(
            self._live.fetch(change_requests.Get(at=self._at)), self._document(self._at, self._page_id)
        )
        base = change_request.base or ""
        blame: Blame[ContentVersion] = Blame(self._page_id, document or _EMPTY)
        version = ContentVersion(self._at, change_request.updated_at, "", change_request)
        if base:
            changes = await self._live.fetch(content.ListChanges(at=self._at, limit=1000))
            before = await self._document(self._revision(base), self._page_id)
            if await asyncio.to_thread(blame.compare, version, {self._page_id: before}):
                await self._search_elsewhere(blame, changes, self._at, self._revision(base))
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
        merged = change_request_in(revision.merged_from) or change_request_in(summary.changes.merged_from)
        version = ContentVersion(at, revision.created_at, revision.type, merged, is_first=not summary.parent)
        before = self._revision(summary.parent) if summary.parent else None
        if self._compared is None or self._compared[0] != version:
            older = await self._load_older_pages(summary, before)
            has_new = await asyncio.to_thread(self._blame.compare, version, older)
            self._compared = version, has_new
        if self._compared[1] and before is not None:
            await self._search_elsewhere(self._blame, summary.changes, at, before)
        self._checked_ids.add(at.revision_id)
        self.known_since = revision.created_at or self.known_since
        self._next = summary.parent if summary.parent not in self._checked_ids else ""
        if before is None:
            self._blame.finish(version)

    async def _load_older_pages(
        self, summary: RevisionSummary, before: RevisionRef | None
    ) -> dict[str, Document | None]:
        """Load the earlier versions of the pages whose text a revision changed. None stands for a page that the revision
        created."""
        assert self._blame is not None
        older: dict[str, Document | None] = {}
        for page_id in self._blame.pages:
            changes = summary.changes_of(page_id)
            is_created = before is None or any(change.type == "page_created" for change in changes)
            if is_created:
                older[page_id] = None
            elif any(map(_changes_text, changes)) or (summary.changes.more and not changes):
                older[page_id] = await self._document(before, page_id) if before is not None else None
        return older

    async def _search_elsewhere(
        self, blame: Blame[ContentVersion], changes: Changes, at: RevisionRef | ChangeRequestRef, before: RevisionRef
    ) -> None:
        """Search the other pages of a version for blocks that the version moved from there to this page."""
        others = {
            change.page.id: change
            for change in changes.changes
            if change.page is not None and (change.type == "page_deleted" or _changes_text(change))
        }
        others.pop(self._page_id, None)
        if changes.more or len(others) > MAX_OTHER_PAGES:
            return
        found: dict[str, tuple[Document, Document | None]] = {}
        for page_id, change in others.items():
            old = await self._document(before, page_id)
            new = await self._document(at, page_id) if change.type != "page_deleted" else None
            found[page_id] = (old or _EMPTY, new)
            self.titles[page_id] = change.page.title if change.page is not None else ""
        await asyncio.to_thread(blame.trace_to_other_pages, found)

    async def _document(self, at: ContentRef, page_id: str) -> Document | None:
        """Load and parse a page. None if the page does not exist there."""
        page = await find_page(self._live, get_page_source(at, page_id))
        return await asyncio.to_thread(parse, page_markdown(page)) if page is not None else None

    def _revision(self, revision_id: str) -> RevisionRef:
        return RevisionRef(space_id=self._space.space_id, revision_id=revision_id)


def _changes_text(change: Change) -> bool:
    """Return whether a change edited the text of a page. True if the server does not say what was edited."""
    attributes = change.attributes
    return change.type == "page_edited" and (not isinstance(attributes, dict) or "document" in attributes)


@dataclass(frozen=True, slots=True)
class RequestPeople:
    """The users who worked on a change request, by name."""

    editors: tuple[str, ...] = ()
    """All users who edited the change request, the author first. Empty if the server does not say."""
    approvers: tuple[str, ...] = ()


async def load_people(live: Live, at: ChangeRequestRef, change_request: ChangeRequest) -> RequestPeople:
    """Load who edited and who approved a change request. For a merged change request, cached responses are used if
    there are any. Raises ApiError."""
    get = live.cached_or_fetch if change_request.status == "merged" else live.fetch
    contributors, reviews = await asyncio.gather(
        get(change_requests.ListContributors(at=at, limit=100)), get(reviews_of(at))
    )
    author = change_request.created_by.name if change_request.created_by is not None else ""
    editors = [each.user.name for each in contributors.items if each.action_type == "edit"]
    approvers = [each.reviewer.name for each in reviews.items if each.status == "approved" and not each.outdated]
    return RequestPeople(
        tuple(dict.fromkeys(sorted(editors, key=lambda name: name != author))), tuple(dict.fromkeys(approvers))
    )


class RevisionSummary(NamedTuple):
    """A revision and its changes."""

    revision: Revision
    """The revision without pages and files."""
    changes: Changes

    @property
    def parent(self) -> str:
        """ID of the previous revision on main. Empty for the first revision of a space."""
        return self.revision.parents[0] if self.revision.parents else ""

    def changes_of(self, page_id: str) -> list[Change]:
        """Return the changes to a page."""
        return [change for change in self.changes.changes if change.page is not None and change.page.id == page_id]


async def load_summary(live: Live, at: RevisionRef) -> RevisionSummary:
    """Load a revision and its changes, from the cache if possible. Raises ApiError."""
    revision, changes = await asyncio.gather(
        _load_revision(live, at), live.cached_or_fetch(content.ListChanges(at=at, limit=1000))
    )
    return RevisionSummary(revision, changes)


async def load_current_revision(live: Live, at: SpaceRef) -> str:
    """Load the id of the current revision of a space. Without a connection, return the cached id. Raises ApiError."""
    op = spaces.Get(at=at)
    try:
        space = await live.fetch(op)
    except NotSent:
        cached = live.peek(op).value
        if cached is None or cached.revision is None:
            raise
        return cached.revision
    # Some servers leave the id out of the space. The content has it too, but with all pages.
    return space.revision or (await live.send(content.Get(at=at, metadata=False, computed=False))).id


async def _load_revision(live: Live, at: RevisionRef) -> Revision:
    """Load a revision without its pages. The server sends a revision only with all pages, so a copy without pages is
    stored."""
    name, codec = f"revision {at.space_id} {at.revision_id}", SPECS[content.Get].codec
    if (stored := live.cache.read_derived(name)) is not None:
        revision: Revision = read(codec, stored)
        return revision
    loaded = await live.send(content.Get(at=at, metadata=False, computed=False))
    fields = {"pages": (), "files": (), "reusable_contents": (), "variables": None}
    revision = loaded.model_copy(update=fields)
    live.cache.put_derived(name, lambda: codec.dump_json(revision, by_alias=True))
    return revision
