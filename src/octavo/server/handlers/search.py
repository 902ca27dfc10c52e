"""Full-text search in the main content of spaces and sites.

Search finds sections of pages. A section matches if it contains all words of the query. The last word may be the start
of a longer word. The first section has the page title and the text before the first heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from urllib.parse import quote

from octavo.api import search
from octavo.api.folding import (
    SIGNED,
    end_after_mention,
    fold_for_search,
    from_index_text,
    mentioned_urls,
    subword_starts,
    to_index_text,
    with_titles,
)
from octavo.documents import links, page_trees
from octavo.server.handlers.site_structure import SiteView, site_view
from octavo.server.handlers.spaces import visible_spaces
from octavo.server.rest import RequestContext, handle, paginate
from octavo.server.store import Json, SearchHit

SECTION_LIMIT = 1000
"""Maximum number of sections that the platform finds for a query."""
SECTIONS_OF_PAGE = 5
"""Maximum number of sections of a page in the results."""
PAGES_OF_SPACE = 20
"""Maximum number of pages of each space in a search of several spaces."""

SNIPPET_LENGTH = 200
"""Approximate number of characters in a snippet, if the match is inside a word or in the title."""

_WORD = re.compile(rf"\w+(?:{SIGNED})?")


@handle.register
def _in_space(op: search.InSpace, context: RequestContext) -> Json:
    space = context.store.get(f"/spaces/{op.at.space_id}")
    hits = _present_pages(context, space, _find_sections(context, [space["id"]], op.query), op.query)
    return paginate(op, enumerate(hits))


@handle.register
def _in_organization(op: search.InOrganization, context: RequestContext) -> Json:
    return search_spaces(
        op, context, {space["id"]: space for _, space in visible_spaces(context, op.at.organization_id)}
    )


def search_spaces(op: search.InOrganization | search.InSite, context: RequestContext, spaces: dict[str, Json]) -> Json:
    """Return the matching pages of several spaces, the space with the best match first."""
    hits_by_space: dict[str, list[SearchHit]] = {}
    for section in _find_sections(context, list(spaces), op.query):
        hits_by_space.setdefault(section.space, []).append(section)
    return paginate(
        op, enumerate(hits_by_space.items()), lambda pair: _present_space(context, spaces[pair[0]], pair[1], op.query)
    )


def _find_sections(context: RequestContext, spaces: list[str], query_text: str) -> list[SearchHit]:
    index_words = [to_index_text(word) for word in _query_words(query_text)]
    if not index_words or not spaces:
        return []
    query = " AND ".join(f'"{word}"' for word in index_words) + "*"
    return context.store.search(spaces, query, SECTION_LIMIT)


def _query_words(query_text: str) -> list[str]:
    return _WORD.findall(fold_for_search(query_text))


def _present_space(context: RequestContext, space: Json, sections: Iterable[SearchHit], query_text: str) -> Json:
    pages = _present_pages(context, space, sections, query_text)[:PAGES_OF_SPACE]
    return {"id": space["id"], "title": space["title"], "pages": pages}


def _present_pages(context: RequestContext, space: Json, sections: Iterable[SearchHit], query_text: str) -> list[Json]:
    """Return the pages to which the found `sections` belong, as API resources, in the order of `sections`."""
    revision = context.store.get(f"/spaces/{space['id']}/revisions/{space['revision']}")
    pages_by_id = {page["id"]: page for page in page_trees.walk(revision["pages"])}
    link_targets: links.SpaceIndex | None = None
    app_url = context.url(f"/o/{space['organization']}/s/{space['id']}")
    hits: dict[str, Json] = {}
    for section in sections:
        document = pages_by_id.get(section.page)
        if document is None:
            continue
        url = f"{app_url}/{quote(document['path'])}"
        page_fields = {"id": document["id"], "title": document["title"], "path": document["path"], "sections": []}
        hit = hits.setdefault(section.page, {**page_fields, "urls": {"app": url}})
        shown_anchors = {each["id"] for each in hit["sections"]}
        if len(shown_anchors) < SECTIONS_OF_PAGE and section.anchor not in shown_anchors:
            fragment = f"#{section.anchor}" if section.anchor else ""
            body = (
                from_index_text(section.snippet)
                if section.section_id_to_search is None
                else _partial_match_snippet(context, section.section_id_to_search, query_text)
            )
            if next(mentioned_urls(body), None):
                link_targets = link_targets or page_trees.space_index_of_json(revision)
                body, _ = with_titles(body, partial(_linked_page_title, pages_by_id, link_targets, document))
            texts = {"title": from_index_text(section.title), "body": body}
            section_path = document["path"] + fragment
            hit["sections"].append(
                {"id": section.anchor, "path": section_path, **texts, "urls": {"app": url + quote(fragment, safe="#")}}
            )
    return list(hits.values())


def _partial_match_snippet(context: RequestContext, section_id: int, query_text: str) -> str:
    """Return a part of a section's text, around the first match inside a word, such as `Id` in `getStationId`. If there
    is no match, return the beginning of the text."""
    body, words = from_index_text(context.store.section_body(section_id)), _query_words(query_text)
    starts = (
        at for at in subword_starts(body) if any(fold_for_search(body[at : at + len(word)]) == word for word in words)
    )
    start = max(0, next(starts, 0) - SNIPPET_LENGTH // 3)
    start = body.find(" ", start) + 1 if start else 0
    end = end_after_mention(body, start + SNIPPET_LENGTH)
    return f"{'…' if start else ''}{body[start:end]}{'…' if end < len(body) else ''}"


def _linked_page_title(tree: dict[str, Json], link_targets: links.SpaceIndex, page: Json, address: str) -> str | None:
    target = links.resolve(address, page_trees.link_base(page), link_targets)
    return str(tree[target.page_id]["title"]) if isinstance(target, links.PageLink) else None


@handle.register
def _in_site(op: search.InSite, context: RequestContext) -> Json:
    view = site_view(context, op.at)
    chosen_spaces = _spaces_in_scope(op.scope, view)
    return search_spaces(op, context, {space: view.tree.spaces[space] for space in chosen_spaces})


def _spaces_in_scope(scope: search.DefaultScope | search.SpecificScope | search.AllScope, view: SiteView) -> list[str]:
    spaces = {part.document["id"]: part.document for part in view.site_spaces()}
    chosen_ids: set[str | None]
    if isinstance(scope, search.SpecificScope):
        chosen_ids = set(scope.site_space_ids)
    elif isinstance(scope, search.AllScope):
        chosen_ids = {*spaces}
    else:
        current = spaces.get(scope.current_site_space or "")
        sections = {each.get("section") for each in spaces.values()} - ({current.get("section")} if current else set())
        chosen_ids = {view.tree.default_site_space_id(section) for section in sections} | (
            {current["id"]} if current else set()
        )
    return [each["space"] for each in spaces.values() if each["id"] in chosen_ids]
