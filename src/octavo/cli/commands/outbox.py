"""`octavo outbox`: list the writes that the server has not confirmed, send them again, or discard them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api.safety import safe_line
from octavo.cli.commands import CliCommand
from octavo.cli.connection import WAIT_SECONDS, add_and_send, add_sending_options, prepare_writes, run_connected
from octavo.cli.output import Output, OutputColumn, add_output_options, declare_fields
from octavo.cli.refs import RefResolver
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure, tell
from octavo.documents.suggestions import one_line_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.session import Session

FIELDS = declare_fields(
    "id string, action string, place string, state string, reason string, text string, createdAt time"
)
_COLORS = {"failed": "red", "unknown": "yellow", "pending": "dim"}
COLUMNS = (
    OutputColumn("id"),
    OutputColumn("state", colors=_COLORS),
    OutputColumn("action"),
    OutputColumn("place"),
    OutputColumn("text", can_be_cut=True),
    OutputColumn("createdAt", "written"),
)


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "action", nargs="?", choices=("list", "retry", "discard"), default="list", help="what to do (default: list)"
    )
    command.add_argument("entry", nargs="?", metavar="ID", help="the write to send again or to discard")
    add_sending_options(command, can_repeat=True)
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    if (options.action == "list") is (options.entry is not None):
        raise Failure("Could not read the command: write octavo outbox list, or octavo outbox retry ID.", USAGE)
    if options.action != "list" and (options.json, options.ndjson, options.jq) != (None, None, None):
        raise Failure("Could not use --json, --ndjson or --jq: they belong to octavo outbox list.", USAGE)
    if options.action != "retry" and options.wait != WAIT_SECONDS:
        raise Failure("Could not use --wait: it belongs to octavo outbox retry.", USAGE)

    async def use_session(session: Session) -> None:
        if options.action == "list":
            await _list(session, options)
            return
        entry = next((each for each in session.outbox.entries if each.id == options.entry), None)
        if entry is None:
            message = f"Could not find the write {safe_line(options.entry[:40])}. For a list, run: octavo outbox"
            raise Failure(message, NOT_FOUND)
        if options.action == "discard":
            await discard_write(session, entry)
        else:
            await prepare_writes(session)
            await _retry(session, entry, options)

    return run_connected(options, use_session, action=f"{options.action} the write")


async def _list(session: Session, options: argparse.Namespace) -> None:
    resolver = RefResolver(session, options, is_offline=True)
    with Output(options, FIELDS, COLUMNS, empty="No writes wait.") as output:
        for each in session.outbox.entries:
            output.add(
                {
                    "id": each.id,
                    "action": each.action,
                    "place": await resolver.name_of(each.at.space_id),
                    "state": "queued" if each.state == "held" else each.state,
                    "reason": each.reason,
                    "text": one_line_text(each.traits.text),
                    "createdAt": each.created_at,
                }
            )


async def _retry(session: Session, entry: OutboxEntry, options: argparse.Namespace) -> None:
    async def retry_entry() -> Sequence[OutboxEntry]:
        if entry.state == "pending":
            raise Failure("Could not send it: a pending comment is sent with your review. Run octavo review", USAGE)
        if entry.needs_user or entry.state == "failed":
            await session.outbox.retry(entry.id)
        else:
            session.outbox.start()
        return [entry]

    await add_and_send(session, retry_entry, entry.action, options)
    tell(f"Sent: {entry.action}.")


async def discard_write(session: Session, entry: OutboxEntry) -> None:
    """Delete a write from the outbox. Raises Failure while the write is being sent, and NotSaved."""
    discarded = await session.outbox.discard(entry.id)
    if discarded is None:
        raise Failure("Could not discard it: it is being sent. Run it again in a moment.")
    kept_sentence = " Its text is kept as a draft in the app." if entry.traits.text and entry.draft_key else ""
    tell(f"Discarded: {entry.action}.{kept_sentence}")


OUTBOX = CliCommand(
    declare=declare,
    run=run,
    details="A write is here until the server has confirmed it. The state is pending, queued, sending, unknown or failed.",
    examples=("octavo outbox", "octavo outbox list --json id,state,text", "octavo outbox retry 3f0c9a1be2d84c57"),
    fields=FIELDS,
    exit_codes={3: "there is no such write", 7: "the write may have been made"},
)
