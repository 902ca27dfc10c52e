"""The age gutter of a page: the age of each block, to the left of its first line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from textual.strip import Strip

from octavo.tui.render.painting import overlay_text
from octavo.tui.render.styled_lines import Line, line_blocks

if TYPE_CHECKING:
    from octavo.tui.reader.block_cursor import BlockCursor
    from octavo.tui.reader.viewport import Viewport

_WIDTH = 5
"""Width of the gutter in cells: an age such as `17w+`, and a space."""
_BAR_WIDTH = 2
"""Width in cells of the bar of the selected block, between the gutter and the text."""
_NO_AGES: Mapping[str, str] = MappingProxyType({})


class AgeGutter:
    """The ages of the blocks of a page, if the user switched the gutter on."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        self._viewport, self._cursor = viewport, cursor
        self._ages: Mapping[str, str] | None = None
        """The ages by block key. None if the gutter is hidden."""

    @property
    def width(self) -> int:
        """Width in cells. 0 if the gutter is hidden."""
        return 0 if self._ages is None else _WIDTH

    def show(self, ages: Mapping[str, str] = _NO_AGES) -> None:
        """Show the gutter with ages such as `6d`, by block key. Blocks without an age have an empty gutter."""
        was_hidden, self._ages = self._ages is None, ages
        if was_hidden:
            self._viewport.reset_lines()
        else:
            self._viewport.repaint()

    def hide(self) -> None:
        """Hide the gutter."""
        if self._ages is not None:
            self._ages = None
            self._viewport.reset_lines()

    def with_age(self, strip: Strip, unit_index: int, number: int, line: Line) -> Strip:
        """Return the strip of a line with the age of the block that begins there. The strip stays the same if a wide
        block covers the gutter."""
        if not self._ages or line.block is None:
            return strip
        first_lines = {id(span.block): span.first for span in self._cursor.spans_of(unit_index)}
        keys = [block.key for block in line_blocks(line) if first_lines.get(id(block)) == number]
        age = next((self._ages[key] for key in keys if key in self._ages), "")
        start = self._viewport.contents.margin_of(unit_index) - _BAR_WIDTH - _WIDTH
        if not age or start < 0:
            return strip
        styles = self._viewport.text_styles
        return overlay_text(strip, start, age.rjust(_WIDTH - 1), self._viewport.base_style + styles.muted)
