"""Finds the two versions that a command compares, the pages that differ, and their texts in both versions.

Also remembers which revision a command showed last. `octavo review` refuses to review a later revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from octavo.api import content, spaces
from octavo.api.content import Revision
from octavo.api.errors import NotFound
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef
from octavo.api.safety import safe_line
from octavo.api.users import Me
from octavo.cli.refs import RefResolver, RefTarget
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure, tell
from octavo.concurrency import gather_bounded
from octavo.data.loaders import all_items, find_page, page_markdown, page_source_op
from octavo.data.queries import PAGE_LIMIT, reviews_op
from octavo.documents.diff import diff
from octavo.documents.diff_model import ChangeSize
from octavo.documents.page_trees import ChangedPage, changed_pages, changes_between, has_document_ids
from octavo.documents.source_reader import parse
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.data.live import Live
    from octavo.tui.core.session import Session


@dataclass(frozen=True)
class ComparedVersions:
    """The two versions of a space to compare."""

    old: ContentRef | None
    """The earlier version. None if the server does not tell on which revision a change request is based."""
    new: ContentRef


@dataclass(frozen=True)
class PageTexts:
    """A changed page or file with its Markdown in both versions. A file or missing page has empty Markdown."""

    item: ChangedPage
    old_markdown: str = ""
    new_markdown: str = ""
    old_path: str = ""
    """Path of a moved or renamed page before the change. Empty if the path is unchanged or unknown."""

    @property
    def path(self) -> str:
        """The path (else the ID) of a page, or the title of a file or other item."""
        return (self.item.page.path or self.item.page.id) if self.item.page is not None else self.item.title

    @property
    def name(self) -> str:
        """The path of a page. The title of a file, of another item, or of a home page, which has no path."""
        return (self.item.page.path if self.item.page is not None else "") or self.item.title

    @property
    def change(self) -> str:
        """How the page or file changed: the first of added, deleted, moved, renamed and edited that is true."""
        kinds = self.item.kinds
        names = (("created", "added"), ("deleted", "deleted"), ("moved", "moved"), ("renamed", "renamed"))
        return next((name for kind, name in names if kind in kinds), "edited")

    @cached_property
    def size(self) -> ChangeSize:
        """Numbers of added and removed words. Compares the texts, which is slow for long pages."""
        return diff(parse(self.old_markdown), parse(self.new_markdown)).size


async def find_versions(live: Live, target: RefTarget, against: str) -> ComparedVersions:
    """Return `target` as the new version. The old version is `against`: `base`, `main`, `my-review` or a revision ID.
    After a merge, `base` returns main before and after the merge. Raises ApiError or Failure."""
    space, change_request = target.space, target.change_request
    if change_request is None:
        if against in ("base", "main", "my-review"):
            raise Failure(f"Could not compare {target.ref}: it is not a change request. Use --against REVISION.", USAGE)
        return ComparedVersions(RevisionRef(space_id=space.id, revision_id=against), space.ref)
    at = change_request.ref(space.ref)
    new_version: ContentRef = at.revision_ref(change_request.revision) if change_request.revision else at
    if against == "main":
        main_id = (await live.fetch(spaces.Get(at=space.ref))).revision
        return ComparedVersions(at.revision_ref(main_id) if main_id else space.ref, new_version)
    if against == "my-review":
        return ComparedVersions(at.revision_ref(await reviewed_revision(live, target)), new_version)
    if against != "base":
        return ComparedVersions(at.revision_ref(against), new_version)
    if change_request.status == "merged" and change_request.revision_merged is not None:
        merged_version = at.revision_ref(change_request.revision_merged)
        # A merge has two parents: the change request, and main before the merge.
        parent_ids = (await load_revision(live, merged_version)).parents
        old_main_id = next((each for each in parent_ids if each != change_request.revision), None)
        if old_main_id is not None:
            return ComparedVersions(at.revision_ref(old_main_id), merged_version)
    return ComparedVersions(at.revision_ref(change_request.base) if change_request.base else None, new_version)


async def reviewed_revision(live: Live, target: RefTarget) -> str:
    """Return the ID of the revision that the user reviewed last. Raises ApiError, or Failure if there is none."""
    assert target.change_request is not None, "only change requests have reviews"
    at = target.change_request.ref(target.space.ref)
    me, reviews = await asyncio.gather(live.cached_or_fetch(Me()), all_items(live, reviews_op(at)))
    revision = next((each.revision for each in reviews if each.reviewer.id == me.id and each.revision), None)
    if revision is None:
        raise Failure(f"Could not compare {target.ref}: you have not reviewed it.", NOT_FOUND)
    return revision


async def changed_items(live: Live, target: RefTarget, versions: ComparedVersions) -> tuple[ChangedPage, ...]:
    """Return the pages and files that differ between two versions. Raises ApiError, or Failure for missing versions."""
    if versions.old is None:
        return await _changes_from_server(live, target.at)
    try:
        old, new = await asyncio.gather(load_revision(live, versions.old), load_revision(live, versions.new))
    except NotFound:
        name = versions.old.revision_id if isinstance(versions.old, RevisionRef) else target.ref.without_page
        raise Failure(f"Could not find revision {safe_line(name)} in {target.space.title}.", NOT_FOUND) from None
    changes = changed_pages(await asyncio.to_thread(changes_between, old, new))
    if has_document_ids(new) or target.change_request is None:
        return changes
    # Revisions without document IDs do not show which texts were edited, so the server is asked for these pages.
    keys = {each.key for each in changes}
    return (*changes, *(each for each in await _changes_from_server(live, target.at) if each.key not in keys))


async def _changes_from_server(live: Live, at: ContentRef) -> tuple[ChangedPage, ...]:
    if not isinstance(at, ChangeRequestRef):
        return ()
    changes = await live.fetch(content.ListChanges(at=at, limit=PAGE_LIMIT))
    if changes.missing_count:
        tell(f"{plural(changes.missing_count, 'more change')} could not be listed.")
    return changed_pages(changes.changes)


async def items_of_page(
    resolver: RefResolver, target: RefTarget, items: tuple[ChangedPage, ...], name: str = ""
) -> tuple[ChangedPage, ...]:
    """Return the `items` on the page `name`. If `name` is empty, use the page of `target`. If `target` has no page,
    return all items. Raises ApiError or Failure."""
    name = name.strip("/") or (target.page.id if target.page is not None else "")
    if not name:
        return items
    for field in ("id", "path", "title"):
        if matches := tuple(each for each in items if each.page is not None and getattr(each.page, field) == name):
            return matches
    page = await resolver.page(target, name)
    return tuple(each for each in items if each.page is not None and each.page.id == page.id)


async def load_texts(live: Live, versions: ComparedVersions, items: Sequence[ChangedPage]) -> list[PageTexts]:
    """Load the Markdown of the changed items in both versions. Raises ApiError."""

    async def load(item: ChangedPage) -> PageTexts:
        if not item.is_document or item.page is None:
            return PageTexts(item)
        return PageTexts(item, *await load_markdown(live, versions, item.page.id))

    return await gather_bounded(load, items)


async def load_markdown(live: Live, versions: ComparedVersions, page_id: str) -> tuple[str, str]:
    """Return the old and the new Markdown of a page, each empty if its version lacks the page. Raises ApiError."""
    old_page = await find_page(live, page_source_op(versions.old, page_id)) if versions.old is not None else None
    new_page = await find_page(live, page_source_op(versions.new, page_id))
    return page_markdown(old_page), page_markdown(new_page)


async def load_revision(live: Live, at: ContentRef) -> Revision:
    """Load the content at `at`. Only a revision (`RevisionRef`) may come from the cache. Raises ApiError."""
    op = content.Get(at=at)
    revision: Revision = await (live.cached_or_fetch(op) if isinstance(at, RevisionRef) else live.fetch(op))
    return revision


def remember_viewed(session: Session, change_request: ChangeRequest, *, in_full: bool) -> None:
    """Store that the user has viewed the current revision of a change request. Unless the user has seen all changes
    `in_full`, an earlier viewed revision stays stored, so that a review names the changes since then."""
    if change_request.revision and (in_full or viewed_revision(session, change_request) is None):
        session.state.set_value(_state_key(change_request), change_request.revision)


def viewed_revision(session: Session, change_request: ChangeRequest) -> str | None:
    """Return the ID of the revision that the user viewed last. None if no command has shown the change request."""
    revision_id = session.state.get_value(_state_key(change_request))
    return revision_id if isinstance(revision_id, str) else None


def _state_key(change_request: ChangeRequest) -> str:
    return f"viewed revision {change_request.id}"
