"""The base class of all views of pages (`Reader`), and commands for the selected block (`BlockCommands`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual.content import Content
from textual.events import Blur, Click, Focus, Key, Paste
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from octavo.documents.blocks import Block, Document
from octavo.tui.core.external_links import copy_text
from octavo.tui.reader.block_cursor import BlockCursor, Clickables
from octavo.tui.reader.find_bar import FindBar, TextSelection
from octavo.tui.reader.reading_position import START, BlockSpan, LinePosition, PaneRow, rows_from
from octavo.tui.reader.viewport import MARK_WIDTH, Viewport, app_of
from octavo.tui.render.block_slices import render_failed_block, run_guarded
from octavo.tui.render.layout_context import MIN_BLOCK_WIDTH
from octavo.tui.render.painting import paint_line
from octavo.tui.render.styled_lines import ClickableSpan, Line
from octavo.tui.render.tables import copied_text
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.text_widgets import LoadingMessage, ScrollWidget, empty_lines, failure_lines

if TYPE_CHECKING:
    from octavo.tui.reader.reading_position import ReadingPosition


class LoadingState:
    """Message while a pane has no content: the page is loading, loading failed, or the page is not available."""

    def __init__(self, pane: Reader) -> None:
        self._pane, self.viewport = pane, pane.viewport
        self._loading_message: LoadingMessage | None = None
        self._failure: tuple[str, str] | None = None
        self._reason: tuple[str, str] | None = None

    def show_loading(self, subject: str) -> None:
        """Forget an earlier failure or reason. Unless a page is visible, show that the page `subject` is loading."""
        self._failure = self._reason = None
        if not self.viewport.contents.has_content and self.loading_name != subject:
            if self._loading_message is not None:
                self._loading_message.stop()
                self._pane.waiting_commands = ()  # The waiting commands are for another page.
                self._pane.find_bar.page_changed()
            self._loading_message = LoadingMessage(self._pane, subject)
            self.viewport.repaint()

    def fail(self, subject: str, cause: str) -> None:
        """Show that the page `subject` could not be loaded, and why. If a page is visible, show nothing."""
        self.clear()
        if not self.viewport.contents.has_content:
            self._failure = (subject, cause)
        self.viewport.repaint()

    def show_reason(self, reason: str, hint: str) -> None:
        """Show why the page is not available. `hint`, such as which key to press, is shown below the reason."""
        self.clear()
        self._reason = (reason, hint)
        self.viewport.repaint()

    def clear(self) -> None:
        self._failure = self._reason = None
        if self._loading_message is not None:
            self._loading_message.stop()
            self._loading_message = None

    @property
    def has_failed(self) -> bool:
        """True if the pane shows that loading failed."""
        return self._failure is not None

    @property
    def shows_loading(self) -> bool:
        return self._loading_message is not None

    @property
    def loading_name(self) -> str:
        """Title of the page that is loading. Empty if none is loading."""
        return self._loading_message.subject if self._loading_message is not None else ""

    def why_empty(self, default: str) -> str:
        """Return why there is nothing to act on: the page is still loading, or else `default`."""
        if self._loading_message is not None:
            return StillLoading(f"Still loading {self.loading_name}.")
        return StillLoading("This page is still loading.") if self._pane.is_waiting_for_lines else default

    def lines(self) -> list[Content]:
        if self._failure is not None:
            return failure_lines(*self._failure, self.viewport.widget.screen)
        if self._loading_message is not None:
            return self._loading_message.lines()
        if self._reason is not None and not self.viewport.contents.has_content:
            return [Content(""), *empty_lines(*self._reason)]
        return self.viewport.contents.empty_page_lines() if self.viewport.contents.has_content else []


class Reader(ScrollWidget, can_focus=True, inherit_bindings=False):
    """Scrollable pane with the lines of a document. Subclasses set `contents` and define `open_clickable`."""

    block_commands: BlockCommands
    DEFAULT_CSS = """
    Reader {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
    FIRST_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = ()
    SEARCH_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = ()
    DELAYED_COMMANDS: ClassVar[frozenset[str]] = frozenset(
        ("down", "up", "top", "bottom", "page_down", "page_up", "read_on", "read_back", "prev_block", "next_block")
    )

    class NextPageRequested(Message):
        """Request to go to the next page, for example after `space` at the end of this one."""

    @dataclass
    class CommentRequested(Message):
        """Request to write a comment on a block."""

        block: Block

    @dataclass
    class ThreadRequested(Message):
        """Request to show the threads on a block."""

        block: Block

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.viewport = Viewport(self, ascii=ascii)
        self.contents = self.viewport.contents
        self.cursor = BlockCursor(self.viewport)
        self.find_bar = FindBar(self.viewport, self.cursor)
        self.clickables = Clickables(self.viewport, self.cursor, self.open_clickable)
        self.selection = TextSelection(self.viewport)
        self.state = LoadingState(self)
        self.painter = LinePainter(self)
        self._resize_delay = Delay(self)
        self._terminal_size = Size()
        """Size of the terminal at the last call of `fit_to_size`."""
        self._was_at_thread = False

    @property
    def document(self) -> Document | None:
        """The parsed part of the page. In a diff, the new version of the page. None if no page is shown."""
        return None

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """IDs of the first commands in the key bar. During a search, commands that go to matches come first."""
        first_commands = self.with_thread_key(self.FIRST_KEY_BAR_COMMANDS)
        return (*self.SEARCH_KEY_BAR_COMMANDS, *first_commands) if self.find_bar.needle else first_commands

    @property
    def _is_at_thread(self) -> bool:
        span = self.cursor.selected_span()
        return span is not None and self.contents.block_with_thread(span) is not None

    def with_thread_key(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command IDs `ids`. At a thread, add the command that resolves it after the comment command."""
        if not self._is_at_thread:
            return ids
        return tuple(each for id in ids for each in ((id, _RESOLVE) if id in _COMMENT else (id,)))

    def on_pane_moved(self) -> None:
        if self._is_at_thread != self._was_at_thread:
            self._was_at_thread = not self._was_at_thread
            self.refresh_bindings()

    @property
    def is_waiting_for_lines(self) -> bool:
        return self.state.shows_loading and not len(self.viewport.virtual_lines)

    def scroll_lines(self, lines: int) -> None:
        """Scroll `lines` lines down, or up if negative."""
        self.viewport.scroll_by(lines)

    def select_block(self, step: int) -> None:
        """Select the next block, or the previous block if `step` is -1."""
        self.cursor.move(step)

    def reset_lines(self, *, position: ReadingPosition | None = None) -> None:
        """Replace all lines. See `Viewport.reset_lines`."""
        self.viewport.reset_lines(position=position)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.viewport.update_styles():
            self.reset_lines()

    def fit_to_size(self) -> None:
        """Wrap the lines for the new width before the next frame, or 0.04 seconds after a resize of the terminal."""
        viewport, width = self.viewport, self.viewport.pane_width
        is_same_terminal, self._terminal_size = self.app.size == self._terminal_size, self.app.size
        if viewport.is_outdated and width > 0:
            self.reset_lines()
        if width <= 0 or width == viewport.layout_width:
            viewport.layout_changed()
        elif is_same_terminal or not viewport.layout_width or not len(viewport.virtual_lines):
            self.reset_lines()
        else:
            self._resize_delay.start_once(0.04, self._finish_resize)

    def on_resize(self) -> None:
        # A pane that was hidden has the size that it had before, but its lines may be outdated.
        if not self._resize_delay.is_waiting:
            self.fit_to_size()

    def _finish_resize(self) -> None:
        if self.viewport.pane_width != self.viewport.layout_width:
            self.reset_lines()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        viewport = self.viewport
        if not viewport.is_setting_scroll_bar and round(new_value) != viewport.lines_above:
            viewport.go_to(LinePosition(*viewport.virtual_lines.chunk_at(round(new_value))))

    def on_unmount(self) -> None:
        self.viewport.background.stop()

    def before_painting(self) -> None:
        """Prepare the next frame: find the selected block, and start loading content that visible blocks lack."""
        self.cursor.before_painting(shows_bar=self.clickables.hints is None)
        self.viewport.background.request_deferred()
        self.viewport.contents.before_painting()

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.selection.with_selection(
            self.painter.paint()[crop.y : crop.bottom], self.viewport.lines_above + crop.y
        )
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        width = self.viewport.pane_width
        # The scroll bar paints the cells right of the text, so leave them out.
        right = min(crop.right, width) if self.show_vertical_scrollbar else crop.right
        if (crop.x, right) != (0, width):
            base_style = self.viewport.base_style
            strips = [strip.crop_extend(crop.x, right, base_style) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        # Only the row under the mouse needs selection offsets. Adding them is slow.
        return self.painter.paint()[y].apply_offsets(0, self.viewport.lines_above + y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self.selection.selected_text(selection)

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    @property
    def cursor_region(self) -> Region:
        """Area of the screen that shows the selected block. Dialogs avoid it."""
        return self.cursor.region

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys and labels for the key bar while the user types a link hint or a text to find. Empty otherwise."""
        return self.find_bar.typing_keys if self.clickables.hints is None else self.clickables.hints.keys

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return bool(self.typing_keys) and character is not None and character.isprintable()

    def on_key(self, event: Key) -> None:
        if self.clickables.press(event) or self.find_bar.press(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        if self.find_bar.paste(event.text):
            event.stop()

    def on_click(self, event: Click) -> None:
        self.clickables.click(event)

    def on_focus(self, event: Focus) -> None:
        self.viewport.repaint()

    def on_blur(self, event: Blur) -> None:
        self.clickables.hints = None
        self.find_bar.close()

    def open_clickable(self, clickable: ClickableSpan, in_browser: bool) -> None:
        """Open a link or tab, or expand a block. If `in_browser`, open the link in the browser."""


class LinePainter:
    """Paints the visible rows of a pane, and keeps the painted frame until something changes."""

    def __init__(self, pane: Reader) -> None:
        self.pane, self.viewport = pane, pane.viewport
        self._frame_key: tuple[object, ...] = ()
        self._frame: list[Strip] = []
        self._keep_until = 0.0

    @property
    def text_width(self) -> int:
        """Width in cells from the left edge of the pane to the right edge of the visible text and its thread marks."""
        self.paint()
        contents, width = self.viewport.contents, self.pane.size.width
        ends = [
            contents.margin_of(chunk_index) + max(contents.line_width, line.width) + MARK_WIDTH
            for chunk_index, _, line in self.viewport.visible_rows
        ]
        return min(width, max(ends, default=width))

    def keep_frame(self, seconds: float) -> None:
        """Keep showing the current frame for up to `seconds` while the pane has no lines."""
        if self.viewport.was_painted:
            self._keep_until = time.perf_counter() + seconds
            self.pane.set_timer(seconds, self.viewport.repaint)

    def paint(self) -> list[Strip]:
        """Return the strips of all rows of the pane. They are only painted again if something has changed."""
        pane, viewport = self.pane, self.viewport
        top, width, height = viewport.top, viewport.pane_width, pane.size.height
        key = (width, height, top, viewport.paint_version, viewport.virtual_lines.total, pane.has_focus)
        if key == self._frame_key:
            return self._frame
        if (
            not len(viewport.virtual_lines)
            and key[:2] == self._frame_key[:2]
            and time.perf_counter() < self._keep_until
        ):
            return self._frame
        base_style = viewport.base_style
        total = viewport.virtual_lines.total
        rows = self._paintable_rows(top, width, base_style)
        pane.before_painting()
        frame = [self._row(row, y, width, base_style) for y, row in enumerate(rows)]
        if not rows and not len(viewport.virtual_lines):
            texts = (text.truncate(width) for text in self.pane.state.lines()[:height])
            strips = (Strip(text.render_segments(self.pane.visual_style)) for text in texts)
            frame = [strip.extend_cell_length(width, base_style) for strip in strips]
        frame += [Strip.blank(width, base_style)] * (height - len(frame))
        bar = self.pane.find_bar.bar_row() if self.pane.clickables.hints is None else self.pane.clickables.help_row()
        if bar is not None and frame:
            frame[bar[0]] = bar[1].crop_extend(0, width, base_style)
        if not viewport.was_painted:
            viewport.was_painted = bool(frame)
            pane.call_later(viewport.continue_work)
        self._frame, self._frame_key = frame, (*key[:4], viewport.virtual_lines.total, key[5])
        if viewport.virtual_lines.total != total:
            pane.call_later(viewport.update_scroll_bar)
        return frame

    def _paintable_rows(self, top: LinePosition, width: int, base_style: Style) -> list[PaneRow]:
        """Return the visible rows. If the lines of a chunk cannot be painted, first replace them by its Markdown."""
        pane, viewport = self.pane, self.viewport
        replaced_indexes: set[int] = set()
        while True:
            rows = rows_from(viewport.virtual_lines, top, pane.size.height)
            painted = [
                run_guarded(partial(self.strip_of, chunk_index, line, width, base_style), lambda: None)
                for chunk_index, _, line in rows
            ]
            failed_indexes = {
                row.chunk_index for row, strip in zip(rows, painted, strict=True) if strip is None
            } - replaced_indexes
            if not failed_indexes:
                return rows
            for chunk_index in failed_indexes:
                block = viewport.virtual_lines.chunks[chunk_index].block or Block("change")
                text_width = max(MIN_BLOCK_WIDTH, width - 2 * viewport.contents.margin)
                viewport.virtual_lines.put(
                    chunk_index,
                    render_failed_block(block, viewport.contents.block_markdown, viewport.text_styles, text_width),
                )
            replaced_indexes |= failed_indexes

    def _row(self, row: PaneRow, y: int, width: int, base_style: Style) -> Strip:
        (chunk_index, number, line), contents = row, self.viewport.contents
        strip = self.strip_of(chunk_index, line, width, base_style)
        if self.pane.find_bar.needle and self.pane.find_bar.matches:
            strip = self.pane.find_bar.with_matches(strip, chunk_index, number)
        strip = contents.with_marks(self.pane.cursor.with_bar(strip, chunk_index, line), chunk_index, number, line)
        return self.pane.clickables.with_hints(contents.with_sticky_header(strip, y), y)

    def strip_of(self, chunk_index: int, line: Line, width: int, base_style: Style) -> Strip:
        """Return the strip of a line, without highlights, thread marks and cursor bar."""
        strip = line.strip
        if strip is None or strip.cell_length != width:
            strip = line.strip = paint_line(line, self.viewport.contents.margin_of(chunk_index), width, base_style)
        return strip


def disabled_while_empty(group: Commands[Any], **changes: Any) -> Commands[Any]:
    """Return a copy of `group` that is disabled while the pane has no lines. `changes` set other attributes."""
    find_target: Callable[[Any], Any] = group.find_target
    return group.for_target(lambda pane: find_target(pane) if len(pane.viewport.virtual_lines) else None, **changes)


def _lines_per_screen(pane: Reader) -> int:
    return max(1, pane.viewport.row_count - 2)


def _line_scroller(direction: int) -> Callable[[object, Reader], None]:
    """Return a function that scrolls a line down (1) or up (-1). At the edge, it selects the next or previous block."""

    def run(_: object, pane: Reader) -> None:
        is_at_edge = pane.viewport.is_at_end if direction > 0 else pane.viewport.top == START
        if is_at_edge and pane.contents.is_fully_parsed:
            pane.cursor.move_in_view(direction)
        else:
            pane.scroll_lines(direction)

    return run


def _half_page_scroller(direction: int) -> Callable[[object, Reader], None]:
    return lambda _, pane: pane.scroll_lines(direction * max(1, pane.viewport.row_count // 2))


def _read_on(_: object, pane: Reader) -> None:
    if pane.viewport.is_at_end and pane.contents.is_fully_parsed:
        pane.post_message(pane.NextPageRequested())
    else:
        pane.scroll_lines(_lines_per_screen(pane))


READ_ON_COMMANDS: Commands[Reader] = Commands(
    "page",
    (
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next page", run=_read_on, shown=False),
    ),
)  # fmt: skip
MOTION_COMMANDS: Commands[Reader] = Commands(
    "page",
    (
        Command("down", "j,down", "Down", "Scroll down a line; at the end, select the next block", run=_line_scroller(1), shown=False),
        Command("up", "k,up", "Up", "Scroll up a line; at the top, select the previous block", run=_line_scroller(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the top", run=lambda _, pane: pane.cursor.go_to_edge(at_end=False), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the bottom", run=lambda _, pane: pane.cursor.go_to_edge(at_end=True), shown=False),
        Command("page_down", "ctrl+d,pagedown", "Half page down", "Scroll down half a page", run=_half_page_scroller(1), shown=False),
        Command("page_up", "ctrl+u,pageup", "Half page up", "Scroll up half a page", run=_half_page_scroller(-1), shown=False),
        Command("read_back", "b", "Scroll back", "Scroll up one page",
         run=lambda _, pane: pane.scroll_lines(-_lines_per_screen(pane)), shown=False),
        Command("prev_block", "left_parenthesis", "Previous block", "Select the previous block", run=lambda _, pane: pane.select_block(-1), shown=False),
        Command("next_block", "right_parenthesis", "Next block", "Select the next block", run=lambda _, pane: pane.select_block(1), shown=False),
    ),
)  # fmt: skip


_COMMENT, _RESOLVE = ("page.comment", "diff.comment"), "comment.resolve_here"
_KIND_NAMES = {
    "row": "table row",
    "item": "list item",
    "content-ref": "page link",
    "include": "reusable content",
    "openapi": "OpenAPI block",
    "api-method": "API operation",
    "api-section": "API section",
    "api-parameter": "API parameter",
    "api-response": "API response",
    "if": "conditional content",
    "else": "conditional content",
}
"""Names of block kinds in messages. All other kinds have the same name as in the code."""


class BlockCommands:
    """Commands for the selected block of a pane."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self.why_no_comment_here: Callable[[], str | None] = lambda: None
        """Returns why the user cannot comment, such as a missing role. Returns None if the user can."""
        self.kind_name = ""
        """Name of blocks in messages, such as `field` in a table row dialog. If empty, each block's kind is used."""

    def open(self) -> None:
        """If the selected block has a thread or no links, post `ThreadRequested`. Otherwise, open its link, or show
        hints at its links if there are several."""
        span = self.pane.cursor.current()
        if span is None:
            return
        if (thread_block := self.pane.contents.block_with_thread(span)) is not None:
            self.pane.post_message(self.pane.ThreadRequested(thread_block))
        elif clickables := self.pane.clickables.spans_in_selected_block():
            self.pane.clickables.open_or_show_hints(clickables)
        else:
            self.pane.post_message(self.pane.ThreadRequested(span.block))

    def copy(self) -> None:
        """Copy the text of the selected block to the clipboard."""
        if (span := self.pane.cursor.current()) is not None:
            kind = self.kind_name or _KIND_NAMES.get(span.block.kind, span.block.kind)
            self.copy_as(self.text_of(span), kind)

    def text_of(self, span: BlockSpan) -> str:
        """Return the text of a block as it is copied."""
        return copied_text(span.block)

    def copy_as(self, text: str, content_kind: str) -> None:
        """Copy `text` to the clipboard. `content_kind`, such as `command`, ends the message “Copied the …”."""
        copy_text(app_of(self.pane), text, f"Copied the {content_kind}.")

    def comment(self) -> None:
        """Post `CommentRequested` for the selected block."""
        if (span := self.pane.cursor.current()) is not None:
            self.pane.post_message(self.pane.CommentRequested(span.block))

    @property
    def why_no_comment(self) -> str | None:
        return self.why_no_comment_here()


BLOCK_COMMANDS: Commands[BlockCommands] = Commands(
    "page",
    (
        Command("comment", "c", "Comment", "Comment on the block",
                writes=True, run=lambda _, block: block.comment(), why_not=lambda _, block: block.why_no_comment),
        Command("open", "enter", "Open", "Open the link, image, file, or thread in the block", run=lambda _, block: block.open(), shown=False),
        Command("yank", "y", "Copy", "Copy the block", run=lambda _, block: block.copy(), shown=False),
    ),
    find_target=lambda view: view.block_commands,
)  # fmt: skip
