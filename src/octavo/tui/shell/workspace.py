"""What every view shares: who one is, the organization on show, its spaces, and how the connection stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from octavo.api.activity import KEY, Activity
from octavo.api.errors import ApiError, Unreachable
from octavo.api.operation import SPECS, ListPage, Operation
from octavo.api.organizations import List as ListOrganizations
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.api.users import Me, User
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, change_requests_of, spaces_of
from octavo.tui.shell.host import Host
from octavo.tui.shell.inbox_feed import InboxFeed
from octavo.tui.shell.kept_words import is_new, megabytes, progress_of
from octavo.tui.shell.left_unsent import LeftUnsent
from octavo.tui.shell.navigation_history import NavigationHistory
from octavo.tui.shell.news_line import NewsLine
from octavo.tui.shell.session import Session
from octavo.tui.shell.tour import Tour
from octavo.tui.widgets import wording
from octavo.tui.widgets.wording import plural, short_age

if TYPE_CHECKING:
    from datetime import datetime

    from textual.signal import Signal

    from octavo.api.change_requests import ChangeRequest, ListOfOrganization
    from octavo.api.comments import Comment
    from octavo.data.live_response import LiveResponse
    from octavo.data.writes.machine import OutboxEntry

MOST_SPACES = 1000
HELD = "pending comment"
NOT_SENT, MAY_BE_SENT = "not sent", "may have been sent"
"""What is said of a write that the server refused, and of a write whose response was lost."""
_NO_KEY, _REFUSED = "no API key", "API key rejected"
KEY_SECONDS = 15.0
"""Seconds for which a notice says why the API key cannot be read."""
_VERDICTS = "open words of reviews"
LONG = 5.0
"""Seconds without an answer after which the frame says that one is waited for."""


class Following(Protocol):
    """Part of a screen that shows answers."""

    @property
    def is_on_show(self) -> bool:
        """Whether it is on the screen one looks at."""

    def ops(self) -> tuple[Operation[Any], ...]:
        """All that it follows."""

    def awaited(self) -> Iterable[LiveResponse]:
        """What of it is not one of many, and what it rests on."""


class Workspace:
    """Follows what belongs to no view. Views read it and listen to its signals."""

    def __init__(self, app: Host, trail: NavigationHistory) -> None:
        self.me: User | None = None
        self.organization: Organization | None = None
        self.organizations: Snapshot[ListPage[Organization]] = Snapshot()
        self.spaces: Snapshot[ListPage[Space]] = Snapshot()
        self.frame_changed: Signal[None] = app.signal("frame")
        """Something the frame shows is different."""
        self._link_state = ""
        """The style of what was last said of the connection and of what is on show."""
        self.organization_changed: Signal[Organization] = app.signal("organization")
        self.spaces_changed: Signal[None] = app.signal("spaces")
        self.inbox = InboxFeed(app, self.count_open_comments)
        self.unsent = LeftUnsent(app, self.inbox.words_changed)
        self.news = NewsLine(self._frame)
        """What others did meanwhile."""
        self.tour = Tour(app, self._frame)
        self.following: WeakSet[Following] = WeakSet()
        """All that shows answers, as long as it is there."""
        self._began: datetime | None = None
        """Since when the session is followed."""
        self._app, self._trail = app, trail
        self._told: set[str] = set()
        """What was said of writes that are not done."""
        self._waiting: Callable[[Organization], object] | None = None
        """What was asked for before it was known in which organization one is, the last of it."""
        self._session: Session | None = None
        self._leave: dict[str, Callable[[], None]] = {}
        self._said_in: dict[str, tuple[ChangeRequest, ...]] = {}
        """The change requests that are not merged, by their status."""
        self._verdicts: dict[str, int] = {}
        """How many open comments of a change request are the words of reviews, as far as that was looked at."""
        self._sums: tuple[Snapshot[ListPage[Space]], dict[str, int]] | None = None
        """What waits in views, and the spaces it was summed up of. The frame asks several times for each answer that comes,
        and there may be thousands of spaces."""
        self._being_kept: set[str] = set()
        """The spaces that are read for offline, and were not whole yet."""
        self._counted: Organization | None = None
        """Whose comments in change requests are counted."""

    def follow(self, session: Session) -> None:
        """Follow what `session` knows."""
        self._session = session
        self._began = wording.clock()
        self._told = {entry.id for entry in session.outbox.entries if _is_news(entry)}
        self._leave["outbox"] = session.outbox.observe(self._writes_changed)
        self._leave["offline"] = session.offline.watch(self._kept_changed)
        session.outbox.observe_done(self._write_done)
        self.unsent.follow(session)
        self._leave["left out"] = session.live.unreadable_items.add(self._tell_unreadable)
        self._leave["me"] = session.live.watch(Me(), self._show_me)
        self._leave["organizations"] = session.live.watch(
            ListOrganizations(), self._show_organizations, min_items=MOST_SPACES
        )

    def leave(self) -> None:
        """Follow nothing, and know nothing."""
        while self._leave:
            self._leave.popitem()[1]()
        self.inbox.end()
        self.unsent.leave()
        self._session = self.me = self.organization = self._waiting = self._counted = None
        self.organizations, self.spaces = Snapshot(), Snapshot()
        self._said_in.clear()
        self._verdicts.clear()
        self.news.forget()

    def choose(self, organization: Organization) -> None:
        """Show the spaces, change requests and comments of `organization` from now on."""
        session = self._session
        if session is None or (self.organization is not None and self.organization.id == organization.id):
            return
        if self.organization is not None:
            self._trail.clear()  # what is behind is in another organization
        self.organization = organization
        session.state.set_fact("organization", organization.id)
        if leave := self._leave.pop("spaces", None):
            leave()
        self.spaces = Snapshot()
        self._leave["spaces"] = session.live.watch(spaces_of(organization.id), self._show_spaces, min_items=MOST_SPACES)
        if not self._app.opening:
            self.count_comments()
        self.inbox.enter(session, organization)
        self.organization_changed.publish(organization)
        self._frame()
        act, self._waiting = self._waiting, None
        if act is not None:
            act(organization)

    def count_comments(self) -> None:
        """Count what is said in change requests too, as the list of comments shows it. The first screen does without.

        Once for an organization: one that becomes known while the first screen is painted is counted before the session
        opens, which asks for it again.
        """
        session, organization = self._session, self.organization
        if session is None or organization is None or organization == self._counted:
            return
        self._counted = organization
        kept = session.state.get_fact(_VERDICTS)
        if isinstance(kept, dict):
            earlier = {name: number for name, number in kept.items() if isinstance(number, int)}
            self._verdicts = {**earlier, **self._verdicts}  # a list may have been looked at before the session opened
        for status, op in _undecided_in(organization).items():
            if leave := self._leave.pop(f"{status} change requests", None):
                leave()
            self._said_in.pop(status, None)
            self._leave[f"{status} change requests"] = session.live.watch(
                op, partial(self._show_said_in, status), refetch=False
            )

    def _show_said_in(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        if snapshot.value is not None:
            self._said_in[status] = snapshot.value.items
            self._frame()

    def open_threads(self, about: ChangeRequest) -> int:
        """How many threads of a change request wait for somebody. The server counts comments: the words of reviews, which
        say by themselves how they stand, are left out as soon as somebody looked at them."""
        return max(0, about.comments - self._verdicts.get(about.id, 0))

    def count_open_comments(self, change_request: str, said: ListPage[Comment], counted: int | None = None) -> None:
        """The open comments of a change request, called by its id, were looked at. Only where these are all they tell.
        `counted` says how many the server counts, where that is not known here."""
        if said.next is not None:
            return
        open_ones = [each for each in said.items if each.is_open and not self._is_only_here(each.id)]
        verdicts = sum(each.is_review for each in open_ones)
        undecided = [each for items in self._said_in.values() for each in items]
        counted = next((each.comments for each in undecided if each.id == change_request), counted)
        if counted is not None:  # some servers may not count them
            verdicts = min(verdicts, max(0, counted - (len(open_ones) - verdicts)))
        if self._verdicts.get(change_request, 0) == verdicts:
            return
        self._verdicts[change_request] = verdicts
        if self._session is not None:
            undecided_ids = {each.id for each in undecided} if len(self._said_in) > 1 else set(self._verdicts)
            kept = {name: number for name, number in self._verdicts.items() if number and name in undecided_ids}
            self._session.state.set_fact(_VERDICTS, kept)
        self._frame()

    def with_organization(self, act: Callable[[Organization], object]) -> None:
        """Do something with the organization one is in: now, or, when it is not known yet, as soon as it is."""
        if self.organization is not None:
            act(self.organization)
        else:
            self._waiting = act

    @property
    def ops(self) -> tuple[Operation[Any], ...]:
        """All that is followed."""
        if self._session is None:
            return ()
        of_all = (Me(), ListOrganizations())
        if self.organization is None:
            return of_all
        return (*of_all, spaces_of(self.organization.id), *_undecided_in(self.organization).values())

    def space(self, space_id: str) -> Space | None:
        """The space called `space_id`, of the organization on show."""
        items = self.spaces.value.items if self.spaces.value else ()
        return next((space for space in items if space.id == space_id), None)

    @property
    def counts(self) -> dict[str, int]:
        """What waits in each view."""
        if self._sums is None or self._sums[0] is not self.spaces:
            items = self.spaces.value.items if self.spaces.value else ()
            undecided = (each for items in self._said_in.values() for each in items)
            changes = sum(space.change_requests_open for space in items)
            threads = sum(space.comments for space in items) + sum(map(self.open_threads, undecided))
            self._sums = self.spaces, {"changes": changes, "comments": threads}
        return {"inbox": self.inbox.count, **self._sums[1]}

    @property
    def on_show(self) -> tuple[Operation[Any], ...]:
        """What is followed on the screen one looks at."""
        return tuple(op for each in tuple(self.following) if each.is_on_show for op in each.ops())

    @property
    def data_as_of(self) -> datetime | None:
        """When the oldest response on the screen was read, or the account's own while the screen is empty. None: none was."""
        if self._session is None:
            return None
        on_show = (each for each in tuple(self.following) if each.is_on_show)
        awaited = [each.current_as_of for shown in on_show for each in shown.awaited()]
        account: tuple[Operation[Any], ...] = (Me(), ListOrganizations())
        known = awaited or map(self._session.live.as_of, account)
        return min((each for each in known if each is not None), default=None)

    @property
    def link(self) -> tuple[str, str, str]:
        """The age of the data on show, with what is wrong with the connection; the same in short; and the style.

        The width stays the same while an age grows: the top bar would move.
        """
        if self._session is None:
            return "not signed in", "not signed in", "$octavo-muted"
        if (waited := self._session.waited()) >= LONG:
            return f"○ no response for {waited:.0f}s".ljust(23), f"○ waiting {waited:.0f}s".ljust(14), "$warning"
        as_of = self.data_as_of
        if (last := self._last_request) is None:
            said = f"○ cached {_ago(as_of)}" if as_of is not None else "○ connecting"
            return said, said, "$octavo-muted"
        if wrong := _wrong(last) or _failure(self.organizations.error):
            if as_of is None:
                return f"○ {wrong}", f"○ {wrong}", "$warning"
            return f"○ {wrong}, updated {_ago(as_of)}", f"○ {wrong} {_ago(as_of)}", "$warning"
        if as_of is not None and self._began is not None and as_of < self._began:
            return f"○ cached {_ago(as_of)}", f"○ cached {_ago(as_of)}", "$octavo-muted"
        age = _ago(as_of or last.moment)
        return f"● updated {age}", f"● {age}", "$success"

    @property
    def lacks_key(self) -> bool:
        """Whether the server does not take the key of this account, or the key cannot be read."""
        last = self._last_request
        return last is not None and _wrong(last) in (_NO_KEY, _REFUSED)

    @property
    def _last_request(self) -> Activity | None:
        activity = self._session.activity() if self._session is not None else ()
        return next((each for each in activity if not each.given_up), None)

    @property
    def is_from_before(self) -> bool:
        """Whether what is on show is of an earlier run, and nothing speaks against that the server answers."""
        return self._session is not None and self.link[-1] == "$octavo-muted"

    def look_at_link(self) -> None:
        """Something was asked, or came, or time passed: say it where the connection is in another state since, or what is
        on show is live by now. Why the key cannot be read is said once."""
        if (last := self._last_request) is not None and last.method == KEY and last.error not in self._told:
            self._told.add(last.error)
            self._app.say(last.error, tone="failed", seconds=KEY_SECONDS)
        if self._session is not None and (state := self.link[-1]) != self._link_state:
            self._link_state = state
            self._frame()

    def held(self, message_id: str) -> OutboxEntry | None:
        """The message that is held for a review under this name, if it is one."""
        entry = self._entry(message_id)
        return entry if entry is not None and entry.state == "pending" else None

    def _is_only_here(self, message_id: str) -> bool:
        """Whether a message is held for a review, or was refused: the server counts neither."""
        entry = self._entry(message_id)
        return entry is not None and entry.state in ("pending", "failed")

    def _entry(self, message_id: str) -> OutboxEntry | None:
        return self._session.outbox.entry_creating(message_id) if self._session is not None else None

    @property
    def refused(self) -> dict[str, str]:
        """Why the server did not do what was asked of a thread last, by the id of its first message."""
        if self._session is None:
            return {}
        last = {entry.facts.thread: entry for entry in self._session.outbox.entries if entry.facts.thread}
        couldnt = {thread: entry for thread, entry in last.items() if entry.state == "failed"}
        return {thread: entry.reason.removeprefix(f"Could not {entry.action}: ") for thread, entry in couldnt.items()}

    def on_its_way(self, message_id: str) -> str:
        """Return `sending`, `NOT_SENT` if the server refused it, `MAY_BE_SENT` if the response was lost, or `HELD`. Empty if
        the server has the message."""
        entry = self._entry(message_id)
        if entry is not None and entry.needs_user:
            return MAY_BE_SENT if entry.state == "unknown" else NOT_SENT
        if entry is not None and entry.state == "pending":
            return HELD
        return "sending" if entry is not None or message_id.startswith("pending-") else ""

    @property
    def waiting(self) -> str:
        """The writes that are not done, in words."""
        if self._session is None:
            return ""
        outbox = self._session.outbox
        others = outbox.entries_of_other_accounts
        entries = [entry for entry in outbox.entries if entry not in others]
        asking = sum(entry.needs_user for entry in entries)
        held = sum(entry.state == "pending" for entry in entries)
        under_way = sum(entry.state not in ("pending", "failed") and not entry.needs_user for entry in entries)
        until = (
            f" until {wording.time_of_day(outbox.connection.rate_limited_until)}"
            if outbox.connection.rate_limited_until is not None
            else ""
        )
        why = " until you sign in" if outbox.connection.needs_sign_in else until
        said = [
            plural(held, "pending comment") if held else "",
            f"{plural(under_way, 'change')} queued{why}" if under_way else "",
            f"{plural(asking, 'change')} need{'s' * (asking == 1)} your decision: press !" if asking else "",
            f"{plural(len(others), 'change')} queued for another account: press !" if others else "",
            *(f"downloading {each.title} {progress_of(each)}" for each in self._session.offline.all if is_new(each)),
        ]
        return " · ".join(each for each in said if each)

    def _write_done(self, entry: OutboxEntry) -> None:
        """A verdict that went out after its comments has arrived: nobody looked at it for as long as that took."""
        if entry.facts.is_review:
            self._app.say(f"Submitted your review: {entry.action}.")

    def _writes_changed(self) -> None:
        self._frame()
        if self._session is None:
            return
        outbox = self._session.outbox
        news = [entry for entry in outbox.entries if _is_news(entry) and entry.id not in self._told]
        self._told.update(entry.id for entry in news)
        for sentence in dict.fromkeys(map(_told_of, news)):
            self._app.say(sentence, tone="failed")
        if outbox.connection.stop_reason and outbox.connection.stop_reason not in self._told:
            self._told.add(outbox.connection.stop_reason)
            self._app.say(outbox.connection.stop_reason, tone="failed")

    def _kept_changed(self) -> None:
        """Say once that a space is all here: who asked for it may want to go offline."""
        self._frame()
        if self._session is None:
            return
        for kept in self._session.offline.all:
            if is_new(kept):
                self._being_kept.add(kept.id)
            elif kept.state == "kept" and kept.id in self._being_kept:
                self._being_kept.remove(kept.id)
                left_out = (
                    f" {plural(len(kept.failed), 'item')} could not be downloaded. Press ! for details."
                    if kept.failed
                    else ""
                )
                said = f"{kept.title} is available offline: {plural(kept.pages, 'page')}, {megabytes(kept.bytes)}.{left_out}"
                self._app.say(said, tone="care" if left_out else "done")

    def _tell_unreadable(self, op: Operation[Any], parts: int) -> None:
        """Say that parts of a response could not be read, once for each number of them."""
        area = SPECS[type(op)].name.partition(".")[0].replace("_", " ")
        if (key := f"unreadable {area} {parts}") not in self._told:
            self._told.add(key)
            self._app.say(
                f"{plural(parts, 'part')} of the server's response ({area}) could not be read and "
                f"{'is' if parts == 1 else 'are'} not shown. Update Octavo, then try again.",
                tone="care",
            )

    def _frame(self) -> None:
        self._sums = None
        self.frame_changed.publish(None)

    def _show_me(self, snapshot: Snapshot[User]) -> None:
        if snapshot.value is None or self._session is None or self._began is None:
            return
        asked = snapshot.fetched_at is not None and snapshot.fetched_at >= self._began
        self._session.outbox.set_account(snapshot.value, asked=asked)
        if snapshot.value != self.me or asked:
            self.me = snapshot.value
            self._frame()

    def _show_organizations(self, snapshot: Snapshot[ListPage[Organization]]) -> None:
        self.organizations = snapshot
        known = snapshot.value.items if snapshot.value else ()
        if self.organization is not None and self._left(self.organization):
            self.organization, self.spaces = None, Snapshot()
            self.inbox.leave_organization()
            if leave := self._leave.pop("spaces", None):
                leave()
        if not known:
            self.spaces_changed.publish(None)
        elif self.organization is None and self._session is not None:
            last = self._session.state.get_fact("organization")
            self.choose(next((each for each in known if each.id == last), known[0]))
        self._frame()

    def _left(self, organization: Organization) -> bool:
        """Whether one is not in an organization any more: nothing less than all of them, as they are now, says so."""
        value, answer = self.organizations.value, self.organizations
        is_all = value is not None and not (value.unreadable or value.next or answer.error or answer.loading)
        return is_all and value is not None and organization.id not in [each.id for each in value.items]

    @property
    def nowhere(self) -> tuple[str, str] | None:
        """What is wrong and why, where there is no organization to show anything of. None while that is still asked."""
        answer = self.organizations
        if self.organization is not None or (answer.value is None and answer.error is None):
            return None
        if answer.error is not None:
            return "Could not load your organizations", str(answer.error)
        if answer.value is not None and answer.value.unreadable:
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
            # Not every server says of a space what it was asked for.
            within = {"organization": self.organization.id}
            items = (each if each.organization else each.model_copy(update=within) for each in snapshot.value.items)
            snapshot = replace(snapshot, value=snapshot.value.model_copy(update={"items": tuple(items)}))
        self.spaces = snapshot
        if self._session is not None and snapshot.value is not None and not snapshot.loading and snapshot.error is None:
            self._session.offline.refresh_changed(snapshot.value.items)
        self.spaces_changed.publish(None)
        self._frame()


def _is_news(entry: OutboxEntry) -> bool:
    """Whether a person has to hear of it: it waits for them, or the server does not do it."""
    return entry.needs_user or entry.state == "failed"


def _told_of(entry: OutboxEntry) -> str:
    kept = " Your text is saved as a draft." if entry.draft_key and entry.facts.text and entry.state == "failed" else ""
    return f"{entry.reason}{kept}"


def _ago(moment: datetime) -> str:
    """Return an age in the width of the longest: `4s ago `, `10s ago`."""
    return f"{short_age(moment)} ago".ljust(7)


def _wrong(last: Activity) -> str:
    """Return what is wrong with the connection after the `last` request. Empty if nothing is."""
    if last.status is None:
        return _NO_KEY if last.method == KEY else "offline"
    return "server error" if last.status >= 500 else {401: _REFUSED, 429: "rate limited"}.get(last.status, "")


def _failure(error: ApiError | None) -> str:
    """Return why the organizations could not be loaded, in two words. Empty if there is no error."""
    if error is None:
        return ""
    if isinstance(error, Unreachable):
        return "offline"
    said = {401: _REFUSED, 403: "not allowed"}
    return "server error" if (error.status or 0) >= 500 else said.get(error.status or 0, "not loaded")


def _undecided_in(organization: Organization) -> dict[str, ListOfOrganization]:
    """Those change requests of an organization whose comments are still to be answered, by their status."""
    return {status: change_requests_of(organization.id, status) for status in UNDECIDED}
