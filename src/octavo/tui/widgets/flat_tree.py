"""Nodes under nodes as one row of them, of which stretches are shown: what is folded or filtered out is left out by
slices, so that 100 000 of them take no longer than a frame or two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from octavo.api.folding import fold
from octavo.tui.widgets.safe_text import Words


@dataclass(slots=True, eq=False)
class Node:
    """One node as it is shown, which nobody changes: not to be frozen halves the time that 100 000 of them take. `kind` is
    "page", "group", "link", "section" (a rule that is no stop) or any other."""

    key: Hashable
    label: Words
    children: Sequence[Node] = ()
    kind: str = "page"
    count: int = 0
    """What is open here, such as threads; shown in the colour of people talking. 0 is not shown."""
    sign: Words = ""
    """An emoji or a sign of change before the label."""
    right: Words = ""
    """A word at the right end, before the count."""
    tight: Words = ""
    """The same in fewer cells, for where the label has no room beside it."""
    dim: bool = False
    """Hidden, or not what is looked for."""
    path: str = ""
    """Where it stands among addresses: a filter finds it by the last part of that too, and by all of it after a `/`."""


class Outline:
    """All nodes of a tree with their depth, in the order they are drawn. Places count from 0."""

    def __init__(self, roots: Sequence[Node]) -> None:
        self._rows: list[tuple[int, Node]] = []
        self._inner: list[int] = []
        """The places of the nodes that have some below them."""
        self._ends: list[int] = []
        """For each of those the place after the last of them."""
        self._labels: list[str] | None = None
        self._above: list[int] = []
        """For each place that of the node above it, -1 at the top."""
        self._read(roots)
        self._keys: list[Hashable] = [node.key for _, node in self._rows]
        self._sections = sum([node.kind == "section" for _, node in self._rows])

    def _read(self, roots: Sequence[Node]) -> None:
        rows, inner, ends, above = self._rows, self._inner, self._ends, self._above
        stack: list[tuple[Iterator[Node], int, int]] = [(iter(roots), -1, -1)]
        depth = 0
        while stack:
            nodes, number, parent = stack[-1]
            for node in nodes:
                rows.append((depth, node))
                above.append(parent)
                if node.children:
                    stack.append((iter(node.children), len(inner), len(rows) - 1))
                    inner.append(len(rows) - 1)
                    ends.append(0)
                    depth += 1
                    break
            else:
                stack.pop()
                depth -= 1
                if number >= 0:
                    ends[number] = len(rows)

    @property
    def count(self) -> int:
        """How many nodes there are, but for sections."""
        return len(self._rows) - self._sections

    @property
    def has_sections(self) -> bool:
        """Whether rules stand among the nodes."""
        return self._sections > 0

    def without_below(self, is_folded: Callable[[int, Node], bool]) -> tuple[list[tuple[int, Node]], list[Hashable]]:
        """The nodes that stand below none that is folded, and their keys."""
        rows, keys = self._rows, self._keys
        shown: list[tuple[int, Node]] = []
        names: list[Hashable] = []
        at = 0
        for place, end in zip(self._inner, self._ends, strict=True):
            if place >= at and is_folded(*rows[place]):
                shown += rows[at : place + 1]
                names += keys[at : place + 1]
                at = end
        return (shown + rows[at:], names + keys[at:]) if at else (rows, keys)

    def inner(self, key: Hashable) -> list[Node]:
        """The node called `key` and those below it, as far as they have some below them."""
        place = self._keys.index(key)
        first = bisect_left(self._inner, place)
        if first == len(self._inner) or self._inner[first] != place:
            return []
        last = bisect_left(self._inner, self._ends[first])
        return [self._rows[each][1] for each in self._inner[first:last]]

    def path(self, key: Hashable) -> tuple[Node, ...]:
        """The node called `key` with what it stands under, outermost first. Empty when there is none."""
        if key not in self._keys:
            return ()
        place = self._keys.index(key)
        path = [self._rows[place][1]]
        while (place := self._above[place]) >= 0:
            path.append(self._rows[place][1])
        return tuple(reversed(path))

    def prepare(self) -> list[str]:
        """The labels of all nodes, which take a while the first time."""
        if self._labels is None:
            self._labels = [_label(node) for _, node in self._rows]
        return self._labels

    def matching(self, words: Sequence[str], among: Sequence[int] | None = None) -> list[int]:
        """The places of the nodes that hold every word, only those `among` these places if any are given."""
        if any("/" in word for word in words):
            return [place for place, (_, node) in enumerate(self._rows) if holds(node, words)]
        labels = self.prepare()
        places: Sequence[int] = range(len(labels)) if among is None else among
        for word in words:
            places = [place for place in places if word in labels[place]]
        return list(places)

    def with_above(self, places: Sequence[int]) -> tuple[list[tuple[int, Node]], list[Hashable]]:
        """The nodes at `places` and what they stand under, and their keys."""
        above, wanted = self._above, bytearray(len(self._rows))
        for place in places:
            while place >= 0 and not wanted[place]:
                wanted[place] = 1
                place = above[place]
        return list(compress(self._rows, wanted)), list(compress(self._keys, wanted))


def holds(node: Node, words: Sequence[str]) -> bool:
    """Whether the label of a node, or its path, holds every word. Words are folded."""
    label = _label(node)
    return all(word in label or ("/" in word and word in fold(f"/{node.path}")) for word in words)


def _label(node: Node) -> str:
    """The label and the last part of the path, folded; a section, which nobody looks for, has none."""
    if node.kind == "section":
        return ""
    label = fold(node.label if isinstance(node.label, str) else node.label.plain)
    return f"{label}\n{fold(node.path.rpartition('/')[2])}" if node.path else label
