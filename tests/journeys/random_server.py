"""A server that sends random responses. Most responses are valid in the OpenAPI document, and some are not.

A response depends only on the seed and the request, so that a run can be repeated. The ids of each kind of item come
from a small set, so that responses refer to items in other responses."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from urllib.parse import parse_qs, unquote

from starlette.types import Receive, Scope, Send

from octavo.api.openapi_document import document
from tests.journeys.random_values import Json, Values, kind_of

HOST = "http://127.0.0.1:9"
"""Origin of URLs in responses. No server listens there."""
_BASIC_PATHS = ("/v1/user", "/v1/orgs")
"""Operations that every view needs. The server fails them less often."""
_ERROR_STATUSES = (400, 403, 403, 404, 409, 412, 429, 429, 500, 502, 503)
_RETRY_AFTER_VALUES = ("0", "1", "59", "3600", "Wed, 21 Oct 2026 07:28:00 GMT", "-5", "soon", "9" * 40, "")
_UNREADABLE_BODIES = (
    *(b"", b"null", b"[]", b"{}", b"0", b'""', b"<html>Welcome to the hotel</html>", b'{"items": [{"id', b"\xff\xfe{"),
    *(b'{"items": null}', b'{"items": {"a": 1}}', b'{"items": [null, 1, "a", []]}', b'{"id": null}', b"[" * 5000),
)


@dataclass(frozen=True)
class ServerResponse:
    """Status and body of a response."""

    status: int
    body: bytes

    @property
    def value(self) -> Json:
        """Return the body as a JSON value. None if the body is not valid JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


@dataclass
class RandomServer:
    """An ASGI application with random responses. With `changing`, the same request gets a different response each
    time."""

    seed: int
    changing: bool = False
    trouble: float = 0.1
    """Share of requests that fail."""
    slow: float = 0.3
    """Delay of a few responses, in seconds."""
    longest: int = 10_000
    """Number of items in the few very long lists."""
    answers: dict[str, list[ServerResponse]] = field(default_factory=dict)
    """Responses to each GET request, in order, by path and query."""
    _request_counts: Counter[str] = field(default_factory=Counter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        url = scope["raw_path"].decode().partition("?")[0] + "?" + scope["query_string"].decode()
        request = f"{scope['method']} {url}"
        self._request_counts[request] += 1
        turn = self._request_counts[request] if self.changing or scope["method"] != "GET" else 0
        random = Random(f"{self.seed} {request} {turn}")
        await asyncio.sleep(random.choice((0, 0, 0, 0, self.slow / 20, self.slow / 5, self.slow)))
        status, headers, body = self._answer(scope["method"], url, random)
        if scope["method"] == "GET":
            self.answers.setdefault(url.removesuffix("?"), []).append(ServerResponse(status, body))
        lines = [(b"content-type", b"application/json"), *headers]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": b"" if status == 204 else body})

    def _answer(self, method: str, url: str, random: Random) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        path, _, query = url.partition("?")
        found = _operation(method, path)
        if found is None:
            return 404, [], b'{"error": {"code": 404, "message": "There is nothing here."}}'
        described, names = found
        if random.random() < (self.trouble / 4 if path in _BASIC_PATHS else self.trouble):
            return self._trouble(random)
        status, schema = _success(described)
        if schema is None:
            return status, [], b""
        values = Values(random, HOST, names, self.longest)
        if random.random() < 0.01:
            return status, [], json.dumps(values.anything()).encode()
        return status, [], values.answer(schema, page=parse_qs(query).get("page", [""])[0])

    def _trouble(self, random: Random) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        if random.random() < 0.3:
            return 200, [], random.choice(_UNREADABLE_BODIES)
        status = random.choice(_ERROR_STATUSES)
        headers = [(b"retry-after", random.choice(_RETRY_AFTER_VALUES).encode())] if random.random() < 0.5 else []
        error = {"error": {"code": status, "message": Values(random, HOST, {}).words()}}
        return (
            status,
            headers,
            json.dumps(error).encode() if random.random() < 0.8 else random.choice(_UNREADABLE_BODIES),
        )


def _operation(method: str, path: str) -> tuple[Json, dict[str, str]] | None:
    """Return the description of a request, and its path parameters by the kind of item."""
    parts = path.split("/")
    best: tuple[int, Json, dict[str, str]] | None = None
    for template, methods in document()["paths"].items():
        wanted = template.split("/")
        if method.lower() not in methods or len(wanted) != len(parts):
            continue
        pairs = list(zip(wanted, parts, strict=True))
        if all(each.startswith("{") or each == part for each, part in pairs):
            names = {kind_of(each[1:-1]): unquote(part) for each, part in pairs if each.startswith("{")}
            if best is None or len(names) < best[0]:
                best = len(names), methods[method.lower()], names
    return best[1:] if best is not None else None


def _success(described: Json) -> tuple[int, Json | None]:
    """Return the status and the schema of a successful response."""
    status = next(each for each in described["responses"] if each < "300")
    content = described["responses"][status].get("content")
    return int(status), content["application/json"]["schema"] if content else None
