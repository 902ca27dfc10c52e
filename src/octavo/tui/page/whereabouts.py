"""Where one is on a page, small enough to be kept over a restart."""

from __future__ import annotations

from typing import NamedTuple


class Whereabouts(NamedTuple):
    """The key of the block under the cursor, and how many rows below the top of the pane it stands."""

    block: str
    below: int


def kept(fact: object) -> Whereabouts | None:
    """What was kept as JSON, if it is any."""
    match fact:
        case [str(block), int(below)]:
            return Whereabouts(block, below)
    return None
