"""Groups of changes that a diff shows as one: blocks that moved together, and removed blocks with those in their place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from octavo.documents.blocks import Block
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    ContainerChange,
    Entry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
)
from octavo.tui.render.block_slices import is_long

MOST_PAIRED = 8
"""Maximum number of removed and of added blocks that are shown side by side in one unit."""
_MOST_LINES_APART = 5
"""Maximum number of lines between two blocks that moved together: blank lines and tags of containers."""


@dataclass(frozen=True)
class Replacement:
    """Removed blocks, and the blocks that were added in their place."""

    removed: tuple[Block, ...]
    added: tuple[Block, ...]
    entries: tuple[AddedBlock | RemovedBlock, ...]


def pair_replacements(entries: Sequence[Entry]) -> Iterator[Entry | Replacement]:
    """Yield the entries, with removals and additions in one place paired. Pairs are small, so that a unit is rendered
    quickly."""
    removed: list[RemovedBlock] = []
    added: list[AddedBlock] = []
    for entry in (*entries, None):
        if isinstance(entry, (AddedBlock, RemovedBlock)) and _is_replaceable(entry):
            removed += [entry] if isinstance(entry, RemovedBlock) else []
            added += [entry] if isinstance(entry, AddedBlock) else []
            continue
        for at in range(0, min(len(removed), len(added)), MOST_PAIRED):
            old, new = removed[at : at + MOST_PAIRED], added[at : at + MOST_PAIRED]
            yield Replacement(tuple(each.block for each in old), tuple(each.block for each in new), (*old, *new))
        paired = MOST_PAIRED * math.ceil(min(len(removed), len(added)) / MOST_PAIRED)
        yield from removed[paired:]
        yield from added[paired:]
        removed, added = [], []
        if entry is not None:
            yield entry


def _is_replaceable(entry: AddedBlock | RemovedBlock) -> bool:
    return not entry.entries and not is_long(entry.block)


@dataclass(frozen=True)
class JointMove:
    """Blocks that moved together, at their old or their new place."""

    moves: tuple[MovedBlock, ...]


DiffGroup = Entry | Replacement | JointMove


def has_inner_changes(entry: DiffGroup) -> bool:
    """Return whether an entry contains changes that are shown on their own."""
    match entry:
        case AddedBlock(entries=inner) | RemovedBlock(entries=inner) | RestructuredBlocks(entries=inner):
            return bool(inner)
        case ChangedBlock(parts=ContainerChange()):
            return True
        case MovedBlock(parts=ContainerChange(), is_arrival=True):
            return True
    return False


def join_moves(entries: Iterable[Entry | Replacement]) -> Iterator[Entry | Replacement | JointMove]:
    """Yield the entries, with blocks that moved together joined."""
    run: list[MovedBlock] = []
    for entry in entries:
        is_move = isinstance(entry, MovedBlock) and not (entry.is_arrival and isinstance(entry.parts, ContainerChange))
        if run and not (isinstance(entry, MovedBlock) and is_move and _moved_together(run[-1], entry)):
            yield JointMove(tuple(run))
            run = []
        if isinstance(entry, MovedBlock) and is_move:
            run.append(entry)
        else:
            yield entry
    if run:
        yield JointMove(tuple(run))


def _moved_together(move: MovedBlock, following: MovedBlock) -> bool:
    """Return True if two blocks that moved to the same version are close to one another in the other version."""
    if move.is_arrival is not following.is_arrival:
        return False
    above, below = (move.old, following.old) if move.is_arrival else (move.new, following.new)
    return 0 <= below.lines[0] - above.lines[1] <= _MOST_LINES_APART
