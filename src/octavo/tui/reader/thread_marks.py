"""A page whose blocks have threads and headings one can go along."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.cursor_pane import Bring, Stop
from octavo.tui.reader.late_sources import Completing
from octavo.tui.render.layout import stops
from octavo.tui.render.page_parts import ThreadMarks, anchors_above
from octavo.tui.render.painting import over
from octavo.tui.render.side_by_side_blocks import SplitLine, bar_apart, block_apart, blocks_of
from octavo.tui.render.styled_lines import Line, cells

if TYPE_CHECKING:
    from octavo.api.comments import Comment

MARK = 4
"""Cells kept free at the right for the mark of a thread: a blank, the sign, a blank, a digit."""


class Marked(Completing):
    """A reader of a document, which marks open threads at the right of the blocks they hang on."""

    document: Document | None = None
    measure = 0
    """The cells that lines of text were set in."""
    _marked: ThreadMarks = ThreadMarks()
    _anchors: tuple[Document, dict[str, str]] | None = None

    def go_to_block(self, key: str, *, bring: Bring | None = "top") -> bool:
        """Put the cursor on a block and bring that on show, opening what hides it."""
        raise NotImplementedError

    # Where blocks stand beside one another

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        return stops_apart(lines)

    def block_at(self, line: Line, cell: int) -> Block | None:
        return block_apart(line, cell)

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        return bar_apart(line, inside)

    # Headings

    @property
    def current_anchor(self) -> str:
        """The anchor of the last heading at or above the block under the cursor; empty where there is none.

        At the end of a page one scrolled to, it is that of the last block: nothing more can come to the top.
        """
        document, here = self.document, self.cursor_stop()
        if document is None or here is None:
            return ""
        if 0 < self.scroll_offset.y >= self.galley.total - self.rows:
            on_show = self.visible_stops()
            here = on_show[-1] if on_show and on_show[0][3] is here[3] else here
        if self._anchors is None or self._anchors[0] is not document:
            self._anchors = (document, anchors_above(document))
        return self._anchors[1].get(here[3].key, "")

    def action_heading(self, step: int) -> None:
        def may_have(unit: int) -> bool:
            block = units[unit].part or units[unit].block
            return block.kind == "heading" or (
                bool(block.children) and any(each.kind == "heading" for each in block.walk())
            )

        units = self.galley.units

        if (found := self._next_stop(step, lambda stop: stop[3].kind == "heading", may_have)) is not None:
            self.put_cursor(found, bring="top")

    def _next_stop(self, step: int, wanted: Callable[[Stop], bool], among: Callable[[int], bool]) -> Stop | None:
        here = self.cursor_stop()
        if here is None:
            return None
        with self.steady():
            return next((stop for stop in self.stops_from(here[0], here[3], step, among) if wanted(stop)), None)

    # Threads

    def set_threads(self, threads: Mapping[str, int | Sequence[Comment]]) -> None:
        """Mark the blocks, by their keys, with the number of open threads on them."""
        counts = {
            key: count if isinstance(count, int) else sum(each.is_open for each in count)
            for key, count in threads.items()
        }
        self._marked = ThreadMarks(self.document.blocks if self.document is not None else (), counts)
        self.repaint()

    def action_thread(self, step: int) -> None:
        found = self._next_stop(
            step,
            lambda stop: stop[3].key in self._threads_at(stop[0]),
            lambda unit: self._marked.is_in(self.galley.units[unit].block, self.galley.units[unit].part),
        )
        if found is None:
            return
        closed = self._hanging(found, closed=True)
        if closed and not self._hanging(found, closed=False):
            self.go_to_block(closed[0 if step > 0 else -1].key, bring="third")
        else:
            self.put_cursor(found, bring="third")

    def thread_at(self, stop: Stop) -> Block | None:
        return next(iter(self._hanging(stop, closed=False)), None)

    def _hanging(self, stop: Stop, *, closed: bool) -> list[Block]:
        """The blocks with a thread that is marked at a stop: those shown there, or those that something closed hides."""
        paths = self._threads_at(stop[0]).get(stop[3].key, ())
        return [path[-1] for path in paths if self.folds.hides(path) == closed]

    def _threads_at(self, unit: int) -> dict[str, list[tuple[Block, ...]]]:
        if not self._marked:
            return {}
        return self._marked.among({stop[3].key for stop in self.stops_of(unit)}, self.galley.units[unit].part)

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        strip = super().decorate(strip, unit, place, line)
        if not self._marked or line.block is None:
            return strip
        threads, begins = self._threads_at(unit), {id(stop[3]): stop[1] for stop in self.stops_of(unit)}
        here = (block for block in blocks_of(line) if begins.get(id(block)) == place)
        paths = [path for block in here for path in threads.get(block.key, ())]
        if not paths:
            return strip
        count = sum(self._marked.counts[path[-1].key] for path in paths)
        dot, end = self.look.glyphs.dot, strip.cell_length
        at = self.margin_of(unit) + max(self.measure, line.width) + 1
        mark = next((mark for mark in (f"{dot} {count}", f"{dot}{count}") if at + cells(mark) <= end), dot)
        return over(strip, min(at, end - cells(mark)), mark, self.ground + self.look.note + Style(bold=True))


def stops_apart(lines: Sequence[Line]) -> list[tuple[int, int, Block]]:
    """First line, last line and block of all that lines are about. What stands beside one another comes in the order of the
    page: one column, or one card, after the other."""
    if not any(isinstance(line, SplitLine) for line in lines):
        return stops(lines)
    found = [
        (first, 0, 0, last, block)
        for first, last, block in stops([Line([]) if isinstance(line, SplitLine) else line for line in lines])
    ]
    known: dict[int, int] = {}
    region = -1
    for number, line in enumerate(lines):
        if not isinstance(line, SplitLine):
            region = -1
            continue
        region = number if region < 0 else region
        for block in blocks_of(line):
            at = known.setdefault(id(block), len(found))
            if at == len(found):
                found.append((region, 1 + block.lines[0], number, number, block))
            else:
                found[at] = (*found[at][:3], number, block)
    found.sort(key=lambda stop: stop[:3])
    return [(region if not order else first, last, block) for region, order, first, last, block in found]
