"""The picture of the first screen, which the next start shows."""

from __future__ import annotations

import asyncio

from octavo.first_picture import FirstPicture
from octavo.tui.app.routes import PictureRecorder
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.terminal.textual_internals import painted_rows
from tests.journeys.conftest import library, stage
from tests.journeys.stage import Stage

__all__ = ["library", "stage"]


async def test_picture_is_taken_only_after_the_first_layout(stage: Stage) -> None:
    async with stage.play() as run:
        picture = FirstPicture(stage.folder, "demo", "dark")
        recorder = PictureRecorder(run.app, picture)
        run.app.switch_mode("inbox")
        assert isinstance(run.app.screen, InboxScreen)
        while not painted_rows(run.app.screen):
            assert not recorder._take_picture()
            recorder.end()
            await asyncio.sleep(0)
        await run.see("REVIEW REQUESTED")
        assert recorder._take_picture()
