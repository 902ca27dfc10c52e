"""`octavo mcp`: lets an AI agent read and search pages, and propose notes, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from typing import TYPE_CHECKING

from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.refs import RefResolver
from octavo.cli.standard_streams import USAGE, Failure
from octavo.lazy_import import has_extra, lazy, missing_extra_phrase

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

# lazy: loads the MCP library in 0.5 s
_serve = lazy("octavo.cli.mcp_server:serve")
_toolbox = lazy("octavo.cli.mcp_tools:Toolbox")


def declare(command: argparse.ArgumentParser) -> None:
    """Declare no arguments: this command has only the global options."""


def run(options: argparse.Namespace) -> int:
    chosen_spaces = options.space or os.environ.get("OCTAVO_SPACE", "")
    names = [each.strip() for each in chosen_spaces.split(",") if each.strip()]
    if chosen_spaces and not names:  # Without names, the agent could read all spaces.
        raise Failure(f"Could not serve the tools: {chosen_spaces!r} names no space.", USAGE)
    if not has_extra("mcp"):
        raise Failure(f"Could not start the MCP server: {missing_extra_phrase('mcp')}")
    if sys.stdin is None or sys.stdout is None:
        raise Failure("Could not serve the tools: standard input or output is closed. An agent must start octavo mcp.")
    options.space = None
    # Removed, because OCTAVO_SPACE may list several spaces, but `RefResolver` and child programs expect one.
    os.environ.pop("OCTAVO_SPACE", None)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Otherwise, ctrl+c would wait for a line of input.

    async def use_session(session: Session) -> None:
        os.environ.pop("OCTAVO_API_KEY", None)
        resolver = RefResolver(session, options)
        spaces = tuple([(await resolver.space(each)).id for each in names])
        await _serve(_toolbox(session, spaces))

    return run_connected(options, use_session, action="serve the tools")


MCP = CliCommand(
    declare=declare,
    run=run,
    details="The server speaks the Model Context Protocol on standard input and output. Its tools read, search and propose "
    "notes; no tool submits, approves, merges, edits or deletes. --space limits the tools to a space, and can be "
    "repeated. See: octavo help agents",
    examples=("octavo mcp --space handbook", "octavo mcp --profile work --space handbook --space harbour-api"),
)
