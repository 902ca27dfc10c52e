"""Finds the blocks that one side moved, and prepares both sides so that edits of the other side are merged at the new
place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple, TypeAlias

from octavo.documents.merging.block_alignment import Hunk, MovedBlocks, hunks, word_similarity
from octavo.documents.source_blocks import Move, SourceBlock, Versions

_NEVER_MOVED = frozenset({"line", "page", "front", "field"})
_MIN_LETTERS = 3
"""Minimum number of letters of a block that counts as moved. It does not apply to headings."""
_MIN_WORDS = 4
"""Minimum number of words of a block that counts as moved and edited."""
_MIN_MOVED_LIKENESS = 0.6
"""Minimum share of equal words for a block to count as moved and edited."""
_MIN_REWRITTEN_LIKENESS = 0.1
"""Minimum share of equal words for a block to count as rewritten in place."""
_PAIR_LIMIT = 4000
"""Maximum number of pairs of blocks to compare in search of moves."""

_Changes: TypeAlias = dict[SourceBlock, list[SourceBlock]]
"""The blocks that replace each changed block of a tree."""


class _Addition(NamedTuple):
    siblings: Sequence[SourceBlock]
    """The base blocks with the same parent, among which the blocks were added."""
    place: int
    """The index among the siblings before which the blocks were added."""
    blocks: Sequence[SourceBlock]


class _Counterparts:
    """Maps the blocks of the base to their counterparts on one side."""

    def __init__(self, base: SourceBlock, side: SourceBlock) -> None:
        self.unmoved: dict[SourceBlock, SourceBlock] = {}
        """The version on this side of each base block that stays in place. It may be edited."""
        self.divided: dict[SourceBlock, tuple[SourceBlock, ...]] = {}
        """The blocks that replaced a base block that was split or turned into another kind."""
        self.moved: dict[SourceBlock, SourceBlock] = {}
        """The version on this side for each base block that was moved."""
        self.added: list[_Addition] = []
        self._rewritten: set[SourceBlock] = set()
        """Blocks of the base and of this side that were rewritten in place, and so were not moved."""
        self._dissimilar_pairs: list[tuple[SourceBlock, SourceBlock]] = []
        """Pairs of blocks in the same place with few equal words. They correspond only if neither was moved."""
        self._parents = {child: each for tree in (base, side) for each in tree.walk() for child in each.children or ()}
        self._pair(base, side)
        paired = {*self.unmoved, *self.unmoved.values()}
        self._find_moves(*([each for each in tree.walk() if each not in paired] for tree in (base, side)))
        arrived = set(self.moved.values())
        for old, new in self._dissimilar_pairs:
            if old not in self.moved and new not in arrived:
                self._pair(old, new)
        self._base_of = {new: old for old, new in self.unmoved.items()}

    def place_of(self, block: SourceBlock) -> tuple[SourceBlock | None, SourceBlock | None]:
        """Return the base versions of the parent and of the previous sibling of a block. None if missing."""
        parent = self._parents[block]
        siblings = parent.children or ()
        before = [self._base_of[sibling] for sibling in siblings[: siblings.index(block)] if sibling in self._base_of]
        return self._base_of.get(parent), before[-1] if before else None

    def _pair(self, old: SourceBlock, new: SourceBlock) -> None:
        self.unmoved[old] = new
        old_children, new_children = old.children or (), new.children or ()
        i = j = 0
        found = hunks(old_children, new_children) if old.key != new.key else []
        for hunk in [*found, Hunk(len(old_children), len(old_children), len(new_children), len(new_children))]:
            for one, other in zip(old_children[i : hunk.i1], new_children[j : hunk.j1], strict=True):
                self._pair(one, other)
            before, after = old_children[hunk.i1 : hunk.i2], new_children[hunk.j1 : hunk.j2]
            if hunk.is_edit and before[0].name == after[0].name:
                if word_similarity(before[0], after[0]) > _MIN_REWRITTEN_LIKENESS or before[0].kind in _NEVER_MOVED:
                    self._pair(before[0], after[0])
                else:
                    self._dissimilar_pairs.append((before[0], after[0]))
            elif before and after:
                if len(before) * len(after) > _PAIR_LIMIT:
                    self._rewritten.update(before, after)
                else:
                    pairs = (
                        (one, other)
                        for one in before
                        for other in after
                        if word_similarity(one, other) > _MIN_REWRITTEN_LIKENESS
                    )
                    self._rewritten.update(each for pair in pairs for each in pair)
                if len(before) == 1:
                    self.divided[before[0]] = after
            elif after:
                self.added.append(_Addition(old_children, hunk.i1, after))
            i, j = hunk.i2, hunk.j2

    def _find_moves(self, deleted: list[SourceBlock], added: list[SourceBlock]) -> None:
        """Find blocks that were deleted in one place and added in another. Equal blocks are paired first, then similar
        blocks."""
        counts, others = Counter(each.key for each in deleted), Counter(each.key for each in added)
        by_key = {each.key: each for each in added}
        arrived: set[SourceBlock] = set()
        for old in deleted:
            new = by_key.get(old.key)
            is_known = bool(old.level) or sum(map(len, old.words)) >= _MIN_LETTERS
            is_once = counts[old.key] == others[old.key] == 1
            is_free = old not in self.moved and new not in arrived
            if new is not None and is_known and is_once and is_free and self._may_move(old, new):
                self.moved.update(zip(old.walk(), new.walk(), strict=True))
                arrived.update(new.walk())
        unpaired = [each for each in deleted if each not in self.moved and self._may_be_moved_and_edited(each)]
        candidates = [each for each in added if each not in arrived and self._may_be_moved_and_edited(each)]
        if len(unpaired) * len(candidates) > _PAIR_LIMIT:
            return
        for old in unpaired:
            free = (candidate for candidate in candidates if candidate.name == old.name and candidate not in arrived)
            possible = (each for each in free if self._may_move(old, each))
            best = max(possible, key=lambda each: word_similarity(old, each), default=None)
            if best is not None and word_similarity(old, best) >= _MIN_MOVED_LIKENESS:
                self.moved[old] = best
                arrived.update(best.walk())

    def has_moved_into(self, addition: _Addition) -> bool:
        """Return whether this side moved a block into an addition."""
        arrived = set(self.moved.values())
        return any(each in arrived for block in addition.blocks for each in block.walk())

    def _may_be_moved_and_edited(self, block: SourceBlock) -> bool:
        return len(block.words) >= _MIN_WORDS and block not in self._rewritten and block.kind not in _NEVER_MOVED

    def _may_move(self, old: SourceBlock, new: SourceBlock) -> bool:
        """Return whether `new` may be the moved `old`. Rows can move only within their table."""
        if old.kind in _NEVER_MOVED:
            return False
        return old.kind != "row" or self.unmoved.get(self._parents[old]) is self._parents[new]


def follow_moves(versions: Versions[SourceBlock]) -> tuple[SourceBlock, SourceBlock, MovedBlocks]:
    """Return main and the change request prepared for the merge, and the base blocks that each side moved.

    Each moved block gets a `Move` with the base block and the blocks of the other side. In the tree of the other side,
    these blocks are replaced by the base block. So the old place has only one change, the move.
    """
    sides = _Counterparts(versions.base, versions.main), _Counterparts(versions.base, versions.request)
    changes: tuple[_Changes, _Changes] = ({}, {})
    moved: tuple[set[SourceBlock], set[SourceBlock]] = (set(), set())
    for side, (mover, other) in enumerate((sides, sides[::-1])):
        old_places: dict[SourceBlock, list[SourceBlock]] = {}
        """The blocks of the other side at the old place, for each moved base block."""
        for old, new in mover.moved.items():
            if new in changes[side]:
                continue  # A move of the other side already replaced the block.
            version = other.moved.get(old) or other.unmoved.get(old)
            blocks = other.divided.get(old, ()) if version is None else (version,)
            is_by_both = old in other.moved and version is not None and mover.place_of(new) != other.place_of(version)
            changes[side][new] = [replace(new, move=Move(old, blocks, is_by_both))]
            if blocks:
                moved[side].add(old)
            if blocks and old not in other.moved:
                old_places[old] = [*blocks]
        for addition in other.added:
            last = addition.siblings[addition.place - 1] if addition.place else None
            # If the other side added a block after a moved block, move it too.
            if last in old_places and _belongs_to_moved(addition, mover.moved) and not other.has_moved_into(addition):
                changes[side][mover.moved[last]] += addition.blocks
                old_places[last] += addition.blocks
        for old, replaced in old_places.items():
            if len(replaced) > 1 or replaced[0].key != old.key:
                changes[1 - side].update({each: [] for each in replaced[1:]})
                changes[1 - side][replaced[0]] = [replace(old, gap=replaced[-1].gap, replaced_blocks=tuple(replaced))]
    main, request = _with_changes(versions.main, changes[0]), _with_changes(versions.request, changes[1])
    return main, request, (frozenset(moved[0]), frozenset(moved[1]))


def _belongs_to_moved(addition: _Addition, moved: Mapping[SourceBlock, SourceBlock]) -> bool:
    """Return whether an addition is between two moved blocks, or in a section whose heading was moved."""
    siblings, place, blocks = addition
    heading = next((sibling for sibling in reversed(siblings[:place]) if sibling.level), None)
    if heading is not None and heading in moved:
        return not any(0 < block.level <= heading.level for block in blocks)
    return place < len(siblings) and siblings[place] in moved and not siblings[place].level


def _with_changes(block: SourceBlock, changes: _Changes) -> SourceBlock:
    if not block.children:
        return block
    children: list[SourceBlock] = []
    for child in block.children:
        children += changes[child] if child in changes else [_with_changes(child, changes)]
    is_same = len(children) == len(block.children) and all(map(is_, children, block.children))
    return block if is_same else replace(block, children=tuple(children))
