"""Blocks that came and went together, with nearly the same words: put into containers, taken out of them, or arranged in
others. What is in the containers is compared as if they were not there, and told in those that are there now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from octavo.documents.alignment import LONG_ENOUGH, align, most_alike, similarity, text_similarity
from octavo.documents.blocks import Block, Run, kinds_with, words
from octavo.documents.changes import Setting
from octavo.documents.into_cells import made_into_cells
from octavo.documents.nodes import Node, runs_key
from octavo.documents.operations_as_text import told_in_other_blocks
from octavo.documents.setting_diff import changed_settings
from octavo.documents.steps import Step
from octavo.documents.word_diff import compare

Change = Callable[[Node, Node], Step]

FRAMES, _SERIES = kinds_with("frame"), kinds_with("series")
_LONG_ENOUGH = 15
_SAME_TEXT = 0.85
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
    for is_stable, group in groupby(steps, lambda step: step.fate in ("same", "left", "arrived")):
        run = list(group)
        found += run if is_stable else _across_edges(run, change) or _between_edits(run, change)
    return found


def _across_edges(run: list[Step], change: Change) -> list[Step] | None:
    """Return the steps, with one for blocks that are outside of a container now, or in it, at the place where they were.
    None if there are no such blocks."""
    if len(run) < 2 or not (_frame_kinds(step.old for step in run) & _frame_kinds(step.new for step in run)):
        return None
    sides = _texts(run)
    before, after = Counter[str](), Counter[str]()
    for ours, theirs in sides:
        before.update(ours)
        after.update(theirs)
    crossing: Counter[str] = Counter()
    for step, (ours, theirs) in zip(run, sides, strict=True):
        if any(node is not None and node.kind in FRAMES for node in (step.old, step.new)):
            crossing |= ((ours - theirs) & (after - theirs)) | ((theirs - ours) & (before - ours))
    if sum(map(len, crossing.elements())) < _LONG_ENOUGH:
        return None
    taking = [at for at, (ours, theirs) in enumerate(sides) if ((ours - theirs) | (theirs - ours)) & crossing]
    first, last = taking[0], taking[-1] + 1
    old = [step.old for step in run[first:last] if step.old]
    new = [step.new for step in run[first:last] if step.new]
    olds, news = ({each.number for node in nodes for each in node.walk()} for nodes in (old, new))
    parts = list(_opened(old, lambda node: node.number in news))
    others = list(_opened(new, lambda node: node.number in olds))
    if len(parts) * len(others) > _MOST_PAIRS:
        return None
    pairs = [part for pair in _paired(parts, others) for part in _without_frame(pair)]
    kept = [one.node for one, other in pairs if one is not None and other is not None]
    if sum(len(leaf.text) for node in kept for leaf in node.leaves() if leaf.text in crossing) < _LONG_ENOUGH:
        return None  # they are elsewhere now
    told = _told(pairs, change, _same_containers(pairs))
    if told.note and len(old) == len(new) == 1:
        told = change(old[0], new[0])  # one that grew or shrank so much that it was taken for another
    return [*_between_edits(run[:first], change), told, *_between_edits(run[last:], change)]


def _without_frame(pair: _Pair) -> list[_Pair]:
    """Return the pair, or two of one side if only one is a container: its equal is elsewhere."""
    one, other = pair
    if one and other and (one.node.kind in FRAMES) is not (other.node.kind in FRAMES):
        return [(one, None), (None, other)]
    return [pair]


def _frame_kinds(nodes: Iterable[Node | None]) -> set[str]:
    return {node.kind for node in nodes if node is not None and node.kind in FRAMES}


def _texts(run: Sequence[Step]) -> list[tuple[Counter[str], Counter[str]]]:
    """Return the texts that each step has on either side. A new text that is nearly an old one counts as the old one."""
    old, new = (
        [[leaf.text for leaf in node.leaves()] if node else [] for node in nodes]
        for nodes in ([step.old for step in run], [step.new for step in run])
    )
    before, after = (dict.fromkeys(text for texts in side for text in texts) for side in (old, new))
    gone = [text for text in before if text not in after and len(text) >= LONG_ENOUGH]
    come = [text for text in after if text not in before and len(text) >= LONG_ENOUGH]
    names: dict[str, str] = {}
    for text in come if len(gone) * len(come) <= _MOST_LIKENED else ():
        if (at := most_alike(text, gone, _SAME_TEXT)) is not None:
            names[text] = gone[at]
    return [
        (Counter(ours), Counter(names.get(text, text) for text in theirs))
        for ours, theirs in zip(old, new, strict=True)
    ]


def _between_edits(run: Sequence[Step], change: Change) -> list[Step]:
    found: list[Step] = []
    for is_whole, group in groupby(run, lambda step: step.fate in ("added", "removed")):
        part = list(group)
        found += _arranged(part, change) if is_whole else part
    return found


def _arranged(run: list[Step], change: Change) -> list[Step]:
    run = made_into_cells(told_in_other_blocks(run, change), change)
    at = next((at for at, step in enumerate(run) if step.fate == "restructured"), None)
    if at is not None:
        return [*_arranged(run[:at], change), run[at], *_arranged(run[at + 1 :], change)]
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return run
    olds, news = _containers(old), _containers(new)
    ours = list(_opened(old, lambda node: _is_among(node, news.get(node.kind, []))))
    theirs = list(_opened(new, lambda node: _is_among(node, olds.get(node.kind, []))))
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


def _opened(nodes: Sequence[Node], is_closed: Callable[[Node], bool], path: tuple[Node, ...] = ()) -> Iterator[_Part]:
    """What stands in containers, but for those that are closed."""
    for node in nodes:
        if node.kind not in FRAMES or not node.children or is_closed(node):
            yield _Part(node, path)
            continue
        if title := _title(node.block):
            heading = Node(Block("heading", runs=title, lines=node.block.lines), [], -id(node), words(title))
            yield _Part(heading, (*path, node), titles=True)
        yield from _opened(node.children, is_closed, (*path, node))


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
        assert one is not None, "a pair must have at least one side"
        return Step("removed", old=one.node)
    if one is None:
        return Step("added", new=other.node)
    same = one.node.number == other.node.number
    return Step("same", one.node, other.node) if same else change(one.node, other.node)


def _told(pairs: Sequence[_Pair], change: Change, was: Mapping[int, Node] | None = None) -> Step:
    """All of it as one step, what is in containers now in them. A step without nodes, only with a note, stands before blocks
    that are in other containers now. `was`: the containers that are
    still there, by the ids of what they are now; None if the containers come or go as a whole."""
    old = tuple(_tops(one for one, _ in pairs))
    new = tuple(_tops(other for _, other in pairs))
    step = Step("restructured", old_nodes=old, new_nodes=new, inside=[])
    open_: list[tuple[Node, Step]] = []
    stayed: list[Step] = []
    crossings: list[tuple[Step, str, list[Node]]] = []
    last = ""

    def enter(path: tuple[Node, ...]) -> list[Step]:
        while open_ and (len(open_) > len(path) or path[len(open_) - 1] is not open_[-1][0]):
            open_.pop()
        for node in path[len(open_) :]:
            frame = Step("added", new=node, inside=[])
            if was and id(node) in was:
                frame.fate, frame.old = "changed", was[id(node)]
                stayed.append(frame)
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
            if one is not None and open_[-1][1].old is None:
                _retitle(open_[-1][1], one)
        else:
            siblings = enter(other.path)
            way = _way(one, other, was) if was is not None and one is not None else ""
            if way and way != last:
                crossings.append((Step("restructured", inside=[]), way, []))
                siblings.append(crossings[-1][0])
            if way:
                crossings[-1][2].append(other.node)
            last = way
            siblings.append(_step(one, other, change))
    for crossing, way, nodes in crossings:
        crossing.note = f"{_summary(nodes)} {way}"
    for frame in step.inside or ():
        close(frame)
    for frame in reversed(stayed):  # the innermost first
        _settle(frame)
    if was is None:
        step.note = _note(old, new, pairs, step.inside or ())
    elif not crossings:
        step.note = _rearranged(old, new)
    return step


def _same_containers(pairs: Sequence[_Pair]) -> Mapping[int, Node]:
    """Return the containers that are there on both sides: the old one by the id of the new one."""
    found: dict[int, Node] = {}
    taken: set[int] = set()
    for one, other in pairs:
        for ours, theirs in zip(one.path, other.path, strict=False) if one is not None and other is not None else ():
            if ours.kind != theirs.kind:
                break
            if id(theirs) not in found and id(ours) not in taken:
                found[id(theirs)] = ours
                taken.add(id(ours))
            elif found.get(id(theirs)) is not ours and ours.kind not in _SERIES:
                break
    return found


def _way(old: _Part, new: _Part, was: Mapping[int, Node]) -> str:
    """Return which containers a block left and entered. Empty if it is in the same ones, or in a part of one that was
    divided, or in one that was joined with its own."""
    kept = {id(was[id(node)]) for node in new.path if id(node) in was} & set(map(id, old.path))
    left = [node for node in old.path if id(node) not in kept]
    entered = [node for node in new.path if id(node) not in was or id(was[id(node)]) not in kept]
    if left and entered and left[-1].kind == entered[-1].kind:
        stayed = map(id, was.values())
        if id(entered[-1]) not in was or id(left[-1]) not in stayed:
            return ""
    ways = [f"unwrapped from {_name(left[-1])}"] if left else []
    ways += [f"wrapped in {_name(entered[-1])}"] if entered else []
    return " and ".join(ways)


def close(step: Step) -> None:
    """Tell a container as a whole of which nothing was elsewhere, or stayed."""
    if step.fate in ("added", "removed") and step.inside is not None:
        for inner in step.inside:
            close(inner)
        if all(inner.fate == step.fate and inner.inside is None for inner in step.inside):
            step.inside = None


def _settle(frame: Step) -> None:
    """Tell what became of a container that stayed, with only those blocks in it before that are in it now."""
    assert frame.inside is not None, "a container must have steps inside"
    assert frame.old is not None
    assert frame.new is not None
    for inner in frame.inside:
        close(inner)
    kept = tuple(_old_blocks(frame.inside))
    old, new = frame.old.block._replace(children=kept), frame.new.block
    frame.old = Node(old, [], -1, "")
    # How far apart items are follows from what was in them.
    frame.settings = tuple(each for each in changed_settings(old, new) if each.name != "spaced")
    if runs_key(old.runs) != runs_key(new.runs):
        frame.title = compare(old.runs, new.runs)
    if not frame.settings and frame.title is None and all(inner.fate == "same" for inner in frame.inside):
        frame.fate, frame.inside = "same", None


def _old_blocks(steps: Iterable[Step]) -> Iterator[Block]:
    for step in steps:
        within = tuple(_old_blocks(step.inside or ()))
        if step.old is None:
            yield from within
        else:
            # A container that got its title from a heading has no children noted.
            yield step.old.block if step.old.block.children else step.old.block._replace(children=within)


def _inside(open_: Sequence[tuple[Node, Step]], whole: Step) -> list[Step]:
    found = (open_[-1][1] if open_ else whole).inside
    assert found is not None, "a container must have steps inside"
    return found


def _retitle(frame: Step, old: _Part) -> None:
    """A heading became the title of a container, or the title of another did."""
    assert frame.new is not None, "the container must be in the new version"
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
    return _rearranged(old, new)


def _rearranged(old: Sequence[Node], new: Sequence[Node]) -> str:
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
    if container.kind == "unknown":
        return str(container.block.attrs.get("name") or "an unknown block")
    article = "an" if container.kind[0] in "aeiou" else "a"
    return container.kind if container.kind in _SERIES - {"list"} | {"cards"} else f"{article} {container.kind}"
