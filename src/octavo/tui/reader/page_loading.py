"""Parses a page in the background thread, and shows its first screen early. Start at `PageLoader.load`."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from functools import partial
from typing import NamedTuple

from textual.message import Message

from octavo.documents.blocks import EMPTY_PAGE, Document
from octavo.documents.source_reader import IncrementalParse
from octavo.tui.reader.page_contents import PageContents, TitleAndDescription, blocks_with_title
from octavo.tui.reader.page_navigation import PageNavigation
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import ReadingPosition
from octavo.tui.reader.viewport import SHORT_PAGE
from octavo.tui.render.layout import PageChunk, split_into_chunks
from octavo.tui.render.layout_context import ViewState, path_to_block
from octavo.tui.terminal.polite_thread import Work, background_thread, expect_frame

FIRST_BLOCKS = 24
"""Minimum number of blocks that are parsed before the first screen of a long page is shown."""
FIRST_SCREEN_WAIT = 0.06
"""Maximum seconds for which the previous page stays visible while the first screen is parsed. Also the maximum time to
parse up to the block of the last reading position."""
PARSER_START_WAIT = 0.1
"""Maximum extra seconds to wait for the first block before the first frame, because an empty frame would delay the text.
The import of the parser takes most of this time."""


class PageLoaded(Message):
    """Posted when the whole page is parsed and shown. Not posted if a refresh loads the same text and title again."""


class ParsedPage(NamedTuple):
    """A parsed page or its beginning: the document, and the chunks that its blocks are split into."""

    document: Document
    chunks: list[PageChunk]


class PageParse:
    """Parses a page in steps, a long one in the background thread. Results are in `first_screen` and `whole_page`."""

    def __init__(
        self,
        markdown: str,
        head: TitleAndDescription,
        key: str,
        restore_key: str,
        view_state: ViewState,
        *,
        needs_first_screen: bool,
    ) -> None:
        """`restore_key` is the key of the block at the last reading position. The first screen should contain this
        block. If `needs_first_screen` is False, only `whole_page` is set."""
        self.needs_first_screen = needs_first_screen
        self.markdown, self.head, self.key, self.view_state = markdown, head, key, view_state
        self._restore_key = restore_key
        self._parse: IncrementalParse | None = None
        """None until the thread has imported the parser."""
        self._chunks: list[PageChunk] = []
        self._split_count = 0
        """Number of blocks that are already split into chunks."""
        self.first_screen: ParsedPage | None = None
        """The beginning of the page. None until enough of the page is parsed."""
        self.whole_page: ParsedPage | None = None
        self.has_begun = threading.Event()
        """Event that is set when the first block is parsed."""
        self.is_ready = threading.Event()
        """Event that is set when `first_screen` or `whole_page` is available."""

    def steps(self) -> Iterator[None]:
        """Parse into `first_screen` and `whole_page`. Yields after each block or chunk, so that the work can pause."""
        parse = self._parse = IncrementalParse(self.markdown)
        deadline = time.perf_counter() + FIRST_SCREEN_WAIT
        first_count = FIRST_BLOCKS
        for block in parse.read():
            self.has_begun.set()
            if self._restore_key and (path_to_block(block, self._restore_key) or time.perf_counter() > deadline):
                self._restore_key, first_count = "", max(first_count, len(parse.blocks) + FIRST_BLOCKS)
            is_enough = not self._restore_key and len(parse.blocks) >= first_count
            if is_enough and self.first_screen is None and self.needs_first_screen:
                self._set_first_screen((yield from self._split(parse)))
            yield
        self.whole_page = yield from self._split(parse)
        self.has_begun.set()
        self.is_ready.set()

    def beginning(self, *, is_empty: bool) -> ParsedPage:
        """Return the page as far as it is parsed. Return an empty page if `is_empty`, or while the parser has not reached
        the position to restore."""
        if is_empty or self._parse is None or self._restore_key:
            return ParsedPage(EMPTY_PAGE, [])
        document = self._parse.document
        blocks = blocks_with_title(document.blocks, self.head, is_complete=False)
        return ParsedPage(document, [*split_into_chunks(blocks)])

    def _set_first_screen(self, page: ParsedPage) -> None:
        self.first_screen = page
        expect_frame()  # Pause, because further steps would slow down the painting of the first screen.
        self.is_ready.set()

    def _split(self, parse: IncrementalParse) -> Generator[None, None, ParsedPage]:
        """Split newly parsed blocks into chunks, and yield after each chunk. Return all blocks and chunks so far."""
        blocks, split_count, self._split_count = parse.blocks, self._split_count, len(parse.blocks)
        if split_count:
            chunks = split_into_chunks(blocks[split_count:], blocks[split_count - 1])
        else:
            chunks = split_into_chunks(blocks_with_title(blocks, self.head, is_complete=parse.is_done))
        for chunk in chunks:
            self._chunks.append(chunk)
            yield
        return ParsedPage(parse.document, [*self._chunks])


class PageLoader:
    """Loads the pages of a `PageView`: parses and shows them, and stops when another page is loaded."""

    def __init__(self, pane: Reader, contents: PageContents, navigation: PageNavigation) -> None:
        self.pane, self.contents, self.navigation, self.threads = pane, contents, navigation, contents.threads
        self._current_parse: PageParse | None = None
        self._work: Work | None = None

    def show(self, document: Document, head: TitleAndDescription, key: str) -> None:
        self.cancel()
        page = ParsedPage(document, list(split_into_chunks(blocks_with_title(document.blocks, head, is_complete=True))))
        self._show_whole(page, head, key, ViewState())

    def _show_same(self, document: Document, head: TitleAndDescription) -> None:
        self.cancel()
        if head != self.contents.head or self.pane.state.has_failed:
            markdown = self.contents.markdown
            self.show(document, head, self.contents.key)
            self.contents.markdown = markdown
        else:
            self.navigation.follow_pending_jump()
            self.navigation.restore_if_parsed()

    def load(self, markdown: str, head: TitleAndDescription, key: str) -> None:
        """Show a page, starting with its first screen. If an earlier version of the same page (`key`) is visible, it
        stays until the whole new version is ready."""
        document = self.contents.document if key == self.contents.key else None
        if document is not None and markdown == self.contents.markdown:
            self._show_same(document, head)
            return
        is_shown, running = document is not None, self._current_parse
        if is_shown and running is not None and (running.head, running.key, running.markdown) == (head, key, markdown):
            return
        self.cancel()
        page, position = self.navigation.position_to_restore or ("", ReadingPosition())
        restore_key = position.block if page == key and not is_shown else ""
        view_state = self.pane.viewport.view_state if is_shown else ViewState()
        is_short = len(markdown) < SHORT_PAGE
        parse = PageParse(markdown, head, key, restore_key, view_state, needs_first_screen=not (is_shown or is_short))
        if is_short:
            for _ in parse.steps():
                pass
        else:
            self._work = background_thread.begin(self.parse_and_show(parse), self.pane.viewport.raise_later)
            if not (is_shown or self.pane.viewport.was_painted):
                background_thread.wait(parse.has_begun, PARSER_START_WAIT)
            if not is_shown:
                background_thread.wait(parse.is_ready)
        if parse.whole_page is not None:
            self._work = None
            self._show_whole(parse.whole_page, head, key, parse.view_state)
            self.contents.markdown = markdown
            return
        self._current_parse = parse
        if not is_shown:
            if parse.first_screen is None:
                self.pane.painter.keep_frame(FIRST_SCREEN_WAIT)
            beginning = parse.first_screen or parse.beginning(is_empty=self.pane.viewport.was_painted)
            self._show(beginning, head, key, parse.view_state, is_complete=False)

    def parse_and_show(self, parse: PageParse) -> Iterator[None]:
        """Parse a page in the background thread. Yield after each step. The event loop shows the page in two parts."""
        is_first_shown = False
        for _ in parse.steps():
            if parse.first_screen is not None and not is_first_shown:
                is_first_shown = True
                self.pane.call_later(self._show_first_screen, parse)
            yield
        self.pane.call_later(self._show_rest, parse)

    def _show(
        self, page: ParsedPage, head: TitleAndDescription, key: str, view_state: ViewState, *, is_complete: bool
    ) -> None:
        pane, contents, document = self.pane, self.contents, page.document
        is_same_page = key == contents.key and contents.document is not None
        if is_same_page and document is contents.document and head == contents.head and not pane.state.has_failed:
            return
        was_loading_shown = pane.state.shows_loading
        if not is_same_page and not was_loading_shown:
            pane.waiting_commands = ()  # The waiting commands are for another page.
        pane.state.clear()
        if not is_same_page:
            self.navigation.pending_jump = self.navigation.pending_jump if contents.document is None else None
            pane.selection.cancel_copy()
            self.navigation.forget_page()
            contents.key, contents.shows_source = key, False
            pane.viewport.view_state, pane.cursor.selected = view_state, None
            self.threads.clear()
            pane.find_bar.page_changed(was_loading_shown=was_loading_shown)
            pane.viewport.remove_lines()
            for cache in contents.deferred:
                cache.clear_requests()
        contents.head, contents.markdown = head, document.source if is_complete else None
        self._show_chunks(page, is_complete=is_complete)
        if self.navigation.pending_jump is not None and not is_same_page:
            # Make the jump that was requested before a page was shown.
            self.navigation.go_to_anchor(self.navigation.pending_jump.anchor)

    def _show_chunks(self, page: ParsedPage, *, is_complete: bool) -> None:
        pane, contents = self.pane, self.contents
        selected = pane.cursor.selected_span()
        row = pane.viewport.row_of(selected.start) if selected is not None else 0
        contents.document, contents.page_chunks, contents.is_fully_parsed = page.document, page.chunks, is_complete
        contents.discard_source_chunks()
        self.threads.mark_document(page.document)
        pane.reset_lines()
        if selected is not None:
            pane.cursor.select_again(selected, row)
        pane.find_bar.content_changed()
        pane.refresh_bindings()
        pane.viewport.notify_moved()

    def _show_whole(self, page: ParsedPage, head: TitleAndDescription, key: str, view_state: ViewState) -> None:
        self._show(page, head, key, view_state, is_complete=True)
        self._finish()

    def _finish(self) -> None:
        self.navigation.follow_pending_jump()
        self.navigation.restore_if_parsed()
        self.navigation.restore_again()
        self.pane.run_waiting_commands()
        self.pane.refresh_bindings()
        self.pane.viewport.notify_moved()
        self.pane.post_message(PageLoaded())

    def go_to_end(self) -> None:
        """Scroll to the end of the page. If it is loading, scroll again when it is complete, unless the user moves."""
        self.pane.cursor.go_to_edge(at_end=True)
        if self.is_loading:
            self.navigation.repeat_when_parsed(partial(self.pane.cursor.go_to_edge, at_end=True))

    def cancel(self) -> None:
        if self._work is not None:
            self._work.stop()
        self._current_parse = self._work = None
        self.navigation.cancel_waiting_moves()

    @property
    def is_loading(self) -> bool:
        return self._current_parse is not None

    def _show_first_screen(self, parse: PageParse) -> None:
        page = parse.first_screen
        if parse is self._current_parse and page is not None and len(page.chunks) > len(self.contents.page_chunks):
            self._show_chunks(page, is_complete=False)
            self.pane.run_waiting_commands()

    def _show_rest(self, parse: PageParse) -> None:
        page, contents, pane = parse.whole_page, self.contents, self.pane
        if parse is not self._current_parse or page is None:
            return
        self._current_parse = self._work = None
        moves = self.navigation.waiting_moves()
        if not parse.needs_first_screen:
            self._show(page, parse.head, parse.key, parse.view_state, is_complete=True)
        else:
            shown_count = len(pane.viewport.virtual_lines)
            contents.document, contents.page_chunks, contents.is_fully_parsed = page.document, page.chunks, True
            self.threads.mark_document(page.document)
            if contents.shows_source:
                self.navigation.show_whole_source()
            elif shown_count and page.chunks:
                pane.viewport.append_chunks(page.chunks[shown_count:])
            else:
                pane.reset_lines()
            pane.find_bar.content_changed()
        contents.markdown = parse.markdown
        self.navigation.cancel_waiting_moves()
        self._finish()
        for move in moves:
            move()
        pane.viewport.continue_work()
