"""The writes on a change request: how each is checked before sending, and found again after a lost response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from octavo.api import change_requests, reviews
from octavo.api.operation import Operation
from octavo.data.sending import Send
from octavo.data.writes.attempt import AlreadyDone, Attempt, Basis, Changed, Check, Ready, WriteFacts, WriteKind

PAGE = 100


async def check_review(send: Send, attempt: Attempt[reviews.Submit]) -> Check:
    """Compare the head of the change request with the revision that the user read. The baseline is the reviews so far."""
    now = await send(change_requests.Get(at=attempt.op.at))
    if now.status not in ("draft", "open"):
        return Changed(f"the change request is {now.status} now")
    if attempt.basis.revision is not None and now.revision != attempt.basis.revision:
        return Changed("the change request has changed since you opened it. Read the changes, then review again")
    return Ready(tuple(each.id for each in (await send(_reviews(attempt.op))).items))


async def find_review(send: Send, attempt: Attempt[reviews.Submit]) -> AlreadyDone | None:
    """Return the review that a lost write submitted, also if it is outdated by now. None if it is not there."""
    for each in (await send(_reviews(attempt.op))).items:
        is_mine = attempt.me is None or each.reviewer.id == attempt.me
        is_new = each.id not in (attempt.baseline or ()) and each.id not in attempt.claimed
        if is_mine and is_new and each.status == attempt.op.status:
            return AlreadyDone(each.id)
    return None


def no_undo_of_review(op: reviews.Submit, basis: Basis) -> str:
    """Return why a submitted review cannot be undone."""
    return "Could not undo: your review is already submitted. Withdraw it, or submit another."


def _reviews(op: reviews.Submit) -> reviews.List:
    return reviews.List(at=op.at, format="markdown", limit=PAGE)


def _facts_of_review(op: reviews.Submit) -> WriteFacts:
    return WriteFacts(words=op.comment.markdown if op.comment is not None else "", makes=True, is_verdict=True)


CHANGE_REQUEST_KINDS: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    reviews.Submit: WriteKind(
        facts=_facts_of_review, check=check_review, find=find_review, undo=no_undo_of_review, is_durable=True
    ),
}
