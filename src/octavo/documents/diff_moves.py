"""Blocks that went in one place and came in another, also into containers, out of them, and from one to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter

from octavo.documents.blocks import kinds_with
from octavo.documents.diff_alignment import MIN_MOVED_LENGTH, similarity, text_similarity
from octavo.documents.diff_nodes import DiffStep, Node
from octavo.documents.diff_restructuring import FRAMES, CompareNodes, collapse_container

_PARTS = kinds_with("part")
"""Those of a container are known again however short they are. Beside the same blocks as before, so is any word."""
_MIN_EDITED_LENGTH = 60
_MIN_TEXT_SIMILARITY = 0.85
_MIN_CONTAINER_SIMILARITY = 0.75
"""Containers of one kind that are so much alike are one that moved and changed."""
_MIN_LENGTH_RATIO = 0.4
"""Blocks of which one is so much shorter are not compared."""
_MAX_PAIRS = 4000


def find_moves(steps: Sequence[DiffStep], change: CompareNodes) -> None:
    """Turn what was removed here and added there, at any depth, into moves, numbered from 1. `change` compares two nodes."""
    known = [each for step in steps for each in (step, *step.all_inside())]
    frames = [step for step in known if step.inside is None and _is_frame(step)]
    for step in frames:
        _add_child_steps(step)
    every = [each for step in steps for each in (step, *step.all_inside())]
    mover = _MoveFinder(every, change)
    lists = [steps, *(within for step in every for within in (step.inside, step.rows) if within)]
    for within in lists:
        mover.find_equal(_identifiable_steps(within), lambda node: node.number)
    holding = [step for step in every if _is_frame(step) and _size(step) >= MIN_MOVED_LENGTH]
    level = frames
    while level:  # the outermost first, or what is in them would be found by itself
        here = set(map(id, level))
        for fate in ("added", "removed"):
            some = [step for step in holding if id(step) in here or step.fate != fate]
            mover.find_equal(some, lambda node: node.number)
            mover.find_edited(
                [step for step in some if _size(step) >= _MIN_EDITED_LENGTH], similarity, _MIN_CONTAINER_SIMILARITY
            )
        level = [inner for step in level for inner in step.inside or () if _is_frame(inner)]
    long = [step for step in every if _size(step) >= MIN_MOVED_LENGTH and _kind(step) != "heading"]
    mover.find_equal(long, lambda node: node.number)
    headings = _unique_headings(steps, every)
    mover.find_equal(headings, lambda node: node.number)
    mover.find_equal(headings, lambda node: node.text)
    texts = [step for step in long if _size(step) >= _MIN_EDITED_LENGTH and not _is_frame(step)]
    mover.find_edited(
        texts, lambda old, new: text_similarity(old.text, new.text, _MIN_TEXT_SIMILARITY), _MIN_TEXT_SIMILARITY
    )
    mover.take_along(lists)
    for step in frames:
        collapse_container(step)


class _MoveFinder:
    """Joins what went with what came. What moved takes all that is in it along."""

    def __init__(self, every: Sequence[DiffStep], change: CompareNodes) -> None:
        self._change = change
        self._number = 0
        self._give_numbers(every)
        self._parents = {id(inner): step for step in every for inner in (*(step.inside or ()), *step.rows)}
        self._split: set[int] = set()
        """Steps in which something went or came by itself."""
        for step in every:
            if step.fate not in ("added", "removed"):
                self._part(step)
        self._taken: set[int] = set()
        self._moves: list[tuple[DiffStep, DiffStep]] = []

    def _give_numbers(self, steps: Iterable[DiffStep]) -> None:
        """Give the moves that were found while blocks were compared their numbers."""
        moved: dict[int, int] = {}
        for step in steps:
            if step.fate in ("left", "arrived"):
                step.number = moved.setdefault(id(step.new), self._number + len(moved) + 1)
        self._number += len(moved)

    def find_equal(self, steps: Sequence[DiffStep], name: Callable[[Node], Hashable]) -> None:
        """Join what went and came by the same name."""
        by_name: dict[Hashable, list[DiffStep]] = {}
        for step in reversed(steps):
            if step.old and self._is_free(step, "removed"):
                by_name.setdefault(name(step.old), []).append(step)
        for step in steps:
            if step.new and self._is_free(step, "added"):
                found = by_name.get(name(step.new), [])
                while found and not self._is_free(found[-1], "removed"):
                    found.pop()
                if found:
                    self._move(found.pop(), step)

    def find_edited(self, steps: Sequence[DiffStep], alike: Callable[[Node, Node], float], at_least: float) -> None:
        """Join what came with what went that is most like it, and compare both."""
        removed: dict[str, list[DiffStep]] = {}
        for step in steps:
            if self._is_free(step, "removed"):
                removed.setdefault(_kind(step), []).append(step)
        added = [step for step in steps if _kind(step) in removed and self._is_free(step, "added")]
        if len(added) * sum(map(len, removed.values())) > _MAX_PAIRS:
            return
        found: list[tuple[float, DiffStep, DiffStep]] = []
        for step in added:
            assert step.new is not None
            size = step.new.size
            for candidate in removed[step.new.kind]:
                assert candidate.old is not None
                if _MIN_LENGTH_RATIO * size <= candidate.old.size <= size / _MIN_LENGTH_RATIO:
                    likeness = alike(candidate.old, step.new)
                    if likeness >= at_least:
                        found.append((likeness, candidate, step))
        # The best first: of blocks that are nearly the same, each is joined with itself.
        for _, source, step in sorted(found, key=itemgetter(0), reverse=True):
            if self._is_free(source, "removed") and self._is_free(step, "added"):
                self._move(source, step)

    def take_along(self, lists: Sequence[Sequence[DiffStep]]) -> None:
        """Move what stands right before or after something that moved, and after it still does, however short it is."""
        before: dict[int, DiffStep] = {}
        after: dict[int, DiffStep] = {}
        for within in lists:
            for fates in (("removed", "left"), ("added", "arrived")):
                side = [step for step in within if step.fate in fates]
                before |= {id(step): last for last, step in pairwise(side)}
                after |= {id(step): following for step, following in pairwise(side)}
        for beside in (after, before):
            moved = list(self._moves)
            while moved:
                left, arrived = (beside.get(id(step)) for step in moved.pop())
                if left and arrived and self._is_free(left, "removed") and self._is_free(arrived, "added"):
                    assert left.old is not None
                    assert arrived.new is not None
                    if left.old.number == arrived.new.number:
                        self._move(left, arrived)
                        moved.append((left, arrived))

    def _is_free(self, step: DiffStep, fate: str) -> bool:
        return step.fate == fate and id(step) not in self._taken and id(step) not in self._split

    def _part(self, step: DiffStep) -> None:
        """Note that a step is told apart from those it lies in."""
        above = self._parents.get(id(step))
        while above is not None and id(above) not in self._split:
            self._split.add(id(above))
            above = self._parents.get(id(above))

    def _move(self, left: DiffStep, arrived: DiffStep) -> None:
        assert left.old is not None
        assert arrived.new is not None
        self._number += 1
        self._taken |= {id(each) for step in (left, arrived) for each in step.all_inside()}
        left.inside = arrived.inside = None
        if left.old.number != arrived.new.number:
            edited = self._change(left.old, arrived.new)
            arrived.parts, arrived.settings, arrived.title = edited.parts, edited.settings, edited.title
            arrived.inside, arrived.rows = edited.inside, edited.rows
            self._give_numbers(edited.all_inside())
        left.new, arrived.old = arrived.new, left.old
        left.fate, arrived.fate = "left", "arrived"
        left.number = arrived.number = self._number
        self._moves.append((left, arrived))
        self._part(left)
        self._part(arrived)


def _identifiable_steps(within: Sequence[DiffStep]) -> list[DiffStep]:
    """Return the steps of blocks that are known again among their siblings: parts, long blocks, and short ones that are
    there once on either side."""
    if not {"removed", "added"} <= {step.fate for step in within}:
        return []
    old = Counter(step.old.number for step in within if step.old and step.fate != "arrived")
    new = Counter(step.new.number for step in within if step.new and step.fate != "left")
    return [
        step
        for step in within
        if (node := step.new or step.old) is not None
        and (
            node.kind in _PARTS
            or node.size >= MIN_MOVED_LENGTH
            or (node.size > 2 and old[node.number] == new[node.number] == 1)
        )
    ]


def _unique_headings(steps: Sequence[DiffStep], every: Sequence[DiffStep]) -> list[DiffStep]:
    """Return the steps of headings whose texts the page had once and has once. A text that many sections have, such as
    "Example", says nothing about where a section was."""
    free = (step for step in every if step.fate in ("removed", "added"))
    found = [step for step in free if _kind(step) == "heading" and _size(step) > 2]
    if len({step.fate for step in found}) < 2:
        return []
    old, new = (
        Counter(each.text for node in side for each in node.walk() if each.kind == "heading")
        for side in (
            [node for step in steps for node in ((step.old,) if step.old else step.old_nodes)],
            [node for step in steps for node in ((step.new,) if step.new else step.new_nodes)],
        )
    )
    return [step for step in found if (node := step.new or step.old) and old[node.text] == new[node.text] == 1]


def _add_child_steps(step: DiffStep) -> None:
    """Make steps of what is in a container that came or went."""
    node = step.new or step.old
    assert node is not None, "a step must have a block"
    step.inside = [
        DiffStep("added", new=child) if step.fate == "added" else DiffStep("removed", old=child)
        for child in node.children
    ]
    for inner in filter(_is_frame, step.inside):
        _add_child_steps(inner)


def _is_frame(step: DiffStep) -> bool:
    return step.fate in ("added", "removed") and _kind(step) in FRAMES


def _kind(step: DiffStep) -> str:
    node = step.new or step.old
    return node.kind if node else ""


def _size(step: DiffStep) -> int:
    node = step.new or step.old
    return node.size if node else 0
