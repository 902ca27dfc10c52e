"""A read-only client sends no operation that changes something."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api import organizations, search
from octavo.api.errors import Forbidden, NotFound, Outcome, ReadOnly
from octavo.api.operation import Listing, OrganizationRef, SiteRef, load
from octavo.api.wire import operation_for_route, routes
from octavo.client.client import Client, outgoing_json
from octavo.client.responses import Application, RawRequest
from tests.operation_walk import full_context
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Clock

WHY = "It only reads here."
SEARCH = search.InSite(at=SiteRef(organization_id="acme", site_id="none"), query="tide", scope=search.AllScope())


def recording_app(platform: Platform, methods: list[str]) -> Application:
    """Return the platform as an application that appends the methods of requests to `came`."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        methods.append(scope["method"])
        await platform(scope, receive, send)

    return app


async def test_read_only_client_sends_no_write() -> None:
    platform, methods = Platform(full_context(Clock())), list[str]()
    client = Client(
        "http://octavo.test", SecretStr("key-ada"), transport=recording_app(platform, methods), read_only_reason=WHY
    )
    posts = [route for spec in load().values() for route in routes(spec) if spec.method != "GET"]
    writes = [route for route in posts if not issubclass(route.spec.operation, Listing)]
    assert len(writes) >= 99
    for route in writes:
        op = (
            route.spec.operation.model_construct()
        )  # Fields do not matter: the client refuses the operation before it encodes them.
        with pytest.raises(ReadOnly, match=WHY) as refused:
            await client(op)
        assert refused.value.outcome is Outcome.REFUSED, "a refused write is not retried"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        sent = outgoing_json(method, "/v1/user", b"{}")
        with pytest.raises(ReadOnly, match=WHY):
            await client.raw(RawRequest(sent, sent.target))
    assert methods == []
    me = next(route for spec in load().values() for route in routes(spec) if spec.name == "users.Me")
    assert (await client(operation_for_route(me, {}))).id == "ada"
    assert methods == ["GET"]
    with pytest.raises(NotFound):
        await client(SEARCH)
    assert methods == ["GET", "POST"], "a search is a POST that changes nothing"
    await client.aclose()
    platform.close()
    platform.context.store.close()


async def test_read_only_platform_refuses_writes() -> None:
    platform = Platform(full_context(Clock()))
    platform.read_only_reason = WHY
    client = Client("http://octavo.test", SecretStr("key-ada"), transport=platform)
    acme = OrganizationRef(organization_id="acme")
    with pytest.raises(Forbidden, match=WHY):
        await client(organizations.Update(at=acme, title="Acme of the Sea"))
    assert (await client(organizations.Get(at=acme))).title == "Acme"
    with pytest.raises(NotFound):  # A search is a POST that changes nothing.
        await client(SEARCH)
    await client.aclose()
    platform.close()
    platform.context.store.close()
