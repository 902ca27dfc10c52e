"""Proposes the notes of a program for a change request. Nothing is sent: a person accepts each note in the app."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from octavo.api.content import ListPages, Page, PageTree
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.api.safety import safe_line
from octavo.cli.comparisons import Sides, sides_of
from octavo.cli.note_files import Note
from octavo.cli.refs import References, Target
from octavo.cli.review_export import check_is_change
from octavo.data.page_queries import find_page, get_page_source, page_markdown
from octavo.data.proposed_notes import MAX_NOTES, NewNote, ProposedNote
from octavo.documents.blocks import Document
from octavo.documents.folders.layout import page_path
from octavo.documents.linters.placement import LintedPage, added_ranges
from octavo.documents.note_places import NotePlace, NotePlaces
from octavo.documents.parse import parse
from octavo.documents.suggestions import fence, suggestion_fence
from octavo.tui.core.session import Session

NO_DOCUMENT = Document("", (), "")


@dataclass(frozen=True)
class PlacedNote:
    """A note with its place, or the reason why it has none."""

    note: Note
    page: Page | None
    place: NotePlace | str
    """The place, or the reason as the end of a sentence."""

    @property
    def problem(self) -> str:
        """The reason why the note has no place, as a sentence. Empty if it has one."""
        return f"{self.place}." if isinstance(self.place, str) else ""


@dataclass(frozen=True)
class ImportResult:
    """The result of an import."""

    placed: tuple[PlacedNote, ...] = ()
    added: tuple[ProposedNote, ...] = ()
    known: int = 0
    over_limit: int = 0

    @property
    def not_placed(self) -> tuple[PlacedNote, ...]:
        return tuple(each for each in self.placed if each.problem)


class NoteImport:
    """Places notes in a change request and proposes them."""

    def __init__(self, session: Session, references: References, target: Target) -> None:
        """Raises Failure if the target is not a change request."""
        check_is_change(target)
        self._session, self._references, self._target = session, references, target
        self._live = session.live
        self._sides: Sides | None = None
        self._tree: PageTree | None = None
        self._places: dict[str, NotePlaces] = {}
        self._read: dict[tuple[str, str], Document | None] = {}

    @property
    def at(self) -> ChangeRequestRef:
        at = self._target.at
        assert isinstance(at, ChangeRequestRef), "it was checked"
        return at

    async def place(self, notes: Sequence[Note]) -> tuple[PlacedNote, ...]:
        """Return the notes with their places. Raises ApiError or Failure."""
        return tuple([await self._place(each) for each in notes])

    async def propose(self, placed: tuple[PlacedNote, ...]) -> ImportResult:
        """Store the notes that have a place. Raises NotSaved."""
        new = [
            _new_note(each.note, each.page, each.place)
            for each in placed
            if each.page and isinstance(each.place, NotePlace)
        ]
        result = await self._session.proposed.propose(self.at, new)
        return ImportResult(placed, result.added, result.known, result.over_limit)

    async def page_tree(self) -> PageTree:
        """Return the page tree of the change request. Raises ApiError."""
        if self._tree is None:
            self._tree = await self._live.fetch(ListPages(at=self._target.at))
        return self._tree

    async def linted_page(self, page: Page) -> LintedPage:
        """Return a page with its text and what the change request added to it. Raises ApiError or Failure."""
        before, after = await self._documents(page)
        added = added_ranges(before.source, after.source)
        return LintedPage(page.path or page.id, page_path(page), after, after.source, added)

    async def _place(self, note: Note) -> PlacedNote:
        page = await self._page(note.page)
        if page is None:
            return PlacedNote(note, None, f"there is no page {safe_line(note.page)}")
        places = await self._places_of(page)
        return PlacedNote(
            note, page, places.find(note.block, note.quote, side=note.side, read=await self._version_read(note, page))
        )

    async def _page(self, name: str) -> Page | None:
        tree = await self.page_tree()
        wanted = name.strip("/")
        by_title = [page for page in tree.walk() if page.title == name]
        return tree.find_by_name(wanted) or (by_title[0] if len(by_title) == 1 else None)

    async def _places_of(self, page: Page) -> NotePlaces:
        if page.id not in self._places:
            before, after = await self._documents(page)
            self._places[page.id] = NotePlaces(before, after, page.path or page.title)
        return self._places[page.id]

    async def _documents(self, page: Page) -> tuple[Document, Document]:
        """Return both versions of a page. Raises ApiError or Failure."""
        sides = self._sides = self._sides or await sides_of(self._live, self._target, "base")
        before = await find_page(self._live, get_page_source(sides.old, page.id)) if sides.old is not None else None
        after = await find_page(self._live, get_page_source(sides.new, page.id))
        return parse(page_markdown(before)), parse(page_markdown(after))

    async def _version_read(self, note: Note, page: Page) -> Document | None:
        """Return the version of the page that the program read. None if that is the current one or is unknown."""
        change = self._target.change_request
        if not note.revision or change is None or note.revision == change.revision:
            return None
        key = (page.id, note.revision)
        if key not in self._read:
            try:
                at = RevisionRef(space_id=self.at.space_id, revision_id=note.revision)
            except ValueError:
                return None
            found = await find_page(self._live, get_page_source(at, page.id))
            self._read[key] = parse(page_markdown(found)) if found is not None else None
        return self._read[key]


def _new_note(note: Note, page: Page, place: NotePlace) -> NewNote:
    identity = [page.id, note.block or note.quote, note.text, note.suggestion, note.source]
    return NewNote(
        page=page.id,
        block=place.block.key,
        body=_body(note, place),
        source=note.source,
        identity=json.dumps(identity),
        placed=place.placed,
        quote=note.quote,
        severity=note.severity,
        rule=note.rule,
    )


def _body(note: Note, place: NotePlace) -> str:
    """Return the text of the comment. If the block may be another one, or is deleted, the text quotes the note's words, and
    its suggestion cannot be applied."""
    is_sure = place.placed != "likely" and place.side == "after"
    parts = [note.text]
    if not is_sure and note.quote:
        quoted = "\n".join(f"> {each}" for each in note.quote.splitlines())
        parts.insert(0, quoted)
    if note.suggestion is not None:
        parts.append(suggestion_fence(note.suggestion).rstrip() if is_sure else fence(note.suggestion, "markdown"))
    return "\n\n".join(filter(None, parts))


def result_row(result: ImportResult) -> dict[str, Any]:
    """Return the result as JSON prints it."""
    return {
        "proposed": [
            {"id": each.id, "page": each.page, "block": each.block, "placed": each.placed, "source": each.source}
            for each in result.added
        ],
        "known": result.known,
        "overLimit": result.over_limit,
        "notPlaced": [
            {"line": each.note.line, "page": each.note.page, "reason": each.problem} for each in result.not_placed
        ],
    }


def summary(result: ImportResult, count: int, *, is_dry: bool) -> str:
    """Return the result in one sentence, such as `30 notes: 27 proposed, 1 already there, 2 not placed.`"""
    sure = len(result.placed) - len(result.not_placed)
    parts = [f"{sure} can be placed" if is_dry else f"{len(result.added)} proposed"]
    parts += [f"{result.known} already there"] * bool(result.known)
    parts += [f"{len(result.not_placed)} not placed"] * bool(result.not_placed)
    parts += [f"{result.over_limit} over the limit of {MAX_NOTES}"] * bool(result.over_limit)
    return f"{count} {'note' if count == 1 else 'notes'}: {', '.join(parts)}."
