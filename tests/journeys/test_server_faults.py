from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from octavo.api import comments
from octavo.api.operation import SpaceRef
from tests.journeys.faulty_server import Fault, FaultyServer, serving
from tests.journeys.stage import MARA, Run, Stage
from tests.server.refusing_platform import Platform

WORDS = "Not a word lost."
HARBOUR_API = SpaceRef(space_id="harbour-api")

FAULTS = [
    pytest.param(Fault(401), "did not accept your API key: it is wrong, expired, or revoked.", "waits", id="401"),
    pytest.param(Fault(403), "The harbour master says no.", "refused", id="403"),
    pytest.param(Fault(404), "The harbour master says no.", "refused", id="404"),
    pytest.param(
        Fault(429, headers=(("retry-after", "3600"),)),
        "received too many API requests. Try again at",
        "waits",
        id="429",
    ),
    pytest.param(Fault(500), "reported an error (500): The harbour master says no.", "doubted", id="500"),
    pytest.param(Fault(200, b"<html>Welcome to the hotel</html>"), "127.0.0.1:", "doubted", id="garbage"),
    pytest.param(Fault(200, b'{"items": [{"id'), "127.0.0.1:", "doubted", id="half an answer"),
    pytest.param(Fault(0), "did not respond within 3 s", "doubted", id="nothing"),
]


def long_unless(*, in_every_run: bool) -> list[pytest.MarkDecorator]:
    return [] if in_every_run else [pytest.mark.long]


@asynccontextmanager
async def open_quickstart(stage: Stage, fault: Fault) -> AsyncIterator[tuple[Run, FaultyServer]]:
    """Open the app over HTTP on the page Quickstart, and load the page completely. Requests time out after 3 s if
    the server will not respond."""
    server: list[FaultyServer] = []

    @asynccontextmanager
    async def over(platform: Platform) -> AsyncIterator[str]:
        server.append(FaultyServer(platform))
        async with serving(server[0]) as origin:
            yield origin

    async with stage.play(over=over, deadline=30.0 if fault.status else 3.0) as run:
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "You need a terminal", "THREADS  2 open")
        yield run, server[0]


async def count_posted(run: Run) -> int:
    """Return the number of comments with the text."""
    there = await run.ask(comments.List(at=HARBOUR_API, limit=1000, format="markdown"), MARA)
    return sum(each.body.text == WORDS for each in there.items)


@pytest.mark.parametrize(
    ("fault", "sentence", "outcome"),
    [pytest.param(*each.values, id=str(each.id), marks=long_unless(in_every_run=each.id == "500")) for each in FAULTS],
)
async def test_every_failure_shows_a_message_and_keeps_the_screen(
    stage: Stage, fault: Fault, sentence: str, outcome: str
) -> None:
    async with open_quickstart(stage, fault) as (run, server):
        server.fault = fault
        await run.press("r")
        await run.see(sentence, "Showing 40 items", "Showing 2 items")
        assert run.text.count("✗ Could not refresh the") == 2, "one message for the pages and one for the threads"
        await run.see("You need a terminal", "Your first tide", "Elisa Moretti", "› Get started › Quickstart")
        server.fault = None
        await run.press("r")
        await run.gone("Could not refresh", sentence)


@pytest.mark.parametrize(
    ("fault", "sentence", "outcome", "method"),
    [
        *(
            pytest.param(
                *each.values,
                "POST",
                id=f"{each.id}, the write",
                marks=long_unless(in_every_run=each.id == "500"),
            )
            for each in FAULTS
        ),
        *(
            pytest.param(*each.values, "", id=f"{each.id}, all", marks=long_unless(in_every_run=each.id == "401"))
            for each in FAULTS
            if each.id in ("401", "403", "429")
        ),
    ],
)
async def test_comment_is_sent_exactly_once_after_every_failure(
    stage: Stage, fault: Fault, sentence: str, outcome: str, method: str
) -> None:
    async with open_quickstart(stage, fault) as (run, server):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        server.fault = replace(fault, method=method)
        await run.later(seconds=6)
        await run.until(lambda: bool(server.faulted_requests), "send the request")
        await run.settle()
        if outcome == "refused":
            await run.hear("Could not comment: The harbour master says no. Your text is saved as a draft.")
            await run.see(WORDS, "not sent", "1 change needs your decision: press !")
        else:
            await run.see(WORDS, "1 change queued")
        server.fault = None
        assert await count_posted(run) == 0
        if outcome == "refused":
            await run.press("c")
            await run.see("Comment on Quickstart", "draft")
            await run.press("ctrl+s")
        if outcome == "doubted":
            await run.later(seconds=100)
            await run.hear("“comment” may have been sent: the response was lost, and Octavo did not find the change.")
            await run.see(WORDS, "● Mara … may have bee…", "1 change needs your decision: press !")
            await run.press("d")
            await run.hear("This comment may have been sent. Press ! to retry or discard it.")
            await run.press("!")
            await run.see("WAITING FOR YOUR DECISION", "may have been sent", "Check on the server, then press !")
            await run.press("r", "escape")
        await wait_until_sent(run)
        assert await count_posted(run) == 1
        await run.see("THREADS  3 open", WORDS)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(502), id="502"),
        pytest.param(Fault(0), id="nothing", marks=pytest.mark.long),
        pytest.param(Fault(200, b"<html>"), id="garbage", marks=pytest.mark.long),
    ],
)
async def test_applied_write_without_a_response_is_found_and_not_resent(stage: Stage, fault: Fault) -> None:
    async with open_quickstart(stage, fault) as (run, server):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        server.fault = replace(fault, method="POST", writes_anyway=True)
        await run.later(seconds=6)
        await run.until(lambda: bool(server.faulted_requests), "send the request")
        server.fault = None
        await wait_until_sent(run)
        assert await count_posted(run) == 1
        assert len(run.gate.sent(comments.Create)) == 1
        await run.see("THREADS  3 open", WORDS)


async def wait_until_sent(run: Run) -> None:
    """Let hours pass until all writes are sent."""
    for _ in range(8):
        if run.app.session.outbox.entries:
            await run.later(seconds=3700)
    await run.until(lambda: not run.app.session.outbox.entries, f"send {run.app.session.outbox.entries}")


@pytest.mark.long
async def test_keys_work_while_the_server_is_slow(stage: Stage) -> None:
    async with open_quickstart(stage, Fault(200)) as (run, server):
        server.fault = Fault(delay=0.3)
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s", "J")
        await run.see("› Authentication")
        await run.press("K")
        await run.see("You need a terminal", WORDS)
        await run.sent()
        assert await count_posted(run) == 1


async def test_rejected_key_is_reported_and_writes_wait(stage: Stage) -> None:
    async with open_quickstart(stage, Fault(401)) as (run, server):
        await run.press("c")
        await run.type(WORDS)
        await run.press("ctrl+s")
        server.fault = Fault(401)
        await run.later(seconds=6)
        await run.hear(
            "did not accept your API key", "Octavo will keep your unsent changes and send them after you sign in again."
        )
        await run.quit()
    async with stage.play() as run:
        await run.see(WORDS)
        await run.sent()
        assert await count_posted(run) == 1
