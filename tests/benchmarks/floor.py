"""The least a scrolled or moved line costs in Textual: ready-made lines under a cursor, nothing to lay out."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

LINES = 1000


class Ready(ScrollView, can_focus=True):
    """Lines made before they are asked for; j moves the cursor over them, n scrolls by one, the space bar by a page."""

    DEFAULT_CSS = "Ready { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move", "Down"),
        ("n", "scroll(1)", "Scroll"),
        ("space", "scroll(30)", "Page"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._plain = [
            Strip([Segment(f"{number:6} the line of this number".ljust(118))], 118) for number in range(LINES)
        ]
        lit = Style(reverse=True)
        self._lit = [Strip([Segment(segment.text, lit) for segment in strip], 118) for strip in self._plain]
        self._cursor = 0
        self.virtual_size = Size(118, LINES)

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        return (self._lit if line == self._cursor else self._plain)[line]

    def action_move(self) -> None:
        self._cursor += 1
        self.refresh_lines(self._cursor - 1 - self.scroll_offset.y, 2)

    def action_scroll(self, lines: int) -> None:
        self.scroll_relative(y=lines, animate=False)


class Floor(App[None]):
    def compose(self) -> ComposeResult:
        yield Ready()


if __name__ == "__main__":
    Floor().run()
