"""What people did at the demo organization, as operations in the order of time: see `changes/` and `threads/`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.server.demo import proposing, talking
from octavo.server.world import World

_FOLDER = Path(__file__).parent
_AGE = re.compile(r"(?:(\d+)d)? ?(?:(\d+)h)? ?(?:(\d+)m)?")


@dataclass(frozen=True)
class Deed:
    """Something a person did, how long ago, and what the ids are called that it makes."""

    ago: timedelta
    by: str
    name: str
    asks: Callable[[World], Iterable[Operation[Any]]] = field(compare=False)
    """The operations, found when their time has come, since they speak of what is there by then."""


def deeds() -> list[Deed]:
    """All that was done, from the first to the last."""
    found = [deed for change in _all("change") for deed in _of_change(change)]
    found += [deed for number, thread in enumerate(_all("thread"), 1) for deed in _of_thread(thread, f"t{number}")]
    return sorted(found, key=lambda deed: deed.ago, reverse=True)


def _all(kind: str) -> Iterator[Any]:
    """The changes or threads of all files. What a file says at its top holds for all that is in it."""
    for path in sorted((_FOLDER / f"{kind}s").glob("*.toml")):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        for each in read.pop(kind):
            yield {**read, **each}


def _of_change(change: Any) -> Iterator[Deed]:
    at = ChangeRequestRef(space_id=change["space"], change_request_id=change["id"])
    yield Deed(_age(change["ago"]), change["by"], change["id"], partial(proposing.started, change, at))
    for step in change["step"]:
        asks = partial(proposing.STEPS[step["do"]], step, at)
        yield Deed(_age(step["ago"]), step.get("by", change["by"]), f"{change['id']}-{step['do']}", asks)


def _of_thread(thread: Any, name: str) -> Iterator[Deed]:
    at: Discussion = SpaceRef(space_id=thread["space"])
    if "change" in thread:
        at = ChangeRequestRef(space_id=thread["space"], change_request_id=thread["change"])
    yield Deed(_age(thread["ago"]), thread["by"], name, partial(talking.posted, thread, at))
    yield from _reactions(thread, partial(talking.reacted, at, name, None))
    for number, reply in enumerate(thread.get("replies", ()), 1):
        asks = partial(talking.replied, reply, at, name)
        yield Deed(_age(reply["ago"]), reply["by"], f"{name}-{number}", asks)
        yield from _reactions(reply, partial(talking.reacted, at, name, f"{name}-{number}"))
    if "resolved" in thread:
        asks = partial(talking.resolved, at, name)
        yield Deed(_age(thread["resolved"]["ago"]), thread["resolved"]["by"], name, asks)


def _reactions(message: Any, reacted: Callable[[str, World], Iterable[Operation[Any]]]) -> Iterator[Deed]:
    """A reaction comes a minute after the one before it, and the first a minute after the message."""
    minutes = 0
    for emoji, people in message.get("reactions", {}).items():
        for person in people:
            minutes += 1
            yield Deed(_age(message["ago"]) - timedelta(minutes=minutes), person, "", partial(reacted, emoji))


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if not text or not found:
        raise ValueError(f"“{text}” is no age such as “3d 4h”.")
    days, hours, minutes = (int(each or 0) for each in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)
