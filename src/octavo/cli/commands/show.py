"""`octavo show`: print a page, a change request, a space, a thread or a user."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from octavo.api.content import ListChanges, Page
from octavo.api.errors import NotFound
from octavo.api.operation import ContentRef, RevisionRef
from octavo.api.safety import safe_line
from octavo.cli import item_rows
from octavo.cli.commands import CliCommand
from octavo.cli.comparisons import remember_viewed
from octavo.cli.connection import run_connected
from octavo.cli.item_rows import FoundThread
from octavo.cli.output import (
    Output,
    Style,
    add_output_options,
    add_web_option,
    age,
    check_web_option,
    declare_fields,
    fields_to_print,
    open_in_browser,
    print_object,
    print_text,
)
from octavo.cli.refs import RefResolver, RefTarget, revision_id
from octavo.cli.standard_streams import NOT_FOUND, USAGE, Failure, tell, write_out
from octavo.data.loaders import page_to_read_op
from octavo.documents.page_trees import changed_pages
from octavo.documents.source_reader import parse
from octavo.lazy_import import lazy
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.comments import Message
    from octavo.api.users import User
    from octavo.tui.core.session import Session

# lazy: loads the renderer, needed only for text
_document_as_text: Callable[..., str] = lazy("octavo.tui.render.printing:document_as_text")


KINDS = {
    "page": item_rows.PAGE_FIELDS,
    "change request": item_rows.CHANGE_FIELDS,
    "space": (*item_rows.SPACE_FIELDS, *declare_fields("", extra="pages object[]")),
    "thread": item_rows.THREAD_FIELDS,
    "user": item_rows.USER_FIELDS,
}
_PIPE_COLUMNS = 100


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("ref", metavar="REF", help="what to print; @NAME for a user, SPACE@ID or an id for a thread")
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--raw", action="store_true", help="print the Markdown")
    forms.add_argument("--threads", action="store_true", help="print the threads")
    forms.add_argument("--outline", action="store_true", help="print the headings of a page, or the pages of a space")
    command.add_argument("--revision", type=revision_id, metavar="ID", help="print the page as it is in a revision")
    command.add_argument("--width", type=int, metavar="N", help="wrap text after N columns")
    add_web_option(command)
    add_output_options(command, prints_rows=False)


def run(options: argparse.Namespace) -> int:
    check_web_option(options)
    if options.width is not None and not 20 <= options.width <= 1000:
        raise Failure("Could not print it: --width must be from 20 to 1000.", USAGE)
    if options.raw and (options.json is not None or options.jq is not None):
        raise Failure("Could not print it: use --raw without --json and --jq.", USAGE)
    action = f"load {safe_line(options.ref[:60])}"
    return run_connected(options, lambda session: _ItemPrinter(session, options).print(), action=action)


class _ItemPrinter:
    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self._session, self._live, self._options = session, session.live, options
        self._resolver = RefResolver(session, options)
        self._style = Style(options)
        self._width = options.width or (self._style.columns if self._style.is_terminal else _PIPE_COLUMNS)

    async def print(self) -> None:
        ref, resolver = self._options.ref, self._resolver
        item: RefTarget | FoundThread | User = (
            await resolver.user(ref) if ref.startswith("@") else await item_rows.find_named(resolver, ref)
        )
        if (self._options.revision or self._options.raw) and not (isinstance(item, RefTarget) and item.page):
            name = "--revision" if self._options.revision else "--raw"
            raise Failure(f"Could not use {name}: it needs a page, such as handbook:guides/setup.", USAGE)
        if self._options.web:
            open_in_browser(self._session, _url(item))
        elif isinstance(item, FoundThread):
            await self._print_thread(item)
        elif not isinstance(item, RefTarget):
            row = item_rows.user_row(item)
            text = f"{row['name']}\n{row['ref']}{f'  {item.email}' if item.email else ''}\n"
            print_object(self._options, KINDS["user"], row, lambda: text)
        elif self._options.threads:
            await self._print_threads(item)
        elif item.page is not None:
            await self._print_page(item, item.page.id)
        elif item.change_request is not None:
            await self._print_change_request(item)
        else:
            await self._print_space(item)

    async def _print_page(self, target: RefTarget, page_id: str) -> None:
        options = self._options
        field_names = fields_to_print(options, KINDS["page"])
        owner = target.change_request or target.space
        revision = owner.revision
        at: ContentRef = target.at
        if options.revision:
            revision, at = options.revision, RevisionRef(space_id=target.space.id, revision_id=options.revision)
        page = await self._load_page(at, page_id)
        row = item_rows.page_row(target, page, revision)
        if "outline" in field_names or options.outline:
            headings = parse(row["markdown"]).headings
            row["outline"] = [{"level": each.level, "title": each.title, "anchor": each.anchor} for each in headings]
        if "threads" in field_names:
            threads = await item_rows.load_threads(self._resolver, target)
            row["threads"] = [{"id": each.comment.id, "status": each.comment.status} for each in threads]
        if options.raw:
            write_out(row["markdown"] if row["markdown"].endswith("\n") else f"{row['markdown']}\n")
        elif options.outline:
            lines = (f"{'  ' * (each['level'] - 1)}{each['title']}\n" for each in row["outline"])
            print_object(options, KINDS["page"], row, lambda: "".join(lines))
        else:
            print_object(options, KINDS["page"], row, lambda: self._page_text(row))

    async def _load_page(self, at: ContentRef, page_id: str) -> Page:
        try:
            return await self._live.fetch(page_to_read_op(at, page_id))
        except NotFound:
            if self._options.revision:
                message = f"Could not find the page in revision {safe_line(self._options.revision[:60])}."
                raise Failure(message, NOT_FOUND) from None
            raise

    def _page_text(self, row: dict[str, Any]) -> str:
        title = "" if row["markdown"].lstrip().startswith("# ") else f"# {row['title']}\n\n"
        return self._render_markdown(title + row["markdown"])

    def _render_markdown(self, markdown: str) -> str:
        style = self._style
        return _document_as_text(parse(markdown), self._width, colors=style.has_colors, has_escapes=style.has_escapes)

    async def _print_change_request(self, target: RefTarget) -> None:
        change_request = target.change_request
        assert change_request is not None, "the target is a change request"
        field_names = fields_to_print(self._options, KINDS["change request"])
        fields = field_names or {"reviewers", "threadsOpen", "review"}
        row = await item_rows.change_row(self._resolver, change_request, target.space, fields)
        changed_pages = [] if field_names else await self._changed_pages(target)
        if not field_names:  # JSON does not show the changes, so the change request does not count as viewed.
            remember_viewed(self._session, change_request, in_full=False)
        print_object(self._options, KINDS["change request"], row, lambda: self._change_request_text(row, changed_pages))

    async def _changed_pages(self, target: RefTarget) -> list[tuple[str, str, str]]:
        """Return the path (else ID or title), the title and a sign such as `+` of each changed page or other item."""
        change_list = await self._live.fetch(ListChanges(at=target.at, limit=1000))
        if change_list.missing_count:
            tell(f"{plural(change_list.missing_count, 'more change')} could not be listed.")
        return [
            ((each.page.path or each.page.id) if each.page is not None else each.title, each.title, each.sign)
            for each in changed_pages(change_list.changes)
        ]

    def _change_request_text(self, row: dict[str, Any], changed_pages: list[tuple[str, str, str]]) -> str:
        color = self._style.color
        age_phrase = f"updated {age(row['updatedAt'], datetime.now(UTC))}" if row["updatedAt"] else ""
        facts = (
            row["status"],
            f"by {row['author']}" if row["author"] else "",
            age_phrase,
            "outdated" if row["outdated"] else "",
        )
        marks = {"approved": "✓", "changes-requested": "✗", "requested": "○"}
        phrases = {"approved": "approved", "changes-requested": "requested changes", "requested": "review requested"}
        lines = [f"{color(row['ref'], 'cyan')}  {color(row['subject'], 'bold')}", " · ".join(filter(None, facts))]
        for each in row.get("reviewers", ()):
            outdated = " (outdated)" if each["outdated"] else ""
            lines.append(
                f"{marks.get(each['status'], '·')} {each['name']} {phrases.get(each['status'], each['status'])}{outdated}"
            )
        if row["description"]:
            lines += ["", row["description"]]
        lines += ["", *(f"{sign} {path}  {title}" for path, title, sign in changed_pages)]
        if row["threadsOpen"]:
            lines.append(f"\n{plural(row['threadsOpen'], 'open thread')}: octavo show {row['ref']} --threads")
        if row["url"] and not self._session.is_embedded:
            lines.append(f"\n{row['url']}")
        return "\n".join(lines) + "\n"

    async def _print_space(self, target: RefTarget) -> None:
        options, space = self._options, target.space
        field_names = fields_to_print(options, KINDS["space"])
        row = item_rows.space_row(space, await self._resolver.spaces())
        if "pages" in field_names or not field_names:
            tree = await self._resolver.page_tree(target)
            row["pages"] = [{"id": each.id, "title": each.title, "path": each.path} for each in tree.walk()]
            depths = {each.id: len(tree.path_to(each.id)) - 1 for each in tree.walk()}
        counts = f"{plural(row['changesOpen'], 'open change request')} · {plural(row['threadsOpen'], 'open thread')}"
        head = f"{space.title}\n{row['ref']} · {counts}\n"

        def text() -> str:
            pages = (
                f"{'  ' * depths[each['id']]}{each['title']}  {each['path'] or ''}".rstrip() for each in row["pages"]
            )
            return ("" if options.outline else f"{head}\n") + "".join(f"{each}\n" for each in pages)

        print_object(options, KINDS["space"], row, text)

    async def _print_thread(self, thread: FoundThread) -> None:
        field_names = fields_to_print(self._options, KINDS["thread"])
        replies = (
            await item_rows.load_replies(self._resolver, thread) if "replies" in field_names or not field_names else ()
        )
        row = item_rows.thread_row(thread, replies)
        print_object(self._options, KINDS["thread"], row, lambda: self._thread_text(thread, replies))

    async def _print_threads(self, target: RefTarget) -> None:
        threads = await item_rows.load_threads(self._resolver, target)
        if self._options.json is not None or self._options.jq is not None:
            with Output(self._options, KINDS["thread"], ()) as output:
                for each in threads:
                    replies = (
                        await item_rows.load_replies(self._resolver, each) if "replies" in output.printed_fields else ()
                    )
                    output.add(item_rows.thread_row(each, replies))
            return
        texts = [self._thread_text(each, await item_rows.load_replies(self._resolver, each)) for each in threads]
        print_text(self._options, "\n".join(texts))

    def _thread_text(self, thread: FoundThread, replies: Iterable[Message]) -> str:
        comment, color = thread.comment, self._style.color
        page, node = comment.target.page, comment.target.node
        place = (page.path or page.title or "") if page is not None else ""
        head = "  ".join(filter(None, (color(thread.ref, "cyan"), comment.status, place)))
        quote = f"  {color('│ ' + safe_line(node.preview), 'dim')}\n" if node is not None and node.preview else ""
        return f"{head}\n{quote}" + "".join(self._message_text(each) for each in (comment, *replies))

    def _message_text(self, message: Message) -> str:
        age_suffix = f" · {age(message.posted_at, datetime.now(UTC))}" if message.posted_at is not None else ""
        body = self._render_markdown(message.body.text).strip("\n")
        return f"  {self._style.color(message.posted_by.name, 'bold')}{age_suffix}\n{body}\n"


def _url(item: RefTarget | FoundThread | User) -> str | None:
    match item:
        case RefTarget():
            return item.url
        case FoundThread():
            return item.comment.urls.app or item.target.url
        case _:
            return item.urls.app


SHOW = CliCommand(
    declare=declare,
    run=run,
    details="A page is printed as in the app, with all tabs and expanded blocks. In a pipe, it has no colors.",
    examples=(
        "octavo show handbook:people/first-week",
        "octavo show harbour-api/7 --json",
        "octavo show harbour-api:concepts/time --raw > time.md",
    ),
    kinds=KINDS,
    exit_codes={3: "there is no such thing"},
)
