"""`octavo doctor` checks the terminal, the keyring, the server and the files. `octavo log` prints the event log."""

from __future__ import annotations

import argparse
import os
import re
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path

from octavo.cli.commands import CliCommand
from octavo.cli.doctor_checks import Check, account_checks, storage_checks, write_bundle
from octavo.cli.event_log import LEVELS, LogEntry, read_log
from octavo.cli.output import Output, OutputColumn, Style, add_output_options, declare_fields, print_text
from octavo.cli.standard_streams import FAILED, USAGE, Failure, write_out
from octavo.cli.terminal_checks import terminal_checks
from octavo.redaction import redact
from octavo.settings import error_in_words, read

DOCTOR_FIELDS = declare_fields("name string, status string, text string, fix string?")
_COLUMNS = (OutputColumn("status"), OutputColumn("name"), OutputColumn("text"), OutputColumn("fix"))
_MARKS = {"ok": ("✓", "v", "green"), "warning": ("!", "!", "yellow"), "error": ("✗", "x", "red")}
"""By status of a check: the symbol, the symbol in ASCII, and the color."""


def _declare_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--offline", action="store_true", help="send no request to the server")
    command.add_argument("--bundle", type=Path, metavar="FILE", help="write a new file for a bug report")
    add_output_options(command)


def _run_doctor(options: argparse.Namespace) -> int:
    settings = read(os.environ)
    checks: list[Check] = []
    style = Style(options)
    with Output(options, DOCTOR_FIELDS, _COLUMNS) as output:
        all_checks = (
            terminal_checks(settings, os.environ),
            storage_checks(settings),
            account_checks(settings, options),
        )
        for check in chain.from_iterable(all_checks):
            checks.append(check)
            if output.mode == "table" and style.is_terminal:
                write_out(_check_line(check, style, is_ascii=settings.ascii))
            else:
                output.add(_fields(check))
    if options.bundle is not None:
        try:
            write_bundle(options.bundle, checks, settings)
        except OSError as error:
            raise Failure(
                f"Could not write the file for a bug report: {error_in_words(error, is_own=False)}"
            ) from error
    return FAILED if any(each.status == "error" for each in checks) else 0


def _fields(check: Check) -> dict[str, str | None]:
    return {"name": check.name, "status": check.status, "text": redact(check.text), "fix": check.fix or None}


def _check_line(check: Check, style: Style, *, is_ascii: bool) -> str:
    mark, ascii_mark, color = _MARKS[check.status]
    dash = "-" if is_ascii else "—"
    fix = f" {dash} {check.fix}" if check.fix else ""
    return redact(f"  {style.color(ascii_mark if is_ascii else mark, color)} {check.name:<10} {check.text}{fix}\n")


DOCTOR = CliCommand(
    declare=_declare_doctor,
    run=_run_doctor,
    details="Each line is one check: ✓ is good, ! needs attention, ✗ is a problem. The fix follows after the dash. "
    "No check changes anything on the server. --bundle writes the checks, the log and the names of your settings to a "
    "new file that you can read and attach to a bug report.",
    examples=("octavo doctor", "octavo doctor --offline --json", "octavo doctor --bundle report.txt"),
    fields=DOCTOR_FIELDS,
    exit_codes={1: "at least one check found a problem"},
)


LOG_FIELDS = declare_fields("time string, level string, event string, facts object")
_POLL_SECONDS = 0.3
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_COLORS = {"debug": "dim", "info": "", "warning": "yellow", "error": "red"}


def _declare_log(command: argparse.ArgumentParser) -> None:
    command.add_argument("--follow", action="store_true", help="print new lines as they are written, until ctrl+c")
    command.add_argument("--since", type=_duration, metavar="TIME", help="print the last part, such as 10m, 2h or 3d")
    command.add_argument("--level", choices=LEVELS, default="info", help="the lowest level to print (default: info)")
    add_output_options(command)


def _duration(text: str) -> timedelta:
    duration_match = re.fullmatch(r"([0-9]{1,5})([smhd])", text)
    if duration_match is None:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a time. Enter a number and s, m, h or d, for example 10m."
        )
    return timedelta(seconds=int(duration_match[1]) * _SECONDS[duration_match[2]])


def _run_log(options: argparse.Namespace) -> int:
    folder = read(os.environ).state_folder
    levels = LEVELS[LEVELS.index(options.level) :]
    style = Style(options)
    wait = partial(time.sleep, _POLL_SECONDS) if options.follow else None
    earliest = datetime.now(UTC) - (options.since or (timedelta() if options.follow else timedelta(days=36_500)))
    try:
        with Output(options, LOG_FIELDS, ()) as output:
            if options.follow and output.mode in ("json", "jq"):
                raise Failure("Could not follow the log: use --ndjson with --follow.", USAGE)
            entries = (each for each in read_log(folder, wait=wait) if each.level in levels and each.time >= earliest)
            if output.mode != "table":
                for entry in entries:
                    output.add(entry.as_json)
            elif options.follow:
                for entry in entries:
                    write_out(_log_line(entry, style))
            else:
                print_text(options, "".join(_log_line(entry, style) for entry in entries))
    except OSError as error:
        raise Failure(f"Could not read the log: {error_in_words(error)}") from error
    return 0


def _log_line(entry: LogEntry, style: Style) -> str:
    return style.color(entry.text, _COLORS[entry.level]) + "\n"


LOG = CliCommand(
    declare=_declare_log,
    run=_run_log,
    details="The log has the requests, the writes and their times. It contains no API key, no titles and no text. There "
    "are at most two files of 1 MiB in the state folder. --debug with any other command prints its lines at once.",
    examples=("octavo log --since 10m", "octavo log --level debug --follow", "octavo log --level warning --ndjson"),
    fields=LOG_FIELDS,
)
