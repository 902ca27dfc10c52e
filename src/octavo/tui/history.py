"""Where one has been: back and forward, as in a browser. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.tui.page.opening import Standing


MOST = 200
"""How many places one can go back to."""


class Visit(NamedTuple):
    """A page one was on, and how it was left: the line at the top, the block under the cursor, what was opened."""

    space: str
    page: str
    standing: Standing


class History:
    """Places in the order they were visited."""

    def __init__(self) -> None:
        self._behind: list[Visit] = []
        self._ahead: list[Visit] = []

    @property
    def has_behind(self) -> bool:
        return bool(self._behind)

    @property
    def has_ahead(self) -> bool:
        return bool(self._ahead)

    def leave(self, place: Visit) -> None:
        """One goes on from `place` to somewhere new."""
        if not self._behind or self._behind[-1] != place:
            self._behind.append(place)
            del self._behind[:-MOST]
        self._ahead.clear()

    def back(self, here: Visit) -> Visit | None:
        """Where one was before, when one is `here` now. None at the beginning."""
        return self._travel(self._behind, self._ahead, here)

    def forward(self, here: Visit) -> Visit | None:
        """Where one came back from. None at the end."""
        return self._travel(self._ahead, self._behind, here)

    @staticmethod
    def _travel(taken: list[Visit], given: list[Visit], here: Visit) -> Visit | None:
        if not taken:
            return None
        given.append(here)
        return taken.pop()
