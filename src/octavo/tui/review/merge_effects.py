"""Checks of what a merge would do to links, images, redirects and published sites. Each check reads a limited number of
pages. No result blocks the merge."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from urllib.parse import unquote

from octavo.api import content, links, redirects, sites
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Page, PageTree
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.operation import ChangeRequestRef, ContentRef, OrganizationRef, SiteRef
from octavo.api.safety import safe_line
from octavo.api.sites import Site
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op
from octavo.documents import links as link_model
from octavo.documents.anchors import PageAnchors, is_missing_anchor, page_anchors
from octavo.documents.links import images_without_text, references_in
from octavo.documents.source_reader import find_markers, parse
from octavo.tui.render.deferred import LinkContext, LinkTargets
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.short_texts import InfoRow

CHECK_TIMEOUT = 10.0
"""Seconds after which a check is stopped."""
MAX_CHECKED_PAGES = 30
"""Maximum number of changed pages that a check reads, except the check for conflict markers."""
MAX_MARKER_PAGES = 100
"""Maximum number of pages that are read to find conflict markers."""
MAX_SITES = 5
"""Maximum number of sites whose redirects are read."""
MAX_NAMES = 3
"""Maximum number of names that one row lists."""


async def run_with_timeout(label: str, check: Awaitable[tuple[InfoRow, ...]]) -> tuple[InfoRow, ...]:
    """Return the rows of `check`. If it fails or takes too long, return a row named `label` with the reason."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            return await check
    except TimeoutError:
        return (InfoRow("care", label, f"not checked: no response in {CHECK_TIMEOUT:.0f} s"),)
    except ApiError as error:
        return (InfoRow("care", label, f"not checked: {error}"),)


@dataclass(frozen=True)
class MergeTrees:
    """Base and current revision of a change request, each with its page tree."""

    base: ContentRef
    head: ContentRef
    old_tree: PageTree
    new_tree: PageTree

    @cached_property
    def titles(self) -> dict[str, str]:
        """Titles of the pages in the change request, by page ID."""
        return {page.id: page.title or "Untitled" for page in self.new_tree.walk()}


async def load_texts(live: Live, at: ContentRef, page_ids: Sequence[str]) -> dict[str, str]:
    """Return the Markdown of the pages `page_ids`, by ID, without pages that `at` does not have. Raises ApiError."""
    found_pages = await asyncio.gather(*(find_page(live, page_source_op(at, page_id)) for page_id in page_ids))
    return {page.id: page_markdown(page) for page in found_pages if page is not None}


async def check_links(live: Live, at: ChangeRequestRef, trees: MergeTrees, pages: Sequence[str]) -> tuple[InfoRow, ...]:
    """Return a row about links that the merge would break. `pages` has the IDs of changed pages. Raises ApiError."""
    op = links.ListOfChangeRequest(at=at, status="broken", broken_context="change-request", limit=100)
    try:
        response = await live.fetch(op)
    except (NotFound, Forbidden):
        return await _check_links_by_reading(live, trees, pages)
    broken_links = [f"{_linking_pages_label(link)} → {_target_url(link)}" for link in response.items]
    if not broken_links:
        return (InfoRow("ok", "links", "no links would break"),)
    at_least = "at least " if response.next is not None else ""
    text = f"{at_least}{short_texts.plural(len(broken_links), 'link')} would break: {list_first_names(broken_links)}"
    return (InfoRow("care", "links", text),)


def _linking_pages_label(link: links.Link) -> str:
    titles = list(dict.fromkeys(each.page.title for each in link.location_references if each.page is not None))
    if len(titles) > 2:
        return f"{titles[0]} and {len(titles) - 1} other pages"
    return " and ".join(titles) or "a page"


def _target_url(link: links.Link) -> str:
    target = link.target_reference
    return (target.url if target is not None else "") or "a missing target"


async def _check_links_by_reading(live: Live, trees: MergeTrees, page_ids: Sequence[str]) -> tuple[InfoRow, ...]:
    """Return a row about broken links on the changed pages. Used if the server cannot list them. Raises ApiError."""
    existing_ids = [page_id for page_id in page_ids if page_id in trees.titles]
    read_ids = existing_ids[:MAX_CHECKED_PAGES]
    context, texts = LinkContext(trees.new_tree, trees.head), await load_texts(live, trees.head, read_ids)
    broken_links = await asyncio.to_thread(_broken_links, context, texts)
    not_read_count = len(existing_ids) - len(read_ids)
    note = f", {short_texts.plural(not_read_count, 'page')} not checked" if not_read_count else ""
    deleted_count = sum(page.id not in trees.titles for page in trees.old_tree.walk())
    if deleted_count:
        note += f", links to {short_texts.plural(deleted_count, 'deleted page')} not checked"
    if broken_links:
        text = f"{short_texts.plural(len(broken_links), 'broken link')}: {list_first_names(broken_links)}{note}"
        return (InfoRow("care", "links", text),)
    return (InfoRow("care" if note else "ok", "links", f"no broken links on the changed pages{note}"),)


def _broken_links(context: LinkContext, texts: Mapping[str, str]) -> list[str]:
    """Return the broken links in `texts` (Markdown by page ID), such as `Setup → /missing`. A link to a heading is not
    checked if the linked page is not in `texts` or has reusable content."""
    documents = {page_id: parse(text) for page_id, text in texts.items()}
    links_by_page = {page_id: list(references_in(document)) for page_id, document in documents.items()}
    # Headings of reusable content are unknown, because it is not loaded.
    complete_ids = {
        page_id
        for page_id, links_of_page in links_by_page.items()
        if all(link.kind != "include" for link in links_of_page)
    }

    @cache
    def anchors_of(page_id: str) -> PageAnchors:
        return page_anchors(documents[page_id])

    def is_broken(page_id: str, target: link_model.Target) -> bool:
        match target:
            case link_model.AnchorLink(anchor=anchor):
                linked_page = page_id
            case link_model.PageLink(page_id=linked_page, anchor=anchor):
                pass
            case _:
                return isinstance(target, link_model.BrokenLink)
        return linked_page in complete_ids and is_missing_anchor(anchor or "", [anchors_of(linked_page)])

    broken_links = []
    for page_id, links_of_page in links_by_page.items():
        targets = LinkTargets(context, page_id)
        for link in links_of_page:
            if link.kind == "url" and is_broken(page_id, targets.resolve(link.target)):
                broken_links.append(f"{context.pages[page_id].title} → {link.target}")
    return list(dict.fromkeys(broken_links))


async def check_images(live: Live, trees: MergeTrees, changed_ids: Sequence[str]) -> tuple[InfoRow, ...]:
    """Return a row about new images without alternative text. Empty if there are none. Raises ApiError."""
    read_ids = [page_id for page_id in changed_ids if page_id in trees.titles][:MAX_CHECKED_PAGES]
    texts = [await load_texts(live, ref, read_ids) for ref in (trees.head, trees.base)]
    new_images = await asyncio.to_thread(_new_images_without_text, *texts)
    image_labels = [f"{name} on {trees.titles[page_id]}" for name, page_id in new_images]
    if not image_labels:
        return ()
    text = f"{short_texts.plural(len(image_labels), 'new image')} without alternative text: {list_first_names(image_labels)}"
    return (InfoRow("care", "images", text),)


def _new_images_without_text(new_texts: Mapping[str, str], old_texts: Mapping[str, str]) -> list[tuple[str, str]]:
    old_images = Counter(picture for text in old_texts.values() for picture in images_without_text(parse(text).walk()))
    new_images: list[tuple[str, str]] = []
    for page, text in new_texts.items():
        for picture in images_without_text(parse(text).walk()):
            if old_images[picture]:
                old_images[picture] -= 1
            else:
                new_images.append((safe_line(unquote(picture.rpartition("/")[2])) or "an image", page))
    return new_images


async def check_reverts(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, trees: MergeTrees, changed_ids: Sequence[str]
) -> tuple[InfoRow, ...]:
    """Return a row about lines that main changed and that the merge would change back. Empty without such lines, if
    the change request was never updated from main, or if a revision is missing or forbidden. Raises ApiError."""
    if change_request.revision_initial in (None, change_request.base):
        return ()  # The change request was never updated from main, or its first revision is unknown.
    initial_ref = at.revision_ref(change_request.revision_initial or "")
    read_ids = [page_id for page_id in changed_ids if page_id in trees.titles][:MAX_CHECKED_PAGES]
    try:
        texts_by_side = [await load_texts(live, ref, read_ids) for ref in (initial_ref, trees.base, trees.head)]
    except (NotFound, Forbidden):
        return ()
    counts = [_count_reverted_lines(*(side.get(page_id, "") for side in texts_by_side)) for page_id in read_ids]
    titles = [trees.titles[page_id] for page_id, count in zip(read_ids, counts, strict=True) if count]
    if not titles:
        return ()
    lines_text = f"{short_texts.plural(sum(counts), 'line')} that changed in main after this change request was created"
    return (InfoRow("care", "reverts", f"the merge would revert {lines_text}: {list_first_names(titles)}"),)


def _count_reverted_lines(initial: str, main: str, merged: str) -> int:
    initial_lines, main_lines, merged_lines = (
        Counter(filter(None, map(str.strip, text.split("\n")))) for text in (initial, main, merged)
    )
    return ((initial_lines - main_lines) & (merged_lines - main_lines)).total()


@dataclass(frozen=True)
class PagesWithMarkers:
    """Changed pages that have new conflict markers."""

    titles: tuple[str, ...] = ()
    skipped_count: int = 0
    """Number of changed pages that were not loaded."""


async def find_pages_with_markers(live: Live, trees: MergeTrees, changed_ids: Sequence[str]) -> PagesWithMarkers:
    """Return changed pages with new conflict markers. Only the first `MAX_MARKER_PAGES` are read. Raises ApiError."""
    existing_ids = [page for page in changed_ids if page in trees.titles]
    texts = await load_texts(live, trees.head, existing_ids[:MAX_MARKER_PAGES])
    counts = {page: count for page, text in texts.items() if (count := len(find_markers(text)))}
    # Count only new markers: markers that the page had before belong to its text.
    old_texts = await load_texts(live, trees.base, [*counts])
    titles = (
        trees.titles[page] for page, count in counts.items() if count > len(find_markers(old_texts.get(page, "")))
    )
    return PagesWithMarkers(tuple(titles), len(existing_ids[MAX_MARKER_PAGES:]))


async def published_sites(live: Live, space: Space) -> tuple[Site, ...] | None:
    """Return the published sites that show the space. None if its organization is unknown, or if loading fails."""
    if space.organization is None:
        return None
    op = sites.List(at=OrganizationRef(organization_id=space.organization), space=space.id, published=True, limit=100)
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            response = await live.fetch(op)
    except (TimeoutError, ApiError):
        return None
    return response.items


def publication_sentence(space: Space, published_on: Sequence[Site] | None) -> str:
    """Return a sentence that says where readers will see the merged content. `published_on` is None if unknown."""
    if published_on:
        names = [f"{site.title} ({_short_url(site)})" if _short_url(site) else site.title for site in published_on]
        return f"The merged changes will go live immediately on {list_first_names(names)}."
    if space.urls.published:
        return f"The merged changes will go live immediately on {space.urls.published}."
    return f"Merging will immediately change the main content of {space.title}."


def _short_url(site: Site) -> str:
    return (site.urls.published or "").removeprefix("https://").removeprefix("http://").rstrip("/")


@dataclass(frozen=True)
class PageToRedirect:
    """Page that a merge moves or deletes. Without a redirect, its old URL leads to no page."""

    title: str
    path: str
    new_path: str | None
    """Path after the merge. None if the page is deleted."""


def find_pages_to_redirect(old_tree: PageTree, new_tree: PageTree) -> tuple[PageToRedirect, ...]:
    """Return the pages whose old path would lead to no page after the merge. Includes subpages of moved pages."""
    new_paths = {page.id: page.path or "" for page in new_tree.walk() if _has_path(page)}
    used_paths = set(new_paths.values())
    return tuple(
        PageToRedirect(page.title or "Untitled", page.path or "", new_paths.get(page.id))
        for page in old_tree.walk()
        if _has_path(page) and new_paths.get(page.id) != page.path and page.path not in used_paths
    )


def _has_path(page: Page) -> bool:
    return page.type == "document" and page.path is not None


async def check_redirects(
    live: Live, trees: MergeTrees, space: Space, sites: Sequence[Site] | None
) -> tuple[InfoRow, ...]:
    """Return a row that says whether redirects exist for the old paths of moved and deleted pages. `sites` are the
    published sites of the space, None if unknown. Raises ApiError."""
    pages = find_pages_to_redirect(trees.old_tree, trees.new_tree)
    if not pages:
        return (InfoRow("ok", "redirects", "none needed: no pages are moved or deleted"),)
    moved_text = f"{short_texts.plural(len(pages), 'page')} moved or deleted"
    if sites is None:
        text = f"{moved_text}, redirects not checked: could not load the sites that use the space"
        return (InfoRow("care", "redirects", text),)
    if not sites:
        return (InfoRow("ok", "redirects", f"none needed: the space is not on a published site ({moved_text})"),)
    source_lists = await asyncio.gather(*(_redirect_sources(live, space, site) for site in sites[:MAX_SITES]))
    unread_count = len(sites) - sum(each is not None for each in source_lists)
    sources = {source for each in source_lists if each is not None for source in each}
    unredirected_pages = [each for each in pages if not _is_redirected(each.path, sources)]
    note = f", {short_texts.plural(unread_count, 'site')} not checked" if unread_count else ""
    if not unredirected_pages:
        return (InfoRow("care" if unread_count else "ok", "redirects", f"{moved_text}, all with a redirect{note}"),)
    names = [
        f"{each.title} /{each.path}" + (" (deleted)" if each.new_path is None else f" → /{each.new_path}")
        for each in unredirected_pages
    ]
    text = f"{short_texts.plural(len(unredirected_pages), 'page')} without a redirect: {list_first_names(names)}{note}"
    return (InfoRow("care", "redirects", text),)


async def _redirect_sources(live: Live, space: Space, site: Site) -> list[str] | None:
    at = SiteRef(organization_id=space.organization or "", site_id=site.id)
    try:
        redirect_list = await live.fetch(redirects.List(at=at, limit=1000))
    except (NotFound, Forbidden):
        return None
    return None if redirect_list.next is not None else [each.source for each in redirect_list.items]


def _is_redirected(path: str, sources: set[str]) -> bool:
    """Return whether one of `sources`, the start paths of redirects, ends with `path`. False if `path` is empty."""
    path_end = f"/{path}".rstrip("/")
    return any(unquote(source).rstrip("/").endswith(path_end) for source in sources) if path_end else False


def list_first_names(names: Sequence[str]) -> str:
    """Return the first `MAX_NAMES` names in one line, and how many more there are."""
    return ", ".join(short_texts.first_few(names, MAX_NAMES))


def changed_page_ids(changes: Sequence[content.Change]) -> tuple[str, ...]:
    """Return the IDs of the changed pages, without duplicates."""
    return tuple(dict.fromkeys(each.page.id for each in changes if each.page is not None))
