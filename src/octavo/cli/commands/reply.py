"""`octavo reply`: reply to a thread."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.cli.commands import Command
from octavo.cli.commands.comment import FIELDS, print_written
from octavo.cli.connection import run_connected
from octavo.cli.output import add_output_options
from octavo.cli.refs import References
from octavo.cli.sending import (
    add_sending_options,
    add_text_options,
    check_allowed,
    given_text,
    once_key,
    prepare,
    read_text,
    send,
    was_done_once,
)
from octavo.cli.standard_streams import tell
from octavo.cli.threads import find_thread
from octavo.data.access import why_not_in_space, why_not_in_thread
from octavo.data.writes.machine import NewWrite

if TYPE_CHECKING:
    from octavo.tui.core.session import Session


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("thread", metavar="THREAD", help="the thread: SPACE/NUMBER@ID, an id or a URL")
    add_text_options(command)
    command.add_argument("--resolve", action="store_true", help="resolve the thread too")
    add_sending_options(command)
    add_output_options(command, streams=False)


def run(options: argparse.Namespace) -> int:
    # Raises Failure for `-m -` before a session is opened.
    given_text(argparse.Namespace(message=options.message, file=None))

    async def work(session: Session) -> int:
        await prepare(session)
        if was_done_once(session, options.once):
            tell(f"Already written with --once {options.once}. Nothing was written.")
            return 0
        found = await find_thread(References(session, options), options.thread)
        action = "reply_resolve" if options.resolve else "reply"
        why = why_not_in_space(found.target.space, "comment")
        check_allowed(why or why_not_in_thread(found.target.space, found.comment, action), "reply")
        body = Markdown(markdown=read_text(options, "reply"))
        thread = found.comment.id
        reply = comments.CreateReply(at=found.at, comment_id=thread, body=body)
        writes = [NewWrite(reply, "reply", once_key(options.once), context=found.ref)]
        if options.resolve and found.comment.is_open:
            resolve = comments.Update(at=found.at, comment_id=thread, resolved=True)
            writes.append(NewWrite(resolve, "resolve the thread", context=found.ref))
        entries = await send(session, writes, options)
        print_written(session, options, found.target, entries[0], thread=thread)
        return 0

    return run_connected(options, work, action="reply")


COMMAND = Command(
    declare=declare,
    run=run,
    details="Without -m and -F, your editor opens. The reply is stored on this computer before it is sent.",
    examples=('octavo reply t6 -m "Fixed, thank you." --resolve', "octavo reply harbour-api/7@t6 -F answer.md"),
    fields=FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the reply may have been sent"},
)
