from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from datetime import datetime

import httpx
import pytest

from octavo.api import comments, organizations, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.openapi_document import document
from octavo.server.app import BODY_SIZE_LIMIT
from octavo.server.rest import RequestContext
from tests.server.refusing_platform import Platform
from tests.server.small_platform import ACME, START, Ask, Clock, Refusal, check_refused, small_context, space_with

HOSTILE = "[@click=app.quit]x[/] \x1b]52;c;aGk=\x07 \u202e\u0000 𝒳 \\ </script>"


async def _error(ask: Ask, method: str, url: str, user: str | None = "ada", **options: object) -> tuple[int, str]:
    answer = await ask.http(method, url, user, **options)
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"]
    return answer.status_code, error["message"]


async def test_request_without_a_key_is_refused(ask: Ask) -> None:
    for url in ("/v1/user", "/v1/nowhere", "/~/files/x/y"):
        assert await _error(ask, "GET", url, None) == (401, "Sign in first: the request has no API key.")
    assert ask.last.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer", "Basic key-ada", "Bearer key-ada x", "Bearer \x00"])
async def test_unknown_key_is_refused(ask: Ask, header: str) -> None:
    assert (await _error(ask, "GET", "/v1/user", None, headers={"authorization": header}))[0] == 401


async def test_unknown_path_is_404_and_unknown_method_405(ask: Ask) -> None:
    for url in ("/v1/nowhere", "/v1/spaces", "/", "/v2/user", "/v1/user/", "/v1/spaces/../user%2f"):
        assert (await _error(ask, "GET", url))[0] == 404
    status, sentence = await _error(ask, "DELETE", "/v1/orgs/acme")
    assert (status, sentence) == (405, "This path does not support DELETE. Supported methods: GET, PATCH.")
    assert ask.last.headers["allow"] == "GET, PATCH, HEAD, OPTIONS"


@pytest.mark.parametrize("name", ["none", "x" * 257, "a%2Fb", "%2E%2E", "%00"])
@pytest.mark.parametrize("path", ["/v1/spaces/{}", "/v1/spaces/{}/comments/c", "/v1/orgs/acme/teams/{}"])
async def test_delete_of_a_resource_that_does_not_exist_succeeds(ask: Ask, path: str, name: str) -> None:
    answer = await ask.http("DELETE", path.format(name))
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await ask.http("DELETE", path.format(name), None)).status_code == 401


async def test_head_has_no_body_and_options_lists_methods(ask: Ask) -> None:
    head = await ask.http("HEAD", "/v1/user")
    assert (head.status_code, head.content) == (200, b"")
    options = await ask.http("OPTIONS", "/v1/orgs/acme")
    assert (options.status_code, options.headers["allow"]) == (204, "GET, PATCH, HEAD, OPTIONS")
    assert (await ask.http("OPTIONS", "/v1/nowhere")).status_code == 404
    assert not [name for name in options.headers if name.startswith("access-control")]


async def test_openapi_document_needs_no_key(ask: Ask) -> None:
    answer = await ask.http("GET", "/v1/openapi.json", None)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == document()


async def test_invalid_identifier_is_404(ask: Ask) -> None:
    for name in ("a.b", "%2e%2e", "x" * 200, "é"):
        assert (await _error(ask, "GET", f"/v1/spaces/{name}"))[0] == 404


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "The body is not valid JSON: "),
        (b"\xff", "The body is not valid JSON: "),
        (b'{"title": NaN}', "The body is not valid JSON: "),
        (b'{"title": ' + b"9" * 5000 + b"}", "The body is not valid JSON: "),
        (b"[" * 100_000, "The body is not valid JSON: "),
        (b"[]", "The body must be a JSON object."),
        (b'"x"', "The body must be a JSON object."),
        (
            b'{"title":' + b"[" * 300 + b"]" * 300 + b"}",
            "The body is not valid JSON: recursion limit exceeded",
        ),
        (b'{"title": "\\ud800"}', "The body is not valid JSON: "),
        (b'{"mergeRules": {"\\uDFFF": 1}}', "The body is not valid JSON: "),
        (b'{"title": "\xed\xa0\x80"}', "The body is not valid JSON: "),
    ],
)
async def test_malformed_body_is_refused(ask: Ask, content: bytes, sentence: str) -> None:
    status, said = await _error(ask, "POST", "/v1/orgs/acme/spaces", content=content)
    assert status == 400
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "body is required."),
        (None, "body is required."),
        ({"body": {}}, "body is empty. Write text in body.markdown or body.document."),
        ({"body": {"markdown": 7}}, "body.markdown must be text."),
        ({"body": {"markdown": " \n"}}, "body is empty. Write text in body.markdown or body.document."),
        ({"body": {"markdown": "x"}, "node": "n" * 257}, "node may have at most 256 characters."),
        ({"body": {"markdown": "x"}, "node": "n"}, "page is required if node is given."),
    ],
)
async def test_error_names_the_invalid_field(ask: Ask, body: object, sentence: str) -> None:
    space = await space_with(ask)
    assert await _error(ask, "POST", f"/v1/spaces/{space.id}/comments", json=body) == (400, sentence)


@pytest.mark.parametrize(
    ("url", "body", "sentence"),
    [
        ("/orgs/acme", {"ai": "yes"}, "ai must be true or false."),
        ("/orgs/acme", {"title": "Acme", "inviteLinks": 1}, "inviteLinks must be true or false."),
        (
            "/orgs/acme/sites/n1",
            {"adaptiveContent": {"enabled": "on"}},
            "adaptiveContent.enabled must be true or false.",
        ),
    ],
)
async def test_update_converts_no_other_type_to_a_boolean(
    ask: Ask, url: str, body: dict[str, object], sentence: str
) -> None:
    assert await _error(ask, "PATCH", f"/v1{url}", json=body) == (400, sentence)


@pytest.mark.parametrize(("weight", "status"), [("400", 400), (400, 404), (400.0, 404)])
async def test_number_in_a_list_must_be_a_json_number(ask: Ask, weight: object, status: int) -> None:
    font = {"fontFamily": "Tide", "fontFaces": [{"weight": weight, "storageKey": "missing"}]}
    refusal = await _error(ask, "PUT", "/v1/orgs/acme/fonts", json=font)
    assert refusal[0] == status
    assert status == 404 or refusal[1] == "fontFaces[0].weight must be a whole number."


async def test_error_does_not_repeat_the_invalid_value(ask: Ask) -> None:
    _, sentence = await _error(ask, "PATCH", "/v1/orgs/acme", json={"hostname": "SECRET", "title": "x" * 300})
    assert "SECRET" not in sentence
    assert "xxx" not in sentence


@pytest.mark.parametrize("over", [0, 1])
async def test_body_may_have_one_mebibyte(ask: Ask, over: int) -> None:
    space = await space_with(ask)
    body = {"body": {"markdown": ""}}
    room = BODY_SIZE_LIMIT - len(json.dumps(body)) + over
    content = json.dumps({"body": {"markdown": "x" * room}})
    answer = await ask.http("POST", f"/v1/spaces/{space.id}/comments", content=content)
    assert answer.status_code == (413 if over else 200)


async def test_hostile_text_is_stored_unchanged(ask: Ask) -> None:
    space = await space_with(ask)
    await ask(comments.Create(at=space.ref, body=Markdown(markdown=HOSTILE)))
    answer = await ask.http("GET", f"/v1/spaces/{space.id}/comments?format=markdown")
    assert answer.json()["items"][0]["body"]["markdown"] == HOSTILE


async def test_lone_surrogate_in_the_store_is_valid_json(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask)
    context.store.update(f"/spaces/{space.id}", title="\ud800")
    assert (await ask.http("GET", f"/v1/spaces/{space.id}")).content.count(b'"title":"\\ud800"') == 1


async def test_refuse_next_refuses_the_next_requests(ask: Ask, platform: Platform) -> None:
    platform.refuse_next(users.Me, 429, "Slow down", times=2, headers={"retry-after": "3"})
    for _ in range(2):
        assert await check_refused(ask(users.Me()), 429) == "Slow down"
        assert ask.last.headers["retry-after"] == "3"
    assert (await ask(users.Me())).id == "ada"
    assert (await ask(organizations.List())).count == 1


async def test_failure_rate_fails_the_same_requests_each_time() -> None:
    async def failures() -> list[bool]:
        platform = Platform(small_context(Clock()))
        platform.failure_rate = 0.3
        ask = Ask(platform)
        found = [(await ask.http("GET", "/v1/user")).status_code == 503 for _ in range(40)]
        platform.close()
        platform.context.store.close()
        return found

    first = await failures()
    assert first == await failures()
    assert 5 < sum(first) < 20


async def test_exception_in_a_handler_is_a_500_and_is_raised(
    ask: Ask, platform: Platform, context: RequestContext
) -> None:
    context.store.put("/orgs/acme", {"id": "acme"})  # The title is missing, which no handler expects.
    with pytest.raises(KeyError):
        await ask(organizations.Update(at=ACME, title="New"), "sam")
    transport = httpx.ASGITransport(platform, raise_app_exceptions=False)
    headers = {"authorization": "Bearer key-sam"}
    async with httpx.AsyncClient(transport=transport, base_url="http://octavo.test", headers=headers) as client:
        answer = await client.patch("/v1/orgs/acme", json={"title": "New"})
    assert answer.status_code == 500
    assert answer.json()["error"]["message"] == "The server failed, and your request was not completed."


async def test_failed_write_changes_nothing(ask: Ask, platform: Platform, context: RequestContext) -> None:
    space = await space_with(ask)
    thread = await ask(comments.Create(at=space.ref, body=Markdown(markdown="before")), "zoe")
    op = comments.Update(at=space.ref, comment_id=thread.id, added_reactions=("👍", ""))
    await check_refused(ask(op, "zoe"), 400)
    assert (await ask(comments.Get(at=space.ref, comment_id=thread.id))).reactions == ()
    context.store.delete(f"/spaces/{space.id}/revisions/{space.revision}")
    with pytest.raises(Refusal):
        await ask(spaces.Duplicate(at=space.ref))
    assert (await ask(spaces.List(at=ACME))).count == 1


async def test_handlers_run_one_by_one_outside_the_event_loop(ask: Ask, platform: Platform) -> None:
    space = await space_with(ask)
    threads: list[str] = []

    def record_thread() -> datetime:
        threads.append(threading.current_thread().name)
        return START

    platform.context = replace(platform.context, now=record_thread)
    greeting = comments.Create(at=space.ref, body=Markdown(markdown="hello"))
    await asyncio.gather(*(Ask(platform)(greeting) for _ in range(20)))
    assert len(threads) >= 20
    assert set(threads) == {"platform_0"}


async def test_file_download_needs_a_key(ask: Ask, context: RequestContext) -> None:
    blob = context.store.put_blob(b"\x89PNG")
    answer = await ask.http("GET", f"/~/files/{blob}/a%20%C3%A9%22.png")
    assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, b"\x89PNG", "image/png")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20%C3%A9%22.png"
    assert (await _error(ask, "GET", "/~/files/none/a.png"))[0] == 404


async def test_change_request_is_found_by_number(ask: Ask, context: RequestContext) -> None:
    space = await space_with(ask)
    path = f"/spaces/{space.id}/change-requests/c7"
    context.store.put(path, {"id": "c7", "number": 7, "status": "open", "revision": space.revision})
    body = {"body": {"markdown": "hello"}}
    posted = await ask.http("POST", f"/v1/spaces/{space.id}/change-requests/7/comments", json=body)
    assert posted.json()["target"]["changeRequest"] == "c7"
    listed = await ask.http("GET", f"/v1/spaces/{space.id}/change-requests/c7/comments")
    assert listed.json()["count"] == 1
    for other in ("8", "٧", "c8", "9" * 100):
        url = f"/v1/spaces/{space.id}/change-requests/{other}/comments"
        assert (await ask.http("GET", url)).status_code == 404
