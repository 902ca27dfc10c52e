"""Reverts a merge in a new change request: the dialog, the plan of what to revert, and the page edits."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change, ContentEdit, DeletePage, DocumentBody, Page, RevertPage, Revision, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.live import Live
from octavo.data.writes.change_request_writes import create
from octavo.data.writes.content_writes import (
    EDITABLE_FIELDS,
    MAX_CHANGES_PER_EDIT,
    REQUIRED_FIELDS,
    page_source,
    restore_pages,
)
from octavo.documents.page_trees import changes_between, has_document_ids, title_of
from octavo.lazy_import import lazy
from octavo.tui.core.permissions import why_no_editing
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.write_queue import show_progress
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.review.merge_effects import list_first_names
from octavo.tui.review.status_changes import RequestTarget, why_not_allowed
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.short_texts import InfoRow, first_few, plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_merge_texts = lazy("octavo.documents.merging.page_merge:merge")


_NO_EARLIER_REVISION = "Octavo cannot revert this merge: the server did not return the revision before the merge."
MAX_LINES = 8


def why_no_revert(app: Shell, target: RequestTarget) -> str | None:
    """Return the reason why the merge cannot be reverted. None if it can be reverted."""
    if target.change_request.status != "merged":
        return f"{target.name} is not merged. Only merged change requests can be reverted."
    if target.change_request.revision_merged is None:
        return _NO_EARLIER_REVISION
    return why_no_editing(app) or why_not_allowed(app, target, "edit")


def open_revert_dialog(app: Shell, target: RequestTarget) -> None:
    """Open the dialog that lists the pages to revert. Confirming it creates a change request that reverts them."""
    change_request, space = target.change_request, target.at.space
    write = CheckedWrite(
        title=f"Revert the merge of #{change_request.number}?",
        verb="Revert",
        intro=f"{change_request.title}\n\nOctavo will create a change request that reverts the changed pages. "
        "Main will not change until you merge that change request.",
        checks_label="reverts",
        blocked_while_loading="The checks are still loading.",
        blocked_on_error="Could not load the changes, so you cannot revert them yet. Press r to retry.",
        load=lambda: _load_checks(app, space, change_request),
        make_content=_dialog_content,
        send=lambda checks: revert_merge(app, space, checks.merged),
        next_step="Review the list before you revert.",
    )
    app.push_screen(CheckedDialog(app, write))


@dataclass(frozen=True)
class RevertChecks:
    """Merged change request, and the plan to revert its merge."""

    merged: ChangeRequest
    plan: RevertPlan | None
    """Plan of the revert. None if the server does not return main before and after the merge."""


async def _load_checks(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> RevertChecks:
    live = app.session.live
    merged = await live.fetch(change_requests.Get(at=change_request.ref(space)))
    revisions = await load_revisions(live, space, merged, None)
    if revisions is None:
        return RevertChecks(merged, None)
    changes = await load_changes(live, space, revisions)
    return RevertChecks(merged, await asyncio.to_thread(make_plan, revisions, changes))


def _dialog_content(checks: RevertChecks) -> DialogContent:
    if checks.plan is None:
        return DialogContent((), blocked=_NO_EARLIER_REVISION)
    return DialogContent(plan_rows(checks.plan), blocked="" if checks.plan else "There is nothing left to revert.")


def plan_rows(plan: RevertPlan) -> tuple[InfoRow, ...]:
    """Return the dialog rows that list the pages to revert and the changes that cannot be reverted."""
    pages_text = "   ".join(first_few(plan.page_lines, MAX_LINES))
    info_rows = [InfoRow("ok", "reverts", pages_text or "nothing")]
    if plan.edited_later:
        titles_text = list_first_names([page.title for page in plan.edited_later])
        text = f"{titles_text} · later edits will be kept, and conflicts will be marked in the text"
        info_rows.append(InfoRow("care", "edited later", text))
    info_rows += [InfoRow("care", "not reverted", line) for line in first_few(plan.not_reverted, MAX_LINES)]
    return tuple(info_rows)


async def revert_merge(app: Shell, space: SpaceRef, merged: ChangeRequest) -> None:
    """Revert the merge in a new change request and open it, or show the error. Continue an interrupted revert."""
    with show_progress(app, f"Reverting #{merged.number}…"):
        try:
            sentence, at = await _write_revert(app, space, merged)
        except ApiError as error:
            app.say(f"Could not revert #{merged.number}: {error} Press Z to retry.", tone="failed")
            return
    if at is None:
        app.say(sentence, tone="failed")
        return
    app.writes.forbid_undo(
        "You cannot undo a revert by pressing u. To discard the revert, press L to archive the new change request."
    )
    app.say(sentence)
    app.go(ToChangeRequest(at))


async def _write_revert(app: Shell, space: SpaceRef, merged: ChangeRequest) -> tuple[str, ChangeRequestRef | None]:
    """Write the revert of `merged` in a draft change request, and open this draft for review. Return a message and the
    reference of the draft. The reference is None if the revert is not complete. Raises ApiError."""
    live = app.session.live
    draft, sentence = await _find_or_create_draft(app, space, f"Revert #{merged.number} {merged.subject}".strip()[:100])
    if draft is None:
        return sentence, None
    revisions = await load_revisions(live, space, merged, draft.revision)
    if revisions is None:
        return _NO_EARLIER_REVISION, None
    plan = await asyncio.to_thread(make_plan, revisions, await load_changes(live, space, revisions))
    revert = await revert_edits(live, space, revisions, plan, f"#{draft.number}")
    at, head_id = draft.ref(space), draft.revision
    for start in range(0, len(revert.edits), MAX_CHANGES_PER_EDIT):
        outcome = await restore_pages(live, at, head_id, revert.edits[start : start + MAX_CHANGES_PER_EDIT])
        if outcome.kind != "done":
            return (
                f"Could not revert #{merged.number}: {outcome.message} Press Z to continue the revert in draft #{draft.number}.",
                None,
            )
        head_id = outcome.revision
    await live.write(change_requests.Update(at=at, status="open"))
    if revert.titles_with_conflicts:
        label = short_texts.plural(len(revert.titles_with_conflicts), "page")
        return f"Created #{draft.number} to revert #{merged.number}. Conflicts on {label} are marked in the text.", at
    return f"Created #{draft.number} to revert #{merged.number}. #{draft.number} is open for review.", at


async def _find_or_create_draft(app: Shell, space: SpaceRef, subject: str) -> tuple[ChangeRequest | None, str]:
    live, me = app.session.live, app.workspace.me
    if me is not None:  # A draft of an unknown account may belong to another user.
        drafts = await live.fetch(change_requests.List(at=space, status="draft", limit=100, creator=me.id))
        draft = next((each for each in drafts.items if each.subject == subject), None)
        if draft is not None:
            return await live.fetch(change_requests.Get(at=draft.ref(space))), ""
    sent = await create(live, space, subject)
    return (sent.result, "") if sent.kind == "done" else (None, sent.message)


_OBJECT_NAMES = {"file": "files", "reusable_content": "reusable content", "variables": "variables"}


@dataclass(frozen=True)
class RevertRevisions:
    """Main before and after a merge. `current` is main now, or the head of the change request that reverts it."""

    before_merge: Revision
    after_merge: Revision
    current: Revision


@dataclass(frozen=True)
class PageEditedLater:
    """Page that was, or may have been, edited after the merge. The revert keeps the later edits."""

    page_id: str
    title: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields to restore, such as the title, with their values before the merge."""
    merges_text: bool = True
    """True if the merge may have changed the text."""


class FormerPosition(NamedTuple):
    """Page and the position that it had before the merge."""

    page: Page
    parent: str | None
    """ID of the parent page. None at the top level."""
    position: int
    """Index among the siblings."""


@dataclass(frozen=True)
class RevertPlan:
    """Actions that revert a merge, for each of its pages. `bool(plan)` is False if there is nothing to revert."""

    restored_pages: tuple[Page, ...] = ()
    """Pages that the merge deleted, parents first."""
    reverted_pages: tuple[Page, ...] = ()
    """Pages that the merge edited and that have no later edits."""
    edited_later: tuple[PageEditedLater, ...] = ()
    moved_pages: tuple[FormerPosition, ...] = ()
    """Pages to move back. If a page moves, restored pages are listed too, because moves can shift them."""
    deleted_pages: tuple[Page, ...] = ()
    """Pages that the merge created, so the revert deletes them."""
    not_reverted: tuple[str, ...] = ()
    """Phrases about changes that cannot be reverted, such as `Setup: deleted after the merge`."""

    def __bool__(self) -> bool:
        return bool(
            self.restored_pages or self.reverted_pages or self.edited_later or self.moved_pages or self.deleted_pages
        )

    @property
    def page_lines(self) -> list[str]:
        """A line for each page in the plan, such as `− Setup`."""
        edited_ids = {page.id for page in (*self.restored_pages, *self.reverted_pages)} | {
            page.page_id for page in self.edited_later
        }
        return [
            *(f"~ {page.title or 'Untitled'}" for page in self.reverted_pages),
            *(f"~ {page.title}" for page in self.edited_later),
            *(f"+ {page.title or 'Untitled'}" for page in self.restored_pages),
            *(f"→ {each.page.title or 'Untitled'}" for each in self.moved_pages if each.page.id not in edited_ids),
            *(f"− {page.title or 'Untitled'}" for page in self.deleted_pages),
        ]


async def load_revisions(
    live: Live, space: SpaceRef, change_request: ChangeRequest, later_id: str | None
) -> RevertRevisions | None:
    """Load the revisions before and after a merge, and the later revision `later_id` (None for current main). None if
    the server does not return the revisions of the merge. Raises ApiError."""
    if change_request.revision_merged is None:
        return None
    merge_revision = await live.cached_or_fetch(content.Get(at=space.revision_ref(change_request.revision_merged)))
    # A merge has two parents, main before the merge and the change request. Keep only main.
    parents = [parent for parent in merge_revision.parents if parent != change_request.revision]
    if not parents:
        return None
    later = (
        live.cached_or_fetch(content.Get(at=space.revision_ref(later_id)))
        if later_id
        else live.fetch(content.Get(at=space))
    )
    before, current = await asyncio.gather(live.cached_or_fetch(content.Get(at=space.revision_ref(parents[0]))), later)
    return RevertRevisions(before, merge_revision, current)


async def load_changes(live: Live, space: SpaceRef, revisions: RevertRevisions) -> content.Changes:
    """Return the changes that the merge made to main. Raises ApiError."""
    if has_document_ids(revisions.after_merge):
        changes = await asyncio.to_thread(changes_between, revisions.before_merge, revisions.after_merge)
        return content.Changes(changes=changes)
    return await live.cached_or_fetch(content.ListChanges(at=space.revision_ref(revisions.after_merge.id), limit=1000))


def make_plan(revisions: RevertRevisions, changes: content.Changes) -> RevertPlan:
    """Return the plan that reverts the `changes` of a merge and keeps later edits."""
    return _Planner(revisions, changes).plan()


class _Planner:
    """Decides for each change of a merge how to revert it, and makes the plan."""

    def __init__(self, revisions: RevertRevisions, changes: content.Changes) -> None:
        self._changes = changes.changes
        self._has_ids = has_document_ids(revisions.after_merge)
        self._before, self._merged, self._now = (
            _Tree(each) for each in (revisions.before_merge, revisions.after_merge, revisions.current)
        )
        self._changed_later = _page_ids(changes_between(revisions.after_merge, revisions.current))
        """IDs of the pages that changed after the merge."""
        self._changed_from_before = _page_ids(changes_between(revisions.before_merge, revisions.current))
        """IDs of the pages whose current version differs from the version before the merge."""
        self._not_reverted: list[str] = []
        if changes.missing_count:
            self._not_reverted.append(f"{plural(changes.missing_count, 'change')} not listed by the server")

    def plan(self) -> RevertPlan:
        by_kind: dict[str, list[str]] = {}
        for change in self._changes:
            if change.page is not None:
                by_kind.setdefault(change.type, []).append(change.page.id)
            else:
                kind = _OBJECT_NAMES.get(change.type.rpartition("_")[0], change.type)
                self._not_reverted.append(f"{title_of(change)}: {kind} cannot be reverted")
        ids = [page for page in self._in_order(by_kind.get("page_deleted", [])) if page not in self._now.pages]
        reverted, edited_later = self._plan_edits(by_kind.get("page_edited", []))
        restored_ids = set(ids)
        moved_pages = tuple(self._plan_moves(self._in_order(by_kind.get("page_moved", [])), restored_ids))
        deleted_ids = self._deletable_pages(by_kind.get("page_created", []), {each.page.id for each in moved_pages})
        if moved_pages:  # A move can shift restored siblings, so these get a position again.
            before = self._before
            restored_positions = [
                FormerPosition(before.pages[id], before.parents[id], before.position_of(id))
                for id in ids
                if self._can_be_parent(before.parents[id], restored_ids)
            ]
            positions = [*moved_pages, *restored_positions]
            moved_pages = tuple(sorted(positions, key=lambda each: list(self._before.pages).index(each.page.id)))
        return RevertPlan(
            tuple(self._before.pages[page] for page in ids),
            tuple(reverted),
            tuple(edited_later),
            moved_pages,
            tuple(self._merged.pages[page] for page in deleted_ids),
            tuple(self._not_reverted),
        )

    def _in_order(self, page_ids: Iterable[str]) -> list[str]:
        id_set = set(page_ids)
        return [page_id for page_id in self._before.pages if page_id in id_set]

    def _plan_edits(self, page_ids: Iterable[str]) -> tuple[list[Page], list[PageEditedLater]]:
        reverted_pages: list[Page] = []
        edited_later: list[PageEditedLater] = []
        for page_id in self._in_order(page_ids):
            old_page = self._before.pages[page_id]
            if page_id not in self._now.pages:
                self._not_reverted.append(f"{old_page.title}: deleted after the merge")
            elif not self._has_ids:
                edited_later.append(self._page_edited_later(page_id))
            elif page_id not in self._changed_from_before:
                continue  # The page is as it was before the merge.
            elif page_id in self._changed_later:
                edited_later.append(self._page_edited_later(page_id))
            else:
                reverted_pages.append(old_page)
        return reverted_pages, edited_later

    def _page_edited_later(self, page_id: str) -> PageEditedLater:
        old_page, merged, current = (tree.pages[page_id] for tree in (self._before, self._merged, self._now))
        fields: dict[str, Any] = {}
        for name in EDITABLE_FIELDS:
            old_value, merged_value, current_value = (getattr(page, name) for page in (old_page, merged, current))
            if old_value == merged_value or current_value == old_value:
                continue
            if current_value == merged_value and not (old_value is None and name in REQUIRED_FIELDS):
                fields[name] = old_value
            elif current_value != merged_value:
                self._not_reverted.append(f"{current.title}: its {name.replace('_', ' ')} was changed after the merge")
        merges_text = old_page.type == "document" and (old_page.document_id != merged.document_id or not self._has_ids)
        return PageEditedLater(page_id, current.title or "Untitled", fields, merges_text)

    def _plan_moves(self, page_ids: Iterable[str], restored_ids: set[str]) -> Iterator[FormerPosition]:
        for page_id in page_ids:
            if page_id not in self._now.pages or page_id not in self._changed_from_before:
                continue  # The page was deleted after the merge, or has been moved back.
            former, merged, current_parent = (tree.parents[page_id] for tree in (self._before, self._merged, self._now))
            page = self._before.pages[page_id]
            if current_parent != merged:
                if current_parent != former:
                    self._not_reverted.append(f"{page.title}: moved after the merge")
            elif not self._can_be_parent(former, restored_ids):
                self._not_reverted.append(f"{page.title}: its parent page was deleted after the merge")
            elif former is not None and page_id in self._now.path_to(former):
                self._not_reverted.append(
                    f"{page.title}: its former parent page became one of its subpages after the merge"
                )
            else:
                yield FormerPosition(page, former, self._before.position_of(page_id))

    def _can_be_parent(self, page_id: str | None, restored_ids: Collection[str]) -> bool:
        return page_id is None or page_id in self._now.pages or page_id in restored_ids

    def _deletable_pages(self, page_ids: Iterable[str], moved_ids: set[str]) -> list[str]:
        """Return the IDs of the created pages `page_ids` to delete. Leave out pages whose parent is also deleted. Add a
        reason to `_not_reverted` for each page that must stay. `moved_ids` has the IDs of the pages to move back."""
        created_ids = [page_id for page_id in page_ids if page_id in self._now.pages]
        edited_ids = {page for page in created_ids if page in self._changed_later or not self._has_ids}
        remaining_ids = set(self._now.pages) - set(created_ids) - moved_ids | edited_ids
        ancestors = {parent for page in remaining_ids for parent in self._ancestors_below_moved(page, moved_ids)}
        needed_ids = ancestors & set(created_ids)
        for page in created_ids:
            if page in edited_ids:
                reason = "edited" if self._has_ids else "may have been edited"
                self._not_reverted.append(f"{self._now.pages[page].title}: {reason} after the merge")
            elif page in needed_ids:
                self._not_reverted.append(f"{self._now.pages[page].title}: it has subpages")
        deleted_ids = set(created_ids) - edited_ids - needed_ids
        return [page for page in created_ids if page in deleted_ids and self._now.parents[page] not in deleted_ids]

    def _ancestors_below_moved(self, page_id: str, moved_ids: set[str]) -> list[str]:
        """Return the IDs of a page's ancestors below its nearest ancestor in `moved_ids`. All ancestors if none is."""
        ancestors = self._now.path_to(page_id)[:-1]
        start = max((index + 1 for index, each in enumerate(ancestors) if each in moved_ids), default=0)
        return ancestors[start:]


class _Tree:
    """Page tree of a revision, with the parent of each page."""

    def __init__(self, revision: Revision) -> None:
        self.pages: dict[str, Page] = {}
        self.parents: dict[str, str | None] = {}
        self._children: dict[str | None, list[str]] = {}
        self._add(revision.pages, None)

    def _add(self, pages: tuple[Page, ...], parent_id: str | None) -> None:
        for page in pages:
            if page.id not in self.pages:
                self.pages[page.id] = page
                self.parents[page.id] = parent_id
                self._children.setdefault(parent_id, []).append(page.id)
                self._add(page.pages, page.id)

    def position_of(self, page_id: str) -> int:
        """Return the position of a page among its siblings."""
        return self._children[self.parents[page_id]].index(page_id)

    def path_to(self, page_id: str) -> list[str]:
        """Return the IDs of the ancestors of a page, from the top level down, then the ID of the page."""
        path_ids: list[str] = []
        ancestor_id: str | None = page_id
        while ancestor_id is not None and ancestor_id in self.parents:
            path_ids.insert(0, ancestor_id)
            ancestor_id = self.parents[ancestor_id]
        return path_ids


def _page_ids(changes: Iterable[Change]) -> set[str]:
    return {change.page.id for change in changes if change.page is not None}


@dataclass(frozen=True)
class RevertEdits:
    """The page edits that carry out a plan to revert a merge, in order."""

    edits: tuple[ContentEdit, ...]
    titles_with_conflicts: tuple[str, ...] = ()
    """Titles of the pages where later edits conflict with the revert. Their texts have conflict markers."""


async def revert_edits(
    live: Live, space: SpaceRef, revisions: RevertRevisions, plan: RevertPlan, label: str
) -> RevertEdits:
    """Return a plan's edits, and titles of pages with conflicts. `label` is for conflict markers. Raises ApiError."""
    edits: list[ContentEdit] = []
    titles_with_conflicts: list[str] = []
    edits += [RevertPage(page=page.id, revision=revisions.before_merge.id) for page in plan.restored_pages]
    edits += [RevertPage(page=page.id, revision=revisions.before_merge.id) for page in plan.reverted_pages]
    for later_edited in plan.edited_later:
        document, has_conflicts = None, False
        if later_edited.merges_text:
            document, has_conflicts = await _merge_later_text(live, space, revisions, later_edited.page_id, label)
        if has_conflicts:
            titles_with_conflicts.append(later_edited.title)
        if fields := {**later_edited.fields, **({"document": document} if document is not None else {})}:
            edits.append(UpdatePage(page=later_edited.page_id, **fields))
    # Positions are set after all pages have their parents, because each move shifts siblings.
    edits += [UpdatePage(page=each.page.id, into=each.parent) for each in plan.moved_pages]
    edits += [UpdatePage(page=each.page.id, at=each.position) for each in plan.moved_pages]
    edits += [DeletePage(page=page.id) for page in plan.deleted_pages]
    return RevertEdits(tuple(edits), tuple(titles_with_conflicts))


async def _merge_later_text(
    live: Live, space: SpaceRef, revisions: RevertRevisions, page_id: str, label: str
) -> tuple[DocumentBody | None, bool]:
    """Return the current text of a page without the reverted merge, and True if later edits conflict with the revert.
    `label` marks the conflicts. The text is None if unchanged or if a version is missing. Raises ApiError."""
    merge_order = (revisions.after_merge, revisions.current, revisions.before_merge)
    base, main, proposed = await asyncio.gather(
        *(page_source(live, space.revision_ref(each.id), page_id) for each in merge_order)
    )
    if base is None or main is None or proposed is None:
        return None, False
    merged_page = await asyncio.to_thread(_merge_texts, base.text, main.text, proposed.text)
    text = merged_page.text(request=label)
    return DocumentBody(markdown=text) if text != main.text else None, bool(merged_page.conflicts)
