"""The table of the kinds of write: one row for each operation whose result Octavo can check and find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from octavo.api.operation import Operation
from octavo.data.writes.change_request_kinds import CHANGE_REQUEST_KINDS
from octavo.data.writes.comment_kinds import COMMENT_KINDS
from octavo.data.writes.content_kinds import CONTENT_KINDS
from octavo.data.writes.write_kind import WriteKind

W = TypeVar("W", bound=Operation[Any])

KINDS: Mapping[type[Operation[Any]], WriteKind[Any]] = {**COMMENT_KINDS, **CHANGE_REQUEST_KINDS, **CONTENT_KINDS}
"""The row of each kind of write, by operation."""


def kind_of(op: W) -> WriteKind[W]:
    """Return the row of a write. Raises KeyError if there is none."""
    return KINDS[type(op)]
