"""How the change requests of a list stand: asked for those on show, and kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError
from octavo.api.operation import Listing, ListPage
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.api.reviews import RequestedReviewer, Review
from octavo.concurrency import gather_bounded
from octavo.data.live import Snapshot
from octavo.data.queries import open_threads_of, requested_of, reviews_of
from octavo.tui.review.status_summary import Fact, RequestStatus, is_predicted, standing
from octavo.tui.shell.permissions import UNDECIDED

if TYPE_CHECKING:
    from octavo.tui.review.merge_checks import MergePrediction
    from octavo.tui.shell.view import View

FOLLOWED = 60
"""As many are kept up to date, those on show among them. What was found of others is shown until they are seen again."""
AT_ONCE = 4
"""Change requests that are looked at together where all of a list are wanted."""
_ALL = "all of a list"


@dataclass
class _Found:
    """What was found of one."""

    reviews: tuple[Review, ...] | None = None
    requested: tuple[RequestedReviewer, ...] | None = None
    predicted: MergePrediction | None = None
    foreseen_for: tuple[str | None, ...] = ()
    """What the merge was predicted of: the revisions of both sides and of what they come from."""
    unread: dict[Fact, str] = field(default_factory=dict)
    """What could not be had, with the cause."""


class RequestStatuses:
    """Says of any change request how it stands, as far as that is known. `changed` is called with one that stands otherwise."""

    def __init__(self, view: View, changed: Callable[[str], None]) -> None:
        self._view, self._changed = view, changed
        self._found: dict[str, _Found] = {}
        self._followed: OrderedDict[str, ChangeRequest] = OrderedDict()
        self._one_by_one = asyncio.Lock()
        self._finding: set[str] = set()
        """Those that are being looked at because all of a list are wanted."""

    def forget(self) -> None:
        """Know of none: they are those of another organization."""
        for each in tuple(self._followed):
            self._leave(each)
        self.stop_finding()
        self._found.clear()

    def of(self, about: ChangeRequest) -> RequestStatus:
        """How one stands, as far as that is known. Asks nobody."""
        known, found = self._view.shell.workspace, self._found.get(about.id) or _Found()
        me, threads = known.me.id if known.me is not None else "", known.open_thread_count(about)
        if about.status not in UNDECIDED:
            return standing(about, threads, (), (), (), me)
        if not is_predicted(about):
            return standing(about, threads, found.reviews, found.requested, (), me, dict(found.unread))
        predicted = found.predicted if found.foreseen_for == self._sides(about) else None
        return standing(
            about,
            threads,
            found.reviews,
            found.requested,
            predicted.conflicts if predicted is not None else None,
            me,
            dict(found.unread),
            is_on_main=predicted is not None and predicted.is_on_main,
        )

    def look_at(self, shown: Iterable[ChangeRequest]) -> None:
        """These are on show: ask how they stand, and follow that."""
        those = [each for each in shown if each.space is not None and (each.status in UNDECIDED or each.comments)]
        for about in those:
            self._follow(about)
        here = {each.id for each in those}
        for each in tuple(self._followed):
            if len(self._followed) > FOLLOWED and each not in here:
                self._leave(each)
        unforeseen = [each for each in those if self._is_unforeseen(each)]
        if unforeseen:
            self._view.run_worker(self._foresee_all(unforeseen), exclusive=True, group="conflicts on show")

    def find(self, among: Iterable[ChangeRequest], facts: Collection[Fact]) -> None:
        """Ask for facts of all of these, as far as they are not known and not asked for already."""
        wanted = [each for each in among if each.id not in self._finding and each.space is not None]
        if wanted:
            self._finding |= {each.id for each in wanted}
            self._view.run_worker(self._find_all(wanted, facts), group=_ALL)

    def stop_finding(self) -> None:
        """All of a list are wanted no more."""
        self._view.workers.cancel_group(self._view, _ALL)
        self._finding.clear()

    def ask_again(self) -> None:
        """What did not load, and what is not followed, may be asked for again."""
        for name in [each for each in self._found if each not in self._followed]:
            del self._found[name]
        for found in self._found.values():
            if found.unread.pop("conflicts", None):
                found.foreseen_for = ()

    # Following those on show

    def _follow(self, about: ChangeRequest) -> None:
        at, view = _at(about), self._view
        self._followed[about.id] = about
        self._followed.move_to_end(about.id)
        if about.status in UNDECIDED:
            # The summary beside it may have asked a moment ago.
            view.follow(f"reviews of {about.id}", reviews_of(at), partial(self._show_reviews, about.id), refetch=False)
            view.follow(
                f"asked of {about.id}", requested_of(at), partial(self._show_requested, about.id), refetch=False
            )
        self._follow_threads(about.id)

    def _follow_threads(self, name: str) -> None:
        """Where the words of a review are open, only the comments tell how many threads there are. Of what is decided
        nothing else is asked."""
        about, found = self._followed[name], self._found.get(name)
        has_verdict = about.status not in UNDECIDED or any(
            each.comment is not None and each.comment.is_open for each in (found and found.reviews) or ()
        )
        op = open_threads_of(_at(about)) if has_verdict and about.comments else None
        self._view.follow(
            f"threads of {name}", op, partial(self._show_threads, name) if op is not None else None, refetch=False
        )

    def _leave(self, name: str) -> None:
        del self._followed[name]
        for what in ("reviews", "asked", "threads"):
            self._view.follow(f"{what} of {name}", None)

    def _show_reviews(self, name: str, snapshot: Snapshot[ListPage[Review]]) -> None:
        found = self._found.setdefault(name, _Found())
        found.reviews = self._taken(found, "reviews", snapshot, found.reviews)
        if name in self._followed:
            self._follow_threads(name)
        self._changed(name)

    def _show_requested(self, name: str, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        found = self._found.setdefault(name, _Found())
        found.requested = self._taken(found, "requested", snapshot, found.requested)
        self._changed(name)

    def _show_threads(self, name: str, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None and name in self._followed:
            self._view.shell.workspace.record_open_comments(name, snapshot.value, self._followed[name].comments)
            self._changed(name)

    def _taken(
        self, found: _Found, fact: Fact, snapshot: Snapshot[ListPage[Any]], before: tuple[Any, ...] | None
    ) -> tuple[Any, ...] | None:
        if snapshot.error is not None and snapshot.value is None:
            found.unread[fact] = str(snapshot.error)
        else:
            found.unread.pop(fact, None)
        return snapshot.value.items if snapshot.value is not None else before

    # Conflicts

    def _sides(self, about: ChangeRequest) -> tuple[str | None, ...]:
        space = self._view.shell.workspace.space(about.space or "")
        return about.base, about.revision, space.revision if space is not None and about.outdated else None

    def _is_unforeseen(self, about: ChangeRequest) -> bool:
        found = self._found.get(about.id)
        return is_predicted(about) and (found is None or found.foreseen_for != self._sides(about))

    async def _foresee_all(self, those: Sequence[ChangeRequest]) -> None:
        for about in those:
            await self._foresee(about)

    async def _foresee(self, about: ChangeRequest) -> None:
        from octavo.tui.review.merge_checks import predict  # brings what is known of merges with it

        async with self._one_by_one:
            if not self._is_unforeseen(about):
                return
            found, sides = self._found.setdefault(about.id, _Found()), self._sides(about)
            try:
                predicted = await predict(self._view.live, _at(about), about, main=sides[-1])
                found.unread.pop("conflicts", None)
                if predicted is None:
                    found.unread["conflicts"] = "the base revision is not available"
            except ApiError as error:
                predicted = None
                found.unread["conflicts"] = str(error)
            found.predicted, found.foreseen_for = predicted, sides
        self._changed(about.id)

    # All of a list

    async def _find_all(self, those: Sequence[ChangeRequest], facts: Collection[Fact]) -> None:
        async def find(about: ChangeRequest) -> None:
            for fact in facts:
                if fact not in self.of(about).known:
                    await self._find(about, fact)
            self._finding.discard(about.id)

        await gather_bounded(find, those, AT_ONCE)

    async def _find(self, about: ChangeRequest, fact: Fact) -> None:
        if fact == "conflicts":
            await self._foresee(about)
            return
        found = self._found.setdefault(about.id, _Found())
        op: Listing[Any] = reviews_of(_at(about)) if fact == "reviews" else requested_of(_at(about))
        try:
            items = (await self._view.live.fetch(op)).items
        except ApiError as error:
            found.unread[fact] = str(error)
        else:
            found.unread.pop(fact, None)
            if fact == "reviews":
                found.reviews = items
            else:
                found.requested = items
        self._changed(about.id)


def _at(about: ChangeRequest) -> ChangeRequestRef:
    return about.ref(SpaceRef(space_id=about.space or ""))
