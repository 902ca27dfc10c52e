"""`octavo threads`: list the comment threads of spaces, change requests and pages."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.api.errors import NotFound
from octavo.api.operation import Discussion
from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.item_rows import (
    THREAD_FIELDS,
    FoundThread,
    find_discussions,
    load_replies,
    load_threads,
    target_of,
    thread_row,
)
from octavo.cli.output import Output, OutputColumn, Row, add_limit_options, add_output_options
from octavo.cli.refs import RefResolver
from octavo.concurrency import gather_bounded

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.core.session import Session


def _page_of(row: Row) -> str:
    page = row["page"]
    return (page["path"] or page["title"]) if page is not None else ""


def _names_of(comment: Comment) -> set[str]:
    """Return what a REF can have after `@` for a thread: its ID, and the key of its block."""
    return {comment.id, comment.target.node.id} if comment.target.node is not None else {comment.id}


_COLUMNS = (
    OutputColumn("ref", link="url"),
    OutputColumn("status", colors={"resolved": "dim"}),
    OutputColumn("page", text=_page_of, can_be_cut=True),
    OutputColumn("author", "from"),
    OutputColumn("at", "posted"),
    OutputColumn("text", can_be_cut=True),
)


def _declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", nargs="?", metavar="REF", help="only of this space, change request, page or block")
    command.add_argument(
        "--status", choices=("open", "resolved", "all"), default="open", help="only with this status (default: open)"
    )
    command.add_argument("--author", metavar="USER", help="only by this user: a name, an email address, an id or @me")
    add_limit_options(command)
    add_output_options(command)


def _run(options: argparse.Namespace) -> int:
    return run_connected(options, lambda session: _print_threads(session, options), action="load the threads")


async def _print_threads(session: Session, options: argparse.Namespace) -> None:
    resolver = RefResolver(session, options)
    columns = [each for each in _COLUMNS if each.name != "status" or options.status == "all"]
    with Output(options, THREAD_FIELDS, columns, empty="No threads.") as output:
        threads = await _load_all(resolver, options)
        output.total = len(threads)
        for each in threads:
            replies = await load_replies(resolver, each) if "replies" in output.printed_fields else ()
            if not output.add(thread_row(each, replies)):
                break


async def _load_all(resolver: RefResolver, options: argparse.Namespace) -> list[FoundThread]:
    """Return the threads that the options select, newest first. Raises ApiError or Failure."""
    filters = {"status": options.status}
    if options.author is not None:
        filters["authors"] = ((await resolver.user(options.author)).id,)
    if options.ref is not None:
        target = await resolver.resolve(options.ref)
        found = await load_threads(resolver, target, **filters)
        lists = [[each for each in found if not target.block or target.block in _names_of(each.comment)]]
    else:
        discussions = await find_discussions(resolver)

        async def load(at: Discussion) -> list[FoundThread]:
            try:
                return await load_threads(resolver, await target_of(resolver, at, discussions[at]), **filters)
            except NotFound:
                return []  # the space or change request was deleted meanwhile

        lists = await gather_bounded(load, discussions)
    threads = [thread for each in lists for thread in each]
    return sorted(threads, key=lambda each: (each.comment.posted_at is not None, each.comment.posted_at), reverse=True)


THREADS = CliCommand(
    declare=_declare,
    run=_run,
    details="Without REF, the list has the threads of all spaces and open change requests. With --space, it has those of "
    "the space and its open change requests. The newest thread is first.",
    examples=(
        "octavo threads",
        "octavo threads harbour-api/7 --status all",
        "octavo threads -s handbook --author @me --json ref,text",
    ),
    fields=THREAD_FIELDS,
    exit_codes={3: "there is no such thing"},
)
