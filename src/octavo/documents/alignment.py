"""Which blocks of two pages belong together: equal ones first, then those that are most alike between them."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.nodes import Node
from octavo.documents.sequences import stretches

ALIKE = 0.45
"""Blocks less alike than this are not taken for one another."""

Pair = tuple[Node | None, Node | None]

_COMPATIBLE = {
    frozenset(kinds)
    for kinds in (
        ("paragraph", "heading"),
        ("paragraph", "item"),
        ("item", "task"),
        ("row", "card"),
        ("table", "cards"),
        ("openapi", "api-method"),
        ("figure", "paragraph"),
        ("content-ref", "paragraph"),
        ("embed", "paragraph"),
    )
}
_CONTAINERS = frozenset(
    {"list", "hint", "tabs", "tab", "expandable", "table", "cards", "stepper", "step", "updates", "columns", "column"}
    | {"quote", "if", "conflict", "footnotes"}
)
_LONGEST_TEXT = 3000
_MOST_COMPARED = 6000
"""Pairs of one gap that are compared in full; in larger gaps only those about the same place are."""
_MOST_PAIRS = 250_000


def align(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    """Old and new blocks in pairs, in an order that is that of both; None stands where a side has nothing."""
    pairs: list[Pair] = []
    for equal, i1, i2, j1, j2 in stretches([node.number for node in old], [node.number for node in new]):
        if equal:
            pairs += zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            pairs += _align_gap(old[i1:i2], new[j1:j2])
    return pairs


def similarity(old: Node, new: Node) -> float:
    """How alike two blocks are, 0 to 1."""
    penalty = 0.0
    if old.kind != new.kind:
        if frozenset((old.kind, new.kind)) not in _COMPATIBLE:
            return 0.0
        penalty = 0.15
    if not old.text and not new.text:
        return 0.7 - penalty
    shorter, longer = sorted((old.size, new.size))
    if shorter < 0.2 * longer and old.kind not in _CONTAINERS:
        return 0.0
    found = text_similarity(old.text, new.text)
    if old.children and new.children:
        ours, theirs = ({child.number for child in node.children} for node in (old, new))
        if shared := len(ours & theirs):
            found = max(found, 0.35 + 0.6 * shared / min(len(ours), len(theirs)))
        if old.kind in ("row", "card") and old.children[0].number == new.children[0].number and old.children[0].text:
            found = max(found, min(1.0, found + 0.4))
    if old.kind in ("figure", "image"):
        found = max(found, 0.5)
    return found - penalty


def text_similarity(old: str, new: str) -> float:
    """How alike two texts are, by their beginnings if they are long."""
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(old[:_LONGEST_TEXT], new[:_LONGEST_TEXT], score_cutoff=0.3)


def _align_gap(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    if not old:
        return [(None, node) for node in new]
    if not new:
        return [(node, None) for node in old]
    if len(old) * len(new) > _MOST_PAIRS:
        return _align_beginnings(old, new)
    worth = _worths(old, new)
    best = _best_sums(worth, len(old), len(new))
    pairs: list[Pair] = []
    i = j = 0
    while i < len(old) and j < len(new):
        here = worth[i].get(j, 0.0)
        if here and best[i][j] == best[i + 1][j + 1] + here:
            pairs.append((old[i], new[j]))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            pairs.append((old[i], None))
            i += 1
        else:
            pairs.append((None, new[j]))
            j += 1
    return [*pairs, *((node, None) for node in old[i:]), *((None, node) for node in new[j:])]


def _worths(old: Sequence[Node], new: Sequence[Node]) -> list[dict[int, float]]:
    """What pairing each two is worth, where they are alike: more for longer ones."""
    reach = len(new)
    if len(old) * len(new) > _MOST_COMPARED:
        reach = max(4, _MOST_COMPARED // (2 * len(old)))
    found: list[dict[int, float]] = []
    for i, ours in enumerate(old):
        middle = i * len(new) // len(old)
        row: dict[int, float] = {}
        for j in range(max(0, middle - reach), min(len(new), middle + reach + 1)):
            alike = 1.0 if ours.number == new[j].number else similarity(ours, new[j])
            if alike >= ALIKE:
                row[j] = alike**2 * (1 + min(ours.size, 200) / 400)
        found.append(row)
    return found


def _best_sums(worth: Sequence[dict[int, float]], height: int, width: int) -> list[list[float]]:
    """The best sum of worths from each place on."""
    best = [[0.0] * (width + 1)]
    for i in range(height - 1, -1, -1):
        below, row, here = best[-1], [0.0] * (width + 1), worth[i]
        for j in range(width - 1, -1, -1):
            most = max(below[j], row[j + 1])
            if j in here:
                most = max(most, below[j + 1] + here[j])
            row[j] = most
        best.append(row)
    best.reverse()
    return best


def _align_beginnings(old: Sequence[Node], new: Sequence[Node]) -> list[Pair]:
    pairs: list[Pair] = []
    for equal, i1, i2, j1, j2 in stretches(
        [(node.kind, node.text[:60]) for node in old], [(node.kind, node.text[:60]) for node in new]
    ):
        if equal:
            pairs += zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            pairs += [(node, None) for node in old[i1:i2]]
            pairs += [(None, node) for node in new[j1:j2]]
    return pairs
