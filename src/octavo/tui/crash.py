"""The crash report: no local variables, no keys, in a file of its own (K9)."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from rich.text import Text

from octavo.api.text import line, text
from octavo.redaction import redact


def report_crash(folder: Path) -> Text:
    """Write what went wrong to a new file in `folder`, without keys, and return what to say about it."""
    said = line(redact(f"{type(sys.exc_info()[1]).__name__}: {sys.exc_info()[1]}"))
    try:
        where = f"The details are in {_write(folder, text(redact(traceback.format_exc())))}"
    except OSError as error:
        where = f"The details could not be written: {error.strerror}"
    return Text(f"Octavo ended: {said}\n{where}\nNothing you typed is lost: drafts and unsent comments are kept.\n")


def _write(folder: Path, report: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"crash-{os.getpid()}.txt"
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(report)
    return path
