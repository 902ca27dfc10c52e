"""Builds the chunks of a diff in reading order: changes, collapsed blocks, and the threads on the blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from octavo.documents.blocks import UNMARKED_CONTAINERS, Block, Document, kinds_with, plain_text
from octavo.documents.change_kinds import (
    NO_KINDS,
    ChangeKind,
    ChangeKinds,
    describe_counts,
    leading_kind,
    may_affect_meaning,
)
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    ContainerChange,
    Diff,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    UnchangedBlocks,
)
from octavo.documents.diff_text import SourceHunk
from octavo.tui.render.block_slices import is_long
from octavo.tui.render.comparison import (
    ChunkInSections,
    PageComparison,
    collapse_unchanged,
    container_name,
    source_chunks,
    title_heading,
)
from octavo.tui.render.diff_chunks import (
    MAX_PAIRED_BLOCKS,
    ContextSize,
    DiffChunk,
    DiffChunks,
    DiffGroup,
    JointMove,
    Replacement,
    has_inner_changes,
    join_moves,
    pair_replacements,
)
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.widgets.short_texts import plural

_EXPANDABLE_KINDS = kinds_with("opened")
_UNKNOWN_KINDS = ChangeKinds()
_SETTING_KINDS: frozenset[ChangeKind] = frozenset({"setting"})


def build_diff(
    diff: Diff,
    context_size: ContextSize,
    threads: Mapping[str, Sequence[ThreadSummary]],
    title: str = "",
    *,
    side_by_side: bool = False,
    kinds: ChangeKinds = _UNKNOWN_KINDS,
    only_meaning: bool = False,
) -> DiffChunks:
    """Return the chunks of a diff of two versions of a page. `threads` has the threads of each block by block key, and
    the threads of the page under the key "". With `side_by_side`, removed and added blocks are paired. `only_meaning`
    hides changes that cannot affect the meaning, according to `kinds`."""
    if diff.is_empty and not diff.unseen_line_count and not threads:
        return DiffChunks()
    builder = _ChunkBuilder(context_size, threads, title, kinds, side_by_side=side_by_side, only_meaning=only_meaning)
    return builder.build(diff)


def build_side(
    comparison: PageComparison, side: str, threads: Mapping[str, Sequence[ThreadSummary]], title: str = ""
) -> DiffChunks:
    """Return the chunks of one version of a rewritten page, below a note with the size of the change. `side` is `new`
    or `old`. Threads on blocks of the other version are at the end."""
    versions = (comparison.new, comparison.old) if side == "new" else (comparison.old, comparison.new)
    size = comparison.diff.size
    note = f"This page was rewritten: {size.removed} of {size.words_before} words removed, {size.added} added. "
    note += (
        "Below is the new page. Press | for the old page."
        if side == "new"
        else "Below is the old page. Press | for the diff."
    )
    return _ChunkBuilder(ContextSize(), threads, title, comparison.change_kinds).build_side(
        comparison.diff, *versions, note
    )


def build_source_diff(hunks: Sequence[SourceHunk]) -> DiffChunks:
    diff_chunks = DiffChunks()

    def chunks() -> Iterator[DiffChunk]:
        for hunk in hunks:
            if hunk.skipped_count:
                yield DiffChunk("label", text=f"{plural(hunk.skipped_count, 'line')} unchanged")
            yield from source_chunks(hunk.lines, diff_chunks.change_count)
            diff_chunks.change_count += 1

    diff_chunks.remaining = chunks()
    return diff_chunks


@dataclass
class _Container:
    """A container of blocks such as a hint, or the whole page, while its chunks are built."""

    names: tuple[str, ...] = ()
    """Names of the containers and sections that the content is in, outermost first."""
    named_block: Block | None = None
    """Innermost container that has a name, such as a tab. None outside of such containers."""
    title_heading: Block | None = None
    """Heading at the beginning of this container. None if it begins with another block, or if it has no name."""
    old_ancestors: tuple[Block, ...] = ()
    """Containers of the content in the old version, outermost first."""
    ancestors: tuple[Block, ...] = ()
    """Containers of the content in the new version, outermost first."""
    heading: str = ""
    """Text of the last heading in this container above the next chunk. Empty if there is none."""

    @property
    def section_path(self) -> tuple[str, ...]:
        return (*self.names, self.heading) if self.heading else self.names


def _count_threads(rows: Sequence[ThreadSummary]) -> int:
    return sum(each.counts_as_thread for each in rows)


def _old_block(chunk: DiffChunk) -> Block | None:
    match chunk.entry:
        case RemovedBlock(block=block) | ChangedBlock(old=block) | MovedBlock(old=block):
            return block
    return chunk.removed[0] if chunk.removed else chunk.old


def _block_paths(blocks: Sequence[Block], ancestors: tuple[Block, ...]) -> Iterator[tuple[int, tuple[Block, ...]]]:
    """Yield the `id()` of each block and of all blocks inside, each with the blocks around it, the outermost first."""
    for block in blocks:
        yield id(block), ancestors
        yield from _block_paths(block.children, (*ancestors, block)) if block.children else ()


class _ChunkBuilder:
    def __init__(
        self,
        context_size: ContextSize,
        threads: Mapping[str, Sequence[ThreadSummary]],
        title: str,
        kinds: ChangeKinds = _UNKNOWN_KINDS,
        *,
        side_by_side: bool = False,
        only_meaning: bool = False,
    ) -> None:
        self._context_size, self._title, self._side_by_side = context_size, title, side_by_side
        self._kinds, self._only_meaning = kinds, only_meaning
        self._threads = threads
        self._thread_total = sum(map(_count_threads, threads.values()))
        self._shown_keys: set[str] = set()
        self._uncollapsed_chunks: list[ChunkInSections] = []
        self._containers = [_Container()]
        self._old_paths: dict[int, tuple[Block, ...]] = {}
        """Old containers of blocks that moved into or out of containers, by `id()` of the old block."""
        self.chunks = DiffChunks()
        self.chunks.thread_count = self._thread_total

    def build(self, diff: Diff) -> DiffChunks:
        def add_chunks() -> None:
            self._add_threads("", None)
            self._add_page_options(diff)
            if diff.unseen_line_count:
                self._add_note(f"No visible changes. {plural(diff.unseen_line_count, 'line')} in the source changed.")
            self._add_entries(diff.entries)

        self.chunks.remaining = self._iterate_chunks(add_chunks)
        return self.chunks

    def build_side(self, diff: Diff, shown: Document, other: Document, note: str) -> DiffChunks:
        def add_chunks() -> None:
            self._add_threads("", None)
            self._add_page_options(diff)
            self._add_note(note, self._next_number(), frozenset(self._kinds.counts))
            for block in shown.blocks:
                self._add_chunk(DiffChunk("block", block))
                self._add_block_threads((block,))
            for block in other.blocks if self._threads else ():
                self._add_block_threads((block,), with_quotes=True)

        self.chunks.remaining = self._iterate_chunks(add_chunks)
        return self.chunks

    def _iterate_chunks(self, add_chunks: Callable[[], None]) -> Iterator[DiffChunk]:
        add_chunks()
        for key in self._threads:
            if key not in self._shown_keys:
                self._add_threads(key, None)
        is_first = True
        for chunk in collapse_unchanged(self._uncollapsed_chunks, self._context_size, self._title):
            if not is_first:
                yield chunk
                continue
            is_first = False
            if self._repeats_title(chunk.block):
                yield chunk._replace(is_tight=True)
            else:
                yield from self._title_chunk()
                yield chunk
        if is_first:
            yield from self._title_chunk()

    def _title_chunk(self) -> Iterator[DiffChunk]:
        if self._title:
            yield DiffChunk("title", text=self._title, is_tight=True)

    def _repeats_title(self, block: Block | None) -> bool:
        return block is not None and block.kind == "heading" and plain_text(block.runs) == self._title

    def _add_page_options(self, diff: Diff) -> None:
        for page_option in diff.metadata:
            number, is_first = self._next_number(), page_option is diff.metadata[0]
            self._add_chunk(
                DiffChunk(
                    "page_option",
                    Block("note", key=f"note {number}"),
                    page_option=page_option,
                    change_number=number,
                    is_tight=not is_first,
                    kinds=_SETTING_KINDS,
                )
            )

    def _add_chunk(self, chunk: DiffChunk, *, is_unchanged: bool = False, has_thread: bool = False) -> None:
        container = self._containers[-1]
        if chunk.kind in ("block", "change", "replacement") and not is_unchanged:
            old_ancestors = self._old_ancestors(_old_block(chunk))
            if container.ancestors or old_ancestors:
                chunk = chunk._replace(ancestors=container.ancestors, old_ancestors=old_ancestors)
        is_heading = chunk.block is not None and chunk.block.kind == "heading"
        section_names = container.names if is_heading else container.section_path
        self._uncollapsed_chunks.append(
            ChunkInSections(chunk, section_names, container.named_block, is_unchanged, has_thread)
        )

    def _old_ancestors(self, old_block: Block | None) -> tuple[Block, ...]:
        return self._old_paths.get(id(old_block), self._containers[-1].old_ancestors)

    def _add_note(self, text: str, change: int = -1, kinds: frozenset[ChangeKind] = NO_KINDS) -> None:
        block = Block("note", key=f"note {change}")
        self._add_chunk(DiffChunk("note", block, text=text, change_number=change, kinds=kinds))

    def _new_change_chunk(
        self, kind: str, block: Block, entry: DiffEntry | None, kinds: frozenset[ChangeKind]
    ) -> DiffChunk:
        return DiffChunk(kind, block, None, entry, change_number=self._next_number(), kinds=kinds)

    def _kinds_of(self, entry: DiffGroup) -> frozenset[ChangeKind]:
        if isinstance(entry, JointMove | Replacement):
            entries = entry.moves if isinstance(entry, JointMove) else entry.entries
            return NO_KINDS.union(*map(self._kinds.of, entries))
        return self._kinds.of(entry)

    def _is_hidden(self, kinds: frozenset[ChangeKind]) -> bool:
        return self._only_meaning and bool(kinds) and not may_affect_meaning(kinds)

    def _add_hidden(self, hidden_changes: list[tuple[DiffGroup, frozenset[ChangeKind]]]) -> None:
        """Add a chunk with the counts of `hidden_changes`, and the threads on their blocks. Clear `hidden_changes`."""
        if not hidden_changes:
            return
        counts: Counter[ChangeKind] = Counter()
        for entry, kinds in hidden_changes:
            moves = entry.moves if isinstance(entry, JointMove) else (entry,)
            counts[leading_kind(kinds)] += len(moves)
            if not any(isinstance(each, MovedBlock) and not each.is_arrival for each in moves):
                self.chunks.hidden_counts[leading_kind(kinds)] += len(moves)
        self._add_chunk(DiffChunk("label", text=f"{describe_counts(counts)} hidden"))
        for entry, _ in hidden_changes:
            for each in entry.moves if isinstance(entry, JointMove) else (entry,):
                if isinstance(each, ChangedBlock | MovedBlock):
                    self._add_block_threads((each.new, each.old), with_quotes=True)
        hidden_changes.clear()

    def _next_number(self) -> int:
        self.chunks.change_count += 1
        return self.chunks.change_count - 1

    def _add_entries(self, entries: Sequence[DiffEntry]) -> None:
        hidden_changes: list[tuple[DiffGroup, frozenset[ChangeKind]]] = []
        for entry in join_moves(pair_replacements(entries) if self._side_by_side else entries):
            kinds = self._kinds_of(entry)
            if self._is_hidden(kinds) and not has_inner_changes(entry):
                hidden_changes.append((entry, kinds))
                continue
            self._add_hidden(hidden_changes)
            match entry:
                case Replacement(removed=removed, added=added):
                    self._add_chunk(
                        self._new_change_chunk("replacement", added[0], None, kinds)._replace(
                            removed=removed, added=added
                        )
                    )
                    self._add_block_threads((*removed, *added), with_quotes=len(removed) + len(added) > 2)
                    self._remember_heading(added[-1])
                case UnchangedBlocks(old=old, new=new):
                    self._add_unchanged(old, new)
                case (
                    ChangedBlock(content_change=ContainerChange() as inside)
                    | MovedBlock(content_change=ContainerChange() as inside, is_arrival=True)
                ):
                    self._add_changed_container(entry, inside)
                case RestructuredBlocks():
                    if entry.note and self._is_hidden(kinds):
                        self._add_hidden([(entry, kinds)])
                    elif entry.note:
                        self._add_note(entry.note, self._next_number(), kinds)
                    if entry.is_replaced:
                        self._add_replaced_section(entry)
                    else:
                        outer_paths = self._old_paths
                        self._old_paths = outer_paths | dict(
                            _block_paths(entry.old, self._containers[-1].old_ancestors)
                        )
                        self._add_entries(entry.entries)
                        self._old_paths = outer_paths
                    self._add_block_threads((*entry.new, *entry.old))
                case AddedBlock(entries=inner) | RemovedBlock(entries=inner) if inner:
                    self._add_container_change(entry)
                case AddedBlock(block=block) | RemovedBlock(block=block):
                    self._add_chunk(self._new_change_chunk("change", block, entry, kinds))
                    self._add_block_threads((block,))
                    if isinstance(entry, AddedBlock):
                        self._remember_heading(block)
                case JointMove():
                    self._add_move(entry)
                case ChangedBlock(old=old_block, new=block) | MovedBlock(old=old_block, new=block):
                    self._add_chunk(self._new_change_chunk("change", block, entry, kinds))
                    self._add_block_threads((block, old_block))
                    self._remember_heading(block)
        self._add_hidden(hidden_changes)

    def _add_move(self, moves: JointMove) -> None:
        first = moves.moves[0]
        old_blocks, new_blocks = tuple(each.old for each in moves.moves), tuple(each.new for each in moves.moves)
        if not first.is_arrival:
            self._add_chunk(
                self._new_change_chunk("change", first.new, first, self._kinds_of(moves))._replace(
                    removed=old_blocks, added=new_blocks
                )
            )
            return
        for index, move in enumerate(moves.moves):
            is_covered = index > 0 and move.content_change is None and not move.settings
            change = -1 if is_covered else self._next_number()
            kinds = self._kinds.of(move)
            chunk = DiffChunk("change", move.new, None, move, change_number=change, follows_move=index > 0, kinds=kinds)
            self._add_chunk(chunk if index else chunk._replace(removed=old_blocks, added=new_blocks))
            self._add_block_threads((move.new, move.old))
            self._remember_heading(move.new)

    def _add_replaced_section(self, section: RestructuredBlocks) -> None:
        """Add the removed and added blocks of a section. They get no numbers of changes, because the section is one
        change."""
        removed_blocks, added_blocks = list(section.old), list(section.new)
        is_short = not any(map(is_long, (*removed_blocks, *added_blocks)))
        while self._side_by_side and is_short and removed_blocks and added_blocks:
            paired_blocks = tuple(removed_blocks[:MAX_PAIRED_BLOCKS]), tuple(added_blocks[:MAX_PAIRED_BLOCKS])
            self._add_chunk(DiffChunk("replacement", added_blocks[0], removed=paired_blocks[0], added=paired_blocks[1]))
            removed_blocks, added_blocks = removed_blocks[MAX_PAIRED_BLOCKS:], added_blocks[MAX_PAIRED_BLOCKS:]
        for block in removed_blocks:
            self._add_chunk(DiffChunk("change", block, None, RemovedBlock(block)))
        for block in added_blocks:
            self._add_chunk(DiffChunk("change", block, None, AddedBlock(block)))
        for block in section.new:
            self._remember_heading(block)

    def _add_container_change(self, entry: AddedBlock | RemovedBlock) -> None:
        block = entry.block
        sides = (None, block) if isinstance(entry, AddedBlock) else (block, None)
        with self._enter(*sides):
            if block.kind not in UNMARKED_CONTAINERS:
                self._add_container_line(block, entry)
            self._add_entries(entry.entries)
            self._add_threads(block.key, block)

    def _add_changed_container(self, entry: ChangedBlock | MovedBlock, change: ContainerChange) -> None:
        has_title_changes = change.title is not None and bool(change.title.kinds)
        with self._enter(entry.old, entry.new):
            if isinstance(entry, MovedBlock) or entry.notes or has_title_changes:
                self._add_container_line(entry.new, entry)
            self._add_entries(change.entries)
            self._add_threads(entry.new.key, entry.new)
            self._add_threads(entry.old.key, entry.old)

    def _add_container_line(self, block: Block, entry: DiffEntry) -> None:
        kinds = self._kinds.of(entry)
        if self._is_hidden(kinds):
            self._add_hidden([(entry, kinds)])
        else:
            self._add_chunk(self._new_change_chunk("change", block, entry, kinds))

    def _add_unchanged(self, old_blocks: Sequence[Block], new_blocks: Sequence[Block]) -> None:
        for old, new in zip(old_blocks, new_blocks, strict=True):
            has_threads = [each.key in self._threads for each in new.walk()] if self._threads else [False]
            if any(has_threads[1:]) and new.kind in _EXPANDABLE_KINDS and len(old.children) == len(new.children):
                with self._enter(old, new):
                    self._add_unchanged(old.children, new.children)
                    self._add_threads(new.key, new)
                continue
            chunk = DiffChunk("block", new, old, None, self._containers[-1].ancestors, self._old_ancestors(old))
            self._add_chunk(chunk, is_unchanged=True, has_thread=any(has_threads))
            self._add_block_threads((new,))
            self._remember_heading(new)

    def _remember_heading(self, block: Block) -> None:
        container = self._containers[-1]
        if block.kind == "heading" and block is not container.title_heading:
            text = "" if self._repeats_title(block) else plain_text(block.runs)  # The page title is at the top already.
            container.heading = " ".join(text.split())

    @contextmanager
    def _enter(self, old: Block | None, new: Block | None) -> Iterator[None]:
        """Make a container, with its versions `old` and `new`, the parent of all chunks added in the `with` block."""
        outer_container, block = self._containers[-1], new or old
        assert block is not None, "the block must have a parent"
        name = container_name(block)
        old_ancestors = (*outer_container.old_ancestors, old) if old is not None else outer_container.old_ancestors
        new_ancestors = (*outer_container.ancestors, new) if new is not None else outer_container.ancestors
        named_block, title = (block, title_heading(block)) if name else (outer_container.named_block, None)
        names = (*outer_container.section_path, " ".join(name.split())) if name else outer_container.section_path
        self._containers.append(_Container(names, named_block, title, old_ancestors, new_ancestors))
        yield
        self._containers.pop()

    def _add_block_threads(self, blocks: Sequence[Block], *, with_quotes: bool = False) -> None:
        for block in blocks if self._threads else ():
            for each in block.walk():
                self._add_threads(each.key, block, each.plain() if with_quotes and each.key in self._threads else "")

    def _add_threads(self, key: str, block: Block | None, quote: str = "") -> None:
        threads = self._threads.get(key)
        if not threads or key in self._shown_keys:
            return
        number = sum(_count_threads(self._threads[each]) for each in self._shown_keys)
        self._shown_keys.add(key)
        if quote:
            quote = " ".join(quote.split())
            threads = [replace(thread, quote=thread.quote or quote) for thread in threads]
        numbered_threads: list[tuple[ThreadSummary, str]] = []
        for thread in threads:
            number += thread.counts_as_thread
            numbered_threads.append(
                (thread, "" if not thread.counts_as_thread else f"thread {number}/{self._thread_total}")
            )
        owner = block or Block("page-threads", key=key)
        self._add_chunk(DiffChunk("threads", owner, threads=tuple(numbered_threads), is_tight=block is not None))
