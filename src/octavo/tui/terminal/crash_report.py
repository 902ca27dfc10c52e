"""The reports of bugs, of those that end the app and of others: no local variables, no keys, each in a file of its own (K9)."""

from __future__ import annotations

import errno
import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.text import Text
from textual.worker import WorkerFailed

from octavo.api.safety import line, text
from octavo.redaction import redact

REPORTS_OF_ONE_PROCESS = 100
"""Reports of processes of one number."""


def report_crash(folder: Path, error: BaseException, unsaved: str = "") -> Text:
    """Write what went wrong to a new file in `folder`, without keys, and return what to say about it. `unsaved` says where
    the texts are that could not be saved. Empty: all were saved."""
    while isinstance(error, WorkerFailed):
        error = error.error  # what is told of a worker's error is told where no line of it is under way any more
    said = line(redact(f"{type(error).__name__}: {error}"))
    try:
        where = f"The crash report is in {_write(folder, text(redact(''.join(traceback.format_exception(error)))))}"
    except OSError as refused:
        where = f"The crash report could not be saved: {refused.strerror}"
    kept = unsaved or "Your drafts and unsent comments are saved."
    return Text(f"Octavo crashed: {said}\n{where}\n{kept}\n")


class FaultLog(logging.Handler):
    """Writes the bugs after which the app goes on to files as it does with crashes, those of one place in the code once."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.reports: list[Path] = []
        """The files that were written."""
        self._folder = folder
        self._told: set[tuple[type[BaseException], str, int]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = type(error), last.filename, last.lineno or 0
        if place not in self._told:
            self._told.add(place)
            report = f"{record.getMessage()}\n{''.join(traceback.format_exception(error))}"
            with suppress(OSError):  # what cannot be kept is no reason to end
                self.reports.append(_write(self._folder, text(redact(report))))


@contextmanager
def faults_kept(folder: Path) -> Iterator[FaultLog]:
    """Keep reports of what could not be shown in `folder`."""
    faults, log = FaultLog(folder), logging.getLogger("octavo")
    log.addHandler(faults)
    try:
        yield faults
    finally:
        log.removeHandler(faults)


def _write(folder: Path, report: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path, descriptor = _new(folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(report)
    return path


def _new(folder: Path) -> tuple[Path, int]:
    """A file that was not there, open for writing. The numbers of processes come again, and so may their names."""
    for number in range(1, REPORTS_OF_ONE_PROCESS + 1):
        path = folder / (f"crash-{os.getpid()}.txt" if number == 1 else f"crash-{os.getpid()}-{number}.txt")
        with suppress(FileExistsError):
            return path, os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    raise OSError(
        errno.EEXIST,
        f"{folder} already contains {REPORTS_OF_ONE_PROCESS} crash reports from this process. Delete some of the reports.",
    )
