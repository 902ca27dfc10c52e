from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from octavo.server.app import Platform
from octavo.server.serve import CONNECTION_LIMIT, REQUEST_LIMIT, serve

KEY = "Authorization: Bearer key-ada\r\n"
END = "Connection: close\r\n\r\n"

ATTACKS = [
    (401, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\n"),
    (401, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nAuthorization: Bearer x\r\n"),
    (401, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nAuthorization: Basic key-ada\r\n"),
    (421, "GET /v1/user HTTP/1.1\r\nHost: evil.example:{port}\r\n{key}"),
    (421, "GET /v1/user HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}"),
    (421, "GET /v1/user HTTP/1.0\r\n{key}"),
    (421, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\n{key}Authorization: Bearer key-sam\r\n"),
    (400, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nHost: evil.example\r\n{key}"),
    (404, "GET http://evil.example/v1/user HTTP/1.1\r\nHost: {here}\r\n{key}"),
    (403, "POST /v1/user HTTP/1.1\r\nHost: {here}\r\nOrigin: https://evil.example\r\n{key}"),
    (403, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nOrigin: null\r\n{key}"),
    (403, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nSec-Fetch-Site: cross-site\r\n{key}"),
    (403, "OPTIONS /v1/user HTTP/1.1\r\nHost: {here}\r\nOrigin: https://evil.example\r\n"),
    (413, "POST /v1/user HTTP/1.1\r\nHost: {here}\r\nContent-Length: 2000000000\r\n{key}"),
    (400, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nX: {long}\r\n{key}"),
    (404, "GET /../../etc/passwd HTTP/1.1\r\nHost: {here}\r\n{key}"),
    (404, "GET /~/files/x/../../../etc/passwd HTTP/1.1\r\nHost: {here}\r\n{key}"),
    (400, "\x16\x03\x01\x02\x00\r\n"),
    (200, "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nSec-Fetch-Site: none\r\n{key}"),
]


@pytest.fixture
async def port(platform: Platform) -> AsyncIterator[int]:
    """Serve the platform and yield its port."""
    stop_server: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve(platform, 0, stop_server.set_result))
    async with asyncio.timeout(60):
        yield int((await stop_server).rpartition(":")[2])
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def _raw(port: int, request: str | bytes) -> str:
    """Send raw bytes. Return the complete response with its headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode("latin-1") if isinstance(request, str) else request)
    with suppress(ConnectionError):
        await writer.drain()
    answer = b""
    with suppress(ConnectionError):
        while part := await reader.read(65536):
            answer += part
    writer.close()
    return answer.decode("latin-1")


def _status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


async def test_server_responds_on_loopback_with_its_own_urls(port: int) -> None:
    async with httpx.AsyncClient(headers={"authorization": "Bearer key-ada"}) as client:
        answer = await client.get(f"http://127.0.0.1:{port}/v1/orgs/acme")
        named = await client.get(f"http://localhost:{port}/v1/user")
    assert answer.json()["urls"]["location"] == f"http://127.0.0.1:{port}/v1/orgs/acme"
    assert named.json()["id"] == "ada"
    assert "server" not in answer.headers


async def test_requests_for_other_hosts_and_origins_are_refused(port: int) -> None:
    for status, head in ATTACKS:
        request = head.format(here=f"127.0.0.1:{port}", port=port, key=KEY, long="a" * 300_000)
        answer = await _raw(port, request + END)
        assert (_status(answer), head) == (status, head)
        assert "access-control" not in answer.lower()


async def test_chunked_body_over_the_limit_is_refused(port: int) -> None:
    head = f"POST /v1/orgs/acme/spaces HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{KEY}Transfer-Encoding: chunked\r\n{END}"
    answer = await _raw(port, head + ("10000\r\n" + "x" * 65536 + "\r\n") * 48 + "0\r\n\r\n")
    assert _status(answer) == 413
    assert "larger than the limit of 1 MiB" in answer


async def test_chunked_body_ignores_a_content_length(port: int) -> None:
    head = f"POST /v1/orgs/acme/collections HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{KEY}Content-Length: 3\r\n"
    answer = await _raw(port, f"{head}Transfer-Encoding: chunked\r\n{END}0\r\n\r\nGET /v1/user HTTP/1.1\r\n\r\n")
    assert _status(answer) == 201
    assert answer.count("HTTP/1.1") == 1


async def test_requests_over_the_limit_get_503(port: int) -> None:
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{KEY}"
    writers = []
    for _ in range(REQUEST_LIMIT):  # The bodies of these requests never arrive.
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST /v1/orgs {head}Content-Length: 2\r\n\r\n".encode())
        writers.append(writer)
    async with asyncio.timeout(60):
        while _status(answer := await _raw(port, f"GET /v1/user {head}{END}")) == 200:
            pass
        assert (_status(answer), "retry-after: 1" in answer, "at most 64 requests at once." in answer) == (
            503,
            True,
            True,
        )
        for writer in writers:
            writer.close()
        while _status(await _raw(port, f"GET /v1/user {head}{END}")) == 503:
            pass


async def test_server_listens_only_on_loopback(port: int) -> None:
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        own = "127.0.0.2"
    with socket.socket() as other:
        assert other.connect_ex((own, port)) != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_server_stops_on_a_signal_and_can_start_again(platform: Platform, number: signal.Signals) -> None:
    origins: list[str] = []

    def stop_server(origin: str) -> None:
        origins.append(origin)
        os.kill(os.getpid(), number)

    async with asyncio.timeout(60):
        await serve(platform, 0, stop_server)
        port = int(origins[0].rpartition(":")[2])
        await serve(platform, port, stop_server)
    assert origins == [f"http://127.0.0.1:{port}"] * 2


async def test_port_in_use_raises_os_error(platform: Platform) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        await serve(platform, taken.getsockname()[1], lambda origin: None)


# Slow clients

HALF_A_HEAD = "GET /v1/user HTTP/1.1\r\nHost: {here}\r\nX-Late: "
LATE_BODY = "PATCH /v1/orgs/acme HTTP/1.1\r\nHost: {here}\r\n{key}Content-Length: 100\r\n\r\n{{"
LATE = {
    "nothing at all": "",
    "half a head": HALF_A_HEAD,
    "half a second head": "GET /v1/nothing HTTP/1.1\r\nHost: {here}\r\n{key}\r\n" + HALF_A_HEAD,
    "a body": LATE_BODY,
    "a body that nobody reads": LATE_BODY.replace("{key}", ""),
    "a body in chunks": LATE_BODY.replace("Content-Length: 100\r\n\r\n{{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{{"),
    "a second request": "GET /v1/nothing HTTP/1.1\r\nHost: {here}\r\n{key}\r\n",
}


@pytest.fixture
def _short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limits for clients."""
    for name, seconds in (("HEAD", 0.2), ("BODY", 0.4), ("RESPONSE", 0.2), ("IDLE", 0.3)):
        monkeypatch.setattr(f"octavo.server.serve.{name}_SECONDS", seconds)


def _fill_in(port: int, request: str) -> str:
    return request.format(here=f"127.0.0.1:{port}", port=port, key=KEY)


@pytest.mark.usefixtures("_short_timeouts")
@pytest.mark.parametrize("late", LATE)
async def test_slow_client_is_disconnected(late: str, port: int) -> None:
    answer = await _raw(port, _fill_in(port, LATE[late]))  # The client never closes the connection, so the server must.
    assert ("408" in answer) == (late in ("half a head", "a body", "a body in chunks"))


@pytest.mark.usefixtures("_short_timeouts")
async def test_client_that_sends_byte_by_byte_is_disconnected(port: int) -> None:
    for request in (HALF_A_HEAD, LATE_BODY, LATE_BODY.replace("{key}", "")):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_fill_in(port, request).encode())
        reading = asyncio.create_task(reader.read())
        drops = 0
        while not reading.done() and drops < 100:
            await asyncio.sleep(0.05)
            with suppress(ConnectionError):
                writer.write(b"x")
            drops += 1
        assert drops < 50
        with suppress(ConnectionError):
            await reading
        writer.close()


@pytest.mark.usefixtures("_short_timeouts")
async def test_client_that_reads_nothing_is_disconnected(port: int) -> None:
    large = _fill_in(port, "GET /v1/openapi.json HTTP/1.1\r\nHost: {here}\r\n")
    assert _status(await _raw(port, large + END)) == 200
    before, loop = asyncio.all_tasks(), asyncio.get_running_loop()
    with ExitStack() as held:
        for _ in range(REQUEST_LIMIT + 1):
            client = held.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            await loop.sock_connect(client, ("127.0.0.1", port))
            await loop.sock_sendall(client, f"{large}\r\n".encode())
        await asyncio.sleep(0.1)
        ask = _fill_in(port, f"GET /v1/user HTTP/1.1\r\nHost: {{here}}\r\n{{key}}{END}")
        assert _status(await _raw(port, ask)) == 200
        await asyncio.sleep(1)
        assert asyncio.all_tasks() <= before  # No task waits for a client to read.


@pytest.mark.before_release("a body that nobody reads", "a second request", "nothing at all")
@pytest.mark.parametrize("late", ["nothing at all", "half a head", "a body that nobody reads", "a second request"])
async def test_unauthenticated_connections_do_not_block_others(late: str, port: int) -> None:
    held = []
    for _ in range(CONNECTION_LIMIT + 44):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_fill_in(port, LATE[late].replace("{key}", "")).encode())
        held.append(writer)
    ask = _fill_in(port, f"GET /v1/user HTTP/1.1\r\nHost: {{here}}\r\n{{key}}{END}")
    answers = [await _raw(port, ask) for _ in range(20)]
    assert {_status(answer) for answer in answers} == {200}
    for writer in held:
        writer.close()


@pytest.mark.usefixtures("_short_timeouts")
async def test_slow_response_is_not_cut_off(platform: Platform, port: int) -> None:
    platform.delay = 1.0
    assert _status(await _raw(port, _fill_in(port, f"GET /v1/user HTTP/1.1\r\nHost: {{here}}\r\n{{key}}{END}"))) == 200
