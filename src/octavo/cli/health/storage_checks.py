"""Checks of the folders of Octavo: writable, free space, sizes, undamaged databases. Writes the file for a bug report."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from octavo.cli.health.check import Check, size_in_words
from octavo.cli.standard_streams import tell
from octavo.data.database import is_damaged
from octavo.data.event_log import read_log
from octavo.redaction import redact
from octavo.settings import Settings, in_words, read_each

SMALLEST_FREE = 100_000_000
"""Bytes of free space below which a check warns."""
_PROBE = b"\0" * 65_536
_MOST_FILES = 100_000
"""Maximum number of files whose sizes are added."""


def storage_checks(settings: Settings) -> Iterator[Check]:
    """Yield a check for each folder with a problem, or one for all folders, and one for the databases."""
    folders = {
        "config": settings.config_folder,
        "data": settings.data_folder,
        "state": settings.state_folder,
        "cache": settings.cache_folder,
    }
    problems = [check for name, folder in folders.items() if (check := _folder_problem(name, folder))]
    # A full disk or a read-only home gives the same problem for each folder.
    yield from {each.text.partition(": ")[2]: each for each in reversed(problems)}.values()
    if not problems:
        yield _sizes(folders)
    yield from _database_checks(folders)


def _folder_problem(name: str, folder: Path) -> Check | None:
    """Return an error if no file can be written to a folder, or a warning if the disk is nearly full. None if all is well."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    free = 0
    try:
        free = shutil.disk_usage(existing).free
        if not existing.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return Check(
                "Folders", "error", f"{folder}: the disk is full ({size_in_words(free)} free)", "free up disk space"
            )
        cause, _, _ = in_words(OSError(error.errno, error.strerror)).partition(". ")
        fix = f"make {existing} writable, or set OCTAVO_{name.upper()}_DIR to a writable folder"
        return Check("Folders", "error", f"{folder}: {cause}", fix)
    if free < SMALLEST_FREE:
        return Check("Folders", "warning", f"{folder}: only {size_in_words(free)} free", "free up disk space")
    return None


def _sizes(folders: dict[str, Path]) -> Check:
    sizes = {name: sum(islice(_file_sizes(folder), _MOST_FILES)) for name, folder in folders.items()}
    parts = ", ".join(f"{name} {size_in_words(size)}" for name, size in sizes.items())
    existing = next(each for each in (folders["state"], *folders["state"].parents) if each.exists())
    return Check("Folders", "ok", f"writable: {parts}; {size_in_words(shutil.disk_usage(existing).free)} free")


def _file_sizes(folder: Path) -> Iterator[int]:
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(parent, name)).st_size
            except OSError:  # The file was deleted meanwhile.
                yield 0


_FIXES = {
    "state": "start Octavo: it saves the readable entries and keeps the damaged file",
    "cache": "start Octavo: it loads the cached pages again",
    "demo": "run: octavo demo --reset",
    "demo-large": "run: octavo demo --large --reset",
}


def _database_checks(folders: dict[str, Path]) -> Iterator[Check]:
    """Yield an error for each damaged database, or one check for all databases."""
    paths = {path: name for name in ("data", "state", "cache") for path in sorted(folders[name].rglob("*.db"))}
    damaged = [path for path in paths if is_damaged(path)]
    for path in damaged:
        fix = _FIXES.get(paths[path]) or _FIXES.get(path.parent.name)
        yield Check("Databases", "error", f"{path} is damaged", fix or f"move {path} to another folder")
    if not damaged:
        count = "1 database" if len(paths) == 1 else f"{len(paths)} databases"
        yield Check("Databases", "ok", f"{count}, none damaged")


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
