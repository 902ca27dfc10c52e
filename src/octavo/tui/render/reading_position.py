"""Where one is on a page, small enough to be kept over a restart; and where one was on the pages read last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.data.state import State

MOST_PAGES = 60
"""On how many pages one comes back to where one was."""
_FACT = "places on pages"


class ReadingPosition(NamedTuple):
    """The key of the block under the cursor, and how many rows below the top of the pane it stands."""

    block: str
    below: int


def kept(fact: object) -> ReadingPosition | None:
    """What was kept as JSON, if it is any."""
    match fact:
        case [str(block), int(below)]:
            return ReadingPosition(block, below)
    return None


class ReadingPositions:
    """Where one was on the pages one read last, by the keys of the pages. Who is at the top of a page is nowhere."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._places: dict[str, ReadingPosition] | None = None

    def on(self, page: str) -> ReadingPosition | None:
        """Where one was on a page."""
        return self._known().get(page)

    def keep(self, page: str, here: ReadingPosition | None) -> None:
        """Remember where one is on a page. The pages one was on longest ago are forgotten."""
        places = self._known()
        if places.get(page) == here:
            return
        places.pop(page, None)
        if here is not None:
            places[page] = here
        for oldest in [*places][:-MOST_PAGES]:
            del places[oldest]
        self._state.remember(_FACT, {key: list(each) for key, each in places.items()})

    def _known(self) -> dict[str, ReadingPosition]:
        if self._places is None:
            fact = self._state.recall(_FACT)
            read = fact.items() if isinstance(fact, dict) else ()
            self._places = {str(key): here for key, each in read if (here := kept(each)) is not None}
        return self._places
