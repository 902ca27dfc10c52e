"""`octavo review`: review a change request, export it for programs, and propose their notes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api.content import ListPages
from octavo.api.places import ChangeRequestRef
from octavo.cli import review_export
from octavo.cli.api_values import Files, title_of
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import BLOCKED, USAGE, Failure
from octavo.cli.note_files import read_notes
from octavo.cli.output import Field, add_output_options, print_object, wanted_fields
from octavo.cli.refs import References
from octavo.cli.report_notes import REPORT_FORMATS, ReportNotes, notes_of_reports, read_report_file
from octavo.cli.review_export import ExportOptions, check_is_change, export_review, proposed_row
from octavo.cli.review_import import ImportResult, NoteImport, result_row, summary
from octavo.cli.standard_streams import tell, write_out
from octavo.cli.verdicts import VERDICT_FIELDS, add_review_options, add_verdict_options, submit
from octavo.data.proposed_notes import sanitize_source_name

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

IMPORT_FIELDS = (
    Field("proposed", "object[]"),
    Field("known", "integer"),
    Field("overLimit", "integer"),
    Field("notPlaced", "object[]"),
)


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", metavar="REF", help="a change request")
    actions = command.add_mutually_exclusive_group()
    actions.add_argument(
        "--import", dest="notes", metavar="FILE", help="propose the notes in a file; - reads standard input"
    )
    add_verdict_options(actions)
    actions.add_argument("--discard-proposed", action="store_true", help="discard the proposed notes")
    command.add_argument("--dry-run", action="store_true", help="with --import: place the notes, and store nothing")
    command.add_argument(
        "--format",
        choices=("jsonl", *REPORT_FORMATS),
        default="jsonl",
        help="with --import: the format of the file (default: jsonl); in the others, only findings on added words count",
    )
    command.add_argument(
        "--source",
        metavar="NAME",
        help="with --discard-proposed: only the notes of this program; with --format: the name of the linter",
    )
    command.add_argument("--page", metavar="PAGE", help="with --json: only this page, by its path, id or title")
    command.add_argument("--changed-only", action="store_true", help="with --json: leave out unchanged blocks")
    add_review_options(command)
    add_output_options(command, streams=False)


def run(options: argparse.Namespace) -> int:
    if options.notes is not None:
        return _import(options)
    if options.verdict is not None:
        return submit(options)
    if options.dry_run or options.format != "jsonl":
        name = "--dry-run" if options.dry_run else "--format"
        raise Failure(f"Could not use {name}: it belongs to --import FILE.", USAGE)
    if options.discard_proposed:
        return run_connected(options, lambda session: _discard(session, options), action="discard the proposed notes")
    if options.json is None and options.jq is None:
        raise Failure(
            "Choose what to do: --approve, --request-changes, --comment, --json, --import FILE or --discard-proposed.",
            USAGE,
        )
    wanted = wanted_fields(options, review_export.FIELDS)

    async def work(session: Session) -> int:
        references = References(session, options)
        target = await references.target(options.ref)
        choices = ExportOptions(options.page or "", options.changed_only)
        check_is_change(target)
        row = await export_review(references, target, choices, wanted)
        if "proposed" in wanted:
            at = target.at
            assert isinstance(at, ChangeRequestRef), "a change request was exported"
            tree = await session.live.cached_or_fetch(ListPages(at=at))
            paths = {page.id: page.path or page.id for page in tree.walk()}
            row["proposed"] = [proposed_row(each, paths) for each in session.proposed.at(at)]
        if row["truncated"]:
            tell("Showing the first pages only. For the other pages, use --page PAGE.")
        print_object(options, review_export.FIELDS, row, str)
        return 0

    return run_connected(options, work, action="export the change request")


def _import(options: argparse.Namespace) -> int:
    name, content = title_of(options.notes), Files().read(options.notes)
    is_jsonl = options.format == "jsonl"
    notes = read_notes(content, name) if is_jsonl else []
    reports = () if is_jsonl else read_report_file(content, options.format, name)

    async def work(session: Session) -> int:
        references = References(session, options)
        importing = NoteImport(session, references, await references.target(options.ref))
        found = ReportNotes(tuple(notes))
        if not is_jsonl:
            found = await notes_of_reports(importing, reports, options.format, options.source or options.format)
        placed = await importing.place(found.notes)
        result = ImportResult(placed) if options.dry_run else await importing.propose(placed)
        _print_result(options, found, result)
        return BLOCKED if result.not_placed or result.over_limit else 0

    return run_connected(options, work, action="propose the notes")


def _print_result(options: argparse.Namespace, found: ReportNotes, result: ImportResult) -> None:
    name = title_of(options.notes)
    tell(*(f"{each.note.where or f'{name}:{each.note.line}'}: {each.problem}" for each in result.not_placed))
    if found.unchanged_count:
        count = "1 finding is" if found.unchanged_count == 1 else f"{found.unchanged_count} findings are"
        tell(f"{count} not on added words and left out.")
    if options.json is not None or options.jq is not None:
        print_object(options, IMPORT_FIELDS, result_row(result), str)
    else:
        write_out(summary(result, len(found.notes), is_dry=options.dry_run) + "\n")


async def _discard(session: Session, options: argparse.Namespace) -> int:
    target = await References(session, options).target(options.ref)
    check_is_change(target)
    at = target.at
    assert isinstance(at, ChangeRequestRef), "it was checked"
    source = sanitize_source_name(options.source) if options.source else None
    notes = [each for each in session.proposed.at(at) if source in (None, each.source)]
    await session.proposed.discard(notes)
    write_out(f"Discarded {len(notes)} proposed {'note' if len(notes) == 1 else 'notes'}.\n")
    return 0


COMMAND = Command(
    declare=declare,
    run=run,
    details="A verdict sends your pending comments along. It is refused if the change request was edited since octavo show or "
    "octavo diff printed it. Programs read a change request with --json and propose notes with --import. Nobody else sees a proposed note "
    "before you accept it in the app and submit your review. See: octavo help agents",
    examples=(
        'octavo review 7 --approve -m "Short, and it answers the question."',
        "octavo review handbook/2 --request-changes -F notes.md",
        "octavo review harbour-api/7 --json > change.json",
        "octavo review harbour-api/7 --json --changed-only -q '.pages[].blocks[].after'",
        "octavo review harbour-api/7 --import notes.jsonl",
        "octavo review harbour-api/7 --import - --format vale < vale.json",
        "octavo review harbour-api/7 --discard-proposed --source vale",
    ),
    kinds={"review": review_export.FIELDS, "verdict": VERDICT_FIELDS, "import": IMPORT_FIELDS},
    exit_codes={
        3: "there is no such change request",
        5: "your role does not allow it",
        6: "it was edited since you viewed it, or is merged; or some notes could not be placed, and the others are stored",
        7: "the review may have been sent",
    },
)
