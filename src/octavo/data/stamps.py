"""Computes stamps: short texts that change when a response changes. Pure.

Stamps come from the items of lists, so one list shows which of many responses have changed. A response is fetched again
when its stamp differs from the stamp stored with it. If you change a function here, all responses of its kind are
fetched again once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import ListChanges, Page
from octavo.api.links import ListOfSpace
from octavo.api.operation import SPECS, ListPage, Operation
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.api.spaces import Space
from octavo.data.queries import open_threads_of, requested_of, reviews_of

NO_STAMP = "?"
"""Stamp of a response whose changes appear in no list. A want for it also needs a `max_age`, because an unchanged stamp
is not due."""
IMMUTABLE = "for ever"
"""Stamp of a response that never changes."""


def space_stamp(space: Space) -> str:
    """Return the stamp of a space. It changes with the content, threads and change requests of the space."""
    return f"{space.revision or ''} {_update_time(space)} {space.comments} {space.change_requests_open} {space.change_requests_draft}"


def page_stamp(page: Page, revision: str) -> str:
    """Return the stamp of a page. `revision` is the revision of its space, for servers that send no date for pages."""
    return page.updated_at.isoformat() if page.updated_at is not None else revision


def change_request_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of a change request. It changes with the content, threads and reviews of the change request."""
    outdated = " outdated" if change_request.outdated else ""
    return f"{reviews_stamp(change_request)} {change_request.comments}{outdated}"


def reviews_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of the reviews and of the requested reviewers of a change request."""
    return f"{change_request.status} {_update_time(change_request)} {change_request.revision or ''}"


def open_threads_stamp(place: Space | ChangeRequest) -> str:
    """Return the stamp of the open threads of a space or change request."""
    return str(place.comments) if isinstance(place, Space) else f"{place.comments} {_update_time(place)}"


def replies_stamp(thread: Comment) -> str:
    """Return the stamp of the replies of a thread: their number, and the time of the last edit in the thread. Only newer
    servers send the times of replies."""
    times = [thread.edited_at, *(replier.updated_at for replier in thread.repliers or ())]
    last = max((time for time in times if time is not None), default=None)
    return f"{thread.replies} {last.isoformat()}" if last is not None else str(thread.replies)


def _update_time(place: Space | ChangeRequest) -> str:
    return place.updated_at.isoformat() if place.updated_at is not None else ""


class ListedPlaces:
    """The spaces and change requests that are in the lists of an organization."""

    def __init__(self) -> None:
        self._lists: dict[int, tuple[ListPage[Any], dict[str, Space | ChangeRequest]]] = {}
        """Each list by its `id()`, together with its items by the result of `_name`."""

    def update(self, lists: Iterable[ListPage[Any] | None]) -> None:
        """Replace the lists. A list object that is already stored is not read again."""
        self._lists = {
            id(listed): self._lists.get(id(listed)) or (listed, _places_in(listed))
            for listed in lists
            if listed is not None
        }

    def stamp_of(self, op: Operation[Any]) -> str:
        """Return the stamp of the response to an operation. Empty if no list contains its space or change request."""
        at = getattr(op, "at", None)
        if not isinstance(at, SpaceRef | ChangeRequestRef):
            return ""
        name = _name(at.space_id, at.change_request_id if isinstance(at, ChangeRequestRef) else "")
        listed = next((places[name] for _, places in self._lists.values() if name in places), None)
        return stamp_from(listed, op, at) if listed is not None else ""


def stamp_from(listed: Space | ChangeRequest, op: Operation[Any], at: Discussion) -> str:
    """Return the stamp that the response to `op` has now: a text that changes when the response may have changed.
    `listed` is the space or change request `at`, as an item of a list."""
    place_stamp = space_stamp(listed) if isinstance(listed, Space) else change_request_stamp(listed)
    if is_of_content(op):
        return listed.revision or place_stamp
    if op == open_threads_of(at):
        return open_threads_stamp(listed)
    if (
        isinstance(at, ChangeRequestRef)
        and isinstance(listed, ChangeRequest)
        and op in (reviews_of(at), requested_of(at))
    ):
        return reviews_stamp(listed)
    return place_stamp


def is_of_content(op: Operation[Any]) -> bool:
    """Return whether the response to an operation changes only when the revision of the content changes."""
    return SPECS[type(op)].path.startswith("{content}") or isinstance(op, ListChanges | ListOfSpace)


def _places_in(page: ListPage[Any]) -> dict[str, Space | ChangeRequest]:
    return {
        _name(item.id) if isinstance(item, Space) else _name(item.space or "", item.id): item for item in page.items
    }


def _name(space: str, change_request: str = "") -> str:
    return f"{space} {change_request}"
