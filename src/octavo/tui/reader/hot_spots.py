"""Clickable spans in the visible part of a page, and the link hints that open them from the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.events import Click, Key
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.pane import Stop
from octavo.tui.render.styled_lines import ClickableSpan, clickable_spans
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.link_hints import Hints
    from octavo.tui.reader.reading_pane import Reader


class HotSpots:
    """Clickable spans of a reader: links, expandable blocks, tabs, files, images and buttons."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._hints: Hints | None = None

    @property
    def hints(self) -> Hints | None:
        """Link hints on the page. None if no hints are shown."""
        return self._hints

    @hints.setter
    def hints(self, hints: Hints | None) -> None:
        is_other = (hints is None) != (self._hints is None)
        self._hints = hints
        if is_other and self.pane.is_running:
            self.pane.refresh_bindings()

    def visible(self) -> list[ClickableSpan]:
        """Return the visible clickable spans. Their `line` counts rows of the reader."""
        pane = self.pane
        self.pane.painter.paint()
        covered = pane.contents.covered(pane.top)
        out = []
        for y, (unit, _, line) in enumerate(self.pane.painter.rows_on_show[: pane.rows]):
            margin = pane.contents.margin_of(unit)
            if y >= covered:
                out += [
                    hot._replace(line=y, start=hot.start + margin, end=hot.end + margin)
                    for hot in clickable_spans([line])
                ]
        return out

    def about(self, hot: ClickableSpan) -> Block | None:
        """Return the block of a visible clickable span."""
        unit, _, line = self.pane.painter.rows_on_show[hot.line]
        return self.pane.contents.block_at(line, hot.start - self.pane.contents.margin_of(unit))

    def at_cursor(self) -> list[ClickableSpan]:
        """Return the visible clickable spans of the selected block."""
        stop = self.pane.cursor.stop()
        return [hot for hot in self.visible() if self.about(hot) is stop[3]] if stop is not None else []

    def words(self, hot: ClickableSpan) -> str:
        """Return the text of a link, also if the link breaks over several lines."""
        rows = self.pane.painter.rows_on_show
        said = (piece.text for _, _, line in rows for piece in line.pieces if piece.clickable is hot.clickable)
        return " ".join("".join(said).split())

    def open_one(self, hots: list[ClickableSpan], *, outside: bool = False) -> None:
        """Open the only link of a list, or show hints if there are several."""
        if len({id(hot.clickable) for hot in hots}) == 1:
            self.pane.open_spot(hots[0], outside=outside)
        else:
            self.show_hints(hots, outside=outside)

    # Link hints

    def begin(self) -> None:
        """Show hints at all visible links."""
        if hots := self.visible():
            self.show_hints(hots)
        else:
            self.pane.explain("No links on this part of the page.")

    def show_hints(self, hots: list[ClickableSpan], *, outside: bool = False) -> None:
        """Show hints at some links. `outside`: open them in the browser, also for lower-case letters."""
        from octavo.tui.reader.link_hints import Hints  # lazy: needed after a key press

        if not self.pane.has_focus:
            self.pane.focus()  # The letters of hints are typed in the reader.
        self.hints = Hints(hots, upper=outside)
        self.pane.repaint()

    def end_hints(self) -> None:
        """Remove the hints."""
        if self.hints is not None:
            self.hints = None
            self.pane.repaint()

    def press(self, event: Key) -> bool:
        """Handle a key while hints are shown. Return False if none are shown."""
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
        """Open the clicked span, or select the clicked block."""
        self.end_hints()
        hot = next((hot for hot in self.visible() if hot.line == event.y and hot.start <= event.x < hot.end), None)
        if hot is not None:
            self.pane.open_spot(hot, outside=event.ctrl)
            return
        if event.y < len(self.pane.painter.rows_on_show):
            unit, _, line = self.pane.painter.rows_on_show[event.y]
            block = self.pane.contents.block_at(line, event.x - self.pane.contents.margin_of(unit))
            stop: Stop | None = next((stop for stop in self.pane.cursor.stops_of(unit) if stop[3] is block), None)
            if stop is not None:
                self.pane.cursor.put(stop, bring=None)

    # Painting

    def veiled(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row with link hints on it, and other text dimmed."""
        if self.hints is None:
            return strip
        unit, _, line = self.pane.painter.rows_on_show[row]
        pane = self.pane
        return self.hints.veil(strip, row, line, pane.contents.margin_of(unit), pane.look, pane.ground)

    def foot(self) -> tuple[int, Strip] | None:
        """Return the number and strip of a row that shows the help for hints. None if every row has a link."""
        if self.hints is None:
            return None
        taken, height = self.hints.rows, self.pane.size.height
        free = next((row for row in (height - 1, 0, *range(height - 2, 0, -1)) if row not in taken), None)
        return None if free is None else (free, self.pane.painter.at_foot("", "", *self.hints.said)[1])


LINK_HINTS: Commands[HotSpots] = Commands(
    "page",
    (
        Command("link_hints", "f", "Follow link", "Open a link by typing its letters", run=lambda _, spots: spots.begin()),
    ),
    find=lambda view: view.spots,
)  # fmt: skip
