"""Random keys on all screens, as in an app that runs for days: Octavo frees closed screens."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.random_keys import RandomUser
from tests.journeys.stage import Run, Stage
from tests.journeys.test_freed_memory import LiveNodes

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def isolated_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no test open an editor or a browser, and restore the limits of the garbage collection afterwards."""
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


class Soak:
    """A user who presses, clicks and pastes at random while time passes. Keeps weak references to the screens that
    were shown."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run, self._nodes = run, LiveNodes(run)
        self.done: list[str] = []
        self._acts = 0
        self._user = RandomUser(run, seed, self.done, stay=True)

    async def act(self, times: int) -> None:
        """Do this many random actions."""
        run = self._run
        for _ in range(times):
            self._acts += 1
            async with asyncio.timeout(60):
                await self._user.act()
            assert run.app._exception is None, self.done[-20:]
            assert run.app.return_value is None, self.done[-20:]
            if self._acts % 10 == 0:
                self._nodes.note()
            if self._acts % 50 == 0:
                run.gate.passed.clear()  # Only the gate of the test keeps all requests.
                del self.done[:-200]
                run.clock.forward(seconds=10)
                run.app.session.outbox.resume()
                await run.settle()

    async def check_nothing_left(self) -> None:
        """Close all dialogs, and fail if closed screens still exist."""
        run = self._run
        for _ in range(9):
            if len(run.app.screen_stack) > 1:
                await run.press("escape")
        run.app.history.clear()
        await run.until(lambda: not self._nodes.still_alive(), f"free all closed screens: {self._nodes.still_alive()}")


@pytest.mark.before_release
async def test_random_keys_leave_no_closed_screens_in_memory(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        soak = Soak(run, 9)
        await soak.act(40)
        assert len({each.split(":")[0] for each in soak.done}) > 4
        await soak.check_nothing_left()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_memory_does_not_grow_over_twenty_thousand_keys() -> None:
    command = [sys.executable, "-m", "tests.journeys.random_keys_memory", "20000"]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    early, late = map(float, output.split())
    assert late - early < 20
