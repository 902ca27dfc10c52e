"""Background tasks and bounded work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.concurrency import Tasks, gather_bounded, report_error


class Fault(Exception):
    """A bug in a task."""


async def fail() -> None:
    raise Fault("broken")


@pytest.fixture
async def reported_errors() -> list[dict[str, Any]]:
    """The contexts that the exception handler of the loop gets."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    return told


async def test_failed_task_is_reported_to_the_loop(reported_errors: list[dict[str, Any]]) -> None:
    tasks = Tasks("A refresh")
    task = tasks.start(fail(), name="it")
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert [(each["message"], type(each["exception"])) for each in reported_errors] == [("A refresh failed", Fault)]
    assert not tasks


async def test_failed_task_is_reported_to_its_owner_instead(reported_errors: list[dict[str, Any]]) -> None:
    told: list[BaseException] = []
    task = Tasks("A refresh", told.append).start(fail())
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert ([type(each) for each in told], reported_errors) == ([Fault], [])


async def test_cancelled_task_is_not_reported(reported_errors: list[dict[str, Any]]) -> None:
    tasks = Tasks("A refresh")
    task = tasks.start(asyncio.sleep(60))
    await tasks.close()
    assert (task.cancelled(), bool(tasks), reported_errors) == (True, False, [])
    report_error(task, "A refresh")
    assert reported_errors == []


async def test_wait_idle_includes_tasks_started_meanwhile(
    reported_errors: list[dict[str, Any]],
) -> None:
    tasks, done = Tasks("A refresh"), []

    async def first() -> None:
        await asyncio.sleep(0)
        tasks.start(second())

    async def second() -> None:
        await asyncio.sleep(0)
        done.append("second")

    tasks.start(first())
    await tasks.wait_idle()
    assert done == ["second"]
    tasks.start(fail())
    with pytest.raises(Fault):
        await tasks.wait_idle()


async def test_close_from_within_a_task_leaves_that_task() -> None:
    tasks, ended = Tasks("A task"), []

    async def closer() -> None:
        await tasks.close()
        ended.append(other.cancelled())

    other = tasks.start(asyncio.sleep(60))
    await tasks.start(closer())
    assert ended == [True]


async def test_gather_bounded_limits_running_tasks_and_keeps_the_order() -> None:
    running, most = set[int](), 0

    async def work(number: int) -> int:
        nonlocal most
        running.add(number)
        most = max(most, len(running))
        for _ in range(number % 3 + 1):
            await asyncio.sleep(0)
        running.discard(number)
        return number * number

    assert await gather_bounded(work, range(10), 3) == [number * number for number in range(10)]
    assert most == 3


async def test_gather_bounded_raises_the_first_error() -> None:
    async def work(number: int) -> int:
        if number == 1:
            raise Fault("broken")
        return number

    with pytest.raises(Fault):
        await gather_bounded(work, range(3), 2)
