"""A server that refuses for a while, with writes waiting: none is lost or goes out twice, and the frame says how it stands."""

from __future__ import annotations

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.client.in_process import Application
from octavo.data.writes.machine import NewWrite
from tests.journeys.moods import Mood, Moody
from tests.journeys.stage import MARA, Run, Stage

MOODS = {
    "503": (Mood(503), "○ server error", "4 changes queued"),
    "429": (Mood(429), "○ rate limited", "4 changes queued until"),
    "429 for two minutes": (Mood(429, headers=(("retry-after", "120"),)), "○ rate limited", "4 changes queued until"),
    "401": (Mood(401), "○ API key rejected", "4 changes queued until you sign in"),
}

OFTEN = ("429 for two minutes", "401")
"""A refusal that ends by itself, and one that needs the user. Others are similar."""


async def pass_time(run: Run, minutes: int) -> None:
    """Let so much time pass in which nobody types."""
    for _ in range(minutes * 12):
        run.clock.forward(seconds=5)
        run.app.background_refresh.refresh_if_due()
        run.app.session.outbox._worker.wake()
        run.app.workspace.connection.update()
        await run.settle()


@pytest.mark.before_release("401", "429 for two minutes")
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in OFTEN else pytest.mark.long) for each in MOODS]
)
async def test_queued_write_is_sent_once_after_a_temporary_refusal(stage: Stage, name: str) -> None:
    mood, state, waiting = MOODS[name]
    moody: list[Moody] = []

    def behind(platform: Application) -> Application:
        moody.append(Moody(platform))
        return moody[0]

    def looks(asked: list[str]) -> int:
        return sum(each.startswith("GET /v1/orgs/") for each in asked)

    async with stage.play(start="inbox", behind=behind) as run:
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        places = [each.ref for each in spaces.items[:2]]
        for at in places:
            for words in ("One of these", "Two of these"):
                write = NewWrite(comments.Create(at=at, body=Markdown(markdown=words)), "comment")
                run.app.writes.queue(write, message="Written.")
        await run.settle()
        moody[0].mood = mood
        await pass_time(run, 10)
        earlier = len(moody[0].asked)
        assert looks(moody[0].asked) > 0
        await pass_time(run, 10)
        assert looks(moody[0].asked[earlier:]) < looks(moody[0].asked[:earlier]), moody[0].asked
        assert run.app.workspace.connection.status[0].startswith(state)
        assert run.app.workspace.outbox_summary.startswith(waiting)
        assert not any(each.startswith("POST") for each in moody[0].asked), "what is written is not sent into that"
        moody[0].mood = None
        await pass_time(run, 11)
        assert not run.app.session.outbox.entries
        assert run.app.workspace.connection.status[0].startswith("● updated")
        for at in places:
            there = (await run.ask(comments.List(at=at, format="markdown", limit=1000), MARA)).items
            assert sorted(each.body.text for each in there if "of these" in each.body.text) == [
                "One of these",
                "Two of these",
            ]
