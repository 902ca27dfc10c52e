"""The folders in which the demo and other embedded platforms store their data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from octavo import redaction
from octavo.cli.arguments import DEFAULT_ROLE
from octavo.private_files import (
    NotPrivate,
    create_private_folder,
    lock_file,
    read_private,
    try_lock_file,
    write_private,
)
from octavo.settings import Settings, error_in_words

ORIGIN = "http://octavo.local"
"""Origin in the URLs of an embedded platform that has no port. No requests are sent to this origin."""


def no_folder_message(path: Path) -> str:
    """Return the message for a path at which there is no folder of pages."""
    cause = "it is not a folder" if path.exists() else "there is no such folder"
    return f"Could not open {path}: {cause}. Use a folder with Markdown files."


@dataclass(frozen=True)
class PlatformFolder:
    """The folder in which an embedded platform stores its database and the API key of its user."""

    path: Path
    role: str = ""
    """Role of the demo user whose API key is used, from `PEOPLE_BY_ROLE`. Empty for the default role."""
    start_over: str = ""
    """Sentence for the user that says how to start again if the data is damaged."""

    @property
    def database_file(self) -> Path:
        return self.path / "platform.db"

    @property
    def key_file(self) -> Path:
        return self.path / (f"key-{self.role}" if self.role else "key")

    @property
    def namespace(self) -> str:
        """Name under which drafts, queued writes and cached responses for this folder and `role` are stored."""
        return f"demo {self.path}{f' as {self.role}' if self.role else ''}"

    def why_not_opened(self, error: OSError) -> str:
        """Return sentences for the user that say why the platform cannot be opened, and what to do."""
        from octavo.server.store import UnusableDatabase  # lazy: loads the server, needed only after a failure

        if isinstance(error, UnusableDatabase | NotPrivate):
            cause = (error.strerror or str(error)).rstrip(".")
            return f"Could not open the data in {self.path}: {cause}. {self.start_over}".rstrip()
        return f"Could not open the data in {self.path}: {error_in_words(error)}"

    def read_key(self) -> SecretStr:
        """Return the user's API key, which the first call creates. Raises OSError."""
        create_private_folder(self.path)
        if not self.key_file.exists():
            write_private(self.key_file, os.urandom(32).hex())
        key = read_private(self.key_file).strip()
        redaction.remember_token(key)
        return SecretStr(key)

    def lock_shared(self) -> Callable[[], None]:
        """Lock the folder against `lock_exclusively`, and return a function that unlocks the folder. Waits for the end
        of an exclusive lock. Locks nothing on a disk without locks. Raises OSError if the folder cannot be created."""
        create_private_folder(self.path)
        try:
            return lock_file(self._lock, shared=True)
        except OSError:
            # Only `octavo demo --reset` needs a lock, so a disk without locks is fine.
            return lambda: None

    def lock_exclusively(self) -> Callable[[], None] | None:
        """Lock the folder, and return a function that unlocks it. None if another program uses it. Raises OSError."""
        create_private_folder(self.path)
        return try_lock_file(self._lock)

    @property
    def _lock(self) -> Path:
        return self.path / "open.lock"

    def clear(self) -> None:
        """Delete the database and the API keys."""
        for name in ("platform.db", "platform.db-wal", "platform.db-shm"):
            (self.path / name).unlink(missing_ok=True)
        for key in self.path.glob("key*"):
            key.unlink()


def demo_folder(settings: Settings, *, large: bool = False, role: str = "") -> PlatformFolder:
    path = settings.data_folder / ("demo-large" if large else "demo")
    start_over = (
        f"To start over and discard your changes in the demo, run: octavo demo{' --large' if large else ''} --reset"
    )
    return PlatformFolder(path, "" if role == DEFAULT_ROLE else role, start_over)


def platform_folder_of(settings: Settings, folder: Path) -> PlatformFolder:
    """Return the folder for the data of the embedded platform that serves `folder`, a folder of Markdown files."""
    # Not `Path.resolve`, which raises RuntimeError for symbolic links in a circle.
    name = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    path = settings.data_folder / "folders" / name
    return PlatformFolder(path, start_over=f"To start over, delete {path}. Your comments on this folder will be lost.")
