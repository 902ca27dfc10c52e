from __future__ import annotations

from collections.abc import Iterator

import pytest

from octavo.server.app import Platform
from octavo.server.rest import World
from tests.server.small_platform import Ask, Clock, small_world


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> Iterator[World]:
    """Yield the small world of `tests.server.small_platform`."""
    world = small_world(clock)
    yield world
    world.store.close()


@pytest.fixture
def platform(world: World) -> Iterator[Platform]:
    platform = Platform(world)
    yield platform
    platform.close()


@pytest.fixture
def ask(platform: Platform) -> Ask:
    return Ask(platform)
