"""The key is sent to its origin only."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from octavo.api import comments, spaces, users
from octavo.api.errors import ApiError, BadResponse
from octavo.api.operation import Operation, SpaceRef
from octavo.client.client import Client
from octavo.client.http import HttpTransport, OriginAuth
from octavo.client.origin import origin_of
from octavo.client.policy import Unsendable
from octavo.client.responses import OutgoingRequest
from tests.client.conftest import KEY, Connect
from tests.client.http_server import KEY_TEXT, HttpServer, ReceivedRequest, Reply, reply
from tests.client.test_client import COMMENT, MIA, POST

ME = users.Me()
HERE = SpaceRef(space_id="s1")


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://api.example.com", "https://api.example.com"),
        ("https://api.example.com/", "https://api.example.com"),
        ("https://api.example.com/v1", "https://api.example.com"),
        (" https://API.Example.com/v1/ ", "https://api.example.com"),
        ("https://api.example.com:443", "https://api.example.com"),
        ("https://api.example.com:8443/v1", "https://api.example.com:8443"),
        ("HTTPS://api.example.com", "https://api.example.com"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.9.9.9", "http://127.9.9.9"),
        ("http://localhost:80", "http://localhost"),
        ("http://[::1]:9/v1", "http://[::1]:9"),
        ("https://[fd00::1]", "https://[fd00::1]"),
    ],
)
def test_base_url_is_normalized(given: str, origin: str) -> None:
    assert origin_of(given) == origin
    assert origin_of(origin) == origin


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            "api.example.com",
            "ftp://x",
            "javascript:alert(1)",
            "https://",
            "https:///v1",
            "//x",
            "file:///etc/passwd",
        ),
        *(
            "http://api.example.com",
            "http://127.0.0.1.evil.com",
            "http://2130706433/",
            "http://0x7f.1",
            "http://localhost.evil",
        ),
        *("https://u:passw0rd@x", "https://@x", "https://x?y=1", "https://x#y", "https://x/other", "https://x/v1/v1"),
        *(
            "https://x y",
            "https://x\n",
            "https://x\\@evil",
            "https://x:99999",
            "https://x:y",
            "https://[::1",
            "https://%00",
        ),
        *(
            "http://[::ffff:10.0.0.1]",
            "https://" + "a" * 64 + ".com",
            "https://a..b",
            "https://x\u202e.com",
            "http://[fe80::1%25eth0]",
        ),
    ],
)
def test_invalid_base_url_is_refused_with_a_sentence(given: str) -> None:
    if given == "https://x\n":
        assert origin_of(given) == "https://x"  # White space around a URL is ignored.
        return
    with pytest.raises(ValueError) as caught:
        origin_of(given)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    assert "passw0rd" not in sentence
    with pytest.raises(ValueError):
        Client(given, None)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.sampled_from(["", "http://", "https://"]))
def test_any_text_is_an_origin_or_a_readable_error(text: str, scheme: str) -> None:
    try:
        origin = origin_of(scheme + text)
    except ValueError as error:
        origin = ""
        sentence = str(error)
    if origin:
        assert origin_of(origin) == origin
        assert origin.startswith(("https://", "http://127.", "http://localhost", "http://["))
    else:
        assert sentence.endswith(".")
        assert sentence.isprintable()


@pytest.mark.parametrize(
    "op",
    [
        lambda: users.Get(user_id=".."),
        lambda: users.Get(user_id="../admin"),
        lambda: users.Get(user_id="a/../../b"),
        lambda: users.Get(user_id="//evil.example"),
        lambda: users.Get(user_id="https://evil.example/"),
        lambda: spaces.Get(at=SpaceRef(space_id="..")),
        lambda: comments.Get(at=HERE, comment_id="a\nb"),
        lambda: comments.Get(at=HERE, comment_id=""),
    ],
)
def test_id_cannot_leave_its_path(op: Any) -> None:
    with pytest.raises(ValidationError):
        op()


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/v1/user",
        "//evil.example/v1/user",
        "/v1/../admin",
        "/v1/./user",
        "user",
        "",
        "@evil.example/",
        *(".evil.example/", ":80/", "\\\\evil.example", "/v1/a b", "/v1/user\r\nx: y", "/v1/é"),
    ],
)
async def test_only_plain_paths_are_requested(target: str) -> None:
    async with HttpServer(lambda _: reply(200, MIA)) as server:
        transport = HttpTransport(server.origin, KEY)
        with pytest.raises(Unsendable):
            async with transport.send(OutgoingRequest("GET", target)):
                raise AssertionError("It was sent")
        await transport.aclose()
    assert server.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://evil.example/",
        "https://api.example.com.evil/",
        *("https://api.example.com@evil.example/", "https://xapi.example.com/", "http://api.example.com:443/"),
    ],
)
def test_key_is_sent_to_its_origin_only(url: str) -> None:
    auth = OriginAuth("https://api.example.com", KEY)
    good = next(auth.auth_flow(httpx.Request("GET", "https://api.example.com:443/v1/user")))
    assert good.headers["authorization"] == f"Bearer {KEY_TEXT}"
    with pytest.raises(Unsendable):
        next(auth.auth_flow(httpx.Request("GET", url)))
    assert KEY_TEXT not in repr(auth) + repr(vars(auth))


STATUSES = (301, 302, 303, 307, 308)
OPERATIONS: tuple[Operation[Any], ...] = (
    ME,
    POST,
    comments.Update(at=HERE, comment_id="c1", resolved=True),
    comments.Delete(at=HERE, comment_id="c1"),
)


@asynccontextmanager
async def two_peers(status: int, location: str) -> AsyncIterator[tuple[HttpServer, HttpServer]]:
    """Yield two servers. The first redirects to `location`, with the ports filled in, except below /moved."""

    def answer(request: ReceivedRequest) -> Reply:
        if request.target.startswith("/moved"):
            return reply(200, {**COMMENT, **MIA})
        where = location.format(here=here.port, there=there.port)
        return reply(status, None, [("location", where)])

    async with HttpServer(lambda _: reply(200, {**COMMENT, **MIA})) as there, HttpServer(answer) as here:
        yield here, there


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1:{there}/moved", "//127.0.0.1:{there}/moved", "http://localhost:{here}/moved"),
        *("https://127.0.0.1:{here}/moved", "http://127.0.0.2:{here}/moved", "http://[::1]:{here}/moved"),
        *("http://127.0.0.1:{here}@127.0.0.1:{there}/moved", "http://user:pw@127.0.0.1:{here}/moved"),
        *(
            "javascript:alert(1)",
            "file:///etc/passwd",
            "",
            "http://[",
            "data:,x",
            "http:/\x1b[m",
            "\\\\127.0.0.1:{there}/moved",
        ),
        "http://127.0.0.1:{here}\\@127.0.0.1:{there}/moved",
    ],
)
async def test_redirect_to_another_origin_is_not_followed(connect: Connect, status: int, location: str) -> None:
    async with two_peers(status, location) as (here, there):
        client = connect(here.origin)
        for op in OPERATIONS:
            with pytest.raises(BadResponse, match="redirects"):
                await client(op)
    assert there.connections == 0
    assert len(here.requests) == len(OPERATIONS)


@pytest.mark.parametrize(
    ("status", "location"),
    list(itertools.product(STATUSES, ["/moved?a=b", "../moved?a=b#c", "http://127.0.0.1:{here}/moved?a=b"])),
)
async def test_redirect_within_the_origin_is_followed_for_reads_only(
    connect: Connect, status: int, location: str
) -> None:
    async with two_peers(status, location) as (here, _):
        client = connect(here.origin)
        assert (await client(ME)).id == "mia"
        for op in OPERATIONS[1:]:
            with pytest.raises(BadResponse):
                await client(op)
    assert [request.target for request in here.requests if request.target.startswith("/moved")] == ["/moved?a=b"]


async def test_circular_redirect_is_refused(connect: Connect) -> None:
    async with HttpServer(lambda _: reply(302, None, [("location", "/v1/user")])) as server:
        with pytest.raises(BadResponse, match="too many redirects"):
            await connect(server.origin)(ME)
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [300, 304, 305, 306, 399])
async def test_other_redirect_statuses_are_refused(connect: Connect, status: int) -> None:
    async with HttpServer(lambda _: reply(status, None, [("location", "/v1/user")])) as server:
        with pytest.raises(BadResponse, match=rf"sent an unexpected response \({status}\)"):
            await connect(server.origin)(ME)
    assert len(server.requests) == 1


async def test_cookies_are_not_stored(connect: Connect) -> None:
    async with HttpServer(lambda _: reply(200, MIA, [("set-cookie", "track=me; Path=/")])) as server:
        client = connect(server.origin)
        await client(ME)
        await client(ME)
    assert all("cookie" not in request.headers for request in server.requests)


async def test_each_account_of_a_server_uses_its_own_key(connect: Connect) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        return reply(200, {"id": request.headers["authorization"].rpartition("-")[2]})

    async with HttpServer(answer) as server:
        clients = {name: connect(server.origin, SecretStr(f"key-of-{name}")) for name in ("ada", "mia")}
        for _ in range(100):
            for name, client in clients.items():
                assert (await client(ME)).id == name


async def test_errors_of_httpx_become_api_errors(connect: Connect) -> None:
    """Each error of the transport becomes an ApiError."""
    kinds = [
        *(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ReadTimeout, httpx.WriteTimeout),
        *(httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.RemoteProtocolError, httpx.LocalProtocolError),
        *(httpx.ProxyError, httpx.UnsupportedProtocol, httpx.DecodingError, httpx.TooManyRedirects),
    ]
    cases: tuple[tuple[Operation[Any], bool], ...] = ((ME, False), (POST, True))
    for kind in kinds:

        class FailingTransport(httpx.AsyncBaseTransport):
            calls = 0

            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                FailingTransport.calls += 1
                raise kind("secret detail", request=request)  # noqa: B023  # called within the same iteration

        for op, write in cases:
            FailingTransport.calls = 0
            with pytest.raises(ApiError) as caught:
                await connect("http://api.test", transport=FailingTransport())(op)
            assert "secret" not in str(caught.value)
            assert str(caught.value).endswith(".")
            left = kind in (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
            permanent = kind in (
                httpx.LocalProtocolError,
                httpx.UnsupportedProtocol,
                httpx.DecodingError,
                httpx.TooManyRedirects,
            )
            assert FailingTransport.calls == (1 if permanent or (write and not left) else 4), kind
