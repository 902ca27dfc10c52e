"""Publishes and unpublishes a site, after a dialog that says who will see what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api import redirects, share_links, site_structure, sites
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import Listing
from octavo.api.places import SiteRef
from octavo.api.site_structure import SectionGroup, SiteSection, SiteSpace, SiteStructure
from octavo.api.sites import Checkout, Site
from octavo.data.live import Live
from octavo.data.writes.direct import SendResult, send_plain
from octavo.tui.resources import site_tree
from octavo.tui.resources.access_reading import whole
from octavo.tui.resources.resource import AT_ONCE, Facts, Known
from octavo.tui.shell.shell import Shell
from octavo.tui.widgets.text_widgets import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.resources.acting import AtHand
    from octavo.tui.review.checked_dialog import Shown

MOST_NAMED = 6
"""Parts of a site that are named one by one."""


@dataclass(frozen=True)
class Found:
    """A site as it is now, and what leads to it."""

    site: Site
    structure: SiteStructure
    links: int | None
    """Share links that work. None: the server does not say."""
    redirects: int | None

    @property
    def spaces(self) -> list[SiteSpace]:
        """The spaces on it."""
        return [each for each, _ in site_tree.walk(self.structure) if isinstance(each, SiteSpace)]

    @property
    def sections(self) -> list[SiteSection]:
        """Its sections."""
        return [each for each, _ in site_tree.walk(self.structure) if isinstance(each, SiteSection)]


async def look(live: Live, at: SiteRef) -> Found:
    """How a site is now. Raises ApiError."""
    site, structure, links, leading = await asyncio.gather(
        live.send(sites.Get(at=at)),
        live.send(site_structure.Get(at=at)),
        _all(live, share_links.List(at=at, limit=AT_ONCE)),
        _all(live, redirects.List(at=at, limit=AT_ONCE)),
    )
    working = None if links is None else sum(1 for each in links if each.active)
    return Found(site, structure, working, None if leading is None else len(leading))


async def _all(live: Live, op: Listing[Any]) -> Sequence[Any] | None:
    """The whole of a list. None: it is not to be had, and what is asked is asked without it."""
    try:
        return await whole(live, op)
    except ApiError:
        return None


async def of_share_link(live: Live, known: Known, link: share_links.ShareLink) -> Facts:
    """Return why a share link has no URL yet, and whether visitors need it. Raises ApiError."""
    site = await live.cached_or_fetch(sites.Get(at=known["at"]))
    facts: list[tuple[str, str]] = []
    if not site.published and not link.urls.published:
        facts.append(("link", "available after the site is published (to publish it, press esc, then a)"))
    if site.visibility != "share-link":
        facts.append(
            ("needed", f"no: the audience is “{label(site.visibility)}”, so visitors do not need a share link")
        )
    return facts


def publish(app: Shell, at: AtHand) -> None:
    """Ask before a site is published."""
    _ask(app, at.known_of_first["at"], at.thing, publishes=True)


def unpublish(app: Shell, at: AtHand) -> None:
    """Ask before a site is unpublished."""
    _ask(app, at.known_of_first["at"], at.thing, publishes=False)


def _ask(app: Shell, at: SiteRef, site: Site, *, publishes: bool) -> None:
    from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite  # tables are looked at without it

    verb = "Publish" if publishes else "Unpublish"
    write: CheckedWrite[Found] = CheckedWrite(
        title=f"{verb} {site.title or site.id}?",
        verb=verb,
        intro="",
        label="site",
        not_yet="Octavo is still checking the site. Wait until the check is complete.",
        unknown=f"Could not check the site, so you cannot {verb.lower()} it yet. Press r to retry.",
        ask=lambda: look(app.session.live, at),
        shown=before_publishing if publishes else before_unpublishing,
        send=lambda found: _send(app, at, found.site, publishes=publishes),
        again=f"Review the details before you {verb.lower()} the site.",
        goes_live=True,
    )
    app.push_screen(CheckedDialog(app, write))


async def _send(app: Shell, at: SiteRef, site: Site, *, publishes: bool) -> None:
    from octavo.tui.shell.write_queue import DirectUndo

    name, live = site.title or site.id, app.session.live
    undo = DirectUndo(
        f"{'unpublish' if publishes else 'publish'} {name}",
        partial(_sent, live, at, name, publishes=not publishes),
        f"{name} is {'no longer published' if publishes else 'published again'}.",
    )
    app.writes.send(
        f"{'publish' if publishes else 'unpublish'} {name}",
        _sent(live, at, name, publishes=publishes),
        message=f"{'Published' if publishes else 'Unpublished'} {name}.",
        make_undo=lambda _: undo,
    )


async def _sent(live: Live, at: SiteRef, name: str, *, publishes: bool) -> SendResult[Any]:
    op = sites.Publish(at=at) if publishes else sites.Unpublish(at=at)
    sent = await send_plain(live, op, f"Could not {'publish' if publishes else 'unpublish'} {name}")
    if isinstance(sent.result, Checkout):
        return SendResult(
            "refused",
            f"Could not publish {name}: the site's plan has not been paid for. To pay, press o to open the site in the browser.",
        )
    return sent


# What is said


def before_publishing(found: Found) -> Shown:
    """Return who will see what at which link, and what stays hidden."""
    from octavo.tui.review.checked_dialog import Shown

    site, spaces = found.site, found.spaces
    facts = [_audience(found), Fact("note", "link", _address(site)), Fact("note", "shows", _holds(found))]
    if begins := _begins(found):
        facts.append(Fact("note", "starts at", begins))
    if conditions := [each for each, _ in site_tree.walk(found.structure) if getattr(each, "condition", None)]:
        facts.append(
            Fact("note", "conditional", f"{_named(conditions)}: shown only to visitors who meet the condition.")
        )
    if site.adaptive_content is not None and site.adaptive_content.enabled:
        facts.append(Fact("note", "adaptive", "Visitors see different content depending on their claims."))
    if empty := [each for each in found.sections if not each.site_spaces]:
        facts.append(Fact("care", "not shown", f"{_named(empty)} (no spaces)"))
    drafts = sum(each.space.change_requests_open + each.space.change_requests_draft for each in spaces if each.space)
    if drafts:
        unmerged = plural(drafts, "unmerged change request")
        facts.append(Fact("note", "not shown", f"changes in {unmerged} (visitors see only main)"))
    if found.redirects:
        facts.append(Fact("note", "redirects", f"{plural(found.redirects, 'redirect')} will become active."))
    blocked = "This site is already published." if site.published else ""
    if not spaces:
        blocked = "The site has no spaces. To add a space, press esc, then enter to open the site, then ctrl+n."
    return Shown(tuple(facts), intro="", after="You can undo this by pressing u.", blocked=blocked)


def before_unpublishing(found: Found) -> Shown:
    """Return which links stop working, and what stays."""
    from octavo.tui.review.checked_dialog import Shown

    site = found.site
    facts = [Fact("care", "link", f"{_address(site)} and all links under it will stop working.")]
    facts.append(Fact("care", "hides", _holds(found)))
    if found.links:
        facts.append(Fact("care", "share links", f"{plural(found.links, 'share link')} will stop working."))
    if found.redirects:
        facts.append(Fact("care", "redirects", f"{plural(found.redirects, 'redirect')} will stop working."))
    if site.visibility == "public":
        facts.append(
            Fact(
                "care",
                "search engines",
                "Search engines will stop listing the site. If you publish the site again, search engines may need time to list it.",
            )
        )
    facts.append(
        Fact("note", "stays", "the site's spaces, structure, and settings (members can still read the spaces)")
    )
    blocked = "" if site.published else "This site is not published."
    return Shown(
        tuple(facts),
        intro="",
        after="You can publish the site again with the same link by pressing u.",
        blocked=blocked,
    )


def _audience(found: Found) -> Fact:
    match found.site.visibility:
        case "public":
            return Fact("care", "seen by", "everyone: the site is public, and search engines can index it")
        case "unlisted":
            return Fact(
                "care", "seen by", "anyone with the link: the site is unlisted, and search engines do not index it"
            )
        case "share-link" if found.links == 0:
            return Fact(
                "care",
                "seen by",
                "no one yet: visitors need an active share link. Create or activate a share link in Share links.",
            )
        case "share-link":
            count = "a share link" if found.links is None else f"one of the {found.links} active share links"
            return Fact("care", "seen by", f"anyone with {'the active share link' if found.links == 1 else count}")
        case "visitor-auth":
            return Fact("care", "seen by", "visitors who sign in (visitor authentication)")
    return Fact("care", "seen by", found.site.visibility or "unknown: the server does not say")


def _address(site: Site) -> str:
    proxy = site.proxy.origin if site.proxy is not None else ""
    return site.urls.published or proxy or site.hostname or "assigned when the site is published"


def _holds(found: Found) -> str:
    groups = sum(isinstance(each, SectionGroup) for each, _ in site_tree.walk(found.structure))
    counts = ((len(found.spaces), "space"), (len(found.sections), "section"), (groups, "group"))
    said = ", ".join(plural(number, what) for number, what in counts if number)
    return f"{said}: {_named(found.sections or found.spaces)}" if said else "nothing"


def _named(parts: Sequence[Any]) -> str:
    more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
    return f"{', '.join(site_tree.title_of(each) for each in parts[:MOST_NAMED])}{more}"


def _begins(found: Found) -> str:
    section = next((each for each in found.sections if each.default), None)
    spaces = section.site_spaces if section is not None else found.spaces
    space = next((each for each in spaces if each.default), None)
    titles = [site_tree.title_of(each) for each in (section, space) if each is not None]
    return " › ".join(dict.fromkeys(titles))
