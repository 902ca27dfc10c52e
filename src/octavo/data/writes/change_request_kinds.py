"""The writes on a change request: how each is checked before sending, and found again after a lost response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from octavo.api import change_requests, reviews
from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef
from octavo.api.reviews import RequestedReviewer, RequestedReviewers
from octavo.data.merge_basis import read_basis, what_changed
from octavo.data.queries import requested_of, reviews_of
from octavo.data.sending import Send
from octavo.data.writes.write_kind import AlreadyDone, Attempt, Basis, Changed, Check, Ready, WriteFacts, WriteKind


async def check_merge(send: Send, attempt: Attempt[change_requests.Merge]) -> Check:
    """Compare the change request and main with those that the checks before the merge were made for."""
    now = await read_basis(send, attempt.op.at)
    if now.change_request.status == "merged":
        result = MergeResult(revision=now.change_request.revision_merged, result="")
        return AlreadyDone(result=result, remark=f"#{now.change_request.number} is already merged.")
    if changed := await what_changed(send, attempt.op.at, attempt.basis, now):
        return Changed(f"{changed} Review the checks again before you merge")
    return Ready()


async def find_merge(send: Send, attempt: Attempt[change_requests.Merge]) -> AlreadyDone | None:
    """Return the merge. None if the change request is not merged. Its `result` is empty: conflicts are unknown."""
    now = await send(change_requests.Get(at=attempt.op.at))
    if now.status != "merged":
        return None
    return AlreadyDone(result=MergeResult(revision=now.revision_merged, result=""))


async def check_update(send: Send, attempt: Attempt[change_requests.UpdateFromMain]) -> Check:
    """Compare the change request and main with those that the checks before the update were made for."""
    now = await read_basis(send, attempt.op.at)
    about = now.change_request
    if about.status == attempt.basis.status and not about.outdated:
        result = MergeResult(revision=about.revision, result="update")
        return AlreadyDone(result=result, remark=f"#{about.number} is already up to date with main.")
    if changed := await what_changed(send, attempt.op.at, attempt.basis, now):
        return Changed(f"{changed} Review the checks again before you update")
    return Ready()


async def find_update(send: Send, attempt: Attempt[change_requests.UpdateFromMain]) -> AlreadyDone | None:
    """Return the update. None if the change request has the same base. Its `result` is empty: conflicts are unknown."""
    now = await send(change_requests.Get(at=attempt.op.at))
    if now.base == attempt.basis.base or now.revision == attempt.basis.revision:
        return None
    return AlreadyDone(result=MergeResult(revision=now.revision, result=""))


def review_target_changed(now: ChangeRequest, basis: Basis) -> Changed | None:
    """Return why a review for `basis` does not fit the change request any more. None if it fits."""
    if now.status not in ("draft", "open"):
        return Changed(f"the change request is {now.status} now")
    if basis.revision is not None and now.revision != basis.revision:
        return Changed(
            "the change request has been edited since you opened it. Read the new changes before you submit your review"
        )
    return None


async def check_review(send: Send, attempt: Attempt[reviews.Submit]) -> Check:
    """Compare the head of the change request with the revision that the user read. The baseline is the reviews so far."""
    now = await send(change_requests.Get(at=attempt.op.at))
    if (changed := review_target_changed(now, attempt.basis)) is not None:
        return changed
    return Ready(tuple(each.id for each in (await send(reviews_of(attempt.op.at))).items))


async def find_review(send: Send, attempt: Attempt[reviews.Submit]) -> AlreadyDone | None:
    """Return the review that a lost write submitted, also if it is outdated by now. None if it is not there.

    Without a baseline, the write was sent by another instance: then the review has to be of the revision that was read.
    """
    known = attempt.baseline
    for each in (await send(reviews_of(attempt.op.at))).items:
        is_mine = attempt.me is None or each.reviewer.id == attempt.me
        is_new = each.id not in known if known is not None else each.revision == attempt.basis.revision
        if is_mine and is_new and each.id not in attempt.claimed and each.status == attempt.op.status:
            return AlreadyDone(each.id, each)
    return None


def no_undo_of_review(op: reviews.Submit, basis: Basis) -> str:
    """Return why a submitted review cannot be undone."""
    return "Could not undo: your review has already been submitted. Withdraw the review, or submit another review."


async def check_creation(send: Send, attempt: Attempt[change_requests.Create]) -> Check:
    """Return the drafts of the user as the baseline."""
    return Ready(tuple(each.id for each in await _own_drafts(send, attempt)))


async def find_creation(send: Send, attempt: Attempt[change_requests.Create]) -> AlreadyDone | None:
    """Return the draft that a lost write created. None if it is not there."""
    for each in await _own_drafts(send, attempt):
        if each.subject == attempt.op.subject and each.id not in (attempt.baseline or ()):
            return AlreadyDone(each.id, each)
    return None


async def check_status(send: Send, attempt: Attempt[change_requests.Update]) -> Check:
    """Compare the status of the change request with the one that the user saw."""
    now = await send(change_requests.Get(at=attempt.op.at))
    return (
        Ready()
        if now.status == attempt.basis.status
        else Changed(f"#{now.number} is already {status_name(now.status)}")
    )


async def find_status(send: Send, attempt: Attempt[change_requests.Update]) -> AlreadyDone | None:
    """Return the change request. None if it does not have the new status."""
    now = await send(change_requests.Get(at=attempt.op.at))
    return AlreadyDone(result=now) if now.status == attempt.op.status else None


def undo_status(op: change_requests.Update, basis: Basis) -> Operation[Any] | str:
    """Return the write that restores the status of a change request, else why there is none."""
    if basis.status == "open" or basis.status == "draft":
        return change_requests.Update(at=op.at, status=basis.status)
    return "Could not undo: the previous status is unknown."


def status_name(status: str) -> str:
    """Return the name of a status for messages."""
    return {"open": "ready for review", "draft": "a draft"}.get(status, status)


async def check_request(send: Send, attempt: Attempt[reviews.Request]) -> Check:
    """Compare the requested reviewers with those of the write: a second request would make their reviews outdated.

    If the request makes a review of the user outdated, that review must still be current.
    """
    if attempt.basis.review is not None:
        found = await find_request(send, attempt)
        return replace(found, remark="Your review is already withdrawn.") if found is not None else Ready()
    requested = (await send(requested_of(attempt.op.at))).items
    missing = _not_among(requested, attempt.op)
    if not missing:
        return AlreadyDone(result=RequestedReviewers(users=requested), remark="These reviews are already requested.")
    if len(missing) < len(attempt.op.users):
        return Changed(
            "reviews not requested: someone else has requested some of these reviews. Open the list of reviewers again to see the current requests"
        )
    return Ready()


async def find_request(send: Send, attempt: Attempt[reviews.Request]) -> AlreadyDone | None:
    """Return the requested reviewers. None if some of the reviews are not requested, or the review is not outdated."""
    at = attempt.op.at
    if attempt.basis.review is not None:
        given = (await send(reviews_of(at))).items
        is_outdated = any(each.id == attempt.basis.review and each.outdated for each in given)
        return AlreadyDone(result=RequestedReviewers()) if is_outdated else None
    requested = (await send(requested_of(at))).items
    return None if _not_among(requested, attempt.op) else AlreadyDone(result=RequestedReviewers(users=requested))


def _not_among(requested: Iterable[RequestedReviewer], op: reviews.Request) -> list[str]:
    there = {each.user.id for each in requested if each.user is not None}
    return [each for each in op.users if each not in there]


async def _own_drafts(send: Send, attempt: Attempt[change_requests.Create]) -> tuple[ChangeRequest, ...]:
    creator = {"creator": attempt.me} if attempt.me is not None else {}
    return (await send(change_requests.List(at=attempt.op.at, status="draft", limit=100, **creator))).items


def _request_claim(op: reviews.Request, basis: Basis) -> str:
    if basis.review is not None:
        return f"withdraw {_name(op.at)} {basis.review}"
    return f"request {_name(op.at)} {' '.join(op.users)}"


def _name(at: ChangeRequestRef) -> str:
    return f"{at.space_id}/{at.change_request_id}"


def _claim(verb: str) -> Callable[[Any, Basis], str]:
    return lambda op, basis: f"{verb} {_name(op.at)}"


def _facts_of_review(op: reviews.Submit) -> WriteFacts:
    return WriteFacts(text=op.comment.markdown if op.comment is not None else "", creates=True, is_review=True)


CHANGE_REQUEST_KINDS: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    change_requests.Merge: WriteKind(check_merge, find_merge, claim=_claim("merge")),
    change_requests.UpdateFromMain: WriteKind(check_update, find_update, claim=_claim("update")),
    change_requests.Create: WriteKind(
        check_creation, find_creation, claim=lambda op, basis: f"create {op.at.space_id} {op.subject}"
    ),
    change_requests.Update: WriteKind(check_status, find_status, undo=undo_status, claim=_claim("status")),
    reviews.Request: WriteKind(check_request, find_request, claim=_request_claim),
    reviews.Submit: WriteKind(
        check_review, find_review, _facts_of_review, no_undo_of_review, is_durable=True, claim=_claim("review")
    ),
}
