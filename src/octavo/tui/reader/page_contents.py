"""Contents of a page view: a page or its Markdown source, with thread marks, sticky table headers and block ages."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from octavo.documents.blocks import Block, Document, Run, plain_text
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.reading_position import BlockSpan, LinePosition, Lines
from octavo.tui.reader.viewport import MARK_WIDTH, Contents, Viewport
from octavo.tui.render.block_slices import SliceBounds, block_source, slice_bounds, whole_block
from octavo.tui.render.code import is_code_collapsed
from octavo.tui.render.embeds import shown_text
from octavo.tui.render.layout import (
    BlockMarks,
    PageChunk,
    block_ranges,
    deferred_content,
    estimate_height,
    render_block,
    render_chunk,
    repeats_title,
    source_blocks,
)
from octavo.tui.render.layout_context import LayoutContext, ViewState, path_to_block
from octavo.tui.render.painting import BlockTextFinder, Match, overlay_text, paint_line, restyle
from octavo.tui.render.styled_lines import Line, SplitLine, cells, line_blocks
from octavo.tui.render.virtual_lines import ChunkLayout
from octavo.tui.widgets.text_widgets import empty_lines

if TYPE_CHECKING:
    from octavo.api.comments import Comment

_GUTTER_WIDTH = 5
"""Width in cells of the gutter that shows ages such as `17w+`."""
_BAR_WIDTH = 2
"""Width in cells of the cursor bar between gutter and text."""
_NO_AGES: Mapping[str, str] = MappingProxyType({})


class AgeGutter:
    """Gutter to the left of the text that shows how old each block is."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        self._viewport, self._cursor = viewport, cursor
        self._ages: Mapping[str, str] | None = None
        """Age of each block, such as `6d`, by block key. None if the gutter is hidden."""

    @property
    def width(self) -> int:
        """Width of the gutter in cells. 0 if it is hidden."""
        return 0 if self._ages is None else _GUTTER_WIDTH

    def show(self, ages: Mapping[str, str] = _NO_AGES) -> None:
        """Show the gutter with the age of each block, by block key. Blocks that are not in `ages` get no age."""
        was_hidden, self._ages = self._ages is None, ages
        if was_hidden:
            self._viewport.reset_lines()
        else:
            self._viewport.repaint()

    def hide(self) -> None:
        if self._ages is not None:
            self._ages = None
            self._viewport.reset_lines()

    def with_age(self, strip: Strip, chunk_index: int, number: int, line: Line) -> Strip:
        """Return the strip of line `number` of a chunk, with the age of a block if a block with an age begins there."""
        if not self._ages or line.block is None:
            return strip
        keys = self._cursor.keys_beginning_on(chunk_index, number, line)
        age = next((self._ages[key] for key in keys if key in self._ages), "")
        start = self._viewport.contents.margin_of(chunk_index) - _BAR_WIDTH - _GUTTER_WIDTH
        if not age or start < 0:
            return strip
        styles = self._viewport.text_styles
        return overlay_text(strip, start, age.rjust(_GUTTER_WIDTH - 1), self._viewport.base_style + styles.muted)


class PageThreads:
    """Knows which blocks of a page have open threads or unsent drafts, and paints their marks."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        self.viewport, self.cursor = viewport, cursor
        self.marks = BlockMarks()
        self.drafts = BlockMarks()
        self.is_loading = False
        """True while the threads of the page are loading, so that marks may be missing."""

    def set(
        self,
        blocks: Sequence[Block],
        threads: Mapping[str, int | Sequence[Comment]],
        drafts: Mapping[str, int],
        *,
        is_loaded: bool,
    ) -> None:
        """Mark `blocks`, the blocks of the page. By block key, `threads` has the threads of a block or the number of
        its open threads, `drafts` the number of its drafts. `is_loaded` is False while the threads are loading."""
        self.is_loading = not is_loaded
        counts = {
            key: count if isinstance(count, int) else sum(each.is_open for each in count)
            for key, count in threads.items()
        }
        self.marks, self.drafts = BlockMarks(blocks, counts), BlockMarks(blocks, drafts)
        self.viewport.repaint()

    def clear(self) -> None:
        self.marks = self.drafts = BlockMarks()

    def mark_document(self, document: Document) -> None:
        """Show the marks on all blocks of `document`, which has more blocks than when the threads were set."""
        self.marks = BlockMarks(document.blocks, self.marks.counts)
        self.drafts = BlockMarks(document.blocks, self.drafts.counts)

    def marked_block_at(self, span: BlockSpan) -> Block | None:
        """Return the first visible block with open threads whose mark is shown at `span`. None if there is none."""
        return next(iter(self.marked_blocks(span, are_hidden=False)), None)

    def marked_blocks(self, span: BlockSpan, *, are_hidden: bool) -> list[Block]:
        """Return the blocks with open threads whose mark is shown at `span`. If `are_hidden`, return blocks inside
        collapsed blocks, otherwise visible blocks."""
        paths = self.paths_by_block(span.chunk_index, self.marks).get(span.block.key, ())
        return [path[-1] for path in paths if self.viewport.view_state.hides(path) == are_hidden]

    def paths_by_block(self, chunk_index: int, marks: BlockMarks) -> dict[str, list[tuple[Block, ...]]]:
        if not marks:
            return {}
        visible_keys = {span.block.key for span in self.cursor.spans_of(chunk_index)}
        chunk = self.viewport.virtual_lines.chunks[chunk_index]
        return marks.paths_at(visible_keys, chunk.block, chunk.slice)

    def with_mark(self, strip: Strip, chunk_index: int, number: int, line: Line, line_width: int) -> Strip:
        """Return the strip of line `number` of a chunk. If a block with threads or drafts begins there, the strip shows
        their mark right of the text. The text is `line_width` cells wide."""
        if not (self.marks or self.drafts) or line.block is None:
            return strip
        keys = self.cursor.keys_beginning_on(chunk_index, number, line)
        thread_count, draft_count = (self._count(keys, chunk_index, marks) for marks in (self.marks, self.drafts))
        if not (thread_count or draft_count):
            return strip
        glyphs, strip_width = self.viewport.text_styles.glyphs, strip.cell_length
        column = self.viewport.contents.margin_of(chunk_index) + max(line_width, line.width) + 1
        texts = _mark_texts(glyphs.dot, thread_count, glyphs.pen, draft_count)
        mark = next((text for text in texts if column + cells(text) <= strip_width), texts[-1])
        return overlay_text(
            strip,
            min(column, strip_width - cells(mark)),
            mark,
            self.viewport.base_style + self.viewport.text_styles.note + Style(bold=True),
        )

    def _count(self, keys: Sequence[str], chunk_index: int, marks: BlockMarks) -> int:
        paths = self.paths_by_block(chunk_index, marks)
        return sum(marks.counts[path[-1].key] for key in keys for path in paths.get(key, ()))


def _mark_texts(dot: str, thread_count: int, pen: str, draft_count: int) -> Sequence[str]:
    """Return texts for the mark of a block, longest first, such as `● 2 ✎` and `●✎`."""
    if not draft_count:
        return f"{dot} {thread_count}", f"{dot}{thread_count}", dot
    draft_text = f"{pen} draft" if draft_count == 1 else f"{pen} {draft_count} drafts"
    if not thread_count:
        return draft_text, pen
    return (
        f"{dot} {thread_count}  {draft_text}",
        f"{dot} {thread_count} {pen}",
        f"{dot}{thread_count}{pen}",
        f"{dot}{pen}",
    )


LINE_WIDTHS = (76, 100, 0)
"""Line widths in cells that the user can choose from. 0 means the whole pane, in which code is not wrapped."""
TitleAndDescription = tuple[str, str]
"""Title and description of a page, which are shown above its first block."""


class PageContents(Contents):
    """A rendered page, or its Markdown source. Until the whole page is parsed, only its beginning is there."""

    def __init__(self, viewport: Viewport, threads: PageThreads) -> None:
        self.viewport, self.threads = viewport, threads
        self.ages = AgeGutter(viewport, threads.cursor)
        self.document: Document | None = None
        self.markdown: str | None = None
        """Markdown of the page as the server sent it (not sanitized). None until the whole page is parsed."""
        self.key = ""
        """Key of the page that is shown. Empty if none is shown."""
        self.head: TitleAndDescription = ("", "")
        self.page_chunks: Sequence[PageChunk] = ()
        """Chunks of the part of the page that is parsed."""
        self.deferred = deferred_content()
        self.shows_source = False
        self.source_block: Block | None = None
        """Selected block when the source was opened. None if this block was not visible, or if no source is shown."""
        self._source_chunks: list[PageChunk] | None = None
        """Chunks of the Markdown source. None until the source is shown."""
        self._line_width_index = 0
        self._margins: dict[int, int] = {}
        self._sticky_header = NO_HEADER
        """Sticky table header of the current frame. `NO_HEADER` if it has none."""

    @property
    def has_content(self) -> bool:
        return self.document is not None

    @property
    def _available_width(self) -> int:
        return max(10, self.viewport.layout_width - 2 - self.ages.width - MARK_WIDTH)

    @property
    def other_line_widths(self) -> list[int]:
        """Indexes in `LINE_WIDTHS` of the widths with which the page looks different now, the next width first."""
        available, blocks = self._available_width, self.document.walk() if self.document is not None else ()
        has_wrapped_code = any(block.attrs.get("wrap") for block in blocks)
        looks = [(min(available, width or available), has_wrapped_code and not width) for width in LINE_WIDTHS]
        current, count = self._line_width_index, len(LINE_WIDTHS)
        others = ((current + step) % count for step in range(1, count))
        return [index for index in others if looks[index] != looks[current]]

    def use_next_line_width(self) -> None:
        self._line_width_index = next(iter(self.other_line_widths), self._line_width_index)

    def layout_for(self, width: int, view_state: ViewState) -> ChunkLayout:
        gutter, available_width = self.ages.width, self._available_width
        line_width = min(available_width, LINE_WIDTHS[self._line_width_index] or available_width)
        styles, deferred, wraps_no_code = self.viewport.text_styles, self.deferred, self._line_width_index == 2

        def make_renderer() -> Callable[[PageChunk], list[Line]]:
            context = LayoutContext(
                styles,
                view_state,
                render_block,
                # In a narrow pane, a wide block leaves 4 cells free for the number at a thread mark.
                available_width=available_width if width >= 60 else max(available_width, width - 4),
                ignores_code_wrap=wraps_no_code,
                deferred=deferred,
                source_of=self.block_markdown,
            )
            return lambda chunk: render_chunk(context, chunk, line_width)

        return ChunkLayout(
            estimate_height=lambda chunk: estimate_height(chunk, line_width),
            make_renderer=make_renderer,
            margin=max(2 + gutter, min((width - line_width) // 2, width - line_width - MARK_WIDTH)),
            line_width=line_width,
            deferred=deferred,
        )

    def chunks(self) -> Sequence[PageChunk]:
        """Return the chunks of what is shown: the parsed part of the page, or its Markdown source."""
        if self.document is None:
            return []
        if self.shows_source:
            if self._source_chunks is None:
                blocks = source_blocks(self.document.source, self.document.blocks, self.source_block)
                self._source_chunks = [
                    PageChunk(block, row_count=max(1, block.lines[1] - block.lines[0])) for block in blocks
                ]
            return self._source_chunks
        return self.page_chunks

    def walk(self) -> Iterator[Block]:
        """Yield all blocks of the parsed part of the page, including blocks inside others."""
        if self.document is not None:
            yield from self.document.walk()

    def footnote(self, label: str) -> Block | None:
        """Return the footnote with this label. None if the page has none, or if it is not parsed yet."""
        notes = (note for block in self.walk() if block.kind == "footnotes" for note in block.children)
        return next((note for note in notes if note.attrs.get("label") == label), None)

    def discard_source_chunks(self) -> None:
        self._source_chunks = None

    def block_markdown(self, block: Block) -> str:
        return block_source(self.document.source, block) if self.document is not None else ""

    def find_chunk_index(self, expected_index: int, key: str) -> int:
        virtual_lines = self.viewport.virtual_lines

        def contains(chunk_index: int) -> bool:
            return 0 <= chunk_index < len(virtual_lines) and bool(
                path_to_block(virtual_lines.chunks[chunk_index].content, key)
            )

        nearest_first = (
            index
            for distance in range(max(len(virtual_lines), expected_index + 1))
            for index in (expected_index - distance, expected_index + distance)
        )
        return next(filter(contains, nearest_first), expected_index) if key else expected_index

    def slices_of_block(self, chunk_index: int) -> range:
        chunks, first, last = self.viewport.virtual_lines.chunks, chunk_index, chunk_index
        while first and chunks[first - 1].block is chunks[chunk_index].block:
            first -= 1
        while last + 1 < len(chunks) and chunks[last + 1].block is chunks[chunk_index].block:
            last += 1
        return range(first, last + 1)

    def margin_of(self, chunk_index: int) -> int:
        margin = self._margins.get(chunk_index)
        if margin is None:
            # All slices of a table have the same margin as its first slice.
            first_index = self.slices_of_block(chunk_index)[0]
            max_line_width = max((line.width for line in self.viewport.virtual_lines.lines(first_index)), default=0)
            is_wide = max_line_width > self.line_width
            left_width = max(2, self.viewport.layout_width - max_line_width - MARK_WIDTH)
            margin = self._margins[chunk_index] = min(self.margin, left_width) if is_wide else self.margin
        return margin

    def lines_changed(self) -> None:
        self._margins = {}

    def empty_page_lines(self) -> list[Content]:
        if not self.is_fully_parsed or self.viewport.is_outdated:
            return []
        title = [Content(f"  {self.head[0]}").stylize("bold")] if self.head[0] else []
        return [Content(""), *title, *empty_lines("This page is empty.", "")]

    def spans_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        """Return first and last line number and block of each block. Blocks in columns come column by column."""
        if not any(isinstance(line, SplitLine) for line in lines):
            return block_ranges(lines)
        lines_outside = [Line([]) if isinstance(line, SplitLine) else line for line in lines]
        ranges = [(first, 0, 0, last, block) for first, last, block in block_ranges(lines_outside)]
        index_by_block: dict[int, int] = {}
        columns_start = -1
        for number, line in enumerate(lines):
            if not isinstance(line, SplitLine):
                columns_start = -1
                continue
            columns_start = number if columns_start < 0 else columns_start
            for block in line_blocks(line):
                index = index_by_block.setdefault(id(block), len(ranges))
                if index == len(ranges):
                    ranges.append((columns_start, 1 + block.lines[0], number, number, block))
                else:
                    ranges[index] = (*ranges[index][:3], number, block)
        ranges.sort(key=lambda span: span[:3])
        return [(start if not order else first, last, block) for start, order, first, last, block in ranges]

    def block_at(self, line: Line, cell: int) -> Block | None:
        # Between two blocks of a `SplitLine`, the block of the line is their container.
        block_cells = line.block_cells if isinstance(line, SplitLine) else ()
        return next((part.block for part in block_cells if part.start - 1 <= cell < part.end), line.block)

    def cursor_bar_column(self, line: Line, block_ids: Container[int]) -> int | None:
        previous_end: int | None = None
        for start, end, block in line.block_cells if isinstance(line, SplitLine) else ():
            if id(block) in block_ids:
                return start - 2 if previous_end is None or previous_end < start - 1 else start - 1
            previous_end = end
        return super().cursor_bar_column(line, block_ids)

    def block_with_thread(self, span: BlockSpan) -> Block | None:
        return self.threads.marked_block_at(span)

    def wide_blocks(self, span: BlockSpan) -> Iterable[Block]:
        return (span.block, *(block for block in blocks_around(self.viewport, span) if block.kind == "table"))

    def sticky_row_count(self, top: LinePosition) -> int:
        return len(sticky_header(self.viewport, top).lines)

    def before_painting(self) -> None:
        self._sticky_header = sticky_header(self.viewport, self.viewport.top)

    def with_marks(self, strip: Strip, chunk_index: int, number: int, line: Line) -> Strip:
        strip = self.ages.with_age(strip, chunk_index, number, line)
        return self.threads.with_mark(strip, chunk_index, number, line, self.line_width)

    def with_sticky_header(self, strip: Strip, row: int) -> Strip:
        if row >= len(self._sticky_header.lines):
            return strip
        styles, margin = self.viewport.text_styles, self.margin_of(self._sticky_header.chunk_index)
        strip = paint_line(self._sticky_header.lines[row], margin, strip.cell_length, self.viewport.base_style)
        style = Style(underline=True) if styles.is_monochrome else styles.panel
        return restyle(strip, [(margin, margin + self._sticky_header.width + 1, style)])

    def text_finder(self, lines: Lines) -> BlockTextFinder:
        blocks = ((index, chunk.content) for index, chunk in enumerate(lines.chunks))
        return BlockTextFinder(blocks, partial(shown_text, targets=self.deferred.targets))

    def visible_matches(self, matches: list[Match]) -> list[Match]:
        view_state = self.viewport.view_state
        one_of_each_path = {id(each.path): each.path for each in matches}
        hidden_path_ids = {key for key, path in one_of_each_path.items() if view_state.hides(path)}
        return [each for each in matches if id(each.path) not in hidden_path_ids]

    def expand_to(self, match: Match) -> None:
        view_state, block = self.viewport.view_state, match.block
        has_changed = view_state.expand_path(match.path)
        if block.kind == "code" and is_code_collapsed(block, whole_block(block).text.count("\n") + 1, view_state):
            view_state.expanded[block.key] = has_changed = True
        if has_changed:
            self.viewport.lay_out_again(match.chunk_index)


def blocks_with_title(blocks: Sequence[Block], head: TitleAndDescription, *, is_complete: bool) -> list[Block]:
    """Return a block with the title and description, then `blocks`. If the first of `blocks` is a heading that repeats
    the title, leave it out. Without a title, return `blocks`. Empty if the page `is_complete` and has only a title."""
    title, description = head
    if not title:
        return list(blocks)
    repeated_heading = repeated_title(blocks, head)
    body = blocks[1:] if repeated_heading is not None else blocks
    if not body and not description and is_complete:
        return []
    return [Block("page-title", runs=(Run(title),), text=description), *body]


def repeated_title(blocks: Sequence[Block], head: TitleAndDescription) -> Block | None:
    """Return the first block if it is a heading of level 1 that repeats the title of the page. None otherwise."""
    first_block = blocks[0] if blocks else None
    if first_block is None or first_block.kind != "heading" or first_block.attrs.get("level") != 1 or not head[0]:
        return None
    return first_block if repeats_title(plain_text(first_block.runs), head[0]) else None


_MAX_HEADER_LINES = 4
"""Maximum number of lines of a sticky table header. A taller header is not sticky."""


class StickyHeader(NamedTuple):
    """Header of a table that stays at the top of the pane while rows of the table are scrolled."""

    chunk_index: int
    lines: Sequence[Line]
    width: int


NO_HEADER = StickyHeader(0, (), 0)


def blocks_around(viewport: Viewport, span: BlockSpan) -> list[Block]:
    """Return the containers of a selectable block, outermost first, and the block itself as the last."""
    chunk = viewport.virtual_lines.chunks[span.chunk_index]
    return [whole_block(each) for each in path_to_block(chunk.content, span.block.key)] or [span.block]


def table_of(viewport: Viewport, span: BlockSpan) -> Block | None:
    """Return the table that contains the row of `span`. None if the block of `span` is not a row."""
    if span.block.kind != "row":
        return None
    return next((block for block in reversed(blocks_around(viewport, span)) if block.kind == "table"), None)


def sticky_header(viewport: Viewport, top: LinePosition) -> StickyHeader:
    """Return the table header to show at the top of the pane if `top` is the first visible line. `NO_HEADER` if `top`
    is not in a table, or if the table header is visible anyway or too tall."""
    if not len(viewport.virtual_lines):
        return NO_HEADER
    chunk_index, line_index = top
    lines = viewport.virtual_lines.lines(chunk_index)
    kinds = _kinds(lines[: line_index + 1])
    if set(kinds) == {"row"}:
        chunk_index = _header_chunk_index(viewport, chunk_index)
        lines = viewport.virtual_lines.lines(chunk_index)
        kinds = _kinds(lines)
    if not kinds or kinds[-1] != "row" or "table" not in kinds:
        return NO_HEADER
    rule_line = max(index for index, kind in enumerate(kinds) if kind == "table")
    table, head_start = lines[rule_line].block, rule_line
    while head_start and lines[head_start - 1].block is table:
        head_start -= 1
    head = lines[head_start:rule_line]
    if set(kinds[rule_line + 1 :]) != {"row"} or len(head) > min(_MAX_HEADER_LINES, viewport.row_count // 4):
        return NO_HEADER
    return StickyHeader(chunk_index, head, lines[rule_line].width)


def _header_chunk_index(viewport: Viewport, chunk_index: int) -> int:
    """A long table is split into several chunks. Return the index of the chunk with its header, or `chunk_index` if no
    chunk has the header or this chunk is no table."""
    bounds = _table_bounds(viewport, chunk_index)
    if bounds is None:
        return chunk_index
    slices = ((index, _table_bounds(viewport, index)) for index in viewport.contents.slices_of_block(chunk_index))
    return next(
        (
            index
            for index, other_bounds in slices
            if other_bounds and other_bounds.is_first and other_bounds.whole_block is bounds.whole_block
        ),
        chunk_index,
    )


def _table_bounds(viewport: Viewport, chunk_index: int) -> SliceBounds | None:
    """Return the bounds of the table slice with which a chunk begins. None if the chunk begins with something else."""
    block = viewport.virtual_lines.chunks[chunk_index].slice
    while block is not None and block.kind != "table":
        child_index = viewport.view_state.selected_tab_index(block) if block.kind == "tabs" else 0
        block = block.children[child_index] if block.children else None
    return slice_bounds(block) if block is not None else None


def _kinds(lines: Sequence[Line]) -> list[str]:
    return [line.block.kind if line.block is not None else "" for line in lines]
