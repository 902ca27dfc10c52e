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
"""Allowed keys on a change request of the Harbour API, for users who may read, comment, review and create."""
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

NO_COMMENTING = "Your role in Harbour API does not let you comment. Ask an admin of the space for access."
NO_RESOLVING = "Only the author of this thread or an Editor of the space can resolve it."


def people(*often: str) -> pytest.MarkDecorator:
    """Each of them, those of `often` in every run."""
    found = [pytest.param(person, marks=[] if person in often else [pytest.mark.long]) for person in ALLOWED]
    return pytest.mark.parametrize("person", found)


def dim(run: Run) -> dict[str, str]:
    """The keys that cannot act now, each with the reason."""
    commands = active_commands(run.app.screen)
    return {key: command.reason or "" for command in commands for key in command.keys if not command.enabled}


@people("elin-brandt", "tomas-okafor")
async def test_forbidden_keys_of_a_change_request_are_disabled_with_a_reason(stage: Stage, person: str) -> None:
    async with stage.play(person, start="changes") as run:
        await run.press("/", *"refused", "enter")
        await run.see("▌ ◐ #7")
        for key, right in KEYS.items():
            assert (key in dim(run)) == (key not in ALLOWED[person]), f"{person} and {key}: {dim(run)}"
            if key in dim(run):
                before = run.app.screen
                await run.press(key)
                await run.hear(
                    f"Your role in Harbour API does not let you {right}. Ask an admin of the space for access."
                )
                assert run.app.screen is before
        await run.press("enter")
        await run.see("0 of 2 viewed")
        for key in KEYS:
            assert (key in dim(run)) == (key not in ALLOWED[person]), f"{person} and {key}: {dim(run)}"
        nothing_said(run)
        await run.press("enter", "t")
        await run.until(lambda: on_a_thread(run), "stand on a thread")
        await are_dim_where_one_may_not(run, person)


@people("elin-brandt", "mara-lindqvist")
async def test_user_without_permission_to_resolve_is_told_so(stage: Stage, person: str) -> None:
    async with stage.play(person, start="comments") as run:
        await run.press("/", *"09:06", "enter", "enter")
        await run.see("● Elisa Moretti")
        if person in ("elin-brandt", "sipho-dlamini"):
            assert {"d", "D"} <= dim(run).keys()
            await run.press("d")
            await run.hear("Only the author of this thread or an Editor of the space can resolve it.")
        else:
            assert not {"d", "D"} & dim(run).keys()
        assert ("c" in dim(run)) == (person == "elin-brandt")
        assert ("+" in dim(run)) == (person == "elin-brandt")
        assert "e" in dim(run)
        await run.press("e")
        await run.hear("Only Elisa Moretti can edit this comment.")
        await run.press("X")
        await run.hear("Only Elisa Moretti or an admin can delete this comment.")


@people("elin-brandt", "sipho-dlamini", "mara-lindqvist")
async def test_forbidden_keys_of_a_page_and_its_threads_are_disabled(stage: Stage, person: str) -> None:
    async with stage.play(person) as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "THREADS  2 open")
        may = "c" in ALLOWED[person]
        assert ("c" in dim(run)) == (not may)
        assert ("C" in dim(run)) == (not may)
        await run.press("c")
        if may:
            await run.see("Comment on Quickstart")
            await run.press("escape")
        else:
            await run.hear(NO_COMMENTING)
        nothing_said(run)
        await run.press("t")
        await run.until(lambda: on_a_thread(run), "stand on a thread")
        await are_dim_where_one_may_not(run, person)


def nothing_said(run: Run) -> None:
    """Remove the notices, because the next may be the same."""
    for notice in run.app.notices.shown():
        run.app.notices.close(notice.number)


def on_a_thread(run: Run) -> bool:
    """Return whether the selected block has a thread."""
    screen = run.app.screen
    assert isinstance(screen, (ContentScreen, ChangeRequestScreen))
    return screen.page_discussion.selected_thread is not None


async def are_dim_where_one_may_not(run: Run, person: str) -> None:
    """The keys about the thread under the cursor act for those who may, and say why not to others."""
    comments, resolves = person != "elin-brandt", person in ("tomas-okafor", "mara-lindqvist")
    wanted = {"c": comments, "D": comments and resolves, "+": comments, "d": resolves}
    assert {key: key not in dim(run) for key in wanted} == wanted
    before = run.app.screen
    for key in (key for key in wanted if not wanted[key]):
        await run.press(key)
        await run.hear(NO_RESOLVING if key == "d" or comments else NO_COMMENTING)
        assert run.app.screen is before, f"{key} opened what cannot be sent"
        run.app.notices.close(run.app.notices.shown()[-1].number)
    assert not run.app.session.outbox.entries


async def test_merged_change_request_cannot_be_approved_or_merged(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("]", "]")
        await run.see("▌ ✓ #")
        for key in ("a", "A", "m", "U", "L"):
            assert key in dim(run)
        await run.press("m")
        await run.hear("is merged. You can do this only with draft or open change requests.")


async def test_keys_without_a_selected_change_request_say_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("/", *"nothing like it", "enter")
        await run.see("0 of 7 match")
        await run.press("a")
        await run.hear("Select a change request first.")
        assert {"a", "A", "m", "U", "L", "X", "E", "C"} <= set(dim(run))


async def test_palette_and_help_disable_forbidden_commands_with_a_reason(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="changes") as run:
        await run.see("◐ #2")
        await run.press(":", *"merge")
        await run.see("Your role in Handbook does not let you merge.")
        await run.press("escape", "?", *"approve")
        await run.see("does not let you review")
