"""Forms of every request there is: filled in with what fits, and with what breaks each limit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from octavo.api.operation import SPECS, Operation, load
from octavo.api.places import OrganizationRef, SiteRef
from octavo.api.wire import encode, in_path
from octavo.documents import yaml_values
from octavo.tui.resources.form_fields import FormField, fields_of
from octavo.tui.resources.form_values import Made, beginnings, make

ACME = OrganizationRef(organization_id="acme")
SITE = SiteRef(organization_id="acme", site_id="docs")
WRITES = [kind for kind, spec in load().items() if spec.method in ("POST", "PUT", "PATCH")]
STRUCTURES: dict[str, Any] = {
    "merge_rules": {"approvals": 1},
    "memberships": {"jun": {"role": "owner"}},
    "changes": [{"operation": "delete_page", "page": "p1"}],
    "description": {"object": "document", "nodes": []},
    "headers": {"Authorization": "Bearer x"},
    "json_schema": {
        "type": "object",
        "properties": {"beta": {"type": "boolean", "description": "Tries things early."}},
        "additionalProperties": False,
    },
    "instructions": {"object": "document", "nodes": []},
    "font_faces": [{"weight": 400, "storageKey": "uploads/acme/1"}],
}
ONE_OF = {"openapi.Create": ("source.text",), "openapi.Put": ("source.text",)}
"""Fields that are left out where others are filled in."""


def known(kind: type[Operation[Any]]) -> dict[str, Any]:
    """What a form of an operation does not ask: where it happens, and what its path names."""
    spec = SPECS[kind]
    place = (
        {"at": spec.places[0].model_validate(dict.fromkeys(spec.places[0].model_fields, "x1"))} if spec.places else {}
    )
    return {**place, **dict.fromkeys(in_path(spec), "x1")}


def asked(kind: type[Operation[Any]]) -> tuple[FormField, ...]:
    return fields_of(kind, leave_out=frozenset(known(kind)))


def fitting(field: FormField) -> str:
    """Something that fits, as it is written."""
    if field.kind == "structure":
        return yaml_values.written(STRUCTURES[field.name])
    kind = field.items if field.kind == "list" and field.items is not None else field.kind
    if kind in ("choice", "choices"):
        return field.choices[-1]
    if kind == "yes or no":
        return "yes"
    if kind == "number":
        return str(int(field.low or 1))
    if kind == "date":
        return "2026-11-23"
    if kind == "reference":
        return "x2"
    if ": " in field.form:
        return field.form.rpartition(": ")[2]
    inner = {"Email": "ada@example.com"}.get(field.label, "")
    words = "ada@example.com" if field.name == "emails" else "example.com" if field.name == "email_domains" else inner
    return words or "Tides and more"[: field.most]


def too_much(field: FormField) -> list[tuple[str, str]]:
    """What breaks each of its limits, with words of the sentence that says so."""
    broken = []
    if field.kind in ("line", "text", "secret", "reference") and field.most is not None:
        broken.append(("x" * (field.most + 1), f"may have at most {field.most} character"))
    if field.kind in ("line", "text", "secret") and field.least is not None and field.least > 1:
        broken.append(("x", f"must have at least {field.least} character"))
    if field.form and field.kind != "reference":
        broken.append(("\N{SNOWMAN} no such thing", f"must be {field.form}"))
    if field.kind == "reference":
        broken.append(("no/such", "must be an identifier"))
    if field.kind == "choice":
        broken.append(("nothing of it", "must be one of" if len(field.choices) > 1 else "must be"))
    if field.kind == "yes or no":
        broken.append(("perhaps", "must be true or false"))
    if field.kind == "number":
        broken.append(("many", "must be a whole number"))
        broken += [(str(int(field.low) - 1), "must be")] if field.low is not None else []
    if field.kind == "structure":
        broken += [("[1, 2", "Line 1: This is not YAML"), ("just words", "must be")]
    if field.kind == "list" and field.items == "reference":
        broken.append(("x2\nno/such", "Line 2 must be an identifier"))
    if field.required:
        broken.append(("", "is required"))
    return broken


def filled(
    kind: type[Operation[Any]], other: Mapping[str, str] = MappingProxyType({})
) -> tuple[Made, dict[str, str | None]]:
    fields = asked(kind)
    begin = beginnings(fields, None)
    written: dict[str, str | None] = dict(begin)
    for field in fields:
        if field.is_there(written) and field.name not in ONE_OF.get(SPECS[kind].name, ()):
            written[field.name] = fitting(field)
    written |= other
    return make(kind, fields, known(kind), begin, written, anew=True), written


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: SPECS[kind].name)
def test_every_request_can_be_filled_in_with_all_it_has(kind: type[Operation[Any]]) -> None:
    made, written = filled(kind)
    assert made.wrong == {}
    fields = asked(kind)
    assert made.operation is not None
    assert made.operation.model_fields_set - known(kind).keys() == {field.top for field in fields}
    # What it says is what the model makes of the same as JSON.
    sent = encode(made.operation).body or {}
    aliased = dict(sent.items())
    assert kind.model_validate({**known(kind), **aliased}) == made.operation
    # And a form that begins with it has nothing to send.
    begin = beginnings(fields, made.operation)
    for field in fields:
        if field.is_there(written) and field.kind != "date":
            assert yaml_or_text(field, begin[field.name]) == yaml_or_text(field, written[field.name])
    again = make(kind, fields, known(kind), begin, begin, anew=False)
    assert (again.operation, again.changed, again.wrong) == (None, frozenset(), {})


def yaml_or_text(field: FormField, text: str | None) -> Any:
    if field.kind == "structure" and text:
        read = yaml_values.read(text)
        return read.value if read is not None else None
    return text


LIMITS = [
    pytest.param(kind, field.name, broken, sentence, id=f"{SPECS[kind].name}-{field.name}-{broken[:12] or 'empty'}")
    for kind in WRITES
    for field in asked(kind)
    for broken, sentence in too_much(field)
]


@pytest.mark.parametrize(("kind", "name", "broken", "sentence"), LIMITS)
def test_every_limit_that_is_broken_is_said_at_its_field(
    kind: type[Operation[Any]], name: str, broken: str, sentence: str
) -> None:
    field = next(each for each in asked(kind) if each.name == name)
    tags = {when.name: min(when.tags) for when in field.whens}
    made, _ = filled(kind, {**tags, **needed(kind, tags), name: broken})
    assert made.operation is None
    assert sentence in made.wrong[name], made.wrong
    assert made.wrong[name].endswith(".")


def needed(kind: type[Operation[Any]], tags: dict[str, str]) -> dict[str, str]:
    """What goes with other tags than those that were filled in."""
    return {each.name: fitting(each) for each in asked(kind) if each.whens and each.is_there(tags)}
