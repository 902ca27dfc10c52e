"""What puts the pages of a merge back: found from the revisions before, after and now, and as the edits that do it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change, ContentEdit, DeletePage, DocumentBody, Page, RevertPage, Revision, UpdatePage
from octavo.api.places import RevisionRef, SpaceRef
from octavo.data.live import Live
from octavo.data.writes.content_writes import FIELDS, NEVER_NONE, page_source
from octavo.documents.merging.page_merge import merge
from octavo.documents.revision_changes import changes_between, has_document_ids
from octavo.tui.review.merge_checks import name

_OTHER = {"file": "files", "reusable_content": "reusable content", "variables": "variables"}


@dataclass(frozen=True)
class Sides:
    """Main before a merge, after the merge, and now."""

    before: Revision
    merged: Revision
    now: Revision


@dataclass(frozen=True)
class EditedSince:
    """A page that the merge changed and somebody else since: only what the merge did is taken back."""

    page: str
    title: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What it is called again, and the like."""
    of_text: bool = True
    """Whether its text may have to do with it."""


@dataclass(frozen=True)
class Plan:
    """What is put back, and what is not."""

    restored: tuple[Page, ...] = ()
    """Pages it deleted, those above before those below."""
    reverted: tuple[Page, ...] = ()
    """Pages it edited, which nobody touched since."""
    met: tuple[EditedSince, ...] = ()
    moved: tuple[tuple[Page, str | None, int], ...] = ()
    """Pages it moved: below which page they stood, and at which place."""
    deleted: tuple[Page, ...] = ()
    """Pages it made."""
    left: tuple[str, ...] = ()
    """What stays as it is, and why, in words."""

    def __bool__(self) -> bool:
        return bool(self.restored or self.reverted or self.met or self.moved or self.deleted)

    @property
    def lines(self) -> list[str]:
        """What it does, each as a sign and a title."""
        told = {page.id for page in (*self.restored, *self.reverted)} | {page.page for page in self.met}
        return [
            *(f"~ {page.title or 'Untitled'}" for page in self.reverted),
            *(f"~ {page.title}" for page in self.met),
            *(f"+ {page.title or 'Untitled'}" for page in self.restored),
            *(f"→ {page.title or 'Untitled'}" for page, _, _ in self.moved if page.id not in told),
            *(f"− {page.title or 'Untitled'}" for page in self.deleted),
        ]


async def sides(live: Live, space: SpaceRef, change_request: ChangeRequest, now: str | None) -> Sides | None:
    """The three revisions. None where the server does not say what was there before the merge. Raises ApiError.

    `now` is the revision to revert the merge in. None: main.
    """
    if change_request.revision_merged is None:
        return None
    merged = await live.cached_or_fetch(content.Get(at=_ref(space, change_request.revision_merged)))
    # A merge has two parents: main before the merge, and the change request.
    parents = [parent for parent in merged.parents if parent != change_request.revision]
    if not parents:
        return None
    last = live.cached_or_fetch(content.Get(at=_ref(space, now))) if now else live.fetch(content.Get(at=space))
    before, standing = await asyncio.gather(live.cached_or_fetch(content.Get(at=_ref(space, parents[0]))), last)
    return Sides(before, merged, standing)


async def changes_of(live: Live, space: SpaceRef, three: Sides) -> tuple[Change, ...]:
    """What the merge changed. Raises ApiError."""
    if has_document_ids(three.merged):
        return await asyncio.to_thread(changes_between, three.before, three.merged)
    said = await live.cached_or_fetch(content.ListChanges(at=_ref(space, three.merged.id), limit=1000))
    return said.changes


def plan(three: Sides, changes: Iterable[Change]) -> Plan:
    """What has to be done to `three.now` so that nothing of the merge is left in it, but for what came since."""
    return _Planning(three, tuple(changes)).plan()


class _Planning:
    def __init__(self, three: Sides, changes: tuple[Change, ...]) -> None:
        self._changes = changes
        self._named = has_document_ids(three.merged)
        self._before, self._merged, self._now = (_Tree(each) for each in (three.before, three.merged, three.now))
        self._since = _ids(changes_between(three.merged, three.now))
        """The pages that somebody touched since, as far as revisions tell."""
        self._apart = _ids(changes_between(three.before, three.now))
        """The pages that are not as they were."""
        self._left: list[str] = []

    def plan(self) -> Plan:
        by_kind: dict[str, list[str]] = {}
        for change in self._changes:
            if change.page is not None:
                by_kind.setdefault(change.type, []).append(change.page.id)
            else:
                kind = _OTHER.get(change.type.rpartition("_")[0], change.type)
                self._left.append(f"{name(change)}: {kind} cannot be reverted")
        restored = [page for page in self._in_order(by_kind.get("page_deleted", [])) if page not in self._now.pages]
        reverted, met = self._edited(by_kind.get("page_edited", []))
        kept = set(restored)
        moved = tuple(self._moved(self._in_order(by_kind.get("page_moved", [])), kept))
        deleted = self._deleted(by_kind.get("page_created", []), {page.id for page, _, _ in moved})
        if moved:  # then the places beside them have to be found again
            again = [(page, self._before.parents[page], self._before.place(page)) for page in restored]
            every = [*moved, *((self._before.pages[page], above, place) for page, above, place in again)]
            moved = tuple(sorted(every, key=lambda each: list(self._before.pages).index(each[0].id)))
        return Plan(
            tuple(self._before.pages[page] for page in restored),
            tuple(reverted),
            tuple(met),
            moved,
            tuple(self._merged.pages[page] for page in deleted),
            tuple(self._left),
        )

    def _in_order(self, pages: Iterable[str]) -> list[str]:
        wanted = set(pages)
        return [page for page in self._before.pages if page in wanted]

    def _edited(self, pages: Iterable[str]) -> tuple[list[Page], list[EditedSince]]:
        reverted: list[Page] = []
        met: list[EditedSince] = []
        for page_id in self._in_order(pages):
            then = self._before.pages[page_id]
            if page_id not in self._now.pages:
                self._left.append(f"{then.title}: deleted after the merge")
            elif not self._named:
                met.append(self._with_what_came(page_id))
            elif page_id not in self._apart:
                continue  # it is as it was
            elif page_id in self._since:
                met.append(self._with_what_came(page_id))
            else:
                reverted.append(then)
        return reverted, met

    def _with_what_came(self, page_id: str) -> EditedSince:
        then, merged, now = (tree.pages[page_id] for tree in (self._before, self._merged, self._now))
        fields: dict[str, Any] = {}
        for each in FIELDS:
            was, became, is_now = (getattr(page, each) for page in (then, merged, now))
            if was == became or is_now == was:
                continue
            if is_now == became and not (was is None and each in NEVER_NONE):
                fields[each] = was
            elif is_now != became:
                self._left.append(f"{now.title}: its {each.replace('_', ' ')} was changed after the merge")
        of_text = then.type == "document" and (then.document_id != merged.document_id or not self._named)
        return EditedSince(page_id, now.title or "Untitled", fields, of_text)

    def _moved(self, pages: Iterable[str], restored: set[str]) -> Iterator[tuple[Page, str | None, int]]:
        for page_id in pages:
            if page_id not in self._now.pages or page_id not in self._apart:
                continue  # deleted since, or it stands where it stood
            stood, became, stands = (tree.parents[page_id] for tree in (self._before, self._merged, self._now))
            page = self._before.pages[page_id]
            if stands != became:
                if stands != stood:
                    self._left.append(f"{page.title}: moved after the merge")
            elif stood is not None and stood not in self._now.pages and stood not in restored:
                self._left.append(f"{page.title}: its parent page was deleted after the merge")
            elif stood is not None and page_id in self._now.trail(stood):
                self._left.append(f"{page.title}: its former parent page became one of its subpages after the merge")
            else:
                yield page, stood, self._before.place(page_id)

    def _deleted(self, pages: Iterable[str], moved_away: set[str]) -> list[str]:
        """The pages it made that can go: nobody edited them since, and nothing else stands below them."""
        made = [page for page in pages if page in self._now.pages]
        kept = {page for page in made if page in self._since or not self._named}
        stay = set(self._now.pages) - set(made) - moved_away | kept
        needed = {above for page in stay for above in self._now.trail(page)[:-1] if above in made}
        for page in made:
            if page in kept:
                why = "edited" if self._named else "may have been edited"
                self._left.append(f"{self._now.pages[page].title}: {why} after the merge")
            elif page in needed:
                self._left.append(f"{self._now.pages[page].title}: it has subpages")
        gone = set(made) - kept - needed
        return [page for page in made if page in gone and self._now.parents[page] not in gone]


class _Tree:
    """The pages of a revision, each with the one above it."""

    def __init__(self, revision: Revision) -> None:
        self.pages: dict[str, Page] = {}
        self.parents: dict[str, str | None] = {}
        self._below: dict[str | None, list[str]] = {}
        self._add(revision.pages, None)

    def _add(self, pages: tuple[Page, ...], above: str | None) -> None:
        for page in pages:
            if page.id not in self.pages:
                self.pages[page.id] = page
                self.parents[page.id] = above
                self._below.setdefault(above, []).append(page.id)
                self._add(page.pages, page.id)

    def place(self, page: str) -> int:
        """Where among its siblings it stands."""
        return self._below[self.parents[page]].index(page)

    def trail(self, page: str) -> list[str]:
        """The page with those above it, the root first."""
        found: list[str] = []
        at: str | None = page
        while at is not None and at in self.parents:
            found.insert(0, at)
            at = self.parents[at]
        return found


def _ids(changes: Iterable[Change]) -> set[str]:
    return {change.page.id for change in changes if change.page is not None}


def _ref(space: SpaceRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=space.space_id, revision_id=revision)


@dataclass(frozen=True)
class Edits:
    """The edits of a plan, in the order in which each finds what it needs."""

    edits: tuple[ContentEdit, ...]
    contested: tuple[str, ...] = ()
    """Pages where what the merge changed was changed again since: both are in the text, marked."""


async def reversal_edits(live: Live, space: SpaceRef, three: Sides, planned: Plan, label: str) -> Edits:
    """The edits that do what was planned; `label` is what the marks of a conflict call them. Raises ApiError."""
    made: list[ContentEdit] = []
    contested: list[str] = []
    made += [RevertPage(page=page.id, revision=three.before.id) for page in planned.restored]
    made += [RevertPage(page=page.id, revision=three.before.id) for page in planned.reverted]
    for met in planned.met:
        fields = dict(met.fields)
        if met.of_text:
            base, main, proposed = await asyncio.gather(
                *(page_source(live, _ref(space, each.id), met.page) for each in (three.merged, three.now, three.before))
            )
            if base is not None and main is not None and proposed is not None:
                merged = await asyncio.to_thread(merge, base.text, main.text, proposed.text)
                if (text := merged.text(request=label)) != main.text:
                    fields["document"] = DocumentBody(markdown=text)
                if merged.conflicts:
                    contested.append(met.title)
        if fields:
            made.append(UpdatePage(page=met.page, **fields))
    # Each finds its place once all are below the page where they stood.
    made += [UpdatePage(page=page.id, into=above) for page, above, _ in planned.moved]
    made += [UpdatePage(page=page.id, at=place) for page, _, place in planned.moved]
    made += [DeletePage(page=page.id) for page in planned.deleted]
    return Edits(tuple(made), tuple(contested))
