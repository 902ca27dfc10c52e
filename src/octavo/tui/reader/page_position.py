"""The reading position on a page: headings, anchors, the source view, and positions to restore after navigation or
while the page is still loading."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from octavo.documents import anchors
from octavo.documents.blocks import Block, Document
from octavo.tui.reader.contents import STILL, is_at_end
from octavo.tui.reader.moves import START, Bring, Top, above, distance, lines_from, position_of
from octavo.tui.reader.page_contents import left_out
from octavo.tui.render.layout_context import path_to_block
from octavo.tui.render.page_parts import anchors_above
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.page_view import PageView

_SLICES_WITH_IT = 4
"""Slices of a block that are searched for a block to select. Laying out all slices may take seconds."""


class PendingJump(NamedTuple):
    """A jump to a heading, block or footnote that is not parsed yet, with the reading position when it was
    requested."""

    anchor: str
    """Anchor, block key or footnote label."""
    asked_at: ReadingPosition
    by_link: bool = False
    """True if a link requested the jump: a missing target is then reported."""
    show: Callable[[Block | None], None] | None = None
    """Callback for a footnote, called with None if the page has no such footnote."""


class ReadingPlace:
    """Reading position on the page of a `PageView`."""

    def __init__(self, pane: PageView) -> None:
        self.pane, self.contents, self.cursor = pane, pane.contents, pane.cursor
        self.coming_back: tuple[str, ReadingPosition] | None = None
        """Key of the page to return to, and the position to restore. None if nothing is to be restored."""
        self._asked_at = ReadingPosition()
        """Reading position when `come_back` was called."""
        self._left_standing: tuple[ReadingPosition, ReadingPosition] | None = None
        """The position to restore once the whole page is parsed, and the position until then."""
        self.is_latest = True
        """False while a newer version of the page is loading: a missing anchor may be in the newer version."""
        self.wanted: PendingJump | None = None
        self._anchors: tuple[Document, dict[str, str]] | None = None

    def left(self) -> None:
        """Forget positions of the page that was shown."""
        self._left_standing = self._anchors = None

    # Headings and blocks

    @property
    def current_anchor(self) -> str:
        """Anchor of the last heading above or at the selected block. Empty if there is none.

        At the end of a scrolled page, this is the anchor of the last visible block: later headings cannot scroll to the
        top."""
        document, here = self.contents.document, self.cursor.stop()
        if document is None or here is None:
            return ""
        if self.pane.first_line and is_at_end(self.pane):
            on_show = self.cursor.visible_stops()
            here = on_show[-1] if on_show and on_show[0][3] is here[3] else here
        if self._anchors is None or self._anchors[0] is not document:
            self._anchors = (document, anchors_above(document))
        return self._anchors[1].get(here[3].key, "")

    def go_to_heading(self, step: int) -> None:
        """Select the next heading, or the previous heading if `step` is negative."""

        def may_have(unit: int) -> bool:
            block = units[unit].slice or units[unit].block
            return block.kind == "heading" or (
                bool(block.children) and any(each.kind == "heading" for each in block.walk())
            )

        units = self.pane.galley.units
        if (found := self.cursor.next(step, lambda stop: stop[3].kind == "heading", may_have)) is not None:
            self.cursor.put(found, bring="top")

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to the heading or the block that `anchor` names, or to the top if `anchor` is empty.

        Return False if there is no such heading or block, or if it is not parsed yet."""
        wanted = anchor.lstrip("#")
        document = self.contents.document
        if document is None:
            self.wanted = PendingJump(wanted, ReadingPosition())
            return False
        if not wanted:
            self._go_to_top()
            return True
        if self.contents.shows_source:
            self.turn_source()
        self.coming_back = self._left_standing = None
        here = self.here()
        heading = anchors.find_heading(wanted, document.headings)
        if heading is not None and heading.anchor != wanted and not self.contents.is_whole:
            heading = None  # A heading with exactly this anchor may follow in the rest of the page.
        block = heading.block if heading is not None else None
        if block is not None and block is left_out(document.blocks, self.contents.head):
            self._go_to_top()
            found = True
        elif block is not None and not self.contents.is_whole:
            # The heading can scroll to the top only after more lines follow it.
            self.come_back(self.contents.key, ReadingPosition(block.key, 1))
            self._asked_at = here
            self.go_back()
            found = True
        else:
            found = self.go_to_block(block.key if block is not None else wanted)
        self.wanted = None if found or (self.contents.is_whole and self.is_latest) else PendingJump(wanted, here)
        return found

    def _go_to_top(self) -> None:
        if self.contents.shows_source:
            self.turn_source()
        self.cursor.at = None
        self.pane.go(START)
        self.pane.repaint()
        self.pane.tell()

    def go_to_block(self, key: str, bring: Bring | None = "top") -> bool:
        """Select a block and scroll to it, and expand blocks that hide it. Return False if there is no such block."""
        if self.contents.shows_source:
            self.turn_source()
        tries = _SLICES_WITH_IT
        for unit, each in enumerate(self.pane.galley.units):
            top = each.slice or each.block
            path = path_to_block(top, key)
            if not path:
                continue
            if self.pane.folds.reveal(path):
                self.pane.change(unit)
            # Some blocks are not selectable: select a block inside or around them.
            around = {block.key for block in path if block.key}
            inside = {block.key for block in path[-1].walk() if block.key}
            stops = self.cursor.stops_of(unit)
            within = (stop for stop in stops if stop[3].key in inside)
            outside = (stop for stop in reversed(stops) if stop[3].key in around)
            exact = (stop for stop in stops if stop[3].key == key)
            if (stop := next(chain(exact, outside, within), None)) is not None:
                self.cursor.put(stop, bring=bring)
                return True
            if (tries := tries - 1) == 0:
                return False
        return False

    # Restore the position of a page that is opened again

    @property
    def standing(self) -> ReadingPosition:
        """Reading position with all expanded blocks, to restore when this page is opened again."""
        if self._left_standing is not None and not self.here().has_moved(self._left_standing[1]):
            return self._left_standing[0]
        return self.here()._replace(folds=deepcopy(self.pane.folds))

    def stand(self, as_before: ReadingPosition) -> None:
        """Restore a reading position, or wait until that part of the page is parsed."""
        if as_before.folds is not None:
            self.pane.folds = deepcopy(as_before.folds)
        units, top = self.pane.galley.units, as_before.top
        if self.contents.is_whole or not top or any(path_to_block(each.slice or each.block, top) for each in units):
            self._stand(as_before)
        else:
            self.pane.reset()
        self._left_standing = None if self.contents.is_whole else (as_before, self.here())

    def _stand(self, as_before: ReadingPosition) -> None:
        self.pane.reset(anchor=as_before)
        if as_before.block:
            found = (stop for stop in self.cursor.visible_stops() if stop[3].key == as_before.block)
            if (stop := next(found, None)) is not None:
                self.cursor.put(stop, bring=None)

    def stand_again(self) -> None:
        """Restore the position again after the whole page is parsed, unless the user has moved."""
        left, self._left_standing = self._left_standing, None
        if left is not None and not self.here().has_moved(left[1]):
            self._stand(left[0])

    def here(self) -> ReadingPosition:
        """Return the current reading position."""
        top = position_of(self.pane.galley, self.pane.top, self.pane.set_width) if self.pane.first_line else None
        block = self.cursor.at[1].key if self.cursor.at is not None else ""
        return (top or ReadingPosition())._replace(block=block, is_source=self.contents.shows_source)

    # Restore the position after going back

    @property
    def whereabouts(self) -> ReadingPosition | None:
        """Selected block and its row, to restore later. None at the top of the page."""
        if self.coming_back is not None and self.coming_back[0] == self.contents.key:
            return self.coming_back[1]
        if self._left_standing is not None and not self.here().has_moved(self._left_standing[1]):
            left = self._left_standing[0]
            return ReadingPosition(left.top, -left.offset) if left.top else None
        stop = self.cursor.stop() if self.cursor.at is not None or self.pane.first_line else None
        if stop is None or not stop[3].key:
            return None
        if self.pane.first_line == 0 and self.cursor.visible_stops()[:1] == [stop]:
            return None
        return ReadingPosition(stop[3].key, distance(self.pane.galley, self.pane.top, Top(*stop[:2]), self.pane.rows))

    def come_back(self, key: str, place: ReadingPosition | None) -> None:
        """Restore a position when the page `key` is shown, as soon as that part of the page is parsed."""
        self.coming_back = (key, place) if place is not None else None
        self._asked_at = ReadingPosition()

    def go_back(self) -> None:
        """Restore the position of `come_back`, if that part of the page is parsed and the user has not moved."""
        if self.coming_back is None or self.coming_back[0] != self.contents.key or not len(self.pane.galley):
            return
        wanted, place = self.coming_back
        self.coming_back = None
        if self.here().has_moved(self._asked_at):
            return
        cursor = self.cursor.at
        if not self.go_to_block(place.block, bring=None):
            self.coming_back = None if self.contents.is_whole else (wanted, place)
        elif (stop := self.cursor.stop()) is not None:
            unit, first, last, _ = stop
            galley, rows = self.pane.galley, self.pane.rows
            if not self.contents.is_whole and lines_from(galley, Top(unit, last), rows) < rows:
                self.coming_back, self.cursor.at = (wanted, place), cursor
                return  # The block cannot scroll to its old row before more lines follow it.
            self.pane.go(above(galley, Top(unit, first), min(max(place.below, first - last), rows - 1), rows))

    # Jumps to content that is not parsed yet

    def with_note(self, label: str, show: Callable[[Block | None], None]) -> None:
        """Call `show` with a footnote once it is parsed, or with None if there is none. Does nothing if the user has
        moved."""
        if (note := self.contents.note(label)) is not None or self.contents.is_whole:
            show(note)
        else:  # Footnotes are at the end of a page.
            self.wanted = PendingJump(label, self.here(), show=show)
            self.pane.explain(STILL)

    def miss(self, anchor: str) -> None:
        """Report that a link names a missing heading. While the page is loading, report it after the rest is parsed."""
        if self.wanted is not None and self.wanted.anchor == anchor.lstrip("#"):
            self.wanted = self.wanted._replace(by_link=True)
        else:
            self.pane.explain(f"This page has no heading “{anchor.lstrip('#')}”. The heading may have been renamed.")

    def look_for_wanted(self) -> None:
        """Go to the target of a pending jump if it is parsed now, unless the user has moved."""
        wanted, self.wanted = self.wanted, None
        if wanted is None or self.here().has_moved(wanted.asked_at):
            return
        if wanted.show is not None:
            wanted.show(self.contents.note(wanted.anchor))
        elif not self.go_to_anchor(wanted.anchor) and wanted.by_link:
            self.miss(wanted.anchor)

    # Markdown source

    def turn_source(self) -> None:
        """Switch between the rendered page and its Markdown source, at the same position."""
        if self.contents.document is None:
            return
        self.coming_back = self._left_standing = self.wanted = None
        line, at_top = self._line_of_source(), self.pane.first_line == 0
        on_show = next((stop[3] for stop in self.cursor.visible_stops() if self.cursor.stop() == stop), None)
        self.contents.shows_source = not self.contents.shows_source
        self.contents.source_of = on_show if self.contents.shows_source else None
        self.contents.forget_source()
        self.cursor.at = None
        at, _ = self._unit_with(line)
        self.pane.reset(anchor=ReadingPosition(unit=at))
        self.pane.finder.content_changed()
        if at_top:
            self.pane.go(START)
        if on_show is not None:
            self._stand_on(on_show.key)
        self.pane.tell()
        if self.pane.is_running:
            self.pane.refresh_bindings()

    def _line_of_source(self) -> int:
        """Return the source line at the top, or the first source line of the block at the top."""
        if not len(self.pane.galley):
            return 0
        unit, place = self.pane.top
        block: Block = self.pane.galley.units[unit].slice or self.pane.galley.units[unit].block
        return block.lines[0] + (place if self.contents.shows_source else 0)

    def _unit_with(self, line: int) -> tuple[int, int]:
        """Return the index of the unit with a source line, and the first line of that unit."""
        spans = [(unit.slice or unit.block).lines for unit in self.contents.units()]
        return next(((index, first) for index, (first, end) in enumerate(spans) if end > line), (0, 0))

    def source_known(self) -> None:
        """Show the source of the whole page after only its beginning was shown."""
        self.contents.forget_source()
        line = self._line_of_source()
        at, first = self._unit_with(line)
        self.pane.reset(anchor=ReadingPosition(unit=at, place=line - first, width=self.pane.set_width))

    def _stand_on(self, key: str) -> None:
        """Select the block `key` after a switch between page and source."""
        if not self.contents.shows_source:
            self.go_to_block(key, bring="third")
            return
        for unit, each in enumerate(self.pane.galley.units):
            if each.block.key == key:
                self.cursor.put(self.cursor.stops_of(unit)[0], bring="third")
                return


def _step(step: int) -> Callable[[object, ReadingPlace], None]:
    return lambda _, place: place.go_to_heading(step)


HEADINGS: Commands[ReadingPlace] = Commands(
    "page",
    (
        Command("next_heading", "right_curly_bracket", "Next heading", "Go to the next heading", run=_step(1), shown=False),
        Command("prev_heading", "left_curly_bracket", "Previous heading", "Go to the previous heading", run=_step(-1), shown=False),
    ),
    find=lambda view: view.place,
)  # fmt: skip
SOURCE: Commands[ReadingPlace] = Commands(
    "page",
    (
        Command("source", "backslash", "Source", "Switch between page and Markdown source", run=lambda _, place: place.turn_source(), shown=False,
                called=lambda _, place: "Rendered page" if place.contents.shows_source else None),
    ),
    find=lambda view: view.place,
)  # fmt: skip
