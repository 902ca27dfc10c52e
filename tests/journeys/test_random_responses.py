"""Random and delayed responses, with random keys, clicks and resizes, never crash the app or lead to a false
statement on screen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest

from octavo.api.organizations import List as ListOrganizations
from tests.journeys.faulty_server import serving
from tests.journeys.random_keys import RandomUser
from tests.journeys.random_server import RandomServer
from tests.journeys.screen_checks import failed, find_contradictions
from tests.journeys.stage import Stage
from tests.tui.widgets.scratch import harmless
from tests.work_measurement import MAX_IDLE_SHARE, processor_share

SECONDS = 1.0
"""Seconds of each of the three measurements of an idle app at the end of a run."""
STARTS = ("inbox", "content", "changes", "comments")
CHECK_INTERVAL = 20
"""Number of actions between two checks of the screen."""
MAX_KEY_SECONDS = 300.0
"""Maximum number of seconds for one action on a busy machine."""


@pytest.fixture(autouse=True)
def no_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test open a browser."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.fixture(autouse=True)
def no_errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if an error was logged. Errors of the server do not count, because tests stop it while it responds."""
    yield
    for when in ("setup", "call"):
        bad = [each for each in caplog.get_records(when) if each.levelno >= logging.ERROR]
        assert not [each.getMessage() for each in bad if not each.name.startswith("uvicorn")]


async def act_at_random(
    stage: Stage,
    seed: int,
    keys: int,
    *,
    changing: bool,
    longest: int = 10_000,
    max_idle_share: float = 3 * MAX_IDLE_SHARE,
    act: Callable[[RandomUser], Awaitable[None]] = RandomUser.act,
) -> None:
    """Do this many random actions, and check the app regularly.

    `max_idle_share`: the maximum share of a processor that the idle app may use afterwards. Short runs allow more,
    because other tests run at the same time."""
    server = RandomServer(seed, changing=changing, longest=longest)
    done: list[str] = []
    while len(done) < keys:
        async with stage.play(
            over=lambda _: serving(server), every_frame=True, start=STARTS[seed % len(STARTS)], longest=MAX_KEY_SECONDS
        ) as run:
            user, checked = RandomUser(run, seed + len(done), done), len(done) // CHECK_INTERVAL
            while len(done) < keys and run.app.return_value is None:
                async with asyncio.timeout(MAX_KEY_SECONDS):
                    await act(user)
                assert run.app._exception is None, done[-20:]
                if len(done) // CHECK_INTERVAL > checked and run.app.return_value is None:
                    checked = len(done) // CHECK_INTERVAL
                    await run.settle(MAX_KEY_SECONDS)
                    assert harmless(run.lines), (done[-40:], [each for each in run.lines if not harmless([each])])
                    assert list(find_contradictions(run, server)) == [], done[-20:]
            if run.app.return_value is None:
                await run.settle(MAX_KEY_SECONDS)
                shares = [await processor_share(SECONDS) for _ in range(3)]
                assert min(shares) < max_idle_share, (shares, done[-40:])
    assert not list((stage.folder / "state").glob("crash-*"))


@pytest.mark.before_release
async def test_no_view_claims_to_be_empty_when_organizations_fail(stage: Stage) -> None:
    server = RandomServer(seed=4)
    async with stage.play(over=lambda _: serving(server)) as run:
        assert failed(server, ListOrganizations())
        for view in "1342":
            await run.press(view)
            assert list(find_contradictions(run, server)) == []


@pytest.mark.before_release
@pytest.mark.parametrize("seed", range(2))
async def test_random_responses_cause_no_crash_and_no_wrong_statement(stage: Stage, seed: int) -> None:
    await act_at_random(stage, seed, 20, changing=seed == 1, longest=1000)


@pytest.mark.before_release
@pytest.mark.parametrize("seed", range(2))
async def test_bursts_of_clicks_resizes_and_keys_cause_no_crash(stage: Stage, seed: int) -> None:
    await act_at_random(stage, seed, 60, changing=False, longest=1000, act=RandomUser.burst)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200, 240))
async def test_bursts_of_20_000_actions_cause_no_crash_and_no_idle_load(stage: Stage, seed: int) -> None:
    await act_at_random(stage, seed, 500, changing=seed % 2 == 1, max_idle_share=MAX_IDLE_SHARE, act=RandomUser.burst)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 140))
async def test_random_responses_cause_no_crash_in_20_000_actions(stage: Stage, seed: int) -> None:
    await act_at_random(stage, seed, 500, changing=seed % 2 == 1, max_idle_share=MAX_IDLE_SHARE)
