"""The tabs, order, headings and filters of the inbox, and the settings that save filters as a tab."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from octavo.api.folding import fold
from octavo.data.inbox import HEADINGS, REASONS, InboxRow, Reason, ThreadRef, WriteRef
from octavo.data.inbox_marks import MarkedRows
from octavo.settings import LONGEST_NAME
from octavo.tui.widgets.filtering import ListFilter
from octavo.tui.widgets.row_list import RowHeading

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
class RowFilter(ListFilter):
    """A filter of the list. Only one filter of each `kind` is active."""

    value: str = ""
    matches: Callable[[InboxRow], bool] = field(default=lambda row: True, compare=False)


def rows_of_tab(tab: str, rows: MarkedRows) -> Sequence[InboxRow]:
    """Return the rows of a built-in tab, in the same order as in `rows`."""
    if tab == "snoozed":
        return [row for row, _ in rows.snoozed]
    if tab == "done":
        return rows.done
    reasons = REASON_TABS[tab][1] if tab in REASON_TABS else REASONS
    return [row for row in rows.active if tab not in REASON_TABS or row.reason in reasons]


def sort_rows(rows: Iterable[InboxRow], order: str, space_title: Callable[[str], str]) -> list[InboxRow]:
    """Return rows, which are ordered by urgency, in another order: by `space`, or the `newest` first. For any other
    `order`, keep the order. `space_title` returns the title of a space."""
    if order == "space":
        titles = {each: space_title(each) for each in {row.space_id for row in rows}}
        return sorted(rows, key=lambda row: (not row.space_id, fold(titles[row.space_id]), row.space_id))
    if order == "newest":
        return sorted(rows, key=lambda row: row.moment or _LONG_AGO, reverse=True)
    return list(rows)


def headings(rows: Iterable[InboxRow], order: str, space_title: Callable[[str], str]) -> dict[str, RowHeading]:
    """Return the heading of each reason or space, with its number of rows."""
    if order == "newest":
        return {}
    if order == "space":
        counts = Counter(row.space_id for row in rows)
        names = {each: space_title(each).upper() or "NO SPACE" for each in counts}
    else:
        counts = Counter(row.reason for row in rows)
        names = {each: heading.upper() for each, heading in HEADINGS.items()}
    return {each: RowHeading(names[each], str(number)) for each, number in counts.items()}


def is_thread(row: InboxRow) -> bool:
    """Return whether a row is a thread."""
    return isinstance(row.target, ThreadRef)


def available_filters(
    rows: Sequence[InboxRow], active: Sequence[RowFilter], unread: frozenset[str], space_title: Callable[[str], str]
) -> list[tuple[RowFilter, int]]:
    """Return the filters that can be added, with the number of rows that match. Filters without effect are omitted."""
    filters = []
    for candidate in _all_filters(rows, unread, space_title):
        others_applied = filter_rows(rows, [other for other in active if other.kind != candidate.kind])
        count = sum(map(candidate.matches, others_applied))
        if candidate not in active and 0 < count < len(others_applied):
            filters.append((candidate, count))
    return filters


def filter_rows(rows: Iterable[InboxRow], filters: Sequence[RowFilter]) -> list[InboxRow]:
    """Return the rows that match all filters."""
    return [row for row in rows if all(active.matches(row) for active in filters)]


def reason_filter(reason: Reason) -> RowFilter:
    """Return the filter for rows with a reason, including rows where it is not the main reason."""
    return RowFilter("Reason", HEADINGS[reason].lower(), reason, lambda row: reason in (row.reason, *row.other_reasons))


def space_filter(space_id: str, title: str) -> RowFilter:
    """Return the filter for rows of a space."""
    return RowFilter("Space", f"in {title}", space_id, lambda row: row.space_id == space_id)


def _all_filters(
    rows: Sequence[InboxRow], unread: frozenset[str], space_title: Callable[[str], str]
) -> list[RowFilter]:
    filters = [reason_filter(reason) for reason in REASONS]
    filters += [
        RowFilter("Kind", "change requests", "requests", lambda row: not isinstance(row.target, ThreadRef | WriteRef)),
        RowFilter("Kind", "threads", "threads", is_thread),
        RowFilter("Read", "unread", "unread", lambda row: row.key in unread),
    ]
    spaces = {row.space_id: space_title(row.space_id) for row in rows if row.space_id}
    filters += [space_filter(each, title) for each, title in sorted(spaces.items(), key=lambda pair: fold(pair[1]))]
    return filters


def tab_settings(
    filters: Sequence[RowFilter], query: str, reasons: Sequence[Reason], taken_names: Collection[str]
) -> tuple[str, list[str]]:
    """Return the TOML text that defines a tab with these filters and the search text `query`, and the names of the
    filters that the settings cannot express.

    The text is empty if it would express nothing. `reasons` are used if no filter by reason is active. `taken_names`
    are the names of other tabs.
    """
    filters_by_kind = {active.kind: active for active in filters}
    reason_names = [filters_by_kind["Reason"].value] if "Reason" in filters_by_kind else list(reasons)
    space = filters_by_kind["Space"].value if "Space" in filters_by_kind else ""
    unsupported = [active.name for active in filters if active.kind not in ("Reason", "Space")]
    lines = [
        f"reasons = [{', '.join(map(_quote_toml, reason_names))}]" if reason_names else "",
        f"space = {_quote_toml(space)}" if space else "",
        f"words = {_quote_toml(query)}" if query else "",
    ]
    if not any(lines):
        return "", unsupported
    name_parts = [*(active.name for active in filters if active.name not in unsupported), query]
    name = _free_name(" ".join(filter(None, name_parts)) or " or ".join(reason_names), taken_names)
    return "\n".join([f"[inbox.{_quote_toml(name)}]", *filter(None, lines)]) + "\n", unsupported


def _free_name(name: str, taken_names: Collection[str]) -> str:
    """Return a unique name for a tab, with a number if needed, because TOML does not allow a table twice."""
    printable = " ".join("".join(each if each.isprintable() else " " for each in name).split())
    candidate, number = printable[:LONGEST_NAME].strip(), 2
    while candidate in taken_names:
        candidate = f"{printable[: LONGEST_NAME - len(str(number)) - 1].strip()} {number}"
        number += 1
    return candidate


def _quote_toml(text: str) -> str:
    """Return a text as a TOML string: like JSON, but the delete character is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
