"""Forms of every request are filled in with valid texts, and with texts that break each limit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from octavo.api import openapi, organizations, spaces
from octavo.api.operation import SPECS, Model, Operation, SiteRef, Tagged, load
from octavo.api.text import Id, Secret, WebAddress
from octavo.api.wire import encode, path_fields
from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError
from octavo.tui.resources.form_fields import FormField, fields_of, label_of
from octavo.tui.resources.form_inputs import description_of
from octavo.tui.resources.form_values import (
    FORM,
    FormResult,
    build_request,
    field_in_error,
    form_to_yaml,
    initial_texts,
    is_same_text,
    yaml_to_texts,
)

SITE = SiteRef(organization_id="acme", site_id="docs")
WRITES = [kind for kind, spec in load().items() if spec.method in ("POST", "PUT", "PATCH")]
STRUCTURES: dict[str, Any] = {
    "body": {"markdown": "Well."},
    "comment": {"markdown": "Well."},
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
"""Fields that stay empty because another field of the same choice is filled in."""


def arguments_of(kind: type[Operation[Any]]) -> dict[str, Any]:
    """Return the arguments that a form does not ask for: the place and the path parameters."""
    spec = SPECS[kind]
    place = (
        {"at": spec.at_types[0].model_validate(dict.fromkeys(spec.at_types[0].model_fields, "x1"))}
        if spec.at_types
        else {}
    )
    return {**place, **dict.fromkeys(path_fields(spec), "x1")}


def form_fields(kind: type[Operation[Any]]) -> tuple[FormField, ...]:
    return fields_of(kind, leave_out=frozenset(arguments_of(kind)))


def valid_text(field: FormField) -> str:
    """Return valid text for a field."""
    if field.kind == "structure":
        return yaml_values.to_yaml(STRUCTURES[field.name])
    kind = field.item_kind if field.kind == "list" and field.item_kind is not None else field.kind
    if kind in ("choice", "choices"):
        return field.choices[-1]
    if kind == "yes or no":
        return "yes"
    if kind == "number":
        return str(int(field.minimum or 1))
    if kind == "date":
        return "2026-11-23"
    if kind == "reference":
        return "x2"
    if ", for example " in field.format:
        return field.format.rpartition(", for example ")[2]
    inner = {"Email": "ada@example.com"}.get(field.label, "")
    words = "ada@example.com" if field.name == "emails" else "example.com" if field.name == "email_domains" else inner
    return words or "Tides and more"[: field.max_length]


def invalid_texts(field: FormField) -> list[tuple[str, str]]:
    """Return texts that break each limit of a field, with part of the expected error."""
    broken = []
    if field.kind in ("line", "text", "secret", "reference") and field.max_length is not None:
        broken.append(("x" * (field.max_length + 1), f"may have at most {field.max_length} character"))
    if field.kind in ("line", "text", "secret") and field.min_length is not None and field.min_length > 1:
        broken.append(("x", f"must have at least {field.min_length} character"))
    if field.format and field.kind != "reference":
        broken.append(("\N{SNOWMAN} no such thing", f"must be {field.format}"))
    if field.kind == "reference":
        broken.append(("no/such", "must be an ID of at most"))
    if field.kind == "choice":
        broken.append(("nothing of it", "must be one of" if len(field.choices) > 1 else "must be"))
    if field.kind == "yes or no":
        broken.append(("perhaps", "must be true or false"))
    if field.kind == "number":
        broken.append(("many", "must be a whole number"))
        broken += [(str(int(field.minimum) - 1), "must be")] if field.minimum is not None else []
    if field.kind == "structure":
        broken += [("[1, 2", "Line 1, column 1: This is not valid YAML"), ("just words", "must be")]
    if field.kind == "list" and field.item_kind == "reference":
        broken.append(("x2\nno/such", "Line 2 must be an ID of at most"))
    if field.is_required:
        broken.append(("", "is required"))
    return broken


def filled_texts(
    kind: type[Operation[Any]], other: Mapping[str, str] = MappingProxyType({})
) -> tuple[FormResult, dict[str, str | None]]:
    fields = form_fields(kind)
    begin = initial_texts(fields, None)
    written: dict[str, str | None] = dict(begin)
    for field in fields:
        if field.is_shown(written) and field.name not in ONE_OF.get(SPECS[kind].name, ()):
            written[field.name] = valid_text(field)
    written |= other
    return build_request(kind, fields, arguments_of(kind), begin, written, is_new=True), written


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: SPECS[kind].name)
def test_every_request_can_be_filled_in_completely(kind: type[Operation[Any]]) -> None:
    made, written = filled_texts(kind)
    assert made.errors == {}
    fields = form_fields(kind)
    assert made.operation is not None
    assert made.operation.model_fields_set - arguments_of(kind).keys() == {field.operation_field for field in fields}
    # The JSON of the request must produce an equal model.
    sent = encode(made.operation).body or {}
    aliased = dict(sent.items())
    assert kind.model_validate({**arguments_of(kind), **aliased}) == made.operation
    # A form that starts with this model has nothing to send.
    begin = initial_texts(fields, made.operation)
    for field in fields:
        if field.is_shown(written) and field.kind != "date":
            assert yaml_or_text(field, begin[field.name]) == yaml_or_text(field, written[field.name])
    again = build_request(kind, fields, arguments_of(kind), begin, begin, is_new=False)
    assert (again.operation, again.changed_fields, again.errors) == (None, frozenset(), {})


def yaml_or_text(field: FormField, text: str | None) -> Any:
    if field.kind == "structure" and text:
        read = yaml_values.parse_yaml(text)
        return read.value if read is not None else None
    return text


LIMITS = [
    pytest.param(kind, field.name, broken, sentence, id=f"{SPECS[kind].name}-{field.name}-{broken[:12] or 'empty'}")
    for kind in WRITES
    for field in form_fields(kind)
    for broken, sentence in invalid_texts(field)
]


@pytest.mark.parametrize(("kind", "name", "broken", "sentence"), LIMITS)
def test_violated_limit_is_reported_at_its_field(
    kind: type[Operation[Any]], name: str, broken: str, sentence: str
) -> None:
    field = next(each for each in form_fields(kind) if each.name == name)
    tags = {when.name: min(when.values) for when in field.conditions}
    made, _ = filled_texts(kind, {**tags, **texts_of_choices(kind, tags), name: broken})
    assert made.operation is None
    assert sentence in made.errors[name], made.errors
    assert made.errors[name].endswith(".")


IN_PATH = {
    (field.name, field.kind, field.format): pytest.param(kind, field, id=f"{field.name}-{SPECS[kind].name}")
    for kind, spec in load().items()
    for field in fields_of(kind)
    if field.name in path_fields(spec)
}
"""One field for each type of path parameter. A form asks for the parameter if the parameter is not known."""


@pytest.mark.parametrize(("kind", "field"), IN_PATH.values())
def test_violated_limit_of_a_path_parameter_is_reported(kind: type[Operation[Any]], field: FormField) -> None:
    arguments = {name: value for name, value in arguments_of(kind).items() if name != field.name}
    fields = [each for each in fields_of(kind, leave_out=frozenset(arguments)) if each.is_required or each == field]
    fits = {each.name: valid_text(each) for each in fields}
    for written, sentence in ((fits[field.name], ""), *invalid_texts(field)):
        made = build_request(
            kind, fields, arguments, initial_texts(fields, None), {**fits, field.name: written}, is_new=True
        )
        assert sentence in made.errors.get(field.name, ""), made.errors
        assert (field.name in made.errors) == bool(sentence)


def texts_of_choices(kind: type[Operation[Any]], tags: dict[str, str]) -> dict[str, str]:
    """Return valid text for the fields that belong to the given choices."""
    return {each.name: valid_text(each) for each in form_fields(kind) if each.conditions and each.is_shown(tags)}


# An operation with one field of each kind.


class NumberChoice(Tagged):
    """A choice with a number."""

    kind: Literal["shore"] = "shore"
    length: Annotated[int, Field(ge=1, le=900)]


class ReferenceChoice(Tagged):
    """A choice with a reference."""

    kind: Literal["deep"] = "deep"
    below: Id
    """Id of the parent."""


class NestedModel(Model):
    """A model inside the operation."""

    name: Annotated[str, Field(min_length=2, max_length=20)]
    accurate: bool | None = None


class AllKindsOfFields(Operation[None], put="/everything", repeats_request=True, nullable=("note", "level")):
    """An operation with a field of each kind."""

    at: SiteRef
    title: Annotated[str, Field(min_length=2, max_length=10)]
    """Name of the item."""
    note: str | None = None
    count: Annotated[int, Field(ge=1, le=9)] | None = None
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    live: bool | None = None
    level: Literal["low", "high"] | None = None
    tides: tuple[Literal["spring", "neap"], ...] | None = None
    day: date | None = None
    moment: datetime | None = None
    key: Annotated[str, Field(min_length=4), Secret()] | None = None
    station: Id | None = None
    stations: tuple[Id, ...] | Literal["all"] | None = None
    pages: Annotated[tuple[WebAddress, ...], Field(max_length=2)] | None = None
    place: Annotated[NumberChoice | ReferenceChoice, Field(discriminator="kind")] | None = None
    gauge: NestedModel | None = None
    gauges: tuple[NestedModel, ...] | None = None
    headers: dict[str, Annotated[str, Secret()]] | None = None


ALL_FIELDS = fields_of(AllKindsOfFields)
ALL_TEXTS: dict[str, str | None] = {
    "title": "Tides",
    "note": "Two\nlines",
    "count": "3",
    "share": "0.5",
    "live": "no",
    "level": "high",
    "tides": "neap\nspring",
    "day": "2026-11-23",
    "moment": "2026-11-23T18:30:00Z",
    "key": "s3cret",
    "station": "st-1",
    "stations": "st-1\nst-2",
    "pages": "https://sea.example/a\nhttps://sea.example/b",
    "place.kind": "deep",
    "place.length": "",
    "place.below": "st-3",
    "gauge.name": "Limpet",
    "gauge.accurate": "yes",
    "gauges": "- name: Limpet\n  accurate: true\n- name: Whelk\n",
    "headers": "X-Shore: west\n",
}


def test_declared_field_of_an_operation_is_in_its_form() -> None:
    assert {each.name: each.kind for each in ALL_FIELDS} == {
        "title": "line",
        "note": "text",
        "count": "number",
        "share": "number",
        "live": "yes or no",
        "level": "choice",
        "tides": "choices",
        "day": "date",
        "moment": "date",
        "key": "secret",
        "station": "reference",
        "stations": "list",
        "pages": "list",
        "gauges": "structure",
        "headers": "structure",
        "place.kind": "choice",
        "place.length": "number",
        "place.below": "reference",
        "gauge.name": "line",
        "gauge.accurate": "yes or no",
    }
    by_name = {each.name: each for each in ALL_FIELDS}
    assert (by_name["title"].is_required, by_name["title"].hint, by_name["title"].limits) == (
        True,
        "Name of the item.",
        "2 to 10 characters",
    )
    assert (by_name["note"].is_nullable, by_name["count"].is_nullable, by_name["count"].limits) == (
        True,
        False,
        "1 to 9",
    )
    assert (by_name["level"].choices, by_name["tides"].choices, by_name["stations"].choices) == (
        ("low", "high"),
        ("spring", "neap"),
        ("all",),
    )
    assert (by_name["stations"].item_kind, by_name["pages"].item_kind) == ("reference", "line")
    assert (by_name["key"].is_masked, by_name["headers"].is_masked, by_name["gauges"].is_masked) == (True, True, False)
    assert (by_name["place.below"].group, by_name["place.below"].hint) == ("Place", "Id of the parent.")
    assert [each.name for each in ALL_FIELDS if each.is_shown({"place.kind": "shore"})].count("place.below") == 0


class LimitedToOne(Operation[None], put="/single", repeats_request=True):
    """An operation with fields that accept at most one character or item."""

    at: SiteRef
    initial: Annotated[str, Field(max_length=1)]
    tides: Annotated[tuple[str, ...], Field(max_length=1)]


def test_limit_of_one_is_in_the_singular() -> None:
    limits = {each.name: each.limits for each in fields_of(LimitedToOne)}
    assert limits["initial"] == "at most 1 character"
    assert limits["tides"] == "at most 1 item · one per line"


def build_all(**other: str | None) -> FormResult:
    begin = initial_texts(ALL_FIELDS, None)
    return build_request(AllKindsOfFields, ALL_FIELDS, {"at": SITE}, begin, {**begin, **other}, is_new=True)


def test_text_is_converted_to_the_values_of_the_model() -> None:
    made = build_all(**ALL_TEXTS).operation
    assert isinstance(made, AllKindsOfFields)
    assert (made.count, made.share, made.live, made.tides) == (3, 0.5, False, ("neap", "spring"))
    assert (made.day, made.moment) == (date(2026, 11, 23), datetime(2026, 11, 23, 18, 30, tzinfo=UTC))
    assert (made.place, made.gauge) == (ReferenceChoice(below="st-3"), NestedModel(name="Limpet", accurate=True))
    assert (made.stations, build_all(title="xx", stations="all").operation.stations) == (("st-1", "st-2"), "all")  # type: ignore[union-attr]  # The operation was built.
    assert (made.gauges, made.headers) == (
        (NestedModel(name="Limpet", accurate=True), NestedModel(name="Whelk")),
        {"X-Shore": "west"},
    )
    again = initial_texts(ALL_FIELDS, made)
    assert {name: text for name, text in again.items() if not is_same_text(text, ALL_TEXTS[name])} == {}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("title", "x", "Title must have at least 2 characters."),
        ("count", "10", "Count may be at most 9."),
        ("count", "few", "Count must be a whole number."),
        ("share", "half", "Share must be a number."),
        ("day", "yesterday", "Day must be a date, for example 2026-11-23."),
        ("moment", "now", "Moment must be a date and time, for example 2026-11-23 or 2026-11-23T18:30Z."),
        ("key", "s3c", "Key must have at least 4 characters."),
        ("tides", "neap\nebb", "Line 2 must be one of 'spring' or 'neap'."),
        (
            "stations",
            "a\nb/c",
            "Line 2 must be an ID of at most 256 characters, without / and control characters.",
        ),
        ("pages", "https://sea.example\nsea", "Line 2 must be a link, for example https://example.com/page."),
        ("pages", "https://a.b\nhttps://a.c\nhttps://a.d", "Pages may have at most 2 items."),
        ("place.kind", "air", "Kind must be one of shore, deep."),
        ("gauge.name", "x", "Name must have at least 2 characters."),
        ("gauges", "- name: x\n", "Line 1, column 3: [0].name must have at least 2 characters."),
        ("gauges", "- name: x\n  - y\n", "Line 2, column 3: This is not valid YAML:"),
        ("headers", "just words", "Line 1, column 1: Headers must be an object."),
        ("headers", "a: 1", "Line 1, column 1: A must be text."),
    ],
)
def test_error_names_the_field_and_the_rule(name: str, text: str, sentence: str) -> None:
    made = build_all(**{**ALL_TEXTS, name: text})
    assert made.operation is None
    assert made.errors[name].startswith(sentence), made.errors


class Level(Model):
    """A model in which two values can be wrong at once."""

    level: Literal["low", "high"]
    name: Annotated[str, Field(min_length=2)]


class WithLevels(Operation[None], put="/levels", repeats_request=True):
    """An operation with a field of several such models."""

    at: SiteRef
    levels: tuple[Level, ...]


def test_error_of_a_choice_beside_another_error_names_only_the_choices() -> None:
    fields = fields_of(WithLevels)
    texts = {"levels": "- level: middle\n  name: x\n"}
    made = build_request(WithLevels, fields, {"at": SITE}, initial_texts(fields, None), texts, is_new=True)
    assert made.errors == {"levels": "Line 1, column 3: [0].level must be one of 'low' or 'high'."}


def changed_from(now: BaseModel, **written: str | None) -> FormResult:
    begin = initial_texts(ALL_FIELDS, now)
    return build_request(AllKindsOfFields, ALL_FIELDS, {"at": SITE}, begin, {**begin, **written}, is_new=False)


def test_null_is_offered_only_for_nullable_fields() -> None:
    now = AllKindsOfFields(
        at=SITE, title="Tides", note="x", level="low", count=3, place=NumberChoice(length=2), pages=("https://a.b",)
    )
    cleared = changed_from(now, note="", level=None, pages="").operation
    assert cleared is not None
    assert cleared.model_dump(exclude_unset=True, exclude={"at"}) == {
        "title": "Tides",
        "note": None,
        "level": None,
        "pages": (),
    }
    assert changed_from(now, count="").errors == {"count": "Count must be a whole number."}
    assert changed_from(now, **{"place.kind": "", "place.length": ""}).errors == {
        "place.kind": "Kind must be one of shore, deep."
    }
    assert changed_from(now, headers="null").errors == {"headers": "You can change Headers, but you cannot remove it."}


def test_change_in_a_nested_model_sends_the_whole_model() -> None:
    now = AllKindsOfFields(at=SITE, title="Tides", gauge=NestedModel(name="Limpet", accurate=True))
    made = changed_from(now, **{"gauge.name": "Whelk"})
    assert made.changed_fields == {"gauge"}
    assert made.operation is not None
    assert made.operation.model_dump(exclude_unset=True)["gauge"] == {"name": "Whelk", "accurate": True}
    turned = changed_from(
        AllKindsOfFields(at=SITE, title="Tides", place=NumberChoice(length=2)),
        **{"place.kind": "deep", "place.below": "st-1"},
    )
    assert isinstance(turned.operation, AllKindsOfFields)
    assert turned.operation.place == ReferenceChoice(below="st-1")


def test_field_in_a_server_error_is_found() -> None:
    assert field_in_error("sourceURL is wrong: gauge.name must be text.", ALL_FIELDS) == "gauge.name"
    assert field_in_error("level must be low or high.", ALL_FIELDS) == "level"
    assert field_in_error("The entitlement is used up.", ALL_FIELDS) == FORM
    assert field_in_error("headers.X-Shore may not be sent.", ALL_FIELDS) == "headers"


@example({"gauges": "0\x1f"})
@example({"gauges": "\n\x1f0"})
@given(st.dictionaries(st.sampled_from([each.name for each in ALL_FIELDS]), st.none() | st.text(max_size=40)))
def test_any_text_makes_a_request_or_an_error(written: dict[str, str | None]) -> None:
    made = build_all(**written)
    assert (made.operation is None) == bool(made.errors)
    assert set(made.errors) <= {FORM, *(each.name for each in ALL_FIELDS)}
    assert all(sentence.strip() for sentence in made.errors.values())


# Forms as YAML


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: SPECS[kind].name)
def test_form_as_yaml_keeps_all_texts(kind: type[Operation[Any]]) -> None:
    fields = form_fields(kind)
    begin, (_, written) = initial_texts(fields, None), filled_texts(kind)
    for texts in (begin, written):
        back = yaml_to_texts(form_to_yaml("A form", fields, begin, texts), fields, begin)
        active = {each.name for each in fields if each.is_shown(texts)}
        assert {
            name: text for name, text in back.items() if name in active and not is_same_text(text, texts[name])
        } == {}


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: SPECS[kind].name)
def test_form_as_yaml_keeps_emptied_fields(kind: type[Operation[Any]]) -> None:
    fields = form_fields(kind)
    begin = {**initial_texts(fields, None), **filled_texts(kind)[1]}
    texts = {each.name: "" if each.kind != "choice" else begin[each.name] for each in fields}
    back = yaml_to_texts(form_to_yaml("A form", fields, begin, texts), fields, begin)
    assert {each.name: back[each.name] for each in fields if each.is_shown(texts)} == {
        each.name: texts[each.name] for each in fields if each.is_shown(texts)
    }


def test_form_as_yaml_names_the_limits_and_the_example_of_a_field() -> None:
    fields = form_fields(spaces.Create)
    texts = initial_texts(fields, None)
    assert "# Emoji · at most 50 characters · example: 🚀\n" in form_to_yaml("A form", fields, texts, texts)


def test_form_as_yaml_keeps_a_nested_null() -> None:
    fields = form_fields(organizations.Update)
    begin = initial_texts(fields, None)
    assert begin["default_content.site"] == ""
    texts = {**begin, "default_content.site": None}
    assert yaml_to_texts(form_to_yaml("A form", fields, begin, texts), fields, begin) == texts


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@example("", "", ["{}", '{"a": 1}'])
@given(TEXTS, TEXTS.map(lambda text: f"{text}\nmore"), st.lists(TEXTS.filter(str.strip), max_size=3))
def test_form_as_yaml_keeps_any_text(title: str, note: str, stations: list[str]) -> None:
    begin = initial_texts(ALL_FIELDS, None)
    listed = "\n".join(each.strip() for each in stations if len(each.splitlines()) == 1)
    texts = {**begin, "title": title, "note": note, "stations": listed}
    back = yaml_to_texts(form_to_yaml("A form", ALL_FIELDS, begin, texts), ALL_FIELDS, begin)
    assert {name: (text, texts[name]) for name, text in back.items() if not is_same_text(text, texts[name])} == {}


def test_word_true_in_yaml_is_the_text_of_a_text_field() -> None:
    begin = initial_texts(ALL_FIELDS, None)
    texts = yaml_to_texts("title: true\nlive: true\n", ALL_FIELDS, begin)
    assert (texts["title"], texts["live"]) == ("true", "yes")


def test_form_as_yaml_keeps_text_that_cannot_be_parsed() -> None:
    begin = initial_texts(ALL_FIELDS, None)
    texts = {**begin, "headers": "X-Shore: [west", "count": "few", "live": "perhaps", "place.kind": "air"}
    assert yaml_to_texts(form_to_yaml("A form", ALL_FIELDS, begin, texts), ALL_FIELDS, begin) == texts


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("title: x\nnothing: y\n", 2, "Unknown name “nothing”. Valid names: title, note,"),
        ("title:\n- x\n", 1, "title must be a single value."),
        ("pages:\n  a: b\n", 1, "pages must be a list"),
        ("gauge:\n  name: x\n  weight: 2\n", 3, "Unknown name “weight”. Valid names: name, accurate."),
        ("\ngauge: Limpet\n", 2, "gauge must contain values with these names: name, accurate."),
        ("pages:\n- [a]\n", 2, "Each item in pages must be one line of text."),
        ("- a\n", 1, "Each value needs a name"),
    ],
)
def test_yaml_error_names_its_line(text: str, line: int, sentence: str) -> None:
    with pytest.raises(YamlError) as raised:
        yaml_to_texts(text, ALL_FIELDS, initial_texts(ALL_FIELDS, None))
    assert raised.value.line == line
    assert raised.value.sentence.startswith(sentence)


def test_field_names_become_labels() -> None:
    assert [label_of(each) for each in ("sso_url", "default_site_space", "ai")] == [
        "SSO URL",
        "Default site space",
        "AI",
    ]
    assert label_of("space_id", is_reference=True) == "Space"


def test_visibility_of_a_specification_has_its_own_explanation() -> None:
    """The two fields have the same name but different options."""
    (field,) = (each for each in fields_of(openapi.Update) if each.name == "visibility")
    assert [description_of(field, each) for each in field.choices] == [
        "only members can see the specification",
        "everyone can see the specification",
    ]
