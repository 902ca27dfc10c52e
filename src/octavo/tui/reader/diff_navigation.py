"""Going about in a diff: to its first change when it is opened, from change to change, to threads and headings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from octavo.documents.blocks import Block
from octavo.tui.reader.cursor_pane import Stop
from octavo.tui.reader.two_sided_pane import TwoSided
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_units import Changes, DiffUnit, Unfolding, may_hold
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.thread_lines import ThreadLine
from octavo.tui.render.virtual_lines import ScrollAnchor

_SLICES_WITH_IT = 6
"""Slices of a block that are looked at for where one stood: all of them together may take seconds to be set."""


NO_BLOCKS = frozenset(("fold", "note", "change", "thread"))
"""What a cursor is on that is no block of the page."""


class GoingAbout(TwoSided):
    """A diff one goes about in. A subclass makes its units (`make_galley`)."""

    threads: Mapping[str, Sequence[ThreadLine]]
    unfolding: Unfolding
    changed: Changes
    """What is on show."""
    places: dict[str, ReadingPosition]
    """Where one was on the pages one was on, by their keys."""
    _made_of: Compared | None = None
    """What the units on show were made of."""
    _is_to_meet = False
    _met: tuple[Block, int] | None = None
    """The block under the cursor and the line at the top as one met the page."""
    _is_met_anew = False
    """Whether one met it at its first change, not where one left it."""

    @property
    def change_number(self) -> int:
        """Which change the cursor is on or after, counted from 1; 0 before the first."""
        here = self.cursor_stop()
        unit = here[0] if here is not None else 0
        units = self.changed.units
        before = (units[at].change for at in range(min(unit, len(units) - 1), -1, -1))
        return 1 + next((change for change in before if change >= 0), -1)

    @property
    def change_count(self) -> int:
        """How many changes there are."""
        return self.changed.count

    def together(self, unit: int) -> range:
        units, first, last = self.changed.units, unit, unit
        while units[first].part > 1:
            first -= 1
        while last + 1 < len(units) and units[last + 1].part > 1:
            last += 1
        return range(first, last + 1)

    # Meeting a page

    def meet(self) -> None:
        """Put the cursor where one was on this page, else on the first change or, without any, the first open thread, and
        bring that in view if it is not: at once, or once there is room."""
        self._is_to_meet = True
        if len(self.galley):
            self._meet()

    def _meet(self) -> None:
        self._is_to_meet, self._met, self.cursor = False, None, None
        self.scroll_to(y=0, animate=False, immediate=True, force=True)
        place = self.places.get(self.key) if not self.shows_source else None
        known = self._known(Block("", key=place.block)) if place is not None else None
        fold = self._fold_of(known) if known is not None else None
        if fold is not None:
            self._is_to_meet = True
            self._unfold(fold)  # and meets it then
            return
        stop = self._stop_on(known) if known is not None else None
        if place is None or stop is None:
            place, stop = None, self._change_from(-1, 1) or self._thread_from(-1, None, 1)
        self._is_met_anew = place is None
        if stop is None:
            return
        unit, first, last, block = stop
        self.put_cursor(stop, bring=None)
        self.settle_around(unit)
        height = last - first + 1
        if place is not None:
            self.go_to(unit, first, below=place.below)
        elif self.galley.top(unit) + first + min(height, self.rows // 2) > self.rows:
            self.go_to(unit, first, below=max(2, min(self.rows // 3, self.rows - height)))
        self._met = (block, self.scroll_offset.y)

    def note_place(self) -> None:
        """Remember where one is on this page, if one went anywhere."""
        here = self.cursor_stop() if self.cursor is not None and not self.shows_source else None
        if here is not None and not self._is_as_met:
            below = self.galley.top(here[0]) + here[1] - self.scroll_offset.y
            self.places[self.key] = ReadingPosition(here[3].key, below)

    def _known(self, block: Block) -> Block:
        """The block of either page that has the name of another, which may be of before; or else that one."""
        on_threads = (each.key for row in self.threads.values() for each in row)
        if self.compared is None or block.kind in NO_BLOCKS or block.key in on_threads:
            return block
        return self.compared.new.find(block.key) or self.compared.old.find(block.key) or block

    def _fold_of(self, block: Block) -> DiffUnit | None:
        """The fold a block is in."""

        def is_in(fold: DiffUnit) -> bool:
            return any(may_hold(each, block) and each.has(block.key) for each in fold.hidden)

        return next((unit for unit in self.changed.units if unit.hidden and is_in(unit)), None)

    def _unfold(self, fold: DiffUnit, then: Callable[[], object] | None = None) -> None:
        """Show what a fold hides, and do `then`."""
        self.unfolding.opened.update(block.key for block in fold.hidden)
        self.make_units(then)

    @property
    def _is_as_met(self) -> bool:
        """Whether nobody has moved since one met the page."""
        here = self.cursor[1] if self.cursor is not None else None
        return self._met is not None and here is self._met[0] and self.scroll_offset.y == self._met[1]

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        meets = self._is_to_meet or self._is_as_met
        super().reset(anchor=anchor)
        if meets:
            self.meet()

    # Laying out

    def wanted_units(self) -> Changes:
        raise NotImplementedError

    def made(self, units: UnitReader[DiffUnit]) -> None:
        """Set the units that were made, the block under the cursor where it is on the screen."""
        assert isinstance(units, Changes), "A diff is made of them"
        here, is_same, self._made_of = self.cursor_stop(), self._made_of is self.compared, self.compared
        self.changed = units
        if here is not None and not is_same:
            here = (*here[:3], self._known(here[3]))  # it stands on other lines now
        if self._is_to_meet or self._is_as_met:
            self.reset()
        else:
            self._set_around(here)
        self.content_changed()
        self.refresh_bindings()
        self.tell()

    def _set_around(self, here: Stop | None) -> None:
        above = self.galley.top(here[0]) + here[1] - self.scroll_offset.y if here is not None else 0
        self.reset()
        if here is None:
            return
        if (stop := self._stop_on(here[3])) is not None:
            self.settle_around(stop[0])  # what comes to stand above it is as high as it is, not as it is guessed
            if self.cursor is not None:  # else there is no change: nobody has put it anywhere
                self.cursor = (stop[0], stop[3])
            self.go(self.galley.top(stop[0]) + stop[1] - above)

    def _stop_on(self, block: Block) -> Stop | None:
        """Where a block is shown, or else one of its name."""
        named: Stop | None = None
        tries = _SLICES_WITH_IT
        known: dict[int, bool] = {}

        def has(top: Block) -> bool:
            if id(top) not in known:  # all slices of a table are of the one table
                known[id(top)] = top.has(block.key)
            return known[id(top)]

        stands = block.kind and block.kind not in NO_BLOCKS  # what else one is on stands nowhere on a page
        for unit, each in enumerate(self.galley.units):
            if stands:
                is_here = any(may_hold(top, block) and has(top) for top in each.blocks)
            else:
                is_here = bool(each.threads) or (each.block is not None and each.block.key == block.key)
            if is_here:
                for stop in self.stops_of(unit):
                    if stop[3] is block:
                        return stop
                    named = named or (stop if stop[3].key == block.key else None)
                tries -= not each.threads
                if not tries:
                    break
        return named

    # Going

    def has_open_on(self, key: str) -> bool:
        """Whether an open thread hangs on the block called `key`."""
        return any(thread.open for thread in self.threads.get(key, ()))

    def go_to_thread(self, step: int, *, all_of_it: bool = False) -> bool:
        """Go to the open thread after (or before) what is under the cursor, or `all_of_it`: to the first (or last) of the
        page. False when there is none. Who only met the page begins at its top: its first change may lie below a thread."""
        here = self.cursor_stop() if self.cursor is not None and not all_of_it else None
        if here is not None and step > 0 and self._is_met_anew and self._is_as_met and here[3].kind != "thread":
            here = None
        at, block = (here[0], here[3]) if here is not None else (-1 if step > 0 else len(self.galley), None)
        with self.steady():
            stop = self._thread_from(at, block, step)
        if stop is not None:
            self.put_cursor(stop, bring="third")
        return stop is not None

    def _thread_from(self, unit: int, block: Block | None, step: int) -> Stop | None:
        """The next open thread from a block of a unit on."""
        units = self.changed.units
        among = self.stops_from(unit, block, step, lambda unit: bool(units[unit].threads))
        return next((stop for stop in among if stop[3].kind == "thread" and stop[3].attrs["open"]), None)

    def go_to_change(self, step: int) -> bool:
        """Go to the change after (or before) the one under the cursor. False when there is none."""
        here = self.cursor_stop() if self.cursor is not None else None
        at = here[0] if here is not None else -1 if step > 0 else len(self.galley)
        with self.steady():
            stop = self._change_from(at, step)
        if stop is not None:
            self.put_cursor(stop, bring="third")
        return stop is not None

    def _change_from(self, unit: int, step: int) -> Stop | None:
        """The next change from a unit on, with all its lines: on the new side where it has one, as a comment is about the
        page as it is unless one goes to the other side."""
        units = self.changed.units
        among = range(unit + step, len(units) if step > 0 else -1, step)
        found = next(filter(None, (self.stops_of(each) for each in among if units[each].change >= 0)), None)
        if not found:
            return None
        at, _, _, block = next((stop for stop in found if not self.is_old(stop[3])), found[0])
        return at, found[0][1], len(self.galley.lines(at)) - 1, block

    def open_fold(self, key: str) -> None:
        """Show what a fold hides, the cursor on the first of it."""
        units = self.changed.units
        at = next((index for index, unit in enumerate(units) if unit.block is not None and unit.block.key == key), None)
        if at is None:
            return
        self._met = None  # one stays where one is
        self._unfold(units[at], partial(self._stand_on, units[at].hidden[0]))

    def _stand_on(self, block: Block) -> None:
        """Put the cursor on a block, which is on show."""
        if (stop := self._stop_on(block)) is not None:
            self.put_cursor(stop, bring=None)

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to a heading of the page as it is. False when it has none of that name."""
        headings = self.compared.new.headings if self.compared is not None else ()
        block = next((each.block for each in headings if each.anchor == anchor.lstrip("#")), None)
        if block is None:
            return False
        if self.shows_source or self.layout_now == "old":
            self.shows_source, self._layout = False, "changes"
            self.make_units(partial(self._go_to_heading, block))
            return True
        return self._go_to_heading(block)

    def _go_to_heading(self, block: Block) -> bool:
        if (fold := self._fold_of(block)) is not None:
            self._met = None
            self._unfold(fold, partial(self._go_to_heading, block))
            return True
        if (stop := self._stop_on(block)) is not None:
            self.put_cursor(stop, bring="top")
        return stop is not None
