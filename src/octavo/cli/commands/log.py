"""`octavo log`: what Octavo did, from the log file."""

from __future__ import annotations

import argparse
import os
import re
import time
from datetime import UTC, datetime, timedelta
from functools import partial

from octavo.cli.commands import Command
from octavo.cli.failures import USAGE, Failure
from octavo.cli.output import Field, Output, Style, add_output_options, print_text
from octavo.cli.standard_streams import write_out
from octavo.data.event_log import LEVELS, LogEntry, read_log
from octavo.settings import in_words, read

FIELDS = (Field("time", "string"), Field("level", "string"), Field("event", "string"), Field("facts", "object"))
_POLL_SECONDS = 0.3
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_COLORS = {"debug": "dim", "info": "", "warning": "yellow", "error": "red"}


def _declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("--follow", action="store_true", help="print new lines as they are written, until ctrl+c")
    command.add_argument("--since", type=_duration, metavar="TIME", help="print the last part, such as 10m, 2h or 3d")
    command.add_argument("--level", choices=LEVELS, default="info", help="the lowest level to print (default: info)")
    add_output_options(command)


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,5})([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a time. Enter a number and s, m, h or d, for example 10m."
        )
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _run(options: argparse.Namespace) -> int:
    folder = read(os.environ).state_folder
    levels = LEVELS[LEVELS.index(options.level) :]
    style = Style(options)
    wait = partial(time.sleep, _POLL_SECONDS) if options.follow else None
    earliest = datetime.now(UTC) - (options.since or (timedelta() if options.follow else timedelta(days=36_500)))
    try:
        with Output(options, FIELDS, ()) as output:
            if options.follow and output.mode in ("json", "jq"):
                raise Failure("Could not follow the log: use --ndjson with --follow.", USAGE)
            entries = (each for each in read_log(folder, wait=wait) if each.level in levels and each.time >= earliest)
            if output.mode != "table":
                for entry in entries:
                    output.add(entry.as_json)
            elif options.follow:
                for entry in entries:
                    write_out(_line(entry, style))
            else:
                print_text(options, "".join(_line(entry, style) for entry in entries))
    except OSError as error:
        raise Failure(f"Could not read the log: {in_words(error)}") from error
    return 0


def _line(entry: LogEntry, style: Style) -> str:
    return style.color(entry.text, _COLORS[entry.level]) + "\n"


COMMAND = Command(
    declare=_declare,
    run=_run,
    details="The log has the requests, the writes and their times. It contains no API key, no titles and no text. There "
    "are at most two files of 1 MiB in the state folder. --debug with any other command prints its lines at once.",
    examples=("octavo log --since 10m", "octavo log --level debug --follow", "octavo log --level warning --ndjson"),
    fields=FIELDS,
)
