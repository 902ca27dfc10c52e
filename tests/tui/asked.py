"""Send requests without an app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from octavo.server.app import Platform


@asynccontextmanager
async def live_of(platform: Platform) -> AsyncIterator[Live]:
    """Yield a `Live` of the user ada for a platform."""

    async def no_sleep(seconds: float) -> None:
        pass

    client = Client("http://octavo.local", SecretStr("key-ada"), transport=platform, sleep=no_sleep)
    state, shelf = StateDb(None, "ada@test"), ResponseCache(None, "ada@test")
    live = Live(client, shelf, Outbox(client, state, Drafts(state)))
    yield live
    await live.close()
    await live.outbox.close()
    await client.aclose()
    shelf.close()
    state.close()
