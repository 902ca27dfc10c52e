"""A record of the requests that a client has sent."""

from dataclasses import dataclass
from datetime import datetime

READING_KEY = "key"
"""`method` of an `Activity` for an attempt to read the access token."""


@dataclass(frozen=True)
class Activity:
    """One request with all its attempts. Contains no parameter values, no headers and no token."""

    moment: datetime
    """When the request ended."""
    method: str
    route: str
    """The path with parameter names, such as `/v1/spaces/{spaceId}`."""
    status: int | None
    """The status of the last response. None if there was no response."""
    ms: float
    attempts: int
    request_id: str
    error: str
    """The error message. Empty if the request succeeded."""
    size: int
    """Size of the body of the last response in bytes, decompressed."""
    given_up: bool = False
    """True if the request was canceled because no caller waited for it."""
