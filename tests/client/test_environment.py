"""Unusual environment variables: the client starts, or the error names the variable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from octavo.api import users
from octavo.api.errors import ApiError, LocalFailure, NotSent, Unreachable
from octavo.client.http import HttpTransport
from octavo.client.origin import environment_problem
from octavo.client.policy import Unsendable
from tests.client.conftest import Connect
from tests.client.http_server import HttpServer, reply
from tests.client.test_client import MIA

ME = users.Me()
FAR_AWAY = "https://192.0.2.1"
"""An address without a name, which nobody has."""
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if "proxy" in name.lower() or name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name)


PROXIES = {
    "HTTPS_PROXY": [
        "foo://x",
        "http://[x",
        "http://h:abc",
        "http://h:99999",
        "http://",
        "://",
        "http://h\x1b",
        "socks4://h:1",
    ],
    "https_proxy": ["foo://user:passw0rd@x"],
    "HTTP_PROXY": ["ftp://x"],
    "ALL_PROXY": ["socks5://h:1", "socks5h://h:1"],
    "all_proxy": ["http://" + "é" * 80],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in PROXIES.items() for value in values])
async def test_invalid_proxy_variable_is_named(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(Unsendable, match=f"The environment variable {name} ") as caught:
        await connect(FAR_AWAY)(ME)
    assert "passw0rd" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert caught.value.trace.attempts == 0


@pytest.mark.parametrize("value", ["[::1", "[fd00::1]", "fd00::/8"])
async def test_invalid_no_proxy_entry_is_named(connect: Connect, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NO_PROXY", value)
    monkeypatch.setenv("HTTPS_PROXY", NOBODY)
    # Some versions of httpx accept the entry; the client then tries the proxy.
    with pytest.raises((NotSent, LocalFailure), match=r"NO_PROXY|the proxy in HTTPS_PROXY"):
        await connect(FAR_AWAY)(ME)


async def test_unreachable_proxy_is_named(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", NOBODY)
    with pytest.raises(NotSent, match="The connection to the proxy in all_proxy was refused"):
        await connect(FAR_AWAY)(ME)


async def test_invalid_certificate_file_is_named(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("no certificates here")
    for path in (tmp_path / "nothing", tmp_path / "notes.txt", tmp_path):
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with pytest.raises(Unsendable, match="The environment variable SSL_CERT_FILE "):
            await connect(FAR_AWAY)(ME)
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unsendable, match="ca_file"):
        await connect(FAR_AWAY, ca_file=tmp_path / "notes.txt")(ME)


HARMLESS = [
    {"HTTPS_PROXY": ""},
    {"NO_PROXY": "*"},
    {"NO_PROXY": " , .example.com,localhost:80,10.0.0.0/8,::1"},
    {"REQUESTS_CA_BUNDLE": "/nonexistent"},
    {"SSL_CERT_DIR": "/nonexistent"},
    {"SSL_CERT_FILE": ""},
]


@pytest.mark.parametrize("environ", HARMLESS, ids=str)
async def test_valid_environment_variables_are_accepted(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    await HttpTransport(FAR_AWAY, None).aclose()


async def test_requests_to_this_machine_use_no_proxy(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, NOBODY)
    monkeypatch.setenv("HTTPS_PROXY", "foo://x")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    async with HttpServer(lambda _: reply(200, MIA)) as server:
        assert (await connect(server.origin)(ME)).id == "mia"


@pytest.mark.parametrize(("status", "attempts"), [(407, 1), (403, 4)])
async def test_proxy_is_used_except_for_no_proxy(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, status: int, attempts: int
) -> None:
    """The client sends CONNECT to the proxy and reports its refusal. NO_PROXY bypasses the proxy."""
    async with HttpServer(lambda _: reply(status, None, [("connection", "close")])) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.origin)
        with pytest.raises(ApiError, match="The proxy for 192") as caught:
            await connect(FAR_AWAY)(ME)
        assert [(request.method, request.target) for request in proxy.requests] == [
            ("CONNECT", "192.0.2.1:443")
        ] * attempts
        assert all("authorization" not in request.headers for request in proxy.requests)
        assert caught.value.trace.attempts == attempts
        monkeypatch.setenv("NO_PROXY", "192.0.2.1")
        with pytest.raises(Unreachable):
            await connect(FAR_AWAY, deadline=0.05)(ME)
        assert len(proxy.requests) == attempts


def test_environment_problem_names_only_variables_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "foo://x")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    assert "HTTPS_PROXY" in environment_problem(proxies=True, certificates=True)
    assert "SSL_CERT_FILE" in environment_problem(proxies=False, certificates=True)
    assert environment_problem(proxies=False, certificates=False) == ""
