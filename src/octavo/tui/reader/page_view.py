"""`PageView` shows a page with thread marks and links. `show_page` shows a page of the server in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import unquote

from textual.events import MouseScrollDown
from textual.geometry import Size
from textual.message import Message

from octavo.api.content import Page
from octavo.api.folding import fold
from octavo.api.safety import safe_address, safe_line, safe_text
from octavo.documents.blocks import Block, Document
from octavo.documents.emoji import to_emoji
from octavo.lazy_import import lazy
from octavo.tui.reader.block_cursor import HINT_COMMANDS, PAN_COMMANDS
from octavo.tui.reader.find_bar import FIND_COMMANDS
from octavo.tui.reader.page_contents import PageContents, PageThreads, blocks_around, table_of
from octavo.tui.reader.page_loading import PageLoader
from octavo.tui.reader.page_navigation import HEADING_COMMANDS, PAGE_THREAD_COMMANDS, SOURCE_COMMANDS, PageNavigation
from octavo.tui.reader.reading_pane import (
    BLOCK_COMMANDS,
    MOTION_COMMANDS,
    READ_ON_COMMANDS,
    BlockCommands,
    Reader,
    disabled_while_empty,
)
from octavo.tui.reader.viewport import explain
from octavo.tui.render.deferred import LinkDestination, link_destination
from octavo.tui.render.layout import CopyUrlRequested, LinkFollowed
from octavo.tui.render.layout_context import path_to_block, tab_slug
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.render.tables import copied_text
from octavo.tui.render.threads import keep_quoted_lines
from octavo.tui.terminal.display import RIGHT_TO_LEFT_LETTER
from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.reader.reading_position import BlockSpan, ReadingPosition

_curl_command = lazy("octavo.tui.render.openapi:curl_command")
_read_document = lazy("octavo.documents.json_document:read_document")

_URL_KINDS = ("link", "file", "image")
"""Kinds of clickable texts that have a URL."""


class PageLinks:
    """Opens the links, tabs and collapsible blocks of a page, and copies their URLs."""

    def __init__(self, pane: PageView) -> None:
        self.pane, self.contents, self.clickables = pane, pane.contents, pane.clickables

    def open(self, clickable: ClickableSpan, *, in_browser: bool, text: str) -> None:
        """Expand or collapse a block, select a tab, or go to an anchor of the page. For any other link, and for all
        links if `in_browser`, post `LinkFollowed`. `text` is the text of the link."""
        target = clickable.target
        match clickable.kind:
            case "fold" | "tab":
                self._toggle(clickable)
            case "select":
                self._select_tab(target)
            case "link" if self._destination(target) is LinkDestination.ANCHOR and not in_browser:
                anchor = safe_address(unquote(target))
                if not self.pane.navigation.go_to_anchor(anchor):
                    self.pane.navigation.report_missing(anchor)
            case _:
                in_browser = in_browser or self._destination(target) in (LinkDestination.OUTSIDE, LinkDestination.MAIL)
                self.pane.post_message(LinkFollowed(target, in_browser, clickable.kind, text))

    def _destination(self, address: str) -> LinkDestination:
        return link_destination(address, self.contents.deferred.targets)

    def _toggle(self, clickable: ClickableSpan) -> None:
        rows = self.pane.viewport.visible_rows
        clicked_index = rows[clickable.line].chunk_index if clickable.line < len(rows) else 0
        for chunk_index in (clicked_index, *range(len(self.pane.viewport.virtual_lines))):
            chunk = self.pane.viewport.virtual_lines.chunks[chunk_index]
            path = path_to_block(chunk.content, clickable.target)
            if path and clickable.kind == "tab":
                self.pane.viewport.choose_tab(path[-1].children[clickable.clickable.index], chunk_index)
                return
            if path:
                self.pane.viewport.view_state.toggle(path[-1], is_whole=clickable.clickable.index > 0)
                self.pane.viewport.lay_out_again(chunk_index)
                return

    def _select_tab(self, name: str) -> None:
        folded_name = fold(name).strip()
        tabs = (tab for block in self.contents.walk() if block.kind == "tabs" for tab in block.children)
        found_tab = next((tab for tab in tabs if folded_name in (tab_slug(tab), _title(tab))), None)
        if found_tab is None:
            explain(self.pane, f"This page has no tab “{name}”.")
            return
        self.pane.viewport.view_state.choose_tab(found_tab)
        self.pane.reset_lines()

    def open_in_browser(self) -> None:
        """Open the selected block's link in the browser. With several links, show hints. With none, open the page."""
        if clickables := self._links_of_block():
            self.clickables.open_or_show_hints(clickables, in_browser=True)
        else:
            self.pane.post_message(LinkFollowed("", True, "page"))

    def copy_url(self) -> None:
        """Copy the URL of the selected block's link. If there are no links or several, copy the URL of the page."""
        clickables = self._links_of_block()
        is_one_link = len({id(each.clickable) for each in clickables}) == 1
        target, kind = (clickables[0].target, clickables[0].kind) if is_one_link else ("", "page")
        self.pane.post_message(CopyUrlRequested(target, kind))

    def _links_of_block(self) -> list[ClickableSpan]:
        return [each for each in self.clickables.spans_in_selected_block() if each.kind in _URL_KINDS]


def _title(tab: Block) -> str:
    return fold(str(tab.attrs.get("title") or "")).strip()


LINK_URL_COMMANDS: Commands[PageLinks] = Commands(
    "page",
    (
        Command("yank_url", "Y", "Copy link", "Copy the link in the block, or a link to the page",
                run=lambda _, links: links.copy_url(), shown=False),
        Command("open_browser", "o", "Open in browser", "Open the link or page in the browser",
                run=lambda _, links: links.open_in_browser(), shown=False),
    ),
    find_target=lambda view: view.links,
)  # fmt: skip


NOT_IN_EXCERPT = "This key works only on a page. Press esc to close this dialog."


class ExcerptSettings(NamedTuple):
    """Settings of a page view that shows only an excerpt, such as a footnote in a dialog."""

    first_commands: tuple[str, ...]
    """IDs of the commands that come first in the key bar."""
    why_no_comment: str | None = NOT_IN_EXCERPT
    """Reason why the user cannot comment. None if the user can."""
    can_change_width: bool = True
    """True if the user can change the width of the text."""
    open_clickable: Callable[[ClickableSpan, bool], None] | None = None
    """Opens a clicked link, in the browser if the second argument is True. None if the view opens links itself."""


def _why_empty(page: PageView) -> str:
    return page.state.why_empty("This page is empty." if page.contents.has_content else "No page is open.")


_for_page = partial(disabled_while_empty, no_target=_why_empty)


def _for_whole_page(group: Commands[Any]) -> Commands[Any]:
    """Return a copy of `group` whose commands are disabled while no page is shown, and in an excerpt."""
    find_target: Callable[[Any], Any] = group.find_target
    return group.for_target(
        lambda page: find_target(page) if len(page.viewport.virtual_lines) and page.excerpt is None else None,
        no_target=lambda page: NOT_IN_EXCERPT if page.excerpt is not None else _why_empty(page),
    )


def _why_not_change_width(_: object, page: PageView) -> str | None:
    if page.excerpt is not None and not page.excerpt.can_change_width:
        return NOT_IN_EXCERPT
    if page.contents.other_line_widths:
        return None
    return f"This pane is too narrow for another text width. It has only {page.viewport.layout_width} columns."


WIDTH_COMMANDS: Commands[PageView] = Commands(
    "page",
    (
        Command("wrap", "W", "Width", "Change the text width",
                run=lambda _, page: page.switch_line_width(), why_not=_why_not_change_width, shown=False),
    ),
)  # fmt: skip


class PageBlockCommands(BlockCommands):
    """Commands for the selected block of a page. For a table row, `open` shows a dialog with the row."""

    pane: PageView

    def open(self) -> None:
        page, span = self.pane, self.pane.cursor.current()
        if span is None or page.contents.block_with_thread(span) is not None:
            super().open()
        elif (
            (target := span.block.attrs.get("target"))
            and span.block.kind == "card"
            and (links := [each for each in page.clickables.spans_in_selected_block() if each.target == target])
        ):
            page.open_clickable(links[0], in_browser=False)
        elif (table := table_of(page.viewport, span)) is not None:
            page.post_message(PageView.TableRowRequested(page, table, span.block))
        else:
            super().open()

    def copy(self) -> None:
        span = self.pane.cursor.current()
        if span is not None and (curl := _curl_command(self.pane.contents.deferred, span.block)):
            self.copy_as(curl, "command")
        else:
            super().copy()

    def text_of(self, span: BlockSpan) -> str:
        containers = reversed(blocks_around(self.pane.viewport, span))
        return copied_text(span.block, next((block for block in containers if block.kind in ("table", "record")), None))

    @property
    def why_no_comment(self) -> str | None:
        return self.pane.excerpt.why_no_comment if self.pane.excerpt is not None else super().why_no_comment


class PageView(Reader):
    """View of a page. Call `show_markdown`, or `show` for a page that is already parsed."""

    HELP_NAME: ClassVar[str] = "page"
    HELP: ClassVar[str] = (
        "This view shows the open page. Press j or k to scroll, ( or ) to select a block, f to open a link by typing the letters next to it, "
        "or / to find text. Press esc to go back."
    )
    FIRST_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = (
        "page.filter",
        "page.link_hints",
        "page.next_thread",
        "page.comment",
    )
    SEARCH_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = ("page.next_hit", "page.prev_hit")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        FIND_COMMANDS.only("filter").for_target(
            lambda page: page.find_bar if len(page.viewport.virtual_lines) or page.is_waiting_for_lines else None,
            no_target=_why_empty,
        ),
        _for_page(HINT_COMMANDS),
        _for_whole_page(PAGE_THREAD_COMMANDS),
        _for_page(
            BLOCK_COMMANDS.only("comment", "open").with_changed(
                "comment",
                applies=lambda _, block: block.pane.excerpt is None or block.pane.excerpt.why_no_comment is None,
            )
        ),
        _for_whole_page(READ_ON_COMMANDS),
        _for_whole_page(HEADING_COMMANDS),
        _for_page(FIND_COMMANDS.without("filter")),
        _for_whole_page(SOURCE_COMMANDS),
        WIDTH_COMMANDS,
        _for_page(BLOCK_COMMANDS.only("yank")),
        _for_page(LINK_URL_COMMANDS),
        _for_page(PAN_COMMANDS),
        _for_page(MOTION_COMMANDS.with_changed("bottom", run=lambda _, page: page.loader.go_to_end())),
    )
    DELAYED_COMMANDS: ClassVar[frozenset[str]] = Reader.DELAYED_COMMANDS | {"next_heading", "prev_heading"}
    contents: PageContents

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        first_commands = (
            self.with_thread_key(self.FIRST_KEY_BAR_COMMANDS) if self.excerpt is None else self.excerpt.first_commands
        )
        if self.contents.shows_source:
            first_commands = ("page.source", *first_commands)  # This command switches back to the rendered page.
        return (*self.SEARCH_KEY_BAR_COMMANDS, *first_commands) if self.find_bar.needle else first_commands

    @property
    def more_help(self) -> str:
        """Sentence about right-to-left text for the help. Empty if the page has no such text."""
        if self.document is None or not RIGHT_TO_LEFT_LETTER.search(self.document.source):
            return ""
        turns = "Octavo reorders" if self.app.settings.reorders_right_to_left else "The terminal reorders"  # type: ignore[attr-defined]  # Every app with a page view has settings.
        return f"{turns} right-to-left text. To change this, set right_to_left in the settings."

    @dataclass
    class TableRowRequested(Message):
        """Request to show a table row in a dialog."""

        view: PageView
        table: Block
        row: Block

    def __init__(self, *, ascii: bool = False, excerpt: ExcerptSettings | None = None, id: str | None = None) -> None:
        super().__init__(ascii=ascii, id=id)
        self.excerpt = excerpt
        self.block_commands = PageBlockCommands(self)
        self.threads = PageThreads(self.viewport, self.cursor)
        self.contents = self.viewport.contents = PageContents(self.viewport, self.threads)
        self.navigation = PageNavigation(self, self.contents, self.threads)
        self.links = PageLinks(self)
        self.loader = PageLoader(self, self.contents, self.navigation)

    @property
    def document(self) -> Document | None:
        return self.contents.document

    @property
    def key(self) -> str:
        return self.contents.key

    @property
    def status_text(self) -> str:
        """Text for the status line, such as `40% read · “key” 3 of 12`."""
        hidden_count = self.viewport.virtual_lines.total - self.viewport.row_count
        percentage = min(100, round(100 * self.viewport.lines_above / hidden_count)) if hidden_count > 0 else None
        parts = [f"{percentage}% read"] if percentage is not None else []
        if self.contents.shows_source:
            parts.insert(0, "source")
        if self.find_bar.needle:
            parts.append(f"“{self.find_bar.needle}” {self.find_bar.search_status}")
        return " · ".join(parts)

    def show(self, document: Document, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Show a parsed page. If `key` is the same as before, the position and the expanded blocks stay."""
        self.loader.show(document, (safe_line(title), safe_text(description or "")), key)

    def show_markdown(self, markdown: str, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Parse a page and show it like `show`, first the first screen. Posts `PageLoaded` after the last block."""
        self.loader.load(markdown, (safe_line(title), safe_text(description or "")), key)

    def set_threads(
        self,
        threads: Mapping[str, int | Sequence[Comment]],
        drafts: Mapping[str, int] = MappingProxyType({}),
        *,
        is_loaded: bool = True,
    ) -> None:
        """Show marks for the open threads and the drafts of each block. `threads` has the threads or the number of open
        threads by block key, `drafts` the number of drafts. `is_loaded` is False while threads are loading."""
        blocks = self.document.blocks if self.document is not None else ()
        self.threads.set(blocks, threads, drafts, is_loaded=is_loaded)

    def switch_line_width(self) -> None:
        self.contents.use_next_line_width()
        self.reset_lines()

    def clear(self) -> None:
        self.state.clear()
        self.waiting_commands = ()
        self.loader.cancel()
        self.selection.cancel_copy()
        self.navigation.forget_page()
        self.contents.document, self.contents.key, self.contents.page_chunks = None, "", ()
        self.contents.is_fully_parsed = True
        self.threads.clear()
        self.navigation.pending_jump = None
        self.find_bar.page_changed()
        self.reset_lines()
        self.find_bar.content_changed()

    def on_unmount(self) -> None:
        self.loader.cancel()

    @property
    def is_waiting_for_lines(self) -> bool:
        return super().is_waiting_for_lines or (self.loader.is_loading and not len(self.viewport.virtual_lines))

    def scroll_lines(self, lines: int) -> None:
        if self.navigation.defer_after_waiting_moves(lines, lambda: self.scroll_lines(lines)):
            return
        missing_line_count = self.viewport.scroll_by(lines)
        if missing_line_count and not self.contents.is_fully_parsed:
            self.navigation.repeat_when_parsed(lambda: self.scroll_lines(missing_line_count))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        if not (self.contents.is_fully_parsed or event.ctrl or event.shift):
            event.stop()
            event.prevent_default()
            self.scroll_lines(round(self.app.scroll_sensitivity_y))

    def select_block(self, step: int) -> None:
        if self.navigation.defer_after_waiting_moves(step, lambda: self.select_block(step)):
            return
        if not self.cursor.move(step) and step > 0 and not self.contents.is_fully_parsed:
            self.navigation.repeat_when_parsed(lambda: self.select_block(step))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self.viewport.first_width = width
        if self.viewport.is_outdated:
            self.reset_lines()
        self.viewport.virtual_lines.lay_out_some(2 * viewport.height)
        return self.viewport.virtual_lines.total

    def reset_lines(self, *, position: ReadingPosition | None = None) -> None:
        super().reset_lines(position=position)
        self.navigation.restore_if_parsed()

    def open_clickable(self, clickable: ClickableSpan, in_browser: bool) -> None:
        if self.excerpt is not None and self.excerpt.open_clickable is not None:
            self.excerpt.open_clickable(clickable, in_browser)
        else:
            self.links.open(clickable, in_browser=in_browser, text=self.clickables.link_text(clickable))


def comment_preview(text: str) -> PageView:
    """Return a page view that shows the Markdown of a comment."""
    view = PageView()

    async def show() -> None:
        # Run in a thread, because this is slow for a megabyte of quotes.
        markdown = await asyncio.to_thread(keep_quoted_lines, text)
        if not is_being_removed(view):
            view.show_markdown(markdown, key="preview")

    view.call_later(show)
    return view


def show_page(view: PageView, page: Page, key: str) -> None:
    """Show a loaded page in a view, from its JSON document if it has no Markdown. Another `key` resets the position."""
    title = f"{to_emoji(page.emoji)} {page.title}".strip()
    if page.markdown is None and page.document is not None:
        view.show(_read_document(page.document), title=title, description=page.description, key=key)
    else:
        view.show_markdown(page.markdown or "", title=title, description=page.description, key=key)
