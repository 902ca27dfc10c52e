"""What a person is told when nothing can be written to the disk."""

from __future__ import annotations

from octavo.api import comments
from tests.data.sends import refuse_to_save
from tests.journeys.stage import Stage


async def test_what_cannot_be_taken_back_is_said_and_can_be_later(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 76")
        await run.press("d")
        await run.see("Open 75")
        allow = refuse_to_save(run.app.session.state)
        await run.press("u")
        await run.hear("Couldn't take back what you wrote last: Nothing is being saved: ")
        allow()
        await run.press("u")
        await run.hear("Taken back: resolve the thread.")
        await run.see("Open 76")


async def test_what_cannot_be_sent_again_or_discarded_is_said(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        run.platform.refuse_next(comments.Update, 403, "Not now.")
        await run.press("d")
        await run.later(seconds=6)
        await run.press("!")
        await run.see("WRITES", "failed", "resolve the thread")
        allow = refuse_to_save(run.app.session.state)
        await run.press("r")
        await run.hear("Couldn't send “resolve the thread” again: Nothing is being saved: ")
        await run.press("X")
        await run.hear("Couldn't discard “resolve the thread”: Nothing is being saved: ")
        await run.see("WRITES", "failed")
        allow()
        await run.press("X")
        await run.gone("WRITES")
