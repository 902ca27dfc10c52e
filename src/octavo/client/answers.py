"""Parses response bodies into the types that operations return."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any
from weakref import ref

from pydantic import BaseModel, ValidationError

from octavo.api.errors import BadResponse
from octavo.api.operation import ListPage, Operation, Spec, read
from octavo.api.reading import json_of
from octavo.client.body import LIST_CAP, PAGE_CAP
from octavo.concurrency import run_in_thread

THREAD_SIZE = 256 * 1024
"""Body size in bytes from which parsing runs in a background thread, because it would block the event loop."""
CACHE_SIZE = 1000
"""Maximum number of URLs whose last response is cached."""


class ParsedResponseCache:
    """A cache of the last parsed response of each URL. If a body is unchanged, the same object is returned. It holds
    only weak references, so it keeps no response in memory."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[type[Operation[Any]], str], tuple[bytes, ref[Any]]] = OrderedDict()
        """Digest of the body and parsed response, by operation and URL. The operation is part of the key, because two
        operations may parse the same body differently."""

    async def read_as(self, spec: Spec, url: str, body: bytes | None, host: str) -> Any:
        """Return the body parsed as the type that `spec` declares. An unchanged body comes from the cache. Raises
        BadResponse."""
        if not body:
            return await read_as(spec, body, host)
        digest = hashlib.blake2b(body, digest_size=16).digest()
        asked = spec.operation, url
        before, known = self._last.get(asked, (b"", None))
        if known is not None and before == digest and (answer := known()) is not None:
            return answer
        answer = await read_as(spec, body, host)
        if isinstance(answer, BaseModel):
            self._last[asked] = digest, ref(answer)
            self._last.move_to_end(asked)
            while len(self._last) > CACHE_SIZE:
                self._last.popitem(last=False)
        return answer


def has_no_body(spec: Spec) -> bool:
    """Return whether the operation has no response body."""
    return spec.response_type in (None, type(None))


def cap(spec: Spec) -> int:
    """Return the maximum size of the response body in bytes. 0 if the operation has no response body."""
    kind = spec.response_type
    if has_no_body(spec):
        return 0
    return LIST_CAP if isinstance(kind, type) and issubclass(kind, ListPage) else PAGE_CAP


async def read_as(spec: Spec, body: bytes | None, host: str) -> Any:
    """Return the body parsed as the type that `spec` declares. Raises BadResponse."""
    if has_no_body(spec):
        return None
    if not body:
        raise BadResponse(f"{host} sent an empty response to {spec.name}. Refresh to see the current state.")
    try:
        if len(body) > THREAD_SIZE:
            return await run_in_thread(lambda: read(spec.codec, body))
        return read(spec.codec, body)
    except ValidationError as error:
        raise BadResponse(_unreadable_message(error, spec, host)) from None
    except ValueError:
        raise BadResponse(_not_json(host)) from None


async def parse_body(body: bytes, host: str) -> Any:
    """Parse `body` as JSON. None if it is empty. Raises BadResponse."""
    if not body:
        return None
    try:
        if len(body) > THREAD_SIZE:
            return await run_in_thread(lambda: json_of(body))
        return json_of(body)
    except ValueError:
        raise BadResponse(_not_json(host)) from None


def items_of(page: Any, host: str) -> tuple[list[Any], object]:
    """Return the items and the next cursor of a list page in JSON. Raises BadResponse."""
    if not isinstance(page, dict) or not isinstance(page.get("items"), list):
        raise BadResponse(f"{host} did not return a list. Check the base URL.")
    following = page.get("next")
    return page["items"], following.get("page") if isinstance(following, dict) else following


def _unreadable_message(error: ValidationError, spec: Spec, host: str) -> str:
    first = error.errors(include_input=False, include_context=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"Could not read the response from {host} to {spec.name} ({where}: {first['msg']}). Update Octavo, then try again."


def _not_json(host: str) -> str:
    return f"{host} did not return valid JSON. Check the base URL, then try again."
