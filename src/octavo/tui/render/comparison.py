"""Compares two versions of a page, collapses unchanged blocks between changes, and splits long changes into slices that are
laid out one at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from octavo.documents.blocks import Block, Document, Run, kinds_with, plain_text
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
from octavo.tui.render.code import code_size
from octavo.tui.render.deferred import RecentResults, stream_cached
from octavo.tui.render.diff_units import ContextSize, DiffUnit
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


_CLIPPED_LINES = 3
"""Number of visible lines of an unchanged block next to a change. A block with one more line is shown whole."""
_PROSE_KINDS = frozenset({"paragraph", "heading", "item", "task", "list", "quote"})
"""Kinds of text blocks. A few of their lines are enough as context of a change."""
UNMARKED_CONTAINERS = kinds_with("series") | {"item", "task"}
"""Containers that have no line of their own when they are added or removed around content."""
_UNNAMED_KINDS = UNMARKED_CONTAINERS | {"document", "column", "figure", "footnotes"}
_KIND_NAMES = {"expandable": "expandable section", "openapi": "interface", "quote": "quotation"}
_KIND_NAMES |= {"api-method": "operation", "api-parameter": "parameter", "api-response": "answer"}
_NAME_ATTRIBUTES = {"api-method": ("summary", "path"), "api-parameter": ("name",), "api-response": ("status",)}
_NAME_ATTRIBUTES |= {"api-section": ("name",)}
_CHILD_NAMES = {"list": "item", "table": "row", "stepper": "step", "tabs": "tab", "updates": "update"}


class PlacedUnit(NamedTuple):
    """A unit with the names of the sections and containers around it, outermost first."""

    unit: DiffUnit
    section_path: tuple[str, ...] = ()
    container: Block | None = None
    """Innermost container with a name."""
    is_same: bool = False
    has_thread: bool = False
    """True if the unit has a thread. Such a unit is never collapsed."""


class UnchangedRange(NamedTuple):
    """Unchanged blocks in sequence. Units are made only of the visible ones, because a page can have tens of thousands
    of blocks."""

    olds: Sequence[Block]
    news: Sequence[Block]
    ancestors: tuple[Block, ...]
    old_ancestors: tuple[Block, ...]
    container: Block | None
    starts: Sequence[int]
    """Indexes of the blocks at which `section_paths` changes."""
    section_paths: Sequence[tuple[str, ...]]

    def unit_at(self, position: int) -> PlacedUnit:
        """Return the block at `position` as a unit of the diff."""
        unit = DiffUnit("block", self.news[position], self.olds[position], None, self.ancestors, self.old_ancestors)
        return PlacedUnit(unit, self.section_paths[bisect_right(self.starts, position) - 1], self.container, True)

    def visible_units(self, context_size: ContextSize) -> Iterator[PlacedUnit | CollapsedBlocks]:
        """Yield the blocks near both ends of the range and the expanded blocks as units, and the blocks between them as
        `CollapsedBlocks`."""
        count, edge = (
            len(self.news),
            context_size.blocks + 2,
        )  # Two more blocks are needed to decide whether a single block is worth collapsing.
        wanted: Iterable[int] = range(count)
        if 2 * edge < count:
            opened = context_size.expanded and (
                at for at, new in enumerate(self.news) if new.key in context_size.expanded
            )
            wanted = sorted({*range(edge), *(opened or ()), *range(count - edge, count)})
        at = 0
        for each in wanted:
            if each - at > 2:
                yield CollapsedBlocks(self.news[at:each], self.ancestors)
                at = each
            while at <= each:
                yield self.unit_at(at)
                at += 1


class CollapsedBlocks(NamedTuple):
    """Consecutive blocks that are collapsed."""

    blocks: Sequence[Block]
    ancestors: tuple[Block, ...]


def container_name(block: Block) -> str:
    """Return the display name of a container. Empty for kinds without a useful name, such as list items, columns and
    figures."""
    if block.kind in _UNNAMED_KINDS:
        return ""
    by = _NAME_ATTRIBUTES.get(block.kind, ("title", "date"))
    title = next((str(items) for name in by if (items := block.attrs.get(name))), "") or _operation_name(block)
    title = title or plain_text(block.runs)
    if not title and (named := title_heading(block)) is not None:
        title = plain_text(named.runs)
    name = _KIND_NAMES.get(block.kind, block.kind.replace("-", " "))
    title = " ".join(title.split())
    return f"{name} “{title}”" if title else name


def block_summary(block: Block) -> str:
    """Return one line of text that identifies a block: method and path of an operation, else the text or the kind of
    the block."""
    return _operation_name(block) or " ".join(block.plain().split()) or container_name(block) or block.kind


def _operation_name(block: Block) -> str:
    """Return the method and path of an operation, the name of a webhook, or the names of schemas. Empty for other
    blocks."""
    attrs = block.attrs
    if block.kind not in ("openapi", "api-method"):
        return ""
    if path := attrs.get("path"):
        return f"{str(attrs.get('method') or 'get').upper()} {path}"
    return str(attrs.get("name") or ", ".join(attrs.get("schemas", ())))


def title_heading(block: Block) -> Block | None:
    """Return the heading that serves as the title of a container, such as a step. None if there is no heading."""
    return block.children[0] if block.children and block.children[0].kind == "heading" else None


def collapse_unchanged(
    items: Iterable[PlacedUnit | UnchangedRange], context_size: ContextSize, title: str = ""
) -> Iterator[DiffUnit]:
    """Yield the visible units of a page.

    One line replaces collapsed blocks, and names the section and containers of the next block. A line also names them
    where a container begins or ends without collapsed blocks. `title` is the name of the top level.
    """
    placed: list[PlacedUnit | CollapsedBlocks] = []
    for some in items:
        if isinstance(some, PlacedUnit):
            placed.append(some)
        else:
            placed += some.visible_units(context_size)
    kept = _line_limits(placed, context_size)
    hidden: list[PlacedUnit | CollapsedBlocks] = []
    container: Block | None = None
    for each, clip in zip(placed, kept, strict=True):
        if clip is None or isinstance(each, CollapsedBlocks):
            hidden.append(each)
            continue
        is_named = not hidden and each.unit.is_container_change  # A container change names its container.
        if is_named:
            container = each.container
        if each.unit.kind != "threads" and (hidden or each.container is not container):
            yield (
                _collapsed_unit(hidden, each.section_path)
                if hidden
                else DiffUnit("label", section_path=each.section_path or (title,))
            )
            hidden, container = [], each.container
        if not clip:
            yield from split_unit(each.unit)
            continue
        edge = next(split_unit(each.unit))
        for piece in split_unit(each.unit) if clip < 0 else ():
            edge = piece
        yield each.unit._replace(block=edge.block, line_limit=clip)
    if hidden:
        yield _collapsed_unit(hidden, ())


def _line_limits(placed: Sequence[PlacedUnit | CollapsedBlocks], context_size: ContextSize) -> list[int | None]:
    """Return the line limit of each unit, with 0 for no limit and None for a collapsed unit."""
    around, is_brief = context_size.blocks, context_size.is_brief
    after = _distances(placed)
    before = _distances(placed[::-1])
    out: list[int | None] = []
    for each, since, until in zip(placed, after, before[::-1], strict=True):
        if isinstance(each, CollapsedBlocks):
            out.append(None)
            continue
        block = each.unit.block
        if not each.is_same or each.has_thread or (block is not None and block.key in context_size.expanded):
            out.append(0)
        elif min(since, until) > around or not (_is_prose(block) or not is_brief):
            out.append(None)
        elif not is_brief or max(since, until) <= around:
            out.append(0)
        else:
            out.append(_CLIPPED_LINES if since <= around else -_CLIPPED_LINES)
    return _show_single_blocks(placed, out) if around else out


def _distances(placed: Iterable[PlacedUnit | CollapsedBlocks]) -> list[int]:
    """Return for each unit the distance in blocks from the last change before the unit: 0 for a change, and a very
    large number before the first change."""
    out: list[int] = []
    since = 1 << 30
    for each in placed:
        if isinstance(each, CollapsedBlocks):
            since += len(each.blocks)
        elif each.is_same:
            since += 1
        elif each.unit.change_number >= 0 and each.unit.kind != "setting":
            since = 0
        out.append(since)
    return out


def _show_single_blocks(placed: Sequence[PlacedUnit | CollapsedBlocks], kept: list[int | None]) -> list[int | None]:
    """Return the limits, but make a collapsed block of prose visible if both neighbors are visible: a line for one
    collapsed block takes as much space."""
    out = list(kept)
    for at, each in enumerate(placed):
        alone = kept[at] is None and None not in (kept[at - 1] if at else 0, kept[at + 1] if at + 1 < len(kept) else 0)
        if alone and isinstance(each, PlacedUnit) and _is_prose(each.unit.block):
            out[at] = _CLIPPED_LINES
    return out


def _is_prose(block: Block | None) -> bool:
    return block is not None and block.kind in _PROSE_KINDS


def _collapsed_unit(hidden: Sequence[PlacedUnit | CollapsedBlocks], section_path: tuple[str, ...]) -> DiffUnit:
    """Return the unit that stands for collapsed blocks. `section_path` names the section of the next block."""
    blocks: list[Block] = []
    parts: set[str] = set()
    for each in hidden:
        within = each.ancestors if isinstance(each, CollapsedBlocks) else each.unit.ancestors
        parts.add(_CHILD_NAMES.get(within[-1].kind, "block") if within else "block")
        if isinstance(each, CollapsedBlocks):
            blocks += each.blocks
        elif each.unit.block is not None:
            blocks.append(each.unit.block)
    part = parts.pop() if len(parts) == 1 else "block"
    text = f"{len(blocks)} {part if len(blocks) == 1 else part + 's'} unchanged"
    return DiffUnit(
        "fold",
        Block("fold", key=f"fold {blocks[0].key}"),
        text=text,
        section_path=section_path,
        hidden_blocks=tuple(blocks),
    )
