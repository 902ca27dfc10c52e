"""The programs that are measured by hand run, one round of the smallest size (the longest of them in long runs): people look at what
they find."""

from __future__ import annotations

import fcntl
import json
import shutil
import sys
from pathlib import Path

import pytest

from octavo.api.change_requests import ChangeRequest
from octavo.server.app import Platform
from tests.benchmarks import (
    block_app,
    blocks,
    change_requests,
    diffs,
    huge_blocks,
    idle,
    inbox,
    inbox_start,
    members,
    memory,
    pages,
    parse,
    start,
    trees,
)
from tests.benchmarks.page_app import PageApp, Probed
from tests.benchmarks.texts import TITLE, made_page
from tests.benchmarks.tree_app import TreeApp
from tests.journeys.conftest import library, stage
from tests.journeys.stage import MARA, Stage
from tests.tui.reader.panes import screen

__all__ = ["library", "stage"]
QUICKLY = ("--rounds", "0", "--keys", "1", "--pace", "0.1")
Out = pytest.CaptureFixture[str]
SHARE = 0.002
"""Of the large demo, which is large enough for programs that shall but run."""


@pytest.fixture(scope="session")
def made_large(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """So much of the large demo, set out once for all workers of a run, as the programs do."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "large"
    with (folder.parent / "large.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        inbox.make(folder, SHARE)
    return folder


@pytest.fixture
def large(made_large: Path, tmp_path: Path) -> str:
    """A copy of it, which the programs change."""
    shutil.copytree(made_large, tmp_path / "large")
    return str(tmp_path / "large")


async def test_the_measured_page_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(made_page(20_000), "utf-8")
    app = PageApp(page)
    async with app.run_test(size=(80, 20)) as pilot:
        while TITLE not in screen(app.view):
            await pilot.pause()
        assert 20_000 <= len(page.read_text("utf-8")) < 22_000


async def test_the_measured_tree_is_shown_unfolded() -> None:
    app = TreeApp(1000)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        assert app.pages.counts.summary == "1000 of 1000"
        assert len(app.pages.keys) == 1000


async def test_a_page_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(made_page(2000), "utf-8")
    figures = tmp_path / "figures.json"
    app = Probed(tmp_path / "page.md", figures)
    async with app.run_test(size=(80, 20)):
        await app.workers.wait_for_complete([each for each in app.workers if each.name == "_read"])
    assert json.loads(figures.read_text("utf-8"))["page.md"]["steps"] > 1


@pytest.mark.parametrize("is_diff", [False, True])
async def test_keys_are_pressed_in_a_block(is_diff: bool, tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "list.md").write_text("* item\n" * 300, "utf-8")
    figures = tmp_path / "figures.json"
    app = block_app.Compared(tmp_path, figures, whole=False) if is_diff else block_app.Pressed(tmp_path, figures)
    app.EARLY, app.LATER = ["j"], ["G", "\\"]
    async with app.run_test(size=(80, 20)):
        await app.workers.wait_for_complete([each for each in app.workers if each.name == "_read"])
    blocks.row("list", json.loads(figures.read_text("utf-8"))["list"], 1.0)
    assert capsys.readouterr().out.startswith("list ")


def test_pages_are_parsed(capsys: Out) -> None:
    assert parse.main(["--only", "open tags", "--size", "400", "--seconds", "60"]) == 0
    assert "all within the limits" in capsys.readouterr().out


def test_pages_are_compared(capsys: Out) -> None:
    diffs.main(["--only", "made, 40", "--rounds", "1", "--size", "9000"])
    assert "made, 40 edits" in capsys.readouterr().out


@pytest.mark.long
def test_memory_is_measured(library: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OCTAVO_MEMORY_LIBRARY", str(library))
    monkeypatch.setattr(sys, "argv", ["memory.py", "help:2"])
    memory.main()
    assert capfd.readouterr().out.startswith("help ")


async def test_the_first_diff_of_a_change_request_is_shown(stage: Stage) -> None:
    made: list[ChangeRequest] = []

    def bring(platform: Platform) -> None:
        made.append(change_requests.one_page(platform.world.for_user(MARA)))

    async with stage.play(start="changes", change=bring) as run:
        first, whole, stall = await change_requests.opened(run, made[0])
    assert 0 < first <= whole
    assert stall >= 0


@pytest.mark.long
def test_the_inbox_is_followed(large: str, capsys: Out) -> None:
    inbox.main([large, "--wait", "0"])
    said = capsys.readouterr().out
    assert all(f"{start}: " in said for start in ("first start", "second start", "a turn more"))
    assert "a reply of another person is there after " in said


@pytest.mark.long
def test_the_inbox_is_started(large: str, library: Path, tmp_path: Path, capsys: Out) -> None:
    (demo := tmp_path / "kept" / "demo" / "data" / "demo").mkdir(parents=True, mode=0o700)
    shutil.copyfile(library, demo / "platform.db")
    inbox_start.main(["--large", large, "--kept", str(tmp_path / "kept"), "--rounds", "0", "--pace", "0.1"])
    said = capsys.readouterr().out
    assert all(f"\n{name} " in said for name in ("demo", "large", "ratio"))


@pytest.mark.long
def test_programs_are_started(library: Path, capsys: Out) -> None:
    start.main(["--only", "hello,demo", "--library", str(library), *QUICKLY])
    said = capsys.readouterr().out
    assert all(f"\n{name} " in said for name in ("hello", "demo", "j in the tree", "switch views", "floor: scroll"))


@pytest.mark.long
def test_pages_are_shown_by_programs(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OCTAVO_CORPUS", raising=False)
    pages.main(["--sizes", "3000", "--brief", *QUICKLY])
    said = capsys.readouterr().out
    assert all(f"\n{name} " in said for name in ("made 3 KB", "made 3 KB: line", "ready-made lines", "longest time"))


@pytest.mark.long
def test_trees_are_shown_by_programs(capsys: Out) -> None:
    trees.main(["--counts", "100", *QUICKLY])
    said = capsys.readouterr().out
    assert all(f"\n100 pages: {what} " in said for what in ("down", "fold", "filter"))


@pytest.mark.parametrize("name", huge_blocks.HUGE)
def test_the_diff_that_is_measured_has_a_change(name: str) -> None:
    page = huge_blocks.HUGE[name](4)
    assert block_app.edited(page) != page


@pytest.mark.long
def test_an_hour_with_nothing_happening_is_measured(large: str, capsys: Out) -> None:
    idle.main([large, "--hours", "0.05"])
    assert "% of one" in capsys.readouterr().out


@pytest.mark.long
async def test_a_table_of_members_is_measured_beside_one_of_teams(stage: Stage) -> None:
    figures = await members.measure(stage, 50, 1, 2)
    lines = members.report(figures)
    assert len(lines) == len(figures) == 13
    assert all(" ms [" in each for each in lines)
