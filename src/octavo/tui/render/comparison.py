"""Compares two versions of a page, and splits long changes into slices that are laid out one at a time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import TypeVar

from octavo.documents.blocks import Block, Document, Run
from octavo.documents.change_kinds import ChangeKind, ChangeKinds
from octavo.documents.diff import diff
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    CodeChange,
    Diff,
    Entry,
    LineChange,
    MovedBlock,
    RemovedBlock,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.documents.diff_text import SourceHunk, source_diff
from octavo.documents.source_reader import parse
from octavo.tui.render.block_slices import SLICE_COST, is_long, layout_cost, split_block, split_text
from octavo.tui.render.caches import RecentResults, stream_cached
from octavo.tui.render.code import code_size
from octavo.tui.render.diff_units import DiffUnit
from octavo.tui.render.tables import sample_rows


@dataclass(frozen=True)
class PageComparison:
    """Two versions of a page and their differences. `compare` and the first use of `hunks` are slow: call them in a
    thread."""

    diff: Diff
    old: Document
    new: Document
    old_block_ids: frozenset[int] = field(default=frozenset(), compare=False, repr=False)
    """Identities of the blocks of the old version."""
    kinds: ChangeKinds = field(default_factory=ChangeKinds, compare=False, repr=False)
    """Kinds of the changes of the text, such as `number`, `link` or `wording`."""

    _blocks_by_key: Mapping[str, Block] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.old_block_ids:
            object.__setattr__(self, "old_block_ids", frozenset(map(id, self.old.walk())))
        named = {block.key: block for page in (self.old, self.new) for block in page.walk() if block.key}
        object.__setattr__(self, "_blocks_by_key", named)

    def find(self, key: str) -> Block | None:
        """Return the block with `key` in the new version, else in the old one. None if there is no such block."""
        return self._blocks_by_key.get(key)

    def has_same_texts(self, other: PageComparison) -> bool:
        """Return whether another comparison has the same source texts and page settings."""
        texts = self.old.source == other.old.source and self.new.source == other.new.source
        return texts and self.diff.metadata == other.diff.metadata

    def is_old(self, block: Block) -> bool:
        """Return whether a block belongs to the old version."""
        return id(block) in self.old_block_ids

    def with_settings(self, metadata: tuple[AttributeChange, ...]) -> PageComparison:
        """Return the same comparison with other changes of the page settings. Fast: no block is read."""
        other = copy(self)
        object.__setattr__(other, "diff", replace(self.diff, metadata=metadata))
        return other

    @property
    def kind_counts(self) -> Counter[ChangeKind]:
        """Number of changes of the text and of the page settings, by their most important kind."""
        counts = Counter(self.kinds.counts)
        counts["setting"] += len(self.diff.metadata)
        return +counts

    @cached_property
    def hunks(self) -> tuple[SourceHunk, ...]:
        """Differences between the source texts."""
        return source_diff(self.old.source, self.new.source)


def compare(before: str, after: str) -> PageComparison:
    """Parse and compare two versions of a page. All caches that rendering needs are filled on the way."""
    old, new = parse(before), parse(after)
    for block in filter(is_long, (*old.blocks, *new.blocks)):
        _exhaust(recent_slices(block))  # The diff uses the slices, and this thread is not the event loop.
        if block.kind == "table":
            sample_rows(block)
        elif block.kind == "code":
            code_size(block)
    changed = diff(old, new)
    for entry in changed.entries:
        if isinstance(entry, (ChangedBlock, MovedBlock)):
            _exhaust(recent_entries(entry))
    return PageComparison(changed, old, new, kinds=ChangeKinds(changed.entries))


def _exhaust(pieces: Iterator[object]) -> None:
    """Iterate to the end, so that all slices are made and cached."""
    deque(pieces, maxlen=0)


T = TypeVar("T")
_TABLE_ROWS, _LINE_COST = 60, 90
"""Rows of a changed table in one slice, and the fixed cost of a line of code."""
_recent_entries: RecentResults[ChangedBlock | MovedBlock, list[Entry]] = RecentResults()
CONTEXT_LINES = 3
"""Unchanged lines of code around a change."""


def split_unit(unit: DiffUnit) -> Iterator[DiffUnit]:
    """Yield a unit of a diff in slices, or the unit itself if it is not long."""
    match unit.entry:
        case None if unit.kind == "block" and unit.block is not None:
            olds = recent_slices(unit.old) if unit.old is not None else iter(())
            for each, piece in _number_slices(unit, recent_slices(unit.block)):
                yield each._replace(block=piece, old=next(olds, None))
        case AddedBlock() | RemovedBlock() as entry if not unit.is_container_change:
            for each, piece in _number_slices(unit, _entry_slices(entry.block)):
                yield each._replace(block=piece, entry=replace(entry, block=piece))
        case ChangedBlock() | MovedBlock() as entry:
            for each, part in _number_slices(unit, recent_entries(entry)):
                yield each._replace(entry=part)
        case _:
            yield unit


def recent_entries(entry: ChangedBlock | MovedBlock) -> Iterator[Entry]:
    """Yield the slices of a change, and cache those of long changes."""
    return stream_cached(_recent_entries, entry, _split_entry)


def source_units(lines: Sequence[LineChange], count: int) -> Iterator[DiffUnit]:
    """Yield the units of one hunk of a source diff. `count` is the number of the change."""
    block = Block("change", key=f"change {count}")
    for at, some in enumerate(_group_lines(part for line in lines for part in _split_line(line))):
        yield DiffUnit("lines", block, lines=some, change_number=-1 if at else count, is_tight=at > 0)


def _entry_slices(block: Block) -> Iterator[Block]:
    """Return the slices of an added or removed block. All tabs of a changed block are visible, so each is split on its
    own."""
    if block.kind != "tabs" or not is_long(block):
        return recent_slices(block)
    return (piece for tab in block.children for piece in recent_slices(block._replace(children=(tab,))))


def _number_slices(unit: DiffUnit, pieces: Iterator[T]) -> Iterator[tuple[DiffUnit, T]]:
    """Yield each slice with its unit. Only the first slice counts as a change."""
    later = unit._replace(change_number=-1, is_tight=True)
    first: T | None = None
    at = 0
    for piece in pieces:
        at += 1
        if first is None:
            first = piece
            continue
        if at == 2:
            yield unit._replace(slice_number=1), first
        yield later._replace(slice_number=at), piece
    if at == 1 and first is not None:
        yield unit, first


def _split_entry(entry: ChangedBlock | MovedBlock) -> Iterator[Entry]:
    match entry.parts:
        case TableChange() as table:
            yield from _split_table(entry, table)
        case CodeChange(lines=lines):
            for some in _group_lines(near_changes(lines)):
                yield replace(entry, parts=CodeChange(some))
        case TextChange(words=words) as parts if not parts.is_rewritten and not any(
            _is_long(word.run.text) for word in words
        ):
            for chunk in _split_words(words):
                yield entry if len(chunk) == len(words) else replace(entry, parts=replace(parts, words=chunk))
        case None | TextChange() if is_long(entry.old) or is_long(entry.new):
            pairs = zip_longest(recent_slices(entry.old), recent_slices(entry.new))
            if len(both := list(pairs)) > 1:
                entry = replace(entry, parts=None)  # A slice shows its own words, not the words of the whole change.
            for old, new in both:
                yield _slice_entry(entry, old, new)
        case _:
            yield entry


def _slice_entry(entry: ChangedBlock | MovedBlock, old: Block | None, new: Block | None) -> Entry:
    if old is not None and new is not None:
        return replace(entry, old=old, new=new)
    if new is not None:
        return AddedBlock(new)
    assert old is not None, "one version must be longer than the other"
    return RemovedBlock(old)


def _split_table(entry: ChangedBlock | MovedBlock, table: TableChange) -> Iterator[Entry]:
    """Yield a table change in parts of some rows. A row that is too long becomes a removal and an addition."""
    some: list[Entry] = []

    def part() -> Entry:
        return entry if len(some) == len(table.rows) else replace(entry, parts=replace(table, rows=tuple(some)))

    for row in table.rows:
        if _is_long_row(row):
            if some:
                yield part()
            some = []
            was = (
                [row.old]
                if isinstance(row, (ChangedBlock, MovedBlock))
                else [row.block]
                if isinstance(row, RemovedBlock)
                else []
            )
            now = (
                [row.new]
                if isinstance(row, (ChangedBlock, MovedBlock))
                else [row.block]
                if isinstance(row, AddedBlock)
                else []
            )
            yield from (
                RemovedBlock(piece) for each in was for piece in split_block(entry.old._replace(children=(each,)))
            )
            yield from (
                AddedBlock(piece) for each in now for piece in split_block(entry.new._replace(children=(each,)))
            )
        else:
            some.append(row)
        if len(some) >= _TABLE_ROWS:
            yield part()
            some = []
    if some or not table.rows:
        yield part()


def _is_long_row(row: Entry) -> bool:
    """Return True if a changed row costs more than one slice."""
    match row:
        case ChangedBlock(old=old, new=new) | MovedBlock(old=old, new=new):
            return layout_cost(old, 4 * SLICE_COST) + layout_cost(new, 4 * SLICE_COST) > 4 * SLICE_COST
        case AddedBlock(block=block) | RemovedBlock(block=block):
            return layout_cost(block, 2 * SLICE_COST) > 2 * SLICE_COST
    return False


def _split_words(words: Sequence[TextPart]) -> Iterator[tuple[TextPart, ...]]:
    """Yield the words of a text change in slices."""
    some: list[TextPart] = []
    cost = 0
    for word in words:
        for part in _split_equal_part(word):
            some.append(part)
            cost += len(part.run.text) * (1 if part.run.text.isascii() else 4)
            if cost > SLICE_COST:
                yield tuple(some)
                some, cost = [], 0
    if some:
        yield tuple(some)


def _split_equal_part(word: TextPart) -> Iterator[TextPart]:
    """Yield a long part that is equal in both versions as several parts. Yield any other part as it is."""
    if word.op != "equal" or len(word.run.text) <= SLICE_COST or word.old is not None:
        yield word
        return
    for text in split_text(word.run.text):
        yield replace(word, run=word.run._replace(text=text))


def near_changes(lines: Sequence[LineChange]) -> Iterator[LineChange]:
    """Yield the lines near changes. A line with `omitted` counts the lines that are left out between them."""
    waiting: deque[LineChange] = deque()
    """The last unchanged lines. They are shown if a change follows."""
    skipped, since = 0, CONTEXT_LINES
    for line in lines:
        for part in _split_line(line) if _is_long(line.old) or _is_long(line.new) else (line,):
            if part.op != "equal":
                if skipped:
                    yield LineChange("equal", omitted=skipped)
                yield from waiting
                waiting.clear()
                skipped = since = 0
                yield part
            elif since < CONTEXT_LINES:
                since += 1
                yield part
            else:
                waiting.append(part)
                if len(waiting) > CONTEXT_LINES:
                    skipped += waiting.popleft().omitted or 1
    if skipped := skipped + sum(line.omitted or 1 for line in waiting):
        yield LineChange("equal", omitted=skipped)


def _group_lines(lines: Iterable[LineChange]) -> Iterator[tuple[LineChange, ...]]:
    """Yield lines of code or source in slices."""
    some: list[LineChange] = []
    cost = 0
    for line in lines:
        if cost > SLICE_COST and (line.omitted or cost > 2 * SLICE_COST):
            yield tuple(some)
            some, cost = [], 0
        some.append(line)
        cost += len(line.old) + len(line.new) + _LINE_COST
    if some:
        yield tuple(some)


def _split_line(line: LineChange) -> Iterator[LineChange]:
    """Yield a line that is too long for one slice as several lines."""
    if not _is_long(line.old) and not _is_long(line.new):
        yield line
        return
    if line.op == "equal":
        for text in split_text(line.new):
            yield replace(line, old=text, new=text, words=(TextPart("equal", Run(text)),))
        return
    for text in split_text(line.old) if line.op != "insert" else ():
        yield replace(line, op="delete", old=text, new="", words=(TextPart("delete", Run(text)),))
    for text in split_text(line.new) if line.op != "delete" else ():
        yield replace(line, op="insert", old="", new=text, words=(TextPart("insert", Run(text)),))


def _is_long(text: str) -> bool:
    return len(text) > 2 * SLICE_COST


_recent_slices: RecentResults[Block, list[Block]] = RecentResults()


def recent_slices(block: Block) -> Iterator[Block]:
    """Yield the slices of a block, and cache those of long blocks for the next use."""
    return stream_cached(_recent_slices, block, split_block)
