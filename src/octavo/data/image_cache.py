"""Stores the images of pages on disk."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from octavo.private_files import write_private

MAX_IMAGE_BYTES = 64_000_000


class ImageCache:
    """Images on disk, by name. Without a folder nothing is stored. All methods block: call them in a background
    thread."""

    def __init__(self, folder: Path | None, namespace: str = "", *, max_bytes: int = MAX_IMAGE_BYTES) -> None:
        name = hashlib.sha256(namespace.encode()).hexdigest()[:16]
        self._folder = folder / "pictures" / name if folder is not None else None
        self._max_bytes = max_bytes

    def get(self, name: str) -> bytes | None:
        """Return the content of the image stored as `name`. None if it is not stored."""
        path = self._path(name)
        if path is None or path.is_symlink():
            return None
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Store an image. If the cache is too large, delete the least recently used images. Errors of the disk are
        ignored."""
        path = self._path(name)
        if path is None or len(data) > self._max_bytes:
            return
        with suppress(OSError):
            write_private(path, data)
            self._evict()

    def clear(self) -> None:
        """Delete all images."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, name: str) -> Path | None:
        return self._folder / hashlib.sha256(name.encode("utf-8", "replace")).hexdigest() if self._folder else None

    def _evict(self) -> None:
        assert self._folder is not None, "the cache must have a folder"
        images = []
        with suppress(OSError), os.scandir(self._folder) as entries:
            images = [(entry.stat().st_mtime_ns, entry.stat().st_size, entry.path) for entry in entries]
        total = sum(size for _, size, _ in images)
        for _, size, path in sorted(images):
            if total <= self._max_bytes:
                return
            with suppress(OSError):
                os.unlink(path)
            total -= size
