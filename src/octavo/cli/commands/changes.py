"""`octavo changes` and `octavo merge`: list change requests, check them and merge them. Also `octavo spaces`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from octavo.api.change_requests import ChangeRequest, ListOfOrganization, Status
from octavo.api.change_requests import List as ListInSpace
from octavo.api.errors import Conflict
from octavo.api.operation import OrganizationRef, read_pages
from octavo.cli.access import read_settings
from octavo.cli.commands import CliCommand
from octavo.cli.connection import check_allowed, failure_of, prepare_writes, run_connected
from octavo.cli.item_rows import CHANGE_FIELDS, SPACE_FIELDS, change_row, check_rows, space_row
from octavo.cli.output import (
    Output,
    OutputColumn,
    Row,
    Style,
    add_limit_options,
    add_output_options,
    add_web_option,
    check_web_option,
    declare_fields,
    open_in_browser,
    print_object,
)
from octavo.cli.refs import RefResolver, RefTarget, check_whole_request
from octavo.cli.standard_streams import (
    BLOCKED,
    FAILED,
    UNKNOWN,
    USAGE,
    Failure,
    ignore_closed_pipe,
    is_terminal,
    tell,
    write_out,
)
from octavo.concurrency import gather_bounded
from octavo.data.access import why_not_in_space
from octavo.data.queries import PAGE_LIMIT
from octavo.data.writes.change_request_writes import merge, update
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api.change_requests import MergeResult
    from octavo.api.spaces import Space
    from octavo.api.users import User
    from octavo.data.writes.direct import SendResult
    from octavo.tui.core.session import Session
    from octavo.tui.review.merge_checks import Checks

_run_checks: Callable[..., Awaitable[Checks]] = lazy("octavo.tui.review.merge_checks:run_checks")
_why_blocked = lazy("octavo.tui.review.merge_checks:why_blocked")
_why_number_required = lazy("octavo.tui.review.merge_checks:why_number_required")
_change_line = lazy("octavo.tui.review.merge_checks:change_line")


STATUSES: tuple[Status, ...] = ("draft", "open", "archived", "merged")
_ROWS_PER_BATCH = 30
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
CHANGES_COLUMNS = (
    OutputColumn("number", "#", text=lambda row: f"#{row['number']}", link="url"),
    OutputColumn("subject", can_be_cut=True),
    OutputColumn("status", colors=_COLORS),
    OutputColumn("review", colors=_COLORS),
    OutputColumn("author", "from"),
    OutputColumn("updatedAt", "updated"),
)
_COLUMNS_WITH_REF = (OutputColumn("ref", link="url"), *CHANGES_COLUMNS[1:])
"""Columns of the list if it has change requests of several spaces."""


def _declare_changes(command: argparse.ArgumentParser) -> None:
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


def _run_changes(options: argparse.Namespace) -> int:
    check_web_option(options)
    return run_connected(
        options, lambda session: ChangeList(session, options).print(), action="load the change requests"
    )


class ChangeList:
    """Loads and prints the change requests that the options select."""

    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self._session, self._live, self._options = session, session.live, options
        self._resolver = RefResolver(session, options)
        self._space: Space | None = None

    async def print(self) -> None:
        """Print the list. With `--web`, open the space or organization in the browser. Raises ApiError or Failure."""
        options, resolver = self._options, self._resolver
        self._space = await resolver.chosen_space()
        if options.web:
            owner = self._space or await resolver.organization()
            open_in_browser(self._session, owner.urls.app)
            return
        columns = CHANGES_COLUMNS if self._space is not None else _COLUMNS_WITH_REF
        with Output(options, CHANGE_FIELDS, columns, empty="No change requests.") as output:
            author = await resolver.user(options.author) if options.author is not None else None
            reviewer = await resolver.user(options.reviewer) if options.reviewer is not None else None
            batch: list[ChangeRequest] = []
            async for each in self._find_change_requests(author, output):
                batch.append(each)
                if len(batch) == _ROWS_PER_BATCH:
                    if not await self._add_rows(output, batch, reviewer):
                        return
                    batch = []
            await self._add_rows(output, batch, reviewer)

    async def _find_change_requests(self, author: User | None, output: Output) -> AsyncIterator[ChangeRequest]:
        options = self._options
        is_filtered = options.outdated or options.reviewer is not None
        limit = min(PAGE_LIMIT, output.limit + 1) if output.limit is not None and not is_filtered else PAGE_LIMIT
        statuses = STATUSES if options.status == "all" else (options.status,)
        list_operations = [await self._list(status, author, limit) for status in statuses]
        if len(list_operations) == 1:
            async for page in read_pages(self._live.send, list_operations[0]):
                output.total = None if is_filtered else page.count
                for each in page.items:
                    if each.outdated or not options.outdated:
                        yield each
            return
        # The API lists one status per request, so the lists are joined and sorted here.
        change_requests = [
            each for op in list_operations async for page in read_pages(self._live.send, op) for each in page.items
        ]
        output.total = None if is_filtered else len(change_requests)
        earliest = datetime.min.replace(tzinfo=UTC)
        for each in sorted(change_requests, key=lambda each: each.updated_at or earliest, reverse=True):
            if each.outdated or not options.outdated:
                yield each

    async def _list(self, status: Status, author: User | None, limit: int) -> ListInSpace | ListOfOrganization:
        creator_field = {"creator": author.id} if author is not None else {}
        if self._space is not None:
            return ListInSpace(at=self._space.ref, status=status, limit=limit, **creator_field)
        at = OrganizationRef(organization_id=(await self._resolver.organization()).id)
        return ListOfOrganization(at=at, status=status, limit=limit, **creator_field)

    async def _add_rows(self, output: Output, batch: Sequence[ChangeRequest], reviewer: User | None) -> bool:
        """Output `batch`, or only change requests with the `reviewer` if given. Return False if the output is full."""
        if self._space is None and not all(each.space for each in batch):
            tell("The server does not name the space of some change requests. To list these too, use --space.")
            batch = [each for each in batch if each.space]
        field_names = output.printed_fields | ({"reviewers"} if reviewer is not None else set())
        if output.limit is not None and reviewer is None:
            batch = batch[: output.limit + 1]
        spaces_by_id = {each.space: await self._resolver.find_space(each.space or "") for each in batch}

        async def row(change_request: ChangeRequest) -> Row:
            space = self._space or spaces_by_id[change_request.space]
            return await change_row(self._resolver, change_request, space, field_names)

        rows = await gather_bounded(row, batch)
        if reviewer is not None:
            rows = [row for row in rows if any(each["id"] == reviewer.id for each in row["reviewers"])]
        return all(output.add(row) for row in rows)


CHANGES = CliCommand(
    declare=_declare_changes,
    run=_run_changes,
    details="Without --space, the list has the change requests of the pulled folder's space. Outside a pulled folder, it has "
    "those of the organization that you opened last (default: the first).",
    examples=(
        "octavo changes -s harbour-api",
        "octavo changes --reviewer @me --json number,subject,reviewers -q '.[] | \"\\(.number)\\t\\(.subject)\"'",
        "octavo changes --status merged --all --ndjson number,mergedAt > merged.ndjson",
    ),
    fields=CHANGE_FIELDS,
    exit_codes={3: "the space or the user does not exist"},
)


MERGE_FIELDS = declare_fields(
    "ref string, merged boolean, revision string?, checks object[], conflicts string[], effects string[]"
)
_MARKS = {"ok": ("✓", "green"), "care": ("!", "yellow"), "bad": ("✗", "red")}


def _declare_merge(command: argparse.ArgumentParser) -> None:
    command.add_argument("refs", nargs="+", metavar="REF", help="a change request; several are merged in this order")
    command.add_argument("--check", action="store_true", help="only print the checks; merge nothing")
    command.add_argument("--yes", action="store_true", help="merge without asking")
    command.add_argument(
        "--allow", action="append", default=[], metavar="CHECK", help="merge although this check failed; repeatable"
    )
    command.add_argument("--update", action="store_true", help="first update from main if main has changed")
    add_output_options(command)


def _run_merge(options: argparse.Namespace) -> int:
    if not (options.check or options.yes or is_terminal(sys.stdin, sys.stdout)):
        raise Failure(
            "Could not merge: without a terminal, merging needs --yes. To see the checks, use --check.", USAGE
        )

    if options.check and (options.yes or options.update):
        raise Failure("Could not use --yes or --update with --check, which merges and updates nothing.", USAGE)

    async def use_session(session: Session) -> int:
        if not options.check:
            await prepare_writes(session)
        resolver = RefResolver(session, options)
        targets = [await resolver.resolve(each) for each in options.refs]
        for target in targets:
            check_whole_request(target, f"merge {target.ref.without_page}")
        targets = list({each.ref.without_page: each for each in targets}.values())
        if len(targets) == 1 and options.ndjson is None:
            row = await merge_one(session, options, targets[0])
            print_object(options, MERGE_FIELDS, row, lambda: "" if row["printed"] else _sentence(row))
            return BLOCKED if row["blocked"] else 0
        code = 0
        with Output(options, MERGE_FIELDS, ()) as output:
            for target in targets:
                row = await merge_one(session, options, target)
                with ignore_closed_pipe():
                    if output.mode != "table":
                        output.add(row)
                    elif not row["printed"]:
                        write_out(_sentence(row))
                code = BLOCKED if row["blocked"] else code
        return code

    return run_connected(options, use_session, action="merge")


async def merge_one(session: Session, options: argparse.Namespace, target: RefTarget) -> dict[str, Any]:
    """Merge a change request, after an update with `--update`. Without `--yes`, print the checks and ask the user. With
    `--check`, only print the checks. Return the result as a JSON object. Raises ApiError or Failure."""
    change_request = target.change_request
    if change_request is None:
        raise Failure(f"Could not merge {target.ref}: it is not a change request.", USAGE)
    name, at = target.ref.without_page, change_request.ref(target.space.ref)
    if not options.check:
        check_allowed(why_not_in_space(target.space, "merge"), f"merge {name}")
    linters = read_settings().linters
    checks = await _run_checks(session.live, at, linters)
    if options.update and not options.check and checks.change_request.outdated:
        updated = await update(session.live, at, checks.merge_state)
        _raise_unless_done(updated, "update", name)
        tell(f"Updated {name} from main.")
        if updated.result is not None and updated.result.result == "conflicts":
            message = f"Could not merge {name}: the update from main has conflicts. Resolve them in Octavo: octavo open {name}"
            raise Failure(message, BLOCKED)
        checks = await _run_checks(session.live, at, linters)
    row = _merge_row(name, checks)
    why = _why_not_merged(checks, options.allow, name)
    if options.check:
        return {**row, "blocked": bool(why), "printed": _print_checks_unless_json(options, name, checks)}
    asks_user = not options.yes
    if asks_user:
        _print_checks_unless_json(options, name, checks)
    if why:
        raise Failure(f"Could not merge {name}: {why}", BLOCKED)
    if asks_user:
        write_out(f"Merge {name}? [y/N] ")
        if sys.stdin.readline().strip() not in ("y", "Y", "yes"):
            raise Failure(f"Did not merge {name}.")
    merge_result = await merge(session.live, at, checks.merge_state)
    _raise_unless_done(merge_result, "merge", name)
    result = merge_result.result
    return {
        **row,
        "merged": True,
        "revision": result.revision if result is not None else None,
        "has_conflicts": result is not None and result.result == "conflicts",
        "blocked": False,
        "printed": False,
    }


def _raise_unless_done(sent: SendResult[MergeResult], verb: str, name: str) -> None:
    match sent.kind:
        case "unknown":
            message = f"The {verb} of {name} did not complete and was not retried. Check it, then {verb} again."
            raise Failure(message, UNKNOWN)
        case "changed":
            raise Failure(f"Could not {verb} {name}: {sent.message}", BLOCKED)
        case "refused":
            if sent.error is not None and not isinstance(sent.error, Conflict):
                raise failure_of(sent.error, f"{verb} {name}")
            raise Failure(sent.message or f"Could not {verb} {name}.", BLOCKED if sent.error is not None else FAILED)


def _why_not_merged(checks: Checks, allowed: Sequence[str], name: str) -> str:
    """Return why the change request `name` cannot be merged, as a clause. Empty if only checks in `allowed` fail."""
    if blocked_reason := _why_blocked(checks):
        return f"{blocked_reason[:1].lower()}{blocked_reason[1:]}"
    if checks.conflicts and "conflicts" not in allowed:
        count_phrase = "1 conflict" if len(checks.conflicts) == 1 else f"{len(checks.conflicts)} conflicts"
        return f"{count_phrase} with main. Resolve them in Octavo: octavo open {name}"
    for each in check_rows(checks):
        if each["status"] == "bad" and each["name"] not in allowed:
            return f"{each['text']}. To merge anyway, use --allow {each['name']}"
    if checks.deleted_titles and "deleted" not in allowed and (number_reason := _why_number_required(checks)):
        return f"{number_reason[:1].lower()}{number_reason[1:]}. To merge anyway, use --allow deleted"
    return ""


def _merge_row(name: str, checks: Checks) -> dict[str, Any]:
    effects = [each for each in (checks.publication_sentence, _change_line(checks.changes)) if each]
    return {
        "ref": name,
        "merged": False,
        "revision": checks.change_request.revision,
        "checks": check_rows(checks),
        "conflicts": list(checks.conflicts),
        "effects": effects,
        "has_conflicts": False,
    }


def _print_checks_unless_json(options: argparse.Namespace, name: str, checks: Checks) -> bool:
    if any(getattr(options, each) is not None for each in ("json", "ndjson", "jq")):
        return False
    style, row = Style(options), _merge_row(name, checks)
    lines = [f"{style.color(name, 'cyan')}  {checks.change_request.title}"]
    for each in row["checks"]:
        sign, color = _MARKS.get(each["status"], ("·", ""))
        lines.append(f"  {style.color(sign, color)} {each['text']} ({each['name']})")
    lines += [f"  {each}" for each in row["effects"]]
    write_out("".join(f"{line}\n" for line in lines))
    return True


def _sentence(row: dict[str, Any]) -> str:
    if row["has_conflicts"]:
        return f"Merged {row['ref']} with conflicts. Resolve them in Octavo: octavo open {row['ref']}\n"
    return f"Merged {row['ref']}.\n"


MERGE = CliCommand(
    declare=_declare_merge,
    run=_run_merge,
    details="Octavo runs the merge checks of the app. It stops at the first change request that cannot be merged. A merge is "
    "never sent twice.",
    examples=(
        "octavo merge 7 --check",
        "octavo merge harbour-api/7 --yes",
        "octavo merge 2 5 7 --yes --allow open-threads",
    ),
    fields=MERGE_FIELDS,
    exit_codes={
        3: "there is no such change request",
        5: "your role does not allow it",
        6: "a check failed, or there are conflicts",
        7: "the merge may have been made",
    },
)


_SPACE_COLUMNS = (
    OutputColumn("ref", link="url"),
    OutputColumn("title", can_be_cut=True),
    OutputColumn("changesOpen", "open changes"),
    OutputColumn("threadsOpen", "open threads"),
    OutputColumn("updatedAt", "updated"),
)


def _declare_spaces(command: argparse.ArgumentParser) -> None:
    add_limit_options(command)
    add_output_options(command)


def _run_spaces(options: argparse.Namespace) -> int:
    return run_connected(options, lambda session: _print_spaces(session, options), action="load the spaces")


async def _print_spaces(session: Session, options: argparse.Namespace) -> None:
    with Output(options, SPACE_FIELDS, _SPACE_COLUMNS, empty="No spaces.") as output:
        spaces = await RefResolver(session, options).spaces(fresh=True)
        output.total = len(spaces)
        for each in spaces:
            if not output.add(space_row(each, spaces)):
                break


SPACES = CliCommand(
    declare=_declare_spaces,
    run=_run_spaces,
    details="The list has the spaces of all your organizations. `ref` is the name of the space in other commands.",
    examples=("octavo spaces", "octavo spaces --json ref,title,url"),
    fields=SPACE_FIELDS,
)
