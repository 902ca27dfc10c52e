"""Checks of the folders of Octavo: writable, free space, sizes, undamaged databases."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from octavo.cli.health.check import Check, size_in_words
from octavo.data.database import is_damaged
from octavo.settings import Settings, in_words

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
