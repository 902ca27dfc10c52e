"""Fetching is limited in size and time, and never reads from private networks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from octavo.api.safety import is_public
from octavo.server.fetcher import REDIRECT_LIMIT, Fetcher, FetchFailure
from tests.server.web_server import WebServer, run_web_server

NEAR = Fetcher(allows_private=True, size_limit=1000, time_limit=5.0)


@pytest.fixture
def web() -> Iterator[WebServer]:
    with run_web_server() as web:
        yield web


def fetch_error(fetcher: Fetcher, url: str) -> str:
    with pytest.raises(FetchFailure) as failure:
        fetcher.fetch(url)
    return str(failure.value)


def test_url_is_fetched_and_decoded(web: WebServer) -> None:
    fetched = NEAR.fetch(web.put("/a?b=c", "“gr\xfc\xdfe”".encode("cp1252"), "text/plain; charset=iso-8859-1"))
    assert (fetched.media_type, fetched.text, fetched.url) == ("text/plain", "“gr\xfc\xdfe”", f"{web.origin}/a?b=c")


@pytest.mark.parametrize("charset", ["", "; charset=nothing-known", "; charset=idna", "; charset=utf-8"])
def test_unknown_charset_is_read_as_utf8(web: WebServer, charset: str) -> None:
    assert NEAR.fetch(web.put("/", "\ufeffgr\xfc\xdfe".encode(), f"text/plain{charset}")).text == "gr\xfc\xdfe"


def test_byte_order_mark_overrides_the_declared_charset(web: WebServer) -> None:
    url = web.put("/", "\ufeffgr\xfc\xdfe".encode(), "text/plain; charset=iso-8859-1")
    assert NEAR.fetch(url).text == "gr\xfc\xdfe"


def test_encoding_of_host_names_is_not_used_for_texts(web: WebServer) -> None:
    assert NEAR.fetch(web.put("/", "words-and", "text/plain; charset=punycode")).text == "words-and"


def test_redirects_are_followed_up_to_a_limit(web: WebServer) -> None:
    web.move("/old", "/new")
    web.put("/new", "there")
    assert NEAR.fetch(f"{web.origin}/old").url == f"{web.origin}/new"
    web.move("/round", f"{web.origin}/round")
    assert f"more than {REDIRECT_LIMIT} times" in fetch_error(NEAR, f"{web.origin}/round")
    assert web.requested_paths.count("/round") == REDIRECT_LIMIT + 1


def test_response_that_is_too_large_is_refused(web: WebServer) -> None:
    assert len(NEAR.fetch(web.put("/fits", b"x" * 1000)).data) == 1000
    assert "is larger than" in fetch_error(NEAR, web.put("/more", b"x" * 1001))


def test_slow_response_is_abandoned(web: WebServer) -> None:
    with pytest.raises(FetchFailure) as failure:
        Fetcher(allows_private=True, time_limit=0.2).fetch(web.make_endless("/slow"))
    assert failure.value.code == "FETCH_TIMEOUT"
    assert "took too long" in str(failure.value)


def test_slow_tls_handshake_is_abandoned() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(FetchFailure) as failure:
        Fetcher(allows_private=True, time_limit=0.2).fetch(f"https://127.0.0.1:{silent.getsockname()[1]}/")
    assert failure.value.code == "FETCH_TIMEOUT"


def test_connection_after_the_time_limit_is_abandoned(web: WebServer) -> None:
    parts = urlsplit(web.put("/late", b"x"))
    with pytest.raises(FetchFailure) as failure, NEAR._open_response(parts, time.monotonic() - 1, []):
        pass
    assert failure.value.code == "FETCH_TIMEOUT"


def test_truncated_response_is_refused(web: WebServer) -> None:
    url = web.put("/short", b"half", headers={"content-length": "8"})
    assert "closed the connection before the file was complete" in fetch_error(NEAR, url)


def test_error_status_is_reported(web: WebServer) -> None:
    assert fetch_error(NEAR, f"{web.origin}/nothing") == "127.0.0.1 responded with status 404"
    packed = web.put("/packed", b"\x1f\x8b", headers={"content-encoding": "gzip"})
    assert "compressed text" in fetch_error(NEAR, packed)


def test_unreachable_host_is_reported() -> None:
    with run_web_server() as web:
        gone = web.origin
    assert "could not connect to" in fetch_error(NEAR, gone)
    assert "was not found" in fetch_error(NEAR, "http://nobody.invalid/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/x",
        "file:///etc/passwd",
        "http://",
        "http://user:secret@a.example/",
        "http://a.example:99999/",
        "http://a.example/\r\nx: y",
        "http://a..b/",
    ],
)
def test_only_http_urls_are_fetched(url: str) -> None:
    assert fetch_error(NEAR, url).startswith(("only http and https", "the URL is not valid"))


def test_private_addresses_are_refused_unless_allowed(web: WebServer) -> None:
    far = Fetcher()
    url = web.put("/", "secret")
    for there in (
        url,
        url.replace("127.0.0.1", "localhost"),
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://169.254.169.254/",
    ):
        assert "on a private network" in fetch_error(far, there)
    assert web.requested_paths == []
    assert NEAR.fetch(url).text == "secret"


def test_redirect_target_is_checked_like_a_url(web: WebServer) -> None:
    assert "only http and https" in fetch_error(NEAR, web.move("/", "file:///etc/passwd"))


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("127.8.8.8", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff0e::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_private_addresses_are_recognized(address: str, public: bool) -> None:
    assert is_public(address) is public
