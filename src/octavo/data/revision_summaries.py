"""Revisions without their page trees, and the pages that they changed. A revision never changes, so both stay in the
cache."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from octavo.api import content, spaces
from octavo.api.content import Change, Changes, Revision
from octavo.api.errors import NotSent
from octavo.api.operation import SPECS, read
from octavo.api.places import RevisionRef, SpaceRef
from octavo.data.live import Live


class RevisionSummary(NamedTuple):
    """A revision and its changes."""

    revision: Revision
    """The revision without pages and files."""
    changes: Changes

    @property
    def parent(self) -> str:
        """The id of the revision before this one on main. Empty for the first revision of a space."""
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
    """Load a revision without its pages. The server only sends it with all pages, so it is stored without them."""
    name, codec = f"revision {at.space_id} {at.revision_id}", SPECS[content.Get].codec
    if (stored := live.cache.read_derived(name)) is not None:
        revision: Revision = read(codec, stored)
        return revision
    loaded = await live.send(content.Get(at=at, metadata=False, computed=False))
    fields = {"pages": (), "files": (), "reusable_contents": (), "variables": None}
    revision = loaded.model_copy(update=fields)
    live.cache.put_derived(name, lambda: codec.dump_json(revision, by_alias=True))
    return revision
