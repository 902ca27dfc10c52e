"""`octavo changes`: list change requests."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest, ListOfOrganization, Status
from octavo.api.change_requests import List as ListInSpace
from octavo.api.paging import read_pages
from octavo.api.places import OrganizationRef
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.item_rows import CHANGE_FIELDS, change_row
from octavo.cli.output import Column, Output, Row, add_limit_options, add_output_options
from octavo.cli.refs import References
from octavo.cli.web_browser import add_web_option, check_web_option, open_in_browser
from octavo.concurrency import gather_bounded
from octavo.data.queries import PAGE_LIMIT

if TYPE_CHECKING:
    from octavo.api.spaces import Space
    from octavo.api.users import User
    from octavo.tui.core.session import Session

STATUSES: tuple[Status, ...] = ("draft", "open", "archived", "merged")
PARALLEL = 6
"""Maximum number of requests at the same time, for fields that need a request for each row."""
_BATCH = 30
"""Number of change requests whose rows are loaded together and then printed."""
_COLORS = {
    "open": "green",
    "merged": "magenta",
    "archived": "dim",
    "draft": "dim",
    "approved": "green",
    "changes requested": "red",
    "outdated": "yellow",
    "approval outdated": "yellow",
}
COLUMNS = (
    Column("number", "#", text=lambda row: f"#{row['number']}", link="url"),
    Column("subject", is_cut=True),
    Column("status", colors=_COLORS),
    Column("review", colors=_COLORS),
    Column("author", "from"),
    Column("updatedAt", "updated"),
)
_SPACE_COLUMNS = (Column("ref", link="url"), *COLUMNS[1:])
"""Columns of a list with change requests of several spaces."""


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--status",
        choices=("draft", "open", "archived", "merged", "all"),
        default="open",
        help="only with this status (default: open)",
    )
    command.add_argument("--author", metavar="USER", help="only by this user: a name, an email address, an id or @me")
    command.add_argument(
        "--reviewer", metavar="USER", help="only if this user reviewed the change request or was asked to review it"
    )
    command.add_argument("--outdated", action="store_true", help="only if main has changed since")
    add_web_option(command)
    add_limit_options(command)
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    check_web_option(options)

    async def work(session: Session) -> int:
        await ChangeList(session, options).print()
        return 0

    return run_connected(options, work, action="load the change requests")


class ChangeList:
    """The change requests that the options select."""

    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self._session, self._live, self._options = session, session.live, options
        self._references = References(session, options)
        self._space: Space | None = None

    async def print(self) -> None:
        """Print the list, or open it in the browser. Raises ApiError or Failure."""
        options, references = self._options, self._references
        self._space = await references.chosen_space()
        if options.web:
            owner = self._space or await references.organization()
            open_in_browser(self._session, owner.urls.app)
            return
        columns = COLUMNS if self._space is not None else _SPACE_COLUMNS
        with Output(options, CHANGE_FIELDS, columns, empty="No change requests.") as output:
            author = await references.user(options.author) if options.author else None
            reviewer = await references.user(options.reviewer) if options.reviewer else None
            batch: list[ChangeRequest] = []
            async for each in self._items(author, output):
                batch.append(each)
                if len(batch) == _BATCH:
                    if not await self._add(output, batch, reviewer):
                        return
                    batch = []
            await self._add(output, batch, reviewer)

    async def _items(self, author: User | None, output: Output) -> AsyncIterator[ChangeRequest]:
        """Yield the change requests with the chosen status, the most recently updated first."""
        options = self._options
        is_filtered = options.outdated or options.reviewer is not None
        limit = min(PAGE_LIMIT, output.limit + 1) if output.limit is not None and not is_filtered else PAGE_LIMIT
        statuses = STATUSES if options.status == "all" else (options.status,)
        lists = [await self._list(status, author, limit) for status in statuses]
        if len(lists) == 1:
            async for page in read_pages(self._live.send, lists[0]):
                output.total = None if is_filtered else page.count
                for each in page.items:
                    if each.outdated or not options.outdated:
                        yield each
            return
        # A request lists only one status, so the lists are joined and sorted here.
        found = [each for op in lists async for page in read_pages(self._live.send, op) for each in page.items]
        output.total = None if is_filtered else len(found)
        for each in sorted(found, key=_updated_at, reverse=True):
            if each.outdated or not options.outdated:
                yield each

    async def _list(self, status: Status, author: User | None, limit: int) -> ListInSpace | ListOfOrganization:
        creator = {"creator": author.id} if author is not None else {}
        if self._space is not None:
            return ListInSpace(at=self._space.ref, status=status, limit=limit, **creator)
        at = OrganizationRef(organization_id=(await self._references.organization()).id)
        return ListOfOrganization(at=at, status=status, limit=limit, **creator)

    async def _add(self, output: Output, batch: Sequence[ChangeRequest], reviewer: User | None) -> bool:
        """Add the rows of change requests. Returns False if the limit is reached."""
        wanted = output.wanted | ({"reviewers"} if reviewer is not None else set())
        if output.limit is not None:
            batch = batch[: output.limit + 1]
        spaces = {each.id: each for each in await self._references.spaces()}

        async def row(change_request: ChangeRequest) -> Row:
            space = self._space or spaces.get(change_request.space or "")
            return await change_row(self._references, change_request, space, wanted)

        rows = await gather_bounded(row, batch, PARALLEL)
        if reviewer is not None:
            rows = [row for row in rows if any(each["id"] == reviewer.id for each in row["reviewers"])]
        return all(output.add(row) for row in rows)


def _updated_at(change_request: ChangeRequest) -> datetime:
    return change_request.updated_at or datetime.min.replace(tzinfo=UTC)


COMMAND = Command(
    declare=declare,
    run=run,
    details="Without --space, the list has the change requests of all spaces.",
    examples=(
        "octavo changes -s harbour-api",
        "octavo changes --reviewer @me --json number,subject,reviewers -q '.[] | \"\\(.number)\\t\\(.subject)\"'",
        "octavo changes --status merged --all --ndjson number,mergedAt > merged.ndjson",
    ),
    fields=CHANGE_FIELDS,
    exit_codes={3: "the space or the user does not exist"},
)
