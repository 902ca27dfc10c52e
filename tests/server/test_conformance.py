"""Every response of the platform conforms to the OpenAPI document. schemathesis generates the requests, operation by operation.

An administrator sends each operation to its own copy of a platform that has items of all kinds. The first request has valid values
only. In most other requests, the path names existing items and some values are valid: the platform would refuse others early.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks

from octavo.api.openapi_document import document
from octavo.api.operation import load
from octavo.api.wire import Route, encode, operation_for_route, routes
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from tests.operation_walk import Walk, full_context
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock

ROUTES = [route for spec in load().values() for route in routes(spec)]
AnyCase = schemathesis.Case[Any]
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
PRIVATE = "http://127.0.0.1:9/"
"""Hosts that the platform must not contact: no test leaves this machine."""


@cache
def schema() -> Any:
    """Return the OpenAPI document for schemathesis. Made at first use, because it takes a second."""
    return schemathesis.openapi.from_dict(document())


every_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)


class FilledPlatform:
    """A stored platform with items of all kinds, and the ids of these items."""

    def __init__(self, file: Path) -> None:
        self.file = file
        store = Store(file)
        platform = Platform(full_context(Clock(), store))
        client = Ask(platform)
        loop = asyncio.new_event_loop()

        def ask(route: Route, values: dict[str, Any]) -> tuple[int, Any]:
            request = encode(operation_for_route(route, values))
            answer = loop.run_until_complete(client.http(request.method, request.url, json=request.body))
            return answer.status_code, answer.json() if answer.content else None

        def put(url: str, content: bytes) -> None:
            loop.run_until_complete(client.http("PUT", url, None, content=content))

        walk = Walk(ask, page_url=PRIVATE, put=put)
        walk.create_all()
        self.beside = {key: walk.other_values(key) for key in walk.routes}
        self.at = {
            key: {**at, **_pick(self.beside[key], at)} for key, at in ((key, walk.at(key)) for key in walk.routes)
        }
        platform.close()
        store.close()
        loop.close()


@pytest.fixture(scope="module")
def filled_platform(tmp_path_factory: pytest.TempPathFactory) -> FilledPlatform:
    return FilledPlatform(tmp_path_factory.mktemp("furnished") / "platform.db")


def _pick(values: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


CheckOperation = Callable[[Route, int], None]


@pytest.fixture
def check_operation(filled_platform: FilledPlatform, tmp_path: Path) -> Iterator[CheckOperation]:
    """Return a function that sends an operation with valid values, then with generated values, to a copy of the platform."""
    shutil.copy(filled_platform.file, tmp_path / "platform.db")
    store = Store(tmp_path / "platform.db")
    numbers = count(1)
    platform = Platform(
        RequestContext(store, now=Clock(), new_id=lambda: f"z{next(numbers)}", origin="http://octavo.test")
    )

    def ask(route: Route, examples: int) -> None:
        operation = schema()[route.path][route.spec.method]
        cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        if "parameters" in operation.definition.raw or "requestBody" in operation.definition.raw:
            cases |= operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

        @settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=cases, there=st.integers(0, 9), kept=st.sets(st.integers(0, 7)))
        def generated(case: AnyCase, there: int, kept: set[int]) -> None:
            if there:
                case.path_parameters = {**case.path_parameters, **filled_platform.at[route.key]}
            if there > 3:
                _use_valid_values(case, filled_platform.beside[route.key], kept)
            case.body = _without_remote_urls(case.body)
            send(case)

        generated()

    def run(route: Route, examples: int) -> None:
        operation = schema()[route.path][route.spec.method]
        working, there = filled_platform.beside[route.key], filled_platform.at[route.key]
        beside = {name: value for name, value in working.items() if name not in there}
        reads = route.spec.method in ("GET", "DELETE")
        body = {"body": _without_remote_urls(beside), "media_type": "application/json"} if beside and not reads else {}
        send(operation.Case(path_parameters=there, query=beside if reads else {}, **body))
        if examples:
            ask(route, examples)

    def send(case: AnyCase) -> None:
        response = case.call(headers={"authorization": "Bearer key-ada"}, app=platform)
        case.validate_response(response, checks=CHECKS)

    yield run
    platform.close()
    store.close()


def _use_valid_values(case: AnyCase, working: dict[str, Any], kept: set[int]) -> None:
    """Replace generated values by valid values, except the values at the places in `kept`."""
    for where in ("query", "body"):
        generated = getattr(case, where)
        if isinstance(generated, dict) and working and (where == "body") == (case.method not in ("GET", "DELETE")):
            mine = {name: value for place, (name, value) in enumerate(generated.items()) if place in kept}
            setattr(case, where, {**working, **mine})


def _without_remote_urls(value: Any) -> Any:
    """Replace URLs that the platform would fetch by URLs of this machine."""
    if isinstance(value, dict):
        return {
            name: PRIVATE if name == "url" and isinstance(each, str) else _without_remote_urls(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_without_remote_urls(each) for each in value]
    return value


OFTEN = ROUTES[::9]
"""Operations with generated values in every run. Generating values takes most of the time."""


@every_route
def test_responses_conform_to_the_openapi_document(route: Route, check_operation: CheckOperation) -> None:
    check_operation(route, 2 if route in OFTEN else 0)


@pytest.mark.long
@pytest.mark.timeout(900)
@every_route
def test_responses_conform_to_the_openapi_document_in_long_runs(route: Route, check_operation: CheckOperation) -> None:
    check_operation(route, 200)
