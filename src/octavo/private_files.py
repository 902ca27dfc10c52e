"""Reads and writes files that only their owner can read. A file is written completely or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 1024 * 1024


class NotPrivate(OSError):
    """The file is not a private file of the user. The message is a sentence."""


def create_private_folder(path: Path) -> None:
    """Create the folder `path` and its missing parents for the owner only. Existing folders stay unchanged."""
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)


def write_private(path: Path, text: str | bytes) -> None:
    """Replace the file atomically, with mode 0600. Raises OSError."""
    create_private_folder(path.parent)
    # The import of `tempfile` would delay the first picture by 4 ms.
    temporary_path = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    handle = os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary_path, path)
    except BaseException:
        temporary_path.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_private(path: Path) -> str:
    """Return the text of the file. Raises NotPrivate, FileNotFoundError, and OSError if the file cannot be read."""
    if path.is_symlink():
        raise NotPrivate(
            f"{path} is a symbolic link, so Octavo did not read it. Replace the link with the file itself."
        )
    # Without O_NONBLOCK, opening a pipe at this path could block forever.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise NotPrivate(
                f"{path} was not written by Octavo, so Octavo did not read it. Delete the file and sign in again."
            )
        if status.st_uid != os.getuid():
            raise NotPrivate(
                f"{path} belongs to another user, so Octavo did not read it. Delete the file and sign in again."
            )
        if status.st_mode & 0o077:
            raise NotPrivate(f"{path} can be read by other users, so Octavo did not use it. Run: chmod 600 {path}")
        return file.read().decode("utf-8", "replace")
