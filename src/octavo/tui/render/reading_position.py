"""Reading positions: where the cursor and the top of a pane were on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.render.layout_context import Folds

MOST_PAGES = 60
"""Most pages whose positions are stored."""
_FACT = "places on pages"


class ReadingPosition(NamedTuple):
    """Position on a page.

    After a restart only `block` and `below` are known. Going back to a page uses all fields but `below`. Keeping the
    top in place uses the fields from `unit` to `width`.
    """

    block: str = ""
    """Key of the block under the cursor. Empty without a cursor."""
    below: int = 0
    """Rows between the top of the pane and that block."""
    unit: int = 0
    """Index of the unit at the top. This and the next three fields are at their defaults at the top of the page."""
    top: str = ""
    """Key of the block at the top."""
    offset: int = 0
    """Lines between the first line of that block and the top."""
    place: int = 0
    """Lines between the first line of the unit and the top."""
    width: int = 0
    """Width in which the lines were counted."""
    is_source: bool = False
    folds: Folds | None = None
    """Folds to restore. None to leave the folds alone."""

    @property
    def fact(self) -> list[str | int]:
        """Fields that are stored, as JSON. `position_from_json` reads them."""
        return [self.block, self.below]

    def has_moved(self, since: ReadingPosition) -> bool:
        """Return whether the position differs from an earlier one. A change of width alone is not a move."""
        if self.block != since.block or self.is_source != since.is_source:
            return True
        if self.top != since.top or not self.top:
            return (self.unit, self.top, self.place) != (since.unit, since.top, since.place)
        return self.width == since.width and self.offset != since.offset


def position_from_json(fact: object) -> ReadingPosition | None:
    """Return a stored position. None if the value is not a position."""
    match fact:
        case [str(block), int(below)]:
            return ReadingPosition(block, below)
    return None


class ReadingPositions:
    """Positions on the pages read last, by page key. A position at the top of a page is not stored."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._places: dict[str, ReadingPosition] | None = None

    def get(self, page: str) -> ReadingPosition | None:
        """Return the position on a page. None if none is stored."""
        return self._known().get(page)

    def remember(self, page: str, here: ReadingPosition | None) -> None:
        """Store the position on a page, or forget it if None. The oldest positions are dropped."""
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
