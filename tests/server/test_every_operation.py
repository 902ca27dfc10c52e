"""Every operation, sent once in an order that works, responds with its declared status."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from octavo.api.operation import load
from octavo.api.wire import Route, encode, operation_for_route, routes
from tests.every_operation import website
from tests.operation_walk import Walk, full_context
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock


def test_every_operation_responds_as_declared() -> None:
    context = replace(full_context(Clock()), allows_private_imports=True)
    platform = Platform(context)
    client = Ask(platform)
    with asyncio.Runner() as runner, website() as page:

        def ask(route: Route, values: dict[str, Any]) -> tuple[int, Any]:
            request = encode(operation_for_route(route, values))
            answer = runner.run(client.http(request.method, request.url, json=request.body))
            return answer.status_code, answer.json() if answer.content else None

        def put(url: str, content: bytes) -> None:
            runner.run(client.http("PUT", url, None, content=content))

        results = list(Walk(ask, page_url=page, put=put).all())
    platform.close()
    context.store.close()
    broken = [(each.route.key, each.status, each.answer) for each in results if not each.is_as_declared]
    assert broken == []
    assert {each.route.key for each in results} == {route.key for spec in load().values() for route in routes(spec)}
