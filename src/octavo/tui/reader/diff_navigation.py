"""Navigation in a diff: restores the position in a page that is opened, and goes to changes and threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from textual.message import Message

from octavo.documents.anchors import anchored_blocks, match_anchor
from octavo.documents.blocks import Block
from octavo.documents.change_kinds import leading_kind, risk_sort_key
from octavo.tui.reader.diff_contents import DiffBuilder, DiffContents
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import START, BlockSpan, LinePosition, ReadingPosition
from octavo.tui.reader.viewport import explain
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_chunks import DiffChunk, DiffChunks, may_contain
from octavo.tui.render.diff_sequence import build_source_diff
from octavo.tui.render.threads import FINDING_PREFIX
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import plural


def change_index_at(chunks: Sequence[DiffChunk], index: int) -> int:
    """Return the index of the first chunk of the nearest change at or above the chunk `index`. -1 without a change."""
    return next(
        (position for position in range(min(index, len(chunks) - 1), -1, -1) if chunks[position].change_number >= 0), -1
    )


def change_indexes(chunks: Sequence[DiffChunk], *, by_risk: bool) -> list[int]:
    """Return the index of the first chunk of each change. With `by_risk`, the most important changes come first, except
    in a source diff."""
    indexes = [index for index, chunk in enumerate(chunks) if chunk.change_number >= 0]
    has_kinds = all(chunks[index].kinds for index in indexes)
    return sorted(indexes, key=lambda index: risk_sort_key(chunks[index].kinds)) if by_risk and has_kinds else indexes


def following_changes(chunks: Sequence[DiffChunk], index: int, step: int, *, by_risk: bool) -> list[int]:
    """Return the index of the first chunk of each change after the chunk `index`, or before it if `step` is -1. The
    nearest change is first. `by_risk` is True if changes are ordered by risk, not by position. Then a chunk counts as
    part of the nearest change at or above it, and a chunk above the first change comes before all changes. To get all
    changes, pass -1, or `len(chunks)` if `step` is -1, as `index`."""
    order = change_indexes(chunks, by_risk=by_risk)
    if not by_risk or not 0 <= index < len(chunks):
        return [each for each in order[::step] if (each - index) * step > 0]
    current_index = change_index_at(chunks, index)
    if current_index < 0:
        return order if step > 0 else []
    position_in_order = order.index(current_index)
    return order[position_in_order + 1 :] if step > 0 else order[:position_in_order][::-1]


def position_text(diff: DiffChunks, index: int, *, by_risk: bool) -> str:
    """Return text such as `change 2 of 7`. Above the first change, return text such as `7 changes`. Empty without
    changes. With `by_risk`, the text includes the kind of the change."""
    if not diff.change_count:
        return ""
    change_index = change_index_at(diff.chunks, index)
    order_text = " by risk" if by_risk else ""
    if change_index < 0:
        return f"{plural(diff.change_count, 'change')}{order_text}"
    if not by_risk or not diff.chunks[change_index].kinds:
        return f"change {diff.chunks[change_index].change_number + 1} of {diff.change_count}{order_text}"
    number = change_indexes(diff.chunks, by_risk=True).index(change_index) + 1
    return f"change {number} of {diff.change_count}{order_text}: {leading_kind(diff.chunks[change_index].kinds)}"


_MAX_SEARCHED_SLICES = 6
"""Maximum number of slices without threads that are rendered to find a block, because rendering is slow."""


NON_BLOCK_KINDS = frozenset(("fold", "note", "change", "thread", "page"))
"""Block kinds of selectable rows that are not blocks of the page, such as a note or the heading above a page."""


@dataclass
class ThreadOnOtherPageRequested(Message):
    """Request to go to the next page with an open thread (`step` 1), or to the previous one (-1)."""

    step: int


class DiffNavigation:
    """Goes to changes and threads in a diff, and stores and restores reading positions."""

    def __init__(self, pane: Reader, contents: DiffContents) -> None:
        self.pane, self.contents, self.cursor = pane, contents, pane.cursor
        self.builder = DiffBuilder(pane, contents, self.show_chunks)
        self.positions: dict[str, ReadingPosition] = {}
        """Last reading position in each page, by `PageSection.position_key`."""
        self._shown_comparison: PageComparison | None = None
        """The comparison that is shown. None before the first comparison."""
        self._thread_blocks: dict[str, str] = {}
        """Key of the block of each thread, by thread key. If the selected thread disappears, its block is selected."""
        self._is_waiting_for_lines = False
        """True while the position in an opened page is not restored yet, because its lines are still being built."""
        self._opening_position: tuple[Block, LinePosition] | None = None
        """Selected block and first visible line just after the page was opened. None if it was opened at a requested
        thread, if there was nothing to select, and after the user has expanded lines."""
        self._is_opened_at_change = False
        """True if the page was opened at its first change or thread, not at a stored position."""
        self._thread_to_select = ""
        """Key of the thread to select as soon as there are lines. Empty if none is requested."""

    @property
    def position_text(self) -> str:
        """Text for the status line, such as `change 2 of 7`. Empty without changes."""
        selected = self.cursor.current()
        chunk_index = selected.chunk_index if selected is not None else 0
        return position_text(self.contents.shown_diff, chunk_index, by_risk=self.contents.visits_by_risk)

    @property
    def page_chunk_range(self) -> range:
        """Indexes of the chunks of the current page. By default all chunks, because the diff shows one page."""
        return range(len(self.contents.shown_diff.chunks))

    def search_start_index(self, step: int) -> int:
        """Return the index at which a search of all chunks starts: -1, or the number of chunks if `step` is -1."""
        return -1 if step > 0 else len(self.pane.viewport.virtual_lines)

    def build_all(self) -> None:
        """Build the diffs of all pages again, for example in another layout."""
        self.builder.build()

    def toggle_heading(self, chunk_index: int, target: str) -> bool:
        """Return False: one page has no heading. `MultiPageNavigation` expands or collapses the clicked page."""
        return False

    def open_page(self) -> None:
        """Go to the requested thread, else to the last reading position, else to the first change or thread. If the
        page has no lines yet, do this later."""
        self._is_waiting_for_lines = True
        if len(self.pane.viewport.virtual_lines):
            self._restore()

    def _restore(self) -> None:
        self._is_waiting_for_lines, self._opening_position, self.cursor.selected = False, None, None
        self.pane.viewport.go_to(START)
        thread, self._thread_to_select = self._thread_to_select, ""
        if thread and self.select_thread(thread):
            self.cursor.scroll_into_view()
            return
        position = self.positions.get(self.contents.page.position_key) if not self.contents.shows_source else None
        block = self._current_block(Block("", key=position.block)) if position is not None else None
        collapsed = self._chunk_hiding(block) if block is not None else None
        if collapsed is not None:
            self._is_waiting_for_lines = True
            self._expand(collapsed)  # After the next build, the position is restored.
            return
        span = self._find_span(block) if block is not None else None
        if position is None or span is None:
            position, span = None, self._change_from(-1, 1) or self._next_thread(-1, None, 1)
        self._is_opened_at_change = position is None
        if span is None:
            return
        self.cursor.select(span, scroll_to=None)
        height, rows = span.last - span.first + 1, self.pane.viewport.row_count
        if position is not None:
            self.pane.viewport.show_in_row(span.start, position.row)
        elif self.pane.viewport.row_of(span.start) + min(height, rows // 2) > rows:
            self.pane.viewport.show_in_row(span.start, max(2, min(rows // 3, rows - height)))
        self._opening_position = (span.block, self.pane.viewport.top)

    def store_position(self) -> None:
        """Store the reading position in this page. Do nothing in a source diff, or if the user has not moved."""
        if self.cursor.selected is None or self.contents.shows_source or self._is_unmoved:
            return
        if (selected := self.cursor.current()) is not None:
            self.positions[self.contents.page.position_key] = ReadingPosition(
                selected.block.key, self.pane.viewport.row_of(selected.start)
            )

    def _current_block(self, block: Block) -> Block:
        """Return the block with the key of `block` in the current comparison. If there is none, return `block`."""
        compared = self.contents.page.compared
        if compared is None or block.kind in NON_BLOCK_KINDS or block.key in self.contents.thread_keys:
            return block
        return compared.find(block.key) or block

    def _chunk_hiding(self, block: Block) -> DiffChunk | None:
        """Return the chunk of collapsed blocks that contains `block`. None if the block is not collapsed."""
        chunks = self.contents.shown_diff.chunks
        return next(
            (
                chunks[index]
                for index in self.page_chunk_range
                if chunks[index].hidden_blocks and chunks[index].hides(block)
            ),
            None,
        )

    def _expand(self, collapsed: DiffChunk, on_shown: Callable[[], object] | None = None) -> None:
        self.contents.page.context_size.expanded.update(block.key for block in collapsed.hidden_blocks)
        self.builder.build(on_shown)

    @property
    def _is_unmoved(self) -> bool:
        """True if the selected block and the first visible line are still those of `_opening_position`."""
        selected = self.cursor.selected[1] if self.cursor.selected is not None else None
        return (
            self._opening_position is not None
            and selected is self._opening_position[0]
            and self.pane.viewport.top == self._opening_position[1]
        )

    @property
    def is_unmoved_since_opening(self) -> bool:
        """True if the user has not moved since the page was opened, or if the opened page has no lines yet."""
        return self._is_waiting_for_lines or self._is_unmoved

    def show_chunks(self, chunks: DiffChunks) -> None:
        """Show a diff that was built. If the user has moved, the selected block stays in its row. Otherwise, restore
        the opening position again."""
        selected, is_same = self.cursor.current(), self._shown_comparison is self.contents.page.compared
        self._shown_comparison = self.contents.page.compared
        is_thread = selected is not None and selected.block.kind == "thread"
        thread_block_key = self._thread_blocks.get(selected.block.key, "") if selected is not None and is_thread else ""
        self._thread_blocks = {each.key: key for key, row in self.contents.page.threads.items() for each in row}
        self.contents.built_diff = chunks
        if selected is not None and not is_same:
            # The new comparison has other block objects, so replace the selected block by the new object.
            selected = selected._replace(block=self._current_block(selected.block))
        if self.is_unmoved_since_opening:
            self.pane.reset_lines()
        else:
            self._lay_out_around(selected, thread_block_key)
        self.pane.find_bar.content_changed()
        self.pane.refresh_bindings()
        self.pane.viewport.notify_moved()

    def _lay_out_around(self, selected: BlockSpan | None, thread_block_key: str) -> None:
        """Replace all lines. The selected block stays in its row. If this block is gone, the block with the key
        `thread_block_key` is shown in that row instead."""
        row = self.pane.viewport.row_of(selected.start) if selected is not None else 0
        self.pane.reset_lines()
        if selected is None:
            return
        span = self._find_span(selected.block)
        if span is None and thread_block_key:
            span = self._find_span(self._current_block(Block("", key=thread_block_key)))
        if span is not None:
            # If `cursor.selected` is None, it stays None, so that the first visible block counts as selected.
            if self.cursor.selected is not None:
                self.cursor.selected = (span.chunk_index, span.block)
            self.pane.viewport.show_in_row(span.start, row)
            if self.pane.viewport.covered_row_count:
                self.cursor.scroll_into_view()  # New replies in the thread may be out of view.

    def _find_span(self, block: Block) -> BlockSpan | None:
        """Return the span of `block`, else of a block with the same key. None if the searched slices have neither."""
        same_key: BlockSpan | None = None
        tries_left = _MAX_SEARCHED_SLICES
        contains_by_id: dict[int, bool] = {}

        def contains(top: Block) -> bool:
            # All slices of a table have the same block, so search each block only once.
            if id(top) not in contains_by_id:
                contains_by_id[id(top)] = top.has(block.key)
            return contains_by_id[id(top)]

        is_page_block = block.kind and block.kind not in NON_BLOCK_KINDS  # Rows such as notes have no source lines.
        for chunk_index in self.page_chunk_range:
            chunk = self.contents.shown_diff.chunks[chunk_index]
            if is_page_block:
                contains_block = any(may_contain(top, block) and contains(top) for top in chunk.blocks)
            else:
                contains_block = bool(chunk.threads) or (chunk.block is not None and chunk.block.key == block.key)
            if contains_block:
                for span in self.cursor.spans_of(chunk_index):
                    if span.block is block:
                        return span
                    same_key = same_key or (span if span.block.key == block.key else None)
                tries_left -= not chunk.threads
                if not tries_left:
                    break
        return same_key

    def go_to_next_thread(self, step: int) -> None:
        """Go to the next (1) or previous (-1) open thread on any page. If a source diff hides it, tell the user."""
        if self.contents.shows_source and self.contents.has_open_threads:
            explain(self.pane, "The source diff shows no threads. Press \\ to switch to the rendered diff.")
        elif not len(self.pane.viewport.virtual_lines) or not self.go_to_thread(step):
            self.pane.post_message(ThreadOnOtherPageRequested(step))

    def go_to_thread(self, step: int, *, starts_at_edge: bool = False) -> bool:
        """Go to the next open thread (1) or to the previous one (-1) on this page. Return False if there is none.
        With `starts_at_edge`, begin at the start of the page (the end if `step` is -1), not at the selected block."""
        selected = self.cursor.selected_span() if not starts_at_edge else None
        is_at_first_change = self._is_opened_at_change and self._is_unmoved
        if selected is not None and step > 0 and is_at_first_change and selected.block.kind != "thread":
            selected = None
        start, block = (
            (selected.chunk_index, selected.block) if selected is not None else (self.search_start_index(step), None)
        )
        span = self._next_thread(start, block, step)
        if span is not None:
            self.cursor.select(span, scroll_to="third")
        return span is not None

    def go_to_finding(self, step: int) -> bool:
        """Go to the next check finding (1) or to the previous one (-1). Return False if there is none."""
        selected = self.cursor.selected_span()
        start, block = (
            (selected.chunk_index, selected.block) if selected is not None else (self.search_start_index(step), None)
        )
        spans = self._thread_rows(start, block, step)
        span = next((span for span in spans if span.block.key.startswith(FINDING_PREFIX)), None)
        if span is not None:
            self.cursor.select(span, scroll_to="third")
        return span is not None

    def select_thread(self, key: str) -> bool:
        """Select a thread, or do so later if the page has no lines yet. Return False if the thread is not shown."""
        if (
            not len(self.pane.viewport.virtual_lines)
            and not self.contents.shows_source
            and key in self.contents.thread_keys
        ):
            self._thread_to_select, self._is_waiting_for_lines = key, True
            return True
        span = self._find_span(Block("thread", key=key))
        if span is not None:
            self.cursor.select(span, scroll_to=None)
        return span is not None

    def _next_thread(self, chunk_index: int, block: Block | None, step: int) -> BlockSpan | None:
        spans = self._thread_rows(chunk_index, block, step)
        return next((span for span in spans if span.block.kind == "thread" and span.block.attrs["open"]), None)

    def _thread_rows(self, chunk_index: int, block: Block | None, step: int) -> Iterator[BlockSpan]:
        """Yield the selectable rows below `block` in its chunk, then those of later chunks of the page with threads,
        drafts or findings. If `step` is -1, yield the rows above `block`, upwards."""
        chunks, page_chunk_range = self.contents.shown_diff.chunks, self.page_chunk_range
        return self.cursor.spans_from(
            chunk_index, block, step, lambda index: index in page_chunk_range and bool(chunks[index].threads)
        )

    def go_to_change(self, step: int) -> None:
        """Go to the next (1) or previous (-1) change, else call `go_beyond`. During a search, go to a match instead."""
        if self.pane.find_bar.needle:
            self.pane.find_bar.step(step)
            return
        selected = self.cursor.selected_span()
        span = self._change_from(selected.chunk_index if selected is not None else self.search_start_index(step), step)
        if span is not None:
            self.cursor.select(span, scroll_to="third")
        else:
            self.go_beyond(step)

    def go_beyond(self, step: int) -> None:
        """Tell the user that there is no next change, or no previous change if `step` is -1."""
        order_text = " by risk" if self.contents.visits_by_risk else ""
        ordinal, is_more, hint = (
            ("last", self.contents.has_page_after, " Press J for the next page.")
            if step > 0
            else ("first", self.contents.has_page_before, " Press K for the previous page.")
        )
        explain(self.pane, f"This is the {ordinal} change on this page{order_text}.{hint if is_more else ''}")

    def _change_from(self, chunk_index: int, step: int) -> BlockSpan | None:
        return self._next_change_in(self.contents.shown_diff.chunks, 0, chunk_index, step)

    def _next_change_in(self, chunks: Sequence[DiffChunk], start: int, index: int, step: int) -> BlockSpan | None:
        """Return the next change after `chunks[index]`, or the previous one if `step` is -1. None if there is none.
        `start` is the index of `chunks[0]` among all chunks of the pane."""
        chunk_indexes = following_changes(chunks, index, step, by_risk=self.contents.visits_by_risk)
        spans = next(filter(None, (self.cursor.spans_of(start + each) for each in chunk_indexes)), None)
        if not spans:
            return None
        span = next((span for span in spans if not self.contents.is_old(span.block)), spans[0])
        return span._replace(
            first=spans[0].first, last=len(self.pane.viewport.virtual_lines.lines(span.chunk_index)) - 1
        )

    def expand_collapsed(self, key: str) -> None:
        """Expand the collapsed blocks whose chunk has this key, and select the first of them."""
        chunks = self.contents.shown_diff.chunks
        blocks = ((index, chunks[index].block) for index in self.page_chunk_range)
        index = next((index for index, block in blocks if block is not None and block.key == key), None)
        if index is None:
            return
        self._opening_position = None  # Otherwise, the new lines would be scrolled to the opening position.
        self._expand(chunks[index], partial(self.select_block, chunks[index].hidden_blocks[0]))

    def toggle_order(self) -> None:
        """Switch between the order of the page and the order by risk. After switching to the order by risk, go to the
        most important change."""
        self.contents.by_risk = not self.contents.by_risk
        if self.contents.by_risk and (first_change := self._change_from(-1, 1)) is not None:
            self.cursor.select(first_change, scroll_to="third")
        self.pane.viewport.notify_moved()

    def toggle_meaningless_changes(self) -> None:
        """Hide or show the changes that cannot affect the meaning of the page."""
        self.contents.only_meaning = not self.contents.only_meaning
        selected = self.cursor.current()
        self.builder.build(partial(self._select_near, selected.start) if selected is not None else None)

    def _select_near(self, old_position: LinePosition) -> None:
        """If the diff no longer shows the selected block, select the first change from `old_position` on. In the
        order by risk, select the most important change."""
        selected = self.cursor.selected
        if selected is None or self._find_span(selected[1]) is not None:
            return
        index_above = min(old_position.chunk_index, max(0, len(self.contents.shown_diff.chunks) - 1)) - 1
        span = self._change_from(index_above, 1) if not self.contents.visits_by_risk else self._change_from(-1, 1)
        self.cursor.selected = None
        if span is not None:
            self.cursor.select(span, scroll_to="third")

    def why_not_change_context(self, *, more: bool) -> str | None:
        """Return why the user cannot show more or less unchanged text around the changes. None if the user can."""
        if self.contents.shows_source:
            return "The source diff shows a fixed number of unchanged lines. Press \\ to switch to the rendered diff."
        if self.contents.current_layout in ("new", "old"):
            return "This layout shows the whole page. Press | to switch to the diff."
        chunks = [self.contents.shown_diff.chunks[index] for index in self.page_chunk_range]
        size = self.contents.page.context_size
        can_grow = any(each.kind == "collapsed" or each.line_limit for each in chunks)
        can_shrink = (size.step or size.expanded) and any(each.kind == "block" for each in chunks)
        if self.contents.is_building or (can_grow if more else can_shrink):
            return None
        return (
            f"The diff already shows {'all' if more else 'as little'} unchanged text{'' if more else ' as possible'}."
        )

    def show_more_context(self) -> None:
        """Expand the selected collapsed blocks. If none are selected, show more unchanged blocks around all changes."""
        selected = self.cursor.current()
        if selected is not None and selected.block.kind == "fold":
            self.expand_collapsed(selected.block.key)
            return
        self.contents.page.context_size.increase()
        self.builder.build()

    def show_less_context(self) -> None:
        """Show fewer unchanged blocks around all changes."""
        self.contents.page.context_size.decrease()
        self.builder.build()

    def switch_layout(self) -> None:
        self.contents.choose_next_layout()
        self.build_all()

    def toggle_source(self) -> None:
        """Switch between the source diff and the rendered diff."""
        self.contents.is_source_chosen = not self.contents.is_source_chosen
        self.update_source()

    def update_source(self) -> None:
        """Build the source diff in the background. Then show the source or rendered diff, as the user has chosen."""
        if (compared := self.contents.page.compared) is not None:
            self.pane.run_worker(self._update_source(compared), group="source", exclusive=True)

    async def _update_source(self, compared: PageComparison) -> None:
        changes = await asyncio.to_thread(lambda: build_source_diff(compared.hunks).complete())
        if compared is not self.contents.page.compared:
            return
        self.contents.source_changes = changes
        if self.contents.shows_source is not self.contents.is_source_chosen:
            self.contents.shows_source = self.contents.is_source_chosen
            self.cursor.selected = None
            self.builder.drop_chunks()
            self.open_page()
        self.builder.build()

    def select_block(self, block: Block) -> None:
        """Select a block without scrolling, if the diff shows the block."""
        if (span := self._find_span(block)) is not None:
            self.cursor.select(span, scroll_to=None)

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to the heading or block of the new version with this anchor. Return False if there is none."""
        anchors = anchored_blocks(self.contents.page.compared.new) if self.contents.page.compared is not None else {}
        if (name := match_anchor(anchor.lstrip("#"), anchors)) is None:
            return False
        block = anchors[name]
        if self.contents.shows_source or self.contents.current_layout == "old":
            self.contents.shows_source = self.contents.is_source_chosen = False
            self.contents.chosen_layout = "changes"
            self.builder.build(partial(self._go_to_heading, block))
            return True
        return self._go_to_heading(block)

    def _go_to_heading(self, block: Block) -> bool:
        if (collapsed := self._chunk_hiding(block)) is not None:
            self._opening_position = None
            self._expand(collapsed, partial(self._go_to_heading, block))
            return True
        if (span := self._find_span(block)) is not None:
            self.cursor.select(span, scroll_to="top")
        return span is not None


def _why_no_change(_: object, navigation: DiffNavigation) -> str | None:
    if navigation.contents.has_changes or navigation.pane.find_bar.needle:
        return None
    if hidden_count := navigation.contents.shown_diff.hidden_counts.total():
        if hidden_count == 1:
            return "The only change is hidden, because it has no meaning. Press F to show it."
        return f"All {hidden_count} changes are hidden, because they have no meaning. Press F to show them."
    return "No changes on this page."


def _why_not_in_source(_: object, navigation: DiffNavigation) -> str | None:
    if navigation.contents.shows_source:
        return "The source diff does not sort changes. Press \\ to switch to the rendered diff."
    return None


def _why_no_thread(_: object, navigation: DiffNavigation) -> str | None:
    if navigation.contents.has_threads_elsewhere or navigation.contents.has_open_threads:
        return None
    hint = "" if navigation.pane.block_commands.why_no_comment_here() else " Press c to comment on the selected block."
    return f"No open threads here.{hint}"


def _allows_comments(_: object, navigation: DiffNavigation) -> bool:
    return not navigation.contents.is_merge_preview


CHANGE_COMMANDS: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("next_change", "n", "Next change", "Go to the next change or match",
                run=lambda _, diff: diff.go_to_change(1), why_not=_why_no_change),
        Command("prev_change", "N", "Previous change", "Go to the previous change or match",
                run=lambda _, diff: diff.go_to_change(-1), why_not=_why_no_change, shown=False),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
DIFF_THREAD_COMMANDS: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("next_thread", "t", "Next thread", "Go to the next open thread",
                run=lambda _, diff: diff.go_to_next_thread(1), why_not=_why_no_thread, is_available=_allows_comments),
        Command("prev_thread", "T", "Previous thread", "Go to the previous open thread",
                run=lambda _, diff: diff.go_to_next_thread(-1), why_not=_why_no_thread, is_available=_allows_comments, shown=False),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
ORDER_AND_FILTER_COMMANDS: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("risk_order", "S", "Sort by risk", "Switch between the order of the page and by risk",
                run=lambda _, diff: diff.toggle_order(), why_not=_why_not_in_source, shown=False),
        Command("only_meaning", "F", "Only meaning", "Hide or show changes without meaning",
                run=lambda _, diff: diff.toggle_meaningless_changes(), why_not=_why_not_in_source, shown=False),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
"""Commands that sort changes by risk, and hide changes that cannot affect the meaning."""
LAYOUT_COMMANDS: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("unfold", "equals_sign", "More context", "Show more unchanged lines",
                run=lambda _, diff: diff.show_more_context(), why_not=lambda _, diff: diff.why_not_change_context(more=True)),
        Command("fold", "minus", "Less context", "Show fewer unchanged lines", run=lambda _, diff: diff.show_less_context(),
                why_not=lambda _, diff: diff.why_not_change_context(more=False), shown=False),
        Command("layout", "vertical_line", "Split/unified", "Switch between split and unified diff",
                run=lambda _, diff: diff.switch_layout(), why_not=lambda _, diff: diff.contents.why_no_other_layout, shown=False, key_display="|"),
        Command("source", "backslash", "Source", "Switch between rendered and source diff",
                run=lambda _, diff: diff.toggle_source(), shown=False,
                why_not=lambda _, diff: diff.contents.why_no_source),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
