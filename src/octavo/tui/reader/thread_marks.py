"""Thread marks of a page: the number of open threads and unsent drafts at the right of each block, and the commands for
the next and previous thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.contents import STILL_LOADING
from octavo.tui.reader.reading_position import BlockSpan
from octavo.tui.render.page_parts import ThreadMarks
from octavo.tui.render.painting import overlay_text
from octavo.tui.render.styled_lines import Line, cells, line_blocks
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.reader.page_view import PageView

_LOADING = "The threads on this page are still loading."


class PageThreads:
    """Open threads and unsent drafts of a page, by block."""

    def __init__(self, pane: PageView) -> None:
        self.pane = pane
        self.marks = ThreadMarks()
        self.drafts = ThreadMarks()
        self._is_loading = False
        """True while threads of the page are still loading."""

    def set(
        self,
        threads: Mapping[str, int | Sequence[Comment]],
        drafts: Mapping[str, int] = MappingProxyType({}),
        *,
        is_loaded: bool = True,
    ) -> None:
        """Set the number of open threads and of drafts by block key. `is_loaded` is False while threads of the page are
        still loading."""
        self._is_loading = not (is_loaded and self.pane.contents.is_whole)
        counts = {
            key: count if isinstance(count, int) else sum(each.is_open for each in count)
            for key, count in threads.items()
        }
        document = self.pane.document
        blocks = document.blocks if document is not None else ()
        self.marks, self.drafts = ThreadMarks(blocks, counts), ThreadMarks(blocks, drafts)
        self.pane.repaint()

    def clear(self) -> None:
        """Remove all marks."""
        self.marks = self.drafts = ThreadMarks()

    def mark_document(self, document: Document) -> None:
        """Update the marks after more of the page was parsed."""
        self.marks = ThreadMarks(document.blocks, self.marks.counts)
        self.drafts = ThreadMarks(document.blocks, self.drafts.counts)

    def disabled_reason(self) -> str | None:
        """Return why there is no thread to go to. None if there is a thread."""
        if self.marks:
            return None
        if not self.pane.contents.is_whole:
            return STILL_LOADING
        return _LOADING if self._is_loading else "No block on this page has an open thread."

    def go_to_thread(self, step: int) -> None:
        """Select the next or previous block with an open thread, and expand blocks that hide it."""
        units = self.pane.virtual_lines.units
        found = self.pane.cursor.find_next(
            step,
            lambda span: span.block.key in self._paths_by_block(span.unit_index, self.marks),
            lambda unit: self.marks.has_threads(units[unit].block, units[unit].slice),
        )
        if found is None:
            return
        hidden = self._marked_blocks(found, hidden=True)
        if hidden and not self._marked_blocks(found, hidden=False):
            self.pane.navigation.go_to_block(hidden[0 if step > 0 else -1].key, "third")
        else:
            self.pane.cursor.select(found, scroll_to="third")

    def block_at(self, span: BlockSpan) -> Block | None:
        """Return the first visible block with an open thread at a selectable block. None if there is none."""
        return next(iter(self._marked_blocks(span, hidden=False)), None)

    def _marked_blocks(self, span: BlockSpan, *, hidden: bool) -> list[Block]:
        """Return the blocks with an open thread that are marked at a selectable block: the visible blocks, or the
        collapsed blocks if `hidden`."""
        paths = self._paths_by_block(span.unit_index, self.marks).get(span.block.key, ())
        return [path[-1] for path in paths if self.pane.folds.hides(path) == hidden]

    def _paths_by_block(self, unit_index: int, marks: ThreadMarks) -> dict[str, list[tuple[Block, ...]]]:
        if not marks:
            return {}
        spans = {span.block.key for span in self.pane.cursor.spans_of(unit_index)}
        return marks.paths_at(spans, self.pane.virtual_lines.units[unit_index].slice)

    def with_mark(self, strip: Strip, unit_index: int, number: int, line: Line, line_width: int) -> Strip:
        """Return the strip of a line with the thread mark of the block that begins there. Text lines are `line_width`
        cells wide."""
        if not (self.marks or self.drafts) or line.block is None:
            return strip
        first_lines = {id(span.block): span.first for span in self.pane.cursor.spans_of(unit_index)}
        keys = [block.key for block in line_blocks(line) if first_lines.get(id(block)) == number]
        threads, drafts = (self._count(keys, unit_index, marks) for marks in (self.marks, self.drafts))
        if not (threads or drafts):
            return strip
        glyphs, end = self.pane.text_styles.glyphs, strip.cell_length
        at = self.pane.contents.margin_of(unit_index) + max(line_width, line.width) + 1
        marks = _mark_texts(glyphs.dot, threads, glyphs.pen, drafts)
        mark = next((mark for mark in marks if at + cells(mark) <= end), marks[-1])
        return overlay_text(
            strip,
            min(at, end - cells(mark)),
            mark,
            self.pane.base_style + self.pane.text_styles.note + Style(bold=True),
        )

    def _count(self, keys: Sequence[str], unit_index: int, marks: ThreadMarks) -> int:
        """Return the number of threads or drafts marked at some blocks."""
        paths = self._paths_by_block(unit_index, marks)
        return sum(marks.counts[path[-1].key] for key in keys for path in paths.get(key, ()))


def _mark_texts(dot: str, threads: int, pen: str, drafts: int) -> Sequence[str]:
    """Return texts of a thread mark, the longest first."""
    if not drafts:
        return f"{dot} {threads}", f"{dot}{threads}", dot
    draft_text = f"{pen} draft" if drafts == 1 else f"{pen} {drafts} drafts"
    if not threads:
        return draft_text, pen
    return f"{dot} {threads}  {draft_text}", f"{dot} {threads} {pen}", f"{dot}{threads}{pen}", f"{dot}{pen}"


PAGE_THREADS: Commands[PageThreads] = Commands(
    "page",
    (
        Command("next_thread", "t", "Next thread", "Go to the next open thread", run=lambda _, threads: threads.go_to_thread(1),
                why_not=lambda _, threads: threads.disabled_reason()),
        Command("prev_thread", "T", "Previous thread", "Go to the previous open thread",
                run=lambda _, threads: threads.go_to_thread(-1), shown=False,
                why_not=lambda _, threads: threads.disabled_reason()),
    ),
    find=lambda view: view.threads,
)  # fmt: skip
