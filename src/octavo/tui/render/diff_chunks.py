"""A diff is a sequence of chunks (`DiffChunk`), which are rendered one by one. Also says how many unchanged blocks are
shown around a change (`ContextSize`), and which changes are shown as one chunk (`Replacement`, `JointMove`)."""

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
"""Kind of the block that contains all footnotes. The source lines of footnotes may be anywhere on the page."""


@dataclass(frozen=True)
class PageHeading:
    """Heading above the changes of a page, in a diff of several pages."""

    key: str
    title: str
    sign: str = ""
    """Sign before the title, such as `+` for a new page."""
    path: str = ""
    """Titles of the parent pages, such as `Guides › API`."""
    badges: tuple[tuple[str, str], ...] = ()
    """Short texts at the right, such as `+12` or `viewed`, each with the name of its style in `Styles`."""
    is_collapsed: bool = False
    """True if the page is collapsed: only its heading is shown."""


class DiffChunk(NamedTuple):
    """A part of a diff that is rendered in one step, such as a changed block, collapsed blocks, or threads."""

    kind: str
    """Kind of the chunk: `block` (unchanged), `collapsed` (unchanged blocks), `change`, `replacement`, `label` (names
    of containers), `page_option` (a changed page option), `lines` (of a source diff), `threads`, `note`, `title` or
    `page` (heading of a page)."""
    block: Block | None = None
    old: Block | None = None
    """Old version of `block`, if a diff found `block` unchanged. Otherwise None."""
    entry: DiffEntry | None = None
    ancestors: tuple[Block, ...] = ()
    """Containers of the block in the new version, outermost first. Empty at the top level."""
    old_ancestors: tuple[Block, ...] = ()
    """Containers of the block in the old version, outermost first. Empty at the top level."""
    text: str = ""
    section_path: tuple[str, ...] = ()
    """For `collapsed` and `label`: names of the section and containers of the next block, outermost first."""
    change_number: int = -1
    """Index of the change, if the chunk is the first of this change. -1 for all other chunks."""
    lines: tuple[LineChange, ...] = ()
    threads: tuple[tuple[ThreadSummary, str], ...] = ()
    is_tight: bool = False
    """True if no blank line is rendered above the chunk."""
    slice_number: int = 0
    """Number of the slice, counted from 1, if a long change is split into several chunks. Otherwise 0."""
    page_option: AttributeChange | None = None
    removed: tuple[Block, ...] = ()
    added: tuple[Block, ...] = ()
    """Blocks that replace the blocks in `removed`. If blocks moved together, their new versions."""
    follows_move: bool = False
    """True if the block moved together with the block of the chunk above."""
    hidden_blocks: tuple[Block, ...] = ()
    """Blocks that are collapsed into this chunk."""
    kinds: frozenset[ChangeKind] = frozenset()
    """Kinds of the change, such as `number` or `link`. Empty if the chunk is not a change."""
    line_limit: int = 0
    """Maximum number of visible lines. If negative, the last lines are shown instead of the first. 0 shows all."""
    page: PageHeading | None = None

    @property
    def is_container_change(self) -> bool:
        """True if a container such as a hint was put around existing blocks, or removed from around them."""
        return isinstance(self.entry, (AddedBlock, RemovedBlock)) and bool(self.entry.entries)

    def hides(self, block: Block) -> bool:
        """Return True if this chunk collapses `block`, a block of the new version. Blocks are compared by key."""
        line = block.lines[0]
        candidates = [
            each for each in self.hidden_blocks if each.lines[0] <= line < each.lines[1] or each.kind == _SCATTERED_KIND
        ]
        return any(each.has(block.key) for each in candidates)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks of the chunk, in the old and the new version."""
        old_block = self.entry.old if isinstance(self.entry, (ChangedBlock, MovedBlock)) else None
        return tuple(each for each in (self.block, self.old, old_block, *self.removed, *self.added) if each is not None)


class DiffChunks:
    """The chunks of a diff. `build` builds them in small steps, so that a long diff does not block the app."""

    change_count = 0
    thread_count = 0
    """Number of threads in the diff. Unsent drafts and check findings do not count."""

    def __init__(self) -> None:
        self.hidden_counts: Counter[ChangeKind] = Counter()
        """Number of changes of each kind that are hidden because they cannot affect the meaning of the page."""
        self.chunks: list[DiffChunk] = []
        self.remaining: Iterator[DiffChunk] = iter(())

    def build(self) -> Iterator[DiffChunk]:
        """Build the chunks that are not built yet, and yield each."""
        for chunk in self.remaining:
            self.chunks.append(chunk)
            yield chunk

    def complete(self) -> DiffChunks:
        """Build all chunks that are not built yet, and return this object. Building may take long."""
        deque(self.build(), maxlen=0)
        return self


class ContextSize:
    """How much unchanged text a diff shows: the number of blocks around each change, and the blocks that the user
    expanded."""

    STEPS = (0, 1, 3, 8, 1 << 30)

    def __init__(self, block_count: int = 1) -> None:
        """`block_count`, the number of unchanged blocks before and after a change, is rounded up to one of `STEPS`."""
        self.step = next(step for step, size in enumerate(self.STEPS) if size >= block_count)
        self.expanded: set[str] = set()

    @property
    def block_count(self) -> int:
        """Number of unchanged blocks that are shown before a change, and after a change."""
        return self.STEPS[self.step]

    @property
    def is_brief(self) -> bool:
        """True if at most one block before and after a change is shown: only prose, and only the nearest lines."""
        return self.block_count <= 1

    def increase(self) -> None:
        self.step = min(self.step + 1, len(self.STEPS) - 1)

    def decrease(self) -> None:
        self.step = max(0, self.step - 1)
        self.expanded.clear()


def may_contain(block: Block, other: Block) -> bool:
    """Return whether `block` may contain `other`: `other` begins within the source lines of the whole `block`. The
    block with the footnotes of the page may contain any block."""
    first, end = whole_block(block).lines
    return first <= other.lines[0] < end or block.kind == _SCATTERED_KIND


MAX_PAIRED_BLOCKS = 8
"""Maximum number of removed blocks in a `Replacement`, and also of added blocks."""
_MAX_LINES_APART = 5
"""Maximum number of lines between two blocks that moved together."""


@dataclass(frozen=True)
class Replacement:
    """Consecutive removed blocks, and the blocks that were added in their place."""

    removed: tuple[Block, ...]
    added: tuple[Block, ...]
    entries: tuple[AddedBlock | RemovedBlock, ...]


def pair_replacements(entries: Sequence[DiffEntry]) -> Iterator[DiffEntry | Replacement]:
    """Yield `entries`. Consecutive removed and added blocks become `Replacement`s, each with up to `MAX_PAIRED_BLOCKS`
    blocks on each side. Long blocks, blocks with `entries`, and surplus blocks of one side stay alone."""
    removed_blocks: list[RemovedBlock] = []
    added_blocks: list[AddedBlock] = []
    for entry in (*entries, None):
        if isinstance(entry, (AddedBlock, RemovedBlock)) and not entry.entries and not is_long(entry.block):
            removed_blocks += [entry] if isinstance(entry, RemovedBlock) else []
            added_blocks += [entry] if isinstance(entry, AddedBlock) else []
            continue
        for index in range(0, min(len(removed_blocks), len(added_blocks)), MAX_PAIRED_BLOCKS):
            old, new = (
                removed_blocks[index : index + MAX_PAIRED_BLOCKS],
                added_blocks[index : index + MAX_PAIRED_BLOCKS],
            )
            yield Replacement(tuple(each.block for each in old), tuple(each.block for each in new), (*old, *new))
        paired_count = MAX_PAIRED_BLOCKS * math.ceil(min(len(removed_blocks), len(added_blocks)) / MAX_PAIRED_BLOCKS)
        yield from removed_blocks[paired_count:]
        yield from added_blocks[paired_count:]
        removed_blocks, added_blocks = [], []
        if entry is not None:
            yield entry


@dataclass(frozen=True)
class JointMove:
    """Blocks that moved together. A diff shows them twice: at the old position and at the new position."""

    moves: tuple[MovedBlock, ...]


DiffGroup = DiffEntry | Replacement | JointMove


def has_inner_changes(entry: DiffGroup) -> bool:
    """Return True if a change is a container whose inner changes are shown as separate chunks."""
    match entry:
        case AddedBlock(entries=inner) | RemovedBlock(entries=inner) | RestructuredBlocks(entries=inner):
            return bool(inner)
        case ChangedBlock(content_change=ContainerChange()):
            return True
        case MovedBlock(content_change=ContainerChange(), is_arrival=True):
            return True
    return False


def join_moves(entries: Iterable[DiffEntry | Replacement]) -> Iterator[DiffEntry | Replacement | JointMove]:
    """Yield the changes. Blocks that moved together become one `JointMove`, and so does a block that moved alone. At
    its new position, a moved container with changed content is not joined: its `MovedBlock` is yielded."""
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
    upper_block, lower_block = (move.old, following.old) if move.is_arrival else (move.new, following.new)
    return 0 <= lower_block.lines[0] - upper_block.lines[1] <= _MAX_LINES_APART
