"""Child programs that decode untrusted files end together with their pipes, however the wait for them ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from octavo.tui.terminal.external_editor import BoundedOutput, run_bounded

MEMORY_LIMIT = 512 << 20
SMALL_REQUEST = json.dumps({"source": "flowchart LR\n  A --> B", "ascii": True}).encode()


def own_processes_and_pipes() -> dict[str, str]:
    """Return the running child processes and the open pipes of this process."""
    found: dict[str, str] = {}
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # A thread that has just ended has no children file.
            found |= dict.fromkeys((task / "children").read_text().split(), "process")
    for each in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{each}"
        if os.path.lexists(path) and os.readlink(path).startswith("pipe:"):
            found[os.readlink(path)] = each
    return found


def draw_diagram(given: bytes = SMALL_REQUEST, seconds: float = 20) -> Coroutine[Any, Any, BoundedOutput]:
    return run_bounded("draw_diagram", given, seconds=seconds, memory=MEMORY_LIMIT, max_bytes=1 << 20)


@pytest.mark.parametrize("after", [0, 0.001, 0.02])
def test_program_is_killed_when_octavo_ends(after: float) -> None:
    async def start_and_leave() -> None:
        waiting = asyncio.create_task(draw_diagram(b" " * (4 << 20)))
        await asyncio.sleep(after)
        assert not waiting.done()

    before = own_processes_and_pipes()
    asyncio.run(start_and_leave())
    assert own_processes_and_pipes() == before


async def test_cancelled_program_can_run_again() -> None:
    before = own_processes_and_pipes()
    for after in (0, 0.01):
        waiting = asyncio.create_task(draw_diagram())
        await asyncio.sleep(after)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert b"A" in (await draw_diagram()).output
    # The thread of a stopped program waits for the end of the program, but the test has no handle of the thread.
    async with asyncio.timeout(30):
        while own_processes_and_pipes() != before:  # noqa: ASYNC110  # There is no event for the end of a process.
            await asyncio.sleep(0.01)


async def test_program_over_its_time_is_killed_and_its_output_returned() -> None:
    before = own_processes_and_pipes()
    output = await draw_diagram(seconds=0)
    assert output == BoundedOutput(b"", exceeded=True)
    assert own_processes_and_pipes() == before
