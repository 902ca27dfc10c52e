"""The verdicts of `octavo review`: approve, request changes, or submit your pending comments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import RevisionRef
from octavo.cli.comparisons import Sides, changed_items
from octavo.cli.connection import run_connected
from octavo.cli.failures import BLOCKED, FAILED, NOT_ALLOWED, USAGE, Failure
from octavo.cli.output import Field, print_object
from octavo.cli.refs import References, Target
from octavo.cli.sending import (
    add_and_send,
    add_sending_options,
    add_text_options,
    check_allowed,
    given_text,
    once_key,
    prepare,
    was_done_once,
)
from octavo.cli.standard_streams import tell
from octavo.cli.viewed import viewed_revision
from octavo.data.access import why_not_in_space
from octavo.data.queries import UNDECIDED
from octavo.data.writes.change_request_writes import Verdict, submit_review
from octavo.data.writes.machine import NewWrite, OutboxEntry

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

VERDICT_FIELDS = (
    Field("ref", "string"),
    Field("status", "string"),
    Field("revision", "string?"),
    Field("comments", "integer"),
    Field("url", "string?"),
)


def add_verdict_options(actions: argparse._MutuallyExclusiveGroup) -> None:
    """Add `--approve`, `--request-changes` and `--comment`."""
    actions.add_argument("--approve", dest="verdict", action="store_const", const="approved", help="approve")
    actions.add_argument(
        "--request-changes", dest="verdict", action="store_const", const="changes-requested", help="request changes"
    )
    actions.add_argument(
        "--comment",
        dest="verdict",
        action="store_const",
        const="commented",
        help="submit your comments without a verdict",
    )


def add_review_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a verdict."""
    add_text_options(command)
    command.add_argument(
        "--revision", metavar="ID", help="with a verdict: the revision that you reviewed (default: the one shown last)"
    )
    add_sending_options(command)


def submit(options: argparse.Namespace) -> int:
    """Submit the review that the options name, and return the exit code. Raises Failure."""
    verb = {"approved": "approve", "changes-requested": "request changes on", "commented": "comment on"}[
        options.verdict
    ]

    async def work(session: Session) -> int:
        await _review(session, options, verb)
        return 0

    return run_connected(options, work, action=f"{verb} {options.ref[:60]}")


async def _review(session: Session, options: argparse.Namespace, verb: str) -> None:
    text = (given_text(options) or "").strip()
    await prepare(session)
    if was_done_once(session, options.once):
        tell(f"Already written with --once {options.once}. Nothing was written.")
        return
    target = await References(session, options).target(options.ref)
    change_request = target.change_request
    if change_request is None:
        raise Failure(f"Could not {verb} {target.ref}: it is not a change request.", USAGE)
    action = f"{verb} {target.ref.place}"
    check_allowed(why_not_in_space(target.space, "comment" if options.verdict == "commented" else "review"), action)
    if change_request.status not in UNDECIDED:
        raise Failure(f"Could not {action}: it is {change_request.status}.", BLOCKED)
    await _check_revision(session, target, change_request, options, action)
    entries = await add_and_send(session, lambda: _add(session, target, options, text, action), action, options)
    number = sum(not each.facts.is_review for each in entries)
    row = {
        "ref": target.ref.place,
        "status": options.verdict,
        "revision": change_request.revision,
        "comments": number,
        "url": change_request.urls.app,
    }
    print_object(options, VERDICT_FIELDS, row, lambda: _sentence(target, options.verdict, number))


async def _check_revision(
    session: Session, target: Target, change_request: ChangeRequest, options: argparse.Namespace, action: str
) -> None:
    """Raise Failure if the change request was edited since you viewed it."""
    viewed = options.revision or viewed_revision(session, change_request)
    if not viewed or viewed == change_request.revision or not change_request.revision:
        return
    space = target.space.id
    sides = Sides(
        RevisionRef(space_id=space, revision_id=viewed),
        RevisionRef(space_id=space, revision_id=change_request.revision),
    )
    try:
        number = len(await changed_items(session.live, target, sides))
    except ApiError:
        number = 0  # the comparison only completes the sentence
    pages = "1 page changed" if number == 1 else f"{number} pages changed" if number else "it was edited"
    look = f"octavo diff {target.ref.place} --against {viewed}"
    raise Failure(f"Could not {action}: {pages} since you viewed it. Look: {look}", BLOCKED)


async def _add(
    session: Session, target: Target, options: argparse.Namespace, text: str, action: str
) -> Sequence[OutboxEntry]:
    """Add the review and the pending comments to the outbox. Raises Failure or NotSaved."""
    change_request = target.change_request
    assert change_request is not None, "only change requests have reviews"
    at, pending = change_request.ref(target.space.ref), session.outbox.pending_comments(target.at)
    if options.verdict == "commented":
        if text:
            op = comments.Create(at=at, body=Markdown(markdown=text))
            await session.outbox.add_pending_comment(NewWrite(op, "comment", once_key(options.once)))
        elif not pending:
            raise Failure(f"Could not {action}: there are no pending comments. Use -m TEXT or -F FILE.", USAGE)
        return await session.outbox.submit_review(at)
    if options.verdict == "changes-requested" and not (text or pending):
        raise Failure(f"Could not {action}: say what needs to change. Use -m TEXT or -F FILE.", USAGE)
    verdict: Verdict = options.verdict
    sent = await submit_review(
        session.live, at, verdict, change_request.revision, text, action=action, draft_key=once_key(options.once)
    )
    if sent.kind == "changed":
        raise Failure(f"Could not {action}: {sent.message}", BLOCKED)
    if sent.kind != "done" or sent.result is None:
        code = NOT_ALLOWED if sent.error is not None and sent.error.status == 403 else FAILED
        raise Failure(f"Could not {action}: {sent.message}", code)
    return sent.result


def _sentence(target: Target, verdict: str, number: int) -> str:
    done = {"approved": "Approved", "changes-requested": "Requested changes on", "commented": "Commented on"}[verdict]
    with_comments = "" if not number else " with 1 comment" if number == 1 else f" with {number} comments"
    return f"{done} {target.ref.place}{with_comments}.\n"
