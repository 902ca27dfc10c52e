"""The declarations of resources: operations, ids, forms, and labels of codes and fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from octavo.api import openapi, organizations, spaces, translations
from octavo.api.labels import LABELS, field_label, label
from octavo.api.operation import SPECS, Model, OrganizationRef
from octavo.api.text import KnownValues
from octavo.tui.core.item_info import field_details, holds_codes
from octavo.tui.resources import organization_resources, site_resources, space_resources
from octavo.tui.resources.form_fields import fields_of
from octavo.tui.resources.form_values import build_request, initial_texts
from octavo.tui.resources.resource import Resource

MAX_DECLARATION_LINES = 40
"""Maximum number of lines of a declaration."""


def all_of(kinds: tuple[Resource[Any], ...], above: str = "") -> Iterator[tuple[str, Resource[Any]]]:
    for kind in kinds:
        name = f"{above}{kind.plural}"
        yield name, kind
        yield from all_of((*kind.row_resources.values(), *kind.children), f"{name} of ")


DECLARED = dict((*all_of(site_resources.TABLES), *all_of(organization_resources.TABLES)))
ALL_RESOURCES = (*DECLARED.values(), space_resources.MANAGED_SPACES)


@pytest.mark.parametrize("name", DECLARED)
def test_each_resource_uses_operations_of_the_right_method(name: str) -> None:
    kind = DECLARED[name]
    assert SPECS[kind.list].method == "GET"
    written = {"create": {"POST", "PUT"}, "update": {"PATCH", "PUT", "POST"}, "delete": {"DELETE"}}
    for verb, methods in written.items():
        operation = getattr(kind, verb)
        assert operation is None or SPECS[operation].method in methods
    titles = [each.title for each in kind.columns]
    assert len(set(titles)) == len(titles)
    assert any(each.is_shown for each in kind.columns)


@pytest.mark.parametrize("module", [site_resources, organization_resources, space_resources])
def test_declaration_is_short_and_has_no_class(module: Any) -> None:
    source = inspect.getsource(module)
    assert not re.search(r"^class ", source, re.MULTILINE)
    declared = re.findall(r"^[A-Z_]+: Resource\[.*?^\)", source, re.MULTILINE | re.DOTALL)
    assert declared
    assert max(each.count("\n") + 1 for each in declared) <= MAX_DECLARATION_LINES


HERE = {"at": OrganizationRef(organization_id="o")}


@pytest.mark.parametrize(("subdomain", "is_there"), [("saltmarsh", True), ("Salt marsh!", False), ("s" * 90, False)])
def test_table_with_invalid_arguments_is_not_available(subdomain: str, is_there: bool) -> None:
    """Responses may contain values that are not valid in requests."""
    kind = organization_resources.SUBDOMAIN
    assert not kind.is_available(HERE)
    assert kind.is_available({**HERE, "subdomain": subdomain}) == is_there


@pytest.mark.parametrize(("slug", "is_named"), [("petstore", True), ("", False), ("../x", False)])
def test_item_with_an_invalid_id_has_no_valid_ids(slug: str, is_named: bool) -> None:
    spec = openapi.OpenApiSpec(id="1", slug=slug)
    assert organization_resources.SPECIFICATIONS.has_valid_ids(HERE, spec) == is_named


CREATED = sorted({kind.name: kind for kind in ALL_RESOURCES if kind.create is not None}.items())
"""The resources that have a create operation, by name."""


@pytest.mark.parametrize(("name", "kind"), CREATED, ids=[name for name, _ in CREATED])
def test_empty_form_creates_nothing(name: str, kind: Resource[Any]) -> None:
    assert kind.create is not None
    fields = fields_of(kind.create, leave_out=frozenset({"team_id"}), required_fields=kind.required_fields)
    empty = initial_texts(fields, None)
    made = build_request(kind.create, fields, HERE, empty, empty, is_new=True)
    assert made.operation is None
    assert made.errors


@pytest.mark.parametrize(("name", "kind"), CREATED, ids=[name for name, _ in CREATED])
def test_fields_of_a_form_have_different_labels(name: str, kind: Resource[Any]) -> None:
    assert kind.create is not None
    labels = [each.label for each in fields_of(kind.create) if not each.conditions]
    assert len(set(labels)) == len(labels)


def test_field_for_an_object_shows_an_example() -> None:
    operations = {each for kind in ALL_RESOURCES for each in (kind.create, kind.update) if each is not None}
    operations |= {each.operation for kind in ALL_RESOURCES for each in kind.actions}
    without = {
        (each.name, operation.__module__)
        for operation in operations
        for each in fields_of(operation)
        if each.kind == "structure" and not each.example
    }
    assert without <= {("instructions", translations.__name__), ("font_faces", "octavo.api.fonts")}


def test_every_option_of_a_form_has_a_label() -> None:
    operations = {each for kind in ALL_RESOURCES for each in (kind.create, kind.update) if each is not None}
    codes = {code for operation in operations for each in fields_of(operation) for code in each.choices}
    assert {"create", "share-link", "pt-br", "locked"} <= codes
    shown = {label(code) for code in codes}
    assert not [each for each in shown if re.search(r"[a-z]-[a-z]|_|^[A-Z_]{4,}$", each)]
    assert {label(each) for each in ("admin", "create", "edit", "review", "comment", "read", "guest")} == {
        "Admin", "Creator", "Editor", "Reviewer", "Commenter", "Reader", "Guest",
    }  # fmt: skip


def models(above: type[Model] = Model) -> Iterator[type[Model]]:
    for each in above.__subclasses__():
        yield each
        yield from models(each)


def test_every_code_in_a_response_has_a_label() -> None:
    codes = set[str]()
    for model in models():
        for name, info in model.model_fields.items():
            if holds_codes(model, name):
                codes |= {code for each in known_values((*info.metadata, info.annotation)) for code in each.values}
    assert {"in-collection", "PARSE_ERROR", "create"} <= codes
    assert not [each for each in codes if re.search(r"[a-z][-_][a-z]|[A-Z]_", label(each))]
    assert not [each for each in LABELS if label(each) == each]


def test_every_field_in_a_response_has_a_label_in_plain_words() -> None:
    names = {name for model in models() for name in model.model_fields}
    assert {"joined_at", "sso_url", "basename", "is_active"} <= names
    labels_by_name = {name: field_label(name) for name in names}
    assert {
        name: each
        for name, each in labels_by_name.items()
        if "_" in each or re.search(r" at$|^is |\b(sso|url|id|ai|api)\b", each)
    } == {}
    assert (labels_by_name["joined_at"], labels_by_name["sso_url"], labels_by_name["basename"]) == (
        "joined",
        "SSO URL",
        "path",
    )


@pytest.mark.parametrize("kind", ALL_RESOURCES, ids=lambda kind: f"{kind.name} {kind.plural}")
def test_column_title_can_be_used_in_a_sentence(kind: Resource[Any]) -> None:
    for each in kind.columns:
        assert each.name.upper() == each.title
        assert not re.search(r"\b(sso|url|id)\b", each.name)


def known_values(parts: tuple[Any, ...]) -> Iterator[KnownValues]:
    remaining = list(parts)
    while remaining:
        each = remaining.pop()
        if isinstance(each, KnownValues):
            yield each
        remaining += getattr(each, "__args__", ()) + getattr(each, "__metadata__", ())


def test_details_show_labels_instead_of_codes() -> None:
    organization = {"id": "o", "defaultRole": "create", "billing": {"trial": "x", "status": "notapplicable"}}
    facts = dict(field_details(organizations.Organization.model_validate(organization)))
    assert facts["default role"] == "Creator"
    assert "not applicable" in facts["billing"]
    spec = openapi.OpenApiSpec.model_validate(
        {"id": "1", "lastProcessErrorCode": "PARSE_ERROR", "processingState": "new"}
    )
    facts = dict(field_details(spec))
    assert facts["last process error code"] == "could not be parsed"
    assert facts["processing state"] == "new", "a code without a label must be shown as it is"
    space = spaces.Space.model_validate({"id": "s", "title": "create", "visibility": "in-collection"})
    facts = dict(field_details(space))
    assert (facts["title"], facts["visibility"]) == ("create", "in a collection"), (
        "a title must not be replaced by a label"
    )


def test_labels_of_fields_are_words_that_fit_in_details() -> None:
    assert field_label("redundant") == "duplicate"
    assert field_label("has_advanced_customization_feature") == "advanced customization"
    assert field_label("is_default") == "default"
