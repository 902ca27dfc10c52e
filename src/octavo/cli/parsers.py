"""Parsers of the command line: their errors, their help, and the options that every command takes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import NoReturn

from octavo.cli.commands import Command, fields_by_kind
from octavo.cli.failures import USAGE, Failure
from octavo.settings import did_you_mean

COMPLETE = "__complete"
"""The hidden command that completion scripts run."""


class WrongUsage(Failure):
    """Arguments that the parser refused."""

    def __init__(self, message: str, program: str, usage: str) -> None:
        super().__init__(message, USAGE)
        self.text = f"{usage}{program}: error: {message}\n"


_CHOICE = r"[\w-]+"
_INVALID_CHOICE = re.compile(r"invalid choice: '([^']{1,40})' \(choose from ([^()]*)\)")


class Parser(argparse.ArgumentParser):
    """A parser that raises its errors, so that they can be printed as JSON."""

    def error(self, message: str) -> NoReturn:
        if found := _INVALID_CHOICE.search(message):
            message += f".{did_you_mean(found[1], re.findall(_CHOICE, found[2]))}".rstrip(".")
        raise WrongUsage(message, self.prog, self.format_usage())


Commands = argparse._SubParsersAction  # the return type of `add_subparsers` has no public name


def commands_of(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by name."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in top._actions:
        if isinstance(action, Commands):
            found |= action.choices
    return found


def summaries_of(top: argparse.ArgumentParser) -> dict[str, str]:
    """Return the line about each command, by name."""
    actions = (action for action in top._actions if isinstance(action, Commands))
    return {each.dest: each.help or "" for action in actions for each in action._choices_actions}


def add_command(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    summary: str,
    details: str = "",
    examples: Sequence[str] = (),
    command: Command | None = None,
    *,
    add_help: bool = True,
) -> argparse.ArgumentParser:
    """Add a command. `summary` is its line in the list of commands. Its own help also shows `details`, `examples`, and the
    fields and exit codes of `command`."""
    description = fill(f"{summary[:1].upper()}{summary[1:]}. {details}".strip(), 80)
    parts = ["\n".join(("examples:", *(f"  {each}" for each in examples)))] if examples else []
    for kind, fields in fields_by_kind(command).items() if command is not None else ():
        default = ", ".join(each.name for each in fields if not each.is_extra)
        extra = ", ".join(each.name for each in fields if each.is_extra)
        named = f"fields of a {kind}" if kind else "fields"
        parts.append(fill(f"{named}: {default}", 80, subsequent_indent="  "))
        parts += [fill(f"more {named}: {extra}", 80, subsequent_indent="  ")] if extra else []
    if command is not None and command.exit_codes:
        parts.append("\n".join(("exit codes:", *(f"  {code}  {text}" for code, text in command.exit_codes.items()))))
    epilog = "\n\n".join(parts) or None
    form = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(
        name, help=summary, description=description, epilog=epilog, formatter_class=form, add_help=add_help
    )


def all_commands(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for each in commands_of(top).values():
        yield each
        yield from all_commands(each)


GLOBAL_OPTIONS = "global options"
"""Title of the options that every command takes, before or after its name."""


def add_global_options(to: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Add the options that every command takes. With `again`, they are added to a command, where they override the same
    options before it."""
    group = to.add_argument_group(GLOBAL_OPTIONS)
    default, unset = (argparse.SUPPRESS, argparse.SUPPRESS) if again else (None, False)
    account = "the name of the account to use (as shown by `octavo auth status`)"
    group.add_argument("--profile", metavar="NAME", default=default, help=account)
    group.add_argument("--base-url", metavar="URL", default=default, help="the server to use (or set OCTAVO_BASE_URL)")
    group.add_argument("--demo", dest="use_demo", action="store_true", default=unset, help="use the demo documentation")
    group.add_argument(
        "--folder", dest="pages_folder", metavar="DIR", default=default, help="use a folder of Markdown files"
    )
    group.add_argument("-s", "--space", metavar="SPACE", default=default, help="the space (or set OCTAVO_SPACE)")
    refuse = "refuse all changes to data on the server (or set OCTAVO_READ_ONLY=1)"
    group.add_argument("--read-only", action="store_true", default=unset, help=refuse)
    debug = "print each request and write to standard error (`octavo log` has them too)"
    group.add_argument("--debug", action="store_true", default=unset, help=debug)
    group.add_argument("--no-pager", action="store_true", default=unset, help="print long text without a pager")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default=default, help="when to use colors (default: auto)"
    )


def whole_number(maximum: int, what: str, example: int) -> Callable[[str], int]:
    """Return a function that reads a whole number from 0 to `maximum`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= maximum):
            raise argparse.ArgumentTypeError(
                f"{text[:40]!r} is not {what}. Enter a number from 0 to {maximum}, for example {example}."
            )
        return int(text)

    return read
