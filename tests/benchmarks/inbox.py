"""What the inbox asks of the large demo, and how long it holds the loop: python tests/benchmarks/inbox.py [FOLDER]

The first start, a second one with nothing changed, one turn more, and one after another person acted: questions, rows,
seconds, the longest stall of the loop and the memory that came with it. The large demo is made in FOLDER when it is not
there, which takes half a minute.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from octavo.api import comments, organizations, users
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.inbox import ThreadRef
from octavo.data.inbox_answers import InboxAnswers, InboxSnapshot
from octavo.data.live import Live
from octavo.data.outbox import Outbox
from octavo.data.response_cache import ResponseCache
from octavo.data.state import State
from octavo.server.app import Platform
from octavo.server.demo import library
from octavo.server.demo.people import DEFAULT_PERSON
from octavo.server.store import Store
from octavo.server.world import World


class Counted:
    """The client, with a wait before each question, and what was asked."""

    def __init__(self, client: Client, wait: float) -> None:
        self.client, self.wait = client, wait
        self.asked: Counter[str] = Counter()

    async def __call__(self, op: Operation[Any]) -> Any:
        self.asked[f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}"] += 1
        await asyncio.sleep(self.wait)
        return await self.client(op)


class Stalls:
    """How long the loop was held, at the worst."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.002)
            self.worst = max(self.worst, time.perf_counter() - before - 0.002)


async def start(folder: Path, platform: Platform, key: str, wait: float, called: str, *, turns: int = 0) -> None:
    client = Client("http://octavo.test", SecretStr(key), transport=platform)
    counted = Counted(client, wait)
    state, shelf = State(folder / "s", "me"), ResponseCache(folder / "c", "me")
    drafts = Drafts(state)
    outbox = Outbox(counted, state, drafts)
    live = Live(counted, shelf, outbox)
    (organization,) = (await client(organizations.List())).items
    seen: list[tuple[float, InboxSnapshot]] = []
    stalls, began, memory = Stalls(), time.perf_counter(), _memory()
    inbox = InboxAnswers(live, drafts, organization)
    inbox.watch(lambda snapshot: seen.append((time.perf_counter() - began, snapshot)))
    await inbox.refresh()
    _say(called, counted, inbox.now(), time.perf_counter() - began, stalls, seen, memory)
    for _ in range(turns):
        began = time.perf_counter()
        seen.clear()
        counted.asked.clear()
        stalls.worst = 0.0
        await inbox.refresh()
        _say("  a turn more", counted, inbox.now(), time.perf_counter() - began, stalls, seen, memory)
    if turns:
        await _another_person(inbox, platform, counted)
    stalls.task.cancel()
    await live.close()
    await outbox.close()
    await client.aclose()
    shelf.flush()
    shelf.close()
    state.close()


async def _another_person(inbox: InboxAnswers, platform: Platform, counted: Counted) -> None:
    """Somebody replies where the person is in a thread: how many turns until it is a row."""
    mine = next(row.about for row in inbox.now().rows if row.reason == "new replies")
    assert isinstance(mine, ThreadRef)
    was = {row.key: row.stamp for row in inbox.now().rows}
    me = (await counted.client(users.Me())).id
    key = next(f"key-{each['id']}" for each in platform.world.store.all("/users") if each["id"] != me)
    other = Client("http://octavo.test", SecretStr(key), transport=platform)
    await other(comments.CreateReply(at=mine.at, comment_id=mine.comment_id, body=Markdown(markdown="One thing more.")))
    await other.aclose()
    for turn in range(1, 200):
        await inbox.refresh()
        if any(row.about == mine and was.get(row.key) != row.stamp for row in inbox.now().rows):
            print(f"  a reply of another person is there after {turn} turns")
            return
    print("  a reply of another person was not found in 200 turns")


def _say(
    called: str,
    counted: Counted,
    now: InboxSnapshot,
    seconds: float,
    stalls: Stalls,
    seen: list[tuple[float, InboxSnapshot]],
    memory: float,
) -> None:
    first = next((f"{at:.2f}" for at, each in seen if each.rows), "-")
    print(
        f"{called}: {counted.asked.total()} questions, {len(now.rows)} rows, {seconds:.1f} s, first rows after {first} s,"
        f" shown {len(seen)} times, longest stall {stalls.worst * 1000:.0f} ms, {_memory() - memory:+.0f} MB"
    )
    print("  ", ", ".join(f"{name} {number}" for name, number in counted.asked.most_common()))
    print("  ", ", ".join(f"{reason} {number}" for reason, number in Counter(row.reason for row in now.rows).items()))
    if now.unknown.words or now.failed:
        print("  ", now.unknown.words, now.failed)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    is_new = not (folder / "large.db").exists()
    world = World(Store(folder / "large.db"))
    if is_new:
        library.build(world, today=world.now(), large=1.0)
    for user in world.store.all("/users"):
        world.store.add_key(f"key-{user['id']}", user["id"])
    platform = Platform(world)
    with tempfile.TemporaryDirectory() as kept:
        asyncio.run(start(Path(kept), platform, f"key-{DEFAULT_PERSON.id}", 0.05, "first start"))
        asyncio.run(start(Path(kept), platform, f"key-{DEFAULT_PERSON.id}", 0.05, "second start", turns=2))
    platform.close()
    world.store.close()


if __name__ == "__main__":
    main()
