"""What is on show is asked again in the background: as little as can be, slower while nobody types, and not while nobody looks.

    freshness = Freshness(live, on_show=..., low=..., then=...)
    if freshness.is_due:
        news = await freshness.look()

A look asks the lists of the organization. What hangs on them is asked only where what they say of its place moved: counters,
`updatedAt`, revisions. Not everything moves a list: no counter counts replies. So a few answers that are on show, and fewer
that are not, are asked again that nothing speaks for, those first that were read the longest ago.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from octavo.api import change_requests, comments, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome, RateLimited
from octavo.api.operation import SPECS, Listing, ListPage, Operation
from octavo.api.places import SpaceRef
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.news import News, NewsFinder

Item = TypeVar("Item")

BETWEEN = (
    (timedelta(minutes=2), timedelta(seconds=30)),
    (timedelta(minutes=30), timedelta(minutes=2)),
    (timedelta.max, timedelta(minutes=10)),
)
"""For how long nobody typed, and how much time is between two looks until then."""
ON_SHOW_AGAIN, OTHERS_AGAIN = 8, 2
"""How many answers are asked again at a look that nothing speaks for: of those on show, and of others that are followed."""
MOST_MISSES, MOST_MISSES_OFFLINE = 6, 1
"""Looks in a row that failed, after which the time between two grows no more: where nothing answers, no server minds."""
MOST_GONE = 5
"""Change requests that are asked what became of them."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Freshness:
    """When to look what others did meanwhile, and what to ask then."""

    def __init__(
        self,
        live: Live,
        *,
        on_show: Callable[[], Sequence[Operation[Any]]] = lambda: (),
        low: Callable[[], float] = lambda: 0.0,
        then: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`low`: the seconds that what nobody waits for has to wait, because the server's limits run low. `then` is called
        at the end of each look."""
        self._live, self._on_show, self._low, self._then = live, on_show, low, then
        self._key_at = self._looked_at = live.now()
        self._hidden = self._looking = False
        self._misses = 0
        self._not_before = _LONG_AGO
        self._stamps: dict[Operation[Any], Hashable] = {}
        """What the lists said of the place of each answer when it was read."""

    def key_pressed(self) -> None:
        """Somebody is there."""
        self._key_at = self._live.now()

    def hide(self) -> None:
        """Nobody looks from now on."""
        self._hidden = True

    def show(self) -> None:
        """Somebody looks again."""
        self._hidden = False
        self.key_pressed()

    @property
    def between(self) -> timedelta:
        """How much time is between two looks just now."""
        idle = self._live.now() - self._key_at
        asked = next(each for longest, each in BETWEEN if idle <= longest)
        missed = BETWEEN[0][1] * 2**self._misses if self._misses else asked
        return max(asked, min(missed, BETWEEN[-1][1]))

    @property
    def is_due(self) -> bool:
        """Whether it is time to look."""
        now = self._live.now()
        if self._hidden or self._looking or now < self._not_before or not self._has_room():
            return False
        return now - self._looked_at >= self.between

    async def look(self) -> News:
        """Look once, and answer what others did. What fails is tried again later."""
        self._looking, self._looked_at = True, self._live.now()
        finder = NewsFinder(self._live.outbox.me.id if self._live.outbox.me is not None else "")
        try:
            await self._look(finder)
            gone = await self._became_of(finder.gone)
            if self._then is not None:
                await self._then()
        except ApiError as error:
            gone = []
            self._missed(error)
        else:
            self._misses = 0
        finally:
            self._looking = False
        return finder.news(gone)

    async def _look(self, finder: NewsFinder) -> None:
        live = self._live
        asked: set[Operation[Any]] = {
            each for each in live.watched if isinstance(each, spaces.List | change_requests.ListOfOrganization)
        }
        before = self._told()
        for op in asked:
            await self._ask(op, finder)
        told = self._told()
        others = [each for each in live.watched if each not in asked]
        # The replies last: how many there are is told by the threads they are of.
        for op in sorted(others, key=lambda each: isinstance(each, comments.ListReplies)):
            now = _stamp(op, told, live)
            if now is None or self._stamps.setdefault(op, _stamp(op, before, live)) == now:
                continue
            asked.add(op)
            if await self._ask(op, finder):
                self._stamps[op] = now
        self._stamps = {op: stamp for op, stamp in self._stamps.items() if op in others}
        still = [each for each in others if each not in asked and self._stamps.get(each) is not None]
        for op in still:
            live.is_still_so(op)
        sure = {each for each in still if SPECS[type(each)].path.startswith("{content}")}
        for op in self._again([each for each in others if each not in asked | sure]):
            await self._ask(op, finder)

    def _told(self) -> dict[Hashable, tuple[Hashable, Hashable]]:
        """What the lists say of each place: of its content, and of all that is there."""
        found: dict[Hashable, tuple[Hashable, Hashable]] = {}
        for op in self._live.watched:
            if isinstance(op, spaces.List):
                found |= {each.ref: _of_space(each) for each in self._items(op)}
            elif isinstance(op, change_requests.ListOfOrganization):
                listed = [each for each in self._items(op) if each.space is not None]
                found |= {each.ref(SpaceRef(space_id=str(each.space))): _of_request(each) for each in listed}
        return found

    def _items(self, op: Listing[Item]) -> tuple[Item, ...]:
        value = self._live.peek(op).value
        return tuple(value.items) if isinstance(value, ListPage) else ()

    def _again(self, quiet: list[Operation[Any]]) -> Iterable[Operation[Any]]:
        """Those that are asked again though nothing speaks for it."""
        on_show = set(self._on_show())
        quiet.sort(key=lambda each: self._live.read_at(each) or _LONG_AGO)
        shown = sorted((each for each in quiet if each in on_show), key=lambda each: not self._live.waits_for(each))
        return [*shown[:ON_SHOW_AGAIN], *[each for each in quiet if each not in on_show][:OTHERS_AGAIN]]

    async def _ask(self, op: Operation[Any], finder: NewsFinder) -> bool:
        """Ask again. Whether that was done."""
        if self._hidden or not self._has_room():
            return False
        before = self._live.peek(op).value
        try:
            if await self._live.look_again(op):
                finder.compare(op, before, self._live.peek(op).value)
        except (NotFound, Forbidden):
            return True  # it is shown
        return True

    async def _became_of(self, gone: Sequence[ChangeRequest]) -> list[ChangeRequest]:
        """How those are by now that are in no list any more, as far as there are any, and not too many."""
        found = []
        for each in gone[:MOST_GONE]:
            if each.space is not None and not self._hidden and self._has_room():
                at = each.ref(SpaceRef(space_id=each.space))
                with suppress(NotFound, Forbidden):
                    found.append(await self._live.fetch(change_requests.Get(at=at), patiently=True))
        return found

    def _has_room(self) -> bool:
        """Whether the server takes more requests than are kept for the person."""
        return not self._low()

    def _missed(self, error: ApiError) -> None:
        most = MOST_MISSES_OFFLINE if error.outcome is Outcome.NOT_SENT else MOST_MISSES
        self._misses = min(most, self._misses + 1)
        if isinstance(error, RateLimited) and error.trace.retry_at is not None:
            self._not_before = error.trace.retry_at


def _of_space(space: Space) -> tuple[Hashable, Hashable]:
    content = space.revision or space.updated_at
    counted = (space.comments, space.change_requests, space.change_requests_open, space.change_requests_draft)
    return content, (content, space.updated_at, counted)


def _of_request(about: ChangeRequest) -> tuple[Hashable, Hashable]:
    content = about.revision or about.updated_at
    return content, (content, about.updated_at, about.status, about.comments, about.outdated)


def _stamp(op: Operation[Any], told: dict[Hashable, tuple[Hashable, Hashable]], live: Live) -> Hashable:
    """What is said elsewhere of what `op` asks: something else when it moved. None where nothing is said."""
    at = getattr(op, "at", None)
    if at not in told:
        return None
    content, whole = told[at]
    if SPECS[type(op)].path.startswith("{content}"):
        return content
    if isinstance(op, comments.ListReplies):
        return _replies_told(op, live)
    return whole


def _replies_told(op: comments.ListReplies, live: Live) -> Hashable:
    """How many replies a list of threads that is watched counts."""
    for each in live.watched:
        if isinstance(each, comments.List) and each.at == op.at:
            threads = live.peek(each).value
            thread = next((one for one in threads.items if one.id == op.comment_id), None) if threads else None
            if thread is not None:
                return thread.replies
    return None
