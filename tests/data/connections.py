"""Connections to the platform that fail or wait, and a database that cannot save."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api.errors import ApiError, Lost, NotSent, Trace, rejected
from octavo.api.operation import SPECS, Operation
from octavo.data.access import Send
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.server.app import run_operation
from octavo.server.rest import Refusal, RequestContext
from octavo.server.store import MissingResource
from tests.server.small_platform import Clock

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

T = TypeVar("T")


class ProcessKilled(BaseException):
    """Raised where a real process would be killed."""


def refuse_to_save(state: StateDb) -> Callable[[], None]:
    """Make every write to state.db fail. Return a function that allows writes again."""

    def refuse(db: sqlite3.Connection) -> sqlite3.Connection:
        db.execute("PRAGMA query_only = ON")
        return db

    db = state._writer.submit(refuse).result()

    def allow() -> None:
        db.execute("PRAGMA query_only = OFF")

    return allow


class RequestGate:
    """Passes operations to the platform. After `hold`, operations wait for `release`. `requests` has all operations."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.requests: list[Operation[Any]] = []
        self.errors: deque[ApiError] = deque()
        """Errors of the next operations, which are not passed on."""
        self.waiting = 0
        """Number of waiting operations."""
        self._held: list[asyncio.Event] | None = None

    def hold(self) -> None:
        """Make all later operations wait."""
        self._held = []

    def release(self, number: int | None = None) -> None:
        """Pass on the waiting operation at index `number`, or all waiting and later ones."""
        held = self._held or []
        if number is None:
            self._held = None
            for each in held:
                each.set()
        else:
            held[number].set()

    @property
    def writes(self) -> list[Operation[Any]]:
        return [op for op in self.requests if SPECS[type(op)].method != "GET"]

    async def __call__(self, op: Operation[T]) -> T:
        self.requests.append(op)
        error = self.errors.popleft() if self.errors else None
        if self._held is not None:
            released = asyncio.Event()
            self._held.append(released)
            self.waiting += 1
            try:
                await released.wait()
            finally:
                self.waiting -= 1
        if error is not None:
            raise error
        return await self._send(op)


class FaultyConnection:
    """A bad connection to the platform: the next write or the next read meets a fault.

    not sent         the request is never sent
    lost request     the request is sent and never arrives
    lost response    the request arrives, and its response is lost
    late 20          the request arrives after 20 seconds, and its response is lost
    stalled 20       as `late`, after the computer was suspended for 20 seconds before the request
    slow 20          the response is created at once and arrives after 20 seconds

    With the prefix `killed `, the process is killed at the fault.
    """

    def __init__(self, context: RequestContext, clock: Clock) -> None:
        self._context = context
        self._clock = clock
        self.write_fault = ""
        self.read_fault = ""
        self.is_late = False
        """Whether the arriving request was late."""
        self._late: list[tuple[datetime, Operation[Any]]] = []

    @property
    def late_requests(self) -> list[Operation[Any]]:
        """Return the requests that arrive later, although no caller waits for them."""
        return [op for _, op in self._late]

    def deliver_late(self) -> None:
        """Deliver the late requests that are due."""
        for each in [each for each in self._late if each[0] <= self._clock()]:
            self._late.remove(each)
            self.is_late = True
            self.apply(each[1])
            self.is_late = False

    async def __call__(self, op: Operation[T]) -> T:
        await asyncio.sleep(0)
        self.deliver_late()
        if SPECS[type(op)].method == "GET":
            fault, self.read_fault = self.read_fault, ""
        else:
            fault, self.write_fault = self.write_fault, ""
        killed, fault = fault.startswith("killed"), fault.removeprefix("killed ")
        what, _, seconds = fault.partition(" ")
        match what:
            case "":
                result: T = self.apply(op)
                return result
            case "slow":
                slow: T = self.apply(op)
                self._clock.forward(seconds=float(seconds))
                self.deliver_late()
                return slow
            case "not":
                raise NotSent("Can't reach the server.")
            case "stalled" | "late":
                if what == "stalled":
                    self._clock.forward(seconds=float(seconds))
                self._late.append((self._clock() + timedelta(seconds=float(seconds)), op))
            case "lost" if seconds == "response":
                self.apply(op)
        if killed:
            raise ProcessKilled
        raise Lost("The connection broke.")

    def apply(self, op: Operation[Any]) -> Any:
        """Apply the request on the platform and return the response."""
        try:
            response = run_operation(op, self._context)
        except Refusal as no:
            raise rejected(str(no), Trace(status=no.status)) from no
        except MissingResource as no:
            raise rejected("It is not there.", Trace(status=404)) from no
        return None if response is None else SPECS[type(op)].codec.validate_python(response)


async def add_write(outbox: Outbox, op: DurableWrite, *, action: str, draft_key: str = "") -> OutboxEntry:
    """Add one write to the outbox."""
    (entry,) = await outbox.add_all((NewWrite(op, action, draft_key),))
    return entry
