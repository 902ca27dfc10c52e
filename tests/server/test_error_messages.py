from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from octavo.api import comments, spaces
from octavo.api.operation import load
from octavo.api.wire import Request, body_fields, decode, query_fields, routes
from octavo.server.app import invalid_request, missing_message
from octavo.server.rest import Refusal

WRONG: tuple[Any, ...] = (7, [], {}, [[]], {"x": [{}]}, "\ud800", "x" * 3000, True, [{"type": "?"}])


def _sentence(model: type[BaseModel], body: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as invalid:
        model.model_validate(body)
    return str(invalid_request(invalid.value, body))


def test_each_resource_in_a_path_has_a_name_for_errors() -> None:
    ends = {
        path.split("/")[-2]
        for path in (route.path for spec in load().values() for route in routes(spec))
        if path[-1] == "}"
    }
    names = {each: missing_message(f"/{each}/x").partition(" “")[0].removeprefix("There is no ") for each in ends}
    assert names["change-requests"] == "change request"
    assert not [each for each, name in names.items() if name.endswith("s") or "-" in name]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"position": {"before": {"type": "space"}}}, "position.before.space is required."),
        ({"position": {"before": {}}}, "position.before must contain 'type'."),
        (
            {"position": {"before": {"type": "x"}}},
            "position.before must have 'type' set to one of 'space', 'collection'.",
        ),
        ({"position": {"after": 7}}, "position.after must be an object."),
        (
            {"parent": "a/b"},
            "parent must be an ID of at most 256 characters, without / and control characters.",
        ),
    ],
)
def test_error_names_the_path_of_the_field(body: dict[str, Any], sentence: str) -> None:
    assert _sentence(spaces.Move, {"at": {"spaceId": "s"}, **body}).startswith(sentence)


def test_items_are_counted_from_zero() -> None:
    body = {"at": {"spaceId": "s"}, "commentId": "k", "addedReactions": ["a", "b", 3]}
    assert _sentence(comments.Update, body) == "addedReactions[2] must be text."


def test_every_invalid_request_gets_one_sentence_with_the_field() -> None:
    for spec in load().values():
        url = re.sub(r"{\w+}", "x", routes(spec)[0].path)
        wrong = [(url, {name: value}) for name in sorted(body_fields(spec)) for value in WRONG]
        wrong += [(f"{url}?{name}=%00&{name}=" + "x" * 3000, {}) for name in sorted(query_fields(spec))]
        for address, body in wrong:
            refusal = _refusal(Request(spec.method, address, body))
            if refusal is not None:
                assert refusal.status == 400, spec.name
                assert re.fullmatch(r"[A-Za-z.0-9\[\]]+ (is|must|may) .+\.", str(refusal)), (spec.name, str(refusal))
                assert "xxx" not in str(refusal), spec.name


def _refusal(request: Request) -> Refusal | None:
    try:
        decode(request)
    except ValidationError as invalid:
        return invalid_request(invalid, request.body)
    return None


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/orgs/acme/members/eve", "There is no member “eve” here, or you do not have access."),
        ("/spaces/s/change-requests/c/comments/k/replies/r", "There is no reply “r” here, or you do not have access."),
        ("f00d", "There is no file “f00d” here, or you do not have access."),
    ],
)
def test_not_found_error_names_the_kind_of_resource(path: str, sentence: str) -> None:
    assert missing_message(path) == sentence
