"""`octavo api` and `octavo operations`: scripts run any operation, and exit codes tell the result."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.api.openapi_document import document
from octavo.api.operation import load
from octavo.api.wire import routes
from octavo.cli.operations import example, operation_help, operation_list, parameters
from tests.cli.conftest import Octavo, busy_server
from tests.cli.small_server import KEY


@pytest.fixture
def signed_in(octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch) -> Octavo:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_BASE_URL", server_url)
    return octavo


def test_operations_json_lists_typed_parameters(octavo: Octavo) -> None:
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
    body = {"name": "body", "in": "body", "type": "object", "required": True, "fields": ["markdown", "document"]}
    assert body in created["parameters"]


def test_operations_list_limits_and_choices_of_parameters() -> None:
    described = {
        (route.spec.name, each["name"]): {name: each[name] for name in each.keys() - {"name", "in", "required"}}
        for spec in load().values()
        for route in routes(spec)
        for each in parameters(route)
    }
    assert described["comments.List", "limit"] == {"type": "integer", "minimum": 0, "maximum": 1000}
    assert described["comments.List", "order"] == {"type": "string", "enum": ["asc", "desc"], "default": "desc"}
    assert described["organizations.ListMembers", "role"]["enum"][-2:] == [
        "read",
        "guest",
    ]  # The last two choices: a role, or “guest” for no role.
    assert described["teams.Create", "title"] == {"type": "string", "minLength": 1, "maxLength": 64}
    assert described["collections.Update", "defaultLevel"]["nullable"] is True
    assert described["collections.Update", "title"] == {
        "type": "string",
        "maxLength": 50,
    }  # Not nullable: a collection always has a title.
    assert "premium" in described["sites.List", "type"]["items"]["enum"]


def test_operations_are_listed_as_a_table(octavo: Octavo) -> None:
    ran = octavo("operations")
    assert "COMMENTS" in ran.out
    assert "comments.Create" in ran.out
    assert "Start a thread" in ran.out


def test_table_of_operations_has_paths_and_parameters(octavo: Octavo) -> None:
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


def test_table_of_operations_fits_the_terminal_width() -> None:
    piped, narrow = operation_list(load().values()).splitlines(), operation_list(load().values(), 80).splitlines()
    assert max(len(line) for line in piped) > 120
    assert max(len(line) for line in narrow) <= 80
    assert "".join("".join(narrow).split()) == "".join("".join(piped).split())  # Wrapping loses no text.


def test_operations_openapi_prints_the_document(octavo: Octavo) -> None:
    assert json.loads(octavo("operations", "--openapi").out) == document()


def test_operations_openapi_with_json_is_refused(octavo: Octavo) -> None:
    assert octavo("operations", "--openapi", "--json").code == 2


def test_dry_run_shows_the_request_and_sends_nothing(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    monkeypatch.setenv("OCTAVO_BASE_URL", "http://127.0.0.1:1")  # No server listens on this port.
    ran = octavo("api", "comments.CreateReply", "spaceId=s", "commentId=k", 'body:={"markdown": "é"}', "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    head, _, body = ran.out.partition("\n\n")
    first, *headers = head.splitlines()
    assert first == "POST http://127.0.0.1:1/v1/spaces/s/comments/k/replies"
    assert {"content-type: application/json", "authorization: Bearer (your API key)"} <= set(headers)
    assert json.loads(body) == {"body": {"markdown": "é"}}
    assert KEY not in ran.out


@pytest.mark.parametrize("option", [("--demo",), ("--folder", ".")], ids=["demo", "folder"])
def test_dry_run_on_the_embedded_platform_names_no_server(octavo: Octavo, option: tuple[str, ...]) -> None:
    ran = octavo("api", "users.Me", "--dry-run", *option)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "GET http://octavo.local/v1/user")


def test_dry_run_of_a_read_has_no_body(octavo: Octavo) -> None:
    ran = octavo("--base-url", "https://api.example", "api", "--dry-run", "comments.List", "spaceId=s", "status=open")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "GET https://api.example/v1/spaces/s/comments?status=open"
    assert "\n\n" not in ran.out
    assert "content-type" not in ran.out


@pytest.mark.parametrize(("origin", "code"), [("http://example.com", 1), ("https://api.example", 2)])
def test_dry_run_refuses_an_invalid_request(octavo: Octavo, origin: str, code: int) -> None:
    ran = octavo("--base-url", origin, "api", "--dry-run", "comments.List", *(["spaceId=s"] if code == 1 else []))
    assert (ran.code, ran.out) == (code, "")


def test_api_prints_the_response_of_an_operation(signed_in: Octavo) -> None:
    ran = signed_in("api", "users.Me")
    assert (ran.code, json.loads(ran.out)["id"]) == (0, "mia")


def test_api_prints_unknown_fields(signed_in: Octavo) -> None:
    # The model of a user has no field `object`.
    assert json.loads(signed_in("api", "users.Me").out)["object"] == "user"


def test_parameters_have_their_names_of_the_http_api(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "sort=joinedAt")
    assert len(json.loads(ran.out)["items"]) == 2


def test_all_option_loads_every_page(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "--all")
    assert len(json.loads(ran.out)["items"]) == 7


def test_parameter_value_may_be_json(signed_in: Octavo) -> None:
    space = json.loads(signed_in("api", "spaces.Create", "organizationId=acme", "title=Made here").out)
    ran = signed_in("api", "comments.Create", f"spaceId={space['id']}", 'body:={"markdown": "hi"}')
    assert json.loads(ran.out)["body"] == {"markdown": "hi"}
    again = signed_in("api", "comments.Delete", f"spaceId={space['id']}", f"commentId={json.loads(ran.out)['id']}")
    assert (again.code, again.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("comments.Lst",), "Did you mean comments.List"),
        (("comments.List",), "spaceId is missing. Add spaceId=VALUE"),
        (("comments.List", "spaceId=s", "colour=red"), "no parameter colour. Its parameters are authors,"),
        (("comments.List", "spaceId=s", "limit=many"), "limit must be a whole number."),
        (("comments.List", "spaceId=s", "limit=1001"), "limit may be at most 1000."),
        (
            ("collections.Update", "collectionId=c", "title:=null"),
            "title cannot be null. Leave title out to keep its value.",
        ),
        (("comments.List", "spaceId=../admin"), "spaceId must be an ID of at most 256 characters"),
        (("comments.Create", "spaceId=s", "body:={broken"), "needs a JSON value"),
        (("comments.List", "spaceId"), "is not a parameter"),
        (
            ("comments.List", "spaceId=s", "stauts=open"),
            "Could not run comments.List: no parameter stauts. Did you mean status?",
        ),
        (("comments.List", "spaceId=s", "status=opne"), "Did you mean open?"),
        (("comments.List", "spaceId=s", "limit==3"), "limit== is only for METHOD /v1/PATH. Write limit=VALUE."),
        (("spaces.Update", "spaceId=s"), "nothing to change. Add KEY=VALUE."),
        (("comments.Create", "spaceId=s", "body=x", "body[markdown]=y"), "has a value and also fields in brackets"),
        (("comments.Create", "spaceId=s", "body[markdown]=@"), "needs a file name"),
        (("users.Me", "--input", "-"), "it has no body. Leave out --input."),
        (
            ("comments.Create", "spaceId=s", "body[markdown]=x", "--input", "x.json"),
            "Use either --input or body=VALUE.",
        ),
        (("GET",), "GET needs a path"),
        (("/v1/user",), "Write the method before the path: octavo api GET /v1/user"),
        (("GET", "//evil/v1"), "it must start with /v1/"),
        (("GET", "/v1//evil"), "it must not have empty parts"),
        (("GET", "/v1/../x"), "it must not have empty parts"),
        (("GET", "/v1/%2e%2E/x"), "it must not have empty parts"),
        (("GET", "/v1/a%2f..%2fb"), "it must not have empty parts"),
        (("GET", "/v1/a\\..\\b"), "it must not have empty parts"),
        (("GET", "https://evil.example/v1/user"), "it must start with /v1/"),
        (("GET", "/v1/user", "limit=3"), "For a query parameter, write limit==VALUE."),
        (("GET", "/v1/user", "--input", "x"), "GET has no body"),
        (("POST", "/v1/user", "a=b", "--input", "x"), "a cannot be sent with --input"),
        ((), "the following arguments are required: NAME"),
        (("GET", "--help"), "For its help, run: octavo help api"),
        (("comments.List", "spaceId=s", "-i", "--ndjson"), "not allowed with argument"),
        (("comments.List", "spaceId=s", "-i", "--all"), "use --include without --all"),
    ],
)
def test_wrong_arguments_are_refused_before_a_request(octavo: Octavo, arguments: tuple[str, ...], says: str) -> None:
    ran = octavo("api", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert ran.out == ""


def test_error_of_the_server_is_one_line(signed_in: Octavo) -> None:
    ran = signed_in("api", "spaces.Get", "spaceId=nowhere")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("octavo: ")
    assert ran.err.count("\n") == 1


def test_api_without_an_account_ends_with_four(octavo: Octavo, server_url: str) -> None:
    ran = octavo("--base-url", server_url, "api", "users.Me")
    assert ran.code == 4
    assert "octavo auth login" in ran.err


def test_api_with_a_wrong_key_ends_with_four(octavo: Octavo, server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "wrong-wrong-wrong")
    ran = octavo("--base-url", server_url, "api", "users.Me")
    assert ran.code == 4
    assert "wrong-wrong-wrong" not in ran.err


def test_unreachable_server_is_named(octavo: Octavo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    ran = octavo("--base-url", "http://127.0.0.1:1", "api", "change_requests.Merge", "spaceId=s", "changeRequestId=1")
    assert ran.code == 1
    assert "127.0.0.1:1" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("comments.Create", "spaceId=s", "body[markdown]=x"), 7),
        (("search.InSite", "organizationId=o", "siteId=s", "query=tide", "scope[mode]=all"), 1),
        (("spaces.Get", "spaceId=s"), 1),
    ],
)
def test_only_a_failed_write_has_an_unknown_outcome(
    octavo: Octavo, arguments: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", KEY)
    with busy_server(503) as origin:
        ran = octavo("--base-url", origin, "api", *arguments)
    assert ran.code == code, ran.err


@pytest.mark.parametrize("url", ["http://example.com", "ftp://x", "https://u:p@x.example", "https://x.example?y=1"])
def test_key_is_not_sent_to_an_unsafe_base_url(octavo: Octavo, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_options_may_be_anywhere_among_the_arguments(signed_in: Octavo, arguments: tuple[str, ...]) -> None:
    ran = signed_in("api", *arguments)
    assert ran.code == 0, ran.err
    assert len(json.loads(ran.out)["items"]) == 7


def test_read_only_refuses_a_write_with_a_message(signed_in: Octavo) -> None:
    for arguments in (
        ("--read-only", "api", "organizations.Update", "organizationId=acme", "title=Sea"),
        ("api", "organizations.Update", "organizationId=acme", "title=Sea", "--read-only"),
    ):
        ran = signed_in(*arguments)
        assert (ran.code, ran.out) == (5, "")
        assert "Octavo is running with --read-only" in ran.err
    assert (
        json.loads(signed_in("api", "organizations.Get", "organizationId=acme", "--read-only").out)["title"] == "Acme"
    )


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["body[markdown]=a=b"], {"body": {"markdown": "a=b"}}),
        (["body[markdown]=@note.md"], {"body": {"markdown": "é @mara\n"}}),
        (['body[markdown]:="@mara"'], {"body": {"markdown": "@mara"}}),
        (["body:=@body.json"], {"body": {"markdown": "from a file"}}),
        (["--input", "whole.json"], {"body": {"markdown": "whole"}}),
        (["-f", "body[markdown]=@mara"], {"body": {"markdown": "@mara"}}),
        (["-F", "body[markdown]=@note.md"], {"body": {"markdown": "é @mara\n"}}),
    ],
)
def test_values_come_from_arguments_and_files(
    octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], body: object
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.md").write_text("é @mara\n")
    (tmp_path / "body.json").write_text('{"markdown": "from a file"}')
    (tmp_path / "whole.json").write_text('{"body": {"markdown": "whole"}}')
    ran = octavo("api", "comments.CreateReply", "spaceId=s", "commentId=k", *arguments, "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out.partition("\n\n")[2]) == body


def test_fields_of_a_path_are_nested_and_typed(octavo: Octavo) -> None:
    typed = ("-F", "count=3", "-F", "on=true", "-F", "none=null", "-F", "text=03", "-F", "json:=3", "-f", "plain=3")
    ran = octavo("api", "post", "/v1/x y", "a[b][c]=1", "a[d][]=2", "a[d][]=3", "n:=[1]", "q==ü", *typed, "--dry-run")
    head, _, sent = ran.out.partition("\n\n")
    assert head.startswith("POST https://api.gitbook.com/v1/x%20y?q=%C3%BC\n")
    assert json.loads(sent) == {
        "a": {"b": {"c": "1"}, "d": ["2", "3"]}, "n": [1], "plain": "3", "count": 3, "on": True,
        "none": None, "text": "03", "json": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"body": {"markdown": "a", "markdown": "b"}}', "has the key 'markdown' twice"),
        ('{"body": NaN}', "it is not JSON"),
        ("[" * 10_000, "more than 200 levels"),
        ("[1]", "must contain a JSON object"),
        ('{"bdoy": {}}', "no parameter bdoy in the body. Did you mean body?"),
    ],
)
def test_invalid_body_file_is_refused(octavo: Octavo, tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "body.json").write_text(content)
    ran = octavo("api", "comments.CreateReply", "spaceId=s", "commentId=k", "--input", str(tmp_path / "body.json"))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_missing_body_file_is_named(octavo: Octavo, tmp_path: Path) -> None:
    ran = octavo("api", "comments.CreateReply", "spaceId=s", "commentId=k", "--input", str(tmp_path / "none.json"))
    assert (ran.code, ran.out) == (1, "")
    assert "none.json: no such file or directory." in ran.err


def run_process(*arguments: str, server_url: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "OCTAVO_API_KEY": KEY, "OCTAVO_BASE_URL": server_url}
    return subprocess.run(
        [sys.executable, "-m", "octavo", "api", *arguments], input=stdin, capture_output=True, env=environ, check=False
    )


def test_body_of_one_mebibyte_is_read_from_a_pipe(octavo: Octavo, server_url: str, signed_in: Octavo) -> None:
    space = json.loads(signed_in("api", "spaces.Create", "organizationId=acme", "title=Large").out)["id"]
    empty = json.dumps({"body": {"markdown": ""}})
    body = json.dumps({"body": {"markdown": "x" * ((1 << 20) - len(empty))}}).encode()
    assert len(body) == 1 << 20
    ran = run_process("comments.Create", f"spaceId={space}", "--input", "-", server_url=server_url, stdin=body)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["body"] == json.loads(body)["body"]
    ran = run_process("POST", f"/v1/spaces/{space}/comments", "--input", "-", server_url=server_url, stdin=body)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_body_file_of_a_windows_editor_is_sent_in_utf_8(
    octavo: Octavo, server_url: str, signed_in: Octavo, encoding: str
) -> None:
    space = json.loads(signed_in("api", "spaces.Create", "organizationId=acme", "title=Small").out)["id"]
    body = '{"body": {"markdown": "Café"}}'.encode(encoding)
    for arguments in (("comments.Create", f"spaceId={space}"), ("POST", f"/v1/spaces/{space}/comments")):
        ran = run_process(*arguments, "--input", "-", server_url=server_url, stdin=body)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert json.loads(ran.stdout)["body"] == {"markdown": "Café"}


def test_missing_body_with_piped_input_suggests_the_input_option(octavo: Octavo, server_url: str) -> None:
    ran = run_process("comments.Create", "spaceId=s", server_url=server_url, stdin=b"{}")
    assert ran.returncode == 2
    assert ran.stderr.endswith(b"body is required. To send standard input as the body use --input -.\n")


def test_standard_input_for_two_values_is_refused(octavo: Octavo, server_url: str) -> None:
    ran = run_process("comments.Create", "spaceId=@-", "body[markdown]=@-", server_url=server_url, stdin=b"x")
    assert (ran.returncode, b"Standard input is used twice." in ran.stderr) == (2, True)


def test_path_is_requested_with_its_query(signed_in: Octavo) -> None:
    ran = signed_in("api", "GET", "/v1/orgs/acme/members?sort=joinedAt", "limit==2")
    assert len(json.loads(ran.out)["items"]) == 2
    ran = signed_in("api", "GET", "/v1/orgs/acme/members", "limit==2", "--all", "--ndjson")
    assert len([json.loads(line) for line in ran.out.splitlines()]) == 7


def test_read_only_refuses_a_path_with_a_writing_method(signed_in: Octavo) -> None:
    ran = signed_in("api", "PATCH", "/v1/orgs/acme", "title=Sea", "--read-only")
    assert (ran.code, ran.out) == (5, "")
    assert json.loads(signed_in("api", "GET", "/v1/orgs/acme", "--read-only").out)["title"] == "Acme"


def test_ndjson_prints_an_item_per_line(signed_in: Octavo) -> None:
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "--ndjson")
    assert [json.loads(line)["object"] for line in ran.out.splitlines()] == ["member", "member"]
    assert ran.err == "octavo: Showing the first 2. For all items, use --all.\n"
    ran = signed_in("api", "organizations.ListMembers", "organizationId=acme", "limit=2", "--ndjson", "--all")
    assert (len(ran.out.splitlines()), ran.err) == (7, "")
    assert json.loads(signed_in("api", "users.Me", "--ndjson").out)["id"] == "mia"


def test_jq_filters_the_response(signed_in: Octavo) -> None:
    assert signed_in("api", "users.Me", "--jq", "[broken").code == 2
    ran = signed_in("api", "GET", "/v1/orgs/acme/members", "--all", "-q", "(.items | length), .items[0].object")
    assert (ran.code, ran.out) == (0, "7\nmember\n")


def test_json_option_prints_errors_as_json(signed_in: Octavo) -> None:
    ran = signed_in("api", "spaces.Get", "spaceId=nowhere", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert json.loads(ran.err)["error"].items() >= {"code": "not-found", "exit": 3}.items()


@pytest.mark.before_release
def test_demo_needs_no_account(octavo: Octavo) -> None:
    ran = octavo("--demo", "api", "users.Me", "-q", ".object")
    assert (ran.code, ran.out, ran.err) == (0, "user\n", "")
    assert octavo("api", "users.Me", "--demo", "--profile", "x").code == 2


def test_include_option_prints_status_and_headers(signed_in: Octavo) -> None:
    head, _, body = signed_in("api", "users.Me", "-i").out.partition("\n\n")
    assert head.startswith("HTTP 200 OK\n")
    assert "content-type: application/json" in head
    assert json.loads(body)["id"] == "mia"


@pytest.mark.before_release
def test_every_operation_has_help(octavo: Octavo) -> None:
    specs = load().values()
    assert sum(len(routes(spec)) for spec in specs) == 205
    for spec in specs:
        text = operation_help(spec)
        for route in routes(spec):
            assert f"\n  {spec.method} {route.path}\n" in text
            for each in parameters(route):
                assert re.search(rf"^  {each['name']} .*(required|optional)", text, re.MULTILINE)
        call = shlex.split(example(spec, document(spec)))
        assert call[:3] == ["octavo", "api", spec.name]
    text = octavo("api", "comments.Create", "--help").out
    assert text == octavo("api", "-h", "comments.Create").out
    assert text.startswith("comments.Create: Start a thread")
    assert octavo("api", "coments.Create", "--help").code == 2


@pytest.mark.before_release
def test_examples_of_help_are_complete(octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the example of each operation. At most 19 fail, since they need values that only a user knows."""
    monkeypatch.chdir(tmp_path)
    refused = []
    for spec in load().values():
        call = shlex.split(example(spec, document(spec)))
        for name in (value.partition(":=@")[2] for value in call if ":=@" in value):
            (tmp_path / name).write_text("{}")
        ran = octavo(*call[1:], "--dry-run")
        if ran.code:
            refused.append(spec.name)
            assert "no parameter" not in ran.err
            assert "is missing" not in ran.err
    assert len(refused) < 20


def test_operations_are_filtered_by_words(octavo: Octavo) -> None:
    ran = octavo("operations", "MERGE", "change", "--json")
    names = {each["name"] for each in json.loads(ran.out)}
    assert "change_requests.Merge" in names
    assert len(names) < 10
    assert "change_requests.Merge" in octavo("operations", "merge").out
    assert octavo("operations", "nonsense", "--json").out == "[]\n"
    assert "No operations match 'nonsense'." in octavo("operations", "nonsense").err
