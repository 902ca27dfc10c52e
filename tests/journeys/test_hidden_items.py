"""Keys do not change items that are hidden."""

from __future__ import annotations

import pytest

from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import Stage

NARROW = (60, 24)


@pytest.mark.before_release
@pytest.mark.parametrize("key", ["e", "X", "a", "y", "o"])
async def test_keys_ignore_rows_of_a_hidden_table(stage: Stage, key: str) -> None:
    async with stage.play(start="admin", size=NARROW) as run:
        await run.see("Deepa Uchida", "e edit")
        view, before = run.app.screen, run.app.clipboard
        await run.press("escape")
        assert "Deepa" not in run.text
        await run.press(key)
        assert run.app.screen is view, run.text
        assert run.app.clipboard == before
        await run.hear("The list of members is hidden. Press enter to show it.")
        await run.press("enter")
        await run.see("Deepa Uchida")


@pytest.mark.before_release("c", "plus")
@pytest.mark.parametrize("key", ["c", "d", "plus"])
async def test_keys_ignore_blocks_of_a_hidden_diff(stage: Stage, key: str) -> None:
    async with stage.play(start="changes", size=NARROW) as run:
        await run.press("j", "enter")
        await run.until(lambda: isinstance(run.app.screen, ChangeRequestScreen))
        view, before = run.app.screen, run.app.clipboard
        view.query_one("#left Tree, #left RowList").focus()
        await run.settle()
        assert view.has_class("-on-left"), run.text
        await run.press(key)
        assert run.app.screen is view, run.text
        assert run.app.clipboard == before, run.app.clipboard
        assert run.app.session.outbox.entries == ()
