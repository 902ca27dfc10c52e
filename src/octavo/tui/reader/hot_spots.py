"""What can be opened on the part of a page that is on show, and the letters that open it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.events import Click, Key
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.line_painter import LinePainter
from octavo.tui.reader.pane import Pane, Stop
from octavo.tui.render.styled_lines import ClickableSpan, clickable_spans
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.link_hints import Hints


class HotSpots:
    """The places of a pane that open something: links, folds, tabs, files, pictures, buttons."""

    def __init__(self, pane: Pane, painter: LinePainter, cursor: BlockCursor) -> None:
        self.pane, self.painter, self.cursor = pane, painter, cursor
        self._hints: Hints | None = None

    @property
    def hints(self) -> Hints | None:
        """The letters at the places, while one letter is to be typed."""
        return self._hints

    @hints.setter
    def hints(self, hints: Hints | None) -> None:
        is_other = (hints is None) != (self._hints is None)
        self._hints = hints
        if is_other and self.pane.is_running:
            self.pane.refresh_bindings()

    def visible(self) -> list[ClickableSpan]:
        """What can be opened now; `line` counts rows of the pane."""
        pane = self.pane
        self.painter.paint()
        covered = pane.contents.covered(pane.top)
        out = []
        for y, (unit, _, line) in enumerate(self.painter.rows_on_show[: pane.rows]):
            margin = pane.contents.margin_of(unit)
            if y >= covered:
                out += [
                    hot._replace(line=y, start=hot.start + margin, end=hot.end + margin)
                    for hot in clickable_spans([line])
                ]
        return out

    def about(self, hot: ClickableSpan) -> Block | None:
        """The block that something on show is part of."""
        unit, _, line = self.painter.rows_on_show[hot.line]
        return self.pane.contents.block_at(line, hot.start - self.pane.contents.margin_of(unit))

    def at_cursor(self) -> list[ClickableSpan]:
        """What can be opened of the block under the cursor."""
        stop = self.cursor.stop()
        return [hot for hot in self.visible() if self.about(hot) is stop[3]] if stop is not None else []

    def words(self, hot: ClickableSpan) -> str:
        """The words of a link as they stand on the page."""
        rows = self.painter.rows_on_show
        said = (piece.text for _, _, line in rows for piece in line.pieces if piece.clickable is hot.clickable)
        return " ".join("".join(said).split())

    def open_one(self, hots: list[ClickableSpan], *, outside: bool = False) -> None:
        """Open the only one of these, or one by its letter."""
        if len({id(hot.clickable) for hot in hots}) == 1:
            self.pane.open_spot(hots[0], outside=outside)
        else:
            self.show_hints(hots, outside=outside)

    # Letters

    def begin(self) -> None:
        """Show the letters of all links in view."""
        if hots := self.visible():
            self.show_hints(hots)
        else:
            self.pane.explain("No links on this part of the page.")

    def show_hints(self, hots: list[ClickableSpan], *, outside: bool = False) -> None:
        """Put letters at what can be opened; `outside`: in the browser, whatever case is typed."""
        from octavo.tui.reader.link_hints import Hints  # no frame needs it before a key is pressed

        if not self.pane.has_focus:
            self.pane.focus()  # the letters are typed here
        self.hints = Hints(hots, upper=outside)
        self.pane.repaint()

    def end_hints(self) -> None:
        """Take the letters away."""
        if self.hints is not None:
            self.hints = None
            self.pane.repaint()

    def press(self, event: Key) -> bool:
        """Take a key. False when it is not meant here."""
        hints, letter = self.hints, event.character or ""
        if hints is None:
            return False
        pressed = letter.isalpha() and hints.press(letter)
        if not pressed or isinstance(pressed, ClickableSpan):
            self.end_hints()
        if isinstance(pressed, ClickableSpan):
            self.pane.open_spot(pressed, outside=hints.upper)
        self.pane.repaint()
        return True

    def click(self, event: Click) -> None:
        """Open what was clicked, else put the cursor there."""
        self.end_hints()
        hot = next((hot for hot in self.visible() if hot.line == event.y and hot.start <= event.x < hot.end), None)
        if hot is not None:
            self.pane.open_spot(hot, outside=event.ctrl)
            return
        if event.y < len(self.painter.rows_on_show):
            unit, _, line = self.painter.rows_on_show[event.y]
            block = self.pane.contents.block_at(line, event.x - self.pane.contents.margin_of(unit))
            stop: Stop | None = next((stop for stop in self.cursor.stops_of(unit) if stop[3] is block), None)
            if stop is not None:
                self.cursor.put(stop, bring=None)

    # Painting

    def veiled(self, strip: Strip, row: int) -> Strip:
        """The strip of a row with letters on it, standing back but for what they open."""
        if self.hints is None:
            return strip
        unit, _, line = self.painter.rows_on_show[row]
        pane = self.pane
        return self.hints.veil(strip, row, line, pane.contents.margin_of(unit), pane.look, pane.ground)

    def foot(self) -> tuple[int, Strip] | None:
        """What can be typed, on a row where nothing is to be opened."""
        if self.hints is None:
            return None
        taken, height = self.hints.rows, self.pane.size.height
        free = next((row for row in (height - 1, 0, *range(height - 2, 0, -1)) if row not in taken), None)
        return None if free is None else (free, self.painter.at_foot("", "", *self.hints.said)[1])


LINK_HINTS: Commands[HotSpots] = Commands(
    "page",
    (
        Command("link_hints", "f", "Follow link", "Open a link by typing its letters", run=lambda _, spots: spots.begin()),
    ),
    find=lambda view: view.spots,
)  # fmt: skip
