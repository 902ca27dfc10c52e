"""What an hour costs in which nothing happens: python -m tests.benchmarks.idle [FOLDER] [--share 1.0] [--hours 1] [--typing]

A clock that is turned, five seconds at a time, over the large demo, or a share of it: the inbox is followed, and the threads
of all places, as the app does. Said are requests, processor time and memory before and after. `octavo serve` is a process
of its own: what is measured is the client alone. `--typing`: somebody is at the keys all the while, so that it is looked
each half a minute. The large demo is made in FOLDER when it is not there.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from octavo.api import comments, organizations
from octavo.api.operation import Operation
from octavo.client.client import Client
from octavo.data import sync_queue
from octavo.data.drafts import Drafts
from octavo.data.inbox_loader import InboxLoader
from octavo.data.inbox_plan import OWNER
from octavo.data.live import Live
from octavo.data.polling import Poller
from octavo.data.queries import spaces_of
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.sync_queue import Rank
from octavo.data.writes.outbox import Outbox
from tests.benchmarks.inbox import Served, serving

STEP = timedelta(seconds=5)


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.moment


async def measure(served: Served, kept: Path, hours: float, typing: bool) -> None:
    """Let time pass, and say what it cost."""
    clock = Clock()
    client = Client(served.origin, SecretStr(served.key), now=clock)
    asked: Counter[str] = Counter()

    async def send(op: Operation[Any]) -> Any:
        asked[f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}"] += 1
        return await client(op)

    state = StateDb(kept / "state", "idle", now=clock)
    shelf = ResponseCache(kept / "cache", "idle", now=clock)
    live = Live(send, shelf, Outbox(send, state, Drafts(state)), now=clock)
    organization = (await client(organizations.List())).items[0]
    inbox = InboxLoader(live, Drafts(state), organization)
    inbox.subscribe(lambda snapshot: None)
    await inbox.refresh()
    await live.syncer.wait_idle(OWNER)
    for space in (await live.cached_or_fetch(spaces_of(organization.id))).items:
        op = comments.List(at=space.ref, status="all", format="markdown", limit=200)
        live.watch(op, lambda snapshot: None, rank=Rank.AWAITED)
    await live.wait_idle()
    poller = Poller(live, after_round=inbox.poll)
    first = sum(asked.values())
    asked.clear()
    gc.collect()
    gc.freeze()
    gc.disable()  # as the app does, which looks in pauses for what came since
    held, looks, began, processor = [_memory()], 0, clock(), 0.0
    while clock() - began < timedelta(hours=hours):
        clock.moment += STEP
        if typing:
            poller.key_pressed()
        if poller.is_due:
            start = time.process_time()
            await poller.run()
            await live.wait_idle()
            await asyncio.to_thread(shelf.flush)
            gc.collect(1)
            processor += time.process_time() - start
            looks += 1
        if clock() - began >= timedelta(hours=hours) * len(held) / 4:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            held.append(_memory())
    gc.unfreeze()
    gc.enable()
    await live.close()
    await live.outbox.close()
    await client.aclose()
    shelf.close()
    state.close()
    requests = sum(asked.values())
    print(f"{first} requests to begin with; then {requests} in {looks} looks: {dict(asked.most_common())}")
    print(f"{processor:.2f} s of a processor in {hours:g} h: {processor / hours / 36:.3f} % of one")
    print(f"memory before, and after each quarter: {', '.join(f'{each:.1f}' for each in held)} MB")


def _memory() -> float:
    """What this process holds, in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the large demo is, or is to be made")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--typing", action="store_true")
    chosen = parser.parse_args(arguments)
    sync_queue.LATER_INTERVAL = timedelta()
    with (
        tempfile.TemporaryDirectory() as made,
        tempfile.TemporaryDirectory() as kept,
        serving(chosen.folder or Path(made), chosen.share) as served,
    ):
        asyncio.run(measure(served, Path(kept), chosen.hours, chosen.typing))


if __name__ == "__main__":
    main()
