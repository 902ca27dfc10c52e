"""Servers with tools that the AI agent of a site can call."""

from typing import Annotated, Any

from pydantic import Field

from octavo.api.operation import InSite, Listing, Model, Operation, Urls
from octavo.api.text import Id, SafeAddress, SafeLine, Secret, WebAddress

Name = Annotated[str, Field(min_length=1, max_length=100)]
Headers = dict[str, Annotated[str, Field(min_length=1, max_length=512), Secret()]]


class McpServer(Model):
    """An MCP server with the headers for requests to it, which may be secrets."""

    object: SafeLine = "site-mcp-server"
    id: Id
    name: SafeLine = ""
    url: SafeAddress = ""
    headers: dict[SafeLine, Annotated[SafeAddress, Secret()]] = Field(default_factory=dict)
    urls: Urls = Field(default_factory=Urls)


class List(InSite, Listing[McpServer], get="/mcp-servers"):
    """List the MCP servers of a site."""


class Create(InSite, Operation[McpServer], post="/mcp-servers"):
    """Add an MCP server to a site. headers is always sent, because some servers require the field."""

    name: Name
    url: WebAddress
    headers: Headers = Field(default_factory=dict, examples=[{"Authorization": "Bearer YOUR_TOKEN"}])
    """HTTP headers that the site sends to the MCP server."""

    def model_post_init(self, context: Any, /) -> None:
        self.__pydantic_fields_set__.add("headers")


class Get(InSite, Operation[McpServer], get="/mcp-servers/{site_mcp_server_id}"):
    """Get an MCP server."""

    site_mcp_server_id: Id


class Update(InSite, Operation[McpServer], patch="/mcp-servers/{site_mcp_server_id}"):
    """Change an MCP server. Omitted fields stay unchanged, and headers are replaced as a whole."""

    site_mcp_server_id: Id
    name: Name | None = None
    url: WebAddress | None = None
    headers: Headers | None = Field(None, examples=[{"Authorization": "Bearer YOUR_TOKEN"}])
    """HTTP headers that the site sends to the MCP server. A new list replaces the old one."""


class Delete(InSite, Operation[None], delete="/mcp-servers/{site_mcp_server_id}"):
    """Remove an MCP server from a site."""

    site_mcp_server_id: Id
