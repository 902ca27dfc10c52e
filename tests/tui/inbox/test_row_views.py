"""The tabs, filters and rows of the inbox."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.inbox import DraftRef, InboxRow, ThreadRef
from octavo.server.demo.library import TODAY
from octavo.settings import read as read_settings
from octavo.settings.file import FILE
from octavo.settings.table import InboxFilter
from octavo.tui.inbox.row_views import (
    REASON_TABS,
    RowFilter,
    RowRenderer,
    all_filters,
    reason_filter,
    reason_lines,
    space_filter,
    tab_settings,
)
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.row_list import available_filters
from tests.server.small_platform import START

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
    row = InboxRow("c", "review requested", (), words, "T" * 38, "", START, "s", target, "1")
    assert str(RowRenderer(lambda _: 0).render(row, 76).right).rsplit(maxsplit=1)[0] == shown


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("#4 Correct the retry schedule", "review requested by Tomás Okafor"),
        ("#1 Limpet 3 becomes Limpet Classic on every station", "review"),
        ("#5 Rotate webhook secrets without downtime", "review"),
    ],
)
def test_long_reason_is_shown_unless_it_would_cut_the_title(title: str, expected: str) -> None:
    target = ChangeRequestRef(space_id="s", change_request_id="c")
    words = "review requested by Tomás Okafor"
    row = InboxRow("c", "review requested", (), words, title, "", START, "s", target, "1")
    assert str(RowRenderer(lambda _: 0).render(row, 78).right).rsplit(maxsplit=1)[0] == expected


def test_saved_settings_restore_the_filter(tmp_path: Path) -> None:
    by = (reason_filter("mentioned"), space_filter("harbour-api", 'The "Harbour" API'))
    lines, left_out = tab_settings(by, "tide\x7f 🌊 \\", (), ())
    (tmp_path / FILE).write_text(lines.replace("\\u007f", ""), encoding="utf-8")
    assert not left_out
    kept = tomllib.loads(lines)["inbox"]
    assert list(kept.values()) == [{"reasons": ["mentioned"], "space": "harbour-api", "words": "tide\x7f 🌊 \\"}]
    (found,) = read_settings({"OCTAVO_CONFIG_DIR": str(tmp_path)}).inbox_filters
    assert found == InboxFilter(
        'mentions in The "Harbour" API tide 🌊 \\'[:40].strip(), ("mentioned",), "harbour-api", "tide 🌊 \\"
    )


def test_saved_tab_keeps_the_reasons_of_its_tab() -> None:
    lines, _ = tab_settings((space_filter("limpet", "Limpet"),), "", REASON_TABS["mine"][1], ())
    assert tomllib.loads(lines)["inbox"] == {
        "in Limpet": {"reasons": ["approved", "changes requested", "outdated"], "space": "limpet"}
    }


def test_saved_tabs_have_unique_names() -> None:
    lines, _ = tab_settings((space_filter("limpet", "L" * 60),), "", (), ("in " + "L" * 37,))
    assert list(tomllib.loads(lines)["inbox"]) == ["in " + "L" * 35 + " 2"]


def test_filters_that_settings_cannot_express_are_named() -> None:
    unread = RowFilter("Read", "unread", lambda row: True)
    assert tab_settings((unread,), "", (), ()) == ("", ["unread"])
    lines, left_out = tab_settings((unread, reason_filter("mentioned")), "", (), ())
    assert left_out == ["unread"]
    assert tomllib.loads(lines)["inbox"] == {"mentions": {"reasons": ["mentioned"]}}


def test_filter_of_change_requests_leaves_out_threads_and_drafts() -> None:
    thread = ThreadRef(SpaceRef(space_id="s"), "t")
    rows = [ROW, replace(ROW, key="t", target=thread), replace(ROW, key="d", target=DraftRef("page s p - r 1"))]
    counts = {
        each.name: count for each, count in available_filters(all_filters(rows, lambda row: False, str), rows, ())
    }
    assert (counts["change requests"], counts["threads"]) == (1, 1)
