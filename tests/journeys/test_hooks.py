"""Hooks run once for each event and without a shell, and desktop notifications appear only while the terminal has no
focus."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from textual.events import AppBlur, AppFocus

from octavo.api import change_requests, reviews
from octavo.api.operation import ChangeRequestRef
from octavo.settings.programs import Hook
from octavo.tui.app import user_programs
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_background_refresh import wait_for_background_refresh
from tests.journeys.test_inbox import NOOR, edit_page, open_change_request
from tests.journeys.test_rare_operations import with_another_organization
from tests.journeys.used_computer import new_stage, stage, used_folders
from tests.server.refusing_platform import Platform

__all__ = ["new_stage", "stage", "used_folders"]
HOSTILE = "$(touch x) `touch y`; touch z"


@pytest.fixture
def program(tmp_path: Path) -> tuple[str, ...]:
    """Return a command that writes its arguments, its input and the variables of Octavo to a new file each time it
    runs."""
    code = (
        "import json, os, sys, pathlib, uuid\n"
        f"folder = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "folder.mkdir(exist_ok=True)\n"
        "own = {name: value for name, value in os.environ.items() if name.startswith('OCTAVO_')}\n"
        "(folder / uuid.uuid4().hex).write_text(json.dumps([sys.argv[1:], json.load(sys.stdin), own]))\n"
    )
    file = tmp_path / "program.py"
    file.write_text(code)
    return (sys.executable, str(file))


def runs(folder: Path) -> list[list[object]]:
    return [json.loads(each.read_text()) for each in sorted((folder / "runs").glob("*"))]


async def request_review(run: Run, subject: str) -> ChangeRequestRef:
    """Open a change request as Noor, and request a review from Mara."""
    at = await open_change_request(run, NOOR, subject)
    await run.ask(reviews.Request(at=at, users=(MARA,)), NOOR)
    await wait_for_background_refresh(run)
    return at


async def wait_for_runs(run: Run, folder: Path, number: int) -> None:
    await run.until(lambda: len(runs(folder)) >= number, f"run {number} hooks")


async def test_hook_runs_once_for_each_event(stage: Stage, program: tuple[str, ...], tmp_path: Path) -> None:
    hooks = (Hook("review-requested", (*program, "{ref}", "--kind={kind}")), Hook("changes-requested", program))
    async with stage.play(hooks=hooks) as run:
        await wait_for_background_refresh(run)
        assert runs(tmp_path) == [], "items that were in the inbox before the start must not run a hook"
        await request_review(run, "Say what a datum is")
        await wait_for_runs(run, tmp_path, 1)
        await wait_for_background_refresh(run)
        await wait_for_background_refresh(run)
        ((arguments, facts, variables),) = runs(tmp_path)
        assert isinstance(facts, dict)
        assert isinstance(variables, dict)
        assert arguments == [facts["ref"], "--kind=change"]
        assert str(facts["ref"]).startswith("harbour-api/")
        assert (facts["event"], facts["title"], facts["space"]) == (
            "review-requested",
            "Say what a datum is",
            "harbour-api",
        )
        assert variables["OCTAVO_EVENT"] == "review-requested"
        assert variables["OCTAVO_REF"] == facts["ref"]


@pytest.mark.before_release("-rf", "\\x1b]0;evil\\x07")
@pytest.mark.parametrize("title", [HOSTILE, "-rf", "\x1b]0;evil\x07"])
async def test_hostile_title_is_passed_as_plain_text(
    stage: Stage, program: tuple[str, ...], tmp_path: Path, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "house"))
    (tmp_path / "house").mkdir()
    async with stage.play(hooks=(Hook("inbox-row", (*program, "{ref}", "{space}")),)) as run:
        await wait_for_background_refresh(run)
        await request_review(run, title)
        await wait_for_runs(run, tmp_path, 1)
        (arguments, facts, _), *more = runs(tmp_path)
        assert more == []
        assert isinstance(facts, dict)
        assert isinstance(arguments, list)
        assert all(not str(each).startswith("-") for each in arguments)
        assert "\x1b" not in str(facts["title"])
        assert list((tmp_path / "house").iterdir()) == []


async def test_hook_does_not_receive_the_api_key(
    stage: Stage, program: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "key-of-mara-0123456789")
    async with stage.play(hooks=(Hook("inbox-row", program),)) as run:
        await wait_for_background_refresh(run)
        await request_review(run, "Say what a datum is")
        await wait_for_runs(run, tmp_path, 1)
        assert "key-of-mara" not in json.dumps(runs(tmp_path))


@pytest.mark.before_release
async def test_merge_by_another_user_runs_the_hook_once(stage: Stage, program: tuple[str, ...], tmp_path: Path) -> None:
    async with stage.play(hooks=(Hook("merged", program),)) as run:
        at = await open_change_request(run, NOOR, "Say what a datum is")
        await edit_page(run, at, NOOR)
        await wait_for_background_refresh(run)
        await run.ask(change_requests.Merge(at=at), NOOR)
        await wait_for_background_refresh(run)
        await wait_for_runs(run, tmp_path, 1)
        await wait_for_background_refresh(run)
        ((_, facts, _),) = runs(tmp_path)
        assert isinstance(facts, dict)
        assert (facts["event"], facts["title"]) == ("merged", "Say what a datum is")


@pytest.mark.before_release
async def test_missing_program_is_reported_once(stage: Stage) -> None:
    async with stage.play(hooks=(Hook("inbox-row", ("no-such-program",)),)) as run:
        await wait_for_background_refresh(run)
        await request_review(run, "Say what a datum is")
        await run.hear("Could not run no-such-program: it was not found. Correct the [[hook]] in the settings")
        await request_review(run, "Say it again")
        assert not any("no-such-program" in each for each in run.said)


@pytest.mark.before_release
async def test_hooks_stop_at_the_limit_for_an_hour(
    stage: Stage, program: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_programs, "MAX_PER_HOUR", 2)
    async with stage.play(hooks=(Hook("inbox-row", program),)) as run:
        await wait_for_background_refresh(run)
        for number in range(4):
            await request_review(run, f"Number {number}")
        await wait_for_runs(run, tmp_path, 2)
        await run.settle()
        assert len(runs(tmp_path)) == 2


@pytest.mark.before_release
async def test_switch_to_another_organization_runs_no_hooks(
    stage: Stage, program: tuple[str, ...], tmp_path: Path
) -> None:
    def add_organization(platform: Platform) -> None:
        with_another_organization(platform)
        platform.context.store.put(f"/orgs/eastbank/members/{MARA}", {"id": MARA, "role": "read"})

    async with stage.play(start="inbox", change=add_organization) as run:
        await run.press("ctrl+o", "down", "enter")
        await run.see("Nothing needs your attention.")
        await run.quit()
    async with stage.play(hooks=(Hook("inbox-row", program),)) as run:
        await wait_for_background_refresh(run)
        await run.press("1", "ctrl+o", "up", "enter")
        await run.see("To do 17")
        assert runs(tmp_path) == []


@pytest.mark.before_release
async def test_desktop_notification_appears_only_without_focus(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(user_programs, "write_to_terminal", lambda app, text: written.append(text))
    monkeypatch.delenv("TMUX", raising=False)
    async with stage.play(notify="osc9") as run:
        await wait_for_background_refresh(run)
        run.app.post_message(AppFocus())
        await run.settle()
        await request_review(run, "Say what a datum is")
        assert written == []
        run.app.post_message(AppBlur())
        await run.settle()
        await request_review(run, HOSTILE)
        (sequence,) = written
        assert sequence.startswith("\x1b]9;harbour-api/")
        assert sequence.endswith("\x1b\\")
        assert sequence.count("\x1b") == 2
        assert len(sequence) <= 80 + 6


async def test_desktop_notifications_are_off_by_default(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(user_programs, "write_to_terminal", lambda app, text: written.append(text))
    async with stage.play() as run:
        run.app.post_message(AppBlur())
        await request_review(run, "Say what a datum is")
        assert written == []
