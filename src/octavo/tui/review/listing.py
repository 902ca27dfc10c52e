"""Which change requests their list shows, and in what order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from octavo.api.change_requests import ChangeRequest

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Only:
    """What change requests are to be shown. Of a `kind`, one at a time holds."""

    kind: str
    name: str
    holds: Callable[[ChangeRequest], bool] = field(compare=False)


def narrowed(items: Iterable[ChangeRequest], by: Collection[Only]) -> list[ChangeRequest]:
    """Those for which all of `by` holds."""
    return [item for item in items if all(each.holds(item) for each in by)]


def offered(
    items: Sequence[ChangeRequest], holding: Sequence[Only], space_title: Callable[[ChangeRequest], str]
) -> list[tuple[Only, int]]:
    """By what they can be narrowed beside what holds, and how many would be left. What leaves none, or all, is not offered."""
    known = [
        Only("State", "outdated", lambda each: each.outdated),
        Only("State", "with open threads", lambda each: each.comments > 0),
        Only("State", "without an open thread", lambda each: each.comments == 0),
    ]
    for title in sorted({space_title(each) for each in items}, key=str.casefold):
        known.append(Only("Space", title, _says(space_title, title)))
    for name in sorted({author_of(each) for each in items} - {""}, key=str.casefold):
        known.append(Only("Author", name, _says(author_of, name)))
    found = []
    for each in known:
        among = narrowed(items, [other for other in holding if other.kind != each.kind])
        left = sum(map(each.holds, among))
        if each not in holding and 0 < left < len(among):
            found.append((each, left))
    return found


def _says(what: Callable[[ChangeRequest], str], name: str) -> Callable[[ChangeRequest], bool]:
    return lambda each: what(each) == name


def author_of(item: ChangeRequest) -> str:
    """Who made it, as far as that is known."""
    return item.created_by.name if item.created_by else ""


def _changed(item: ChangeRequest) -> datetime:
    moment = item.updated_at
    return _NEVER if moment is None else moment if moment.tzinfo else moment.replace(tzinfo=UTC)


ORDERS: dict[str, tuple[str, Callable[[ChangeRequest], tuple[object, ...]]]] = {
    "space": ("by space", lambda each: ()),
    "newest": ("changed last first", lambda each: (_NEVER - _changed(each),)),
    "oldest": ("changed first first", lambda each: (_changed(each),)),
    "threads": ("most open threads first", lambda each: (-each.comments,)),
    "author": ("by author", lambda each: (author_of(each).casefold(),)),
}
"""The ways to order the list: what each is called, and what is compared. By space they stand under its title."""
