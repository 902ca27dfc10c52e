"""Post comments through the outbox until the process is killed, or until only comments that need the user remain.

python -m tests.data.comment_process FOLDER ORIGIN SPACES USER COUNT [decides]
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation, SpaceRef
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.outbox import Outbox

T = TypeVar("T")

DEADLINE, SETTLE = 0.5, 0.5
PAGES = 11
PATIENT = 3
"""Number of searches before the user sends a comment again: they take three seconds."""


def comment_text(who: str, number: int) -> str:
    """Return the text of a comment. Every fifth comment of all users has the same text."""
    return "LGTM" if number % 5 == 0 else f"Comment {who}.{number}"


def page_of(number: int) -> str:
    """Return the page of a comment. Comments with the same text are on the same page."""
    return "p0" if number % 5 == 0 else f"p{number % PAGES}"


def space_of(number: int, spaces: list[str]) -> str:
    """Return the space of a comment, usually the first space."""
    return spaces[0 if number % 3 else -1]


class ReconnectingClient:
    """A client with a new connection for each operation, so that each operation meets its own fault."""

    def __init__(self, origin: str, deadline: float = DEADLINE) -> None:
        self._origin, self._deadline = origin, deadline
        self._test = os.getppid()

    async def __call__(self, op: Operation[T]) -> T:
        if os.getppid() != self._test:
            sys.exit("The test is over, and another may have a server at the same port.")
        client = Client(self._origin, SecretStr("key-mia"), deadline=self._deadline, rng=lambda: 0.05)
        try:
            return await client(op)
        finally:
            await client.aclose()


async def main(folder: str, origin: str, spaces: str, who: str, how_many: str, decides: str = "") -> None:
    state = StateDb(Path(folder), "mia")
    drafts = Drafts(state)
    outbox = Outbox(
        ReconnectingClient(origin),
        state,
        drafts,
        undo_seconds=0.02,
        timeout=DEADLINE,
        arrival_margin=SETTLE,
        jitter=lambda: 0.02,
    )
    outbox.start()
    print("ready", flush=True)
    for number in range(int(how_many)):
        place = f"{who}.{number}"
        known = state.rows("SELECT 1 FROM outbox WHERE json_extract(record, '$.place') = ?", place)
        known += state.rows("SELECT 1 FROM sent WHERE json_extract(record, '$.place') = ?", place)
        if not known:
            at, body = (
                SpaceRef(space_id=space_of(number, spaces.split(","))),
                Markdown(markdown=comment_text(who, number)),
            )
            await drafts.save(place, body.markdown)
            await outbox.add_all([NewWrite(comments.Create(at=at, page=page_of(number), body=body), "comment", place)])
            print(f"done {number}", flush=True)
            await asyncio.sleep(0.02)
    while any(decides or not entry.needs_user for entry in outbox.entries):
        for entry in outbox.entries:
            if decides and entry.needs_user and entry.failed_searches >= PATIENT:
                await outbox.retry(entry.id)
        await asyncio.sleep(0.05)
    await outbox.close()
    state.close()
    print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
