"""Refreshes what is shown in the background: with few requests, more slowly while nobody types, and not while the
terminal is hidden.

    freshness = Freshness(live, on_show=..., low=..., then=...)
    if freshness.is_due:
        news = await freshness.look()

A round fetches the lists of the organization. Another response is fetched only if its stamp has changed: counters,
`updatedAt`, revisions. Lists do not tell of every change: no list counts replies. So a round rechecks a few other
responses that are shown, and fewer that are not, the oldest first.
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
from octavo.data.sync_queue import Rank

BETWEEN = (
    (timedelta(minutes=2), timedelta(seconds=30)),
    (timedelta(minutes=30), timedelta(minutes=2)),
    (timedelta.max, timedelta(minutes=10)),
)
"""Time since the last key press, and time between two rounds until then."""
ON_SHOW_AGAIN, OTHERS_AGAIN = 8, 2
"""Rechecked responses in a round: of those that are shown, and of others that are watched."""
MOST_MISSES, MOST_MISSES_OFFLINE = 6, 1
"""Failed rounds in a row after which the time between two rounds grows no more. Fewer if the server cannot be
reached."""
MOST_GONE = 5
"""Change requests whose new status is looked up in a round."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Freshness:
    """When to look for changes by others, and what to fetch then."""

    def __init__(
        self,
        live: Live,
        *,
        on_show: Callable[[], Sequence[Operation[Any]]] = lambda: (),
        low: Callable[[], float] = lambda: 0.0,
        then: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`low` returns the seconds that background requests have to wait because the rate limit runs low. `then` is
        called at the end of each round."""
        self._live, self._on_show, self._low, self._then = live, on_show, low, then
        self._key_at = self._looked_at = live.now()
        self._hidden = self._looking = False
        self._misses = 0
        self._not_before = _LONG_AGO
        self._stamps: dict[Answer, Hashable] = {}
        """The stamp of each response when it was fetched."""
        self._places = ListedPlaces()

    def key_pressed(self) -> None:
        """Note that the user is there."""
        self._key_at = self._live.now()

    def hide(self) -> None:
        """Start no more rounds: the terminal is hidden."""
        self._hidden = True

    def show(self) -> None:
        """Start rounds again: the terminal is shown."""
        self._hidden = False
        self.key_pressed()

    @property
    def between(self) -> timedelta:
        """Time between two rounds at present."""
        idle = self._live.now() - self._key_at
        asked = next(each for longest, each in BETWEEN if idle <= longest)
        missed = BETWEEN[0][1] * 2**self._misses if self._misses else asked
        return max(asked, min(missed, BETWEEN[-1][1]))

    @property
    def is_due(self) -> bool:
        """Return whether a round is due."""
        now = self._live.now()
        if self._looking or now < self._not_before or not self.may_ask():
            return False
        return now - self._looked_at >= self.between

    def may_ask(self) -> bool:
        """Return whether background requests may be sent: the terminal is shown and the rate limit is not low."""
        return not self._hidden and self._has_room()

    async def look(self) -> News:
        """Run a round and return what others have done. The next round retries what fails."""
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
        # Replies last: the lists of threads count them.
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
        """Return the number of replies of a thread in a watched list of threads. None if there is none."""
        for each in self._live.watched:
            if isinstance(each.op, comments.List) and each.op.at == op.at:
                threads = self._live.peek(each.op).value
                thread = next((one for one in threads.items if one.id == op.comment_id), None) if threads else None
                if thread is not None:
                    return thread.replies
        return None

    def _again(self, quiet: list[Answer]) -> Iterable[Answer]:
        """Return the responses to recheck."""
        on_show = set(self._on_show())
        shown = {each for each in quiet if each.op in on_show} if on_show else set[Answer]()
        quiet.sort(key=lambda each: each.fetched_at or _LONG_AGO)
        first = sorted((each for each in quiet if each in shown), key=lambda each: not each.waits)
        return [*first[:ON_SHOW_AGAIN], *[each for each in quiet if each not in shown][:OTHERS_AGAIN]]

    async def _ask(self, answer: Answer, finder: NewsFinder) -> bool:
        """Fetch a response again. Return whether it was fetched."""
        if not self.may_ask():
            return False
        before = self._live.peek(answer.op).value
        try:
            if await self._live.look_again(answer):
                finder.compare(answer.op, before, self._live.peek(answer.op).value)
        except (NotFound, Forbidden):
            return True  # the error is shown
        return True

    async def _became_of(self, gone: Sequence[ChangeRequest]) -> list[ChangeRequest]:
        """Return the present status of change requests that are in no list any more, of the first few that can be
        read."""
        found = []
        for each in gone[:MOST_GONE]:
            if each.space is not None and self.may_ask():
                at = each.ref(SpaceRef(space_id=each.space))
                with suppress(NotFound, Forbidden):
                    found.append(await self._live.fetch(change_requests.Get(at=at), rank=Rank.AWAITED))
        return found

    def _has_room(self) -> bool:
        """Return whether the rate limit is not low."""
        return not self._low()

    def _missed(self, error: ApiError) -> None:
        most = MOST_MISSES_OFFLINE if error.outcome is Outcome.NOT_SENT else MOST_MISSES
        self._misses = min(most, self._misses + 1)
        if isinstance(error, RateLimited) and error.trace.retry_at is not None:
            self._not_before = error.trace.retry_at


_LISTS = (spaces.List, change_requests.ListOfOrganization)


def _is_of_content(op: Operation[Any]) -> bool:
    return SPECS[type(op)].path.startswith("{content}")
