"""Comments posted by a process that is killed again and again, through a proxy that loses requests and answers."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from octavo.server.app import Platform
from tests.data.posting import words
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


async def _post(
    folder: Path, proxy: FaultProxy, space: str, how_many: int, kill_after: float | None
) -> tuple[bool, int]:
    """Whether it finished, and how many comments were acknowledged to be on disk."""
    arguments = (str(folder), proxy.origin, space, str(how_many))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.data.posting", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    assert await process.stdout.readline() == b"ready\n"
    if kill_after is not None:
        await asyncio.sleep(kill_after)
        if process.returncode is None:
            process.kill()
    said = (await process.stdout.read()).decode().split("\n")
    await process.wait()
    return "finished" in said, sum(line.startswith("done ") for line in said)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("instances", [1, 2])
async def test_nothing_is_lost_and_nothing_is_doubled(instances: int, tmp_path: Path) -> None:
    platform = Platform(small_world(Clock()))
    space = (await space_with(Ask(platform), intro="# Intro")).id
    chance, kills, how_many = random.Random(11), 0, 60
    acknowledged = 0

    def toxic() -> Toxic:
        return chance.choice(TOXICS) if chance.random() < 0.4 else Toxic()

    async with served(platform) as port, FaultProxy("127.0.0.1", port, otherwise=toxic) as proxy:
        while kills < 30:
            lives = [chance.uniform(0.1, 0.9) for _ in range(instances)]
            # Only the first one writes; the others are there to drive as well.
            counts = [how_many if number == 0 else 0 for number in range(instances)]
            ends = await asyncio.gather(
                *(_post(tmp_path, proxy, space, count, life) for count, life in zip(counts, lives, strict=True))
            )
            kills += sum(not finished for finished, _ in ends)
            acknowledged += sum(count for _, count in ends)
            if all(finished for finished, _ in ends):
                break
        finished, last = await _post(tmp_path, proxy, space, how_many, None)
    assert finished
    there = Counter(comment["body"]["markdown"] for comment in platform.world.store.all(f"/spaces/{space}/comments"))
    wanted = Counter(words(number) for number in range(how_many))
    print(f"{kills} kills, {acknowledged + last} acknowledged, {len(proxy.log)} connections: {Counter(proxy.log)}")
    assert there - wanted == Counter(), "doubled"
    assert wanted - there == Counter(), "lost"
    assert kills >= 30, "It was not killed often enough to mean anything"
    platform.close()
    platform.world.store.close()
