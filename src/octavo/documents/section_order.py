"""Sections, and containers with titles, that changed their order among their siblings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from octavo.api.folding import fold
from octavo.documents.alignment import (
    MIN_SIMILARITY,
    TITLED_KINDS,
    Pair,
    align,
    best_pairs,
    most_similar,
    text_similarity,
    title_of,
)
from octavo.documents.nodes import Node

_MAX_SECTION_PAIRS = 40_000
_MAX_COMPARED_SECTIONS = 4000
_MIN_SECTION_LENGTH = 60
_MAX_SECTION_TEXT = 400
_MIN_SECTION_SIMILARITY = 0.75
"""Sections with other titles whose texts are so much alike are one that got another title."""


class _Section(NamedTuple):
    """A heading and the blocks below it up to the next heading, or a container with a title."""

    name: tuple[str, str]
    nodes: Sequence[Node]

    @property
    def body(self) -> list[Node]:
        """The blocks without the heading."""
        first = self.nodes[0]
        return first.children if first.kind in TITLED_KINDS else list(self.nodes[1:])

    def text(self) -> str:
        """Return the beginning of the text below the title."""
        return " ".join(node.text for node in self.body if node.text)[:_MAX_SECTION_TEXT]

    def worth(self, other: _Section) -> float:
        """Return how much speaks for it that the other section stayed at its place: its equal blocks, then its length."""
        equal = Counter(node.number for node in self.nodes) & Counter(node.number for node in other.nodes)
        return equal.total() + 1 - 1 / (2 + sum(node.size for node in self.nodes))


def moved_sections(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Return the blocks of sections that other sections overtook, each with its counterpart. A section is known by its
    title and its text; the level of its heading may be another one."""
    found: list[Pair] = []
    kinds = {node.block.kind for node in old} & {node.block.kind for node in new}
    for cut, sections in ((_heading_sections, {"heading"}), (_titled_containers, TITLED_KINDS)):
        if kinds.isdisjoint(sections):
            continue
        told = {id(node) for pair in found for node in pair}
        ours, theirs = ([each for each in cut(nodes) if id(each.nodes[0]) not in told] for nodes in (old, new))
        if _may_differ_in_order(ours, theirs):
            found += _moved_pairs(ours, theirs)
    return found


def _heading_sections(nodes: Sequence[Node]) -> Iterator[_Section]:
    starts = [at for at, node in enumerate(nodes) if node.kind == "heading"]
    for start, end in zip(starts, [*starts[1:], len(nodes)], strict=False):
        yield _Section(("heading", fold(nodes[start].text)), nodes[start:end])


def _titled_containers(nodes: Sequence[Node]) -> Iterator[_Section]:
    for node in nodes:
        if node.kind in TITLED_KINDS and (title := title_of(node)):
            yield _Section((node.kind, fold(title)), (node,))


def _may_differ_in_order(old: Sequence[_Section], new: Sequence[_Section]) -> bool:
    if min(len(old), len(new)) < 2 or len(old) * len(new) > _MAX_SECTION_PAIRS:
        return False
    before, after = [each.name for each in old], [each.name for each in new]
    ours, theirs = set(before), set(after)
    return [name for name in before if name in theirs] != [name for name in after if name in ours]


def _moved_pairs(old: Sequence[_Section], new: Sequence[_Section]) -> list[Pair]:
    pairs = _counterparts(old, new)
    worth = [{pairs[i]: each.worth(new[pairs[i]])} if i in pairs else {} for i, each in enumerate(old)]
    in_order = set(best_pairs(worth, len(new)))
    found: list[Pair] = []
    for pair in pairs.items():
        if pair not in in_order:
            found += align(old[pair[0]].nodes, new[pair[1]].nodes)
    return found


def _counterparts(old: Sequence[_Section], new: Sequence[_Section]) -> dict[int, int]:
    """Return for the place of an old section the place of its counterpart: the only one with its title, or with its title
    and its blocks, or the one beside the counterpart of its neighbour, or the one with nearly its text."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    before, after = [each.text() for each in old], [each.text() for each in new]

    def pair(i: int, j: int, least: float = MIN_SIMILARITY) -> bool:
        is_free = i not in found and j not in taken
        if is_free and (text_similarity(before[i], after[j]) if before[i] or after[j] else 1.0) >= least:
            found[i] = j
            taken.add(j)
            return True
        return False

    for names in (_exact_section_names, _section_names):
        ours, theirs = names(old), names(new)
        counts, others = Counter(ours), Counter(theirs)
        places = {name: j for j, name in enumerate(theirs) if others[name] == counts[name] == 1}
        for i, name in enumerate(ours):
            if name in places:
                pair(i, places[name])
    for step in (1, -1):
        for i, j in list(found.items()):
            while 0 <= i + step < len(old) and 0 <= j + step < len(new):
                i, j = i + step, j + step
                if old[i].name != new[j].name or not pair(i, j):
                    break
    left = [j for j in range(len(new)) if j not in taken and len(after[j]) >= _MIN_SECTION_LENGTH]
    for i in range(len(old)) if 0 < len(old) * len(left) <= _MAX_COMPARED_SECTIONS else ():
        if i not in found and len(before[i]) >= _MIN_SECTION_LENGTH:
            at = most_similar(before[i], [after[j] for j in left], _MIN_SECTION_SIMILARITY)
            if at is not None:
                pair(i, left[at], _MIN_SECTION_SIMILARITY)
    return found


def _section_names(sections: Sequence[_Section]) -> list[tuple[object, ...]]:
    return [each.name for each in sections]


def _exact_section_names(sections: Sequence[_Section]) -> list[tuple[object, ...]]:
    return [(each.name, *(node.number for node in each.body)) for each in sections]
