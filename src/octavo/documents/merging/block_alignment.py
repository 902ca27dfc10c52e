"""Aligns the blocks of three versions of a page. Finds the differences between siblings, the blocks that one side
moved, and the regions in which sides changed something.

Siblings are blocks with the same parent. A region is a range of siblings in the base that one side or both sides
changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby, product, takewhile
from operator import is_
from typing import NamedTuple, TypeAlias

from octavo.documents.sequences import diff_ranges
from octavo.documents.source_blocks import ROWS_AND_ITEMS, WORD, Blocks, Move, SourceBlock, Versions, section_ranges

_PAIR_LIMIT = 50_000
"""Maximum number of pairs of equal words in two texts that are compared word by word."""
_WORD_LIMIT = 8_000
"""Maximum number of words of a text that is compared word by word."""
_MIN_SHARED = 0.4
"""Minimum share of the words of the shorter block that two related blocks have in common."""
_NOTATION = re.compile(r"</?[a-z][^<>]*>|\\|\b_+|_+\b", re.I)
"""HTML tags, backslashes, and underscores around words."""
_PICTURE = re.compile(r"</?fig[^<>]*>|<img\b[^<>]*>|!\[[^\]\n]*\]\([^)\n]*\)", re.I)
"""A picture, or a tag of a figure or its caption."""


class Hunk(NamedTuple):
    """A difference between siblings: `old[i1:i2]` was replaced by `new[j1:j2]`. One of the ranges may be empty."""

    i1: int
    i2: int
    j1: int
    j2: int

    @property
    def is_edit(self) -> bool:
        """True if one block was replaced by one block."""
        return self.i2 - self.i1 == self.j2 - self.j1 == 1

    @property
    def is_addition(self) -> bool:
        return self.i1 == self.i2

    @property
    def is_deletion(self) -> bool:
        return self.j1 == self.j2


def find_hunks(old: Blocks, new: Blocks) -> list[Hunk]:
    """Return the differences between two lists of siblings. Old and new blocks that share words are in one hunk."""
    hunks: list[Hunk] = []
    for changed_range in diff_ranges([block.key for block in old], [block.key for block in new], unique_first=True):
        if not changed_range.equal:
            hunks += _split_difference(
                old, new, Hunk(changed_range.i1, changed_range.i2, changed_range.j1, changed_range.j2)
            )
    for number, hunk in enumerate(hunks):
        before = hunk.i1 - (hunks[number - 1].i2 if number else 0)
        after = (hunks[number + 1].i1 if number + 1 < len(hunks) else len(old)) - hunk.i2
        hunks[number] = _shift_hunk(old, new, hunk, before, after)
    return hunks


def _shift_hunk(old: Blocks, new: Blocks, hunk: Hunk, before: int, after: int) -> Hunk:
    """Return an addition or deletion at an equivalent position: where it begins with the highest heading, or else the
    last. Return other hunks unchanged. `before` and `after` are the numbers of unchanged blocks around `hunk`."""
    if not (hunk.is_addition or hunk.is_deletion):
        return hunk
    blocks, start, end = (new, hunk.j1, hunk.j2) if hunk.is_addition else (old, hunk.i1, hunk.i2)
    shifts = [0]
    while -shifts[0] < before and blocks[start + shifts[0] - 1].key == blocks[end + shifts[0] - 1].key:
        shifts.insert(0, shifts[0] - 1)
    while shifts[-1] < after and blocks[start + shifts[-1]].key == blocks[end + shifts[-1]].key:
        shifts.append(shifts[-1] + 1)
    shift = min(shifts, key=lambda each: (blocks[start + each].level or 7, -each))  # Of equal levels, take the last.
    return Hunk(*(position + shift for position in hunk))


def word_similarity(one: SourceBlock, other: SourceBlock) -> float:
    """Return the share of words that two blocks have in common, from 0 to 1."""
    shared_count = sum((Counter(one.words) & Counter(other.words)).values())
    return 2 * shared_count / max(1, len(one.words) + len(other.words))


def equal_word_ranges(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return the ranges of equal words as old index, new index and length. Empty if the texts are too long to compare."""
    counts, new_counts = Counter(old), Counter(new)
    pair_count = sum(count * new_counts[word] for word, count in counts.items() if not word.isspace())
    if max(len(old), len(new)) > _WORD_LIMIT or pair_count > _PAIR_LIMIT:
        return []
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    return [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size]


def _split_difference(old: Blocks, new: Blocks, difference: Hunk) -> list[Hunk]:
    """Split a difference into smaller hunks. Old and new blocks with common words are in one hunk."""
    hunks: list[Hunk] = []
    i, j = difference.i1, difference.j1
    end = Hunk(difference.i2, difference.i2, difference.j2, difference.j2)
    for related_range in [*_related_ranges(old, new, difference), end]:
        hunk_between = Hunk(i, related_range.i1, j, related_range.j1)
        i, j = related_range.i2, related_range.j2
        if _adds_deleted_text(old, new, hunk_between, related_range):
            related_range = related_range._replace(i1=hunk_between.i1)
        elif hunks and _adds_deleted_text(old, new, hunk_between, hunks[-1]):
            hunks[-1] = hunks[-1]._replace(i2=hunk_between.i2)
        else:
            hunks += _split_unrelated(old, new, hunk_between)
        if not related_range.is_addition:
            hunks.append(related_range)
    return hunks


def _adds_deleted_text(old: Blocks, new: Blocks, deletion: Hunk, edit: Hunk) -> bool:
    """Return whether `edit` contains the text that `deletion` removes. It must add most of the sequences of three words
    (or all words of a shorter text), or its new version must begin with the same words, unlike its old version."""
    deleted, edited, added = old[deletion.i1 : deletion.i2], old[edit.i1 : edit.i2], new[edit.j1 : edit.j2]
    if not deleted or not added or not deletion.is_deletion:
        return False
    texts = ("\n".join(block.source for block in side) for side in (deleted, edited, added))
    words = [WORD.findall(_NOTATION.sub("", text)) for text in texts]
    length = min(3, len(words[0]))
    lost, before, after = (Counter(zip(*(each[n:] for n in range(length)), strict=False)) for each in words)
    beginnings = [each[:MIN_ADDED_WORDS] for each in words]
    is_new_beginning = len(beginnings[0]) == MIN_ADDED_WORDS and beginnings[0] == beginnings[2] != beginnings[1]
    return is_new_beginning or 2 * (lost & (after - before)).total() > lost.total()


def _split_unrelated(old: Blocks, new: Blocks, hunk: Hunk) -> Iterator[Hunk]:
    i1, i2, j1, j2 = hunk
    if hunk.is_deletion:
        yield from (Hunk(i1 + start, i1 + end, j1, j1) for start, end in section_ranges(old[i1:i2]))
    elif hunk.is_addition:
        yield hunk
    elif [each.name for each in old[i1:i2]] == [each.name for each in new[j1:j2]] and (
        hunk.is_edit or old[i1].kind == "line"
    ):
        yield from (Hunk(i1 + n, i1 + n + 1, j1 + n, j1 + n + 1) for n in range(i2 - i1))
    else:
        yield hunk


def _related_ranges(old: Blocks, new: Blocks, difference: Hunk) -> list[Hunk]:
    """Return hunks inside `difference` whose blocks share words, such as a paragraph that was split into several."""
    old_blocks = old[difference.i1 : difference.i2]
    new_blocks = [_words_without_moves(block, old_blocks) for block in new[difference.j1 : difference.j2]]
    word_counts = [len(words) for words in new_blocks]
    old_words = [(word, i) for i, block in enumerate(old_blocks, difference.i1) for word in block.words]
    new_words = [(word, j) for j, words in enumerate(new_blocks, difference.j1) for word in words]
    shared_counts: Counter[tuple[int, int]] = Counter()
    for a, b, size in equal_word_ranges([word for word, _ in old_words], [word for word, _ in new_words]):
        pair_counts = Counter((old_words[a + n][1], new_words[b + n][1]) for n in range(size))
        for (i, j), count in pair_counts.items():
            are_short = old[i].kind == "row" or min(len(old[i].words), word_counts[j - difference.j1]) <= 3
            if count > 1 or are_short:  # In longer texts, one equal word is a coincidence.
                shared_counts[i, j] += count
    related_ranges: list[Hunk] = []
    for (i, j), count in sorted(shared_counts.items()):
        if not _are_related(old[i], new[j], count, min(len(old[i].words), word_counts[j - difference.j1])):
            continue
        if related_ranges and (i < related_ranges[-1].i2 or j < related_ranges[-1].j2):
            previous = related_ranges.pop()
            related_ranges.append(Hunk(previous.i1, max(previous.i2, i + 1), previous.j1, max(previous.j2, j + 1)))
        else:
            related_ranges.append(Hunk(i, i + 1, j, j + 1))
    return related_ranges


def _words_without_moves(block: SourceBlock, old: Blocks) -> tuple[str, ...]:
    """Return the words of a new block, except the words of blocks that moved here from outside of the blocks `old`."""
    if not any(each.move for each in block.walk()):
        return block.words
    if block.move is not None:
        return block.words if any(block.move.base is each for top in old for each in top.walk()) else ()
    return (
        *WORD.findall(block.head),
        *(word for child in block.children or () for word in _words_without_moves(child, old)),
    )


def _are_related(old: SourceBlock, new: SourceBlock, shared_count: int, shorter_length: int) -> bool:
    """Return whether two blocks belong together. They share `shared_count` words. The shorter block has
    `shorter_length` words."""
    if shared_count < _MIN_SHARED * shorter_length:
        return False
    kinds = {old.kind, new.kind}
    is_part_of_container = shared_count == shorter_length and "container" in kinds
    return len(kinds) == 1 or shared_count >= 3 or is_part_of_container


Region: TypeAlias = Versions[slice]
"""A range of siblings in the base, and the corresponding ranges on main and in the change request."""


class _Change(NamedTuple):
    """A hunk of one side. `side` is 0 for main and 1 for the change request."""

    hunk: Hunk
    side: int


MovedBlocks: TypeAlias = tuple[frozenset[SourceBlock], frozenset[SourceBlock]]
"""Blocks of the base that main moved, and blocks that the change request moved. The other side did not delete them."""
NO_MOVES: MovedBlocks = (frozenset(), frozenset())


def find_regions(siblings: Versions[Blocks], moved: MovedBlocks) -> Iterator[Region]:
    """Yield the regions in which main or the change request changed something, in order. Overlapping hunks of both
    sides, and hunks that depend on each other, form one region."""
    sides = (siblings.main, siblings.request)
    changes = sorted(_Change(hunk, side) for side in (0, 1) for hunk in find_hunks(siblings.base, sides[side]))
    regions: list[list[_Change]] = []
    for change in changes:
        regions.append([change])
        while len(regions) > 1 and _are_one_region(regions[-2], regions[-1], siblings, moved):
            previous = regions.pop()
            regions[-1] += previous
    shifts = [0, 0]  # Number of blocks by which each side is longer than the base so far.
    for region in regions:
        start, stop = min(each.hunk.i1 for each in region), max(each.hunk.i2 for each in region)
        starts = [start + shift for shift in shifts]
        for hunk, side in region:
            shifts[side] += (hunk.j2 - hunk.j1) - (hunk.i2 - hunk.i1)
        main, request = (slice(each, stop + shift) for each, shift in zip(starts, shifts, strict=True))
        yield Versions(slice(start, stop), main, request)


def _are_one_region(
    first: list[_Change], second: list[_Change], siblings: Versions[Blocks], moved: MovedBlocks
) -> bool:
    """Return whether two regions must be merged as one: they overlap, or touch with changes that belong together."""
    start, stop = min(each.hunk.i1 for each in second), max(each.hunk.i2 for each in first)
    if start != stop:
        return start < stop
    is_changed_by_both = {each.side for each in (*first, *second) if not each.hunk.is_addition} == {0, 1}
    return any(
        _belong_together(one, other, siblings, moved, is_changed_by_both=is_changed_by_both)
        for one in first
        for other in second
        if one.side != other.side and one.hunk.i2 == other.hunk.i1
    )


def _belong_together(
    first: _Change, second: _Change, siblings: Versions[Blocks], moved: MovedBlocks, *, is_changed_by_both: bool
) -> bool:
    """Return whether two adjacent changes of different sides must be merged together. `is_changed_by_both` is True if
    both sides changed or deleted blocks in the regions of the two changes, and did not only add blocks."""
    if first.hunk.is_addition and second.hunk.is_addition:
        return True  # Both sides added blocks at this position, in an unknown order.
    if not first.hunk.is_addition and not second.hunk.is_addition:
        return False  # The sides changed different blocks, so both changes apply.
    is_before = first.hunk.is_addition
    addition, other_change = (first, second) if is_before else (second, first)
    sides = (siblings.main, siblings.request)
    added = sides[addition.side][addition.hunk.j1 : addition.hunk.j2]
    old = siblings.base[other_change.hunk.i1 : other_change.hunk.i2]
    new = sides[other_change.side][other_change.hunk.j1 : other_change.hunk.j2]
    if other_change.hunk.is_edit and old[0].name == new[0].name:
        # If both sides changed the block, an added block that is similar to it may be its new version.
        return is_changed_by_both and any(word_similarity(old[0], each) >= MIN_MOVED_LIKENESS for each in added)
    if all(each.kind in ROWS_AND_ITEMS for each in (*added, *old)):
        return False  # Rows and items do not depend on their neighbors.
    if other_change.hunk.is_deletion and all(each in moved[other_change.side] for each in old):
        return False  # The old blocks were only moved, so the addition can stay.
    if all(each.move for each in added):
        # Moved blocks conflict only with the deletion of their new section.
        headings = [each.level for each in old if each.level and each not in moved[other_change.side]]
        is_in_section = bool(headings) and (not added[0].level or min(headings) < added[0].level)
        return other_change.hunk.is_deletion and not is_before and is_in_section
    if is_before:
        # An addition before a heading belongs to the section above, unless text or a lower heading replaced the
        # heading.
        is_section = bool(old[0].level) and (not new or 0 < new[0].level <= old[0].level)
        return not is_section
    # An added section belongs to the change before it only if the change contains a higher heading.
    return not added[0].level or any(0 < each.level < added[0].level for each in (*old, *new))


_NEVER_MOVED = frozenset({"line", "page", "front", "field"})
_MIN_LETTERS = 3
"""Minimum number of letters of a block that counts as moved. Headings may be shorter."""
_MIN_MOVED_WORDS = 4
"""Minimum number of words of a block that can count as both moved and edited."""
MIN_ADDED_WORDS = 5
"""Minimum number of words of a new block that is recognized at another position."""
MIN_MOVED_LIKENESS = 0.6
"""Minimum share of equal words in two versions of a moved block."""
_MIN_REWRITTEN_LIKENESS = 0.1
"""Share of equal words above which blocks at the same position are versions of one block."""
_MOVE_PAIR_LIMIT = 4000
"""Maximum number of pairs of blocks that are compared to find moves."""

_Changes: TypeAlias = dict[SourceBlock, list[SourceBlock]]
"""For each block that changes in a tree, the blocks to put in its place."""


class _Addition(NamedTuple):
    siblings: Sequence[SourceBlock]
    """Blocks of the base among which the new blocks were added."""
    position: int
    """Index in `siblings` of the block that follows the new blocks. `len(siblings)` if no block follows."""
    blocks: Sequence[SourceBlock]


class _Counterparts:
    """Finds out for each block of the base what one side did with it: kept, moved, replaced or deleted."""

    def __init__(self, base: SourceBlock, side: SourceBlock, edited_blocks: frozenset[SourceBlock]) -> None:
        self.unmoved: dict[SourceBlock, SourceBlock] = {}
        """For each block of the base that stayed at its position, its version on this side, perhaps edited."""
        self.replacements: dict[SourceBlock, tuple[SourceBlock, ...]] = {}
        """For each block of the base that was split or turned into another kind, the new blocks of this side."""
        self.moved: dict[SourceBlock, SourceBlock] = {}
        """For each block of the base that was moved, its version on this side."""
        self.added: list[_Addition] = []
        self._rewritten: set[SourceBlock] = set()
        """Old and new versions of blocks that this side rewrote in place. They never count as both moved and edited."""
        self._dissimilar_pairs: list[tuple[SourceBlock, SourceBlock]] = []
        """Pairs of a base block and the block that is now at its position. The two share few words, or one of them
        seems to be moved. They count as versions of one block only if neither was moved."""
        self._side = side
        base_counts, side_counts = (Counter(each.key for each in tree.walk()) for tree in (base, side))
        self._unique_keys = {key for key, count in base_counts.items() if count == side_counts[key] == 1}
        """Keys of blocks that occur once in the base and once on this side."""
        self._parents = {child: each for tree in (base, side) for each in tree.walk() for child in each.children or ()}
        self._pair(base, side)
        self._rewritten -= edited_blocks
        paired_blocks = {*self.unmoved, *self.unmoved.values()}
        self._find_moves(*([each for each in tree.walk() if each not in paired_blocks] for tree in (base, side)))
        arrived_blocks = set(self.moved.values())
        for old, new in self._dissimilar_pairs:
            if old not in self.moved and new not in arrived_blocks:
                self._pair(old, new)
        self._base_of = {new: old for old, new in self.unmoved.items()}
        self._arrived = set(self.moved.values())

    @cached_property
    def base_neighbors(self) -> dict[SourceBlock, tuple[SourceBlock | None, SourceBlock | None]]:
        """For each block of this side, its parent and its nearest earlier unmoved sibling, as blocks of the base. None
        if the parent was added, moved or replaced, or if there is no such sibling."""
        base_neighbors: dict[SourceBlock, tuple[SourceBlock | None, SourceBlock | None]] = {}
        for parent in self._side.walk():
            before: SourceBlock | None = None
            for child in parent.children or ():
                base_neighbors[child] = self._base_of.get(parent), before
                before = self._base_of.get(child, before)
        return base_neighbors

    @cached_property
    def added_runs(self) -> dict[SourceBlock, tuple[Blocks, int]]:
        """For each block that this side added: its run, and its index in the run. A run is a sequence of siblings that
        this side added. A run with kinds in `_NEVER_MOVED` is left out."""
        known_blocks = {*self._base_of, *self._arrived}
        runs: dict[SourceBlock, tuple[Blocks, int]] = {}
        for parent in self._side.walk():
            for is_known, siblings in groupby(parent.children or (), known_blocks.__contains__):
                run = tuple(siblings)
                if not is_known and _NEVER_MOVED.isdisjoint(each.kind for each in run):
                    runs.update((each, (run, index)) for index, each in enumerate(run))
        return runs

    def _pair(self, old: SourceBlock, new: SourceBlock) -> None:
        self.unmoved[old] = new
        old_children, new_children = old.children or (), new.children or ()
        i = j = 0
        hunks = find_hunks(old_children, new_children) if old.key != new.key else []
        for hunk in [*hunks, Hunk(len(old_children), len(old_children), len(new_children), len(new_children))]:
            for one, other in zip(old_children[i : hunk.i1], new_children[j : hunk.j1], strict=True):
                self._pair(one, other)
            before, after = old_children[hunk.i1 : hunk.i2], new_children[hunk.j1 : hunk.j2]
            if hunk.is_edit and before[0].name == after[0].name:
                is_moved = not self._unique_keys.isdisjoint((before[0].key, after[0].key))
                # A text may be an edited version of a text elsewhere. Other blocks are followed child by child.
                min_likeness = _MIN_REWRITTEN_LIKENESS if before[0].children else MIN_MOVED_LIKENESS
                is_similar = word_similarity(before[0], after[0]) > min_likeness and not is_moved
                # An export may give all pictures new numbers, so one picture gets the name of another.
                are_pictures = not is_similar and not any(map(_words_without_pictures, (before[0], after[0])))
                if is_similar or are_pictures or before[0].kind in _NEVER_MOVED:
                    self._pair(before[0], after[0])
                else:
                    self._dissimilar_pairs.append((before[0], after[0]))
            elif before and after:
                if len(before) * len(after) > _MOVE_PAIR_LIMIT:
                    self._rewritten.update(before, after)
                else:
                    for one, other in product(before, after):
                        if word_similarity(one, other) > _MIN_REWRITTEN_LIKENESS:
                            self._rewritten |= {one, other}
                if len(before) == 1:
                    self.replacements[before[0]] = after
            elif after:
                self.added.append(_Addition(old_children, hunk.i1, after))
            i, j = hunk.i2, hunk.j2

    def _find_moves(self, deleted: list[SourceBlock], added: list[SourceBlock]) -> None:
        """Find blocks deleted at one position and added at another: equal, then similar blocks. Add them to `moved`."""
        deleted_counts, added_counts = Counter(each.key for each in deleted), Counter(each.key for each in added)
        added_by_key = {each.key: each for each in added}
        arrived_blocks: set[SourceBlock] = set()
        for old in deleted:
            new = added_by_key.get(old.key)
            is_known = bool(old.level) or sum(map(len, old.words)) >= _MIN_LETTERS
            occurs_once = deleted_counts[old.key] == added_counts[old.key] == 1
            is_free = old not in self.moved and new not in arrived_blocks
            if new is not None and is_known and occurs_once and is_free and self._may_move(old, new):
                self.moved.update(zip(old.walk(), new.walk(), strict=True))
                arrived_blocks.update(new.walk())
        unpaired_blocks = [each for each in deleted if each not in self.moved and self._may_be_moved_and_edited(each)]
        candidates = [each for each in added if each not in arrived_blocks and self._may_be_moved_and_edited(each)]
        if len(unpaired_blocks) * len(candidates) > _MOVE_PAIR_LIMIT:
            return
        for old in unpaired_blocks:
            free_blocks = (each for each in candidates if each.name == old.name and each not in arrived_blocks)
            possible_blocks = (each for each in free_blocks if self._may_move(old, each))
            closest_block = max(possible_blocks, key=lambda each: word_similarity(old, each), default=None)
            if (
                closest_block is not None
                and word_similarity(old, closest_block) >= MIN_MOVED_LIKENESS
                and self._is_closest(old, closest_block)
            ):
                self.moved[old] = closest_block
                arrived_blocks.update(closest_block.walk())

    def _is_closest(self, old: SourceBlock, new: SourceBlock) -> bool:
        """Return whether no block that stayed is more similar to `new` than `old` is."""
        likeness, words = word_similarity(old, new), set(new.words)
        return not any(
            each.name == old.name
            # A quick upper bound of the similarity comes first, to save the slow exact comparison.
            and 2 * sum(map(words.__contains__, each.words)) > likeness * (len(each.words) + len(new.words))
            and word_similarity(each, new) > likeness
            for each in self.unmoved
        )

    def is_addition(self, block: SourceBlock) -> bool:
        """Return whether this side added the block, and the block can be recognized at another position. A row or item
        needs a table or list that is in the base too. Other blocks need a heading or `MIN_ADDED_WORDS` words."""
        if block.kind in ROWS_AND_ITEMS:
            return block in self.added_runs and self.base_neighbors[block][0] is not None
        return block in self.added_runs and (bool(block.level) or len(block.words) >= MIN_ADDED_WORDS)

    def addition_key(self, block: SourceBlock) -> tuple[SourceBlock | None, str]:
        """Return the key of an added block. Rows of different tables have different keys, and so do items."""
        return self.base_neighbors[block][0] if block.kind in ROWS_AND_ITEMS else None, block.key

    def has_moved_into(self, addition: _Addition) -> bool:
        return any(each in self._arrived for block in addition.blocks for each in block.walk())

    def _may_be_moved_and_edited(self, block: SourceBlock) -> bool:
        is_long = len(_words_without_pictures(block)) >= _MIN_MOVED_WORDS
        return is_long and block not in self._rewritten and block.kind not in _NEVER_MOVED

    def _may_move(self, old: SourceBlock, new: SourceBlock) -> bool:
        """Return whether the block `old` may have moved to the place of `new`. A row can move only within its table."""
        if old.kind in _NEVER_MOVED:
            return False
        return old.kind != "row" or self.unmoved.get(self._parents[old]) is self._parents[new]


def _words_without_pictures(block: SourceBlock) -> list[str]:
    """Return the words of a block, without the file names of pictures, which are often similar by chance."""
    return WORD.findall(_PICTURE.sub("", block.source))


def follow_moves(
    versions: Versions[SourceBlock], edited_blocks: frozenset[SourceBlock] = frozenset()
) -> tuple[SourceBlock, SourceBlock, MovedBlocks]:
    """Prepare the merge of moved blocks. Return main, the change request, and the blocks of the base that each side
    moved. A moved block gets a `Move` with the version of the other side. If the other side did not move the block, the
    block of the base replaces that version at the old position. So the edits of the other side are merged only at the
    new position. `edited_blocks` may count as moved and edited, although their positions have similar blocks."""
    sides = [_Counterparts(versions.base, each, edited_blocks) for each in versions[1:]]
    changes: tuple[_Changes, _Changes] = ({}, {})
    moved_by_side: tuple[set[SourceBlock], set[SourceBlock]] = (set(), set())
    for side, (mover_blocks, other) in enumerate((sides, sides[::-1])):
        # Maps each moved block of the base to the blocks of the other side at its old position.
        blocks_at_old_position: dict[SourceBlock, list[SourceBlock]] = {}
        for old, new in mover_blocks.moved.items():
            if new in changes[side]:
                continue  # The pass for main has replaced `new`, because main moved away the text at this position.
            other_block = other.moved.get(old) or other.unmoved.get(old)
            blocks = other.replacements.get(old, ()) if other_block is None else (other_block,)
            is_moved_by_both = (
                old in other.moved
                and other_block is not None
                and mover_blocks.base_neighbors[new] != other.base_neighbors[other_block]
            )
            changes[side][new] = [replace(new, move=Move(old, blocks, is_moved_by_both))]
            if blocks:
                moved_by_side[side].add(old)
            if blocks and old not in other.moved:
                blocks_at_old_position[old] = [*blocks]
        for addition in other.added:
            last = addition.siblings[addition.position - 1] if addition.position else None
            # Blocks that the other side added to the moved text move with this text.
            if (
                last in blocks_at_old_position
                and _belongs_to_moved(addition, mover_blocks.moved)
                and not other.has_moved_into(addition)
            ):
                changes[side][mover_blocks.moved[last]] += addition.blocks
                blocks_at_old_position[last] += addition.blocks
        for old, replaced in blocks_at_old_position.items():
            if len(replaced) > 1 or replaced[0].key != old.key:
                changes[1 - side].update({each: [] for each in replaced[1:]})
                changes[1 - side][replaced[0]] = [replace(old, gap=replaced[-1].gap, replaced_blocks=tuple(replaced))]
    for adjacent_pairs in _equal_additions(versions, sides):
        for pair in adjacent_pairs:
            for side, (new, other_version) in enumerate((pair, pair[::-1])):
                move = Move(pair[0], (other_version,), is_moved_by_both=True, first_added=adjacent_pairs[0][0])
                changes[side].setdefault(new, [replace(new, move=move)])
    main, request = _with_changes(versions.main, changes[0]), _with_changes(versions.request, changes[1])
    return main, request, (frozenset(moved_by_side[0]), frozenset(moved_by_side[1]))


def _equal_additions(
    versions: Versions[SourceBlock], sides: Sequence[_Counterparts]
) -> Iterator[list[tuple[SourceBlock, SourceBlock]]]:
    """Yield lists of pairs (main, change request) of blocks that both sides added at different positions. The blocks of
    a list are adjacent, and at least one pair is equal. A block that only one side has is paired with itself."""
    base_keys: set[tuple[SourceBlock | None, str]] = set()
    for each in versions.base.walk():
        base_keys |= {(None, each.key), *((each, child.key) for child in each.children or ())}
    additions = [
        [each for each in tree.walk() if side.is_addition(each) and side.addition_key(each) not in base_keys]
        for tree, side in zip(versions[1:], sides, strict=True)
    ]
    counts = [Counter(map(side.addition_key, blocks)) for blocks, side in zip(additions, sides, strict=True)]
    blocks_by_key = {sides[1].addition_key(each): each for each in additions[1]}
    found_blocks: set[SourceBlock] = set()
    for block in additions[0]:
        key = sides[0].addition_key(block)
        equal_block = blocks_by_key.get(key) if counts[0][key] == counts[1][key] == 1 else None
        if (
            equal_block is None
            or block in found_blocks
            or sides[0].base_neighbors[block] == sides[1].base_neighbors[equal_block]
        ):
            continue
        (main, i), (request, j) = sides[0].added_runs[block], sides[1].added_runs[equal_block]
        before = _count_similar_at_start(reversed(main[:i]), reversed(request[:j]))
        after = _count_similar_at_start(main[i + 1 :], request[j + 1 :])
        main = _whole_sections(main, i - before, i + after + 1)
        request = _whole_sections(request, j - before, j + after + 1)
        # Equal texts of two new sections stay in both, unless the sections are versions of one section.
        has_heading = bool(main[0].level or request[0].level)
        if not has_heading or _are_versions_of_section(main, request):
            # A block of only one side is moved with its section.
            own_blocks = *main[len(request) :], *request[len(main) :]
            yield [*zip(main, request, strict=False), *zip(own_blocks, own_blocks, strict=True)]
            found_blocks.update(inner for new in main for inner in new.walk())


def _whole_sections(run: Blocks, start: int, stop: int) -> Blocks:
    """Return the blocks `run[start:stop]` with the heading above them, and with the rest of their last section."""
    start = next((index for index in range(start, -1, -1) if run[index].level), start)
    level = next((each.level for each in reversed(run[start:stop]) if each.level), 0)
    while level and stop < len(run) and not 0 < run[stop].level <= level:
        stop += 1
    return run[start:stop]


def _are_versions_of_section(main: Blocks, request: Blocks) -> bool:
    """Return whether two sections have equal headings and similar texts."""
    one, other = (SourceBlock("section", "", tuple(blocks)) for blocks in (main, request))
    has_texts = len(main) > 1 and len(request) > 1
    return main[0].key == request[0].key and has_texts and word_similarity(one, other) >= MIN_MOVED_LIKENESS


def _count_similar_at_start(main: Iterable[SourceBlock], request: Iterable[SourceBlock]) -> int:
    """Return how many blocks at the start of `main` are versions of the blocks at the same positions in `request`."""
    are_versions = (_are_versions(one, other) for one, other in zip(main, request, strict=False))
    return sum(1 for _ in takewhile(bool, are_versions))


def _are_versions(one: SourceBlock, other: SourceBlock) -> bool:
    """Return whether two blocks are equal or similar. For rows and items, return True only if they are equal."""
    if one.key == other.key or one.kind in ROWS_AND_ITEMS:
        return one.key == other.key
    return one.name == other.name and word_similarity(one, other) >= MIN_MOVED_LIKENESS


def _belongs_to_moved(addition: _Addition, moved: Mapping[SourceBlock, SourceBlock]) -> bool:
    """Return whether added blocks belong to text that moved. If the heading above them moved, they must contain no
    heading of its level or a higher level. Otherwise, the next block must have moved, and must not be a heading."""
    siblings, index, blocks = addition
    heading = next((sibling for sibling in reversed(siblings[:index]) if sibling.level), None)
    if heading is not None and heading in moved:
        return not any(0 < block.level <= heading.level for block in blocks)
    return index < len(siblings) and siblings[index] in moved and not siblings[index].level


def _with_changes(block: SourceBlock, changes: _Changes) -> SourceBlock:
    if not block.children:
        return block
    children: list[SourceBlock] = []
    for child in block.children:
        children += changes[child] if child in changes else [_with_changes(child, changes)]
    is_same = len(children) == len(block.children) and all(map(is_, children, block.children))
    return block if is_same else replace(block, children=tuple(children))
