"""Responses with unreadable parts: the reader omits and counts the parts, at any depth, and reads the rest."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from octavo.api import content, sites
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import PageTree
from octavo.api.operation import ListPage, SpaceRef, decode_response, load
from octavo.api.site_structure import SectionGroup, SiteSection, SiteStructure
from octavo.api.spaces import Space
from octavo.api.text import SafeJson
from octavo.api.wire import decode, encode

Path = tuple[int | str, ...]

DEEP = 4
"""Maximum depth of values that are created from a schema. Page trees are infinitely deep."""


def read_as(kind: Any, value: Any) -> Any:
    return decode_response(TypeAdapter(kind), json.dumps(value).encode())


@cache
def response_types() -> dict[str, TypeAdapter[Any]]:
    """Return the model of each operation's response by name, without free-form JSON."""
    kinds = {str(spec.response_type): spec.response_type for spec in load().values()}
    return {name: TypeAdapter(kind) for name, kind in kinds.items() if kind not in (None, type(None), SafeJson)}


@cache
def complete_response(name: str) -> Any:
    """Return a response that has each documented field."""
    schema = response_types()[name].json_schema(by_alias=True)
    return next(_values_of(schema, schema.get("$defs", {}), DEEP, iter(range(10**6))))


def _values_of(schema: Any, shared: Any, deep: int, numbers: Iterator[int]) -> Iterator[Any]:
    """Yield the values of a schema: one value, two for a list item, none below the maximum depth."""
    if "$ref" in schema:
        if deep > 0:
            yield from _values_of(shared[schema["$ref"].rpartition("/")[2]], shared, deep - 1, numbers)
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        for choice in choices:
            yield from _values_of(choice, shared, deep, numbers)
    elif "const" in schema or "enum" in schema:
        yield schema["const"] if "const" in schema else schema["enum"][0]
    elif schema.get("type") == "object" and "properties" not in schema:
        yield {"named": next(_values_of(schema.get("additionalProperties") or {}, shared, deep, numbers))}
    elif schema.get("type") == "object":
        fields = {
            each: next(_values_of(inside, shared, deep, numbers), None) for each, inside in schema["properties"].items()
        }
        if all(fields[each] is not None for each in schema.get("required", ())):
            yield {each: value for each, value in fields.items() if value is not None}
    elif schema.get("type") == "array":
        yield [item for _ in range(2) for item in _values_of(schema["items"], shared, deep, numbers)]
    elif schema.get("type") == "string":
        yield "2026-01-02T03:04:05Z" if schema.get("format") == "date-time" else f"t{next(numbers)}"
    elif schema.get("type") != "null":
        yield {"integer": 7, "number": 1.5, "boolean": True}.get(schema.get("type", ""), {"any": ["thing"]})


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    for part, inside in (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ):
        yield from paths_of(inside, (*path, part))


def with_change(value: Any, path: Path, *to: Any) -> Any:
    """Return a copy of `value` with `to` at `path`, or without the element at `path` if `to` is empty."""
    if not path:
        return to[0]
    value = copy.deepcopy(value)
    holder = value
    for part in path[:-1]:
        holder = holder[part]
    if to:
        holder[path[-1]] = to[0]
    else:
        del holder[path[-1]]
    return value


def read_strictly(codec: TypeAdapter[Any], value: Any) -> Any:
    """Return the value. None if any part cannot be read."""
    try:
        return codec.validate_json(json.dumps(value))
    except ValidationError:
        return None


odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 2.5, 10**30, "", "a/b", "..", "a\nb", "x" * 5000, [], {}, {"?": [[]]}]
)


@settings(max_examples=150, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_invalid_value_removes_the_smallest_part(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(response_types())))
    codec, value = response_types()[name], complete_response(name)
    path, instead = data.draw(st.sampled_from(list(paths_of(value)))), data.draw(odd)
    mutated = with_change(value, path, instead)
    if (as_it_is := read_strictly(codec, mutated)) is not None:
        assert decode_response(codec, json.dumps(mutated).encode()) == as_it_is
        return
    without = (read_strictly(codec, with_change(value, path[:end])) for end in range(len(path), 0, -1))
    if (expected := next((each for each in without if each is not None), None)) is None:
        with pytest.raises(ValidationError):
            decode_response(codec, json.dumps(mutated).encode())
        return
    answer = decode_response(codec, json.dumps(mutated).encode())
    assert answer == expected
    is_left_out_by_saying_so = instead is None and expected == read_strictly(codec, with_change(value, path))
    assert answer.unreadable == (0 if is_left_out_by_saying_so and isinstance(path[-1], str) else 1)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_invalid_values_keep_the_readable_parts(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(each for each in response_types() if "ListPage" in each)))
    value = {**complete_response(name), "items": [*complete_response(name)["items"], 5]}
    for _ in range(data.draw(st.integers(1, 6))):
        path = data.draw(st.sampled_from([each for each in paths_of(value["items"][0]) if each]))
        value["items"][0] = with_change(value["items"][0], path, data.draw(odd))
    answer = decode_response(response_types()[name], json.dumps(value).encode())
    assert answer.items[-1] == read_strictly(response_types()[name], complete_response(name)).items[-1]
    assert answer.unreadable >= 1


def test_fractional_count_removes_the_count() -> None:
    items = [{"id": "a", "number": 7, "comments": 2.5}, {"id": "b", "comments": 3}]
    page = read_as(ListPage[ChangeRequest], {"items": items, "count": 1.5})
    assert [(each.id, each.number, each.comments) for each in page.items] == [("a", 7, 0), ("b", 0, 3)]
    assert (page.count, page.unreadable) == (None, 2)


def test_too_long_number_removes_the_number() -> None:
    for number, many in (2**63 - 1, 0), (2**63, 1), (-(2**63) - 1, 1), (10**400, 1):
        page = read_as(ListPage[ChangeRequest], {"items": [{"id": "a", "number": number}]})
        assert (page.items[0].number, page.unreadable) == (0 if many else number, many)


def test_all_response_numbers_are_limited() -> None:
    for answer in response_types().values():
        for each in _schemas_in(answer.json_schema(by_alias=True)):
            if each.get("type") == "integer":
                assert {"minimum", "maximum"} <= {name.replace("exclusiveM", "m") for name in each}, answer


def _schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schemas inside a schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _schemas_in(inner)


def test_invalid_page_keeps_the_other_pages() -> None:
    below = [{"id": "in/out", "title": "?"}, {"id": "b", "title": 7, "pages": ["?", {"id": "c"}]}]
    tree = read_as(PageTree, {"pages": [{"id": "Ünü sual", "pages": below}, {"id": "d", "hidden": "perhaps"}]})
    assert [page.id for page in tree.walk()] == ["Ünü sual", "b", "c", "d"]
    assert tree.unreadable == 4


def test_origin_may_be_an_id() -> None:
    people = [
        {"permission": "edit", "user": {"id": f"u{n}"}, "origin": {"type": "space", "space": "s"}} for n in range(54)
    ]
    page = read_as(ListPage[sites.SitePermission], {"items": people})
    assert (len(page.items), page.items[0].origin.type, page.items[0].origin.space) == (54, "space", "s")
    assert page.unreadable == 0


def test_removed_null_is_not_counted() -> None:
    page = read_as(ListPage[Space], {"items": [{"id": "a", "title": None, "comments": None}], "count": None})
    assert (page.items[0].title, page.unreadable) == ("", 0)


def test_list_without_items_is_unreadable() -> None:
    others: list[Any] = [{"id": "a"}, {"items": "none"}, {"items": None}, {"error": {"code": 5}}, [], "none", 5]
    for value in others:
        with pytest.raises(ValidationError):
            read_as(ListPage[Comment], value)
    for kind in (content.PageTree, content.Changes, content.Revision):
        with pytest.raises(ValidationError):
            read_as(kind, {"id": "r", "pages": {"items": []}, "changes": 5})


def test_list_with_unreadable_cursor_has_not_ended() -> None:
    for following in (5, "c", {"page": 5}, {}, {"page": "x" * 5000}):
        page = read_as(ListPage[Space], {"items": [{"id": "a"}], "next": following})
        assert page.next is not None
        assert page.next.page == ""
    assert read_as(ListPage[Space], {"items": [], "next": None}).next is None


def test_union_value_is_read_by_its_tag() -> None:
    section = {"object": "site-section", "id": "s", "title": 5, "siteSpaces": [{"id": "a", "space": {"id": 3}}, 7]}
    group = {
        "object": "site-section-group",
        "id": "g",
        "children": [{**section, "object": "new kind", "title": "N"}, 5],
    }
    structure = read_as(SiteStructure, {"structure": [section, group, {"object": [], "id": "x"}]})
    assert isinstance(structure.structure[0], SiteSection)
    assert [each.id for each in structure.structure[0].site_spaces] == ["a"]
    assert isinstance(structure.structure[1], SectionGroup)
    assert [each.title for each in structure.structure[1].children] == ["N"]
    assert structure.unreadable == 5


def test_half_surrogate_pair_becomes_a_replacement_character() -> None:
    body = rb'{"items": [{"id": "a", "title": "\ud83d\ude00 \ud83d \\ud83d \"\udc00\ud83d\ud83d\ude00"}]}'
    assert decode_response(TypeAdapter(ListPage[Space]), body).items[0].title == '😀 \ufffd \\ud83d "\ufffd\ufffd😀'


@pytest.mark.parametrize(
    "name", ["x", "a:b", "a b", "ünï", "?x#y", "%2F", "...", "..a", ".a.", "-_", "日本", "x" * 256]
)
def test_id_may_be_any_text_and_is_escaped_in_urls(name: str) -> None:
    assert read_as(Space, {"id": name}).id == name
    op = content.GetPage(at=SpaceRef(space_id=name), page_id=name, format="markdown")
    request = encode(op)
    assert request.url.isascii()
    assert request.url.count("/") == len(["", "v1", "spaces", "{}", "content", "page", "{}"]) - 1
    assert decode(request) == op


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "a/b", "/", "../admin", "a/../../b", "x" * 257),
        *("a\nb", "\x00", "\x7f", "\x85", "\u202e", "a\u2066", "a\u200f", "\ufeff", "a\u2028b"),
    ],
)
def test_id_cannot_be_a_parent_path_or_have_control_characters(name: str) -> None:
    with pytest.raises(ValidationError):
        read_as(Space, {"id": name})
    with pytest.raises(ValidationError):
        SpaceRef(space_id=name)


def test_missing_author_is_unknown_also_from_the_cache() -> None:
    kept = read_as(Comment, {"id": "k", "postedBy": None}).model_dump_json(by_alias=True, exclude_unset=True)
    again = decode_response(TypeAdapter(Comment), kept.encode())
    assert (again.posted_by.name, again.unreadable) == ("Unknown", 0)
    assert read_as(Comment, {"id": "k", "postedBy": 5}).posted_by.name == "Unknown"


def test_time_without_zone_is_utc() -> None:
    items = [{"id": "a", "postedAt": "2026-01-02T03:04:05"}, {"id": "b", "postedAt": "2026-01-02T03:04:06Z"}]
    items += [{"id": "c", "postedAt": "2026-01-02"}, {"id": "d", "postedAt": "0001-01-01T00:00:00+14:00"}]
    said = [each.posted_at for each in read_as(ListPage[Comment], {"items": items}).items]
    assert said[0] < said[1]
    assert max(said) == said[1]
