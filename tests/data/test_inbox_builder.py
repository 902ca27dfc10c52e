"""Rows as they are kept for the next start."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.inbox import DraftRef, Row, Thing, ThreadRef, WriteRef
from octavo.data.inbox_builder import packed, unpacked

HERE = SpaceRef(space_id="s")
AT = ChangeRequestRef(space_id="s", change_request_id="c")


def row(about: Thing, moment: datetime | None = None) -> Row:
    return Row(
        "k", "mentioned", ("unsent draft",), "Tom mentioned you", "Is \ud800 “so”?", "Handbook", moment, "s", about, "x"
    )


@pytest.mark.parametrize(
    "about", [AT, ThreadRef(HERE, "k1"), ThreadRef(AT, "k1"), DraftRef("reply s c k1"), WriteRef("e1")]
)
def test_a_row_is_the_same_after_it_was_kept(about: Thing) -> None:
    rows = (row(about), row(about, datetime(2026, 11, 23, 8, 30, 1, 250_000, UTC)))
    assert unpacked(packed(rows)) == rows


@pytest.mark.parametrize(
    "kept", [b"", b"{", b"[1]", b'[{"about": ["moon"]}]', packed((row(AT),)).replace(b"mentioned", b"dreamt of")]
)
def test_what_cannot_be_read_is_no_row(kept: bytes) -> None:
    assert unpacked(kept) == ()
