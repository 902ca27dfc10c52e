"""Operations for lists that several parts of Octavo request. Equal operations share a request and a cached response."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from octavo.api import comments
from octavo.api.operation import ChangeRequestRef, Discussion, OrganizationRef
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api import collections, reviews, spaces
    from octavo.api.change_requests import ListOfOrganization, Status

# lazy: the first screen does not need these operations
_list_spaces: Callable[..., spaces.List] = lazy("octavo.api.spaces:List")
_list_collections: Callable[..., collections.List] = lazy("octavo.api.collections:List")
_list_change_requests: Callable[..., ListOfOrganization] = lazy("octavo.api.change_requests:ListOfOrganization")
_list_reviews: Callable[..., reviews.List] = lazy("octavo.api.reviews:List")
_list_requested: Callable[..., reviews.ListRequested] = lazy("octavo.api.reviews:ListRequested")


PAGE_LIMIT = 1000
"""Number of items per page of a list: the maximum that the API allows."""
UNDECIDED: tuple[Literal["open", "draft"], ...] = ("open", "draft")
"""Statuses of a change request that is neither merged nor archived."""
_DECIDED_LIMIT = 100
"""Number of merged or archived change requests per page of a list. Views load only the first page."""
_THREAD_LIMIT = 200
"""Number of threads per page of a list that includes resolved threads."""


def spaces_op(organization_id: str) -> spaces.List:
    """Return the operation that lists all spaces of an organization."""
    return _list_spaces(at=OrganizationRef(organization_id=organization_id), limit=PAGE_LIMIT)


def collections_op(organization_id: str) -> collections.List:
    """Return the operation that lists all collections of an organization."""
    at = OrganizationRef(organization_id=organization_id)
    return _list_collections(at=at, nested=True, limit=PAGE_LIMIT)


def change_requests_op(organization_id: str, status: Status) -> ListOfOrganization:
    """Return the operation that lists the change requests of an organization with this status."""
    at = OrganizationRef(organization_id=organization_id)
    limit = PAGE_LIMIT if status in UNDECIDED else _DECIDED_LIMIT
    return _list_change_requests(at=at, status=status, limit=limit)


def reviews_op(at: ChangeRequestRef) -> reviews.List:
    """Return the operation that lists the reviews of a change request."""
    return _list_reviews(at=at, format="markdown", limit=PAGE_LIMIT)


def requested_reviewers_op(at: ChangeRequestRef) -> reviews.ListRequested:
    """Return the operation that lists the requested reviewers of a change request."""
    return _list_requested(at=at, limit=PAGE_LIMIT)


def open_threads_op(at: Discussion) -> comments.List:
    """Return the operation that lists the open threads of a space or change request."""
    return comments.List(at=at, status="open", format="markdown", limit=PAGE_LIMIT)


def all_threads_op(at: Discussion) -> comments.List:
    """Return the operation that lists the open and resolved threads of a space or change request."""
    return comments.List(at=at, status="all", format="markdown", limit=_THREAD_LIMIT)


def replies_op(at: Discussion, thread_id: str) -> comments.ListReplies:
    """Return the operation that lists the replies of a thread. `thread_id` is the ID of its first comment.
    `Live.fetch` leaves out the replies that are not sent yet. `all_items` with `is_fresh=False` includes them."""
    return comments.ListReplies(at=at, comment_id=thread_id, format="markdown", limit=PAGE_LIMIT)
