"""Finds the regions of siblings: ranges that main, the change request or both changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from octavo.documents.merging.block_alignment import Hunk, hunks
from octavo.documents.source_blocks import ROWS_AND_ITEMS, Blocks, SourceBlock, Versions

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
