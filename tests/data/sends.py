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
from octavo.data.state_db import StateDb
from octavo.server.dispatch import answer
from octavo.server.store import MissingResource
from octavo.server.world import Refusal, World
from tests.server.asking import Clock

T = TypeVar("T")


class Killed(BaseException):
    """The process ends here."""


def refuse_to_save(state: StateDb) -> Callable[[], None]:
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
    """A bad line to the platform: the next write, or the next read, meets the fault that was asked for.

    not sent         it never leaves
    lost request     it is gone
    lost answer      it arrives
    late 20          it arrives after so many seconds, and its answer never comes
    stalled 20       the same, after the machine stood still for so long before it left
    slow 20          the answer says what was so when it was asked for, and comes after so many seconds

    With `killed ` before it the process ends there.
    """

    def __init__(self, world: World, clock: Clock) -> None:
        self._world = world
        self._clock = clock
        self.write_fault = ""
        self.read_fault = ""
        self.is_late = False
        """Whether what arrives now was on its way for long."""
        self._late: list[tuple[datetime, Operation[Any]]] = []

    @property
    def under_way(self) -> list[Operation[Any]]:
        """What arrives some time, though nobody waits for it any more."""
        return [op for _, op in self._late]

    def arrive(self) -> None:
        """Let what is late arrive, if its time has come."""
        for each in [each for each in self._late if each[0] <= self._clock()]:
            self._late.remove(each)
            self.is_late = True
            self.apply(each[1])
            self.is_late = False

    async def __call__(self, op: Operation[T]) -> T:
        await asyncio.sleep(0)
        self.arrive()
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
                self.arrive()
                return slow
            case "not":
                raise NotSent("Can't reach the server.")
            case "stalled" | "late":
                if what == "stalled":
                    self._clock.forward(seconds=float(seconds))
                self._late.append((self._clock() + timedelta(seconds=float(seconds)), op))
            case "lost" if seconds == "answer":
                self.apply(op)
        if killed:
            raise Killed
        raise Lost("The connection broke.")

    def apply(self, op: Operation[Any]) -> Any:
        """Let the platform do it."""
        try:
            said = answer(op, self._world)
        except Refusal as no:
            raise rejected(str(no), Trace(status=no.status)) from no
        except MissingResource as no:
            raise rejected("It is not there.", Trace(status=404)) from no
        return None if said is None else SPECS[type(op)].codec.validate_python(said)
