"""Rows of the inbox, and the reasons above the preview."""

from __future__ import annotations

from datetime import timedelta

import pytest

from octavo.api.operation import ChangeRequestRef
from octavo.data.inbox import InboxRow
from octavo.server.demo.library import TODAY
from octavo.tui.inbox.row_views import RowRenderer, reason_lines
from octavo.tui.widgets import short_texts
from tests.server.asking import START

ROW = InboxRow(
    key="k",
    reason="review requested",
    other_reasons=("unsent draft",),
    reason_text="review requested by Tomás Okafor · 2 pending comments: submit your review to send them",
    title="#7",
    context="",
    moment=TODAY - timedelta(days=8),
    space_id="s",
    target=ChangeRequestRef(space_id="s", change_request_id="c"),
    stamp="",
)


@pytest.mark.parametrize("width", [20, 46, 48, 60])
def test_each_reason_is_one_line_and_the_age_is_never_truncated(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_texts, "clock", lambda: TODAY)
    first, second = reason_lines(ROW, width).plain.split("\n")
    assert len(first) <= width
    assert len(second) <= width
    assert first.startswith("◐ rev")
    assert first.endswith(" · 8 days ago")
    assert ("…" in first) == (width < 48)
    assert second.startswith("  2 pending")


@pytest.mark.parametrize(
    ("person", "shown"),
    [
        ("Ada", "review requested by Ada"),
        ("小林 さくら", "review"),
        ("Maximiliana de la Vega", "review"),
    ],
)
def test_long_reason_is_shortened_so_that_the_title_fits(person: str, shown: str) -> None:
    target = ChangeRequestRef(space_id="s", change_request_id="c")
    words = f"review requested by {person}"
    row = InboxRow("c", "review requested", (), words, "A title", "", START, "s", target, "1")
    assert str(RowRenderer(lambda _: 0).render(row, 76).right).startswith(f"{shown} ")
