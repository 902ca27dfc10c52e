"""Stamps: what lists say of a response that is fetched by another request. Pure.

A response is fetched again when its stamp differs from the stamp it was stored with. Stamps are stored: if one is spelled
differently, all responses of its kind are fetched again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import Page
from octavo.api.operation import ListPage, Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.api.spaces import Space

UNTOLD = "?"
"""Stamp of a response that no list tells of: it is fetched in each round."""
IMMUTABLE = "for ever"
"""Stamp of a response that never changes."""


def space_stamp(space: Space) -> str:
    """Return the stamp of a whole space."""
    return f"{space.revision or ''} {_updated(space)} {space.comments} {space.change_requests_open} {space.change_requests_draft}"


def page_stamp(page: Page, revision: str) -> str:
    """Return the stamp of a page in the revision of its space."""
    return page.updated_at.isoformat() if page.updated_at is not None else revision


def change_request_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of a whole change request."""
    return f"{reviews_stamp(change_request)} {change_request.comments}"


def reviews_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of the reviews and of the requested reviewers of a change request."""
    return f"{change_request.status} {_updated(change_request)} {change_request.revision or ''}"


def open_threads_stamp(place: Space | ChangeRequest) -> str:
    """Return the stamp of the open threads of a space or change request."""
    return str(place.comments) if isinstance(place, Space) else f"{place.comments} {_updated(place)}"


def replies_stamp(thread: Comment) -> str:
    """Return the stamp of the replies of an open thread. Only newer servers say when the last reply was edited."""
    last = max((each.updated_at for each in thread.repliers or () if each.updated_at is not None), default=None)
    return f"{thread.replies} {last.isoformat()}" if last is not None else str(thread.replies)


def edited_replies_stamp(thread: Comment) -> str:
    """Return the stamp of the replies of a thread that is available offline."""
    return f"{thread.replies} {thread.edited_at.isoformat() if thread.edited_at is not None else ''}"


def _updated(place: Space | ChangeRequest) -> str:
    return place.updated_at.isoformat() if place.updated_at is not None else ""


@dataclass(frozen=True, slots=True)
class PlaceStamps:
    """Stamps of a space or change request: of its content, and of all that is in it."""

    content: Hashable
    whole: Hashable


class ListedPlaces:
    """Stamps of the spaces and change requests that are in the lists of an organization."""

    def __init__(self) -> None:
        self._lists: dict[int, tuple[ListPage[Any], dict[str, PlaceStamps]]] = {}
        """Each list with its stamps, by the identity of the list."""

    def update(self, lists: Iterable[ListPage[Any] | None]) -> None:
        """Use these lists, and no others. A list that was used before is not read again."""
        self._lists = {id(each): self._lists.get(id(each)) or _listed(each) for each in lists if each is not None}

    def of(self, op: Operation[Any]) -> PlaceStamps | None:
        """Return the stamps of the place of an operation. None if no list tells of it."""
        at = getattr(op, "at", None)
        if not isinstance(at, SpaceRef | ChangeRequestRef):
            return None
        place = _name(at.space_id, at.change_request_id if isinstance(at, ChangeRequestRef) else "")
        return next((stamps[place] for _, stamps in self._lists.values() if place in stamps), None)


def _listed(page: ListPage[Any]) -> tuple[ListPage[Any], dict[str, PlaceStamps]]:
    return page, dict(filter(None, map(_place_stamps, page.items)))


def _place_stamps(listed: Space | ChangeRequest) -> tuple[str, PlaceStamps] | None:
    content = listed.revision or listed.updated_at
    if isinstance(listed, Space):
        counted = (listed.comments, listed.change_requests, listed.change_requests_open, listed.change_requests_draft)
        return _name(listed.id), PlaceStamps(content, (content, listed.updated_at, counted))
    if listed.space is None:
        return None
    whole = (content, listed.updated_at, listed.status, listed.comments, listed.outdated)
    return _name(listed.space, listed.id), PlaceStamps(content, whole)


def _name(space: str, change_request: str = "") -> str:
    return f"{space} {change_request}"
