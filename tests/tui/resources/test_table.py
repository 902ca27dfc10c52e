from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from octavo.api.mcp_servers import McpServer
from octavo.api.organizations import Member
from octavo.api.sites import Site
from octavo.api.users import User
from octavo.data.state_db import StateDb
from octavo.tui.resources.organization_resources import MEMBERS
from octavo.tui.resources.resource import ResourceColumn
from octavo.tui.resources.site_checks import MarkedRedirect
from octavo.tui.resources.site_resources import REDIRECTS, SITES
from octavo.tui.resources.table import TableState, as_csv, as_json, as_markdown
from octavo.tui.widgets.row_list import ColumnLayout
from octavo.tui.widgets.short_texts import safe


def member(name: str, role: str | None = "read", seen: int | None = None) -> Member:
    moment = None if seen is None else datetime(2026, 1, seen, tzinfo=UTC)
    user = User(id=name, display_name=name, email=f"{name}@sea.example")
    return Member(id=name, user=user, role=role, last_seen_at=moment)


PEOPLE = (member("ben", "edit", 2), member("Ada", None, 9), member("cleo", "admin", None))


def column(table: TableState, title: str) -> ResourceColumn[Member]:
    return next(each for each in table.resource.columns if each.title == title)


@pytest.fixture
def state() -> Iterator[StateDb]:
    with closing(StateDb(None)) as database:
        yield database


def names(table: TableState) -> list[str]:
    return [each.user.name for each in table.sort_items(PEOPLE, str)]


def test_items_keep_their_order_until_a_sort_column_is_chosen(state: StateDb) -> None:
    table = TableState(MEMBERS, state)
    assert names(table) == ["ben", "Ada", "cleo"]
    table.sort_by(column(table, "NAME"))
    assert names(table) == ["Ada", "ben", "cleo"]
    table.sort_by(column(table, "NAME"))
    assert names(table) == ["cleo", "ben", "Ada"]
    assert table.sort_label == "sorted by name ▼"


def test_items_without_a_value_come_last_in_both_directions(state: StateDb) -> None:
    table = TableState(MEMBERS, state)
    table.sort_by(column(table, "LAST SEEN"))
    assert names(table) == ["ben", "Ada", "cleo"]
    table.sort_by(column(table, "LAST SEEN"))
    assert names(table) == ["Ada", "ben", "cleo"]


def test_columns_and_sort_order_are_saved(state: StateDb) -> None:
    table = TableState(MEMBERS, state)
    table.sort_by(column(table, "JOINED"))
    table.toggle_column(column(table, "EMAIL"))
    again = TableState(MEMBERS, state)
    assert again.sort_column is column(table, "JOINED")
    assert "EMAIL" not in [each.title for each in again.columns]
    assert [each.title for each in again.columns] == [each.title for each in table.columns]


def test_saved_columns_with_an_unknown_column_are_ignored(state: StateDb) -> None:
    state.set_value("columns of organizations.ListMembers", ["PERSON", "ROLE"])
    assert [each.title for each in TableState(MEMBERS, state).columns] == [
        each.title for each in MEMBERS.columns if each.is_shown
    ]


def test_last_visible_column_cannot_be_hidden(state: StateDb) -> None:
    table = TableState(MEMBERS, state)
    for each in MEMBERS.columns:
        if each in table.columns:
            table.toggle_column(each)
    assert len(table.columns) == 1


def test_filter_searches_hidden_columns(state: StateDb) -> None:
    table = TableState(MEMBERS, state)
    table.toggle_column(column(table, "EMAIL"))
    assert "ben@sea.example" in table.search_text(PEOPLE[0], str)


def test_filter_searches_the_text_that_a_cell_shows() -> None:
    problem = next(each for each in REDIRECTS.columns if each.title == "PROBLEM")
    broken = MarkedRedirect.model_construct(id="r1", problem="dead end")
    assert problem.search_text(broken, str) == "✗ missing target"


def test_csv_is_readable_and_contains_no_formulas() -> None:
    columns = [each for each in MEMBERS.columns if each.title in ("NAME", "ROLE", "LAST SEEN")]
    exported = as_csv(columns, (member('=HYPERLINK("x"), "y"', None, 2),), str)
    assert exported == 'name,role,last seen\r\n"\'=HYPERLINK(""x""), ""y""",Guest,2026-01-02T00:00:00+00:00\r\n'


def test_special_characters_do_not_break_a_markdown_table() -> None:
    columns = [each for each in MEMBERS.columns if each.title in ("NAME", "ROLE")]
    assert as_markdown(columns, (member("a|b\\"),), str) == "| Name | Role |\n| --- | --- |\n| a\\|b\\\\ | Reader |\n"


def test_json_contains_all_fields_except_secrets() -> None:
    server = McpServer(id="m", name="Tides", url="https://tides.example", headers={"Authorization": "Bearer s3cret"})
    exported = as_json((server,), frozenset({"headers"}))
    assert json.loads(exported)[0]["name"] == "Tides"
    assert "s3cret" not in exported


def test_first_column_keeps_its_minimum_width(state: StateDb) -> None:
    title = "Saltmarsh Instruments"
    site = Site.model_validate({"id": "docs", "title": title, "urls": {"published": "https://docs.sea.example"}})
    table = TableState(SITES, state)
    for width in (40, 50, 60, 76, 80, 116, 196):
        shown = ColumnLayout(table.headings()).row_line(table.render_row(site, str).cells, width, safe).plain
        assert title in shown, f"the title is cut at width {width}: {shown}"
