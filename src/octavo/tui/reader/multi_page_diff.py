"""The diff of several pages, one below the other. Commands act on the page under the cursor (a `PageSection`)."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.worker import WorkType

from octavo.documents.blocks import Block
from octavo.tui.reader.diff_contents import PAGE_ROW, SPLIT_FROM, DiffBuilder, DiffContents, DiffLayout, PageSection
from octavo.tui.reader.diff_navigation import DiffNavigation, position_text
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import BlockSpan, ReadingPosition, reading_position_of
from octavo.tui.reader.viewport import SHORT_PAGE, explain
from octavo.tui.render.block_slices import block_source
from octavo.tui.render.diff_chunks import DiffChunk, DiffChunks
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.render.threads import ThreadSummary


class MultiPageContents(DiffContents):
    """The changes of several pages. `page` is the page under the cursor, or an empty page if there is none."""

    def __init__(self, pane: Reader) -> None:
        super().__init__(pane)
        self.sections: tuple[PageSection, ...] = ()
        """The pages to show. Until their lines are ready, the pane still shows `_shown_sections`."""
        self._shown_sections: tuple[PageSection, ...] = ()
        """The pages whose lines are in the pane now."""
        self._built_sections: tuple[PageSection, ...] = ()
        self.starts: tuple[int, ...] = (0,)
        """Index of the first chunk of each page, which is its heading. The last number is the count of all chunks."""
        self.built_starts: tuple[int, ...] = (0,)
        """Like `starts`, but for the chunks that were built last, which the pane may not show yet."""

    def section_at(self, chunk_index: int) -> PageSection | None:
        """Return the page that a chunk belongs to. None if the index is outside of all pages."""
        index = bisect_right(self.starts, chunk_index) - 1
        return self._shown_sections[index] if 0 <= index < len(self._shown_sections) else None

    def range_of(self, section: PageSection) -> range:
        """Return the indexes of all chunks of a page. Empty if the page has no lines yet."""
        if section not in self._shown_sections:
            return range(0)
        index = self._shown_sections.index(section)
        return range(self.starts[index], self.starts[index + 1])

    @property
    def page(self) -> PageSection:
        span = self.pane.cursor.current()
        return (self.section_at(span.chunk_index) if span is not None else None) or self._page

    @property
    def has_content(self) -> bool:
        return bool(self.sections)

    def empty_page_lines(self) -> list[Content]:
        return []  # Each page has a heading, so the pane is empty only until the first diff is built.

    def is_old(self, block: Block) -> bool:
        return any(each.compared is not None and each.compared.is_old(block) for each in self.sections)

    @property
    def layouts(self) -> tuple[DiffLayout, ...]:
        return ("changes", "sides") if self.pane.app.size.width >= SPLIT_FROM else ("changes",)

    @property
    def size(self) -> int:
        return sum(each.size for each in self.sections)

    @property
    def has_changes(self) -> bool:
        return bool(self.sections)

    @property
    def page_diff(self) -> DiffChunks:
        return self.page.diff

    @property
    def unsearched_part(self) -> str:
        left_out = [each for each in self.sections if each.is_collapsed or each.is_missing]
        return plural(len(left_out), "page") if left_out else ""

    @property
    def why_no_source(self) -> str | None:
        return "The source diff shows only one page. Press v to show one page at a time first."

    def use_newest_chunks(self) -> Sequence[DiffChunk]:
        self.starts, self._shown_sections = self.built_starts, self._built_sections
        return super().use_newest_chunks()

    @property
    def all_threads(self) -> list[ThreadSummary]:
        return [each for section in self.sections for row in section.threads.values() for each in row]

    def block_markdown(self, block: Block) -> str:
        comparison_and_document = next(filter(None, (each.find(block) for each in self.sections)), None)
        return block_source(comparison_and_document[1].source, block) if comparison_and_document is not None else ""

    def join_sections(self) -> None:
        """Join the chunks of all pages in `built_diff`, for `reset_lines`. A collapsed page has only its heading."""
        starts, joined = [], DiffChunks()
        for section in self.sections:
            starts.append(len(joined.chunks))
            joined.chunks += [
                *section.rows(is_first=not joined.chunks),
                *(() if section.is_collapsed else section.diff.chunks),
            ]
        joined.hidden_counts = sum((each.diff.hidden_counts for each in self.sections), start=joined.hidden_counts)
        self.built_diff, self.built_starts = joined, (*starts, len(joined.chunks))
        self._built_sections = self.sections

    def changes_of(self, section: PageSection) -> DiffChunks:
        changes = super().changes_of(section)
        remaining_chunks = changes.remaining
        changes.remaining = (chunk for chunk in remaining_chunks if chunk.kind != "title")  # The heading has the title.
        return changes


class SectionBuilder(DiffBuilder):
    """Builds the diffs of several pages. `build` builds only the page under the cursor."""

    contents: MultiPageContents

    def __init__(
        self,
        pane: Reader,
        contents: MultiPageContents,
        show_chunks: Callable[[DiffChunks], None],
        keep_selected: Callable[[BlockSpan, int], None],
    ) -> None:
        """`keep_selected` is called after lines were replaced, with the block selected before and its screen row."""
        super().__init__(pane, contents, show_chunks)
        self._keep_selected = keep_selected
        self._builds: dict[str, DiffChunks] = {}
        """Unfinished diff of each long page whose diff is being built in a thread, by page key."""

    def build(self, on_shown: Callable[[], object] | None = None) -> None:
        self.rebuild((self.contents.page,), on_shown)

    def show_sections(self, sections: Sequence[PageSection] | None = None) -> None:
        """Show `sections` (if None, the current sections with their new lines). The selected block stays in its row."""
        contents, viewport, cursor = self.contents, self.pane.viewport, self.pane.cursor
        selected = cursor.current()
        page = contents.page
        row = viewport.row_of(selected.start, 2 * viewport.row_count) if selected is not None else 0
        position = reading_position_of(viewport.virtual_lines, viewport.top, viewport.layout_width)
        top_section, offset = None, 0
        if position is not None and (top_section := contents.section_at(position.chunk_index)) is not None:
            offset = position.chunk_index - contents.range_of(top_section).start
        find_bar = self.pane.find_bar
        match_section = contents.section_at(find_bar.match_chunk_index)
        match_offset = (
            find_bar.match_chunk_index - contents.range_of(match_section).start if match_section is not None else 0
        )
        if sections is not None:
            contents.sections = tuple(sections)
        contents.join_sections()
        anchor, cursor.selected = None, None
        if position is not None and top_section in contents.sections:
            start, stop = contents.built_starts[contents.sections.index(top_section) :][:2]
            anchor = position._replace(chunk_index=min(start + offset, stop - 1))
        viewport.reset_lines(position=anchor, reuses_lines=True)
        if selected is not None and (page_chunk_range := contents.range_of(page)):
            cursor.selected = (page_chunk_range.start, Block(PAGE_ROW, key=f"{PAGE_ROW} {page.key}"))
            self._keep_selected(selected, row)
        match_range = contents.range_of(match_section) if match_section is not None else range(0)
        find_bar.content_changed(
            match_chunk_index=match_range.start + match_offset if match_offset < len(match_range) else -1
        )
        self.pane.refresh_bindings()
        viewport.notify_moved()

    def rebuild(self, sections: Sequence[PageSection], on_shown: Callable[[], object] | None = None) -> None:
        """Build the diffs of `sections` again and show them, long diffs in a thread. `on_shown` is called each time a
        long page is shown, or once if all pages are short."""
        self.contents.built_layout = self.contents.current_layout
        for section in sections:
            changes = self.contents.changes_of(section)
            if section.size < SHORT_PAGE:
                self._builds.pop(section.key, None)
                section.diff = changes.complete()
            else:
                self._builds[section.key] = changes
                work: WorkType[None] = partial(self._build_long, section, changes, on_shown)
                self.pane.run_worker(work, group="build")
        long_sections = [each for each in sections if each.key in self._builds]
        if len(long_sections) < len(sections):
            self.show_sections()
        if not long_sections and on_shown is not None:
            on_shown()

    async def _build_long(
        self, section: PageSection, changes: DiffChunks, on_shown: Callable[[], object] | None
    ) -> None:
        compared = section.compared
        await asyncio.to_thread(changes.complete)
        if self._builds.get(section.key) is changes:
            del self._builds[section.key]
            if section.compared is compared:  # Otherwise, a note has replaced the changes meanwhile.
                section.diff = changes
            self.show_sections()
            if on_shown is not None:
                on_shown()

    def set_collapsed(self, section: PageSection, *, is_collapsed: bool) -> None:
        """Collapse a page to its heading if `is_collapsed`. Otherwise, expand it."""
        if section.is_collapsed is not is_collapsed:
            section.is_collapsed = is_collapsed
            section.heading = replace(section.heading, is_collapsed=is_collapsed)
            self.show_sections()

    def sections_in_view(self) -> Iterator[PageSection]:
        """Yield the pages of which at least one row is visible, from top to bottom."""
        previous_section: PageSection | None = None
        for chunk_index, _, _ in self.pane.viewport.visible_rows:
            section = self.contents.section_at(chunk_index)
            if section is not None and section is not previous_section:
                previous_section = section
                yield section


class MultiPageNavigation(DiffNavigation):
    """Goes to changes in the page under the cursor, and from page to page."""

    contents: MultiPageContents
    builder: SectionBuilder

    def __init__(self, pane: Reader, contents: MultiPageContents) -> None:
        super().__init__(pane, contents)
        self.builder = SectionBuilder(pane, contents, self.show_chunks, self.keep_selected)
        self.retry: Callable[[PageSection], bool] = lambda section: False
        """Called with a page whose heading was clicked. If loading the page failed, loads it again and returns True."""

    @property
    def position_text(self) -> str:
        span, page = self.cursor.current(), self.contents.page
        chunk_index = span.chunk_index - self._body_start(page) if span is not None else -1
        return position_text(page.diff, chunk_index, by_risk=self.contents.visits_by_risk)

    @property
    def page_chunk_range(self) -> range:
        return self.contents.range_of(self.contents.page)

    def search_start_index(self, step: int) -> int:
        return self.page_chunk_range.start if step > 0 else self.page_chunk_range.stop

    @property
    def is_unmoved_since_opening(self) -> bool:
        return False

    def open_page(self) -> None:
        """Do nothing, because `restore` restores the position as soon as a page has loaded."""

    def _body_start(self, section: PageSection) -> int:
        return self.contents.range_of(section).start + 1

    def _change_from(self, chunk_index: int, step: int) -> BlockSpan | None:
        return self._change_in(self.contents.page, chunk_index, step)

    def _change_in(self, section: PageSection, chunk_index: int, step: int) -> BlockSpan | None:
        if section.is_collapsed:
            return None
        start, chunks = self._body_start(section), section.diff.chunks
        return self._next_change_in(chunks, start, max(-1, min(len(chunks), chunk_index - start)), step)

    def go_beyond(self, step: int) -> None:
        page, sections = self.contents.page, self.contents.sections
        if page not in sections:
            return
        if page.is_loading and step > 0:
            explain(self.pane, f"Still loading {page.heading.title}.")
            return
        index = sections.index(page) + step
        if not 0 <= index < len(sections):
            ordinal, opposite_key = ("last", "N") if step > 0 else ("first", "n")
            explain(self.pane, f"This is the {ordinal} change on all pages. Press {opposite_key} to go back.")
            return
        section = sections[index]
        chunk_range = self.contents.range_of(section)
        span = self._change_in(section, chunk_range.start if step > 0 else chunk_range.stop, step)
        if span is not None:
            self.cursor.select(span, scroll_to="third")
        else:
            self.go_to_heading(section)

    def go_to_heading(self, section: PageSection) -> None:
        """Select the heading of a page, and scroll to it."""
        chunk_range = self.contents.range_of(section)
        if not chunk_range:
            return
        span = next((each for each in self.cursor.spans_of(chunk_range.start) if each.block.kind == PAGE_ROW), None)
        if span is not None:
            self.cursor.select(span, scroll_to="top")

    @property
    def is_on_heading(self) -> bool:
        selected = self.cursor.current()
        return selected is not None and selected.block.kind == PAGE_ROW

    def why_not_change_context(self, *, more: bool) -> str | None:
        if not self.contents.page.is_collapsed and (more or not self.is_on_heading):
            return super().why_not_change_context(more=more)
        return None if more or not self.contents.page.is_collapsed else "This page is already collapsed."

    def show_more_context(self) -> None:
        if self.contents.page.is_collapsed:
            self.builder.set_collapsed(self.contents.page, is_collapsed=False)
        else:
            super().show_more_context()

    def show_less_context(self) -> None:
        if self.is_on_heading:
            self.builder.set_collapsed(self.contents.page, is_collapsed=True)
        else:
            super().show_less_context()

    def toggle_meaningless_changes(self) -> None:
        self.contents.only_meaning = not self.contents.only_meaning
        self.builder.rebuild(self.contents.sections)

    def build_all(self) -> None:
        self.builder.rebuild(self.contents.sections)

    def toggle_heading(self, chunk_index: int, target: str) -> bool:
        section = self.contents.section_at(chunk_index)
        if section is None:
            return False
        if section is not self.contents.page and (spans := self.cursor.spans_of(chunk_index)):
            self.cursor.select(spans[0], scroll_to=None)  # The click was on another page.
        if target != f"{PAGE_ROW} {section.key}":
            return False
        if section.is_collapsed or not self.retry(section):
            self.builder.set_collapsed(section, is_collapsed=not section.is_collapsed)
        return True

    def store_position(self) -> None:
        # Before the page is loaded, its stored position must stay, because it is restored later.
        if self.contents.page.is_loaded:
            super().store_position()

    def restore(self, section: PageSection) -> None:
        """Restore the stored reading position in a page. No effect unless the page is under the cursor."""
        if (position := self.positions.get(section.position_key)) is not None:
            self._restore_position(section, position)

    def _restore_position(self, section: PageSection, position: ReadingPosition) -> None:
        if section is not self.contents.page or self.pane.viewport.is_outdated:
            return  # A pane without a width keeps its old lines, in which the block may still be collapsed.
        block = self._current_block(Block("", key=position.block))
        if (collapsed := self._chunk_hiding(block)) is not None:
            self._expand(collapsed, partial(self._restore_position, section, position))
        elif (span := self._find_span(block)) is not None:
            self.cursor.select(span, scroll_to=None)
            self.pane.viewport.show_in_row(span.start, position.row)

    def keep_selected(self, selected: BlockSpan, row: int) -> None:
        """Select the block of `selected` again, and scroll so that this block is in `row`. If the block is gone, select
        the first visible block of the current page, or else the heading of this page."""
        span = self._find_span(self._current_block(selected.block))
        if span is not None:
            self.cursor.select(span, scroll_to=None)
            self.pane.viewport.show_in_row(span.start, row)
            return
        page_chunk_range = self.page_chunk_range
        in_view = (each for each in self.cursor.visible_spans() if each.chunk_index in page_chunk_range)
        if (span := next(in_view, None) or next(iter(self.cursor.spans_of(page_chunk_range.start)), None)) is not None:
            self.cursor.select(span, scroll_to=None)
