"""Operations: declared as in the table of the API, documented, and encoded without loss."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from octavo.api import change_requests, comments, content, organizations, spaces
from octavo.api.bodies import Markdown
from octavo.api.operation import AREAS, ChangeRequestRef, Operation, OrganizationRef, RevisionRef, SpaceRef, load
from octavo.api.wire import (
    NoSuchOperation,
    Request,
    Route,
    _find_routes,
    decode,
    encode,
    path_template,
    routes,
    url_path,
)

TABLE = Path(__file__).parent.parent / "operations.tsv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
WANTED = {(row["method"], row["path"]): row["success"].split("/") for row in ROWS}
SPECS = list(load().values())
ROUTES = [route for spec in SPECS for route in routes(spec)]
SPACE = SpaceRef(space_id="s")
CHANGE_REQUEST = ChangeRequestRef(space_id="s", change_request_id="7")


def key(route: Route) -> tuple[str, str]:
    return route.spec.method, route.path


def test_operation_is_in_the_api_table() -> None:
    for route in ROUTES:
        assert str(route.spec.success) in WANTED[key(route)], route.key


def test_no_path_is_declared_twice() -> None:
    assert len({key(route) for route in ROUTES}) == len(ROUTES)


def test_reading_and_reviewing_areas_are_complete() -> None:
    whole = {
        "space-comments", "space-comment", "change-request-comments", "collections", "users", "system",
        "change-requests-reviews", "change-request-reviewers", "change-request-contributors",
    }  # fmt: skip
    wanted = {(row["method"], row["path"]) for row in ROWS if row["area"] in whole}
    assert wanted - {key(route) for route in ROUTES} == set()


def test_operation_has_a_docstring() -> None:
    for spec in SPECS:
        assert spec.operation.__doc__, spec.name
        assert spec.summary.endswith((".", ":")), spec.name


def test_path_parameters_are_fields() -> None:
    for spec in SPECS:
        names = set(re.findall(r"{(\w+)}", spec.path)) - {"content"}
        assert names <= set(spec.operation.model_fields), spec.name
        for at_type in spec.at_types:
            assert set(re.findall(r"{(\w+)}", at_type.path)) <= set(at_type.model_fields), spec.name


def test_operation_declares_its_response() -> None:
    for spec in SPECS:
        assert spec.codec is not None, spec.name


def test_every_area_declares_operations() -> None:
    assert {spec.operation.__module__.rpartition(".")[2] for spec in SPECS} == set(AREAS)


OPS: list[Operation[Any]] = [
    comments.Update(at=CHANGE_REQUEST, comment_id="k", body=Markdown(markdown="Hi\x1b[0m"), resolved=True),
    comments.List(at=SPACE, authors=("ada", "gitbook:agent"), limit=3, order="asc"),
    comments.Delete(at=SPACE, comment_id="k"),
    comments.CreateReply(at=SPACE, comment_id="k", body=Markdown(markdown="é"), format="markdown"),
    change_requests.Merge(at=CHANGE_REQUEST),
    content.GetPage(at=RevisionRef(space_id="s", revision_id="r"), page_id="p", format="markdown", refs="stable"),
    content.GetPageByPath(at=SPACE, page_path="guides/set up"),
    content.Edit(
        at=CHANGE_REQUEST,
        changes=(
            content.DeletePage(page="p"),
            content.InsertPage(document=content.DocumentBody(markdown="# New")),
            content.UpdatePage(page="p", into=None, title="T"),
        ),
        compat=False,
    ),
    spaces.Move(at=SPACE, parent=None, position=spaces.Position(before=spaces.SpacePointer(space="t"))),
    organizations.List(),
]  # fmt: skip


@pytest.mark.parametrize("op", OPS, ids=lambda op: type(op).__qualname__)
def test_operation_survives_encoding_and_decoding(op: Operation[Any]) -> None:
    again = decode(encode(op))
    assert again == op
    assert again.model_fields_set == op.model_fields_set


def test_unset_field_is_not_sent() -> None:
    assert encode(comments.Update(at=SPACE, comment_id="k", resolved=True)).body == {"resolved": True}


def test_field_set_to_none_is_sent() -> None:
    assert encode(spaces.Move(at=SPACE, parent=None)).body == {"parent": None}


def test_an_operation_without_body_fields_sends_none() -> None:
    assert encode(change_requests.Merge(at=CHANGE_REQUEST)).body is None


def test_operation_has_a_route_for_each_parent() -> None:
    page = {"page_id": "p", "format": "markdown"}
    revision = RevisionRef(space_id="s", revision_id="r")
    urls = [url_path(content.GetPage(at=at, **page)) for at in (SPACE, CHANGE_REQUEST, revision)]
    assert urls == [
        "/v1/spaces/s/content/page/p",
        "/v1/spaces/s/change-requests/7/content/page/p",
        "/v1/spaces/s/revisions/r/page/p",
    ]


def test_literal_path_is_not_a_parameter() -> None:
    assert type(decode(Request("GET", "/v1/spaces/s/content/pages"))) is content.ListPages


def test_path_of_an_area_matches_no_route_of_another_area() -> None:
    """Then a path is decoded correctly even if only its own area is imported."""
    for route in ROUTES:
        path = re.sub(r"{(\w+)}", lambda name: "x/y" if name[1] == "pagePath" else "x", route.path)
        found = [each for each, _ in _find_routes(path) if each.spec.method == route.spec.method]
        assert {each.spec.operation.__module__ for each in found} == {route.spec.operation.__module__}


def test_page_path_may_have_slashes() -> None:
    op = decode(Request("GET", "/v1/spaces/s/content/path/guides/set%20up"))
    assert isinstance(op, content.GetPageByPath)
    assert op.page_path == "guides/set up"


def test_unknown_path_is_no_operation() -> None:
    with pytest.raises(NoSuchOperation) as caught:
        decode(Request("GET", "/v1/nothing"))
    assert caught.value.methods == ()


def test_wrong_method_error_lists_allowed_methods() -> None:
    with pytest.raises(NoSuchOperation) as caught:
        decode(Request("PUT", "/v1/orgs/o"))
    assert set(caught.value.methods) == {"GET", "PATCH"}


@pytest.mark.parametrize("hostile", [".", "..", ""])
def test_path_segment_cannot_be_a_parent_path(hostile: str) -> None:
    with pytest.raises(ValueError, match="path"):
        encode(content.GetPageByPath(at=SPACE, page_path=hostile))


def test_route_has_parameter_names_instead_of_values() -> None:
    assert (
        path_template(change_requests.Get(at=CHANGE_REQUEST))
        == "/v1/spaces/{spaceId}/change-requests/{changeRequestId}"
    )
    assert path_template(organizations.Get(at=OrganizationRef(organization_id="o"))) == "/v1/orgs/{organizationId}"


def test_values_beyond_documented_limits_are_rejected() -> None:
    with pytest.raises(ValidationError):
        change_requests.Update(at=CHANGE_REQUEST, subject="x" * 101)
    with pytest.raises(ValidationError):
        comments.List(at=SPACE, limit=1001)
    with pytest.raises(ValidationError):
        content.Edit(at=CHANGE_REQUEST, changes=())
