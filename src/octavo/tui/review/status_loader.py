"""Loads the status of the change requests whose rows are on the screen, and of all for a filter or a sort order."""

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
from octavo.tui.core.permissions import UNDECIDED
from octavo.tui.review.merge_checks import ListPrediction, predict_for_list

if TYPE_CHECKING:
    from octavo.tui.core.view import View


from octavo.tui.review.request_status import RequestStatus, StatusFact, is_predicted, request_status

MAX_FOLLOWED = 60
"""Maximum number of change requests whose status is kept up to date. Other change requests keep their last loaded
status."""
MAX_PARALLEL = 4
"""Number of change requests whose facts are loaded in parallel for a filter or a sort order."""
_ALL = "all of a list"


@dataclass
class _LoadedFacts:
    """Loaded facts of a change request."""

    reviews: tuple[Review, ...] | None = None
    requested: tuple[RequestedReviewer, ...] | None = None
    predicted: ListPrediction | None = None
    predicted_for: tuple[str | None, ...] = ()
    """Revisions of the prediction: the base, the change request and main."""
    unread: dict[StatusFact, str] = field(default_factory=dict)
    """Reasons why facts could not be loaded, by fact."""


class StatusLoader:
    """Loads and caches the status of change requests. Calls `changed` with the ID of a change request after each
    change."""

    def __init__(self, view: View, changed: Callable[[str], None]) -> None:
        self._view, self._changed = view, changed
        self._facts: dict[str, _LoadedFacts] = {}
        self._followed: OrderedDict[str, ChangeRequest] = OrderedDict()
        self._prediction_lock = asyncio.Lock()
        self._loading: set[str] = set()
        """IDs of the change requests whose facts are being loaded for the whole list."""

    def clear(self) -> None:
        """Forget all change requests, because the organization changed."""
        for each in tuple(self._followed):
            self._unfollow(each)
        self.stop_loading()
        self._facts.clear()

    def status_of(self, change_request: ChangeRequest) -> RequestStatus:
        """Return the status of a change request, as far as it is loaded."""
        workspace, facts = self._view.shell.workspace, self._facts.get(change_request.id) or _LoadedFacts()
        me, threads = workspace.me.id if workspace.me is not None else "", workspace.open_thread_count(change_request)
        if change_request.status not in UNDECIDED:
            return request_status(change_request, threads, (), (), (), me)
        if not is_predicted(change_request):
            return request_status(change_request, threads, facts.reviews, facts.requested, (), me, dict(facts.unread))
        predicted = facts.predicted if facts.predicted_for == self._sides(change_request) else None
        return request_status(
            change_request,
            threads,
            facts.reviews,
            facts.requested,
            predicted.conflicts if predicted is not None else None,
            me,
            dict(facts.unread),
            is_on_main=predicted is not None and predicted.is_on_main,
        )

    def follow_visible(self, shown: Iterable[ChangeRequest]) -> None:
        """Follow the status of the change requests in `shown`, the rows on the screen."""
        listed = [each for each in shown if each.space is not None and (each.status in UNDECIDED or each.comments)]
        for change_request in listed:
            self._follow(change_request)
        shown_ids = {each.id for each in listed}
        for each in tuple(self._followed):
            if len(self._followed) > MAX_FOLLOWED and each not in shown_ids:
                self._unfollow(each)
        unpredicted = [each for each in listed if self._needs_prediction(each)]
        if unpredicted:
            self._view.run_worker(self._predict_all(unpredicted), exclusive=True, group="conflicts on show")

    def load(self, change_requests: Iterable[ChangeRequest], facts: Collection[StatusFact]) -> None:
        """Load the missing facts of the change requests."""
        missing = [each for each in change_requests if each.id not in self._loading and each.space is not None]
        if missing:
            self._loading |= {each.id for each in missing}
            self._view.run_worker(self._load_all(missing, facts), group=_ALL)

    def stop_loading(self) -> None:
        """Cancel the loads for the whole list."""
        self._view.workers.cancel_group(self._view, _ALL)
        self._loading.clear()

    def refresh(self) -> None:
        """Forget failed predictions and the facts of unfollowed change requests, so that Octavo loads them again."""
        for name in [each for each in self._facts if each not in self._followed]:
            del self._facts[name]
        for facts in self._facts.values():
            if facts.unread.pop("conflicts", None):
                facts.predicted_for = ()

    # Following the rows on the screen

    def _follow(self, change_request: ChangeRequest) -> None:
        at, view, name = _ref_of(change_request), self._view, change_request.id
        self._followed[name] = change_request
        self._followed.move_to_end(name)
        if change_request.status in UNDECIDED:
            # The preview may have loaded the same lists a moment ago.
            view.follow(f"reviews of {name}", reviews_of(at), partial(self._show_reviews, name), refetch=False)
            view.follow(f"asked of {name}", requested_of(at), partial(self._show_requested, name), refetch=False)
        self._follow_threads(name)

    def _follow_threads(self, name: str) -> None:
        """Follow the open threads if the comment count of the change request does not give their number. The count
        differs if a review has an open comment, or if the change request is merged or archived."""
        change_request, facts = self._followed[name], self._facts.get(name)
        counts_threads = change_request.status not in UNDECIDED or any(
            each.comment is not None and each.comment.is_open for each in (facts and facts.reviews) or ()
        )
        op = open_threads_of(_ref_of(change_request)) if counts_threads and change_request.comments else None
        show = partial(self._show_threads, name) if op is not None else None
        self._view.follow(f"threads of {name}", op, show, refetch=False)

    def _unfollow(self, name: str) -> None:
        del self._followed[name]
        for fact in ("reviews", "asked", "threads"):
            self._view.follow(f"{fact} of {name}", None)

    def _show_reviews(self, name: str, snapshot: Snapshot[ListPage[Review]]) -> None:
        facts = self._facts.setdefault(name, _LoadedFacts())
        facts.reviews = self._items(facts, "reviews", snapshot, facts.reviews)
        if name in self._followed:
            self._follow_threads(name)
        self._changed(name)

    def _show_requested(self, name: str, snapshot: Snapshot[ListPage[RequestedReviewer]]) -> None:
        facts = self._facts.setdefault(name, _LoadedFacts())
        facts.requested = self._items(facts, "requested", snapshot, facts.requested)
        self._changed(name)

    def _show_threads(self, name: str, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None and name in self._followed:
            self._view.shell.workspace.record_open_comments(name, snapshot.value, self._followed[name].comments)
            self._changed(name)

    def _items(
        self, facts: _LoadedFacts, fact: StatusFact, snapshot: Snapshot[ListPage[Any]], before: tuple[Any, ...] | None
    ) -> tuple[Any, ...] | None:
        if snapshot.error is not None and snapshot.value is None:
            facts.unread[fact] = str(snapshot.error)
        else:
            facts.unread.pop(fact, None)
        return snapshot.value.items if snapshot.value is not None else before

    # Conflicts

    def _sides(self, change_request: ChangeRequest) -> tuple[str | None, ...]:
        space = self._view.shell.workspace.space(change_request.space or "")
        main = space.revision if space is not None and change_request.outdated else None
        return change_request.base, change_request.revision, main

    def _needs_prediction(self, change_request: ChangeRequest) -> bool:
        facts = self._facts.get(change_request.id)
        return is_predicted(change_request) and (facts is None or facts.predicted_for != self._sides(change_request))

    async def _predict_all(self, change_requests: Sequence[ChangeRequest]) -> None:
        for change_request in change_requests:
            await self._predict(change_request)

    async def _predict(self, change_request: ChangeRequest) -> None:
        async with self._prediction_lock:
            if not self._needs_prediction(change_request):
                return
            facts, sides = self._facts.setdefault(change_request.id, _LoadedFacts()), self._sides(change_request)
            try:
                predicted = await predict_for_list(
                    self._view.live, _ref_of(change_request), change_request, main=sides[-1]
                )
                facts.unread.pop("conflicts", None)
                if predicted is None:
                    facts.unread["conflicts"] = "the base revision is not available"
            except ApiError as error:
                predicted = None
                facts.unread["conflicts"] = str(error)
            facts.predicted, facts.predicted_for = predicted, sides
        self._changed(change_request.id)

    # Loading for the whole list

    async def _load_all(self, change_requests: Sequence[ChangeRequest], facts: Collection[StatusFact]) -> None:
        async def load_facts(change_request: ChangeRequest) -> None:
            for fact in facts:
                if fact not in self.status_of(change_request).known:
                    await self._load_fact(change_request, fact)
            self._loading.discard(change_request.id)

        await gather_bounded(load_facts, change_requests, MAX_PARALLEL)

    async def _load_fact(self, change_request: ChangeRequest, fact: StatusFact) -> None:
        if fact == "conflicts":
            await self._predict(change_request)
            return
        facts = self._facts.setdefault(change_request.id, _LoadedFacts())
        op: Listing[Any] = (
            reviews_of(_ref_of(change_request)) if fact == "reviews" else requested_of(_ref_of(change_request))
        )
        try:
            items = (await self._view.live.fetch(op)).items
        except ApiError as error:
            facts.unread[fact] = str(error)
        else:
            facts.unread.pop(fact, None)
            if fact == "reviews":
                facts.reviews = items
            else:
                facts.requested = items
        self._changed(change_request.id)


def _ref_of(change_request: ChangeRequest) -> ChangeRequestRef:
    return change_request.ref(SpaceRef(space_id=change_request.space or ""))
