"""Where the redirects of a site lead, from its structure, its redirects and the server (`data/redirect_chains.py`)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from textual.content import Content

from octavo.api import content, redirects, site_structure, sites
from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import Operation
from octavo.api.places import SiteRef
from octavo.api.text import SafeLine
from octavo.data.live import Live
from octavo.data.redirect_chains import End, RedirectChain, chain_ends, follow_redirects, path_on_site
from octavo.tui.resources import site_tree
from octavo.tui.resources.access_reading import whole
from octavo.tui.resources.resource import AT_ONCE, Facts, Known
from octavo.tui.widgets.safe_text import AnyText
from octavo.tui.widgets.wording import plural

ENDS = {"loop": ("↻ loop", "$warning"), "dead end": ("✗ missing target", "$error")}
"""Marks of broken redirects."""


MOST_ASKED = 20
"""Redirects of one way that the server is asked about."""


class MarkedRedirect(redirects.Redirect):
    """A redirect, with how it ends where it leads nowhere: `loop` or `dead end`."""

    end: SafeLine = ""


def marked(
    listed: Sequence[redirects.Redirect], site: Any, known: Mapping[type[Operation[Any]], Any]
) -> Sequence[redirects.Redirect]:
    """Redirects with how they end, as far as the structure of the site is known."""
    structure = known.get(site_structure.Get)
    if structure is None:
        return listed
    parts = addresses(structure)
    targets = {each.source: _target(each.destination, parts) for each in listed}
    how = chain_ends(targets, site.urls.published or "")
    return [
        each if how[each.source] == "leads" else MarkedRedirect.model_construct(**dict(each), end=how[each.source])
        for each in listed
    ]


def pages_of(
    listed: Sequence[redirects.Redirect], known: Known, answers: Mapping[type[Operation[Any]], Any]
) -> Sequence[Operation[Any]]:
    """What says how the pages are called that redirects lead to: the trees of the spaces they are in."""
    structure = answers.get(site_structure.Get)
    if structure is None:
        return ()
    holding = {each.destination.site_space_id for each in listed if each.destination.page_id}
    on_site = (each for each, _ in site_tree.walk(structure) if isinstance(each, site_structure.SiteSpace))
    found = [each.space.ref for each in on_site if each.id in holding and each.space is not None]
    return [content.ListPages(at=at) for at in found[:MOST_ASKED]]


def sign(end: str) -> AnyText:
    """How that is marked in the list: with a word."""
    return Content.styled(*ENDS[end]) if end in ENDS else end


def addresses(structure: site_structure.SiteStructure) -> dict[str, str]:
    """Where each part of a site is found, by its id: what it is called before the site is published."""
    return {
        each.id: each.urls.published or site_tree.title_of(each)
        for each, _ in site_tree.walk(structure)
        if isinstance(each, site_structure.SiteSection | site_structure.SiteSpace)
    }


@dataclass(frozen=True)
class Way:
    """Where an address of a site leads."""

    chain: RedirectChain
    begins: bool
    """Whether a redirect starts there."""
    at: str
    """What of the site the last address is of. Empty: of nothing that is known."""
    among: Counter[End]
    """How all redirects of the site end."""

    @property
    def counted(self) -> str:
        """How many redirects lead nowhere."""
        counts = ((self.among["loop"], "loop"), (self.among["dead end"], "missing target"))
        said = " and ".join(plural(number, what) for number, what in counts if number)
        return (
            f"{plural(self.among.total(), 'redirect')} on this site, {f'including {said}' if said else 'none broken'}"
        )


async def of_redirect(live: Live, known: Known, thing: redirects.Redirect) -> Facts:
    """The way from a redirect: through others, round in a circle, or to nothing; and how many others do."""
    way = await find(live, known["at"], thing.source)
    page = await _page(live, known["at"], thing) if len(way.chain.steps) == 2 and way.chain.end == "leads" else ""
    facts = [("leads", way.chain.description), ("page", page or way.at), ("redirects", way.counted)]
    return [each for each in facts if each[1]]


async def _page(live: Live, at: SiteRef, thing: redirects.Redirect) -> str:
    """The page a redirect leads to, as it is called. Empty: it leads to none, or nobody says."""
    structure = await live.cached_or_fetch(site_structure.Get(at=at))
    for op in pages_of([thing], {}, {site_structure.Get: structure}):
        try:
            tree = await live.cached_or_fetch(op)
        except ApiError:
            return ""
        title = next((each.title for each in tree.walk() if each.id == thing.destination.page_id), "")
        return f"the page {title}" if title else ""
    return ""


async def find(live: Live, at: SiteRef, address: str) -> Way:
    """Where an address, or a path, of a site leads. Raises ApiError."""
    site, structure, listed = await asyncio.gather(
        live.cached_or_fetch(sites.Get(at=at)),
        live.cached_or_fetch(site_structure.Get(at=at)),
        whole(live, redirects.List(at=at, limit=AT_ONCE)),
    )
    base, parts = site.urls.published or "", addresses(structure)
    by_source = {each.source: each for each in listed}
    targets = {each.source: _target(each.destination, parts) for each in listed}
    among = Counter(chain_ends(targets, base).values())
    source = source_of(address, base)
    asked: set[str] = set()
    while True:
        chain = follow_redirects(source, targets, base)
        path = path_on_site(chain.steps[-2 if len(chain.steps) > 1 else 0], base)
        redirect = by_source.get(path)
        # A page may have gone, and an address may be spelled in several ways: the server knows.
        if (
            path in asked
            or len(asked) > MOST_ASKED
            or (redirect is not None and redirect.destination.kind in ("site-section", "site-space"))
        ):
            break
        asked.add(path)
        if not await _resolve(live, at, path, targets):
            break
    return Way(chain, source in targets, _part_at(structure, chain, base), among)


async def _resolve(live: Live, at: SiteRef, path: str, targets: dict[str, str | None]) -> bool:
    """Ask where a redirect leads now. False: the server does not say."""
    try:
        op = redirects.Resolve(at=at, source=path)
        if live.unavailable(op) is not None:
            return False
        targets[path] = (await live.send(op)).target
    except ValidationError:
        return False  # no redirect starts at what is no path
    except NotFound:
        if path not in targets:
            return False
        targets[path] = None
    except ApiError:
        return False  # what the lists say is said without it
    return True


def source_of(words: str, base: str) -> str:
    """The path of a site that somebody means: an address is cut, a slash is added, what has to be is escaped."""
    path = path_on_site(words.strip(), base)
    if "://" not in path and not path.startswith("/"):
        path = f"/{path}"
    return path if "://" in path else quote(path.rstrip("/") or "/", safe="/-._~%")


def _part_at(structure: site_structure.SiteStructure, chain: RedirectChain, base: str) -> str:
    """The part of a site that the last address of a chain is of: the one whose address is the longest that begins it."""
    if chain.end != "leads":
        return ""
    step = chain.steps[-1]
    last, found, title = f"{base.rstrip('/') if step.startswith('/') else ''}{step.rstrip('/')}/", "", ""
    for part, _ in site_tree.walk(structure):
        address = getattr(getattr(part, "urls", None), "published", None) or site_tree.title_of(part)
        if last.startswith(f"{address.rstrip('/')}/") and len(address) >= len(found):
            found, title = address, f"{site_tree.kind_of(part)} {site_tree.title_of(part)}"
    is_page = found and last.rstrip("/") != found.rstrip("/")
    return f"a page in the {title}" if is_page else f"the {title}" if title else ""


def _target(to: redirects.DestinationRead, parts: Mapping[str, str]) -> str | None:
    """What a redirect leads to. None: a part of the site that is gone."""
    match to.kind:
        case "site-section":
            return parts.get(to.site_section_id or "")
        case "site-space":
            return parts.get(to.site_space_id or "")
        case "site-page":
            space = parts.get(to.site_space_id or "")
            return None if space is None else f"a page in {space}"
    return to.url or to.kind
