"""Rows of the space tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from octavo.api.collections import Collection
from octavo.api.spaces import Space
from octavo.tui.core.item_labels import MAX_COLLECTION_DEPTH, space_nodes
from octavo.tui.widgets.tree import TreeNode


def outline(nodes: Sequence[TreeNode], level: int = 0) -> Iterator[str]:
    for node in nodes:
        yield "  " * level + str(node.key)
        yield from outline(node.children, level + 1)


def test_collections_come_before_spaces_without_a_collection() -> None:
    collections = [Collection(id="b", parent="a"), Collection(id="a"), Collection(id="c", parent="gone")]
    spaces = [
        Space(id="free"),
        Space(id="in-b", parent="b"),
        Space(id="in-a", parent="a"),
        Space(id="lost", parent="x"),
    ]
    assert list(outline(space_nodes(collections, spaces))) == [
        *("a", "  b", "    in-b", "  in-a", "c", "free", "lost"),
    ]


def test_collections_in_a_cycle_move_to_the_top_level() -> None:
    collections = [Collection(id="a", parent="b"), Collection(id="b", parent="a"), Collection(id="c", parent="c")]
    spaces = [Space(id="in-a", parent="a"), Space(id="in-c", parent="c")]
    assert list(outline(space_nodes(collections, spaces))) == ["a", "  in-a", "b", "c", "  in-c"]


def test_item_that_is_sent_twice_appears_once() -> None:
    collections = [Collection(id=each, parent=None if each == "a" else "a") for each in "abab"]
    assert list(outline(space_nodes(collections, [Space(id="s", parent="b")] * 3))) == ["a", "  b", "    s"]


def test_thousands_of_nested_collections_are_all_shown() -> None:
    collections = [Collection(id=f"c{number}", parent=f"c{number - 1}") for number in range(3000)]
    spaces = [Space(id=f"s{number}", parent=f"c{number}") for number in range(3000)]
    found = list(outline(space_nodes(collections, spaces)))
    assert len(found) == len({each.strip() for each in found}) == 6000
    assert max(len(each) - len(each.lstrip()) for each in found) <= 2 * MAX_COLLECTION_DEPTH + 2
