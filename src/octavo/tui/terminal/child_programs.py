"""The programs that Octavo starts: what an editor or a browser gets to know of its environment, and how programs of
its own work on what outsiders wrote, within bounds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock, Thread

_KEPT_FROM_THEM = ("OCTAVO_API_KEY",)
_BOUNDED = Path(__file__).parent / "bounded"
_CHUNK = 1 << 16


def for_children(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what is a key (K11)."""
    return {name: value for name, value in environment.items() if name not in _KEPT_FROM_THEM}


@dataclass(frozen=True)
class ProgramOutput:
    """What a program said before it ended, or was ended."""

    output: bytes
    late: bool
    """Its time was over, or it said more than it may."""


async def ask(program: str, given: bytes, *, seconds: float, memory: int, most: int) -> ProgramOutput:
    """What a program of `bounded/` makes of `given`.

    It is ended after `seconds`, after `most` bytes of output, and when nobody waits any more; it may take `memory`
    bytes, where the system can see to that. Raises OSError when no process can be started.
    """
    talk = _Talk(program, memory, seconds)
    # In a thread and not over pipes of the event loop, which a loop that ends at once leaves open.
    over = asyncio.get_running_loop().run_in_executor(None, talk.hold, given, most)
    try:
        done, _ = await asyncio.wait({over}, timeout=seconds)
    except asyncio.CancelledError:
        over.cancel()
        raise
    finally:
        talk.end()
    output = await over
    return ProgramOutput(output[:most], not done or len(output) > most)


class _Talk:
    """A program that is given something and says something, until anybody ends it."""

    def __init__(self, program: str, memory: int, seconds: float) -> None:
        self._program, self._memory, self._seconds = program, memory, int(seconds) + 1
        self._lock = Lock()
        self._child: Popen[bytes] | None = None
        self._is_ended = False

    def hold(self, given: bytes, most: int) -> bytes:
        """What it says, and a little more than `most` bytes at most. Blocks until it is gone. Raises OSError."""
        with self._lock:
            if self._is_ended:
                return b""
            child = self._child = start(self._program, memory=self._memory, seconds=self._seconds)
        output = bytearray()
        with child:  # its pipes are closed, and it is waited for
            giving = Thread(target=_give, args=(child, given), daemon=True, name="octavo-giving")
            giving.start()
            assert child.stdout is not None, "Popen was called without a pipe"
            while len(output) <= most and (chunk := child.stdout.read(_CHUNK)):
                output += chunk
            if len(output) > most:
                child.kill()
            giving.join()
        return bytes(output)

    def end(self) -> None:
        """Let it be gone, or never begin."""
        with self._lock:
            self._is_ended = True
            if self._child is not None:
                self._child.kill()


def start(program: str, *, memory: int, seconds: int) -> Popen[bytes]:
    """A program of `bounded/` in a process that knows nothing of ours: no environment, no folder, no terminal.

    `seconds` are of the processor, for one that outlives us. Raises OSError.
    """
    return Popen(
        (sys.executable, "-I", "-X", "utf8", str(_BOUNDED / "__main__.py"), program, str(memory), str(seconds)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )


def _give(child: Popen[bytes], given: bytes) -> None:
    assert child.stdin is not None, "Popen was called without a pipe"
    rest = memoryview(given)
    with suppress(OSError), child.stdin:  # it has seen enough
        while rest:
            rest = rest[child.stdin.write(rest) or 0 :]
