"""The file that `octavo doctor --bundle` writes for a bug report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from octavo.cli.health.check import Check
from octavo.cli.standard_streams import tell
from octavo.data.event_log import read_log
from octavo.redaction import redact
from octavo.settings import Settings, read_each


def write_bundle(path: Path, checks: Sequence[Check], settings: Settings) -> None:
    """Write a new file with the checks, the names of the settings and the log, and print what is in it. Raises OSError,
    also if the file exists."""
    names = sorted(read_each(os.environ)[1])
    entries = []
    with suppress(FileNotFoundError):
        entries = list(read_log(settings.state_folder))
    lines = ["# Checks", *(f"{each.status:<7} {each.name}: {each.text}" for each in checks)]
    lines += ["", "# Settings that are set, without their values", *names]
    lines += ["", "# Log", *(f"{each.time:%Y-%m-%d} {each.text}" for each in entries)]
    text = redact("\n".join(lines) + "\n").replace(str(Path.home()), "~")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    tell(
        f"Wrote {path}: {len(checks)} checks, the names of {len(names)} settings, {len(entries)} lines of the log. "
        "It contains host names and paths, but no API key, title or text. Read the file before you send it."
    )
