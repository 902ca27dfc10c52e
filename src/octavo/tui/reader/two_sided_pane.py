"""A pane of a page as it was and as it is: what is compared, how the sides lie, and the page that is still on its way."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Literal

from textual.timer import Timer

from octavo.documents.blocks import Block
from octavo.tui.reader.cursor_pane import Stop
from octavo.tui.reader.late_sources import Completing
from octavo.tui.reader.sliced_pane import Sliced
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_sides import bar_beside, block_beside, stops_beside
from octavo.tui.render.styled_lines import Line

SPLIT_FROM = 140
"""How wide a terminal must be to have two sides beside one another."""
LEFT_AFTER = 0.3
"""Seconds until what is on show goes, while that of another page is on its way."""

Layout = Literal["changes", "sides", "new", "old"]


class TwoSided(Completing, Sliced):
    """A pane that shows two sides of a page: what changed, both beside one another, or one of them."""

    compared: Compared | None = None
    key: str = ""
    shows_source: bool = False
    _layout: Layout = "changes"
    _is_split: bool = False
    """Whether sides were put beside one another last."""
    _leaving: Timer | None = None

    @property
    def has_content(self) -> bool:
        return self.compared is not None

    def clear(self) -> None:
        """Show nothing."""
        raise NotImplementedError

    # What is on its way

    def wait_for(self, what: str, key: str = "") -> None:
        """Say that `what` is loading. What is on show stays for a moment, and that of the same key until the end."""
        super().wait_for(what)
        if self.compared is not None and key != self.key and self._leaving is None:
            self._leaving = self.set_timer(LEFT_AFTER, partial(self._leave, what))

    def _leave(self, what: str) -> None:
        self.clear()
        super().wait_for(what)

    def fail(self, what: str, cause: str, key: str = "") -> None:
        """Say what did not load and why, unless that of the same key is on show."""
        if key != self.key:
            self.clear()
        super().fail(what, cause)

    def settled(self) -> None:
        super().settled()
        if self._leaving is not None:
            self._leaving.stop()
            self._leaving = None

    # How the sides lie

    @property
    def side(self) -> Literal["old", "new"]:
        """The side the block under the cursor is of: what is the same on both is of the new one."""
        here = self.cursor_stop()
        return "old" if here is not None and self.is_old(here[3]) else "new"

    def is_old(self, block: Block) -> bool:
        """Whether a block is one of the page as it was."""
        return self.compared is not None and self.compared.is_old(block)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The ways in which what is on show can be shown, in the order `|` goes through them."""
        is_rewritten = self.compared is not None and self.compared.diff.is_rewritten and not self.shows_source
        is_wide = self.app.size.width >= SPLIT_FROM
        return (*(("new", "old") if is_rewritten else ()), "changes", *(("sides",) if is_wide else ()))

    @property
    def layout_now(self) -> Layout:
        """The way it is shown."""
        wanted: Layout = self._layout if not self.shows_source else "sides" if self._is_split else "changes"
        return wanted if wanted in self.layouts else "changes"

    def lay_out_page(self) -> None:
        """Lay out another page: one that was rewritten as it is now, the others as one looked at the last."""
        is_rewritten = self.compared is not None and self.compared.diff.is_rewritten
        self._layout = "new" if is_rewritten else "sides" if self._is_split else "changes"

    def next_layout(self) -> None:
        """Go on to the next way in which it can be shown."""
        layouts = self.layouts
        self._layout = layouts[(layouts.index(self.layout_now) + 1) % len(layouts)]
        self._is_split = self._layout == "sides"

    @property
    def why_no_layout(self) -> str | None:
        """Why there is no other way to show it, if there is none."""
        if len(self.layouts) > 1:
            return None
        return f"Side by side needs a terminal of {SPLIT_FROM} columns: this one has {self.app.size.width}."

    # The cursor on either side

    def visible_stops(self) -> list[Stop]:
        """The blocks that have a line on show. One comes to the old side by going there, never by scrolling."""
        stops = super().visible_stops()
        here = self.cursor[1] if self.cursor is not None else None
        return [stop for stop in stops if stop[3] is here or not self.is_old(stop[3])] or stops

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        return stops_beside(lines)

    def block_at(self, line: Line, cell: int) -> Block | None:
        return block_beside(line, cell)

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        return bar_beside(line, inside)
