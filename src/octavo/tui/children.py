"""The programs that Octavo starts: what an editor or a browser gets to know of its environment, and how programs of
its own work on what outsiders wrote, within bounds."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_KEPT_FROM_THEM = ("OCTAVO_API_KEY",)
_BOUNDED = Path(__file__).parent / "bounded"
_CHUNK = 1 << 16


def for_children(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what is a key (K11)."""
    return {name: value for name, value in environment.items() if name not in _KEPT_FROM_THEM}


@dataclass(frozen=True)
class Told:
    """What a program said before it ended, or was ended."""

    output: bytes
    late: bool
    """Its time was over, or it said more than it may."""


async def ask(program: str, given: bytes, *, seconds: float, memory: int, most: int) -> Told:
    """What a program of `bounded/` makes of `given`.

    It is ended after `seconds`, after `most` bytes of output, and when nobody waits any more; it may take `memory`
    bytes, where the system can see to that. Raises OSError when no process can be started.
    """
    child = await start(program, memory=memory, seconds=int(seconds) + 1)
    output, late = bytearray(), False
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(_give(child, given), _take(child, output, most))
            await child.wait()
    except TimeoutError:
        late = True
    finally:
        _end(child)
        await child.wait()
    return Told(bytes(output[:most]), late or len(output) > most)


async def start(program: str, *, memory: int, seconds: int) -> Process:
    """A program of `bounded/` in a process that knows nothing of ours: no environment, no folder, no terminal.

    `seconds` are of the processor, for one that outlives us. Raises OSError.
    """
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-X", "utf8", str(_BOUNDED / "__main__.py"), program, str(memory), str(seconds)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


def _end(child: Process) -> None:
    with suppress(ProcessLookupError):
        child.kill()


async def _give(child: Process, given: bytes) -> None:
    assert child.stdin is not None, "It was asked for"
    with suppress(BrokenPipeError, ConnectionResetError):  # it has seen enough
        child.stdin.write(given)
        await child.stdin.drain()
    child.stdin.close()


async def _take(child: Process, output: bytearray, most: int) -> None:
    assert child.stdout is not None, "It was asked for"
    while len(output) <= most and (chunk := await child.stdout.read(_CHUNK)):
        output += chunk
    if len(output) > most:
        _end(child)
