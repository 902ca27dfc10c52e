"""The platform keeps to the document it publishes, whatever it is asked: schemathesis asks, operation by operation.

Each operation is asked in a furnished world of its own, by an administrator. In most examples the path names things
that are there, and what was generated is mixed with values that work: all else would be refused at the door. The first
time it is asked with what works alone.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
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
from octavo.api.wire import Route, build, encode, routes
from octavo.server.app import Platform
from octavo.server.store import Store
from octavo.server.world import World
from tests.server.asking import Ask, Clock
from tests.walk import Walk, furnish

SCHEMA = schemathesis.openapi.from_dict(document())
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

every_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)


class Furnished:
    """A world with some of everything in it, kept in a file, and the names of what is there."""

    def __init__(self, file: Path) -> None:
        self.file = file
        store = Store(file)
        platform = Platform(furnish(Clock(), store))
        asking = Ask(platform)
        loop = asyncio.new_event_loop()

        def ask(route: Route, values: dict[str, Any]) -> tuple[int, Any]:
            request = encode(build(route, values))
            answer = loop.run_until_complete(asking.http(request.method, request.url, json=request.body))
            return answer.status_code, answer.json() if answer.content else None

        def put(url: str, content: bytes) -> None:
            loop.run_until_complete(asking.http("PUT", url, None, content=content))

        walk = Walk(ask, page_url=PRIVATE, put=put)
        walk.furnish()
        self.beside = {key: walk.beside(key) for key in walk.routes}
        self.at = {
            key: {**at, **_only(self.beside[key], at)} for key, at in ((key, walk.at(key)) for key in walk.routes)
        }
        platform.close()
        store.close()
        loop.close()


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Furnished:
    return Furnished(tmp_path_factory.mktemp("furnished") / "platform.db")


def _only(values: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


Conform = Callable[[Route, int], None]


@pytest.fixture
def conform(furnished: Furnished, tmp_path: Path) -> Iterator[Conform]:
    """Send an operation with valid values, and so many times with invalid ones, in its own world."""
    shutil.copy(furnished.file, tmp_path / "platform.db")
    store = Store(tmp_path / "platform.db")
    numbers = count(1)
    platform = Platform(World(store, now=Clock(), new_id=lambda: f"z{next(numbers)}", origin="http://octavo.test"))

    def ask(route: Route, examples: int) -> None:
        operation = SCHEMA[route.path][route.spec.method]
        cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        if "parameters" in operation.definition.raw or "requestBody" in operation.definition.raw:
            cases |= operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

        @settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=cases, there=st.integers(0, 9), kept=st.sets(st.integers(0, 7)))
        def generated(case: AnyCase, there: int, kept: set[int]) -> None:
            if there:
                case.path_parameters = {**case.path_parameters, **furnished.at[route.key]}
            if there > 3:
                _mix(case, furnished.beside[route.key], kept)
            case.body = _at_home(case.body)
            send(case)

        generated()

    def run(route: Route, examples: int) -> None:
        operation = SCHEMA[route.path][route.spec.method]
        working, there = furnished.beside[route.key], furnished.at[route.key]
        beside = {name: value for name, value in working.items() if name not in there}
        reads = route.spec.method in ("GET", "DELETE")
        body = {"body": _at_home(beside), "media_type": "application/json"} if beside and not reads else {}
        send(operation.Case(path_parameters=there, query=beside if reads else {}, **body))
        if examples:
            ask(route, examples)

    def send(case: AnyCase) -> None:
        response = case.call(headers={"authorization": "Bearer key-ada"}, app=platform)
        case.validate_response(response, checks=CHECKS)

    yield run
    platform.close()
    store.close()


def _mix(case: AnyCase, working: dict[str, Any], kept: set[int]) -> None:
    """Put values that work where the generated ones are not to be kept."""
    for where in ("query", "body"):
        generated = getattr(case, where)
        if isinstance(generated, dict) and working and (where == "body") == (case.method not in ("GET", "DELETE")):
            mine = {name: value for place, (name, value) in enumerate(generated.items()) if place in kept}
            setattr(case, where, {**working, **mine})


def _at_home(value: Any) -> Any:
    """Replace URLs that the platform would fetch by URLs of this machine."""
    if isinstance(value, dict):
        return {
            name: PRIVATE if name == "url" and isinstance(each, str) else _at_home(each) for name, each in value.items()
        }
    if isinstance(value, list):
        return [_at_home(each) for each in value]
    return value


OFTEN = ROUTES[::3]
"""Operations with generated values in every run. Generating values takes most of the time."""


@every_route
def test_responses_conform_to_the_openapi_document(route: Route, conform: Conform) -> None:
    conform(route, 2 if route in OFTEN else 0)


@pytest.mark.long
@pytest.mark.timeout(900)
@every_route
def test_responses_conform_to_the_openapi_document_in_long_runs(route: Route, conform: Conform) -> None:
    conform(route, 200)
