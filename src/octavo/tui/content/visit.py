"""A page one was on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from octavo.tui.reader.reading_place import PageState


class Visit(NamedTuple):
    """A page one was on, and how it was left: the line at the top, the block under the cursor, what was opened."""

    space: str
    page: str
    standing: PageState
