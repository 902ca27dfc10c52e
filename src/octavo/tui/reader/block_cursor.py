"""The block cursor of a reader: a bar at the left of the selected block, and the commands that move it. The selected
block is always visible."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from textual.geometry import Region
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.contents import Stop
from octavo.tui.reader.moves import START, Bring, Top, above, distance, end_of, top_showing
from octavo.tui.render.painting import overlay_text
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.tables import copied_text
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader

_PAN = 16
"""Cells that wide code or tables scroll by."""
_KEPT_STOPS, _KEPT_LINES, _KEPT_BARRED = 100, 1500, 300
"""Most units with cached selectable blocks, most lines cached with them, and most lines with a cached cursor bar. The
limit of lines is low because freeing many at a time is slow."""


class BlockCursor:
    """Selected block of a reader, and movement to other blocks."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self.at: tuple[int, Block] | None = None
        """Unit and block that was selected. None until the user moves the cursor."""
        self._barred_block: Block | None = None
        self._in_cursor: frozenset[int] = frozenset()
        """Identities of the selected block and all blocks inside it: the bar is drawn along all of them."""
        self._stops: dict[int, tuple[list[Line], list[Stop]]] = {}
        self._stop_lines = 0
        """Number of lines cached with the selectable blocks."""
        self._barred: dict[int, tuple[Strip, Strip]] = {}
        """Strips without and with the bar by the identity of their line."""
        self._bar_key: tuple[int, bool] = (0, False)

    def relaid(self) -> None:
        """Clear caches that depend on the lines."""
        self._stops, self._stop_lines = {}, 0
        self._barred = {}

    # Painting

    def before_painting(self, *, is_shown: bool) -> None:
        """Prepare for the next frame. The bar is drawn if `is_shown`."""
        here = self.stop()
        self._barred_block = here[3] if here is not None else None
        key = (id(self._barred_block), self.pane.has_focus)
        if key != self._bar_key:
            self._bar_key, self._barred = key, {}
            self._in_cursor = _inside(self._barred_block)
        if not is_shown:
            self._barred_block = None

    def barred(self, strip: Strip, unit: int, line: Line) -> Strip:
        """Return the strip of a line, with the cursor bar if the line belongs to the selected block."""
        pane = self.pane
        at = pane.contents.bar_at(line, self._in_cursor) if self._barred_block is not None else None
        if at is None:
            return strip
        known = self._barred.get(id(line))
        if known is not None and known[0] is strip:
            return known[1]
        look = pane.look
        style = pane.ground + (look.accent if pane.has_focus else look.muted)
        barred = overlay_text(strip, max(0, pane.contents.margin_of(unit) + at), look.glyphs.bar, style)
        if len(self._barred) >= _KEPT_BARRED:
            self._barred.clear()
        self._barred[id(line)] = (strip, barred)
        return barred

    # Selectable blocks

    def stops_of(self, unit: int) -> list[Stop]:
        """Return the selectable blocks of a unit."""
        lines = self.pane.galley.lines(unit)
        known = self._stops.get(unit)
        if known is None or known[0] is not lines:
            if known is not None:
                self._forget_stops(unit)
            while self._stops and (len(self._stops) >= _KEPT_STOPS or self._stop_lines > _KEPT_LINES):
                self._forget_stops(next(iter(self._stops)))
            self._stop_lines += len(lines)
            known = self._stops[unit] = (
                lines,
                [(unit, first, last, block) for first, last, block in self.pane.contents.stops_in(lines)],
            )
        return known[1]

    def _forget_stops(self, unit: int) -> None:
        self._stop_lines -= len(self._stops.pop(unit)[0])

    def stops_from(self, unit: int, block: Block | None, step: int, among: Callable[[int], bool]) -> Iterator[Stop]:
        """Yield the selectable blocks after a block, or before it if `step` is negative. Units that fail `among` are
        skipped without being laid out."""
        found = self.stops_of(unit) if 0 <= unit < len(self.pane.galley) else []
        at = next((index for index, stop in enumerate(found) if stop[3] is block), -1 if step > 0 else len(found))
        yield from found[at + 1 :] if step > 0 else reversed(found[: max(0, at)])
        for following in range(unit + step, len(self.pane.galley) if step > 0 else -1, step):
            if among(following) and self.pane.contents.has_stops(following):
                found = self.stops_of(following)
                yield from found if step > 0 else reversed(found)

    def stop(self) -> Stop | None:
        """Return the selected block. At first, this is the first visible block. None if there is none."""
        if self.at is not None and self.at[0] < len(self.pane.galley):
            unit, block = self.at
            found = self.stops_of(unit)
            named = (stop for stop in found if block.key and stop[3].key == block.key)
            if stop := next((stop for stop in found if stop[3] is block), None) or next(named, None):
                return stop
        return next(iter(self.visible_stops()), None)

    @property
    def region(self) -> Region:
        """Screen region of the selected block."""
        here = self.stop()
        if here is None:
            return Region()
        pane = self.pane
        top = distance(pane.galley, pane.top, Top(*here[:2]), pane.size.height)
        block = Region(pane.region.x, pane.region.y + top, pane.size.width, here[2] - here[1] + 1)
        return block.intersection(pane.region)

    def visible_stops(self) -> list[Stop]:
        """Return the selectable blocks that have a visible line."""
        pane, galley = self.pane, self.pane.galley
        if not len(galley):
            return []
        out: list[Stop] = []
        unit, start = pane.top.unit, -pane.top.line
        covered = pane.contents.covered(pane.top)
        while unit < len(galley) and start < pane.rows:
            out += [stop for stop in self.stops_of(unit) if start + stop[2] >= covered and start + stop[1] < pane.rows]
            start += len(galley.lines(unit))
            unit += 1
        return pane.contents.reachable(out)

    def keep_in_view(self) -> None:
        """Select a visible block after a resize or a new layout moved the selected block below the last row."""
        if self.at is not None:
            self.bring_along(down=False)  # The top stays in place, so the block moved below the last row.

    def bring_along(self, *, down: bool) -> None:
        """Select the first visible block if the selected block is not visible, or the last unless `down`."""
        on_show = self.visible_stops()
        here = self.stop()
        if on_show and here is not None and all(stop[3] is not here[3] for stop in on_show):
            self.put(on_show[0] if down else on_show[-1], bring=None)

    def put(self, stop: Stop, *, bring: Bring | None = "near") -> None:
        """Select a block and scroll to it, unless `bring` is None."""
        unit, first, last, block = stop
        self.at = (unit, block)
        self.pane.moved_at = time.perf_counter()
        if bring is not None:
            self.show_lines(unit, first, last, bring)
            self.at = (unit, block)  # Scrolling may have selected another block.
        self.pane.repaint()
        self.pane.tell()

    def bring_whole(self) -> None:
        """Scroll as little as needed to show the selected block completely. A block higher than the reader stays in
        place while its text is read."""
        if (here := self.stop()) is None:
            return
        unit, first, last, block = here
        inside = _inside(block)
        last = max([last, *(stop[2] for stop in self.stops_of(unit) if id(stop[3]) in inside)])
        room = self.pane.rows
        begins = distance(self.pane.galley, self.pane.top, Top(unit, first), 2 * room)
        is_read = begins <= 1 and begins + last - first > room // 3
        if last - first < room or not is_read:
            self.show_lines(unit, first, last, "near")

    def show_lines(self, unit: int, first: int, last: int, bring: Bring) -> None:
        """Scroll to lines of a unit, below the sticky table head."""
        pane, place = self.pane, Top(unit, first)
        top = top_showing(pane.galley, pane.top, pane.rows, place, last - first + 1, bring)
        if 0 <= distance(pane.galley, top, place, pane.rows) < (covered := pane.contents.covered(top)):
            top = above(pane.galley, place, covered, pane.rows)
        pane.go(top)

    def go_to_edge(self, end: int) -> None:
        """Scroll to the top, or to the bottom if `end` is 1, and select the block there."""
        self.pane.go(end_of(self.pane.galley, self.pane.rows) if end else START)
        if on_show := self.visible_stops():
            self.put(on_show[-1 if end else 0], bring=None)

    def move(self, step: int) -> None:
        """Select the next block, or the previous block if `step` is negative."""
        here = self.stop()
        if here is not None:
            following = next(self.stops_from(here[0], here[3], step, lambda unit: True), None)
            self.put(following or here)

    def pan(self, step: int) -> None:
        """Scroll the first wide block sideways, starting at the selected block."""
        pane = self.pane
        here = self.stop()
        for stop in ([] if here is None else [here]) + self.visible_stops():
            wide = {block.key for block in pane.contents.wide_at(stop) if pane.folds.hidden.get(block.key)}
            if wide:
                moved = [pane.folds.pan_by(key, step * _PAN) for key in sorted(wide)]
                if any(moved):
                    pane.change(stop[0])
                return
        pane.explain("Nothing to scroll here: no code or table is wider than the pane.")

    def next(self, step: int, wanted: Callable[[Stop], bool], among: Callable[[int], bool]) -> Stop | None:
        """Return the next selectable block that passes `wanted`, or the previous. Units that fail `among` are skipped
        without being laid out."""
        here = self.stop()
        if here is None:
            return None
        return next((stop for stop in self.stops_from(here[0], here[3], step, among) if wanted(stop)), None)


def _pan(step: int) -> Callable[[object, BlockCursor], None]:
    return lambda _, cursor: cursor.pan(step)


PANNING: Commands[BlockCursor] = Commands(
    "page",
    (
        Command("pan_right", "right", "Scroll right", "Scroll wide code or tables to the right", run=_pan(1), shown=False),
        Command("pan_left", "left", "Scroll left", "Scroll wide code or tables to the left", run=_pan(-1), shown=False),
    ),
    find=lambda view: view.cursor,
)  # fmt: skip


def _inside(block: Block | None) -> frozenset[int]:
    """Return the identities of a block and all blocks inside it. Level by level: three times as fast for a huge
    table."""
    found: set[int] = set()
    row = [block] if block is not None else []
    while row:
        found.update(map(id, row))
        row = [child for each in row for child in each.children]
    return frozenset(found)


_NAMES = {
    "row": "table row",
    "item": "list item",
    "content-ref": "page link",
    "include": "reusable content",
    "openapi": "OpenAPI block",
    "api-method": "API operation",
    "api-section": "API section",
    "api-parameter": "API parameter",
    "api-response": "API response",
    "if": "conditional content",
    "else": "conditional content",
}
"""Names of block kinds in messages, if they differ from the kind."""


class CursorBlock:
    """Commands for the selected block."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self.why_no_comment_here: Callable[[], str | None] = lambda: None
        """Returns why comments are disabled on this screen, for example because of the user's role. None if comments
        are allowed."""

    def open(self) -> None:
        """Open the thread or the link of the block. If the block has several links, show hints. If it has neither,
        request its thread."""
        stop = self.pane.cursor.stop()
        if stop is None:
            return
        if (hangs := self.pane.contents.thread_at(stop)) is not None:
            self.pane.post_message(self.pane.ThreadWanted(hangs))
        elif hots := self.pane.spots.at_cursor():
            self.pane.spots.open_one(hots)
        else:
            self.pane.post_message(self.pane.ThreadWanted(stop[3]))

    def copy(self) -> None:
        """Copy the block."""
        if (stop := self.pane.cursor.stop()) is not None:
            self.copy_as(copied_text(stop[3]), _NAMES.get(stop[3].kind, stop[3].kind))

    def copy_as(self, text: str, what: str) -> None:
        """Copy text. `what` names the text in the message."""
        self.pane.app.copy_to_clipboard(text)
        self.pane.post_message(self.pane.Copied(text, what))

    def comment(self) -> None:
        """Request a comment on the block."""
        if (stop := self.pane.cursor.stop()) is not None:
            self.pane.post_message(self.pane.BlockChosen(stop[3]))

    @property
    def why_no_comment(self) -> str | None:
        """Disabled reason of the comment command. None if it is enabled."""
        return self.why_no_comment_here()


AT_CURSOR: Commands[CursorBlock] = Commands(
    "page",
    (
        Command("comment", "c", "Comment", "Comment on the block",
                writes=True, run=lambda _, block: block.comment(), why_not=lambda _, block: block.why_no_comment),
        Command("open", "enter", "Open", "Open the link, image, file, or thread in the block", run=lambda _, block: block.open(), shown=False),
        Command("yank", "y", "Copy", "Copy the block", run=lambda _, block: block.copy(), shown=False),
    ),
    find=lambda view: view.cursor_block,
)  # fmt: skip
