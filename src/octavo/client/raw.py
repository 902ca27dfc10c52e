"""Requests whose responses are returned as JSON, with their status and headers, instead of as a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from octavo.client.carrier import Outgoing


@dataclass(frozen=True)
class RawRequest:
    """A request to an operation or to a path."""

    sent: Outgoing
    route: str
    """Path with parameter names, for logs and errors."""
    is_read: bool
    """Whether the request changes nothing. In read-only mode, other requests are not sent."""

    def for_page(self, cursor: str) -> RawRequest:
        """Return the request for another page of the same list."""
        path, _, query = self.sent.target.partition("?")
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "page"]
        target = f"{path}?{urlencode([*pairs, ('page', cursor)])}"
        return replace(self, sent=replace(self.sent, target=target))


@dataclass(frozen=True)
class RawResponse:
    """A successful response."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    value: Any
    """The JSON value of the body. None if the body is empty."""
