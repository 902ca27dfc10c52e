"""`Workspace`: the state that all views share, such as the user, the organization, its spaces and the connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from octavo.api.operation import SPECS, ListPage, Operation
from octavo.api.organizations import List as ListOrganizations
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.api.users import Me, User
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, change_requests_op, spaces_op
from octavo.data.state_db import StateDb
from octavo.tui.core.connection import Connection
from octavo.tui.core.item_labels import download_progress, format_size, is_first_download
from octavo.tui.core.routes import NavigationHistory
from octavo.tui.core.session import InboxFeed, Session, UnsentTexts
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.commands import HostApp, key_name
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from textual.signal import Signal

    from octavo.api.change_requests import ChangeRequest, ListOfOrganization
    from octavo.api.comments import Comment
    from octavo.data.polling import RemoteChange
    from octavo.data.writes.machine import OutboxEntry

_TOUR_KEY = "tour"
"""Key under which the number of completed steps of the tour is stored."""


class TourStep(NamedTuple):
    """A step of the tour of the demo: a key that the user should press."""

    commands: tuple[str, ...]
    """IDs of the commands that complete the step."""
    key: str
    """Default key of the first of the `commands`."""
    purpose: str
    """End of the sentence “Press KEY to …”."""
    where: str = ""
    """Start of the sentence if the key works only in some views, such as “In the list, ”."""


STEPS = (
    TourStep(("view.changes",), "3", "list the change requests"),
    TourStep(("list.open",), "enter", "open a change request", "In the list, "),
    TourStep(("diff.next_thread",), "t", "see the next thread", "In a change request, "),
    TourStep(("comment.block", "diff.comment"), "c", "comment or reply", "In a change request, "),
    TourStep(("app.palette",), ":", "find any command by name"),
)


class Tour:
    """Tour of the demo, which asks the user to press a few keys. Its progress is stored with the session."""

    def __init__(self, app: HostApp[Any], on_change: Callable[[], None]) -> None:
        self._app, self._on_change = app, on_change
        self._state: StateDb | None = None
        """Database that stores the progress of the tour. None outside the demo."""

    def watch_session(self, session: Session | None) -> None:
        """Continue the tour if `session` is the demo. Otherwise, or if it is None, end the tour."""
        self._state = session.state if session is not None and session.kind == "demo" else None

    @property
    def is_offered(self) -> bool:
        return self._state is not None

    @property
    def next_step(self) -> int | None:
        """Index of the next step in `STEPS`. None if no tour is active."""
        step_count = self._state.get_value(_TOUR_KEY, 0) if self._state is not None else None
        return step_count if isinstance(step_count, int) and 0 <= step_count < len(STEPS) else None

    @property
    def instruction_text(self) -> str:
        """Sentence that asks the user to do the next step. Empty if no tour is active."""
        if (step_index := self.next_step) is None:
            return ""
        step = STEPS[step_index]
        press_phrase = f"{'press' if step.where else 'Press'} {self._key(step.commands[0], step.key)}"
        return f"Tour {step_index + 1}/{len(STEPS)}  {step.where}{press_phrase} to {step.purpose}."

    @property
    def exit_hint(self) -> str:
        """The key that ends the tour, with its label, such as `f6 leave tour`."""
        return f"{self._key('app.tour', 'f6')} leave tour"

    def _key(self, id: str, default: str) -> str:
        keys = self._app.keys_of_user.get(id)
        return key_name(keys.split(",")[0].strip()) if keys else default

    def complete_step(self, id: str) -> None:
        """Go to the next step of the tour if the command `id` completes the current step."""
        step_index = self.next_step
        if step_index is None or id not in STEPS[step_index].commands:
            return
        self._save(step_index + 1)
        if step_index + 1 == len(STEPS):
            self._app.say("Tour complete. In any view, press ? to see its keyboard shortcuts.")

    def toggle(self) -> None:
        """Start the tour at its first step, or end the active tour."""
        self._save(0 if self.next_step is None else len(STEPS))

    def _save(self, step_count: int) -> None:
        if self._state is not None:
            self._state.set_value(_TOUR_KEY, step_count)
        self._on_change()


MAX_SPACES = 1000
PENDING = "pending comment"
NOT_SENT = "not sent"
"""Label of a comment or reply that the server refused, or that waits until the user decides about it."""
MAY_BE_SENT = "may have been sent"
"""Label of a comment or reply whose response was lost."""
_SUMMARY_COUNTS = "open words of reviews"


_MIN_NEWS_TIME = timedelta(seconds=10)
"""Minimum time for which `RemoteNews` is shown, even if the user presses a key."""


class RemoteNews:
    """Counts of changes by other people. The status bar shows them, such as `2 new replies · 1 merge`."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._counts: Counter[RemoteChange] = Counter()
        self._shown_since: datetime | None = None

    def add(self, counts: Counter[RemoteChange]) -> None:
        """Add `counts` of new changes to the numbers in the status bar."""
        self._counts += counts
        if self.summary and self._shown_since is None:
            self._shown_since = short_texts.clock()
        self._on_change()

    def dismiss(self) -> None:
        """Clear the news, because the user pressed a key. News younger than 10 seconds stays."""
        if self._shown_since is not None and short_texts.clock() - self._shown_since >= _MIN_NEWS_TIME:
            self.clear()

    def clear(self) -> None:
        self._counts, self._shown_since = Counter(), None
        self._on_change()

    @property
    def summary(self) -> str:
        """The news in one line, such as `2 new replies · 1 merge`. Empty without news."""
        nouns = (
            (self._counts["threads"], "new thread", ""),
            (self._counts["replies"], "new reply", "new replies"),
            (self._counts["reviews"], "new review", ""),
            (self._counts["change_requests"], "new change request", ""),
            (self._counts["merges"], "merge", ""),
        )
        return " · ".join(plural(number, singular, plural_form) for number, singular, plural_form in nouns if number)


class Workspace:
    """The user, the organization and its spaces, for all views. Views read attributes and subscribe to signals."""

    def __init__(self, app: HostApp[Any], history: NavigationHistory) -> None:
        self.me: User | None = None
        self.organization: Organization | None = None
        self.organizations: Snapshot[ListPage[Organization]] = Snapshot()
        self.spaces: Snapshot[ListPage[Space]] = Snapshot()
        self.frame_changed: Signal[None] = app.signal("frame")
        """Published when the top bar or the status bar must be redrawn."""
        self.connection = Connection(app, self._publish_frame)
        self.organization_changed: Signal[Organization] = app.signal("organization")
        self.spaces_changed: Signal[None] = app.signal("spaces")
        self.inbox = InboxFeed(app, self.count_review_summaries)
        self.unsent = UnsentTexts(app, self.inbox.rebuild)
        self.news = RemoteNews(self._publish_frame)
        """Changes by other people, for the status bar."""
        self.tour = Tour(app, self._publish_frame)
        self._app, self._history = app, history
        self._reported_problems: set[str] = set()
        self._pending_action: Callable[[Organization], object] | None = None
        """The last action of `call_with_organization`, until an organization is loaded. None if no action waits."""
        self._session: Session | None = None
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self._undecided_by_status: dict[str, tuple[ChangeRequest, ...]] = {}
        self._summary_counts: dict[str, int] = {}
        """Number of open comments that are the text of a review, not a thread, by change request ID."""
        self._first_download_ids: set[str] = set()
        self._counted_organization: Organization | None = None
        """Organization whose change requests are watched for `open_thread_count`. None if none are watched."""
        self._follows_comment_counts = False
        """True after the first call of `follow_comment_counts`. A switch to another organization repeats the call."""

    def watch_session(self, session: Session) -> None:
        """Watch the data of `session`, until `forget_session`."""
        self._session = session
        # Read the saved counts before the first response arrives and `count_review_summaries` overwrites these counts.
        saved_counts = session.state.get_value(_SUMMARY_COUNTS)
        if isinstance(saved_counts, dict):
            self._summary_counts = {name: number for name, number in saved_counts.items() if isinstance(number, int)}
        self.connection.watch_session(session)
        self.tour.watch_session(session)
        self._reported_problems = {entry.id for entry in session.outbox.entries if _needs_attention(entry)}
        self._unsubscribe["outbox"] = session.outbox.changed.add(self._on_outbox_changed)
        self._unsubscribe["offline"] = session.offline.changed.add(self._on_offline_changed)
        session.outbox.done.add(self._report_review)
        self.unsent.watch_session(session)
        self._unsubscribe["left out"] = session.live.unreadable_items.add(self._report_unreadable)
        self._unsubscribe["me"] = session.live.watch(Me(), self._show_me)
        self._unsubscribe["organizations"] = session.live.watch(
            ListOrganizations(), self._show_organizations, min_items=MAX_SPACES
        )

    def forget_session(self) -> None:
        """Stop watching the session, and forget its data."""
        while self._unsubscribe:
            self._unsubscribe.popitem()[1]()
        self.connection.forget_session()
        self.tour.watch_session(None)
        self.inbox.stop()
        self.unsent.forget_session()
        self._session = self.me = self.organization = self._pending_action = self._counted_organization = None
        self.organizations, self.spaces = Snapshot(), Snapshot()
        self._undecided_by_status.clear()
        self._summary_counts.clear()
        self.news.clear()

    def switch_organization(self, organization: Organization) -> None:
        """Switch to another organization: watch its spaces and change requests, and load its inbox."""
        session = self._session
        if session is None or (self.organization is not None and self.organization.id == organization.id):
            return
        if self.organization is not None:
            self._history.clear()  # The history belongs to the previous organization.
        self.organization = organization
        session.state.set_value("organization", organization.id)
        if unsubscribe := self._unsubscribe.pop("spaces", None):
            unsubscribe()
        self.spaces = Snapshot()
        self._unsubscribe["spaces"] = session.live.watch(
            spaces_op(organization.id), self._show_spaces, min_items=MAX_SPACES
        )
        if self._follows_comment_counts:
            self.follow_comment_counts()
        self.inbox.switch_organization(session, organization)
        self.organization_changed.publish(organization)
        self._publish_frame()
        action, self._pending_action = self._pending_action, None
        if action is not None:
            action(organization)

    def follow_comment_counts(self) -> None:
        """Watch the undecided change requests, to count their open threads. Call this after the first paint."""
        self._follows_comment_counts = True
        session, organization = self._session, self.organization
        if session is None or organization is None or organization == self._counted_organization:
            return
        self._counted_organization = organization
        for status, op in _undecided_lists(organization).items():
            if unsubscribe := self._unsubscribe.pop(f"{status} change requests", None):
                unsubscribe()
            self._undecided_by_status.pop(status, None)
            self._unsubscribe[f"{status} change requests"] = session.live.watch(
                op, partial(self._on_change_requests, status), refetch=False
            )

    def _on_change_requests(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        if snapshot.value is not None:
            self._undecided_by_status[status] = snapshot.value.items
            self._publish_frame()

    def open_thread_count(self, change_request: ChangeRequest) -> int:
        """Return the number of open threads of a change request. The server's count includes the texts of reviews. This
        method subtracts these texts if their number is known."""
        return max(0, change_request.comments - self._summary_counts.get(change_request.id, 0))

    def count_review_summaries(
        self, change_request_id: str, comments: ListPage[Comment], comment_count: int | None = None
    ) -> None:
        """Record how many of the open comments are texts of reviews. Do nothing if `comments` is only a part of the
        list. `comment_count` is the server's number of comments, used if no loaded list contains the change request."""
        if comments.next is not None:
            return
        open_comments = [item for item in comments.items if item.is_open and not self._is_not_on_server(item.id)]
        summary_count = sum(item.is_review_text for item in open_comments)
        undecided_items = [item for items in self._undecided_by_status.values() for item in items]
        comment_count = next((item.comments for item in undecided_items if item.id == change_request_id), comment_count)
        if comment_count is not None:  # Some servers may not send a count.
            summary_count = min(summary_count, max(0, comment_count - (len(open_comments) - summary_count)))
        if self._summary_counts.get(change_request_id) == summary_count:
            return
        self._summary_counts[change_request_id] = summary_count
        if self._session is not None:
            undecided_ids = (
                {item.id for item in undecided_items}
                if len(self._undecided_by_status) > 1
                else set(self._summary_counts)
            )
            saved_counts = {name: number for name, number in self._summary_counts.items() if name in undecided_ids}
            self._session.state.set_value(_SUMMARY_COUNTS, saved_counts)
        self._publish_frame()

    def call_with_organization(self, action: Callable[[Organization], object]) -> None:
        """Call `action` with the organization, as soon as it is loaded. A later call replaces an action that waits."""
        if self.organization is not None:
            action(self.organization)
        else:
            self._pending_action = action

    @property
    def operations(self) -> tuple[Operation[Any], ...]:
        """Operations that load the account, the organizations, and the spaces and change requests of the current
        organization. Empty without a session."""
        if self._session is None:
            return ()
        account_operations = (Me(), ListOrganizations())
        if self.organization is None:
            return account_operations
        return (*account_operations, spaces_op(self.organization.id), *_undecided_lists(self.organization).values())

    def space(self, space_id: str) -> Space | None:
        """Return a space of the current organization. None if the space does not exist or is not loaded."""
        items = self.spaces.value.items if self.spaces.value else ()
        return next((space for space in items if space.id == space_id), None)

    def space_title(self, space_id: str | None) -> str:
        """Return the title of a space. Empty if the space is unknown or not loaded."""
        space = self.space(space_id) if space_id else None
        return space.title if space is not None else ""

    def current_title(self, space: Space) -> str:
        """Return the title of a space, even if the space was renamed after `space` was loaded."""
        return self.space_title(space.id) or space.title

    @property
    def my_id(self) -> str:
        """ID of the user. Empty while the user is not loaded."""
        return self.me.id if self.me is not None else ""

    def why_no_space(self, space_id: str) -> str:
        """Return why the list of spaces lacks a space, as a sentence. Empty if the list has it or is not loaded."""
        if self.spaces.value is None or self.spaces.is_loading or self.space(space_id) is not None:
            return ""
        if self._session is not None and self._session.kind == "folder":
            return "This link points outside this folder."
        organization = self.organization.title if self.organization is not None else "this organization"
        return f"Could not find the space {space_id} in {organization}. It may have been deleted, or you may not have access."

    @property
    def space_titles(self) -> dict[str, str]:
        """Titles of the spaces of the current organization by ID, as far as they are loaded."""
        return {each.id: each.title for each in self.spaces.value.items} if self.spaces.value else {}

    @property
    def attention_counts(self) -> dict[str, int]:
        """Number of items that need attention, by name of the tab in the top bar. `comments` is missing until threads
        are counted."""
        items = self.spaces.value.items if self.spaces.value else ()
        counts = {"inbox": self.inbox.count, "changes": sum(space.change_requests_open for space in items)}
        undecided_items = [each for items in self._undecided_by_status.values() for each in items]
        if len(self._undecided_by_status) == len(UNDECIDED) and all(
            not each.comments or each.id in self._summary_counts for each in undecided_items
        ):
            thread_count = sum(map(self.open_thread_count, undecided_items))
            counts["comments"] = sum(space.comments for space in items) + thread_count
        return counts

    def pending_entry(self, message_id: str) -> OutboxEntry | None:
        """Return the outbox entry of a pending comment. None if `message_id` belongs to no pending comment."""
        entry = self._entry_creating(message_id)
        return entry if entry is not None and entry.state == "pending" else None

    def _is_not_on_server(self, message_id: str) -> bool:
        entry = self._entry_creating(message_id)
        return entry is not None and entry.state in ("pending", "failed")

    def _entry_creating(self, message_id: str) -> OutboxEntry | None:
        return self._session.outbox.entry_creating(message_id) if self._session is not None else None

    @property
    def failure_reasons(self) -> dict[str, str]:
        """Why the last write to a thread failed, by ID of the first comment. Other threads are missing."""
        if self._session is None:
            return {}
        own_entries = self._session.outbox.own_entries
        last_entries = {each.traits.thread_id: each for each in own_entries if each.traits.thread_id}
        failures = {thread_id: entry for thread_id, entry in last_entries.items() if entry.state == "failed"}
        return {
            thread_id: entry.reason.removeprefix(f"Could not {entry.action}: ") for thread_id, entry in failures.items()
        }

    def sending_status(self, message_id: str) -> str:
        """Return the status of an unsent message: `PENDING`, `queued`, `NOT_SENT` or `MAY_BE_SENT`. Empty if sent."""
        entry = self._entry_creating(message_id)
        if entry is not None and entry.needs_user:
            return MAY_BE_SENT if entry.state == "unknown" else NOT_SENT
        if entry is not None and entry.state == "pending":
            return PENDING
        return "queued" if entry is not None or message_id.startswith("pending-") else ""

    @property
    def outbox_summary(self) -> str:
        """Text such as `2 changes queued · downloading Handbook 12/340` for the status bar. Empty if nothing waits."""
        if self._session is None:
            return ""
        outbox = self._session.outbox
        foreign_entries, entries = outbox.entries_of_other_accounts, outbox.own_entries
        undecided_count = sum(entry.needs_user for entry in entries)
        pending_count = sum(entry.state == "pending" for entry in entries)
        queued_count = sum(entry.state not in ("pending", "failed") and not entry.needs_user for entry in entries)
        resume_time = (
            f" until {short_texts.time_of_day(outbox.connection.rate_limited_until)}"
            if outbox.connection.rate_limited_until is not None
            else ""
        )
        reason = " until you sign in" if outbox.connection.needs_sign_in else resume_time
        parts = [
            plural(pending_count, "pending comment") if pending_count else "",
            f"{plural(queued_count, 'change')} queued{reason}" if queued_count else "",
            f"{plural(undecided_count, 'change')} need{'s' * (undecided_count == 1)} your decision: press !"
            if undecided_count
            else "",
            f"{plural(len(foreign_entries), 'change')} queued for another account: press !" if foreign_entries else "",
            *(
                f"downloading {space.title} {download_progress(space)}"
                for space in self._session.offline.all
                if is_first_download(space)
            ),
        ]
        return " · ".join(part for part in parts if part)

    def _report_review(self, entry: OutboxEntry) -> None:
        if entry.traits.is_review:
            self._app.say(f"Submitted your review: {entry.action}.")

    def _on_outbox_changed(self) -> None:
        self._publish_frame()
        if self._session is None:
            return
        outbox = self._session.outbox
        entries_with_problem = filter(_needs_attention, outbox.entries)
        new_problems = [entry for entry in entries_with_problem if entry.id not in self._reported_problems]
        self._reported_problems.update(entry.id for entry in new_problems)
        for sentence in dict.fromkeys(map(_failure_message, new_problems)):
            self._app.say(sentence, tone="failed")
        if outbox.connection.stop_reason and outbox.connection.stop_reason not in self._reported_problems:
            self._reported_problems.add(outbox.connection.stop_reason)
            self._app.say(outbox.connection.stop_reason, tone="failed")

    def _on_offline_changed(self) -> None:
        self._publish_frame()
        if self._session is None:
            return
        for space in self._session.offline.all:
            if is_first_download(space):
                self._first_download_ids.add(space.id)
            elif space.state == "kept" and space.id in self._first_download_ids:
                self._first_download_ids.remove(space.id)
                missing_sentence = (
                    f" {plural(len(space.failed), 'item')} could not be downloaded. Press ! for details."
                    if space.failed
                    else ""
                )
                message = f"{space.title} is available offline: {plural(space.pages, 'page')}, {format_size(space.bytes)}.{missing_sentence}"
                self._app.say(message, tone="care" if missing_sentence else "done")

    def _report_unreadable(self, op: Operation[Any], part_count: int) -> None:
        area = SPECS[type(op)].name.partition(".")[0].replace("_", " ")
        if (key := f"unreadable {area} {part_count}") not in self._reported_problems:
            self._reported_problems.add(key)
            self._app.say(
                f"{plural(part_count, 'part')} of the server's response ({area}) could not be read and "
                f"{'is' if part_count == 1 else 'are'} not shown. Update Octavo, then try again.",
                tone="care",
            )

    def _publish_frame(self) -> None:
        self.frame_changed.publish(None)

    def _show_me(self, snapshot: Snapshot[User]) -> None:
        session_start = self.connection.started_at
        if snapshot.value is None or self._session is None or session_start is None:
            return
        is_current = snapshot.fetched_at is not None and snapshot.fetched_at >= session_start
        self._session.outbox.set_account(snapshot.value, is_confirmed=is_current)
        if snapshot.value != self.me or is_current:
            self.me = snapshot.value
            self._publish_frame()

    def _show_organizations(self, snapshot: Snapshot[ListPage[Organization]]) -> None:
        self.organizations, self.connection.organizations_error = snapshot, snapshot.error
        organizations = snapshot.value.items if snapshot.value else ()
        if self.organization is not None and self._has_left(self.organization):
            self.organization, self.spaces = None, Snapshot()
            self.inbox.clear_organization()
            self._counted_organization = None
            self._undecided_by_status.clear()
            for name in ("spaces", *(f"{status} change requests" for status in UNDECIDED)):
                if unsubscribe := self._unsubscribe.pop(name, None):
                    unsubscribe()
        if not organizations:
            self.spaces_changed.publish(None)
        elif self.organization is None and self._session is not None:
            last_id = self._session.state.get_value("organization")
            self.switch_organization(next((each for each in organizations if each.id == last_id), organizations[0]))
        self._publish_frame()

    def _has_left(self, organization: Organization) -> bool:
        value, snapshot = self.organizations.value, self.organizations
        is_complete = value is not None and not (
            value.unreadable or value.next or snapshot.error or snapshot.is_loading
        )
        return is_complete and value is not None and organization.id not in [each.id for each in value.items]

    @property
    def no_organization_reason(self) -> tuple[str, str] | None:
        """Why no organization is selected, as a title and a text. None with an organization, or during loading."""
        snapshot = self.organizations
        if self.organization is not None or (snapshot.value is None and snapshot.error is None):
            return None
        if snapshot.error is not None:
            return "Could not load your organizations", str(snapshot.error)
        if snapshot.value is not None and snapshot.value.unreadable:
            return (
                "Could not read your organizations",
                "This version of Octavo cannot read the server's response. Update Octavo, then try again.",
            )
        return (
            "You are not a member of any organization",
            "Ask an organization admin for an invitation, or sign in with another API key.",
        )

    def _show_spaces(self, snapshot: Snapshot[ListPage[Space]]) -> None:
        if snapshot.value is not None and self.organization is not None:
            # Some servers omit the organization of a space.
            update = {"organization": self.organization.id}
            items = (each if each.organization else each.model_copy(update=update) for each in snapshot.value.items)
            snapshot = replace(snapshot, value=snapshot.value.model_copy(update={"items": tuple(items)}))
        self.spaces = snapshot
        # With pending writes, the counts do not show which spaces the server has changed.
        is_from_server = not (snapshot.is_loading or snapshot.error or snapshot.pending_count)
        if self._session is not None and snapshot.value is not None and is_from_server:
            self._session.offline.refresh_changed(snapshot.value.items)
        self.spaces_changed.publish(None)
        self._publish_frame()


def _needs_attention(entry: OutboxEntry) -> bool:
    return entry.needs_user or entry.state == "failed"


def _failure_message(entry: OutboxEntry) -> str:
    draft_note = (
        " Your text is saved as a draft." if entry.draft_key and entry.traits.text and entry.state == "failed" else ""
    )
    return f"{entry.reason}{draft_note}"


def _undecided_lists(organization: Organization) -> dict[str, ListOfOrganization]:
    return {status: change_requests_op(organization.id, status) for status in UNDECIDED}
