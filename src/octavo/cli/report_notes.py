"""Turns the findings of a linter into notes for a change request: for words that the change request added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.api.content import Page, PageTree
from octavo.api.safety import safe_line
from octavo.cli.failures import USAGE, Failure
from octavo.cli.note_files import Note
from octavo.data.proposed_notes import MAX_NOTES, sanitize_note_text, sanitize_source_name
from octavo.documents.checks.findings import Finding
from octavo.documents.folders.layout import page_path
from octavo.documents.linters.placement import LintedPage, place_reports, suggested_block
from octavo.documents.linters.readers import DEFAULT_COLUMNS, Format, read_reports
from octavo.documents.linters.reports import MAX_REPORTS, Report, UnreadableReport

if TYPE_CHECKING:
    from octavo.cli.review_import import NoteImport

REPORT_FORMATS: tuple[Format, ...] = ("vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines")


@dataclass(frozen=True)
class ReportNotes:
    """The notes that the findings of a linter become."""

    notes: tuple[Note, ...]
    unchanged_count: int = 0
    """The number of findings on words that the change request did not add."""


def read_report_file(content: bytes, format_name: Format, name: str) -> tuple[Report, ...]:
    """Return the findings in a file, whose `name` is for messages. Raises Failure if it is not in the format."""
    try:
        reports, has_more = read_reports(content, format_name)
    except UnreadableReport as error:
        raise Failure(f"Could not read {name} as {format_name}: {error}.", USAGE) from None
    if has_more:
        raise Failure(f"Could not read {name}: it has more than {MAX_REPORTS} findings.", USAGE)
    return reports


async def notes_of_reports(
    importing: NoteImport, reports: Sequence[Report], format_name: Format, source: str
) -> ReportNotes:
    """Return the notes for the findings on added words. A finding on an unknown page becomes a note that has no place.
    Raises ApiError, or Failure if there are too many notes."""
    tree = await importing.page_tree()
    notes: list[Note] = []
    by_path: dict[str, list[Report]] = {}
    for report in reports:
        by_path.setdefault(report.path, []).append(report)
    unchanged_count = 0
    for path, group in by_path.items():
        page = page_of_file(path, tree)
        if page is None:
            notes += [Note(0, path, source, text=each.message, where=_location_label(each)) for each in group]
            continue
        linted = await importing.linted_page(page)
        columns = DEFAULT_COLUMNS[format_name]
        for report in group:
            own = replace(report, path="")  # The page is known, and its file may have another name.
            found = list(place_reports([own], linted, linted.text, source=source, columns=columns))
            unchanged_count += not found
            notes += [_note(each, linted, _location_label(report)) for each in found]
    if len(notes) > MAX_NOTES:
        raise Failure(
            f"Could not import the findings: {len(notes)} are on added words, and {MAX_NOTES} are allowed.", USAGE
        )
    return ReportNotes(tuple(notes), unchanged_count)


def page_of_file(path: str, tree: PageTree) -> Page | None:
    """Return the page whose file a linter names. `path` ends with the path of the file in a pulled folder, or with the
    path of the page in the space, such as `build/docs/page`. None if no page has such a path."""
    parts = path.replace("\\", "/").strip("/").split("/")
    pages = {name: page for page in tree.walk() if page.type == "document" for name in _file_names(page)}
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    return next((pages[end] for end in ends if end in pages), None)


def _file_names(page: Page) -> Iterable[str]:
    return filter(None, (page_path(page), page.path))


def _location_label(report: Report) -> str:
    return f"{safe_line(report.path)}:{report.line}"


def _note(finding: Finding, page: LintedPage, where: str) -> Note:
    rule = f" ({finding.rule})" if finding.rule else ""
    return Note(
        0,
        page.path,
        sanitize_source_name(finding.source),
        finding.block,
        finding.words,
        sanitize_note_text(f"{finding.message}.{rule}"),
        suggested_block(finding, page.document, page.text),
        severity=finding.severity,
        rule=finding.rule,
        where=where,
    )
