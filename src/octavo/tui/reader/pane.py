"""What the parts of a pane of lines know of it: the pane itself, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rich.style import Style
from textual.app import App
from textual.content import Content
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from octavo.documents.blocks import Block
from octavo.tui.reader.moves import START, Top, lines_from
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.styled_lines import ClickableSpan, Line
from octavo.tui.render.styles import Styles
from octavo.tui.render.text_search import Match, TextFinder
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.widgets.empty_states import LoadingMessage, empty_lines, failure_lines

if TYPE_CHECKING:
    from octavo.tui.render.unit_layout import LaidUnits, UnitLayout

Stop = tuple[int, int, int, Block]
"""Unit, first and last line in it, block."""
MARK = 4
"""Cells kept free at the right for the mark of a thread: a blank, the sign, a blank, a digit."""
STILL = "The rest of this page is still loading."


SHORT = 6_000
"""Characters of a page that is read and laid out at once, without the thread."""
WAIT = 0.02
"""Seconds for which the event loop waits for the thread, before the pane shows what it has."""


def fail(pane: Pane, error: Exception) -> None:
    """Raise an error of the thread where the pane handles messages."""

    def end() -> None:
        raise error

    pane.call_later(end)


def no_lines() -> VirtualLines[Any]:
    """Nothing, in no lines."""
    return VirtualLines((), lambda unit: 0, lambda unit: [])


class Contents:
    """What a pane shows: how it is set, and what stands where on its lines. These are the answers for lines of blocks
    one below the other."""

    margin = 2
    """The blank cells at the left."""
    measure = 0
    """The cells that lines of text were set in, where they are set in fewer than there are."""
    is_whole = True
    """Whether all of it is there."""

    def __init__(self, pane: Pane) -> None:
        self.pane = pane

    @property
    def has_any(self) -> bool:
        """Whether something is on show, even if it is empty."""
        return True

    def units(self) -> Sequence[Any]:
        """Return the units on show, from the top down."""
        return ()

    def layout_for(self, width: int, folds: Folds) -> UnitLayout:
        """Return how units are laid out in a pane of `width` cells."""
        raise NotImplementedError

    def set_unit_with(self, layout: UnitLayout, laid: LaidUnits | None) -> Callable[[Any], list[Line]]:
        """Return the function that lays out a unit on the event loop. `laid`: units that a thread laid out."""
        return layout.renderer_with(layout.sources)

    def laid_out(self, laid: LaidUnits) -> None:
        """The pane took what a thread laid out."""

    def empty_lines(self) -> list[Content]:
        """What is shown when it is empty."""
        return []

    def written(self, block: Block) -> str:
        """How a block stands in the source, as far as that is known."""
        return ""

    def unit_of(self, near: int, key: str) -> int:
        """The unit that has the block called `key`, or else `near`."""
        return near

    def together(self, unit: int) -> range:
        """The units that are slices of the block of this one."""
        return range(unit, unit + 1)

    def margin_of(self, unit: int) -> int:
        """The blank cells at the left of a unit."""
        return self.margin

    def relaid(self) -> None:
        """Lines are others than before."""

    # The blocks on its lines

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        """First line, last line and block of what lines are about."""
        return block_ranges(lines)

    def has_stops(self, unit: int) -> bool:
        """Whether a unit may have any: others are left out without being set."""
        return True

    def block_at(self, line: Line, cell: int) -> Block | None:
        """What a line is about at a cell."""
        return line.block

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        """Where the bar stands on a line, counted from its first cell, if the block it is about is `inside`."""
        return -2 if id(line.block) in inside else None

    def reachable(self, found: list[Stop]) -> list[Stop]:
        """Those of the stops on show that the cursor comes to by scrolling."""
        return found

    def thread_at(self, stop: Stop) -> Block | None:
        """The block an open thread hangs on that is shown at a stop."""
        return None

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        """The blocks at a stop that may be too wide."""
        return (stop[3],)

    # What lies over its lines

    def covered(self, top: Top) -> int:
        """Return how many of the first rows are covered when `top` is in the first."""
        return 0

    def before_painting(self) -> None:
        """A frame is about to be painted."""

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        """The strip of a line with what is marked at it."""
        return strip

    def veiled(self, strip: Strip, row: int) -> Strip:
        """The strip of a row with what covers it."""
        return strip

    # Finding words in it

    def finder(self) -> TextFinder:
        """What is searched: the words of all lines."""

        def shown(unit: int) -> Block:
            rows = [
                "".join(each.text for each in line.pieces if not each.is_decoration)
                for line in self.pane.galley.lines(unit)
            ]
            return Block("paragraph", text="\n".join(rows))

        units = range(len(self.pane.galley))
        return TextFinder(((unit, shown(unit)) for unit in units), letters=1)  # to set one takes long

    def unfold(self, find: Match) -> bool:
        """Open what hides a find. True when anything was closed."""
        return False

    def is_hidden(self, find: Match, known: dict[tuple[int, int], bool]) -> bool:
        """Whether a find stands in something closed; `known` is kept while many are asked of."""
        return False


class Pane(Protocol):
    """A pane of lines that are set only where one looks."""

    galley: VirtualLines[Any]
    """Its lines."""
    set_width: int
    """The width they were set in."""
    changes: int
    """How often what it shows has changed."""
    top: Top
    """The place in the first row."""
    moved_at: float
    """When one last moved in it, by `time.perf_counter`."""
    folds: Folds
    is_outdated: bool
    """Whether all was to be laid out while the pane was hidden, and had no width."""

    @property
    def state(self) -> PaneState:
        """What it shows while it has no lines."""

    @property
    def contents(self) -> Contents:
        """What it shows."""

    @property
    def look(self) -> Styles:
        """The look that the theme gives."""

    @property
    def ground(self) -> Style:
        """The style of what has no style of its own."""

    @property
    def pane_width(self) -> int:
        """The cells of a row."""

    @property
    def rows(self) -> int:
        """How many rows are on show."""

    @property
    def visual_style(self) -> VisualStyle: ...
    @property
    def size(self) -> Size: ...
    @property
    def region(self) -> Region: ...
    @property
    def has_focus(self) -> bool: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def text_selection(self) -> Selection | None: ...
    @property
    def screen(self) -> Screen[Any]: ...
    @property
    def app(self) -> App[Any]: ...

    @property
    def first_line(self) -> int:
        """The number of lines above the first row, as far as it is known."""

    def go(self, top: Top) -> None:
        """Bring a place into the first row, as far as there are lines below."""

    def tell_length(self) -> None:
        """Tell the scroll bar how many lines there are, and which is in the first row."""

    def call_later(self, callback: Callable[..., Any], *args: Any) -> bool: ...

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer: ...

    def run_worker(self, work: Any, *, group: str) -> Worker[Any]: ...

    def focus(self) -> object: ...

    def refresh_bindings(self) -> None: ...

    def reset(self, *, anchor: ReadingPosition | None = None, laid: LaidUnits | None = None) -> None:
        """Set everything anew. What stands at the top stays there: the block `anchor` names, else the one on show. `laid`:
        units that a thread laid out."""

    def relaid(self) -> None:
        """Lines are others than before."""

    def change(self, unit: int) -> None:
        """One unit looks different now, with the other slices of its block."""

    def repaint(self) -> None:
        """What lies over the lines is different now."""

    def tell(self) -> None:
        """Say, once the frame is drawn, that something moved, or how much there is."""

    def work_soon(self) -> None:
        """Lay out what nobody has looked at, and go on with what is done between keys."""

    def explain(self, sentence: str) -> None:
        """Say why something cannot be done."""

    # What lies over its lines

    def before_painting(self) -> None:
        """A frame is about to be painted."""

    def decorated(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        """The strip of a line with what is marked at it."""

    def veiled(self, strip: Strip, row: int) -> Strip:
        """The strip of a row with what lies over all else."""

    def foot(self) -> tuple[int, Strip] | None:
        """A row that is covered, and what covers it."""

    def open_spot(self, hot: ClickableSpan, *, outside: bool) -> None:
        """Something on the page was opened; `outside`: in the browser."""


def is_at_end(pane: Pane) -> bool:
    """Return whether the last line is in view."""
    return lines_from(pane.galley, pane.top, pane.rows + 1) <= pane.rows


def drop_lines(pane: Pane) -> None:
    """Leave a pane without lines."""
    pane.galley, pane.top = no_lines(), START


class PaneState:
    """Whether what a pane shows is on its way, or did not come. What is on show is never taken away for that."""

    def __init__(self, pane: Pane, widget: Widget) -> None:
        """`widget` is the pane."""
        self.pane, self._widget = pane, widget
        self._waiting: LoadingMessage | None = None
        self._failure: tuple[str, str] | None = None
        self._left: tuple[str, str] | None = None

    def wait_for(self, what: str) -> None:
        """Say that `what` is loading, if nothing is on show yet."""
        self._failure = self._left = None
        if not self.pane.contents.has_any and self._waiting is None:
            self._waiting = LoadingMessage(self._widget, what)
            self.pane.repaint()

    def fail(self, what: str, cause: str) -> None:
        """Say what did not load and why, if nothing is on show yet."""
        self.settled()
        if not self.pane.contents.has_any:
            self._failure = (what, cause)
        self.pane.repaint()

    def leave(self, why: str, hint: str) -> None:
        """Say why what was on show is not any more, and what can be done."""
        self.settled()
        self._left = (why, hint)
        self.pane.repaint()

    def settled(self) -> None:
        """Nothing is awaited any more, and nothing failed."""
        self._failure = self._left = None
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @property
    def has_failed(self) -> bool:
        """Whether it is said that something did not load."""
        return self._failure is not None

    @property
    def awaited(self) -> str:
        """What is said to be loading. Empty when nothing is."""
        return self._waiting.subject if self._waiting is not None else ""

    def why_empty(self, otherwise: str) -> str:
        """Why no key can do anything in a pane that shows nothing: it is still loading, or `otherwise`."""
        return f"Still loading {self.awaited}." if self._waiting is not None else otherwise

    def lines(self) -> list[Content]:
        """What is shown while there is nothing to show."""
        if self._failure is not None:
            return failure_lines(*self._failure, self._widget.app)
        if self._waiting is not None:
            return self._waiting.lines()
        if self._left is not None and not self.pane.contents.has_any:
            return [Content(""), *empty_lines(*self._left)]
        return self.pane.contents.empty_lines() if self.pane.contents.has_any else []
