"""Lines for the settings file that save the filters of the inbox as a tab."""

from __future__ import annotations

import tomllib
from pathlib import Path

from octavo.settings import FILE, InboxFilter
from octavo.settings import read as read_settings
from octavo.tui.inbox.row_views import REASON_TABS, RowFilter, reason_filter, space_filter, tab_settings


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
    unread = RowFilter("Read", "unread", "unread")
    assert tab_settings((unread,), "", (), ()) == ("", ["unread"])
    lines, left_out = tab_settings((unread, reason_filter("mentioned")), "", (), ())
    assert left_out == ["unread"]
    assert tomllib.loads(lines)["inbox"] == {"mentions": {"reasons": ["mentioned"]}}
