"""Builds the parser of the command line. The commands in `octavo.cli.commands` declare their own arguments. This module
declares the arguments of the other commands, and shared arguments. Start at `build_parser`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from octavo import __version__
from octavo.cli.commands import COMMANDS, CliCommand, fields_by_kind, load_command
from octavo.cli.standard_streams import USAGE, Failure
from octavo.settings.file import did_you_mean

argparse._ = str  # type: ignore[attr-defined]  # Octavo is in English, and the search for translations takes long.
COMPLETE = "__complete"
"""The hidden command that completion scripts run."""
_CHOICE = r"[\w-]+"
_INVALID_CHOICE = re.compile(r"invalid choice: '([^']{1,40})' \(choose from ([^()]*)\)")
Commands = argparse._SubParsersAction  # The return type of `add_subparsers` has no public name.
GLOBAL_OPTIONS_TITLE = "global options"
"""Title of the help section for options that may stand before or after the name of any command."""
PEOPLE_BY_ROLE = {
    "administrator": "noor-haddad",
    "creator": "mara-lindqvist",
    "reviewer": "tomas-okafor",
    "editor": "yuki-tanabe",
    "commenter": "sipho-dlamini",
    "reader": "elin-brandt",
    "guest": "hiroshi-dahlgren",
}
"""ID of the demo user for each value of `--as ROLE`, from the highest role to the lowest."""
DEFAULT_ROLE = "creator"
"""The role of the demo user without `--as`. A creator can review and merge, but not administer."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line. If `only` names a command, the other commands get no arguments."""
    main_parser = Parser(
        prog="octavo",
        description="Read, review, and merge documentation in the terminal. Without a command, Octavo opens the app.",
        epilog="Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 not signed in, 5 not allowed, 6 blocked, "
        "7 outcome unknown, 130 interrupted. More help: octavo help",
    )
    main_parser.add_argument(
        "--version", action="version", version=f"octavo {__version__}", help="print the version and exit"
    )
    demo_defaults = {"reset": False, "large": False, "latency": 0, "fail": 0, "role": ""}
    main_parser.set_defaults(command="", module="app", target="", web=False, **demo_defaults)
    commands: Commands[argparse.ArgumentParser] = main_parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", parser_class=Parser
    )
    for name, summary in COMMANDS.items():
        if only is None or only == name:
            command = load_command(name)
            command.declare(add_command(commands, name, summary, command.details, command.examples, command))
        else:
            commands.add_parser(name, help=summary)
    _add_other_commands(commands)
    add_global_options(main_parser)
    for name, command_parser in command_parsers(main_parser).items():
        if only in (None, name):
            for each in (command_parser, *all_commands(command_parser)):
                add_global_options(each, is_for_command=True)
    return main_parser


def _add_other_commands(commands: Commands[argparse.ArgumentParser]) -> None:
    demo = add_command(commands, "demo", "open the demo documentation without an account or network")
    demo.add_argument("--reset", action="store_true", help="delete your changes in the demo and start over")
    demo.add_argument(
        "--large", action="store_true", help="use 200 spaces with 10,000 pages; the first start takes half a minute"
    )
    demo.add_argument(
        "--latency",
        type=whole_number(60_000, "a number of milliseconds", 300),
        default=0,
        metavar="MS",
        help="delay every response by MS milliseconds",
    )
    failure_rate_help = "make PERCENT percent of the API requests fail"
    demo.add_argument(
        "--fail", type=whole_number(100, "a percentage", 10), default=0, metavar="PERCENT", help=failure_rate_help
    )
    _add_role(demo)
    demo.set_defaults(module="app")

    opening = add_command(
        commands,
        "open",
        "open a space, page, change request or thread, or a folder of Markdown files",
        "The command word may be left out for a URL and for SPACE/NUMBER. If a folder has the name, it is opened: handbook: is "
        "always a space, and ./handbook a folder. SUMMARY.md defines the table of contents of a folder. Without SUMMARY.md, "
        "the folder structure does. Changed files become a new revision, even while the folder is open. Your comments and "
        "change requests are kept. Merged changes stay in Octavo's copy until you write them to the folder: octavo export FOLDER --write",
        examples=(
            "octavo open harbour-api/7",
            "octavo open ./docs",
            "octavo open 'https://app.gitbook.com/o/ORG/s/SPACE/~/changes/7' --web",
        ),
    )
    opening.add_argument("target", nargs="?", default="", metavar="REF|FOLDER", help="what to open (default: the app)")
    opening.add_argument("--web", action="store_true", help="open it in the web browser instead")
    opening.set_defaults(module="app")

    serve = add_command(
        commands,
        "serve",
        "run a local server with the same API",
        "The server listens on 127.0.0.1 only. It prints its URL and the path to the API key file. To stop the server, "
        "press ctrl+c.",
    )
    port_help = "the port to listen on (default: any free port)"
    serve.add_argument("--port", type=whole_number(65_535, "a port", 8080), default=0, metavar="N", help=port_help)
    serve.add_argument(
        "--data", type=Path, metavar="DIR", help="store the data in DIR (a new folder starts with the demo data)"
    )
    serve.add_argument("--large", action="store_true", help="use the large demo: 200 spaces, 10,000 pages")
    serve.add_argument(
        "--load", type=Path, metavar="FOLDER", help="serve a folder of Markdown files instead of the demo"
    )
    serve.add_argument(
        "--allow-private-imports",
        action="store_true",
        help="allow imports and OpenAPI files from this computer and private networks",
    )
    _add_role(serve)
    serve.set_defaults(module="serve")

    operations = add_command(
        commands, "operations", "list the API operations", examples=("octavo operations", "octavo operations merge")
    )
    operations.add_argument(
        "words", nargs="*", metavar="WORD", help="list only operations with this word in name or summary"
    )
    format_group = operations.add_mutually_exclusive_group()
    format_group.add_argument(
        "--json", action="store_true", help="print the list as JSON, one object for each method and path"
    )
    format_group.add_argument("--openapi", action="store_true", help="print an OpenAPI 3.1 document")
    operations.set_defaults(module="operations")

    api = add_command(
        commands,
        "api",
        "call one API operation and print the JSON response",
        examples=(
            "octavo api users.Me",
            "octavo api comments.List --help",
            "octavo api spaces.List organizationId=ORG --all --ndjson",
            "octavo api comments.List spaceId=SPACE status=open limit=50",
            "octavo api comments.Create spaceId=SPACE body[markdown]=@note.md",
            "octavo api content.Edit spaceId=SPACE changeRequestId=CR --input - < changes.json",
            "octavo api GET /v1/orgs/ORG/spaces limit==50",
        ),
        add_help=False,
    )
    _add_api_options(api)
    api.set_defaults(module="api")

    completion = add_command(
        commands,
        "completion",
        "print a completion script for your shell",
        examples=(
            "bash, in ~/.bashrc:   source <(octavo completion bash)",
            'zsh:                  octavo completion zsh > "${fpath[1]}/_octavo"',
            "fish:                 octavo completion fish > ~/.config/fish/completions/octavo.fish",
            "PowerShell:           octavo completion powershell | Out-String | Invoke-Expression",
        ),
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"), help="your shell")
    completion.set_defaults(module="completion")

    topic = add_command(
        commands,
        "help",
        "read about keys, settings, commands, and more",
        "Without a topic, Octavo lists the commands and topics. If the topic is a command, Octavo shows the help for that "
        "command.",
        examples=("octavo help", "octavo help keys", "octavo help settings --man | man -l -"),
    )
    topic.add_argument("topic", nargs="?", default="", metavar="TOPIC", help="a topic from the list, or a command")
    format_group = topic.add_mutually_exclusive_group()
    format_group.add_argument("--list", action="store_true", help="list the topics, one a line")
    format_group.add_argument("--man", action="store_true", help="print the topic as a manual page")
    topic.set_defaults(module="help")


def _add_api_options(api: argparse.ArgumentParser) -> None:
    api.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="an operation, such as comments.List, or a method, such as GET, and a path; for a list of the operations, run: octavo operations",
    )
    api.add_argument(
        "values",
        nargs="*",
        default=(),
        metavar="KEY=VALUE",
        help="a parameter; use KEY:=JSON for a JSON value, KEY=@FILE for the text of a file, and KEY[INNER]=VALUE for a field of an object",
    )
    # The help option of argparse cannot print the help of an operation.
    api.add_argument("-h", "--help", action="store_true", help="show the help of the command, or of the operation NAME")
    input_help = "send a JSON file as the body; - reads standard input"
    api.add_argument("--input", metavar="FILE", type=not_empty, help=input_help)
    raw_field_help = "a text parameter"
    api.add_argument(
        "-f", "--raw-field", dest="text_fields", action="append", default=[], metavar="KEY=VALUE", help=raw_field_help
    )
    field_help = "a parameter whose value can be a number, true, false, null or @FILE"
    api.add_argument(
        "-F", "--field", dest="typed_fields", action="append", default=[], metavar="KEY=VALUE", help=field_help
    )
    api.add_argument("--all", action="store_true", help="get all pages of results")
    forms = api.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON (the default), and errors as JSON")
    forms.add_argument("-q", "--jq", metavar="EXPR", help="filter the JSON with jq")
    forms.add_argument("--ndjson", action="store_true", help="print one line for each item of a list")
    forms.add_argument(
        "-i", "--include", action="store_true", help="print the status and the headers of the response too"
    )
    api.add_argument("--dry-run", action="store_true", help="print the request without the API key; send nothing")


def _add_role(parser: argparse.ArgumentParser) -> None:
    as_help = f"your role in the demo: {', '.join(PEOPLE_BY_ROLE)} (default: {DEFAULT_ROLE})"
    parser.add_argument("--as", dest="role", choices=tuple(PEOPLE_BY_ROLE), default="", metavar="ROLE", help=as_help)


class WrongUsage(Failure):
    """Wrong arguments on the command line. `text` is the message with the usage of the command."""

    def __init__(self, message: str, program: str, usage: str) -> None:
        super().__init__(message, USAGE)
        self.text = f"{usage}{program}: error: {message}\n"


class Parser(argparse.ArgumentParser):
    """A parser that raises WrongUsage instead of exiting, so that errors can be printed as JSON."""

    def error(self, message: str) -> NoReturn:
        if choice_match := _INVALID_CHOICE.search(message):
            message += f".{did_you_mean(choice_match[1], re.findall(_CHOICE, choice_match[2]))}".rstrip(".")
        raise WrongUsage(message, self.prog, self.format_usage())


def command_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands of `parser`, by name. For `octavo` itself, these are all commands."""
    parsers_by_name: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, Commands):
            parsers_by_name |= action.choices
    return parsers_by_name


def summaries_of(main_parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the one-line summary of each command, by its name."""
    actions = (action for action in main_parser._actions if isinstance(action, Commands))
    return {each.dest: each.help or "" for action in actions for each in action._choices_actions}


def add_command(
    commands: Commands[argparse.ArgumentParser],
    name: str,
    summary: str,
    details: str = "",
    examples: Sequence[str] = (),
    command: CliCommand | None = None,
    *,
    add_help: bool = True,
) -> argparse.ArgumentParser:
    """Add a command, and return its parser. The command's help shows all texts, `octavo --help` only `summary`."""
    description = fill(f"{summary[:1].upper()}{summary[1:]}. {details}".strip(), 80)
    parts = ["\n".join(("examples:", *(f"  {each}" for each in examples)))] if examples else []
    for kind, fields in fields_by_kind(command).items() if command is not None else ():
        default_names = ", ".join(each.name for each in fields if not each.is_extra)
        extra_names = ", ".join(each.name for each in fields if each.is_extra)
        label = f"fields of a {kind}" if kind else "fields"
        parts.append(fill(f"{label}: {default_names}", 80, subsequent_indent="  "))
        parts += [fill(f"more {label}: {extra_names}", 80, subsequent_indent="  ")] if extra_names else []
    if command is not None and command.exit_codes:
        parts.append("\n".join(("exit codes:", *(f"  {code}  {text}" for code, text in command.exit_codes.items()))))
    epilog = "\n\n".join(parts) or None
    formatter = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(
        name, help=summary, description=description, epilog=epilog, formatter_class=formatter, add_help=add_help
    )


def all_commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all commands and subcommands below `parser`, such as `auth` and `auth login`."""
    for each in command_parsers(parser).values():
        yield each
        yield from all_commands(each)


class _JoinWithCommas(argparse.Action):
    """Joins the values of an option that is used several times: `-s a -s b` becomes `a,b`."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        earlier_values = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"{earlier_values},{values}" if earlier_values else values)


def add_global_options(parser: argparse.ArgumentParser, *, is_for_command: bool = False) -> None:
    """Add options such as `--profile`. If `is_for_command`, no default replaces a value before the command name."""
    group = parser.add_argument_group(GLOBAL_OPTIONS_TITLE)
    default, unset = (argparse.SUPPRESS, argparse.SUPPRESS) if is_for_command else (None, False)
    profile_help = "the name of the account to use (as shown by `octavo auth status`)"
    group.add_argument("--profile", metavar="NAME", type=not_empty, default=default, help=profile_help)
    base_url_help = "the server to use (or set OCTAVO_BASE_URL)"
    group.add_argument("--base-url", metavar="URL", type=not_empty, default=default, help=base_url_help)
    group.add_argument("--demo", dest="use_demo", action="store_true", default=unset, help="use the demo documentation")
    folder_help = "use a folder of Markdown files"
    group.add_argument(
        "--folder", dest="pages_folder", metavar="DIR", type=not_empty, default=default, help=folder_help
    )
    space_help = "the space (or set OCTAVO_SPACE)"
    group.add_argument(
        "-s", "--space", metavar="SPACE", type=not_empty, default=default, action=_JoinWithCommas, help=space_help
    )
    read_only_help = "refuse all changes to data on the server (or set OCTAVO_READ_ONLY=1)"
    group.add_argument("--read-only", action="store_true", default=unset, help=read_only_help)
    debug_help = "print each request and write to standard error (`octavo log` has them too)"
    group.add_argument("--debug", action="store_true", default=unset, help=debug_help)
    group.add_argument("--no-pager", action="store_true", default=unset, help="print long text without a pager")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default=default, help="when to use colors (default: auto)"
    )


def not_empty(text: str) -> str:
    """Return `text`. Raises ArgumentTypeError if `text` is blank, for example because a script variable is not set."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty. Leave out the option, or add a value.")
    return text


def whole_number(maximum: int, description: str, example: int) -> Callable[[str], int]:
    """Return a function that parses a whole number from 0 to `maximum`. Errors contain `description` and `example`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= maximum):
            raise argparse.ArgumentTypeError(
                f"{text[:40]!r} is not {description}. Enter a number from 0 to {maximum}, for example {example}."
            )
        return int(text)

    return read
