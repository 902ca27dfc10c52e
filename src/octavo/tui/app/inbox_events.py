"""Finds new rows of the inbox, and describes new rows and merges for the user's hooks and for notifications.
`user_programs.py` runs the hooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ChangeRequestRef
from octavo.data.inbox import InboxRow, ThreadRef
from octavo.data.space_names import space_name
from octavo.settings.programs import HookEvent
from octavo.settings.table import InboxReason

_EVENT_OF_REASON: Mapping[InboxReason, HookEvent] = MappingProxyType(
    {
        "review requested": "review-requested",
        "changes requested": "changes-requested",
        "outdated": "outdated",
        "new replies": "new-reply",
        "on my change requests": "new-reply",
    }
)
"""Event that a new row triggers in addition to `inbox-row`, by reason of the row."""
_UNSENT_REASONS: tuple[InboxReason, ...] = ("not sent", "unsent draft")
"""Reasons of inbox rows about texts that the user has not sent. Such rows trigger no events."""


@dataclass(frozen=True)
class InboxEvent:
    """An inbox row that is new or has news, or a merged change request, described for hooks and notifications."""

    names: tuple[HookEvent, ...]
    """Names of the events, such as `inbox-row` and `review-requested`. All hooks for one of them run."""
    kind: str
    ref: str
    """Reference for the command line, such as `handbook/7`. Empty if it is unknown."""
    title: str
    text: str
    """Text of the notification."""
    space: str
    url: str
    updated_at: datetime | None

    def as_json(self, name: HookEvent) -> dict[str, Any]:
        """Return the JSON object that the hook for the event `name` gets."""
        return {
            "event": name,
            "kind": self.kind,
            "ref": self.ref,
            "title": self.title,
            "text": self.text,
            "space": self.space,
            "url": self.url,
            "updatedAt": self.updated_at.isoformat() if self.updated_at else None,
        }


class InboxEventDetector:
    """Finds the new rows of the inbox by comparing it with all rows seen before."""

    def __init__(self) -> None:
        self._seen_rows: set[tuple[str, str]] | None = None
        """`key` and `stamp` of each seen row. News in a row change its stamp. None until the inbox was complete."""

    def take_new_rows(self, rows: Iterable[InboxRow], *, is_complete: bool) -> list[InboxRow]:
        """Return the rows that are new or have news, without rows about unsent texts. `is_complete` is True if `rows`
        is the whole inbox. The first call with the whole inbox, and the calls before it, return no rows."""
        rows_by_key_and_stamp = {(each.key, each.stamp): each for each in rows}
        if self._seen_rows is None:
            self._seen_rows = set(rows_by_key_and_stamp) if is_complete else None
            return []
        changed_rows = [
            row for key_and_stamp, row in rows_by_key_and_stamp.items() if key_and_stamp not in self._seen_rows
        ]
        self._seen_rows |= rows_by_key_and_stamp.keys()
        return [each for each in changed_rows if each.reason not in _UNSENT_REASONS]


def event_of_row(row: InboxRow, change_request: ChangeRequest | None, titles: Mapping[str, str]) -> InboxEvent:
    """Return the event for a new inbox row. `change_request` is the change request of the row, if any. `titles` has the
    titles of spaces by ID."""
    special_event = _EVENT_OF_REASON.get(row.reason)
    kind = {ChangeRequestRef: "change", ThreadRef: "thread"}.get(type(row.target), "row")
    space, ref = _space_name_and_ref(row.space_id, change_request, titles)
    title = change_request.title if change_request is not None else row.title
    return InboxEvent(
        ("inbox-row", special_event) if special_event else ("inbox-row",),
        kind,
        ref,
        title,
        _text(ref, row.reason_text.rstrip("."), title),
        space,
        (change_request.urls.app or "") if change_request is not None else "",
        row.moment,
    )


def event_of_merge(change_request: ChangeRequest, titles: Mapping[str, str]) -> InboxEvent:
    """Return the event for the merge of a change request. `titles` has the titles of spaces by ID."""
    space, ref = _space_name_and_ref(change_request.space or "", change_request, titles)
    title = change_request.title
    url = change_request.urls.app or ""
    return InboxEvent(
        ("merged",), "change", ref, title, _text(ref, "merged", title), space, url, change_request.merged_at
    )


def _space_name_and_ref(
    space_id: str, change_request: ChangeRequest | None, titles: Mapping[str, str]
) -> tuple[str, str]:
    space = space_name(space_id, titles) if space_id in titles else ""
    return space, f"{space}/{change_request.number}" if space and change_request is not None else space


def _text(ref: str, what_happened: str, title: str) -> str:
    sentence = f"{ref}: {what_happened}." if ref else f"{title}: {what_happened}."
    return f"{sentence} octavo open {ref}" if "/" in ref else sentence
