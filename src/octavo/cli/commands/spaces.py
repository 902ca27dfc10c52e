"""`octavo spaces`: list the spaces of all organizations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.item_rows import SPACE_FIELDS, space_row
from octavo.cli.output import Output, OutputColumn, add_limit_options, add_output_options
from octavo.cli.refs import RefResolver

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

_COLUMNS = (
    OutputColumn("ref", link="url"),
    OutputColumn("title", can_be_cut=True),
    OutputColumn("changesOpen", "open changes"),
    OutputColumn("threadsOpen", "open threads"),
    OutputColumn("updatedAt", "updated"),
)


def _declare(command: argparse.ArgumentParser) -> None:
    add_limit_options(command)
    add_output_options(command)


def _run(options: argparse.Namespace) -> int:
    return run_connected(options, lambda session: _print_spaces(session, options), action="load the spaces")


async def _print_spaces(session: Session, options: argparse.Namespace) -> None:
    with Output(options, SPACE_FIELDS, _COLUMNS, empty="No spaces.") as output:
        spaces = await RefResolver(session, options).spaces(fresh=True)
        output.total = len(spaces)
        for each in spaces:
            if not output.add(space_row(each, spaces)):
                break


SPACES = CliCommand(
    declare=_declare,
    run=_run,
    details="The list has the spaces of all your organizations. `ref` is the name of the space in other commands.",
    examples=("octavo spaces", "octavo spaces --json ref,title,url"),
    fields=SPACE_FIELDS,
)
