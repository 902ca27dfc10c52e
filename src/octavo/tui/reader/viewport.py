"""`Viewport` has the lines of a pane and the scroll position. `BackgroundLayout` renders lines in the background thread
before they are visible. `Contents` is the base class for what a pane shows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from octavo.documents.blocks import Block
from octavo.tui.reader.reading_position import (
    START,
    BlockSpan,
    LinePosition,
    Lines,
    PaneRow,
    clamped_top,
    count_lines,
    lines_between,
    position_after,
    reading_position_of,
    rows_from,
    top_of_position,
    top_showing_at,
)
from octavo.tui.render.deferred import AsyncCache, MissingContents
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.layout_context import ViewState
from octavo.tui.render.painting import BlockTextFinder, Match
from octavo.tui.render.styled_lines import Line, searched_texts
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import ChunkLayout, RenderedChunks, VirtualLines, lay_out_chunks
from octavo.tui.terminal.polite_thread import Work, background_thread
from octavo.tui.terminal.textual_internals import crash
from octavo.tui.widgets.commands import HostApp, StillLoading
from octavo.tui.widgets.text_widgets import ScrollWidget

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.reader.reading_position import ReadingPosition

MARK_WIDTH = 4
"""Width in cells of a thread mark, such as ` ● 2`."""
STILL_LOADING = StillLoading("The rest of this page is still loading.")


SHORT_PAGE = 6_000
"""A page with fewer characters is parsed at once, without the background thread."""


class Contents:
    """Base class for what a pane shows: the chunks, their layout, and the block on each line."""

    margin = 2
    """Number of blank cells to the left of the text."""
    line_width = 0
    """Maximum width in cells of a line of text. 0 means the width of the pane."""
    is_fully_parsed = True
    """False while only the beginning of a page is parsed."""
    has_more_to_search = False
    """True while text is loading that a search should include."""

    @property
    def has_content(self) -> bool:
        """True if a page is shown, even if it is empty."""
        return True

    def chunks(self) -> Sequence[Any]:
        """Return all chunks from top to bottom."""
        return ()

    def use_newest_chunks(self) -> Sequence[Any]:
        """Return the chunks for the next layout. A subclass may first replace its chunks with newer chunks."""
        return self.chunks()

    def layout_for(self, width: int, view_state: ViewState) -> ChunkLayout:
        """Return the layout in which chunks are rendered in a pane of `width` cells."""
        raise NotImplementedError

    def empty_page_lines(self) -> list[Content]:
        """Return the lines of the message for an empty page. Empty if there is no message."""
        return []

    def block_markdown(self, block: Block) -> str:
        """Return the Markdown of a block. Empty if its Markdown is not available."""
        return ""

    def find_chunk_index(self, expected_index: int, key: str) -> int:
        """Return the index of the chunk that contains the block `key`. If there are several, return the nearest to
        `expected_index`. If there is none, return `expected_index`."""
        return expected_index

    def slices_of_block(self, chunk_index: int) -> range:
        """Return the indexes of all chunks that are slices of the same block as the chunk at `chunk_index`."""
        return range(chunk_index, chunk_index + 1)

    def margin_of(self, chunk_index: int) -> int:
        """Return the number of blank cells to the left of a chunk."""
        return self.margin

    def lines_changed(self) -> None:
        """Clear caches, because lines were replaced."""

    def spans_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        """Return the first and last line number and the block of each selectable block in the lines of a chunk."""
        return block_ranges(lines)

    def has_spans(self, chunk_index: int) -> bool:
        """Return False if it is known that a chunk has no selectable block. This must not render the chunk."""
        return True

    def block_at(self, line: Line, cell: int) -> Block | None:
        """Return the block that a line shows at a cell. None if no block is there."""
        return line.block

    def cursor_bar_column(self, line: Line, block_ids: Container[int]) -> int | None:
        """Return the column of the cursor bar, counted from the start of the line. None if the block of the line is not
        in `block_ids`, which has the `id()` of blocks."""
        return -2 if id(line.block) in block_ids else None

    def reachable_spans(self, spans: list[BlockSpan]) -> list[BlockSpan]:
        """Return the visible blocks in `spans` to which the cursor may go while the user scrolls. By default, all of
        them."""
        return spans

    def block_with_thread(self, span: BlockSpan) -> Block | None:
        """Return the first block at `span` that has an open thread, or that shows a thread. None if there is none."""
        return None

    def wide_blocks(self, span: BlockSpan) -> Iterable[Block]:
        """Return the blocks at `span` that scroll sideways if they are wider than the pane."""
        return (span.block,)

    def sticky_row_count(self, top: LinePosition) -> int:
        """Return how many rows a sticky table header covers if `top` is the first visible line. By default 0."""
        return 0

    def before_painting(self) -> None:
        """Prepare the next frame, for example its sticky table header."""

    def with_marks(self, strip: Strip, chunk_index: int, number: int, line: Line) -> Strip:
        """Return the strip of line `number` of a chunk with its marks, such as thread marks. By default, no marks."""
        return strip

    def with_sticky_header(self, strip: Strip, row: int) -> Strip:
        """Return `strip`, which is at `row`. A subclass may return the strip of a sticky table header instead."""
        return strip

    @property
    def unsearched_part(self) -> str:
        """The part that is not searched, as text such as `2 pages`. Empty if everything is searched."""
        return ""

    def text_finder(self, lines: Lines) -> BlockTextFinder:
        """Return a finder that searches the text of all chunks, as `lines` show the text."""

        def shown_text(chunk_index: int) -> Block:
            rows = ["".join(text for _, text, _ in searched_texts(line)) for line in lines.lines(chunk_index)]
            return Block("paragraph", text="\n".join(rows))

        return BlockTextFinder((chunk_index, shown_text(chunk_index)) for chunk_index in range(len(lines)))

    def expand_to(self, match: Match) -> None:
        """Expand the blocks that hide a match."""

    def visible_matches(self, matches: list[Match]) -> list[Match]:
        """Return the matches that no collapsed block hides. All `matches` are in one chunk. By default, return all."""
        return matches


WORK_SECONDS = 0.004
"""Maximum seconds that a search or a copy runs before keys are handled."""
WORK_INTERVAL = 0.01
"""Seconds between two steps of a search or a copy, in which keys are handled."""
MAX_LINES_AT_ONCE = 300
"""A page with at most this number of lines is rendered at once, without the background thread."""


def _no_lines() -> VirtualLines[Any]:
    return VirtualLines((), lambda chunk: 0, lambda chunk: [])


class PaneMoved(Message):
    """Posted after the pane was scrolled or its length has changed, or after another block was selected."""


class PanePart:
    """Base class for the parts of a pane, such as the find bar. Each method says when the pane calls it."""

    def __init__(self, viewport: Viewport) -> None:
        self.viewport = viewport
        viewport.parts.append(self)

    @property
    def has_work(self) -> bool:
        """True if there is work that runs in steps between key presses (`work_for`)."""
        return False

    def lines_changed(self) -> None:
        """Called after lines were replaced. Parts override this method to drop their data about the old lines."""

    def layout_changed(self) -> None:
        """Called after chunks were rendered, when their heights may have changed. Does nothing by default."""

    def top_changed(self, *, is_down: bool) -> None:
        """Called after scrolling down, or up if `is_down` is False."""

    def work_for(self, seconds: float) -> None:
        """Called between key presses while `has_work`. Continue the work for about `seconds`."""


def app_of(pane: Widget) -> HostApp[Any]:
    assert isinstance(pane.app, HostApp), "panes need an app with notifications"
    return pane.app


def explain(pane: Widget, sentence: str) -> None:
    """Tell the user why something is not possible, in a notification."""
    app_of(pane).explain(sentence)


class Viewport:
    """Lays out and scrolls the lines of a pane. `top` is the first visible line. Textual's `scroll_y` follows `top`."""

    def __init__(self, widget: ScrollWidget, *, ascii: bool) -> None:
        self.widget = widget
        self.parts: list[PanePart] = []
        self._ascii = ascii
        self._text_styles: Styles | None = None
        self.contents = Contents()
        self.view_state = ViewState()
        self.virtual_lines = _no_lines()
        self.layout_width = 0
        """Width in cells of the pane when the lines were rendered."""
        self.first_width = 0
        """Width in cells that the pane will have after the first layout. 0 if it is not known."""
        self.paint_version = 0
        """Counter that increases when visible rows change, so that a new frame is painted."""
        self.was_painted = False
        """True after the first frame. Before the first frame, only visible chunks are rendered, to save time."""
        self.top = START
        self.is_setting_scroll_bar = False
        """True while `update_scroll_bar` sets `scroll_y`. Other changes of `scroll_y` are scrolling by the user."""
        self.covered_row_count = 0
        """Number of rows at the bottom that another widget covers, such as a thread."""
        self.bar_rows = 0
        """Number of rows at the bottom that the find bar takes: 0 or 1."""
        self.is_outdated = False
        """True if the lines could not be replaced, because the pane has no width. `fit_to_size` replaces them later."""
        self._is_notifying = False
        self._work_timer: Timer | None = None
        self.background = BackgroundLayout(self)

    @property
    def text_styles(self) -> Styles:
        if self._text_styles is None:
            self._text_styles = Styles.from_theme(self.widget.app.theme_variables, ascii=self._ascii)
        return self._text_styles

    @property
    def base_style(self) -> Style:
        """Style of the pane's text and background."""
        return self.widget.visual_style.rich_style

    def update_styles(self) -> bool:
        """Compute the text styles again after the theme has changed. Return False if they are the same as before."""
        text_styles = Styles.from_theme(self.widget.app.theme_variables, ascii=self._ascii)
        has_changed, self._text_styles = text_styles != self._text_styles, text_styles
        return has_changed

    @property
    def pane_width(self) -> int:
        """Width of the pane in cells, without the scroll bar."""
        return self.widget.scrollable_content_region.width or self.first_width

    @property
    def row_count(self) -> int:
        """Number of rows that show lines, without the rows that another widget or the find bar covers."""
        return max(1, self.widget.size.height - max(self.covered_row_count, self.bar_rows))

    def reserve_rows(self, rows: int) -> None:
        """Keep `rows` rows at the bottom free for another widget. The last line can be scrolled above that widget."""
        if rows != self.covered_row_count and self.widget.is_running:
            self.covered_row_count = rows
            self.update_scroll_bar()

    def reset_lines(self, *, position: ReadingPosition | None = None, reuses_lines: bool = False) -> None:
        """Replace all lines by the lines of the current contents. Then scroll to `position`. If `position` is None,
        stay at the same reading position. With `reuses_lines`, chunks that were rendered are not rendered again."""
        self._text_styles = None
        self.is_outdated = self.pane_width <= 0
        if self.is_outdated:
            return
        position = position or reading_position_of(self.virtual_lines, self.top, self.layout_width)
        self.layout_width = self.pane_width
        self.virtual_lines = self.background.new_lines(reuses_lines=reuses_lines)
        self.lines_changed()
        self.paint_version += 1
        if self.was_painted:
            self.background.lay_out_short()
        if position is not None:
            self._set_top(position)
        self.layout_changed()
        self.continue_work()
        self.widget.refresh()

    def _set_top(self, position: ReadingPosition) -> None:
        if len(self.virtual_lines):
            expected_index = min(position.chunk_index, len(self.virtual_lines) - 1)
            chunk_index = self.contents.find_chunk_index(expected_index, position.top_block)
            self.top = top_of_position(self.virtual_lines, position, chunk_index, self.layout_width)

    def go_to_position(self, position: ReadingPosition) -> None:
        """Scroll to a reading position. The lines are not replaced."""
        self._set_top(position)
        self.layout_changed()
        self.repaint()

    def lines_changed(self) -> None:
        """Clear all caches that depend on the lines."""
        for part in self.parts:
            part.lines_changed()
        self.contents.lines_changed()

    def layout_changed(self) -> None:
        """Update the scroll bar, and tell all parts of the pane that chunks were rendered."""
        self.update_scroll_bar()
        for part in self.parts:
            part.layout_changed()

    def remove_lines(self) -> None:
        """Remove all lines, and scroll to the top."""
        self.virtual_lines, self.top = _no_lines(), START

    def append_chunks(self, chunks: Sequence[Any]) -> None:
        """Append the chunks of the part of the page that was parsed last."""
        self.virtual_lines.extend(chunks)
        self.update_scroll_bar()
        self.repaint()

    def lay_out_again(self, chunk_index: int) -> None:
        """Render a chunk again, because its block has changed. Other slices of the block are rendered when visible."""
        for each in self.contents.slices_of_block(chunk_index):
            self.virtual_lines.drop_lines(each)
        self.virtual_lines.lines(chunk_index)
        self.lines_changed()
        self.layout_changed()
        self.repaint()
        self.continue_work()

    def choose_tab(self, tab: Block, chunk_index: int) -> None:
        """Select a tab, and all tabs with the same slug in other tabs blocks. `chunk_index` is the chunk of the tab."""
        self.view_state.choose_tab(tab)
        for index, chunk in enumerate(self.virtual_lines.chunks):
            if chunk.block is None or chunk.block.kind not in ("paragraph", "heading"):
                self.virtual_lines.drop_lines(index)
        self.lay_out_again(chunk_index)

    def repaint(self) -> None:
        """Paint the visible rows again, for example after another block was selected."""
        self.paint_version += 1
        self.widget.refresh()

    def continue_work(self) -> None:
        """Render chunks in the background thread, and let parts with unfinished work continue between key presses."""
        if self.was_painted and self.widget.is_running:
            self.background.begin()
        if self._work_timer is None and self.widget.is_running and any(part.has_work for part in self.parts):
            self._work_timer = self.widget.set_timer(WORK_INTERVAL, self._work_on_next_part)

    def _work_on_next_part(self) -> None:
        self._work_timer = None
        if (part := next((part for part in self.parts if part.has_work), None)) is not None:
            part.work_for(WORK_SECONDS)
        self.update_scroll_bar()
        self.continue_work()

    def raise_later(self, error: Exception) -> None:
        """Crash the app with an error. Called in the background thread that raised the error."""
        self.widget.call_later(crash, self.widget.app, error)

    @property
    def lines_above(self) -> int:
        """Number of lines above the first visible line. Estimated if some chunks above are not rendered yet."""
        return self.virtual_lines.lines_above(self.top.chunk_index) + self.top.line

    def go_to(self, top: LinePosition) -> None:
        """Scroll so that `top` is the first visible line. Near the end of the page, scroll less to fill the pane."""
        top_before, self.top = self.top, clamped_top(self.virtual_lines, top, self.row_count)
        if self.top != top_before:
            for part in self.parts:
                part.top_changed(is_down=self.top > top_before)
            self.widget.refresh()
            self.notify_moved()
        self.update_scroll_bar()
        self.continue_work()

    @property
    def is_at_end(self) -> bool:
        """True if the last line is visible."""
        return count_lines(self.virtual_lines, self.top, self.row_count + 1) <= self.row_count

    @property
    def visible_rows(self) -> list[PaneRow]:
        """The rows of the pane that show a line, from top to bottom."""
        return rows_from(self.virtual_lines, self.top, self.widget.size.height)

    def scroll_by(self, lines: int) -> int:
        """Scroll down by `lines`, or up if negative. Return by how many lines a scroll down was too short, else 0."""
        top_before = self.top
        self.go_to(position_after(self.virtual_lines, top_before, lines))
        return max(0, lines - lines_between(self.virtual_lines, top_before, self.top, lines)) if lines > 0 else 0

    def row_of(self, position: LinePosition, max_rows: int | None = None) -> int:
        """Return the row of the line at `position`, negative above the pane. Stop counting at about `max_rows` rows."""
        return lines_between(self.virtual_lines, self.top, position, self.row_count if max_rows is None else max_rows)

    def show_in_row(self, position: LinePosition, row: int) -> None:
        """Scroll so that the line at `position` is in the row `row`, or as near as possible."""
        self.go_to(top_showing_at(self.virtual_lines, position, row, self.row_count))

    def update_scroll_bar(self) -> None:
        """Scroll up if there are empty rows below the last line, and update the scroll bar."""
        self.top = clamped_top(self.virtual_lines, self.top, self.row_count)
        size = Size(
            max(self.layout_width, 1), self.virtual_lines.total + max(0, self.widget.size.height - self.row_count)
        )
        self.is_setting_scroll_bar = True
        if size != self.widget.virtual_size:
            self.widget.virtual_size = size
            self.notify_moved()  # The percentage in the status line has changed.
        if round(self.widget.scroll_y) != self.lines_above:
            self.widget.scroll_to(y=self.lines_above, animate=False, immediate=True, force=True)
        self.is_setting_scroll_bar = False

    def notify_moved(self) -> None:
        """Post `PaneMoved` after the next refresh."""
        if not self._is_notifying and self.widget.is_running:
            self._is_notifying = True
            self.widget.call_after_refresh(self._post_moved)

    def _post_moved(self) -> None:
        self._is_notifying = False
        self.widget.post_message(PaneMoved())


class BackgroundLayout:
    """Renders the chunks of a pane in the background thread before they are visible. Also loads deferred content, and
    then renders again the chunks that need this content."""

    def __init__(self, viewport: Viewport) -> None:
        self.viewport = viewport
        self._layout: ChunkLayout | None = None
        self._work: Work | None = None
        self._virtual_lines: VirtualLines[Any] | None = None
        """The lines whose chunks the background thread is rendering. None if it renders nothing."""
        self._missing: dict[int, MissingContents] = {}
        """Deferred content that each rendered chunk lacks, by `id()` of the chunk."""
        self._loading: list[AsyncCache[Any, Any]] = []
        """Caches that are loading deferred content for this pane now."""

    @property
    def is_busy(self) -> bool:
        """True while the background thread renders chunks for the lines that are shown."""
        return self._virtual_lines is not None and self._virtual_lines is self.viewport.virtual_lines

    def new_lines(self, *, reuses_lines: bool) -> VirtualLines[Any]:
        """Return the lines for all chunks of the contents, and store the layout. With `reuses_lines`, chunks
        keep their rendered lines unless the layout has changed."""
        contents, earlier_layout = self.viewport.contents, self._layout
        layout = contents.layout_for(self.viewport.layout_width, self.viewport.view_state)
        contents.margin, contents.line_width, self._layout = layout.margin, layout.line_width, layout
        chunks, earlier_missing, self._missing = contents.use_newest_chunks(), self._missing, {}
        virtual_lines = VirtualLines(chunks, layout.estimate_height, layout.recording_renderer(self._missing))
        if reuses_lines and earlier_layout is not None and earlier_layout.key == layout.key:
            virtual_lines.reuse_lines(self.viewport.virtual_lines)
            self._missing |= {id(each): earlier_missing[id(each)] for each in chunks if id(each) in earlier_missing}
        return virtual_lines

    def lay_out_short(self) -> None:
        """Render all chunks if the page has at most `MAX_LINES_AT_ONCE` lines. Otherwise, do nothing."""
        if self.viewport.virtual_lines.total <= MAX_LINES_AT_ONCE:
            self.viewport.virtual_lines.lay_out_some(MAX_LINES_AT_ONCE)

    def begin(self) -> None:
        """Render all chunks that are not rendered yet. Use the background thread for a long page, once it is parsed."""
        virtual_lines, layout = self.viewport.virtual_lines, self._layout
        if self.is_busy or not virtual_lines.estimated_count or layout is None:
            return
        self.lay_out_short()
        if not virtual_lines.estimated_count or not self.viewport.contents.is_fully_parsed:
            self.viewport.update_scroll_bar()
            return  # Nothing is left to render, or the page must be parsed first.
        self.stop()
        virtual_lines.outdated_indexes.clear()
        self._virtual_lines = virtual_lines
        self._work = background_thread.begin(self._steps(virtual_lines, layout), self.viewport.raise_later)

    def stop(self) -> None:
        """Stop rendering in the background thread. Lines that it has rendered so far are not used."""
        if self._work is not None:
            self._work.stop()
        self._work = self._virtual_lines = None

    def _steps(self, virtual_lines: VirtualLines[Any], layout: ChunkLayout) -> Iterator[None]:
        rendered_chunks = yield from lay_out_chunks(layout, [*virtual_lines.chunks], virtual_lines.estimated_chunks())
        self.viewport.widget.call_later(self._use_finished_work, virtual_lines, rendered_chunks)

    def _use_finished_work(self, virtual_lines: VirtualLines[Any], rendered_chunks: RenderedChunks) -> None:
        if virtual_lines is not self._virtual_lines:
            return
        self.stop()
        if virtual_lines is self.viewport.virtual_lines:
            self._missing |= {
                chunk: missing for chunk, missing in rendered_chunks.missing.items() if chunk not in self._missing
            }
            virtual_lines.use_rendered_chunks(rendered_chunks)
            self._forget_outdated()
            self.viewport.update_scroll_bar()
            self.viewport.continue_work()

    def request_deferred(self) -> None:
        """Start loading the deferred content that visible chunks lack, such as link titles."""
        viewport = self.viewport
        if not self._missing or self._layout is None or self._layout.deferred is None or not viewport.widget.is_running:
            return
        chunks = (viewport.virtual_lines.chunks[chunk] for chunk in {row.chunk_index for row in viewport.visible_rows})
        missing = [each for chunk in chunks for each in self._missing.get(id(chunk), ())]
        for cache, key in missing:
            cache.request(key)
        if any(cache.has_loaded(key) for cache, key in missing):
            viewport.widget.call_later(self._show_loaded)  # Show the content that another pane has loaded.
        for cache in self._layout.deferred:
            if cache.has_requests and cache not in self._loading:
                self._loading.append(cache)
                viewport.widget.run_worker(self._load(cache), group="late")

    def _forget_outdated(self) -> None:
        outdated_ids = {
            chunk for chunk, missing in self._missing.items() if any(cache.has_loaded(key) for cache, key in missing)
        }
        for index, chunk in enumerate(self.viewport.virtual_lines.chunks) if outdated_ids else ():
            if id(chunk) in outdated_ids:
                self._missing.pop(id(chunk))
                self.viewport.virtual_lines.drop_lines(index)

    async def _load(self, cache: AsyncCache[Any, Any]) -> None:
        try:
            while await cache.load_requested():
                self._show_loaded()
        finally:
            self._loading.remove(cache)

    def _show_loaded(self) -> None:
        viewport = self.viewport
        virtual_lines, total = viewport.virtual_lines, viewport.virtual_lines.total
        self._forget_outdated()
        for index in {row.chunk_index for row in viewport.visible_rows}:
            virtual_lines.lines(index)
        viewport.contents.lines_changed()
        if virtual_lines.total != total:
            viewport.lines_changed()
            viewport.layout_changed()
        viewport.repaint()
        viewport.continue_work()
