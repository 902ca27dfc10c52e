"""The embedded platform, a client, and the parts of the data layer, with a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api.operation import Discussion, SpaceRef
from octavo.api.users import User
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.sync_queue import NeededResponse
from octavo.data.syncer import Syncer
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox, UndoResult, WriteGroup
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context, space_with

MIA = User(id="mia", display_name="Mia Lund")


class ManualOutbox(Outbox):
    """An outbox that sends only when a test calls `step` or `send_due`, and that undoes the newest writes first."""

    groups: list[WriteGroup] | None = None

    def start(self) -> None:
        pass

    async def add_all(self, writes: Sequence[NewWrite]) -> tuple[OutboxEntry, ...]:
        return self._record(await super().add_all(writes))

    async def add_pending_comments(self, writes: Sequence[NewWrite]) -> tuple[OutboxEntry, ...]:
        return self._record(await super().add_pending_comments(writes))

    async def submit_review(
        self,
        at: Discussion,
        last: NewWrite | None = None,
        *,
        once_key: str = "",
        comment_ids: Collection[str] | None = None,
    ) -> tuple[OutboxEntry, ...]:
        return self._record(await super().submit_review(at, last, once_key=once_key, comment_ids=comment_ids))

    def _record(self, entries: tuple[OutboxEntry, ...]) -> tuple[OutboxEntry, ...]:
        if entries:
            group = WriteGroup(tuple(entry.id for entry in entries), entries[-1].review)
            self.groups = [*(self.unsent_groups if self.groups is None else self.groups), group]
        return entries

    async def undo_newest(self) -> UndoResult | None:
        """Undo the newest writes of which something is left to undo, as `WriteQueue.undo` does."""
        self.groups = list(self.unsent_groups) if self.groups is None else self.groups
        while self.groups:
            group, result = self.groups[-1], await self.undo(self.groups[-1])
            del self.groups[-1]
            if result is not None:
                self.groups += [group._replace(entry_ids=result.sending_ids)] if result.sending_ids else []
                return result
        return None

    async def get_lock(self) -> None:
        """Get the lock that lets this outbox send."""
        await self._worker._take_over()

    async def step(self) -> float:
        """Take the next step that is due. Return the seconds until the following step."""
        entry, wait = await self._worker._next_due_entry()
        if entry is not None:
            await self._worker._take_step(entry)
        return wait

    async def send_due(self) -> None:
        """Take all steps that are due."""
        while await self.step() == 0:
            pass


class FixedPlanner:
    """A planner whose needed responses do not depend on other responses."""

    def __init__(self, owner: str, needed_responses: Iterable[NeededResponse]) -> None:
        self.owner, self._needed = owner, tuple(needed_responses)

    def needed_responses(self) -> Iterable[NeededResponse]:
        return self._needed

    def on_response(self, needed: NeededResponse, value: Any) -> Iterable[NeededResponse]:
        return ()


def damage_cache_files(folder: Path) -> None:
    for path in folder.glob("cache-v*"):
        path.write_bytes(b"?" * path.stat().st_size)


def run_sync(syncer: Syncer[Any], owner: str, needed_responses: Iterable[NeededResponse]) -> None:
    """Start a sync of the responses that `owner` needs."""
    syncer.run(FixedPlanner(owner, needed_responses))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def platform(clock: Clock) -> Iterator[Platform]:
    platform = Platform(small_context(clock))
    yield platform
    platform.close()
    platform.context.store.close()


@pytest.fixture
def ask(platform: Platform) -> Ask:
    return Ask(platform)


@pytest.fixture
async def here(ask: Ask) -> SpaceRef:
    """A space with two pages, `intro` and `usage`."""
    return (await space_with(ask, intro="# Intro\n\nHello.", usage="# Usage\n\nPress a key.")).ref


@pytest.fixture
def user() -> str:
    """Return the id of the user that the client signs in as."""
    return "mia"


@pytest.fixture
async def client(platform: Platform, user: str) -> AsyncIterator[Client]:
    async def no_sleep(seconds: float) -> None:
        pass

    client = Client("http://octavo.test", SecretStr(f"key-{user}"), transport=platform, sleep=no_sleep)
    yield client
    await client.aclose()


@pytest.fixture
def gate(client: Client) -> RequestGate:
    """Return the client behind a gate."""
    return RequestGate(client)


@pytest.fixture
def state(clock: Clock) -> Iterator[StateDb]:

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    state = StateDb(None, "mia@test", now=clock, sleep=sleep)
    yield state
    state.close()


@pytest.fixture
def drafts(state: StateDb) -> Drafts:
    return Drafts(state)


@pytest.fixture
async def outbox(gate: RequestGate, state: StateDb, drafts: Drafts) -> AsyncIterator[ManualOutbox]:
    outbox = ManualOutbox(gate, state, drafts, me=MIA, jitter=lambda: 0.0)
    yield outbox
    await outbox.close()


@pytest.fixture
def cache(clock: Clock) -> Iterator[ResponseCache]:
    cache = ResponseCache(None, "mia@test", now=clock)
    yield cache
    cache.close()


@pytest.fixture
async def live(gate: RequestGate, cache: ResponseCache, outbox: ManualOutbox, clock: Clock) -> AsyncIterator[Live]:
    live = Live(gate, cache, outbox, now=clock)
    yield live
    await live.close()
