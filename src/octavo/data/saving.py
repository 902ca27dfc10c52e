"""Saving to a file the person names: whole or not at all, and never over another file unless they said so (T8)."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

NAME_BYTES = 120
_AT_ONCE = 1 << 18
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\ufffd]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class NotSaved(OSError):
    """It could not be saved. The text is a sentence."""


class IsThere(NotSaved):
    """A file of that name is there already."""


def safe_name(name: str, otherwise: str = "file") -> str:
    """`name` as the name of a file that is one everywhere: no path, nothing hidden, at most 120 bytes."""
    stem, dot, ending = _UNFIT.sub("_", name).strip(" .-_~").rpartition(".")
    if not dot or len(ending.encode("utf-8", "replace")) > 16:
        stem, dot, ending = f"{stem}{dot}{ending}", "", ""
    room = NAME_BYTES - len(f"{dot}{ending}".encode("utf-8", "replace"))
    stem = stem.encode("utf-8", "ignore")[:room].decode("utf-8", "ignore").rstrip(" .") or otherwise
    return f"_{stem}{dot}{ending}" if _RESERVED.match(stem) else f"{stem}{dot}{ending}"


def destination(written: str, name: str) -> Path:
    """The file that `written` means: with ~ for home, and called `name` when a folder is written. Raises NotSaved."""
    if not written or "\0" in written:
        raise NotSaved("A file needs a name: write where it is to be.")
    try:
        path = Path(written).expanduser().absolute()
        if path.is_dir():
            path = path / name
        elif written.endswith(os.sep):
            raise NotSaved(f"There is no folder {path}. Name one that is there.")
        if not path.parent.is_dir():
            raise NotSaved(f"There is no folder {path.parent}. Name one that is there.")
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, NotSaved):
            raise
        raise NotSaved(f"{written} cannot be the name of a file. Write another.") from error
    return path


async def save(path: Path, chunks: AsyncIterator[bytes], *, replace: bool = False) -> int:
    """Write what comes to `path`, readable by its owner only. How many bytes there were.

    Until all is there the file does not exist, or is as it was. Raises IsThere unless `replace`, NotSaved, and what
    `chunks` raises.
    """
    if not replace and await asyncio.to_thread(os.path.lexists, path):
        raise _is_there(path)
    try:
        handle, written = await asyncio.to_thread(tempfile.mkstemp, dir=path.parent, prefix=".octavo-", suffix=".part")
        size, waiting = 0, bytearray()
        try:
            with os.fdopen(handle, "wb") as file:
                async for chunk in chunks:
                    waiting += chunk
                    size += len(chunk)
                    if len(waiting) >= _AT_ONCE:
                        await asyncio.to_thread(file.write, bytes(waiting))
                        waiting.clear()
                await asyncio.to_thread(_finish, file, bytes(waiting))
            await asyncio.to_thread(_put, written, path, replace)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(written)
    except OSError as error:
        if isinstance(error, NotSaved):
            raise
        raise NotSaved(f"{path} was not written: {error.strerror or error}. Name another place.") from error
    return size


async def save_folder(path: Path, files: AsyncIterator[tuple[tuple[str, ...], bytes]]) -> int:
    """Write `files`, each with its path, to a new folder. How many there were. Raises as `save` does.

    The steps of their paths are made plain names, and those of two files are never the same. Until all are there the
    folder does not exist.
    """
    if await asyncio.to_thread(os.path.lexists, path):
        raise _is_there(path)
    taken: set[tuple[str, ...]] = set()
    try:
        making = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=path.parent, prefix=".octavo-"))
        try:
            async for steps, content in files:
                plain = _free(tuple(safe_name(step) for step in steps), taken)
                await asyncio.to_thread(_write, making.joinpath(*plain), content)
            await asyncio.to_thread(os.rename, making, path)
        finally:
            await asyncio.to_thread(shutil.rmtree, making, ignore_errors=True)
    except OSError as error:
        raise NotSaved(f"{path} was not written: {error.strerror or error}. Name another place.") from error
    return len(taken)


def _free(steps: tuple[str, ...], taken: set[tuple[str, ...]]) -> tuple[str, ...]:
    """`steps`, or the like that is not taken: names may differ in what file systems do not tell apart."""
    *folder, name = steps
    stem, dot, ending = name.partition(".")
    for number in range(1, len(taken) + 2):
        steps = (*folder, name if number == 1 else f"{stem}-{number}{dot}{ending}")
        if (key := tuple(step.casefold() for step in steps)) not in taken:
            taken.add(key)
            break
    return steps


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _finish(file: BinaryIO, rest: bytes) -> None:
    file.write(rest)
    file.flush()
    os.fsync(file.fileno())


def _put(written: str, path: Path, replace: bool) -> None:
    """Give what was written its name. Another file that came to be there meanwhile stays."""
    if replace:
        os.replace(written, path)
        return
    try:
        os.link(written, path)
    except FileExistsError:
        raise _is_there(path) from None
    except OSError:  # a file system without links: hold the name until the file takes it
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise _is_there(path) from None
        os.replace(written, path)


def _is_there(path: Path) -> IsThere:
    return IsThere(f"{path} is there already, and was left as it is.")
