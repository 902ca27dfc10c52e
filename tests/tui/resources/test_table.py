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
from octavo.tui.resources.acting import MOST_NAMED, first_of
from octavo.tui.resources.exports import as_csv, as_json, as_markdown
from octavo.tui.resources.organization_resources import MEMBERS
from octavo.tui.resources.resource import Column
from octavo.tui.resources.site_resources import SITES
from octavo.tui.resources.table import Table
from octavo.tui.widgets.row_list import ColumnLayout
from octavo.tui.widgets.safe_text import safe


def member(name: str, role: str | None = "read", seen: int | None = None) -> Member:
    moment = None if seen is None else datetime(2026, 1, seen, tzinfo=UTC)
    user = User(id=name, display_name=name, email=f"{name}@sea.example")
    return Member(id=name, user=user, role=role, last_seen_at=moment)


PEOPLE = (member("ben", "edit", 2), member("Ada", None, 9), member("cleo", "admin", None))


def column(table: Table, title: str) -> Column[Member]:
    return next(each for each in table.resource.columns if each.title == title)


@pytest.fixture
def state() -> Iterator[StateDb]:
    with closing(StateDb(None)) as kept:
        yield kept


def names(table: Table) -> list[str]:
    return [each.user.name for each in table.sorted(PEOPLE, str)]


def test_things_stand_as_listed_until_a_column_is_chosen_and_turned_round(state: StateDb) -> None:
    table = Table(MEMBERS, state)
    assert names(table) == ["ben", "Ada", "cleo"]
    table.sort(column(table, "NAME"))
    assert names(table) == ["Ada", "ben", "cleo"]
    table.sort(column(table, "NAME"))
    assert names(table) == ["cleo", "ben", "Ada"]
    assert table.said == "sorted by name ▼"


def test_what_has_no_value_comes_last_both_ways(state: StateDb) -> None:
    table = Table(MEMBERS, state)
    table.sort(column(table, "LAST SEEN"))
    assert names(table) == ["ben", "Ada", "cleo"]
    table.sort(column(table, "LAST SEEN"))
    assert names(table) == ["Ada", "ben", "cleo"]


def test_columns_and_order_are_kept(state: StateDb) -> None:
    table = Table(MEMBERS, state)
    table.sort(column(table, "JOINED"))
    table.toggle(column(table, "EMAIL"))
    again = Table(MEMBERS, state)
    assert again.by is column(table, "JOINED")
    assert "EMAIL" not in [each.title for each in again.columns]
    assert [each.title for each in again.columns] == [each.title for each in table.columns]


def test_a_choice_with_a_column_that_has_another_title_now_hides_no_column(state: StateDb) -> None:
    state.set_fact("columns of organizations.ListMembers", ["PERSON", "ROLE"])
    assert [each.title for each in Table(MEMBERS, state).columns] == [
        each.title for each in MEMBERS.columns if each.shown
    ]


def test_one_column_always_stays(state: StateDb) -> None:
    table = Table(MEMBERS, state)
    for each in MEMBERS.columns:
        if each in table.columns:
            table.toggle(each)
    assert len(table.columns) == 1


def test_a_filter_looks_in_columns_that_are_not_shown_too(state: StateDb) -> None:
    table = Table(MEMBERS, state)
    table.toggle(column(table, "EMAIL"))
    assert "ben@sea.example" in table.words(PEOPLE[0], str)


def test_a_csv_is_read_by_others_and_reckons_nothing() -> None:
    columns = [each for each in MEMBERS.columns if each.title in ("NAME", "ROLE", "LAST SEEN")]
    said = as_csv(columns, (member('=HYPERLINK("x"), "y"', None, 2),), str)
    assert said == 'name,role,last seen\r\n"\'=HYPERLINK(""x""), ""y""",Guest,2026-01-02T00:00:00+00:00\r\n'


def test_a_table_of_markdown_stays_one() -> None:
    columns = [each for each in MEMBERS.columns if each.title in ("NAME", "ROLE")]
    assert as_markdown(columns, (member("a|b\\"),), str) == "| Name | Role |\n| --- | --- |\n| a\\|b\\\\ | Reader |\n"


def test_json_has_all_that_is_known_but_what_is_secret() -> None:
    server = McpServer(id="m", name="Tides", url="https://tides.example", headers={"Authorization": "Bearer s3cret"})
    said = as_json((server,), frozenset({"headers"}))
    assert json.loads(said)[0]["name"] == "Tides"
    assert "s3cret" not in said


def test_by_what_things_are_sorted_is_made_once_for_each_column_and_thing(state: StateDb) -> None:
    asked: list[str] = []

    def name(thing: Member) -> str:
        asked.append(thing.user.name)
        return thing.user.name

    table = Table(MEMBERS, state)
    by, role = Column[Member]("NAME", name), column(table, "ROLE")
    table.by = by
    assert names(table) == ["Ada", "ben", "cleo"]
    table.descends = True
    assert names(table) == ["cleo", "ben", "Ada"]
    table.by = role
    names(table)
    table.by = by
    assert names(table) == ["cleo", "ben", "Ada"]
    assert asked == ["ben", "Ada", "cleo"]
    others = (*PEOPLE[1:], member("dido"))
    assert [each.user.name for each in table.sorted(others, str)] == ["dido", "cleo", "Ada"]
    table.forget()
    asked.clear()
    assert names(table) == ["cleo", "ben", "Ada"]
    assert asked == ["ben", "Ada", "cleo"]


def test_what_a_thing_is_called_has_its_room_before_other_columns_are_shown_beside_it(state: StateDb) -> None:
    title = "Saltmarsh Instruments"
    site = Site.model_validate({"id": "docs", "title": title, "urls": {"published": "https://docs.sea.example"}})
    table = Table(SITES, state)
    for width in (40, 50, 60, 76, 80, 116, 196):
        shown = ColumnLayout(table.headings()).row_line(table.row(site, str).cells, width, safe).plain
        assert title in shown, f"{width}: {shown}"


def test_names_beyond_those_shown_are_counted() -> None:
    names = [f"team {number}" for number in range(MOST_NAMED + 2)]
    assert first_of(names[:MOST_NAMED], "more effects") == names[:MOST_NAMED]
    assert first_of(names, "more effects") == [*names[:MOST_NAMED], "and 2 more effects"]
