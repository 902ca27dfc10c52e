"""What the command line accepts, and which module answers."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO

from octavo import __version__
from octavo.cli.cast import CAST, DEFAULT
from octavo.cli.last_words import guard_the_rest

if TYPE_CHECKING:
    from octavo.settings import Settings

FAILED, USAGE, NOT_SIGNED_IN = 1, 2, 4


READ_ONLY = (
    "Octavo was started read-only (--read-only), so it changes nothing on the server. To write, start it without that."
)


class Failure(Exception):
    """The command cannot go on: a sentence for stderr, which may be empty, and the exit code."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def run(argv: Sequence[str]) -> int:
    """Run the command in `argv` and return its exit code."""
    try:
        try:
            if isinstance(sys.stdout, io.TextIOWrapper):
                # What the encoding of the terminal lacks, or no encoding has, is written as an escape, as JSON has it.
                sys.stdout.reconfigure(errors="backslashreplace")
            options = _parsed(argv)
        except (SystemExit, OSError):
            write_out("")  # argparse wrote the help or the version, and does not look whether it arrived
            raise
        if options.module != "app":  # which does it when its picture is shown
            guard_the_rest()
        return int(import_module(f"octavo.cli.{options.module}").run(options))
    except Failure as failure:
        tell(*filter(None, (str(failure),)))
        return failure.code


def write_out(text: str) -> None:
    """Write `text` to standard output. Raises Failure if it does not arrive: with code 0 if the reader has seen enough."""
    if sys.stdout is None:
        raise Failure("Could not write the output: standard output is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _abandon(sys.stdout)
        if isinstance(error, BrokenPipeError):
            # `octavo operations | head`: not a failure.
            raise Failure("", 0) from None
        raise Failure(f"Could not write the output: {(error.strerror or 'unknown cause').lower()}.") from None


def _abandon(stream: TextIO) -> None:
    """Let nobody try again to write what `stream` still holds: Python would at the end, and would complain."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def why_read_only(options: argparse.Namespace) -> str:
    """Why nothing is sent that changes anything, in a sentence. Empty: the options do not say so."""
    return READ_ONLY if options.read_only else ""


def tell(*sentences: str) -> None:
    """Say on stderr what failed, could not be loaded or shown as it is, is wrong with a setting, or is waited for."""
    if sentences and sys.stderr is not None:
        try:
            sys.stderr.write("".join(f"octavo: {each}\n" for each in sentences))
            sys.stderr.flush()
        except OSError:
            _abandon(sys.stderr)  # the exit code says it


def read_settings() -> Settings:
    """Return the settings for a command other than the app, and say on stderr what is wrong with them."""
    from octavo import settings  # lazy: not every command has settings

    found = settings.read(os.environ)
    tell(*found.problems)
    return found


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The options in `argv`. The values of `api` may also stand behind an option, where argparse sees none."""
    top = parser()
    options, behind = top.parse_known_args(argv)
    if options.command == "api":
        options.values = [*options.values, *(each for each in behind if not each.startswith("-"))]
        behind = [each for each in behind if each.startswith("-")]
    if behind:
        top.error(f"this is not understood: {' '.join(behind)}. See what there is: octavo {options.command} --help")
    return options


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="octavo",
        description="Read, review and merge documentation from the keyboard. Without a command: open the app.",
        epilog="Exit codes: 0 done, 1 refused or failed, 2 usage, 4 not signed in, 130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"octavo {__version__}", help="print the version")
    _add_account(top)
    _add_read_only(top)
    top.set_defaults(command="", module="app")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")

    demo = _command(commands, "demo", "open the app on a made-up library: real work, no account, offline")
    demo.add_argument("--reset", action="store_true", help="start over: forget what was changed in the demo")
    demo.add_argument(
        "--large", action="store_true", help="one of 200 spaces and 10 000 pages; making it takes half a minute, once"
    )
    demo.add_argument(
        "--latency",
        type=_whole(60_000, "a number of milliseconds", 300),
        default=0,
        metavar="MS",
        help="answer this much later",
    )
    demo.add_argument(
        "--fail",
        type=_whole(100, "a percentage", 10),
        default=0,
        metavar="PERCENT",
        help="fail this share of the requests",
    )
    _add_role(demo)
    _add_read_only(demo, again=True)
    demo.set_defaults(module="app")

    folder = _command(
        commands,
        "open",
        "open a folder of markdown pages as a space of the embedded platform",
        "Its SUMMARY.md gives the tree, without one its folders do. Opened again, what changed becomes a revision: "
        "comments and change requests stay. Nothing in the folder is written to.",
    )
    folder.add_argument("folder", type=Path, metavar="FOLDER", help="where the pages are")
    _add_read_only(folder, again=True)
    folder.set_defaults(module="app")

    serve = _command(
        commands,
        "serve",
        "serve the embedded platform over HTTP on this machine",
        "It answers on 127.0.0.1 only, and prints its address and where the key is.",
    )
    serve.add_argument(
        "--port", type=_whole(65_535, "a port", 8080), default=0, metavar="N", help="the port; a free one when left out"
    )
    serve.add_argument("--data", type=Path, metavar="DIR", help="where its data is kept; the demo library when new")
    serve.add_argument("--large", action="store_true", help="the large demo library when new")
    serve.add_argument("--load", type=Path, metavar="FOLDER", help="load this folder of pages as a space first")
    serve.add_argument(
        "--allow-private-imports",
        action="store_true",
        help="let imports and OpenAPI specifications be fetched from this machine and its networks too",
    )
    _add_role(serve)
    _add_read_only(serve, again=True)
    serve.set_defaults(module="serve")

    _add_auth(commands)

    operations = _command(commands, "operations", "list every operation of the interface")
    printed = operations.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="as JSON: one object for each method and path")
    printed.add_argument("--openapi", action="store_true", help="as an OpenAPI 3.1 document")
    operations.set_defaults(module="operations")

    api = _command(
        commands,
        "api",
        "run one operation and print its answer as JSON",
        examples=(
            "octavo api users.Me",
            "octavo api spaces.List organizationId=ORG --all",
            "octavo api comments.List spaceId=SPACE status=open limit=50",
            """octavo api comments.Create spaceId=SPACE body:='{"markdown": "Is it five?"}'""",
        ),
    )
    api.add_argument("name", metavar="NAME", help="such as comments.List; see `octavo operations`")
    api.add_argument(
        "values", nargs="*", default=(), metavar="KEY=VALUE", help="a value by its wire name; KEY:=JSON for JSON"
    )
    api.add_argument("--all", action="store_true", help="follow all pages of a list")
    api.add_argument("--dry-run", action="store_true", help="print the request, without the key, and send nothing")
    _add_account(api, again=True)
    _add_read_only(api, again=True)
    api.set_defaults(module="api")

    completion = _command(
        commands,
        "completion",
        "print completions for a shell",
        examples=(
            "bash, in ~/.bashrc:   source <(octavo completion bash)",
            'zsh:                  octavo completion zsh > "${fpath[1]}/_octavo"',
            "fish:                 octavo completion fish > ~/.config/fish/completions/octavo.fish",
        ),
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))
    completion.set_defaults(module="completion")
    return top


Commands = argparse._SubParsersAction  # the type of what `add_subparsers` answers has no public name


def _command(
    commands: Commands[argparse.ArgumentParser], name: str, does: str, more: str = "", examples: Sequence[str] = ()
) -> argparse.ArgumentParser:
    """A command: what it does in the list of commands, and above its own help with `more` and `examples`."""
    said = fill(f"{does[:1].upper()}{does[1:]}. {more}".strip(), 80)
    shown = "\n".join(("examples:", *(f"  {each}" for each in examples))) if examples else None
    form = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=does, description=said, epilog=shown, formatter_class=form)


def _add_account(to: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Say as whom and where. `again`: these may stand behind a command as well, and there they hold."""
    default = argparse.SUPPRESS if again else None
    to.add_argument(
        "--profile", metavar="NAME", default=default, help="the account to use, of those `octavo auth login` made"
    )
    to.add_argument("--base-url", metavar="URL", default=default, help="the server to talk to (also OCTAVO_BASE_URL)")


def _add_read_only(to: argparse.ArgumentParser, *, again: bool = False) -> None:
    to.add_argument(
        "--read-only",
        action="store_true",
        default=argparse.SUPPRESS if again else False,
        help="change nothing on the server: whatever would is refused",
    )


def _add_role(to: argparse.ArgumentParser) -> None:
    """Say who one is in the demo."""
    to.add_argument(
        "--as",
        dest="role",
        choices=tuple(CAST),
        default="",
        metavar="NAME",
        help=f"who to be in the demo: {', '.join(CAST)}; {DEFAULT} when left out",
    )


def _add_auth(commands: Commands[argparse.ArgumentParser]) -> None:
    auth = _command(commands, "auth", "keys and accounts: login, logout, status, switch")
    actions = auth.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    login = _command(
        actions,
        "login",
        "keep a key for a server",
        "The key is asked for, or read from standard input, and checked. It is kept in the keyring of this system, for "
        "this server only. With --profile the account gets that name.",
        examples=(
            "octavo auth login",
            "octavo auth login --base-url https://docs.example.com --profile work",
            "octavo auth login --with-token < key.txt",
        ),
    )
    login.add_argument("--with-token", action="store_true", help="read the key from standard input")
    login.add_argument(
        "--insecure-storage", action="store_true", help="keep the key in a file in the clear (0600), without a keyring"
    )
    logout = _command(actions, "logout", "forget the key and the pages kept for it")
    logout.add_argument("--drafts", action="store_true", help="forget the drafts as well")
    status = _command(actions, "status", "show accounts, and where each key is kept; never the key")
    switch = _command(actions, "switch", "make another account the current one")
    switch.add_argument("name", metavar="NAME", help="as `octavo auth status` shows it")
    for each in (login, logout, status):
        _add_account(each, again=True)
    auth.set_defaults(module="auth")


def _whole(most: int, what: str, example: int) -> Callable[[str], int]:
    """Reads a whole number from 0 to `most`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not {what}. Give 0 to {most}, such as {example}.")
        return int(text)

    return read
