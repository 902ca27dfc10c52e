"""Finds the conflicts of a change request, and returns the edits that resolve them."""

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
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef, SpaceRef
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.writes.content_writes import page_source
from octavo.documents.conflict_markers import ConflictMarkers, find_markers
from octavo.documents.diff_model import AttributeChange
from octavo.documents.merging import conflict_prediction
from octavo.documents.merging.marked_page import read_marked_page
from octavo.documents.merging.merged_page import Choice, Conflict, MergedPage
from octavo.documents.merging.page_merge import merge
from octavo.documents.page_trees import leading_heading
from octavo.documents.source_reader import read_page
from octavo.tui.render.conflict_page import FIELDS
from octavo.tui.review.tree_conflicts import Fields, TreeConflict, not_resolved, settings_of, shapes, tree_edits

MOST_PAGES = 300
"""More changed pages than this are not read; it is said how many were left out."""
AT_A_TIME = 6
LONGEST_TITLE = 300
FAR = 40
"""Revisions that are gone back in search of where the sides met."""
MOST_TARGETS = 20
"""Pages of main that are searched for text that was moved there."""
_FIELD_LINE = re.compile(r"([a-z]\w*):(?: |$)", re.I)


@dataclass(frozen=True)
class MergeRevisions:
    """The revisions that met: what both come from, if that is known, the primary content, the change request."""

    base: str | None
    main: str
    mine: str


@dataclass(frozen=True)
class ConflictedPage:
    """A page with conflicts in its text, or with paragraphs that were merged by words."""

    page: str
    title: str
    merged: MergedPage = field(repr=False)
    """The text as it was written: it is sent back, and made safe before it is shown."""
    now: str = field(default="", repr=False)
    """What the page says now."""
    fields: Fields = field(default_factory=dict)
    """The values of main and of the change request for the title and the like, if the first conflict is about them."""
    is_unmarked: bool = False
    """Whether the text has no marks: the conflicts are found by merging the versions again."""
    main: str | None = field(default=None, repr=False)
    """What the page says in main. None if that is not known."""
    page_titles: Mapping[str, str] = field(default_factory=dict)
    """The titles of the pages that main moved text to, by id."""
    is_titled: bool = False
    """Whether the sides give it different titles, in the heading of their text too: its title becomes that heading."""

    @cached_property
    def conflicts(self) -> list[tuple[str, Conflict]]:
        """The conflicts in order, each with the name that a choice for it is kept under."""
        return [(self.named(name), conflict) for name, conflict in self.merged.named_conflicts]

    def named(self, name: str) -> str:
        """Return the name that a choice for a conflict is kept under."""
        return f"{self.page} {name}"

    def unresolved(self, choices: Collection[str]) -> list[str]:
        """Return the names of the conflicts without a choice and without a suggested result."""
        return [name for name, each in self.conflicts if name not in choices and not each.is_suggested]

    def title_after(self, text: str) -> str | None:
        """Return the title that the page gets from the heading of a text. None if the page keeps its title."""
        heading = leading_heading(text) if self.is_titled else None
        return heading[:LONGEST_TITLE] if heading else None

    def outcome(self, choices: Mapping[str, Choice], name: str) -> tuple[str, tuple[AttributeChange, ...]]:
        """Return the text with the choices made, and the title and the like in main and after the choices."""
        about = self.conflicts[0][0]
        text = self.text({about: Choice("main"), **choices} if self.fields else choices, name)
        settings = settings_of(self.fields, is_main=about not in choices or choices[about].kind != "request")
        if about not in choices:
            settings = not_resolved(settings)
        if (title := self.title_after(text)) is not None:
            settings = (AttributeChange("title", leading_heading(self.main or "") or None, title), *settings)
        return text, settings

    def is_of_fields(self, name: str) -> bool:
        """Return whether a conflict is about the title and the like: only one of the sides can be taken."""
        return bool(self.fields) and name == self.conflicts[0][0]

    def is_moved(self, name: str) -> bool:
        """Return whether a conflict is about a place: text is in one place only."""
        return dict(self.conflicts)[name].kind == "moved"

    def text(self, choices: Mapping[str, Choice], name: str) -> str:
        """Return the text with the choices made, other conflicts between marks. It is shown, and it is sent."""
        own = {key: choices[self.named(key)] for key, _ in self.merged.named_conflicts if self.named(key) in choices}
        if self.fields and own:
            first = self.merged.named_conflicts[0][0]
            own = {key: Choice("own") if key == first else choice for key, choice in own.items()}
        return self.merged.text(own, request=name)


@dataclass(frozen=True)
class OpenConflicts:
    """The conflicts of a change request whose head is `revision`."""

    revision: str | None
    pages: tuple[ConflictedPage, ...] = ()
    shapes: tuple[TreeConflict, ...] = ()
    unread: int = 0
    """How many changed pages were not read."""

    @property
    def names(self) -> list[str]:
        """The names of all conflicts that can be resolved, in order."""
        return [name for page in self.pages for name, _ in page.conflicts] + [
            shape.name for shape in self.shapes if shape.can_choose
        ]

    def left(self, choices: Collection[str]) -> int:
        """Return how many conflicts are not resolved."""
        pages = sum(len(page.unresolved(choices)) for page in self.pages)
        return pages + sum(len(shape.unresolved(choices)) for shape in self.shapes)

    def decided(self, choices: Collection[str]) -> list[ConflictedPage]:
        """Return the pages on which every conflict is resolved, and at least one by a choice."""
        return [
            page
            for page in self.pages
            if not page.unresolved(choices) and any(name in choices for name, _ in page.conflicts)
        ]

    def is_ready(self, choices: Collection[str]) -> bool:
        """Return whether something can be sent."""
        return bool(self.decided(choices)) or any(shape.name in choices for shape in self.shapes)

    def edits(self, choices: Mapping[str, Choice], name: str) -> list[ContentEdit]:
        """Return the edits for the resolved pages, and for the other conflicts with a choice."""
        found: list[ContentEdit] = []
        for page in self.decided(choices):
            given = {}
            if page.fields and choices[page.conflicts[0][0]].kind == "request":
                given = {name: mine for name, (_, mine) in page.fields.items()}
            text = page.text(choices, name)
            if (title := page.title_after(text)) is not None:
                given["title"] = title
            if text != page.now:
                given["document"] = DocumentBody(markdown=text)
            if given:
                found.append(UpdatePage(page=page.page, **given))
        return [*found, *tree_edits(self.shapes, choices)]


async def merge_revisions(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, kept: Any
) -> MergeRevisions | None:
    """The revisions that met when the change request was last updated, or was merged. `kept` is what was remembered
    before it was updated here. Raises ApiError."""
    known = remembered(kept)
    if change_request.status == "merged":
        merge = await _revision(live, at, change_request.revision_merged)
        if merge is not None and len(merge.parents) > 1:
            return MergeRevisions(change_request.base, merge.parents[0], merge.parents[1])
        return None
    update = await _last(live, at, change_request.revision, change_request.revision_initial)
    if update is None or update.type != "update" or len(update.parents) < 2:
        # A server that does not say where its revisions come from: what was seen before is all there is.
        return known if known is not None and known.main == change_request.base else None
    mine, main = update.parents[:2]
    if known is not None and known.mine == mine:
        return replace(known, main=main)
    before = await _last(live, at, mine, change_request.revision_initial)
    if before is None:
        return MergeRevisions(None, main, mine)
    return MergeRevisions(
        before.parents[1] if before.type == "update" and len(before.parents) > 1 else before.id, main, mine
    )


def remembered(kept: Any) -> MergeRevisions | None:
    """What met, as it was remembered before it was updated here."""
    if not isinstance(kept, dict) or not all(isinstance(kept.get(each), str) for each in ("main", "mine")):
        return None
    base = kept.get("base")
    return MergeRevisions(base if isinstance(base, str) else None, kept["main"], kept["mine"])


async def _last(live: Live, at: ChangeRequestRef, start: str | None, first: str | None) -> Revision | None:
    """The last update at or before `start`, or the revision the change request began with."""
    name = start
    for _ in range(FAR):
        if (revision := await _revision(live, at, name)) is None:
            return None
        if revision.id == first or revision.type == "update" or not revision.parents:
            return revision
        name = revision.parents[0]
    return None


async def _revision(live: Live, at: ChangeRequestRef | SpaceRef, name: str | None) -> Revision | None:
    if name is None:
        return None
    try:
        found: Revision = await live.cached_or_fetch(content.Get(at=_ref(at, name)))
    except (NotFound, Forbidden):
        return None
    return found


def _ref(at: ChangeRequestRef | SpaceRef, revision: str) -> RevisionRef:
    return RevisionRef(space_id=at.space_id, revision_id=revision)


async def look(
    live: Live,
    at: ChangeRequestRef | SpaceRef,
    revision: str | None,
    changed: content.Changes,
    met: MergeRevisions | None,
    *,
    told: MergeRevisions | None = None,
    settled: Collection[str] = (),
) -> OpenConflicts:
    """Return the conflicts of the content at `at`, whose head is `revision`, among what is `changed`. Raise ApiError.

    `told` are the revisions that were merged, if the server said that there are conflicts: it may leave no marks. Pages that are
    `settled` are looked at for marks only.
    """
    tree = await live.fetch(content.ListPages(at=at))
    touched = {change.page.id for change in changed.changes if change.page}
    pages = [page for page in tree.walk() if page.id in touched and page.type == "document"]
    source = met if met is not None and met.base is not None else told
    three = await _revisions(live, at, source) if source is not None else None
    others: list[TreeConflict] = []
    fields: dict[str, Fields] = {}
    both: Collection[str] = [page.id for page in pages] if told is not None else ()
    if source is not None and three is not None:
        others, fields = await asyncio.to_thread(shapes, three, tree)
        both = [
            each for each in conflict_prediction.pages_to_read(three, touched) if all(side.find(each) for side in three)
        ]
    reading = _Reading(live, at, source, three)
    found = await gather_bounded(
        lambda page: reading.page(
            page,
            fields.get(page.id, {}),
            is_merged=page.id in both and page.id not in settled,
            is_told=told is not None,
        ),
        pages[:MOST_PAGES],
        AT_A_TIME,
    )
    contested = [page for page in found if page is not None]
    said = {page.page for page in contested if page.fields or page.is_titled}
    others = [each for each in others if each.kind != "field" or each.id not in said]
    others = await gather_bounded(lambda each: reading.with_texts(each, tree.find(each.id)), others, AT_A_TIME)
    unread = len(pages) - len(pages[:MOST_PAGES]) + changed.more
    return OpenConflicts(revision, tuple(contested), tuple(others), unread)


async def _revisions(
    live: Live, at: ChangeRequestRef | SpaceRef, met: MergeRevisions
) -> tuple[Revision, Revision, Revision] | None:
    """Return the revisions that were merged. None if one of them cannot be read."""
    base, main, mine = await asyncio.gather(*(_revision(live, at, name) for name in (met.base, met.main, met.mine)))
    return None if base is None or main is None or mine is None else (base, main, mine)


@dataclass(frozen=True)
class _Reading:
    """Reads pages of the content at `at`, and the versions of them that were merged."""

    live: Live
    at: ChangeRequestRef | SpaceRef
    met: MergeRevisions | None
    three: tuple[Revision, Revision, Revision] | None

    async def page(self, page: Page, fields: Fields, *, is_merged: bool, is_told: bool) -> ConflictedPage | None:
        """Return the page if it has conflicts. Without marks in its text, it is looked at only if it `is_merged`."""
        now = await self._text(self.at, page.id)
        marks = find_markers(now)
        if not marks and not is_merged:
            return None
        if self.met is None or self.met.base is None:
            if not marks:
                return None
            place = _ref(self.at, self.met.main) if self.met is not None else _main_of(self.at)
            main = await self._text(place, page.id) if place is not None else None
            return ConflictedPage(page.id, page.title, await asyncio.to_thread(read_marked_page, now), now, main=main)
        places = [_ref(self.at, each) for each in (self.met.base, self.met.main, self.met.mine)]
        base, main, mine = await asyncio.gather(*(self._text(place, page.id) for place in places))
        merged = await asyncio.to_thread(merge, base, main, mine)
        if deleted := [each for _, each in merged.named_conflicts if each.base and each.main is None]:
            await asyncio.to_thread(_find_moved, deleted, await self._pages_of_main(page.id))
        targets = {each.base_text_page for _, each in merged.named_conflicts if each.base_text_page}
        titles = {each: self._title_in_main(each) for each in targets}
        if not marks:
            if not merged.named_conflicts or not _is_unmarked_merge(now, merged, (main, mine), is_told=is_told):
                return None
            return ConflictedPage(page.id, page.title, merged, now, is_unmarked=True, main=main, page_titles=titles)
        # Where the headings are the titles, the conflict of the headings decides the title.
        is_titled = fields.get("title") == (leading_heading(main), leading_heading(mine))
        fields = {name: values for name, values in fields.items() if name != "title" or not is_titled}
        if (lines := _field_lines(now, marks[0])) and fields:
            rest = "\n".join(now.split("\n")[marks[0].last + 1 :]).removeprefix("\n")
            read = await asyncio.to_thread(_read, rest, merged, marks[0].theirs)
            about = Conflict(FIELDS, self._fields_of_base(page.id, fields), *lines, both=lines[0])
            read = read.with_conflict_before_text(about)
            return ConflictedPage(
                page.id, page.title, read, now, fields, main=main, page_titles=titles, is_titled=is_titled
            )
        read = await asyncio.to_thread(_read, now, merged, marks[0].theirs)
        is_titled = is_titled and not fields
        return ConflictedPage(page.id, page.title, read, now, main=main, page_titles=titles, is_titled=is_titled)

    async def with_texts(self, shape: TreeConflict, page: Page | None) -> TreeConflict:
        """Return a conflict about the page itself with the texts of that page in main and in the change request."""
        if self.met is None or page is None or page.type != "document" or not shape.can_choose:
            return replace(shape, since=self.met.main if self.met is not None else "")
        main, mine = await asyncio.gather(
            self._text(_ref(self.at, self.met.main), page.id), self._text(self.at, page.id)
        )
        return replace(shape, since=self.met.main, main=main, text=mine)

    async def _text(self, at: ContentRef, page_id: str) -> str:
        raw = await page_source(self.live, at, page_id)
        return raw.text if raw is not None else ""

    async def _pages_of_main(self, but: str) -> dict[str, str]:
        """Return the texts of other pages that main added or changed, by id: text may have been moved there."""
        if self.three is None:
            return {}
        base, main, _ = self.three
        before = {page.id: page.document_id for page in base.walk()}
        pages = [page for page in main.walk() if page.type == "document" and page.id != but]
        changed = [page.id for page in pages if page.id not in before or before[page.id] != page.document_id]
        place = _ref(self.at, main.id)
        found = await gather_bounded(lambda each: self._text(place, each), changed[:MOST_TARGETS], AT_A_TIME)
        return dict(zip(changed, found, strict=False))

    def _title_in_main(self, page_id: str) -> str:
        page = self.three[1].find(page_id) if self.three is not None else None
        return (page.title if page is not None else "") or "Untitled"

    def _fields_of_base(self, page_id: str, fields: Fields) -> str | None:
        """Return the values that the base has in the fields that both sides changed, a line for each."""
        page = self.three[0].find(page_id) if self.three is not None else None
        if page is None:
            return None
        said = {name: getattr(page, name) for name in fields}
        return "\n\n".join(f"{name}: {'' if value is None else value}" for name, value in said.items())


def _find_moved(deleted: Iterable[Conflict], pages: Mapping[str, str]) -> None:
    """Let conflicts about text that main deleted say which page of main has the text now."""
    there = {page: {block.key for block in read_page(text).walk()} for page, text in pages.items()}
    for conflict in deleted:
        blocks = [
            each for each in read_page(conflict.base or "").walk() if each.kind != "heading" and len(each.words) > 2
        ]
        found = {page: sum(block.key in keys for block in blocks[1:]) for page, keys in there.items()}
        best = max(found, key=found.__getitem__, default=None)
        if best is not None and found[best] > 0 and 2 * found[best] >= len(blocks) - 1:
            conflict.base_text_page = best


def _main_of(at: ChangeRequestRef | SpaceRef) -> ContentRef | None:
    return at.space if isinstance(at, ChangeRequestRef) else None


def _field_lines(text: str, mark: ConflictMarkers) -> tuple[str, str] | None:
    """Return what both sides say of a page between the marks at the top of its text. None if the text itself is between them."""
    lines = text.split("\n")
    sides = lines[mark.first + 1 : mark.middle], lines[mark.middle + 1 : mark.last]
    said = [line for side in sides for line in side if line.strip()]
    if mark.first > 0 or not said or not all(map(_FIELD_LINE.match, said)):
        return None
    main, mine = ("\n".join(side).strip("\n") for side in sides)
    return main, mine


def _read(now: str, merged: MergedPage, label: str) -> MergedPage:
    """Return the page as the merge made it, or as its marks say if it was edited since."""
    return merged if merged.text(request=label) == now else read_marked_page(now, merged)


def _is_unmarked_merge(now: str, merged: MergedPage, sides: tuple[str, str], *, is_told: bool) -> bool:
    """Return whether a text without marks is what came of a merge, and nothing that a person wrote since."""
    if not merged.conflicts:
        return now == merged.text()
    outcomes = [*sides, merged.text_with_choice("main"), merged.text_with_choice("request")]
    return is_told and now.split() in [text.split() for text in outcomes]
