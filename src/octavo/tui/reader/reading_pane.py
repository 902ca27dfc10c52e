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
from octavo.tui.reader.contents import Contents, PaneState, is_at_end, no_lines
from octavo.tui.reader.find_bar import FindLine
from octavo.tui.reader.line_painter import LinePainter
from octavo.tui.reader.link_hints import HotSpots
from octavo.tui.reader.moves import START, Top, line_number, moved, position_of, top_of, within
from octavo.tui.reader.text_selection import TextSelection
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import ClickableSpan, Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.widgets.commands import Command, Commands, Explains, HasCommands
from octavo.tui.widgets.scrolling import Scrolling, let_go

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits

BRIEF, SLICE, EVERY, LATELY = 0.0015, 0.004, 0.01, 0.15
"""Seconds per slice of background work within `LATELY` seconds after scrolling, per slice otherwise, and between two
slices."""


class Reader(HasCommands, Scrolling, can_focus=True, inherit_bindings=False):
    """Scrollable pane of laid-out lines. Subclasses provide `contents` and open links in `open_spot`."""

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
        """The reader scrolled, its length changed, or the cursor selected another block."""

        def __init__(self, view: Reader) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> Reader:
            return self.view

    class ReadOn(Message):
        """`space` was pressed at the end of the page: the user wants the next page."""

    class BlockChosen(Message):
        """The user wants to comment on a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class ThreadWanted(Message):
        """The user wants to see the thread on a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class Copied(Message):
        """Text was copied to the clipboard. `what` names it, for example “code” or “paragraph”."""

        def __init__(self, text: str, what: str) -> None:
            super().__init__()
            self.text = text
            self.what = what

    def __init__(self, *, ascii: bool = False, mono: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ascii, self._mono = ascii, mono
        self._look: Styles | None = None
        self.contents = Contents(self)
        self.folds = Folds()
        self.galley: VirtualLines[Any] = no_lines()
        self.set_width = 0
        self.changes = 0
        self.top = START
        self._is_told = False
        """True while `tell_length` moves the scroll bar."""
        self.moved_at = -1.0
        self.covered_rows = 0
        """Rows at the bottom that another widget covers."""
        self._resizing: Timer | None = None
        self._telling = False
        self.painter = LinePainter(self)
        self.background = BackgroundLayout(self)
        self.is_outdated = False
        """True if the layout changed while the reader was hidden and had no width."""
        self._working: Timer | None = None
        self.cursor: BlockCursor = BlockCursor(self)
        self.finder = FindLine(self)
        self.spots = HotSpots(self)
        self.selection = TextSelection(self)
        self.state = PaneState(self)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """Ids of the first commands in the key bar. During a search, the commands for the next and previous match come
        first."""
        return (*self.HIT_KEYS, *self.FIRST_KEYS) if self.finder.needle else self.FIRST_KEYS

    # Styles

    @property
    def look(self) -> Styles:
        """Text styles of the theme."""
        if self._look is None:
            self._look = Styles.from_theme(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        return self._look

    @property
    def ground(self) -> Style:
        """Style of text without a style of its own."""
        return self.visual_style.rich_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        fresh = Styles.from_theme(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        if fresh != self._look:
            self._look = fresh
            self.reset()

    # Laying out

    @property
    def pane_width(self) -> int:
        """Width of a row in cells."""
        return self.scrollable_content_region.width

    @property
    def rows(self) -> int:
        """Visible rows, without those that are covered at the bottom."""
        return max(1, self.size.height - max(self.covered_rows, self.finder.foot_rows))

    def cover(self, rows: int) -> None:
        """Reserve rows at the bottom that another widget covers, so that the last lines can scroll above the widget."""
        if rows != self.covered_rows and self.is_running:
            self.covered_rows = rows
            self.tell_length()

    def on_resize(self, event: Resize) -> None:
        width = self.pane_width
        if self.is_outdated and width > 0:
            self.reset()
        if width <= 0 or width == self.set_width:
            self.tell_length()
            self.cursor.keep_in_view()
        elif not self.set_width or not len(self.galley):
            self.reset()
        elif self._resizing is None:
            self._resizing = self.set_timer(0.04, self._resized)

    def _resized(self) -> None:
        self._resizing = None
        if self.pane_width != self.set_width:
            self.reset()

    def reset(self, *, anchor: ReadingPosition | None = None, laid: LaidUnits | None = None) -> None:
        """Lay out all units again, and keep the scroll position: at the block of `anchor`, otherwise at the current
        top. `laid` has the units that a thread laid out."""
        self._look = None
        self.is_outdated = self.pane_width <= 0
        if self.is_outdated:
            return
        position = anchor or position_of(self.galley, self.top, self.set_width)
        self.set_width = self.pane_width
        self.galley = self.background.lines(laid)
        self.relaid()
        self.changes += 1
        if self.painter.was_painted:
            self.background.lay_out_short()
        if position is not None and len(self.galley):
            unit = self.contents.unit_of(min(position.unit, len(self.galley) - 1), position.top)
            self.top = top_of(self.galley, position, unit, self.set_width)
        self.tell_length()
        self.cursor.keep_in_view()
        self.work_soon()
        self.refresh()

    def relaid(self) -> None:
        """Clear caches that depend on the lines."""
        self.cursor.relaid()
        self.finder.relaid()
        self.spots.hints = None
        self.contents.relaid()

    def change(self, unit: int) -> None:
        """Lay out a unit and the other slices of its block again."""
        for each in self.contents.together(unit):
            self.galley.forget(each)
        self.galley.lines(unit)
        self.relaid()
        self.changes += 1
        self.tell_length()
        self.cursor.keep_in_view()
        self.refresh()
        self.work_soon()

    def repaint(self) -> None:
        """Paint the visible rows again, for example after another block was selected."""
        self.changes += 1
        self.refresh()

    # Background work

    def work_soon(self) -> None:
        """Lay out units in the background, and continue a search or a copy between keys."""
        if self.painter.was_painted and self.is_running:
            self.background.begin()
        gathers = self.selection.is_gathering and self.contents.is_whole
        if self._working is None and self.is_running and (self.finder.is_searching or gathers):
            self._working = self.set_timer(EVERY, self._work)

    def _work(self) -> None:
        self._working = None
        seconds = BRIEF if time.perf_counter() - self.moved_at < LATELY else SLICE
        if self.finder.is_searching:
            self.finder.search_on(seconds)
        elif self.selection.is_gathering and self.contents.is_whole:
            self.selection.gather_on(seconds)
        self.tell_length()
        self.work_soon()

    def on_unmount(self) -> None:
        self.background.stop()

    # Scrolling

    @property
    def first_line(self) -> int:
        """Number of lines above the first row. Estimated if lines above are not laid out."""
        return line_number(self.galley, self.top)

    def go(self, top: Top) -> None:
        """Scroll to a position, or as far as there are lines below it."""
        before, self.top = self.top, within(self.galley, top, self.rows)
        if self.top != before:
            self.moved_at = time.perf_counter()
            self.spots.hints = None
            self.cursor.bring_along(down=self.top > before)
            self.refresh()
            self.tell()
        self.tell_length()
        self.work_soon()

    def go_by(self, lines: int) -> None:
        """Scroll down by a number of lines, or up if negative."""
        self.go(moved(self.galley, self.top, lines))

    def tell_length(self) -> None:
        """Update the length and the position of the scroll bar."""
        self.top = within(self.galley, self.top, self.rows)
        size = Size(max(self.set_width, 1), self.galley.total + max(0, self.size.height - self.rows))
        self._is_told = True
        if size != self.virtual_size:
            self.virtual_size = size
            self.tell()  # The status line shows the share above the last row.
        if round(self.scroll_y) != self.first_line:
            self.scroll_to(y=self.first_line, animate=False, immediate=True, force=True)
        self._is_told = False

    # Messages

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_told and round(new_value) != self.first_line:
            self.go(Top(*self.galley.at(round(new_value))))

    def tell(self) -> None:
        """Post `Moved` after the next refresh."""
        if not self._telling and self.is_running:
            self._telling = True
            self.call_after_refresh(self._tell)

    def _tell(self) -> None:
        self._telling = False
        self.post_message(self.Moved(self))

    def explain(self, sentence: str) -> None:
        """Show why an action is not possible."""
        if isinstance(self.app, Explains):
            self.app.explain(sentence)
        else:
            self.notify(sentence, severity="warning", markup=False)

    # Painting

    def before_painting(self) -> None:
        """Prepare for the next frame."""
        self.cursor.before_painting(is_shown=self.spots.hints is None)
        self.contents.before_painting()

    def decorated(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        """Return the strip of a line with search matches, the cursor bar, and the marks of its contents."""
        if self.finder.needle and self.finder.finds:
            strip = self.finder.marked(strip, unit, place)
        return self.contents.decorate(self.cursor.barred(strip, unit, line), unit, place, line)

    def veiled(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row with the sticky table head and link hints over it."""
        return self.spots.veiled(self.contents.veiled(strip, row), row)

    def foot(self) -> tuple[int, Strip] | None:
        """Return the number and strip of a row that the find bar or the help for link hints covers. None if neither is
        shown."""
        return self.finder.foot() if self.spots.hints is None else self.spots.foot()

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.selection.marked(self.painter.paint()[crop.y : crop.bottom], self.first_line + crop.y)
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self.background_colors[1]) for strip in strips]
        strips = let_go(strips)
        if crop.column_span != (0, self.pane_width):
            strips = [strip.crop_extend(*crop.column_span, self.ground) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        # Textual asks for offsets of one row only, under the mouse. Offsets for all rows take as long as painting.
        return self.painter.paint()[y].apply_offsets(0, self.first_line + y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self.selection.words_of(selection)

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
        return self.finder.typing_keys if self.spots.hints is None else self.spots.hints.keys

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return bool(self.typing_keys) and character is not None and character.isprintable()

    def on_key(self, event: Key) -> None:
        if self.spots.press(event) or self.finder.press(event):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        if self.finder.paste(event.text):
            event.stop()

    def on_click(self, event: Click) -> None:
        self.spots.click(event)

    def on_focus(self, event: Focus) -> None:
        self.repaint()

    def on_blur(self, event: Blur) -> None:
        self.spots.hints = None
        self.finder.left()

    def open_spot(self, hot: ClickableSpan, *, outside: bool) -> None:
        """Open a link, a tab, or another clickable span. `outside`: in the browser."""


def _page(pane: Reader) -> int:
    """Return the lines of a page scroll: two rows remain visible."""
    return max(1, pane.rows - 2)


def _read_on(_: object, pane: Reader) -> None:
    if is_at_end(pane):
        pane.post_message(pane.ReadOn())
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
