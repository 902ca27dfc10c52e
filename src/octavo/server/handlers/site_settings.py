"""Settings of a site: adaptive schema, share links, MCP servers and redirects.

Share links require the Admin role, because anyone who reads one can pass it on. Headers of MCP servers may contain
secrets, so only people who may change a server can read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from octavo.api import adaptive_schema, mcp_servers, redirects, share_links
from octavo.api.folding import fold
from octavo.documents import page_trees
from octavo.server.handlers import revisions, site_tree
from octavo.server.handlers.permissions import organization_guard
from octavo.server.rest import before_save, guards, handle, omit, paginate, path_of, presents, request_fields
from octavo.server.store import Json, MissingResource
from octavo.server.world import Refusal, World

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_require_schema_viewer = guards(adaptive_schema.Get)(organization_guard("view"))
_require_schema_admin = organization_guard("admin")


@presents(adaptive_schema.AdaptiveSchema)
def present_schema(world: World, document: Json) -> Json:
    """Return an adaptive schema as it was saved."""
    return {"object": "site-adaptive-schema", **document}


@handle.register
def _update_schema(op: adaptive_schema.Update, world: World) -> Json:
    _require_schema_admin(op, world)
    document = {**request_fields(op), "updatedAt": world.timestamp()}
    return present_schema(world, world.store.put(path_of(op), document))


@handle.register
def _list_template_conditions(op: adaptive_schema.ListTemplateConditions, world: World) -> Json:
    _require_schema_viewer(op, world)
    schema = world.store.find(path_of(op).removesuffix("/template-conditions"))
    return {"items": list(_conditions("visitor.claims", schema["jsonSchema"])) if schema else []}


def _conditions(expression: str, claim: Json) -> Iterator[Json]:
    """Yield the conditions that can be set on a visitor claim. `expression` is the expression for its value."""
    description = claim.get("description") or expression
    match claim["type"]:
        case "object":
            for name, inside in claim["properties"].items():
                yield from _conditions(_member(expression, name), inside)
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
    return f"{expression}.{name}" if _NAME.fullmatch(name) else f"{expression}[{_literal(name)}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


guards(share_links.List, share_links.Create, share_links.Update, share_links.Delete)(organization_guard("admin"))


@presents(share_links.ShareLink)
def present_share_link(world: World, document: Json) -> Json:
    """Return a share link, with its URL if the site is published."""
    tree = site_tree.load_site_of(world, document)
    urls = site_tree.published_urls(tree, site_tree.site_url(world, tree, document["key"]))
    facts = omit(document, "organization", "site", "key")
    return {"object": "share-link", **facts, "urls": urls}


@before_save(share_links.ShareLink)
def _fill_in_share_link(op: share_links.Create | share_links.Update, world: World, document: Json) -> Json:
    if isinstance(op, share_links.Update):
        return document
    place = {"organization": op.at.organization_id, "site": op.at.site_id}
    return {**document, **place, "createdAt": world.timestamp(), "active": True, "key": world.new_id()}


guards(mcp_servers.List, mcp_servers.Get, mcp_servers.Create, mcp_servers.Update, mcp_servers.Delete)(
    organization_guard("create")
)


@presents(mcp_servers.McpServer)
def present_server(world: World, document: Json) -> Json:
    """Return an MCP server as an API resource."""
    site = f"/v1/orgs/{document['organization']}/sites/{document['site']}"
    return {
        "object": "site-mcp-server",
        **{name: document[name] for name in ("id", "name", "url", "headers")},
        "urls": {"location": world.url(f"{site}/mcp-servers/{document['id']}")},
    }


@before_save(mcp_servers.McpServer)
def _fill_in_server(op: mcp_servers.Create | mcp_servers.Update, world: World, document: Json) -> Json:
    return {**document, "organization": op.at.organization_id, "site": op.at.site_id}


_PERCENT_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"

guards(redirects.Create, redirects.Update, redirects.Delete)(organization_guard("create"))


@presents(redirects.Redirect)
def present_redirect(world: World, document: Json) -> Json:
    """Return a redirect as an API resource."""
    return {"object": "site-redirect", **document}


@before_save(redirects.Redirect)
def _fill_in_redirect(op: redirects.Create | redirects.Update, world: World, document: Json) -> Json:
    """Return a redirect with its source normalized. Raises MissingResource if its destination does not exist."""
    site = _site_path(op)
    source = normalize_path(document["source"])
    other = world.store.find_by(f"{site}/redirects", "source", source)
    if other and other["id"] != document["id"]:
        raise Refusal(409, f"There is already a redirect from {source}. Edit that redirect, or choose another source.")
    _destination_url(world, site, document["destination"])
    return {**document, "source": source}


@handle.register
def _list_redirects(op: redirects.List, world: World) -> Json:
    words = fold(op.search or "")
    items = world.store.items(path_of(op))
    matching = ((place, each) for place, each in items if words in fold(each["source"]))
    return paginate(op, matching, lambda each: present_redirect(world, each))


@handle.register
def _resolve_redirect(op: redirects.Resolve, world: World) -> Json:
    site = _site_path(op)
    source = normalize_path(op.source)
    redirect = world.store.find_by(f"{site}/redirects", "source", source)
    if redirect is None:
        raise Refusal(404, f"No redirect on this site starts at {source}.")
    return {
        "redirect": present_redirect(world, redirect),
        "target": _destination_url(world, site, redirect["destination"], op.share_key),
    }


def normalize_path(source: str) -> str:
    """Return a path without unnecessary escapes and without `.` and `..` segments. Raises Refusal for the home page."""
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


def _site_path(op: Any) -> str:
    return f"/orgs/{op.at.organization_id}/sites/{op.at.site_id}"


def _destination_url(world: World, site: str, destination: Json, share_key: str | None = None) -> str:
    """Return the current URL of a redirect's destination. Raises MissingResource if it does not exist."""
    tree = site_tree.load_site(world, site)
    if destination["kind"] == "site-section":
        section = world.store.get(f"{site}/sections/{destination['siteSectionId']}")
        return site_tree.section_url(world, tree, section, share_key)
    site_space = world.store.get(f"{site}/site-spaces/{destination['siteSpaceId']}")
    if site_space["space"] not in tree.spaces:
        raise MissingResource(f"/spaces/{site_space['space']}")
    start = site_tree.site_space_url(world, tree, site_space, share_key)
    if destination["kind"] == "site-space":
        return start
    page = page_trees.find(revisions.get_current(world, site_space["space"])["pages"], destination["pageId"])
    if page is None or "path" not in page:
        raise MissingResource(f"{site}/site-spaces/{site_space['id']}/pages/{destination['pageId']}")
    return start + quote(page["path"])
