"""Loads the threads of an organization: from its spaces and its open change requests."""

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
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.shell.view import View

BATCH = 100
"""Number of spaces, and of change requests per status, whose threads are loaded at first and with each further step.
Each needs its own request, and a server may have thousands."""
LONG_LIST = 2000
"""Number of threads from which rebuilding the list takes noticeable time."""


class ThreadSource(NamedTuple):
    """A space or change request with threads: its label, and the number of open comments that the server reports."""

    key: str
    at: Discussion
    name: str
    open: int


def space_sources(these: Iterable[Space]) -> list[ThreadSource]:
    """Return the spaces as places, in the same order."""
    return [ThreadSource(f"space {each.id}", each.ref, each.title.upper(), each.comments) for each in these]


def change_request_sources(these: Iterable[ChangeRequest], of: Iterable[Space]) -> list[ThreadSource]:
    """Return the change requests as places, in the same order. Their labels begin with the title of the space, if `of`
    has it."""
    titles = {space.id: f"{space.title.upper()} · " for space in of}
    return [
        ThreadSource(
            f"change request {each.id}",
            ChangeRequestRef(space_id=each.space, change_request_id=each.id),
            f"{titles.get(each.space, '')}#{each.number} {each.title}",
            each.comments,
        )
        for each in these
        if each.space is not None
    ]


def sources_to_load(places: Sequence[ThreadSource], asked: Collection[str], reach: int) -> list[ThreadSource]:
    """Return the places to load: first those that are loaded already, then those with open comments, then the others."""
    return sorted(places, key=lambda each: (each.key not in asked, each.open <= 0))[:reach]


class ThreadLoader:
    """Loads the threads of an organization, place by place. `show` is called after new threads have arrived."""

    def __init__(self, view: View, show: Callable[[], None], show_less: Callable[[], None]) -> None:
        """Create a loader. `show_less` is called instead of `show` if too few threads are new to rebuild a long list."""
        self._view, self._show, self._show_less = view, show, show_less
        self._lists: dict[str, Snapshot[ListPage[ChangeRequest]]] = {}
        """Open change requests by status."""
        self.asked: dict[str, ThreadSource] = {}
        """The places whose threads are loaded or loading, by key, in order."""
        self._found: dict[str, Snapshot[ListPage[Comment]]] = {}
        """The threads of each place, as far as they are loaded."""
        self.places, self._reach = 0, BATCH
        """Number of places, and the most places of a kind to load."""
        self._shown = 0
        self._waits = False

    def enter(self, organization: Organization) -> None:
        """Load the threads of this organization instead of the last."""
        self._view.subscriptions.stop()
        self.asked.clear()
        self._found.clear()
        self._lists.clear()
        self.places, self._reach = 0, BATCH
        for status in UNDECIDED:
            op = change_requests_of(organization.id, status)
            self._view.follow(f"{status} change requests", op, partial(self._show_change_requests, status))
        self.follow_places()

    def _show_change_requests(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        self._lists[status] = snapshot
        self.follow_places()

    def follow_places(self) -> None:
        """Follow the threads of as many places as may be loaded, and stop following places that are gone."""
        workspace = self._view.shell.workspace
        if workspace.organization is None:
            return
        spaces = workspace.spaces.value.items if workspace.spaces.value else ()
        kinds = [space_sources(spaces)]
        kinds += [change_request_sources(each.value.items, spaces) for each in self._lists.values() if each.value]
        self.places = sum(map(len, kinds))
        before = self.asked
        self.asked = {each.key: each for kind in kinds for each in sources_to_load(kind, before, self._reach)}
        for key in before.keys() - self.asked.keys():
            self._view.follow(key, None)
            self._found.pop(key, None)
        for key, place in self.asked.items():
            op = comments.List(at=place.at, status="all", format="markdown", limit=200)
            self._view.subscriptions.follow_whole(key, op, partial(self._show_place, place), rank=Rank.AWAITED)
        self._show_soon()

    def ask_more(self) -> None:
        """Load more places, once all requested ones have loaded."""
        if not self.is_loading:
            self._reach += BATCH
            self.follow_places()

    def _show_place(self, place: ThreadSource, snapshot: Snapshot[ListPage[Comment]]) -> None:
        self._found[place.key] = snapshot
        if isinstance(place.at, ChangeRequestRef) and snapshot.value is not None:
            self._view.shell.workspace.count_open_comments(place.at.change_request_id, snapshot.value)
        self._show_soon()

    def _show_soon(self) -> None:
        if not self._waits:
            self._waits = self._view.call_later(self.catch_up)

    def catch_up(self) -> None:
        """Show the threads that have arrived since the last rebuild."""
        if not self._waits:
            return
        self._waits = False
        (self._show if self._is_worth_showing else self._show_less)()

    @property
    def _is_worth_showing(self) -> bool:
        """Return whether to rebuild the list. A list of thousands of threads is rebuilt only after many new threads and
        at the end."""
        answers = self._found.values()
        known = sum(len(each.value.items) for each in answers if each.value is not None)
        is_much = known < LONG_LIST or abs(known - self._shown) * 8 >= self._shown
        return is_much or not any(each.loading for each in answers) or any(each.pending for each in answers)

    def take(self) -> list[Thread]:
        """Return all loaded threads, and count them as shown."""
        threads, self._waits = self.known(), False
        self._shown = len(threads)
        return threads

    def known(self) -> list[Thread]:
        """Return all loaded threads, in the order of their places."""
        return [
            Thread(comment, place.at, place.name)
            for place in self.asked.values()
            if (snapshot := self._found.get(place.key)) is not None and snapshot.value is not None
            for comment in snapshot.value.items
        ]

    @property
    def answers(self) -> list[Snapshot[Any]]:
        """The responses the list is built from: spaces, change requests and threads."""
        return [self._view.shell.workspace.spaces, *self._lists.values(), *self._found.values()]

    @property
    def is_loading(self) -> bool:
        """Return whether a response is still missing."""
        return any(each.loading for each in self.answers)

    @property
    def places_heard(self) -> int:
        """The number of places whose threads are loaded."""
        return sum(snapshot.value is not None for snapshot in self._found.values())

    @property
    def places_left(self) -> bool:
        """Return whether there are places that are not requested yet."""
        return len(self.asked) < self.places

    @property
    def is_told(self) -> bool:
        """Return whether the threads of all requested places are loaded."""
        return all(snapshot.value for snapshot in self._found.values())
