"""The revisions that changed a page, found by walking back through the primary content of its space.

The interface lists no revisions: each names the one before it, and says what it changed.
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

AT_A_TIME = 40
"""Revisions of the space that are looked through before one is asked whether to go on."""
_TYPES = {
    "edits": "Edited on main",
    "merge": "Merged",
    "rollback": "Rolled back to an earlier revision",
    "update": "Updated",
    "computed": "Generated",
}
_ATTRIBUTES = {
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
class Version:
    """A revision that changed the page."""

    at: RevisionRef
    before: RevisionRef | None
    moment: datetime | None
    name: str
    """Title of the merged change request, else the kind of the revision."""
    number: int = 0
    """Of that change request."""
    who: str = ""
    did: str = ""
    """Changes to the page, in words."""

    @property
    def revision(self) -> str:
        return self.at.revision_id


class RevisionWalk:
    """Walks back from the current revision of a space. `found` holds the revisions that changed the page, newest first."""

    def __init__(self, live: Live, space: Space, page_id: str) -> None:
        self._live, self._space, self._page = live, space, page_id
        self._next: RevisionRef | None = None
        self._began = False
        self._seen: set[str] = set()
        """The revisions that were come by: a server may lead round in circles."""
        self.found: list[Version] = []
        self.looked = 0
        """Number of checked revisions of the space."""

    @property
    def is_at_end(self) -> bool:
        """Return whether there are no older revisions."""
        return self._began and self._next is None

    async def versions(self) -> AsyncIterator[Version | None]:
        """Look through some revisions, and give for each what it did to the page, if anything. Raises ApiError."""
        if not self._began:
            now = await self._live.send(content.Get(at=self._space.ref))
            self._next, self._began = self._ref(now.id), True
        for _ in range(AT_A_TIME):
            if self._next is None:
                return
            at = self._next
            try:
                # Revisions hold whole trees: too much to be kept for the line each is here.
                revision, changed = await asyncio.gather(
                    self._live.send(content.Get(at=at)),
                    self._live.cached_or_fetch(content.ListChanges(at=at, limit=1000)),
                )
            except NotFound:  # what came before is not shown to everybody
                self._next = None
                return
            self.looked += 1
            version = self._version(revision, changed)
            if version is not None and revision.id not in self._seen:
                self.found.append(version)
            self._seen |= {at.revision_id, revision.id}
            made = any(change.type == "page_created" for change in self._of_page(changed))
            further = revision.parents[0] if revision.parents and not made else ""
            self._next = self._ref(further) if further and further not in self._seen else None
            yield version

    def _ref(self, revision: str) -> RevisionRef:
        return RevisionRef(space_id=self._space.id, revision_id=revision)

    def _of_page(self, changed: Changes) -> list[Change]:
        return [change for change in changed.changes if change.page is not None and change.page.id == self._page]

    def _version(self, revision: Revision, changed: Changes) -> Version | None:
        changes = self._of_page(changed)
        if not changes and not changed.more:
            return None
        is_new = revision.type == "edits" and any(change.type == "page_created" for change in changes)
        merged = change_request_in(revision.merged_from) or change_request_in(changed.merged_from)
        return Version(
            at=self._ref(revision.id),
            before=self._ref(revision.parents[0]) if revision.parents else None,
            moment=revision.created_at,
            name=merged.title
            if merged
            else "Created on main"
            if is_new
            else _TYPES.get(revision.type, revision.type or "Changed"),
            number=merged.number if merged else 0,
            who=merged.created_by.name if merged and merged.created_by else "",
            did=_did(changes) if changes else f"{plural(changed.more, 'more change')} not listed",
        )


def _did(changes: list[Change]) -> str:
    said: list[str] = []
    for change in changes:
        kind = change.type.rpartition("_")[2]
        attributes = change.attributes if isinstance(change.attributes, dict) else {}
        words = (
            [_ATTRIBUTES.get(name, f"{name} changed") for name in attributes] if kind == "edited" else [f"page {kind}"]
        )
        said += words or ["edited"]
    return ", ".join(dict.fromkeys(said))
