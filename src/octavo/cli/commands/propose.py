"""`octavo propose`: make a change request of the changes in a pulled folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import BLOCKED, FAILED, UNKNOWN, USAGE, Failure
from octavo.cli.output import Field, add_output_options, print_object
from octavo.cli.pulled_folders import check_origin, file_failures, report_progress, tell_first, this_folder
from octavo.cli.refs import Ref, References
from octavo.cli.standard_streams import tell
from octavo.files.proposal import Proposal, ProposalFailed
from octavo.files.proposal_plan import MERGE_FIRST, ProposalPlan

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.files.pulled_folder import PulledFolder
    from octavo.tui.core.session import Session

FIELDS = (
    Field("ref", "string?"),
    Field("number", "integer?"),
    Field("url", "string?"),
    Field("status", "string?"),
    Field("summary", "string"),
    Field("edited", "string[]"),
    Field("added", "string[]"),
    Field("moved", "string[]"),
    Field("deleted", "string[]"),
    Field("files", "string[]"),
    Field("unsupported", "string[]"),
    Field("notes", "string[]"),
)
MAX_SUBJECT = 100
_CODES = {"failed": FAILED, "blocked": BLOCKED, "unknown": UNKNOWN}


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-m", dest="subject", metavar="SUBJECT", default="", help="the subject of a new change request"
    )
    command.add_argument("--into", metavar="REF", help="the change request to fill, instead of a new one")
    command.add_argument("--draft", action="store_true", help="leave the new change request a draft")
    command.add_argument("--dry-run", action="store_true", help="print what would be proposed, and send nothing")
    command.add_argument("--partial", action="store_true", help="propose the rest if the API does not take everything")
    add_output_options(command, streams=False)


def run(options: argparse.Namespace) -> int:
    folder = this_folder()
    if len(options.subject) > MAX_SUBJECT:
        raise Failure(f"Could not propose: the subject is longer than {MAX_SUBJECT} characters.", USAGE)

    async def work(session: Session) -> int:
        check_origin(session, folder)
        references = References(session, options)
        with file_failures("propose"):
            unlock = folder.lock()
            try:
                return await _propose(session, references, folder, options)
            except ProposalFailed as failed:
                raise Failure(str(failed), _CODES[failed.kind]) from failed
            finally:
                report_progress("")
                unlock()

    return run_connected(options, work, action="propose")


async def _propose(session: Session, references: References, folder: PulledFolder, options: argparse.Namespace) -> int:
    into = None
    if options.into:
        target = await references.target(options.into)
        into = target.change_request
        if into is None or target.space.id != folder.space:
            raise Failure(f"Could not propose: {options.into} is not a change request of this space.", USAGE)
    proposal = Proposal(folder, session.live, session.download, options.subject.strip(), into)
    report_progress("Comparing…")
    plan = await proposal.plan()
    report_progress("")
    name = await references.name_of(folder.space)
    if options.dry_run:
        _print(options, plan, proposal.change_request, name)
        return BLOCKED if plan.blocked or plan.unsupported else 0
    _check(options, plan, proposal.change_request)
    if plan.is_empty:
        _print(options, plan, await proposal.finish_interrupted(is_draft=options.draft), name)
        return BLOCKED if plan.unsupported else 0
    had_request = proposal.change_request is not None
    sent = await proposal.send(plan, is_draft=options.draft)
    _print(options, plan, sent, name, verb="Updated" if had_request else "Proposed")
    if sent.outdated:
        tell("Main has changed since your last pull. To get the changes, run: octavo pull")
    return BLOCKED if plan.unsupported else 0


def _check(options: argparse.Namespace, plan: ProposalPlan, change_request: ChangeRequest | None) -> None:
    """Raise Failure if a plan cannot be sent."""
    if plan.blocked:
        tell_first([f"{each}." for each in plan.blocked])
        count = "1 conflict" if len(plan.blocked) == 1 else f"{len(plan.blocked)} conflicts"
        raise Failure(f"Could not propose: {count} with main. {MERGE_FIRST}.", BLOCKED)
    if plan.unsupported and not options.partial:
        tell_first([f"Cannot be proposed: {each}" for each in plan.unsupported])
        raise Failure("Nothing was proposed. To propose the rest, run: octavo propose --partial", BLOCKED)
    if change_request is None and not options.subject.strip() and not plan.is_empty:
        raise Failure("Could not propose: it needs a subject. Write: octavo propose -m SUBJECT", USAGE)


def _print(
    options: argparse.Namespace, plan: ProposalPlan, change_request: ChangeRequest | None, space: str, verb: str = ""
) -> None:
    row = _row(plan, change_request, space)

    def text() -> str:
        if plan.is_empty:
            where = f" that {row['ref']} does not have" if row["ref"] else ""
            return f"No changes to propose{where}.\n"
        if not verb:
            paths = (
                ("M", row["edited"]),
                ("A", row["added"]),
                ("R", row["moved"]),
                ("D", row["deleted"]),
                ("A", row["files"]),
            )
            return "".join(f"{letter} {path}\n" for letter, each in paths for path in each)
        return f"{verb} {row['ref']}: {plan.summary}. {row['url'] or ''}".rstrip() + "\n"

    print_object(options, FIELDS, row, text)
    if not verb:
        tell_first([f"{each}." for each in plan.blocked])
    tell_first([f"Cannot be proposed: {each}" for each in plan.unsupported])
    tell_first(plan.notes)


def _row(plan: ProposalPlan, change_request: ChangeRequest | None, space: str) -> dict[str, Any]:
    paths = plan.targets.layout.paths
    request = change_request
    return {
        "ref": str(Ref(space, request.number)) if request is not None else None,
        "number": request.number if request is not None else None,
        "url": request.urls.app if request is not None else None,
        "status": request.status if request is not None else None,
        "summary": plan.summary,
        "edited": [paths.get(name, name) for name in plan.edits],
        "added": [version.path for version in plan.new_pages.values()],
        "moved": [paths.get(step.id, step.id) for step in plan.steps if not step.is_new],
        "deleted": [paths.get(name, name) for name in plan.deletions],
        "files": list(plan.new_files),
        "unsupported": plan.unsupported,
        "notes": plan.notes,
    }


COMMAND = Command(
    declare=declare,
    run=run,
    details="The change request has only what changed: text, titles, places, new and deleted pages, and new files. Octavo "
    "never merges it. Run again, the command adds your later changes to the same change request.",
    examples=(
        'octavo propose -m "Say endpoint everywhere"',
        "octavo propose --dry-run",
        "octavo propose --into handbook/9 --partial",
    ),
    fields=FIELDS,
    exit_codes={
        5: "your role does not allow it",
        6: "conflicts with main, or changes that the API does not take",
        7: "the outcome of an edit is unknown",
    },
)
