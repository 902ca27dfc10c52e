"""Runs programs in a pseudo terminal for tests and benchmarks, and records their output, its time and the processor time.

Linux only: processor times come from the clock of each process. They include all threads of a program and of its
children, also threads that have ended. Times are in seconds since the start of the program.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import pyte

QUIET = 0.15
"""Seconds without output after which a frame counts as complete."""
LIMIT = 120.0
"""Seconds after which a wait for a program fails. The value is large enough for a busy machine."""

_FRAME_ENDS = b"\x1b[?2026l"
_ALTERNATE_SCREEN_LEFT = b"\x1b[?1049l"
ROOT = Path(__file__).parents[2]
THIS_TREE = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
"""Environment of a program that runs the source of this checkout, although another may be installed."""
_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_NOT_PASSED = (
    "COLUMNS",
    "LINES",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONASYNCIODEBUG",
)

_SCHEDULER_CLOCK = 2
"""Kind of clock in the number of the clock of a process, from `CPUCLOCK_SCHED` of Linux."""

_ANSWERS = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),
)
"""Queries of a program, and the answers of the terminal: its type, the cursor position, and two modes."""

_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<=>][0-9;]*[A-Za-z]|\x1b\[\?[0-9;]*\$p|\x1b[PX^_].*?\x1b\\", re.DOTALL)


@dataclass(frozen=True)
class Chunk:
    """A piece of output. `cpu` is the processor time until then."""

    at: float
    cpu: float
    data: bytes


@dataclass(frozen=True)
class Painted:
    """The wall time and the processor time until a text was on the screen."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Pressed:
    """The effect of a key: the times to the first byte, to the last byte and to the end of the first frame (`frame`), the
    processor time to the end of that frame, and the number of bytes."""

    first: float
    last: float
    cpu: float
    size: int
    frame: float


class Process(Protocol):
    """A program that was started in a terminal."""

    pid: int

    def wait(self, timeout: float = ...) -> int: ...

    def kill(self) -> None: ...


class Terminal:
    """A program in a pseudo terminal. The end of the context kills the program."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        columns: int = 120,
        rows: int = 36,
        pace: float = 1.0,
    ) -> None:
        """`pace` multiplies the times without output that are waited for. Below 1 the measured times are useless."""
        self._pace = pace
        self.chunks: list[Chunk] = []
        self.running = True
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._rows = [""] * rows
        """The rows of the screen when they were last read."""
        self._drawn = 0
        self._end, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._start = time.perf_counter()
        self._process = self._launch(command, environment(environ or {}), inner)
        self.pid = self._process.pid
        os.close(inner)

    def _launch(self, command: Sequence[str], environ: Mapping[str, str], inner: int) -> Process:
        return subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environ, start_new_session=True)

    def now(self) -> float:
        """Return the seconds since the start of the program."""
        return time.perf_counter() - self._start

    def write(self, data: bytes) -> None:
        """Type `data`."""
        os.write(self._end, data)

    def read(self, timeout: float) -> bool:
        """Read the next output. Return False if there was none within `timeout` seconds."""
        if not self.running or not select.select([self._end], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self._end, 1 << 20)
        except OSError:
            data = b""
        if not data:
            self.running = False
            return False
        self.chunks.append(Chunk(self.now(), processor_time(self.pid), data))
        for question, answer in _ANSWERS:
            for _ in question.findall(data):
                self.write(answer)
        return True

    def modes(self) -> list[Any]:
        """Return the attributes of the terminal, such as whether it echoes."""
        return termios.tcgetattr(self._end)

    def settle(self, quiet: float = QUIET, *, wait: float = 0.0, limit: float = 30.0) -> None:
        """Read until there was no output for `quiet` seconds. Wait up to `wait` seconds for the first output."""
        quiet *= self._pace
        end = self.now() + limit
        waiting = max(wait, quiet)
        while self.running and self.now() < end and self.read(waiting):
            waiting = quiet

    def rest(self, quiet: float = 1.0, *, limit: float = 60.0) -> None:
        """Read until the program has neither written nor worked for `quiet` seconds: it may load data without drawing."""
        end, spent = self.now() + limit, 0.0
        while self.running and self.now() < end:
            self.settle(quiet, limit=end - self.now())
            before, spent = spent, processor_time(self.pid)
            if spent - before < quiet * self._pace / 20:
                return

    def press(self, key: bytes, *, quiet: float = QUIET) -> Pressed | None:
        """Type a key, and return its effect. None if the program wrote nothing within a second."""
        before, spent, at = len(self.chunks), processor_time(self.pid), self.now()
        self.write(key)
        self.settle(quiet, wait=1.0)
        drawn = self.chunks[before:]
        if not drawn:
            return None
        framed = next((chunk for chunk in drawn if _FRAME_ENDS in chunk.data), drawn[-1])
        return Pressed(
            first=drawn[0].at - at,
            last=drawn[-1].at - at,
            cpu=framed.cpu - spent,
            size=sum(len(chunk.data) for chunk in drawn),
            frame=framed.at - at,
        )

    def wait_for(self, *texts: str, limit: float = LIMIT) -> Painted:
        """Return when all of `texts` were first on the screen together. Raises TimeoutError with the screen after `limit`
        seconds."""
        end = self.now() + limit
        while True:
            # All output is read before it is drawn, because drawing is slow and would delay the times of later output.
            while self.read(0.0 if self._drawn < len(self.chunks) else 0.05):
                pass
            for chunk in self._draw():
                shown = self.screen
                if all(text in shown for text in texts):
                    return Painted(chunk.at, chunk.cpu)
            if not self.running or self.now() > end:
                raise TimeoutError(f"{texts} did not appear. There was:\n{self.screen}")

    def look(self) -> str:
        """Read the available output, and return the text of the screen."""
        while self.read(0.0):
            pass
        for _ in self._draw():
            pass
        return self.screen

    @property
    def screen(self) -> str:
        """Return the text of the screen as far as it is drawn. No-break spaces become spaces."""
        if changed := self._screen.dirty:  # Only changed rows: joining all rows took longer than drawing.
            for row in changed:
                line = self._screen.buffer[row]
                text = "".join(line[column].data for column in range(self._screen.columns))
                self._rows[row] = text.replace("\N{NO-BREAK SPACE}", " ")
            changed.clear()
        return "\n".join(self._rows)

    def _draw(self) -> Iterator[Chunk]:
        """Draw the output that was read, and yield each chunk after it is drawn."""
        while self._drawn < len(self.chunks):
            chunk = self.chunks[self._drawn]
            self._drawn += 1
            self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", chunk.data))
            yield chunk

    def quit(self, key: bytes) -> tuple[float, float]:
        """Type a key that quits, and return the seconds until the alternate screen was left and until the program ended."""
        before, at = len(self.chunks), self.now()
        self.write(key)
        self.end()
        gone = self.now() - at
        left = next((chunk.at - at for chunk in self.chunks[before:] if _ALTERNATE_SCREEN_LEFT in chunk.data), gone)
        return left, gone

    def hang_up(self, limit: float = LIMIT) -> int:
        """Close the terminal without a signal, and return the exit code of the program."""
        os.close(self._end)
        self._end = os.open(os.devnull, os.O_RDONLY)
        return self._process.wait(limit)

    def end(self, limit: float = LIMIT) -> int:
        """Read until the program ends, and return its exit code. Raises subprocess.TimeoutExpired after `limit` seconds."""
        end = self.now() + limit
        while self.running and self.now() < end:
            self.read(0.5)
        return self._process.wait(max(end - self.now(), 0.1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._end)


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program: that of this process without settings of Python, and with `extra`."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_PASSED} | _TERMINAL | dict(extra)


def processor_time(pid: int) -> float:
    """Return the seconds of processor time of a process, its threads and its children."""
    spent = 0.0
    for each in _family(pid):
        try:
            spent += time.clock_gettime(~each << 3 | _SCHEDULER_CLOCK)
        except OSError:
            continue  # The process ended after it was listed.
    return spent


def peak_memory(pid: int) -> float:
    """Return the peak memory of a process in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def _family(pid: int) -> list[int]:
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += _family(int(child))
    except OSError:
        pass  # The process ended.
    return found
