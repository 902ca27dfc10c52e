"""Compares the siblings of two texts, block by block: which blocks stayed, and what became of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from octavo.documents.sequences import diff_ranges
from octavo.documents.source_blocks import ROWS_AND_ITEMS, WORD, Blocks, SourceBlock, Versions, sections

_PAIR_LIMIT = 50_000
"""Texts with more pairs of equal words, or with more words than `_WORD_LIMIT`, are not compared word by word."""
_WORD_LIMIT = 8_000
_LEAST_SHARED = 0.4
"""Share of the words of the shorter of two blocks that the longer block must have too, so that they are in one hunk."""


class Hunk(NamedTuple):
    """`old[i1:i2]` became `new[j1:j2]`. Either range may be empty."""

    i1: int
    i2: int
    j1: int
    j2: int

    @property
    def is_edit(self) -> bool:
        """Whether a single block was replaced by a single block."""
        return self.i2 - self.i1 == self.j2 - self.j1 == 1

    @property
    def is_addition(self) -> bool:
        return self.i1 == self.i2

    @property
    def is_deletion(self) -> bool:
        return self.j1 == self.j2


def hunks(old: Blocks, new: Blocks) -> list[Hunk]:
    """Return the differences between two lists of siblings. Hunks are as small as possible, but blocks that share many words are in
    one hunk."""
    found: list[Hunk] = []
    for each in diff_ranges([block.key for block in old], [block.key for block in new], landmarks=True):
        if not each.equal:
            found += _divided(old, new, Hunk(each.i1, each.i2, each.j1, each.j2))
    for number, hunk in enumerate(found):
        before = hunk.i1 - (found[number - 1].i2 if number else 0)
        after = (found[number + 1].i1 if number + 1 < len(found) else len(old)) - hunk.i2
        found[number] = _shift_to_heading(old, new, hunk, before, after)
    return found


def _shift_to_heading(old: Blocks, new: Blocks, hunk: Hunk, before: int, after: int) -> Hunk:
    """Shift an addition or a deletion so that it begins with a heading, if the same result can be described so. `before` and `after`
    are the numbers of equal blocks on both sides of the hunk."""
    if not (hunk.is_addition or hunk.is_deletion):
        return hunk
    blocks, start, end = (new, hunk.j1, hunk.j2) if hunk.is_addition else (old, hunk.i1, hunk.i2)
    shifts = [0]
    while -shifts[0] < before and blocks[start + shifts[0] - 1].key == blocks[end + shifts[0] - 1].key:
        shifts.insert(0, shifts[0] - 1)
    while shifts[-1] < after and blocks[start + shifts[-1]].key == blocks[end + shifts[-1]].key:
        shifts.append(shifts[-1] + 1)
    shift = min(shifts, key=lambda each: (blocks[start + each].level or 7, abs(each)))
    return Hunk(*(place + shift for place in hunk)) if blocks[start + shift].level else hunk


def likeness(one: SourceBlock, other: SourceBlock) -> float:
    """Return how many of their words two blocks share, from 0 to 1."""
    shared = sum((Counter(one.words) & Counter(other.words)).values())
    return 2 * shared / max(1, len(one.words) + len(other.words))


def matching_runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return (place in old, place in new, length) of the runs of words that two texts share. Empty if the texts are too long."""
    counts, others = Counter(old), Counter(new)
    pairs = sum(count * others[word] for word, count in counts.items() if not word.isspace())
    if max(len(old), len(new)) > _WORD_LIMIT or pairs > _PAIR_LIMIT:
        return []
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    return [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size]


def _divided(old: Blocks, new: Blocks, difference: Hunk) -> Iterator[Hunk]:
    """Divide a difference into ranges of blocks that share words, and the blocks between these ranges."""
    i, j = difference.i1, difference.j1
    end = Hunk(difference.i2, difference.i2, difference.j2, difference.j2)
    for related in [*_related_ranges(old, new, difference), end]:
        yield from _between_related(old, new, Hunk(i, related.i1, j, related.j1))
        if not related.is_addition:
            yield related
        i, j = related.i2, related.j2


def _between_related(old: Blocks, new: Blocks, rest: Hunk) -> Iterator[Hunk]:
    i1, i2, j1, j2 = rest
    if rest.is_deletion:
        yield from (Hunk(i1 + start, i1 + end, j1, j1) for start, end in sections(old[i1:i2]))
    elif rest.is_addition:
        yield rest
    elif [each.name for each in old[i1:i2]] == [each.name for each in new[j1:j2]] and (
        rest.is_edit or old[i1].kind == "line"
    ):
        yield from (Hunk(i1 + n, i1 + n + 1, j1 + n, j1 + n + 1) for n in range(i2 - i1))
    else:
        yield rest


def _related_ranges(old: Blocks, new: Blocks, difference: Hunk) -> list[Hunk]:
    """Find blocks that share runs of words: a paragraph and its two halves, a hint and the paragraphs that were in it."""
    old_blocks = old[difference.i1 : difference.i2]
    new_blocks = [_without_moves(block, old_blocks) for block in new[difference.j1 : difference.j2]]
    counts = [len(words) for words in new_blocks]
    old_words = [(word, i) for i, block in enumerate(old_blocks, difference.i1) for word in block.words]
    new_words = [(word, j) for j, words in enumerate(new_blocks, difference.j1) for word in words]
    shared: Counter[tuple[int, int]] = Counter()
    for a, b, size in matching_runs([word for word, _ in old_words], [word for word, _ in new_words]):
        runs = Counter((old_words[a + n][1], new_words[b + n][1]) for n in range(size))
        for (i, j), count in runs.items():
            are_short = old[i].kind == "row" or min(len(old[i].words), counts[j - difference.j1]) <= 3
            if count > 1 or are_short:  # a single word of a long text is there by chance
                shared[i, j] += count
    found: list[Hunk] = []
    for (i, j), count in sorted(shared.items()):
        if not _are_related(old[i], new[j], count, min(len(old[i].words), counts[j - difference.j1])):
            continue
        if found and (i < found[-1].i2 or j < found[-1].j2):
            last = found.pop()
            found.append(Hunk(last.i1, max(last.i2, i + 1), last.j1, max(last.j2, j + 1)))
        else:
            found.append(Hunk(i, i + 1, j, j + 1))
    return found


def _without_moves(block: SourceBlock, old: Blocks) -> tuple[str, ...]:
    """Return the words of a block, without the words of blocks that were moved into it from elsewhere than `old`."""
    if not any(each.move for each in block.walk()):
        return block.words
    if block.move is not None:
        return block.words if any(block.move.base is each for top in old for each in top.walk()) else ()
    return (*WORD.findall(block.head), *(word for child in block.children or () for word in _without_moves(child, old)))


def _are_related(old: SourceBlock, new: SourceBlock, shared: int, least: int) -> bool:
    """Return whether two blocks that share so many words are in one hunk. `least` is the number of words of the shorter block."""
    if shared < _LEAST_SHARED * least:
        return False
    kinds = {old.kind, new.kind}
    is_part_of_container = shared == least and "container" in kinds
    return len(kinds) == 1 or shared >= 3 or is_part_of_container


Region: TypeAlias = Versions[slice]
"""A range of siblings: where it is in the base, in main and in the change request."""


class _Change(NamedTuple):
    """A hunk of one side: 0 is main, 1 is the change request."""

    hunk: Hunk
    side: int


MovedBlocks: TypeAlias = tuple[frozenset[SourceBlock], frozenset[SourceBlock]]
"""The blocks of the base that main moved, and those that the change request moved."""
NO_MOVES: MovedBlocks = (frozenset(), frozenset())


def regions(siblings: Versions[Blocks], moved: MovedBlocks) -> Iterator[Region]:
    """Yield the regions in order. Hunks of both sides that overlap or belong together are one region."""
    sides = (siblings.main, siblings.request)
    changes = sorted(_Change(hunk, side) for side in (0, 1) for hunk in hunks(siblings.base, sides[side]))
    found: list[list[_Change]] = []
    for change in changes:
        found.append([change])
        while len(found) > 1 and _are_one_region(found[-2], found[-1], siblings, moved):
            last = found.pop()
            found[-1] += last
    shifts = [0, 0]  # how many more blocks main and the change request have before this region than the base
    for region in found:
        start, stop = min(each.hunk.i1 for each in region), max(each.hunk.i2 for each in region)
        starts = [start + shift for shift in shifts]
        for hunk, side in region:
            shifts[side] += (hunk.j2 - hunk.j1) - (hunk.i2 - hunk.i1)
        main, request = (slice(each, stop + shift) for each, shift in zip(starts, shifts, strict=True))
        yield Versions(slice(start, stop), main, request)


def _are_one_region(
    first: list[_Change], second: list[_Change], siblings: Versions[Blocks], moved: MovedBlocks
) -> bool:
    """Return whether two regions overlap, or an addition of one side belongs to the neighbouring change of the other side."""
    start, stop = min(each.hunk.i1 for each in second), max(each.hunk.i2 for each in first)
    if start != stop:
        return start < stop
    return any(
        _belong_together(one, other, siblings, moved)
        for one in first
        for other in second
        if one.side != other.side and one.hunk.i2 == other.hunk.i1
    )


def _belong_together(first: _Change, second: _Change, siblings: Versions[Blocks], moved: MovedBlocks) -> bool:
    """Return whether two neighbouring changes, of different sides, are one region."""
    if first.hunk.is_addition and second.hunk.is_addition:
        return True  # their order is not known
    if not first.hunk.is_addition and not second.hunk.is_addition:
        return False  # each side changed blocks of its own
    is_before = first.hunk.is_addition
    added, changed = (first, second) if is_before else (second, first)
    sides = (siblings.main, siblings.request)
    new = sides[added.side][added.hunk.j1 : added.hunk.j2]
    old = siblings.base[changed.hunk.i1 : changed.hunk.i2]
    now = sides[changed.side][changed.hunk.j1 : changed.hunk.j2]
    if changed.hunk.is_edit and old[0].name == now[0].name:
        return False  # the old block is still there: the addition stays beside it
    if all(each.kind in ROWS_AND_ITEMS for each in (*new, *old)):
        return False  # rows and items are independent of their neighbours
    if changed.hunk.is_deletion and all(each in moved[changed.side] for each in old):
        return False  # the old blocks moved away: the addition stays
    if all(each.move for each in new):
        # Moved blocks are independent of their new neighbours. They conflict only with the deletion of the section they are in now.
        headings = [each.level for each in old if each.level and each not in moved[changed.side]]
        is_in_section = bool(headings) and (not new[0].level or min(headings) < new[0].level)
        return changed.hunk.is_deletion and not is_before and is_in_section
    if is_before:
        # An addition before a section belongs to the section before, if that section still ends there.
        is_section = bool(old[0].level) and (not now or 0 < now[0].level <= old[0].level)
        return not is_section
    # An addition behind the change belongs to it unless the addition begins a section that no section of the change contains.
    return not new[0].level or any(0 < each.level < new[0].level for each in (*old, *now))
