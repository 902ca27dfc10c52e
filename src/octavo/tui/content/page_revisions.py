"""The revisions that changed a page, found by walking back through the main content of its space.

The API has no list of revisions: each revision names its parent and its changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from octavo.api import content
from octavo.api.content import Change, Changes, Revision
from octavo.api.errors import NotFound
from octavo.api.places import RevisionRef
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.writes.change_request_kinds import change_request_in
from octavo.tui.widgets.wording import plural

BATCH = 40
"""Number of revisions of a space that are checked before the user decides whether to continue."""
_REVISION_TYPES = {
    "edits": "Edited on main",
    "merge": "Merged",
    "rollback": "Rolled back to an earlier revision",
    "update": "Updated",
    "computed": "Generated",
}
_PAGE_ATTRIBUTES = {
    "document": "edited",
    "title": "renamed",
    "description": "description changed",
    "slug": "slug changed",
    "cover": "cover changed",
    "emoji": "icon changed",
    "icon": "icon changed",
    "layout": "layout changed",
    "hidden": "visibility changed",
}


@dataclass(frozen=True)
class PageVersion:
    """A revision that changed the page."""

    at: RevisionRef
    before: RevisionRef | None
    created_at: datetime | None
    name: str
    """Title of the merged change request, else the kind of the revision."""
    number: int = 0
    """Number of the merged change request. 0 if there is none."""
    author: str = ""
    changes_label: str = ""
    """Changes to the page, in words."""

    @property
    def revision(self) -> str:
        return self.at.revision_id


class PageRevisionFinder:
    """Walks back from the current revision of a space. `found` has the revisions that changed the page, newest first."""

    def __init__(self, live: Live, space: Space, page_id: str) -> None:
        self._live, self._space, self._page = live, space, page_id
        self._next: RevisionRef | None = None
        self._is_started = False
        self._checked_ids: set[str] = set()
        """Ids of the checked revisions. The walk ends if the parents form a circle."""
        self.found: list[PageVersion] = []
        self.checked_count = 0
        """Number of checked revisions of the space."""

    @property
    def is_at_end(self) -> bool:
        """Return whether there are no older revisions."""
        return self._is_started and self._next is None

    async def versions(self) -> AsyncIterator[PageVersion | None]:
        """Check some revisions. Yield the version of each that changed the page, and None for the others. Raises
        ApiError."""
        if not self._is_started:
            now = await self._live.send(content.Get(at=self._space.ref))
            self._next, self._is_started = self._ref(now.id), True
        for _ in range(BATCH):
            if self._next is None:
                return
            at = self._next
            try:
                # Not cached: a revision holds the whole page tree, of which little is used.
                revision, changed = await asyncio.gather(
                    self._live.send(content.Get(at=at)),
                    self._live.cached_or_fetch(content.ListChanges(at=at, limit=1000)),
                )
            except NotFound:  # You may not see revisions before this revision.
                self._next = None
                return
            self.checked_count += 1
            version = self._version(revision, changed)
            if version is not None and revision.id not in self._checked_ids:
                self.found.append(version)
            self._checked_ids |= {at.revision_id, revision.id}
            created_page = any(change.type == "page_created" for change in self._of_page(changed))
            parent = revision.parents[0] if revision.parents and not created_page else ""
            self._next = self._ref(parent) if parent and parent not in self._checked_ids else None
            yield version

    def _ref(self, revision: str) -> RevisionRef:
        return RevisionRef(space_id=self._space.id, revision_id=revision)

    def _of_page(self, changed: Changes) -> list[Change]:
        return [change for change in changed.changes if change.page is not None and change.page.id == self._page]

    def _version(self, revision: Revision, changed: Changes) -> PageVersion | None:
        changes = self._of_page(changed)
        if not changes and not changed.more:
            return None
        is_new = revision.type == "edits" and any(change.type == "page_created" for change in changes)
        merged = change_request_in(revision.merged_from) or change_request_in(changed.merged_from)
        return PageVersion(
            at=self._ref(revision.id),
            before=self._ref(revision.parents[0]) if revision.parents else None,
            created_at=revision.created_at,
            name=merged.title
            if merged
            else "Created on main"
            if is_new
            else _REVISION_TYPES.get(revision.type, revision.type or "Changed"),
            number=merged.number if merged else 0,
            author=merged.created_by.name if merged and merged.created_by else "",
            changes_label=_describe_changes(changes)
            if changes
            else f"{plural(changed.more, 'more change')} not listed",
        )


def _describe_changes(changes: list[Change]) -> str:
    parts: list[str] = []
    for change in changes:
        kind = change.type.rpartition("_")[2]
        attributes = change.attributes if isinstance(change.attributes, dict) else {}
        names = (
            [_PAGE_ATTRIBUTES.get(name, f"{name} changed") for name in attributes]
            if kind == "edited"
            else [f"page {kind}"]
        )
        parts += names or ["edited"]
    return ", ".join(dict.fromkeys(parts))
