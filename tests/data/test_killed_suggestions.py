"""A process applies a suggestion and resolves its thread. It is killed after each number of requests."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.api.operation import ChangeRequestRef, RevisionRef
from octavo.api.text import Raw
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import suggestion_fence
from tests.data.test_killed_comments import read_output, run_module, serve_platform
from tests.fault_proxy import FaultProxy
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context, space_with

SAYS = "# Intro\n\nHello, reader.\n\nGoodbye."


async def _suggest(ask: Ask) -> ChangeRequestRef:
    """Create a change request by Mia with a suggestion by Tom."""
    space = (await space_with(ask, intro="# Intro")).ref
    at = (await ask(change_requests.Create(at=space, subject="Say more"), "mia")).ref(space)
    text = content.UpdatePage(page="intro", document=content.DocumentBody(markdown=SAYS))
    await ask(content.Edit(at=at, changes=(text,)), "mia")
    key = next(each.key for each in parse(SAYS).walk() if each.plain() == "Goodbye.")
    body = Markdown(markdown=suggestion_fence("Farewell."))
    await ask(comments.Create(at=at, page="intro", node=key, body=body), "tom")
    return at


async def _run(arguments: tuple[str, ...], proxy: FaultProxy, life: int | None, moment: float = 0.0) -> bool:
    """Run until `life` requests and `moment` seconds have passed, then kill. Return True if all was done before."""
    async with run_module("tests.data.suggestion_process", *arguments) as process:
        if life is not None:
            reached = asyncio.ensure_future(proxy.wait_for_connections(len(proxy.log) + life))
            ended = asyncio.ensure_future(process.wait())
            await asyncio.wait((reached, ended), timeout=60, return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
            ended.cancel()
            await asyncio.sleep(moment)
            if process.returncode is None:
                process.kill()
        return "finished" in await read_output(process)


@pytest.mark.parametrize(
    "lives",
    [
        (5, 6, 7),
        pytest.param(tuple(range(14)) * 5, marks=[pytest.mark.long, pytest.mark.timeout(900)], id="70 kills"),
    ],
)
async def test_killed_process_applies_once_and_resolves(lives: tuple[int, ...], tmp_path: Path) -> None:
    platform, chance = Platform(small_context(Clock())), random.Random(7)
    ask, kills, between = Ask(platform), 0, 0
    async with serve_platform(platform) as port, FaultProxy("127.0.0.1", port) as proxy:
        for number, life in enumerate(lives):
            at = await _suggest(ask)
            before = (await ask(change_requests.Get(at=at))).revision
            arguments = (str(tmp_path / str(number)), proxy.origin, at.space_id, at.change_request_id)
            killed = not await _run(arguments, proxy, life, chance.uniform(0.0, 0.03))
            kills += killed
            (thread,) = (await ask(comments.List(at=at, status="all"))).items
            now = await ask(change_requests.Get(at=at))
            between += killed and thread.is_open and now.revision != before
            assert await _run(arguments, proxy, None) or not killed
            (thread,) = (await ask(comments.List(at=at, status="all"))).items
            assert not thread.is_open
            page = await ask(content.GetRawPage(at=at, page_id="intro"))
            assert page.markdown == Raw(SAYS.replace("Goodbye.", "Farewell."))
            head = (await ask(change_requests.Get(at=at))).revision or ""
            made = await ask(content.Get(at=RevisionRef(space_id=at.space_id, revision_id=head)))
            assert made.parents == (before,), "the suggestion was applied twice"
    print(f"{kills} kills, {between} of them between applying and resolving")
    assert between, "no process was killed between applying and resolving"
    platform.close()
    platform.context.store.close()
