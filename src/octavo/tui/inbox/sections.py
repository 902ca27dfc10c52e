"""What stands in which tab of the inbox, in what order and under which heading. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

from octavo.api.folding import fold
from octavo.data.inbox import HEADINGS, REASONS, InboxRow, Reason, ThreadRef, WriteRef
from octavo.data.inbox_marks import MarkedRows
from octavo.tui.widgets.row_list import Heading

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
GROUPS: Mapping[str, tuple[str, tuple[Reason, ...]]] = MappingProxyType(
    {
        "review": ("Review", ("review requested", "changed since review")),
        "mine": ("My changes", ("approved", "changes requested", "outdated")),
        "threads": ("Threads", ("new replies", "on my change requests", "mentioned")),
        "unsent": ("Unsent", ("not sent", "unsent draft")),
    }
)
"""The tabs of reasons, and the reasons in each."""
SHORT: Mapping[Reason, str] = MappingProxyType(
    {
        "not sent": "not sent",
        "review requested": "review",
        "changed since review": "changed",
        "approved": "approved",
        "changes requested": "changes requested",
        "outdated": "outdated",
        "new replies": "replies",
        "on my change requests": "comment",
        "mentioned": "mention",
        "unsent draft": "unsent",
    }
)
"""Each reason in a word or two."""
SIGNS: Mapping[Reason, tuple[str, str]] = MappingProxyType(
    {
        "not sent": ("!", "$error"),
        "review requested": ("◐", "$primary"),
        "changed since review": ("◐", "$warning"),
        "approved": ("✓", "$success"),
        "changes requested": ("✗", "$error"),
        "outdated": ("○", "$warning"),
        "new replies": ("↳", "$octavo-note"),
        "on my change requests": ("●", "$octavo-note"),
        "mentioned": ("@", "$octavo-note"),
        "unsent draft": ("◌", "$octavo-muted"),
    }
)
ORDERS: Mapping[str, str] = MappingProxyType({"reason": "by reason", "space": "by space", "newest": "newest first"})
"""The ways to order the inbox, and what each is called."""


@dataclass(frozen=True)
class RowFilter:
    """Which rows are to be shown. Of a `kind`, one at a time holds."""

    kind: Literal["Reason", "Space", "Kind", "Read"]
    name: str
    value: str = ""
    holds: Callable[[InboxRow], bool] = field(default=lambda row: True, compare=False)


def of_tab(tab: str, rows: MarkedRows) -> Sequence[InboxRow]:
    """The rows of a tab that is not one of saved filters, in their order."""
    if tab == "snoozed":
        return [row for row, _ in rows.snoozed]
    if tab == "done":
        return rows.done
    reasons = GROUPS[tab][1] if tab in GROUPS else REASONS
    return [row for row in rows.here if tab not in GROUPS or row.reason in reasons]


def ordered(rows: Iterable[InboxRow], order: str, space: Callable[[str], str]) -> list[InboxRow]:
    """Rows, which come the most urgent first, in one of `ORDERS`. `space` says what a space is called."""
    if order == "space":
        titles = {each: space(each) for each in {row.space_id for row in rows}}
        return sorted(rows, key=lambda row: (not row.space_id, fold(titles[row.space_id]), row.space_id))
    if order == "newest":
        return sorted(rows, key=lambda row: row.moment or _LONG_AGO, reverse=True)
    return list(rows)


def headings(rows: Iterable[InboxRow], order: str, space: Callable[[str], str]) -> dict[str, Heading]:
    """What rows stand under, by their reason or space, with how many there are."""
    if order == "newest":
        return {}
    if order == "space":
        counted = Counter(row.space_id for row in rows)
        names = {each: space(each).upper() or "NO SPACE" for each in counted}
    else:
        counted = Counter(row.reason for row in rows)
        names = {each: heading.upper() for each, heading in HEADINGS.items()}
    return {each: Heading(names[each], str(number)) for each, number in counted.items()}


def is_thread(row: InboxRow) -> bool:
    """Whether a row is about a thread."""
    return isinstance(row.target, ThreadRef)


def offered(
    rows: Sequence[InboxRow], holding: Sequence[RowFilter], unread: frozenset[str], space: Callable[[str], str]
) -> list[tuple[RowFilter, int]]:
    """By what rows can be narrowed beside what holds, and how many would be left. What would leave none, or all, is not
    offered."""
    found = []
    for each in _known(rows, unread, space):
        among = narrowed(rows, [other for other in holding if other.kind != each.kind])
        left = sum(map(each.holds, among))
        if each not in holding and 0 < left < len(among):
            found.append((each, left))
    return found


def narrowed(rows: Iterable[InboxRow], by: Sequence[RowFilter]) -> list[InboxRow]:
    """The rows for which all of `by` holds."""
    return [row for row in rows if all(each.holds(row) for each in by)]


def by_reason(reason: Reason) -> RowFilter:
    """Those that are there for a reason, also beside another."""
    return RowFilter("Reason", HEADINGS[reason].lower(), reason, lambda row: reason in (row.reason, *row.also))


def by_space(space_id: str, title: str) -> RowFilter:
    """Those in a space."""
    return RowFilter("Space", f"in {title}", space_id, lambda row: row.space_id == space_id)


def _known(rows: Sequence[InboxRow], unread: frozenset[str], space: Callable[[str], str]) -> list[RowFilter]:
    found = [by_reason(reason) for reason in REASONS]
    found += [
        RowFilter("Kind", "change requests", "requests", lambda row: not isinstance(row.target, ThreadRef | WriteRef)),
        RowFilter("Kind", "threads", "threads", is_thread),
        RowFilter("Read", "unread", "unread", lambda row: row.key in unread),
    ]
    spaces = {row.space_id: space(row.space_id) for row in rows if row.space_id}
    found += [by_space(each, title) for each, title in sorted(spaces.items(), key=lambda pair: fold(pair[1]))]
    return found
