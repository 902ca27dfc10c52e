from __future__ import annotations

from collections.abc import Iterator

import pytest

from octavo.server.rest import RequestContext
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def context(clock: Clock) -> Iterator[RequestContext]:
    """Yield the request context of `tests.server.small_platform`."""
    context = small_context(clock)
    yield context
    context.store.close()


@pytest.fixture
def platform(context: RequestContext) -> Iterator[Platform]:
    platform = Platform(context)
    yield platform
    platform.close()


@pytest.fixture
def ask(platform: Platform) -> Ask:
    return Ask(platform)
