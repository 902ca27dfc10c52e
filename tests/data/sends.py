"""Ways to reach the platform that fail, or wait, as a test says."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from octavo.api.errors import ApiError, Lost, NotSent, Trace, rejected
from octavo.api.operation import SPECS, Operation
from octavo.data.sending import Send
from octavo.data.state import State
from octavo.server.gate import answer
from octavo.server.store import Missing
from octavo.server.world import Refused, World

T = TypeVar("T")


class Killed(BaseException):
    """The process ends here."""


def refuse_to_save(state: State) -> Callable[[], None]:
    """Let every write to state.db fail from now on. Returns what lets them succeed again."""

    def refuse(db: sqlite3.Connection) -> sqlite3.Connection:
        db.execute("PRAGMA query_only = ON")
        return db

    db = state._writer.submit(refuse).result()

    def allow() -> None:
        db.execute("PRAGMA query_only = OFF")

    return allow


class Gate:
    """Passes operations on, after the test let them through: `hold`, then `let_go`. Keeps what was asked for."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.asked: list[Operation[Any]] = []
        self.errors: deque[ApiError] = deque()
        """What the next operations fail with, without being passed on."""
        self.waiting = 0
        """How many are held."""
        self._held: list[asyncio.Event] | None = None

    def hold(self) -> None:
        """Let nothing through from now on."""
        self._held = []

    def let_go(self, number: int | None = None) -> None:
        """Let the `number`th held operation through, or all of them and those to come."""
        held = self._held or []
        if number is None:
            self._held = None
            for each in held:
                each.set()
        else:
            held[number].set()

    @property
    def writes(self) -> list[Operation[Any]]:
        return [op for op in self.asked if SPECS[type(op)].method != "GET"]

    async def __call__(self, op: Operation[T]) -> T:
        self.asked.append(op)
        error = self.errors.popleft() if self.errors else None
        if self._held is not None:
            let_go = asyncio.Event()
            self._held.append(let_go)
            self.waiting += 1
            try:
                await let_go.wait()
            finally:
                self.waiting -= 1
        if error is not None:
            raise error
        return await self._send(op)


class Line:
    """A bad line to the platform: the next write, or the next read, meets the fault that was asked for."""

    def __init__(self, world: World, now: Callable[[], datetime]) -> None:
        self._world = world
        self._now = now
        self.write_fault = ""
        self.read_fault = ""
        self.is_late = False
        """Whether what arrives now was on its way for long."""
        self._late: list[tuple[datetime, Operation[Any]]] = []

    def arrive(self) -> None:
        """Let what is late arrive, if its time has come."""
        for each in [each for each in self._late if each[0] <= self._now()]:
            self._late.remove(each)
            self.is_late = True
            self._apply(each[1])
            self.is_late = False

    def late(self, when: datetime, op: Operation[Any]) -> None:
        self._late.append((when, op))

    async def __call__(self, op: Operation[T]) -> T:
        await asyncio.sleep(0)
        self.arrive()
        is_read = SPECS[type(op)].method == "GET"
        if is_read:
            fault, self.read_fault = self.read_fault, ""
        else:
            fault, self.write_fault = self.write_fault, ""
        if fault == "not sent":
            raise NotSent("Can't reach the server.")
        if fault == "lost request":
            raise Lost("The connection broke.")
        if fault == "killed before":
            raise Killed
        if fault.startswith("late "):
            self.late(self._now() + timedelta(seconds=float(fault.split()[1])), op)
            raise Lost("The connection broke.")
        result: T = self._apply(op)
        if fault == "lost answer":
            raise Lost("The connection broke.")
        if fault == "killed after":
            raise Killed
        return result

    def _apply(self, op: Operation[Any]) -> Any:

        try:
            said = answer(op, self._world)
        except Refused as no:
            raise rejected(str(no), Trace(status=no.status)) from no
        except Missing as no:
            raise rejected("It is not there.", Trace(status=404)) from no
        return None if said is None else SPECS[type(op)].codec.validate_python(said)
