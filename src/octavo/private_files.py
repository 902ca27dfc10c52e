"""Reads and writes files that only their owner can read, and locks files. Writing never leaves an incomplete file."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

MAX_BYTES = 1024 * 1024


class NotPrivate(OSError):
    """A file is not private: others can read it, or Octavo did not write it. The message is a sentence for the user."""


def create_private_folder(path: Path) -> None:
    """Create a folder that only its owner can open, and its missing parents. An existing folder is unchanged."""
    for folder in reversed([path, *path.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)


def write_private(path: Path, text: str | bytes) -> None:
    """Write a file that only the owner can read, or replace it as a whole. Also create its folder. Raises OSError."""
    create_private_folder(path.parent)
    # `tempfile` is not used, because its import would delay the first picture by 4 ms.
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
    """Return the text of a file. Raises NotPrivate if Octavo must not trust the file, or another OSError."""
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


def lock_file(path: Path, *, shared: bool = False) -> Callable[[], None]:
    """Wait until a file can be locked, lock it, and return a function that unlocks it. With `shared`, several programs
    can have the lock at the same time. Creates a missing file. Raises OSError."""
    return _lock(path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_lock_file(path: Path) -> Callable[[], None] | None:
    """Lock a file, and return a function that unlocks it. None if another program has locked the file. Creates a
    missing file. Raises OSError."""
    try:
        return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None


def _lock(path: Path, flags: int) -> Callable[[], None]:
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, flags)
    except OSError:
        os.close(handle)
        raise
    return partial(os.close, handle)
