"""Apply a suggestion and resolve its thread, until the process is killed or both are done.

python -m tests.data.suggestion_process FOLDER ORIGIN SPACE CHANGE_REQUEST
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from octavo.api import comments
from octavo.api.operation import ChangeRequestRef
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.direct import finish_unfinished, unfinished_writes
from octavo.data.writes.outbox import Outbox
from octavo.data.writes.text_edits import apply_suggestions, resolve_write, suggested_texts
from tests.data.comment_process import SETTLE, ReconnectingClient

DEADLINE = 30.0
"""Seconds until a request times out. No request is lost on its way, so the value is large enough for a busy machine."""


async def _sleep_briefly(seconds: float) -> None:
    await asyncio.sleep(seconds / 200)


async def main(folder: str, origin: str, space: str, change_request: str) -> None:
    state = StateDb(Path(folder), "mia", sleep=_sleep_briefly)
    send = ReconnectingClient(origin, DEADLINE)
    outbox = Outbox(send, state, Drafts(state), undo_seconds=0.02, timeout=DEADLINE, arrival_margin=SETTLE)
    live = Live(send, ResponseCache(None, "mia"), outbox)
    outbox.start()
    print("ready", flush=True)
    at = ChangeRequestRef(space_id=space, change_request_id=change_request)
    for write in unfinished_writes(state):
        await finish_unfinished(live, write)
    (thread,) = (await send(comments.List(at=at, status="all", format="markdown"))).items
    if thread.is_open and not outbox.entries:
        # The user presses the key again only if the suggestion is not applied.
        await apply_suggestions(live, at, suggested_texts(thread, thread), [resolve_write(at, thread, "")])
        print("applied", flush=True)
    while outbox.entries:
        await outbox.send_now()
        await asyncio.sleep(0.02)
    await outbox.close()
    state.close()
    print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
