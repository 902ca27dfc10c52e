"""The tables of sites: structure, redirects, share links, integrations and access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from textual.content import Content

from octavo.api import adaptive_schema, mcp_servers, redirects, search, share_links, site_structure, sites
from octavo.api.labels import label
from octavo.api.operation import Operation
from octavo.api.places import SiteRef
from octavo.tui.resources import arranging, publishing, redirect_reading, site_tree, trying_addresses, trying_conditions
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.references import groups
from octavo.tui.resources.resource import Action, Column, Known, Question, Resource, Rights, by, made
from octavo.tui.shell.routes import ToPage

_EDIT = Rights("edit", "edit", "edit")
"""Permissions needed to change a site."""


_DEFAULT = Action[Any](
    "Set as default", "Visitors will see this item first. You can undo this by pressing u.", site_structure.UpdateSection,
    why_not=lambda each: f"{site_tree.title_of(each)} is already the default." if each.default else None, ask=arranging.make_default,
    right=lambda each: "" if isinstance(each, site_structure.SiteSpace) and each.section else "admin",
)  # fmt: skip
"""Sets where visitors start: a space of a section, a section of a site, or a space of a site without sections."""


def _stops(each: site_structure.SiteSpace | site_structure.SiteSection) -> list[str]:
    """Return what visitors lose when a part is removed from the site."""
    if each.default:
        return [
            f"Visitors to {each.urls.published or 'the site'} currently see this item first. After you remove it, they will see another item first."
        ]
    where = each.urls.published
    return [f"{where} and all links under it will stop working."] if where else []


def _leaving(each: site_structure.SiteSection) -> str:
    """Return which spaces are removed from the site with a section."""
    names = ", ".join(space.title or space.id for space in each.site_spaces)
    title = site_tree.title_of(each)
    return f"The spaces in {title} will also be removed from the site: {names}." if names else f"{title} has no spaces."


SITE_SPACES: Resource[site_structure.SiteSpace] = Resource(
    "space", "spaces", site_structure.ListSiteSpaces,
    about="Spaces on the site, in the order visitors see them.",
    create=site_structure.CreateSiteSpace, update=site_structure.UpdateSiteSpace, delete=site_structure.DeleteSiteSpace,
    title=lambda each: each.title or (each.space.title if each.space else each.id),
    named=by("site_space_id"),
    columns=(
        Column("SPACE", lambda each: each.title or (each.space.title if each.space else each.id)),
        Column("PATH", "path"),
        Column("SECTION", "section", is_id=True, drop=1),
        Column("DEFAULT", "default", 7),
        Column("CONDITION", "condition", drop=2),
    ),
    lookups=(site_structure.Get,),
    rights=_EDIT,
    hangs_on=lambda each: [*_stops(each), "The pages of this space will be removed from the site. The space itself will not be deleted."],
    actions=(_DEFAULT,),
    new="Add a space",
    verbs=("remove", "removed"),
    out_of="site",
)  # fmt: skip
SECTIONS: Resource[site_structure.SiteSection] = Resource(
    "section", "sections", site_structure.ListSections,
    about="Sections of the site. Visitors can switch between sections.",
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
        Column("CONDITION", "condition", drop=3),
    ),
    lookups=(site_structure.Get,),
    rights=_EDIT,
    actions=(_DEFAULT,),
    verbs=("remove", "removed"),
    out_of="site",
    hangs_on=lambda each: [*_stops(each), _leaving(each)],
)  # fmt: skip
GROUPS: Resource[site_structure.SectionGroup] = Resource(
    "section group", "section groups", site_structure.ListGroups,
    about="Groups of sections in the site navigation.",
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
    hangs_on=lambda each: ["The sections and groups in this group will move up one level."],
)  # fmt: skip


OTHERS: Resource[Any] = Resource(
    "part", "parts", site_structure.Get,
    title=site_tree.title_of,
    columns=(Column("NAME", "title"),),
    rights=_EDIT,
)  # fmt: skip
"""Parts that are shown and cannot be changed here: those of newer kinds, and published content."""
_KINDS: Mapping[str, Resource[Any]] = {"section": SECTIONS, "group": GROUPS, "space": SITE_SPACES}


def _itself(row: site_tree.Standing) -> tuple[Resource[Any], Any]:
    return _KINDS.get(site_tree.kind_of(row.part), OTHERS), row.part


def _to_space(row: site_tree.Standing) -> ToPage | None:
    space = row.part.space if isinstance(row.part, site_structure.SiteSpace) else None
    return ToPage(space.id) if space is not None else None


def _published(part: site_structure.Part) -> str:
    urls = getattr(part, "urls", None)
    return (urls.published if urls is not None else "") or ""


_PARTS = (
    Column[site_tree.Standing]("NAME", lambda row: f"{'  ' * row.depth}{site_tree.title_of(row.part)}"),
    Column[site_tree.Standing](
        "TYPE", lambda row: site_tree.kind_of(row.part), 8, draw=lambda kind: Content.styled(kind, "$octavo-muted")
    ),
    Column[site_tree.Standing]("DEFAULT", lambda row: getattr(row.part, "default", False), 7),
    Column[site_tree.Standing]("PATH", "part.path", drop=1),
    Column[site_tree.Standing]("CONDITION", "part.condition", 20, drop=2),
    Column[site_tree.Standing]("CONTAINS", "inside", shown=False),
)
_SEARCH = Question("Search the site", trying_addresses.ask_words, search.InSite)
STRUCTURE: Resource[site_tree.Standing] = Resource(
    "part", "structure", site_structure.Get,
    about="Section groups, sections, and spaces, in the order visitors see them.",
    items=site_tree.standings,
    of_kinds=_itself,
    parts=_KINDS,
    add=arranging.add,
    ask=_SEARCH,
    lookups=(site_structure.Get,),
    opens=_to_space,
    title=lambda row: site_tree.title_of(row.part),
    columns=_PARTS,
    rights=_EDIT,
    none="This site has no content. Press ctrl+n to add a space.",
    new="Add",
)  # fmt: skip


def _destination(each: redirects.Redirect) -> str:
    """Return the target of a redirect: a URL, or the id of a page or part of the site."""
    to = each.destination
    return to.url or to.site_section_id or to.page_id or to.site_space_id or ""


def _redirect_again(known: Known, each: redirects.Redirect) -> Operation[Any] | None:
    values = {**known, "source": each.source, "destination": each.destination.model_dump(exclude_none=True)}
    is_known = each.destination.kind in ("site-section", "site-space", "site-page")
    return made(redirects.Create, values) if is_known else None


REDIRECTS: Resource[redirects.Redirect] = Resource(
    "redirect", "redirects", redirects.List,
    about="Paths on the site that redirect to another page or link.",
    create=redirects.Create, update=redirects.Update, delete=redirects.Delete,
    title=lambda each: each.source,
    named=by("site_redirect_id"),
    columns=(
        Column("SOURCE", "source"),
        Column("DESTINATION", _destination, is_id=True),
        Column("IN SPACE", lambda each: each.destination.site_space_id if each.destination.page_id else None, is_id=True, drop=2),
        Column("TYPE", "destination.kind", 9, drop=1, coded=True),
        Column("PROBLEM", "end", 16, draw=redirect_reading.sign),
    ),
    lookups=(site_structure.Get,),
    also_named=redirect_reading.pages_of,
    beside=redirect_reading.marked,
    ask=Question("Test a link", trying_addresses.ask_address, redirects.List),
    rights=_EDIT,
    again=_redirect_again,
    told=redirect_reading.of_redirect,
    hangs_on=lambda each: [f"Links to {each.source} will stop working."],
)  # fmt: skip
SHARE_LINKS: Resource[share_links.ShareLink] = Resource(
    "share link", "share links", share_links.List,
    about="Secret links to the site. Anyone who has a link can see the site.",
    create=share_links.Create, update=share_links.Update, delete=share_links.Delete,
    title=lambda each: each.name or each.id,
    named=by("share_link_id"),
    columns=(
        Column("NAME", lambda each: each.name or each.id),
        Column("ACTIVE", "active", 6),
        Column("CREATED", "created_at", 7, right=True),
    ),
    told=publishing.of_share_link,
    actions=(
        Action("Revoke", "The link will stop working until you activate it again.", share_links.Update, "was revoked", {"active": False},
               share_links.Update, {"active": True}, why_not=lambda each: None if each.active else "This share link is already revoked."),
        Action("Activate", "Anyone who has the link will be able to see the site again.", share_links.Update, "was activated", {"active": True},
               share_links.Update, {"active": False}, why_not=lambda each: "This share link is already active." if each.active else None),
    ),
    hangs_on=lambda each: ["The link will stop working. A new share link will have a different URL."],
)  # fmt: skip
MCP_SERVERS: Resource[mcp_servers.McpServer] = Resource(
    "MCP server", "MCP servers", mcp_servers.List,
    about="MCP servers whose tools the site's AI agent can call.",
    get=mcp_servers.Get, create=mcp_servers.Create, update=mcp_servers.Update, delete=mcp_servers.Delete,
    title=lambda each: each.name or each.id,
    named=by("site_mcp_server_id"),
    columns=(
        Column("SERVER", "name"),
        Column("URL", "url"),
        Column("HEADERS", lambda each: ", ".join(each.headers), drop=1),
    ),
    secrets=frozenset({"headers"}),
    again=lambda known, each: made(mcp_servers.Create, {**known, "name": each.name, "url": each.url, "headers": dict(each.headers)}),
    rights=_EDIT,
)  # fmt: skip
CONDITIONS: Resource[adaptive_schema.TemplateCondition] = Resource(
    "condition", "conditions", adaptive_schema.ListTemplateConditions, page=0,
    about="Conditions on visitor claims, as defined in the adaptive schema. Press enter to test a condition.",
    title=lambda each: each.description or each.condition,
    key=lambda each: each.condition,
    columns=(Column("DESCRIPTION", "description"), Column("CONDITION", "condition")),
    shows=trying_conditions.open_condition,
    none="No conditions. Conditions come from the adaptive schema.",
    elsewhere="Conditions come from the adaptive schema, so you cannot change them here. Change the adaptive schema instead.",
    rights=Rights("", "", ""),
)  # fmt: skip
ADAPTIVE: Resource[adaptive_schema.AdaptiveSchema] = Resource(
    "adaptive schema", "adaptive schema", adaptive_schema.Get, page=0, single=True,
    about="The JSON Schema for the visitor claims that you can use in conditions.",
    items=lambda answer: (answer,),
    create=adaptive_schema.Update, update=adaptive_schema.Update,
    title=lambda each: "Adaptive schema",
    key=lambda each: "schema",
    columns=(Column("CLAIMS", lambda each: tuple((each.json_schema or {}).get("properties") or ())), Column("UPDATED", "updated_at", 7, right=True)),
    details=lambda each: [("json schema", json.dumps(each.json_schema, ensure_ascii=False, indent=2))],
    none="No adaptive schema. Press ctrl+n to create an adaptive schema.",
    rights=Rights("admin", "admin", ""),
)  # fmt: skip
PEOPLE: Resource[sites.SitePermission] = Resource(
    "member", "members with access", sites.ListPermissions,
    about="Members with a role on the site, and where the role comes from.",
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    columns=(
        Column("NAME", "user.name"),
        Column("ROLE", "permission", 9, none="Guest", coded=True),
        Column("FROM", lambda each: each.origin.space or each.origin.organization or each.origin.type, is_id=True),
        Column("EMAIL", "user.email", drop=1),
    ),
    elsewhere="To change roles, go to Admin (press 6) or to the spaces on the site.",
    rights=Rights("", "", ""),
)  # fmt: skip
PUBLISHED: Resource[site_tree.Standing] = Resource(
    "part", "published content", sites.GetPublished,
    about="The site as visitors see it.",
    items=lambda answer: site_tree.standings(answer.structure),
    ask=_SEARCH,
    absent=lambda site: None if site.published else "This site is not published, so visitors see nothing. Publish the site first.",
    of_kinds=lambda row: (OTHERS, row.part),
    opens=_to_space,
    elsewhere="Published content comes from the site structure, so you cannot change it here. Change the structure instead.",
    title=lambda row: site_tree.title_of(row.part),
    columns=(*_PARTS[:3], Column("PATH ON SITE", lambda row: urlsplit(_published(row.part)).path), _PARTS[-1]),
    rights=Rights("", "", ""),
    none="No published content. To publish content, add a space in Structure.",
)  # fmt: skip


SITES: Resource[sites.Site] = Resource(
    "site", "sites", sites.List,
    about="A site publishes spaces on the web.",
    get=sites.Get, create=sites.Create, update=sites.Update, delete=sites.Delete,
    title=lambda each: each.title or each.id,
    named=lambda known, each: {"at": SiteRef(organization_id=known["at"].organization_id, site_id=each.id)},
    columns=(
        Column("SITE", "title"),
        Column("PUBLISHED", "published", 9),
        Column("VISIBILITY", "visibility", 12, coded=True),
        Column("SPACES", "site_spaces", 6, right=True, drop=1),
        Column("PUBLISHED LINK", lambda each: each.urls.published or each.hostname, drop=2),
        Column("PLAN", "type", 14, drop=3, coded=True),
        Column("CREATED", "created_at", 7, right=True, drop=3),
    ),
    state=lambda each: f"{'published' if each.published else 'not published'}, {label(each.visibility)}",
    children=(STRUCTURE, REDIRECTS, SHARE_LINKS, MCP_SERVERS, ADAPTIVE, CONDITIONS, PEOPLE, PUBLISHED),
    actions=(
        Action("Publish", "People in the site's audience will be able to open the site.", sites.Publish, back=sites.Unpublish, ask=publishing.publish,
               why_not=lambda each: "This site is already published." if each.published else None),
        Action("Unpublish", "Visitors will no longer be able to open the site. All links to the site will stop working.", sites.Unpublish,
               back=sites.Publish, ask=publishing.unpublish, why_not=lambda each: None if each.published else "This site is not published."),
    ),
    rights=Rights(create="create_content", of_thing=True),
    required=frozenset({"title"}),
    hangs_on=lambda each: [f"{each.urls.published or 'The link to the site'} will stop working. The spaces on the site will not be deleted."],
    address=lambda each: each.urls.published or each.urls.app,
)  # fmt: skip

KINDS = (SITES,)


def screen() -> BrowserScreen:
    """Return the view of sites."""
    return BrowserScreen("sites", "Sites", KINDS, lambda organization: {})
