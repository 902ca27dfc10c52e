"""Finds the conflicts of a change request. Start at `find_conflicts`. It returns `OpenConflicts`, which turn your
choices into edits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DocumentBody, Page, Revision, UpdatePage
from octavo.api.errors import Forbidden, NotFound
from octavo.api.operation import ChangeRequestRef, ContentRef, SpaceRef
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.writes.content_writes import page_source
from octavo.documents.diff_model import AttributeChange
from octavo.documents.merging.merged_page import Conflict, MergeChoice, MergedPage, read_marked_page
from octavo.documents.merging.page_merge import merge
from octavo.documents.merging.revision_merge import pages_to_read
from octavo.documents.page_trees import leading_heading
from octavo.documents.source_blocks import read_page
from octavo.documents.source_reader import ConflictMarkers, find_markers
from octavo.tui.render.conflict_lines import FIELDS_KIND
from octavo.tui.review.tree_conflicts import (
    FieldValues,
    TreeConflict,
    chosen_settings,
    find_tree_conflicts,
    tree_edits,
    unresolved_settings,
)

MAX_PAGES = 300
"""Maximum number of changed pages that are checked for conflicts. The view shows how many pages were not checked."""
MAX_TITLE_LENGTH = 300
MAX_ANCESTORS = 40
"""Maximum number of earlier revisions that are read to find the last update."""
MAX_TARGET_PAGES = 20
"""Maximum number of pages that are searched for text that moved to another page in main."""
_FIELD_LINE = re.compile(r"([a-z]\w*):(?: |$)", re.I)


@dataclass(frozen=True)
class MergeRevisions:
    """Revision IDs of a merge. `base` is the common ancestor, or None if it is unknown."""

    base: str | None
    main: str
    change_request: str


@dataclass(frozen=True)
class ConflictedPage:
    """Page whose text has conflicts, or paragraphs that were merged word by word."""

    page_id: str
    title: str
    merged: MergedPage = field(repr=False)
    """Text of the page with its conflicts. Not sanitized: views sanitize the text before they show it."""
    source: str = field(default="", repr=False)
    """Current Markdown of the page. Empty for the conflicts of a draft."""
    fields: FieldValues = field(default_factory=dict)
    """Conflicting page fields, such as the title. The choice for the first of `conflicts` also decides these fields."""
    is_unmarked: bool = False
    """True if the text has no conflict markers. Octavo then found the conflicts by merging the versions itself."""
    main: str | None = field(default=None, repr=False)
    """Text of the page in main. None if it is unknown."""
    move_target_titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of the pages in main that now have text from this page, by page ID."""
    sets_title: bool = False
    """True if the first heading is the title of the page in both versions. The chosen heading becomes the title."""

    @cached_property
    def conflicts(self) -> list[tuple[str, Conflict]]:
        """The conflicts from the top of the page to its end, each with the name under which its choice is stored."""
        return [(self.choice_name(name), conflict) for name, conflict in self.merged.named_conflicts]

    def choice_name(self, name: str) -> str:
        """Return the name under which the choice for the conflict `name` of this page is stored."""
        return f"{self.page_id} {name}"

    def unresolved(self, chosen_names: Collection[str]) -> list[str]:
        """Return the names of the conflicts that still need a choice. Conflicts merged word by word need none."""
        return [name for name, each in self.conflicts if name not in chosen_names and not each.is_merged_by_default]

    def title_after(self, text: str) -> str | None:
        """Return the title from the heading at the start of `text`. None if the text does not set the title."""
        heading = leading_heading(text) if self.sets_title else None
        return heading[:MAX_TITLE_LENGTH] if heading else None

    def outcome(self, choices: Mapping[str, MergeChoice], label: str) -> tuple[str, tuple[AttributeChange, ...]]:
        """Return the text with the choices applied, and the conflicting page fields as changes from main. `label`, such
        as `#12`, names the change request in conflict markers."""
        first = self.conflicts[0][0]
        text = self.text({first: MergeChoice("main"), **choices} if self.fields else choices, label)
        settings = chosen_settings(self.fields, chooses_main=first not in choices or choices[first].kind != "request")
        if first not in choices:
            settings = unresolved_settings(settings)
        if (title := self.title_after(text)) is not None:
            settings = (AttributeChange("title", leading_heading(self.main or "") or None, title), *settings)
        return text, settings

    def text(self, choices: Mapping[str, MergeChoice], label: str) -> str:
        """Return the page text for `choices`. `label`, such as `#12`, names the change request in conflict markers."""
        own_choices = {
            conflict: choices[self.choice_name(conflict)]
            for conflict, _ in self.merged.named_conflicts
            if self.choice_name(conflict) in choices
        }
        if self.fields and own_choices:
            first_name = self.merged.named_conflicts[0][0]
            own_choices = {
                conflict: MergeChoice("own") if conflict == first_name else choice
                for conflict, choice in own_choices.items()
            }
        return self.merged.text(own_choices, request=label)


@dataclass(frozen=True)
class OpenConflicts:
    """All conflicts of a change request at the revision `revision`."""

    revision: str | None
    pages: tuple[ConflictedPage, ...] = ()
    tree_conflicts: tuple[TreeConflict, ...] = ()
    unchecked_count: int = 0
    """Number of changed pages that were not checked for conflicts: too many pages, or changes that are not listed."""

    @property
    def names(self) -> list[str]:
        """Names of the conflicts that you can resolve: first the conflicts on pages, then tree conflicts."""
        return [name for page in self.pages for name, _ in page.conflicts] + [
            conflict.name for conflict in self.tree_conflicts if conflict.can_choose
        ]

    def of_page(self, page_id: str) -> OpenConflicts:
        """Return only the conflicts in the text of the page `page_id`, or all conflicts if `page_id` is empty."""
        if not page_id:
            return self
        return replace(self, pages=tuple(each for each in self.pages if each.page_id == page_id), tree_conflicts=())

    def count_unresolved(self, chosen_names: Collection[str]) -> int:
        count_on_pages = sum(len(page.unresolved(chosen_names)) for page in self.pages)
        return count_on_pages + sum(len(conflict.unresolved(chosen_names)) for conflict in self.tree_conflicts)

    def resolved_pages(self, chosen_names: Collection[str]) -> list[ConflictedPage]:
        """Return the pages that have at least one choice and no unresolved conflicts."""
        return [
            page
            for page in self.pages
            if not page.unresolved(chosen_names) and any(name in chosen_names for name, _ in page.conflicts)
        ]

    def can_save(self, chosen_names: Collection[str]) -> bool:
        """Return True if there is something to save: `chosen_names` resolves a page, or has a tree conflict."""
        return bool(self.resolved_pages(chosen_names)) or any(
            conflict.name in chosen_names for conflict in self.tree_conflicts
        )

    def edits(self, choices: Mapping[str, MergeChoice], label: str) -> list[ContentEdit]:
        """Return edits for pages and tree conflicts that `choices` resolve. `label` (`#12`) is for conflict markers."""
        edits: list[ContentEdit] = []
        for page in self.resolved_pages(choices):
            fields: dict[str, Any] = {}
            if page.fields and choices[page.conflicts[0][0]].kind == "request":
                fields = {name: mine for name, (_, mine) in page.fields.items()}
            text = page.text(choices, label)
            if (title := page.title_after(text)) is not None:
                fields["title"] = title
            if text != page.source:
                fields["document"] = DocumentBody(markdown=text)
            if fields:
                edits.append(UpdatePage(page=page.page_id, **fields))
        return [*edits, *tree_edits(self.tree_conflicts, choices)]


async def find_revisions(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, stored_update: Any
) -> MergeRevisions | None:
    """For a merged change request, return the three revisions that the merge combined: base, main and change request.
    Otherwise, return those of the last update from main. `stored_update` has the revisions that Octavo stored before
    that update. None if the revisions are unknown. Raises ApiError."""
    stored_ids = stored_revisions(stored_update)
    if change_request.status == "merged":
        revision = await _load_revision(live, at, change_request.revision_merged)
        if revision is not None and len(revision.parents) > 1:
            return MergeRevisions(change_request.base, revision.parents[0], revision.parents[1])
        return None
    update = await _find_last_update(live, at, change_request.revision, change_request.revision_initial)
    if update is None or update.type != "update" or len(update.parents) < 2:
        # The update or its parents are unknown, so the stored revisions are used.
        return stored_ids if stored_ids is not None and stored_ids.main == change_request.base else None
    mine, main = update.parents[:2]
    if stored_ids is not None and stored_ids.change_request == mine:
        return replace(stored_ids, main=main)
    old_update = await _find_last_update(live, at, mine, change_request.revision_initial)
    if old_update is None:
        return MergeRevisions(None, main, mine)
    base = old_update.parents[1] if old_update.type == "update" and len(old_update.parents) > 1 else old_update.id
    return MergeRevisions(base, main, mine)


def stored_revisions(stored_update: Any) -> MergeRevisions | None:
    """Return the revisions in `stored_update`, stored before the last update from main. None if it is invalid."""
    if not isinstance(stored_update, dict) or not all(
        isinstance(stored_update.get(each), str) for each in ("main", "mine")
    ):
        return None
    base = stored_update.get("base")
    return MergeRevisions(base if isinstance(base, str) else None, stored_update["main"], stored_update["mine"])


async def _find_last_update(live: Live, at: ChangeRequestRef, start: str | None, first: str | None) -> Revision | None:
    """Return the last update from main, at `start` or before. Without an update, return the first revision, which has
    the ID `first` or no parents. None if a revision cannot be loaded, or after `MAX_ANCESTORS` steps."""
    revision_id = start
    for _ in range(MAX_ANCESTORS):
        if (revision := await _load_revision(live, at, revision_id)) is None:
            return None
        if revision.id == first or revision.type == "update" or not revision.parents:
            return revision
        revision_id = revision.parents[0]
    return None


async def _load_revision(live: Live, at: ChangeRequestRef | SpaceRef, revision_id: str | None) -> Revision | None:
    if revision_id is None:
        return None
    try:
        revision: Revision = await live.cached_or_fetch(content.Get(at=at.revision_ref(revision_id)))
    except (NotFound, Forbidden):
        return None
    return revision


async def find_conflicts(
    live: Live,
    at: ChangeRequestRef | SpaceRef,
    revision: str | None,
    changes: content.Changes,
    revisions: MergeRevisions | None,
    *,
    server_revisions: MergeRevisions | None = None,
    resolved_pages: Collection[str] = (),
) -> OpenConflicts:
    """Return the conflicts on the pages in `changes`, and the conflicts outside page texts. `revision` is the head of
    `at`. `revisions` are the merged revisions. If these or their base are unknown, use `server_revisions`, between
    which the server reported conflicts. Texts of `resolved_pages` are not merged again. Raises ApiError."""
    tree = await live.fetch(content.ListPages(at=at))
    changed_ids = {change.page.id for change in changes.changes if change.page}
    pages = [page for page in tree.walk() if page.id in changed_ids and page.type == "document"]
    used_revisions = revisions if revisions is not None and revisions.base is not None else server_revisions
    loaded_revisions = await _load_revisions(live, at, used_revisions) if used_revisions is not None else None
    tree_conflicts: list[TreeConflict] = []
    fields: dict[str, FieldValues] = {}
    merged_ids: Collection[str] = [page.id for page in pages] if server_revisions is not None else ()
    if used_revisions is not None and loaded_revisions is not None:
        tree_conflicts, fields = await asyncio.to_thread(find_tree_conflicts, loaded_revisions, tree)
        candidates = pages_to_read(loaded_revisions, changed_ids)
        merged_ids = [page_id for page_id in candidates if all(side.find(page_id) for side in loaded_revisions)]
    reader = _PageReader(live, at, used_revisions, loaded_revisions)
    read_pages = await gather_bounded(
        lambda page: reader.find_on_page(
            page,
            fields.get(page.id, {}),
            merges_unmarked=page.id in merged_ids and page.id not in resolved_pages,
            has_server_conflicts=server_revisions is not None,
        ),
        pages[:MAX_PAGES],
    )
    pages_with_conflicts = [page for page in read_pages if page is not None]
    ids_with_fields = {page.page_id for page in pages_with_conflicts if page.fields or page.sets_title}
    tree_conflicts = [each for each in tree_conflicts if each.kind != "field" or each.id not in ids_with_fields]
    tree_conflicts = await gather_bounded(
        lambda conflict: reader.add_texts(conflict, tree.find(conflict.id)), tree_conflicts
    )
    unchecked_count = len(pages) - len(pages[:MAX_PAGES]) + changes.missing_count
    return OpenConflicts(revision, tuple(pages_with_conflicts), tuple(tree_conflicts), unchecked_count)


async def _load_revisions(
    live: Live, at: ChangeRequestRef | SpaceRef, ids: MergeRevisions
) -> tuple[Revision, Revision, Revision] | None:
    base, main, mine = await asyncio.gather(
        *(_load_revision(live, at, name) for name in (ids.base, ids.main, ids.change_request))
    )
    return None if base is None or main is None or mine is None else (base, main, mine)


@dataclass(frozen=True)
class _PageReader:
    """Loads the versions of a page at `at` and finds the conflicts between them."""

    live: Live
    at: ChangeRequestRef | SpaceRef
    revisions: MergeRevisions | None
    loaded_revisions: tuple[Revision, Revision, Revision] | None
    """Base, main and change request, in this order. None if a revision could not be read."""

    async def find_on_page(
        self, page: Page, fields: FieldValues, *, merges_unmarked: bool, has_server_conflicts: bool
    ) -> ConflictedPage | None:
        """Return the page with its conflicts. None if there are none. With `merges_unmarked`, the versions of a page
        without conflict markers are also merged. `has_server_conflicts` is True if the server reported conflicts."""
        source = await self._load_text(self.at, page.id)
        markers = find_markers(source)
        if not markers and not merges_unmarked:
            return None
        if self.revisions is None or self.revisions.base is None:
            return await self._marked_page(page, source) if markers else None
        refs = [
            self.at.revision_ref(each)
            for each in (self.revisions.base, self.revisions.main, self.revisions.change_request)
        ]
        base, main, mine = await asyncio.gather(*(self._load_text(ref, page.id) for ref in refs))
        merged = await asyncio.to_thread(merge, base, main, mine)
        if deleted_texts := [each for _, each in merged.named_conflicts if each.base and each.main is None]:
            await asyncio.to_thread(_find_moved_text, deleted_texts, await self._load_texts_changed_on_main(page.id))
        target_ids = {each.base_text_page_id for _, each in merged.named_conflicts if each.base_text_page_id}
        titles = {each: self._title_in_main(each) for each in target_ids}
        if not markers:
            if not merged.named_conflicts or not _is_merge_result(
                source, merged, (main, mine), has_server_conflicts=has_server_conflicts
            ):
                return None
            return ConflictedPage(
                page.id, page.title, merged, source, is_unmarked=True, main=main, move_target_titles=titles
            )
        # If the title equals the heading in both versions, the choice for the heading also decides the title.
        sets_title = fields.get("title") == (leading_heading(main), leading_heading(mine))
        fields = {name: values for name, values in fields.items() if name != "title" or not sets_title}
        if (lines := _field_lines(source, markers[0])) and fields:
            rest_of_source = "\n".join(source.split("\n")[markers[0].last + 1 :]).removeprefix("\n")
            result = await asyncio.to_thread(_read_conflicts, rest_of_source, merged, markers[0].theirs)
            conflict = Conflict(FIELDS_KIND, self._fields_of_base(page.id, fields), *lines, both=lines[0])
            result = result.with_conflict_at_start(conflict)
            return ConflictedPage(
                page.id, page.title, result, source, fields, main=main, move_target_titles=titles, sets_title=sets_title
            )
        result = await asyncio.to_thread(_read_conflicts, source, merged, markers[0].theirs)
        sets_title = sets_title and not fields
        return ConflictedPage(
            page.id, page.title, result, source, main=main, move_target_titles=titles, sets_title=sets_title
        )

    async def _marked_page(self, page: Page, source: str) -> ConflictedPage:
        main_text = None
        if self.revisions is not None:
            main_text = await self._load_text(self.at.revision_ref(self.revisions.main), page.id)
        elif isinstance(self.at, ChangeRequestRef):
            main_text = await self._load_text(self.at.space, page.id)
        marked_page = await asyncio.to_thread(read_marked_page, source)
        return ConflictedPage(page.id, page.title, marked_page, source, main=main_text)

    async def add_texts(self, conflict: TreeConflict, page: Page | None) -> TreeConflict:
        """Return `conflict` with main's revision ID. If the user can choose and `page` has text, add the texts
        of main and of the change request."""
        if self.revisions is None or page is None or page.type != "document" or not conflict.can_choose:
            return replace(conflict, main_revision=self.revisions.main if self.revisions is not None else "")
        main_text, own_text = await asyncio.gather(
            self._load_text(self.at.revision_ref(self.revisions.main), page.id), self._load_text(self.at, page.id)
        )
        return replace(conflict, main_revision=self.revisions.main, main=main_text, text=own_text)

    async def _load_text(self, at: ContentRef, page_id: str) -> str:
        raw = await page_source(self.live, at, page_id)
        return raw.text if raw is not None else ""

    async def _load_texts_changed_on_main(self, except_page: str) -> dict[str, str]:
        if self.loaded_revisions is None:
            return {}
        base, main, _ = self.loaded_revisions
        base_ids = {page.id: page.document_id for page in base.walk()}
        pages = [page for page in main.walk() if page.type == "document" and page.id != except_page]
        page_ids = [page.id for page in pages if page.id not in base_ids or base_ids[page.id] != page.document_id]
        ref = self.at.revision_ref(main.id)
        texts = await gather_bounded(lambda page: self._load_text(ref, page), page_ids[:MAX_TARGET_PAGES])
        return dict(zip(page_ids, texts, strict=False))

    def _title_in_main(self, page_id: str) -> str:
        page = self.loaded_revisions[1].find(page_id) if self.loaded_revisions is not None else None
        return (page.title if page is not None else "") or "Untitled"

    def _fields_of_base(self, page_id: str, fields: FieldValues) -> str | None:
        """Return lines such as `title: Home` with the base values of `fields`. None if the base page is not known."""
        page = self.loaded_revisions[0].find(page_id) if self.loaded_revisions is not None else None
        if page is None:
            return None
        values = {name: getattr(page, name) for name in fields}
        return "\n\n".join(f"{name}: {'' if value is None else value}" for name, value in values.items())


def _find_moved_text(deletions: Iterable[Conflict], texts_by_page: Mapping[str, str]) -> None:
    """Set `base_text_page_id` of `deletions` whose text is now on another page. `texts_by_page` has texts of main."""
    keys_by_page = {page_id: {block.key for block in read_page(text).walk()} for page_id, text in texts_by_page.items()}
    for conflict in deletions:
        blocks = [
            each for each in read_page(conflict.base or "").walk() if each.kind != "heading" and len(each.words) > 2
        ]
        counts = {page_id: sum(block.key in keys for block in blocks[1:]) for page_id, keys in keys_by_page.items()}
        target_id = max(counts, key=counts.__getitem__, default=None)
        if target_id is not None and counts[target_id] > 0 and 2 * counts[target_id] >= len(blocks) - 1:
            conflict.base_text_page_id = target_id


def _field_lines(text: str, markers: ConflictMarkers) -> tuple[str, str] | None:
    """Return main's version and the other version of the page fields in conflict, such as `title: Home`. None if `text`
    does not begin with a conflict of page fields."""
    lines = text.split("\n")
    sides = lines[markers.first + 1 : markers.middle], lines[markers.middle + 1 : markers.last]
    filled_lines = [line for side in sides for line in side if line.strip()]
    if markers.first > 0 or not filled_lines or not all(map(_FIELD_LINE.match, filled_lines)):
        return None
    main, mine = ("\n".join(side).strip("\n") for side in sides)
    return main, mine


def _read_conflicts(source: str, merged_page: MergedPage, label: str) -> MergedPage:
    return merged_page if merged_page.text(request=label) == source else read_marked_page(source, merged_page)


def _is_merge_result(source: str, merged: MergedPage, sides: tuple[str, str], *, has_server_conflicts: bool) -> bool:
    """Return True if the merge produced `source`, without later edits. `sides` has the texts of both versions. If
    `merged` has conflicts, ignore white space, and return False without `has_server_conflicts`."""
    if not merged.conflicts:
        return source == merged.text()
    outcomes = [*sides, merged.text_with_choice("main"), merged.text_with_choice("request")]
    return has_server_conflicts and source.split() in [text.split() for text in outcomes]
