"""What the sides of a change request left undecided when they met: found, and as the edits that settle it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DocumentBody, Page, PageTree, Revision, UpdatePage
from octavo.api.errors import Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef, SpaceRef
from octavo.data.live import Live
from octavo.data.writing_content import texts
from octavo.documents.conflicts import markers
from octavo.documents.merging.conflict import Conflict, Part, Undecided
from octavo.documents.merging.resolution import Choice, names, parts_of_marked, resolved
from octavo.documents.merging.three_way import parts
from octavo.documents.trees import leading_heading
from octavo.tui.render.conflict_page import FIELDS
from octavo.tui.review.tree_conflicts import TreeConflict, shapes

MOST_PAGES = 300
"""More changed pages than this are not read; it is said how many were left out."""
AT_A_TIME = 6
LONGEST_TITLE = 300
FAR = 40
"""Revisions that are gone back in search of where the sides met."""
_FIELD_LINE = re.compile(r"([a-z]\w*):(?: |$)", re.I)


@dataclass(frozen=True)
class MergeRevisions:
    """The revisions that met: what both come from, if that is known, the primary content, the change request."""

    base: str | None
    main: str
    mine: str


@dataclass(frozen=True)
class ConflictedPage:
    """A page with conflicts in its text."""

    page: str
    title: str
    parts: tuple[Part, ...] = field(repr=False)
    """As they were written: they are sent back, and made safe before they are shown."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What the change request calls the page and the like, where the first conflict is about that and not its text."""

    is_unmarked: bool = False
    """Whether the server left no marks in its text: what met is read off both sides."""
    main: str | None = field(default=None, repr=False)
    """What the page says in main, as far as that is known."""
    is_titled: bool = False
    """Whether the sides call it differently, in the heading their text begins with too: the title is what that becomes."""

    @cached_property
    def conflicts(self) -> list[tuple[str, Conflict]]:
        """What is undecided, each with its name."""
        return [(self.named(name), conflict) for name, conflict in names(self.parts)]

    def named(self, name: str) -> str:
        """What a choice for a conflict is kept as."""
        return f"{self.page} {name}"

    def is_of_fields(self, name: str) -> bool:
        """Whether this conflict is about what the page is called: only one of the sides can be taken."""
        return bool(self.fields) and name == self.conflicts[0][0]

    def is_moved(self, name: str) -> bool:
        """Whether this is about where something stands: it stands in one place."""
        return dict(self.conflicts)[name].kind == "moved"

    def text(self, choices: Mapping[str, Choice], name: str) -> str:
        """The text as it becomes, undecided conflicts between marks. It is what is shown, and what is sent."""
        own = {key: choices[self.named(key)] for key, _ in names(self.parts) if self.named(key) in choices}
        if self.fields and own:
            first = next(iter(names(self.parts)))[0]
            own = {key: Choice("own") if key == first else choice for key, choice in own.items()}
        return resolved(self.parts, own, name)


@dataclass(frozen=True)
class OpenConflicts:
    """What is undecided in a change request whose head is `revision`."""

    revision: str | None
    pages: tuple[ConflictedPage, ...] = ()
    shapes: tuple[TreeConflict, ...] = ()
    unread: int = 0
    """How many changed pages were not looked at."""

    @property
    def names(self) -> list[str]:
        """All that can be decided, in order."""
        return [name for page in self.pages for name, _ in page.conflicts] + [
            shape.name for shape in self.shapes if shape.can_choose
        ]

    def left(self, choices: Collection[str]) -> int:
        """How many decisions are missing."""
        return sum(name not in choices for name in self.names)

    def decided(self, choices: Collection[str]) -> list[ConflictedPage]:
        """The pages whose conflicts are all decided."""
        return [page for page in self.pages if all(name in choices for name, _ in page.conflicts)]

    def is_ready(self, choices: Collection[str]) -> bool:
        """Whether something can be sent."""
        return bool(self.decided(choices)) or any(shape.name in choices for shape in self.shapes)

    def edits(self, choices: Mapping[str, Choice], name: str) -> list[ContentEdit]:
        """What is to be sent: pages that are decided whole, and what becomes of the others by a choice."""
        found: list[ContentEdit] = []
        for page in self.decided(choices):
            given = {}
            if page.fields and choices[page.conflicts[0][0]].side == "this":
                given = dict(page.fields)
            text = page.text(choices, name)
            if page.is_titled and (heading := leading_heading(text)):
                given["title"] = heading[:LONGEST_TITLE]
            body = DocumentBody(markdown=text)
            found.append(UpdatePage(page=page.page, document=body, **given))
        for shape in self.shapes:
            choice = choices.get(shape.name)
            edit = None if choice is None else shape.main if choice.side == "main" else shape.this
            if edit is not None:
                found.append(edit)
        return found


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
        found: Revision = await live.known(content.Get(at=_ref(at, name)))
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
    """What is undecided in the content at `at`, which stands at `revision`, among what is `changed`. Raises ApiError.

    `told`: what met, where the server said that there are conflicts. It may leave no marks: then both sides tell, but for
    those pages that are `settled`.
    """
    tree = await live.fetch(content.ListPages(at=at))
    touched = {change.page.id for change in changed.changes if change.page}
    pages = [page for page in tree.walk() if page.id in touched and page.type == "document"]
    found = await _each(_page(live, at, page, met) for page in pages[:MOST_PAGES])
    contested = [page for page in found if page is not None]
    if told is not None and told.base is not None and not contested:
        left = [page for page in pages[:MOST_PAGES] if page.id not in settled]
        apart = await _each(_apart(live, at, page, told, told.base) for page in left)
        contested = [page for page in apart if page is not None]
        met = met or told
    others: list[TreeConflict] = []
    if met is not None and met.base is not None:
        others, fields = await _shapes(live, at, met, met.base, tree)
        contested = [_with_fields(page, fields.get(page.page, {})) for page in contested]
        said = {page.page for page in contested if page.fields or page.is_titled}
        others = [each for each in others if each.kind != "field" or each.id not in said]
    unread = len(pages) - len(pages[:MOST_PAGES]) + changed.more
    return OpenConflicts(revision, tuple(contested), tuple(others), unread)


async def _each(work: Iterable[Any]) -> list[Any]:
    """All of it, a few at a time."""
    turn = asyncio.Semaphore(AT_A_TIME)

    async def one(each: Any) -> Any:
        async with turn:
            return await each

    return await asyncio.gather(*map(one, work))


async def _page(
    live: Live, at: ChangeRequestRef | SpaceRef, page: Page, met: MergeRevisions | None
) -> ConflictedPage | None:
    now = await _text(live, at, page.id)
    if not markers(now):
        return None
    if met is None or met.base is None:
        place = _ref(at, met.main) if met is not None else at.space if isinstance(at, ChangeRequestRef) else None
        main = await _text(live, place, page.id) if place is not None else None
        return ConflictedPage(page.id, page.title, await asyncio.to_thread(parts_of_marked, now), main=main)
    three = await asyncio.gather(*(_text(live, _ref(at, each), page.id) for each in (met.base, met.main, met.mine)))
    return ConflictedPage(page.id, page.title, await asyncio.to_thread(_parts, now, *three), main=three[1])


async def _apart(
    live: Live, at: ChangeRequestRef | SpaceRef, page: Page, met: MergeRevisions, base: str
) -> ConflictedPage | None:
    """A page without marks that both sides changed in the same places, if it says what can come of the two."""
    places = (_ref(at, base), _ref(at, met.main), _ref(at, met.mine))
    now, *three = await asyncio.gather(*(_text(live, place, page.id) for place in (at, *places)))
    found = await asyncio.to_thread(parts, *three)
    every = [name for name, _ in names(found)]
    if not every:
        return None
    outcomes = [*three[1:], *(resolved(found, dict.fromkeys(every, Choice(side)), "") for side in ("main", "this"))]
    if now.split() not in [text.split() for text in outcomes]:
        return None  # somebody wrote what becomes of it
    return ConflictedPage(page.id, page.title, found, is_unmarked=True, main=three[1])


async def _text(live: Live, at: ContentRef, page_id: str) -> str:
    raw = await texts(live, at, page_id)
    return raw.text if raw is not None else ""


def _parts(now: str, base: str, main: str, mine: str) -> tuple[Part, ...]:
    """The parts of a text with marks in it. Where it is what the merge made, they are as exact as the texts that met."""
    exact = parts(base, main, mine)
    read = parts_of_marked(now, exact)
    mark = next(iter(markers(now))).theirs
    return exact if resolved(exact, {}, mark) == now else read


async def _shapes(
    live: Live, at: ChangeRequestRef | SpaceRef, met: MergeRevisions, base: str, now: PageTree
) -> tuple[list[TreeConflict], dict[str, dict[str, Any]]]:
    """What the sides disagree on besides texts; and by page, what the change request says of it where both differ."""
    revisions = await asyncio.gather(*(_revision(live, at, name) for name in (base, met.main, met.mine)))
    three = [each for each in revisions if each is not None]
    if len(three) < 3:
        return [], {}
    found, fields = await asyncio.to_thread(shapes, (three[0], three[1], three[2]), now)
    return [replace(each, since=met.main) for each in found], fields


def _with_fields(page: ConflictedPage, fields: Mapping[str, Any]) -> ConflictedPage:
    """`page` with what the sides call it, as far as its text tells: a merge says it at the top, a line for each field;
    a title that both texts begin with it says in the heading alone."""
    first = page.parts[0] if page.parts else None
    if not fields or not isinstance(first, Undecided):
        return page
    main, mine = first.side("main"), first.side("proposed")
    lines = [line for side in (main, mine) for line in side.split("\n") if line.strip()]
    if lines and all(map(_FIELD_LINE.match, lines)):
        one = Undecided((Conflict(None, main, mine, FIELDS),))  # all of it is taken from one side
        return replace(page, fields=fields, parts=(one, *page.parts[1:]))
    says_title = leading_heading(mine) == fields.get("title") and set(fields) == {"title"}
    return replace(page, is_titled=says_title)
