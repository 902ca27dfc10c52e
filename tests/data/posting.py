"""Posts comments through the outbox until it is killed or has nothing left to post.

python -m tests.data.posting FOLDER ORIGIN SPACE HOW_MANY
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.api.places import SpaceRef
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.outbox import Outbox
from octavo.data.state import State

T = TypeVar("T")

DEADLINE, SETTLE = 0.5, 0.5


def words(number: int) -> str:
    """What the comment of this number says: every fifth says the same."""
    return "LGTM" if number % 5 == 0 else f"Comment {number}"


class Anew:
    """A client with a connection of its own for each operation, so that each meets a fault of its own."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    async def __call__(self, op: Operation[T]) -> T:
        client = Client(self._origin, SecretStr("key-mia"), deadline=DEADLINE, rng=lambda: 0.05)
        try:
            return await client(op)
        finally:
            await client.aclose()


async def main(folder: str, origin: str, space: str, how_many: str) -> None:
    state = State(Path(folder), "mia")
    drafts = Drafts(state)
    outbox = Outbox(
        Anew(origin), state, drafts, undo_seconds=0.02, timeout=DEADLINE, settle=SETTLE, jitter=lambda: 0.02
    )
    outbox.start()
    print("ready", flush=True)
    at = SpaceRef(space_id=space)
    for number in range(int(how_many)):
        known = state.rows("SELECT 1 FROM outbox WHERE json_extract(record, '$.place') = ?", f"c{number}")
        known += state.rows("SELECT 1 FROM sent WHERE json_extract(record, '$.place') = ?", f"c{number}")
        if not known:
            await drafts.save(f"c{number}", words(number))
            await outbox.add(
                comments.Create(at=at, body=Markdown(markdown=words(number))), doing="comment", place=f"c{number}"
            )
            print(f"done {number}", flush=True)
            await asyncio.sleep(0.02)
    while outbox.entries:
        for entry in outbox.entries:
            if entry.asks:
                await outbox.retry(entry.id)
        await asyncio.sleep(0.05)
    await outbox.close()
    state.close()
    print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
