"""Keys that the user presses while a command loads what its dialog shows."""

from __future__ import annotations

from typing import cast

import pytest

from octavo.api import change_requests
from octavo.tui.widgets.chooser import Picker
from tests.journeys.stage import Run, Stage
from tests.journeys.test_edit_targets import open_page

IGNORED = "Ignored the keys that you pressed during loading."


async def press_edit(run: Run, *next_keys: str) -> str:
    """Open a page, and press e and `next_keys` while the change requests load. Return the text of the screen before."""
    await open_page(run)
    text = run.text
    run.gate.shut(change_requests.List)
    for key in ("e", *next_keys):
        run.send_key(key)
    await run.hear("Loading your change requests…")
    return text


@pytest.mark.parametrize(("next_keys", "later_keys"), [(("down",), ()), ((), ("down",))])
async def test_keys_pressed_while_a_dialog_loads_reach_the_dialog(
    stage: Stage, next_keys: tuple[str, ...], later_keys: tuple[str, ...]
) -> None:
    async with stage.play() as run:
        await press_edit(run, *next_keys)
        for key in later_keys:
            run.send_key(key)
        run.gate.open()
        await run.see("Choose a change request")
        await run.until(lambda: cast("Picker[object]", run.app.screen).rows.cursor == 1, "move down in the dialog")


async def test_escape_while_a_dialog_loads_cancels_the_command(stage: Stage) -> None:
    async with stage.play() as run:
        text = await press_edit(run)
        for key in ("down", "question_mark", "escape"):
            run.send_key(key)
        await run.until(lambda: run.said == [IGNORED], "cancel the loading")
        assert run.lines[2:20] == text.split("\n")[2:20], "the dropped keys must not act on the view below"
        run.gate.open()
        await run.settle()
        assert len(run.app.screen_stack) == 1
        await run.press("question_mark")
        await run.see("Help")


async def test_keys_for_a_dialog_that_could_not_load_are_dropped(stage: Stage) -> None:
    async with stage.play() as run:
        text = await press_edit(run)
        run.platform.refuse_next(change_requests.List, 500, "Down.", times=9)
        for key in ("down", "3"):
            run.send_key(key)
        run.gate.open()
        await run.hear("Could not load your change requests", IGNORED)
        assert run.app.current_mode == "content"
        assert run.lines[2:20] == text.split("\n")[2:20]


async def test_quit_works_while_a_dialog_loads(stage: Stage) -> None:
    async with stage.play() as run:
        await press_edit(run)
        await run.quit()


async def test_command_whose_screen_was_left_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await press_edit(run)
        run.app.show_view("changes")
        run.gate.open()
        await run.hear("You opened another view or dialog, so the last command was canceled.")
        assert len(run.app.screen_stack) == 1
