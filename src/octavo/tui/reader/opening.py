"""Opening what stands on a page: folds, tabs, links, files, notes, buttons; and standing again where one stood."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.reader.thread_marks import Marked
from octavo.tui.render.layout_context import Folds, tab_slug, trail
from octavo.tui.render.link_addresses import LinkDestination, leads
from octavo.tui.render.page_parts import AddressWanted, LinkFollowed
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.styled_lines import HotSpot
from octavo.tui.render.virtual_lines import ScrollAnchor

if TYPE_CHECKING:
    from octavo.documents import links

_LEADING = ("link", "file", "image")
"""Kinds of spots that have an address."""


class PageState(NamedTuple):
    """How a page was left: the line at the top, the block under the cursor, and what was opened."""

    line: int
    width: int
    top: ScrollAnchor | None
    key: str
    folds: Folds


class ReadingPoint(NamedTuple):
    """Where one is, to tell later whether one has moved since. No anchor at the top of the page."""

    top: ScrollAnchor | None = None
    cursor: Block | None = None
    is_source: bool = False


UNSEEN = PageState(0, 0, None, "", Folds())
"""How a page was left that was never on show."""


class Opening(Marked):
    """A marked page whose links lead somewhere."""

    key = ""
    """What the page on show is called."""
    _coming_back: tuple[str, ReadingPosition] | None = None
    """The page one comes back to, and where one was on it, until one is there."""
    _place_is_read = False
    _asked_at = ReadingPoint()
    """Where one was when one asked to come back."""
    _left_standing: tuple[PageState, ReadingPoint] | None = None
    """How the page on show was left, while it is not all read, and where one was put meanwhile."""
    shows_source = False

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        target = hot.target
        match hot.kind:
            case "fold" | "tab":
                self._toggle(hot)
            case "select":
                self._select(target)
            case "link" if self._leads(target) is LinkDestination.ANCHOR and not outside:
                if not self.go_to_anchor(target):
                    self.miss(target)
            case _:
                outside = outside or self._leads(target) in (LinkDestination.OUTSIDE, LinkDestination.MAIL)
                self.post_message(LinkFollowed(target, outside, hot.kind, self._words(hot)))

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to a heading by its anchor, or to a block by its key. False when there is none (yet)."""
        raise NotImplementedError

    def miss(self, anchor: str) -> None:
        """Say that a link leads to a heading that is not on this page."""
        self.explain(f"This page has no heading “{anchor.lstrip('#')}”: it may have got another name.")

    def _leads(self, address: str) -> LinkDestination:
        return self.sources.targets.leads(address) if self.sources.targets is not None else leads(address)

    def _words(self, hot: HotSpot) -> str:
        """The words of a link as they stand on the page."""
        said = (piece.text for _, _, line in self.rows_on_show for piece in line.pieces if piece.spot is hot.spot)
        return " ".join("".join(said).split())

    def _toggle(self, hot: HotSpot) -> None:
        here = self.rows_on_show[hot.line][0] if hot.line < len(self.rows_on_show) else 0
        for unit in (here, *range(len(self.galley))):
            each = self.galley.units[unit]
            path = trail(each.part or each.block, hot.target)
            if path:
                if hot.kind == "tab":
                    self._choose(path[-1].children[hot.spot.index])
                else:
                    self.folds.toggle(path[-1])
                self.change(unit)
                return

    def _choose(self, tab: Block) -> None:
        self.folds.choose(tab)
        for unit, each in enumerate(self.galley.units):
            if each.block.kind not in ("paragraph", "heading"):
                self.galley.forget(unit)

    def _select(self, name: str) -> None:
        """Show the tabs called `name` all over the page."""
        wanted = name.strip().casefold()
        tabs = (tab for block in self._blocks_on_page() if block.kind == "tabs" for tab in block.children)
        found = next((tab for tab in tabs if wanted in (tab_slug(tab), _title(tab))), None)
        if found is None:
            self.explain(f"This page has no tab “{name}”.")
            return
        with self.steady():
            self._choose(found)
        self.reset()

    def _blocks_on_page(self) -> Iterator[Block]:
        if self.document is not None:
            yield from self.document.walk()

    def note(self, label: str) -> Block | None:
        """The note of the page that has this label."""
        at_top = self.document.blocks if self.document is not None else ()  # where they are but for odd pages
        blocks = (block for block in chain(at_top, self._blocks_on_page()) if block.kind == "footnotes")
        notes = (note for block in blocks for note in block.children)
        return next((note for note in notes if note.attrs.get("label") == label), None)

    def shared(self, target: links.Target) -> Block | None:
        """What the page includes of a file of shared words."""
        targets = self.sources.targets
        found = (block for block in self._blocks_on_page() if block.kind == "include" and block.children)
        return next((each for each in found if targets and targets.target(str(each.attrs["target"])) == target), None)

    # Outside, and to the clipboard

    def copied(self, text: str) -> None:
        self.post_message(self.Copied(text, "selection"))

    def action_copy(self) -> None:
        from octavo.tui.render.openapi import curl_of  # what descriptions of interfaces need takes 10 ms to load

        stop = self.cursor_stop()
        if stop is not None and (curl := curl_of(self.sources, stop[3])):
            self.app.copy_to_clipboard(curl)
            self.post_message(self.Copied(curl, "command"))
        else:
            super().action_copy()

    def action_open_outside(self) -> None:
        """Open the link of the block under the cursor in the browser, one of several by its letter, else the page."""
        hots = self._leading()
        if len({id(hot.spot) for hot in hots}) == 1:
            self.open_spot(hots[0], outside=True)
        elif hots:
            self.show_hints(hots, outside=True)
        else:
            self.post_message(LinkFollowed("", True, "page"))

    def action_copy_address(self) -> None:
        """Copy where the only link of the block under the cursor leads, else the address of the page."""
        hots = self._leading()
        one = len({id(hot.spot) for hot in hots}) == 1
        self.post_message(AddressWanted(hots[0].target, hots[0].kind) if one else AddressWanted("", "page"))

    def _leading(self) -> list[HotSpot]:
        stop = self.cursor_stop()
        here = self.visible_hot_spots() if stop is not None else []
        return [hot for hot in here if hot.kind in _LEADING and stop is not None and self.about(hot) is stop[3]]

    # Standing again where one stood

    @property
    def standing(self) -> PageState:
        """How the page is left now."""
        if self._left_standing is not None and not self.has_moved(self._left_standing[1]):
            return self._left_standing[0]
        stop = self.cursor_stop() if self.cursor is not None else None
        key = stop[3].key if stop is not None else ""
        return PageState(self.scroll_offset.y, self.pane_width, self._anchor(), key, deepcopy(self.folds))

    def stand(self, as_before: PageState) -> None:
        """Be as the page was left, once that part of it is read."""
        self.folds = deepcopy(as_before.folds)
        key = as_before.top.key if as_before.top is not None else ""
        if self.is_whole or not key or any(trail(each.part or each.block, key) for each in self.galley.units):
            self._stand(as_before)
        else:
            self.reset()
        self._left_standing = None if self.is_whole else (as_before, self._here())

    def _stand(self, as_before: PageState) -> None:
        self.reset(anchor=as_before.top)
        if as_before.width == self.pane_width:
            self._show_line(as_before.line)
        if as_before.key:
            found = (stop for stop in self.visible_stops() if stop[3].key == as_before.key)
            if (stop := next(found, None)) is not None:
                self.put_cursor(stop, bring=None)

    def _stand_again(self) -> None:
        """Be as the page was left, now that all of it is read, if nobody has moved meanwhile."""
        left, self._left_standing = self._left_standing, None
        if left is not None and not self.has_moved(left[1]):
            self._stand(left[0])

    def _here(self) -> ReadingPoint:
        top = self._anchor() if self.scroll_offset.y else None
        return ReadingPoint(top, self.cursor[1] if self.cursor is not None else None, self.shows_source)

    def has_moved(self, since: ReadingPoint) -> bool:
        """Whether one is elsewhere than before. A page that is set in another width has not moved."""
        now = self._here()
        if now.cursor is not since.cursor or now.is_source != since.is_source:
            return True
        if now.top is None or since.top is None:
            return now.top is not since.top
        if now.top.key != since.top.key or not now.top.key:
            return now.top != since.top
        return now.top.width == since.top.width and now.top.offset != since.top.offset

    # Coming back where one was

    @property
    def whereabouts(self) -> ReadingPosition | None:
        """Where one is on the page. None at its top."""
        if self._coming_back is not None and self._coming_back[0] == self.key:
            return self._coming_back[1]
        if self._left_standing is not None and not self.has_moved(self._left_standing[1]):
            top = self._left_standing[0].top
            return ReadingPosition(top.key, -top.offset) if top is not None and top.key else None
        stop = self.cursor_stop() if self.cursor is not None or self.scroll_offset.y else None
        if stop is None or not stop[3].key:
            return None
        if self.scroll_offset.y == 0 and self.visible_stops()[:1] == [stop]:
            return None
        return ReadingPosition(stop[3].key, self.galley.top(stop[0]) + stop[1] - self.scroll_offset.y)

    def come_back(self, key: str, place: ReadingPosition | None) -> None:
        """Go to where one was on the page called `key` when it is shown, as soon as that part of it is read."""
        self._coming_back, self._place_is_read = (key, place) if place is not None else None, False
        self._asked_at = ReadingPoint()

    def go_back(self) -> None:
        """Go to where one was, if that is read by now, and nobody has moved meanwhile."""
        if self._coming_back is None or self._coming_back[0] != self.key or not len(self.galley):
            return
        wanted, place = self._coming_back
        self._coming_back = None
        if self.has_moved(self._asked_at):
            return
        cursor = self.cursor
        if not self.go_to_block(place.block, bring=None):
            self._coming_back = None if self.is_whole else (wanted, place)
        elif (stop := self.cursor_stop()) is not None:
            unit, first, last, _ = stop
            self.settle_around(unit)
            if not self.is_whole and self.galley.top(unit) + last + self.rows > self.galley.total:
                self._coming_back, self._place_is_read, self.cursor = (wanted, place), True, cursor
                return  # it cannot stand where it stood before there is more below it
            self.go_to(unit, first, below=min(max(place.below, first - last), self.rows - 1))

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        super().reset(anchor=anchor)
        self.go_back()


def _title(tab: Block) -> str:
    return str(tab.attrs.get("title") or "").strip().casefold()
