"""What a merge does beside the pages it changes: links it breaks, addresses that lead nowhere any more, where it goes live.

Each is asked for within bounds, and what was not looked at is said: none of it keeps anybody from merging.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

from octavo.api import content, links, redirects, sites
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Page, PageTree
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, ContentRef, OrganizationRef, RevisionRef, SiteRef
from octavo.api.safety import line as safe_line
from octavo.api.sites import Site
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.tui.render.link_targets import LinkContext, LinkTargets
from octavo.tui.shell.page_queries import find_page, get_page_source, page_markdown
from octavo.tui.widgets import wording
from octavo.tui.widgets.text_widgets import Fact

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds each is waited for."""
READ_PAGES = 30
"""More pages than this are not read in search of broken links, where the server does not list them."""
LOOK_FOR_MARKS = 100
"""More pages than this are not read in search of the marks of conflicts."""
LOOK_AT_SITES = 5
"""More sites than this are not looked at."""
NAMED = 3
"""How many things a line names."""


async def in_time(label: str, asked: Awaitable[tuple[Fact, ...]]) -> tuple[Fact, ...]:
    """What is found, or that it was not checked, and why."""
    try:
        return await asyncio.wait_for(asked, PATIENCE)
    except TimeoutError:
        return (Fact("care", label, f"not checked: no response in {PATIENCE:.0f} s"),)
    except ApiError as error:
        return (Fact("care", label, f"not checked: {error}"),)


# Links


@dataclass(frozen=True)
class PagesBeforeAndAfter:
    """The pages before and after."""

    before: ContentRef
    after: ContentRef
    tree_before: PageTree
    tree_after: PageTree


async def links_broken(
    live: Live, at: ChangeRequestRef, both: PagesBeforeAndAfter, changed: Sequence[str]
) -> tuple[Fact, ...]:
    """The links that a change request breaks; `changed` are the ids of the pages whose text it has to do with."""
    op = links.ListOfChangeRequest(at=at, status="broken", broken_context="change-request", limit=100)
    try:
        found = await live.fetch(op)
    except (NotFound, Forbidden):
        return await _links_read(live, both, changed)
    said = [f"{_where(link)} → {_to(link)}" for link in found.items]
    if not said:
        return (Fact("ok", "links", "no links would break"),)
    more = "at least " if found.next is not None else ""
    return (Fact("care", "links", f"{more}{wording.plural(len(said), 'link')} would break: {some(said)}"),)


def _where(link: links.Link) -> str:
    pages = list(dict.fromkeys(each.page.title for each in link.location_references if each.page is not None))
    if len(pages) > 2:
        return f"{pages[0]} and {len(pages) - 1} other pages"
    return " and ".join(pages) or "a page"


def _to(link: links.Link) -> str:
    target = link.target_reference
    return (target.url if target is not None else "") or "a missing target"


async def _links_read(live: Live, both: PagesBeforeAndAfter, changed: Sequence[str]) -> tuple[Fact, ...]:
    """Links that the changed pages have now and that lead nowhere, where the server does not list links."""
    there = {page.id for page in both.tree_after.walk()}
    wanted = [page for page in changed if page in there]
    read = wanted[:READ_PAGES]
    texts = await asyncio.gather(*(find_page(live, get_page_source(both.after, page)) for page in read))
    ground = LinkContext(both.tree_after, both.after)
    said = await asyncio.to_thread(_dead, ground, {page.id: page_markdown(page) for page in texts if page is not None})
    unread = f", {wording.plural(len(wanted) - len(read), 'page')} not checked" if len(wanted) > len(read) else ""
    gone = sum(page.id not in there for page in both.tree_before.walk())
    if gone:
        unread += f", links to {wording.plural(gone, 'deleted page')} not checked"
    if said:
        return (Fact("care", "links", f"{wording.plural(len(said), 'broken link')}: {some(said)}{unread}"),)
    return (Fact("care" if unread else "ok", "links", f"no broken links on the changed pages{unread}"),)


def _dead(ground: LinkContext, texts: Mapping[str, str]) -> list[str]:
    """Return the broken links of some pages, each with the title of its page. Headings are looked for on these pages only."""
    from octavo.documents import anchors
    from octavo.documents import links as leading
    from octavo.documents.links import references_in
    from octavo.documents.parse import parse

    documents = {page_id: parse(text) for page_id, text in texts.items()}
    found = {page_id: list(references_in(document)) for page_id, document in documents.items()}
    # Reusable content, which is not read here, may have further headings.
    whole = {page_id for page_id, of_page in found.items() if all(usage.kind != "include" for usage in of_page)}

    def is_broken(page_id: str, target: leading.Target) -> bool:
        match target:
            case leading.ToAnchor(anchor=anchor):
                there = page_id
            case leading.ToPage(page=there, anchor=anchor):
                pass
            case _:
                return isinstance(target, leading.BrokenLink)
        return bool(anchor) and there in whole and anchors.find_heading(anchor or "", documents[there].headings) is None

    said = []
    for page_id, of_page in found.items():
        targets = LinkTargets(ground, page_id)
        for usage in of_page:
            if usage.kind == "address" and is_broken(page_id, targets.resolve(usage.target)):
                said.append(f"{ground.pages[page_id].title} → {usage.target}")
    return list(dict.fromkeys(said))


# Pictures


async def pictures(live: Live, both: PagesBeforeAndAfter, changed: Sequence[str]) -> tuple[Fact, ...]:
    """Return the new images without alternative text. Empty if all have one."""
    titles = {page.id: page.title or "Untitled" for page in both.tree_after.walk()}
    read = [page for page in changed if page in titles][:READ_PAGES]
    sides = [
        await asyncio.gather(*(find_page(live, get_page_source(place, page)) for page in read))
        for place in (both.after, both.before)
    ]
    texts = [{page.id: page_markdown(page) for page in side if page is not None} for side in sides]
    said = [f"{name} on {titles[page]}" for name, page in await asyncio.to_thread(_silent, *texts)]
    if not said:
        return ()
    text = f"{wording.plural(len(said), 'new image')} without alternative text: {some(said)}"
    return (Fact("care", "images", text),)


def _silent(after: Mapping[str, str], before: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names of pictures without words that were on none of the pages before, each with a page it is on."""
    from octavo.documents.links import images_without_text
    from octavo.documents.parse import parse

    stood = Counter(picture for text in before.values() for picture in images_without_text(parse(text)))
    found: list[tuple[str, str]] = []
    for page, text in after.items():
        for picture in images_without_text(parse(text)):
            if stood[picture]:
                stood[picture] -= 1
            else:
                found.append((safe_line(unquote(picture.rpartition("/")[2])) or "an image", page))
    return found


# What main changed meanwhile


async def puts_back(
    live: Live, at: ChangeRequestRef, change_request: ChangeRequest, both: PagesBeforeAndAfter, changed: Sequence[str]
) -> tuple[Fact, ...]:
    """Return the lines that main changed and the change request would revert without a conflict. Empty if there are none.

    The change request has the lines as they were when it was started.
    """
    if change_request.revision_initial in (None, change_request.base):
        return ()  # main did not change anything that came into it
    started = RevisionRef(space_id=at.space_id, revision_id=change_request.revision_initial or "")
    titles = {page.id: page.title or "Untitled" for page in both.tree_after.walk()}
    read = [page for page in changed if page in titles][:READ_PAGES]
    try:
        three = [
            await asyncio.gather(*(find_page(live, get_page_source(place, page)) for page in read))
            for place in (started, both.before, both.after)
        ]
    except (NotFound, Forbidden):
        return ()
    counts = [_lines_back(*map(page_markdown, each)) for each in zip(*three, strict=True)]
    said = [titles[page] for page, count in zip(read, counts, strict=True) if count]
    if not said:
        return ()
    lines = wording.plural(sum(counts), "line")
    return (
        Fact(
            "care",
            "reverts",
            f"the merge would revert {lines} that changed in main after this change request was created: {some(said)}",
        ),
    )


def _lines_back(started: str, main: str, after: str) -> int:
    before, now, then = (Counter(filter(None, map(str.strip, text.split("\n")))) for text in (started, main, after))
    return ((before - now) & (then - now)).total()


# Marks


@dataclass(frozen=True)
class PagesWithMarkers:
    """The changed pages that both sides of a conflict came into, with the marks between them."""

    titles: tuple[str, ...] = ()
    unread: int = 0
    """How many changed pages were not looked at."""


async def marked(live: Live, both: PagesBeforeAndAfter, changed: Sequence[str]) -> PagesWithMarkers:
    """Look for the marks of conflicts in the changed pages. Raises ApiError."""
    pages = {page.id: page.title or "Untitled" for page in both.tree_after.walk()}
    wanted = [page for page in changed if page in pages]
    read = wanted[:LOOK_FOR_MARKS]
    there = await asyncio.gather(*(find_page(live, get_page_source(both.after, page)) for page in read))
    found = [page for page in there if page is not None and _marks(page)]
    # Marks that stood there before are words: such as on a page about git.
    stood = await asyncio.gather(*(find_page(live, get_page_source(both.before, page.id)) for page in found))
    titles = tuple(pages[now.id] for now, then in zip(found, stood, strict=True) if _marks(now) > _marks(then))
    return PagesWithMarkers(titles, len(wanted) - len(read))


def _marks(page: Page | None) -> int:
    from octavo.documents.conflict_markers import find_markers

    return len(find_markers(page_markdown(page)))


# Where it goes live


async def sites_with(live: Live, space: Space) -> tuple[Site, ...] | None:
    """The published sites a space is on. None where that is not known."""
    if space.organization is None:
        return None
    op = sites.List(at=OrganizationRef(organization_id=space.organization), space=space.id, published=True, limit=100)
    try:
        found = await asyncio.wait_for(live.fetch(op), PATIENCE)
    except (TimeoutError, ApiError):
        return None
    return found.items


def goes_live(space: Space, on: Sequence[Site] | None) -> str:
    """Return a sentence that says where readers see the merge."""
    if on:
        named = [f"{site.title} ({_host(site)})" if _host(site) else site.title for site in on]
        return f"The merged changes will go live immediately on {some(named)}."
    if space.urls.published:
        return f"The merged changes will go live immediately on {space.urls.published}."
    return f"Merging will immediately change the main content of {space.title}."


def _host(site: Site) -> str:
    return (site.urls.published or "").removeprefix("https://").removeprefix("http://").rstrip("/")


# Addresses


@dataclass(frozen=True)
class MissingPage:
    """A page that is not at its address any more."""

    title: str
    path: str
    now: str | None
    """Its path from then on. None when it is deleted."""


def addresses_gone(before: PageTree, after: PageTree) -> tuple[MissingPage, ...]:
    """The documents that are elsewhere or nowhere after a merge, with those below a page that moves."""
    now = {page.id: page.path or "" for page in after.walk() if _has_address(page)}
    paths = set(now.values())
    return tuple(
        MissingPage(page.title or "Untitled", page.path or "", now.get(page.id))
        for page in before.walk()
        if _has_address(page) and now.get(page.id) != page.path and page.path not in paths
    )


def _has_address(page: Page) -> bool:
    return page.type == "document" and page.path is not None


async def addresses(live: Live, both: PagesBeforeAndAfter, space: Space, on: Sequence[Site] | None) -> tuple[Fact, ...]:
    """Whether readers still find the pages that move or are deleted."""
    gone = addresses_gone(both.tree_before, both.tree_after)
    if not gone:
        return (Fact("ok", "redirects", "none needed: no pages are moved or deleted"),)
    counted = f"{wording.plural(len(gone), 'page')} moved or deleted"
    if on is None:
        return (
            Fact("care", "redirects", f"{counted}, redirects not checked: could not load the sites that use the space"),
        )
    if not on:
        return (Fact("ok", "redirects", f"none needed: the space is not on a published site ({counted})"),)
    lists = await asyncio.gather(*(_redirects(live, space, site) for site in on[:LOOK_AT_SITES]))
    unread = len(on) - sum(each is not None for each in lists)
    sources = {source for each in lists if each is not None for source in each}
    bare = [each for each in gone if not _leads_on(each.path, sources)]
    not_checked = f", {wording.plural(unread, 'site')} not checked" if unread else ""
    if not bare:
        return (Fact("care" if unread else "ok", "redirects", f"{counted}, all with a redirect{not_checked}"),)
    said = [f"{each.title} /{each.path}" + (" (deleted)" if each.now is None else f" → /{each.now}") for each in bare]
    return (
        Fact("care", "redirects", f"{wording.plural(len(bare), 'page')} without a redirect: {some(said)}{not_checked}"),
    )


async def _redirects(live: Live, space: Space, site: Site) -> list[str] | None:
    """The sources of all redirects of a site. None where they cannot be seen, or are too many."""
    at = SiteRef(organization_id=space.organization or "", site_id=site.id)
    try:
        found = await live.fetch(redirects.List(at=at, limit=1000))
    except (NotFound, Forbidden):
        return None
    return None if found.next is not None else [each.source for each in found.items]


def _leads_on(path: str, sources: set[str]) -> bool:
    """Whether a redirect starts where a page was: what comes before its path is that of the space on the site."""
    wanted = f"/{path}".rstrip("/")
    return any(unquote(source).rstrip("/").endswith(wanted) for source in sources) if wanted else False


def some(said: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    return ", ".join(said[:NAMED]) + (f", and {len(said) - NAMED} more" if len(said) > NAMED else "")


def page_ids(changes: Sequence[content.Change]) -> Iterator[str]:
    """The pages that changes are about, each once."""
    yield from dict.fromkeys(each.page.id for each in changes if each.page is not None)
