"""Where the threads of an organization are: its spaces, and its change requests that are not decided; and those threads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, change_requests_of
from octavo.data.sync_queue import Rank
from octavo.tui.comments.filters import Thread
from octavo.tui.shell.view import View

REACH = 100
"""Places of a kind that are asked for their threads at first, and again whenever one comes to the end of the list: each
is a question of its own, and a server may have thousands."""
MANY = 2000
"""Threads whose list takes its time to be set out."""


class Place(NamedTuple):
    """Where threads are, what that is called, and how many the server counts there that are open."""

    key: str
    at: Discussion
    name: str
    open: int


def of_spaces(these: Iterable[Space]) -> list[Place]:
    """Spaces as places, in their order."""
    return [Place(f"space {each.id}", each.ref, each.title.upper(), each.comments) for each in these]


def of_change_requests(these: Iterable[ChangeRequest], of: Iterable[Space]) -> list[Place]:
    """Change requests as places, in their order: named after the spaces they are of, as far as those are known."""
    titles = {space.id: f"{space.title.upper()} · " for space in of}
    return [
        Place(
            f"change request {each.id}",
            ChangeRequestRef(space_id=each.space, change_request_id=each.id),
            f"{titles.get(each.space, '')}#{each.number} {each.title}",
            each.comments,
        )
        for each in these
        if each.space is not None
    ]


def reached(places: Sequence[Place], asked: Collection[str], reach: int) -> list[Place]:
    """Those of one kind that are asked for: who was asked before, then who has open threads, then the others."""
    return sorted(places, key=lambda each: (each.key not in asked, each.open <= 0))[:reach]


class AllThreads:
    """The threads of an organization. Each place is asked for its own, and `show` is called with all that have come by then."""

    def __init__(self, view: View, show: Callable[[], None], show_less: Callable[[], None]) -> None:
        """`show_less` is called instead where there are too few new ones to set out a long list anew."""
        self._view, self._show, self._show_less = view, show, show_less
        self._lists: dict[str, Snapshot[ListPage[ChangeRequest]]] = {}
        """The lists of change requests, by their status: each of those has threads."""
        self.asked: dict[str, Place] = {}
        """The places whose threads are shown, in order."""
        self._found: dict[str, Snapshot[ListPage[Comment]]] = {}
        """The threads of each, as far as they were heard of."""
        self.places, self._reach = 0, REACH
        """How many places there are, and how many of a kind are asked for their threads."""
        self._shown = 0
        self._waits = False

    def enter(self, organization: Organization) -> None:
        """Ask for the threads of this organization, and of no other."""
        self._view.subscriptions.stop()
        self.asked.clear()
        self._found.clear()
        self._lists.clear()
        self.places, self._reach = 0, REACH
        for status in UNDECIDED:
            op = change_requests_of(organization.id, status)
            self._view.follow(f"{status} change requests", op, partial(self._show_change_requests, status))
        self.follow_places()

    def _show_change_requests(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        self._lists[status] = snapshot
        self.follow_places()

    def follow_places(self) -> None:
        """Ask for the threads of as many places as are wanted, and for none of a place that is not there any more."""
        workspace = self._view.shell.workspace
        if workspace.organization is None:
            return
        spaces = workspace.spaces.value.items if workspace.spaces.value else ()
        kinds = [of_spaces(spaces)]
        kinds += [of_change_requests(each.value.items, spaces) for each in self._lists.values() if each.value]
        self.places = sum(map(len, kinds))
        before = self.asked
        self.asked = {each.key: each for kind in kinds for each in reached(kind, before, self._reach)}
        for key in before.keys() - self.asked.keys():
            self._view.follow(key, None)
            self._found.pop(key, None)
        for key, place in self.asked.items():
            op = comments.List(at=place.at, status="all", format="markdown", limit=200)
            self._view.subscriptions.follow_whole(key, op, partial(self._show_place, place), rank=Rank.AWAITED)
        self._show_soon()

    def ask_more(self) -> None:
        """Ask more places, once all that were asked have answered."""
        if not self.is_loading:
            self._reach += REACH
            self.follow_places()

    def _show_place(self, place: Place, snapshot: Snapshot[ListPage[Comment]]) -> None:
        self._found[place.key] = snapshot
        if isinstance(place.at, ChangeRequestRef) and snapshot.value is not None:
            self._view.shell.workspace.record_open_comments(place.at.change_request_id, snapshot.value)
        self._show_soon()

    def _show_soon(self) -> None:
        if not self._waits:
            self._waits = self._view.call_later(self.catch_up)

    def catch_up(self) -> None:
        """Show what came and is not shown yet."""
        if not self._waits:
            return
        self._waits = False
        (self._show if self._is_worth_showing else self._show_less)()

    @property
    def _is_worth_showing(self) -> bool:
        """Thousands of threads are not set out anew for each of a hundred answers: only for many more, and at the end."""
        answers = self._found.values()
        known = sum(len(each.value.items) for each in answers if each.value is not None)
        is_much = known < MANY or abs(known - self._shown) * 8 >= self._shown
        return is_much or not any(each.loading for each in answers) or any(each.pending for each in answers)

    def take(self) -> list[Thread]:
        """All that are known, to be shown now."""
        threads, self._waits = self.known(), False
        self._shown = len(threads)
        return threads

    def known(self) -> list[Thread]:
        """All that are known, in the order of their places."""
        return [
            Thread(comment, place.at, place.name)
            for place in self.asked.values()
            if (snapshot := self._found.get(place.key)) is not None and snapshot.value is not None
            for comment in snapshot.value.items
        ]

    @property
    def answers(self) -> list[Snapshot[Any]]:
        """What tells where threads are, and the threads there."""
        return [self._view.shell.workspace.spaces, *self._lists.values(), *self._found.values()]

    @property
    def is_loading(self) -> bool:
        """Whether an answer is waited for."""
        return any(each.loading for each in self.answers)

    @property
    def places_heard(self) -> int:
        """How many places told of their threads."""
        return sum(snapshot.value is not None for snapshot in self._found.values())

    @property
    def places_left(self) -> bool:
        """Whether there are places that were not asked."""
        return len(self.asked) < self.places

    @property
    def is_told(self) -> bool:
        """Whether each place that was asked told of its threads."""
        return all(snapshot.value for snapshot in self._found.values())
