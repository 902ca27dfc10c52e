"""The writes on a change request that are sent once: create, mark as ready, review, update and merge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from octavo.api import change_requests, reviews
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.api.reviews import RequestedReviewer, RequestedReviewers, Review
from octavo.data.live import Live
from octavo.data.merge_basis import MergeBasis
from octavo.data.request_lists import requested_of, reviews_of
from octavo.data.state import NotSaved
from octavo.data.writes.attempt import Basis
from octavo.data.writes.change_request_kinds import review_target_changed
from octavo.data.writes.direct import Sent, SingleRequest, Sleep, send_direct, send_once
from octavo.data.writes.machine import Entry, is_reviewing
from octavo.data.writes.outbox import QueuedWrite

Verdict = Literal["approved", "changes-requested"]

_STAY = "Your comments stay pending."
_ON_ITS_WAY = "Your review is already being sent, after its comments. Press ! to see its status."


async def merge(
    live: Live, at: ChangeRequestRef, checked: MergeBasis, *, sleep: Sleep = asyncio.sleep
) -> Sent[MergeResult]:
    """Merge the change request at `at` if the change request and main are still as they were `checked`.

    If the response was lost, the `result` of the merge is empty: only the response says whether there were conflicts.
    """
    name, op = f"#{checked.change_request.number}", change_requests.Merge(at=at)
    failed, missing = f"Could not merge {name}", f"the server has not merged {name}"
    return await send_direct(live, op, checked.seen, failed=failed, missing=missing, sleep=sleep)


async def update(
    live: Live, at: ChangeRequestRef, checked: MergeBasis, *, sleep: Sleep = asyncio.sleep
) -> Sent[MergeResult]:
    """Update the change request from main if the change request and main are still as they were `checked`.

    If the response was lost, the `result` of the update is empty: only the response says whether there were conflicts.
    """
    name, op = f"#{checked.change_request.number}", change_requests.UpdateFromMain(at=at)
    failed, missing = f"Could not update {name}", f"the server has not updated {name}"
    return await send_direct(live, op, checked.seen, failed=failed, missing=missing, sleep=sleep)


async def review(
    live: Live,
    at: ChangeRequestRef,
    status: Verdict,
    expected_revision: str | None,
    comment: str = "",
    *,
    sleep: Sleep = asyncio.sleep,
) -> Sent[Review]:
    """Submit a review, if the head of the change request is still `expected_revision`, which was read.

    The API takes no revision: if the change request is edited in between, the message of success says so.
    """
    if is_reviewing(live.outbox.entries, at):
        return Sent("refused", _ON_ITS_WAY)
    body = {"comment": Markdown(markdown=comment)} if comment else {}
    op = reviews.Submit(at=at, status=status, **body)
    failed = "Could not approve" if status == "approved" else "Could not request changes"
    missing = "the server does not show your review"
    sent = await send_direct(live, op, Basis(revision=expected_revision), failed=failed, missing=missing, sleep=sleep)
    of = sent.answer.revision if sent.answer is not None else None
    if sent.kind == "done" and expected_revision and of and of != expected_revision:
        return Sent(
            "done",
            "Sent your review, but the change request was edited at the same time. Read the new revision.",
            sent.answer,
        )
    return sent


async def review_with_gathered(
    live: Live,
    at: ChangeRequestRef,
    status: Verdict,
    expected_revision: str | None,
    comment: str = "",
    *,
    doing: str,
    place: str = "",
) -> Sent[tuple[Entry, ...]]:
    """Send the pending comments, and the review after them, if the head is still `expected_revision`.

    Both are in the outbox in one moment: a verdict on its own may wait in memory, but one whose comments have gone out
    must not be lost with the process. It is sent when all of them have arrived. Nothing leaves without a connection.
    """
    body = {"comment": Markdown(markdown=comment)} if comment else {}
    basis = Basis(revision=expected_revision)
    verdict = QueuedWrite(reviews.Submit(at=at, status=status, **body), doing, place, basis)
    try:
        now = await live.send(change_requests.Get(at=at))
        if (changed := review_target_changed(now, basis)) is not None:
            return Sent("moved", f"{changed.message} {_STAY}")
        entries = await live.outbox.let_go(at, verdict)
    except (ApiError, NotSaved) as error:
        return Sent("refused", f"{error} {_STAY}")
    return Sent("done", answer=entries) if entries else Sent("refused", _ON_ITS_WAY)


async def withdraw_review(
    live: Live, at: ChangeRequestRef, given: Review, *, sleep: Sleep = asyncio.sleep
) -> Sent[Review]:
    """Withdraw your review: it becomes outdated.

    The API cannot delete a review: a review becomes outdated when it is requested again. So it is requested from you,
    and the request is withdrawn if nobody had requested the review before.
    """
    me = given.reviewer.id

    async def happened() -> RequestedReviewers | None:
        items = (await live.send(reviews_of(at))).items
        counts_no_more = any(each.id == given.id and each.outdated for each in items)
        return RequestedReviewers() if counts_no_more else None

    async def ready() -> Sent[RequestedReviewers] | None:
        found = await happened()
        return Sent("done", "Your review is already withdrawn.", found) if found is not None else None

    what = SingleRequest(
        f"withdraw {at.space_id}/{at.change_request_id} {given.id}",
        reviews.Request(at=at, users=(me,)),
        happened,
        ready,
        undone="Could not withdraw your review",
        missing="your review is still current",
    )
    sent = await send_once(live, what, sleep=sleep)
    if sent.kind != "done":
        return Sent(sent.kind, sent.sentence, error=sent.error)
    if given.requested_by is None and sent.sentence == "":
        try:
            await live.send(reviews.Withdraw(at=at, user_id=me))
        except ApiError as error:
            return Sent("done", f"Withdrew your review, but your review is still requested: {error}", given)
        live.touched(what.op)
    return Sent("done", sent.sentence, given)


async def create(live: Live, at: SpaceRef, subject: str, *, sleep: Sleep = asyncio.sleep) -> Sent[ChangeRequest]:
    """Create a draft with this subject."""
    me, before = live.outbox.me, frozenset[str]()

    async def mine() -> tuple[ChangeRequest, ...]:
        creator = {"creator": me.id} if me is not None else {}
        return (await live.send(change_requests.List(at=at, status="draft", limit=100, **creator))).items

    async def happened() -> ChangeRequest | None:
        return next((each for each in await mine() if each.subject == subject and each.id not in before), None)

    async def ready() -> Sent[ChangeRequest] | None:
        nonlocal before
        before = frozenset(each.id for each in await mine())
        return None

    what = SingleRequest(
        f"create {at.space_id} {subject}",
        change_requests.Create(at=at, subject=subject),
        happened,
        ready,
        undone="Could not create the change request",
        missing="the server does not show the new draft",
    )
    return await send_once(live, what, sleep=sleep)


NO_DRAFTS = (
    "This server cannot mark a change request as ready or convert it to a draft. Press o to do this in the browser."
)
_NO_OPERATION = {405, 501}


async def set_ready(
    live: Live, at: ChangeRequestRef, seen: ChangeRequest, *, sleep: Sleep = asyncio.sleep
) -> Sent[ChangeRequest]:
    """Mark a draft as ready for review, or convert a ready change request to a draft, if it is still as it was `seen`."""
    status: Literal["open", "draft"] = "open" if seen.status == "draft" else "draft"
    undone = f"#{seen.number} is still {_called(seen.status)}"
    op = change_requests.Update(at=at, status=status)

    async def happened() -> ChangeRequest | None:
        now = await live.send(change_requests.Get(at=at))
        return now if now.status == status else None

    async def ready() -> Sent[ChangeRequest] | None:
        now = await live.send(change_requests.Get(at=at))
        return None if now.status == seen.status else Sent("moved", f"#{seen.number} is already {_called(now.status)}.")

    what = SingleRequest(
        f"status {at.space_id}/{at.change_request_id}",
        op,
        happened,
        ready,
        undone=undone,
        missing=f"#{seen.number} is still {_called(seen.status)}",
    )
    sent = await send_once(live, what, sleep=sleep)
    if sent.kind == "moved":
        live.touched(op)  # The shown status is outdated.
    if isinstance(sent.error, NotFound) or (sent.error is not None and sent.error.status in _NO_OPERATION):
        live.marks_drafts = False  # it was read just before, so it is there: the server does not know the way
        return Sent("refused", NO_DRAFTS)
    if sent.kind == "done" and sent.answer is not None and sent.answer.status != status:
        return Sent("refused", f"{undone}: the server did not change the status. Press o to change it in the browser.")
    return sent


def _called(status: str) -> str:
    return {"open": "ready for review", "draft": "a draft"}.get(status, status)


async def request_reviews(
    live: Live, at: ChangeRequestRef, people: Sequence[str], *, sleep: Sleep = asyncio.sleep
) -> Sent[RequestedReviewers]:
    """Request reviews, but not from people who are already requested: a new request makes their review outdated."""
    asked: tuple[RequestedReviewer, ...] = ()

    async def look() -> None:
        nonlocal asked
        asked = (await live.send(requested_of(at))).items

    def missing() -> list[str]:
        there = {each.user.id for each in asked if each.user is not None}
        return [each for each in people if each not in there]

    async def happened() -> RequestedReviewers | None:
        await look()
        return None if missing() else RequestedReviewers(users=asked)

    async def ready() -> Sent[RequestedReviewers] | None:
        await look()
        if not missing():
            return Sent("done", "These reviews are already requested.", RequestedReviewers(users=asked))
        return (
            None
            if missing() == list(people)
            else Sent(
                "moved", "Review not requested: another person requested some of these reviews. Open the list again."
            )
        )

    what = SingleRequest(
        f"request {at.space_id}/{at.change_request_id} {' '.join(people)}",
        reviews.Request(at=at, users=tuple(people)),
        happened,
        ready,
        undone="Could not request the reviews",
        missing="the server does not show the review request",
    )
    return await send_once(live, what, sleep=sleep)
