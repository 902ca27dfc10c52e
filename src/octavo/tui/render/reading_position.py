"""Where one is on a page, small enough to be kept over a restart; and where one was on the pages read last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.render.layout_context import Folds

MOST_PAGES = 60
"""On how many pages one comes back to where one was."""
_FACT = "places on pages"


class ReadingPosition(NamedTuple):
    """Where one is on a page, or was. Each use fills in what it needs: to come back after a restart the first two, to be as
    the page was left all but `below`, to hold what stands at the top the five from `unit` on."""

    block: str = ""
    """The key of the block the cursor is on; empty where it was put on none."""
    below: int = 0
    """How many rows below the top of the pane that stands, once it is known."""
    unit: int = 0
    """The unit at the top. All that is said of the top is as at the top of the page where one is there."""
    top: str = ""
    """The key of the block at the top."""
    offset: int = 0
    """How many lines below the first of that block the top is."""
    place: int = 0
    """And below the first of the unit."""
    width: int = 0
    """The width in which it was so."""
    is_source: bool = False
    folds: Folds | None = None
    """What is opened, where that is to be so again."""

    @property
    def fact(self) -> list[str | int]:
        """What is kept of it as JSON: `kept` reads it."""
        return [self.block, self.below]

    def has_moved(self, since: ReadingPosition) -> bool:
        """Whether one is elsewhere than before. A page that is set in another width has not moved."""
        if self.block != since.block or self.is_source != since.is_source:
            return True
        if self.top != since.top or not self.top:
            return (self.unit, self.top, self.place) != (since.unit, since.top, since.place)
        return self.width == since.width and self.offset != since.offset


def position_from_json(fact: object) -> ReadingPosition | None:
    """What was kept as JSON, if it is any."""
    match fact:
        case [str(block), int(below)]:
            return ReadingPosition(block, below)
    return None


class ReadingPositions:
    """Where one was on the pages one read last, by the keys of the pages. Who is at the top of a page is nowhere."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._places: dict[str, ReadingPosition] | None = None

    def get(self, page: str) -> ReadingPosition | None:
        """Where one was on a page."""
        return self._known().get(page)

    def remember(self, page: str, here: ReadingPosition | None) -> None:
        """Remember where one is on a page. The pages one was on longest ago are forgotten."""
        places = self._known()
        if places.get(page) == here:
            return
        places.pop(page, None)
        if here is not None:
            places[page] = here
        for oldest in [*places][:-MOST_PAGES]:
            del places[oldest]
        self._state.set_fact(_FACT, {key: each.fact for key, each in places.items()})

    def _known(self) -> dict[str, ReadingPosition]:
        if self._places is None:
            fact = self._state.get_fact(_FACT)
            read = fact.items() if isinstance(fact, dict) else ()
            self._places = {str(key): here for key, each in read if (here := position_from_json(each)) is not None}
        return self._places
