"""Checks, reads and uploads local files that the user sends to the server."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from octavo.api import storage
from octavo.api.operation import OrganizationRef
from octavo.data.live import Live

MAX_BYTES = 256 << 20
"""Maximum size of an upload in bytes. A server may allow less."""
MAX_TEXT_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 16
_FONT_TYPES = {b"wOF2": "font/woff2", b"wOFF": "font/woff"}
"""Media types of fonts, by the first four bytes of the file."""

PutFile = Callable[[str, AsyncIterator[bytes], int, str], Awaitable[None]]
Progress = Callable[[int, int], None]
"""Called with the number of bytes that are sent, and the size of the file."""


class NotSendable(OSError):
    """A local file cannot be sent. The message is a sentence."""


@dataclass(frozen=True)
class FileToUpload:
    """A local file that passed the checks for an upload."""

    path: Path
    kind: storage.UploadKind
    size: int
    type: str
    changed_at: int
    """Time of the last change in nanoseconds, so that a changed file is not equal to the old `FileToUpload`."""


def check_file(entered_path: str, kind: storage.UploadKind) -> FileToUpload:
    """Return the checked file at an entered path, such as `~/logo.png`. Blocks the thread. Raises NotSendable."""
    path, open_file = _open_file(entered_path)
    with open_file:
        file_status = os.fstat(open_file.fileno())
        head = open_file.read(4)
    _check_size(path, file_status.st_size, MAX_BYTES)
    if kind == "customization_font" and head not in _FONT_TYPES:
        raise NotSendable(f"{path.name} is not a WOFF or WOFF2 font. Choose another file.")
    guessed_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileToUpload(path, kind, file_status.st_size, _FONT_TYPES.get(head, guessed_type), file_status.st_mtime_ns)


def read_text(entered_path: str) -> str:
    """Return the text of the file at a path that the user entered. Blocks the thread. Raises NotSendable."""
    path, open_file = _open_file(entered_path)
    with open_file:
        _check_size(path, os.fstat(open_file.fileno()).st_size, MAX_TEXT_BYTES)
        content = open_file.read(MAX_TEXT_BYTES + 1)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotSendable(f"{path.name} is not a UTF-8 text file. Choose another file.") from None


def _open_file(entered_path: str) -> tuple[Path, IO[bytes]]:
    try:
        path = Path(entered_path.strip()).expanduser().absolute()
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise NotSendable(f"{path} is not a file. Enter the path to a file.")  # opening a pipe could block forever
        return path, path.open("rb")
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, NotSendable):
            raise
        cause = error.strerror if isinstance(error, OSError) and error.strerror else "not a valid path"
        raise NotSendable(f"Could not read {entered_path.strip()}: {cause}. Enter the path to a file.") from None


def _check_size(path: Path, size: int, limit: int) -> None:
    if not size:
        raise NotSendable(f"{path.name} is empty. Choose another file.")
    if size > limit:
        raise NotSendable(f"{path.name} is larger than {limit >> 20} MiB, the upload limit.")


async def upload(
    live: Live, put: PutFile, at: OrganizationRef, file: FileToUpload, on_progress: Progress
) -> storage.SignedUrl:
    """Upload a file with `put`. Return its URL and its storage key on the server. Raises ApiError and NotSendable."""
    file_to_send = storage.FileToSend(name=file.path.name[:255], type=file.type, size=file.size)
    target = await live.send(storage.Upload(at=at, file=file_to_send, kind=file.kind))
    on_progress(0, file.size)
    await put(target.url, _read(file, on_progress), file.size, file.type)
    return target


async def _read(file: FileToUpload, on_progress: Progress) -> AsyncIterator[bytes]:
    sent_bytes = 0
    try:
        open_file = await asyncio.to_thread(file.path.open, "rb")
        with open_file:
            while sent_bytes < file.size:
                chunk = await asyncio.to_thread(open_file.read, min(_CHUNK_BYTES, file.size - sent_bytes))
                if not chunk:
                    raise NotSendable(f"{file.path.name} changed during the upload. Upload it again.")
                yield chunk
                sent_bytes += len(chunk)
                on_progress(sent_bytes, file.size)
    except OSError as error:
        if isinstance(error, NotSendable):
            raise
        raise NotSendable(f"Could not read {file.path.name}: {error.strerror or error}.") from None
