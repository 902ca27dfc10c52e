"""Dialogs that publish or unpublish a site. They show who can see the site, and what changes for visitors. Start at
`confirm_publishing`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api import redirects, share_links, site_structure, sites
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import Listing, SiteRef
from octavo.api.site_structure import SectionGroup, SiteSection, SiteSpace, SiteStructure
from octavo.api.sites import Checkout, Site
from octavo.data.live import Live
from octavo.data.loaders import all_items
from octavo.data.writes.direct import SendResult, send_unchecked
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import site_tree
from octavo.tui.resources.resource import PAGE_SIZE, Arguments, LabeledValues
from octavo.tui.resources.resource_commands import Selection
from octavo.tui.review.checked_dialog import CheckedDialog, CheckedWrite, DialogContent
from octavo.tui.widgets.short_texts import InfoRow, first_few, plural

MAX_TITLES = 6
"""Maximum number of titles that one line of the dialog lists."""


@dataclass(frozen=True)
class SiteSnapshot:
    """A site with its structure, and the numbers of its redirects and active share links."""

    site: Site
    structure: SiteStructure
    link_count: int | None
    """Number of active share links. None if they cannot be loaded."""
    redirect_count: int | None
    """Number of redirects. None if they cannot be loaded."""

    @property
    def spaces(self) -> list[SiteSpace]:
        """All spaces of the site, including those in sections."""
        return [each for each, _ in site_tree.walk_parts(self.structure) if isinstance(each, SiteSpace)]

    @property
    def sections(self) -> list[SiteSection]:
        """All sections of the site, including those in section groups."""
        return [each for each, _ in site_tree.walk_parts(self.structure) if isinstance(each, SiteSection)]


async def load_site_snapshot(live: Live, site_ref: SiteRef) -> SiteSnapshot:
    """Load a site, its structure, and the numbers of links and redirects. Raises ApiError without site or structure."""
    site, structure, link_list, site_redirects = await asyncio.gather(
        live.send(sites.Get(at=site_ref)),
        live.send(site_structure.Get(at=site_ref)),
        _load_or_none(live, share_links.List(at=site_ref, limit=PAGE_SIZE)),
        _load_or_none(live, redirects.List(at=site_ref, limit=PAGE_SIZE)),
    )
    active_link_count = None if link_list is None else sum(1 for link in link_list if link.active)
    return SiteSnapshot(site, structure, active_link_count, None if site_redirects is None else len(site_redirects))


async def _load_or_none(live: Live, op: Listing[Any]) -> Sequence[Any] | None:
    try:
        return await all_items(live, op)
    except ApiError:
        return None


async def share_link_details(live: Live, arguments: Arguments, link: share_links.ShareLink) -> LabeledValues:
    """Return lines that say why a share link has no URL yet, and why none is needed. May be empty. Raises ApiError."""
    site = await live.cached_or_fetch(sites.Get(at=arguments["at"]))
    details: list[tuple[str, str]] = []
    if not site.published and not link.urls.published:
        details.append(("link", "available after the site is published (to publish it, press esc, then a)"))
    if site.visibility != "share-link":
        audience = label(site.visibility)
        details.append(("needed", f"no: the audience is “{audience}”, so visitors do not need a share link"))
    return details


def confirm_publishing(app: Shell, selection: Selection, *, publishes: bool) -> None:
    """Open the dialog that publishes the selected site. If `publishes` is False, the dialog unpublishes the site."""
    site: Site = selection.first_item
    site_ref: SiteRef = selection.resource.arguments_for(selection.arguments, site)["at"]
    verb = "Publish" if publishes else "Unpublish"
    write: CheckedWrite[SiteSnapshot] = CheckedWrite(
        title=f"{verb} {site.title or site.id}?",
        verb=verb,
        intro="",
        checks_label="site",
        blocked_while_loading="Octavo is still checking the site. Wait until the check is complete.",
        blocked_on_error=f"Could not check the site, so you cannot {verb.lower()} it yet. Press r to retry.",
        load=lambda: load_site_snapshot(app.session.live, site_ref),
        make_content=publish_dialog_content if publishes else unpublish_dialog_content,
        send=lambda snapshot: _send(app, site_ref, snapshot.site, publishes=publishes),
        next_step=f"Review the details before you {verb.lower()} the site.",
        rows=12 if publishes else 16,
        goes_live=True,
    )
    app.push_screen(CheckedDialog(app, write))


async def _send(app: Shell, site_ref: SiteRef, site: Site, *, publishes: bool) -> None:
    name, live = site.title or site.id, app.session.live
    verb, undo_verb = ("publish", "unpublish") if publishes else ("unpublish", "publish")
    send_undo = partial(_send_operation, live, site_ref, name, publishes=not publishes)
    undo_message = f"{name} is {'no longer published' if publishes else 'published again'}."
    undo = DirectUndo(f"{undo_verb} {name}", send_undo, undo_message)
    send_task = _send_operation(live, site_ref, name, publishes=publishes)
    app.writes.send(f"{verb} {name}", send_task, message=f"{verb.capitalize()}ed {name}.", make_undo=lambda _: undo)


async def _send_operation(live: Live, site_ref: SiteRef, name: str, *, publishes: bool) -> SendResult[Any]:
    op = sites.Publish(at=site_ref) if publishes else sites.Unpublish(at=site_ref)
    result = await send_unchecked(live, op, f"Could not {'publish' if publishes else 'unpublish'} {name}")
    if isinstance(result.result, Checkout):
        cause = "the site's plan has not been paid for. To pay, press o to open the site in the browser."
        return SendResult("refused", f"Could not publish {name}: {cause}")
    return result


def publish_dialog_content(snapshot: SiteSnapshot) -> DialogContent:
    """Return the content of the dialog for publishing: audience, URL, parts of the site, and parts that stay hidden."""
    site, spaces = snapshot.site, snapshot.spaces
    info_rows = [
        _audience(snapshot),
        InfoRow("note", "link", _url_of(site)),
        InfoRow("note", "shows", _contents(snapshot)),
    ]
    if start_page := _start_page(snapshot):
        info_rows.append(InfoRow("note", "starts at", start_page))
    if parts := [each for each, _ in site_tree.walk_parts(snapshot.structure) if getattr(each, "condition", None)]:
        info_rows.append(
            InfoRow("note", "conditional", f"{_titles(parts)}: shown only to visitors who meet the condition.")
        )
    if site.adaptive_content is not None and site.adaptive_content.enabled:
        info_rows.append(InfoRow("note", "adaptive", "Visitors see different content depending on their claims."))
    if empty_sections := [each for each in snapshot.sections if not each.site_spaces]:
        info_rows.append(InfoRow("care", "not shown", f"{_titles(empty_sections)} (no spaces)"))
    count = sum(each.space.change_requests_open + each.space.change_requests_draft for each in spaces if each.space)
    if count:
        requests_text = plural(count, "unmerged change request")
        info_rows.append(InfoRow("note", "not shown", f"changes in {requests_text} (visitors see only main)"))
    if snapshot.redirect_count:
        info_rows.append(
            InfoRow("note", "redirects", f"{plural(snapshot.redirect_count, 'redirect')} will become active.")
        )
    blocked = "This site is already published." if site.published else ""
    if not spaces:
        blocked = "The site has no spaces. To add a space, press esc, then enter to open the site, then ctrl+n."
    text_below = "" if blocked else "You can undo this by pressing u."
    return DialogContent(tuple(info_rows), intro="", text_below=text_below, blocked=blocked)


def unpublish_dialog_content(snapshot: SiteSnapshot) -> DialogContent:
    """Return the content of the dialog for unpublishing: URLs that stop working, and data that stays."""
    site = snapshot.site
    info_rows = [InfoRow("care", "link", f"{_url_of(site)} and all links under it will stop working.")]
    info_rows.append(InfoRow("care", "hides", _contents(snapshot)))
    if snapshot.link_count:
        info_rows.append(
            InfoRow("care", "share links", f"{plural(snapshot.link_count, 'share link')} will stop working.")
        )
    if snapshot.redirect_count:
        info_rows.append(
            InfoRow("care", "redirects", f"{plural(snapshot.redirect_count, 'redirect')} will stop working.")
        )
    if site.visibility == "public":
        info_rows.append(
            InfoRow(
                "care",
                "search engines",
                "Search engines will stop listing the site. If you publish the site again, search engines may need time to list it.",
            )
        )
    info_rows.append(
        InfoRow("note", "stays", "the site's spaces, structure, and settings (members can still read the spaces)")
    )
    blocked = "" if site.published else "This site is not published."
    text_below = "" if blocked else "You can publish the site again with the same link by pressing u."
    return DialogContent(tuple(info_rows), intro="", text_below=text_below, blocked=blocked)


def _audience(snapshot: SiteSnapshot) -> InfoRow:
    match snapshot.site.visibility:
        case "public":
            return InfoRow("care", "seen by", "everyone: the site is public, and search engines can index it")
        case "unlisted":
            return InfoRow(
                "care", "seen by", "anyone with the link: the site is unlisted, and search engines do not index it"
            )
        case "share-link" if snapshot.link_count == 0:
            return InfoRow(
                "care",
                "seen by",
                "no one yet: visitors need an active share link. Create or activate a share link in Share links.",
            )
        case "share-link":
            phrase = (
                "a share link"
                if snapshot.link_count is None
                else f"one of the {snapshot.link_count} active share links"
            )
            return InfoRow(
                "care", "seen by", f"anyone with {'the active share link' if snapshot.link_count == 1 else phrase}"
            )
        case "visitor-auth":
            return InfoRow("care", "seen by", "visitors who sign in (visitor authentication)")
    return InfoRow("care", "seen by", snapshot.site.visibility or "unknown: the server does not say")


def _url_of(site: Site) -> str:
    proxy_url = site.proxy.origin if site.proxy is not None else ""
    return site.urls.published or proxy_url or site.hostname or "assigned when the site is published"


def _contents(snapshot: SiteSnapshot) -> str:
    group_count = sum(isinstance(each, SectionGroup) for each, _ in site_tree.walk_parts(snapshot.structure))
    counts = ((len(snapshot.spaces), "space"), (len(snapshot.sections), "section"), (group_count, "group"))
    counts_text = ", ".join(plural(number, noun) for number, noun in counts if number)
    return f"{counts_text}: {_titles(snapshot.sections or snapshot.spaces)}" if counts_text else "nothing"


def _titles(parts: Sequence[Any]) -> str:
    return ", ".join(first_few([site_tree.title_of(part) for part in parts], MAX_TITLES))


def _start_page(snapshot: SiteSnapshot) -> str:
    section = next((each for each in snapshot.sections if each.default), None)
    spaces = section.site_spaces if section is not None else snapshot.spaces
    space = next((each for each in spaces if each.default), None)
    titles = [site_tree.title_of(each) for each in (section, space) if each is not None]
    return " › ".join(dict.fromkeys(titles))
