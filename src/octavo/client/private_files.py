"""Files only their owner can read: written whole or not at all, and refused when others could have touched them."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

LARGEST = 1024 * 1024


class NotPrivate(OSError):
    """The file is not one that only its owner can have written. The text is a sentence."""


def private_folder(path: Path) -> None:
    """Make `path` and what is missing above it, open to nobody else. What is there stays as it is."""
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)


def write_private(path: Path, text: str | bytes) -> None:
    """Replace the file by `text`, whole and durable, mode 0600. Raises OSError."""
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_private(path: Path) -> str:
    """The text of the file. Raises NotPrivate with what to do about it, FileNotFoundError, or OSError."""
    if path.is_symlink():
        raise NotPrivate(
            f"{path} is a symbolic link, so Octavo did not read it. Replace the link with the file itself."
        )
    # Without O_NONBLOCK, a pipe put in its place would keep us waiting for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise NotPrivate(
                f"{path} was not written by Octavo, so Octavo did not read it. Delete the file and sign in again."
            )
        if found.st_uid != os.getuid():
            raise NotPrivate(
                f"{path} belongs to another user, so Octavo did not read it. Delete the file and sign in again."
            )
        if found.st_mode & 0o077:
            raise NotPrivate(f"{path} can be read by other users, so Octavo did not use it. Run: chmod 600 {path}")
        return file.read().decode("utf-8", "replace")
