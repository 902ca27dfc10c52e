"""`Contents`, the base of the contents of a pane, and constants that the modules of this package share."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.reading_position import BlockSpan, LinePosition, Lines
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.text_search import BlockTextFinder, Match
from octavo.tui.widgets.commands import StillLoading

if TYPE_CHECKING:
    from octavo.tui.render.virtual_lines import UnitLayout


MARK_WIDTH = 4
"""Cells reserved at the right for a thread mark: a blank, the thread symbol, a blank, a digit."""
STILL_LOADING = StillLoading("The rest of this page is still loading.")


SHORT_PAGE = 6_000
"""Pages with fewer characters are parsed and laid out on the event loop, without the background thread."""
THREAD_WAIT = 0.02
"""Seconds that the event loop waits for the background thread before the pane shows an incomplete page."""


class Contents:
    """Content of a pane: its units, their layout, and the blocks on each line. Subclasses override what is different
    for their units."""

    margin = 2
    """Blank cells at the left."""
    line_width = 0
    """Width of a text line in cells if it is narrower than the pane, else 0."""
    is_fully_parsed = True
    """True once the whole page is parsed. Its heights may still be estimated."""

    @property
    def has_content(self) -> bool:
        """True if a page is shown, even an empty page."""
        return True

    def units(self) -> Sequence[Any]:
        """Return the units to show, from top to bottom."""
        return ()

    def take_units(self) -> Sequence[Any]:
        """Return the units for new lines. Called once for each `Viewport.reset_lines`."""
        return self.units()

    def layout_for(self, width: int, folds: Folds) -> UnitLayout:
        """Return the layout of units in a pane of `width` cells."""
        raise NotImplementedError

    def empty_page_lines(self) -> list[Content]:
        """Return the message for an empty page."""
        return []

    def block_markdown(self, block: Block) -> str:
        """Return the Markdown of a block. Empty if unknown."""
        return ""

    def find_unit(self, near: int, key: str) -> int:
        """Return the index of the unit with the block `key`, or `near` if there is none."""
        return near

    def slices_of_block(self, unit_index: int) -> range:
        """Return the indices of all slices of the block that `unit_index` is a slice of."""
        return range(unit_index, unit_index + 1)

    def margin_of(self, unit_index: int) -> int:
        """Return the number of blank cells at the left of a unit."""
        return self.margin

    def forget_lines(self) -> None:
        """Clear caches that depend on the lines."""

    # Selectable blocks

    def spans_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        """Return the blocks of a unit's lines, each with its first and last line."""
        return block_ranges(lines)

    def has_spans(self, unit_index: int) -> bool:
        """Return whether a unit may have selectable blocks. The cursor skips the other units without laying them
        out."""
        return True

    def block_at(self, line: Line, cell: int) -> Block | None:
        """Return the block at a cell of a line. None if no block is there."""
        return line.block

    def cursor_bar_column(self, line: Line, block_ids: Container[int]) -> int | None:
        """Return the column of the cursor bar, relative to the first cell of a line. None if the block of the line is
        not in `block_ids`."""
        return -2 if id(line.block) in block_ids else None

    def reachable_spans(self, spans: list[BlockSpan]) -> list[BlockSpan]:
        """Return the visible blocks that scrolling may select."""
        return spans

    def block_with_thread(self, span: BlockSpan) -> Block | None:
        """Return the first block with a marked open thread: the selectable block itself or a block inside it. None if
        there is none."""
        return None

    def wide_blocks(self, span: BlockSpan) -> Iterable[Block]:
        """Return the blocks inside or around a selectable block that may be wider than the pane."""
        return (span.block,)

    # Marks and sticky table heads

    def sticky_rows(self, top: LinePosition) -> int:
        """Return how many rows the sticky table head covers when `top` is in the first row."""
        return 0

    def before_painting(self) -> None:
        """Called before each frame is painted. Subclasses compute what the frame needs, such as the sticky table
        head."""

    def with_marks(self, strip: Strip, unit_index: int, number: int, line: Line) -> Strip:
        """Return the strip of a line with its thread marks."""
        return strip

    def with_sticky_head(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row, or of the sticky table head that covers the row."""
        return strip

    # Find in page

    @property
    def has_more_to_search(self) -> bool:
        """True while pages that the search includes are still loading."""
        return False

    @property
    def not_searched(self) -> str:
        """Parts that a search leaves out, such as `2 pages`. Empty if it searches everything."""
        return ""

    def text_finder(self, lines: Lines) -> BlockTextFinder:
        """Return a search over the text of all lines."""

        def shown_text(unit_index: int) -> Block:
            rows = [
                "".join(each.text for each in line.pieces if not each.is_decoration) for line in lines.lines(unit_index)
            ]
            return Block("paragraph", text="\n".join(rows))

        units = range(len(lines))
        # `letters=1`: pause after each unit, because laying out a unit may take long.
        return BlockTextFinder(((unit, shown_text(unit)) for unit in units), letters=1)

    def expand_to(self, match: Match) -> None:
        """Expand blocks that hide a match."""

    def is_hidden(self, match: Match, known: dict[tuple[int, int], bool]) -> bool:
        """Return True if a collapsed block hides a match. `known` is a cache for several calls."""
        return False
