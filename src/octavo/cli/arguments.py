"""What the command line accepts, and which module answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from octavo import __version__
from octavo.cli.last_words import guard_the_rest

FAILED, USAGE, NOT_SIGNED_IN = 1, 2, 4


class Failure(Exception):
    """The command cannot go on: a sentence for stderr, and the exit code."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def run(argv: Sequence[str]) -> int:
    """Run the command in `argv` and return its exit code."""
    options = _parsed(argv)
    if options.module != "app":  # which does it when its picture is shown
        guard_the_rest()
    try:
        return int(import_module(f"octavo.cli.{options.module}").run(options))
    except Failure as failure:
        sys.stderr.write(f"octavo: {failure}\n")
        return failure.code
    except BrokenPipeError:
        # `octavo operations | head`: whoever read us has seen enough.
        sys.stderr.close()
        return 0


def tell_left_out(sentences: Sequence[str]) -> None:
    """Say on stderr what of a folder could not be loaded as it is."""
    if sentences:
        sys.stderr.write("".join(f"octavo: {each}\n" for each in sentences))


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The options in `argv`. The values of `api` may also stand behind an option, where argparse sees none."""
    top = parser()
    options, behind = top.parse_known_args(argv)
    if options.command == "api":
        options.values += [each for each in behind if not each.startswith("-")]
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
    top.add_argument("--version", action="version", version=f"octavo {__version__}")
    top.add_argument("--profile", metavar="NAME", help="the account to use, of those `octavo auth login` made")
    top.add_argument("--base-url", metavar="URL", help="the server to talk to (also OCTAVO_BASE_URL)")
    top.set_defaults(command="", module="app")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")

    demo = commands.add_parser("demo", help="open the app on a made-up library: real work, no account, offline")
    demo.add_argument("--reset", action="store_true", help="start over: forget what was changed in the demo")
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
    demo.set_defaults(module="app")

    folder = commands.add_parser("open", help="open a folder of markdown pages as a space of the embedded platform")
    folder.add_argument("folder", type=Path, metavar="FOLDER")
    folder.set_defaults(module="app")

    serve = commands.add_parser("serve", help="serve the embedded platform over HTTP on this machine")
    serve.add_argument(
        "--port", type=_whole(65_535, "a port", 8080), default=0, metavar="N", help="the port; a free one when left out"
    )
    serve.add_argument("--data", type=Path, metavar="DIR", help="where its data is kept; the demo library when new")
    serve.add_argument("--load", type=Path, metavar="FOLDER", help="load this folder of pages as a space first")
    serve.add_argument(
        "--allow-private-imports",
        action="store_true",
        help="let imports and OpenAPI specifications be fetched from this machine and its networks too",
    )
    serve.set_defaults(module="serve")

    _add_auth(commands)

    operations = commands.add_parser("operations", help="list every operation of the interface")
    printed = operations.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="as JSON: one object for each method and path")
    printed.add_argument("--openapi", action="store_true", help="as an OpenAPI 3.1 document")
    operations.set_defaults(module="operations")

    api = commands.add_parser("api", help="run one operation and print its answer as JSON")
    api.add_argument("name", metavar="NAME", help="such as comments.List; see `octavo operations`")
    api.add_argument("values", nargs="*", metavar="KEY=VALUE", help="a value by its wire name; KEY:=JSON for JSON")
    api.add_argument("--all", action="store_true", help="follow all pages of a list")
    api.add_argument("--dry-run", action="store_true", help="print the request, without the key, and send nothing")
    api.set_defaults(module="api")

    completion = commands.add_parser("completion", help="print completions for a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))
    completion.set_defaults(module="completion")
    return top


def _add_auth(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    auth = commands.add_parser("auth", help="keys and accounts: login, logout, status, switch")
    actions = auth.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    login = actions.add_parser("login", help="keep a key for a server")
    login.add_argument("--with-token", action="store_true", help="read the key from standard input")
    login.add_argument(
        "--insecure-storage", action="store_true", help="keep the key in a file in the clear (0600), without a keyring"
    )
    logout = actions.add_parser("logout", help="forget the key and the pages kept for it")
    logout.add_argument("--drafts", action="store_true", help="forget the drafts as well")
    actions.add_parser("status", help="show accounts, and where each key is kept; never the key")
    switch = actions.add_parser("switch", help="make another account the current one")
    switch.add_argument("name", metavar="NAME")
    auth.set_defaults(module="auth")


def _whole(most: int, what: str, example: int) -> Callable[[str], int]:
    """Reads a whole number from 0 to `most`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not {what}. Give 0 to {most}, such as {example}.")
        return int(text)

    return read
