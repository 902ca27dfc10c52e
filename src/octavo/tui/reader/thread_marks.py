"""Thread marks of a page: the number of open threads and unsent drafts at the right of each block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.reading_position import BlockSpan
from octavo.tui.reader.viewport import Viewport
from octavo.tui.render.page_parts import ThreadMarks
from octavo.tui.render.painting import overlay_text
from octavo.tui.render.styled_lines import Line, cells, line_blocks

if TYPE_CHECKING:
    from octavo.api.comments import Comment


class PageThreads:
    """Open threads and unsent drafts of a page, by block."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        self.viewport, self.cursor = viewport, cursor
        self.marks = ThreadMarks()
        self.drafts = ThreadMarks()
        self.is_loading = False
        """True while threads of the page are still loading."""

    def set(
        self,
        blocks: Sequence[Block],
        threads: Mapping[str, int | Sequence[Comment]],
        drafts: Mapping[str, int],
        *,
        is_loaded: bool,
    ) -> None:
        """Set the number of open threads and of drafts by block key. `blocks`: all blocks of the page. `is_loaded` is
        False while threads of the page are still loading."""
        self.is_loading = not (is_loaded and self.viewport.contents.is_whole)
        counts = {
            key: count if isinstance(count, int) else sum(each.is_open for each in count)
            for key, count in threads.items()
        }
        self.marks, self.drafts = ThreadMarks(blocks, counts), ThreadMarks(blocks, drafts)
        self.viewport.repaint()

    def clear(self) -> None:
        """Remove all marks."""
        self.marks = self.drafts = ThreadMarks()

    def mark_document(self, document: Document) -> None:
        """Update the marks after more of the page was parsed."""
        self.marks = ThreadMarks(document.blocks, self.marks.counts)
        self.drafts = ThreadMarks(document.blocks, self.drafts.counts)

    def block_at(self, span: BlockSpan) -> Block | None:
        """Return the first visible block with an open thread at a selectable block. None if there is none."""
        return next(iter(self.marked_blocks(span, hidden=False)), None)

    def marked_blocks(self, span: BlockSpan, *, hidden: bool) -> list[Block]:
        """Return the blocks with an open thread that are marked at a selectable block: the visible blocks, or the
        collapsed blocks if `hidden`."""
        paths = self.paths_by_block(span.unit_index, self.marks).get(span.block.key, ())
        return [path[-1] for path in paths if self.viewport.folds.hides(path) == hidden]

    def paths_by_block(self, unit_index: int, marks: ThreadMarks) -> dict[str, list[tuple[Block, ...]]]:
        if not marks:
            return {}
        spans = {span.block.key for span in self.cursor.spans_of(unit_index)}
        return marks.paths_at(spans, self.viewport.virtual_lines.units[unit_index].slice)

    def with_mark(self, strip: Strip, unit_index: int, number: int, line: Line, line_width: int) -> Strip:
        """Return the strip of a line with the thread mark of the block that begins there. Text lines are `line_width`
        cells wide."""
        if not (self.marks or self.drafts) or line.block is None:
            return strip
        first_lines = {id(span.block): span.first for span in self.cursor.spans_of(unit_index)}
        keys = [block.key for block in line_blocks(line) if first_lines.get(id(block)) == number]
        threads, drafts = (self._count(keys, unit_index, marks) for marks in (self.marks, self.drafts))
        if not (threads or drafts):
            return strip
        glyphs, end = self.viewport.text_styles.glyphs, strip.cell_length
        at = self.viewport.contents.margin_of(unit_index) + max(line_width, line.width) + 1
        marks = _mark_texts(glyphs.dot, threads, glyphs.pen, drafts)
        mark = next((mark for mark in marks if at + cells(mark) <= end), marks[-1])
        return overlay_text(
            strip,
            min(at, end - cells(mark)),
            mark,
            self.viewport.base_style + self.viewport.text_styles.note + Style(bold=True),
        )

    def _count(self, keys: Sequence[str], unit_index: int, marks: ThreadMarks) -> int:
        """Return the number of threads or drafts marked at some blocks."""
        paths = self.paths_by_block(unit_index, marks)
        return sum(marks.counts[path[-1].key] for key in keys for path in paths.get(key, ()))


def _mark_texts(dot: str, threads: int, pen: str, drafts: int) -> Sequence[str]:
    """Return texts of a thread mark, the longest first."""
    if not drafts:
        return f"{dot} {threads}", f"{dot}{threads}", dot
    draft_text = f"{pen} draft" if drafts == 1 else f"{pen} {drafts} drafts"
    if not threads:
        return draft_text, pen
    return f"{dot} {threads}  {draft_text}", f"{dot} {threads} {pen}", f"{dot}{threads}{pen}", f"{dot}{pen}"
