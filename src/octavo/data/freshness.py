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
from typing import Any

from octavo.api import change_requests, comments, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome, RateLimited
from octavo.api.operation import SPECS, Operation
from octavo.api.places import SpaceRef
from octavo.data.answer import Answer
from octavo.data.live import Live
from octavo.data.news import News, NewsFinder
from octavo.data.stamps import ListedPlaces, PlaceStamps

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
        self._stamps: dict[Answer, Hashable] = {}
        """What the lists said of the place of each answer when it was read."""
        self._places = ListedPlaces()

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
        if self._looking or now < self._not_before or not self.may_ask():
            return False
        return now - self._looked_at >= self.between

    def may_ask(self) -> bool:
        """Whether the server may be asked in the background: somebody looks, and it takes more than is kept for them."""
        return not self._hidden and self._has_room()

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
        live, places = self._live, self._places
        lists = {each for each in live.watched if isinstance(each.op, _LISTS)}
        places.update(each.value for each in lists)
        before = {each: places.of(each.op) for each in live.watched if each not in lists and each not in self._stamps}
        for each in lists:
            await self._ask(each, finder)
        places.update(each.value for each in lists)
        asked = set(lists)
        others = [each for each in live.watched if each not in asked]
        # The replies last: how many there are is told by the threads they are of.
        for each in sorted(others, key=lambda each: isinstance(each.op, comments.ListReplies)):
            now = self._stamp(each, places.of(each.op))
            if now is None or self._stamps.setdefault(each, self._stamp(each, before.get(each))) == now:
                continue
            asked.add(each)
            if await self._ask(each, finder):
                self._stamps[each] = now
        watched = set(others)
        self._stamps = {each: stamp for each, stamp in self._stamps.items() if each in watched}
        still = [each for each in others if each not in asked and self._stamps.get(each) is not None]
        for each in still:
            each.as_of = live.now()
        asked |= {each for each in still if _is_of_content(each.op)}
        for each in self._again([each for each in others if each not in asked]):
            await self._ask(each, finder)

    def _stamp(self, answer: Answer, place: PlaceStamps | None) -> Hashable:
        """Return the stamp of a response in a place. None if no list tells of it."""
        if place is None:
            return None
        if isinstance(answer.op, comments.ListReplies):
            return self._replies_told(answer.op)
        return place.content if _is_of_content(answer.op) else place.whole

    def _replies_told(self, op: comments.ListReplies) -> Hashable:
        """How many replies a list of threads that is watched counts."""
        for each in self._live.watched:
            if isinstance(each.op, comments.List) and each.op.at == op.at:
                threads = self._live.peek(each.op).value
                thread = next((one for one in threads.items if one.id == op.comment_id), None) if threads else None
                if thread is not None:
                    return thread.replies
        return None

    def _again(self, quiet: list[Answer]) -> Iterable[Answer]:
        """Those that are asked again though nothing speaks for it."""
        on_show = set(self._on_show())
        shown = {each for each in quiet if each.op in on_show} if on_show else set[Answer]()
        quiet.sort(key=lambda each: each.fetched_at or _LONG_AGO)
        first = sorted((each for each in quiet if each in shown), key=lambda each: not each.waits)
        return [*first[:ON_SHOW_AGAIN], *[each for each in quiet if each not in shown][:OTHERS_AGAIN]]

    async def _ask(self, answer: Answer, finder: NewsFinder) -> bool:
        """Ask again. Whether that was done."""
        if not self.may_ask():
            return False
        before = self._live.peek(answer.op).value
        try:
            if await self._live.look_again(answer):
                finder.compare(answer.op, before, self._live.peek(answer.op).value)
        except (NotFound, Forbidden):
            return True  # it is shown
        return True

    async def _became_of(self, gone: Sequence[ChangeRequest]) -> list[ChangeRequest]:
        """How those are by now that are in no list any more, as far as there are any, and not too many."""
        found = []
        for each in gone[:MOST_GONE]:
            if each.space is not None and self.may_ask():
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


_LISTS = (spaces.List, change_requests.ListOfOrganization)


def _is_of_content(op: Operation[Any]) -> bool:
    return SPECS[type(op)].path.startswith("{content}")
