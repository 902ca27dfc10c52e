from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from octavo.api import comments
from octavo.api.places import SpaceRef
from octavo.server.app import Platform
from tests.journeys.moods import Mood, Moody, serving
from tests.journeys.stage import MARA, Run, Stage

WORDS = "Not a word lost."
HARBOUR_API = SpaceRef(space_id="harbour-api")

MOODS = [
    pytest.param(Mood(401), "did not accept your API key: it is wrong, expired, or revoked.", "waits", id="401"),
    pytest.param(Mood(403), "The harbour master says no.", "refused", id="403"),
    pytest.param(Mood(404), "The harbour master says no.", "refused", id="404"),
    pytest.param(
        Mood(429, headers=(("retry-after", "3600"),)), "received too many API requests. Try again at", "waits", id="429"
    ),
    pytest.param(Mood(500), "reported an error (500): The harbour master says no.", "doubted", id="500"),
    pytest.param(Mood(200, b"<html>Welcome to the hotel</html>"), "127.0.0.1:", "doubted", id="garbage"),
    pytest.param(Mood(200, b'{"items": [{"id'), "127.0.0.1:", "doubted", id="half an answer"),
    pytest.param(Mood(0), "did not respond within 3 s", "doubted", id="nothing"),
]


def marks(*, often: bool) -> list[pytest.MarkDecorator]:
    return [] if often else [pytest.mark.long]


@asynccontextmanager
async def on_quickstart(stage: Stage, mood: Mood) -> AsyncIterator[tuple[Run, Moody]]:
    """The app over HTTP, on the quickstart, all of it read. It waits 3 s for a server that will not answer."""
    moody: list[Moody] = []

    @asynccontextmanager
    async def over(platform: Platform) -> AsyncIterator[str]:
        moody.append(Moody(platform))
        async with serving(moody[0]) as origin:
            yield origin

    async with stage.play(over=over, deadline=30.0 if mood.status else 3.0) as run:
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "You need a terminal", "THREADS  2 open")
        yield run, moody[0]


async def posted(run: Run) -> int:
    """Return how often the text was posted."""
    there = await run.ask(comments.List(at=HARBOUR_API, limit=1000, format="markdown"), MARA)
    return sum(each.body.text == WORDS for each in there.items)


@pytest.mark.parametrize(
    ("mood", "sentence", "becomes"),
    [pytest.param(*each.values, id=str(each.id), marks=marks(often=each.id == "500")) for each in MOODS],
)
async def test_every_failure_shows_a_message_and_keeps_the_screen(
    stage: Stage, mood: Mood, sentence: str, becomes: str
) -> None:
    async with on_quickstart(stage, mood) as (run, moody):
        moody.mood = mood
        await run.press("r")
        await run.see(sentence, "Showing 40 items", "Showing 2 items")
        assert run.text.count("✗ Could not refresh the") == 2, "the pages and the threads"
        await run.see("You need a terminal", "Your first tide", "Elisa Moretti", "› Get started › Quickstart")
        moody.mood = None
        await run.press("r")
        await run.gone("Could not refresh", sentence)


@pytest.mark.parametrize(
    ("mood", "sentence", "becomes", "only"),
    [
        *(
            pytest.param(
                *each.values,
                "POST",
                id=f"{each.id}, the write",
                marks=marks(often=each.id == "500"),
            )
            for each in MOODS
        ),
        *(
            pytest.param(*each.values, "", id=f"{each.id}, all", marks=marks(often=each.id == "401"))
            for each in MOODS
            if each.id in ("401", "403", "429")
        ),
    ],
)
async def test_no_failure_loses_or_doubles_a_comment(
    stage: Stage, mood: Mood, sentence: str, becomes: str, only: str
) -> None:
    async with on_quickstart(stage, mood) as (run, moody):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        moody.mood = replace(mood, only=only)
        await run.later(seconds=6)
        await run.until(lambda: bool(moody.asked), "be asked")
        await run.settle()
        if becomes == "refused":
            await run.hear("Could not comment: The harbour master says no. Your text is saved as a draft.")
            await run.see(WORDS, "not sent", "1 change needs your decision: press !")
        else:
            await run.see(WORDS, "1 change queued")
        moody.mood = None
        assert await posted(run) == 0
        if becomes == "refused":
            await run.press("c")
            await run.see("Comment on Quickstart", "draft")
            await run.press("ctrl+s")
        if becomes == "doubted":
            await run.later(seconds=100)
            await run.hear("“comment” may have been sent: the response was lost, and Octavo did not find the change.")
            await run.see(WORDS, "● Mara … may have bee…", "1 change needs your decision: press !")
            await run.press("d")
            await run.hear("This comment may have been sent. Press ! to retry or discard it.")
            await run.press("!")
            await run.see("WAITING FOR YOUR DECISION", "may have been sent", "Check on the server, then press !")
            await run.press("r", "escape")
        await all_sent(run)
        assert await posted(run) == 1
        await run.see("THREADS  3 open", WORDS)


@pytest.mark.parametrize(
    "mood",
    [
        pytest.param(Mood(502), id="502"),
        pytest.param(Mood(0), id="nothing", marks=pytest.mark.long),
        pytest.param(Mood(200, b"<html>"), id="garbage", marks=pytest.mark.long),
    ],
)
async def test_applied_write_without_a_response_is_found_and_not_resent(stage: Stage, mood: Mood) -> None:
    async with on_quickstart(stage, mood) as (run, moody):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        moody.mood = replace(mood, only="POST", acts=True)
        await run.later(seconds=6)
        await run.until(lambda: bool(moody.asked), "be asked")
        moody.mood = None
        await all_sent(run)
        assert await posted(run) == 1
        assert len(run.gate.sent(comments.Create)) == 1
        await run.see("THREADS  3 open", WORDS)


async def all_sent(run: Run) -> None:
    """Let hours go by until all that was written is there."""
    for _ in range(8):
        if run.app.session.outbox.entries:
            await run.later(seconds=3700)
    await run.until(lambda: not run.app.session.outbox.entries, f"send {run.app.session.outbox.entries}")


@pytest.mark.long
async def test_slow_server_keeps_the_screen(stage: Stage) -> None:
    async with on_quickstart(stage, Mood(200)) as (run, moody):
        moody.mood = Mood(late=0.3)
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s", "J")
        await run.see("› Authentication")
        await run.press("K")
        await run.see("You need a terminal", WORDS)
        await run.sent()
        assert await posted(run) == 1


async def test_rejected_key_is_reported_and_writes_wait(stage: Stage) -> None:
    async with on_quickstart(stage, Mood(401)) as (run, moody):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        moody.mood = Mood(401)
        await run.later(seconds=6)
        await run.hear(
            "did not accept your API key", "Octavo will keep your unsent changes and send them after you sign in again."
        )
        await run.quit()
    async with stage.play() as run:
        await run.see(WORDS)
        await run.sent()
        assert await posted(run) == 1
