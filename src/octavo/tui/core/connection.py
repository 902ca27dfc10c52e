"""Subscribes widgets to API responses. Also tells the top bar whether the server responds, and how old the shown data
is. Start at `Subscriptions.follow`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from textual.widget import Widget

from octavo.api.activity import READING_KEY, Activity
from octavo.api.errors import ApiError, NotSent, Unreachable
from octavo.api.operation import Listing, ListPage, Operation
from octavo.api.organizations import List as ListOrganizations
from octavo.api.users import Me
from octavo.data.live import Live, Snapshot
from octavo.data.live_response import LiveResponse, Observers
from octavo.data.sync_queue import Rank
from octavo.tui.core.session import Session
from octavo.tui.terminal import textual_internals as internals
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.short_texts import last_updated, short_age

T = TypeVar("T")
Item = TypeVar("Item")

MAX_ITEMS = 2000
"""Number of items after which Octavo by default loads no more pages of a list."""
SLOW_SECONDS = 5.0
"""After this many seconds without a response, the top bar shows for how long Octavo has been waiting."""
KEY_ERROR_SECONDS = 15.0
"""Time for which the notification about an unreadable API key is shown, in seconds."""
_NO_API_KEY, _KEY_REJECTED = "no API key", "API key rejected"


@dataclass(eq=False)
class _ResponseSlot:
    op: Operation[Any]
    response: LiveResponse
    snapshot: Snapshot[Any] = field(default_factory=Snapshot)
    unsubscribe: Callable[[], None] = lambda: None


class Subscriptions:
    """Subscriptions of one widget or screen to API responses. Each subscription has a name, its `slot`, such as `page`.
    Following another operation under the same name ends the earlier subscription."""

    def __init__(self, owner: Widget, connection: Connection) -> None:
        self._owner, self._connection = owner, connection
        self._slots: dict[str, _ResponseSlot] = {}
        self._dependencies: tuple[LiveResponse, ...] = ()
        self._low_priority_slots: set[str] = set()
        """Names of the subscriptions whose responses do not count for the age that the top bar shows."""

    def follow(
        self,
        slot: str,
        op: Operation[T] | None,
        show: Callable[[Snapshot[T]], None] | None = None,
        *,
        rank: Rank = Rank.NOW,
        refetch: bool = True,
        min_items: int = 0,
    ) -> None:
        """Call `show` now and with each later response to `op`, until `slot` follows another operation. Do nothing if
        `slot` follows `op` already. If `op` is None, end the subscription. Without `refetch`, do not fetch a response
        again that is probably current. Load at least `min_items` items. Only `Rank.NOW` counts for the age in the
        top bar."""
        if slot in self._slots:
            if self._slots[slot].op == op:
                return
            self._slots.pop(slot).unsubscribe()
        if op is None or show is None:
            return
        (self._low_priority_slots.discard if rank is Rank.NOW else self._low_priority_slots.add)(slot)
        self._connection.subscriptions.add(self)
        # `watch` may call `show`, and `show` may let this slot follow another operation. Then end this subscription.
        live = self._connection.live
        response_slot = self._slots[slot] = _ResponseSlot(op, live.watched_response(op))
        unsubscribe = live.watch(
            op, partial(self._show, response_slot, show), rank=rank, refetch=refetch, min_items=min_items
        )
        if self._slots.get(slot) is response_slot:
            response_slot.unsubscribe = unsubscribe
        else:
            unsubscribe()

    def depend_on(self, *ops: Operation[Any]) -> None:
        """Let the responses to `ops` count for the age of the shown data, too. A later call replaces `ops`."""
        self._connection.subscriptions.add(self)
        self._dependencies = tuple(map(self._connection.live.watched_response, ops))

    def _show(self, slot: _ResponseSlot, show: Callable[[Snapshot[T]], None], snapshot: Snapshot[T]) -> None:
        if internals.is_being_removed(self._owner):
            return
        self._connection.update()
        slot.snapshot = with_age_in_error(snapshot)
        show(slot.snapshot)

    def follow_whole(
        self,
        slot: str,
        op: Listing[Item],
        show: Callable[[Snapshot[ListPage[Item]]], None],
        min_items: int = MAX_ITEMS,
        *,
        rank: Rank = Rank.NOW,
    ) -> None:
        """Follow the list `op` as `follow` does, and load pages until it is complete or has `min_items` items."""
        self.follow(slot, op, show, rank=rank, min_items=min_items)

    def snapshot(self, slot: str) -> Snapshot[Any]:
        """Return the last snapshot that was shown for `slot`. An empty snapshot if `slot` follows no operation."""
        return self._slots[slot].snapshot if slot in self._slots else Snapshot()

    def operation(self, slot: str) -> Operation[Any] | None:
        """Return the operation that `slot` follows. None if `slot` follows nothing."""
        return self._slots[slot].op if slot in self._slots else None

    def operations(self) -> tuple[Operation[Any], ...]:
        return tuple(each.op for each in self._slots.values())

    def shown_responses(self) -> Iterator[LiveResponse]:
        """Yield the responses whose age the top bar shows for this widget. Responses of low priority are left out."""
        yield from (each.response for slot, each in self._slots.items() if slot not in self._low_priority_slots)
        yield from self._dependencies

    @property
    def is_on_current_screen(self) -> bool:
        """True if the widget is on an open dialog or on the screen behind the dialogs, and is not being removed."""
        owner = self._owner
        if not internals.is_fully_mounted(owner):
            return False
        stack = owner.app.screen_stack
        first_index = max((index for index, screen in enumerate(stack) if not screen.is_modal), default=0)
        return owner.screen in stack[first_index:]

    def stop(self) -> None:
        while self._slots:
            self._slots.popitem()[1].unsubscribe()
        self._dependencies = ()


def with_age_in_error(snapshot: Snapshot[T]) -> Snapshot[T]:
    """Return `snapshot`. If the server was unreachable, return a copy whose error says how old the data is."""
    if snapshot.fetched_at is None or not isinstance(snapshot.error, Unreachable):
        return snapshot
    error = copy(snapshot.error)
    reason = "Offline." if isinstance(error, NotSent) else str(error)
    error.args = (f"{reason} {last_updated(snapshot.fetched_at)}.",)
    return replace(snapshot, error=error)


class ConnectionStatus(NamedTuple):
    """Connection status in the top bar: a text and its color."""

    text: str
    """Status, mostly with the age of the shown data, such as `● updated 4s ago `."""
    short_text: str
    """Text for a narrow top bar: `● 4s ago`, or a problem without the age of the data, such as `○ offline`."""
    style: str


class Connection:
    """Tells whether the server responds and how old the data on screen is. Knows the subscriptions of all widgets."""

    def __init__(self, app: HostApp[Any], on_change: Callable[[], None]) -> None:
        """`on_change` is called when the color of the status has changed, for example after a failed request."""
        self._app, self._on_change = app, on_change
        self.subscriptions: WeakSet[Subscriptions] = WeakSet()
        """Subscriptions of all widgets that have followed a response."""
        self.key_rejected: Observers[[]] = Observers()
        """Notified once in a session when the server rejects its API key."""
        self.organizations_error: ApiError | None = None
        """Error of the last attempt to load the organizations. None if the attempt succeeded."""
        self.started_at: datetime | None = None
        """Time at which the current session started. None before the first session."""
        self._session: Session | None = None
        self._last_style = ""
        self._reported_key_problems: set[str] = set()

    def watch_session(self, session: Session) -> None:
        self._session, self.started_at = session, short_texts.clock()
        self._reported_key_problems.clear()

    def forget_session(self) -> None:
        """Forget the session, because it ends."""
        self._session = self.organizations_error = None

    @property
    def live(self) -> Live:
        """The cache and the requests of the current session."""
        assert self._session is not None, "Widgets follow responses only while a session is open"
        return self._session.live

    @property
    def data_as_of(self) -> datetime | None:
        """Time of the oldest response that the current screen shows. If the screen shows no response, time of the
        oldest response about the account. None if nothing was loaded."""
        if self._session is None:
            return None
        subscriptions = (each for each in tuple(self.subscriptions) if each.is_on_current_screen)
        times = [each.current_as_of for subscription in subscriptions for each in subscription.shown_responses()]
        account_operations: tuple[Operation[Any], ...] = (Me(), ListOrganizations())
        candidates = times or map(self._session.live.current_as_of, account_operations)
        return min((each for each in candidates if each is not None), default=None)

    @property
    def status(self) -> ConnectionStatus:
        """Connection status for the top bar, computed now."""
        if self._session is None:
            return ConnectionStatus("not signed in", "not signed in", "$octavo-muted")
        if (seconds := self._session.response_wait()) >= SLOW_SECONDS:
            return ConnectionStatus(f"○ no response for {seconds:.0f}s".ljust(23), "○ waiting", "$warning")
        as_of = self.data_as_of
        if (request := self._last_request) is None:
            label = f"○ cached {_padded_age(as_of)}" if as_of is not None else "○ connecting"
            return ConnectionStatus(label, label, "$octavo-muted")
        if problem := _connection_problem(request) or _loading_problem(self.organizations_error):
            age_suffix = f", updated {_padded_age(as_of)}" if as_of is not None else ""
            return ConnectionStatus(f"○ {problem}{age_suffix}", f"○ {problem}", "$warning")
        if as_of is not None and self.started_at is not None and as_of < self.started_at:
            return ConnectionStatus(f"○ cached {_padded_age(as_of)}", f"○ {_padded_age(as_of)}", "$octavo-muted")
        age = _padded_age(as_of or request.moment)
        return ConnectionStatus(f"● updated {age}", f"● {age}", "$success")

    @property
    def needs_key(self) -> bool:
        """True if the server rejected the API key in the last request, or if the key could not be read so far."""
        request = self._last_request
        return request is not None and _connection_problem(request) in (_NO_API_KEY, _KEY_REJECTED)

    @property
    def _last_request(self) -> Activity | None:
        activity = self._session.latest_requests() if self._session is not None else ()
        return next((each for each in activity if not each.given_up), None)

    @property
    def shows_cached_data(self) -> bool:
        """True while the status is “connecting” or “cached”: no request has ended, or old data is on screen."""
        return self._session is not None and self.status.style == "$octavo-muted"

    def update(self) -> None:
        """Show each problem with the API key once per session. Redraw the top bar if the status color has changed."""
        request = self._last_request
        if request is not None and request.method == READING_KEY and request.error not in self._reported_key_problems:
            self._reported_key_problems.add(request.error)
            self._app.say(request.error, tone="failed", seconds=KEY_ERROR_SECONDS)
        if request is not None and request.status == 401 and _KEY_REJECTED not in self._reported_key_problems:
            self._reported_key_problems.add(_KEY_REJECTED)
            self.key_rejected.notify()
        if self._session is not None and (style := self.status.style) != self._last_style:
            self._last_style = style
            self._on_change()


def _padded_age(moment: datetime) -> str:
    return f"{short_age(moment)} ago".ljust(7)


def _connection_problem(request: Activity) -> str:
    if request.status is None:
        return _NO_API_KEY if request.method == READING_KEY else "offline"
    problems = {401: _KEY_REJECTED, 429: "rate limited"}
    return "server error" if request.status >= 500 else problems.get(request.status, "")


def _loading_problem(error: ApiError | None) -> str:
    if error is None:
        return ""
    if isinstance(error, Unreachable):
        return "offline"
    problems = {401: _KEY_REJECTED, 403: "not allowed"}
    return "server error" if (error.status or 0) >= 500 else problems.get(error.status or 0, "not loaded")
