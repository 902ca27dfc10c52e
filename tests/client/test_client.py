"""Results and errors of operations over a real socket."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from octavo.api import comments, content, search, spaces, users
from octavo.api.activity import Activity
from octavo.api.errors import (
    ApiError,
    BadResponse,
    Conflict,
    Forbidden,
    Invalid,
    LocalFailure,
    NotFound,
    Outcome,
    PaginationError,
    RateLimited,
    Rejected,
    ServerError,
    Unauthorized,
)
from octavo.api.operation import Operation, OrganizationRef, SiteRef, SpaceRef
from octavo.client.client import Client, raw_request
from tests.client.conftest import NOON, Connect, Time
from tests.client.http_server import KEY_TEXT, HttpServer, ReceivedRequest, Reply, reply

HERE = SpaceRef(space_id="s1")
ORGANIZATION = OrganizationRef(organization_id="o1")
ME = users.Me()
MIA = {"id": "mia", "displayName": "Mia"}
POST = comments.Create(at=HERE, body={"markdown": "hi"})
COMMENT = {"object": "comment", "id": "c1", "postedBy": MIA, "body": {"markdown": "hi"}}
DELETE = comments.Delete(at=HERE, comment_id="c1")
SEARCH = search.InSite(at=SiteRef(organization_id="o1", site_id="s1"), query="tide", scope=search.AllScope())


def answer_in_turn(*replies: Reply) -> Callable[[ReceivedRequest], Reply]:
    """Return an answer function that sends the replies in turn, then repeats the last reply."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def call_and_catch(connect: Connect, server: HttpServer, op: Operation[Any] = ME, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await connect(server.origin, **options)(op)
    return caught.value


def test_http_library_is_imported_at_the_first_request() -> None:
    program = (
        "import sys\n"
        "from octavo.client import client, credentials, profiles, signing_in\n"
        "from octavo import settings\n"
        "client.Client('https://api.example.com', None)\n"
        "print([name for name in ('httpx', 'httpcore', 'keyring', 'truststore', 'ssl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {"ssl"}  # asyncio imports ssl.


async def test_second_request_imports_no_module(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    class RecordingFinder:
        looked_for: ClassVar[list[str]] = []

        @classmethod
        def find_spec(cls, name: str, path: object = None, target: object = None) -> None:
            cls.looked_for.append(name)

    async with HttpServer(answer_in_turn(reply(200, MIA))) as server:
        client = connect(server.origin)
        await client(ME)
        monkeypatch.setattr(sys, "meta_path", [RecordingFinder, *sys.meta_path])
        await client(ME)
    assert RecordingFinder.looked_for == []


async def test_operation_is_sent_and_its_response_returned(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(200, COMMENT))) as server:
        comment = await connect(server.origin)(POST)
    assert (comment.id, comment.posted_by.name) == ("c1", "Mia")
    (request,) = server.requests
    assert (request.method, request.target, request.json) == (
        "POST",
        "/v1/spaces/s1/comments",
        {"body": {"markdown": "hi"}},
    )
    assert request.headers["authorization"] == f"Bearer {KEY_TEXT}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "gzip"
    assert request.headers["user-agent"].startswith("octavo/")


async def test_all_unicode_characters_are_sent_unchanged(connect: Connect) -> None:
    text = '"\\ \u2028 é 漢 🙂 \x00 \x7f'
    async with HttpServer(answer_in_turn(reply(200, COMMENT))) as server:
        await connect(server.origin)(comments.Create(at=HERE, body={"markdown": text}))
    assert server.requests[0].json["body"]["markdown"] == text


async def test_client_without_a_key_sends_no_authorization(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(200, MIA))) as server:
        await connect(server.origin, None)(ME)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("status", [200, 204, 205])
@pytest.mark.parametrize("body", [b"", b"<html>gone</html>", b"x" * 200_000])
async def test_delete_ignores_its_response_body(connect: Connect, status: int, body: bytes) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        return reply(status, body=b"" if status == 204 else body) if request.method == "DELETE" else reply(200, MIA)

    async with HttpServer(answer) as server:
        client = connect(server.origin)
        await client(DELETE)
        assert (await client(ME)).id == "mia"
    assert client.activity[0].status == status


async def test_requested_removal_of_a_member_is_not_reported_as_done(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(202, {}))) as server:
        with pytest.raises(Rejected, match="asks the organization's admins first") as caught:
            await connect(server.origin)(DELETE)
    assert caught.value.outcome is Outcome.REFUSED


async def test_delete_succeeds_with_a_truncated_body(connect: Connect) -> None:
    cut_short = reply(205, None, [("content-length", "99"), ("connection", "close")], body=b"x")
    async with HttpServer(answer_in_turn(cut_short)) as server:
        await connect(server.origin)(DELETE)
    assert len(server.requests) == 1


async def test_raw_response_keeps_unknown_fields(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(200, {**MIA, "shoe": {"size": 38}}))) as server:
        assert (await connect(server.origin).raw(raw_request(ME))).value["shoe"] == {"size": 38}


async def test_raw_response_of_an_empty_body_is_none(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(204), reply(200, body=b""))) as server:
        client = connect(server.origin)
        assert (await client.raw(raw_request(DELETE))).value is None
        assert (await client.raw(raw_request(DELETE))).value is None


def answer_with_pages(pages: dict[str, Any]) -> Callable[[ReceivedRequest], Reply]:
    """Return an answer function that sends the page for the cursor in the URL."""

    def answer(request: ReceivedRequest) -> Reply:
        cursor = request.target.partition("page=")[2].partition("&")[0]
        return reply(200, pages[cursor])

    return answer


def page(*ids: str, following: str | None = None) -> dict[str, Any]:
    items = [{"id": each, "title": each} for each in ids]
    return {"items": items, **({"next": {"page": following}} if following else {})}


async def test_pages_are_read_to_the_end_and_past_an_empty_page(connect: Connect) -> None:
    pages = {"": page("a", "b", following="1"), "1": page(following="2"), "2": page("b", "c")}
    async with HttpServer(answer_with_pages(pages)) as server:
        client = connect(server.origin)
        found = [each.id async for page in client.pages(spaces.List(at=ORGANIZATION)) for each in page.items]
        raw = [each["id"] async for each in client.raw_each(raw_request(spaces.List(at=ORGANIZATION)))]
    assert found == raw == ["a", "b", "c"]


async def test_cursor_never_changes_the_url(connect: Connect) -> None:
    pages = {
        "": page("a", following="http://elsewhere.example/x?y"),
        "http%3A%2F%2Felsewhere.example%2Fx%3Fy": page("b"),
    }
    async with HttpServer(answer_with_pages(pages)) as server:
        found = [
            each.id async for page in connect(server.origin).pages(spaces.List(at=ORGANIZATION)) for each in page.items
        ]
    assert found == ["a", "b"]
    assert all(request.target.startswith("/v1/orgs/o1/") for request in server.requests)


async def test_list_that_repeats_pages_ends_with_its_items(connect: Connect) -> None:
    found: list[str] = []

    async def read(client: Client) -> None:
        async for page in client.pages(spaces.List(at=ORGANIZATION)):
            found.extend(each.id for each in page.items)

    async with HttpServer(answer_with_pages({"": page("a", following="1"), "1": page("b", following="1")})) as server:
        with pytest.raises(PaginationError, match="same part of the list twice"):
            await read(connect(server.origin))
    assert found == ["a", "b"]


@pytest.mark.parametrize("following", [{"cursor": "1"}, {"page": None}, {}], ids=str)
async def test_list_with_an_unknown_form_of_cursor_is_not_called_complete(
    connect: Connect, following: dict[str, Any]
) -> None:
    found: list[str] = []

    async def read(client: Client) -> None:
        async for item in client.raw_each(raw_request(spaces.List(at=ORGANIZATION))):
            found.append(item["id"])

    async with HttpServer(answer_in_turn(reply(200, {**page("a"), "next": following}))) as server:
        with pytest.raises(PaginationError, match=r"invalid cursor\. Only 1 item"):
            await read(connect(server.origin))
    assert found == ["a"]


async def test_one_bad_item_does_not_hide_the_others(connect: Connect) -> None:
    items: list[dict[str, Any]] = [{"id": f"s{n}", "title": "x"} for n in range(100)]
    items[7] = {"id": {"not": "an id"}, "title": "x"}
    async with HttpServer(answer_in_turn(reply(200, {"items": items}))) as server:
        found = await connect(server.origin)(spaces.List(at=ORGANIZATION))
    assert (len(found.items), found.unreadable) == (99, 1)


@pytest.mark.parametrize(
    ("status", "kind", "outcome"),
    [
        (400, Invalid, Outcome.REFUSED),
        (401, Unauthorized, Outcome.REFUSED),
        (403, Forbidden, Outcome.REFUSED),
        (404, NotFound, Outcome.REFUSED),
        (408, ApiError, Outcome.UNKNOWN),
        (409, Conflict, Outcome.UNKNOWN),
        (412, Conflict, Outcome.REFUSED),
        (418, ApiError, Outcome.REFUSED),
        (422, Invalid, Outcome.REFUSED),
        (429, RateLimited, Outcome.REFUSED),
        (500, ServerError, Outcome.UNKNOWN),
        (599, ServerError, Outcome.UNKNOWN),
    ],
)
async def test_status_determines_the_error_class(
    connect: Connect, status: int, kind: type[ApiError], outcome: Outcome
) -> None:
    said = {"error": {"code": status, "message": "The space is asleep"}}
    async with HttpServer(answer_in_turn(reply(status, said, [("x-request-id", "r\x1b-1")]))) as server:
        error = await call_and_catch(connect, server, POST)
    assert isinstance(error, kind)
    assert error.outcome is outcome
    assert status == 429 or "The space is asleep." in str(error)
    assert (error.trace.status, error.trace.method, error.trace.request_id) == (status, "POST", "r␛-1")
    assert error.trace.route == "/v1/spaces/{spaceId}/comments"
    assert error.trace.attempts == len(server.requests) == (4 if status == 429 else 1)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><h1>Bad gateway</h1>",
        b"not json",
        b"[]",
        b'"text"',
        b'{"error":null}',
        b'{"error":{"message":7}}',
        b'{"error":["x"]}',
        b"\xff\xfe",
        b'{"error":' * 300,
        b"x" * 100_000,
        b'{"error":{"message":"' + b"x" * 100_000 + b'"}}',
    ],
    ids=range(12),
)
@pytest.mark.parametrize("kind", ["application/json", "text/html", ""])
async def test_any_error_body_gives_a_readable_message(connect: Connect, body: bytes, kind: str) -> None:
    async with HttpServer(answer_in_turn(reply(404, None, [("content-type", kind)], body=body))) as server:
        error = await call_and_catch(connect, server)
    assert isinstance(error, NotFound)
    assert str(error).startswith(f"127.0.0.1:{server.port} could not find this")


async def test_web_page_with_status_403_does_not_refuse_a_read(connect: Connect) -> None:
    page = reply(403, None, [("content-type", "text/html")], body=b"<html>Your network is blocked.</html>")
    async with HttpServer(answer_in_turn(page)) as server:
        error = await call_and_catch(connect, server)
        assert isinstance(error, BadResponse)
        assert str(error).startswith(f"A firewall before 127.0.0.1:{server.port} blocked the request (403).")
        error = await call_and_catch(connect, server, POST)
        assert (type(error), error.outcome) == (Forbidden, Outcome.REFUSED)


async def test_error_message_of_the_server_is_sanitized(connect: Connect) -> None:
    hostile = f"\x1b]52;c;aGk=\x07[@click=app.quit]x[/] \u202eevil {KEY_TEXT} " + "y" * 1000
    async with HttpServer(answer_in_turn(reply(400, {"error": {"code": 400, "message": hostile}}))) as server:
        sentence = str(await call_and_catch(connect, server))
    assert sentence.isprintable()
    assert len(sentence) <= 300
    assert KEY_TEXT not in sentence
    assert "\u202e" not in sentence


async def test_malformed_response_is_an_error(connect: Connect) -> None:
    bodies = [b"", b"null", b"[]", b"<html>", b'{"displayName":"no id"}', b'{"id":NaN}']
    bodies += [b"[" * 100_000, b'\xef\xbb\xbf{"id":"x"}', b'{"id":' + b"9" * 1_000_000 + b"}", b'{"id":"x"']
    for body in bodies:
        async with HttpServer(answer_in_turn(reply(200, body=body))) as server:
            error = await call_and_catch(connect, server)
            assert isinstance(error, BadResponse), body[:40]
            assert error.trace.route == "/v1/user"
            assert "(:" not in str(error), "a response without a wrong field names none"
            assert len(server.requests) == 1


async def test_error_of_a_malformed_response_does_not_quote_it(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(200, {"displayName": ["very private"]}))) as server:
        error = await call_and_catch(connect, server)
    assert "private" not in str(error)
    assert "users.Me" in str(error)


async def test_large_list_is_read_completely(connect: Connect) -> None:
    items = [{"id": f"s{n}", "title": "x" * 500} for n in range(1000)]
    async with HttpServer(answer_in_turn(reply(200, {"items": items}, zipped=True))) as server:
        found = await connect(server.origin)(spaces.List(at=ORGANIZATION))
        raw = (await connect(server.origin).raw(raw_request(spaces.List(at=ORGANIZATION)))).value
    assert len(found.items) == len(raw["items"]) == 1000


async def test_read_is_retried_and_write_is_not(connect: Connect, time: Time) -> None:
    async with HttpServer(answer_in_turn(reply(503), reply(502), reply(200, MIA))) as server:
        assert (await connect(server.origin)(ME)).id == "mia"
    assert len(server.requests) == 3
    assert time.slept == [0.5, 1.0]
    async with HttpServer(answer_in_turn(reply(503))) as server:
        error = await call_and_catch(connect, server, POST)
    assert len(server.requests) == 1
    assert "reported an error (503)" in str(error)


async def test_search_with_post_is_a_read(connect: Connect, time: Time) -> None:
    async with HttpServer(answer_in_turn(reply(503), reply(200, {"items": []}))) as server:
        assert (await connect(server.origin)(SEARCH)).items == ()
    assert len(server.requests) == 2
    async with HttpServer(answer_in_turn(reply(500))) as server:
        assert str(await call_and_catch(connect, server, SEARCH)).endswith("(500). Try again in a moment.")


async def test_write_refused_with_429_is_retried_after_the_given_time(connect: Connect, time: Time) -> None:
    async with HttpServer(answer_in_turn(reply(429, None, [("retry-after", "3")]), reply(200, COMMENT))) as server:
        assert (await connect(server.origin)(POST)).id == "c1"
    assert time.slept == [3.5]


async def test_long_retry_after_is_raised_and_not_awaited(connect: Connect, time: Time) -> None:
    async with HttpServer(answer_in_turn(reply(429, None, [("retry-after", "61")]))) as server:
        error = await call_and_catch(connect, server)
    assert isinstance(error, RateLimited)
    assert error.trace.retry_at == NOON + timedelta(seconds=61)
    assert (len(server.requests), time.slept) == (1, [])
    assert "received too many API requests. Try again at " in str(error)


async def test_excessive_retry_after_is_limited_to_a_day(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(429, None, [("retry-after", "999999999")]))) as server:
        error = await call_and_catch(connect, server)
    assert isinstance(error, RateLimited)
    assert error.trace.retry_at == NOON + timedelta(days=1), "a wait of thirty years is cut to one day"
    assert "received too many API requests. Try again tomorrow at " in str(error)


async def test_many_failing_calls_stay_within_the_budget(connect: Connect, time: Time) -> None:
    async with HttpServer(answer_in_turn(reply(503))) as server:
        client = connect(server.origin, rng=lambda: 0.0)
        for _ in range(200):
            with pytest.raises(ServerError):
                await client(ME)
            time.seconds += 10 / 200
    assert len(server.requests) <= 215


async def test_rate_limits_of_a_response_are_kept(connect: Connect) -> None:
    headers = [("x-ratelimit-limit", "100"), ("x-ratelimit-remaining", "4")]
    headers += [("x-ratelimit-reset", str(int(NOON.timestamp()) + 30)), ("date", "Mon, 04 May 2026 12:00:00 GMT")]
    async with HttpServer(answer_in_turn(reply(200, MIA, headers), reply(200, MIA))) as server:
        client = connect(server.origin)
        assert client.limits is None
        await client(ME)
        known = client.limits
        assert known is not None
        assert (known.limit, known.remaining, known.reset) == (100, 4, NOON + timedelta(seconds=30))
        await client(ME)
        assert client.limits == known


async def test_background_waits_for_the_limit_although_the_clock_was_changed(connect: Connect, time: Time) -> None:
    headers = [("x-ratelimit-limit", "100"), ("x-ratelimit-remaining", "4")]
    headers += [("x-ratelimit-reset", str(int(NOON.timestamp()) + 30)), ("date", "Mon, 04 May 2026 12:00:00 GMT")]
    shown = NOON
    async with HttpServer(answer_in_turn(reply(200, MIA, headers))) as server:
        client = connect(server.origin, now=lambda: shown)
        await client(ME)
        assert client.background_wait == 30
        shown -= timedelta(hours=2)
        time.seconds += 20
        assert client.background_wait == 10, "the clock was set back"
        shown = NOON + timedelta(minutes=1)
        assert client.background_wait == 0, "the computer has slept"


async def test_activity_has_routes_and_no_values(connect: Connect) -> None:
    seen: list[Activity] = []
    async with HttpServer(answer_in_turn(reply(200, MIA), reply(503), reply(404))) as server:
        client = connect(server.origin, on_activity=seen.append)
        await client(ME)
        with pytest.raises(NotFound):
            await client(comments.Get(at=HERE, comment_id="secretid"))
        with pytest.raises(NotFound):
            await client(POST)
    assert list(client.activity) == seen
    assert [(each.method, each.status, each.attempts, each.size) for each in seen] == [
        ("GET", 200, 1, len(b'{"id": "mia", "displayName": "Mia"}')),
        ("GET", 404, 2, 0),
        ("POST", 404, 1, 0),
    ]
    assert seen[0].error == ""
    assert seen[1].error.startswith("127.0.0.1")
    assert seen[1].route == "/v1/spaces/{spaceId}/comments/{commentId}"
    assert "secretid" not in repr(seen)
    assert KEY_TEXT not in repr(seen)


async def test_activity_keeps_the_last_two_hundred_requests(connect: Connect) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"id":"mia"}'})

    client = connect("http://octavo.local", transport=app)
    for _ in range(210):
        await client(ME)
    assert len(client.activity) == 200


@pytest.mark.parametrize(
    ("op", "sentence"),
    [
        (content.GetPageByPath(at=HERE, page_path=".."), "'..' cannot be used in a path"),
        (content.GetPageByPath(at=HERE, page_path="\udcff"), "it is not valid UTF-8"),
        (comments.Create(at=HERE, body={"markdown": "\ud800"}), "it is not valid UTF-8"),
    ],
)
async def test_invalid_operation_is_refused_before_it_is_sent(
    connect: Connect, op: Operation[Any], sentence: str
) -> None:
    async with HttpServer(answer_in_turn()) as server:
        error = await call_and_catch(connect, server, op)
        assert isinstance(error, Invalid)
        assert sentence in str(error)
        assert error.outcome is Outcome.REFUSED
        assert server.requests == []


async def test_closed_client_sends_nothing(connect: Connect) -> None:
    async with HttpServer(answer_in_turn(reply(200, MIA))) as server:
        client = connect(server.origin)
        await client(ME)
        await client.aclose()
        with pytest.raises(LocalFailure, match="was closed"):
            await client(ME)
        assert len(server.requests) == 1
