"""`octavo resolve`: resolve or reopen threads."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.output import Column, Field, Output, add_output_options
from octavo.cli.refs import References
from octavo.cli.sending import add_sending_options, check_allowed, prepare, send
from octavo.cli.threads import find_thread
from octavo.data.access import why_not_in_space, why_not_in_thread
from octavo.data.writes.machine import NewWrite

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

FIELDS = (Field("id", "string"), Field("ref", "string"), Field("status", "string"), Field("changed", "boolean"))
COLUMNS = (Column("result", text=lambda row: row["result"]),)


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("threads", nargs="+", metavar="THREAD", help="a thread: SPACE/NUMBER@ID, an id or a URL")
    command.add_argument("--reopen", action="store_true", help="reopen the threads instead")
    add_sending_options(command)
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    action = "reopen the thread" if options.reopen else "resolve the thread"

    async def work(session: Session) -> int:
        await prepare(session)
        references = References(session, options)
        found = [await find_thread(references, each) for each in options.threads]
        for each in found:
            why = why_not_in_space(each.target.space, "comment")
            check_allowed(why or why_not_in_thread(each.target.space, each.comment, "resolve"), action)
        done, already = ("Reopened", "Already open") if options.reopen else ("Resolved", "Already resolved")
        with Output(options, FIELDS, COLUMNS) as output:
            for each in found:
                is_changed = each.comment.is_open != options.reopen
                if is_changed:
                    op = comments.Update(at=each.at, comment_id=each.comment.id, resolved=not options.reopen)
                    await send(session, [NewWrite(op, action, context=each.ref)], options)
                output.add(
                    {
                        "id": each.comment.id,
                        "ref": each.ref,
                        "status": "open" if options.reopen else "resolved",
                        "changed": is_changed,
                        "result": f"{done if is_changed else already}: {each.ref}.",
                    }
                )
        return 0

    return run_connected(options, work, action=action)


COMMAND = Command(
    declare=declare,
    run=run,
    details="A thread that is already resolved is left as it is.",
    examples=("octavo resolve t6", "octavo resolve harbour-api/7@t6 handbook@t19 --reopen"),
    fields=FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the change may have been made"},
)
