"""The order of neighbours that can be moved.

Those never moved have no `position` and come after those that were, in the order they were made.
"""

from __future__ import annotations

from octavo.server.store import Json
from octavo.server.world import World

_LAST = 1 << 40
Filed = tuple[str, Json]
"""A document with its path."""


def order(place: int, document: Json) -> tuple[int, int]:
    """What orders a document that the store holds at `place` among its neighbours."""
    return (document.get("position", _LAST), place)


def settle(world: World, row: list[Filed]) -> None:
    """Keep neighbours in the order of `row`."""
    for position, (path, document) in enumerate(row):
        world.store.put(path, {**document, "position": position})
