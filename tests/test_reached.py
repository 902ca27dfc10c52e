"""Every operation of the interface is reached from somewhere in the app, or it is written down why it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api.operation import load
from screenshots import operations

NONE_YET = 2
"""So many have neither a place nor a reason. At most ten are wanted: lower it when there are fewer."""


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return operations.rows()


def test_the_table_is_what_the_code_says(rows: list[dict[str, str]]) -> None:
    assert operations.TABLE.read_text(encoding="utf-8") == operations.table(rows), (
        "write it anew: python -m screenshots.operations"
    )
    assert len(rows) == 205


def test_no_more_operations_than_before_have_no_place(rows: list[dict[str, str]]) -> None:
    homeless = operations.homeless(rows)
    assert len(homeless) <= NONE_YET, homeless


def test_a_reason_is_for_what_nothing_calls(rows: list[dict[str, str]]) -> None:
    names = {spec.name for spec in load().values()}
    called = {row["operation"] for row in rows if row["reached from"]}
    assert operations.NO_PLACE.keys() <= names
    assert not operations.NO_PLACE.keys() & called


def test_what_is_only_spoken_of_is_not_called(tmp_path: Path) -> None:
    file = tmp_path / "speaks.py"
    file.write_text(
        "from octavo.api import comments, sites as places\n"
        "from octavo.api.spaces import Get, Update as Change\n"
        "def ask(op: comments.List, other: Get | None = None) -> comments.Get:\n"
        "    wanted: comments.Delete = op\n"
        "    if isinstance(op, comments.Create):\n"
        "        return places.Publish(at=op.at)\n"
        "    match op:\n"
        "        case comments.Update():\n"
        "            return send(Change, places.List)\n"
    )
    assert operations.Calls(file).names() == {"sites.Publish", "sites.List", "spaces.Update"}
