"""A small platform with one organization, and functions that send requests as its users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

import httpx
import pytest

from octavo.api import spaces
from octavo.api.operation import SPECS, Operation, OrganizationRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.server.handlers.spaces import add_edit_revision, get_current, new_page, set_current
from octavo.server.rest import RequestContext, iso
from octavo.server.store import Json, Store
from tests.server.refusing_platform import Platform

T = TypeVar("T")

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
PEOPLE = {
    "ada": "admin",
    "mia": "create",
    "tom": "review",
    "jun": "edit",
    "zoe": "comment",
    "sam": "read",
    "gil": None,
}
"""Members of the organization `acme` with their roles. Eve is no member."""


@dataclass
class Clock:
    """A clock that stands still until a test moves it."""

    moment: datetime = START

    def __call__(self) -> datetime:
        return self.moment

    def forward(self, **by: float) -> None:
        """Move forward by `days`, `hours` or `seconds`."""
        self.moment += timedelta(**by)


def counting(sort: str = "n") -> Callable[[], str]:
    """Return a function that returns the ids n1, n2, and so on."""
    numbers = count(1)
    return lambda: f"{sort}{next(numbers)}"


def small_context(clock: Clock, store: Store | None = None) -> RequestContext:
    """Return the context of a platform with the organization `acme` and a member for each role. A key is `key-<name>`."""
    context = RequestContext(store or Store(), now=clock, new_id=counting(), origin="http://octavo.test")
    acme = {"id": "acme", "title": "Acme", "createdAt": iso(START), "type": "business", "plan": "pro"}
    context.store.put("/orgs/acme", acme)
    for day, (user, role) in enumerate([*PEOPLE.items(), ("eve", None)]):
        person = {"id": user, "displayName": f"{user.title()} Lund", "email": f"{user}@acme.example"}
        context.store.put(f"/users/{user}", person)
        context.store.add_key(f"key-{user}", user)
        if user in PEOPLE:
            member = {"id": user, "role": role, "joinedAt": iso(START + timedelta(days=day))}
            context.store.put(f"/orgs/acme/members/{user}", member)
    return context


class Refusal(Exception):
    """The platform refused a request."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"{response.status_code} {response.text}")
        self.status = response.status_code
        self.message: str = response.json()["error"]["message"]
        self.headers = response.headers


@dataclass
class Ask:
    """Sends operations to the platform over HTTP. `await ask(operation, "mia")` returns the response."""

    platform: Platform
    last: httpx.Response = field(init=False)
    """The last HTTP response."""

    async def __call__(self, op: Operation[T], user: str = "ada") -> T:
        request = encode(op)
        response = await self.http(request.method, request.url, user, json=request.body)
        if response.is_error:
            raise Refusal(response)
        spec = SPECS[type(op)]
        assert response.status_code == spec.success, f"{spec.name} must respond with {spec.success}"
        answer: T = spec.codec.validate_json(response.content) if response.content else None  # type: ignore[assignment]  # An empty body is None.
        return answer

    async def http(self, method: str, url: str, user: str | None = "ada", **options: Any) -> httpx.Response:
        """Send any request with the key of `user`. Exceptions of the platform are raised."""
        headers = {"authorization": f"Bearer key-{user}"} if user else {}
        transport = httpx.ASGITransport(self.platform)
        async with httpx.AsyncClient(transport=transport, base_url="http://octavo.test", headers=headers) as client:
            self.last = await client.request(method, url, **options)
        return self.last


ACME = OrganizationRef(organization_id="acme")


async def space_with(ask: Ask, title: str = "Handbook", *, parent: str | None = None, **texts: str) -> Space:
    """Create a space of acme as ada. Each keyword in `texts` is the id and title of a page."""
    space = await ask(
        spaces.Create(at=ACME, title=title, parent=parent) if parent else spaces.Create(at=ACME, title=title)
    )
    context = ask.platform.context.for_user("ada")
    pages = [{**new_page(context, name.title(), text), "id": name} for name, text in texts.items()]
    return await replace_pages(ask, space, pages) if pages else space


async def replace_pages(ask: Ask, space: Space, pages: list[Json]) -> Space:
    """Replace the pages in the main content of a space."""
    context = ask.platform.context.for_user("ada")
    revision = add_edit_revision(context, get_current(context, space.id), pages=pages)
    set_current(context, space.id, revision)
    return await ask(spaces.Get(at=space.ref))


async def check_refused(answer: Awaitable[Any], status: int) -> str:
    """Check that the platform refuses a request with this status. Return the message."""
    with pytest.raises(Refusal) as refusal:
        await answer
    assert refusal.value.status == status, str(refusal.value)
    return refusal.value.message
