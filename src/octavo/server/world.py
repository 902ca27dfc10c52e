"""What a handler may touch: the store, the clock, the id maker, and who is asking."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Generic, Self, TypeVar

from octavo.server.store import Store

_ID_CHARACTERS = string.ascii_letters + string.digits


class Refusal(Exception):
    """The platform understands, and says no: a status and a sentence that names the thing and the cause."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


def random_id() -> str:
    """Twenty letters and digits."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(20))


@dataclass(frozen=True)
class World:
    """One for each request: `caller` is the id of the user whose key came with it."""

    store: Store = field(default_factory=Store)
    caller: str = ""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    new_id: Callable[[], str] = random_id
    origin: str = "http://octavo.local"
    """Where absolute addresses start."""
    private_imports: bool = False
    """Whether imports may read from this machine and its networks."""

    def for_user(self, user: str) -> Self:
        """The same world with another caller."""
        return replace(self, caller=user)

    def url(self, path: str) -> str:
        """The absolute address of a path of this platform."""
        return self.origin + path

    def timestamp(self) -> str:
        """Now, as the wire has it."""
        return iso(self.now())


def iso(moment: datetime) -> str:
    """ISO 8601 with milliseconds, in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


T = TypeVar("T")


@dataclass(frozen=True)
class BackgroundWork(Generic[T]):
    """What a handler returns that waits for something slow: a fetch, or reading a large text.

    `work` touches nothing of the platform. `then` gets what it returned, in the thread of the handlers and in one
    transaction; its value is the answer. Raises Refused as handlers do. With `answered` that is the answer, given at
    once, and what `then` returns is dropped.
    """

    run: Callable[[], T]
    finish: Callable[[T], Any]
    early_response: Any = None
    is_large: bool = False
    """Whether `work` may unpack much: such errands are run one after the other."""


PERSON = "me"
ORGANIZATION = "local"


def add_local_user(world: World, name: str) -> World:
    """Make the person and the organization when they are not there yet. The world as that person asks it."""
    store = world.store
    if store.find(f"/users/{PERSON}") is None:
        now = world.timestamp()
        with store.transaction():
            store.put(f"/users/{PERSON}", {"id": PERSON, "displayName": name})
            store.put(
                f"/orgs/{ORGANIZATION}",
                {
                    "id": ORGANIZATION,
                    "title": "This machine",
                    "createdAt": now,
                    "emailDomains": [],
                    "type": "business",
                    "plan": "free",
                    "defaultRole": "admin",
                    "inviteLinks": False,
                    "mergeRules": {"type": "none"},
                },
            )
            member = {"id": PERSON, "role": "admin", "disabled": False, "joinedAt": now, "sso": False}
            store.put(f"/orgs/{ORGANIZATION}/members/{PERSON}", member)
    return world.for_user(PERSON)
