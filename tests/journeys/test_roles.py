from __future__ import annotations

import pytest

from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.commands import active_commands
from tests.journeys.stage import Run, Stage

ALLOWED = {
    "elin-brandt": set[str](),
    "sipho-dlamini": {"C", "c"},
    "tomas-okafor": {"C", "c", "U", "L", "E", "ctrl+n", "a", "A", "~"},
    "mara-lindqvist": {"C", "c", "U", "L", "E", "ctrl+n", "a", "A", "~", "m"},
}
"""Keys that are allowed on a change request in Harbour API: for users who may read, comment, review, and merge."""
KEYS = {
    "C": "comment",
    "U": "edit",
    "L": "edit",
    "E": "edit",
    "ctrl+n": "edit",
    "a": "review",
    "A": "review",
    "~": "edit",
    "m": "merge",
}
NEEDED_ROLES = {"comment": "Commenter", "edit": "Editor", "review": "Reviewer", "merge": "Creator"}

NO_COMMENTING = "You need the Commenter role in Harbour API to comment. Ask an admin of the space for access."
NO_RESOLVING = "Only the author of this thread or an Editor of the space can resolve it."


def parametrize_person(*in_every_run: str) -> pytest.MarkDecorator:
    """Parametrize a test with all users. Ordinary runs use only `in_every_run`."""
    found = [pytest.param(person, marks=[] if person in in_every_run else [pytest.mark.long]) for person in ALLOWED]
    return pytest.mark.parametrize("person", found)


def disabled_keys(run: Run) -> dict[str, str]:
    """Return the keys that are disabled now, with the reasons."""
    commands = active_commands(run.app.screen)
    return {key: command.reason or "" for command in commands for key in command.keys if not command.is_enabled}


@pytest.mark.before_release("elin-brandt")
@parametrize_person("elin-brandt", "tomas-okafor")
async def test_forbidden_keys_of_a_change_request_are_disabled_with_a_reason(stage: Stage, person: str) -> None:
    async with stage.play(person, start="changes") as run:
        await run.press("/", *"refused", "enter")
        await run.see("▌ ◐ #7")
        for key, permission in KEYS.items():
            assert (key in disabled_keys(run)) == (key not in ALLOWED[person]), (
                f"{key} for {person}; disabled keys: {disabled_keys(run)}"
            )
            if key in disabled_keys(run):
                before = run.app.screen
                await run.press(key)
                await run.hear(
                    f"You need the {NEEDED_ROLES[permission]} role in Harbour API to {permission}. "
                    "Ask an admin of the space for access."
                )
                assert run.app.screen is before
        await run.press("enter")
        await run.see("0 of 2 viewed")
        for key in KEYS:
            assert (key in disabled_keys(run)) == (key not in ALLOWED[person]), (
                f"{key} for {person}; disabled keys: {disabled_keys(run)}"
            )
        close_notifications(run)
        await run.press("enter", "t")
        await run.until(lambda: is_on_thread(run), "select a thread")
        await check_thread_keys(run, person)


@pytest.mark.before_release("mara-lindqvist")
@parametrize_person("elin-brandt", "mara-lindqvist")
async def test_user_without_permission_to_resolve_is_told_so(stage: Stage, person: str) -> None:
    async with stage.play(person, start="comments") as run:
        await run.press("/", *"09:06", "enter", "enter")
        await run.see("● Elisa Moretti")
        if person in ("elin-brandt", "sipho-dlamini"):
            assert {"d", "D"} <= disabled_keys(run).keys()
            await run.press("d")
            await run.hear("Only the author of this thread or an Editor of the space can resolve it.")
        else:
            assert not {"d", "D"} & disabled_keys(run).keys()
        assert ("c" in disabled_keys(run)) == (person == "elin-brandt")
        assert ("+" in disabled_keys(run)) == (person == "elin-brandt")
        assert "e" in disabled_keys(run)
        await run.press("e")
        await run.hear("Only Elisa Moretti can edit this comment.")
        await run.press("X")
        await run.hear("Only Elisa Moretti or an admin can delete this comment.")


@pytest.mark.before_release
@parametrize_person("elin-brandt", "sipho-dlamini", "mara-lindqvist")
async def test_forbidden_keys_of_a_page_and_its_threads_are_disabled(stage: Stage, person: str) -> None:
    async with stage.play(person) as run:
        may = "c" in ALLOWED[person]
        await run.see("No comments on this")
        assert ("Press c on a block to" in run.text) == may
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "THREADS  2 open")
        assert ("c" in disabled_keys(run)) == (not may)
        assert ("C" in disabled_keys(run)) == (not may)
        await run.press("c")
        if may:
            await run.see("Comment on Quickstart")
            await run.press("escape")
        else:
            await run.hear(NO_COMMENTING)
        close_notifications(run)
        await run.press("t")
        await run.until(lambda: is_on_thread(run), "select a thread")
        await check_thread_keys(run, person)


def close_notifications(run: Run) -> None:
    """Close all notifications, because the next notification may have the same text."""
    for notice in run.app.notices.shown():
        run.app.notices.close(notice.number)


def is_on_thread(run: Run) -> bool:
    """Return whether the selected block has a thread."""
    screen = run.app.screen
    assert isinstance(screen, (ContentScreen, ChangeRequestScreen))
    return screen.page_discussion.selected_thread is not None


async def check_thread_keys(run: Run, person: str) -> None:
    """Check that the keys for the selected thread work for users with permission, and give the reason to other
    users."""
    can_comment, can_resolve = person != "elin-brandt", person in ("tomas-okafor", "mara-lindqvist")
    expected = {"c": can_comment, "D": can_comment and can_resolve, "+": can_comment, "d": can_resolve}
    assert {key: key not in disabled_keys(run) for key in expected} == expected
    before = run.app.screen
    for key in (key for key in expected if not expected[key]):
        await run.press(key)
        await run.hear(NO_RESOLVING if key == "d" or can_comment else NO_COMMENTING)
        assert run.app.screen is before, f"{key} must not open a dialog, because the user cannot send from it"
        run.app.notices.close(run.app.notices.shown()[-1].number)
    assert not run.app.session.outbox.entries


@pytest.mark.before_release
async def test_merged_change_request_cannot_be_approved_or_merged(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("]", "]")
        await run.see("▌ ✓ #")
        for key in ("a", "A", "m", "U", "L"):
            assert key in disabled_keys(run)
        await run.press("m")
        await run.hear("is merged. You can do this only with open or draft change requests.")


@pytest.mark.before_release
async def test_keys_without_a_selected_change_request_say_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("/", *"nothing like it", "enter")
        await run.see("0 of 7 match")
        await run.press("a")
        await run.hear("Select a change request first.")
        assert {"a", "A", "m", "U", "L", "X", "E", "C"} <= set(disabled_keys(run))


@pytest.mark.before_release
async def test_palette_and_help_disable_forbidden_commands_with_a_reason(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="changes") as run:
        await run.see("◐ #2")
        await run.press(":", *"merge")
        await run.see("You need the Creator role in Handbook to merge.")
        await run.press("escape", "?", *"approve")
        await run.see("You need the Reviewer role")
