"""What sites have: their structure, redirects, share links, and who sees them."""

from __future__ import annotations

from typing import Any

from octavo.api import mcp_servers, redirects, share_links, site_structure, sites
from octavo.api.operation import Operation
from octavo.api.places import SiteRef
from octavo.tui.resources import redirect_reading
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.references import groups
from octavo.tui.resources.resource import Action, Column, Known, Resource, Rights, by, made

_EDIT = Rights("edit", "edit", "edit")
"""What it takes to write on a site."""


SITE_SPACES: Resource[site_structure.SiteSpace] = Resource(
    "space", "spaces", site_structure.ListSiteSpaces,
    about="Spaces on the site, in the order of its structure.",
    create=site_structure.CreateSiteSpace, update=site_structure.UpdateSiteSpace, delete=site_structure.DeleteSiteSpace,
    title=lambda each: each.title or (each.space.title if each.space else each.id),
    named=by("site_space_id"),
    columns=(
        Column("SPACE", lambda each: each.title or (each.space.title if each.space else each.id)),
        Column("PATH", "path"),
        Column("SECTION", "section", is_id=True, drop=1),
        Column("DEFAULT", "default", 7),
        Column("SHOWN IF", "condition", drop=2),
    ),
    lookups=(site_structure.Get,),
    count=lambda site: site.site_spaces or None,
    rights=_EDIT,
    hangs_on=lambda each: ["Its pages are not found on the site any more. The space itself stays."],
    new="Add a space",
    verbs=("take off the site", "taken off the site"),
)  # fmt: skip
SECTIONS: Resource[site_structure.SiteSection] = Resource(
    "section", "sections", site_structure.ListSections,
    about="Parts of the site that visitors change between.",
    create=site_structure.CreateSection, update=site_structure.UpdateSection, delete=site_structure.DeleteSection,
    title=lambda each: each.title or each.id,
    named=by("site_section_id"),
    columns=(
        Column("SECTION", "title"),
        Column("PATH", "path"),
        Column("SPACES", lambda each: len(each.site_spaces), 6, right=True),
        Column("GROUP", "section_group", is_id=True, drop=1),
        Column("DEFAULT", "default", 7),
        Column("ICON", "icon", 10, drop=2),
        Column("SHOWN IF", "condition", drop=3),
    ),
    lookups=(site_structure.Get,),
    rights=_EDIT,
    hangs_on=lambda each: [f"Its spaces go off the site with it: {', '.join(space.title or space.id for space in each.site_spaces) or 'none'}."],
)  # fmt: skip
GROUPS: Resource[site_structure.SectionGroup] = Resource(
    "section group", "section groups", site_structure.ListGroups,
    about="Sections under one title.",
    create=site_structure.CreateGroup, update=site_structure.UpdateGroup, delete=site_structure.DeleteGroup,
    title=lambda each: each.title or each.id,
    named=by("site_section_group_id"),
    columns=(
        Column("GROUP", "title"),
        Column("SECTIONS", lambda each: len(each.children or each.sections), 8, right=True),
        Column("IN", "section_group", is_id=True),
        Column("ICON", "icon", 10, drop=1),
    ),
    lookups=(site_structure.Get,),
    rights=_EDIT,
    references={"parent": groups},
    hangs_on=lambda each: ["What stands in it moves to where it stood."],
)  # fmt: skip


def _destination(each: redirects.Redirect) -> str:
    """What a redirect leads to: an address, or the id of a part of the site."""
    to = each.destination
    return to.url or to.site_section_id or to.site_space_id or ""


def _redirect_again(known: Known, each: redirects.Redirect) -> Operation[Any] | None:
    values = {**known, "source": each.source, "destination": each.destination.model_dump(exclude_none=True)}
    is_known = each.destination.kind in ("site-section", "site-space", "site-page")
    return made(redirects.Create, values) if is_known else None


REDIRECTS: Resource[redirects.Redirect] = Resource(
    "redirect", "redirects", redirects.List,
    about="Addresses of the site that lead elsewhere.",
    create=redirects.Create, update=redirects.Update, delete=redirects.Delete,
    title=lambda each: each.source,
    named=by("site_redirect_id"),
    columns=(
        Column("SOURCE", "source"),
        Column("LEADS TO", _destination, is_id=True),
        Column("PAGE", "destination.page_id", drop=2),
        Column("KIND", "destination.kind", 13, drop=1),
    ),
    lookups=(site_structure.Get,),
    rights=_EDIT,
    again=_redirect_again,
    told=redirect_reading.of_redirect,
    hangs_on=lambda each: ["Links to it lead nowhere from then on."],
)  # fmt: skip
SHARE_LINKS: Resource[share_links.ShareLink] = Resource(
    "share link", "share links", share_links.List,
    about="Addresses with a secret: whoever knows one sees the site.",
    create=share_links.Create, update=share_links.Update, delete=share_links.Delete,
    title=lambda each: each.name or each.id,
    named=by("share_link_id"),
    columns=(
        Column("NAME", lambda each: each.name or each.id),
        Column("WORKS", "active", 6),
        Column("MADE", "created_at", 6, right=True),
    ),
    actions=(
        Action("Revoke", "Its address leads nowhere until it works again.", share_links.Update, "does not work any more", {"active": False},
               share_links.Update, {"active": True}, why_not=lambda each: None if each.active else "It does not work already."),
        Action("Let it work again", "Whoever has its address sees the site.", share_links.Update, "works again", {"active": True},
               share_links.Update, {"active": False}, why_not=lambda each: "It works already." if each.active else None),
    ),
    rights=_EDIT,
    hangs_on=lambda each: ["Its address leads nowhere from then on, and another link has another."],
)  # fmt: skip
MCP_SERVERS: Resource[mcp_servers.McpServer] = Resource(
    "MCP server", "MCP servers", mcp_servers.List,
    about="Tools that the site's own agent may call for its readers.",
    get=mcp_servers.Get, create=mcp_servers.Create, update=mcp_servers.Update, delete=mcp_servers.Delete,
    title=lambda each: each.name or each.id,
    named=by("site_mcp_server_id"),
    columns=(
        Column("SERVER", "name"),
        Column("ADDRESS", "url"),
        Column("HEADERS", lambda each: ", ".join(each.headers), drop=1),
    ),
    secrets=frozenset({"headers"}),
    again=lambda known, each: made(mcp_servers.Create, {**known, "name": each.name, "url": each.url, "headers": dict(each.headers)}),
    rights=_EDIT,
)  # fmt: skip
PEOPLE: Resource[sites.SitePermission] = Resource(
    "person", "people", sites.ListPermissions,
    about="People with a role on the site, and where they have it from.",
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    columns=(
        Column("NAME", "user.name"),
        Column("ROLE", "permission", 9, none="guest"),
        Column("FROM", lambda each: each.origin.space or each.origin.organization or each.origin.type, is_id=True),
        Column("E-MAIL", "user.email", drop=1),
    ),
    rights=Rights("", "", ""),
)  # fmt: skip


SITES: Resource[sites.Site] = Resource(
    "site", "sites", sites.List,
    about="Spaces published under one address.",
    get=sites.Get, create=sites.Create, update=sites.Update, delete=sites.Delete,
    title=lambda each: each.title or each.id,
    named=lambda known, each: {"at": SiteRef(organization_id=known["at"].organization_id, site_id=each.id)},
    columns=(
        Column("SITE", "title"),
        Column("PUBLISHED", "published", 9),
        Column("AUDIENCE", "visibility", 12),
        Column("SPACES", "site_spaces", 6, right=True, drop=1),
        Column("ADDRESS", lambda each: each.urls.published or each.hostname, drop=2),
        Column("TYPE", "type", 10, drop=3),
        Column("MADE", "created_at", 5, right=True, drop=3),
    ),
    state=lambda each: f"{'published' if each.published else 'not published'} · {each.visibility}",
    children=(SITE_SPACES, SECTIONS, GROUPS, REDIRECTS, SHARE_LINKS, MCP_SERVERS, PEOPLE),
    actions=(
        Action("Publish", "Its audience sees it from then on.", sites.Publish, "is published", back=sites.Unpublish,
               why_not=lambda each: "It is published already." if each.published else None),
        Action("Unpublish", "Nobody but members sees it from then on; its addresses lead nowhere.", sites.Unpublish, "is not published any more",
               back=sites.Publish, why_not=lambda each: None if each.published else "It is not published."),
    ),
    rights=Rights(create="create_content", change="edit", delete="admin", of_thing=True),
    hangs_on=lambda each: [f"Visitors of {each.urls.published or 'its addresses'} find nothing from then on. Its spaces stay."],
    address=lambda each: each.urls.published or each.urls.app,
)  # fmt: skip

KINDS = (SITES,)


def screen() -> BrowserScreen:
    """The view of sites."""
    return BrowserScreen("sites", "Sites", KINDS, lambda organization: {})
