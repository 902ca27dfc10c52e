"""`octavo api` and `octavo operations`: any operation from a script, with exit codes that say how it went."""

from __future__ import annotations

import json

import pytest

from octavo.api.openapi_document import document
from octavo.api.operation import load
from octavo.api.wire import routes
from octavo.cli.operations import parameters, table
from tests.cli.conftest import Octavo
from tests.cli.small_server import KEY


@pytest.fixture
def signed_in(octavo: Octavo, served: str, monkeypatch: pytest.MonkeyPatch) -> Octavo:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_BASE_URL", served)
    return octavo


def test_the_operations_are_listed_with_typed_parameters(octavo: Octavo) -> None:
    ran = octavo("operations", "--json")
    listed = json.loads(ran.out)
    assert ran.code == 0
    assert {(each["method"], each["path"]) for each in listed} == {
        (route.spec.method, route.path) for spec in load().values() for route in routes(spec)
    }
    comments = next(each for each in listed if each["name"] == "comments.List" and "change" not in each["path"])
    assert comments["success"] == 200
    parameters = {each["name"]: each for each in comments["parameters"]}
    assert (
        parameters["spaceId"].items() >= {"name": "spaceId", "in": "path", "type": "string", "required": True}.items()
    )
    assert parameters["authors"] == {"name": "authors", "in": "query", "type": "string[]", "required": False}
    created = next(each for each in listed if each["name"] == "comments.Create")
    assert {"name": "body", "in": "body", "type": "object", "required": True} in created["parameters"]


def test_limits_and_choices_of_parameters_are_told() -> None:
    told = {
        (route.spec.name, each["name"]): {name: each[name] for name in each.keys() - {"name", "in", "required"}}
        for spec in load().values()
        for route in routes(spec)
        for each in parameters(route)
    }
    assert told["comments.List", "limit"] == {"type": "integer", "minimum": 0, "maximum": 1000}
    assert told["comments.List", "order"] == {"type": "string", "enum": ["asc", "desc"], "default": "desc"}
    assert told["organizations.ListMembers", "role"]["enum"][-2:] == ["read", "guest"]  # a role, or no role
    assert told["teams.Create", "title"] == {"type": "string", "minLength": 1, "maxLength": 64}
    assert told["collections.Update", "defaultLevel"]["nullable"] is True
    assert told["collections.Update", "title"] == {"type": "string", "maxLength": 50}  # it has one, whatever it is
    assert "premium" in told["sites.List", "type"]["items"]["enum"]


def test_the_operations_are_listed_as_a_table(octavo: Octavo) -> None:
    ran = octavo("operations")
    assert "COMMENTS" in ran.out
    assert "comments.Create" in ran.out
    assert "Start a thread" in ran.out


def test_the_table_says_what_each_operation_takes(octavo: Octavo) -> None:
    lines = octavo("operations").out.splitlines()
    (at,) = (number for number, line in enumerate(lines) if line.startswith("  comments.Create "))
    assert [" ".join(line.split()) for line in lines[at + 1 : at + 4]] == [
        "POST /v1/spaces/{spaceId}/comments",
        "POST /v1/spaces/{spaceId}/change-requests/{changeRequestId}/comments",
        "takes body [page] [node] [tableCell]",
    ]
    for spec in load().values():
        (line,) = (line for line in lines if line.startswith(f"  {spec.name} "))
        assert line.endswith(spec.summary)


def test_the_table_keeps_within_a_terminal() -> None:
    piped, narrow = table().splitlines(), table(80).splitlines()
    assert max(len(line) for line in piped) > 120
    assert max(len(line) for line in narrow) <= 80
    assert "".join("".join(narrow).split()) == "".join("".join(piped).split())  # nothing is left out


def test_the_operations_are_described_to_programs(octavo: Octavo) -> None:
    assert json.loads(octavo("operations", "--openapi").out) == document()


def test_one_form_at_a_time(octavo: Octavo) -> None:
    assert octavo("operations", "--openapi", "--json").code == 2


def test_a_dry_run_shows_the_request_and_sends_nothing(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_BASE_URL", "http://127.0.0.1:1")  # where nobody answers
    ran = octavo("api", "comments.CreateReply", "spaceId=s", "commentId=k", 'body:={"markdown": "é"}', "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    head, _, body = ran.out.partition("\n\n")
    first, *headers = head.splitlines()
    assert first == "POST http://127.0.0.1:1/v1/spaces/s/comments/k/replies"
    assert {"content-type: application/json", "authorization: Bearer (your API key)"} <= set(headers)
    assert json.loads(body) == {"body": {"markdown": "é"}}
    assert KEY not in ran.out


def test_a_dry_run_of_a_read_has_no_body(octavo: Octavo) -> None:
    ran = octavo("--base-url", "https://api.example", "api", "--dry-run", "comments.List", "spaceId=s", "status=open")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "GET https://api.example/v1/spaces/s/comments?status=open"
    assert "\n\n" not in ran.out
    assert "content-type" not in ran.out


@pytest.mark.parametrize(("origin", "code"), [("http://example.com", 1), ("https://api.example", 2)])
def test_a_dry_run_refuses_what_would_not_be_sent(octavo: Octavo, origin: str, code: int) -> None:
    ran = octavo("--base-url", origin, "api", "--dry-run", "comments.List", *(["spaceId=s"] if code == 1 else []))
    assert (ran.code, ran.out) == (code, "")


def test_an_operation_is_run_and_its_answer_printed(signed_in: Octavo) -> None:
    ran = signed_in("api", "users.Me")
    assert (ran.code, json.loads(ran.out)["id"]) == (0, "mia")


def test_unknown_fields_are_kept(signed_in: Octavo) -> None:
    # `object` is no field of our model of a user.
    assert json.loads(signed_in("api", "users.Me").out)["object"] == "user"


def test_values_go_by_their_wire_names(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "sort=joinedAt")
    assert len(json.loads(ran.out)["items"]) == 2


def test_all_pages_are_followed(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "--all")
    assert len(json.loads(ran.out)["items"]) == 7


def test_a_value_may_be_json(signed_in: Octavo) -> None:
    space = json.loads(signed_in("api", "spaces.Create", "organizationId=acme", "title=Made here").out)
    ran = signed_in("api", "comments.Create", f"spaceId={space['id']}", 'body:={"markdown": "hi"}')
    assert json.loads(ran.out)["body"] == {"markdown": "hi"}
    again = signed_in("api", "comments.Delete", f"spaceId={space['id']}", f"commentId={json.loads(ran.out)['id']}")
    assert (again.code, again.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("comments.Lst",), "Did you mean comments.List"),
        (("comments.List",), "needs spaceId=…"),
        (("comments.List", "spaceId=s", "colour=red"), "does not take colour"),
        (("comments.List", "spaceId=s", "limit=many"), "limit must be a whole number."),
        (("comments.List", "spaceId=s", "limit=1001"), "limit may be at most 1000."),
        (
            ("collections.Update", "collectionId=c", "title:=null"),
            "title cannot be null. Leave title out to keep its value.",
        ),
        (("comments.List", "spaceId=../admin"), "spaceId must be an ID of at most 256 characters"),
        (("comments.Create", "spaceId=s", "body:={broken"), "needs a JSON value"),
        (("comments.List", "spaceId"), "is not a parameter"),
    ],
)
def test_a_wrong_use_is_refused_before_anything_travels(octavo: Octavo, arguments: tuple[str, ...], says: str) -> None:
    ran = octavo("api", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


def test_a_refusal_is_one_sentence(signed_in: Octavo) -> None:
    ran = signed_in("api", "spaces.Get", "spaceId=nowhere")
    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("octavo: ")
    assert ran.err.count("\n") == 1


def test_nobody_signed_in(octavo: Octavo, served: str) -> None:
    ran = octavo("--base-url", served, "api", "users.Me")
    assert ran.code == 4
    assert "octavo auth login" in ran.err


def test_a_wrong_key(octavo: Octavo, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "wrong-wrong-wrong")
    ran = octavo("--base-url", served, "api", "users.Me")
    assert ran.code == 4
    assert "wrong-wrong-wrong" not in ran.err


def test_a_server_that_is_not_there(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    ran = octavo("--base-url", "http://127.0.0.1:1", "api", "change_requests.Merge", "spaceId=s", "changeRequestId=1")
    assert ran.code == 1
    assert "127.0.0.1:1" in ran.err


@pytest.mark.parametrize("url", ["http://example.com", "ftp://x", "https://u:p@x.example", "https://x.example?y=1"])
def test_a_key_is_not_sent_just_anywhere(octavo: Octavo, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    ran = octavo("--base-url", url, "api", "users.Me")
    assert ran.code == 1
    assert KEY not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--all", "organizations.ListMembers", "organizationId=acme", "limit=2"),
        ("organizations.ListMembers", "--all", "organizationId=acme", "limit=2"),
        ("organizations.ListMembers", "organizationId=acme", "--all", "limit=2"),
        ("organizations.ListMembers", "organizationId=acme", "limit=2", "--all"),
    ],
)
def test_options_stand_where_they_like(signed_in: Octavo, arguments: tuple[str, ...]) -> None:
    ran = signed_in("api", *arguments)
    assert ran.code == 0, ran.err
    assert len(json.loads(ran.out)["items"]) == 7


def test_read_only_sends_no_write_and_says_so(signed_in: Octavo) -> None:
    for arguments in (
        ("--read-only", "api", "organizations.Update", "organizationId=acme", "title=Sea"),
        ("api", "organizations.Update", "organizationId=acme", "title=Sea", "--read-only"),
    ):
        ran = signed_in(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert "Octavo is running with --read-only" in ran.err
    assert (
        json.loads(signed_in("api", "organizations.Get", "organizationId=acme", "--read-only").out)["title"] == "Acme"
    )
