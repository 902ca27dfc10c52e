"""Serves the tools of `octavo mcp` on standard input and output. Only this module imports the MCP library."""

from __future__ import annotations

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from octavo import __version__
from octavo.cli.mcp_tools import INSTRUCTIONS, Tool, Toolbox, ToolError
from octavo.data.proposed_notes import sanitize_source_name


async def serve(toolbox: Toolbox) -> None:
    """Serve the tools until standard input is closed."""

    async def list_tools(_: ServerRequestContext, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(each) for each in toolbox.tools])

    async def call_tool(context: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        client = context.session.client_params
        toolbox.caller_name = sanitize_source_name(client.client_info.name) if client is not None else "unknown"
        try:
            text, is_error = await toolbox.call(params.name, params.arguments or {}), False
        except ToolError as error:
            text, is_error = str(error), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    server = Server(
        "octavo", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    try:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # The agent has ended.


def _describe_tool(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=not tool.proposes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints)
