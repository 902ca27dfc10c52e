"""Positions that can be chosen for moved and new pages."""

from __future__ import annotations

import pytest

from octavo.api.content import Page, PageTree
from octavo.tui.editing.tree_edits import PagePosition, new_page_positions, parent_choices, position_choices

TREE = PageTree(
    pages=(
        Page(id="welcome", title="Welcome"),
        Page(
            id="guides",
            title="Guides",
            type="group",
            pages=(
                Page(id="first", title="First", pages=(Page(id="deep", title="Deep"),)),
                Page(id="second", title="Second"),
                Page(id="link", title="Elsewhere", type="link"),
            ),
        ),
    )
)


def test_parent_can_be_any_page_outside_the_moved_page() -> None:
    assert [choice.value for choice in parent_choices(TREE, "first")] == ["", "welcome", "guides", "second"]
    assert [choice.value for choice in parent_choices(TREE, "first") if choice.right] == ["guides"]
    assert [choice.value for choice in parent_choices(TREE, "welcome") if choice.right] == [""]


@pytest.mark.parametrize(
    ("moved", "parent", "places"),
    [
        ("first", "guides", {"Last": 2, "First": 0, "After Second": 1}),
        ("welcome", "guides", {"Last": 3, "First": 0, "After First": 1, "After Second": 2}),
        ("second", "", {"Last": 2, "First": 0, "After Welcome": 1}),
        ("welcome", "second", {"Last": 0}),
    ],
)
def test_position_is_counted_without_the_moved_page(moved: str, parent: str, places: dict[str, int]) -> None:
    found = position_choices(TREE, moved, parent)
    assert {choice.title: choice.value.index for choice in found} == places
    assert {choice.value.parent_id for choice in found} == {parent or None}


@pytest.mark.parametrize(
    ("page", "places"),
    [
        ("first", [PagePosition("first"), PagePosition("guides", 1), PagePosition()]),
        ("second", [PagePosition("guides", 2), PagePosition("second"), PagePosition()]),
        ("guides", [PagePosition("guides"), PagePosition(None, 2), PagePosition()]),
        ("link", [PagePosition("guides", 3), PagePosition()]),
        ("", [PagePosition()]),
    ],
)
def test_new_page_is_offered_under_a_page_with_subpages_but_after_a_page_without(
    page: str, places: list[PagePosition]
) -> None:
    assert [choice.value for choice in new_page_positions(TREE, page)] == places
