"""Compares two versions of a page (`compare`). Also collapses the unchanged blocks between changes, and splits long
changes into slices that are rendered one by one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from octavo.documents.blocks import UNMARKED_CONTAINERS, Block, Document, Run, plain_text
from octavo.documents.change_kinds import ChangeKind, ChangeKinds
from octavo.documents.diff import diff
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    CodeChange,
    Diff,
    DiffEntry,
    LineChange,
    MovedBlock,
    RemovedBlock,
    TableChange,
    TextChange,
    TextPart,
)
from octavo.documents.diff_text import SourceHunk, source_diff
from octavo.documents.source_reader import parse
from octavo.tui.render.block_slices import SLICE_COST, is_long, layout_cost, split_block, split_text, text_cost
from octavo.tui.render.diff_chunks import ContextSize, DiffChunk
from octavo.tui.render.layout_context import file_label
from octavo.tui.widgets.short_texts import plural


@dataclass(frozen=True)
class PageComparison:
    """The old and the new version of a page, and their differences. `compare` and `hunks` are slow, so use a thread."""

    diff: Diff
    old: Document
    new: Document
    change_kinds: ChangeKinds = field(default_factory=ChangeKinds, compare=False, repr=False)
    """Kinds of change of each diff entry, such as `number`, `link` or `wording`."""

    @cached_property
    def _old_block_ids(self) -> frozenset[int]:
        return frozenset(map(id, self.old.walk()))

    @cached_property
    def _blocks_by_key(self) -> Mapping[str, Block]:
        return {block.key: block for page in (self.old, self.new) for block in page.walk() if block.key}

    @property
    def size(self) -> int:
        """Number of characters of the longer version."""
        return max(len(self.old.source), len(self.new.source))

    def find(self, key: str) -> Block | None:
        """Return the block with `key` in the new version, else in the old version. None if neither has the key."""
        return self._blocks_by_key.get(key)

    def has_same_texts(self, other: PageComparison) -> bool:
        """Return True if another comparison has the same Markdown and the same changed page options."""
        has_same_sources = self.old.source == other.old.source and self.new.source == other.new.source
        return has_same_sources and self.diff.metadata == other.diff.metadata

    def is_old(self, block: Block) -> bool:
        """Return whether a block belongs to the old version."""
        return id(block) in self._old_block_ids

    def with_page_options(self, metadata: tuple[AttributeChange, ...]) -> PageComparison:
        """Return a copy with the changes of page options `metadata`. The texts are not compared again."""
        copied = copy(self)
        object.__setattr__(copied, "diff", replace(self.diff, metadata=metadata))
        return copied

    @property
    def kind_counts(self) -> Counter[ChangeKind]:
        """Number of changes by kind, with changes of page options. A change counts under its most important kind."""
        counts = Counter(self.change_kinds.counts)
        counts["setting"] += len(self.diff.metadata)
        return +counts

    @cached_property
    def hunks(self) -> tuple[SourceHunk, ...]:
        """Hunks of changed lines in the Markdown of both versions."""
        return source_diff(self.old.source, self.new.source)


def compare(old_text: str, new_text: str) -> PageComparison:
    """Parse and compare two versions of a page."""
    old, new = parse(old_text), parse(new_text)
    page_diff = diff(old, new)
    return PageComparison(page_diff, old, new, change_kinds=ChangeKinds(page_diff.entries))


T = TypeVar("T")
_MAX_TABLE_ROWS = 60
"""Maximum number of rows in one slice of a changed table."""
_LINE_COST = 90
CONTEXT_LINES = 3
"""Number of unchanged lines shown before and after a change in code."""


def split_chunk(chunk: DiffChunk) -> Iterator[DiffChunk]:
    """Yield the slices of a long chunk, or the chunk itself if it is short or cannot be split."""
    match chunk.entry:
        case None if chunk.kind == "block" and chunk.block is not None:
            old_slices = split_block(chunk.old) if chunk.old is not None else iter(())
            for slice_chunk, piece in _number_slices(chunk, split_block(chunk.block)):
                yield slice_chunk._replace(block=piece, old=next(old_slices, None))
        case AddedBlock() | RemovedBlock() as entry if not chunk.is_container_change:
            for slice_chunk, piece in _number_slices(chunk, _entry_slices(entry.block)):
                yield slice_chunk._replace(block=piece, entry=replace(entry, block=piece))
        case ChangedBlock() | MovedBlock(is_arrival=True) as entry:
            for slice_chunk, part in _number_slices(chunk, _split_change(entry)):
                yield slice_chunk._replace(entry=part)
        case _:
            yield chunk


def source_chunks(lines: Sequence[LineChange], change_number: int) -> Iterator[DiffChunk]:
    """Yield the lines of a hunk as chunks of a source diff. The first chunk gets `change_number`, the hunk's index."""
    block = Block("change", key=f"change {change_number}")
    for index, group in enumerate(_group_lines(part for line in lines for part in _split_line(line))):
        yield DiffChunk("lines", block, lines=group, change_number=-1 if index else change_number, is_tight=index > 0)


def _entry_slices(block: Block) -> Iterator[Block]:
    if block.kind != "tabs" or not is_long(block):
        return split_block(block)
    return (piece for tab in block.children for piece in split_block(block._replace(children=(tab,))))


def _number_slices(chunk: DiffChunk, pieces: Iterator[T]) -> Iterator[tuple[DiffChunk, T]]:
    later_chunk = chunk._replace(change_number=-1, is_tight=True)
    first_piece: T | None = None
    number = 0
    for piece in pieces:
        number += 1
        if first_piece is None:
            first_piece = piece
            continue
        if number == 2:
            yield chunk._replace(slice_number=1), first_piece
        yield later_chunk._replace(slice_number=number), piece
    if number == 1 and first_piece is not None:
        yield chunk, first_piece


def _split_change(entry: ChangedBlock | MovedBlock) -> Iterator[DiffEntry]:
    """Yield the slices of a long change, or the change itself if it is short."""
    match entry.content_change:
        case TableChange() as table:
            yield from _split_table(entry, table)
        case CodeChange(lines=lines):
            for group in _group_lines(changes_with_context(lines)):
                yield replace(entry, content_change=CodeChange(group))
        case TextChange(words=words) as change if not change.is_rewritten and not any(
            _is_long_text(word.run.text) for word in words
        ):
            for words_slice in _split_words(words):
                yield (
                    entry
                    if len(words_slice) == len(words)
                    else replace(entry, content_change=replace(change, words=words_slice))
                )
        case None | TextChange() if is_long(entry.old) or is_long(entry.new):
            pairs = zip_longest(split_block(entry.old), split_block(entry.new))
            if len(slice_pairs := list(pairs)) > 1:
                entry = replace(entry, content_change=None)  # The changed words are computed again for each slice.
            for old, new in slice_pairs:
                yield _slice_entry(entry, old, new)
        case _:
            yield entry


def _slice_entry(entry: ChangedBlock | MovedBlock, old: Block | None, new: Block | None) -> DiffEntry:
    if old is not None and new is not None:
        return replace(entry, old=old, new=new)
    if new is not None:
        return AddedBlock(new)
    assert old is not None, "one version must be longer than the other"
    return RemovedBlock(old)


def _split_table(entry: ChangedBlock | MovedBlock, table: TableChange) -> Iterator[DiffEntry]:
    """Yield slices of a changed table with up to `_MAX_TABLE_ROWS` rows. Versions of a long row get separate slices."""
    rows: list[DiffEntry] = []

    def part() -> DiffEntry:
        return (
            entry if len(rows) == len(table.rows) else replace(entry, content_change=replace(table, rows=tuple(rows)))
        )

    for row in table.rows:
        if _is_long_row(row):
            if rows:
                yield part()
            rows = []
            old_row, new_row = _versions_of(row)
            if old_row is not None:
                yield from map(RemovedBlock, split_block(entry.old._replace(children=(old_row,))))
            if new_row is not None:
                yield from map(AddedBlock, split_block(entry.new._replace(children=(new_row,))))
        else:
            rows.append(row)
        if len(rows) >= _MAX_TABLE_ROWS:
            yield part()
            rows = []
    if rows or not table.rows:
        yield part()


def _versions_of(row: DiffEntry) -> tuple[Block | None, Block | None]:
    match row:
        case ChangedBlock(old=old, new=new):
            return old, new
        case RemovedBlock(block=old) | MovedBlock(old=old, is_arrival=False):
            return old, None
        case AddedBlock(block=new) | MovedBlock(new=new):
            return None, new
    return None, None


def _is_long_row(row: DiffEntry) -> bool:
    match row:
        case ChangedBlock(old=old, new=new) | MovedBlock(old=old, new=new):
            return layout_cost(old, 4 * SLICE_COST) + layout_cost(new, 4 * SLICE_COST) > 4 * SLICE_COST
        case AddedBlock(block=block) | RemovedBlock(block=block):
            return layout_cost(block, 2 * SLICE_COST) > 2 * SLICE_COST
    return False


def _split_words(words: Sequence[TextPart]) -> Iterator[tuple[TextPart, ...]]:
    slice_words: list[TextPart] = []
    cost = 0
    for word in words:
        for part in _split_equal_part(word):
            slice_words.append(part)
            cost += text_cost((part.run,))
            if cost > SLICE_COST:
                yield tuple(slice_words)
                slice_words, cost = [], 0
    if slice_words:
        yield tuple(slice_words)


def _split_equal_part(word: TextPart) -> Iterator[TextPart]:
    if word.op != "equal" or len(word.run.text) <= SLICE_COST or word.old is not None:
        yield word
        return
    for text in split_text(word.run.text):
        yield replace(word, run=word.run._replace(text=text))


def changes_with_context(lines: Sequence[LineChange]) -> Iterator[LineChange]:
    """Yield the changed lines, and up to `CONTEXT_LINES` unchanged lines before and after each change. A line with an
    `omitted_count` stands for that number of unchanged lines."""
    last_unchanged: deque[LineChange] = deque()
    omitted, unchanged_count = 0, CONTEXT_LINES
    for line in lines:
        for part in _split_line(line) if _is_long_text(line.old) or _is_long_text(line.new) else (line,):
            if part.op != "equal":
                if omitted:
                    yield LineChange("equal", omitted_count=omitted)
                yield from last_unchanged
                last_unchanged.clear()
                omitted = unchanged_count = 0
                yield part
            elif unchanged_count < CONTEXT_LINES:
                unchanged_count += 1
                yield part
            else:
                last_unchanged.append(part)
                if len(last_unchanged) > CONTEXT_LINES:
                    omitted += last_unchanged.popleft().omitted_count or 1
    if omitted := omitted + sum(line.omitted_count or 1 for line in last_unchanged):
        yield LineChange("equal", omitted_count=omitted)


def _group_lines(lines: Iterable[LineChange]) -> Iterator[tuple[LineChange, ...]]:
    group: list[LineChange] = []
    cost = 0
    for line in lines:
        if cost > SLICE_COST and (line.omitted_count or cost > 2 * SLICE_COST):
            yield tuple(group)
            group, cost = [], 0
        group.append(line)
        cost += len(line.old) + len(line.new) + _LINE_COST
    if group:
        yield tuple(group)


def _split_line(line: LineChange) -> Iterator[LineChange]:
    if not _is_long_text(line.old) and not _is_long_text(line.new):
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


def _is_long_text(text: str) -> bool:
    return len(text) > 2 * SLICE_COST


_CLIPPED_LINES = 3
"""Number of lines that are shown of an unchanged block next to a change."""
_PROSE_KINDS = frozenset({"paragraph", "heading", "item", "task", "list", "quote"})
"""Kinds of blocks of which only `_CLIPPED_LINES` are shown next to a change."""
_UNNAMED_KINDS = UNMARKED_CONTAINERS | {"document", "column", "figure", "footnotes"}
_KIND_NAMES = {"expandable": "expandable section", "openapi": "OpenAPI block", "quote": "quotation"}
_KIND_NAMES |= {"api-method": "operation", "api-parameter": "parameter", "api-response": "response"}
_NAME_ATTRIBUTES = {"api-method": ("summary", "path"), "api-parameter": ("name",), "api-response": ("status",)}
_NAME_ATTRIBUTES |= {"api-section": ("name",)}
_CHILD_NAMES = {"list": "item", "table": "row", "stepper": "step", "tabs": "tab", "updates": "update"}


class ChunkInSections(NamedTuple):
    """A chunk of a diff, and the sections and containers of the page that it is in."""

    chunk: DiffChunk
    section_path: tuple[str, ...] = ()
    """Names of the sections and containers that the chunk is in, outermost first."""
    container: Block | None = None
    """Innermost container with a name, such as a tab, around the chunk. None outside of such containers."""
    is_unchanged: bool = False
    has_thread: bool = False
    """True if there is a thread on a block of the chunk. Such a chunk is never collapsed."""


def container_name(block: Block) -> str:
    """Return the display name of a container, such as `hint “Note”`. Empty for kinds without name, such as columns."""
    if block.kind in _UNNAMED_KINDS:
        return ""
    attribute_names = _NAME_ATTRIBUTES.get(block.kind, ("title", "date"))
    title = next((str(value) for name in attribute_names if (value := block.attrs.get(name))), "") or _operation_name(
        block
    )
    title = title or plain_text(block.runs)
    if not title and (heading := title_heading(block)) is not None:
        title = plain_text(heading.runs)
    name = _KIND_NAMES.get(block.kind, block.kind.replace("-", " "))
    title = " ".join(title.split())
    return f"{name} “{title}”" if title else name


def block_summary(block: Block) -> str:
    """Return one line that identifies a block: its operation such as `GET /pets`, else its text, file name or kind."""
    if text := _operation_name(block) or " ".join(block.plain().split()):
        return text
    files = (file_label(str(each.attrs["src"])) for each in block.walk() if each.attrs.get("src"))
    return next(files, "") or container_name(block) or block.kind


def _operation_name(block: Block) -> str:
    attrs = block.attrs
    if block.kind not in ("openapi", "api-method"):
        return ""
    if path := attrs.get("path"):
        return f"{str(attrs.get('method') or 'get').upper()} {path}"
    return str(attrs.get("name") or ", ".join(attrs.get("schemas", ())))


def title_heading(block: Block) -> Block | None:
    """Return the heading that is the first child of a container. None if the container begins with another block."""
    return block.children[0] if block.children and block.children[0].kind == "heading" else None


def collapse_unchanged(
    items: Sequence[ChunkInSections], context_size: ContextSize, title: str = ""
) -> Iterator[DiffChunk]:
    """Yield the chunks that are shown for a page, with most unchanged blocks collapsed. Where the container changes, a
    chunk of kind `label` names the next container. There is no label if a collapsed chunk or a change already names
    this container. `title` is the name of the top level."""
    hidden_items: list[ChunkInSections] = []
    container: Block | None = None
    for current, line_limit in zip(items, _line_limits(items, context_size), strict=True):
        if line_limit is None:
            hidden_items.append(current)
            continue
        if not hidden_items and current.chunk.is_container_change:
            container = current.container  # The line of the change names the container, so no label is needed.
        if current.chunk.kind != "threads" and (hidden_items or current.container is not container):
            yield (
                _collapsed_chunk(hidden_items, current.section_path)
                if hidden_items
                else DiffChunk("label", section_path=current.section_path or (title,))
            )
            hidden_items, container = [], current.container
        if not line_limit:
            yield from split_chunk(current.chunk)
            continue
        edge_chunk = next(split_chunk(current.chunk))
        for piece in split_chunk(current.chunk) if line_limit < 0 else ():
            edge_chunk = piece
        yield current.chunk._replace(block=edge_chunk.block, line_limit=line_limit)
    if hidden_items:
        yield _collapsed_chunk(hidden_items, ())


def _line_limits(items: Sequence[ChunkInSections], context_size: ContextSize) -> list[int | None]:
    """Return the `DiffChunk.line_limit` of each chunk for this `context_size`. None for a collapsed chunk."""
    context_count, is_brief = context_size.block_count, context_size.is_brief
    distances_since_change = _distances_from_last_change(items)
    distances_until_change = _distances_from_last_change(items[::-1])
    limits: list[int | None] = []
    is_noted = False
    for each, since_change, until_change in zip(
        items, distances_since_change, distances_until_change[::-1], strict=True
    ):
        block, is_below_note = each.chunk.block, is_noted
        is_noted = each.chunk.kind == "note"  # A note such as “wrapped in tabs” is about the block below it.
        if not each.is_unchanged or each.has_thread or (block is not None and block.key in context_size.expanded):
            limits.append(0)
        elif min(since_change, until_change) > context_count or (is_brief and not (_is_prose(block) or is_below_note)):
            limits.append(None)
        elif not is_brief or max(since_change, until_change) <= context_count:
            limits.append(0)
        else:
            limits.append(_CLIPPED_LINES if since_change <= context_count else -_CLIPPED_LINES)
    return _expand_single_blocks(items, limits) if context_count else limits


def _distances_from_last_change(items: Iterable[ChunkInSections]) -> list[int]:
    """Return for each chunk the number of unchanged blocks below the last change above it. Huge without a change."""
    distances: list[int] = []
    distance = 1 << 30
    for each in items:
        if each.is_unchanged:
            distance += 1
        elif each.chunk.change_number >= 0 and each.chunk.kind != "page_option":
            distance = 0
        distances.append(distance)
    return distances


def _expand_single_blocks(items: Sequence[ChunkInSections], limits: list[int | None]) -> list[int | None]:
    """Return a copy of `limits` in which collapsed prose (None) between expanded blocks gets `_CLIPPED_LINES`."""
    shown_limits = list(limits)
    for index, each in enumerate(items):
        is_single = limits[index] is None and None not in (
            limits[index - 1] if index else 0,
            limits[index + 1] if index + 1 < len(limits) else 0,
        )
        if is_single and _is_prose(each.chunk.block):
            shown_limits[index] = _CLIPPED_LINES
    return shown_limits


def _is_prose(block: Block | None) -> bool:
    return block is not None and block.kind in _PROSE_KINDS


def _collapsed_chunk(hidden_items: Sequence[ChunkInSections], next_section_path: tuple[str, ...]) -> DiffChunk:
    blocks = [each.chunk.block for each in hidden_items if each.chunk.block is not None]
    parents = {each.chunk.ancestors[-1].kind if each.chunk.ancestors else "" for each in hidden_items}
    child_names = {_CHILD_NAMES.get(each, "block") for each in parents}
    child_name = child_names.pop() if len(child_names) == 1 else "block"
    text = f"{plural(len(blocks), child_name)} unchanged"
    return DiffChunk(
        "collapsed",
        Block("fold", key=f"fold {blocks[0].key}"),
        text=text,
        section_path=next_section_path,
        hidden_blocks=tuple(blocks),
    )
