"""A visited page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.tui.render.reading_position import ReadingPosition


class VisitedPage(NamedTuple):
    """A visited page, and the reading position in it."""

    space: str
    page: str
    position: ReadingPosition | None
    """None if the page was not visible."""
