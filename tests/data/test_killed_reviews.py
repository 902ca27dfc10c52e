"""A review with five pending comments, sent by processes that are killed again and again, on a bad connection."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from octavo.api import change_requests, comments, content
from octavo.api.operation import ChangeRequestRef
from octavo.api.text import Raw
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.text_edits import SuggestedText, apply_suggestions
from octavo.documents.suggestions import find_suggestions
from tests.data.review_process import VERDICT, WORDS
from tests.data.test_killed_comments import TOXICS, read_output, run_module, serve_platform
from tests.fault_proxy import FaultProxy, Toxic
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context, space_with


async def _check_suggestion_applies(platform: Platform, ask: Ask, at: ChangeRequestRef) -> None:
    """Apply the suggestion in the comments as the author. Check that the page has the suggested text."""
    found = (await ask(comments.List(at=at, format="markdown"))).items
    ((thread, (wanted,)),) = [(each, those) for each in found if (those := find_suggestions(each.body.text))]
    assert thread.target.node
    client, state = Client("http://octavo.test", SecretStr("key-ada"), transport=platform), StateDb(None, "ada")
    cache = ResponseCache(None, "ada")
    live = Live(client, cache, Outbox(client, state, Drafts(state)))
    sent = await apply_suggestions(
        live, at, (SuggestedText("intro", thread.target.node.id, thread.target.revision, wanted.text),)
    )
    assert sent.kind == "done"
    await live.close()
    await client.aclose()
    cache.close()
    state.close()
    page = await ask(content.GetRawPage(at=at, page_id="intro"))
    assert page.markdown == Raw("# Intro\n\nHello, reader and writer.")


HELD_BACK = Toxic("hold", seconds=0.4)
"""Arrives after the client reported a lost connection, and before the user must decide."""
LONGEST_LIFE = 1.5
"""Seconds until a process that sends no requests is killed."""


async def _run_review(
    arguments: tuple[str, ...], proxy: FaultProxy, life: int | None = None, moment: float = 0.0
) -> bool:
    """Run until `life` requests and `moment` seconds have passed, then kill. Return True if everything was sent."""
    async with run_module("tests.data.review_process", *arguments) as process:
        if life is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(proxy.wait_for_connections(len(proxy.log) + life), LONGEST_LIFE)
            await asyncio.sleep(moment)
            if process.returncode is None:
                process.kill()
        return "finished" in await read_output(process)


@pytest.mark.parametrize(
    ("kills", "seed"),
    [
        (3, 5),
        *(
            pytest.param(20, seed, marks=[pytest.mark.long, pytest.mark.timeout(600)], id=f"20 kills, {seed}")
            for seed in range(1, 9)
        ),
    ],
)
async def test_killed_review_sends_each_comment_once_then_the_review(kills: int, seed: int, tmp_path: Path) -> None:
    platform, chance = Platform(small_context(Clock())), random.Random(seed)
    ask = Ask(platform)
    space = (await space_with(ask, intro="# Intro\n\nHello.")).ref
    made = await ask(change_requests.Create(at=space, subject="Say more"))
    at = made.ref(space)
    says = content.UpdatePage(page="intro", document=content.DocumentBody(markdown="# Intro\n\nHello, reader."))
    await ask(content.Edit(at=at, changes=(says,)))
    await ask(change_requests.Update(at=at, status="open"))
    revision = (await ask(change_requests.Get(at=at))).revision or ""

    next_faults: list[bool] = []
    """True for each of the next requests that meets a fault: always half of ten."""

    def choose_fault() -> Toxic:
        if not next_faults:
            next_faults.extend(chance.sample((True, False) * 5, 10))
        return chance.choice((*TOXICS, HELD_BACK)) if next_faults.pop() else Toxic()

    killed, finished = 0, False
    async with serve_platform(platform) as port, FaultProxy("127.0.0.1", port, otherwise=choose_fault) as proxy:
        arguments = (str(tmp_path), proxy.origin, at.space_id, at.change_request_id, revision)
        while killed < kills and not finished:
            # Most processes are killed during a request, or just before or after.
            # The first fifth is killed before its first request.
            life = 0 if killed < kills / 5 else chance.choice((1, 1, 2))
            finished = await _run_review(arguments, proxy, life, chance.uniform(0.0, 0.03))
            killed += not finished
        finished = finished or await _run_review(arguments, proxy)
    path = f"/spaces/{at.space_id}/change-requests/{at.change_request_id}"
    there = sorted(platform.context.store.all(f"{path}/comments"), key=lambda each: each["postedAt"])
    sent_reviews = list(platform.context.store.all(f"{path}/reviews"))
    faults = sum(kind != "ok" for kind in proxy.log)
    share = f"{faults / len(proxy.log):.0%}"
    print(f"{killed} kills, {len(proxy.log)} requests, {faults} of them spoiled ({share}): {Counter(proxy.log)}")
    print(
        f"{len(there)} comments, {len(sent_reviews)} verdicts, in the order {[each['body']['markdown'] for each in there]}"
    )
    assert finished
    assert [each["body"]["markdown"] for each in there] == [*WORDS, VERDICT]
    assert [(each["status"], each["reviewer"], each["revision"]) for each in sent_reviews] == [
        ("changes-requested", "mia", revision)
    ]
    assert killed >= kills, "too few kills"
    assert faults >= 0.4 * len(proxy.log), "too few faults"
    await _check_suggestion_applies(platform, ask, at)
    platform.close()
    platform.context.store.close()
