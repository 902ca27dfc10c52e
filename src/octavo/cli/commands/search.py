"""`octavo search`: find pages, comments and change requests that contain some words."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncIterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from octavo.api import search
from octavo.api.change_requests import Get, ListOfOrganization, Status
from octavo.api.comments import List as ListThreads
from octavo.api.content import ListPages
from octavo.api.errors import NotFound
from octavo.api.folding import fold, with_formulas
from octavo.api.operation import ChangeRequestRef, Discussion, OrganizationRef, read_pages
from octavo.api.safety import safe_line
from octavo.api.search import MAX_QUERY_LENGTH
from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.item_rows import find_discussions
from octavo.cli.output import Output, OutputColumn, Row, add_limit_options, add_output_options, declare_fields
from octavo.cli.refs import Ref, RefResolver
from octavo.cli.standard_streams import USAGE, Failure, tell
from octavo.concurrency import gather_bounded
from octavo.data.loaders import all_items
from octavo.data.queries import PAGE_LIMIT, UNDECIDED, change_requests_op
from octavo.data.search_index import Hit, HitKind
from octavo.data.search_text import SearchTerms
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.spaces import Space
    from octavo.tui.core.session import Session

_format_inline = lazy("octavo.tui.render.formulas:format_inline")

FIELDS = declare_fields(
    "ref string, kind string, title string, space object, path string?, snippet string, score number, url string?"
)
COLUMNS = (OutputColumn("ref", link="url"), OutputColumn("title"), OutputColumn("snippet", can_be_cut=True))
_KINDS: dict[str, tuple[HitKind, ...]] = {"pages": ("page",), "comments": ("thread",), "changes": ("change request",)}
_STATUSES: tuple[Status, ...] = ("open", "draft", "merged", "archived")
_MAX_SNIPPET = 160
_MAX_TREES = 20
"""Maximum number of spaces that are searched for similar page titles if nothing is found."""


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("words", nargs="+", metavar="WORDS", help="the words to find; all must occur")
    command.add_argument(
        "--in", dest="where", choices=tuple(_KINDS), default="pages", help="what to search (default: pages)"
    )
    command.add_argument("--offline", action="store_true", help="search only what is on this computer; send no request")
    add_limit_options(command)
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    return run_connected(options, lambda session: Search(session, options).print(), action="search")


class Search:
    """Loads and prints the results for the words on the command line."""

    def __init__(self, session: Session, options: argparse.Namespace) -> None:
        self._session, self._live, self._options = session, session.live, options
        self._resolver = RefResolver(session, options, is_offline=options.offline)
        self._words = " ".join(options.words)
        self._terms = SearchTerms(self._words)
        self._spaces: tuple[Space, ...] = ()

    async def print(self) -> None:
        """Print the results, or suggest similar titles if there are no results. Raises ApiError or Failure."""
        options = self._options
        if not self._words.strip():
            raise Failure("Could not search: there are no words. Write the words to find.", USAGE)
        if len(self._words) > MAX_QUERY_LENGTH:
            raise Failure(f"Could not search: use at most {MAX_QUERY_LENGTH} characters.", USAGE)
        with Output(options, FIELDS, COLUMNS) as output:
            chosen_space = await self._resolver.chosen_space()
            self._spaces = (chosen_space,) if chosen_space is not None else await self._resolver.spaces()
            rows = await self._load_rows(output.limit, only_space=chosen_space)
            for number, row in enumerate(rows):
                if not output.add({**row, "score": round(1 / (1 + number), 3)}):
                    break
        if not rows and output.mode == "table":
            tell(f"No results for “{safe_line(self._words[:60])}”.{await self._suggestion()}")

    async def _load_rows(self, limit: int | None, only_space: Space | None) -> list[Row]:
        options = self._options
        page_limit = min(PAGE_LIMIT, limit + 1) if limit is not None else PAGE_LIMIT
        if options.offline or options.where == "comments":
            if not options.offline:
                await self._index_threads()
            self._session.search_index.flush()
            ids = [each.id for each in self._spaces] if only_space is not None else None
            hits = await self._session.search_index.search(
                self._words, limit=page_limit, kinds=_KINDS[options.where], spaces=ids, snippet_length=_MAX_SNIPPET
            )
            return [await self._hit_row(each) for each in hits]
        if options.where == "changes":
            return await self._load_change_requests(only_space)
        return await self._load_pages(limit, page_limit, only_space)

    async def _load_pages(self, limit: int | None, page_limit: int, only_space: Space | None) -> list[Row]:
        if self._session.wait_until_indexed is not None:
            await self._session.wait_until_indexed()
        rows: list[Row] = []
        batches = self._batches_of_space(only_space, page_limit) if only_space else self._batches(page_limit)
        async for batch in batches:
            rows += batch
            if limit is not None and len(rows) > limit:
                break
        return rows

    async def _batches(self, page_limit: int) -> AsyncIterator[list[Row]]:
        """Search all spaces, and yield the found pages in batches. Each space with results is searched again
        separately, because the result for all spaces may leave out pages."""
        at = OrganizationRef(organization_id=(await self._resolver.organization()).id)
        in_organization = search.InOrganization(at=at, query=self._words, limit=page_limit)
        async for found in read_pages(self._live.send, in_organization):
            for hit in found.items:
                if (space := await self._resolver.find_space(hit.id)) is not None:
                    async for batch in self._batches_of_space(space, page_limit):
                        yield batch

    async def _batches_of_space(self, space: Space, page_limit: int) -> AsyncIterator[list[Row]]:
        op = search.InSpace(at=space.ref, query=self._words, limit=page_limit)
        async for hits in read_pages(self._live.send, op):
            yield [await self._page_row(space, each) for each in hits.items]

    async def _page_row(self, space: Space, page: search.PageHit) -> Row:
        section = page.sections[0] if page.sections else None
        snippet = (section.body if section is not None else page.description) or ""
        title = f"{page.title} › {section.title}" if section is not None and section.title else page.title
        return await self._row(space, "page", title, snippet, page=page.path or page.id, url=page.urls.app)

    async def _row(self, space: Space, kind: str, title: str, snippet: str, **parts: Any) -> Row:
        name = await self._resolver.name_of(space.id)
        ref = Ref(name, parts.get("number"), parts.get("page", ""), parts.get("block", ""))
        return {
            "ref": str(ref),
            "kind": kind,
            "title": title,
            "space": {"id": space.id, "title": space.title},
            "path": parts.get("page") or None,
            "snippet": self._terms.excerpt(with_formulas(snippet, _format_inline)[0], _MAX_SNIPPET)[0],
            "url": parts.get("url"),
        }

    async def _index_threads(self) -> None:
        async def load(at: Discussion) -> None:
            try:
                await all_items(self._live, ListThreads(at=at, format="markdown", limit=PAGE_LIMIT))
            except NotFound:
                return  # The space or change request was deleted meanwhile.

        await gather_bounded(load, await find_discussions(self._resolver))

    async def _hit_row(self, hit: Hit) -> Row:
        space = await self._resolver.find_space(hit.space_id)
        if space is None:
            return {"ref": hit.id, "kind": hit.kind, "title": hit.title, "space": {"id": hit.space_id, "title": ""},
                    "path": None, "snippet": hit.snippet, "url": None}  # fmt: skip
        match hit.kind:
            case "page":
                title = f"{hit.title} › {hit.path[-1]}" if hit.path else hit.title
                return await self._row(space, "page", title, hit.snippet, page=hit.page_path.strip("/") or hit.id)
            case "thread":
                number = await self._change_request_number(hit.at)
                title = f"{hit.author} on {hit.title}" if hit.title else hit.author
                return await self._row(space, "thread", title, hit.snippet, number=number, block=hit.id)
            case _:
                return await self._row(space, "change-request", hit.title, hit.snippet, number=hit.number)

    async def _change_request_number(self, at: Discussion) -> int | None:
        """Return the number of a change request. None for main content. With `--offline`, None if it is not cached."""
        if not isinstance(at, ChangeRequestRef):
            return None
        change_request = await self._live.cached(Get(at=at))
        for organization in await self._resolver.organizations():
            for status in UNDECIDED:
                cached_list = await self._live.cached(change_requests_op(organization.id, status))
                if change_request is None and cached_list is not None:
                    change_request = next((each for each in cached_list.items if each.id == at.change_request_id), None)
        if change_request is None and not self._options.offline:
            change_request = await self._live.fetch(Get(at=at))
        return change_request.number if change_request is not None else None

    async def _load_change_requests(self, only_space: Space | None) -> list[Row]:
        words = fold(self._words).split()
        found_requests: list[ChangeRequest] = []
        for organization in await self._resolver.organizations():
            at = OrganizationRef(organization_id=organization.id)
            for status in _STATUSES:
                op = ListOfOrganization(at=at, status=status, limit=PAGE_LIMIT)
                found_requests += await all_items(self._live, op)
        return [
            await self._row(
                space, "change-request", each.title, each.description_text or each.status, number=each.number,
                url=each.urls.app,
            )
            for each in found_requests
            if only_space is None or each.space == only_space.id
            if all(word in fold(f"#{each.number} {each.title} {each.description_text}") for word in words)
            if (space := await self._resolver.find_space(each.space or "")) is not None
        ]  # fmt: skip

    async def _suggestion(self) -> str:
        title_words: set[str] = set()
        for space in self._spaces[:_MAX_TREES]:
            if self._options.offline:
                titles: Sequence[str] = [each.title for each in await self._session.search_index.page_names(space.id)]
            else:
                titles = [each.title for each in (await self._live.cached_or_fetch(ListPages(at=space.ref))).walk()]
            title_words |= {word for title in titles for word in re.findall(r"\w{3,}", fold(title))}
        words = fold(self._words).split()
        corrected_words = [next(iter(get_close_matches(word, title_words, n=1, cutoff=0.7)), word) for word in words]
        if corrected_words == words:
            return ""
        return f" Did you mean “{' '.join(corrected_words)}”?"


SEARCH = CliCommand(
    declare=declare,
    run=run,
    details="Pages are searched on the server. Comments are loaded first, then searched on this computer. Without --space, "
    "Octavo searches the pulled folder's space. Outside a pulled folder, it searches the pages of the organization that you "
    "opened last (default: the first).",
    examples=(
        "octavo search webhook secret",
        'octavo search "time zone" -s handbook --json ref,path,snippet',
        "octavo search --in comments --offline mara",
    ),
    fields=FIELDS,
    exit_codes={3: "the space does not exist"},
)
