"""The table of the kinds of write. It has one row for each write that Octavo can check and find."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from octavo.api.operation import Operation
from octavo.data.writes.write_kind import WriteKind
from octavo.lazy_import import load

W = TypeVar("W", bound=Operation[Any])


@cache
def write_kinds() -> Mapping[type[Operation[Any]], WriteKind[Any]]:
    """Return the row of each kind of write, by operation."""
    # lazy: these modules load parts of the API that the first screen does not need
    return {
        **load("octavo.data.writes.comment_kinds:COMMENT_WRITES"),
        **load("octavo.data.writes.change_request_kinds:CHANGE_REQUEST_WRITES"),
    }


def kind_of(op: W) -> WriteKind[W]:
    """Return the row of a write. Raises KeyError if the write has no row."""
    return write_kinds()[type(op)]
