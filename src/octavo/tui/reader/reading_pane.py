"""A pane of lines one reads in: they are set only where one looks, and it has a cursor, letters at links and words to find."""

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
from octavo.tui.reader.find_line import FindLine
from octavo.tui.reader.hot_spots import HotSpots
from octavo.tui.reader.line_painter import LinePainter
from octavo.tui.reader.moves import START, Top, line_number, moved, position_of, top_of, within
from octavo.tui.reader.pane import Contents, PaneState, is_at_end, no_lines
from octavo.tui.reader.text_selection import TextSelection
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import ClickableSpan, Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.widgets.commands import Command, Commands, HasCommands, HostApp
from octavo.tui.widgets.scrolling import ScrollWidget, disable_caches

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits

BRIEF, SLICE, EVERY, LATELY = 0.0015, 0.004, 0.01, 0.15
"""Seconds of work between keys: at a time for `LATELY` after the reader moved, at a time else, and between two times."""


class Reader(HasCommands, ScrollWidget, can_focus=True, inherit_bindings=False):
    """A pane of lines one reads. A view says what is in them (`contents`) and opens what is opened (`open_spot`)."""

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
        """Another part is on show, there is more or less of it all, or the cursor is on another block."""

        def __init__(self, view: Reader) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> Reader:
            return self.view

    class ReadOn(Message):
        """`space` was pressed at the end: the reader wants what comes next."""

    class BlockChosen(Message):
        """The reader wants to say something about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class ThreadWanted(Message):
        """The reader wants to see what is said about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class Copied(Message):
        """Something was copied to the clipboard. `what` names it: code, paragraph."""

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
        """Whether the scroll bar is being told which line is in the first row."""
        self.moved_at = -1.0
        self.covered_rows = 0
        """How many rows at the bottom something else stands before."""
        self._resizing: Timer | None = None
        self._telling = False
        self.painter = LinePainter(self)
        self.background = BackgroundLayout(self)
        self.is_outdated = False
        """Whether all was to be laid out while the pane was hidden, and had no width."""
        self._working: Timer | None = None
        self.cursor: BlockCursor = BlockCursor(self)
        self.finder = FindLine(self, self.painter, self.cursor)
        self.spots = HotSpots(self, self.painter, self.cursor)
        self.selection = TextSelection(self, lambda text: self.post_message(self.Copied(text, "selection")))
        self.state = PaneState(self, self)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """The ids the key bar begins with: while something is searched, those that go from one place to the next."""
        return (*self.HIT_KEYS, *self.FIRST_KEYS) if self.finder.needle else self.FIRST_KEYS

    # The look

    @property
    def look(self) -> Styles:
        """The look that the theme gives."""
        if self._look is None:
            self._look = Styles.from_theme(self.app.theme_variables, ascii=self._ascii, mono=self._mono)
        return self._look

    @property
    def ground(self) -> Style:
        """The style of what has no style of its own."""
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
        """The cells of a row."""
        return self.scrollable_content_region.width

    @property
    def rows(self) -> int:
        """The number of rows in view, without those that something else covers at the bottom."""
        return max(1, self.size.height - max(self.covered_rows, self.finder.foot_rows))

    def cover(self, rows: int) -> None:
        """Something else stands before so many rows at the bottom: what is on show is above it, also at the end."""
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
        """Set everything anew. What stands at the top stays there: the block `anchor` names, else the one on show. `laid`:
        units that a thread laid out."""
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
        """Lines are others than before."""
        self.cursor.relaid()
        self.finder.relaid()
        self.spots.hints = None
        self.contents.relaid()

    def change(self, unit: int) -> None:
        """One unit looks different now, with the other slices of its block."""
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
        """What lies over the lines is different now."""
        self.changes += 1
        self.refresh()

    # What is done while nothing else happens

    def work_soon(self) -> None:
        """Lay out what nobody has looked at, and go on with what is done between keys."""
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

    # Which lines are in view

    @property
    def first_line(self) -> int:
        """The number of lines above the first row, as far as it is known."""
        return line_number(self.galley, self.top)

    def go(self, top: Top) -> None:
        """Bring a place into the first row, as far as there are lines below."""
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
        """Move down by so many lines, or up if negative."""
        self.go(moved(self.galley, self.top, lines))

    def tell_length(self) -> None:
        """Tell the scroll bar how many lines there are, and which is in the first row."""
        self.top = within(self.galley, self.top, self.rows)
        size = Size(max(self.set_width, 1), self.galley.total + max(0, self.size.height - self.rows))
        self._is_told = True
        if size != self.virtual_size:
            self.virtual_size = size
            self.tell()  # the share that is read has changed
        if round(self.scroll_y) != self.first_line:
            self.scroll_to(y=self.first_line, animate=False, immediate=True, force=True)
        self._is_told = False

    # Saying what happens

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._is_told and round(new_value) != self.first_line:
            self.go(Top(*self.galley.at(round(new_value))))

    def tell(self) -> None:
        """Say, once the frame is drawn, that something moved, or how much there is."""
        if not self._telling and self.is_running:
            self._telling = True
            self.call_after_refresh(self._tell)

    def _tell(self) -> None:
        self._telling = False
        self.post_message(self.Moved(self))

    def explain(self, sentence: str) -> None:
        """Say why something cannot be done."""
        if isinstance(self.app, HostApp):
            self.app.explain(sentence)

    # Painting

    def before_painting(self) -> None:
        """A frame is about to be painted."""
        self.cursor.before_painting(is_shown=self.spots.hints is None)
        self.contents.before_painting()

    def decorated(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        """The strip of a line with what was found on it, the bar of the cursor, and what its contents mark at it."""
        if self.finder.needle and self.finder.finds:
            strip = self.finder.marked(strip, unit, place)
        return self.contents.decorate(self.cursor.barred(strip, unit, line), unit, place, line)

    def veiled(self, strip: Strip, row: int) -> Strip:
        """The strip of a row with what lies over all else."""
        return self.spots.veiled(self.contents.veiled(strip, row), row)

    def foot(self) -> tuple[int, Strip] | None:
        """A row that is covered, and what covers it."""
        return self.finder.foot() if self.spots.hints is None else self.spots.foot()

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = self.selection.marked(self.painter.paint()[crop.y : crop.bottom], self.first_line + crop.y)
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, self.background_colors[1]) for strip in strips]
        strips = disable_caches(strips)
        if crop.column_span != (0, self.pane_width):
            strips = [strip.crop_extend(*crop.column_span, self.ground) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        # Where its characters stand is asked of one row, under the mouse: to say so for all takes as long as painting.
        return self.painter.paint()[y].apply_offsets(0, self.first_line + y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return self.selection.words_of(selection)

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    @property
    def cursor_region(self) -> Region:
        """Where the block under the cursor stands on the screen: what nothing may cover."""
        return self.cursor.region

    # What is typed and clicked

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """The keys that do something while letters are typed here, for the key bar. Empty while no letters are typed."""
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
        """Something on the page was opened; `outside`: in the browser."""


def _page(pane: Reader) -> int:
    """Return the lines of a page, of which two stay in view when it is turned."""
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
