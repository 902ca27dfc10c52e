"""Child programs that decode untrusted files end with their pipes, however the wait for them ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from octavo.tui.terminal import child_programs

PLENTY = 512 << 20
SMALL = json.dumps({"source": "flowchart LR\n  A --> B", "ascii": True}).encode()


def ours() -> dict[str, str]:
    """The processes that we started and that are still there, and the pipes we hold."""
    found: dict[str, str] = {}
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended has no children any more
            found |= dict.fromkeys((task / "children").read_text().split(), "process")
    for each in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{each}"
        if os.path.lexists(path) and os.readlink(path).startswith("pipe:"):
            found[os.readlink(path)] = each
    return found


def ask(given: bytes = SMALL, seconds: float = 20) -> Coroutine[Any, Any, child_programs.ProgramOutput]:
    return child_programs.run_bounded("draw_diagram", given, seconds=seconds, memory=PLENTY, max_bytes=1 << 20)


@pytest.mark.parametrize("after", [0, 0.001, 0.02])
def test_program_is_killed_when_octavo_ends(after: float) -> None:
    async def leave() -> None:
        waiting = asyncio.create_task(ask(b" " * (4 << 20)))
        await asyncio.sleep(after)
        assert not waiting.done()

    before = ours()
    asyncio.run(leave())
    assert ours() == before


async def test_cancelled_program_can_run_again() -> None:
    before = ours()
    for after in (0, 0.01):
        waiting = asyncio.create_task(ask())
        await asyncio.sleep(after)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert b"A" in (await ask()).output
    # The thread of a program that was stopped waits for its end, and nobody waits for the thread.
    async with asyncio.timeout(30):
        while ours() != before:  # noqa: ASYNC110  # the system tells nobody that a process is gone
            await asyncio.sleep(0.01)


async def test_program_over_its_time_is_killed_and_its_output_returned() -> None:
    before = ours()
    told = await ask(seconds=0)
    assert told == child_programs.ProgramOutput(b"", exceeded=True)
    assert ours() == before
