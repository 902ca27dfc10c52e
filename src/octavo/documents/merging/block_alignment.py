"""Compares the siblings of two texts, block by block: which blocks stayed, and what became of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from octavo.documents.sequences import stretches
from octavo.documents.source_blocks import SourceBlock, sections

_MOST_PAIRS = 50_000
"""Pairs of equal words. Texts with more of them, or with more words than `_MOST_WORDS`, are not compared word by word."""
_MOST_WORDS = 8_000
_FAMILY = 0.4
"""Share of its words that a block has in common with each other block of its family."""


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


def hunks(old: Sequence[SourceBlock], new: Sequence[SourceBlock]) -> list[Hunk]:
    """Return the differences between two lists of siblings. Hunks are as small as possible, but words never move from one hunk to
    another."""
    found: list[Hunk] = []
    for each in stretches([block.key for block in old], [block.key for block in new], landmarks=True):
        if not each.equal:
            found += _divided(old, new, Hunk(each.i1, each.i2, each.j1, each.j2))
    for at, hunk in enumerate(found):
        before = hunk.i1 - (found[at - 1].i2 if at else 0)
        after = (found[at + 1].i1 if at + 1 < len(found) else len(old)) - hunk.i2
        found[at] = _slid(old, new, hunk, before, after)
    return found


def _slid(old: Sequence[SourceBlock], new: Sequence[SourceBlock], hunk: Hunk, before: int, after: int) -> Hunk:
    """Move an addition or a deletion between equal blocks, so that it begins with a heading where it can. `before` and `after` are how
    many blocks stayed the same on either side."""
    if not (hunk.is_addition or hunk.is_deletion):
        return hunk
    blocks, start, end = (new, hunk.j1, hunk.j2) if hunk.is_addition else (old, hunk.i1, hunk.i2)
    ways = [0]
    while -ways[0] < before and blocks[start + ways[0] - 1].key == blocks[end + ways[0] - 1].key:
        ways.insert(0, ways[0] - 1)
    while ways[-1] < after and blocks[start + ways[-1]].key == blocks[end + ways[-1]].key:
        ways.append(ways[-1] + 1)
    way = min(ways, key=lambda by: (blocks[start + by].level or 7, abs(by)))
    return Hunk(*(place + way for place in hunk)) if blocks[start + way].level else hunk


def likeness(one: SourceBlock, other: SourceBlock) -> float:
    """Return how many of their words two blocks share, from 0 to 1."""
    shared = sum((Counter(one.words) & Counter(other.words)).values())
    return 2 * shared / max(1, len(one.words) + len(other.words))


def matching_runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return (place in old, place in new, length) of the runs of words that two texts share. Empty if the texts are too long."""
    counts, others = Counter(old), Counter(new)
    if (
        max(len(old), len(new)) > _MOST_WORDS
        or sum(count * others[word] for word, count in counts.items() if not word.isspace()) > _MOST_PAIRS
    ):
        return []
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    return [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size]


def _divided(old: Sequence[SourceBlock], new: Sequence[SourceBlock], gap: Hunk) -> Iterator[Hunk]:
    """Divide a difference into families of blocks that share words, and the blocks between the families."""
    i, j = gap.i1, gap.j1
    for family in [*_families(old, new, gap), Hunk(gap.i2, gap.i2, gap.j2, gap.j2)]:
        yield from _between_families(old, new, Hunk(i, family.i1, j, family.j1))
        if not family.is_addition:
            yield family
        i, j = family.i2, family.j2


def _between_families(old: Sequence[SourceBlock], new: Sequence[SourceBlock], rest: Hunk) -> Iterator[Hunk]:
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


def _families(old: Sequence[SourceBlock], new: Sequence[SourceBlock], gap: Hunk) -> list[Hunk]:
    """Find blocks that share runs of words: a paragraph and its two halves, a hint and the paragraphs that were in it."""
    ours = [(word, i) for i in range(gap.i1, gap.i2) for word in old[i].own_words]
    theirs = [(word, j) for j in range(gap.j1, gap.j2) for word in new[j].own_words]
    shared: Counter[tuple[int, int]] = Counter()
    for a, b, size in matching_runs([word for word, _ in ours], [word for word, _ in theirs]):
        runs = Counter((ours[a + n][1], theirs[b + n][1]) for n in range(size))
        for (i, j), count in runs.items():
            are_short = old[i].kind == "row" or min(len(old[i].own_words), len(new[j].own_words)) <= 3
            if count > 1 or are_short:  # a single word of a long text is there by chance
                shared[i, j] += count
    families: list[Hunk] = []
    for (i, j), count in sorted(shared.items()):
        if not _are_related(old[i], new[j], count):
            continue
        if families and (i < families[-1].i2 or j < families[-1].j2):
            last = families.pop()
            families.append(Hunk(last.i1, max(last.i2, i + 1), last.j1, max(last.j2, j + 1)))
        else:
            families.append(Hunk(i, i + 1, j, j + 1))
    return families


def _are_related(old: SourceBlock, new: SourceBlock, shared: int) -> bool:
    """Return whether two blocks that share this many words are of one family."""
    least = min(len(old.own_words), len(new.own_words))
    if shared < _FAMILY * least:
        return False
    kinds = {old.kind, new.kind}
    is_part_of_container = shared == least and "container" in kinds
    return len(kinds) == 1 or shared >= 3 or is_part_of_container
