"""The inbox of the current organization, shared by all views: its rows, and which of them are done or snoozed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.api.operation import ListPage
from octavo.api.places import ChangeRequestRef
from octavo.lazy_import import lazy
from octavo.tui.widgets.commands import HostApp

if TYPE_CHECKING:
    from datetime import datetime

    from textual.signal import Signal

    from octavo.api.change_requests import ChangeRequest
    from octavo.api.comments import Comment
    from octavo.api.operation import Operation
    from octavo.api.organizations import Organization
    from octavo.data.inbox import InboxRow
    from octavo.data.inbox_loader import InboxLoader, InboxSnapshot
    from octavo.data.inbox_marks import InboxMarks, MarkedRows
    from octavo.tui.core.session import Session

_new_loader = lazy("octavo.data.inbox_loader:InboxLoader")
_new_marks = lazy("octavo.data.inbox_marks:InboxMarks")


_COUNT_FACT = "count of the inbox"


class InboxFeed:
    """Loads the inbox of the current organization until the session ends. Loading starts when the user opens the inbox,
    or with the first background refresh if the user opened it in an earlier run. Until then, the inbox shows the count
    of the earlier run."""

    def __init__(self, app: HostApp[Any], on_comments_read: Callable[[str, ListPage[Comment]], None]) -> None:
        """`on_comments_read` is called with the id of a change request and its open comments as soon as they are read."""
        self._on_comments_read = on_comments_read
        self._reported_comments: dict[ChangeRequestRef, tuple[Comment, ...]] = {}
        """Comments of each change request that were passed to `on_comments_read` last."""
        self.changed: Signal[None] = app.signal("inbox")
        """Published when the rows or their data have changed."""
        self.loader: InboxLoader | None = None
        """Loads the rows. None until the inbox is first opened, and without an organization."""
        self.marks: InboxMarks | None = None
        self.snapshot: InboxSnapshot | None = None
        """All rows, including done and snoozed rows."""
        self.rows: MarkedRows | None = None
        """The rows of `snapshot`, grouped into current, done and snoozed rows."""
        self._session: Session | None = None
        self._organization: Organization | None = None
        self._is_started = False
        self._last_count: int | None = None
        """Count of the last complete inbox, possibly from an earlier run. None if the inbox was never complete."""
        self._unsubscribe: Callable[[], None] | None = None

    def switch_organization(self, session: Session, organization: Organization) -> None:
        """Load the inbox of `organization` instead of the previous inbox."""
        self._reset()
        self._session, self._organization = session, organization
        saved = session.state.get_fact(_COUNT_FACT)
        is_same_organization = isinstance(saved, dict) and saved.get("organization") == organization.id
        self._last_count = saved["count"] if is_same_organization and isinstance(saved.get("count"), int) else None
        if self._is_started:
            self.start()

    def start(self) -> None:
        """Start loading the inbox."""
        self._is_started = True
        if self.loader is not None or self._session is None or self._organization is None:
            return
        session = self._session
        self.marks = _new_marks(session.state)
        self.loader = _new_loader(session.live, session.drafts, self._organization)
        self._unsubscribe = self.loader.subscribe(self._on_snapshot)

    async def poll(self) -> None:
        """Fetch changes in the background. If the user has never opened the inbox, nothing is fetched."""
        if self._last_count is not None:
            self.start()
        if self.loader is not None:
            await self.loader.poll()

    def rebuild(self) -> None:
        """Rebuild the rows after an unsent text appeared or disappeared."""
        if self.loader is not None:
            self.loader.rebuild()

    @property
    def as_of(self) -> datetime | None:
        """When the data of the inbox was read. None if it was never read."""
        return self.loader.as_of if self.loader is not None else None

    @property
    def list_operations(self) -> tuple[Operation[Any], ...]:
        """Operations that load the lists of the inbox."""
        return self.loader.lists if self.loader is not None else ()

    def clear_organization(self) -> None:
        """Stop loading the inbox, because no organization is left."""
        self._reset()
        self._organization = None
        self.changed.publish(None)

    def stop(self) -> None:
        """Stop loading the inbox, because the session ends."""
        self._reset()
        self._session = self._organization = None
        self._is_started = False

    def regroup(self) -> None:
        """Group the rows again after a mark has changed or a snoozed row is due."""
        if self.snapshot is not None and self.marks is not None:
            self.rows = self.marks.group(self.snapshot.rows)
            self._save_count()
            self.changed.publish(None)

    @property
    def count(self) -> int:
        """Number of rows that need the attention of the user, as far as they are loaded."""
        snapshot, rows = self.snapshot, self.rows
        if snapshot is None or rows is None or not (snapshot.rows or _is_complete(snapshot)):
            return self._last_count or 0
        return len(rows.active)

    @property
    def is_complete(self) -> bool:
        """True if all data that can add rows to the inbox is loaded."""
        return self.snapshot is not None and _is_complete(self.snapshot)

    def change_request(self, row: InboxRow | None) -> ChangeRequest | None:
        """Return the change request of a row. None if it is not loaded or the row has none."""
        if self.loader is None or row is None or not isinstance(row.target, ChangeRequestRef):
            return None
        return self.loader.change_request(row.target)

    def comment(self, row: InboxRow | None) -> Comment | None:
        """Return the first comment of the thread of a row. None if it is not loaded or the row has none."""
        return self.loader.comment(row.target) if self.loader is not None and row is not None else None

    def _on_snapshot(self, snapshot: InboxSnapshot) -> None:
        self.snapshot = snapshot
        comments_by_request = self.loader.threads_of_requests if self.loader is not None else {}
        for at, comments in comments_by_request.items():
            if self._reported_comments.get(at) is not comments:
                self._on_comments_read(at.change_request_id, ListPage(items=comments))
        self._reported_comments = comments_by_request
        self.regroup()

    def _save_count(self) -> None:
        """Save the count for the next run, unless the inbox is incomplete."""
        session, organization, count = self._session, self._organization, self.count
        if self.snapshot is None or session is None or organization is None or count == self._last_count:
            return
        if _is_complete(self.snapshot):
            self._last_count = count
            session.state.set_fact(_COUNT_FACT, {"organization": organization.id, "count": count})

    def _reset(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._unsubscribe = self.loader = self.marks = self.snapshot = self.rows = None
        self._last_count = None
        self._reported_comments = {}


def _is_complete(snapshot: InboxSnapshot) -> bool:
    """True if all data that can add rows to the inbox is loaded."""
    return not (snapshot.is_loading or snapshot.failed or snapshot.unknown.summary)
