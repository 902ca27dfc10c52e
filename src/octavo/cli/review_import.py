"""Imports notes of another program about a change request: a JSONL file of notes, or the findings of a linter.

The notes are stored as proposals on this machine. Nothing is sent until you accept a note in the app. To place a note
means to find the block that it is about. Start at `NoteImport`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from octavo.api.content import ListPages, Page, PageTree
from octavo.api.safety import safe_line
from octavo.cli.comparisons import ComparedVersions, find_versions, load_markdown
from octavo.cli.refs import RefTarget
from octavo.cli.review_export import BlockFinder, FoundBlock, change_request_ref
from octavo.cli.standard_streams import USAGE, Failure
from octavo.data.loaders import find_page, page_markdown, page_source_op
from octavo.data.proposed_notes import MAX_NOTES, NewNote, ProposeResult, sanitize_note_text, sanitize_source_name
from octavo.documents.blocks import Document
from octavo.documents.checks.findings import Finding
from octavo.documents.folders.layout import page_path
from octavo.documents.linters.placement import LintedPage, added_ranges, suggested_block, to_page_findings
from octavo.documents.linters.readers import (
    DEFAULT_COLUMN_UNITS,
    MAX_FINDINGS,
    Format,
    ReportedFinding,
    UnreadableReport,
    read_reports,
)
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import fence, suggestion_fence
from octavo.settings.file import did_you_mean
from octavo.tui.core.session import Session
from octavo.untrusted_input import DuplicateKeyError, LimitExceededError, parse_strict_json

MAX_FILE_BYTES = 1 << 20
MAX_TEXT_BYTES = 8 << 10
MAX_QUOTE_BYTES = 2_000
FIELDS = ("page", "block", "quote", "side", "revision", "text", "suggestion", "severity", "rule", "source")
REPORT_FORMATS: tuple[Format, ...] = ("vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines")


@dataclass(frozen=True)
class PlacedNote:
    """A note with the block that it is about, or with a reason why no block was found."""

    note: Note
    page: Page | None
    found: FoundBlock | str
    """The block, or a phrase that says why there is none, such as “there is no page guide”."""

    @property
    def problem(self) -> str:
        """A sentence that says why no block was found. Empty if a block was found."""
        return f"{self.found}." if isinstance(self.found, str) else ""


@dataclass(frozen=True)
class ImportResult(ProposeResult):
    """Result of an import: which notes were proposed, and which were not."""

    placed: tuple[PlacedNote, ...] = ()

    @property
    def not_placed(self) -> tuple[PlacedNote, ...]:
        return tuple(each for each in self.placed if each.problem)


class NoteImport:
    """Finds the blocks of notes in a change request, and proposes the notes."""

    def __init__(self, session: Session, target: RefTarget) -> None:
        """Raises Failure if the target is not a change request."""
        self._at = change_request_ref(target)
        self._session, self._target = session, target
        self._live = session.live
        self._versions: ComparedVersions | None = None
        self._tree: PageTree | None = None
        self._finders_by_page: dict[str, BlockFinder] = {}
        self._read_versions: dict[tuple[str, str], Document | None] = {}
        """The page versions that notes are about, by page ID and revision ID. None if the revision has no such page."""

    async def place(self, notes: Sequence[Note]) -> tuple[PlacedNote, ...]:
        """Return each note with its block, or with the reason why no block was found. Raises ApiError or Failure."""
        return tuple([await self._place(each) for each in notes])

    async def propose(self, placed: tuple[PlacedNote, ...]) -> ImportResult:
        """Propose the notes whose block was found. Return which notes were proposed. Raises NotSaved."""
        new_notes = [
            _new_note(each.note, each.page, each.found)
            for each in placed
            if each.page and isinstance(each.found, FoundBlock)
        ]
        result = await self._session.proposed_notes.propose(self._at, new_notes)
        return ImportResult(**vars(result), placed=placed)

    async def page_tree(self) -> PageTree:
        """Return the page tree of the change request. Raises ApiError."""
        if self._tree is None:
            self._tree = await self._live.fetch(ListPages(at=self._at))
        return self._tree

    async def linted_page(self, page: Page) -> LintedPage:
        """Return a page with its text and the added ranges of the text. Raises ApiError or Failure."""
        before, after = await self._load_versions(page)
        added = added_ranges(before.source, after.source)
        return LintedPage(page.path or page.id, page_path(page), after, after.source, added)

    async def _place(self, note: Note) -> PlacedNote:
        page = await self._page(note.page)
        if page is None:
            return PlacedNote(note, None, f"there is no page {safe_line(note.page)}")
        finder = await self._finder_of(page)
        read_version = await self._load_version_of_note(note, page)
        return PlacedNote(note, page, finder.find(note.block, note.quote, side=note.side, read_version=read_version))

    async def _page(self, name: str) -> Page | None:
        tree = await self.page_tree()
        name = name.strip("/")
        pages_by_title = [page for page in tree.walk() if page.title == name]
        return tree.find_by_name(name) or (pages_by_title[0] if len(pages_by_title) == 1 else None)

    async def _finder_of(self, page: Page) -> BlockFinder:
        if page.id not in self._finders_by_page:
            before, after = await self._load_versions(page)
            self._finders_by_page[page.id] = BlockFinder(before, after, page.path or page.title)
        return self._finders_by_page[page.id]

    async def _load_versions(self, page: Page) -> tuple[Document, Document]:
        versions = self._versions = self._versions or await find_versions(self._live, self._target, "base")
        before, after = await load_markdown(self._live, versions, page.id)
        return parse(before), parse(after)

    async def _load_version_of_note(self, note: Note, page: Page) -> Document | None:
        change_request = self._target.change_request
        if not note.revision or change_request is None or note.revision == change_request.revision:
            return None
        key = (page.id, note.revision)
        if key not in self._read_versions:
            try:
                at = self._at.revision_ref(note.revision)
            except ValueError:
                return None
            found = await find_page(self._live, page_source_op(at, page.id))
            self._read_versions[key] = parse(page_markdown(found)) if found is not None else None
        return self._read_versions[key]


def _new_note(note: Note, page: Page, found: FoundBlock) -> NewNote:
    identity = [page.id, note.block or note.quote, note.text, note.suggestion, note.source]
    return NewNote(
        page=page.id,
        block=found.block.key,
        body=_comment_text(note, found),
        source=note.source,
        identity=json.dumps(identity),
        placed=found.match_kind,
    )


def _comment_text(note: Note, found: FoundBlock) -> str:
    """Return the Markdown of a comment. Begin with the note's quote if the block is uncertain or of the old version."""
    is_sure = found.match_kind != "likely" and found.side == "after"
    parts = [note.text]
    if not is_sure and note.quote:
        quoted = "\n".join(f"> {each}" for each in note.quote.splitlines())
        parts.insert(0, quoted)
    if note.suggestion is not None:
        parts.append(suggestion_fence(note.suggestion).rstrip() if is_sure else fence(note.suggestion, "markdown"))
    return "\n\n".join(filter(None, parts))


def result_row(result: ImportResult) -> dict[str, Any]:
    """Return the result as the JSON object that `octavo review --import --json` prints."""
    return {
        "proposed": [
            {"id": each.id, "page": each.page, "block": each.block, "placed": each.placed, "source": each.source}
            for each in result.added
        ],
        "known": result.duplicate_count,
        "overLimit": result.over_limit_count,
        "notPlaced": [
            {"line": each.note.line, "page": each.note.page, "reason": each.problem} for each in result.not_placed
        ],
    }


def summary(result: ImportResult, count: int, *, is_dry: bool) -> str:
    """Return a sentence such as `9 notes: 7 proposed, 2 not placed.` With `is_dry`, `9 notes: 9 can be placed.`"""
    placed_count = len(result.placed) - len(result.not_placed)
    parts = [f"{placed_count} can be placed" if is_dry else f"{len(result.added)} proposed"]
    parts += [f"{result.duplicate_count} already there"] * bool(result.duplicate_count)
    parts += [f"{len(result.not_placed)} not placed"] * bool(result.not_placed)
    parts += [f"{result.over_limit_count} over the limit of {MAX_NOTES}"] * bool(result.over_limit_count)
    return f"{count} {'note' if count == 1 else 'notes'}: {', '.join(parts)}."


@dataclass(frozen=True)
class Note:
    """A note that a program wrote, before its page and block are found."""

    line: int
    """Line number in the JSONL file, from 1. 0 if the note comes from a linter."""
    page: str
    """Path, ID or title of the page."""
    source: str
    block: str = ""
    quote: str = ""
    text: str = ""
    suggestion: str | None = None
    """Markdown that the note suggests for the whole block. None if the note suggests nothing."""
    side: Literal["after", "before"] = "after"
    revision: str = ""
    """ID of the revision that the program read. Empty if unknown."""
    where: str = ""
    """File and line in the report of the linter, such as `docs/guide.md:12`. Empty for a note from a JSONL file."""


def read_notes(content: bytes, name: str) -> list[Note]:
    """Return the notes in the JSONL file `name`. Raises Failure if a line is invalid, the file is too large, or
    the file has too many notes."""
    if len(content) > MAX_FILE_BYTES:
        raise Failure(f"Could not read {name}: it is larger than {MAX_FILE_BYTES >> 20} MiB.", USAGE)
    notes: list[Note] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            notes.append(parse_note(_parse_object(line), number))
        except ValueError as error:
            raise Failure(f"{name}:{number}: {error}", USAGE) from None
        if len(notes) > MAX_NOTES:
            raise Failure(f"Could not read {name}: it has more than {MAX_NOTES} notes.", USAGE)
    return notes


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        value = parse_strict_json(line)
    except (DuplicateKeyError, LimitExceededError) as error:
        raise ValueError(f"{error}.") from None
    except ValueError:
        raise ValueError("it is not JSON.") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object.")
    return value


def parse_note(value: dict[str, Any], number: int = 1) -> Note:
    """Convert a JSON object to a note. `number` is the line number. Raises ValueError, whose message is a sentence."""
    for name in value:
        if name not in FIELDS:
            hint = did_you_mean(name, FIELDS) or f" The fields are {', '.join(FIELDS)}."
            raise ValueError(f"unknown field {safe_line(name[:40])}.{hint}")
    texts = {name: _validate_text(name, value.get(name)) for name in FIELDS}
    if missing_names := [name for name in ("page", "source") if not texts[name]]:
        raise ValueError(f"{missing_names[0]} is missing.")
    if not texts["text"] and value.get("suggestion") is None:
        raise ValueError("text or suggestion is missing.")
    if not texts["block"] and not texts["quote"]:
        raise ValueError("block or quote is missing.")
    if texts["side"] not in ("", "after", "before"):
        raise ValueError("side must be after or before.")
    return Note(
        line=number,
        page=texts["page"],
        source=sanitize_source_name(texts["source"]),
        block=texts["block"],
        quote=texts["quote"],
        text=sanitize_note_text(texts["text"]),
        suggestion=None if value.get("suggestion") is None else sanitize_note_text(texts["suggestion"]),
        side="before" if texts["side"] == "before" else "after",
        revision=texts["revision"],
    )


def _validate_text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text.")
    limit = MAX_TEXT_BYTES if name in ("text", "suggestion") else MAX_QUOTE_BYTES
    if len(value.encode("utf-8", "surrogatepass")) > limit:
        raise ValueError(f"{name} is larger than {limit} bytes.")
    return value


@dataclass(frozen=True)
class ReportNotes:
    """The notes that `notes_of_reports` made from the findings of a linter."""

    notes: tuple[Note, ...]
    unchanged_count: int = 0
    """Number of findings without a note, because they are about words that the change request did not add."""


def read_report_file(content: bytes, format_name: Format, name: str) -> tuple[ReportedFinding, ...]:
    """Return the findings in a linter's report `name`. Raises Failure if it is invalid or has too many findings."""
    try:
        reports, has_more = read_reports(content, format_name)
    except UnreadableReport as error:
        raise Failure(f"Could not read {name} as {format_name}: {error}.", USAGE) from None
    if has_more:
        raise Failure(f"Could not read {name}: it has more than {MAX_FINDINGS} findings.", USAGE)
    return reports


async def notes_of_reports(
    importing: NoteImport, reports: Sequence[ReportedFinding], format_name: Format, source: str
) -> ReportNotes:
    """Return notes for the findings on words that the change request added, and for findings in files that are no
    pages. Also count the findings on unchanged words. `source` is the linter's name. Raises ApiError or Failure."""
    tree = await importing.page_tree()
    notes: list[Note] = []
    reports_by_path: dict[str, list[ReportedFinding]] = {}
    for report in reports:
        reports_by_path.setdefault(report.path, []).append(report)
    unchanged_count = 0
    for path, group in reports_by_path.items():
        page = page_of_file(path, tree)
        if page is None:
            notes += [Note(0, path, source, text=each.message, where=_location_label(each)) for each in group]
            continue
        linted = await importing.linted_page(page)
        unit = DEFAULT_COLUMN_UNITS[format_name]
        for report in group:
            # The path in the report may differ from the path of the page, as in `build/docs/guide.md`.
            without_path = replace(report, path="")
            page_findings = list(to_page_findings([without_path], linted, linted.text, tool=source, column_unit=unit))
            unchanged_count += not page_findings
            notes += [_note_of_finding(each, linted, _location_label(report)) for each in page_findings]
    if len(notes) > MAX_NOTES:
        raise Failure(
            f"Could not import the findings: {len(notes)} are on added words, and {MAX_NOTES} are allowed.", USAGE
        )
    return ReportNotes(tuple(notes), unchanged_count)


def page_of_file(path: str, tree: PageTree) -> Page | None:
    """Return the page of a linted file, such as `docs/guide` for `build/docs/guide.md`. None if no page fits."""
    parts = path.replace("\\", "/").strip("/").split("/")
    documents = [page for page in tree.walk() if page.type == "document"]
    pages = {name: page for page in documents for name in (page_path(page), page.path) if name}
    path_ends = ("/".join(parts[start:]) for start in range(len(parts)))
    return next((pages[end] for end in path_ends if end in pages), None)


def _location_label(report: ReportedFinding) -> str:
    return f"{safe_line(report.path)}:{report.line}"


def _note_of_finding(finding: Finding, page: LintedPage, where: str) -> Note:
    rule = f" ({finding.rule})" if finding.rule else ""
    return Note(
        0,
        page.path,
        sanitize_source_name(finding.tool),
        finding.block_key,
        finding.words,
        sanitize_note_text(f"{finding.message}.{rule}"),
        suggested_block(finding, page.document, page.text),
        where=where,
    )
