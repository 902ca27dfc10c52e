"""Journeys that only long runs go are there, and show no write that nothing else shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from screenshots import operations

TESTS = Path(__file__).parent
ELSEWHERE = (TESTS / "covered_elsewhere.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("path", sorted({each.partition("::")[0] for each in ELSEWHERE}))
def test_each_is_there(path: str) -> None:
    names = {each.partition("::")[2].partition("[")[0] for each in ELSEWHERE if each.startswith(f"{path}::")}
    assert names <= set(re.findall(r"^(?:async )?def (test_\w+)\(", (TESTS.parent / path).read_text("utf-8"), re.M))


def test_what_shows_a_write_is_always_gone() -> None:
    assert {each.journey for each in operations.pressed() if each.writes}.isdisjoint(ELSEWHERE)
