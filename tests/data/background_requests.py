"""Waiting for the requests of the data layer."""

from __future__ import annotations

from typing import Any

from octavo.data.live import Live
from octavo.data.syncer import Syncer


def is_fetching(syncer: Syncer[Any]) -> bool:
    """Return whether a request is running or about to start."""
    return bool(syncer._tasks) or syncer._is_start_scheduled


def is_busy(live: Live) -> bool:
    """Return whether a background request is running or about to start."""
    return bool(live._tasks) or is_fetching(live.syncer)


async def wait_fetched(syncer: Syncer[Any]) -> None:
    """Wait until no request is running or about to start. Raises unexpected errors of requests."""
    while is_fetching(syncer):
        await syncer._tasks.wait_idle()
        if syncer._is_start_scheduled:
            await syncer.wait_change()


async def wait_idle(live: Live) -> None:
    """Wait until no background request is running. Raises unexpected errors of these requests. An ApiError is not raised:
    it is in the snapshot."""
    while is_busy(live):
        await live._tasks.wait_idle()
        await wait_fetched(live.syncer)
