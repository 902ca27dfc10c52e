"""Inbox rows that are cached for the next start."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.inbox import DraftRef, InboxRow, RowTarget, ThreadRef, WriteRef
from octavo.data.inbox_responses import pack_rows, unpack_rows

HERE = SpaceRef(space_id="s")
AT = ChangeRequestRef(space_id="s", change_request_id="c")


def row(about: RowTarget, moment: datetime | None = None) -> InboxRow:
    return InboxRow(
        "k", "mentioned", ("unsent draft",), "Tom mentioned you", "Is “so” 你?", "Handbook", moment, "s", about, "x"
    )


@pytest.mark.parametrize(
    "about", [AT, ThreadRef(HERE, "k1"), ThreadRef(AT, "k1"), DraftRef("reply s c k1"), WriteRef("e1")]
)
def test_cached_row_is_equal_to_the_row(about: RowTarget) -> None:
    rows = (row(about), row(about, datetime(2026, 11, 23, 8, 30, 1, 250_000, UTC)))
    assert unpack_rows(pack_rows(rows)) == rows


@pytest.mark.parametrize(
    "kept", [b"", b"{", b"[1]", b'[{"target": ["moon"]}]', pack_rows((row(AT),)).replace(b"mentioned", b"dreamt of")]
)
def test_unreadable_cached_rows_are_ignored(kept: bytes) -> None:
    assert unpack_rows(kept) == ()
