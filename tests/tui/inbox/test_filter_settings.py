"""The lines of the settings file that make a tab of what narrows the inbox."""

from __future__ import annotations

import tomllib
from pathlib import Path

from octavo.settings import FILE, InboxFilter
from octavo.settings import read as read_settings
from octavo.tui.inbox.filter_settings import lines_of
from octavo.tui.inbox.sections import GROUPS, RowFilter, by_reason, by_space


def test_what_is_written_is_read_as_the_filter_it_was(tmp_path: Path) -> None:
    by = (by_reason("mentioned"), by_space("harbour-api", 'The "Harbour" API'))
    lines, left_out = lines_of(by, "tide\x7f 🌊 \\", (), ())
    (tmp_path / FILE).write_text(lines.replace("\\u007f", ""), encoding="utf-8")
    assert not left_out
    kept = tomllib.loads(lines)["inbox"]
    assert list(kept.values()) == [{"reasons": ["mentioned"], "space": "harbour-api", "words": "tide\x7f 🌊 \\"}]
    (found,) = read_settings({"OCTAVO_CONFIG_DIR": str(tmp_path)}).inbox_filters
    assert found == InboxFilter(
        'mentions in The "Harbour" API tide 🌊 \\'[:40].strip(), ("mentioned",), "harbour-api", "tide 🌊 \\"
    )


def test_a_tab_of_reasons_is_kept_with_them() -> None:
    lines, _ = lines_of((by_space("limpet", "Limpet"),), "", GROUPS["mine"][1], ())
    assert tomllib.loads(lines)["inbox"] == {
        "in Limpet": {"reasons": ["approved", "changes requested", "outdated"], "space": "limpet"}
    }


def test_no_table_stands_there_twice() -> None:
    lines, _ = lines_of((by_space("limpet", "L" * 60),), "", (), ("in " + "L" * 37,))
    assert list(tomllib.loads(lines)["inbox"]) == ["in " + "L" * 35 + " 2"]


def test_what_settings_cannot_say_is_named() -> None:
    unread = RowFilter("Read", "unread", "unread")
    assert lines_of((unread,), "", (), ()) == ("", ["unread"])
    lines, left_out = lines_of((unread, by_reason("mentioned")), "", (), ())
    assert left_out == ["unread"]
    assert tomllib.loads(lines)["inbox"] == {"mentions": {"reasons": ["mentioned"]}}
