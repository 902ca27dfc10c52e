"""What others do while one looks comes by itself, moves nothing, and is said in one line."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from tests.journeys.stage import Run, Stage
from tests.server.asking import Ask

YUKI = "yuki-tanabe"


class Another(Ask):
    """Somebody else, with a client of their own."""

    def __init__(self, run: Run, person: str = YUKI) -> None:
        super().__init__(run.platform)
        self._person = person
        run.platform.world.store.add_key(f"key-{person}", person)

    async def does(self, op: Operation[Any]) -> Any:
        """Do it on the platform, behind the back of the app."""
        return await self(op, self._person)


async def look(run: Run, **by: float) -> None:
    """Let so much time pass, half a minute without any, and the app look whether anything is new."""
    run.app.keeping_fresh.look_if_due()
    run.clock.forward(**(by or {"seconds": 31}))
    run.app.keeping_fresh.look_if_due()
    await run.settle()


def rows(run: Run) -> Any:
    return run.app.screen.rows  # type: ignore[attr-defined]  # it is a list


async def test_the_replies_of_a_thread_come_before_all_the_lists_that_load(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
    async with stage.play(start="comments", shut=True) as run:
        await run.see("Open 72")
        waiting = run.gate.waiting
        assert waiting > 12, f"{waiting}"
        await run.press("j", "j", "j")
        opened = rows(run).item.comment.id
        run.gate.open()
        await run.settle()
        routes = [each.route for each in reversed(list(run.app.session.activity()))]
        lists = [each for each in routes if each.endswith("/comments")]
        assert len(lists) > 12
        assert [each.comment_id for each in run.gate.sent(comments.ListReplies)] == [opened], (opened, rows(run).item.comment.id)
        first = next(at for at, each in enumerate(routes) if each.endswith("/replies"))
        before = sum(each.endswith("/comments") for each in routes[:first])
        assert before <= 8, f"{before} lists went before the replies one waits for: {routes}"


async def test_what_another_person_says_comes_by_itself_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press(*"jjjjjjjjjjjjjjj")
        under, scrolled = rows(run).item.comment.id, rows(run).item.key
        space = next(each for each in run.app.workspace.spaces.value.items if each.comments)  # type: ignore[union-attr]  # it is known
        another = Another(run)
        await another.does(comments.Create(at=space.ref, body=Markdown(markdown="Is the tide table of this year?")))
        at = rows(run).item.at
        await another.does(
            comments.CreateReply(at=at, comment_id=under, body=Markdown(markdown="I looked: it is not."))
        )
        lines = run.lines
        asked = len(run.gate.passed)
        await look(run)
        await run.see("Open 73", "1 new thread · 1 new reply", "I looked: it is not.")
        assert rows(run).item.comment.id == under
        assert rows(run).item.key == scrolled
        assert len(run.gate.passed) - asked < 25
        assert lines
        await run.press("j")
        await run.see("1 new thread")
        run.clock.forward(seconds=11)
        await run.press("k")
        await run.gone("1 new thread")


async def test_nothing_new_asks_little_and_shows_nothing_else(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await look(run)
        before, asked = run.lines, len(run.gate.passed)
        await look(run)
        assert run.lines == before
        assert 0 < len(run.gate.passed) - asked <= 16, [type(op) for op in run.gate.passed[asked:]]
