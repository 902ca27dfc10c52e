"""A request that a client has sent, for the activity list and the event log."""

from dataclasses import dataclass
from datetime import datetime

READING_KEY = "key"
"""Value of `Activity.method` for an attempt to read the API key, which is not a request."""


@dataclass(frozen=True)
class Activity:
    """A request that a client has sent, with all its attempts. Contains no parameter values, headers or tokens."""

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
    """Size of the response body in bytes, after decompression."""
    only_reads: bool = True
    """False if the request may have changed something on the server."""
    given_up: bool = False
    """True if the request was canceled because no caller waited for its response anymore."""
