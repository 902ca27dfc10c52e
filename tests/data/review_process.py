"""Write pending comments and submit them with a review, until the process is killed or everything is sent.

python -m tests.data.review_process FOLDER ORIGIN SPACE CHANGE_REQUEST REVISION
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import ChangeRequestRef
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.change_request_writes import submit_review
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.outbox import Outbox
from octavo.documents.source_reader import parse
from tests.data.comment_process import DEADLINE, SETTLE, ReconnectingClient

WORDS = (
    "One word too many.",
    "Same here.",
    "Same here.",
    "```suggestion\nHello, reader and writer.\n```",
    "- a list\n- of two",
)
NODE = next(block.key for block in parse("# Intro\n\nHello, reader.").walk() if block.kind == "paragraph")
VERDICT = "Two things to mend."
PLACE = "verdict"


async def main(folder: str, origin: str, space: str, change_request: str, revision: str) -> None:
    state = StateDb(Path(folder), "mia")
    drafts, send = Drafts(state), ReconnectingClient(origin)
    outbox = Outbox(
        send, state, drafts, undo_seconds=0.02, timeout=DEADLINE, arrival_margin=SETTLE, jitter=lambda: 0.02
    )
    live = Live(send, ResponseCache(None, "mia"), outbox)
    outbox.start()
    print("ready", flush=True)
    at = ChangeRequestRef(space_id=space, change_request_id=change_request)

    def is_known(place: str) -> bool:
        where = "WHERE json_extract(record, '$.place') = ?"
        return any(state.rows(f"SELECT 1 FROM {table} {where}", place) for table in ("outbox", "sent"))

    for number, words in enumerate(WORDS):
        if not is_known(f"c{number}"):
            op = comments.Create(at=at, page="intro", node=NODE, body=Markdown(markdown=words))
            await outbox.add_pending_comments([NewWrite(op, "comment", f"c{number}")])
            print(f"added {number}", flush=True)
            await asyncio.sleep(0.05)
    while not is_known(PLACE):
        await submit_review(live, at, "changes-requested", revision, VERDICT, action="ask for changes", draft_key=PLACE)
        await asyncio.sleep(0.05)
    while outbox.entries:
        for entry in outbox.entries:
            if entry.needs_user:
                await outbox.retry(entry.id)
        await asyncio.sleep(0.05)
    await outbox.close()
    state.close()
    print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
