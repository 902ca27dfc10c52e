from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from textual.strip import Strip

from octavo.api import change_requests, comments, content, reviews, spaces
from octavo.tui.terminal.textual_internals import painted_rows
from tests.journeys.app_terminal import bytes_of_keys, output_of, terminal
from tests.journeys.hostile_library import HOSTILE, ROUTES, SHOWN, make_hostile
from tests.journeys.stage import Run, Stage
from tests.server.refusing_platform import Platform
from tests.tui.widgets.scratch import harmless


@pytest.fixture(scope="module")
def hostile_library(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library in which every text is hostile. Each test copies the file."""
    path = tmp_path_factory.mktemp("poisoned") / "library.db"
    shutil.copyfile(library, path)
    make_hostile(path)
    return path


@pytest.fixture
def stage(stage: Stage, hostile_library: Path) -> Stage:
    shutil.copyfile(hostile_library, stage.database)
    return stage


POINTER = re.compile(rb"\x1b\]22;[a-z-]+\x07")
"""The only command with text that Textual sends to a terminal: the shape of the mouse pointer."""
VISITED = {
    "content": {
        *("ContentScreen", "Composer", "ThreadDialog", "ReactionPicker", "ActivityScreen"),
        *("SearchScreen", "PaletteScreen", "HelpScreen"),
    },
    "changes": {
        "RequestListScreen",
        "ChangeRequestScreen",
        "Composer",
        "ThreadDialog",
        "ConfirmDialog",
        "CheckedDialog",
    },
    "comments": {"CommentsScreen", "Picker", "Composer"},
    "inbox": {"InboxScreen", "Picker", "OrganizationMenu", "Composer"},
}


def strips(run: Run) -> list[Strip]:
    return painted_rows(run.app.screen)


def check(run: Run, after: str) -> None:
    """Fail if the screen has a control character or a link that runs an action, or if the app has quit."""
    assert run.app.return_value is None, f"the app quit after {after}"
    shown = strips(run)
    assert harmless(strip.text for strip in shown), f"a control character is on the screen after {after}"
    for strip in shown:
        for segment in strip:
            assert segment.style is None or "@click" not in segment.style.meta, (
                f"{segment} runs an action after {after}"
            )


@pytest.mark.long
@pytest.mark.parametrize("start", ROUTES)
async def test_hostile_text_of_the_server_is_shown_as_text_everywhere(stage: Stage, start: str) -> None:
    visited: set[str] = set()
    async with stage.play(start=start) as run:
        check(run, "the start")
        await run.see(SHOWN)
        for key in ROUTES[start]:
            if key.startswith("type:"):
                await run.type(key.removeprefix("type:"))
            elif key == "wait":
                await run.pilot.pause(0.2)
                await run.settle()
            else:
                await run.press(key)
            visited.add(type(run.app.screen).__name__)
            check(run, key)
    assert visited >= VISITED[start]


async def test_hostile_error_of_a_failed_load_is_shown_as_text(stage: Stage) -> None:
    def refuse(platform: Platform) -> None:
        for kind in (content.GetPage, comments.List, change_requests.ListOfOrganization, reviews.Submit, spaces.Get):
            platform.refuse_next(kind, 403, HOSTILE, times=50)
        for write in (comments.Create, comments.CreateReply, comments.Update, change_requests.Merge):
            platform.refuse_next(write, 403, HOSTILE, times=50)

    async with stage.play(change=refuse) as run:
        await run.see(SHOWN)
        check(run, "the start")
        for key in ("j", "j", "enter", "3", "4", "!", "j", "j", "j"):
            await run.press(key)
            check(run, key)
        await run.see(SHOWN)


@pytest.mark.before_release
async def test_hostile_error_of_a_refused_write_is_shown_as_text(stage: Stage) -> None:
    def refuse(platform: Platform) -> None:
        for write in (comments.Create, comments.Update, reviews.Submit, change_requests.Merge):
            platform.refuse_next(write, 403, HOSTILE, times=50)

    async with stage.play(start="comments", change=refuse) as run:
        await run.press("d")
        await run.later(seconds=6)
        await run.hear(f"Could not resolve the thread: {SHOWN}")
        check(run, "d")
        await run.press("!", "j", "k")
        await run.see("FAILED", SHOWN)
        check(run, "!")
        await run.press("escape", "3", "enter", "A")
        await run.type(HOSTILE)
        await run.press("ctrl+s")
        await run.hear("Could not request changes on #", SHOWN)
        check(run, "A")
        await run.press("m")
        await run.see("checked")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Could not merge #", SHOWN)
        check(run, "m")


@pytest.mark.parametrize(
    "view",
    [
        pytest.param("2", id="content"),
        pytest.param("3", id="changes", marks=pytest.mark.long),
        pytest.param("4", id="comments", marks=pytest.mark.long),
        pytest.param("1", id="inbox", marks=pytest.mark.long),
    ],
)
def test_escape_sequences_of_the_server_never_reach_the_terminal(stage: Stage, view: str) -> None:
    start = {"2": "content", "3": "changes", "4": "comments", "1": "inbox"}[view]
    with terminal(stage) as running:
        running.wait_for(SHOWN)
        for key in [view.encode(), *bytes_of_keys(ROUTES[start])]:
            running.write(key)
            running.settle(0.05, wait=0.3 if key == b"\x1b" else 0.1)
            assert running.running, f"{key!r} ended the app\n{running.screen}"
        assert SHOWN in running.screen
        running.quit(b"\x11")
    sent = POINTER.sub(b"", output_of(running))
    assert b"\x07" not in sent
    assert not re.search(rb"\x1b[\]PX^_]", sent), "the output contains an escape sequence with text"
