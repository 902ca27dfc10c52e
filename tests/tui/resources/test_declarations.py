"""Each kind of thing as it is declared: its operations, and what names one of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from octavo.api import openapi
from octavo.api.operation import SPECS
from octavo.api.places import OrganizationRef
from octavo.tui.resources import access_resources, organization_resources, site_resources, space_resources
from octavo.tui.resources.resource import Resource

LINES = 40
"""No kind takes more lines than these."""


def all_of(kinds: tuple[Resource[Any], ...], above: str = "") -> Iterator[tuple[str, Resource[Any]]]:
    for kind in kinds:
        name = f"{above}{kind.many}"
        yield name, kind
        yield from all_of((*kind.parts.values(), *kind.children), f"{name} of ")


DECLARED = dict((*all_of(site_resources.KINDS), *all_of(organization_resources.KINDS)))


@pytest.mark.parametrize("name", DECLARED)
def test_a_kind_is_reached_by_operations_of_the_interface(name: str) -> None:
    kind = DECLARED[name]
    assert SPECS[kind.list].method == "GET"
    written = {"create": {"POST", "PUT"}, "update": {"PATCH", "PUT", "POST"}, "delete": {"DELETE"}}
    for verb, methods in written.items():
        operation = getattr(kind, verb)
        assert operation is None or SPECS[operation].method in methods
    titles = [each.title for each in kind.columns]
    assert len(set(titles)) == len(titles)
    assert kind.sorted_by in ("", *titles)
    assert any(each.shown for each in kind.columns)


@pytest.mark.parametrize("module", [site_resources, organization_resources, access_resources, space_resources])
def test_a_kind_takes_few_lines_and_no_class(module: Any) -> None:
    source = inspect.getsource(module)
    assert not re.search(r"^class ", source, re.MULTILINE)
    declared = re.findall(r"^[A-Z_]+: Resource\[.*?^\)", source, re.MULTILINE | re.DOTALL)
    assert declared
    assert max(each.count("\n") + 1 for each in declared) <= LINES


HERE = {"at": OrganizationRef(organization_id="o")}


@pytest.mark.parametrize(("subdomain", "is_there"), [("saltmarsh", True), ("Salt marsh!", False), ("s" * 90, False)])
def test_what_no_request_can_hold_is_not_asked_for(subdomain: str, is_there: bool) -> None:
    """Answers are tolerated, requests are strict: what a server says need not be anything one can ask with."""
    kind = organization_resources.SUBDOMAIN
    assert not kind.is_there(HERE)
    assert kind.is_there({**HERE, "subdomain": subdomain}) == is_there


@pytest.mark.parametrize(("slug", "is_named"), [("petstore", True), ("", False), ("../x", False)])
def test_a_thing_is_named_by_what_a_request_can_hold(slug: str, is_named: bool) -> None:
    spec = openapi.OpenApiSpec(id="1", slug=slug)
    assert organization_resources.SPECIFICATIONS.is_named(HERE, spec) == is_named
