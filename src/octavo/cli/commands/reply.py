"""`octavo reply`: reply to a thread."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.cli.commands import Command
from octavo.cli.commands.comment import FIELDS, write_reply
from octavo.cli.connection import run_connected
from octavo.cli.output import add_output_options
from octavo.cli.refs import References
from octavo.cli.sending import add_sending_options, add_text_options, given_text, prepare, was_done_once
from octavo.cli.standard_streams import tell
from octavo.cli.threads import find_thread

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
        await write_reply(session, options, found, resolves=options.resolve)
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
