"""Contents of a page view: a page or its Markdown source, split into units, with thread marks and sticky table
heads."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from octavo.documents.blocks import Block, Document, Run, plain_text
from octavo.tui.reader.background_layout import LateSources
from octavo.tui.reader.contents import MARK, Contents, Stop
from octavo.tui.reader.moves import Top
from octavo.tui.render.block_slices import SliceBounds, slice_bounds, whole_block
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.deferred_loaders import deferred_content
from octavo.tui.render.failed_block import block_source
from octavo.tui.render.layout import PageUnit, block_ranges, estimate_height, render_block, render_unit
from octavo.tui.render.layout_context import Folds, LayoutContext, path_to_block
from octavo.tui.render.page_parts import repeats_title, source_blocks
from octavo.tui.render.painting import paint_line, restyle
from octavo.tui.render.styled_lines import Line, SplitLine, block_at_cell, cursor_bar, line_blocks
from octavo.tui.render.text_search import Match, TextFinder
from octavo.tui.render.unit_layout import KEPT_WHOLE, LaidUnits, UnitLayout
from octavo.tui.widgets.empty_states import nothing

if TYPE_CHECKING:
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.reader.reading_pane import Reader

MEASURES = (76, 100, 0)
"""Most cells of a text line: narrow, wide, or 0 for the whole reader. In the whole reader, code does not wrap."""
Head = tuple[str, str]
"""Title and description of a page."""


class PageContents(Contents):
    """A page, the parsed beginning of a page, or its Markdown source."""

    pane: PageView

    def __init__(self, pane: PageView) -> None:
        super().__init__(pane)
        self._late = LateSources(pane)
        self.tables = TableReading(pane)
        self.document: Document | None = None
        self.key = ""
        """Key of the page that is shown."""
        self.head: Head = ("", "")
        self.is_whole = True
        self.page_units: Sequence[PageUnit] = ()
        """Units of the parsed part of the page."""
        self.sources = deferred_content()
        self.shows_source = False
        self.source_of: Block | None = None
        """Block that was selected when the source was opened."""
        self._source_cut: list[PageUnit] | None = None
        """Units of the Markdown source. None until they are needed."""
        self._measure = 0
        self._margins: dict[int, int] = {}

    @property
    def has_any(self) -> bool:
        return self.document is not None

    def next_measure(self) -> None:
        """Switch to the next text width."""
        self._measure = (self._measure + 1) % len(MEASURES)
        self.pane.reset()

    # Its units

    def layout_for(self, width: int, folds: Folds) -> UnitLayout:
        room = max(10, width - 2 - MARK)
        measure = min(room, MEASURES[self._measure] or room)
        look, sources, whole_code = self.pane.look, self.sources, self._measure == 2

        def set_with(sources: DeferredContent | None) -> Callable[[PageUnit], list[Line]]:
            setting = LayoutContext(
                look,
                folds,
                render_block,
                # In a narrow reader, a thread mark at a wide block has no count.
                room=room if width >= 60 else max(room, width - 4),
                never_wraps_code=whole_code,
                deferred=sources,
                source_of=self.written,
            )
            return lambda unit: render_unit(setting, unit, measure)

        return UnitLayout(
            key=(width, self._measure, look, id(folds), sources, sources.targets),
            estimate_height=lambda unit: estimate_height(unit, measure),
            renderer_with=set_with,
            margin=max(2, min((width - measure) // 2, width - measure - MARK)),
            measure=measure,
            sources=sources,
            keeps_lines=self.size <= KEPT_WHOLE,
        )

    def set_unit_with(self, layout: UnitLayout, laid: LaidUnits | None) -> Callable[[Any], list[Line]]:
        return self._late.completed(self.sources, super().set_unit_with(layout, laid), laid)

    def laid_out(self, laid: LaidUnits) -> None:
        self._late.add(laid.missing)

    @property
    def size(self) -> int:
        """Number of characters of the page."""
        return len(self.document.source) if self.document is not None else 0

    def units(self) -> Sequence[PageUnit]:
        """Return the units of the parsed part of the page, or of its source."""
        if self.document is None:
            return []
        if self.shows_source:
            if self._source_cut is None:
                blocks = source_blocks(self.document.source, self.document.blocks, self.source_of)
                self._source_cut = [PageUnit(block, rows=max(1, block.lines[1] - block.lines[0])) for block in blocks]
            return self._source_cut
        return self.page_units

    def walk(self) -> Iterator[Block]:
        """Yield all blocks of the parsed part of the page."""
        if self.document is not None:
            yield from self.document.walk()

    def note(self, label: str) -> Block | None:
        """Return the footnote with a label. None if there is none."""
        at_top = (
            self.document.blocks if self.document is not None else ()
        )  # Footnotes are at the top level of almost all pages.
        blocks = (block for block in chain(at_top, self.walk()) if block.kind == "footnotes")
        notes = (note for block in blocks for note in block.children)
        return next((note for note in notes if note.attrs.get("label") == label), None)

    def forget_source(self) -> None:
        """Discard the units of the Markdown source."""
        self._source_cut = None

    def written(self, block: Block) -> str:
        return block_source(self.document.source, block) if self.document is not None else ""

    def unit_of(self, near: int, key: str) -> int:
        galley = self.pane.galley

        def has(unit: int) -> bool:
            return 0 <= unit < len(galley) and bool(
                path_to_block(galley.units[unit].slice or galley.units[unit].block, key)
            )

        around = (unit for away in range(len(galley)) for unit in (near - away, near + away))
        return next(filter(has, around), near) if key else near

    def together(self, unit: int) -> range:
        units, first, last = self.pane.galley.units, unit, unit
        while first and units[first - 1].block is units[unit].block:
            first -= 1
        while last + 1 < len(units) and units[last + 1].block is units[unit].block:
            last += 1
        return range(first, last + 1)

    def margin_of(self, unit: int) -> int:
        kept = self._margins.get(unit)
        if kept is None:
            first = self.together(unit)[0]  # All slices of a table have the margin of the first, which has the head.
            widest = max((line.width for line in self.pane.galley.lines(first)), default=0)
            wide = widest > self.measure
            room = max(2, self.pane.set_width - widest - MARK)
            kept = self._margins[unit] = min(self.margin, room) if wide else self.margin
        return kept

    def relaid(self) -> None:
        self._margins = {}

    def empty_lines(self) -> list[Content]:
        if not self.is_whole or self.pane.is_outdated:
            return []
        title = [Content(f"  {self.head[0]}").stylize("bold")] if self.head[0] else []
        return [Content(""), *title, *nothing("This page is empty.", "Press J for the next page")]

    # Selectable blocks

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        return stops_apart(lines)

    def block_at(self, line: Line, cell: int) -> Block | None:
        return block_at_cell(line, cell)

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        return cursor_bar(line, inside)

    def thread_at(self, stop: Stop) -> Block | None:
        return self.pane.threads.at(stop)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        return self.tables.wide_at(stop)

    # Marks and sticky table heads

    def covered(self, top: Top) -> int:
        return self.tables.covered(top)

    def before_painting(self) -> None:
        self._late.ask(self.sources)
        self.tables.before_painting()

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        return self.pane.threads.marked(strip, unit, place, line, self.measure)

    def veiled(self, strip: Strip, row: int) -> Strip:
        return self.tables.veiled(strip, row)

    # Find in page

    def finder(self) -> TextFinder:
        blocks = ((index, unit.slice or unit.block) for index, unit in enumerate(self.pane.galley.units))
        return TextFinder(blocks, self.sources.targets.text_of if self.sources.targets is not None else plain_text)

    def is_hidden(self, find: Match, known: dict[tuple[int, int], bool]) -> bool:
        return self.pane.folds.hides(find.path, known)

    def unfold(self, find: Match) -> bool:
        changed = self.pane.folds.reveal(find.path)
        if changed:
            self.pane.change(find.unit)
        return changed


def top_blocks(blocks: Sequence[Block], head: Head, *, whole: bool) -> list[Block]:
    """Return the blocks of a page below its title. `whole`: no more blocks follow."""
    title, description = head
    if not blocks or not title:
        return list(blocks)
    rest = blocks[1:] if blocks[0] is left_out(blocks, head) else blocks
    if not rest and not description and whole:
        return []
    return [Block("page-title", runs=(Run(title),), text=description), *rest]


def left_out(blocks: Sequence[Block], head: Head) -> Block | None:
    """Return the first heading if it repeats the title of the page. None otherwise."""
    first = blocks[0] if blocks else None
    if first is None or first.kind != "heading" or first.attrs.get("level") != 1 or not head[0]:
        return None
    return first if repeats_title(plain_text(first.runs), head[0]) else None


def stops_apart(lines: Sequence[Line]) -> list[tuple[int, int, Block]]:
    """Return the blocks of lines, each with its first and last line. Columns and cards follow each other in the order
    of the page."""
    if not any(isinstance(line, SplitLine) for line in lines):
        return block_ranges(lines)
    found = [
        (first, 0, 0, last, block)
        for first, last, block in block_ranges([Line([]) if isinstance(line, SplitLine) else line for line in lines])
    ]
    known: dict[int, int] = {}
    region = -1
    for number, line in enumerate(lines):
        if not isinstance(line, SplitLine):
            region = -1
            continue
        region = number if region < 0 else region
        for block in line_blocks(line):
            at = known.setdefault(id(block), len(found))
            if at == len(found):
                found.append((region, 1 + block.lines[0], number, number, block))
            else:
                found[at] = (*found[at][:3], number, block)
    found.sort(key=lambda stop: stop[:3])
    return [(region if not order else first, last, block) for region, order, first, last, block in found]


_HIGHEST = 4
"""Most lines of a sticky head. It also covers at most a quarter of the rows."""


class TableReading:
    """Tables of a page."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._head_over: tuple[int, Sequence[Line], int] = (0, (), 0)
        """Unit, lines and width of the sticky table head."""

    def path_to(self, stop: Stop) -> list[Block]:
        """Return the blocks around a selectable block, outermost first, and the block itself."""
        unit = self.pane.galley.units[stop[0]]
        return [whole_block(each) for each in path_to_block(unit.slice or unit.block, stop[3].key)] or [stop[3]]

    def table_of(self, stop: Stop) -> Block | None:
        """Return the table that contains a row. None if the block is not a row."""
        if stop[3].kind != "row":
            return None
        return next((block for block in reversed(self.path_to(stop)) if block.kind == "table"), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        """Return a selectable block and the tables around it: these may be wider than the reader."""
        return (stop[3], *(block for block in self.path_to(stop) if block.kind == "table"))

    # The head of a long table

    def _head_at(self, top: Top) -> tuple[int, Sequence[Line], int]:
        """Return the unit, the lines and the width of the head of the table whose rows are at the top.

        No lines are returned if the head itself is visible or too high."""
        none: tuple[int, Sequence[Line], int] = (0, (), 0)
        if not len(self.pane.galley):
            return none
        unit, place = top
        lines = self.pane.galley.lines(unit)
        kinds = _kinds(lines[: place + 1])
        if set(kinds) == {"row"}:
            unit = self._first_slice(unit)
            lines = self.pane.galley.lines(unit)
            kinds = _kinds(lines)
        if not kinds or kinds[-1] != "row" or "table" not in kinds:
            return none
        rule = max(at for at, kind in enumerate(kinds) if kind == "table")
        table, first = lines[rule].block, rule
        while first and lines[first - 1].block is table:
            first -= 1
        head = lines[first:rule]
        if set(kinds[rule + 1 :]) != {"row"} or len(head) > min(_HIGHEST, self.pane.rows // 4):
            return none
        return unit, head, lines[rule].width

    def _first_slice(self, unit: int) -> int:
        """Return the index of the unit with the head of the table that a unit begins with."""
        inner = self._table_in(unit)
        if inner is None:
            return unit
        slices = ((each, self._table_in(each)) for each in self.pane.contents.together(unit))
        return next((each for each, cut in slices if cut and cut.is_first and cut.whole is inner.whole), unit)

    def _table_in(self, unit: int) -> SliceBounds | None:
        """Return the bounds of the table slice that a unit begins with. None if it begins with another block."""
        block = self.pane.galley.units[unit].slice
        while block is not None and block.kind != "table":
            at = self.pane.folds.chosen_tab(block) if block.kind == "tabs" else 0
            block = block.children[at] if block.children else None
        return slice_bounds(block) if block is not None else None

    def before_painting(self) -> None:
        """Prepare for the next frame."""
        self._head_over = self._head_at(self.pane.top)

    def veiled(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row, or of the table head that covers the row."""
        unit, head, wide = self._head_over
        if row < len(head):
            look, margin = self.pane.look, self.pane.contents.margin_of(unit)
            strip = paint_line(head[row], margin, strip.cell_length, self.pane.ground)
            style = Style(underline=True) if look.mono else look.panel
            strip = restyle(strip, [(margin, margin + wide + 1, style)])
        return strip

    def covered(self, top: Top) -> int:
        """Return how many rows the sticky table head covers when `top` is in the first row."""
        return len(self._head_at(top)[1])


def _kinds(lines: Sequence[Line]) -> list[str]:
    return [line.block.kind if line.block is not None else "" for line in lines]
