"""Journeys that only long runs go are there, and show no command that writes that nothing else shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from screenshots import operations

TESTS = Path(__file__).parent
LONG = "test_one_of_every_kind_"
"""Journeys that only long runs go for themselves."""
ELSEWHERE = (TESTS / "covered_elsewhere.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("path", sorted({each.partition("::")[0] for each in ELSEWHERE}))
def test_each_is_there(path: str) -> None:
    names = {each.partition("::")[2].partition("[")[0] for each in ELSEWHERE if each.startswith(f"{path}::")}
    assert names <= set(re.findall(r"^(?:async )?def (test_\w+)\(", (TESTS.parent / path).read_text("utf-8"), re.M))


def test_each_command_that_writes_is_shown_in_every_run() -> None:
    writes = [each for each in operations.pressed() if each.writes]
    shown = {each.commands for each in writes if each.journey not in ELSEWHERE and LONG not in each.journey}
    assert shown == {each.commands for each in writes}
