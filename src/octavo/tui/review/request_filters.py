"""Filters and sort orders of the list of change requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from octavo.api.change_requests import ChangeRequest
from octavo.api.folding import fold
from octavo.tui.review.request_status import RequestStatus, StatusFact
from octavo.tui.widgets.filtering import ListFilter

StatusOf: TypeAlias = Callable[[ChangeRequest], RequestStatus]

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class RequestFilter(ListFilter):
    """A filter of the list of change requests. One filter of each `kind` is used at a time."""

    matches: Callable[[ChangeRequest, RequestStatus], bool] = field(compare=False)
    needs: StatusFact | None = None
    """Fact that the filter needs. None if the listed change requests have all the data."""

    def is_decided(self, status: RequestStatus) -> bool:
        """Return whether the filter needs no fact, or the fact is loaded."""
        return self.needs is None or self.needs in status.known


def matching_requests(
    items: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf
) -> list[ChangeRequest]:
    """Return the change requests that match all filters. `status` returns the status of a change request."""
    return [
        item
        for item in items
        if all(each.is_decided(status(item)) and each.matches(item, status(item)) for each in filters)
    ]


def undecided_requests(
    items: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf
) -> list[ChangeRequest]:
    """Return the change requests that may match all filters once their facts are loaded."""
    return [
        item
        for item in items
        if all(not each.is_decided(status(item)) or each.matches(item, status(item)) for each in filters)
        and not all(each.is_decided(status(item)) for each in filters)
    ]


def can_still_match(undecided: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf) -> bool:
    """Return False if the facts that the filters need have failed to load for all `undecided` change requests.
    Otherwise return True."""
    return any(each.needs not in status(change_request).unread for change_request in undecided for each in filters)


def offered_filters(
    items: Sequence[ChangeRequest],
    active: Sequence[RequestFilter],
    space_title: Callable[[ChangeRequest], str],
    status: StatusOf,
) -> list[tuple[RequestFilter, int, int]]:
    """Return the filters that can be added, each with the number of matches and of undecided change requests. A filter
    that matches all or none is not offered."""
    filters = [*_STATUS_FILTERS, *_REVIEW_FILTERS, *_CONFLICT_FILTERS]
    approvers = Counter(name for item in items for name in (*status(item).approved, *status(item).outdated_approvals))
    for name, _ in approvers.most_common():
        filters.append(RequestFilter("Approved by", name, _approved_by(name), "reviews"))
    for title in sorted({space_title(each) for each in items}, key=fold):
        filters.append(RequestFilter("Space", title, _equals(space_title, title)))
    for name in sorted({author_of(each) for each in items} - {""}, key=fold):
        filters.append(RequestFilter("Author", name, _equals(author_of, name)))
    offered = []
    for each in filters:
        others = [other for other in active if other.kind != each.kind]
        candidates = matching_requests(items, others, status)
        matches, unknown = (
            len(matching_requests(candidates, [each], status)),
            len(undecided_requests(candidates, [each], status)),
        )
        if each not in active and (unknown or 0 < matches < len(candidates)):
            offered.append((each, matches, unknown))
    return offered


_STATUS_FILTERS = (
    RequestFilter("Status", "outdated", lambda _, status: status.outdated),
    RequestFilter("Status", "up to date", lambda _, status: not status.outdated),
)
_CONFLICT_FILTERS = (
    RequestFilter("Conflicts", "with conflicts", lambda _, status: bool(status.conflicts), "conflicts"),
    RequestFilter("Conflicts", "without conflicts", lambda _, status: not status.conflicts, "conflicts"),
    RequestFilter("Threads", "with open threads", lambda _, status: status.threads > 0),
    RequestFilter("Threads", "without open threads", lambda _, status: status.threads == 0),
)
_REVIEW_FILTERS = (
    RequestFilter("Review", "review requested", lambda _, status: status.is_requested_from_me, "requested"),
    RequestFilter("Review", "approved", lambda _, status: bool(status.approved), "reviews"),
    RequestFilter("Review", "approval outdated", lambda _, status: bool(status.outdated_approvals), "reviews"),
    RequestFilter("Review", "changes requested", lambda _, status: bool(status.changes_requested), "reviews"),
    RequestFilter("Review", "not reviewed", lambda _, status: not status.is_reviewed, "reviews"),
)


def _approved_by(name: str) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda _, status: name in (*status.approved, *status.outdated_approvals)


def _equals(value_of: Callable[[ChangeRequest], str], name: str) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda each, _: value_of(each) == name


def author_of(item: ChangeRequest) -> str:
    """Return the name of the author. Empty if it is unknown."""
    return item.created_by.name if item.created_by else ""


def _update_time(item: ChangeRequest) -> datetime:
    moment = item.updated_at
    return _NEVER if moment is None else moment if moment.tzinfo else moment.replace(tzinfo=UTC)


ORDERS: dict[str, tuple[str, Callable[[ChangeRequest, RequestStatus], tuple[object, ...]]]] = {
    "space": ("by space", lambda each, _: ()),
    "newest": ("most recently updated first", lambda each, _: (_NEVER - _update_time(each),)),
    "oldest": ("least recently updated first", lambda each, _: (_update_time(each),)),
    "threads": ("most open threads first", lambda _, status: (-status.threads,)),
    "author": ("by author", lambda each, _: (fold(author_of(each)),)),
}
"""Sort orders by key, each with a name and a function that returns sort keys."""
