"""Where the threads of an organization are: its spaces, and its change requests that are not decided. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.spaces import Space

REACH = 100
"""Places of a kind that are asked for their threads at first, and again whenever one comes to the end of the list: each
is a question of its own, and a server may have thousands."""


class Place(NamedTuple):
    """Where threads are, what that is called, and how many the server counts there that are open."""

    key: str
    at: Discussion
    name: str
    open: int


def spaces(these: Iterable[Space]) -> list[Place]:
    """Spaces as places, in their order."""
    return [Place(f"space {each.id}", each.ref, each.title.upper(), each.comments) for each in these]


def change_requests(these: Iterable[ChangeRequest], of: Iterable[Space]) -> list[Place]:
    """Change requests as places, in their order: named after the spaces they are of, as far as those are known."""
    titles = {space.id: f"{space.title.upper()} · " for space in of}
    return [
        Place(
            f"change request {each.id}",
            ChangeRequestRef(space_id=each.space, change_request_id=each.id),
            f"{titles.get(each.space, '')}#{each.number} {each.title}",
            each.comments,
        )
        for each in these
        if each.space is not None
    ]


def reached(places: Sequence[Place], asked: Collection[str], reach: int) -> list[Place]:
    """Those of one kind that are asked for: who was asked before, then who has open threads, then the others."""
    return sorted(places, key=lambda each: (each.key not in asked, each.open <= 0))[:reach]
