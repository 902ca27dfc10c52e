"""Processes that post comments are killed again and again, behind a proxy that loses requests and responses.

The proxy also delays requests until their process was killed and the next process has looked for the comments.
"""

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
from tests.data.comment_process import PAGES, comment_text
from tests.fault_proxy import FaultProxy, Toxic
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context, space_with

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
async def run_module(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Yield a process that is ready. The process is killed at the end, since the next test may reuse the port of the proxy."""
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


async def read_output(process: asyncio.subprocess.Process) -> list[str]:
    """Return the output until the process ends."""
    assert process.stdout
    return (await process.stdout.read()).decode().split("\n")


@asynccontextmanager
async def serve_platform(platform: Platform) -> AsyncIterator[int]:
    """Serve the platform on a local port. Connect through a proxy: the platform does not check the host name."""
    config = uvicorn.Config(platform, lifespan="off", ws="none", log_config=None, access_log=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        yield listener.getsockname()[1]
        server.should_exit = server.force_exit = True
        await serving


class _PostingProcess:
    """A process that posts comments, and the number of acknowledged comments."""

    def __init__(self, folder: Path, proxy: FaultProxy, spaces: list[str], how_many: int) -> None:
        self.acknowledged = self.kills = 0
        self._proxy = proxy
        self._arguments = (str(folder), proxy.origin, ",".join(spaces))
        self._how_many = str(how_many)

    async def run_and_kill(self, who: int, life: int | None, decides: str = "", moment: float = 0.0) -> bool:
        """Run until `life` requests and `moment` seconds have passed, then kill. Return True if the process finished earlier."""
        arguments = (*self._arguments, str(who), self._how_many, decides)
        async with run_module("tests.data.comment_process", *arguments) as process:
            if life is not None:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._proxy.wait_for_connections(len(self._proxy.log) + life), LONGEST_LIFE)
                await asyncio.sleep(moment)
                if process.returncode is None:
                    process.kill()
            lines = await read_output(process)
        self.acknowledged += sum(line.startswith("done ") for line in lines)
        self.kills += "finished" not in lines
        return "finished" in lines


def _places_that_needed_the_user(folder: Path) -> set[str]:
    """Return the places of comments that a search did not find: the user had to decide."""
    state = StateDb(folder, "mia")
    records = [json.loads(record) for (record,) in state.rows("SELECT record FROM sent")]
    state.close()
    return {each["place"] for each in records if each["rounds"]}


def _late_comments(arrived: list[str]) -> list[tuple[str, str]]:
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
async def test_killed_processes_lose_repeat_and_reorder_no_comment(seed: int, tmp_path: Path) -> None:
    platform, chance = Platform(small_context(Clock())), random.Random(seed)
    instances, how_many = 1 + (seed > 3), 40
    pages = {f"p{number}": f"# Page {number}" for number in range(PAGES)}
    spaces = [(await space_with(Ask(platform), **pages)).id for _ in range(2)]

    holds_back = True

    def choose_fault() -> Toxic:
        if chance.random() >= 0.45:
            return Toxic()
        return chance.choice(HELD_BACK if holds_back and chance.random() < 0.5 else TOXICS)

    async with serve_platform(platform) as port, FaultProxy("127.0.0.1", port, otherwise=choose_fault) as proxy:
        posting, everybody = _PostingProcess(tmp_path, proxy, spaces, how_many), range(instances)
        while posting.kills < KILLS:
            # The process decides for the user only while no request is delayed: otherwise a delayed request could arrive after the decision.
            holds_back = not holds_back
            if not holds_back:
                await proxy.wait_until_delivered()
            lives = [(chance.randint(0, 12), chance.uniform(0.0, 0.05)) for _ in everybody]
            await asyncio.gather(
                *(
                    posting.run_and_kill(who, life, "" if holds_back else "decides", moment)
                    for who, (life, moment) in zip(everybody, lives, strict=True)
                )
            )
        holds_back = False
        await proxy.wait_until_delivered()
        assert all(await asyncio.gather(*(posting.run_and_kill(who, None, "decides") for who in everybody)))
    wanted = Counter(comment_text(str(who), number) for who in everybody for number in range(how_many))
    decided, there, overtaken = _places_that_needed_the_user(tmp_path), Counter[str](), []
    for each in spaces:
        arrived = [comment["body"]["markdown"] for comment in platform.context.store.all(f"/spaces/{each}/comments")]
        there += Counter(arrived)
        overtaken += _late_comments([words for words in arrived if words != "LGTM"])
    undecided = [pair for pair in overtaken if pair[0] not in decided]
    print(
        f"{instances} instances, {posting.kills} kills, {posting.acknowledged} acknowledged, {len(proxy.log)} requests,"
        f" {len(proxy.log) - proxy.log.count('ok')} spoiled, {proxy.log.count('hold')} held back: {len(decided)} asked,"
        f" {(there - wanted).total()} doubled, {(wanted - there).total()} lost,"
        f" {len(overtaken)} overtaken, {len(undecided)} of them unasked"
    )
    assert there - wanted == Counter(), "doubled"
    assert wanted - there == Counter(), "lost"
    assert undecided == [], "overtaken"
    platform.close()
    platform.context.store.close()
