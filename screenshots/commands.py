"""Write the tables of commands and options in the help topic `commands`, between its markers, from the parser.

.venv/bin/python -m screenshots.commands
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from octavo.cli.arguments import commands_of, parser
from octavo.help import file_of, text_of
from screenshots.generated import between

BEGIN, END = "<!-- commands: written by screenshots/commands.py -->", "<!-- end of commands -->"


def with_commands(text: str) -> str:
    """Return `text` with the tables as the parser has them. Raises ValueError if a marker is missing."""
    return between(text, BEGIN, END, "\n\n".join(_tables("octavo", parser())))


def _tables(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a table for a command and for each of its subcommands."""
    rows = [f"| `{_form(each)}` | {each.help} |" for each in command._actions if each.help and each.dest != "help"]
    intro = (command.description or "").replace("\n", " ")
    table = "\n".join(["| Argument | Meaning |", "| --- | --- |", *rows])
    yield "\n\n".join([f"### {name}", intro, *([table] if rows else [])])
    for sub, its_parser in commands_of(command).items():
        yield from _tables(f"{name} {sub}", its_parser)


def _form(argument: argparse.Action) -> str:
    """Return an argument as you type it."""
    value = argument.metavar or ("|".join(argument.choices) if argument.choices else "")
    return " ".join(filter(None, [", ".join(argument.option_strings), str(value)])).replace("|", "\\|")


if __name__ == "__main__":
    file_of("commands").write_text(with_commands(text_of("commands")), encoding="utf-8")
