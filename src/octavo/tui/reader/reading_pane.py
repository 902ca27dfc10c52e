"""`Reader`, the base of all page views: it scrolls lines that are laid out when they come into view, and has a block
cursor, link hints and a find bar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual.events import Blur, Click, Focus, Key, Paste, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.background_layout import BackgroundLayout
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.contents import Contents, LoadingState, is_at_end, no_lines
from octavo.tui.reader.find_bar import FindBar
from octavo.tui.reader.line_painter import LinePainter, TextSelection
from octavo.tui.reader.link_hints import Clickables
from octavo.tui.reader.reading_position import (
    START,
    LinePosition,
    limited_top,
    lines_between,
    position_after,
    reading_position_of,
    top_of_position,
    top_showing_at,
)
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.widgets.commands import Command, Commands, HasCommands, HostApp
from octavo.tui.widgets.scrolling import ScrollWidget, disable_caches

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.reader.reading_position import ReadingPosition
    from octavo.tui.render.virtual_lines import LaidUnits

WORK_SECONDS = 0.004
"""Seconds of a search or a copy at a time, between keys."""
WORK_SECONDS_SCROLLING = 0.0015
"""Seconds of a search or a copy at a time, within `SCROLLING` seconds after scrolling."""
WORK_INTERVAL = 0.01
"""Seconds until the search or the copy continues."""
SCROLLING = 0.15


class Reader(HasCommands, ScrollWidget, can_focus=True, inherit_bindings=False):
    """Scrollable pane of laid-out lines. Subclasses provide `contents` and open links in `open_clickable`."""

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
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ()
    HIT_KEYS: ClassVar[tuple[str, ...]] = ()

    class Moved(Message):
        """The pane scrolled, its length changed, or the cursor selected another block."""

        def __init__(self, view: Reader) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> Reader:
            return self.view

    class NextPageRequested(Message):
        """`space` was pressed at the end of the page: the user wants the next page."""

    class CommentRequested(Message):
        """The user wants to comment on a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class ThreadRequested(Message):
        """The user wants to see the thread on a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class Copied(Message):
        """Text was copied to the clipboard. `what` names it, for example “code” or “paragraph”."""

        def __init__(self, text: str, content_kind: str) -> None:
            super().__init__()
            self.text = text
            self.what = content_kind

    def __init__(self, *, ascii: bool = False, mono: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ascii, self._mono = ascii, mono
        self._text_styles: Styles | None = None
        self.contents = Contents(self)
        self.folds = Folds()
        self.virtual_lines: VirtualLines[Any] = no_lines()
        self.layout_width = 0
        self.paint_version = 0
        self.top = START
        self._is_setting_scroll_bar = False
        """True while `update_scroll_bar` moves the scroll bar."""
        self.moved_at = -1.0
        self.covered_rows = 0
        """Rows at the bottom that another widget covers."""
        self._resize_timer: Timer | None = None
        self._is_notifying = False
        self.painter = LinePainter(self)
        self.background = BackgroundLayout(self)
        self.is_outdated = False
        """True if the layout changed while the pane was hidden and had no width."""
        self._work_timer: Timer | None = None
        self.cursor: BlockCursor = BlockCursor(self)
        self.find_bar = FindBar(self)
        self.clickables = Clickables(self)
        self.selection = TextSelection(self)
        self.state = LoadingState(self)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """Ids of the first commands in the key bar. During a search, the commands for the next and previous match come
        first."""
        return (*self.HIT_KEYS, *self.FIRST_KEYS) if self.find_bar.needle else self.FIRST_KEYS

    # Styles

    @property
    def text_styles(self) -> Styles:
        """Text styles of the theme."""
        if self._text_styles is None:
            self._text_styles = Styles.from_theme(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        return self._text_styles

    @property
    def base_style(self) -> Style:
        """Style of text without a style of its own."""
        return self.visual_style.rich_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        text_styles = Styles.from_theme(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        if text_styles != self._text_styles:
            self._text_styles = text_styles
            self.lay_out_again()

    # Laying out

    @property
    def pane_width(self) -> int:
        """Width of a row in cells."""
        return self.scrollable_content_region.width

    @property
    def rows(self) -> int:
        """Visible rows, without those that are covered at the bottom."""
        return max(1, self.size.height - max(self.covered_rows, self.find_bar.bar_rows))

    def cover(self, rows: int) -> None:
        """Reserve rows at the bottom that another widget covers, so that the last lines can scroll above the widget."""
        if rows != self.covered_rows and self.is_running:
            self.covered_rows = rows
            self.update_scroll_bar()

    def on_resize(self, event: Resize) -> None:
        width = self.pane_width
        if self.is_outdated and width > 0:
            self.lay_out_again()
        if width <= 0 or width == self.layout_width:
            self.update_scroll_bar()
            self.cursor.keep_visible()
        elif not self.layout_width or not len(self.virtual_lines):
            self.lay_out_again()
        elif self._resize_timer is None:
            self._resize_timer = self.set_timer(0.04, self._finish_resize)

    def _finish_resize(self) -> None:
        self._resize_timer = None
        if self.pane_width != self.layout_width:
            self.lay_out_again()

    def lay_out_again(self, *, anchor: ReadingPosition | None = None, laid: LaidUnits | None = None) -> None:
        """Lay out all units again, and keep the scroll position: at the block of `anchor`, otherwise at the current
        top. `laid` has the units that a thread laid out."""
        self._text_styles = None
        self.is_outdated = self.pane_width <= 0
        if self.is_outdated:
            return
        position = anchor or reading_position_of(self.virtual_lines, self.top, self.layout_width)
        self.layout_width = self.pane_width
        self.virtual_lines = self.background.lines(laid)
        self.lines_changed()
        self.paint_version += 1
        if self.painter.was_painted:
            self.background.lay_out_short()
        if position is not None and len(self.virtual_lines):
            unit = self.contents.find_unit(min(position.unit, len(self.virtual_lines) - 1), position.top)
            self.top = top_of_position(self.virtual_lines, position, unit, self.layout_width)
        self.update_scroll_bar()
        self.cursor.keep_visible()
        self.continue_work()
        self.refresh()

    def lines_changed(self) -> None:
        """Clear caches that depend on the lines."""
        self.cursor.lines_changed()
        self.find_bar.lines_changed()
        self.clickables.hints = None
        self.contents.lines_changed()

    def lay_out_unit(self, unit_index: int) -> None:
        """Lay out a unit and the other slices of its block again."""
        for each in self.contents.slices_of_block(unit_index):
            self.virtual_lines.forget(each)
        self.virtual_lines.lines(unit_index)
        self.lines_changed()
        self.paint_version += 1
        self.update_scroll_bar()
        self.cursor.keep_visible()
        self.refresh()
        self.continue_work()

    def repaint(self) -> None:
        """Paint the visible rows again, for example after another block was selected."""
        self.paint_version += 1
        self.refresh()

    # Background work

    def continue_work(self) -> None:
        """Lay out units in the background, and continue a search or a copy between keys."""
        if self.painter.was_painted and self.is_running:
            self.background.begin()
        collects = self.selection.is_collecting and self.contents.is_whole
        if self._work_timer is None and self.is_running and (self.find_bar.is_searching or collects):
            self._work_timer = self.set_timer(WORK_INTERVAL, self._do_work)

    def _do_work(self) -> None:
        self._work_timer = None
        seconds = WORK_SECONDS_SCROLLING if time.perf_counter() - self.moved_at < SCROLLING else WORK_SECONDS
        if self.find_bar.is_searching:
            self.find_bar.search_on(seconds)
        elif self.selection.is_collecting and self.contents.is_whole:
            self.selection.collect_more(seconds)
        self.update_scroll_bar()
        self.continue_work()

    def on_unmount(self) -> None:
        self.background.stop()

    # Scrolling

    @property
    def lines_above(self) -> int:
        """Number of lines above the first row. Estimated if lines above are not laid out."""
        return self.virtual_lines.top(self.top.unit_index) + self.top.line

    def go_to(self, top: LinePosition) -> None:
        """Scroll to a position, or as far as there are lines below it."""
        before, self.top = self.top, limited_top(self.virtual_lines, top, self.rows)
        if self.top != before:
            self.moved_at = time.perf_counter()
            self.clickables.hints = None
            self.cursor.follow_scrolling(down=self.top > before)
            self.refresh()
            self.notify_moved()
        self.update_scroll_bar()
        self.continue_work()

    def go_by(self, lines: int) -> None:
        """Scroll down by a number of lines, or up if negative."""
        self.go_to(position_after(self.virtual_lines, self.top, lines))

    def row_of(self, position: LinePosition, max_rows: int | None = None) -> int:
        """Return the row of a position, negative above the first row. Counting stops beyond `max_rows`, by default the
        rows."""
        return lines_between(self.virtual_lines, self.top, position, self.rows if max_rows is None else max_rows)

    def show_in_row(self, position: LinePosition, row: int) -> None:
        """Scroll until a position is in a row, limited by the first and last line."""
        self.go_to(top_showing_at(self.virtual_lines, position, row, self.rows))

    def update_scroll_bar(self) -> None:
        """Update the length and the position of the scroll bar."""
        self.top = limited_top(self.virtual_lines, self.top, self.rows)
        size = Size(max(self.layout_width, 1), self.virtual_lines.total + max(0, self.size.height - self.rows))
        self._is_setting_scroll_bar = True
        if size != self.virtual_size:
            self.virtual_size = size
            self.notify_moved()  # The status line shows the share above the last row.
        if round(self.scroll_y) != self.lines_above:
            self.scroll_to(y=self.lines_above, animate=False, immediate=True, force=True)
        self._is_setting_scroll_bar = False

    # Messages

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_setting_scroll_bar and round(new_value) != self.lines_above:
            self.go_to(LinePosition(*self.virtual_lines.at(round(new_value))))

    def notify_moved(self) -> None:
        """Post `Moved` after the next refresh."""
        if not self._is_notifying and self.is_running:
            self._is_notifying = True
            self.call_after_refresh(self._post_moved)

    def _post_moved(self) -> None:
        self._is_notifying = False
        self.post_message(self.Moved(self))

    def explain(self, sentence: str) -> None:
        """Show why an action is not possible."""
        if isinstance(self.app, HostApp):
            self.app.explain(sentence)

    # Painting

    def before_painting(self) -> None:
        """Prepare for the next frame."""
        self.cursor.before_painting(is_shown=self.clickables.hints is None)
        self.background.request_deferred()
        self.contents.before_painting()

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.selection.with_selection(self.painter.paint()[crop.y : crop.bottom], self.lines_above + crop.y)
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self.background_colors[1]) for strip in strips]
        strips = disable_caches(strips)
        if crop.column_span != (0, self.pane_width):
            strips = [strip.crop_extend(*crop.column_span, self.base_style) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        # Textual asks for offsets of one row only, under the mouse. Offsets for all rows take as long as painting.
        return self.painter.paint()[y].apply_offsets(0, self.lines_above + y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self.selection.selected_text(selection)

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    @property
    def cursor_region(self) -> Region:
        """Screen region of the selected block: dialogs must not cover it."""
        return self.cursor.region

    # Keyboard and mouse

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys for the key bar while text is typed here. Empty otherwise."""
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
        self.repaint()

    def on_blur(self, event: Blur) -> None:
        self.clickables.hints = None
        self.find_bar.close()

    def open_clickable(self, clickable: ClickableSpan, *, outside: bool) -> None:
        """Open a link, a tab, or another clickable span. `outside`: in the browser."""


def _page(pane: Reader) -> int:
    """Return the lines of a page scroll: two rows remain visible."""
    return max(1, pane.rows - 2)


def _read_on(_: object, pane: Reader) -> None:
    if is_at_end(pane):
        pane.post_message(pane.NextPageRequested())
    else:
        pane.go_by(_page(pane))


READ_ON: Commands[Reader] = Commands(
    "page",
    (
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next page", run=_read_on, shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
MOTIONS: Commands[Reader] = Commands(
    "page",
    (
        Command("down", "j,down", "Down", "Scroll down one line", run=lambda _, pane: pane.go_by(1), shown=False),
        Command("up", "k,up", "Up", "Scroll up one line", run=lambda _, pane: pane.go_by(-1), shown=False),
        Command("top", "g,home", "Top", "Go to the top", run=lambda _, pane: pane.cursor.go_to_edge(0), shown=False),
        Command("bottom", "G,end", "Bottom", "Go to the bottom", run=lambda _, pane: pane.cursor.go_to_edge(1), shown=False),
        Command("page_down", "ctrl+d,pagedown", "Half page down", "Scroll down half a page", run=lambda _, pane: pane.go_by(max(1, pane.rows // 2)), shown=False),
        Command("page_up", "ctrl+u,pageup", "Half page up", "Scroll up half a page", run=lambda _, pane: pane.go_by(-max(1, pane.rows // 2)), shown=False),
        Command("read_back", "b", "Scroll back", "Scroll up one page", run=lambda _, pane: pane.go_by(-_page(pane)), shown=False),
        Command("prev_block", "left_parenthesis", "Previous block", "Select the previous block", run=lambda _, pane: pane.cursor.move(-1), shown=False),
        Command("next_block", "right_parenthesis", "Next block", "Select the next block", run=lambda _, pane: pane.cursor.move(1), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
