"""Runs `octavo` with its arguments, and prints why a command failed."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from octavo.cli.arguments import COMPLETE, WrongUsage, build_parser, command_parsers
from octavo.cli.commands import COMMANDS, load_command
from octavo.cli.standard_streams import USAGE, Failure, install_thread_and_log_hooks, tell, write_error, write_out
from octavo.settings.file import did_you_mean

_REF_ALONE = re.compile(r"https?://\S+|[^-:@#/\s][^:@#/]*[#/]\d{1,9}(:[^@]+)?(@\S+)?")
"""Matches a URL or REF. Used alone, without a command, it means the command `open`."""
_OPTIONS_WITH_VALUE = ("--profile", "--base-url", "-s", "--space", "--folder", "--color")


def run(argv: Sequence[str]) -> int:
    """Run the command in `argv` and return its exit code."""
    try:
        if argv[:1] == [COMPLETE]:
            return int(import_module("octavo.cli.completion").print_refs(argv[1:]))
        try:
            if isinstance(sys.stdout, io.TextIOWrapper):
                # Escape characters that standard output cannot encode.
                sys.stdout.reconfigure(errors="backslashreplace")
            argv = [_decode(each) for each in argv]
            options = _parse_arguments(argv)
        except (SystemExit, OSError):
            # argparse hides errors of standard output, so an empty write raises them.
            write_out("")
            raise
        is_app = options.module == "app" and options.command not in COMMANDS
        if not is_app:  # The app installs these hooks after its first picture.
            install_thread_and_log_hooks()
            if options.debug:
                from octavo.cli.event_log import LOG  # lazy: needed only for --debug

                LOG.echo = tell
        if options.command in COMMANDS:
            return load_command(options.command).run(options)
        return int(import_module(f"octavo.cli.{options.module}").run(options))
    except Failure as failure:
        has_json_output = any(each.partition("=")[0] in ("--json", "--ndjson", "--jq", "-q") for each in argv)
        if str(failure) and has_json_output:
            write_error(failure.as_json + "\n")
        elif isinstance(failure, WrongUsage):
            write_error(failure.text)
        elif str(failure):
            tell(str(failure))
        return failure.code


def _decode(argument: str) -> str:
    """Return an argument as valid Unicode, or unchanged if it is the path of a file. Raises Failure if not UTF-8."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        if not os.path.lexists(argument):
            try:
                return os.fsencode(argument).decode()
            except UnicodeDecodeError:
                shown_argument = ascii(argument[:60])
                raise Failure(f"Could not read the argument {shown_argument}: it is not valid UTF-8.", USAGE) from None
    return argument


def _command_name(argv: Sequence[str]) -> str:
    arguments = iter(argv)
    for each in arguments:
        if not each.startswith("-"):
            return each
        if each in _OPTIONS_WITH_VALUE:
            next(arguments, None)
    return ""


def _parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. A URL or REF without a command is opened. `octavo api` accepts values after options."""
    name = _command_name(argv)
    if _REF_ALONE.fullmatch(name):
        argv = ["open", *argv]
        name = "open"
    main_parser = build_parser(name)
    if name and name not in (parsers_by_name := command_parsers(main_parser)):
        main_parser.error(
            f"Unknown command {name[:40]!r}.{did_you_mean(name, parsers_by_name) or ' For a list, run: octavo --help'}"
        )
    options, unparsed_arguments = main_parser.parse_known_args(argv)
    if options.command == "api":
        _handle_api_help(options, command_parsers(main_parser)["api"])
        options.values = [*options.values, *(each for each in unparsed_arguments if not each.startswith("-"))]
        unparsed_arguments = [each for each in unparsed_arguments if each.startswith("-")]
    if unparsed_arguments:
        known_options = [
            each for command in _selected_parsers(main_parser, options) for each in command._option_string_actions
        ]
        suggestion = did_you_mean(unparsed_arguments[0].partition("=")[0][:40], known_options)
        help_command = f" For help, run: {' '.join(filter(None, ('octavo', options.command, '--help')))}"
        main_parser.error(f"unrecognized arguments: {' '.join(unparsed_arguments)}.{suggestion or help_command}")
    return options


def _selected_parsers(
    main_parser: argparse.ArgumentParser, options: argparse.Namespace
) -> Iterator[argparse.ArgumentParser]:
    yield main_parser
    if (command := command_parsers(main_parser).get(options.command)) is not None:
        yield command
        if action := command_parsers(command).get(getattr(options, "action", "")):
            yield action


def _handle_api_help(options: argparse.Namespace, api_parser: argparse.ArgumentParser) -> None:
    """With `--help` and NAME, select the help of this operation. With `--help` only, print the help of `octavo api` and
    exit. Without both, exit with an error."""
    if options.help and options.name:
        options.module = "operations"
    elif options.help:
        api_parser.print_help()
        api_parser.exit()
    elif not options.name:
        api_parser.error("the following arguments are required: NAME")
