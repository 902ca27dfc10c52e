from __future__ import annotations

import io
import logging
import pickle
import traceback

import pytest
from pydantic import SecretStr

from octavo.api import users
from octavo.api.errors import ApiError
from octavo.client.client import Client
from octavo.redaction import RedactingFilter, redact, remember_token
from tests.client.conftest import KEY, Connect
from tests.client.http_server import KEY_TEXT, HttpServer, reply
from tests.client.test_client import MIA

ODD = 'odd"key\\with%signs&more'


def test_known_key_is_redacted_in_any_form() -> None:
    remember_token(ODD)
    for form in (
        ODD,
        repr(ODD),
        repr({"k": ODD}),
        f"?key={'odd%22key%5Cwith%25signs%26more'}",
        '{"k":"odd\\"key\\\\with%signs&more"}',
    ):
        assert "odd" not in redact(f"before {form} after")
        assert redact(f"before {form} after").startswith("before ")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdefgh12345678", "Authorization: [redacted]"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==", "authorization: [redacted]"),
        ("the key gb_api_AbC-123_x is out", "the key [redacted] is out"),
        ("https://mia:secret@api.example.com/x", "https://[redacted]@api.example.com/x"),
        ("https://mia@api.example.com/x", "https://[redacted]@api.example.com/x"),
        ("write to mia@acme.com", "write to mia@acme.com"),
        ("a bearer of news, a basic idea", "a bearer of news, a basic idea"),
        ("https://api.example.com/v1/user", "https://api.example.com/v1/user"),
        ("", ""),
    ],
)
def test_text_with_the_shape_of_a_key_is_redacted(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_long_hostile_text_is_redacted_without_backtracking() -> None:
    for hostile in (
        "bearer " * 20_000,
        "://" * 40_000,
        "gb_api_" * 20_000,
        "basic\t" * 20_000 + "!",
        "://" + "a" * 100_000,
    ):
        redact(hostile)


def test_log_records_contain_no_key() -> None:
    remember_token(ODD)
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(RedactingFilter())
    logger = logging.getLogger("test_redaction")
    logger.propagate = False
    logger.addHandler(handler)
    logger.warning("sent %s", ODD)
    logger.warning("sent %(key)s", {"key": ODD})
    try:
        raise ValueError(f"failed with {ODD}")
    except ValueError:
        logger.exception("it happened", stack_info=True)
    logger.removeHandler(handler)
    assert ODD not in out.getvalue()
    assert out.getvalue().count("[redacted]") == 3
    assert "it happened" in out.getvalue()


async def test_requests_at_debug_level_log_no_key(
    connect: Connect, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """All loggers are at DEBUG, for valid and invalid responses, errors and tracebacks."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)  # Octavo sets this level when it imports the libraries.
    seen: list[str] = []
    answers = [
        reply(200, MIA),
        reply(403, {"error": {"message": f"not with {KEY_TEXT}"}}),
        reply(200, body=KEY_TEXT.encode()),
        b"",
    ]
    async with HttpServer(lambda _: answers.pop(0) if answers else b"") as server:
        client = connect(server.origin)
        for _ in range(4):
            try:
                user = await client(users.Me())
                seen.append(repr(user))
            except ApiError as error:
                seen.append("".join(traceback.format_exception(error)) + repr(vars(error)))
        seen.append(repr(client.activity) + repr(vars(client)))
    output = capfd.readouterr()
    everything = "".join(seen) + caplog.text + output.out + output.err
    assert len(seen) == 5
    assert KEY_TEXT not in everything
    assert "MIA" in everything.upper()


def test_key_is_masked_in_all_objects() -> None:
    client = Client("https://api.example.com", KEY)
    assert KEY_TEXT not in repr(client) + repr(vars(client)) + str(KEY)
    assert isinstance(KEY, SecretStr)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(client)
