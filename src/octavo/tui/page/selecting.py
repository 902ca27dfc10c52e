"""A pane of lines in which words can be selected, without the borders, bars and bullets around them."""

from __future__ import annotations

from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from octavo.tui.page.ahead import AheadPane
from octavo.tui.page.lines import cells
from octavo.tui.page.painting import restyled, words_between

_MOST_LINES = 200_000


class SelectingPane(AheadPane):
    """A pane that marks what is selected and can say its words."""

    def marked(self, strips: list[Strip], line: int) -> list[Strip]:
        selection = self.text_selection
        if selection is None:
            return strips
        style = self.screen.get_component_rich_style("screen--selection")
        return [_selected(strip, selection, y, style) for y, strip in enumerate(strips, line)]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.galley.total - 1
        rows = self.galley.between(first, min(last, first + _MOST_LINES) + 1)
        if not rows:
            return None
        start = (0, selection.start.x) if selection.start else None
        end = (len(rows) - 1, selection.end.x) if selection.end else None
        return words_between([row[2] for row in rows], self.margin_of(rows[0][0]), start, end), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def _selected(strip: Strip, selection: Selection, y: int, style: Style) -> Strip:
    if (span := selection.get_span(y)) is None:
        return strip
    text = strip.text
    start, end = cells(text[: span[0]]), cells(text if span[1] == -1 else text[: span[1]])
    return restyled(strip, [(start, end, style)])
