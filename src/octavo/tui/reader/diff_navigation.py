"""Navigation in a diff: the position when a page is opened, and the commands for changes, threads and headings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message

from octavo.documents import anchors
from octavo.documents.blocks import Block
from octavo.tui.reader.contents import Stop
from octavo.tui.reader.moves import START, Top, above, distance
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_sequence import build_source_diff
from octavo.tui.render.diff_units import DiffUnit, DiffUnits, may_contain
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.unit_layout import LaidUnits
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.diff_view import DiffView

_SLICES_WITH_IT = 6
"""Slices of a block that are searched for the block to select. Laying out all slices may take seconds."""


NO_BLOCKS = frozenset(("fold", "note", "change", "thread"))
"""Kinds of selectable rows of a diff that are not blocks of the page."""


class ThreadBeyond(Message):
    """The user wants the next open thread after the last of this page, or with -1 the thread before the first."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class DiffNavigation:
    """Reading position in a diff, and jumps to changes and threads."""

    def __init__(self, pane: DiffView) -> None:
        self.pane, self.contents, self.cursor = pane, pane.contents, pane.cursor
        self.places: dict[str, ReadingPosition] = {}
        """Last reading positions by page key."""
        self._made_of: PageComparison | None = None
        """Comparison that the visible units show."""
        self._hung_on: dict[str, str] = {}
        """Block key of each visible thread: the cursor selects that block when the thread disappears."""
        self._is_to_meet = False
        self._met: tuple[Block, Top] | None = None
        """Selected block and top line after the page was opened."""
        self._is_met_anew = False
        """True if the page was opened at its first change, and not at a restored position."""
        self._awaited = ""
        """Key of the thread to select once the page has lines."""

    @property
    def change_number(self) -> int:
        """Number of the selected change, or of the last change above the cursor. 0 above the first change."""
        here = self.cursor.stop()
        unit = here[0] if here is not None else 0
        units = self.contents.changed.units
        before = (units[at].change_number for at in range(min(unit, len(units) - 1), -1, -1))
        return 1 + next((change for change in before if change >= 0), -1)

    # Opening a page

    def meet(self) -> None:
        """Restore the last position on this page, otherwise select the first change or the first open thread. Waits for
        a layout if there are no lines yet."""
        self._is_to_meet = True
        if len(self.pane.galley):
            self._meet()

    def _meet(self) -> None:
        self._is_to_meet, self._met, self.cursor.at = False, None, None
        self.pane.go(START)
        awaited, self._awaited = self._awaited, ""
        if awaited and self.bring_thread(awaited):
            self.cursor.bring_whole()
            return
        place = self.places.get(self.contents.key) if not self.contents.shows_source else None
        known = self._known(Block("", key=place.block)) if place is not None else None
        fold = self._fold_of(known) if known is not None else None
        if fold is not None:
            self._is_to_meet = True
            self._unfold(fold)  # Building the units restores the position.
            return
        stop = self._stop_on(known) if known is not None else None
        if place is None or stop is None:
            place, stop = None, self._change_from(-1, 1) or self._thread_from(-1, None, 1)
        self._is_met_anew = place is None
        if stop is None:
            return
        unit, first, last, block = stop
        self.cursor.put(stop, bring=None)
        height, rows, galley = last - first + 1, self.pane.rows, self.pane.galley
        if place is not None:
            self.pane.go(above(galley, Top(unit, first), place.below, rows))
        elif distance(galley, START, Top(unit, first), rows) + min(height, rows // 2) > rows:
            self.pane.go(above(galley, Top(unit, first), max(2, min(rows // 3, rows - height)), rows))
        self._met = (block, self.pane.top)

    def note_place(self) -> None:
        """Store the reading position on this page, if the user has moved."""
        here = self.cursor.stop() if self.cursor.at is not None and not self.contents.shows_source else None
        if here is not None and not self._is_as_met:
            below = distance(self.pane.galley, self.pane.top, Top(*here[:2]), self.pane.rows)
            self.places[self.contents.key] = ReadingPosition(here[3].key, below)

    def _known(self, block: Block) -> Block:
        """Return the block of the current comparison with the same key. If there is none, return the given block."""
        if self.contents.compared is None or block.kind in NO_BLOCKS or block.key in self.contents.thread_keys:
            return block
        return self.contents.compared.find(block.key) or block

    def _fold_of(self, block: Block) -> DiffUnit | None:
        """Return the collapsed unit that hides a block. None if the block is visible."""
        return next((unit for unit in self.contents.changed.units if unit.hidden_blocks and unit.hides(block)), None)

    def _unfold(self, fold: DiffUnit, then: Callable[[], object] | None = None) -> None:
        """Expand collapsed lines, then call `then`."""
        self.contents.unfolding.expanded.update(block.key for block in fold.hidden_blocks)
        self.contents.making.make(then)

    @property
    def _is_as_met(self) -> bool:
        """True if the user has not moved since the page was opened."""
        here = self.cursor.at[1] if self.cursor.at is not None else None
        return self._met is not None and here is self._met[0] and self.pane.top == self._met[1]

    @property
    def meets(self) -> bool:
        """True from opening the page until the user moves."""
        return self._is_to_meet or self._is_as_met

    # Laying out

    def made(self, units: DiffUnits, laid: LaidUnits | None) -> None:
        """Show the units that were built, and keep the selected block at its row. `laid` has the units that the thread
        laid out."""
        here, is_same, self._made_of = (
            self.cursor.stop(),
            self._made_of is self.contents.compared,
            self.contents.compared,
        )
        hung_on = self._hung_on.get(here[3].key, "") if here is not None and here[3].kind == "thread" else ""
        self._hung_on = {each.key: key for key, row in self.contents.threads.items() for each in row}
        self.contents.ready = units
        if here is not None and not is_same:
            here = (*here[:3], self._known(here[3]))  # The new comparison has other blocks.
        if self.meets:
            self.pane.reset(laid=laid)
        else:
            self._set_around(here, hung_on, laid)
        self.pane.finder.content_changed()
        self.pane.refresh_bindings()
        self.pane.tell()

    def _set_around(self, here: Stop | None, hung_on: str, laid: LaidUnits | None) -> None:
        """Lay out again and keep the selected block at its row. If it was a thread that is gone, select the block
        `hung_on`."""
        galley, rows = self.pane.galley, self.pane.rows
        below = distance(galley, self.pane.top, Top(*here[:2]), rows) if here is not None else 0
        self.pane.reset(laid=laid)
        if here is None:
            return
        stop = self._stop_on(here[3])
        if stop is None and hung_on:
            stop = self._stop_on(self._known(Block("", key=hung_on)))
        if stop is not None:
            if self.cursor.at is not None:  # None: the cursor follows the first visible block.
                self.cursor.at = (stop[0], stop[3])
            self.pane.go(above(self.pane.galley, Top(*stop[:2]), below, rows))
            if self.pane.covered_rows:
                self.cursor.bring_whole()  # New replies of the thread may be covered.

    def _stop_on(self, block: Block) -> Stop | None:
        """Return where a block is shown, otherwise a block with the same key. None if there is none."""
        named: Stop | None = None
        tries = _SLICES_WITH_IT
        known: dict[int, bool] = {}

        def has(top: Block) -> bool:
            if id(top) not in known:  # Cached: all slices of a table have the same block.
                known[id(top)] = top.has(block.key)
            return known[id(top)]

        units = self.contents.changed.units
        stands = block.kind and block.kind not in NO_BLOCKS  # Other rows are no blocks of the page.
        for unit in self.contents.changed.units_at_line(block.lines[0]) if stands else range(len(units)):
            each = units[unit]
            if stands:
                is_here = any(may_contain(top, block) and has(top) for top in each.blocks)
            else:
                is_here = bool(each.threads) or (each.block is not None and each.block.key == block.key)
            if is_here:
                for stop in self.cursor.stops_of(unit):
                    if stop[3] is block:
                        return stop
                    named = named or (stop if stop[3].key == block.key else None)
                tries -= not each.threads
                if not tries:
                    break
        return named

    # Threads, changes and collapsed lines

    def next_thread(self, step: int) -> None:
        """Go to the next or previous open thread, also on other pages."""
        if self.contents.shows_source and self.contents.has_open_threads:
            self.pane.explain("The source diff shows no threads. Press \\ to switch to the rendered diff.")
        elif not len(self.pane.galley) or not self.go_to_thread(step):
            self.pane.post_message(ThreadBeyond(step))

    def go_to_thread(self, step: int, *, all_of_it: bool = False) -> bool:
        """Go to the next or previous open thread. Return False if there is none.

        The search starts at the selected block, or with `all_of_it` at the beginning or end of the page. It also starts
        at the beginning if the user has not moved: the first change may be below the first thread."""
        here = self.cursor.stop() if self.cursor.at is not None and not all_of_it else None
        if here is not None and step > 0 and self._is_met_anew and self._is_as_met and here[3].kind != "thread":
            here = None
        at, block = (here[0], here[3]) if here is not None else (-1 if step > 0 else len(self.pane.galley), None)
        stop = self._thread_from(at, block, step)
        if stop is not None:
            self.cursor.put(stop, bring="third")
        return stop is not None

    def bring_thread(self, key: str) -> bool:
        """Select the thread `key`, once there are lines. Return False if it is not on this page."""
        if not len(self.pane.galley) and not self.contents.shows_source and key in self.contents.thread_keys:
            self._awaited, self._is_to_meet = key, True
            return True
        stop = self._stop_on(Block("thread", key=key))
        if stop is not None:
            self.cursor.put(stop, bring=None)
        return stop is not None

    def _thread_from(self, unit: int, block: Block | None, step: int) -> Stop | None:
        """Return the next or previous open thread from a block on. None if there is none."""
        units = self.contents.changed.units
        among = self.cursor.stops_from(unit, block, step, lambda unit: bool(units[unit].threads))
        return next((stop for stop in among if stop[3].kind == "thread" and stop[3].attrs["open"]), None)

    def go_to_change(self, step: int) -> None:
        """Go to the next or previous change. During a search, go to the next or previous match."""
        if self.pane.finder.needle:
            self.pane.finder.step(step)
            return
        here = self.cursor.stop() if self.cursor.at is not None else None
        at = here[0] if here is not None else -1 if step > 0 else len(self.pane.galley)
        stop = self._change_from(at, step)
        if stop is not None:
            self.cursor.put(stop, bring="third")
        else:
            which, is_more, way = (
                ("last", self.contents.has_page_after, " Press J for the next page.")
                if step > 0
                else ("first", self.contents.has_page_before, " Press K for the previous page.")
            )
            self.pane.explain(f"This is the {which} change on this page.{way if is_more else ''}")

    def _change_from(self, unit: int, step: int) -> Stop | None:
        """Return the next or previous change from a unit on, with all its lines. None if there is none.

        The block is of the new version if there is one: comments are usually about the new version."""
        units = self.contents.changed.units
        among = range(unit + step, len(units) if step > 0 else -1, step)
        found = next(
            filter(None, (self.cursor.stops_of(each) for each in among if units[each].change_number >= 0)), None
        )
        if not found:
            return None
        at, _, _, block = next((stop for stop in found if not self.contents.is_old(stop[3])), found[0])
        return at, found[0][1], len(self.pane.galley.lines(at)) - 1, block

    def open_fold(self, key: str) -> None:
        """Expand collapsed lines, and select the first block of them."""
        units = self.contents.changed.units
        at = next((index for index, unit in enumerate(units) if unit.block is not None and unit.block.key == key), None)
        if at is None:
            return
        self._met = None  # Keep the current position.
        self._unfold(units[at], partial(self._stand_on, units[at].hidden_blocks[0]))

    def unfold(self) -> None:
        """Expand the selected unchanged lines, otherwise show more unchanged lines everywhere."""
        here = self.cursor.stop()
        if here is not None and here[3].kind == "fold":
            self.open_fold(here[3].key)
            return
        self.contents.unfolding.increase()
        self.contents.making.make()

    def fold(self) -> None:
        """Show fewer unchanged lines."""
        self.contents.unfolding.decrease()
        self.contents.making.make()

    def show_source(self, *, turns: bool = False) -> None:
        """Build the diff of the Markdown source. If it `turns`, then switch between source and rendered diff."""
        if (compared := self.contents.compared) is not None:
            self.pane.run_worker(self._show_source(compared, turns=turns), group="source", exclusive=True)

    async def _show_source(self, compared: PageComparison, *, turns: bool) -> None:
        made = await asyncio.to_thread(lambda: build_source_diff(compared.hunks).complete())
        if compared is not self.contents.compared:
            return
        self.contents.of_source = made
        if turns:
            self.contents.shows_source = not self.contents.shows_source
            self.cursor.at = None
            self.contents.drop_units()
            self.meet()
        self.contents.making.make()

    def _stand_on(self, block: Block) -> None:
        """Select a visible block."""
        if (stop := self._stop_on(block)) is not None:
            self.cursor.put(stop, bring=None)

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to the heading of the new version that `anchor` names. Return False if there is none."""
        headings = self.contents.compared.new.headings if self.contents.compared is not None else ()
        if (heading := anchors.find_heading(anchor.lstrip("#"), headings)) is None:
            return False
        block = heading.block
        if self.contents.shows_source or self.contents.layout_now == "old":
            self.contents.shows_source, self.contents.layout = False, "changes"
            self.contents.making.make(partial(self._go_to_heading, block))
            return True
        return self._go_to_heading(block)

    def _go_to_heading(self, block: Block) -> bool:
        if (fold := self._fold_of(block)) is not None:
            self._met = None
            self._unfold(fold, partial(self._go_to_heading, block))
            return True
        if (stop := self._stop_on(block)) is not None:
            self.cursor.put(stop, bring="top")
        return stop is not None


def _why_no_change(_: object, place: DiffNavigation) -> str | None:
    return "No changes on this page." if not place.contents.change_count and not place.pane.finder.needle else None


def _why_no_thread(_: object, place: DiffNavigation) -> str | None:
    if place.contents.threads_elsewhere or place.contents.has_open_threads:
        return None
    return "No open threads here. Press c to comment on the selected block."


def _can_be_spoken_of(_: object, place: DiffNavigation) -> bool:
    return not place.contents.is_outcome


CHANGES: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("next_hit", "n", "Next change", "Go to the next change or match",
                run=lambda _, place: place.go_to_change(1), why_not=_why_no_change),
        Command("prev_hit", "N", "Previous change", "Go to the previous change or match",
                run=lambda _, place: place.go_to_change(-1), why_not=_why_no_change, shown=False),
    ),
    find=lambda view: view.place,
)  # fmt: skip
DIFF_THREADS: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("next_thread", "t", "Next thread", "Go to the next open thread",
                run=lambda _, place: place.next_thread(1), why_not=_why_no_thread, there=_can_be_spoken_of),
        Command("prev_thread", "T", "Previous thread", "Go to the previous open thread",
                run=lambda _, place: place.next_thread(-1), why_not=_why_no_thread, there=_can_be_spoken_of, shown=False),
    ),
    find=lambda view: view.place,
)  # fmt: skip
LAYOUT: Commands[DiffNavigation] = Commands(
    "diff",
    (
        Command("unfold", "equals_sign", "More context", "Show more unchanged lines",
                run=lambda _, place: place.unfold()),
        Command("fold", "minus", "Less context", "Show fewer unchanged lines", run=lambda _, place: place.fold(), shown=False),
        Command("layout", "vertical_line", "Split/unified", "Switch between split and unified diff",
                run=lambda _, place: place.contents.next_layout(), why_not=lambda _, place: place.contents.why_no_layout, shown=False, key_display="|"),
        Command("source", "backslash", "Source", "Switch between rendered and source diff",
                run=lambda _, place: place.show_source(turns=True), shown=False),
    ),
    find=lambda view: view.place,
)  # fmt: skip
