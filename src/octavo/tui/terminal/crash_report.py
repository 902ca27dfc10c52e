"""Writes files with reports of crashes and of other errors. A report contains no local variables and no tokens."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from rich.text import Text
from textual.worker import WorkerFailed

from octavo.api.safety import safe_line, safe_text
from octavo.redaction import redact


def report_crash(folder: Path, error: BaseException, unsaved: str = "") -> Text:
    """Write a report of an error to a file, and return the text to print after a crash. `unsaved` is a sentence about
    drafts that could not be saved. Empty if all are saved."""
    while isinstance(error, WorkerFailed):
        error = error.error  # The traceback of `WorkerFailed` does not show where the error was raised.
    summary = safe_line(redact(f"{type(error).__name__}: {error}"))
    try:
        location = (
            f"The crash report is in {_write(folder, safe_text(redact(''.join(traceback.format_exception(error)))))}"
        )
    except OSError as failure:
        location = f"The crash report could not be saved: {failure.strerror}"
    drafts = unsaved or "Your drafts and unsent comments are saved."
    return Text(f"Octavo crashed: {summary}\n{location}\n{drafts}\n")


class FaultReportHandler(logging.Handler):
    """Log handler that writes a report file for each logged error, but only once for each error type and line."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.reports: list[Path] = []
        """Paths of the report files that were written, oldest first."""
        self._folder = folder
        self._reported: set[tuple[type[BaseException], str, int]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return
        last_frame = traceback.extract_tb(error.__traceback__)[-1]
        error_location = type(error), last_frame.filename, last_frame.lineno or 0
        if error_location not in self._reported:
            self._reported.add(error_location)
            report = f"{record.getMessage()}\n{''.join(traceback.format_exception(error))}"
            with suppress(OSError):  # The app can continue without the report.
                self.reports.append(_write(self._folder, safe_text(redact(report))))


@contextmanager
def fault_reports(folder: Path) -> Iterator[FaultReportHandler]:
    """Write a report file in `folder` for each error that is logged inside the `with` block."""
    faults, log = FaultReportHandler(folder), logging.getLogger("octavo")
    log.addHandler(faults)
    try:
        yield faults
    finally:
        log.removeHandler(faults)


def _write(folder: Path, report: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, path = mkstemp(prefix=f"crash-{os.getpid()}-", suffix=".txt", dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(report)
    return Path(path)
