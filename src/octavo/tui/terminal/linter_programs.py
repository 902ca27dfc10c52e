"""Runs linters on a page. The exit status is not used: linters end with 0, 1 or 255 when they have findings."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

from octavo.api.safety import safe_line
from octavo.settings import Linter
from octavo.tui.terminal.limited_programs import MAX_OUTPUT, ProgramFailed, program_environment, run_limited

SECONDS = 20.0
"""Time limit of a linter."""
MAX_AT_ONCE = 2
"""Maximum number of linters that run at the same time."""


@dataclass(frozen=True)
class LinterOutput:
    """Output of a linter: printed, or written to the file `{output}`."""

    output: bytes
    errors: str
    """The beginning of standard error as one line, safe to show."""


async def run_linter(linter: Linter, path: str, text: str, seconds: float = SECONDS) -> LinterOutput:
    """Run a linter on a page. `path` is the path of the file that it gets. Raises ProgramFailed."""
    cancelled = Event()
    running = asyncio.get_running_loop().run_in_executor(
        None, _run_in_temporary_folder, linter, path, text, seconds, cancelled
    )
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        raise


def _run_in_temporary_folder(linter: Linter, path: str, text: str, seconds: float, cancelled: Event) -> LinterOutput:
    try:
        folder = Path(tempfile.mkdtemp(prefix="octavo-linter-"))  # The mode of the folder is 0700.
    except OSError as error:
        raise _failure(linter, error) from None
    try:
        return _run(linter, folder, path, text, monotonic() + seconds, cancelled)
    except OSError as error:
        raise _failure(linter, error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(linter: Linter, folder: Path, path: str, text: str, deadline: float, cancelled: Event) -> LinterOutput:
    file, output_file = folder / "pages" / path, folder / "output"
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ProgramFailed(f"Could not run {linter.name}: the path of the page leaves the folder.")
    file.parent.mkdir(parents=True)
    data = text.encode("utf-8", "replace")
    file.write_bytes(data)
    if linter.folder is not None and not linter.folder.is_dir():
        raise ProgramFailed(f"Could not run {linter.name}: {linter.folder} is not a folder. Set linter.folder.")
    values = {
        "{file}": str(file),
        "{path}": f"./{path}" if path.startswith("-") else path,
        "{folder}": str(linter.folder or folder),
        "{output}": str(output_file),
    }
    command = [_fill_placeholder(each, values) for each in linter.command]
    output, errors = run_limited(
        linter.name,
        command,
        data if "-" in linter.command else None,
        folder=linter.folder or folder,
        environment=program_environment(os.environ, linter.environment),
        deadline=deadline,
        cancelled=cancelled,
        when_late="To see why, run it on a single page.",
    )
    if any("{output}" in each for each in linter.command):
        output = _read_output(linter, output_file)
    return LinterOutput(output, safe_line(" ".join(errors.decode("utf-8", "replace").split())))


def _fill_placeholder(argument: str, values: Mapping[str, str]) -> str:
    """Return an argument with its placeholder filled in. The placeholder is the whole argument or the part after
    `=`."""
    head, mark, last = argument.rpartition("=")
    return head + mark + values.get(last, last)


def _read_output(linter: Linter, file: Path) -> bytes:
    """Return the content of the file that a linter wrote. Raises ProgramFailed if there is none, or if it is too large."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            data = opened.read(MAX_OUTPUT + 1)
    except FileNotFoundError:
        raise ProgramFailed(f"Could not run {linter.name}: it did not write the file {{output}}.") from None
    if len(data) > MAX_OUTPUT:
        raise ProgramFailed(f"Could not run {linter.name}: it wrote more than {MAX_OUTPUT >> 20} MiB.")
    return data


def _failure(linter: Linter, error: OSError) -> ProgramFailed:
    if isinstance(error, FileNotFoundError):
        program = linter.command[0]
        return ProgramFailed(
            f"Could not run {linter.name}: {program} was not found. Set linter.command, or install it."
        )
    return ProgramFailed(f"Could not run {linter.name}: {(error.strerror or 'unknown cause').lower()}.")
