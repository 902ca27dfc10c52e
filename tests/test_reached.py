"""Every operation of the interface is reached by keys in the app, or it is written down why it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from octavo.api.operation import load
from octavo.api.wire import routes
from screenshots import operations

ROOT = Path(__file__).resolve().parent.parent
NONE = 10
"""So many are reached by no key, at the most."""


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return operations.rows()


def test_the_table_is_what_commands_and_journeys_say(rows: list[dict[str, str]]) -> None:
    assert operations.TABLE.read_text(encoding="utf-8") == operations.table(rows), (
        "write it anew: python -m screenshots.operations"
    )
    assert len(rows) == sum(len(routes(spec)) for spec in load().values())


def test_every_operation_has_keys_or_a_reason_and_few_have_no_keys(rows: list[dict[str, str]]) -> None:
    without = [row for row in rows if not row["keys"]]
    assert [row for row in without if not row["why not"]] == []
    assert len(without) <= NONE


def test_a_reason_is_for_what_no_key_reaches(rows: list[dict[str, str]]) -> None:
    assert operations.NO_PLACE.keys() == {row["operation"] for row in rows if not row["keys"]}


def test_what_a_key_asks_for_is_shown_by_a_journey_that_is_there() -> None:
    """The journeys themselves hold that it does (`tests/journeys/conftest.py`)."""
    for each in operations.pressed():
        path, name = each.journey.split("::")
        assert re.search(rf"^async def {name.partition('[')[0]}\(", (ROOT / path).read_text(encoding="utf-8"), re.M), (
            each
        )
