"""Finds the pages of a revision that contain a term, so that it can be replaced. Pages that cannot contain the term
according to the search index are not loaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from octavo.api.content import ListPages, Page
from octavo.api.errors import ApiError
from octavo.api.operation import RevisionRef
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op
from octavo.data.search_index import SearchIndex
from octavo.data.sync_queue import Rank
from octavo.documents.terms import TermChange, TermMatch, find_matches, index_queries

MAX_LOADED_PAGES = 1000
MAX_MATCHES = 5000
"""Number of matches after which a search ends."""
_PAGES_PER_STEP = 8


@dataclass(frozen=True)
class PageMatches:
    """A page that contains the term, and the positions of the matches."""

    page: Page
    text: str
    """Markdown of the page, to which the positions in `matches` refer. Empty if there are no `matches`."""
    matches: tuple[TermMatch, ...]
    title_match: TermMatch | None = None
    """The match in the title of the page. None if the title does not contain the term."""


@dataclass(frozen=True)
class TermResults:
    """The results that a search has found so far."""

    pages: tuple[PageMatches, ...] = ()
    """Pages that contain the term, in the order of the page tree."""
    searched_count: int = 0
    """Number of searched pages, including pages that were not loaded because the index shows no match in them."""
    page_count: int = 0
    """Number of pages with text in the revision."""
    failure: str = ""
    """Error message of the last page that could not be loaded. Empty if all could be loaded."""
    is_complete: bool = False
    """True if the search has ended, even if it did not load all pages."""

    @property
    def match_count(self) -> int:
        """Number of matches in all texts and titles."""
        return sum(len(each.matches) + (each.title_match is not None) for each in self.pages)


async def search_term(
    live: Live, index: SearchIndex, at: RevisionRef, change: TermChange, changed_page_ids: Collection[str] = ()
) -> AsyncIterator[TermResults]:
    """Search the pages of a revision for the term `change.old`. Yield the results so far after each step. The pages
    `changed_page_ids` differ from main, so the index does not have their text. Raises ApiError."""
    tree = await live.cached_or_fetch(ListPages(at=at))
    documents = [page for page in tree.walk() if page.type == "document"]
    indexed = await index.pages_with(at.space_id, index_queries(change))
    indexed_matches: list[Page] = []
    unindexed_pages: list[Page] = []
    ruled_out_count = 0
    for page in documents:
        if page.id in changed_page_ids or not indexed.has_version(page.id, page.updated_at):
            unindexed_pages.append(page)
        elif page.id in indexed.found_ids:
            indexed_matches.append(page)
        else:
            ruled_out_count += 1
    unindexed_pages.sort(key=lambda page: page.id not in changed_page_ids)
    order = {page.id: number for number, page in enumerate(documents)}
    pages_by_id = await asyncio.to_thread(_title_matches, documents, change)
    results = TermResults(_in_order(pages_by_id, order), ruled_out_count, len(documents))
    yield results
    pages_to_load = [*indexed_matches, *unindexed_pages][:MAX_LOADED_PAGES]
    for start in range(0, len(pages_to_load), _PAGES_PER_STEP):
        pages = pages_to_load[start : start + _PAGES_PER_STEP]
        loaded_pages = await asyncio.gather(*(_read_page(live, at, page, change) for page in pages))
        failures = [each for each in loaded_pages if isinstance(each, str)]
        for each in loaded_pages:
            if isinstance(each, PageMatches) and each.matches:
                title_match = pages_by_id[each.page.id].title_match if each.page.id in pages_by_id else None
                pages_by_id[each.page.id] = replace(each, title_match=title_match)
        results = TermResults(
            _in_order(pages_by_id, order),
            results.searched_count + len(loaded_pages) - len(failures),
            len(documents),
            failures[-1] if failures else results.failure,
        )
        yield results
        if results.match_count >= MAX_MATCHES:
            break
    yield replace(results, is_complete=True)


def _in_order(matches: Mapping[str, PageMatches], order: Mapping[str, int]) -> tuple[PageMatches, ...]:
    return tuple(sorted(matches.values(), key=lambda each: order[each.page.id]))


def _title_matches(pages: Iterable[Page], change: TermChange) -> dict[str, PageMatches]:
    first_word = min(change.old.split(), key=len).lower()
    pages_by_id: dict[str, PageMatches] = {}
    for page in pages:
        if first_word in page.title.lower() and (matches := find_matches(change, page.title)):
            pages_by_id[page.id] = PageMatches(page, "", (), matches[0])
    return pages_by_id


async def _read_page(live: Live, at: RevisionRef, page: Page, change: TermChange) -> PageMatches | str:
    try:
        loaded_page = await find_page(live, page_source_op(at, page.id), rank=Rank.AWAITED)
    except ApiError as error:
        return str(error)
    text = page_markdown(loaded_page)
    return PageMatches(page, text, await asyncio.to_thread(find_matches, change, text))
