"""Idle time is skipped while an event loop waits for timers only."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

from octavo.data.database import Writer, connect
from tests.speedups import MAX_SKIP, skipped


async def test_idle_timer_runs_at_once_at_its_time() -> None:
    began, before = time.monotonic(), skipped()
    await asyncio.sleep(5)
    assert skipped() - before > 4.9
    assert time.monotonic() - began >= 5


async def test_idle_timers_run_in_order_and_not_early() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    came: dict[float, float] = {}

    def come(after: float) -> None:
        came[after] = loop.time() - began

    for after in (3.0, 1.0, 0.5):
        loop.call_at(began + after, come, after)
    await asyncio.sleep(4)
    assert list(came) == [0.5, 1.0, 3.0]
    assert all(at > after - 0.001 for after, at in came.items())


async def test_clock_does_not_skip_while_a_thread_works() -> None:
    go = threading.Event()
    work = asyncio.get_running_loop().run_in_executor(None, go.wait)
    before = skipped()
    await asyncio.sleep(0.02)
    assert skipped() == before
    go.set()
    await work
    await asyncio.sleep(0.02)
    assert skipped() > before


async def test_started_transaction_ends_before_time_is_skipped() -> None:
    go = threading.Event()
    writer = Writer(lambda: connect(None), "writer")
    future = writer.submit(lambda db: go.wait())
    before = skipped()
    await asyncio.sleep(0.02)
    assert skipped() == before
    threading.Timer(0.05, go.set).start()
    await asyncio.sleep(5)
    assert future.done()
    assert skipped() - before > 4
    writer.close()


def waiting_program() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


async def test_clock_does_not_skip_while_a_program_runs() -> None:
    with waiting_program() as program:
        before = skipped()
        await asyncio.sleep(0.02)
        assert skipped() == before
        program.communicate(b"\n")
    await asyncio.sleep(0.02)
    assert skipped() > before


async def test_clock_does_not_skip_while_a_socket_is_open() -> None:
    async with await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0):
        before = skipped()
        await asyncio.sleep(0.02)
        assert skipped() == before


async def test_long_wait_ends_in_real_time() -> None:
    before = skipped()
    await asyncio.sleep(MAX_SKIP - 0.05)
    nearly = skipped()
    assert nearly > before
    await asyncio.sleep(0.06)
    assert skipped() == nearly
