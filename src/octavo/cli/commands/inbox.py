"""`octavo inbox`: list what needs your attention, or watch the inbox and print each new or changed row."""

from __future__ import annotations

import argparse
import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.api.users import Me
from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.output import Output, OutputColumn, Row, add_limit_options, add_output_options, declare_fields
from octavo.cli.refs import Ref, RefResolver
from octavo.cli.standard_streams import USAGE, Failure, tell
from octavo.data.drafts import unsent_draft
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef, WriteRef, matches
from octavo.data.inbox_loader import InboxLoader
from octavo.data.inbox_marks import InboxMarks
from octavo.data.polling import Poller
from octavo.settings import read
from octavo.settings.file import did_you_mean
from octavo.settings.table import InboxFilter, InboxReason

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.api.spaces import Space
    from octavo.tui.core.session import Session

FIELDS = declare_fields(
    "ref string, kind string, reasons string[], title string, space object?, author string?, updatedAt time?, "
    "unread boolean, url string?",
    extra="page object?, thread string?, why string",
)
REASON_NAMES: dict[InboxReason, str] = {
    "not sent": "unsent",
    "review requested": "review-requested",
    "changed since review": "changed-since-review",
    "approved": "approved",
    "changes requested": "changes-requested",
    "outdated": "outdated",
    "new replies": "new-replies",
    "on my change requests": "on-my-work",
    "mentioned": "mentioned",
    "unsent draft": "draft",
}
_LABELS = {
    **{name: name.replace("-", " ") for name in REASON_NAMES.values()},
    "unsent": "not sent",
    "changed-since-review": "changed since your review",
    "on-my-work": "on your change request",
    "draft": "unsent draft",
}
_COLORS = {
    "not sent": "red",
    "changes requested": "red",
    "approved": "green",
    "review requested": "cyan",
    "changed since your review": "yellow",
    "outdated": "yellow",
}
COLUMNS = (
    OutputColumn("ref", link="url"),
    OutputColumn("why", text=lambda row: _LABELS[row["reasons"][0]], colors=_COLORS),
    OutputColumn("title", can_be_cut=True),
    OutputColumn("author", "from"),
    OutputColumn("updatedAt", "updated"),
)
CHECK_SECONDS = 5.0
"""Seconds after which `--watch` checks again whether the inbox needs a refresh, as in the app."""


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--reason", action="append", default=[], choices=tuple(REASON_NAMES.values()), metavar="REASON",
        help=f"only for this reason; repeatable: {', '.join(REASON_NAMES.values())}",
    )  # fmt: skip
    command.add_argument("--filter", metavar="NAME", help="only the rows of a tab in config.toml: [inbox.NAME]")
    command.add_argument("--watch", action="store_true", help="print each new or changed row until you press ctrl+c")
    add_limit_options(command)
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    if options.watch and (options.json is not None or options.jq is not None):
        raise Failure("Could not watch the inbox: a JSON array never ends. Use --ndjson.", USAGE)
    return run_connected(options, lambda session: InboxList(session, options).print(), action="load the inbox")


class InboxList:
    """Loads and prints the rows of the inbox that the options select."""

    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self._session, self._options = session, options
        self._resolver = RefResolver(session, options)
        self._marks = InboxMarks(session.state)
        self._filter = _filter_named(options.filter) if options.filter else InboxFilter("")
        self._space: Space | None = None
        self._space_titles: dict[str, str] = {}

    async def print(self) -> None:
        """Print the inbox, or with `--watch` each row that is added or changed, until `--limit`. Raises ApiError or
        Failure."""
        self._space = await self._resolver.chosen_space()
        self._space_titles = {each.id: each.title for each in await self._resolver.spaces()}
        # The inbox depends on who the user is. A rejected API key raises an error here.
        self._session.outbox.set_account(await self._session.live.fetch(Me()), is_confirmed=True)
        loader = InboxLoader(self._session.live, self._session.drafts, await self._resolver.organization())
        changed_event = asyncio.Event()
        unsubscribe = loader.subscribe(lambda _: changed_event.set())
        try:
            await _wait_until_loaded(loader, changed_event)
            if self._options.watch:
                await self._watch(loader, changed_event)
            else:
                await self._print_once(loader)
        finally:
            unsubscribe()

    async def _print_once(self, loader: InboxLoader) -> None:
        with Output(self._options, FIELDS, COLUMNS, empty="No items need you.") as output:
            rows = self._select_rows(loader)
            output.total = len(rows)
            for each in rows:
                if not output.add(await self._row(loader, each)):
                    break
            if problem := _problem_of(loader):
                raise Failure(f"{problem} Run it again, or: octavo doctor")

    async def _watch(self, loader: InboxLoader, changed: asyncio.Event) -> None:
        poller = Poller(self._session.live, after_poll=loader.poll)
        stamps = {each.key: each.stamp for each in self._select_rows(loader)}
        count_phrase = f"{len(stamps)} item needs" if len(stamps) == 1 else f"{len(stamps)} items need"
        problem, printed_count = _problem_of(loader), 0
        tell(f"Watching the inbox. {problem or f'{count_phrase} you now.'} To stop, press ctrl+c.")
        while True:
            changed.clear()
            if (new_problem := _problem_of(loader)) not in ("", problem):
                tell(new_problem)
            problem = new_problem
            for each in self._select_rows(loader):
                if stamps.get(each.key) != each.stamp:
                    stamps[each.key] = each.stamp
                    with Output(self._options, FIELDS, COLUMNS) as output:
                        output.add(await self._row(loader, each))
                    printed_count += 1
                    if printed_count == self._options.limit:
                        return
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await changed.wait()
            except TimeoutError:
                # Without key presses, the poller slows down, and a command never gets any.
                poller.on_key_pressed()
                if poller.is_due:
                    await poller.run()

    def _select_rows(self, loader: InboxLoader) -> list[InboxRow]:
        rows = self._marks.group(loader.snapshot().rows).active
        reasons = set(self._options.reason)
        return [
            each
            for each in rows
            if (not reasons or reasons & set(_reasons(each)))
            and (self._space is None or each.space_id == self._space.id)
            and matches(each, self._filter, self._space_titles.get(each.space_id, ""))
        ]

    async def _row(self, loader: InboxLoader, row: InboxRow) -> Row:
        at, comment, request = _discussion_of(row), None, None
        if isinstance(row.target, ThreadRef):
            comment = loader.comment(row.target)
        if isinstance(at, ChangeRequestRef):
            request = loader.change_request(at)
        page = comment.target.page if comment is not None else None
        space = await self._resolver.find_space(row.space_id)
        return {
            "ref": await self._ref_or_entry_id(row, at, request),
            "kind": _kind(row),
            "reasons": _reasons(row),
            "title": _title(row, request),
            "space": {"id": row.space_id, "title": space.title if space is not None else ""} if row.space_id else None,
            "author": _author(comment, request),
            "updatedAt": row.moment,
            "unread": row.key in self._marks.group([row]).unread,
            "url": request.urls.app if request is not None else space.urls.app if space is not None else None,
            "page": {"id": page.id, "title": page.title, "path": page.path} if page is not None else None,
            "thread": row.target.comment_id if isinstance(row.target, ThreadRef) else None,
            "why": row.reason_text,
        }

    async def _ref_or_entry_id(self, row: InboxRow, at: Discussion | None, request: ChangeRequest | None) -> str:
        """Return the entry ID of an unsent write. For other rows, return the REF, or an empty text if `at` is None."""
        if isinstance(row.target, WriteRef):
            return row.target.entry_id
        if at is None:
            return ""
        number = request.number if request is not None else None
        thread = row.target.comment_id if isinstance(row.target, ThreadRef) else ""
        return str(Ref(await self._resolver.name_of(at.space_id), number, block=thread))


def _problem_of(loader: InboxLoader) -> str:
    """Return a sentence that says which parts of the inbox could not be loaded. Empty if there are none."""
    failed = loader.snapshot().failed
    parts = "; ".join(f"{each.label} ({each.cause.rstrip('.')})" for each in failed[:3])
    return f"Could not load the whole inbox: {parts}." if failed else ""


async def _wait_until_loaded(loader: InboxLoader, changed: asyncio.Event) -> None:
    await loader.refresh()
    while not loader.is_idle:
        changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):  # The loader may become idle without notifying.
                await changed.wait()


def _filter_named(name: str) -> InboxFilter:
    filters = {each.name: each for each in read(os.environ).inbox_filters}
    if name not in filters:
        filters_sentence = f" The filters are {', '.join(filters)}." if filters else " config.toml has no [inbox.NAME]."
        raise Failure(f"Unknown filter {name[:40]!r}.{did_you_mean(name, filters) or filters_sentence}", USAGE)
    return filters[name]


def _reasons(row: InboxRow) -> list[str]:
    return [REASON_NAMES[each] for each in (row.reason, *row.other_reasons)]


def _kind(row: InboxRow) -> str:
    match row.target:
        case ThreadRef():
            return "thread"
        case DraftRef():
            return "draft"
        case WriteRef():
            return "write"
        case _:
            return "change-request"


def _discussion_of(row: InboxRow) -> Discussion | None:
    match row.target:
        case ThreadRef(at=at):
            return at
        case DraftRef(draft_key=key):
            return unsent_draft(key).at
        case ChangeRequestRef() as at:
            return at
        case _:
            return None


def _title(row: InboxRow, request: ChangeRequest | None) -> str:
    return request.title if request is not None and isinstance(row.target, ChangeRequestRef) else row.title


def _author(comment: Comment | None, request: ChangeRequest | None) -> str | None:
    if comment is not None:
        return comment.posted_by.name
    return (request.author_name or None) if request is not None else None


INBOX = CliCommand(
    declare=declare,
    run=run,
    details="The list has the same items as the inbox of the app, without those that you marked as done or snoozed.",
    examples=(
        "octavo inbox",
        "octavo inbox --reason review-requested --json ref,title,url",
        'octavo inbox --watch --ndjson | while read -r row; do notify-send "$(jq -r .title <<<"$row")"; done',
    ),
    fields=FIELDS,
    exit_codes={3: "the space does not exist"},
)
