"""Blocks that came and went together, with nearly the same words: put into containers, taken out of them, or arranged in
others. What is in the containers is compared as if they were not there, and told in those that are there now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from octavo.documents.blocks import Block, Run, kinds_with, plain_text
from octavo.documents.diff_alignment import MIN_MOVED_LENGTH, align, most_similar, similarity, text_similarity
from octavo.documents.diff_attributes import changed_attributes
from octavo.documents.diff_model import AttributeChange
from octavo.documents.diff_nodes import DiffStep, Node, runs_key
from octavo.documents.diff_operations import join_rewritten_operations
from octavo.documents.diff_tables import join_converted_tables
from octavo.documents.diff_text import diff_runs

CompareNodes = Callable[[Node, Node], DiffStep]

FRAMES, _SERIES = kinds_with("frame"), kinds_with("series")
_MIN_LENGTH = 15
_MIN_TEXT_SIMILARITY = 0.85
_MIN_SHARE_KEPT = 0.5
_MIN_CONTAINER_SIMILARITY = 0.7
"""Containers of one kind that are so much alike are one that changed."""
_MIN_LENGTH_RATIO = 0.4
"""Containers of which one is so much shorter are not."""
_MAX_NAMES = 3
_MAX_PAIRS = 20_000
_MAX_COMPARED = 400


class _Part(NamedTuple):
    """A block, and the containers it is looked for in, outermost first. `titles`: it is the title of the last of them."""

    node: Node
    path: tuple[Node, ...] = ()
    titles: bool = False


_Pair = tuple[_Part | None, _Part | None]


def join_restructured(steps: list[DiffStep], change: CompareNodes) -> list[DiffStep]:
    """The steps, with those that are really one told as one. `change` compares two nodes."""
    found: list[DiffStep] = []
    for is_stable, group in groupby(steps, lambda step: step.fate in ("same", "left", "arrived")):
        run = list(group)
        found += run if is_stable else _across_edges(run, change) or _between_edits(run, change)
    return found


def _across_edges(run: list[DiffStep], change: CompareNodes) -> list[DiffStep] | None:
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
    if sum(map(len, crossing.elements())) < _MIN_LENGTH:
        return None
    taking = [at for at, (ours, theirs) in enumerate(sides) if ((ours - theirs) | (theirs - ours)) & crossing]
    first, last = taking[0], taking[-1] + 1
    old = [step.old for step in run[first:last] if step.old]
    new = [step.new for step in run[first:last] if step.new]
    olds, news = ({each.number for node in nodes for each in node.walk()} for nodes in (old, new))
    parts = list(_open_frames(old, lambda node: node.number in news))
    others = list(_open_frames(new, lambda node: node.number in olds))
    if len(parts) * len(others) > _MAX_PAIRS:
        return None
    pairs = [part for pair in _pair_parts(parts, others) for part in _without_frame(pair)]
    kept = [one.node for one, other in pairs if one is not None and other is not None]
    if sum(len(leaf.text) for node in kept for leaf in node.leaves() if leaf.text in crossing) < _MIN_LENGTH:
        return None  # they are elsewhere now
    told = _restructured_step(pairs, change, _same_containers(pairs))
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


def _texts(run: Sequence[DiffStep]) -> list[tuple[Counter[str], Counter[str]]]:
    """Return the texts that each step has on either side. A new text that is nearly an old one counts as the old one."""
    old, new = (
        [[leaf.text for leaf in node.leaves()] if node else [] for node in nodes]
        for nodes in ([step.old for step in run], [step.new for step in run])
    )
    before, after = (dict.fromkeys(text for texts in side for text in texts) for side in (old, new))
    gone = [text for text in before if text not in after and len(text) >= MIN_MOVED_LENGTH]
    come = [text for text in after if text not in before and len(text) >= MIN_MOVED_LENGTH]
    names: dict[str, str] = {}
    for text in come if len(gone) * len(come) <= _MAX_COMPARED else ():
        if (at := most_similar(text, gone, _MIN_TEXT_SIMILARITY)) is not None:
            names[text] = gone[at]
    return [
        (Counter(ours), Counter(names.get(text, text) for text in theirs))
        for ours, theirs in zip(old, new, strict=True)
    ]


def _between_edits(run: Sequence[DiffStep], change: CompareNodes) -> list[DiffStep]:
    found: list[DiffStep] = []
    for is_whole, group in groupby(run, lambda step: step.fate in ("added", "removed")):
        part = list(group)
        found += _join_rearranged(part, change) if is_whole else part
    return found


def _join_rearranged(run: list[DiffStep], change: CompareNodes) -> list[DiffStep]:
    run = join_converted_tables(join_rewritten_operations(run, change), change)
    at = next((at for at, step in enumerate(run) if step.fate == "restructured"), None)
    if at is not None:
        return [*_join_rearranged(run[:at], change), run[at], *_join_rearranged(run[at + 1 :], change)]
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    if not old or not new or len(old) * len(new) > _MAX_PAIRS:
        return run
    olds, news = _containers(old), _containers(new)
    ours = list(_open_frames(old, lambda node: _has_counterpart(node, news.get(node.kind, []))))
    theirs = list(_open_frames(new, lambda node: _has_counterpart(node, olds.get(node.kind, []))))
    if len(ours) * len(theirs) > _MAX_PAIRS or not any(part.path for part in (*ours, *theirs)):
        return run
    pairs = _pair_parts(ours, theirs)
    kept = sum(_kept_length(*pair) for pair in pairs)
    whole = min(sum(node.size for node in side) for side in (old, new))
    if kept < max(_MIN_LENGTH, _MIN_SHARE_KEPT * whole):
        return run
    lead, pairs, tail = _split_edges(pairs)
    return [*_steps_of(lead, change), _restructured_step(pairs, change), *_steps_of(tail, change)]


def _containers(nodes: Sequence[Node]) -> Mapping[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        for each in node.walk():
            if each.kind in FRAMES:
                found.setdefault(each.kind, []).append(each)
    return found


def _open_frames(
    nodes: Sequence[Node], is_closed: Callable[[Node], bool], path: tuple[Node, ...] = ()
) -> Iterator[_Part]:
    """What stands in containers, but for those that are closed."""
    for node in nodes:
        if node.kind not in FRAMES or not node.children or is_closed(node):
            yield _Part(node, path)
            continue
        if title := _title(node.block):
            heading = Node(Block("heading", runs=title, lines=node.block.lines), [], -id(node), plain_text(title))
            yield _Part(heading, (*path, node), titles=True)
        yield from _open_frames(node.children, is_closed, (*path, node))


def _has_counterpart(node: Node, others: Sequence[Node]) -> bool:
    if any(node.number == other.number for other in others):
        return True
    near = [other for other in others if _MIN_LENGTH_RATIO * node.size <= other.size <= node.size / _MIN_LENGTH_RATIO]
    return len(near) < _MAX_COMPARED and any(similarity(node, other) >= _MIN_CONTAINER_SIMILARITY for other in near)


def _title(block: Block) -> tuple[Run, ...]:
    """The title of a container that has one beside what is in it."""
    if block.kind == "expandable":
        return block.runs
    title = str(block.attrs.get("title") or "")
    return (Run(title),) if title else ()


def _pair_parts(ours: Sequence[_Part], theirs: Sequence[_Part]) -> list[_Pair]:
    by_node = {id(part.node): part for part in (*ours, *theirs)}
    pairs = align([part.node for part in ours], [part.node for part in theirs])
    return [(by_node[id(one)] if one else None, by_node[id(other)] if other else None) for one, other in pairs]


def _kept_length(old: _Part | None, new: _Part | None) -> float:
    """About how many characters of a pair stayed."""
    if old is None or new is None:
        return 0.0
    ours, theirs = old.node, new.node
    return min(ours.size, theirs.size) * text_similarity(ours.text, theirs.text)


def _split_edges(pairs: list[_Pair]) -> tuple[list[_Pair], list[_Pair], list[_Pair]]:
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


def _steps_of(pairs: Sequence[_Pair], change: CompareNodes) -> list[DiffStep]:
    return [_step(one, other, change) for one, other in pairs]


def _step(one: _Part | None, other: _Part | None, change: CompareNodes) -> DiffStep:
    if other is None:
        assert one is not None, "a pair must have at least one side"
        return DiffStep("removed", old=one.node)
    if one is None:
        return DiffStep("added", new=other.node)
    same = one.node.number == other.node.number
    return DiffStep("same", one.node, other.node) if same else change(one.node, other.node)


def _restructured_step(pairs: Sequence[_Pair], change: CompareNodes, was: Mapping[int, Node] | None = None) -> DiffStep:
    """All of it as one step, what is in containers now in them. A step without nodes, only with a note, stands before blocks
    that are in other containers now. `was`: the containers that are
    still there, by the ids of what they are now; None if the containers come or go as a whole."""
    old = tuple(_outermost(one for one, _ in pairs))
    new = tuple(_outermost(other for _, other in pairs))
    step = DiffStep("restructured", old_nodes=old, new_nodes=new, inside=[])
    open_: list[tuple[Node, DiffStep]] = []
    stayed: list[DiffStep] = []
    crossings: list[tuple[DiffStep, str, list[Node]]] = []
    last = ""

    def enter(path: tuple[Node, ...]) -> list[DiffStep]:
        while open_ and (len(open_) > len(path) or path[len(open_) - 1] is not open_[-1][0]):
            open_.pop()
        for node in path[len(open_) :]:
            frame = DiffStep("added", new=node, inside=[])
            if was and id(node) in was:
                frame.fate, frame.old = "changed", was[id(node)]
                stayed.append(frame)
            _steps_inside(open_, step).append(frame)
            open_.append((node, frame))
        return _steps_inside(open_, step)

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
            way = _crossing_note(one, other, was) if was is not None and one is not None else ""
            if way and way != last:
                crossings.append((DiffStep("restructured", inside=[]), way, []))
                siblings.append(crossings[-1][0])
            if way:
                crossings[-1][2].append(other.node)
            last = way
            siblings.append(_step(one, other, change))
    for crossing, way, nodes in crossings:
        crossing.note = f"{_summary(nodes)} {way}"
    for frame in step.inside or ():
        collapse_container(frame)
    for frame in reversed(stayed):  # the innermost first
        _finish_frame(frame)
    if was is None:
        step.note = _restructuring_note(old, new, pairs, step.inside or ())
    elif not crossings:
        step.note = _rearrangement_note(old, new)
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


def _crossing_note(old: _Part, new: _Part, was: Mapping[int, Node]) -> str:
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


def collapse_container(step: DiffStep) -> None:
    """Tell a container as a whole of which nothing was elsewhere, or stayed."""
    if step.fate in ("added", "removed") and step.inside is not None:
        for inner in step.inside:
            collapse_container(inner)
        if all(inner.fate == step.fate and inner.inside is None for inner in step.inside):
            step.inside = None


def _finish_frame(frame: DiffStep) -> None:
    """Tell what became of a container that stayed, with only those blocks in it before that are in it now."""
    assert frame.inside is not None, "a container must have steps inside"
    assert frame.old is not None
    assert frame.new is not None
    for inner in frame.inside:
        collapse_container(inner)
    kept = tuple(_old_blocks(frame.inside))
    old, new = frame.old.block._replace(children=kept), frame.new.block
    frame.old = Node(old, [], -1, "")
    # How far apart items are follows from what was in them.
    frame.settings = tuple(each for each in changed_attributes(old, new) if each.name != "spaced")
    if runs_key(old.runs) != runs_key(new.runs):
        frame.title = diff_runs(old.runs, new.runs)
    if not frame.settings and frame.title is None and all(inner.fate == "same" for inner in frame.inside):
        frame.fate, frame.inside = "same", None


def _old_blocks(steps: Iterable[DiffStep]) -> Iterator[Block]:
    for step in steps:
        within = tuple(_old_blocks(step.inside or ()))
        if step.old is None:
            yield from within
        else:
            # A container that got its title from a heading has no children noted.
            yield step.old.block if step.old.block.children else step.old.block._replace(children=within)


def _steps_inside(open_: Sequence[tuple[Node, DiffStep]], whole: DiffStep) -> list[DiffStep]:
    found = (open_[-1][1] if open_ else whole).inside
    assert found is not None, "a container must have steps inside"
    return found


def _retitle(frame: DiffStep, old: _Part) -> None:
    """A heading became the title of a container, or the title of another did."""
    assert frame.new is not None, "the container must be in the new version"
    now, was = frame.new.block, old.path[-1].block._replace(children=()) if old.titles else old.node.block
    frame.fate, frame.old = "changed", Node(was, [], -1, old.node.text)
    frame.settings = changed_attributes(was, now)
    if now.runs:
        frame.title = diff_runs(was.runs, now.runs)
    else:
        before, after = plain_text(old.node.block.runs), str(now.attrs["title"])
        frame.settings = tuple(each for each in frame.settings if each.name != "title")
        frame.settings += (AttributeChange("title", before, after),) if before != after else ()


def _outermost(parts: Iterator[_Part | None]) -> Iterator[Node]:
    """The outermost blocks that parts lie in, each once."""
    before: Node | None = None
    for part in parts:
        top = before if part is None else part.path[0] if part.path else part.node
        if top is not before and top is not None:
            yield top
        before = top


def _restructuring_note(
    old: Sequence[Node], new: Sequence[Node], pairs: Sequence[_Pair], steps: Sequence[DiffStep]
) -> str:
    gone = {id(one.path[0]) for one, _ in pairs if one is not None and one.path}
    come = [step.new for step in steps if step.inside is not None and step.new and id(step.new) in set(map(id, new))]
    if not gone:
        return f"wrapped in {_names(come)}"
    if not come:
        return f"unwrapped from {_names([node for node in old if id(node) in gone])}"
    return _rearrangement_note(old, new)


def _rearrangement_note(old: Sequence[Node], new: Sequence[Node]) -> str:
    before, after = _summary(old), _summary(new)
    return f"{before} → {after}" if before != after else f"{before} rearranged"


def _summary(nodes: Sequence[Node]) -> str:
    kinds = Counter(node.kind for node in nodes)
    return ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.items())


def _names(nodes: Sequence[Node]) -> str:
    names = list(dict.fromkeys(map(_name, nodes)))
    return " and ".join(names) if len(names) <= _MAX_NAMES else _summary(nodes)


def _name(container: Node) -> str:
    if container.kind == "expandable" and (title := plain_text(container.block.runs)):
        return f"an expandable “{title}”"
    if container.kind == "unknown":
        return str(container.block.attrs.get("name") or "an unknown block")
    article = "an" if container.kind[0] in "aeiou" else "a"
    return container.kind if container.kind in _SERIES - {"list"} | {"cards"} else f"{article} {container.kind}"
