"""Navigation in a page: goes to headings, anchors and threads, switches to the Markdown source, and restores reading
positions. Moves to parts that are not parsed yet wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

from octavo.documents.anchors import PageAnchors, anchored_blocks, is_missing_anchor, match_anchor, page_anchors
from octavo.documents.blocks import Block, Document
from octavo.tui.reader.page_contents import PageContents, PageThreads, repeated_title
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import (
    START,
    BlockSpan,
    LinePosition,
    ReadingPosition,
    ScrollTo,
    count_lines,
    reading_position_of,
)
from octavo.tui.reader.viewport import STILL_LOADING, explain
from octavo.tui.render.layout import anchors_above
from octavo.tui.render.layout_context import path_to_block
from octavo.tui.widgets.commands import Command, Commands, StillLoading

_MAX_SEARCHED_SLICES = 4
"""Maximum number of slices that are rendered to find a block, because rendering is slow."""

_THREADS_LOADING = StillLoading("The threads on this page are still loading.")


class PendingJump(NamedTuple):
    """A jump to a heading, block or footnote. The jump waits until its target is parsed."""

    anchor: str
    """Anchor of a heading, key of a block, or label of a footnote."""
    position_at_request: ReadingPosition
    """Reading position when the jump was requested. If the user has moved since then, the jump is dropped."""
    by_link: bool = False
    """True if the user followed a link. If its anchor is missing, the user is told."""
    show_footnote: Callable[[Block | None], None] | None = None
    """Called with the footnote as soon as it is parsed, or with None if it is missing. Not set for other targets."""


def why_not_found(anchor: str, anchors: PageAnchors) -> str:
    """Return why a link did not find the heading `anchor` among the anchors of the shown page, as a sentence."""
    if is_missing_anchor(anchor, [anchors]):
        return f"This page has no heading “{anchor}”. The heading may have been renamed."
    return f"Octavo did not find “{anchor}”. It may be in a part of this page that Octavo does not search."


class PageNavigation:
    """Goes to headings, anchors, blocks and threads of a `PageView`, and restores its reading positions."""

    def __init__(self, pane: Reader, contents: PageContents, threads: PageThreads) -> None:
        self.pane, self.contents, self.cursor, self.threads = pane, contents, pane.cursor, threads
        self.position_to_restore: tuple[str, ReadingPosition] | None = None
        """Key of a page to be shown, and the reading position to restore there. None if there is nothing to restore."""
        self._unmoved_position = ReadingPosition()
        """Reading position from which the user has not moved yet: the top of a page that was not shown, or the position
        when `go_to_anchor` was called. If the user has moved, nothing is restored."""
        self._unfinished_restore: tuple[ReadingPosition, ReadingPosition] | None = None
        """Position to restore when the whole page is parsed, and the position after `restore` was called. Else None."""
        self.is_latest = True
        """False while a newer version of the page is loading, which may contain an anchor that is missing here."""
        self.pending_jump: PendingJump | None = None
        self._waiting_moves: list[Callable[[], object]] = []
        """Moves that stopped at the end of the parsed part of the page, to repeat when the whole page is parsed."""
        self._waiting_position = ReadingPosition()
        """Reading position when `_waiting_moves` were requested."""
        self._anchor_cache: tuple[Document, Mapping[str, str]] | None = None
        """A document, and the anchor above each of its blocks. None if they are not computed yet."""

    def forget_page(self) -> None:
        """Drop the waiting moves, the position that is still to be restored, and the anchors of the previous page."""
        self._unfinished_restore = self._anchor_cache = None
        self.cancel_waiting_moves()

    def repeat_when_parsed(self, move: Callable[[], object]) -> None:
        """Call `move` when the whole page is parsed, unless the user moves before that."""
        self._waiting_moves = [*self.waiting_moves(), move]
        self._waiting_position = self.position()

    def defer_after_waiting_moves(self, step: int, move: Callable[[], object]) -> bool:
        """If moves wait for parsing, add `move` to them and return True. Otherwise, return False. A negative `step` (a
        move up) cancels the waiting moves and returns False."""
        if step < 0:
            self.cancel_waiting_moves()
        elif self.waiting_moves():
            self.repeat_when_parsed(move)
            return True
        return False

    def waiting_moves(self) -> list[Callable[[], object]]:
        """Return the moves that wait for parsing. Empty if the user has moved since they were requested."""
        return [] if self.position().has_moved(self._waiting_position) else self._waiting_moves

    def cancel_waiting_moves(self) -> None:
        """Drop the moves that wait until the rest of the page is parsed."""
        self._waiting_moves = []

    @property
    def current_anchor(self) -> str:
        """Anchor of the last heading at or above the selected block. If the page is scrolled to its end and the first
        visible block is selected, the last visible block is used instead. Empty if there is no heading above."""
        document, span = self.contents.document, self.cursor.current()
        if document is None or span is None:
            return ""
        if self.pane.viewport.lines_above and self.pane.viewport.is_at_end:
            visible_spans = self.cursor.visible_spans()
            span = visible_spans[-1] if visible_spans and visible_spans[0].block is span.block else span
        if self._anchor_cache is None or self._anchor_cache[0] is not document:
            self._anchor_cache = (document, anchors_above(document))
        return self._anchor_cache[1].get(span.block.key, "")

    def go_to_heading(self, step: int) -> None:
        """Select the next heading (1), as soon as it is parsed, or the previous one (-1)."""
        if self.defer_after_waiting_moves(step, lambda: self.go_to_heading(step)):
            return
        chunks = self.pane.viewport.virtual_lines.chunks
        heading = self.cursor.find_next(
            step,
            lambda span: span.block.kind == "heading",
            lambda chunk_index: any(each.kind == "heading" for each in chunks[chunk_index].content.walk()),
        )
        if heading is not None:
            self.cursor.select(heading, scroll_to="top")
        elif step > 0 and not self.contents.is_fully_parsed:
            self.repeat_when_parsed(lambda: self.go_to_heading(step))

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to the heading with this anchor, or to the block with this key. An empty anchor stands for the top. Return
        False if the parsed part of the page lacks the heading or block. If it is parsed later, go to it then."""
        wanted_anchor = anchor.lstrip("#")
        document = self.contents.document
        self.cancel_waiting_moves()
        if document is None:
            self.pending_jump = PendingJump(wanted_anchor, ReadingPosition())
            return False
        if not wanted_anchor:
            self._go_to_top()
            return True
        if self.contents.shows_source:
            self.toggle_source()
        self.position_to_restore = self._unfinished_restore = None
        start_position = self.position()
        anchors = anchored_blocks(document)
        # The part that is not parsed yet may have exactly this anchor.
        name = match_anchor(wanted_anchor, anchors) if self.contents.is_fully_parsed else wanted_anchor
        block = anchors.get(name) if name is not None else None
        if block is not None and block is repeated_title(document.blocks, self.contents.head):
            self._go_to_top()
            is_found = True
        elif block is not None and not self.contents.is_fully_parsed:
            # The heading can scroll to the top only when more lines follow, so its position is also restored later.
            self.restore_later(self.contents.key, ReadingPosition(block.key, 1))
            self._unmoved_position = start_position
            self.restore_if_parsed()
            is_found = True
        else:
            is_found = self.go_to_block(block.key if block is not None else wanted_anchor)
        is_final = is_found or (self.contents.is_fully_parsed and self.is_latest)
        self.pending_jump = None if is_final else PendingJump(wanted_anchor, start_position)
        return is_found

    def _go_to_top(self) -> None:
        if self.contents.shows_source:
            self.toggle_source()
        self.cursor.selected = None
        self.pane.viewport.go_to(START)
        self.pane.viewport.repaint()
        self.pane.viewport.notify_moved()

    def go_to_block(self, key: str, scroll_to: ScrollTo | None = "top") -> bool:
        """Select the block `key`. If it is not selectable, select a block around it or inside it. Expand the blocks
        that hide it, and scroll to it. Return False if no block is selected."""
        if self.contents.shows_source:
            self.toggle_source()
        tries_left = _MAX_SEARCHED_SLICES
        for chunk_index, chunk in enumerate(self.pane.viewport.virtual_lines.chunks):
            path = path_to_block(chunk.content, key)
            if not path:
                continue
            if self.pane.viewport.view_state.expand_path(path):
                self.pane.viewport.lay_out_again(chunk_index)
            # If the block is not selectable, a block around or inside is selected.
            keys_around = {block.key for block in path if block.key}
            keys_inside = {block.key for block in path[-1].walk() if block.key}
            spans = self.cursor.spans_of(chunk_index)
            spans_inside = (span for span in spans if span.block.key in keys_inside)
            spans_around = (span for span in reversed(spans) if span.block.key in keys_around)
            exact_spans = (span for span in spans if span.block.key == key)
            if (span := next(chain(exact_spans, spans_around, spans_inside), None)) is not None:
                self.cursor.select(span, scroll_to=scroll_to)
                return True
            if (tries_left := tries_left - 1) == 0:
                return False
        return False

    @property
    def why_no_thread(self) -> str | None:
        """Reason why the user cannot go to an open thread. None if the page has one."""
        if self.threads.marks:
            return None
        if not self.contents.is_fully_parsed:
            return STILL_LOADING
        return _THREADS_LOADING if self.threads.is_loading else "No block on this page has an open thread."

    def go_to_thread(self, step: int) -> None:
        """Select the next block with an open thread (1), or the previous one (-1). Collapsed parents are expanded."""
        span = self._find_thread(step)
        if span is None:
            more_word, key, other_word = ("more", "T", "previous") if step > 0 else ("previous", "t", "next")
            has_other = self._find_thread(-step) is not None
            hint = f" Press {key} to go to the {other_word} open thread." if has_other else ""
            explain(self.pane, f"No {more_word} open threads on this page.{hint}")
            return
        hidden_blocks = self.threads.marked_blocks(span, are_hidden=True)
        if hidden_blocks and not self.threads.marked_blocks(span, are_hidden=False):
            self.go_to_block(hidden_blocks[0 if step > 0 else -1].key, "third")
        else:
            self.cursor.select(span, scroll_to="third")

    def _find_thread(self, step: int) -> BlockSpan | None:
        chunks = self.pane.viewport.virtual_lines.chunks
        return self.cursor.find_next(
            step,
            lambda span: span.block.key in self.threads.paths_by_block(span.chunk_index, self.threads.marks),
            lambda chunk_index: self.threads.marks.has_threads(chunks[chunk_index].block, chunks[chunk_index].slice),
        )

    @property
    def current_position(self) -> ReadingPosition:
        """Reading position and expanded blocks, to restore them if the page is opened again."""
        if self._unfinished_restore is not None and not self.position().has_moved(self._unfinished_restore[1]):
            return self._unfinished_restore[0]
        return self.position()._replace(view_state=self.pane.viewport.view_state.copy())

    def restore(self, position: ReadingPosition) -> None:
        """Restore the expanded blocks. If `position.top_block` is parsed, also restore the reading position. When the
        whole page is parsed, `restore_again` restores the reading position again, unless the user has moved."""
        viewport = self.pane.viewport
        if position.view_state is not None and position.view_state.snapshot != viewport.view_state.snapshot:
            viewport.view_state = position.view_state.copy()
            self.pane.reset_lines()
        chunks, top_key = viewport.virtual_lines.chunks, position.top_block
        if self.contents.is_fully_parsed or not top_key or any(path_to_block(each.content, top_key) for each in chunks):
            self._restore_now(position)
        self._unfinished_restore = None if self.contents.is_fully_parsed else (position, self.position())

    def _restore_now(self, position: ReadingPosition) -> None:
        self.pane.viewport.go_to_position(position)
        if position.block:
            spans = (span for span in self.cursor.visible_spans() if span.block.key == position.block)
            if (span := next(spans, None)) is not None:
                self.cursor.select(span, scroll_to=None)

    def restore_again(self) -> None:
        """Restore the position again now that the whole page is parsed, unless the user has moved."""
        unfinished, self._unfinished_restore = self._unfinished_restore, None
        if unfinished is not None and not self.position().has_moved(unfinished[1]):
            self._restore_now(unfinished[0])

    def position(self) -> ReadingPosition:
        viewport, top = self.pane.viewport, None
        block = self.cursor.selected[1].key if self.cursor.selected is not None else ""
        if viewport.lines_above:
            top = reading_position_of(viewport.virtual_lines, viewport.top, viewport.layout_width)
        return (top or ReadingPosition())._replace(block=block, is_source=self.contents.shows_source)

    @property
    def history_position(self) -> ReadingPosition | None:
        """A block and its row, to restore when the user goes back to the page. None for the top of the page."""
        request = self.position_to_restore
        if request is not None and request[0] == self.contents.key and not self._has_moved_since_request:
            return request[1]
        if self._unfinished_restore is not None and not self.position().has_moved(self._unfinished_restore[1]):
            unfinished = self._unfinished_restore[0]
            return ReadingPosition(unfinished.top_block, -unfinished.offset) if unfinished.top_block else None
        span = self.cursor.current() if self.cursor.selected is not None or self.pane.viewport.lines_above else None
        if span is None or not span.block.key:
            return None
        if self.pane.viewport.lines_above == 0 and self.cursor.visible_spans()[:1] == [span]:
            return None
        return ReadingPosition(span.block.key, self.pane.viewport.row_of(span.start))

    def restore_later(self, key: str, position: ReadingPosition | None) -> None:
        """Restore `position` as soon as the page `key` is parsed up to `position`. None cancels an earlier request."""
        self.position_to_restore = (key, position) if position is not None else None
        self._unmoved_position = ReadingPosition()

    @property
    def _has_moved_since_request(self) -> bool:
        return self.position().has_moved(self._unmoved_position)

    def restore_if_parsed(self) -> None:
        """Restore the position from `restore_later`, if the page is parsed up to it and the user has not moved."""
        if self.position_to_restore is None or not len(self.pane.viewport.virtual_lines):
            return
        page_key, position = self.position_to_restore
        if page_key != self.contents.key:
            return
        self.position_to_restore = None
        if self._has_moved_since_request:
            return
        selected_before = self.cursor.selected
        if not self.go_to_block(position.block, scroll_to=None):
            self.position_to_restore = None if self.contents.is_fully_parsed else (page_key, position)
        elif (span := self.cursor.current()) is not None:
            lines, rows = self.pane.viewport.virtual_lines, self.pane.viewport.row_count
            if (
                not self.contents.is_fully_parsed
                and count_lines(lines, LinePosition(span.chunk_index, span.last), rows) < rows
            ):
                self.position_to_restore, self.cursor.selected = (page_key, position), selected_before
                return  # The block cannot scroll to its old row until more lines follow.
            self.pane.viewport.show_in_row(span.start, min(max(position.row, span.first - span.last), rows - 1))

    def call_with_footnote(self, label: str, show: Callable[[Block | None], None]) -> None:
        """Call `show` with the footnote of this label as soon as it is parsed, or with None if it does not exist. If
        the user moves before that, `show` is not called."""
        if (note := self.contents.footnote(label)) is not None or self.contents.is_fully_parsed:
            show(note)
        else:  # Footnotes are at the end of a page. That part is not parsed yet, so wait.
            self.pending_jump = PendingJump(label, self.position(), show_footnote=show)
            explain(self.pane, STILL_LOADING)

    def report_missing(self, anchor: str) -> None:
        """Tell the user that no heading has this anchor, or that the anchor may be in a part that is not searched. If a
        jump to the anchor waits for parsing, tell the user later."""
        name = anchor.lstrip("#")
        if self.pending_jump is not None and self.pending_jump.anchor == name:
            self.pending_jump = self.pending_jump._replace(by_link=True)
        elif self.contents.document is not None:
            explain(self.pane, why_not_found(name, page_anchors(self.contents.document)))

    def follow_pending_jump(self) -> None:
        """Make the jump that waited for parsing, unless the user has moved."""
        jump, self.pending_jump = self.pending_jump, None
        if jump is None or self.position().has_moved(jump.position_at_request):
            return
        if jump.show_footnote is not None:
            jump.show_footnote(self.contents.footnote(jump.anchor))
        elif not self.go_to_anchor(jump.anchor) and jump.by_link:
            self.report_missing(jump.anchor)

    def toggle_source(self) -> None:
        """Switch between the rendered page and its Markdown source. The same part of the page stays visible."""
        if self.contents.document is None:
            return
        self.position_to_restore = self._unfinished_restore = self.pending_jump = None
        line, is_at_top = self._source_line(), self.pane.viewport.lines_above == 0
        block = next((span.block for span in self.cursor.visible_spans() if self.cursor.current() == span), None)
        self.contents.shows_source = not self.contents.shows_source
        self.contents.source_block = block if self.contents.shows_source else None
        self.contents.discard_source_chunks()
        self.cursor.selected = None
        chunk_index, _ = self._chunk_at_source_line(line)
        self.pane.reset_lines(position=ReadingPosition(chunk_index=chunk_index))
        self.pane.find_bar.content_changed()
        if is_at_top:
            self.pane.viewport.go_to(START)
        if block is not None:
            self._select_key(block.key)
        self.pane.viewport.notify_moved()
        if self.pane.is_running:
            self.pane.refresh_bindings()

    def _source_line(self) -> int:
        if not len(self.pane.viewport.virtual_lines):
            return 0
        chunk_index, line = self.pane.viewport.top
        block: Block = self.pane.viewport.virtual_lines.chunks[chunk_index].content
        return block.lines[0] + (line if self.contents.shows_source else 0)

    def _chunk_at_source_line(self, line: int) -> tuple[int, int]:
        """Return the index of the chunk that contains a Markdown line, and the number of the chunk's first line."""
        spans = [chunk.content.lines for chunk in self.contents.chunks()]
        last_position = (len(spans) - 1, spans[-1][0]) if spans else (0, 0)
        return next(((index, first) for index, (first, end) in enumerate(spans) if end > line), last_position)

    def show_whole_source(self) -> None:
        """Show the Markdown source of the whole page, instead of only the source of the first part."""
        self.contents.discard_source_chunks()
        line = self._source_line()
        chunk_index, first_line = self._chunk_at_source_line(line)
        self.pane.reset_lines(
            position=ReadingPosition(
                chunk_index=chunk_index, chunk_offset=line - first_line, width=self.pane.viewport.layout_width
            )
        )

    def _select_key(self, key: str) -> None:
        if not self.contents.shows_source:
            self.go_to_block(key, scroll_to="third")
            return
        for chunk_index, chunk in enumerate(self.pane.viewport.virtual_lines.chunks):
            if chunk.block.key == key:
                self.cursor.select(self.cursor.spans_of(chunk_index)[0], scroll_to="third")
                return


def _heading_stepper(step: int) -> Callable[[object, PageNavigation], None]:
    return lambda _, navigation: navigation.go_to_heading(step)


PAGE_THREAD_COMMANDS: Commands[PageNavigation] = Commands(
    "page",
    (
        Command("next_thread", "t", "Next thread", "Go to the next open thread", run=lambda _, navigation: navigation.go_to_thread(1),
                why_not=lambda _, navigation: navigation.why_no_thread),
        Command("prev_thread", "T", "Previous thread", "Go to the previous open thread",
                run=lambda _, navigation: navigation.go_to_thread(-1), shown=False,
                why_not=lambda _, navigation: navigation.why_no_thread),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
HEADING_COMMANDS: Commands[PageNavigation] = Commands(
    "page",
    (
        Command("next_heading", "right_curly_bracket", "Next heading", "Go to the next heading", run=_heading_stepper(1), shown=False),
        Command("prev_heading", "left_curly_bracket", "Previous heading", "Go to the previous heading", run=_heading_stepper(-1), shown=False),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
SOURCE_COMMANDS: Commands[PageNavigation] = Commands(
    "page",
    (
        Command("source", "backslash", "Source", "Switch between page and Markdown source", run=lambda _, navigation: navigation.toggle_source(), shown=False,
                title_now=lambda _, navigation: "Rendered page" if navigation.contents.shows_source else None),
    ),
    find_target=lambda view: view.navigation,
)  # fmt: skip
