"""Contents of a diff view: the changes of a page, split or unified, with threads between the lines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Literal

from textual.content import Content

from octavo.documents.blocks import Block, Document
from octavo.documents.suggestions import TwoVersionAnchors
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import BlockSpan
from octavo.tui.reader.viewport import SHORT_PAGE, Contents
from octavo.tui.render.block_slices import block_source, whole_block
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_chunks import ContextSize, DiffChunk, DiffChunks, PageHeading
from octavo.tui.render.diff_lines import estimate_height, render_diff_chunk
from octavo.tui.render.diff_sequence import build_diff, build_side
from octavo.tui.render.diff_sides import SIDE_GAP, SideBySideLine, SideWidths
from octavo.tui.render.layout import block_ranges, deferred_content, render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.render.virtual_lines import ChunkLayout
from octavo.tui.terminal.polite_thread import Work, background_thread
from octavo.tui.widgets.text_widgets import empty_lines

MAX_WIDTH = 108
"""Maximum width in cells of one version of the page."""
SPLIT_FROM = 140
"""Minimum width in cells of a terminal in which the diff can be split."""
SPLIT_BY_DEFAULT_FROM = 200
"""Terminal width in cells from which a diff is split unless the user chose otherwise."""

DiffLayout = Literal["changes", "sides", "new", "old"]
"""Unified diff (`changes`), split diff (`sides`), or only one version of a rewritten page (`new` or `old`)."""
NoteKind = Literal["loading", "failed", "description"]
"""Kind of a note that is shown instead of changes. `description` says how the page was changed, if at all."""
PAGE_ROW = "page"
"""Block kind of the heading of a page, in a diff of several pages."""


class PageSection:
    """One page in a diff: comparison, threads and expanded blocks of the page. In a diff of several pages, also the
    heading of the page, and a note if there are no changes to show."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.position_key = key
        """Key under which the reading position in this page is stored."""
        self.heading = PageHeading(key, "")
        self.is_collapsed = False
        self.note = ""
        """Text that is shown instead of the changes, for example while they are loading."""
        self._note_kind: NoteKind = "description"
        self.compared: PageComparison | None = None
        self.anchors: TwoVersionAnchors | None = None
        """Finds the blocks that threads are on, in both versions of the page. None until these versions are loaded."""
        self.threads: Mapping[str, Sequence[ThreadSummary]] = {}
        """Threads on each block, by block key."""
        self.context_size = ContextSize()
        self.diff = DiffChunks()
        """Chunks of the changes. Empty while only a note is shown."""
        self._heading_chunk: DiffChunk | None = None
        self._note_chunk: DiffChunk | None = None

    @property
    def is_loaded(self) -> bool:
        """True if the changes between the current versions are loaded."""
        return self.anchors is not None

    @property
    def is_loading(self) -> bool:
        return not self.is_loaded and self._note_kind == "loading"

    @property
    def is_missing(self) -> bool:
        """True if the changes are loading or could not be loaded."""
        return not self.is_loaded and self._note_kind != "description"

    @property
    def size(self) -> int:
        """Number of characters of the longer version. 0 if no versions are compared yet."""
        return self.compared.size if self.compared is not None else 0

    def set_note(self, note: str, kind: NoteKind) -> None:
        """Set the text to show while there are no changes. If there are changes, they stay visible."""
        self.note, self._note_kind = note, kind

    def show_note(self, note: str, kind: NoteKind) -> None:
        """Remove the changes, and show a note instead."""
        self.compared, self.diff = None, DiffChunks()
        self.set_note(note, kind)

    def rows(self, *, is_first: bool) -> Sequence[DiffChunk]:
        """Return the chunk of the page's heading, with less space above if `is_first`. If the page is expanded and has
        no changes to show, also return the chunk of its note. Unchanged chunks are the same objects as before."""
        heading = DiffChunk("page", Block(PAGE_ROW, key=f"{PAGE_ROW} {self.key}"), page=self.heading, is_tight=is_first)
        heading_chunk = self._heading_chunk
        if heading_chunk is None or heading_chunk.page != heading.page or heading_chunk.is_tight != heading.is_tight:
            self._heading_chunk = heading_chunk = heading
        if self.is_collapsed or self.diff.chunks:
            return [heading_chunk]
        text = self.note or self.no_changes_text
        if self._note_chunk is None or self._note_chunk.text != text:
            block = Block("note", key=f"note {self.key}")
            self._note_chunk = DiffChunk("note", block, text=text, is_tight=True)
        return [heading_chunk, self._note_chunk]

    @property
    def no_changes_text(self) -> str:
        """Sentence to show if there are no changes and no note."""
        is_empty = self.compared is not None and not (self.compared.old.blocks or self.compared.new.blocks)
        return "This page is empty." if is_empty else "No changes on this page."

    def find(self, block: Block) -> tuple[PageComparison, Document] | None:
        """Return the comparison of the page, and its version with `block`. None if no version contains `block`."""
        compared, whole = self.compared, whole_block(block)
        if compared is None:
            return None
        if compared.is_old(whole):
            return compared, compared.old
        return (compared, compared.new) if compared.find(whole.key) is whole else None


class DiffContents(Contents):
    """The changes of a page, unified or split. For a rewritten page, optionally only its new or old version."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._page = PageSection("")
        self.shows_source = False
        self.is_source_chosen = False
        """True if the user chose the source diff, even while it is still being built."""
        self.by_risk = False
        """True if `n` goes to the most important changes first."""
        self.only_meaning = False
        """True if changes that cannot affect the meaning are hidden."""
        self.is_merge_preview = False
        """True for the preview of a merge result. Comments are then disabled."""
        self.has_threads_elsewhere = False
        """True if other pages of the change request have open threads."""
        self.has_page_before = self.has_page_after = False
        """True if another page of the change request comes before this page, or (`has_page_after`) after this page."""
        self.shown_diff = DiffChunks()
        """The chunks whose lines are shown."""
        self.built_diff = DiffChunks()
        """The chunks that were built last. They become `shown_diff` when the lines are replaced."""
        self.is_building = False
        """True while a new diff is built in the background."""
        self.source_changes = DiffChunks()
        """The chunks of the source diff. Empty until the source diff was chosen."""
        self.built_layout: DiffLayout = "changes"
        """Layout of the diff that was built last or is being built. The shown diff may still have another layout."""
        self.deferred = deferred_content(diagrams=False)  # A diff shows diagrams as text.
        self.chosen_layout: DiffLayout = "changes"
        self._prefers_split: bool | None = None
        """True if the last layout that the user chose was split. None if the user has not chosen yet."""

    @property
    def page(self) -> PageSection:
        """The page that commands act on. If no page is shown, an empty section."""
        return self._page

    def set_page(self, page: PageSection) -> None:
        """Set the page to show. Its changes are built later."""
        self._page = page

    @property
    def has_content(self) -> bool:
        return self.page.compared is not None

    def empty_page_lines(self) -> list[Content]:
        if self.is_building:
            return []
        if self.is_merge_preview:
            message = "The resolved page and the version that it is compared with are identical."
            return empty_lines(message, "Press esc to go back to the conflicts")
        return empty_lines(self.page.no_changes_text, "Press J for the next page" if self.has_page_after else "")

    def is_old(self, block: Block) -> bool:
        """Return True if a block is in the old version of the page."""
        compared = self.page.compared
        return compared is not None and compared.is_old(block)

    @property
    def layouts(self) -> tuple[DiffLayout, ...]:
        """Layouts that the user can choose now, in the order in which the key `|` switches between them."""
        compared = self.page.compared
        is_rewritten = compared is not None and compared.diff.size.is_rewritten and not self.shows_source
        is_wide = self.pane.app.size.width >= SPLIT_FROM
        return (*(("new", "old") if is_rewritten else ()), "changes", *(("sides",) if is_wide else ()))

    @property
    def _is_split(self) -> bool:
        if self._prefers_split is None:
            return self.pane.app.size.width >= SPLIT_BY_DEFAULT_FROM
        return self._prefers_split

    @property
    def current_layout(self) -> DiffLayout:
        """The chosen layout. In a source diff, the split or unified layout that the user last preferred. If this layout
        is not possible now, such as `sides` in a narrow terminal, `changes`."""
        layout: DiffLayout = self.chosen_layout if not self.shows_source else "sides" if self._is_split else "changes"
        return layout if layout in self.layouts else "changes"

    def choose_layout(self) -> None:
        """Choose the layout of an opened page: only the new version if rewritten, else a split or unified diff."""
        compared = self.page.compared
        is_rewritten = compared is not None and compared.diff.size.is_rewritten
        self.chosen_layout = "new" if is_rewritten else "sides" if self._is_split else "changes"

    def choose_next_layout(self) -> None:
        layouts = self.layouts
        self.chosen_layout = layouts[(layouts.index(self.current_layout) + 1) % len(layouts)]
        self._prefers_split = self.chosen_layout == "sides"

    @property
    def why_no_other_layout(self) -> str | None:
        """Reason why the user cannot choose another layout. None if another layout is possible."""
        if len(self.layouts) > 1:
            return None
        return f"The split view needs {SPLIT_FROM} columns. This terminal has only {self.pane.app.size.width}."

    def chunks(self) -> Sequence[DiffChunk]:
        return self.shown_diff.chunks

    def use_newest_chunks(self) -> Sequence[DiffChunk]:
        self.shown_diff = self.built_diff  # `shown_diff` and the lines must change together.
        return self.chunks()

    def layout_for(self, width: int, view_state: ViewState) -> ChunkLayout:
        is_split, max_width = self.current_layout == "sides", max(24, width - 4)
        side_widths = SideWidths.for_width(
            min(2 * MAX_WIDTH + SIDE_GAP if is_split else MAX_WIDTH, max_width), split=is_split
        )
        styles, deferred, source_of = self.pane.viewport.text_styles, self.deferred, self.block_markdown

        def make_renderer() -> Callable[[DiffChunk], list[Line]]:
            context = LayoutContext(
                styles,
                view_state,
                render_block,
                available_width=side_widths.side,
                deferred=deferred,
                source_of=source_of,
            )
            return lambda chunk: render_diff_chunk(context, chunk, side_widths)

        key = (width, is_split, styles, id(view_state), view_state.snapshot, deferred, deferred.targets)
        return ChunkLayout(estimate_height, make_renderer, 2, 0, deferred, key)

    @property
    def size(self) -> int:
        """Number of characters of the longer version of `page`. 0 if no versions are compared yet."""
        return self.page.size

    def prepare_diff(self) -> DiffChunks:
        """Return the diff of the current layout, and remember this layout in `built_layout`. The caller must build the
        chunks of the diff. Only a source diff has its chunks already."""
        layout, page = self.current_layout, self.page
        self.built_layout = layout
        if page.compared is not None and self.shows_source:
            return self.source_changes
        if page.compared is not None and (layout == "new" or layout == "old"):
            return build_side(page.compared, layout, page.threads, page.heading.title)
        return self.changes_of(page)

    def changes_of(self, section: PageSection) -> DiffChunks:
        """Return the diff of a page. `DiffChunks.build` builds its chunks later. Empty until the page is loaded."""
        if section.compared is None:
            return DiffChunks()
        return build_diff(
            section.compared.diff,
            deepcopy(section.context_size),  # Copied, because the user may change the original meanwhile.
            section.threads,
            section.heading.title,
            side_by_side=self.current_layout == "sides",
            kinds=section.compared.change_kinds,
            only_meaning=self.only_meaning,
        )

    def block_markdown(self, block: Block) -> str:
        if (compared := self.page.compared) is None:
            return ""
        document = compared.old if compared.is_old(whole_block(block)) else compared.new
        return block_source(document.source, block)

    def slices_of_block(self, chunk_index: int) -> range:
        chunks, first, last = self.shown_diff.chunks, chunk_index, chunk_index
        while chunks[first].slice_number > 1:
            first -= 1
        while last + 1 < len(chunks) and chunks[last + 1].slice_number > 1:
            last += 1
        return range(first, last + 1)

    @property
    def visits_by_risk(self) -> bool:
        """True if `n` goes to the most important change first. Always False if the diff shows Markdown source."""
        return self.by_risk and not self.shows_source

    @property
    def has_changes(self) -> bool:
        return self.shown_diff.change_count > 0

    @property
    def page_diff(self) -> DiffChunks:
        """The diff of the page under the cursor."""
        return self.shown_diff

    @property
    def why_no_source(self) -> str | None:
        return None

    def spans_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        if not any(isinstance(line, SideBySideLine) for line in lines):
            return block_ranges(lines)
        old_lines = [Line([], line.old_block if isinstance(line, SideBySideLine) else None) for line in lines]
        # Sorting is stable, so an old block comes before a new block that begins on the same line.
        return sorted([*block_ranges(old_lines), *block_ranges(lines)], key=lambda block_range: block_range[0])

    def block_at(self, line: Line, cell: int) -> Block | None:
        return line.old_block if isinstance(line, SideBySideLine) and cell < line.right_start - 1 else line.block

    def cursor_bar_column(self, line: Line, block_ids: Container[int]) -> int | None:
        if not isinstance(line, SideBySideLine):
            return super().cursor_bar_column(line, block_ids)
        if id(line.old_block) in block_ids:
            return -2
        return line.right_start - 1 if id(line.block) in block_ids else None

    def reachable_spans(self, spans: list[BlockSpan]) -> list[BlockSpan]:
        # Scrolling never selects a block of the old version, but keys do.
        selected = self.pane.cursor.selected[1] if self.pane.cursor.selected is not None else None
        return [span for span in spans if span.block is selected or not self.is_old(span.block)] or spans

    def has_open_thread_on(self, key: str) -> bool:
        return any(thread.is_open for thread in self.page.threads.get(key, ()))

    @property
    def thread_keys(self) -> set[str]:
        return {each.key for threads in self.page.threads.values() for each in threads}

    @property
    def all_threads(self) -> list[ThreadSummary]:
        """All threads on the shown page or pages, including those in collapsed blocks."""
        return [each for threads in self.page.threads.values() for each in threads]

    @property
    def has_open_threads(self) -> bool:
        return any(map(self.has_open_thread_on, self.page.threads))

    def block_with_thread(self, span: BlockSpan) -> Block | None:
        if span.block.kind == "thread":
            return span.block
        return next((each for each in span.block.walk() if each.key and self.has_open_thread_on(each.key)), None)

    def wide_blocks(self, span: BlockSpan) -> Iterable[Block]:
        return [each for block in self.shown_diff.chunks[span.chunk_index].blocks for each in block.walk()]


class DiffBuilder:
    """Builds the chunks of a diff, in the background if it is long. Meanwhile the previous diff stays visible."""

    def __init__(self, pane: Reader, contents: DiffContents, show_chunks: Callable[[DiffChunks], None]) -> None:
        """`show_chunks` is called with the built diff."""
        self.pane, self.contents, self._show_chunks = pane, contents, show_chunks
        self._unfinished: DiffChunks | None = None
        """The diff that the background thread is building. None if it builds nothing."""
        self._work: Work | None = None
        self._on_shown: Callable[[], object] | None = None

    def build(self, on_shown: Callable[[], object] | None = None) -> None:
        """Build the diff again, and call `on_shown` when it is shown. If `on_shown` is None, the callback of an earlier
        unfinished build is called instead."""
        self._on_shown = on_shown or self._on_shown
        self.stop()
        changes = self.contents.prepare_diff()
        if self.contents.size < SHORT_PAGE:
            self._show(changes.complete())
            return
        self.contents.is_building, self._unfinished, is_built = True, changes, threading.Event()
        self._work = background_thread.begin(self._steps(changes, is_built), self.pane.viewport.raise_later)
        if background_thread.wait(is_built):
            self._show(changes)

    def stop(self) -> None:
        if self._work is not None:
            self._work.stop()
        self._unfinished, self._work, self.contents.is_building = None, None, False

    def cancel(self) -> None:
        """Stop building, and do not call the `on_shown` that was passed to `build`."""
        self.stop()
        self._on_shown = None

    def drop_chunks(self) -> None:
        """Remove all lines from the pane, and stop building."""
        self.cancel()
        self.contents.shown_diff = self.contents.built_diff = DiffChunks()
        self.pane.viewport.remove_lines()
        self.pane.find_bar.content_changed()

    def _steps(self, changes: DiffChunks, is_built: threading.Event) -> Iterator[object]:
        yield from changes.build()
        is_built.set()
        self.pane.call_later(self._show_if_current, changes)

    def _show_if_current(self, changes: DiffChunks) -> None:
        if changes is self._unfinished:
            self._show(changes)

    def _show(self, changes: DiffChunks) -> None:
        self._unfinished, self._work, self.contents.is_building = None, None, False
        on_shown, self._on_shown = self._on_shown, None
        self._show_chunks(changes)
        if on_shown is not None:
            on_shown()
        self.pane.run_waiting_commands()
