"""Conflicts foreseen and found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.conflicts import Markers, forecast, markers

BASE = "# T\n\nOne.\n\n* a\n* b\n\n```\nx\n\ny\n```\n\nThree."


@pytest.mark.parametrize(
    ("mine", "main", "lines"),
    [
        (("One", "1"), ("One", "I"), [(2, 3)]),
        (("One", "1"), ("Three", "3"), []),
        (("* a", "* A"), ("* b", "* B"), []),
        (("x", "xx"), ("y", "yy"), [(7, 12)]),
        (("One.", "One, first."), ("One.", "One, first."), []),
        (("One.\n\n", ""), ("One.", "I."), [(2, 3)]),
        (("Three.", "Three.\n\nFour."), ("Three.", "Three.\n\nQuatre."), [(14, 14)]),
    ],
)
def test_forecast(mine: tuple[str, str], main: tuple[str, str], lines: list[tuple[int, int]]) -> None:
    found = forecast(BASE, BASE.replace(*mine), BASE.replace(*main))
    assert [each.lines for each in found] == lines


def test_forecast_shows_both_sides() -> None:
    (found,) = forecast(BASE, BASE.replace("One", "1"), BASE.replace("One", "I"))
    assert (found.base, found.mine, found.main) == ("One.", "1.", "I.")


words = st.lists(st.sampled_from(["a", "b", "c", "* d", "```", "# e"]), max_size=8).map("\n\n".join)


@given(words, words)
def test_one_side_alone_never_conflicts(base: str, other: str) -> None:
    assert forecast(base, other, base) == forecast(base, base, other) == forecast(base, other, other) == []


@given(words, words, words)
def test_sides_are_alike(base: str, mine: str, main: str) -> None:
    ours = [(each.lines, each.mine, each.main) for each in forecast(base, mine, main)]
    theirs = [(each.lines, each.main, each.mine) for each in forecast(base, main, mine)]
    assert ours == theirs


def test_markers() -> None:
    text = "a\n<<<<<<< main\nx\n=======\ny\n>>>>>>> #12\nb\n<<<<<<< main\nhalf"
    assert markers(text) == [Markers(1, 3, 5, "main", "#12")]
    assert markers("=======\n>>>>>>> x") == []
