"""Saves files that the user names, completely or not at all. An existing file is replaced only on request."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from octavo.api.folding import fold

T = TypeVar("T")

NAME_BYTES = 120
_CHUNK_BYTES = 1 << 18
_INVALID_CHARACTERS = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\ufffd\ud800-\udfff]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class FileNotSaved(OSError):
    """A file could not be saved. The text is a sentence."""


class FileExists(FileNotSaved):
    """A file with this name already exists."""


def safe_name(name: str, default: str = "file") -> str:
    """Return `name` as a file name that is valid on every system: no path, not hidden, at most 120 bytes."""
    stem, dot, ending = _INVALID_CHARACTERS.sub("_", name).strip(" .-_~").rpartition(".")
    if not dot or len(ending.encode("utf-8", "replace")) > 16:
        stem, dot, ending = f"{stem}{dot}{ending}", "", ""
    max_stem_bytes = NAME_BYTES - len(f"{dot}{ending}".encode("utf-8", "replace"))
    stem = stem.encode("utf-8", "ignore")[:max_stem_bytes].decode("utf-8", "ignore").rstrip(" .") or default
    return f"_{stem}{dot}{ending}" if _RESERVED.match(stem) else f"{stem}{dot}{ending}"


def destination(entered: str, name: str) -> Path:
    """Return the path that the user entered. `~` is the home folder. If the path is an existing folder,
    append `name`. Raises FileNotSaved if the path cannot be used."""
    if not entered or "\0" in entered:
        raise FileNotSaved("Enter a file name.")
    try:
        path = Path(entered).expanduser().absolute()
        if path.is_dir():
            path = path / name
        elif entered.endswith(os.sep):
            raise FileNotSaved(f"The folder {path} does not exist. Enter the path to an existing folder.")
        if not path.parent.is_dir():
            raise FileNotSaved(f"The folder {path.parent} does not exist. Enter the path to an existing folder.")
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, FileNotSaved):
            raise
        raise FileNotSaved(f"{entered} is not a valid file name. Enter another name.") from error
    return path


async def save(path: Path, chunks: AsyncIterator[bytes], *, replace: bool = False) -> int:
    """Write `chunks` to `path`, readable by its owner only. Return the number of bytes.

    The file appears or changes only when all bytes are written. Raises FileExists if the file exists and `replace` is
    False, FileNotSaved if it cannot be written, and every error that `chunks` raises.
    """
    if not replace and await asyncio.to_thread(os.path.lexists, path):
        raise _exists_error(path)
    temporary_files: list[tuple[int, str]] = []
    try:
        try:
            await _run_to_completion(
                lambda: temporary_files.append(tempfile.mkstemp(dir=path.parent, prefix=".octavo-", suffix=".part"))
            )
            handle, temporary = temporary_files[0]
            size, buffer = 0, bytearray()
            async for chunk in chunks:
                buffer += chunk
                size += len(chunk)
                if len(buffer) >= _CHUNK_BYTES:
                    await _run_to_completion(partial(_write_all, handle, bytes(buffer)))
                    buffer.clear()
            await _run_to_completion(partial(_write_all, handle, bytes(buffer)))
            await _run_to_completion(partial(os.fsync, handle))
            await _run_to_completion(partial(_move_into_place, temporary, path, replace))
        finally:
            for handle, temporary in temporary_files:
                os.close(handle)
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
    except OSError as error:
        if isinstance(error, FileNotSaved):
            raise
        raise FileNotSaved(f"Could not write {path}: {error.strerror or error}. Choose another location.") from error
    return size


async def save_folder(path: Path, files: AsyncIterator[tuple[tuple[str, ...], bytes]]) -> int:
    """Write `files`, pairs of path segments and content, to a new folder. Return the number of files.

    Path segments are made safe, and no two files get the same path. The folder appears when all files are written.
    Raises the same errors as `save`.
    """
    if await asyncio.to_thread(os.path.lexists, path):
        raise _exists_error(path)
    path_counts: dict[tuple[str, ...], int] = {}
    temporary_folders: list[str] = []
    try:
        try:
            await _run_to_completion(
                lambda: temporary_folders.append(tempfile.mkdtemp(dir=path.parent, prefix=".octavo-"))
            )
            async for segments, content in files:
                safe_path = _unused_path(tuple(safe_name(step) for step in segments), path_counts)
                await _run_to_completion(partial(_write, Path(temporary_folders[0], *safe_path), content))
            await _run_to_completion(partial(os.rename, temporary_folders[0], path))
        finally:
            for folder in temporary_folders:
                await _run_to_completion(partial(shutil.rmtree, folder, ignore_errors=True))
    except OSError as error:
        raise FileNotSaved(f"Could not write {path}: {error.strerror or error}. Choose another location.") from error
    return len(path_counts)


async def _run_to_completion(step: Callable[[], T]) -> T:
    """Run `step` in a background thread, and return its result. If the caller is cancelled, wait for `step` first."""
    work = asyncio.get_running_loop().run_in_executor(None, step)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def _unused_path(segments: tuple[str, ...], path_counts: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return the path `segments`, with a number added to the name if the path is already used. Case is ignored, as in
    some file systems. `path_counts` counts the uses of each path."""
    *folder, name = segments
    stem, dot, ending = name.partition(".")
    wanted = tuple(fold(step) for step in segments)
    key, number = wanted, path_counts.get(wanted, 0)
    while key in path_counts:
        number += 1
        segments = (*folder, f"{stem}-{number}{dot}{ending}")
        key = tuple(fold(step) for step in segments)
    path_counts[wanted] = number or 1
    path_counts[key] = 1
    return segments


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _move_into_place(temporary: str, path: Path, replace: bool) -> None:
    """Rename the written file to `path`. Without `replace`, never overwrite a file that another program has created."""
    if replace:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _exists_error(path) from None
    except OSError:  # a file system without links: reserve the name with an empty file, then replace the empty file
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise _exists_error(path) from None
        os.replace(temporary, path)


def _exists_error(path: Path) -> FileExists:
    return FileExists(f"{path} already exists and was not changed.")
