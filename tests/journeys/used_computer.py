"""The folders of a computer on which Mara has opened the inbox before, so that a start requests only recent data."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from octavo.tui.widgets import short_texts
from tests.journeys.stage import Stage

KEPT_FOLDERS = ("cache", "state")


@pytest.fixture(scope="session")
def used_folders(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folders of the computer."""
    clock = short_texts.clock
    before = Stage(tmp_path_factory.mktemp("used-folders"), library)

    async def read() -> None:
        async with before.play(start="inbox") as run:
            await run.see("17 of 17")
            await run.quit()

    asyncio.run(read())
    short_texts.clock = clock
    return before.folder


@pytest.fixture
def stage(stage: Stage, used_folders: Path) -> Stage:
    """Return the stage of other journeys with the cache and state of that computer."""
    for kept in KEPT_FOLDERS:
        shutil.copytree(used_folders / kept, stage.folder / kept)
    return stage


@pytest.fixture
def new_stage(stage: Stage) -> Stage:
    """Return a stage on which the app was never opened."""
    for kept in KEPT_FOLDERS:
        shutil.rmtree(stage.folder / kept)
    return stage
