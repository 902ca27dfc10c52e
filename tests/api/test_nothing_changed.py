"""Updates without any change: the client never sends them, and the platform refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api.errors import Invalid
from octavo.api.openapi_document import document
from octavo.api.operation import Operation, load
from octavo.api.wire import NothingChanged, Route, body_fields, encode, routes
from octavo.client.client import Client
from tests.operation_walk import full_context
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock

ROUTES = [route for spec in load().values() for route in routes(spec) if body_fields(spec)]
MAKE = {"spaces.Create", "collections.Create", "sites.Create", "change_requests.Create"}
"""Operations that can be created without any field."""
TELL_BY_THEMSELVES = {"teams.AddMember", "invites.CreateLink", "translations.Create"}
"""A person is added without a role; the others say in a sentence of their own what is missing."""


def schema(route: Route) -> dict[str, Any]:
    """Return the schema of the body in the published document."""
    body: dict[str, Any] = document()["paths"][route.path][route.spec.method.lower()]["requestBody"]
    found: dict[str, Any] = body["content"]["application/json"]["schema"]
    return {**found, "body": body["required"]}


def empty_operation(route: Route) -> Operation[Any]:
    """Return the operation of a route with its path parameters and an empty body."""
    names = dict.fromkeys(route.spec.operation.model_fields, "x")
    in_path = {name: "x" for name in names if f"{{{name}}}" in route.spec.path}
    at = {"at": route.at_type.model_validate(dict.fromkeys(route.at_type.model_fields, "x"))} if route.at_type else {}
    return route.spec.operation.model_construct(set(in_path) | set(at), **in_path, **at)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_every_operation_has_required_fields_or_may_be_empty(route: Route) -> None:
    said = schema(route)
    if said.get("required"):
        assert not said.get("minProperties")
        return
    if route.spec.is_update:
        assert said["minProperties"] == 1
        assert said["body"] is True
        with pytest.raises(NothingChanged):
            encode(empty_operation(route))
    else:
        assert route.spec.name in MAKE | TELL_BY_THEMSELVES
        assert encode(empty_operation(route)).body == {}


async def test_client_and_server_reject_empty_updates() -> None:
    platform = Platform(full_context(Clock()))
    client, requests = Client("http://octavo.test", SecretStr("key-ada"), transport=platform), Ask(platform)
    changes = [route for route in ROUTES if route.spec.is_update and not schema(route).get("required")]
    assert len(changes) > 20
    for route in changes:
        with pytest.raises(Invalid, match=r"^Nothing was changed, so nothing was sent\.$"):
            await client(empty_operation(route))
        address = route.path.replace("{", "").replace("}", "")
        answer = await requests.http(route.spec.method, address, json={})
        assert answer.status_code == 400, route.key
        assert "The body contains no changes" in answer.text
    assert not client.activity
    await client.aclose()
    platform.close()
    platform.context.store.close()
