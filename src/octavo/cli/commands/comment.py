"""`octavo threads` lists comment threads, and `octavo comment` starts them. `octavo reply`, `octavo react` and
`octavo resolve` are for one or more threads."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import NotFound
from octavo.api.folding import fold
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.api.safety import safe_line
from octavo.cli import connection
from octavo.cli.arguments import not_empty
from octavo.cli.commands import CliCommand
from octavo.cli.item_rows import (
    THREAD_FIELDS,
    FoundThread,
    find_discussions,
    find_named,
    find_thread,
    load_replies,
    load_threads,
    target_of,
    thread_row,
)
from octavo.cli.output import (
    Output,
    OutputColumn,
    Row,
    add_limit_options,
    add_output_options,
    declare_fields,
    print_object,
)
from octavo.cli.refs import Ref, RefResolver, RefTarget
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure, ignore_closed_pipe
from octavo.concurrency import gather_bounded
from octavo.data.access import why_not_in_space, why_not_in_thread
from octavo.data.loaders import page_markdown, page_source_op
from octavo.data.writes.machine import NewWrite
from octavo.documents.blocks import Block, Document, plain_text
from octavo.documents.emoji import api_code, to_emoji
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import suggestion_fence

if TYPE_CHECKING:
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.session import Session

_MAX_LISTED_BLOCKS = 6


def block_with_key(document: Document, key: str, page_name: str) -> Block:
    """Return the block with this key. Raises Failure if there is none."""
    block = document.find(key)
    if block is None:
        raise Failure(
            f"Could not find block {safe_line(key[:40])} in {page_name}. Use --quote WORDS or --line N.", NOT_FOUND
        )
    return block


def block_with_words(document: Document, words: str, page_name: str) -> Block:
    """Return the only block with `words` in its text outside its children, ignoring case. Raises Failure otherwise."""
    folded_words = " ".join(fold(words).split())
    blocks = [each for each in _blocks_with_text(document) if folded_words and folded_words in _normalized_text(each)]
    if not blocks:
        raise Failure(
            f"Could not find “{safe_line(words[:60])}” in {page_name}. Quote words as readers see them.", NOT_FOUND
        )
    if len(blocks) > 1:
        keys = ", ".join(each.key for each in blocks[:_MAX_LISTED_BLOCKS]) + (
            ", …" if len(blocks) > _MAX_LISTED_BLOCKS else ""
        )
        message = (
            f"“{safe_line(words[:60])}” is in {len(blocks)} blocks of {page_name}. Give more words, or --block: {keys}"
        )
        raise Failure(message, USAGE, error="ambiguous")
    return blocks[0]


def block_at_line(document: Document, number: int, page_name: str) -> Block:
    """Return the smallest block at a line of the Markdown, counted from 1. Raises Failure if the line has none."""
    blocks = [each for each in _blocks_with_text(document) if each.lines[0] < number <= each.lines[1]]
    if not blocks:
        raise Failure(f"Could not find a block at line {number} of {page_name}.", NOT_FOUND)
    return min(blocks, key=lambda each: each.lines[1] - each.lines[0])


def _blocks_with_text(document: Document) -> Iterator[Block]:
    return (each for each in document.walk() if each.key and (each.runs or each.text))


def _normalized_text(block: Block) -> str:
    return " ".join(fold(plain_text(block.runs) or block.text).split())


COMMENT_FIELDS = declare_fields("id string, ref string, url string?, status string")
"""Fields of the JSON object for a new comment or reply. The field `status` is `sent` or `pending`."""


def _declare_comment(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "ref", metavar="REF", help="a change request, a space, a page or a block; a thread gets a reply"
    )
    connection.add_text_options(command)
    command.add_argument("--page", metavar="PAGE", type=not_empty, help="the page, by its path, id or title")
    place_group = command.add_mutually_exclusive_group()
    place_group.add_argument("--block", metavar="KEY", type=not_empty, help="the block, by its key")
    place_group.add_argument("--quote", metavar="WORDS", type=not_empty, help="the block that contains these words")
    place_group.add_argument("--line", type=int, metavar="N", help="the block at this line of the Markdown")
    command.add_argument(
        "--suggest", metavar="FILE", help="suggest this text instead of the block; - reads standard input"
    )
    command.add_argument("--pending", action="store_true", help="keep the comment pending until you submit a review")
    connection.add_sending_options(command)
    add_output_options(command, prints_rows=False)


def _run_comment(options: argparse.Namespace) -> int:
    if options.suggest == "-" and options.file == "-":
        raise Failure("Could not comment: -F and --suggest cannot both read standard input.", USAGE)
    connection.check_message(options)
    return connection.run_connected(options, lambda session: write_comment(session, options), action="comment")


@dataclass(frozen=True)
class _Place:
    target: RefTarget
    page: str | None = None
    node: str | None = None


async def write_comment(session: Session, options: argparse.Namespace) -> None:
    """Write the comment of the command line and print it. If its REF names a thread, write a reply. If `--pending`, do
    not send the comment yet. Raises ApiError, Failure or NotSaved."""
    await connection.prepare_writes(session)
    if await connection.tell_if_run_before(session, options):
        return
    resolver = RefResolver(session, options)
    target = await (resolver.resolve if options.page else partial(find_named, resolver))(options.ref)
    if isinstance(target, FoundThread):
        _check_reply_options(options, target)
        await _write_reply(session, options, target)
        return
    connection.check_allowed(why_not_in_space(target.space, "comment"), "comment")
    place = await _find_place(resolver, target, options)
    if options.pending and not isinstance(target.at, ChangeRequestRef):
        raise Failure(f"Could not keep the comment pending: {target.ref.without_page} is not a change request.", USAGE)
    place_fields = {name: value for name, value in (("page", place.page), ("node", place.node)) if value is not None}
    op = comments.Create(at=target.at, body=Markdown(markdown=_comment_text(options, place)), **place_fields)
    write = NewWrite(op, "comment", connection.once_key(options.once), context=str(place.target.ref))
    if options.pending:
        (entry,) = await session.outbox.add_pending_comments([write])
        connection.delete_editor_file(options)
    else:
        (entry,) = await connection.send(session, [write], options)
    print_comment_result(session, options, place.target, entry, thread_id=entry.created_id)


def _check_reply_options(options: argparse.Namespace, thread: FoundThread) -> None:
    for name in ("block", "quote", "line", "suggest", "pending"):
        if (value := getattr(options, name)) is not None and value is not False:
            raise Failure(
                f"Could not comment: {thread.ref} is a thread, and --{name} does not apply to a reply.", USAGE
            )


async def _write_reply(
    session: Session, options: argparse.Namespace, thread: FoundThread, *, resolves: bool = False
) -> None:
    """Send a reply to a thread, and print it. If `resolves`, also resolve the thread."""
    thread_id = thread.comment.id
    why = why_not_in_space(thread.target.space, "comment")
    connection.check_allowed(
        why or why_not_in_thread(thread.target.space, thread.comment, "reply_resolve" if resolves else "reply"), "reply"
    )
    create_reply = comments.CreateReply(
        at=thread.at, comment_id=thread_id, body=Markdown(markdown=connection.read_text(options, "reply"))
    )
    writes = [NewWrite(create_reply, "reply", connection.once_key(options.once), context=thread.ref)]
    if resolves and thread.comment.is_open:
        resolve_thread = comments.Update(at=thread.at, comment_id=thread_id, resolved=True)
        writes.append(NewWrite(resolve_thread, "resolve the thread", context=thread.ref))
    entries = await connection.send(session, writes, options)
    print_comment_result(session, options, thread.target, entries[0], thread_id=thread_id)


def _comment_text(options: argparse.Namespace, place: _Place) -> str:
    if options.suggest is None:
        return connection.read_text(options, "comment")
    if place.node is None:
        raise Failure("Could not suggest a change: name the block with --quote, --block or --line.", USAGE)
    suggestion = suggestion_fence(connection.read_file(options.suggest).rstrip("\n"))
    text = connection.text_option(options)
    return f"{text.rstrip()}\n\n{suggestion}" if text else suggestion


async def _find_place(resolver: RefResolver, target: RefTarget, options: argparse.Namespace) -> _Place:
    page = target.page
    if options.page:
        page = await resolver.page(target, options.page)
        if target.page is not None and page.id != target.page.id:
            raise Failure(f"Could not comment: {options.ref} and --page name two pages.", USAGE)
    has_block_option = options.block or options.quote is not None or options.line is not None
    if target.block and has_block_option:
        raise Failure(f"Could not comment: {options.ref} and an option name two blocks.", USAGE)
    key = options.block or target.block
    if page is None:
        if has_block_option or key:
            raise Failure("Could not find the block: name its page with --page.", USAGE)
        return _Place(target)
    path = page.path or page.id
    page_target = RefTarget(target.space, Ref(target.ref.space, target.ref.number, path), target.change_request, page)
    if not (has_block_option or key):
        return _Place(page_target, page.id)
    loaded_page = await resolver.live.fetch(page_source_op(target.at, page.id))
    document = parse(page_markdown(loaded_page))
    if key:
        block = block_with_key(document, key, path)
    elif options.quote is not None:
        block = block_with_words(document, options.quote, path)
    else:
        block = block_at_line(document, options.line, path)
    return _Place(page_target, page.id, block.key)


def print_comment_result(
    session: Session, options: argparse.Namespace, target: RefTarget, entry: OutboxEntry, *, thread_id: str
) -> None:
    """Print the URL of `target`, which has the comment. Without a URL on the web, print the REF of the thread."""
    ref = target.ref
    row: dict[str, Any] = {
        "id": entry.created_id,
        "ref": str(Ref(ref.space, ref.number, block=thread_id)),
        "url": target.url or None,
        "status": "pending" if entry.state == "pending" else "sent",
    }
    link = row["ref"] if session.is_embedded or not row["url"] else row["url"]
    print_object(options, COMMENT_FIELDS, row, lambda: f"{link}\n")


COMMENT = CliCommand(
    declare=_declare_comment,
    run=_run_comment,
    details="Without -m and -F, your editor opens. The comment is stored on this computer before it is sent.",
    examples=(
        'octavo comment 7 --page help/troubleshooting --quote "drops the zone" -m "Which zone?"',
        "octavo comment handbook:people/first-week@5caff9d6f90d --suggest new-wording.md",
        "octavo comment handbook/2 -F notes.md",
    ),
    fields=COMMENT_FIELDS,
    exit_codes={3: "there is no such place", 5: "your role does not allow it", 7: "the comment may have been sent"},
)


def _declare_reply(command: argparse.ArgumentParser) -> None:
    command.add_argument("thread", metavar="THREAD", help="the thread: SPACE/NUMBER@ID, an id or a URL")
    connection.add_text_options(command)
    command.add_argument("--resolve", action="store_true", help="resolve the thread too")
    connection.add_sending_options(command)
    add_output_options(command, prints_rows=False)


def _run_reply(options: argparse.Namespace) -> int:
    connection.check_message(options)
    return connection.run_connected(options, lambda session: reply_to_thread(session, options), action="reply")


async def reply_to_thread(session: Session, options: argparse.Namespace) -> None:
    """Send a reply to the thread `options.thread`, and print the reply. Raises ApiError, Failure or NotSaved."""
    await connection.prepare_writes(session)
    if await connection.tell_if_run_before(session, options):
        return
    thread = await find_thread(RefResolver(session, options), options.thread)
    await _write_reply(session, options, thread, resolves=options.resolve)


REPLY = CliCommand(
    declare=_declare_reply,
    run=_run_reply,
    details="Without -m and -F, your editor opens. The reply is stored on this computer before it is sent.",
    examples=('octavo reply t6 -m "Fixed, thank you." --resolve', "octavo reply harbour-api/7@t6 -F answer.md"),
    fields=COMMENT_FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the reply may have been sent"},
)


REACT_FIELDS = declare_fields("id string, ref string, emoji string, status string")
_CHARACTER = r"(?:[^\w\s]|\u2139)[\uFE0E\uFE0F\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F]*"
_ONE_EMOJI = re.compile(rf"[\U0001F1E6-\U0001F1FF]{{2}}|[0-9#*]\uFE0F?\u20E3|{_CHARACTER}(?:\u200D{_CHARACTER})*")
"""Matches exactly one emoji, such as a flag, a keycap or several joined symbols, or another single sign."""


def _declare_react(command: argparse.ArgumentParser) -> None:
    command.add_argument("thread", metavar="THREAD", help="the thread: SPACE/NUMBER@ID, an id or a URL")
    command.add_argument("emoji", metavar="EMOJI", help="the emoji itself")
    command.add_argument("--remove", action="store_true", help="remove your reaction instead")
    connection.add_sending_options(command, can_repeat=True)
    add_output_options(command, prints_rows=False)


def _run_react(options: argparse.Namespace) -> int:
    emoji = options.emoji
    if emoji.isascii() or not _ONE_EMOJI.fullmatch(emoji):
        raise Failure(f"Could not react: {emoji[:40]!r} is not one emoji. Use the emoji itself, such as 👍.", USAGE)

    async def use_session(session: Session) -> None:
        await connection.prepare_writes(session)
        thread = await find_thread(RefResolver(session, options), options.thread)
        connection.check_allowed(why_not_in_space(thread.target.space, "comment"), "react")
        me = session.outbox.me
        # The server removes a reaction only by its own spelling, such as 👍 or 1f44d.
        code = api_code(emoji)
        equal_reactions = [each for each in thread.comment.reactions if api_code(to_emoji(each.emoji)) == code]
        own_spellings = [
            each.emoji for each in equal_reactions if any(me and user.user.id == me.id for user in each.users)
        ]
        if bool(own_spellings) is options.remove:
            spellings = own_spellings or [each.emoji for each in equal_reactions[:1]] or [code]
            reaction_field = {"removed_reactions" if options.remove else "added_reactions": tuple(spellings)}
            op = comments.Update(at=thread.at, comment_id=thread.comment.id, **reaction_field)
            await connection.send(session, [NewWrite(op, "react", context=thread.ref)], options)
        status = "removed" if options.remove else "added"
        row = {"id": thread.comment.id, "ref": thread.ref, "emoji": emoji, "status": status}
        verb = "Removed" if options.remove else "Reacted with"
        print_object(options, REACT_FIELDS, row, lambda: f"{verb} {emoji}: {thread.ref}.\n")

    return connection.run_connected(options, use_session, action="react")


REACT = CliCommand(
    declare=_declare_react,
    run=_run_react,
    examples=("octavo react t6 👍", "octavo react harbour-api/7@t6 👍 --remove"),
    fields=REACT_FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the change may have been made"},
)


RESOLVE_FIELDS = declare_fields("id string, ref string, status string, changed boolean")
RESOLVE_COLUMNS = (OutputColumn("result", text=lambda row: row["result"]),)


def _declare_resolve(command: argparse.ArgumentParser) -> None:
    command.add_argument("threads", nargs="+", metavar="THREAD", help="a thread: SPACE/NUMBER@ID, an id or a URL")
    command.add_argument("--reopen", action="store_true", help="reopen the threads instead")
    connection.add_sending_options(command, can_repeat=True)
    add_output_options(command)


def _run_resolve(options: argparse.Namespace) -> int:
    action = "reopen the thread" if options.reopen else "resolve the thread"

    async def use_session(session: Session) -> None:
        await connection.prepare_writes(session)
        resolver = RefResolver(session, options)
        named_threads = [await find_thread(resolver, each) for each in options.threads]
        found_threads = {each.ref: each for each in named_threads}.values()
        for each in found_threads:
            why = why_not_in_space(each.target.space, "comment")
            connection.check_allowed(why or why_not_in_thread(each.target.space, each.comment, "resolve"), action)
        done, already = ("Reopened", "Already open") if options.reopen else ("Resolved", "Already resolved")
        with Output(options, RESOLVE_FIELDS, RESOLVE_COLUMNS) as output:
            for each in found_threads:
                is_changed = each.comment.is_open != options.reopen
                if is_changed:
                    op = comments.Update(at=each.at, comment_id=each.comment.id, resolved=not options.reopen)
                    await connection.send(session, [NewWrite(op, action, context=each.ref)], options)
                row = {
                    "id": each.comment.id,
                    "ref": each.ref,
                    "status": "open" if options.reopen else "resolved",
                    "changed": is_changed,
                    "result": f"{done if is_changed else already}: {each.ref}.",
                }
                with ignore_closed_pipe():
                    output.add(row)

    return connection.run_connected(options, use_session, action=action)


RESOLVE = CliCommand(
    declare=_declare_resolve,
    run=_run_resolve,
    details="A thread that is already resolved is left as it is.",
    examples=("octavo resolve t6", "octavo resolve harbour-api/7@t6 handbook@t19 --reopen"),
    fields=RESOLVE_FIELDS,
    exit_codes={3: "there is no such thread", 5: "your role does not allow it", 7: "the change may have been made"},
)


def _page_of(row: Row) -> str:
    page = row["page"]
    return (page["path"] or page["title"]) if page is not None else ""


def _ref_suffixes(comment: comments.Comment) -> set[str]:
    """Return the texts that name a thread after the `@` of a REF: its ID, and the key of its block."""
    return {comment.id, comment.target.node.id} if comment.target.node is not None else {comment.id}


_THREAD_COLUMNS = (
    OutputColumn("ref", link="url"),
    OutputColumn("status", colors={"resolved": "dim"}),
    OutputColumn("page", text=_page_of, can_be_cut=True),
    OutputColumn("author", "from"),
    OutputColumn("at", "posted"),
    OutputColumn("text", can_be_cut=True),
)


def _declare_threads(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", nargs="?", metavar="REF", help="only of this space, change request, page or block")
    command.add_argument(
        "--status", choices=("open", "resolved", "all"), default="open", help="only with this status (default: open)"
    )
    command.add_argument("--author", metavar="USER", help="only by this user: a name, an email address, an id or @me")
    add_limit_options(command)
    add_output_options(command)


def _run_threads(options: argparse.Namespace) -> int:
    return connection.run_connected(
        options, lambda session: _print_threads(session, options), action="load the threads"
    )


async def _print_threads(session: Session, options: argparse.Namespace) -> None:
    resolver = RefResolver(session, options)
    columns = [each for each in _THREAD_COLUMNS if each.name != "status" or options.status == "all"]
    with Output(options, THREAD_FIELDS, columns, empty="No threads.") as output:
        threads = await _load_selected_threads(resolver, options)
        output.total = len(threads)
        for each in threads:
            replies = await load_replies(resolver, each) if "replies" in output.printed_fields else ()
            if not output.add(thread_row(each, replies)):
                break


async def _load_selected_threads(resolver: RefResolver, options: argparse.Namespace) -> list[FoundThread]:
    """Return the threads that the options select, newest first. Raises ApiError or Failure."""
    filters = {"status": options.status}
    if options.author is not None:
        filters["authors"] = ((await resolver.user(options.author)).id,)
    if options.ref is not None:
        target = await resolver.resolve(options.ref)
        found = await load_threads(resolver, target, **filters)
        lists = [[each for each in found if not target.block or target.block in _ref_suffixes(each.comment)]]
    else:
        discussions = await find_discussions(resolver)

        async def load(at: Discussion) -> list[FoundThread]:
            try:
                return await load_threads(resolver, await target_of(resolver, at, discussions[at]), **filters)
            except NotFound:
                return []  # The space or change request was deleted meanwhile.

        lists = await gather_bounded(load, discussions)
    threads = [thread for each in lists for thread in each]
    return sorted(threads, key=lambda each: (each.comment.posted_at is not None, each.comment.posted_at), reverse=True)


THREADS = CliCommand(
    declare=_declare_threads,
    run=_run_threads,
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
