"""Several requests at once: those that share an answer, those that wait their turn, those that are given up."""

from __future__ import annotations

import asyncio
import gc
from contextvars import ContextVar
from typing import Any

import pytest

from octavo.api import users
from octavo.api.errors import Lost, NotFound
from octavo.api.urgency import IsWaitedFor, with_urgency
from tests.client.conftest import Connect, Time
from tests.client.test_client import ME, POST


class Gate:
    """An application that answers when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = 0
        self.most = 0
        self.asked: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(f"{scope['method']} {scope['path']}")
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-n", b"1"), (b"x-n", b"2")]})
        await send({"type": "http.response.body", "body": b'{"id":"mia","postedBy":{"id":"mia"}}'})


async def settle() -> None:
    """Let everything that can go on go on."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_same_read_is_asked_once(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(client(ME)) for _ in range(5)]
    await settle()
    gate.open.set()
    assert [(await task).id for task in tasks] == ["mia"] * 5
    assert len(gate.asked) == 1
    await client(ME)
    assert len(gate.asked) == 2


async def test_a_read_under_way_keeps_nothing_of_who_asked(connect: Connect) -> None:
    dialog: ContextVar[object] = ContextVar("dialog")
    seen: list[object] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dialog.get(None))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"id":"mia"}'})

    dialog.set("Merge?")
    await connect("http://octavo.local", transport=app)(ME)
    assert seen == [None]


async def test_how_long_an_answer_is_waited_for_is_known_while_it_is(connect: Connect, time: Time) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    assert client.waited == 0
    asking = asyncio.create_task(client(ME))
    await settle()
    time.seconds += 7
    later = asyncio.create_task(client(POST))
    await settle()
    assert client.waited == 7, "the longest counts"
    gate.open.set()
    await asyncio.gather(asking, later)
    assert client.waited == 0


async def test_the_same_write_is_sent_as_often_as_it_was_asked(connect: Connect) -> None:
    gate = Gate()
    gate.open.set()
    client = connect("http://octavo.local", transport=gate)
    await asyncio.gather(client(POST), client(POST))
    assert len(gate.asked) == 2


async def test_who_leaves_does_not_take_the_answer_from_others(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    first, second = asyncio.create_task(client(ME)), asyncio.create_task(client(ME))
    await settle()
    first.cancel()
    await settle()
    gate.open.set()
    assert (await second).id == "mia"
    assert first.cancelled()


async def test_what_nobody_waits_for_is_given_up(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    task = asyncio.create_task(client(ME))
    await settle()
    task.cancel()
    await settle()
    assert gate.inside == 0
    assert client.activity[-1].error == "The API request was canceled."
    gate.open.set()
    assert (await client(ME)).id == "mia"


async def test_a_read_after_a_write_does_not_join_one_from_before(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    before, write = asyncio.create_task(client(ME)), asyncio.create_task(client(POST))
    await settle()
    write.cancel()
    await settle()
    after = asyncio.create_task(client(ME))
    await settle()
    gate.open.set()
    await asyncio.gather(before, after)
    assert gate.asked.count("GET /v1/user") == 2


async def test_a_failure_reaches_everyone_who_waits(connect: Connect) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body"})

    client = connect("http://octavo.local", transport=app)
    found = await asyncio.gather(client(ME), client(ME), return_exceptions=True)
    assert [type(each) for each in found] == [NotFound, NotFound]
    gc.collect()


async def test_six_are_asked_at_once(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(client(users.Get(user_id=f"n{n}"))) for n in range(10)]
    await settle()
    assert gate.inside == 6
    gate.open.set()
    await asyncio.gather(*tasks)
    assert gate.most == 6


async def test_an_application_that_says_nothing_is_a_lost_answer(connect: Connect) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"

    with pytest.raises(Lost):
        await connect("http://octavo.local", transport=app)(ME)


async def test_a_closed_client_gives_up_what_is_under_way(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    task = asyncio.create_task(client(ME))
    await settle()
    await client.aclose()
    await settle()
    assert task.cancelled()
    assert gate.inside == 0


@pytest.mark.parametrize("turns", range(6))
async def test_a_closed_client_has_waited_until_what_it_gave_up_gave_back_what_it_had(
    connect: Connect, turns: int
) -> None:
    given_back: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            given_back.append("the connection")

    client = connect("http://octavo.local", transport=app)
    task = asyncio.create_task(client(ME))
    await settle()
    task.cancel()  # who asked leaves, and a few turns later the client is closed: whoever gives back is told only once
    for _ in range(turns):
        await asyncio.sleep(0)
    await client.aclose()
    assert given_back == ["the connection"]


async def ask_patiently(client: Any, op: Any, is_waited_for: IsWaitedFor = lambda: False) -> Any:
    with with_urgency(is_waited_for):
        return await client(op)


async def test_what_is_waited_for_goes_before_all_that_nobody_waits_for(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(ask_patiently(client, users.Get(user_id=f"n{n}"))) for n in range(40)]
    await settle()
    assert gate.inside == 4, "there is room for who waits"
    tasks.append(asyncio.create_task(client(ME)))
    await settle()
    assert gate.asked[4:] == ["GET /v1/user"]
    tasks += [asyncio.create_task(client(users.Get(user_id=f"w{n}"))) for n in range(3)]
    await settle()
    assert gate.inside == 6
    gate.open.set()
    await asyncio.gather(*tasks)
    assert gate.asked[5:8] == [f"GET /v1/users/w{n}" for n in range(3)]
    assert gate.most == 6


async def test_what_waits_in_the_line_goes_ahead_as_soon_as_somebody_waits_for_it(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(ask_patiently(client, users.Get(user_id=f"n{n}"))) for n in range(40)]
    await settle()
    tasks.append(asyncio.create_task(client(users.Get(user_id="n39"))))
    await settle()
    assert gate.asked[4:] == ["GET /v1/users/n39"]
    gate.open.set()
    await asyncio.gather(*tasks)
    assert len(gate.asked) == 40


async def test_who_is_given_up_in_the_line_leaves_no_gap_in_it(connect: Connect) -> None:
    gate = Gate()
    client = connect("http://octavo.local", transport=gate)
    tasks = [asyncio.create_task(ask_patiently(client, users.Get(user_id=f"n{n}"))) for n in range(12)]
    await settle()
    for each in (*tasks[:2], *tasks[5:8]):
        each.cancel()
    await settle()
    assert gate.inside == 4
    gate.open.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert gate.asked == [f"GET /v1/users/n{n}" for n in (0, 1, 2, 3, 4, 8, 9, 10, 11)]
