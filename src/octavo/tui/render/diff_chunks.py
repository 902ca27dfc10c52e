"""The chunks of a diff, which are rendered one by one. Also how many unchanged blocks are shown around a change
(`ContextSize`), and which changes are shown as one chunk (`Replacement`, `JointMove`)."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.documents.change_kinds import ChangeKind
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    ContainerChange,
    DiffEntry,
    LineChange,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
)
from octavo.tui.render.block_slices import is_long, whole_block
from octavo.tui.render.threads import ThreadSummary

_SCATTERED_KIND = "footnotes"
"""Kind of block whose children may be on any lines of the page."""


@dataclass(frozen=True)
class PageHeading:
    """Row above the changes of a page, in a diff of several pages."""

    key: str
    title: str
    sign: str = ""
    """Sign of the change, such as `+` for a new page."""
    path: str = ""
    """Titles of the parent pages."""
    facts: tuple[tuple[str, str], ...] = ()
    """Counts and states of the page, each with the name of a style in `Styles`."""
    is_folded: bool = False
    """True if only this row of the page is shown."""


class DiffChunk(NamedTuple):
    """A part of a diff that is rendered in one step."""

    kind: str
    """`block` (unchanged), `fold` (collapsed blocks), `entry` (a change), `exchange` (replaced blocks), `label` (names of
    containers), `setting`, `lines`, `threads`, `note`, `title` or `page`."""
    block: Block | None = None
    old: Block | None = None
    """The same block in the old version."""
    entry: DiffEntry | None = None
    ancestors: tuple[Block, ...] = ()
    """Containers around the new block, outermost first, if needed to render it."""
    old_ancestors: tuple[Block, ...] = ()
    """Containers around the block in the old version, outermost first."""
    text: str = ""
    section_path: tuple[str, ...] = ()
    """Names of the section and containers of the next block, outermost first."""
    change_number: int = -1
    """Number of the change that begins with the chunk, counted from 0, else -1."""
    lines: tuple[LineChange, ...] = ()
    threads: tuple[tuple[ThreadSummary, str], ...] = ()
    is_tight: bool = False
    """True if there is no blank line above the chunk."""
    slice_number: int = 0
    """Number of the slice of a long change, counted from 1. 0 for a whole change."""
    setting: AttributeChange | None = None
    removed: tuple[Block, ...] = ()
    added: tuple[Block, ...] = ()
    """Blocks that replace `removed`, or the new versions of blocks that moved together."""
    follows_move: bool = False
    """True if the chunk moved together with the chunk above."""
    hidden_blocks: tuple[Block, ...] = ()
    """Collapsed blocks that the chunk replaces."""
    kinds: frozenset[ChangeKind] = frozenset()
    """Kinds of the change, by what it affects. Empty if the chunk is not a change."""
    line_limit: int = 0
    """Number of visible lines: the first ones, or the last ones if negative. 0 for all lines."""
    page: PageHeading | None = None

    @property
    def is_container_change(self) -> bool:
        """True if a container was added around existing blocks, or removed from around them."""
        return isinstance(self.entry, (AddedBlock, RemovedBlock)) and bool(self.entry.entries)

    def hides(self, block: Block) -> bool:
        """Return True if a block of the new version is collapsed here. Blocks are compared by key."""
        line = block.lines[0]
        near = [
            each for each in self.hidden_blocks if each.lines[0] <= line < each.lines[1] or each.kind == _SCATTERED_KIND
        ]
        return any(each.has(block.key) for each in near)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Blocks of the chunk, in both versions."""
        old_block = self.entry.old if isinstance(self.entry, (ChangedBlock, MovedBlock)) else None
        return tuple(each for each in (self.block, self.old, old_block, *self.removed, *self.added) if each is not None)


class DiffChunks:
    """The chunks of a diff, which `build` makes one by one."""

    count = 0
    thread_count = 0
    """Number of threads. Drafts and findings do not count."""

    def __init__(self) -> None:
        self.hidden_counts: Counter[ChangeKind] = Counter()
        """Number of hidden changes by kind. They cannot affect the meaning of the page."""
        self.chunks: list[DiffChunk] = []
        self.remaining: Iterator[DiffChunk] = iter(())

    def build(self) -> Iterator[DiffChunk]:
        """Make the remaining chunks, and yield each of them."""
        for chunk in self.remaining:
            self.chunks.append(chunk)
            yield chunk

    def complete(self) -> DiffChunks:
        """Make all remaining chunks, which may take long. Return this object."""
        deque(self.build(), maxlen=0)
        return self


class ContextSize:
    """Number of unchanged blocks around each change, and the blocks that the user expanded."""

    STEPS = (0, 1, 3, 8, 1 << 30)

    def __init__(self, blocks: int = 1) -> None:
        """`blocks` is the number of unchanged blocks on each side of a change."""
        self.step = next(step for step, size in enumerate(self.STEPS) if size >= blocks)
        self.expanded: set[str] = set()

    @property
    def blocks(self) -> int:
        """Number of unchanged blocks on each side of a change."""
        return self.STEPS[self.step]

    @property
    def is_brief(self) -> bool:
        """True if only a few lines of prose are shown around a change."""
        return self.blocks <= 1

    def increase(self) -> None:
        self.step = min(self.step + 1, len(self.STEPS) - 1)

    def decrease(self) -> None:
        self.step = max(0, self.step - 1)
        self.expanded.clear()


def may_contain(block: Block, other: Block) -> bool:
    """Return True if a block or slice may contain `other`, by its source lines."""
    first, end = whole_block(block).lines
    return first <= other.lines[0] < end or block.kind == _SCATTERED_KIND


MOST_PAIRED = 8
"""Maximum number of removed blocks, and of added blocks, in a `Replacement`."""
_MOST_LINES_APART = 5
"""Maximum number of lines between two blocks that moved together."""


@dataclass(frozen=True)
class Replacement:
    """Removed blocks, and the blocks that were added in their place."""

    removed: tuple[Block, ...]
    added: tuple[Block, ...]
    entries: tuple[AddedBlock | RemovedBlock, ...]


def pair_replacements(entries: Sequence[DiffEntry]) -> Iterator[DiffEntry | Replacement]:
    """Yield the entries. Consecutive removals and additions become a `Replacement` with up to `MOST_PAIRED` blocks on
    each side."""
    removed: list[RemovedBlock] = []
    added: list[AddedBlock] = []
    for entry in (*entries, None):
        if isinstance(entry, (AddedBlock, RemovedBlock)) and not entry.entries and not is_long(entry.block):
            removed += [entry] if isinstance(entry, RemovedBlock) else []
            added += [entry] if isinstance(entry, AddedBlock) else []
            continue
        for index in range(0, min(len(removed), len(added)), MOST_PAIRED):
            old, new = removed[index : index + MOST_PAIRED], added[index : index + MOST_PAIRED]
            yield Replacement(tuple(each.block for each in old), tuple(each.block for each in new), (*old, *new))
        paired = MOST_PAIRED * math.ceil(min(len(removed), len(added)) / MOST_PAIRED)
        yield from removed[paired:]
        yield from added[paired:]
        removed, added = [], []
        if entry is not None:
            yield entry


@dataclass(frozen=True)
class JointMove:
    """Blocks that moved together, shown at their old or at their new position."""

    moves: tuple[MovedBlock, ...]


DiffGroup = DiffEntry | Replacement | JointMove


def has_inner_changes(entry: DiffGroup) -> bool:
    """Return True if an entry contains changes with their own chunks."""
    match entry:
        case AddedBlock(entries=inner) | RemovedBlock(entries=inner) | RestructuredBlocks(entries=inner):
            return bool(inner)
        case ChangedBlock(content_change=ContainerChange()):
            return True
        case MovedBlock(content_change=ContainerChange(), is_arrival=True):
            return True
    return False


def join_moves(entries: Iterable[DiffEntry | Replacement]) -> Iterator[DiffEntry | Replacement | JointMove]:
    """Yield the entries. Blocks that moved together become a `JointMove`."""
    moves: list[MovedBlock] = []
    for entry in entries:
        is_move = isinstance(entry, MovedBlock) and not (
            entry.is_arrival and isinstance(entry.content_change, ContainerChange)
        )
        if moves and not (isinstance(entry, MovedBlock) and is_move and _moved_together(moves[-1], entry)):
            yield JointMove(tuple(moves))
            moves = []
        if isinstance(entry, MovedBlock) and is_move:
            moves.append(entry)
        else:
            yield entry
    if moves:
        yield JointMove(tuple(moves))


def _moved_together(move: MovedBlock, following: MovedBlock) -> bool:
    if move.is_arrival is not following.is_arrival:
        return False
    above, below = (move.old, following.old) if move.is_arrival else (move.new, following.new)
    return 0 <= below.lines[0] - above.lines[1] <= _MOST_LINES_APART
