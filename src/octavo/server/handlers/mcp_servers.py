"""MCP servers of sites. Their headers may be secrets, so only those who may change them see them."""

from __future__ import annotations

from octavo.api import mcp_servers
from octavo.server.handlers.permissions import in_organization
from octavo.server.rest import completes, guards, shows
from octavo.server.store import Json
from octavo.server.world import World

guards(mcp_servers.List, mcp_servers.Get, mcp_servers.Create, mcp_servers.Update, mcp_servers.Delete)(
    in_organization("create")
)


@shows(mcp_servers.McpServer)
def present_server(world: World, document: Json) -> Json:
    """An MCP server as those see it who may change it."""
    site = f"/v1/orgs/{document['organization']}/sites/{document['site']}"
    return {
        "object": "site-mcp-server",
        **{name: document[name] for name in ("id", "name", "url", "headers")},
        "urls": {"location": world.url(f"{site}/mcp-servers/{document['id']}")},
    }


@completes(mcp_servers.McpServer)
def _complete(op: mcp_servers.Create | mcp_servers.Update, world: World, document: Json) -> Json:
    return {**document, "organization": op.at.organization_id, "site": op.at.site_id}
