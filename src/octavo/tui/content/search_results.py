"""Builds the rows of the search dialog from responses of the server and from the search index on this computer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from octavo.api import search, urls
from octavo.api.change_requests import ChangeRequest
from octavo.api.folding import Range, fold, with_formulas
from octavo.api.spaces import Space
from octavo.data import search_index
from octavo.data.search_index import PageName
from octavo.data.search_text import SearchTerms
from octavo.documents import links
from octavo.lazy_import import lazy
from octavo.tui.widgets.short_texts import short_age

format_inline = lazy("octavo.tui.render.formulas:format_inline")

MAX_SECTIONS = 3
"""Maximum number of matching sections that are shown for a page."""
MAX_PATH = 32
"""Maximum number of characters of a path. A path is shown to tell pages with equal titles apart."""
EXCERPT_LENGTH = 160
"""Maximum number of characters of the text around a match."""
_TEXT_KIND_LABELS = {"reply": "in a reply", "quote": "in the quoted text"}
"""Notes about matches in a thread that are not in its first comment."""


@dataclass(frozen=True)
class SearchResult:
    """Row of the search dialog."""

    kind: Literal["page", "thread", "change request", "space", "collection"]
    space: str
    id: str
    title: str
    location: str
    excerpt: str = ""
    anchor: str = ""
    detail: str = ""
    url: str = ""
    marks: tuple[Range, ...] = ()
    """Ranges of the searched words in `excerpt`."""
    page_title: str = ""
    """Title of the page, without the title of the matching section."""
    path: str = ""
    """Path of the page in its space."""
    index_hit: search_index.Hit | None = None
    """Hit in the search index on this computer. None for a result of the server."""
    change_request: ChangeRequest | None = None
    """Change request that the result opens. None if it is not loaded, or if the result is of another kind."""

    @property
    def key(self) -> str:
        """Key of the row. Several rows about the same page or thread have different keys."""
        hit_key = (
            f"{self.index_hit.at} {self.index_hit.snippet}"
            if self.index_hit is not None and self.kind == "thread"
            else ""
        )
        return f"{self.kind} {self.space} {self.id} {self.anchor}{hit_key}"


class PageTitles:
    """Titles of the pages of a space, to show links in search results as titles."""

    def __init__(self, space_id: str, pages: Iterable[PageName]) -> None:
        self._pages = {page.id: page for page in pages}
        paths = ((page.id, page.path.rstrip("/"), page.git_path or None) for page in self._pages.values())
        self._index = links.SpaceIndex(links.ids_by_path(paths), frozenset(self._pages), None, space_id)

    def title(self, page_name: str) -> str | None:
        """Return the title of the page with this ID or path. None if there is no such page."""
        match = self._pages.get(page_name) or self._pages.get(self._index.page_id(page_name.strip("/")) or "")
        return match.title if match is not None else None

    def target(self, url: str, page_id: str) -> links.Target:
        """Return the target of the link `url` on the page with the ID `page_id`."""
        source = self._pages.get(page_id)
        return links.resolve(url, (source.git_path or source.path) if source is not None else "", self._index)


def link_results(content: urls.Content | None) -> list[SearchResult]:
    """Return the page, space, collection or change request of a pasted link as one result. Empty for other links."""
    if content is None:
        return []
    if content.collection is not None:
        return [SearchResult("collection", "", content.collection.id, content.collection.title, "collection")]
    if content.space is None:
        return []
    space, change, page = content.space, content.change_request, content.page
    if change is not None:
        title = f"#{change.number}  {change.title}"
        return [SearchResult("change request", space.id, change.id, title, space.title, change_request=change)]
    if page is not None:
        return [SearchResult("page", space.id, page.id, page.title, space.title)]
    return [SearchResult("space", space.id, space.id, space.title, "space")]


def server_page_results(hit: search.PageHit, space_id: str, space_title: str, terms: SearchTerms) -> list[SearchResult]:
    """Return a result for each of the first `MAX_SECTIONS` matching sections, or for the page if no section matches."""
    make_result = partial(
        SearchResult, "page", space_id, hit.id, url=hit.urls.app or "", page_title=hit.title, path=hit.path
    )
    sections = hit.sections[:MAX_SECTIONS]
    if not sections:
        text, marks = terms.excerpt(hit.description or "", EXCERPT_LENGTH)
        return [make_result(hit.title, space_title, text, marks=marks)]
    results = []
    for section in sections:
        text, marks = terms.excerpt(section.body, EXCERPT_LENGTH)
        text, marks = with_formulas(text, format_inline, marks)
        has_own_title = section.title and section.title != hit.title
        title = f"{hit.title} › {section.title}" if has_own_title else hit.title
        results.append(make_result(title, space_title, text, section.path.partition("#")[2], marks=marks))
    return results


def page_results(
    from_server: Sequence[SearchResult], hits: Iterable[search_index.Hit], space_title: Callable[[str], str]
) -> list[SearchResult]:
    """Return the pages from the server, then the other pages in `hits`. `space_title` returns the title of a space.
    If pages have the same title and location, the end of their path is added to the location."""
    server_ids = {(result.space, result.id) for result in from_server}
    results = [
        *from_server,
        *(
            SearchResult(
                "page",
                hit.space_id,
                hit.id,
                f"{hit.title} › {hit.path[-1]}" if hit.path else hit.title,
                space_title(hit.space_id),
                hit.snippet,
                hit.anchor,
                marks=hit.marks,
                page_title=hit.title,
                path=hit.page_path.strip("/"),
                index_hit=hit,
            )
            for hit in hits
            if hit.kind == "page" and (hit.space_id, hit.id) not in server_ids
        ),
    ]
    ids_by_title: dict[tuple[str, str], set[str]] = {}
    for result in results:
        ids_by_title.setdefault((result.page_title, result.location), set()).add(result.id)
    return [
        replace(result, location=" · ".join(filter(None, (_path_end(result.path), result.location))))
        if len(ids_by_title[result.page_title, result.location]) > 1
        else result
        for result in results
    ]


def thread_results(hits: Iterable[search_index.Hit], space_title: Callable[[str], str]) -> list[SearchResult]:
    """Return a result for each thread in `hits` of the search index. `space_title` is called with a space ID."""
    results = []
    for hit in hits:
        if hit.kind == "thread":
            subject = hit.title or ("a change request" if hit.change_request_id else "the whole space")
            details = (
                _TEXT_KIND_LABELS.get(hit.text_kind, ""),
                "resolved" if hit.about == "resolved" else "",
                short_age(hit.changed_at),
            )
            preposition = "in a thread on" if hit.text_kind == "reply" else "on"
            title = f"{hit.author} {preposition} {subject}"
            results.append(
                SearchResult(
                    "thread",
                    hit.space_id,
                    hit.id,
                    title,
                    space_title(hit.space_id),
                    hit.snippet,
                    marks=hit.marks,
                    detail=" · ".join(filter(None, details)),
                    index_hit=hit,
                )
            )
    return results


def change_request_results(
    text: str, change_requests: Iterable[ChangeRequest], hits: Iterable[search_index.Hit]
) -> list[SearchResult]:
    """Return the change requests whose number and title together have all words of `text`, then others in `hits`."""
    words = fold(text).split()
    results = [
        SearchResult(
            "change request",
            request.space,
            request.id,
            f"#{request.number}  {request.title}",
            " · ".join(filter(None, (request.status, request.author_name))),
            detail=short_age(request.updated_at),
            url=request.urls.app or "",
            change_request=request,
        )
        for request in change_requests
        if request.space and all(word in fold(f"#{request.number} {request.title}") for word in words)
    ]
    matching_ids = {result.id for result in results}
    return results + [
        SearchResult(
            "change request",
            hit.space_id,
            hit.id,
            f"#{hit.number}  {hit.title}",
            "",
            hit.snippet,
            marks=hit.marks,
            detail=" · ".join(filter(None, (hit.about, short_age(hit.changed_at)))),
            index_hit=hit,
        )
        for hit in hits
        if hit.kind == "change request" and hit.id not in matching_ids
    ]


def space_results(text: str, spaces: Iterable[Space]) -> list[SearchResult]:
    """Return the spaces whose titles contain all words of `text`."""
    words = fold(text).split()
    return [
        SearchResult("space", space.id, space.id, space.title, "space", url=space.urls.app or "")
        for space in spaces
        if all(word in fold(space.title) for word in words)
    ]


def _path_end(path: str) -> str:
    return path if len(path) <= MAX_PATH else f"…{path[1 - MAX_PATH :]}"
