"""The commands of Octavo, except those in `arguments.py`. Only the module of the running command is loaded.

To add a command, add a line to `COMMANDS`, and a `CliCommand` with the same name to a module with the same name. If the module
has another name, add a line to `MODULES`.

    CHANGES = CliCommand(
        declare=_declare_changes,          # adds the arguments to a parser
        run=_run_changes,                  # gets the parsed arguments and returns the exit code
        examples=("octavo changes -s handbook", ...),
        fields=FIELDS,                     # the fields of its JSON, if it prints any
        exit_codes={3: "the space does not exist"},
    )
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.cli.output import Field

COMMANDS = {
    "auth": "sign in, sign out, and list or switch accounts",
    "changes": "list change requests",
    "check": "find broken links and other mistakes",
    "comment": "comment on a space, change request, page or block",
    "config": "list, check, and edit your settings",
    "diff": "print what a change request changes",
    "doctor": "find problems on this computer, and how to fix them",
    "export": "write merged changes back to an opened folder",
    "inbox": "list what needs you",
    "log": "print what Octavo did",
    "mcp": "serve tools for agents",
    "merge": "check and merge change requests",
    "outbox": "list, retry or discard writes that are not confirmed",
    "propose": "make a change request of your changes in a pulled folder",
    "pull": "write a space as files, or update the files",
    "react": "add or remove a reaction on a thread",
    "reply": "reply to a thread",
    "resolve": "resolve or reopen threads",
    "restore": "discard your changes in files of a pulled folder",
    "review": "review a change request, export it, and propose notes",
    "search": "find pages, comments and change requests",
    "show": "print a page, change request, space, thread or user",
    "spaces": "list the spaces of all organizations",
    "status": "list the files of a pulled folder that you changed",
    "threads": "list comment threads",
}
"""The commands of this package in alphabetical order, each with its one-line summary."""
MODULES = {
    **dict.fromkeys(("react", "reply", "resolve", "threads"), "comment"),
    **dict.fromkeys(("export", "propose", "pull", "restore", "status"), "folders"),
    "log": "doctor",
    **dict.fromkeys(("merge", "spaces"), "changes"),
}
"""Modules in this package by command, for each command whose module has another name."""


@dataclass(frozen=True)
class CliCommand:
    """A command of Octavo: its arguments, its function, and its help."""

    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    details: str = ""
    """Sentences that follow the summary in the help of the command. Empty for none."""
    examples: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    kinds: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)
    """Fields of the JSON objects by kind of object, such as `page`. Empty if the command prints only one kind."""
    exit_codes: Mapping[int, str] = field(default_factory=dict)
    """Meanings of the command's own exit codes, by code. The codes 0, 1, 2 and 4 mean the same for all commands."""


def fields_by_kind(command: CliCommand) -> Mapping[str, tuple[Field, ...]]:
    """Return the fields of the printed JSON objects, by kind of object. The key is empty if there is only one kind."""
    return command.kinds or ({"": command.fields} if command.fields else {})


def load_command(name: str) -> CliCommand:
    """Import the module of a command, and return the command."""
    command = getattr(import_module(f"octavo.cli.commands.{MODULES.get(name, name)}"), name.upper())
    assert isinstance(command, CliCommand)
    return command
