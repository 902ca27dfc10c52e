"""Fixtures: a small platform, and the client of a user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from octavo.data.live import Live
from octavo.server.app import Platform
from tests.server.small_platform import Clock, small_world
from tests.tui.asked import live_of


@pytest.fixture
def platform() -> Iterator[Platform]:
    platform = Platform(small_world(Clock()))
    yield platform
    platform.close()
    platform.world.store.close()


@pytest.fixture
async def live(platform: Platform) -> AsyncIterator[Live]:
    async with live_of(platform) as live:
        yield live
