"""Log the requests that follow the keys of journeys, and read the table that names a journey for each request.

`requests.tsv` has a row for each operation that only reads, and for each command that sends another operation. The
fixture `check_logged_requests` checks the rows of a journey when the journey runs. After a change of keys, update
the table with these commands:

    RECORD_REQUESTS=one.tsv .venv/bin/pytest -n auto -m "not long or before_release" tests/journeys
    RECORD_REQUESTS=one.tsv .venv/bin/pytest -m long tests/journeys/test_resource_editing.py
    .venv/bin/python -m tests.journeys.request_log one.tsv

With several records, the table contains only requests that are in all records."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

from octavo import tui
from octavo.api.operation import SPECS, Operation
from octavo.api.wire import path_template
from octavo.data.writes.outbox import Outbox
from octavo.tui.widgets.commands import CURSOR_COMMANDS, HasCommands

TABLE = Path(__file__).with_name("requests.tsv")
UNDO = ("write.undo", "thread.undo")
"""Commands that send the inverse of another write. Read-only mode allows these commands."""


class Request(NamedTuple):
    """A request, and a journey that sends the request."""

    method: str
    path: str
    command: str
    """Id of a command that led to the request. Empty for an operation that only reads, because background work may
    send the request first."""
    journey: str
    """Id of the test."""

    @property
    def writes(self) -> bool:
        """Return whether the operation changes data on the server."""
        return self.method != "GET"


class RequestLog:
    """The commands that ran in a journey, and the requests that followed each command."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, str]] = set()
        """Method, path, and the id of a command that led to the request, or an empty id."""
        self._commands: tuple[str, ...] = ()
        """The last command of a view, and the commands of dialogs that ran since then."""
        self._queued: list[tuple[Operation[Any], tuple[str, ...]]] = []
        """Operations in the outbox, with the commands that queued each operation. This is a list because some
        operations cannot be hashed."""

    def clear(self) -> None:
        """Start the log of another journey."""
        self.seen.clear()
        self._queued.clear()
        self._commands = ()

    def command_ran(self, id: str, in_dialog: bool, outbox: Outbox | None) -> None:
        """Note that a command runs. Operations that are already in the outbox belong to the commands before this
        one."""
        if outbox is not None:
            self.note_queued(outbox)
        if id.rpartition(".")[2] not in CURSOR_COMMANDS:
            self._commands = (*self._commands, id) if in_dialog else (id,)

    def note_queued(self, outbox: Outbox) -> None:
        """Attribute new operations in the outbox to the last commands, because the operations may be sent after
        later keys."""
        known = [op for op, _ in self._queued]
        self._queued += [(entry.op, self._commands) for entry in outbox.entries if entry.op not in known]

    def sent(self, op: Operation[Any]) -> None:
        """Note that a request is sent."""
        method, path = SPECS[type(op)].method, path_template(op)
        self.seen.add((method, path, ""))
        commands = next((commands for queued, commands in self._queued if queued == op), self._commands)
        self.seen.update((method, path, id) for id in commands)


log = RequestLog()
"""Log of the journey that runs in this process."""


def read_table() -> list[Request]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return [Request(**row) for row in csv.DictReader(lines, delimiter="\t")]


def writing_commands() -> set[str]:
    """Return the ids of all commands that send writes."""
    for module in walk_packages(tui.__path__, f"{tui.__name__}."):
        if ".bounded." not in module.name:
            import_module(module.name)
    classes: list[type[HasCommands]] = [HasCommands]
    for each in classes:
        classes += each.__subclasses__()
    commands = [item for each in classes for item in each._commands_by_id.items()]
    return {id for id, (_, command) in commands if command.writes} | set(UNDO)


def rows_to_keep(seen: Iterable[Request]) -> list[Request]:
    """Return one row for each operation that reads, and one row for each other operation and each command that sends
    the operation.

    A command counts if it declares `writes`. If an operation has no such command, the commands that open its dialog
    count, such as `spaces.act`."""
    writing = writing_commands()
    requests = sorted(seen, key=lambda each: ("[" in each.journey, each))
    declared = {(each.method, each.path) for each in requests if each.command in writing}
    kept: dict[tuple[str, str, str], Request] = {}
    for each in requests:
        if bool(each.command) != each.writes:
            continue
        if not each.writes or each.command in writing or (each.method, each.path) not in declared:
            kept.setdefault(each[:3], each)
    return sorted(kept.values(), key=lambda each: (each.path, each))


def main(records: Sequence[str]) -> None:
    """Write the table from records of journeys."""
    seen = [{Request(*line.split("\t")) for line in Path(each).read_text("utf-8").splitlines()} for each in records]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(Request._fields)
        writer.writerows(rows_to_keep(set.intersection(*seen)))


if __name__ == "__main__":
    main(sys.argv[1:])
