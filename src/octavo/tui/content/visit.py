"""A page one was on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.tui.render.reading_position import ReadingPosition


class Visit(NamedTuple):
    """A page one was on, and how it was left."""

    space: str
    page: str
    standing: ReadingPosition | None
    """None while it was not on show."""
