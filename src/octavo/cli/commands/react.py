"""`octavo react`: add or remove an emoji reaction on a thread."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api import comments
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import USAGE, Failure
from octavo.cli.output import Field, add_output_options, print_object
from octavo.cli.refs import References
from octavo.cli.sending import add_sending_options, check_allowed, prepare, send
from octavo.cli.threads import find_thread
from octavo.data.access import why_not_in_space
from octavo.data.writes.machine import NewWrite
from octavo.documents.emoji import to_emoji

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

FIELDS = (Field("id", "string"), Field("ref", "string"), Field("emoji", "string"), Field("status", "string"))
_LONGEST = 40


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("thread", metavar="THREAD", help="the thread: SPACE/NUMBER@ID, an id or a URL")
    command.add_argument("emoji", metavar="EMOJI", help="the emoji itself")
    command.add_argument("--remove", action="store_true", help="remove your reaction instead")
    add_sending_options(command)
    add_output_options(command, streams=False)


def run(options: argparse.Namespace) -> int:
    emoji = options.emoji
    if not emoji.strip() or len(emoji) > _LONGEST or emoji.isascii():
        raise Failure(f"Could not react: {emoji[:40]!r} is no emoji. Use the emoji itself, such as 👍.", USAGE)

    async def work(session: Session) -> int:
        await prepare(session)
        found = await find_thread(References(session, options), options.thread)
        check_allowed(why_not_in_space(found.target.space, "comment"), "react")
        me = session.outbox.me
        mine = {
            to_emoji(each.emoji)
            for each in found.comment.reactions
            if any(me and user.user.id == me.id for user in each.users)
        }
        if (to_emoji(emoji) in mine) is options.remove:
            change = {"removed_reactions" if options.remove else "added_reactions": (emoji,)}
            op = comments.Update(at=found.at, comment_id=found.comment.id, **change)
            await send(session, [NewWrite(op, "react", context=found.ref)], options)
        status = "removed" if options.remove else "added"
        row = {"id": found.comment.id, "ref": found.ref, "emoji": emoji, "status": status}
        verb = "Removed" if options.remove else "Reacted with"
        print_object(options, FIELDS, row, lambda: f"{verb} {emoji}: {found.ref}.\n")
        return 0

    return run_connected(options, work, action="react")


COMMAND = Command(
    declare=declare,
    run=run,
    examples=("octavo react t6 👍", "octavo react harbour-api/7@t6 👍 --remove"),
    fields=FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the change may have been made"},
)
