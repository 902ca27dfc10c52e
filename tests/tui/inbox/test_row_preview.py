"""What the inbox says beside a row: why it is there, and since when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import InboxRow
from octavo.server.demo.library import TODAY
from octavo.tui.inbox.row_preview import why
from octavo.tui.widgets import wording

ROW = InboxRow(
    key="k",
    reason="review requested",
    also=("unsent draft",),
    words="review requested by Tomás Okafor · 2 pending comments: submit your review to send them",
    title="#7",
    context="",
    moment=TODAY - timedelta(days=8),
    space_id="s",
    target=ChangeRequestRef(space_id="s", change_request_id="c"),
    stamp="",
)


@pytest.mark.parametrize("room", [20, 46, 48, 60])
def test_each_reason_is_a_line_and_the_age_is_never_cut(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "clock", lambda: TODAY)
    first, second = why(ROW, room).plain.split("\n")
    assert len(first) <= room
    assert len(second) <= room
    assert first.startswith("◐ rev")
    assert first.endswith(" · 8 days ago")
    assert ("…" in first) == (room < 48)
    assert second.startswith("  2 pending")
