"""What a person is told when nothing can be written to the disk."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from octavo.api import comments
from octavo.data.drafts import Drafts
from octavo.data.state import State
from tests.data.sends import refuse_to_save
from tests.journeys.stage import Stage


async def test_what_cannot_be_taken_back_is_said_and_can_be_later(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("d")
        await run.see("Open 71")
        allow = refuse_to_save(run.app.session.state)
        await run.press("u")
        await run.hear("Couldn't take back what you wrote last: Nothing is being saved: ")
        allow()
        await run.press("u")
        await run.hear("Taken back: resolve the thread · ")
        await run.see("Open 72")


async def test_what_cannot_be_sent_again_or_discarded_is_said(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        run.platform.refuse_next(comments.Update, 403, "Not now.")
        await run.press("d")
        await run.later(seconds=6)
        await run.press("!")
        await run.see("COULD NOT BE DONE", "failed", "resolve the thread")
        allow = refuse_to_save(run.app.session.state)
        await run.press("r")
        await run.hear("Couldn't send “resolve the thread” again: Nothing is being saved: ")
        await run.press("X")
        await run.see("Discard this write?", "resolve the thread")
        await run.press("y")
        await run.hear("Couldn't discard “resolve the thread”: Nothing is being saved: ")
        await run.see("COULD NOT BE DONE", "failed")
        allow()
        await run.press("X", "y")
        await run.gone("COULD NOT BE DONE")


async def test_who_writes_is_not_stopped_by_who_holds_the_file(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "THREADS  2 open")
        state = run.app.session.state
        state.write_now(lambda db: None)
        with closing(sqlite3.connect(stage.folder / "state" / "state.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            before = set(run.app.before_end)
            await run.press("c")
            await run.pilot.press(*"Hello")
            await run.pilot.press("escape")
            assert "Hello" not in run.text, "it is closed, and what was written is on its way"
            ends = run.app.before_end - before
            assert ends
            other.execute("ROLLBACK")
        for keep in ends:
            keep()
        again = State(stage.folder / "state", state.namespace)
        assert [draft.text for draft in Drafts(again).all()] == ["Hello"]
        again.close()
        await run.settle()
        assert run.app.before_end == before
        await run.press("c")
        await run.see("Hello", "draft")
        await run.press("ctrl+s")
        await run.sent()
        assert run.app.session.drafts.all() == ()
