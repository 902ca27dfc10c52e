"""The environment of a handler: store, clock, IDs and caller. Also the errors and the background work of a handler."""

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
    """Error response to a request: a status, and a message that names the resource and the cause."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


def random_id() -> str:
    """Return twenty random letters and digits."""
    return "".join(secrets.choice(_ID_CHARACTERS) for _ in range(20))


@dataclass(frozen=True)
class World:
    """Environment of one request. `caller` is the ID of the user whose token was sent."""

    store: Store = field(default_factory=Store)
    caller: str = ""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    new_id: Callable[[], str] = random_id
    origin: str = "http://octavo.local"
    """Base of absolute URLs."""
    allows_private_imports: bool = False
    """True if imports may fetch from this machine and private networks."""

    def for_user(self, user: str) -> Self:
        """Return this world with another caller."""
        return replace(self, caller=user)

    def url(self, path: str) -> str:
        """Return the absolute URL of a path on this platform."""
        return self.origin + path

    def timestamp(self) -> str:
        """Return the current time as the API represents it."""
        return iso(self.now())


def iso(moment: datetime) -> str:
    """Return a moment in ISO 8601 with milliseconds, in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


T = TypeVar("T")


@dataclass(frozen=True)
class BackgroundWork(Generic[T]):
    """Result of a handler that needs slow work, such as a download or parsing a large text.

    `run` is called in a thread of its own and must not use the store. `finish` is called with its result in the handler
    thread, in one transaction, and returns the response or raises Refusal. With `early_response`, that response is sent
    immediately and the result of `finish` is ignored.
    """

    run: Callable[[], T]
    finish: Callable[[T], Any]
    early_response: Any = None
    is_large: bool = False
    """True if `run` needs much memory. Such work runs one at a time."""


PERSON = "me"
ORGANIZATION = "local"


def add_local_user(world: World, name: str) -> World:
    """Create the local user and organization if they do not exist. Return the world with this user as caller."""
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
