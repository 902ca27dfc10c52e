"""A server rejects requests for some time while writes are queued: each write is sent exactly once, and the bars
show the state."""

from __future__ import annotations

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.client.responses import Application
from octavo.data.writes.machine import NewWrite
from tests.journeys.faulty_server import Fault, FaultyServer
from tests.journeys.stage import MARA, Run, Stage

FAULTS = {
    "503": (Fault(503), "○ server error", "4 changes queued"),
    "429": (Fault(429), "○ rate limited", "4 changes queued until"),
    "429 for two minutes": (Fault(429, headers=(("retry-after", "120"),)), "○ rate limited", "4 changes queued until"),
    "401": (Fault(401), "○ API key rejected", "4 changes queued until you sign in"),
}

IN_EVERY_RUN = ("429 for two minutes", "401")
"""A fault that ends by itself, and a fault that needs the user. The other faults are similar."""


async def pass_time(run: Run, minutes: int) -> None:
    """Let this many minutes pass without any key."""
    for _ in range(minutes * 12):
        run.clock.forward(seconds=5)
        run.app.background_refresh.refresh_if_due()
        run.app.session.outbox._worker.wake()
        run.app.workspace.connection.update()
        await run.settle()


@pytest.mark.before_release("401", "429 for two minutes")
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in IN_EVERY_RUN else pytest.mark.long) for each in FAULTS]
)
async def test_queued_write_is_sent_once_after_a_temporary_refusal(stage: Stage, name: str) -> None:
    fault, state, waiting = FAULTS[name]
    servers: list[FaultyServer] = []

    def behind(platform: Application) -> Application:
        servers.append(FaultyServer(platform))
        return servers[0]

    def count_polls(faulted_requests: list[str]) -> int:
        return sum(each.startswith("GET /v1/orgs/") for each in faulted_requests)

    async with stage.play(start="inbox", behind=behind) as run:
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        places = [each.ref for each in spaces.items[:2]]
        for at in places:
            for words in ("One of these", "Two of these"):
                write = NewWrite(comments.Create(at=at, body=Markdown(markdown=words)), "comment")
                run.app.writes.queue(write, message="Written.")
        await run.settle()
        servers[0].fault = fault
        await pass_time(run, 10)
        earlier = len(servers[0].faulted_requests)
        assert count_polls(servers[0].faulted_requests) > 0
        await pass_time(run, 10)
        assert count_polls(servers[0].faulted_requests[earlier:]) < count_polls(
            servers[0].faulted_requests[:earlier]
        ), servers[0].faulted_requests
        assert run.app.workspace.connection.status[0].startswith(state)
        assert run.app.workspace.outbox_summary.startswith(waiting)
        assert not any(each.startswith("POST") for each in servers[0].faulted_requests), (
            "no write may be sent while the server refuses requests"
        )
        servers[0].fault = None
        await pass_time(run, 11)
        assert not run.app.session.outbox.entries
        assert run.app.workspace.connection.status[0].startswith("● updated")
        for at in places:
            there = (await run.ask(comments.List(at=at, format="markdown", limit=1000), MARA)).items
            assert sorted(each.body.text for each in there if "of these" in each.body.text) == [
                "One of these",
                "Two of these",
            ]
