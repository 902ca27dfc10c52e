"""Blocks that came and went together, with nearly the same words: put into containers, taken out of them, or arranged in
others. What is in the containers is compared as if they were not there, and told in those that are there now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from octavo.documents.alignment import align, similarity, text_similarity
from octavo.documents.blocks import Block, Run, kinds_with, words
from octavo.documents.changes import Setting
from octavo.documents.into_cells import made_into_cells
from octavo.documents.nodes import Node
from octavo.documents.operations_as_text import told_in_other_blocks
from octavo.documents.setting_diff import changed_settings
from octavo.documents.steps import Step
from octavo.documents.word_diff import compare

Change = Callable[[Node, Node], Step]

FRAMES, _SERIES = kinds_with("frame"), kinds_with("series")
_LONG_ENOUGH = 15
_SHARE_KEPT = 0.5
_ITSELF = 0.7
"""Containers of one kind that are so much alike are one that changed."""
_LEAST_SHARE = 0.4
"""Containers of which one is so much shorter are not."""
_MOST_NAMES = 3
_MOST_PAIRS = 20_000
_MOST_LIKENED = 400


class _Part(NamedTuple):
    """A block, and the containers it is looked for in, outermost first. `titles`: it is the title of the last of them."""

    node: Node
    path: tuple[Node, ...] = ()
    titles: bool = False


_Pair = tuple[_Part | None, _Part | None]


def restructured(steps: list[Step], change: Change) -> list[Step]:
    """The steps, with those that are really one told as one. `change` compares two nodes."""
    found: list[Step] = []
    run: list[Step] = []
    for step in steps:
        if step.fate in ("added", "removed"):
            run.append(step)
            continue
        found += _arranged(run, change)
        run = []
        found.append(step)
    return found + _arranged(run, change)


def _arranged(run: list[Step], change: Change) -> list[Step]:
    run = made_into_cells(told_in_other_blocks(run, change), change)
    at = next((at for at, step in enumerate(run) if step.fate == "restructured"), None)
    if at is not None:
        return [*_arranged(run[:at], change), run[at], *_arranged(run[at + 1 :], change)]
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return run
    ours, theirs = list(_opened(old, _containers(new))), list(_opened(new, _containers(old)))
    if len(ours) * len(theirs) > _MOST_PAIRS or not any(part.path for part in (*ours, *theirs)):
        return run
    pairs = _paired(ours, theirs)
    kept = sum(_kept(*pair) for pair in pairs)
    whole = min(sum(node.size for node in side) for side in (old, new))
    if kept < max(_LONG_ENOUGH, _SHARE_KEPT * whole):
        return run
    lead, pairs, tail = _trimmed(pairs)
    return [*_plain(lead, change), _told(pairs, change), *_plain(tail, change)]


def _containers(nodes: Sequence[Node]) -> Mapping[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        for each in node.walk():
            if each.kind in FRAMES:
                found.setdefault(each.kind, []).append(each)
    return found


def _opened(nodes: Sequence[Node], others: Mapping[str, list[Node]], path: tuple[Node, ...] = ()) -> Iterator[_Part]:
    """What stands in containers that the other side has none like."""
    for node in nodes:
        if node.kind not in FRAMES or not node.children or _is_among(node, others.get(node.kind, [])):
            yield _Part(node, path)
            continue
        if title := _title(node.block):
            heading = Node(Block("heading", runs=title, lines=node.block.lines), [], -id(node), words(title))
            yield _Part(heading, (*path, node), titles=True)
        yield from _opened(node.children, others, (*path, node))


def _is_among(node: Node, others: Sequence[Node]) -> bool:
    if any(node.number == other.number for other in others):
        return True
    near = [other for other in others if _LEAST_SHARE * node.size <= other.size <= node.size / _LEAST_SHARE]
    return len(near) < _MOST_LIKENED and any(similarity(node, other) >= _ITSELF for other in near)


def _title(block: Block) -> tuple[Run, ...]:
    """The title of a container that has one beside what is in it."""
    if block.kind == "expandable":
        return block.runs
    title = str(block.attrs.get("title") or "")
    return (Run(title),) if title else ()


def _paired(ours: Sequence[_Part], theirs: Sequence[_Part]) -> list[_Pair]:
    by_node = {id(part.node): part for part in (*ours, *theirs)}
    pairs = align([part.node for part in ours], [part.node for part in theirs])
    return [(by_node[id(one)] if one else None, by_node[id(other)] if other else None) for one, other in pairs]


def _kept(old: _Part | None, new: _Part | None) -> float:
    """About how many characters of a pair stayed."""
    if old is None or new is None:
        return 0.0
    ours, theirs = old.node, new.node
    return min(ours.size, theirs.size) * text_similarity(ours.text, theirs.text)


def _trimmed(pairs: list[_Pair]) -> tuple[list[_Pair], list[_Pair], list[_Pair]]:
    """What came or went before, the pairs of what is arranged in another way, and what came or went after."""

    def is_outside(pair: _Pair) -> bool:
        one, other = pair
        return (one is None or other is None) and not any(part.path for part in pair if part is not None)

    first, last = 0, len(pairs)
    while first < last and is_outside(pairs[first]):
        first += 1
    while last > first and is_outside(pairs[last - 1]):
        last -= 1
    return pairs[:first], pairs[first:last], pairs[last:]


def _plain(pairs: Sequence[_Pair], change: Change) -> list[Step]:
    return [_step(one, other, change) for one, other in pairs]


def _step(one: _Part | None, other: _Part | None, change: Change) -> Step:
    if other is None:
        assert one is not None, "A pair has one side at least"
        return Step("removed", old=one.node)
    if one is None:
        return Step("added", new=other.node)
    same = one.node.number == other.node.number
    return Step("same", one.node, other.node) if same else change(one.node, other.node)


def _told(pairs: Sequence[_Pair], change: Change) -> Step:
    """All of it as one step, what is in containers now in them."""
    old = tuple(_tops(one for one, _ in pairs))
    new = tuple(_tops(other for _, other in pairs))
    step = Step("restructured", old_nodes=old, new_nodes=new, inside=[])
    open_: list[tuple[Node, Step]] = []

    def enter(path: tuple[Node, ...]) -> list[Step]:
        while open_ and (len(open_) > len(path) or path[len(open_) - 1] is not open_[-1][0]):
            open_.pop()
        for node in path[len(open_) :]:
            frame = Step("added", new=node, inside=[])
            _inside(open_, step).append(frame)
            open_.append((node, frame))
        return _inside(open_, step)

    for at, (one, other) in enumerate(pairs):
        if other is None and one is not None and one.titles:
            continue  # the container it was the title of is gone, which is said of all
        if other is None:
            # A heading begins something else: it does not lie in what is above it.
            following = next((each.path for _, each in pairs[at:] if each is not None), ())
            path = tuple(node for node, _ in open_)
            if one is not None and one.node.kind == "heading":
                path = tuple(ours for ours, theirs in zip(path, following, strict=False) if ours is theirs)
            enter(path).append(_step(one, None, change))
        elif other.titles:
            enter(other.path)
            if one is not None:
                _retitle(open_[-1][1], one)
        else:
            enter(other.path).append(_step(one, other, change))
    for frame in step.inside or ():
        close(frame)
    step.note = _note(old, new, pairs, step.inside or ())
    return step


def close(step: Step) -> None:
    """Tell a container as a whole of which nothing was elsewhere, or stayed."""
    if step.fate in ("added", "removed") and step.inside is not None:
        for inner in step.inside:
            close(inner)
        if all(inner.fate == step.fate and inner.inside is None for inner in step.inside):
            step.inside = None


def _inside(open_: Sequence[tuple[Node, Step]], whole: Step) -> list[Step]:
    found = (open_[-1][1] if open_ else whole).inside
    assert found is not None, "Both were made with a list"
    return found


def _retitle(frame: Step, old: _Part) -> None:
    """A heading became the title of a container, or the title of another did."""
    assert frame.new is not None, "A frame is a container that is there now"
    now, was = frame.new.block, old.path[-1].block._replace(children=()) if old.titles else old.node.block
    frame.fate, frame.old = "changed", Node(was, [], -1, old.node.text)
    frame.settings = changed_settings(was, now)
    if now.runs:
        frame.title = compare(was.runs, now.runs)
    else:
        before, after = words(old.node.block.runs), str(now.attrs["title"])
        frame.settings = tuple(each for each in frame.settings if each.name != "title")
        frame.settings += (Setting("title", before, after),) if before != after else ()


def _tops(parts: Iterator[_Part | None]) -> Iterator[Node]:
    """The outermost blocks that parts lie in, each once."""
    before: Node | None = None
    for part in parts:
        top = before if part is None else part.path[0] if part.path else part.node
        if top is not before and top is not None:
            yield top
        before = top


def _note(old: Sequence[Node], new: Sequence[Node], pairs: Sequence[_Pair], steps: Sequence[Step]) -> str:
    gone = {id(one.path[0]) for one, _ in pairs if one is not None and one.path}
    come = [step.new for step in steps if step.inside is not None and step.new and id(step.new) in set(map(id, new))]
    if not gone:
        return f"wrapped in {_names(come)}"
    if not come:
        return f"unwrapped from {_names([node for node in old if id(node) in gone])}"
    before, after = _summary(old), _summary(new)
    return f"{before} → {after}" if before != after else f"{before} rearranged"


def _summary(nodes: Sequence[Node]) -> str:
    kinds = Counter(node.kind for node in nodes)
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())


def _names(nodes: Sequence[Node]) -> str:
    names = list(dict.fromkeys(map(_name, nodes)))
    return " and ".join(names) if len(names) <= _MOST_NAMES else _summary(nodes)


def _name(container: Node) -> str:
    if container.kind == "expandable" and (title := words(container.block.runs)):
        return f"an expandable “{title}”"
    article = "an" if container.kind[0] in "aeiou" else "a"
    return container.kind if container.kind in _SERIES - {"list"} | {"cards"} else f"{article} {container.kind}"
