"""The table of the kinds of write. It has one row for each write that Octavo can check and find."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from octavo.api.operation import Operation
from octavo.data.writes.write_kind import WriteKind

W = TypeVar("W", bound=Operation[Any])


@cache
def write_kinds() -> Mapping[type[Operation[Any]], WriteKind[Any]]:
    """Return the row of each kind of write, by operation."""
    # lazy: these modules load parts of the API that the first screen does not need
    from octavo.data.writes.change_request_kinds import CHANGE_REQUEST_WRITES
    from octavo.data.writes.comment_kinds import COMMENT_WRITES

    return {**COMMENT_WRITES, **CHANGE_REQUEST_WRITES}


def kind_of(op: W) -> WriteKind[W]:
    """Return the row of a write. Raises KeyError if the write has no row."""
    return write_kinds()[type(op)]
