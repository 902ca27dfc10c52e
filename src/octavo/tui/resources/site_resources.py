"""What sites have: their structure, redirects, share links, and who sees them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from textual.content import Content

from octavo.api import adaptive_schema, mcp_servers, redirects, search, share_links, site_structure, sites
from octavo.api.operation import Operation
from octavo.api.places import SiteRef
from octavo.tui.resources import arranging, publishing, redirect_reading, site_tree, trying_addresses, trying_conditions
from octavo.tui.resources.browser import BrowserScreen
from octavo.tui.resources.references import groups
from octavo.tui.resources.resource import Action, Column, Known, Question, Resource, Rights, by, made
from octavo.tui.shell.routes import ToPage

_EDIT = Rights("edit", "edit", "edit")
"""What it takes to write on a site."""


_DEFAULT = Action[Any](
    "Make it the default", "Visitors begin there: u takes it back.", site_structure.UpdateSection,
    why_not=lambda each: "It is the default already." if each.default else None, ask=arranging.make_default,
    right=lambda each: "" if isinstance(each, site_structure.SiteSpace) and each.section else "admin",
)  # fmt: skip
"""Where visitors begin among the spaces of a section, the sections of a site, or the spaces of one without sections."""


def _stops(each: site_structure.SiteSpace | site_structure.SiteSection) -> list[str]:
    """What of a part that is taken off leads nowhere, and what else visitors see of it."""
    if each.default:
        return [f"Visitors begin there: {each.urls.published or 'the address it has'} shows another from then on."]
    where = each.urls.published
    return [f"{where} and the addresses below it lead nowhere from then on."] if where else []


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
    rights=_EDIT,
    hangs_on=lambda each: [*_stops(each), "Its pages are not found on the site any more. The space itself stays."],
    actions=(_DEFAULT,),
    new="Add a space",
    verbs=("take off", "taken off the site"),
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
    actions=(_DEFAULT,),
    verbs=("take off", "taken off the site"),
    hangs_on=lambda each: [*_stops(each), f"Its spaces go off the site with it: {', '.join(space.title or space.id for space in each.site_spaces) or 'none'}."],
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


OTHERS: Resource[Any] = Resource(
    "part", "parts", site_structure.Get,
    title=site_tree.title_of,
    columns=(Column("PART", "title"),),
    rights=_EDIT,
)  # fmt: skip
"""Parts that are shown, and left as they are: those of kinds that came later, and all as visitors find them."""
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
    Column[site_tree.Standing]("PART", lambda row: f"{'  ' * row.depth}{site_tree.title_of(row.part)}"),
    Column[site_tree.Standing](
        "KIND", lambda row: site_tree.kind_of(row.part), 8, draw=lambda kind: Content.styled(kind, "$octavo-muted")
    ),
    Column[site_tree.Standing]("DEFAULT", lambda row: "default" if getattr(row.part, "default", False) else "", 7),
    Column[site_tree.Standing]("PATH", "part.path", drop=1),
    Column[site_tree.Standing]("SHOWN IF", "part.condition", 20, drop=2),
    Column[site_tree.Standing]("HOLDS", "inside", shown=False),
)
_SEARCH = Question("Search the site", trying_addresses.ask_words, search.InSite)
STRUCTURE: Resource[site_tree.Standing] = Resource(
    "part", "structure", site_structure.Get,
    about="Sections, their groups, and the spaces in them, as visitors find them.",
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
    none="Nothing is on the site yet.",
    new="Add",
)  # fmt: skip


def _destination(each: redirects.Redirect) -> str:
    """What a redirect leads to: an address, or the id of a page or part of the site."""
    to = each.destination
    return to.url or to.site_section_id or to.page_id or to.site_space_id or ""


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
        Column("OF", lambda each: each.destination.site_space_id if each.destination.page_id else None, is_id=True, drop=2),
        Column("KIND", "destination.kind", 13, drop=1),
        Column("ENDS", "end", 10, draw=redirect_reading.sign),
    ),
    lookups=(site_structure.Get,),
    also_named=redirect_reading.pages_of,
    beside=redirect_reading.marked,
    ask=Question("Try an address", trying_addresses.ask_address, redirects.List),
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
    told=publishing.of_share_link,
    actions=(
        Action("Revoke", "Its address leads nowhere until it works again.", share_links.Update, "does not work any more", {"active": False},
               share_links.Update, {"active": True}, why_not=lambda each: None if each.active else "It does not work already."),
        Action("Let it work again", "Whoever has its address sees the site.", share_links.Update, "works again", {"active": True},
               share_links.Update, {"active": False}, why_not=lambda each: "It works already." if each.active else None),
    ),
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
CONDITIONS: Resource[adaptive_schema.TemplateCondition] = Resource(
    "condition", "conditions", adaptive_schema.ListTemplateConditions, page=0,
    about="What can be asked about visitors, as the adaptive schema says. enter tries one with claims.",
    title=lambda each: each.description or each.condition,
    key=lambda each: each.condition,
    columns=(Column("ASKS", "description"), Column("CONDITION", "condition")),
    shows=trying_conditions.open_condition,
    none="There are no conditions: an adaptive schema gives them.",
    elsewhere="The adaptive schema gives them: that is changed.",
    rights=Rights("", "", ""),
)  # fmt: skip
ADAPTIVE: Resource[adaptive_schema.AdaptiveSchema] = Resource(
    "adaptive schema", "adaptive schema", adaptive_schema.Get, page=0, single=True,
    about="What is known about visitors, as a JSON Schema. Conditions of sections and pages ask for it.",
    items=lambda answer: (answer,),
    create=adaptive_schema.Update, update=adaptive_schema.Update,
    title=lambda each: "Adaptive schema",
    key=lambda each: "schema",
    columns=(Column("CLAIMS", lambda each: tuple((each.json_schema or {}).get("properties") or ())), Column("CHANGED", "updated_at", 7, right=True)),
    details=lambda each: [("json schema", json.dumps(each.json_schema, ensure_ascii=False, indent=2))],
    none="There is no adaptive schema.",
    rights=Rights("admin", "admin", ""),
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
    elsewhere="Roles are given in the organization and in the spaces on the site: 6.",
    rights=Rights("", "", ""),
)  # fmt: skip
PUBLISHED: Resource[site_tree.Standing] = Resource(
    "part", "published content", sites.GetPublished,
    about="The site as its audience finds it.",
    items=lambda answer: site_tree.standings(answer.structure),
    ask=_SEARCH,
    absent=lambda site: None if site.published else "The site is not published: nobody but members finds anything of it.",
    of_kinds=lambda row: (OTHERS, row.part),
    opens=_to_space,
    elsewhere="It is what stands in the structure: that is changed.",
    title=lambda row: site_tree.title_of(row.part),
    columns=(*_PARTS[:3], Column("ADDRESS", lambda row: urlsplit(_published(row.part)).path), _PARTS[-1]),
    rights=Rights("", "", ""),
    none="Visitors find nothing there.",
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
    state=lambda each: f"{'published' if each.published else 'not published'}, {each.visibility}",
    children=(STRUCTURE, REDIRECTS, SHARE_LINKS, MCP_SERVERS, ADAPTIVE, CONDITIONS, PEOPLE, PUBLISHED),
    actions=(
        Action("Publish", "Its audience sees it from then on.", sites.Publish, back=sites.Unpublish, ask=publishing.publish,
               why_not=lambda each: "It is published already." if each.published else None),
        Action("Unpublish", "Nobody but members sees it from then on; its addresses lead nowhere.", sites.Unpublish,
               back=sites.Publish, ask=publishing.unpublish, why_not=lambda each: None if each.published else "It is not published."),
    ),
    rights=Rights(create="create_content", of_thing=True),
    hangs_on=lambda each: [f"Visitors of {each.urls.published or 'its addresses'} find nothing from then on. Its spaces stay."],
    address=lambda each: each.urls.published or each.urls.app,
)  # fmt: skip

KINDS = (SITES,)


def screen() -> BrowserScreen:
    """The view of sites."""
    return BrowserScreen("sites", "Sites", KINDS, lambda organization: {})
