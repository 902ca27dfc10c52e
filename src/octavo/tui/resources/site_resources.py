"""The table of sites, and the tables of one site: structure, redirects, share links, MCP servers, adaptive schema,
conditions, members with access, and published content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from textual.content import Content

from octavo.api import adaptive_schema, mcp_servers, redirects, search, share_links, site_structure, sites
from octavo.api.labels import label
from octavo.api.operation import Operation, SiteRef
from octavo.tui.core.routes import ToPage
from octavo.tui.resources import publish_dialogs, site_checks, site_tree
from octavo.tui.resources.resource import (
    Action,
    Arguments,
    RequiredPermissions,
    Resource,
    ResourceColumn,
    TableCommand,
    build_operation,
    group_list,
    id_argument,
)
from octavo.tui.resources.resource_browser import BrowserScreen

_EDIT_PERMISSIONS = RequiredPermissions("edit", "edit", "edit")
"""Permissions that allow changing a site."""


_SET_DEFAULT = Action[Any](
    "Set as default", "Visitors will see this item first. You can undo this by pressing u.", site_structure.UpdateSection,
    disabled_reason=lambda item: f"{site_tree.title_of(item)} is already the default." if item.default else None, run=site_tree.make_default,
    permission=lambda item: "" if isinstance(item, site_structure.SiteSpace) and item.section else "admin",
)  # fmt: skip
"""Action that makes a section or space the default, which visitors see first."""


def _visitor_effects(part: site_structure.SiteSpace | site_structure.SiteSection) -> list[str]:
    if part.default:
        return [
            f"Visitors to {part.urls.published or 'the site'} currently see this item first. After you remove it, they will see another item first."
        ]
    url = part.urls.published
    return [f"{url} and all links under it will stop working."] if url else []


def _removed_spaces_text(section: site_structure.SiteSection) -> str:
    names = ", ".join(space.title or space.id for space in section.site_spaces)
    title = site_tree.title_of(section)
    return f"The spaces in {title} will also be removed from the site: {names}." if names else f"{title} has no spaces."


SITE_SPACES: Resource[site_structure.SiteSpace] = Resource(
    "space", "spaces", site_structure.ListSiteSpaces,
    description="Spaces on the site, in the order visitors see them.",
    create=site_structure.CreateSiteSpace, update=site_structure.UpdateSiteSpace, delete=site_structure.DeleteSiteSpace,
    ids=id_argument("site_space_id"),
    columns=(
        ResourceColumn("SPACE", lambda item: item.title or (item.space.title if item.space else item.id)),
        ResourceColumn("PATH", "path"),
        ResourceColumn("SECTION", "section", is_id=True, drop_priority=1),
        ResourceColumn("DEFAULT", "default", 7),
        ResourceColumn("CONDITION", "condition", drop_priority=2),
    ),
    lookups=(site_structure.Get,),
    permissions=_EDIT_PERMISSIONS,
    delete_effects=lambda item: [*_visitor_effects(item), "The pages of this space will be removed from the site. The space itself will not be deleted."],
    actions=(_SET_DEFAULT,),
    create_title="Add a space",
    delete_verbs=("remove", "removed"),
    container="site",
)  # fmt: skip
SECTIONS: Resource[site_structure.SiteSection] = Resource(
    "section", "sections", site_structure.ListSections,
    description="Sections of the site. Visitors can switch between sections.",
    create=site_structure.CreateSection, update=site_structure.UpdateSection, delete=site_structure.DeleteSection,
    ids=id_argument("site_section_id"),
    columns=(
        ResourceColumn("SECTION", "title"),
        ResourceColumn("PATH", "path"),
        ResourceColumn("SPACES", lambda item: len(item.site_spaces), 6, align_right=True),
        ResourceColumn("GROUP", "section_group", is_id=True, drop_priority=1),
        ResourceColumn("DEFAULT", "default", 7),
        ResourceColumn("ICON", "icon", 10, drop_priority=2),
        ResourceColumn("CONDITION", "condition", drop_priority=3),
    ),
    lookups=(site_structure.Get,),
    permissions=_EDIT_PERMISSIONS,
    actions=(_SET_DEFAULT,),
    delete_verbs=("remove", "removed"),
    container="site",
    delete_effects=lambda item: [*_visitor_effects(item), _removed_spaces_text(item)],
)  # fmt: skip
GROUPS: Resource[site_structure.SectionGroup] = Resource(
    "section group", "section groups", site_structure.ListGroups,
    description="Groups of sections in the site navigation.",
    create=site_structure.CreateGroup, update=site_structure.UpdateGroup, delete=site_structure.DeleteGroup,
    ids=id_argument("site_section_group_id"),
    columns=(
        ResourceColumn("GROUP", "title"),
        ResourceColumn("SECTIONS", lambda item: len(item.children or item.sections), 8, align_right=True),
        ResourceColumn("IN", "section_group", is_id=True),
        ResourceColumn("ICON", "icon", 10, drop_priority=1),
    ),
    lookups=(site_structure.Get,),
    permissions=_EDIT_PERMISSIONS,
    reference_lists={"parent": group_list},
    delete_effects=lambda each: ["The sections and groups in this group will move up one level."],
)  # fmt: skip


UNKNOWN_PARTS: Resource[Any] = Resource(
    "part", "parts", site_structure.Get,
    title=site_tree.title_of,
    columns=(ResourceColumn("NAME", "title"),),
    permissions=_EDIT_PERMISSIONS,
)  # fmt: skip
"""Resource for parts of types that this version of Octavo does not know. Users cannot edit such parts."""
PUBLISHED_PARTS: Resource[Any] = replace(
    UNKNOWN_PARTS,
    read_only_reason="Published content comes from the site structure, so you cannot change it here. Change the structure instead.",
)
_PART_RESOURCES: Mapping[str, Resource[Any]] = {"section": SECTIONS, "group": GROUPS, "space": SITE_SPACES}


def _space_route(row: site_tree.SitePartRow) -> ToPage | None:
    space = row.part.space if isinstance(row.part, site_structure.SiteSpace) else None
    return ToPage(space.id) if space is not None else None


def _published_url(part: site_structure.SitePart) -> str:
    urls = getattr(part, "urls", None)
    return (urls.published if urls is not None else "") or ""


_PART_COLUMNS = (
    ResourceColumn[site_tree.SitePartRow]("NAME", lambda row: f"{'  ' * row.depth}{site_tree.title_of(row.part)}"),
    ResourceColumn[site_tree.SitePartRow](
        "TYPE", lambda row: site_tree.noun_of(row.part), 8, render=lambda kind: Content.styled(kind, "$octavo-muted")
    ),
    ResourceColumn[site_tree.SitePartRow]("DEFAULT", lambda row: getattr(row.part, "default", False), 7),
    ResourceColumn[site_tree.SitePartRow]("PATH", "part.path", drop_priority=1),
    ResourceColumn[site_tree.SitePartRow]("CONDITION", "part.condition", 20, drop_priority=2),
    ResourceColumn[site_tree.SitePartRow]("CONTAINS", "titles_inside", is_shown=False),
)
_SEARCH_COMMAND = TableCommand("Search the site", site_checks.open_site_search, search.InSite)
STRUCTURE: Resource[site_tree.SitePartRow] = Resource(
    "part", "structure", site_structure.Get,
    description="Section groups, sections, and spaces, in the order visitors see them.",
    items=site_tree.part_rows,
    resolve_row=lambda row: (_PART_RESOURCES.get(site_tree.noun_of(row.part), UNKNOWN_PARTS), row.part),
    row_resources=_PART_RESOURCES,
    add_item=site_tree.choose_new_part,
    command=_SEARCH_COMMAND,
    lookups=(site_structure.Get,),
    route=_space_route,
    title=lambda row: site_tree.title_of(row.part),
    columns=_PART_COLUMNS,
    permissions=_EDIT_PERMISSIONS,
    empty_text="This site has no content. Press ctrl+n to add a space.",
    create_title="Add",
)  # fmt: skip


def _destination_url_or_id(redirect: redirects.Redirect) -> str:
    destination = redirect.destination
    return destination.url or destination.site_section_id or destination.page_id or destination.site_space_id or ""


def _recreate_operation(arguments: Arguments, redirect: redirects.Redirect) -> Operation[Any] | None:
    values = {**arguments, "source": redirect.source, "destination": redirect.destination.model_dump(exclude_none=True)}
    is_known = redirect.destination.kind in ("site-section", "site-space", "site-page")
    return build_operation(redirects.Create, values) if is_known else None


REDIRECTS: Resource[redirects.Redirect] = Resource(
    "redirect", "redirects", redirects.List,
    description="Paths on the site that redirect to another page or link.",
    create=redirects.Create, update=redirects.Update, delete=redirects.Delete,
    title=lambda item: item.source,
    ids=id_argument("site_redirect_id"),
    columns=(
        ResourceColumn("SOURCE", "source"),
        ResourceColumn("DESTINATION", _destination_url_or_id, is_id=True),
        ResourceColumn("IN SPACE", lambda item: item.destination.site_space_id if item.destination.page_id else None, is_id=True, drop_priority=2),
        ResourceColumn("TYPE", "destination.kind", 9, drop_priority=1, is_code=True),
        ResourceColumn("PROBLEM", "problem", 16, render=site_checks.problem_label),
    ),
    lookups=(site_structure.Get,),
    more_lookups=site_checks.page_lists,
    derive_items=site_checks.with_problems,
    command=TableCommand("Test a link", site_checks.open_link_test, redirects.List),
    permissions=_EDIT_PERMISSIONS,
    recreate=_recreate_operation,
    load_details=site_checks.redirect_details,
    delete_effects=lambda item: [f"Links to {item.source} will stop working."],
)  # fmt: skip
SHARE_LINKS: Resource[share_links.ShareLink] = Resource(
    "share link", "share links", share_links.List,
    description="Secret links to the site. Anyone who has a link can see the site.",
    create=share_links.Create, update=share_links.Update, delete=share_links.Delete,
    ids=id_argument("share_link_id"),
    columns=(
        ResourceColumn("NAME", lambda item: item.name or item.id),
        ResourceColumn("ACTIVE", "active", 6),
        ResourceColumn("CREATED", "created_at", 7, align_right=True),
    ),
    load_details=publish_dialogs.share_link_details,
    actions=(
        Action("Revoke", "The link will stop working until you activate it again.", share_links.Update, "was revoked", {"active": False},
               share_links.Update, {"active": True}, disabled_reason=lambda item: None if item.active else "This share link is already revoked."),
        Action("Activate", "Anyone who has the link will be able to see the site again.", share_links.Update, "was activated", {"active": True},
               share_links.Update, {"active": False}, disabled_reason=lambda item: "This share link is already active." if item.active else None),
    ),
    delete_effects=lambda each: ["The link will stop working. A new share link will have a different URL."],
)  # fmt: skip
MCP_SERVERS: Resource[mcp_servers.McpServer] = Resource(
    "MCP server", "MCP servers", mcp_servers.List,
    description="MCP servers whose tools the site's AI agent can call.",
    get=mcp_servers.Get, create=mcp_servers.Create, update=mcp_servers.Update, delete=mcp_servers.Delete,
    ids=id_argument("site_mcp_server_id"),
    columns=(
        ResourceColumn("SERVER", "name"),
        ResourceColumn("URL", "url"),
        ResourceColumn("HEADERS", lambda item: ", ".join(item.headers), drop_priority=1),
    ),
    secret_fields=frozenset({"headers"}),
    recreate=lambda arguments, item: build_operation(mcp_servers.Create, {**arguments, "name": item.name, "url": item.url, "headers": dict(item.headers)}),
    permissions=_EDIT_PERMISSIONS,
)  # fmt: skip
CONDITIONS: Resource[adaptive_schema.TemplateCondition] = Resource(
    "condition", "conditions", adaptive_schema.ListTemplateConditions, page_size=0,
    description="Conditions on visitor claims, as defined in the adaptive schema. Press enter to test a condition.",
    title=lambda item: item.description or item.condition,
    key=lambda item: item.condition,
    columns=(ResourceColumn("DESCRIPTION", "description"), ResourceColumn("CONDITION", "condition")),
    open_dialog=site_checks.open_condition,
    read_only_reason="Conditions come from the adaptive schema, so you cannot change them here. Change the adaptive schema instead.",
)  # fmt: skip
ADAPTIVE_SCHEMA: Resource[adaptive_schema.AdaptiveSchema] = Resource(
    "adaptive schema", "adaptive schema", adaptive_schema.Get, page_size=0, is_single=True,
    description="The JSON Schema for the visitor claims that you can use in conditions.",
    items=lambda response: (response,),
    create=adaptive_schema.Update, update=adaptive_schema.Update,
    title=lambda each: "Adaptive schema",
    key=lambda each: "schema",
    columns=(ResourceColumn("CLAIMS", lambda item: tuple((item.json_schema or {}).get("properties") or ())),
             ResourceColumn("UPDATED", "updated_at", 7, align_right=True)),
    details=lambda item: [("json schema", json.dumps(item.json_schema, ensure_ascii=False, indent=2))],
    empty_text="No adaptive schema. Press ctrl+n to create an adaptive schema.",
)  # fmt: skip
SITE_MEMBERS: Resource[sites.SitePermission] = Resource(
    "member", "members with access", sites.ListPermissions,
    description="Members with a role on the site, and where the role comes from.",
    key=lambda item: item.user.id,
    columns=(
        ResourceColumn("NAME", "user.name"),
        ResourceColumn("ROLE", "permission", 9, empty_text="Guest", is_code=True),
        ResourceColumn("FROM", lambda item: item.origin.space or item.origin.organization or item.origin.type, is_id=True),
        ResourceColumn("EMAIL", "user.email", drop_priority=1),
    ),
    read_only_reason="To change roles, go to Admin (press 6) or to the spaces on the site.",
)  # fmt: skip
PUBLISHED_CONTENT: Resource[site_tree.SitePartRow] = Resource(
    "part", "published content", sites.GetPublished,
    description="The site as visitors see it.",
    items=lambda response: site_tree.part_rows(response.structure),
    command=_SEARCH_COMMAND,
    unavailable_reason=lambda site: None if site.published else "This site is not published, so visitors see nothing. Publish the site first.",
    resolve_row=lambda row: (PUBLISHED_PARTS, row.part),
    route=_space_route,
    read_only_reason=PUBLISHED_PARTS.read_only_reason,
    title=lambda row: site_tree.title_of(row.part),
    columns=(*_PART_COLUMNS[:3], ResourceColumn("PATH ON SITE", lambda row: urlsplit(_published_url(row.part)).path), _PART_COLUMNS[-1]),
    empty_text="No published content. To publish content, add a space in Structure.",
)  # fmt: skip


SITES: Resource[sites.Site] = Resource(
    "site", "sites", sites.List,
    description="A site publishes spaces on the web.",
    get=sites.Get, create=sites.Create, update=sites.Update, delete=sites.Delete,
    ids=lambda arguments, item: {"at": SiteRef(organization_id=arguments["at"].organization_id, site_id=item.id)},
    columns=(
        ResourceColumn("SITE", "title"),
        ResourceColumn("PUBLISHED", "published", 9),
        ResourceColumn("VISIBILITY", "visibility", 12, is_code=True),
        ResourceColumn("SPACES", "site_spaces", 6, align_right=True, drop_priority=1),
        ResourceColumn("PUBLISHED LINK", lambda item: item.urls.published or item.hostname, drop_priority=2),
        ResourceColumn("PLAN", "type", 14, drop_priority=3, is_code=True),
        ResourceColumn("CREATED", "created_at", 7, align_right=True, drop_priority=3),
    ),
    status=lambda item: f"{'published' if item.published else 'not published'}, {label(item.visibility)}",
    children=(STRUCTURE, REDIRECTS, SHARE_LINKS, MCP_SERVERS, ADAPTIVE_SCHEMA, CONDITIONS, SITE_MEMBERS, PUBLISHED_CONTENT),
    actions=(
        Action("Publish", "People in the site's audience will be able to open the site.", sites.Publish,
               undo_operation=sites.Unpublish, run=partial(publish_dialogs.confirm_publishing, publishes=True),
               disabled_reason=lambda item: "This site is already published." if item.published else None),
        Action("Unpublish", "Visitors will no longer be able to open the site. All links to the site will stop working.", sites.Unpublish,
               undo_operation=sites.Publish, run=partial(publish_dialogs.confirm_publishing, publishes=False),
               disabled_reason=lambda item: None if item.published else "This site is not published."),
    ),
    permissions=RequiredPermissions(create="create_content", on_item=True),
    required_fields=frozenset({"title"}),
    delete_effects=lambda item: [f"{item.urls.published or 'The link to the site'} will stop working. The spaces on the site will not be deleted."],
    url_of=lambda item: item.urls.published or item.urls.app,
)  # fmt: skip

TABLES = (SITES,)


def create_screen() -> BrowserScreen:
    """Return a new screen for the view Sites."""
    return BrowserScreen("sites", "Sites", TABLES, lambda organization: {})
