"""A tree as a flat list shows the same nodes as a recursive walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from octavo.tui.widgets.tree import FlatTree, TreeNode

LABELS = ("Start", "Guides", "Guide to payments", "Pay", "")


def _nodes(shapes: Sequence[object], name: str = "") -> list[TreeNode]:
    return [
        TreeNode(f"{name}{place}", LABELS[(len(name) + place) % len(LABELS)], _nodes(shape, f"{name}{place}."))
        for place, shape in enumerate(shapes)
        if isinstance(shape, list)
    ]


def _walk(nodes: Sequence[TreeNode], folded: frozenset[object], depth: int = 0) -> Iterator[tuple[int, TreeNode]]:
    for node in nodes:
        yield depth, node
        if node.key not in folded:
            yield from _walk(node.children, folded, depth + 1)


shapes: st.SearchStrategy[list[object]] = st.recursive(
    st.just([]), lambda below: st.lists(below, max_size=4), max_leaves=25
)


@given(shapes, st.data())
def test_nothing_below_a_collapsed_node_is_shown(shape: list[object], data: st.DataObject) -> None:
    roots = _nodes(shape)
    all_nodes = list(_walk(roots, frozenset()))
    folded = (
        frozenset(data.draw(st.sets(st.sampled_from([node.key for _, node in all_nodes]))))
        if all_nodes
        else frozenset()
    )
    shown = FlatTree(roots).visible_nodes(lambda depth, node: node.key in folded)
    assert shown == list(_walk(roots, folded))


@given(shapes, st.sampled_from([("gui",), ("pay",), ("guide", "to"), ("x",), ("",)]))
def test_matches_are_shown_with_their_ancestors(shape: list[object], words: tuple[str, ...]) -> None:
    roots = _nodes(shape)
    all_nodes = list(_walk(roots, frozenset()))
    tree = FlatTree(roots)
    hits = tree.matching(words)
    assert [all_nodes[place] for place in hits] == [
        row for row in all_nodes if all(word in str(row[1].label).lower() for word in words)
    ]
    wanted = {node.key for place in hits for node in tree.path(all_nodes[place][1].key)}
    assert tree.with_ancestors(hits) == [row for row in all_nodes if row[1].key in wanted]


@given(shapes)
def test_node_has_its_ancestors_and_descendants(shape: list[object]) -> None:
    roots = _nodes(shape)
    tree = FlatTree(roots)
    for _, node in _walk(roots, frozenset()):
        path = tree.path(node.key)
        assert path[-1] is node
        assert all(child in parent.children for parent, child in pairwise(path))
        assert tree.expandable_nodes(node.key) == [each for _, each in _walk([node], frozenset()) if each.children]
    assert tree.path("none") == ()


def test_page_is_found_by_path() -> None:
    tree = FlatTree([TreeNode("g", "Guides", [TreeNode("q", "First steps", path="guides/quick-start")], path="guides")])
    assert tree.matching(("quick",)) == [1]
    assert tree.matching(("guides",)) == [0], "pages below a matching group must not match"
    assert tree.matching(("guides/qu",)) == [1]
    assert tree.matching(("guides/",)) == [1]
