"""Sample responses survive reading and writing, also with missing and unknown fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from octavo.api.change_requests import ChangeRequest
from octavo.api.collections import Collection
from octavo.api.comments import Comment, Reply
from octavo.api.content import Changes, Page, PageTree, Revision
from octavo.api.links import Link
from octavo.api.openapi_document import document
from octavo.api.operation import ListPage
from octavo.api.organizations import Member, Organization
from octavo.api.reviews import Review
from octavo.api.search import PageHit
from octavo.api.sites import Site
from octavo.api.spaces import Space

FOLDER = Path(__file__).parent / "samples"
KINDS: dict[str, Any] = {
    "01_orgs_list": ListPage[Organization],
    "02_org": Organization,
    "03_collections_list": ListPage[Collection],
    "04_collection_spaces": ListPage[Space],
    "05_org_spaces_list": ListPage[Space],
    "06_space": Space,
    "07_content_pages": PageTree,
    "08_content_page_markdown": Page,
    "09_change_requests_list": ListPage[ChangeRequest],
    "10_change_request": ChangeRequest,
    "11_cr_comments_list": ListPage[Comment],
    "12_comment_replies": ListPage[Reply],
    "13_space_comments": ListPage[Comment],
    "14_search": ListPage[PageHit],
    "15_space_links": ListPage[Link],
    "16_members": ListPage[Member],
    "x1_content_page_document": Page,
    "x2_content_pages_no_body": PageTree,
    "x3_cr_changes": Changes,
    "x4_cr_reviews": ListPage[Review],
    "x5_sites_list": ListPage[Site],
    "x7_revision": Revision,
}
"""The model of each sample. Samples of errors belong to the client."""

every_sample = pytest.mark.parametrize("name", KINDS)
few_examples = settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))

OMITTED = (".object", ".target.page.createdAt", ".target.page.updatedAt", ".git.createdByGitBook")
"""Fields of samples that models do not have: the place determines the kind of an item, the tree determines the time
of a page, and one field has another name."""


@cache
def sample(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def reader(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[name])


@cache
def schema(name: str) -> dict[str, Any]:
    return reader(name).json_schema(by_alias=True)


def dump(model: BaseModel) -> Any:
    return json.loads(model.model_dump_json(by_alias=True, exclude_unset=True))


def read(name: str, value: Any) -> Any:
    return reader(name).validate_json(json.dumps(value))


def test_every_sample_is_read() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {*KINDS, "x6_error_404"}


def test_error_sample_matches_the_schema() -> None:
    assert jsonschema_rs.is_valid(document()["components"]["schemas"]["Error"], sample("x6_error_404"))
    assert not jsonschema_rs.is_valid(document()["components"]["schemas"]["Error"], sample("06_space"))


@every_sample
def test_sample_survives_reading_and_writing(name: str) -> None:
    once = read(name, sample(name))
    again = read(name, dump(once))
    assert again == once
    assert dump(again) == dump(once)
    assert getattr(once, "unreadable", 0) == 0


@every_sample
def test_sample_loses_no_field(name: str) -> None:
    shown = dump(read(name, sample(name)))
    assert [path for path in missing_fields(sample(name), shown) if not path.endswith(OMITTED)] == []


def missing_fields(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield the paths of fields that `after` lacks. Other values must be equal, apart from zero milliseconds."""
    if isinstance(before, dict):
        assert isinstance(after, dict), at
        for name, value in before.items():
            if name not in after:
                yield f"{at}.{name}"
            else:
                yield from missing_fields(value, after[name], f"{at}.{name}")
    elif isinstance(before, list):
        assert isinstance(after, list), at
        assert len(before) == len(after), at
        for one, other in zip(before, after, strict=True):
            yield from missing_fields(one, other, f"{at}[]")
    else:
        assert without_milliseconds(after) == without_milliseconds(before), at


def without_milliseconds(value: Any) -> Any:
    return value.replace(".000Z", "Z") if isinstance(value, str) else value


@dataclass(frozen=True)
class Field:
    """A field of an object in a sample, as its model describes it."""

    path: tuple[str | int, ...]
    required: bool
    nullable: bool
    values: bool
    """Whether the field is an enumeration."""


@cache
def fields(name: str) -> tuple[Field, ...]:
    """Return the fields of a sample that its model has, deepest first."""
    found = list(_fields(sample(name), schema(name), schema(name).get("$defs", {}), ()))
    return tuple(sorted(found, key=lambda each: -len(each.path)))


def _fields(value: Any, described: Any, shared: Any, path: tuple[str | int, ...]) -> Iterator[Field]:
    for kind in _kinds(described, shared):
        if isinstance(value, list):
            for place, item in enumerate(value):
                yield from _fields(item, kind.get("items", {}), shared, (*path, place))
        elif isinstance(value, dict):
            for name, inside in kind.get("properties", {}).items():
                if name in value:
                    kinds = list(_kinds(inside, shared))
                    required = name in kind.get("required", ())
                    words = any("enum" in each for each in kinds)
                    yield Field((*path, name), required, {"type": "null"} in kinds, words)
                    yield from _fields(value[name], inside, shared, (*path, name))


def _kinds(described: Any, shared: Any) -> Iterator[Any]:
    """Yield the possible schemas of a value, with references and choices resolved."""
    if "$ref" in described:
        yield from _kinds(shared[described["$ref"].rpartition("/")[2]], shared)
    elif choices := described.get("anyOf") or described.get("oneOf"):
        for choice in choices:
            yield from _kinds(choice, shared)
    else:
        yield described


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
    max_leaves=5,
)


@every_sample
@few_examples
@given(data=st.data())
def test_sample_is_read_with_missing_or_unknown_fields(name: str, data: st.DataObject) -> None:
    changed = json.loads(json.dumps(sample(name)))
    touched = data.draw(st.lists(st.sampled_from(fields(name)), min_size=1, max_size=12, unique=True))
    for field in sorted(touched, key=lambda each: -len(each.path)):
        holder, last = at(changed, field.path[:-1]), field.path[-1]
        ways: list[Callable[[], None]] = [lambda: holder.update({f"new {last}": data.draw(json_values)})]  # noqa: B023  # called before the variables change
        if not field.required:
            ways.append(lambda: holder.pop(last))  # noqa: B023
        if field.nullable:
            ways.append(lambda: holder.update({last: None}))  # noqa: B023
        if field.values:
            ways.append(lambda: holder.update({last: data.draw(st.text(max_size=20))}))  # noqa: B023
        data.draw(st.sampled_from(ways))()
    once = read(name, changed)
    assert getattr(once, "unreadable", 0) == 0
    assert read(name, dump(once)) == once


def test_fields_of_samples_are_found() -> None:
    found = {field.path: field for field in fields("06_space")}
    assert found[("id",)].required
    assert found[("visibility",)].values
    assert found[("defaultLevel",)].nullable
    assert not found[("title",)].nullable
    assert ("urls", "app") in found
