"""`octavo review`: submit a review of a change request, export it as JSON, or import the notes of other programs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import RevisionRef
from octavo.cli import review_export
from octavo.cli.api import ArgumentFiles, input_label
from octavo.cli.arguments import not_empty
from octavo.cli.commands import CliCommand
from octavo.cli.comparisons import ComparedVersions, changed_items, viewed_revision
from octavo.cli.connection import (
    WAIT_SECONDS,
    add_and_send,
    add_sending_options,
    add_text_options,
    check_allowed,
    exit_code_of,
    once_key,
    prepare_writes,
    run_connected,
    tell_if_run_before,
    text_option,
)
from octavo.cli.output import add_output_options, declare_fields, fields_to_print, print_object
from octavo.cli.refs import RefResolver, RefTarget, check_whole_request, revision_id
from octavo.cli.review_export import ExportOptions, change_request_ref, export_review, page_paths, proposed_row
from octavo.cli.review_import import (
    REPORT_FORMATS,
    ImportResult,
    NoteImport,
    ReportNotes,
    notes_of_reports,
    read_notes,
    read_report_file,
    result_row,
    summary,
)
from octavo.cli.standard_streams import BLOCKED, FAILED, UNKNOWN, USAGE, Failure, tell, write_out
from octavo.data.access import why_not_in_space
from octavo.data.proposed_notes import sanitize_source_name
from octavo.data.queries import UNDECIDED
from octavo.data.writes.change_request_writes import Verdict, submit_review
from octavo.data.writes.machine import NewWrite, OutboxEntry, has_review_in_flight

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

VERDICT_FIELDS = declare_fields("ref string, status string, revision string?, comments integer, url string?")


def submit(options: argparse.Namespace) -> int:
    """Submit the review that the options describe, and return the exit code. Raises Failure."""
    verb = {"approved": "approve", "changes-requested": "request changes on", "commented": "comment on"}[
        options.verdict
    ]
    action = f"{verb} {options.ref[:60]}"
    return run_connected(options, lambda session: _review(session, options, verb), action=action)


async def _review(session: Session, options: argparse.Namespace, verb: str) -> None:
    text = (text_option(options) or "").strip()
    await prepare_writes(session)
    if await tell_if_run_before(session, options):
        return
    target = await RefResolver(session, options).resolve(options.ref)
    change_request = target.change_request
    if change_request is None:
        raise Failure(f"Could not {verb} {target.ref}: it is not a change request.", USAGE)
    action = f"{verb} {target.ref.without_page}"
    check_whole_request(target, action)
    check_allowed(why_not_in_space(target.space, "comment" if options.verdict == "commented" else "review"), action)
    if change_request.status not in UNDECIDED:
        raise Failure(f"Could not {action}: it is {change_request.status}.", BLOCKED)
    await _check_revision(session, target, change_request, options, action)
    entries = await add_and_send(session, lambda: _add_writes(session, target, options, text, action), action, options)
    comment_count = sum(not each.traits.is_review for each in entries)
    row = {
        "ref": target.ref.without_page,
        "status": options.verdict,
        "revision": change_request.revision,
        "comments": comment_count,
        "url": change_request.urls.app,
    }
    print_object(options, VERDICT_FIELDS, row, lambda: _sentence(target, options.verdict, comment_count))


async def _check_revision(
    session: Session, target: RefTarget, change_request: ChangeRequest, options: argparse.Namespace, action: str
) -> None:
    viewed_id = options.revision or viewed_revision(session, change_request)
    if not viewed_id or viewed_id == change_request.revision or not change_request.revision:
        return
    space_id = target.space.id
    versions = ComparedVersions(
        RevisionRef(space_id=space_id, revision_id=viewed_id),
        RevisionRef(space_id=space_id, revision_id=change_request.revision),
    )
    try:
        count = len(await changed_items(session.live, target, versions))
    except ApiError:
        count = 0  # The message then says only that it was edited.
    changes = "1 page changed" if count == 1 else f"{count} pages changed" if count else "it was edited"
    command = f"octavo diff {target.ref.without_page} --against {viewed_id}"
    raise Failure(f"Could not {action}: {changes} since you viewed it. Look: {command}", BLOCKED)


async def _add_writes(
    session: Session, target: RefTarget, options: argparse.Namespace, text: str, action: str
) -> Sequence[OutboxEntry]:
    change_request = target.change_request
    assert change_request is not None, "only change requests have reviews"
    at, pending_comments = change_request.ref(target.space.ref), session.outbox.pending_comments(target.at)
    if options.verdict == "commented":
        if not (text or pending_comments):
            raise Failure(f"Could not {action}: there are no pending comments. Use -m TEXT or -F FILE.", USAGE)
        key = once_key(options.once)
        comment = NewWrite(comments.Create(at=at, body=Markdown(markdown=text)), "comment", key) if text else None
        return await session.outbox.submit_review(at, comment, once_key=key)
    if options.verdict == "changes-requested" and not (text or pending_comments):
        raise Failure(f"Could not {action}: say what needs to change. Use -m TEXT or -F FILE.", USAGE)
    verdict: Verdict = options.verdict
    result = await submit_review(
        session.live, at, verdict, change_request.revision, text, action=action, draft_key=once_key(options.once)
    )
    if result.kind == "changed":
        raise Failure(f"Could not {action}: {result.message}", BLOCKED)
    if result.kind != "done" or result.result is None:
        if result.error is None and await tell_if_run_before(session, options):
            raise Failure("", 0)  # Another command with this --once key wrote meanwhile, so end without an error.
        if has_review_in_flight(session.outbox.own_entries, at):
            raise Failure(f"Could not {action}: your review is still being sent. Look with: octavo outbox", UNKNOWN)
        raise Failure(
            f"Could not {action}: {result.message}", FAILED if result.error is None else exit_code_of(result.error)
        )
    return result.result


def _sentence(target: RefTarget, verdict: str, count: int) -> str:
    phrase = {"approved": "Approved", "changes-requested": "Requested changes on", "commented": "Commented on"}[verdict]
    suffix = "" if not count else " with 1 comment" if count == 1 else f" with {count} comments"
    return f"{phrase} {target.ref.without_page}{suffix}.\n"


IMPORT_FIELDS = declare_fields("proposed object[], known integer, overLimit integer, notPlaced object[]")


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", metavar="REF", help="a change request")
    actions = command.add_mutually_exclusive_group()
    actions.add_argument(
        "--import", dest="notes", metavar="FILE", help="propose the notes in a file; - reads standard input"
    )
    actions.add_argument("--approve", dest="verdict", action="store_const", const="approved", help="approve")
    actions.add_argument(
        "--request-changes", dest="verdict", action="store_const", const="changes-requested", help="request changes"
    )
    comment_help = "submit your comments without a verdict"
    actions.add_argument("--comment", dest="verdict", action="store_const", const="commented", help=comment_help)
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
        type=not_empty,
        help="with --discard-proposed: only the notes of this program; with --format: the name of the linter",
    )
    page_help = "with --json: only this page, by its path, id or title"
    command.add_argument("--page", metavar="PAGE", type=not_empty, help=page_help)
    command.add_argument("--changed-only", action="store_true", help="with --json: leave out unchanged blocks")
    add_text_options(command)
    command.add_argument(
        "--revision",
        type=revision_id,
        metavar="ID",
        help="with a verdict: the revision that you reviewed (default: the one shown last)",
    )
    add_sending_options(command)
    add_output_options(command, prints_rows=False)


def run(options: argparse.Namespace) -> int:
    has_verdict, is_import = options.verdict is not None, options.notes is not None
    is_export = not (has_verdict or is_import or options.discard_proposed)
    for name, is_used, is_allowed, owner in (
        ("--dry-run", options.dry_run, is_import, "--import FILE"),
        ("--format", options.format != "jsonl", is_import, "--import FILE"),
        ("--source", options.source, is_import or options.discard_proposed, "--import FILE or --discard-proposed"),
        ("--page", options.page, is_export, "--json"),
        ("--changed-only", options.changed_only, is_export, "--json"),
        ("--json", options.json is not None, not options.discard_proposed, "the other actions"),
        ("--jq", options.jq is not None, not options.discard_proposed, "the other actions"),
        ("--revision", options.revision, has_verdict, "--approve, --request-changes or --comment"),
        ("--once", options.once, has_verdict, "--approve, --request-changes or --comment"),
        ("--wait", options.wait != WAIT_SECONDS, has_verdict, "--approve, --request-changes or --comment"),
    ):
        if is_used and not is_allowed:
            raise Failure(f"Could not use {name}: it belongs to {owner}.", USAGE)
    if has_verdict:
        return submit(options)
    if options.message is not None or options.file is not None:
        raise Failure("Could not use the text: -m and -F belong to --approve, --request-changes or --comment.", USAGE)
    if options.notes is not None:
        return _import(options)
    if options.discard_proposed:
        return run_connected(options, lambda session: _discard(session, options), action="discard the proposed notes")
    if options.json is None and options.jq is None:
        raise Failure(
            "Choose what to do: --approve, --request-changes, --comment, --json, --import FILE or --discard-proposed.",
            USAGE,
        )
    field_names = fields_to_print(options, review_export.FIELDS)

    async def use_session(session: Session) -> None:
        resolver = RefResolver(session, options)
        target = await resolver.resolve(options.ref)
        export_options = ExportOptions(options.page or "", options.changed_only)
        at = change_request_ref(target)
        row = await export_review(resolver, target, export_options, field_names)
        if "proposed" in field_names:
            paths = await page_paths(session.live, at)
            row["proposed"] = [proposed_row(each, paths) for each in session.proposed_notes.at(at)]
        if row["truncated"]:
            tell("Showing the first pages only. For the other pages, use --page PAGE.")
        print_object(options, review_export.FIELDS, row, str)

    return run_connected(options, use_session, action="export the change request")


def _import(options: argparse.Namespace) -> int:
    name, content = input_label(options.notes), ArgumentFiles().read(options.notes)
    is_jsonl = options.format == "jsonl"
    notes = read_notes(content, name) if is_jsonl else []
    reports = () if is_jsonl else read_report_file(content, options.format, name)

    async def import_notes(session: Session) -> int:
        importing = NoteImport(session, await RefResolver(session, options).resolve(options.ref))
        report_notes = ReportNotes(tuple(notes))
        if not is_jsonl:
            report_notes = await notes_of_reports(importing, reports, options.format, options.source or options.format)
        placed = await importing.place(report_notes.notes)
        result = ImportResult(placed=placed) if options.dry_run else await importing.propose(placed)
        _print_result(options, report_notes, result)
        return BLOCKED if result.not_placed or result.over_limit_count else 0

    return run_connected(options, import_notes, action="propose the notes")


def _print_result(options: argparse.Namespace, notes: ReportNotes, result: ImportResult) -> None:
    input_name = input_label(options.notes)
    tell(*(f"{each.note.where or f'{input_name}:{each.note.line}'}: {each.problem}" for each in result.not_placed))
    if notes.unchanged_count:
        phrase = "1 finding is" if notes.unchanged_count == 1 else f"{notes.unchanged_count} findings are"
        tell(f"{phrase} not on added words and left out.")
    if options.json is not None or options.jq is not None:
        print_object(options, IMPORT_FIELDS, result_row(result), str)
    else:
        write_out(summary(result, len(notes.notes), is_dry=options.dry_run) + "\n")


async def _discard(session: Session, options: argparse.Namespace) -> None:
    target = await RefResolver(session, options).resolve(options.ref)
    check_whole_request(target, "discard the proposed notes")
    at = change_request_ref(target)
    source = sanitize_source_name(options.source) if options.source else None
    notes = [each for each in session.proposed_notes.at(at) if source in (None, each.source)]
    await session.proposed_notes.discard(notes)
    write_out(f"Discarded {len(notes)} proposed {'note' if len(notes) == 1 else 'notes'}.\n")


REVIEW = CliCommand(
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
