"""Blocks that came and went together, with the same words: wrapped, unwrapped, or arranged in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from octavo.documents.alignment import align, text_similarity
from octavo.documents.blocks import words
from octavo.documents.nodes import Node
from octavo.documents.sequences import Stretch, stretches
from octavo.documents.steps import Step

Change = Callable[[Node, Node], Step]

_LONG_ENOUGH = 15
_LONG_ENOUGH_EDITED = 60
_ALIKE = 0.8
_MOST_LIKENED = 400
_SHARE_WRAPPED = 0.6
_SHARE_KEPT = 0.75
_MIN_TEXT = 80
_MOST_LEAVES = 200
_MOST_PAIRS = 20_000


def restructured(steps: list[Step], change: Change) -> list[Step]:
    """The steps, with those that are really one told as one. `change` compares two nodes."""
    found: list[Step] = []
    run: list[Step] = []
    for step in steps:
        if step.fate in ("added", "removed"):
            run.append(step)
            continue
        found += _resolved(run, change)
        run = []
        found.append(step)
    return found + _resolved(run, change)


def _resolved(run: list[Step], change: Change) -> list[Step]:
    found: list[Step] = []
    while run:
        old = [step.old for step in run if step.old]
        new = [step.new for step in run if step.new]
        if not old or not new or len(old) * len(new) > _MOST_PAIRS:
            break
        span = _wrapping(old, new)
        if span is None:
            return found + (_arranged(old, new, change) or run)
        taken, became = old[span.i1 : span.i2], new[span.j1 : span.j2]
        found += _outside(run, old[: span.i1], new[: span.j1])
        found.append(_rewrapped(taken, became, change))
        run = _outside(run, old[span.i2 :], new[span.j2 :])
    return found + run


def _wrapping(old: Sequence[Node], new: Sequence[Node]) -> Stretch | None:
    """The first container on one side that holds what stands by itself on the other."""
    for index, container in enumerate(new):
        if span := _span_within(old, container):
            return Stretch(False, *span, index, index + 1)
    for index, container in enumerate(old):
        if span := _span_within(new, container):
            return Stretch(False, index, index + 1, *span)
    return None


def _rewrapped(old: Sequence[Node], new: Sequence[Node], change: Change) -> Step:
    step = Step("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    if len(new) == 1 and _span_within(old, new[0]):
        step.note, new = f"wrapped in {_name(new[0])}", _contents(new[0])
    else:
        step.note, old = f"taken out of {_name(old[0])}", _contents(old[0])
    step.inside = [_step(ours, theirs, change) for ours, theirs in align(old, new)]
    return step


def _outside(run: Sequence[Step], old: Sequence[Node], new: Sequence[Node]) -> list[Step]:
    """The steps of a run that are about these nodes."""
    kept = {id(node) for node in (*old, *new)}
    return [step for step in run if id(step.old or step.new) in kept]


def _span_within(nodes: Sequence[Node], container: Node) -> tuple[int, int] | None:
    """The stretch of `nodes` that stands in `container` too, if that is most of what the container has."""
    if not container.children:
        return None
    inside = [node for node in container.walk() if node is not container]
    numbers = {node.number for node in inside}
    among = inside if len(nodes) * len(inside) <= _MOST_LIKENED else []
    hits = [index for index, node in enumerate(nodes) if node.number in numbers or _is_like_one_of(node, among)]
    if not any(nodes[index].size > _LONG_ENOUGH for index in hits):
        return None
    first, last = hits[0], hits[-1] + 1
    if sum(nodes[index].size for index in hits) < _SHARE_WRAPPED * container.size or last - first > 2 * len(hits):
        return None
    return first, last


def _is_like_one_of(node: Node, others: Sequence[Node]) -> bool:
    """Whether one of the others is the node with a few other words."""
    return node.size >= _LONG_ENOUGH_EDITED and any(
        node.kind == other.kind and text_similarity(node.text, other.text, _ALIKE) for other in others
    )


def _contents(container: Node) -> Sequence[Node]:
    """What stands in a container; of tabs and the like, what stands in them."""
    if container.kind in ("tabs", "stepper", "columns", "updates", "list"):
        return [inner for child in container.children for inner in child.children]
    return container.children


def _arranged(old: list[Node], new: list[Node], change: Change) -> list[Step]:
    """Blocks with nearly the same words in another arrangement."""
    if [node.kind for node in old] == [node.kind for node in new]:
        return []
    if not any(node.children for node in (*old, *new)):
        return []
    ours, theirs = ([leaf for node in nodes for leaf in node.leaves()] for nodes in (old, new))
    if max(len(ours), len(theirs)) > _MOST_LEAVES:
        return []
    before, after = (" ".join(map(_own, leaves)).lower().split() for leaves in (ours, theirs))
    sizes = sorted(sum(map(len, side)) for side in (before, after))
    if sizes[0] < _MIN_TEXT or sizes[0] < 0.6 * sizes[1]:
        return []
    kept = sum(each.i2 - each.i1 for each in stretches(before, after) if each.equal)
    share = 2 * kept / (len(before) + len(after))
    if share < _SHARE_KEPT:
        return []
    step = Step("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    step.note = f"{_summary(old)} → {_summary(new)}, {share:.0%} of the words kept"
    step.inside = [_step(one, other, change) for one, other in align(_bare(ours), _bare(theirs))]
    return [step]


def _bare(leaves: Sequence[Node]) -> list[Node]:
    """Leaves without regard to what they are, so that a heading may match the paragraph of a step."""
    return [Node(leaf.block, [], hash(text), text) for leaf, text in zip(leaves, map(_own, leaves), strict=True)]


def _own(leaf: Node) -> str:
    """The words of a leaf without those of what is in it."""
    return words(leaf.block.runs) or leaf.text


def _step(old: Node | None, new: Node | None, change: Change) -> Step:
    if old is None:
        return Step("added", new=new)
    if new is None:
        return Step("removed", old=old)
    return Step("same", old, new) if old.number == new.number else change(old, new)


def _summary(nodes: Sequence[Node]) -> str:
    kinds = Counter(node.kind for node in nodes)
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())


def _name(container: Node) -> str:
    if container.kind == "expandable" and (title := words(container.block.runs)):
        return f"an expandable “{title}”"
    article = "an" if container.kind[0] in "aeiou" else "a"
    return (
        container.kind if container.kind in ("tabs", "columns", "updates", "cards") else f"{article} {container.kind}"
    )
