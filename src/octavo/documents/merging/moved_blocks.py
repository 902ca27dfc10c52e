"""Follows blocks that one side moved: an edit by the other side is applied at the new place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple, TypeAlias

from octavo.documents.merging.block_alignment import Hunk, hunks, likeness
from octavo.documents.source_blocks import Move, SourceBlock

_NEVER_MOVED = frozenset({"line", "page", "front", "field"})
_LEAST_LETTERS = 3
"""Letters of a block that is recognised at another place. A heading needs none."""
_LEAST_WORDS = 4
_ALIKE = 0.6
"""Share of its words that a block keeps when it is moved and edited at once."""
_RELATED = 0.1
"""Share of its words that a block keeps when it is rewritten at its place."""
_MOST_PAIRS = 4000
"""Pairs of blocks that are compared in search of moves."""


_Changes: TypeAlias = dict[SourceBlock, list[SourceBlock]]
"""The blocks that replace a block."""


class _Addition(NamedTuple):
    siblings: Sequence[SourceBlock]
    """Siblings in the base."""
    place: int
    """Place among them."""
    blocks: Sequence[SourceBlock]


class _Counterparts:
    """The blocks of one side that correspond to the blocks of the base, also at other places."""

    def __init__(self, base: SourceBlock, side: SourceBlock) -> None:
        self.kept: dict[SourceBlock, SourceBlock] = {}
        """The block that each block became, at the same place."""
        self.divided: dict[SourceBlock, tuple[SourceBlock, ...]] = {}
        """The blocks that one block became, if they are several or of another kind."""
        self.moved: dict[SourceBlock, SourceBlock] = {}
        """The block that each block became at another place."""
        self.added: list[_Addition] = []
        self._rewritten: set[SourceBlock] = set()
        self._unlike: list[tuple[SourceBlock, SourceBlock]] = []
        """Pairs that only are at the same place: if one of the two was moved, they are no pair."""
        self._parents = {child: each for tree in (base, side) for each in tree.walk() for child in each.children or ()}
        self._pair(base, side)
        came = {new: old for old, new in self.kept.items()}
        self._find_moves(
            [each for each in base.walk() if each not in self.kept], [each for each in side.walk() if each not in came]
        )
        arrived = set(self.moved.values())
        for old, new in self._unlike:
            if old not in self.moved and new not in arrived:
                self._pair(old, new)
        self._base_of = {new: old for old, new in self.kept.items()}

    def place_of(self, block: SourceBlock) -> tuple[SourceBlock | None, SourceBlock | None]:
        """Return the blocks of the base in which, and after which, a block of this side is."""
        parent = self._parents[block]
        siblings = parent.children or ()
        before = [self._base_of[each] for each in siblings[: siblings.index(block)] if each in self._base_of]
        return self._base_of.get(parent), before[-1] if before else None

    def _pair(self, old: SourceBlock, new: SourceBlock) -> None:
        """Pair a block with its new version, and pair the blocks in both."""
        self.kept[old] = new
        ours, theirs = old.children or (), new.children or ()
        i = j = 0
        found = hunks(ours, theirs) if old.key != new.key else []
        for hunk in [*found, Hunk(len(ours), len(ours), len(theirs), len(theirs))]:
            for one, other in zip(ours[i : hunk.i1], theirs[j : hunk.j1], strict=True):
                self._pair(one, other)
            before, after = ours[hunk.i1 : hunk.i2], theirs[hunk.j1 : hunk.j2]
            if hunk.is_edit and before[0].name == after[0].name:
                if likeness(before[0], after[0]) > _RELATED or before[0].kind in _NEVER_MOVED:
                    self._pair(before[0], after[0])
                else:
                    self._unlike.append((before[0], after[0]))
            elif before and after:
                if len(before) * len(after) > _MOST_PAIRS:
                    self._rewritten.update(before, after)
                else:
                    pairs = ((one, other) for one in before for other in after if likeness(one, other) > _RELATED)
                    self._rewritten.update(each for pair in pairs for each in pair)
                if len(before) == 1:
                    self.divided[before[0]] = after
            elif after:
                self.added.append(_Addition(ours, hunk.i1, after))
            i, j = hunk.i2, hunk.j2

    def _find_moves(self, gone: list[SourceBlock], came: list[SourceBlock]) -> None:
        """Find blocks that are gone in one place and came in another: first those that stayed the same, then those alike."""
        counts, others = Counter(each.key for each in gone), Counter(each.key for each in came)
        by_key = {each.key: each for each in came}
        arrived: set[SourceBlock] = set()
        for old in gone:
            new = by_key.get(old.key)
            is_known = bool(old.level) or sum(map(len, old.words)) >= _LEAST_LETTERS
            is_once = counts[old.key] == others[old.key] == 1
            if (
                new is None
                or not (is_known and is_once)
                or old in self.moved
                or new in arrived
                or not self._may_move(old, new)
            ):
                continue
            for one, other in zip(old.walk(), new.walk(), strict=True):
                self.moved[one] = other
                arrived.add(other)
        rest = [each for each in gone if each not in self.moved and self._may_be_alike(each)]
        candidates = [each for each in came if each not in arrived and self._may_be_alike(each)]
        if len(rest) * len(candidates) > _MOST_PAIRS:
            return
        for old in rest:
            alike = [
                each
                for each in candidates
                if each.name == old.name and each not in arrived and self._may_move(old, each)
            ]
            best = max(alike, key=lambda each: likeness(old, each), default=None)
            if best is not None and likeness(old, best) >= _ALIKE:
                self.moved[old] = best
                arrived.update(best.walk())

    def has_moved_into(self, addition: _Addition) -> bool:
        """Return whether an addition consists of, or holds, what this side moved there."""
        arrived = set(self.moved.values())
        return any(each in arrived for block in addition.blocks for each in block.walk())

    def _may_be_alike(self, block: SourceBlock) -> bool:
        return len(block.words) >= _LEAST_WORDS and block not in self._rewritten and block.kind not in _NEVER_MOVED

    def _may_move(self, old: SourceBlock, new: SourceBlock) -> bool:
        """Rows are followed within their table only: other tables have other columns."""
        if old.kind in _NEVER_MOVED:
            return False
        return old.kind != "row" or self.kept.get(self._parents[old]) is self._parents[new]


class FollowedMoves(NamedTuple):
    """Both sides with each change of a moved block at its new place only."""

    main: SourceBlock
    request: SourceBlock
    moved: tuple[frozenset[SourceBlock], frozenset[SourceBlock]]
    """The blocks of the base that main moved, and those that the change request moved."""


def follow_moves(base: SourceBlock, main: SourceBlock, request: SourceBlock) -> FollowedMoves:
    """Let each block that one side moved know what the other side made of it, and put the base's block back at its old place on
    the other side. After that only the side that moved the block has changed anything there."""
    sides = _Counterparts(base, main), _Counterparts(base, request)
    changes: tuple[_Changes, _Changes] = ({}, {})
    moved: tuple[set[SourceBlock], set[SourceBlock]] = (set(), set())
    for at, (mover, other) in enumerate((sides, sides[::-1])):
        old_places: dict[SourceBlock, list[SourceBlock]] = {}
        """The blocks of the other side at the old place, by the block of the base at that place."""
        for old, new in mover.moved.items():
            if new in changes[at]:
                continue  # what the other side moved was already put back here
            there = other.moved.get(old) or other.kept.get(old)
            now = other.divided.get(old, ()) if there is None else (there,)
            is_twice = old in other.moved and there is not None and mover.place_of(new) != other.place_of(there)
            changes[at][new] = [replace(new, move=Move(old, now, is_twice))]
            if now:
                moved[at].add(old)
            if now and old not in other.moved:
                old_places[old] = [*now]
        for addition in other.added:
            last = addition.siblings[addition.place - 1] if addition.place else None
            if last in old_places and _belongs_to_moved(addition, mover.moved) and not other.has_moved_into(addition):
                changes[at][mover.moved[last]] += addition.blocks
                old_places[last] += addition.blocks
        for old, blocks in old_places.items():
            if len(blocks) > 1 or blocks[0].key != old.key:
                changes[1 - at].update({each: [] for each in blocks[1:]})
                changes[1 - at][blocks[0]] = [replace(old, gap=blocks[-1].gap, restored_from=tuple(blocks))]
    trees = [_with_changes(tree, each) for tree, each in zip((main, request), changes, strict=True)]
    return FollowedMoves(trees[0], trees[1], (frozenset(moved[0]), frozenset(moved[1])))


def _belongs_to_moved(addition: _Addition, moved: Mapping[SourceBlock, SourceBlock]) -> bool:
    """Return whether an addition is within what was moved, or at the end of a section that was."""
    siblings, place, blocks = addition
    heading = next((each for each in reversed(siblings[:place]) if each.level), None)
    if heading is not None and heading in moved:
        return not any(0 < each.level <= heading.level for each in blocks)
    return place < len(siblings) and siblings[place] in moved and not siblings[place].level


def _with_changes(block: SourceBlock, changes: _Changes) -> SourceBlock:
    """Return the tree with some blocks replaced by others."""
    if not block.children:
        return block
    children: list[SourceBlock] = []
    for child in block.children:
        children += changes[child] if child in changes else [_with_changes(child, changes)]
    is_same = len(children) == len(block.children) and all(map(is_, children, block.children))
    return block if is_same else replace(block, children=tuple(children))
