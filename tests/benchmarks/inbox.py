"""What the inbox asks of the large demo, and how long it holds the loop: python tests/benchmarks/inbox.py [FOLDER]

The first start, a second one with nothing changed, two turns more, and one after another person acted: questions, rows,
seconds, the longest stall of the loop and the memory that came with it. `octavo serve` is a process of its own: what is
measured is the client alone. A stall is said by the clock, and by the processor time this process took meanwhile, which
is what it comes to where nothing else runs. The large demo is made in FOLDER when it is not there, which takes half a
minute.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from octavo.api import comments, organizations
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.inbox import ThreadRef
from octavo.data.inbox_loader import InboxLoader, InboxSnapshot
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
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
    """How long the loop was held at the worst, in seconds: by the clock, and of processor time."""

    def __init__(self) -> None:
        self.worst = self.worst_work = 0.0
        self.task = asyncio.get_running_loop().create_task(self._watch())

    def begin(self) -> None:
        self.worst = self.worst_work = 0.0

    async def _watch(self) -> None:
        while True:
            before, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.002)
            held = time.perf_counter() - before - 0.002
            self.worst = max(self.worst, held)
            self.worst_work = max(self.worst_work, min(held, time.process_time() - worked))


async def start(folder: Path, served: Served, wait: float, called: str, *, turns: int = 0) -> None:
    """Follow the inbox with what is kept in `folder`, until it is complete, and say what that took."""
    client = Client(served.origin, SecretStr(served.key))
    counted = Counted(client, wait)
    state, shelf = StateDb(folder / "s", "me"), ResponseCache(folder / "c", "me")
    drafts = Drafts(state)
    outbox = Outbox(counted, state, drafts)
    live = Live(counted, shelf, outbox)
    (organization,) = (await client(organizations.List())).items
    seen: list[tuple[float, InboxSnapshot]] = []
    gc.collect()
    gc.disable()  # as the app does, which looks for what can be freed in pauses
    stalls = Stalls()
    await asyncio.sleep(0.01)  # it is looking
    began, memory = time.perf_counter(), _memory()
    inbox = InboxLoader(live, drafts, organization)
    inbox.subscribe(lambda snapshot: seen.append((time.perf_counter() - began, snapshot)))
    await inbox.refresh()
    _say(called, counted, inbox.snapshot(), time.perf_counter() - began, stalls, seen, memory)
    for _ in range(turns):
        began = time.perf_counter()
        seen.clear()
        counted.asked.clear()
        await asyncio.sleep(0.01)
        stalls.begin()
        await inbox.refresh()
        _say("  a turn more", counted, inbox.snapshot(), time.perf_counter() - began, stalls, seen, memory)
    if turns:
        await _another_person(inbox, served, counted)
    stalls.task.cancel()
    gc.enable()
    await live.close()
    await outbox.close()
    await client.aclose()
    shelf.flush()
    shelf.close()
    state.close()


async def _another_person(inbox: InboxLoader, served: Served, counted: Counted) -> None:
    """Somebody replies where the person is in a thread: how many turns until it is a row."""
    mine = next(row.target for row in inbox.snapshot().rows if row.reason == "new replies")
    assert isinstance(mine, ThreadRef)
    was = {row.key: row.stamp for row in inbox.snapshot().rows}
    other = Client(served.origin, SecretStr(served.key_of_another))
    await other(comments.CreateReply(at=mine.at, comment_id=mine.comment_id, body=Markdown(markdown="One thing more.")))
    await other.aclose()
    for turn in range(1, 200):
        await inbox.refresh()
        if any(row.target == mine and was.get(row.key) != row.stamp for row in inbox.snapshot().rows):
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
    gc.collect()  # the app does so in pauses
    first = next((f"{at:.2f}" for at, each in seen if each.rows), "-")
    print(
        f"{called}: {counted.asked.total()} questions, {len(now.rows)} rows, {seconds:.1f} s, first rows after {first} s,"
        f" shown {len(seen)} times, longest stall {stalls.worst * 1000:.0f} ms (work {stalls.worst_work * 1000:.0f} ms),"
        f" {_memory() - memory:+.0f} MB"
    )
    print("  ", ", ".join(f"{name} {number}" for name, number in counted.asked.most_common()))
    print("  ", ", ".join(f"{reason} {number}" for reason, number in Counter(row.reason for row in now.rows).items()))
    if now.unknown.summary or now.failed:
        print("  ", now.unknown.summary, now.failed)


def _memory() -> float:
    """Megabytes this process has now, those it shares left out."""
    pages = Path("/proc/self/statm").read_text("ascii").split()
    return (int(pages[1]) - int(pages[2])) * resource.getpagesize() / 1e6


@dataclass(frozen=True)
class Served:
    """A platform in a process of its own, and the keys of two people."""

    origin: str
    key: str
    key_of_another: str


def make(folder: Path, share: float) -> None:
    """Let the large demo, or a `share` of it, be in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "platform.db")
    if store.setting("library") is None:
        world = World(store)
        library.build(world, today=world.now(), large=share)
        store.set_setting("library", "demo")
    store.close()


@contextmanager
def serving(folder: Path, share: float) -> Iterator[Served]:
    """The large demo in `folder`, or a `share` of it, served until the block ends."""
    make(folder, share)
    store = Store(folder / "platform.db")
    another = next(each["id"] for each in store.all("/users") if each["id"] != DEFAULT_PERSON.id)
    store.add_key(f"key-{another}", another)
    store.close()
    command = [sys.executable, "-m", "octavo", "serve", "--data", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            origin = process.stdout.readline().strip().removeprefix("Serving on ")
            yield Served(origin, (folder / "key").read_text("utf-8").strip(), f"key-{another}")
        finally:
            process.terminate()


def main(argv: Sequence[str] | None = None) -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", nargs="?", type=Path, help="where the large demo is, or is to be made")
    asked.add_argument("--share", type=float, default=1.0, help="of the large demo, when it is made")
    asked.add_argument("--wait", type=float, default=0.05, help="seconds before each question")
    asked.add_argument(
        "--kept", type=Path, help="what earlier rounds kept, or where to keep it: then only a second start"
    )
    chosen = asked.parse_args(argv)
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as kept:
        folder = chosen.kept or Path(kept)
        with serving(chosen.folder or Path(made), chosen.share) as served:
            if chosen.kept is None or not chosen.kept.exists():
                folder.mkdir(parents=True, exist_ok=True)
                asyncio.run(start(folder, served, chosen.wait, "first start"))
            asyncio.run(start(folder, served, chosen.wait, "second start", turns=2))


if __name__ == "__main__":
    main()
