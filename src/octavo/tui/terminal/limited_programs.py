"""Runs programs with limits: programs of the user, such as linters, and programs of `bounded/`, which read untrusted
input.

Each program runs in its own process group, without a shell. Its time and its output are limited, and its environment
has no token.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Event
from time import monotonic
from typing import IO, TypeVar

from octavo.api.safety import safe_line
from octavo.settings.programs import Linter

T = TypeVar("T")

MAX_OUTPUT_BYTES = 4 << 20
_MAX_FILE_BYTES = 64 << 20
"""Maximum size in bytes of a file that a limited program may write. Only enforced on Linux."""
_MAX_ERROR_BYTES = 4096
_CHUNK_BYTES = 1 << 16
_DRAIN_SECONDS = 1.0
"""Seconds for which output is read after the program has ended: its child processes may keep the pipe open longer."""
_TICK_SECONDS = 0.05
_BOUNDED_FOLDER = Path(__file__).parent / "bounded"
_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR")


class ProgramFailed(Exception):
    """Raised if a program cannot run or exceeds a limit. The message is `Could not run NAME: cause. Next step.`"""

    output = b""
    """Output of the program before it exceeded the limit."""


@dataclass(frozen=True)
class ProgramOutput:
    """Output and exit code of a program after it has ended."""

    output: bytes
    errors: bytes
    """Beginning of what the program wrote to standard error."""
    exit_code: int
    """Exit code. If a signal ended the program, the negative number of the signal."""


def program_environment(environment: Mapping[str, str], more_names: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of a program: `PATH`, `HOME`, `TMPDIR`, the language, and the variables `more_names`."""
    allowed_names = {*_VARIABLES, *more_names}
    return {name: value for name, value in environment.items() if name in allowed_names or name.startswith("LC_")}


def run_limited(
    name: str,
    command: Sequence[str],
    data: bytes | None,
    *,
    folder: Path,
    environment: Mapping[str, str],
    deadline: float,
    cancelled: Event,
    timeout_hint: str = "",
    max_output: int = MAX_OUTPUT_BYTES,
) -> ProgramOutput:
    """Run a program with the input `data` until it ends, and return its output. `deadline` is a time of
    `time.monotonic`. Raises ProgramFailed if the program exceeds a limit or is `cancelled`, and OSError if it cannot be
    started. The error for a missed deadline ends with `timeout_hint`."""
    child = Popen(
        command,
        stdin=DEVNULL if data is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
        bufsize=0,
    )
    _limit_files(child.pid)
    running_program = _RunningProgram(name, child, data or b"", deadline, cancelled, timeout_hint, max_output)
    try:
        return running_program.run()
    except ProgramFailed as failure:
        failure.output = bytes(running_program.output)
        raise
    finally:
        _kill(child)


def run_on_item(
    name: str,
    command: Sequence[str],
    facts: Mapping[str, object],
    values: Mapping[str, str],
    variables: Mapping[str, str],
    *,
    seconds: float,
    cancelled: Event,
) -> ProgramOutput:
    """Run a program of the user for an item, such as a change request. It gets `facts` as JSON on standard input,
    `values` in place of arguments such as `{ref}`, and the environment `variables`. Raises ProgramFailed or OSError."""
    placeholders = {f"{{{key}}}": value for key, value in values.items()}
    return run_limited(
        name,
        [fill_placeholder(each, placeholders) for each in command],
        json.dumps(facts, ensure_ascii=False).encode(),
        folder=Path.home(),
        environment={**program_environment(os.environ), **variables},
        deadline=monotonic() + seconds,
        cancelled=cancelled,
    )


async def run_cancellable(function: Callable[[Event], T]) -> T:
    """Run `function` in a thread, and return its result. If this task is canceled, set the event that `function` got,
    and wait until `function` returns, so that no program outlives Octavo."""
    cancelled = Event()
    running_function = asyncio.get_running_loop().run_in_executor(None, function, cancelled)
    try:
        return await asyncio.shield(running_function)
    except asyncio.CancelledError:
        cancelled.set()
        # Read the error: asyncio would otherwise report it, and the app would crash.
        running_function.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
        await asyncio.wait({running_function})
        raise


def fill_placeholder(argument: str, values: Mapping[str, str]) -> str:
    """Return a command argument such as `{ref}` or `--ref={ref}` with the placeholder replaced by its value. `./` is
    put before a value that would look like an option."""
    head, separator, placeholder = argument.rpartition("=")
    if placeholder not in values:
        return argument
    value = values[placeholder]
    return f"{head}{separator}{'./' if value.startswith('-') and not separator else ''}{value}"


def start_failure(name: str, program: str, error: OSError, next_step: str) -> ProgramFailed:
    """Return the error for a program that could not be started: `Could not run NAME`. If the program was not found, the
    message also has `next_step`, such as `Set linter.command`."""
    if isinstance(error, FileNotFoundError):
        return ProgramFailed(f"Could not run {name}: {program} was not found. {next_step}, or install it.")
    return ProgramFailed(f"Could not run {name}: {(error.strerror or 'unknown cause').lower()}.")


def _limit_files(pid: int) -> None:
    try:
        from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit  # lazy: needed only on Linux
    except ImportError:
        return
    with suppress(OSError, ValueError):
        if prlimit(pid, RLIMIT_FSIZE)[1] == RLIM_INFINITY:
            prlimit(pid, RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))


class _RunningProgram:
    def __init__(
        self,
        name: str,
        child: Popen[bytes],
        data: bytes,
        deadline: float,
        cancelled: Event,
        timeout_hint: str,
        max_output: int,
    ) -> None:
        self._name, self._child, self._unsent_data = name, child, memoryview(data)
        self._deadline, self._cancelled, self._timeout_hint = deadline, cancelled, timeout_hint
        self._max_output = max_output
        self.output, self._errors = bytearray(), bytearray()
        self._selector = selectors.DefaultSelector()

    def run(self) -> ProgramOutput:
        """Return the output when the program has ended. Raises ProgramFailed if it exceeds a limit or is canceled."""
        child, end_time = self._child, 0.0
        with self._selector:
            self._add(child.stdin, selectors.EVENT_WRITE)
            self._add(child.stdout, selectors.EVENT_READ)
            self._add(child.stderr, selectors.EVENT_READ)
            while self._selector.get_map():
                if child.poll() is not None:
                    end_time = end_time or monotonic()
                    if monotonic() > end_time + _DRAIN_SECONDS:
                        break
                self._check_limits()
                for key, _ in self._selector.select(_TICK_SECONDS):
                    self._transfer(key)
        while child.poll() is None:
            self._check_limits()
            with suppress(TimeoutExpired):
                child.wait(_TICK_SECONDS)
        return ProgramOutput(bytes(self.output), bytes(self._errors), child.returncode)

    def _add(self, pipe: IO[bytes] | None, event: int) -> None:
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event)

    def _check_limits(self) -> None:
        name = self._name
        if self._cancelled.is_set():
            raise ProgramFailed(f"Could not run {name}: it was canceled.")
        if monotonic() > self._deadline:
            raise ProgramFailed(f"Could not run {name}: it did not end in time. {self._timeout_hint}".rstrip())
        if len(self.output) > self._max_output:
            raise ProgramFailed(f"Could not run {name}: it printed more than {self._max_output >> 20} MiB.")

    def _transfer(self, key: selectors.SelectorKey) -> None:
        if key.fileobj is self._child.stdin:
            self._write(key)
            return
        chunk = os.read(key.fd, _CHUNK_BYTES)
        if not chunk:
            self._selector.unregister(key.fileobj)
        elif key.fileobj is self._child.stdout:
            self.output += chunk
        else:
            self._errors += chunk[: _MAX_ERROR_BYTES - len(self._errors)]

    def _write(self, key: selectors.SelectorKey) -> None:
        try:
            self._unsent_data = self._unsent_data[os.write(key.fd, self._unsent_data[:_CHUNK_BYTES]) :]
        except BrokenPipeError:
            self._unsent_data = self._unsent_data[:0]  # The program no longer reads its input, so drop the rest.
        if not self._unsent_data and self._child.stdin is not None:
            self._selector.unregister(key.fileobj)
            self._child.stdin.close()


def _kill(child: Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    child.wait()


@dataclass(frozen=True)
class BoundedOutput:
    """Output of a program of `bounded/`, and whether the program exceeded a limit."""

    output: bytes
    exceeded_limit: bool
    """True if the program was killed because it took too long or printed too much."""


async def run_bounded(program: str, data: bytes, *, seconds: float, memory: int, max_bytes: int) -> BoundedOutput:
    """Run a program of `bounded/` with `data` as its input, and return its output. The program gets no environment
    variables. It is killed after `seconds`, or if it prints more than `max_bytes`. `memory` in bytes is limited if the
    system supports this. Raises OSError if the program cannot be started."""
    # The program also limits its own processor time, in case Octavo is killed before the program ends.
    limits = str(memory), str(int(seconds) + 1)
    command = (sys.executable, "-I", "-X", "utf8", str(_BOUNDED_FOLDER / "__main__.py"), program, *limits)
    run = partial(run_limited, program, command, data, folder=Path("/"), environment={}, max_output=max_bytes)
    deadline = monotonic() + seconds
    try:
        program_output = await run_cancellable(lambda cancelled: run(deadline=deadline, cancelled=cancelled))
    except ProgramFailed as failure:
        return BoundedOutput(failure.output[:max_bytes], exceeded_limit=True)
    return BoundedOutput(program_output.output, exceeded_limit=False)


LINTER_SECONDS = 20.0
MAX_LINTERS = 2
"""Maximum number of linters that run at the same time."""


@dataclass(frozen=True)
class LinterOutput:
    """Output of a linter: what the linter printed or, with `{output}` in its command, the content of that file."""

    output: bytes
    errors: str
    """Beginning of what the linter wrote to standard error, as one sanitized line."""


async def run_linter(linter: Linter, path: str, text: str, seconds: float = LINTER_SECONDS) -> LinterOutput:
    """Run a linter on the text of a page, in a temporary folder with the text at `path`. Raises ProgramFailed."""
    return await run_cancellable(partial(_run_in_temporary_folder, linter, path, text, seconds))


def _run_in_temporary_folder(linter: Linter, path: str, text: str, seconds: float, cancelled: Event) -> LinterOutput:
    try:
        # A temporary folder has mode 0700, so other users cannot read the text.
        with tempfile.TemporaryDirectory(prefix="octavo-linter-", ignore_cleanup_errors=True) as folder:
            return _run(linter, Path(folder), path, text, monotonic() + seconds, cancelled)
    except OSError as error:
        raise start_failure(linter.name, linter.command[0], error, "Set linter.command") from None


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
    command = [fill_placeholder(each, values) for each in linter.command]
    program_output = run_limited(
        linter.name,
        command,
        data if "-" in linter.command else None,
        folder=linter.folder or folder,
        environment=program_environment(os.environ, linter.environment),
        deadline=deadline,
        cancelled=cancelled,
        timeout_hint="To see why, run it on a single page.",
    )
    has_file = any("{output}" in each for each in linter.command)
    output = _read_output(linter, output_file) if has_file else program_output.output
    return LinterOutput(output, safe_line(" ".join(program_output.errors.decode("utf-8", "replace").split())))


def _read_output(linter: Linter, file: Path) -> bytes:
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            output = opened.read(MAX_OUTPUT_BYTES + 1)
    except FileNotFoundError:
        raise ProgramFailed(f"Could not run {linter.name}: it did not write the file {{output}}.") from None
    if len(output) > MAX_OUTPUT_BYTES:
        raise ProgramFailed(f"Could not run {linter.name}: it wrote more than {MAX_OUTPUT_BYTES >> 20} MiB.")
    return output
