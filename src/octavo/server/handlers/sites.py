"""Sites: creating, publishing, permissions, adaptive schema, share links, MCP servers and redirects.

Permissions depend on the role in the organization. Creators can create sites and edit their structure. Admins change
settings, publish, and manage share links, which readers could pass on. Only creators can read MCP servers, whose
headers may contain secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from octavo.api import adaptive_schema, mcp_servers, redirects, share_links, sites
from octavo.api.folding import fold
from octavo.api.operation import SiteRef
from octavo.documents import page_trees
from octavo.server.handlers import site_tree, spaces
from octavo.server.handlers.organizations import present_user
from octavo.server.handlers.permissions import ROLES, allows, organization_guard, organization_role, refuse_guests, role
from octavo.server.handlers.site_structure import (
    SiteView,
    new_site_space,
    refuse_invalid_segment,
    require_addable_space,
    site_view,
    title_from_space,
)
from octavo.server.handlers.site_tree import SiteTree, StoredSiteParts
from octavo.server.handlers.spaces import add_first_revision, get_current, set_current
from octavo.server.rest import (
    Refusal,
    RequestContext,
    before_save,
    guards,
    handle,
    omit,
    paginate,
    path_of,
    presents,
    request_fields,
)
from octavo.server.store import Json, MissingResource


def _site_permissions(context: RequestContext, organization_id: str) -> Json:
    current_role = organization_role(context, organization_id)
    may_create, is_admin = allows(current_role, "create"), allows(current_role, "admin")
    return {
        "view": True,
        "access": True,
        "edit": may_create,
        "create": may_create,
        "admin": is_admin,
        "installIntegration": is_admin,
        "viewAdaptiveSchema": current_role is not None,
        "editAdaptiveSchema": is_admin,
    }


@handle.register
def _list_permissions(op: sites.ListPermissions, context: RequestContext) -> Json:
    refuse_guests(context, op.at.organization_id, "see who has access to a site")
    view = site_view(context, op.at)
    visible_spaces = [view.tree.spaces[part.document["space"]] for part in view.site_spaces()]
    organization = context.store.get(f"/orgs/{op.at.organization_id}")
    members = context.store.items(f"/orgs/{op.at.organization_id}/members")
    permissions = [
        (position, {"permission": role_and_source[0], "user": member["id"], "origin": _role_origin(role_and_source[1])})
        for position, member in members
        if (role_and_source := _highest_role(context, organization, member["id"], visible_spaces))
    ]
    return paginate(op, permissions, lambda each: {**each, "user": present_user(context, each["user"])})


def _highest_role(
    context: RequestContext, organization: Json, user_id: str, spaces: list[Json]
) -> tuple[str, Json] | None:
    """Return a user's highest role, and the organization or space that grants it. None if the user has no role."""
    roles = [(organization_role(context, organization["id"], user_id), organization)]
    roles += [(role(context, space, user_id), space) for space in spaces]
    return max(((name, origin) for name, origin in roles if name), key=lambda row: ROLES.index(row[0]), default=None)


def _role_origin(document: Json) -> Json:
    kind = "space" if "revision" in document else "organization"
    return {"type": kind, kind: document["id"]}


SAMPLE_MARKDOWN = "Write here what your readers look for first, and add pages for the rest.\n"
"""Markdown of the page in a space that is created as a sample."""


@presents(sites.Site)
def _present_site(context: RequestContext, site: Json) -> Json:
    organization_id, site_id = site["organization"], site["id"]
    path = f"/orgs/{organization_id}/sites/{site_id}"
    tree = site_tree.load_site(context, path)
    proxy = {"origin": site.get("proxy"), "target": site_tree.site_target_url(context, site)}
    urls = {"location": context.url(f"/v1{path}"), "app": context.url(f"/o/{organization_id}/sites/{site_id}")}
    return {
        "object": "site",
        **omit(site, "organization", "proxy", "defaultSiteSpace", "defaultSiteSection"),
        **({"proxy": proxy} if proxy["origin"] else {}),
        "siteSpaces": len(tree.existing_site_spaces()),
        "features": [],
        "urls": {**urls, **site_tree.published_urls(tree, site_tree.site_url(context, tree))},
        "permissions": _site_permissions(context, organization_id),
    }


@handle.register
def _list_sites(op: sites.List, context: RequestContext) -> Json:
    matching_sites = [
        (position, site) for position, site in context.store.items(path_of(op)) if _matches_filters(op, context, site)
    ]
    return paginate(op, matching_sites, lambda site: _present_site(context, site))


def _matches_filters(op: sites.List, context: RequestContext, site: Json) -> bool:
    tree = site_tree.load_site(context, f"{path_of(op)}/{site['id']}")
    return (
        op.published in (None, site["published"])
        and (not op.type or site["type"] in op.type)
        and fold(op.title or "") in fold(site["title"])
        and (op.space is None or any(part.document["space"] == op.space for part in tree.existing_site_spaces()))
        and site_tree.can_see_site(context, tree)
    )


guards(sites.Create)(organization_guard("create"))
_require_admin = guards(sites.Update, sites.Delete)(organization_guard("admin"))


@before_save(sites.Site)
def _fill_in_site(op: sites.Create | sites.Update, context: RequestContext, site: Json) -> Json:
    return _create_site(op, context, site) if isinstance(op, sites.Create) else _update_site(op, context, site)


def _create_site(op: sites.Create, context: RequestContext, site: Json) -> Json:
    wanted_spaces = site.pop("spaces", ())
    initial_fields = {"organization": op.at.organization_id, "createdAt": context.timestamp(), "published": False}
    site = {**initial_fields, "type": "basic", "visibility": "public", "agentsContext": "included", **site}
    if len(set(wanted_spaces)) < len(wanted_spaces) and not isinstance(wanted_spaces, str):
        raise Refusal(400, "spaces contains a space twice. List each space once.")
    chosen_spaces = (
        []
        if isinstance(wanted_spaces, str)
        else [require_addable_space(context, op.at.organization_id, wanted_space) for wanted_space in wanted_spaces]
    )
    site.setdefault("title", title_from_space(chosen_spaces[0]) if chosen_spaces else "Untitled")
    if isinstance(wanted_spaces, str):
        space = spaces.create_space(context, op.at.organization_id, title=site["title"][: spaces.TITLE_LIMIT])
        first_revision = add_first_revision(context, space, SAMPLE_MARKDOWN if wanted_spaces == "sample" else "")
        chosen_spaces = [set_current(context, space["id"], first_revision)]
    path = f"{path_of(op)}/{site['id']}"
    context.store.put(path, site)
    for space in chosen_spaces:
        new_site_space(context, site_tree.load_site(context, path), space)
    return site


def _update_site(op: sites.Update, context: RequestContext, site: Json) -> Json:
    path = path_of(op)
    if op.basename is not None:
        _refuse_taken_basename(context, site)
    tree = replace(site_tree.load_site(context, path), site=site)
    if op.default_site_section is not None:
        if op.default_site_section not in {part.document["id"] for part in tree.sections()}:
            raise MissingResource(f"{path}/sections/{op.default_site_section}")
        if op.default_site_section != tree.default_section_id():
            raise Refusal(409, "The section has no space where visitors could start. Add a space to the section first.")
    if op.default_site_space is not None:
        site = _set_default_site_space(context, tree, op.default_site_space)
    return {name: value for name, value in site.items() if value is not None}


def _refuse_taken_basename(context: RequestContext, site: Json) -> None:
    refuse_invalid_segment(site["basename"], "basename")
    for other in context.store.all(f"/orgs/{site['organization']}/sites"):
        if other["id"] != site["id"] and site["basename"] in (other.get("basename"), other["id"]):
            raise Refusal(
                409, f"The path “{site['basename']}” is already used by “{other['title']}”. Choose another path."
            )


def _set_default_site_space(context: RequestContext, tree: SiteTree, site_space_id: str) -> Json:
    """Make a site space the default. Return the site to save. Raises Refusal if the default section lacks the space."""
    section = tree.default_section_id()
    if site_space_id not in {part.document["id"] for part in tree.existing_site_spaces_in(section)}:
        where = (
            f"in the default section “{tree.section(section)['title']}”" if section else "at the top level of the site"
        )
        raise Refusal(
            400, f"defaultSiteSpace must be a space {where}. Choose another space, or change the default section."
        )
    if not section:
        return tree.site
    context.store.update(f"{tree.path}/sections/{section}", defaultSiteSpace=site_space_id)
    return {name: value for name, value in tree.site.items() if name != "defaultSiteSpace"}


@handle.register(sites.Publish)
@handle.register(sites.Unpublish)
def _publish(op: sites.Publish | sites.Unpublish, context: RequestContext) -> Json:
    _require_admin(op, context)
    is_publishing = isinstance(op, sites.Publish)
    tree = site_view(context, op.at).tree
    if is_publishing and not tree.existing_site_spaces():
        raise Refusal(409, f"“{tree.site['title']}” has no space to show. Add a space first.")
    return _present_site(context, context.store.update(tree.path, published=is_publishing))


@handle.register
def _get_published(op: sites.GetPublished, context: RequestContext) -> Json:
    view = site_view(context, op.at, op.share_key, as_visitor=True)
    if not view.tree.site["published"]:
        raise Refusal(404, f"“{view.tree.site['title']}” is not published.")
    visible_parts = view.site_spaces()
    return {
        "object": "published-content-site",
        "site": _present_site(context, view.tree.site),
        "structure": view.present_structure(),
        "customizations": {
            "site": _default_customization(),
            "siteSpaces": {each.document["id"]: _default_customization() for each in visible_parts},
        },
        "scripts": [],
    }


_CUSTOMIZATION_FIELDS = (
    *("styling", "internationalization", "favicon", "header", "footer", "themes", "pdf", "feedback", "ai"),
    *("advancedCustomization", "trademark", "externalLinks", "pagination", "pageActions", "git", "privacyPolicy"),
    *("socialPreview", "insights"),
)


def _default_customization() -> Json:
    return {name: {} for name in _CUSTOMIZATION_FIELDS}


_MEMBER_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_require_schema_viewer = guards(adaptive_schema.Get)(organization_guard("view"))
_require_schema_admin = organization_guard("admin")


@presents(adaptive_schema.AdaptiveSchema)
def _present_schema(context: RequestContext, document: Json) -> Json:
    return {"object": "site-adaptive-schema", **document}


@handle.register
def _update_schema(op: adaptive_schema.Update, context: RequestContext) -> Json:
    _require_schema_admin(op, context)
    document = {**request_fields(op), "updatedAt": context.timestamp()}
    return _present_schema(context, context.store.put(path_of(op), document))


@handle.register
def _list_template_conditions(op: adaptive_schema.ListTemplateConditions, context: RequestContext) -> Json:
    _require_schema_viewer(op, context)
    schema = context.store.find(path_of(op).removesuffix("/template-conditions"))
    return {"items": list(_condition_templates("visitor.claims", schema["jsonSchema"])) if schema else []}


def _condition_templates(expression: str, claim: Json) -> Iterator[Json]:
    """Yield templates for conditions on a visitor claim, such as `visitor.claims.plan == "pro"`. In this example,
    `expression` is `visitor.claims.plan`."""
    description = claim.get("description") or expression
    match claim["type"]:
        case "object":
            for name, inside in claim["properties"].items():
                yield from _condition_templates(_member(expression, name), inside)
        case "boolean":
            yield _condition(description, expression)
        case "number":
            yield _condition(description, f"{expression} > 0")
        case "string":
            for value in claim.get("enum", ()):
                yield _condition(f"{description}: {value}", f"{expression} == {_literal(value)}")
            if "enum" not in claim:
                yield _condition(description, f'{expression} != ""')
        case "array":
            for value in claim["items"].get("enum", ()):
                yield _condition(f"{description}: {value}", f"{expression}.includes({_literal(value)})")
            if "enum" not in claim["items"]:
                yield _condition(description, f"{expression}.length > 0")


def _condition(description: str, condition: str) -> Json:
    return {"description": description, "condition": condition}


def _member(expression: str, name: str) -> str:
    return f"{expression}.{name}" if _MEMBER_NAME.fullmatch(name) else f"{expression}[{_literal(name)}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


guards(share_links.List, share_links.Create, share_links.Update, share_links.Delete)(organization_guard("admin"))


@presents(share_links.ShareLink)
def _present_share_link(context: RequestContext, document: Json) -> Json:
    tree = site_tree.load_site_of(context, document)
    urls = site_tree.published_urls(tree, site_tree.site_url(context, tree, document["key"]))
    public_fields = omit(document, "organization", "site", "key")
    return {"object": "share-link", **public_fields, "urls": urls}


@before_save(share_links.ShareLink)
def _fill_in_share_link(op: share_links.Create | share_links.Update, context: RequestContext, document: Json) -> Json:
    if isinstance(op, share_links.Update):
        return document
    parent_ids = {"organization": op.at.organization_id, "site": op.at.site_id}
    return {**document, **parent_ids, "createdAt": context.timestamp(), "active": True, "key": context.new_id()}


guards(mcp_servers.List, mcp_servers.Get, mcp_servers.Create, mcp_servers.Update, mcp_servers.Delete)(
    organization_guard("create")
)


@presents(mcp_servers.McpServer)
def _present_server(context: RequestContext, document: Json) -> Json:
    site_path = f"/v1/orgs/{document['organization']}/sites/{document['site']}"
    return {
        "object": "site-mcp-server",
        **{name: document[name] for name in ("id", "name", "url", "headers")},
        "urls": {"location": context.url(f"{site_path}/mcp-servers/{document['id']}")},
    }


@before_save(mcp_servers.McpServer)
def _fill_in_server(op: mcp_servers.Create | mcp_servers.Update, context: RequestContext, document: Json) -> Json:
    return {**document, "organization": op.at.organization_id, "site": op.at.site_id}


_PERCENT_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"

guards(redirects.Create, redirects.Update, redirects.Delete)(organization_guard("create"))


@presents(redirects.Redirect)
def _present_redirect(context: RequestContext, document: Json) -> Json:
    return {"object": "site-redirect", **document}


@before_save(redirects.Redirect)
def _fill_in_redirect(op: redirects.Create | redirects.Update, context: RequestContext, document: Json) -> Json:
    source = normalize_path(document["source"])
    other_redirect = context.store.find_by(f"{site_tree.site_path(op.at)}/redirects", "source", source)
    if other_redirect and other_redirect["id"] != document["id"]:
        raise Refusal(409, f"There is already a redirect from {source}. Edit that redirect, or choose another source.")
    if op.destination is not None:
        _destination_url(context, op.at, document["destination"])
    return {**document, "source": source}


@handle.register
def _list_redirects(op: redirects.List, context: RequestContext) -> Json:
    folded_search = fold(op.search or "")
    items = context.store.items(path_of(op))
    matching_redirects = ((position, each) for position, each in items if folded_search in fold(each["source"]))
    return paginate(op, matching_redirects, lambda each: _present_redirect(context, each))


@handle.register
def _resolve_redirect(op: redirects.Resolve, context: RequestContext) -> Json:
    source = normalize_path(op.source)
    redirect = context.store.find_by(f"{site_tree.site_path(op.at)}/redirects", "source", source)
    if redirect is None:
        raise Refusal(404, f"No redirect on this site starts at {source}.")
    return {
        "redirect": _present_redirect(context, redirect),
        "target": _destination_url(context, op.at, redirect["destination"], op.share_key),
    }


def normalize_path(source: str) -> str:
    """Return the path of a redirect without unnecessary escapes, `.` and `..`. Raises Refusal for the home page."""
    segments: list[str] = []
    for segment in source.split("/")[1:]:
        segment = _PERCENT_ESCAPES.sub(lambda escape: quote(unquote_to_bytes(escape[0]), safe=_UNRESERVED), segment)
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    if not segments:
        raise Refusal(400, "source cannot be the home page of the site. Choose a path below it.")
    return "/" + "/".join(segments)


def _destination_url(context: RequestContext, at: SiteRef, destination: Json, share_key: str | None = None) -> str:
    """Return the URL to which a redirect leads. Raises MissingResource if the caller cannot see its destination."""
    view = site_view(context, at, share_key)
    if destination["kind"] == "site-section":
        section = _visible_part(view, "sections", view.sections(), destination["siteSectionId"])
        return site_tree.section_url(context, view.tree, section, share_key)
    site_space = _visible_part(view, "site-spaces", view.site_spaces(), destination["siteSpaceId"])
    start = site_tree.site_space_url(context, view.tree, site_space, share_key)
    if destination["kind"] == "site-space":
        return start
    page = page_trees.find_page(get_current(context, site_space["space"])["pages"], destination["pageId"])
    if page is None or "path" not in page:
        raise MissingResource(f"{view.tree.path}/site-spaces/{site_space['id']}/pages/{destination['pageId']}")
    return start + quote(page["path"])


def _visible_part(view: SiteView, folder: str, visible_parts: StoredSiteParts, part_id: str) -> Json:
    for part in visible_parts:
        if part.document["id"] == part_id:
            return part.document
    raise MissingResource(f"{view.tree.path}/{folder}/{part_id}")
