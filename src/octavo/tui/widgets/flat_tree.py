"""A tree as a flat list of nodes. Collapsed nodes are left out by slicing, which is fast with 100,000 nodes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from octavo.api.folding import fold
from octavo.tui.widgets.safe_text import AnyText


@dataclass(slots=True, eq=False)
class TreeNode:
    """A node of a tree, which must not be changed. It is not frozen because a frozen class doubles the time to create
    100,000 nodes. `kind` is "page", "group", "link", "section" (a heading that the cursor skips) or another word."""

    key: Hashable
    label: AnyText
    children: Sequence[TreeNode] = ()
    kind: str = "page"
    count: int = 0
    """Number shown at the right end in the color of discussions, such as the number of open threads. 0 is not shown."""
    sign: AnyText = ""
    """Emoji or change mark before the label."""
    right: AnyText = ""
    """Text at the right end, before the count."""
    short_right: AnyText = ""
    """Shorter form of `right`, used if the label needs the room."""
    dim: bool = False
    """Whether the node is dimmed, for example because it is hidden from visitors."""
    path: str = ""
    """Path of the page. The filter also searches its last part, or all of it if the query contains a `/`."""


class FlatTree:
    """All nodes of a tree with their depths, in display order. Indexes start at 0."""

    def __init__(self, roots: Sequence[TreeNode]) -> None:
        self._rows: list[tuple[int, TreeNode]] = []
        self._branches: list[int] = []
        """Indexes of the nodes with children."""
        self._ends: list[int] = []
        """For each node in `_branches`, the index after its last descendant."""
        self._labels: list[str] | None = None
        self._parents: list[int] = []
        """For each node the index of its parent, -1 at the top level."""
        self._read(roots)
        self._keys: list[Hashable] = [node.key for _, node in self._rows]
        self._sections = sum([node.kind == "section" for _, node in self._rows])

    def _read(self, roots: Sequence[TreeNode]) -> None:
        rows, branches, ends, parents = self._rows, self._branches, self._ends, self._parents
        stack: list[tuple[Iterator[TreeNode], int, int]] = [(iter(roots), -1, -1)]
        depth = 0
        while stack:
            nodes, branch_number, parent = stack[-1]
            for node in nodes:
                rows.append((depth, node))
                parents.append(parent)
                if node.children:
                    stack.append((iter(node.children), len(branches), len(rows) - 1))
                    branches.append(len(rows) - 1)
                    ends.append(0)
                    depth += 1
                    break
            else:
                stack.pop()
                depth -= 1
                if branch_number >= 0:
                    ends[branch_number] = len(rows)

    @property
    def count(self) -> int:
        """Number of nodes without the sections."""
        return len(self._rows) - self._sections

    @property
    def has_sections(self) -> bool:
        """Whether the tree has sections."""
        return self._sections > 0

    def visible_nodes(
        self, is_folded: Callable[[int, TreeNode], bool]
    ) -> tuple[list[tuple[int, TreeNode]], list[Hashable]]:
        """Return the nodes without a collapsed ancestor, and their keys."""
        rows, keys = self._rows, self._keys
        shown: list[tuple[int, TreeNode]] = []
        shown_keys: list[Hashable] = []
        next_index = 0
        for index, end in zip(self._branches, self._ends, strict=True):
            if index >= next_index and is_folded(*rows[index]):
                shown += rows[next_index : index + 1]
                shown_keys += keys[next_index : index + 1]
                next_index = end
        return (shown + rows[next_index:], shown_keys + keys[next_index:]) if next_index else (rows, keys)

    def branches(self, key: Hashable) -> list[TreeNode]:
        """Return those of the node `key` and its descendants that have children."""
        index = self._keys.index(key)
        first = bisect_left(self._branches, index)
        if first == len(self._branches) or self._branches[first] != index:
            return []
        last = bisect_left(self._branches, self._ends[first])
        return [self._rows[each][1] for each in self._branches[first:last]]

    def path(self, key: Hashable) -> tuple[TreeNode, ...]:
        """Return the ancestors of the node `key`, outermost first, and the node itself. Empty if there is no such node."""
        if key not in self._keys:
            return ()
        index = self._keys.index(key)
        path = [self._rows[index][1]]
        while (index := self._parents[index]) >= 0:
            path.append(self._rows[index][1])
        return tuple(reversed(path))

    def folded_labels(self) -> list[str]:
        """Return the folded labels of all nodes. The first call is slow for a large tree."""
        if self._labels is None:
            self._labels = [_folded_label(node) for _, node in self._rows]
        return self._labels

    def matching(self, words: Sequence[str], among: Sequence[int] | None = None) -> list[int]:
        """Return the indexes of the nodes that contain every word. With `among`, only these indexes are searched."""
        if any("/" in word for word in words):
            return [index for index, (_, node) in enumerate(self._rows) if contains_words(node, words)]
        labels = self.folded_labels()
        indexes: Sequence[int] = range(len(labels)) if among is None else among
        for word in words:
            indexes = [index for index in indexes if word in labels[index]]
        return list(indexes)

    def with_ancestors(self, indexes: Sequence[int]) -> tuple[list[tuple[int, TreeNode]], list[Hashable]]:
        """Return the nodes at these indexes with all their ancestors, and their keys."""
        parents, wanted = self._parents, bytearray(len(self._rows))
        for index in indexes:
            while index >= 0 and not wanted[index]:
                wanted[index] = 1
                index = parents[index]
        return list(compress(self._rows, wanted)), list(compress(self._keys, wanted))


def contains_words(node: TreeNode, words: Sequence[str]) -> bool:
    """Return whether the label of a node, or its path, contains every folded word."""
    label = _folded_label(node)
    return all(word in label or ("/" in word and word in fold(f"/{node.path}")) for word in words)


def _folded_label(node: TreeNode) -> str:
    """Return the folded label and the last part of the path. Empty for a section, which is not searched."""
    if node.kind == "section":
        return ""
    label = fold(node.label if isinstance(node.label, str) else node.label.plain)
    return f"{label}\n{fold(node.path.rpartition('/')[2])}" if node.path else label
