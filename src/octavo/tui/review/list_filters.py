"""The filters and the orders of the list of change requests. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from octavo.api.change_requests import ChangeRequest
from octavo.api.folding import fold
from octavo.tui.review.status_summary import Fact, RequestStatus

Stands: TypeAlias = Callable[[ChangeRequest], RequestStatus]

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class RequestFilter:
    """A filter of the list of change requests. One filter of each `kind` is used at a time."""

    kind: str
    name: str
    holds: Callable[[ChangeRequest, RequestStatus], bool] = field(compare=False)
    needs: Fact | None = None
    """Fact of a change request that the filter needs and the list does not have."""

    def tells(self, stands: RequestStatus) -> bool:
        """Return whether the needed fact is loaded."""
        return self.needs is None or self.needs in stands.known


def narrowed(items: Iterable[ChangeRequest], by: Collection[RequestFilter], of: Stands) -> list[ChangeRequest]:
    """Those for which all of `by` is known to hold. `of` says how one stands."""
    return [item for item in items if all(each.tells(of(item)) and each.holds(item, of(item)) for each in by)]


def untold(items: Iterable[ChangeRequest], by: Collection[RequestFilter], of: Stands) -> list[ChangeRequest]:
    """Those of which it is not known yet whether all of `by` holds: nothing speaks against them."""
    return [
        item
        for item in items
        if all(not each.tells(of(item)) or each.holds(item, of(item)) for each in by)
        and not all(each.tells(of(item)) for each in by)
    ]


def still_looks(untold: Iterable[ChangeRequest], by: Collection[RequestFilter], of: Stands) -> bool:
    """Whether more will be known of these than that it could not be read."""
    return any(each.needs not in of(about).unread for about in untold for each in by)


def offered(
    items: Sequence[ChangeRequest],
    holding: Sequence[RequestFilter],
    space_title: Callable[[ChangeRequest], str],
    of: Stands,
) -> list[tuple[RequestFilter, int, int]]:
    """By what they can be narrowed beside what holds, how many would be left, and of how many that is not known yet.
    What leaves none, or all, is not offered."""
    known = [*_STATES, *_REVIEWS, *_CONFLICTS]
    approvers = Counter(name for item in items for name in (*of(item).approved, *of(item).stale))
    for name, _ in approvers.most_common():
        known.append(RequestFilter("Approved by", name, _approved_by(name), "reviews"))
    for title in sorted({space_title(each) for each in items}, key=fold):
        known.append(RequestFilter("Space", title, _says(space_title, title)))
    for name in sorted({author_of(each) for each in items} - {""}, key=fold):
        known.append(RequestFilter("Author", name, _says(author_of, name)))
    found = []
    for each in known:
        others = [other for other in holding if other.kind != each.kind]
        among = narrowed(items, others, of)
        left, open_to_tell = len(narrowed(among, [each], of)), len(untold(among, [each], of))
        if each not in holding and (open_to_tell or 0 < left < len(among)):
            found.append((each, left, open_to_tell))
    return found


_STATES = (
    RequestFilter("Status", "outdated", lambda _, stands: stands.outdated),
    RequestFilter("Status", "up to date", lambda _, stands: not stands.outdated),
)
_CONFLICTS = (
    RequestFilter("Conflicts", "with conflicts", lambda _, stands: bool(stands.conflicts), "conflicts"),
    RequestFilter("Conflicts", "without conflicts", lambda _, stands: not stands.conflicts, "conflicts"),
    RequestFilter("Threads", "with open threads", lambda _, stands: stands.threads > 0),
    RequestFilter("Threads", "without open threads", lambda _, stands: stands.threads == 0),
)
_REVIEWS = (
    RequestFilter("Review", "review requested", lambda _, stands: stands.asks_me, "requested"),
    RequestFilter("Review", "approved", lambda _, stands: bool(stands.approved), "reviews"),
    RequestFilter("Review", "approval outdated", lambda _, stands: bool(stands.stale), "reviews"),
    RequestFilter("Review", "changes requested", lambda _, stands: bool(stands.refused), "reviews"),
    RequestFilter("Review", "not reviewed", lambda _, stands: not stands.is_reviewed, "reviews"),
)


def _approved_by(name: str) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda _, stands: name in (*stands.approved, *stands.stale)


def _says(what: Callable[[ChangeRequest], str], name: str) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda each, _: what(each) == name


def author_of(item: ChangeRequest) -> str:
    """Who made it, as far as that is known."""
    return item.created_by.name if item.created_by else ""


def _changed(item: ChangeRequest) -> datetime:
    moment = item.updated_at
    return _NEVER if moment is None else moment if moment.tzinfo else moment.replace(tzinfo=UTC)


ORDERS: dict[str, tuple[str, Callable[[ChangeRequest, RequestStatus], tuple[object, ...]]]] = {
    "space": ("by space", lambda each, _: ()),
    "newest": ("most recently updated first", lambda each, _: (_NEVER - _changed(each),)),
    "oldest": ("least recently updated first", lambda each, _: (_changed(each),)),
    "threads": ("most open threads first", lambda _, stands: (-stands.threads,)),
    "author": ("by author", lambda each, _: (fold(author_of(each)),)),
}
"""The ways to order the list: what each is called, and what is compared. By space they stand under its title."""
