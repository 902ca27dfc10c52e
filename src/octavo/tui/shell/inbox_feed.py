"""The inbox of the organization on show, for every view: what needs the person, and what was done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.api.operation import ListPage
from octavo.api.places import ChangeRequestRef

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
    from octavo.tui.shell.host import Host
    from octavo.tui.shell.session import Session


_COUNT = "count of the inbox"


class InboxFeed:
    """Follows the inbox until the session ends: from the moment somebody looks at it, or, if they did in an earlier run, from
    the first look in the background on. Before, nothing is asked for it, and its count is that of the earlier run."""

    def __init__(self, app: Host, count: Callable[[str, ListPage[Comment]], None]) -> None:
        """`count` is called with the id of a change request and its open comments, when the comments are read."""
        self._count = count
        self._counted: dict[ChangeRequestRef, tuple[Comment, ...]] = {}
        """The comments of each change request that `count` was called with last."""
        self.changed: Signal[None] = app.signal("inbox")
        """Other rows need the person, or something else is known of them."""
        self.loader: InboxLoader | None = None
        """Loads the rows. None before the inbox was first opened, and without an organization."""
        self.marks: InboxMarks | None = None
        self.snapshot: InboxSnapshot | None = None
        """All that is known, also what was done or put off."""
        self.rows: MarkedRows | None = None
        """The same, by what was done with it."""
        self._session: Session | None = None
        self._organization: Organization | None = None
        self._wanted = False
        self._kept_count: int | None = None
        """How many things needed the person when that was last known, also in an earlier run. None: that never was."""
        self._leave: Callable[[], None] | None = None

    def enter(self, session: Session, organization: Organization) -> None:
        """Follow the inbox of this organization, and of no other."""
        self._let_go()
        self._session, self._organization = session, organization
        kept = session.state.get_fact(_COUNT)
        in_this = isinstance(kept, dict) and kept.get("organization") == organization.id
        self._kept_count = kept["count"] if in_this and isinstance(kept.get("count"), int) else None
        if self._wanted:
            self.begin()

    def begin(self) -> None:
        """Follow it from now on."""
        self._wanted = True
        if self.loader is not None or self._session is None or self._organization is None:
            return
        from octavo.data.inbox_loader import InboxLoader  # a first screen that shows a page does without
        from octavo.data.inbox_marks import InboxMarks

        session = self._session
        self.marks = InboxMarks(session.state)
        self.loader = InboxLoader(session.live, session.drafts, self._organization)
        self._leave = self.loader.subscribe(self._show)

    async def poll(self) -> None:
        """Fetch what has changed, in the background. Fetches nothing for a user who has never opened the inbox: all of the
        inbox would have to be fetched."""
        if self._kept_count is not None:
            self.begin()
        if self.loader is not None:
            await self.loader.poll()

    def words_changed(self) -> None:
        """Something was written and not sent, or is so no more."""
        if self.loader is not None:
            self.loader.rebuild()

    @property
    def as_of(self) -> datetime | None:
        """When what says what needs the person was read. None: it never was."""
        return self.loader.as_of if self.loader is not None else None

    @property
    def lists(self) -> tuple[Operation[Any], ...]:
        """What asks for the lists that say what there is, and what of it moved."""
        return self.loader.lists if self.loader is not None else ()

    def leave_organization(self) -> None:
        """There is no organization any more that it could be of."""
        self._let_go()
        self._organization = None
        self.changed.publish(None)

    def end(self) -> None:
        """The session ends."""
        self._let_go()
        self._session = self._organization = None
        self._wanted = False

    def look_again(self) -> None:
        """Sort the rows anew: something was done with one, or what was put off may be due."""
        if self.snapshot is not None and self.marks is not None:
            self.rows = self.marks.sort(self.snapshot.rows)
            self._keep_count()
            self.changed.publish(None)

    @property
    def count(self) -> int:
        """How many things need the person, as far as that is known."""
        snapshot, rows = self.snapshot, self.rows
        if snapshot is None or rows is None or not (snapshot.rows or _is_whole(snapshot)):
            return self._kept_count or 0
        return len(rows.here)

    def change_request(self, row: InboxRow | None) -> ChangeRequest | None:
        """The change request a row is about, as far as it is known."""
        if self.loader is None or row is None or not isinstance(row.target, ChangeRequestRef):
            return None
        return self.loader.change_request(row.target)

    def comment(self, row: InboxRow | None) -> Comment | None:
        """The first comment of the thread a row is about, as far as it is known."""
        from octavo.data.inbox import ThreadRef  # as above

        if self.loader is None or row is None or not isinstance(row.target, ThreadRef):
            return None
        return self.loader.comment(row.target)

    def _show(self, snapshot: InboxSnapshot) -> None:
        self.snapshot = snapshot
        read = self.loader.threads_of_requests if self.loader is not None else {}
        for at, said in read.items():
            if self._counted.get(at) is not said:
                self._count(at.change_request_id, ListPage(items=said))
        self._counted = read
        self.look_again()

    def _keep_count(self) -> None:
        """Keep how many they are for the next start. What is known in part says less than what was known before."""
        session, organization, count = self._session, self._organization, self.count
        if self.snapshot is None or session is None or organization is None or count == self._kept_count:
            return
        if _is_whole(self.snapshot):
            self._kept_count = count
            session.state.set_fact(_COUNT, {"organization": organization.id, "count": count})

    def _let_go(self) -> None:
        if self._leave is not None:
            self._leave()
        self._leave = self.loader = self.marks = self.snapshot = self.rows = None
        self._kept_count = None
        self._counted = {}


def _is_whole(snapshot: InboxSnapshot) -> bool:
    """Whether nothing is missing that may make rows."""
    return not (snapshot.is_loading or snapshot.failed or snapshot.unknown.words)
