"""Checks the pages of a space, or the pages that a change request changes, with the rules and with linters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from octavo.api.content import Page, Revision
from octavo.api.places import ContentRef
from octavo.cli.check_folder import CheckReport
from octavo.cli.comparisons import PARALLEL, PageTexts, changed_items, load_revision, load_texts, sides_of
from octavo.cli.external_links import MAX_URLS, broken_urls
from octavo.cli.failures import USAGE, Failure
from octavo.cli.refs import Target
from octavo.concurrency import gather_bounded
from octavo.data.live import Live
from octavo.data.page_queries import find_page, get_page_source, page_markdown
from octavo.documents import links
from octavo.documents.checks.checked_pages import CheckedPage, read_page
from octavo.documents.checks.findings import Finding
from octavo.documents.checks.references import ReferenceCheck
from octavo.documents.folders.layout import link_base, page_path
from octavo.documents.linters.placement import AddedRanges, LintedPage, added_ranges
from octavo.documents.parse import parse
from octavo.server.fetcher import Fetcher
from octavo.settings import Linter
from octavo.tui.review.linter_findings import LinterRuns, linters_for

MAX_PAGES = 2_000
"""Maximum number of pages of a space that are checked."""
_MAX_LINKED_PAGES = 200
"""Maximum number of further pages that are loaded to find their headings."""


@dataclass(frozen=True)
class ContentOptions:
    """What `octavo check REF` checks."""

    is_added_only: bool = False
    """Whether only findings on words that the change request added are reported."""
    linters: tuple[Linter, ...] = ()
    follows_urls: bool = False
    """Whether links to websites are checked."""


@dataclass(frozen=True)
class _Loaded:
    """A page that is checked."""

    page: Page
    text: str
    added: AddedRanges | None
    """What the change request added. None outside of change requests."""
    checked: CheckedPage


async def check_content(live: Live, target: Target, options: ContentOptions) -> CheckReport:
    """Return the findings in a space or a change request. Raises ApiError, or Failure."""
    if options.is_added_only and target.change_request is None:
        raise Failure(f"Could not check {target.ref}: --added needs a change request, such as handbook/7.", USAGE)
    at, texts = await _load(live, target)
    revision = await load_revision(live, at)
    pages = {page.id: page for page in revision.walk()}
    loaded = await asyncio.to_thread(_read_all, pages, texts, is_change=target.change_request is not None)
    check = await _references(live, at, revision, target, loaded)
    found = await asyncio.to_thread(_findings, check, loaded, options)
    problems: list[str] = []
    if options.linters:
        runs = LinterRuns(linters_for(options.linters, target.space.title, target.space.id))
        for result in await asyncio.gather(*(runs.findings(_linted_page(each)) for each in loaded)):
            found += [each for group in result.by_block.values() for each in group]
            problems += result.failures
    skipped = len(texts) - len(loaded)
    if skipped:
        problems.append(f"{skipped} pages were not checked: a space is checked up to {MAX_PAGES:,} pages.")
    sources = {each.checked.path: each.text for each in loaded}
    return CheckReport(tuple(found), len(loaded), sources, tuple(dict.fromkeys(problems)))


async def _load(live: Live, target: Target) -> tuple[ContentRef, list[tuple[str, str, str]]]:
    """Return the place of the content, and the id and both texts of each page to check. Raises ApiError or Failure."""
    wanted = target.page.id if target.page is not None else None
    if target.change_request is None:
        at: ContentRef = target.space.ref
        revision = await load_revision(live, at)
        ids = [page.id for page in revision.walk() if page.type == "document" and wanted in (None, page.id)]
        return at, await _load_pages(live, at, ids)
    sides = await sides_of(live, target, "base")
    items = await changed_items(live, target, sides)
    chosen = [each for each in items if each.is_document and each.exists_after and wanted in (None, each.key)]
    changed: list[PageTexts] = await load_texts(live, sides, chosen)
    texts = [(each.item.key, each.before, each.after) for each in changed]
    if wanted is not None and not texts:
        texts = [(page, text, text) for page, _, text in await _load_pages(live, sides.new, [wanted])]
    return sides.new, texts


async def _load_pages(live: Live, at: ContentRef, ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the id and the text of each page, with an empty text before. Raises ApiError."""

    async def load(page_id: str) -> tuple[str, str, str]:
        return page_id, "", page_markdown(await find_page(live, get_page_source(at, page_id)))

    return [*await gather_bounded(load, ids[:MAX_PAGES], PARALLEL), *((each, "", "") for each in ids[MAX_PAGES:])]


def _read_all(pages: dict[str, Page], texts: Iterable[tuple[str, str, str]], *, is_change: bool) -> list[_Loaded]:
    loaded = []
    for page_id, before, after in list(texts)[:MAX_PAGES]:
        page = pages.get(page_id)
        if page is not None:
            added = added_ranges(before, after) if is_change else None
            loaded.append(_Loaded(page, after, added, read_page(page_path(page), after, link_base(page))))
    return loaded


async def _references(
    live: Live, at: ContentRef, revision: Revision, target: Target, loaded: Sequence[_Loaded]
) -> ReferenceCheck:
    """Return the check of references, with the pages to whose headings the loaded pages link. Raises ApiError."""
    known = {each.page.id: each.checked for each in loaded}
    check = ReferenceCheck(_index(revision, target), known)
    wanted = {page for each in loaded for page in check.linked_pages(each.checked)} - set(known)
    pages = {page.id: page for page in revision.walk()}
    for page_id, _, text in await _load_pages(live, at, sorted(wanted)[:_MAX_LINKED_PAGES]):
        page = pages[page_id]
        known[page_id] = await asyncio.to_thread(read_page, page_path(page), text, link_base(page))
    return check


def _index(revision: Revision, target: Target) -> links.SpaceIndex:
    """Return the pages and files that links in a revision can lead to."""
    pages = links.ids_by_path((page.id, page.path, page.git.path if page.git else None) for page in revision.walk())
    files: dict[str, str] = {}
    for file in revision.files:
        for name in (file.id, file.git.path if file.git else None, file.name):
            if name:
                files.setdefault(name, file.id)
    parts = urlsplit(target.space.urls.app or "")
    origins = (f"{parts.scheme}://{parts.netloc}",) if parts.netloc else ()
    ids = frozenset(page.id for page in revision.walk())
    return links.SpaceIndex(pages, ids, files, target.space.id, origins)


def _findings(check: ReferenceCheck, loaded: Sequence[_Loaded], options: ContentOptions) -> list[Finding]:
    broken: dict[str, str] = {}
    if options.follows_urls:
        urls = dict.fromkeys(url for each in loaded for url in check.external_urls(each.checked))
        broken = broken_urls(list(urls)[:MAX_URLS], Fetcher())
    found = []
    for each in loaded:
        own = [*each.checked.findings, *check.findings(each.checked)]
        own += check.external_findings(each.checked, broken) if broken else ()
        if options.is_added_only and each.added is not None:
            own = [one for one in own if each.added.touches(one.place)]
        found += [replace(one, page=each.page.path or "") for one in own]
    return found


def _linted_page(loaded: _Loaded) -> LintedPage:
    page = loaded.page
    return LintedPage(page.path or page.id, page_path(page), parse(loaded.text), loaded.text, loaded.added)
