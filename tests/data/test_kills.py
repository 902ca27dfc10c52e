"""Comments posted by processes that are killed again and again, through a proxy that loses requests and answers, and
holds requests back until long after those who sent them were killed and have looked what became of them."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvicorn

from octavo.data.state_db import StateDb
from octavo.server.app import Platform
from tests.data.posting import PAGES, words
from tests.fault_proxy import FaultProxy, Toxic
from tests.server.asking import Ask, Clock, small_world, space_with

TOXICS = (
    Toxic("refuse"),
    Toxic("hang_up"),
    Toxic("lose_request"),
    Toxic("lose_response"),
    Toxic("cut_up", after=150),
    Toxic("cut_down", after=40),
    Toxic("hole_down"),
    Toxic("late", seconds=0.7),
)
KILLS = 24
LONGEST_LIFE = 3.0
"""Seconds, for those that have nothing to ask."""
HELD_BACK = tuple(Toxic("hold", seconds=seconds) for seconds in (0.4, 1.5, 4.0))


@asynccontextmanager
async def running(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program that is ready. It does not outlive the test: the next one may have a proxy at the same port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def last_words(process: asyncio.subprocess.Process) -> list[str]:
    """Return the output until the process ends."""
    assert process.stdout
    return (await process.stdout.read()).decode().split("\n")


@asynccontextmanager
async def served(platform: Platform) -> AsyncIterator[int]:
    """The platform on a port of this machine. Through a proxy it is asked under another name, so nobody guards that."""
    config = uvicorn.Config(platform, lifespan="off", ws="none", log_config=None, access_log=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        yield listener.getsockname()[1]
        server.should_exit = server.force_exit = True
        await serving


class _Posting:
    """A process that posts comments, and the number of comments that it acknowledged."""

    def __init__(self, folder: Path, proxy: FaultProxy, spaces: list[str], how_many: int) -> None:
        self.acknowledged = self.kills = 0
        self._proxy = proxy
        self._arguments = (str(folder), proxy.origin, ",".join(spaces))
        self._how_many = str(how_many)

    async def live(self, who: int, life: int | None, decides: str = "", moment: float = 0.0) -> bool:
        """Run until `life` requests and a `moment` have passed, then kill. Return whether the process finished
        before."""
        arguments = (*self._arguments, str(who), self._how_many, decides)
        async with running("tests.data.posting", *arguments) as process:
            if life is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._proxy.taken(len(self._proxy.log) + life), LONGEST_LIFE)
                await asyncio.sleep(moment)
                if process.returncode is None:
                    process.kill()
            said = await last_words(process)
        self.acknowledged += sum(line.startswith("done ") for line in said)
        self.kills += "finished" not in said
        return "finished" in said


def _asked(folder: Path) -> set[str]:
    """The places of those that were looked for in vain: a person was asked about them."""
    state = StateDb(folder, "mia")
    records = [json.loads(record) for (record,) in state.rows("SELECT record FROM sent")]
    state.close()
    return {each["place"] for each in records if each["rounds"]}


def _overtaken(arrived: list[str]) -> list[tuple[str, str]]:
    """Return the comments that arrived after a later comment of the same instance, and the last such comment."""
    found, last = [], {"0": -1, "1": -1}
    for each in arrived:
        who, number = each.removeprefix("Comment ").split(".")
        if int(number) < last[who]:
            found.append((f"{who}.{number}", f"{who}.{last[who]}"))
        last[who] = max(last[who], int(number))
    return found


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(20))
async def test_random_kills_lose_double_and_reorder_no_write(seed: int, tmp_path: Path) -> None:
    platform, chance = Platform(small_world(Clock())), random.Random(seed)
    instances, how_many = 1 + (seed > 3), 40
    pages = {f"p{number}": f"# Page {number}" for number in range(PAGES)}
    spaces = [(await space_with(Ask(platform), **pages)).id for _ in range(2)]

    holds_back = True

    def toxic() -> Toxic:
        if chance.random() >= 0.45:
            return Toxic()
        return chance.choice(HELD_BACK if holds_back and chance.random() < 0.5 else TOXICS)

    async with served(platform) as port, FaultProxy("127.0.0.1", port, otherwise=toxic) as proxy:
        posting, everybody = _Posting(tmp_path, proxy, spaces, how_many), range(instances)
        while posting.kills < KILLS:
            # Who is asked decides when nothing is held back any more: nobody else can tell.
            holds_back = not holds_back
            if not holds_back:
                await proxy.delivered()
            lives = [(chance.randint(0, 12), chance.uniform(0.0, 0.05)) for _ in everybody]
            await asyncio.gather(
                *(
                    posting.live(who, life, "" if holds_back else "decides", moment)
                    for who, (life, moment) in zip(everybody, lives, strict=True)
                )
            )
        holds_back = False
        await proxy.delivered()
        assert all(await asyncio.gather(*(posting.live(who, None, "decides") for who in everybody)))
    wanted = Counter(words(str(who), number) for who in everybody for number in range(how_many))
    asked, there, overtaken = _asked(tmp_path), Counter[str](), []
    for each in spaces:
        arrived = [comment["body"]["markdown"] for comment in platform.world.store.all(f"/spaces/{each}/comments")]
        there += Counter(arrived)
        overtaken += _overtaken([words for words in arrived if words != "LGTM"])
    unasked = [pair for pair in overtaken if pair[0] not in asked]
    print(
        f"{instances} instances, {posting.kills} kills, {posting.acknowledged} acknowledged, {len(proxy.log)} requests,"
        f" {len(proxy.log) - proxy.log.count('ok')} spoiled, {proxy.log.count('hold')} held back: {len(asked)} asked,"
        f" {(there - wanted).total()} doubled, {(wanted - there).total()} lost,"
        f" {len(overtaken)} overtaken, {len(unasked)} of them unasked"
    )
    assert there - wanted == Counter(), "doubled"
    assert wanted - there == Counter(), "lost"
    assert unasked == [], "overtaken"
    platform.close()
    platform.world.store.close()
