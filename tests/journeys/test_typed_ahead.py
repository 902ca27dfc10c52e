"""Keys that arrive together, as over a slow connection, run in order."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Key, Paste
from textual.widgets import Input, TextArea

from octavo.api import change_requests, teams
from octavo.tui.resources.form import FormDialog
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.confirm import ConfirmDialog
from tests.journeys.app_terminal import terminal
from tests.journeys.stage import MAX_WAIT_SECONDS, Run, Stage
from tests.journeys.test_access import open_item
from tests.journeys.test_editors import saved_drafts
from tests.journeys.test_resources import open_table


async def send_keys(run: Run, *keys: str, turns: int = 0) -> None:
    """Send keys this many turns of the event loop apart, without waiting for their effects."""
    for key in keys:
        run.app.post_message(Key(key, key if len(key) == 1 else None))
        for _ in range(turns):
            await asyncio.sleep(0)
    await run.settle()


def field_texts(run: Run) -> list[str]:
    """Return the texts of the visible input fields."""
    found = run.app.screen.query("Input, TextArea")
    return [
        each.value if isinstance(each, Input) else each.text for each in found if isinstance(each, Input | TextArea)
    ]


@pytest.mark.parametrize("turns", [0, pytest.param(3, marks=pytest.mark.long)])
async def test_letters_typed_after_the_key_of_a_dialog_are_entered(stage: Stage, turns: int) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        for first_key in ("C", "s", "colon"):
            await send_keys(run, first_key, *"squid", turns=turns)
            assert field_texts(run) == ["squid"], run.text
            await run.press("escape", "escape")


async def test_text_pasted_after_the_key_of_a_dialog_is_entered(stage: Stage) -> None:
    async with stage.play() as run:
        run.app.post_message(Key("s", "s"))
        run.app.post_message(Paste("tide"))
        await run.settle()
        assert field_texts(run) == ["tide"]


@pytest.mark.before_release("s")
@pytest.mark.parametrize("first_key", ["s", "colon"])
async def test_letters_typed_before_the_organization_loads_are_searched(stage: Stage, first_key: str) -> None:
    async with stage.play(shut=True) as run:
        await send_keys(run, first_key, *"battery")
        await run.until(lambda: field_texts(run) == ["battery"], "type all letters into the field")
        run.gate.open()
        if first_key == "s":
            await run.see("Safety › Battery")
            assert field_texts(run) == ["battery"]


@pytest.mark.before_release("e-2", "t-4")
@pytest.mark.parametrize(
    ("key", "turns"),
    [
        pytest.param(key, turns, marks=() if (key, turns) in (("n", 0), ("e", 2), ("t", 4)) else pytest.mark.long)
        for key in ("n", "e", "t")
        for turns in (0, 2, 4)
    ],
)
async def test_key_for_a_screen_that_is_being_built_runs_afterwards(stage: Stage, key: str, turns: int) -> None:
    async with stage.play(start="changes") as run:
        await send_keys(run, "enter", key, turns=turns)
        assert isinstance(run.app.screen_stack[1], ChangeRequestScreen)
        assert run.app._exception is None


async def test_quick_keys_run_in_order(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await send_keys(run, "enter", "escape", "j", "enter")
        assert isinstance(run.app.screen, ChangeRequestScreen)
        await send_keys(run, "escape", "question_mark", "escape", "1", "2", "s", "a", "escape")
        assert type(run.app.screen).__name__ == "ContentScreen"


@pytest.mark.before_release
async def test_letters_typed_while_choices_load_filter_the_choices(stage: Stage) -> None:
    async with stage.play("noor-haddad", start="admin") as run:
        await open_item(run, "collections", "Products")
        await open_table(run, "teams")
        for turns in (0, 5):
            run.gate.shut(teams.List)
            await send_keys(run, "ctrl+n", "enter", *"creator", "enter", "tab", "enter", *"Harbour s", turns=turns)
            await run.until(lambda: field_texts(run) == ["Harbour s"], "type all letters into the field in their order")
            run.gate.open()
            await run.see("Harbour software")
            await send_keys(run, "enter", "escape", "tab", turns=turns)
            await run.see("+ Role                  Creator ▾", "+ Teams                 Harbour software ▾")
            dialog = run.app.screen
            assert isinstance(dialog, FormDialog)
            assert dialog.state.texts == {"role": "create", "teams": "software", "users": ""}
            await run.press("ctrl+b", "shift+tab", "ctrl+b", "shift+tab", "ctrl+b", "escape")


@pytest.mark.parametrize(
    "first_key", ["s", pytest.param("C", marks=pytest.mark.long), pytest.param("1", marks=pytest.mark.long)]
)
async def test_key_right_after_quit_causes_no_crash(stage: Stage, first_key: str) -> None:
    async with stage.play() as run:
        for key in ("q", "q", first_key):
            run.app.post_message(Key(key, key))
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while run.app.return_value is None:
                await run.pilot.pause(0.004)
    assert run.app.return_code == 0


WORDS = "approve this, it can be merged: done x X q"


async def type_without_pause(run: Run, words: str) -> None:
    """Type letter by letter without a pause."""
    names = {" ": "space", ",": "comma", ":": "colon"}
    for each in words:
        run.app.post_message(Key(names.get(each, each), each))
    await run.settle()


@pytest.mark.before_release("changes-C", "changes-ctrl+n", "comments-c")
@pytest.mark.parametrize(
    ("start", "key"), [("changes", "C"), ("changes", "ctrl+n"), ("comments", "c"), ("content", "c")]
)
async def test_text_typed_after_a_key_without_effect_is_ignored(stage: Stage, start: str, key: str) -> None:
    async with stage.play(start=start, read_only="Started with --read-only.") as run:
        run.app.post_message(Key(key, key if len(key) == 1 else None))
        await type_without_pause(run, WORDS)
        assert len(run.app.screen_stack) == 1, run.text
        assert run.app.current_mode == start
        assert not run.app.is_ending
        await run.press("question_mark")
        await run.see("Help")


async def test_at_sign_comes_after_the_letters_typed_before_it(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "C", "m")
        for key, character in (("e", "e"), ("at", "@")):
            run.app.post_message(Key(key, character))
        await run.until(lambda: field_texts(run) == ["me@"], "enter the letters in order")


@pytest.mark.parametrize("filter_key", ["slash", "f9"])
async def test_letters_typed_right_after_the_key_of_a_filter_are_its_text(stage: Stage, filter_key: str) -> None:
    async with stage.play(start="inbox") as run:
        run.app.set_keymap({"list.filter": filter_key})
        for key in (filter_key, *"xylo"):
            run.send_key(key)
        await run.see("/ xylo")
        assert not run.said


async def test_text_typed_into_a_closed_field_is_ignored(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("j", "C")
        await run.see("Comment on")
        composer = run.app.screen
        run.app.post_message(Key("s", "s"))
        while field_texts(run) != ["s"]:  # The key waits until the dialog is ready.
            await run.pilot.pause()
        composer.dismiss(None)
        await send_keys(run, *"approve")
        assert len(run.app.screen_stack) == 1, run.text
        await run.press("a")
        await run.see("Approve")


def test_text_typed_right_before_quit_is_saved_as_a_draft(stage: Stage) -> None:
    with terminal(stage) as running:
        running.wait_for("Harbour API › Welcome", "how deep is the water now")
        running.write(b"Csquid\x11")
        running.end()
    assert saved_drafts(stage) == ["squid"]


@pytest.mark.parametrize("is_slow", [False, True])
async def test_answer_before_a_dialog_is_shown_confirms_nothing(stage: Stage, is_slow: bool) -> None:
    async with stage.play(start="changes") as run:
        if is_slow:
            run.gate.shut()
        await send_keys(run, "L", "y")
        run.gate.open()
        await run.see("You answered before this dialog was shown. Read it, then press y.")
        assert isinstance(run.app.screen, ConfirmDialog)
        assert not run.gate.sent(change_requests.Update)
        await run.press("y")
        await run.until(lambda: len(run.gate.sent(change_requests.Update)) == 1, "archive the change request")
        assert "You answered before" not in run.text
