"""What is remembered of the requests that were sent."""

from dataclasses import dataclass
from datetime import datetime

KEY = "key"
"""The method of an attempt to read the key where it is kept. Nothing was sent."""


@dataclass(frozen=True)
class Activity:
    """One request, all its attempts together. Holds no values, no header and no key."""

    moment: datetime
    """When it ended."""
    method: str
    route: str
    """The path with its parameter names, `/v1/spaces/{spaceId}`."""
    status: int | None
    """Of the last answer. None when there was none."""
    ms: float
    attempts: int
    request_id: str
    error: str
    """The sentence it failed with, or nothing."""
    size: int
    """Bytes of the body of the last answer, decompressed."""
    given_up: bool = False
    """Nobody waited for the answer any more: it says nothing of the server."""
