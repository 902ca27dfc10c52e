"""Custom commands run programs on the item under the cursor, without a shell, and show the output as the settings say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from octavo.api import change_requests, comments
from octavo.api.operation import ChangeRequestRef
from octavo.settings.programs import CommandResult, CustomCommand, ItemKind
from octavo.tui.app import user_programs
from octavo.tui.comments.composer import Composer
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.widgets.confirm import ConfirmDialog
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.used_computer import new_stage, stage, used_folders

__all__ = ["new_stage", "stage", "used_folders"]
HOSTILE = "$(touch x) `touch y`; touch z"


def script(tmp_path: Path, text: str) -> str:
    """Return the path of an executable shell script."""
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return str(file)


def make(
    *command: str,
    item_kinds: tuple[ItemKind, ...] = ("change",),
    result: CommandResult = "none",
    key: str = "f9",
    needs_confirmation: bool = False,
    writes: bool = False,
) -> CustomCommand:
    return CustomCommand("Make a ticket", item_kinds, command, key, result, needs_confirmation, writes)


@pytest.fixture
def recorder(tmp_path: Path) -> tuple[str, ...]:
    """Return a command that writes its arguments, its input and the variables of Octavo to the file `run.json`."""
    code = (
        "import json, os, sys, pathlib\n"
        "own = {name: value for name, value in os.environ.items() if name.startswith('OCTAVO_')}\n"
        f"pathlib.Path({str(tmp_path / 'run.json')!r}).write_text(json.dumps([sys.argv[1:], json.load(sys.stdin), own]))\n"
    )
    file = tmp_path / "recorder.py"
    file.write_text(code)
    return (sys.executable, str(file))


async def recorded(run: Run, tmp_path: Path) -> tuple[list[str], dict[str, str], dict[str, str]]:
    file = tmp_path / "run.json"
    await run.until(file.exists, "run the program")
    await run.settle()
    arguments, facts, variables = json.loads(file.read_text())
    return arguments, facts, variables


@pytest.mark.before_release
async def test_program_gets_the_change_request_under_the_cursor(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "key-of-mara-0123456789")
    async with stage.play(start="changes", commands=(make(*recorder, "{ref}", "--kind={kind}"),)) as run:
        await run.press("f9")
        arguments, facts, variables = await recorded(run, tmp_path)
        assert arguments == [facts["ref"], "--kind=change"]
        assert facts["ref"] == f"{facts['space']}/{facts['ref'].rpartition('/')[2]}"
        assert facts["title"] in run.text
        assert variables["OCTAVO_REF"] == facts["ref"]
        assert variables["OCTAVO_KIND"] == "change"
        assert variables.keys() == {f"OCTAVO_{name}" for name in ("REF", "URL", "KIND", "SPACE", "PAGE_PATH", "BLOCK")}


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("start", "kind"), [("content", "page"), ("content", "space"), ("comments", "thread"), ("inbox", "inbox")]
)
async def test_program_gets_the_kind_of_item_that_its_command_is_for(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path, start: str, kind: ItemKind
) -> None:
    async with stage.play(start=start, commands=(make(*recorder, item_kinds=(kind,)),)) as run:
        if kind == "page":
            await run.press("enter", "enter")
        await run.press("f9")
        _, facts, variables = await recorded(run, tmp_path)
        assert facts["ref"]
        assert facts["title"]
        if kind == "page":
            assert facts["ref"].startswith(f"{facts['space']}:")
            assert variables["OCTAVO_PAGE_PATH"] == facts["path"]
        elif kind == "thread":
            assert "@" in facts["ref"] or "-" in facts["ref"]
        else:
            assert facts["kind"] in ("space", "change", "thread", "row")


async def test_program_gets_the_block_under_the_cursor(stage: Stage, recorder: tuple[str, ...], tmp_path: Path) -> None:
    async with stage.play(commands=(make(*recorder, "{block}", item_kinds=("block", "space")),)) as run:
        await run.press("enter", "enter", "j", "f9")
        arguments, facts, variables = await recorded(run, tmp_path)
        assert facts["kind"] == "block"
        assert facts["ref"].endswith(f"@{facts['block']}")
        assert arguments == [facts["block"]]
        assert variables["OCTAVO_BLOCK"] == facts["block"] != ""
        assert facts["text"].split()[0] in run.text


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("kind", "keys", "ref"),
    [
        ("page", (), "harbour-api/7:concepts/time"),
        ("page", ("j", "j"), "harbour-api/7:help/troubleshooting"),
        ("block", ("enter", "n"), "harbour-api/7:concepts/time@"),
        ("thread", ("enter", "t"), "harbour-api/7@t6"),
        ("change", ("enter",), "harbour-api/7"),
        ("space", ("enter",), "harbour-api"),
    ],
)
async def test_program_gets_each_kind_of_item_inside_a_change_request(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path, kind: ItemKind, keys: tuple[str, ...], ref: str
) -> None:
    command = make(*recorder, "{ref}", "{path}", item_kinds=(kind,))
    async with stage.play(start="changes", commands=(command,)) as run:
        await run.press("/", *"refused", "enter")
        await run.see("1 of ")
        await run.press("enter")
        await run.see("page 1 of 2")
        await run.press(*keys, "f9")
        arguments, facts, variables = await recorded(run, tmp_path)
        assert facts["kind"] == kind
        assert facts["ref"].startswith(ref)
        assert (facts["ref"] == ref) != (kind == "block"), "only the key of a block is not known here"
        assert arguments == [facts["ref"], facts["path"]]
        assert variables["OCTAVO_BLOCK"] == facts["block"]
        if kind == "block":
            assert facts["text"].strip()
            assert facts["ref"] == ref + facts["block"]


@pytest.mark.before_release
@pytest.mark.parametrize("kind", ["page", "block"])
async def test_comment_of_a_program_is_on_its_item_inside_a_change_request(
    stage: Stage, tmp_path: Path, kind: ItemKind
) -> None:
    program = script(tmp_path, "echo 'Too long.'")
    async with stage.play(
        start="changes", commands=(make(program, item_kinds=(kind,), result="pending-comment"),)
    ) as run:
        await run.press("/", *"refused", "enter")
        await run.see("1 of ")
        await run.press("enter")
        await run.see("page 1 of 2")
        await run.press("enter", "n", "f9")
        await run.until(lambda: isinstance(run.app.screen, Composer), "open the editor")
        await run.see("Too long.")
        await run.press("ctrl+s")
        await run.see("2 open threads", "Too long.")
        is_on_block = run.text.index("Too long.") > run.text.index("All times in requests")
        assert is_on_block == (kind == "block")


@pytest.mark.before_release("-rf")
@pytest.mark.parametrize("title", [HOSTILE, "-rf"])
async def test_hostile_title_is_passed_as_plain_text(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "house"))
    (tmp_path / "house").mkdir()
    command = make(*recorder, "{ref}", "{space}", "{path}", "--url={url}")
    async with stage.play(start="changes", commands=(command,)) as run:
        item = run.app.screen.query_one("#change-requests").item  # type: ignore[attr-defined]  # of the list
        at = ChangeRequestRef(space_id=item.space, change_request_id=item.id)
        await run.ask(change_requests.Update(at=at, subject=title), MARA)
        await run.press("r")
        await run.see(title)
        await run.press("f9")
        arguments, facts, _ = await recorded(run, tmp_path)
        assert facts["title"] == title
        assert not any(each.startswith("-") and not each.startswith("--url=") for each in arguments)
        assert list((tmp_path / "house").iterdir()) == []


@pytest.mark.before_release
async def test_notification_shows_the_first_line_of_the_output(stage: Stage, tmp_path: Path) -> None:
    program = script(tmp_path, "printf '\\n\\033[31mTicket 7 created\\033[0m\\nMore\\n'")
    async with stage.play(start="changes", commands=(make(program, result="notification"),)) as run:
        await run.press("f9")
        await run.hear("Running Make a ticket…", "Ticket 7 created")
        assert "\x1b" not in "".join(run.said)
        assert not any("More" in each for each in run.said)


@pytest.mark.before_release
async def test_pager_shows_the_complete_output(stage: Stage, tmp_path: Path) -> None:
    program = script(tmp_path, "echo first; echo '```'; echo last")
    async with stage.play(start="changes", commands=(make(program, result="pager"),)) as run:
        await run.press("f9")
        await run.until(lambda: isinstance(run.app.screen, TextDialog), "open the dialog")
        await run.see("Make a ticket", "first", "```", "last")


async def test_pending_comment_opens_the_editor_and_sends_nothing(stage: Stage, tmp_path: Path) -> None:
    program = script(tmp_path, "echo 'Too long.'")
    async with stage.play(start="changes", commands=(make(program, result="pending-comment"),)) as run:
        await run.press("f9")
        await run.until(lambda: isinstance(run.app.screen, Composer), "open the editor")
        await run.see("Comment on #", "Too long.")
        assert run.gate.sent(comments.Create) == []
        await run.press("escape")
        await run.settle()
        assert run.gate.sent(comments.Create) == []


async def test_confirmed_command_runs_after_the_confirmation_only(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage.play(start="changes", commands=(make(*recorder, needs_confirmation=True),)) as run:
        await run.press("f9")
        await run.see("Run Make a ticket?")
        await run.press("escape")
        await run.settle()
        assert not (tmp_path / "run.json").exists()
        await run.press("f9")
        dialog = run.app.screen
        assert isinstance(dialog, ConfirmDialog)
        await run.press("y")
        await recorded(run, tmp_path)


async def test_command_that_writes_is_refused_in_read_only_mode(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path
) -> None:
    reason = "Octavo is read-only."
    async with stage.play(start="changes", read_only=reason, commands=(make(*recorder, writes=True),)) as run:
        await run.press("f9")
        await run.hear(reason)
        assert not (tmp_path / "run.json").exists()


@pytest.mark.before_release
async def test_nothing_under_the_cursor_gives_the_reason(stage: Stage, recorder: tuple[str, ...]) -> None:
    async with stage.play(start="changes", commands=(make(*recorder, item_kinds=("page", "block")),)) as run:
        await run.press("f9")
        await run.hear("Select a block or page first.")


async def test_failure_names_exit_code_and_first_error_line(stage: Stage, tmp_path: Path) -> None:
    program = script(tmp_path, "printf 'no \\033[1mproject\\nmore\\n' >&2; exit 3")
    async with stage.play(start="changes", commands=(make(program),)) as run:
        await run.press("f9")
        await run.hear("Could not run Make a ticket: exit code 3, “no ")
        assert not any("more" in each or "\x1b" in each for each in run.said)


@pytest.mark.before_release
async def test_missing_program_is_reported(stage: Stage) -> None:
    async with stage.play(start="changes", commands=(make("no-such-program"),)) as run:
        await run.press("f9")
        await run.hear("Could not run Make a ticket: no-such-program was not found. Correct the [[command]]")


async def test_program_that_does_not_end_is_stopped(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_programs, "COMMAND_SECONDS", 0.5)
    async with stage.play(start="changes", commands=(make(script(tmp_path, "sleep 60")),)) as run:
        await run.press("f9")
        await run.hear("Could not run Make a ticket: it did not end in time.")


async def test_program_that_prints_too_much_is_stopped(stage: Stage, tmp_path: Path) -> None:
    async with stage.play(start="changes", commands=(make(script(tmp_path, "yes")),)) as run:
        await run.press("f9")
        await run.hear("Could not run Make a ticket: it printed more than 4 MiB.")


async def test_same_key_cancels_the_running_program(stage: Stage, tmp_path: Path) -> None:
    program = script(tmp_path, f"touch {tmp_path / 'started'}; sleep 60; touch {tmp_path / 'ended'}")
    async with stage.play(start="changes", commands=(make(program),)) as run:
        run.send_key("f9")
        while not (tmp_path / "started").exists():
            await run.pilot.pause(0.015)
        run.send_key("f9")
        await run.hear("Canceled Make a ticket.")
        assert not (tmp_path / "ended").exists()


async def test_key_of_a_built_in_command_is_kept_and_reported(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage.play(start="changes", commands=(make(*recorder, key="question_mark,f9"),)) as run:
        await run.hear("'Make a ticket' cannot use ?: app.help already uses this key.")
        await run.press("question_mark")
        await run.settle()
        assert not (tmp_path / "run.json").exists()
        await run.press("escape", "f9")
        await recorded(run, tmp_path)


@pytest.mark.before_release
async def test_command_palette_lists_a_command_without_key(
    stage: Stage, recorder: tuple[str, ...], tmp_path: Path
) -> None:
    async with stage.play(start="changes", commands=(make(*recorder, key=""),)) as run:
        await run.press("colon")
        await run.type("make a tick")
        await run.see("Make a ticket")
        await run.press("enter")
        await recorded(run, tmp_path)


@pytest.mark.before_release
async def test_help_of_a_view_lists_the_command(stage: Stage, recorder: tuple[str, ...]) -> None:
    async with stage.play(start="changes", commands=(make(*recorder),), size=(120, 90)) as run:
        await run.press("question_mark")
        await run.type("make a tick")
        await run.see("Make a ticket", "f9")
