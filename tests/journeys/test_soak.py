"""Keys at random over all screens, as of somebody who leaves the app open for days: what was closed does not stay."""

from __future__ import annotations

import asyncio
import gc
import resource
from collections.abc import Iterator
from random import Random

import pytest

from tests.journeys.stage import Run, Stage
from tests.journeys.test_freed import Opened

MOVES = (*("j", "enter") * 4, *("k", "tab", "space", "g", "G", "n", "J", "[", "]", "h", "l", "t", "y", "down"))
VIEWS = ("1", "2", "3", "4", "?", "!", ":", "s", "i", "f2", "<", ">")
NEVER = {
    *("app.quit", "app.back", "app.suspend", "thing.open_browser", "row.open_browser", "page.open_browser"),
    *("comments.open_browser", "search.open_browser", "picture.browser", "conflict.browser", "page.edit"),
    *("composer.edit", "conflict.edit", "comment.edit", "comments.edit", "held.edit"),
}
"""What ends the app, or gives the terminal to another program."""
RUNS_ANYTHING = {"PaletteScreen", "HelpScreen"}
"""There enter may quit."""


@pytest.fixture(autouse=True)
def nowhere_else(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is saved at random stays in the folder of the test, and the looks of this app are no other's."""
    home = stage.folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


class Fingers:
    """Presses what can be pressed where they are. What follows from a seed alone are the draws, not the screens."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run, self._random, self._opened = run, Random(seed), Opened(run)
        self.pressed: list[str] = []
        self.seen: set[str] = set()

    async def press(self, times: int) -> None:
        """Press so many keys, and let time go by."""
        run = self._run
        for number in range(1, times + 1):
            key = self._next()
            self.seen.add(type(run.app.screen).__name__)
            self.pressed.append(f"{type(run.app.screen).__name__}: {key}")
            async with asyncio.timeout(60):
                await run.app._press_keys([key])
            assert run.app._exception is None, self.pressed[-20:]
            assert run.app.return_value is None, self.pressed[-20:]
            if number % 10 == 0:
                self._opened.note()
            if number % 50 == 0:
                run.clock.forward(seconds=10)
                run.app.session.outbox.resume()
                await run.settle()

    def _next(self) -> str:
        random, screen = self._random, self._run.app.screen
        chosen = random.random()
        if chosen < 0.12:
            return "escape"
        if chosen < 0.24:
            return random.choice(VIEWS)
        offered = [key for key, active in screen.active_bindings.items() if active.binding.id not in NEVER]
        key = random.choice(sorted(offered) if chosen < 0.62 else MOVES)
        return "escape" if key == "enter" and type(screen).__name__ in RUNS_ANYTHING else key

    async def nothing_left(self) -> None:
        """Nothing that was closed is there any more, but for screens one can still go back to."""
        run = self._run
        for _ in range(9):
            if len(run.app.screen_stack) > 1:
                await run.press("escape")
        run.app.trail.clear()
        await run.until(lambda: not self._opened.left(), f"leave nothing: {self._opened.left()}")


async def test_random_keys_leave_nothing(stage: Stage) -> None:
    async with stage.play() as run:
        fingers = Fingers(run, 7)
        await fingers.press(80)
        assert len(fingers.seen) > 5
        await fingers.nothing_left()


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_memory_after_twenty_thousand_keys_is_that_after_two_thousand(stage: Stage) -> None:
    async with stage.play() as run:
        run.app.garbage.begin()
        fingers = Fingers(run, 1)
        await fingers.press(2_000)
        before = memory()
        told = [before]
        for _ in range(9):
            await fingers.press(2_000)
            told.append(memory())
        assert told[-1] - before < 20, told
        await fingers.nothing_left()


def memory() -> float:
    """What this process has in memory, in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
