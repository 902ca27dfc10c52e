"""`octavo status`: list the files of a pulled folder that differ from the last pull."""

from __future__ import annotations

import argparse

from octavo.cli.commands import Command
from octavo.cli.output import Column, Field, Output, Row, add_output_options
from octavo.cli.pulled_folders import file_failures, this_folder
from octavo.files.local_changes import STATUS_WORDS, LocalFiles

FIELDS = (
    Field("status", "string"),
    Field("path", "string"),
    Field("before", "string?"),
    Field("kind", "string"),
    Field("meaning", "string"),
)
_COLORS = {"M": "yellow", "A": "green", "D": "red", "R": "cyan", "!": "red", "?": "dim"}
COLUMNS = (
    Column("status", " ", colors=_COLORS),
    Column("path", "file", text=lambda row: f"{row['before']} -> {row['path']}" if row["before"] else row["path"]),
    Column("meaning", ""),
)


def declare(command: argparse.ArgumentParser) -> None:
    add_output_options(command)


def run(options: argparse.Namespace) -> int:
    folder = this_folder()
    with file_failures("read the folder"):
        changes = LocalFiles.read(folder).changes()
    rows: list[Row] = [
        {
            "status": each.status,
            "path": each.path,
            "before": each.before or None,
            "kind": each.kind,
            "meaning": STATUS_WORDS[each.status],
        }
        for each in changes
    ]
    with Output(options, FIELDS, COLUMNS, empty="No changes since the last pull.") as output:
        for row in rows:
            output.add(row)
    return 0


COMMAND = Command(
    declare=declare,
    run=run,
    details="M is edited, A new, D deleted, R renamed, ! in conflict. ? is a page that SUMMARY.md does not list, so it "
    "is not proposed.",
    examples=("octavo status", "octavo status --json path,status", "octavo status | grep '^!'"),
    fields=FIELDS,
)
