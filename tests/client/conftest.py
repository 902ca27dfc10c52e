"""A clock that moves only while a client sleeps, and clients that use the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from octavo.client.client import Client
from tests.client.http_server import KEY_TEXT

KEY = SecretStr(KEY_TEXT)
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Time:
    """A clock whose `sleep` returns at once. `slept` has all sleeps in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def clock(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)


@pytest.fixture
def time() -> Time:
    return Time()


Connect = Callable[..., Client]


@pytest.fixture
async def connect(time: Time) -> AsyncIterator[Connect]:
    """Return a function that creates clients with the clock of the test. They are closed after the test."""
    clients: list[Client] = []

    def make(origin: str, key: SecretStr | None = KEY, **options: Any) -> Client:
        around: dict[str, Any] = {"sleep": time.sleep, "clock": time.clock, "now": time.now, "rng": lambda: 1.0}
        client = Client(origin, key, **{**around, **options})
        clients.append(client)
        return client

    yield make
    for client in clients:
        await client.aclose()
