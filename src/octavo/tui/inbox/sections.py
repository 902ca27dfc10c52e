"""The tabs, order, headings and filters of the inbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

from octavo.api.folding import fold
from octavo.data.inbox import HEADINGS, REASONS, Reason, Row, ThreadRef, WriteRef
from octavo.data.inbox_marks import MarkedRows
from octavo.tui.widgets.row_list import Heading

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
REASON_TABS: Mapping[str, tuple[str, tuple[Reason, ...]]] = MappingProxyType(
    {
        "review": ("Review", ("review requested", "changed since review")),
        "mine": ("My changes", ("approved", "changes requested", "outdated")),
        "threads": ("Threads", ("new replies", "on my change requests", "mentioned")),
        "unsent": ("Unsent", ("not sent", "unsent draft")),
    }
)
"""Title and reasons of each tab that filters by reason."""
SHORT_REASONS: Mapping[Reason, str] = MappingProxyType(
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
"""Short names of the reasons."""
REASON_SIGNS: Mapping[Reason, tuple[str, str]] = MappingProxyType(
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
"""Labels of the orders."""


@dataclass(frozen=True)
class RowFilter:
    """A filter of the list. Only one filter of each `kind` is active."""

    kind: Literal["Reason", "Space", "Kind", "Read"]
    name: str
    value: str = ""
    matches: Callable[[Row], bool] = field(default=lambda row: True, compare=False)


def rows_of_tab(tab: str, rows: MarkedRows) -> Sequence[Row]:
    """Return the rows of a built-in tab, in their order."""
    if tab == "snoozed":
        return [row for row, _ in rows.snoozed]
    if tab == "done":
        return rows.done
    reasons = REASON_TABS[tab][1] if tab in REASON_TABS else REASONS
    return [row for row in rows.here if tab not in REASON_TABS or row.reason in reasons]


def sort_rows(rows: Iterable[Row], order: str, space: Callable[[str], str]) -> list[Row]:
    """Sort rows that are ordered by urgency. `space` returns the title of a space."""
    if order == "space":
        titles = {each: space(each) for each in {row.space_id for row in rows}}
        return sorted(rows, key=lambda row: (not row.space_id, fold(titles[row.space_id]), row.space_id))
    if order == "newest":
        return sorted(rows, key=lambda row: row.moment or _LONG_AGO, reverse=True)
    return list(rows)


def headings(rows: Iterable[Row], order: str, space: Callable[[str], str]) -> dict[str, Heading]:
    """Return the heading of each reason or space, with its number of rows."""
    if order == "newest":
        return {}
    if order == "space":
        counted = Counter(row.space_id for row in rows)
        names = {each: space(each).upper() or "NO SPACE" for each in counted}
    else:
        counted = Counter(row.reason for row in rows)
        names = {each: heading.upper() for each, heading in HEADINGS.items()}
    return {each: Heading(names[each], str(number)) for each, number in counted.items()}


def is_thread(row: Row) -> bool:
    """Return whether a row is a thread."""
    return isinstance(row.about, ThreadRef)


def available_filters(
    rows: Sequence[Row], holding: Sequence[RowFilter], unread: frozenset[str], space: Callable[[str], str]
) -> list[tuple[RowFilter, int]]:
    """Return filters that can be added, with the number of rows that each leaves. Filters without effect are
    omitted."""
    found = []
    for each in _all_filters(rows, unread, space):
        among = filter_rows(rows, [other for other in holding if other.kind != each.kind])
        left = sum(map(each.matches, among))
        if each not in holding and 0 < left < len(among):
            found.append((each, left))
    return found


def filter_rows(rows: Iterable[Row], by: Sequence[RowFilter]) -> list[Row]:
    """Return the rows that match all filters."""
    return [row for row in rows if all(each.matches(row) for each in by)]


def reason_filter(reason: Reason) -> RowFilter:
    """Return the filter for rows with a reason, including rows where it is not the main reason."""
    return RowFilter("Reason", HEADINGS[reason].lower(), reason, lambda row: reason in (row.reason, *row.also))


def space_filter(space_id: str, title: str) -> RowFilter:
    """Return the filter for rows of a space."""
    return RowFilter("Space", f"in {title}", space_id, lambda row: row.space_id == space_id)


def _all_filters(rows: Sequence[Row], unread: frozenset[str], space: Callable[[str], str]) -> list[RowFilter]:
    found = [reason_filter(reason) for reason in REASONS]
    found += [
        RowFilter("Kind", "change requests", "requests", lambda row: not isinstance(row.about, ThreadRef | WriteRef)),
        RowFilter("Kind", "threads", "threads", is_thread),
        RowFilter("Read", "unread", "unread", lambda row: row.key in unread),
    ]
    spaces = {row.space_id: space(row.space_id) for row in rows if row.space_id}
    found += [space_filter(each, title) for each, title in sorted(spaces.items(), key=lambda pair: fold(pair[1]))]
    return found
