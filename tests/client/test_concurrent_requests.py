"""Concurrent requests: the limit of requests at the same time, and cancellation."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import httpx
import pytest

from octavo.api import users
from octavo.api.errors import Lost
from tests.client.conftest import Connect, Time
from tests.client.test_client import ME, POST


class BlockedApp:
    """An ASGI application that sends no response before `open` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = 0
        self.most = 0
        self.requests: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests.append(f"{scope['method']} {scope['path']}")
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-n", b"1"), (b"x-n", b"2")]})
        await send({"type": "http.response.body", "body": b'{"id":"mia","postedBy":{"id":"mia"}}'})


async def run_ready_tasks() -> None:
    """Run the event loop until no task can continue."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_connection_keeps_no_context_of_its_caller(connect: Connect) -> None:
    dialog: ContextVar[object] = ContextVar("dialog")
    seen: list[object] = []

    class Connection(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            seen.append(dialog.get(None))
            return httpx.Response(200, stream=httpx.ByteStream(b'{"id":"mia"}'))

    dialog.set("Merge?")
    await connect("http://octavo.local", transport=Connection())(ME)
    assert seen == [None]


async def test_client_reports_the_longest_running_request(connect: Connect, time: Time) -> None:
    gate = BlockedApp()
    client = connect("http://octavo.local", transport=gate)
    assert client.response_wait == 0
    asking = asyncio.create_task(client(ME))
    await run_ready_tasks()
    time.seconds += 7
    later = asyncio.create_task(client(POST))
    await run_ready_tasks()
    assert client.response_wait == 7, "the longest wait counts"
    gate.open.set()
    await asyncio.gather(asking, later)
    assert client.response_wait == 0


async def test_equal_writes_are_sent_separately(connect: Connect) -> None:
    gate = BlockedApp()
    gate.open.set()
    client = connect("http://octavo.local", transport=gate)
    await asyncio.gather(client(POST), client(POST))
    assert len(gate.requests) == 2


async def test_request_without_callers_is_canceled(connect: Connect) -> None:
    gate = BlockedApp()
    client = connect("http://octavo.local", transport=gate)
    task = asyncio.create_task(client(ME))
    await run_ready_tasks()
    task.cancel()
    await run_ready_tasks()
    assert gate.inside == 0
    assert client.activity[-1].error == "The API request was canceled."
    gate.open.set()
    assert (await client(ME)).id == "mia"


async def test_six_requests_run_at_once(connect: Connect) -> None:
    gate = BlockedApp()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(client(users.Get(user_id=f"n{n}"))) for n in range(10)]
    await run_ready_tasks()
    assert gate.inside == 6
    gate.open.set()
    await asyncio.gather(*tasks)
    assert gate.most == 6


async def test_application_without_a_response_is_a_lost_response(connect: Connect) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"

    with pytest.raises(Lost):
        await connect("http://octavo.local", transport=app)(ME)


async def test_closed_client_cancels_running_requests(connect: Connect) -> None:
    gate = BlockedApp()
    client = connect("http://octavo.local", transport=gate)
    task = asyncio.create_task(client(ME))
    await run_ready_tasks()
    await client.aclose()
    await run_ready_tasks()
    assert task.cancelled()
    assert gate.inside == 0


@pytest.mark.parametrize("turns", range(6))
async def test_close_waits_for_canceled_requests_to_release_resources(connect: Connect, turns: int) -> None:
    released: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            released.append("the connection")

    client = connect("http://octavo.local", transport=app)
    task = asyncio.create_task(client(ME))
    await run_ready_tasks()
    task.cancel()  # The caller cancels some turns before the client closes: resources are released once, and aclose() waits until then.
    for _ in range(turns):
        await asyncio.sleep(0)
    await client.aclose()
    assert released == ["the connection"]


async def test_canceled_request_in_the_queue_frees_its_slot(connect: Connect) -> None:
    gate = BlockedApp()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(client(users.Get(user_id=f"n{n}"))) for n in range(14)]
    await run_ready_tasks()
    for each in (*tasks[:2], *tasks[7:10]):
        each.cancel()
    await run_ready_tasks()
    assert gate.inside == 6
    gate.open.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert gate.requests == [f"GET /v1/users/n{n}" for n in (0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13)]
