"""Nothing a server says ends the app, or is shown as its opposite: random answers, delayed, and random keys everywhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from octavo.api.operation import Operation
from octavo.api.organizations import List as ListOrganizations
from octavo.api.wire import encode
from octavo.tui.screen import View
from octavo.tui.widgets.surface import Surface
from tests.journeys.moods import serving
from tests.journeys.random_keys import Fingers
from tests.journeys.random_server import RandomServer
from tests.journeys.stage import Run, Stage
from tests.tui.widgets.scratch import harmless

STARTS = ("home", "content", "changes", "comments")
AT_REST = 20
"""Things done after which the app comes to rest, and what it says is compared with what was answered."""
PATIENCE = 300.0
"""Seconds what one key leads to may take on a busy machine, whatever was answered."""

LISTS = {
    ("HomeScreen", "#changes"): ("changes",),
    ("ChangesScreen", "#change-requests"): ("open", "draft", "merged", "archived"),
    ("CommentsScreen", "#list"): ("open change requests", "draft change requests"),
    ("ContentScreen", "#pages"): ("tree",),
    ("FilesScreen", "#files"): ("files",),
    ("LinksScreen", "#links"): ("links",),
}
"""By view and list: what is followed for it. Where nothing of that was ever read, the list does not say that it is empty."""


@pytest.fixture(autouse=True)
def nowhere_else(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved at random stays in the folder of the test."""
    home = stage.folder / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.chdir(home)


@pytest.fixture(autouse=True)
def nothing_in_the_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing failed that nobody waited for. The server is told to go in the middle of its answers."""
    yield
    for when in ("setup", "call"):
        bad = [each for each in caplog.get_records(when) if each.levelno >= logging.ERROR]
        assert not [each.getMessage() for each in bad if not each.name.startswith("uvicorn")]


async def try_all(stage: Stage, seed: int, keys: int, *, changing: bool, longest: int = 10_000) -> None:
    """Do so many things at random, and look after each whether all is well."""
    server = RandomServer(seed, changing=changing, longest=longest)
    done: list[str] = []
    while len(done) < keys:
        async with stage.play(over=lambda _: serving(server), start=STARTS[seed % len(STARTS)]) as run:
            fingers = Fingers(run, seed + len(done), done)
            while len(done) < keys and run.app.return_value is None:
                async with asyncio.timeout(PATIENCE):
                    await fingers.act()
                assert run.app._exception is None, done[-20:]
                if len(done) % AT_REST == 0 and run.app.return_value is None:
                    await run.settle(PATIENCE)
                    assert harmless(run.lines), (done[-40:], [each for each in run.lines if not harmless([each])])
                    assert not list(contradictions(run, server)), done[-20:]
    assert not list((stage.folder / "state").glob("crash-*"))


def contradictions(run: Run, server: RandomServer) -> Iterator[str]:
    """What the screen says although the opposite was answered."""
    screen = run.app.screen
    if not isinstance(screen, View) or screen.size.width < 60 or screen.size.height < 20:
        return
    lost = failed(server, ListOrganizations())
    if lost and "● live" in run.text:
        yield "live, although the organizations did not load"
    for (view, selector), slots in LISTS.items():
        if type(screen).__name__ != view:
            continue
        for surface in screen.query(selector).results(Surface):
            if not surface.is_on_screen or surface.keys or surface.query_text:
                continue
            ops = [op for slot in slots if (op := screen.following.op(slot)) is not None]
            if (lost or (ops and all(failed(server, op) for op in ops))) and surface.empty in shown(run, surface):
                yield f"{view} {selector}: {surface.empty}"


def failed(server: RandomServer, op: Operation[Any]) -> bool:
    """Whether it was asked, and never answered with something of the right shape."""
    answers = server.answers.get(encode(op).url, [])
    return bool(answers) and all(each.status >= 400 or not isinstance(each.value, dict) for each in answers)


def shown(run: Run, surface: Surface) -> str:
    """What a list shows."""
    strips = run.app.screen._compositor.render_strips()
    x, y, width, height = surface.region
    return "\n".join(strip.crop(x, x + width).text for strip in strips[y : y + height])


async def test_where_organizations_do_not_load_no_view_says_that_there_is_nothing(stage: Stage) -> None:
    server = RandomServer(seed=4)
    async with stage.play(over=lambda _: serving(server)) as run:
        assert failed(server, ListOrganizations())
        for view in "1342":
            await run.press(view)
            assert list(contradictions(run, server)) == []


@pytest.mark.parametrize("seed", range(2))
async def test_no_answer_ends_the_app_or_is_shown_as_its_opposite_whatever_is_pressed(stage: Stage, seed: int) -> None:
    await try_all(stage, seed, 40, changing=seed == 1, longest=1000)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 140))
async def test_no_answer_ends_the_app_or_is_shown_as_its_opposite_in_20_000_keys(stage: Stage, seed: int) -> None:
    await try_all(stage, seed, 500, changing=seed % 2 == 1)
