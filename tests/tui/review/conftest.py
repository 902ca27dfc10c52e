"""Fixtures: a small platform, and the client of a user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.outbox import Outbox
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Clock, small_context


async def no_sleep(seconds: float) -> None:
    pass


@pytest.fixture
def platform() -> Iterator[Platform]:
    platform = Platform(small_context(Clock()))
    yield platform
    platform.close()
    platform.context.store.close()


@pytest.fixture
async def live(platform: Platform) -> AsyncIterator[Live]:
    """Yield the data layer of the user ada, without an app."""
    client = Client("http://octavo.local", SecretStr("key-ada"), transport=platform, sleep=no_sleep)
    state, cache = StateDb(None, "ada@test", sleep=no_sleep), ResponseCache(None, "ada@test")
    live = Live(client, cache, Outbox(client, state, Drafts(state)))
    yield live
    await live.close()
    await live.outbox.close()
    await client.aclose()
    cache.close()
    state.close()
