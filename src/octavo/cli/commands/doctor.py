"""`octavo doctor`: what is wrong with the terminal, the keyring, the server or the files, and how to fix it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from octavo.cli.commands import Command
from octavo.cli.doctor_checks import Check, account_checks, storage_checks, write_bundle
from octavo.cli.failures import FAILED, Failure
from octavo.cli.output import Column, Field, Output, Style, add_output_options
from octavo.cli.standard_streams import write_out
from octavo.cli.terminal_checks import terminal_checks
from octavo.redaction import redact
from octavo.settings import Settings, in_words, read

FIELDS = (Field("name", "string"), Field("status", "string"), Field("text", "string"), Field("fix", "string?"))
_COLUMNS = (Column("status"), Column("name"), Column("text"), Column("fix"))
_MARKS = {"ok": ("✓", "v", "green"), "warning": ("!", "!", "yellow"), "error": ("✗", "x", "red")}
"""The mark of each status, its ASCII character and its color."""


def _declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("--offline", action="store_true", help="send no request to the server")
    command.add_argument("--bundle", type=Path, metavar="FILE", help="write a new file for a bug report")
    add_output_options(command)


def _run(options: argparse.Namespace) -> int:
    settings = read(os.environ)
    checks: list[Check] = []
    style = Style(options)
    with Output(options, FIELDS, _COLUMNS) as output:
        for check in _all_checks(settings, options):
            checks.append(check)
            if output.mode == "table" and style.is_terminal:
                write_out(_line(check, style, ascii_only=settings.ascii))
            else:
                output.add(_fields(check))
    if options.bundle is not None:
        try:
            write_bundle(options.bundle, checks, settings)
        except OSError as error:
            raise Failure(f"Could not write the file for a bug report: {in_words(error)}") from error
    return FAILED if any(each.status == "error" for each in checks) else 0


def _all_checks(settings: Settings, options: argparse.Namespace) -> Iterator[Check]:
    yield from terminal_checks(settings, os.environ)
    yield from storage_checks(settings)
    yield from account_checks(settings, options)


def _fields(check: Check) -> dict[str, str | None]:
    return {"name": check.name, "status": check.status, "text": redact(check.text), "fix": check.fix or None}


def _line(check: Check, style: Style, *, ascii_only: bool) -> str:
    mark, ascii_mark, color = _MARKS[check.status]
    dash = "-" if ascii_only else "—"
    fix = f" {dash} {check.fix}" if check.fix else ""
    return redact(f"  {style.color(ascii_mark if ascii_only else mark, color)} {check.name:<10} {check.text}{fix}\n")


COMMAND = Command(
    declare=_declare,
    run=_run,
    details="Each line is one check: ✓ is good, ! needs attention, ✗ is a problem. The fix follows after the dash. "
    "No check changes anything on the server. --bundle writes the checks, the log and the names of your settings to a "
    "new file that you can read and attach to a bug report.",
    examples=("octavo doctor", "octavo doctor --offline --json", "octavo doctor --bundle report.txt"),
    fields=FIELDS,
    exit_codes={1: "at least one check found a problem"},
)
