"""Creates, updates and merges change requests, changes their status, and submits reviews.

Each function sends a direct write, returns a SendResult, and raises no ApiError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from octavo.api import change_requests, reviews
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.api.reviews import RequestedReviewers, Review
from octavo.data.access import UNSUPPORTED_STATUSES
from octavo.data.live import Live
from octavo.data.state_db import NotSaved
from octavo.data.writes.change_request_kinds import MergeState, details_kind, review_target_changed, status_name
from octavo.data.writes.direct import SendResult, send_direct
from octavo.data.writes.machine import ExpectedState, NewWrite, OutboxEntry, has_review_in_flight

Verdict = Literal["approved", "changes-requested"]

_STILL_PENDING = "Your comments are still pending."
_ALREADY_SENDING = "Your review is already being sent: its comments first, then the review. Press ! to see the status."


async def merge(
    live: Live, at: ChangeRequestRef, checked: MergeState, on_search: Callable[[], object] = lambda: None
) -> SendResult[MergeResult]:
    """Merge a change request. If the change request or main differs from `checked`, only return the kind `changed`. If
    the response is lost, call `on_search` and search for the merge. A found merge has an empty `MergeResult.result`."""
    return await _send_checked(live, change_requests.Merge(at=at), checked, "merge", on_search)


async def update(
    live: Live, at: ChangeRequestRef, checked: MergeState, on_search: Callable[[], object] = lambda: None
) -> SendResult[MergeResult]:
    """Update a change request from main, if the change request and main are still as in `checked`. See `merge`."""
    return await _send_checked(live, change_requests.UpdateFromMain(at=at), checked, "update", on_search)


async def _send_checked(
    live: Live,
    op: change_requests.Merge | change_requests.UpdateFromMain,
    checked: MergeState,
    verb: str,
    on_search: Callable[[], object],
) -> SendResult[MergeResult]:
    name = f"#{checked.change_request.number}"
    failure_prefix, if_not_found = f"Could not {verb} {name}", f"the server has not {verb}d {name}"
    return await send_direct(
        live, op, checked.expected, failure_prefix=failure_prefix, if_not_found=if_not_found, on_search=on_search
    )


async def review(
    live: Live, at: ChangeRequestRef, status: Verdict, expected_revision: str | None, comment: str = "", *, action: str
) -> SendResult[Review]:
    """Submit a review without pending comments. Send nothing if `expected_revision` is given and is not the head, or
    while another review is being sent.

    The request cannot name the reviewed revision. So the message says if the change request was edited at the same
    moment. `action` follows “Could not” in messages, as in “approve #7”.
    """
    if has_review_in_flight(live.outbox.own_entries, at):
        return SendResult("refused", _ALREADY_SENDING)
    body = {"comment": Markdown(markdown=comment)} if comment else {}
    op = reviews.Submit(at=at, status=status, **body)
    failure_prefix, if_not_found = f"Could not {action}", "the server does not show your review"
    sent = await send_direct(
        live, op, ExpectedState(revision=expected_revision), failure_prefix=failure_prefix, if_not_found=if_not_found
    )
    reviewed = sent.result.revision if sent.result is not None else None
    if sent.kind == "done" and expected_revision and reviewed and reviewed != expected_revision:
        return SendResult(
            "done",
            "Sent your review, but the change request was edited at the same time. Read the new revision.",
            sent.result,
        )
    return sent


async def submit_review(
    live: Live,
    at: ChangeRequestRef,
    status: Verdict,
    expected_revision: str | None,
    comment: str = "",
    *,
    action: str,
    draft_key: str = "",
    comment_ids: Collection[str] | None = None,
) -> SendResult[tuple[OutboxEntry, ...]]:
    """Submit the pending comments, and then the review. If the head is not `expected_revision`, or cannot be loaded,
    send nothing: the comments stay pending. See `review` for `action`, and `Outbox.submit_review` for `comment_ids`."""
    body = {"comment": Markdown(markdown=comment)} if comment else {}
    expected = ExpectedState(revision=expected_revision)
    new_write = NewWrite(reviews.Submit(at=at, status=status, **body), action, draft_key, expected)
    try:
        change_request = await live.send(change_requests.Get(at=at))
        if (changed := review_target_changed(change_request, expected)) is not None:
            return SendResult("changed", f"{changed.message} {_STILL_PENDING}")
        entries = await live.outbox.submit_review(at, new_write, comment_ids=comment_ids)
    except (ApiError, NotSaved) as error:
        failure = error if isinstance(error, ApiError) else None
        return SendResult("refused", f"{error} {_STILL_PENDING}", error=failure)
    return SendResult("done", result=entries) if entries else SendResult("refused", _ALREADY_SENDING)


async def withdraw_review_by_request(live: Live, at: ChangeRequestRef, own_review: Review) -> SendResult[Review]:
    """Withdraw the user's review `own_review`. The API cannot delete a review, so Octavo requests a new review from the
    user, which makes the old review outdated. If the old review was not requested, Octavo then withdraws the
    request."""
    me = own_review.reviewer.id
    op, expected = reviews.Request(at=at, users=(me,)), ExpectedState(review=own_review.id)
    failure_prefix, if_not_found = "Could not withdraw your review", "the server still shows your review"
    sent = await send_direct(live, op, expected, failure_prefix=failure_prefix, if_not_found=if_not_found)
    if sent.kind != "done":
        return SendResult(sent.kind, sent.message, error=sent.error)
    if own_review.requested_by is None and sent.message == "":
        try:
            await live.send(reviews.Withdraw(at=at, user_id=me))
        except ApiError as error:
            return SendResult("done", f"Withdrew your review, but your review is still requested: {error}", own_review)
        live.refresh_affected(op)
    return SendResult("done", sent.message, own_review)


async def create(live: Live, at: SpaceRef, subject: str) -> SendResult[ChangeRequest]:
    """Create a draft change request with `subject`."""
    op = change_requests.Create(at=at, subject=subject)
    failure_prefix, if_not_found = (
        "Could not create the change request",
        "the server does not show the new draft change request",
    )
    return await send_direct(live, op, failure_prefix=failure_prefix, if_not_found=if_not_found)


NO_DRAFTS = (
    "This server cannot mark a change request as ready or convert it to a draft. Press o to do this in the browser."
)


async def toggle_draft(live: Live, at: ChangeRequestRef, seen_request: ChangeRequest) -> SendResult[ChangeRequest]:
    """Switch a change request between ready and draft. Send nothing unless its status is still as in `seen_request`."""
    status: Literal["open", "draft"] = "open" if seen_request.status == "draft" else "draft"
    op, reason = (
        change_requests.Update(at=at, status=status),
        f"#{seen_request.number} is still {status_name(seen_request.status)}",
    )
    verb, preposition = ("mark", "as") if status == "open" else ("convert", "to")
    failure_prefix = f"Could not {verb} #{seen_request.number} {preposition} {status_name(status)}"
    sent = await send_direct(
        live, op, ExpectedState(status=seen_request.status), failure_prefix=failure_prefix, if_not_found=reason
    )
    write_error = sent.write_error
    if isinstance(write_error, NotFound) or (write_error is not None and write_error.status in UNSUPPORTED_STATUSES):
        # The check has just read the change request, so 404 means that the server has no such operation.
        live.has_draft_status = False
        return SendResult("refused", NO_DRAFTS)
    if sent.kind == "done" and sent.result is not None and sent.result.status != status:
        return SendResult(
            "refused", f"{reason}: the server did not change the status. Press o to change it in the browser."
        )
    return sent


async def save_details(
    live: Live, op: change_requests.Update, seen_request: ChangeRequest
) -> SendResult[ChangeRequest]:
    """Change the subject or description. Send nothing if another user has changed these fields since `seen_request`."""
    failure_prefix = f"Could not save the details of #{seen_request.number}"
    if_not_found, kind = "the server does not show the new details", details_kind(seen_request)
    return await send_direct(live, op, failure_prefix=failure_prefix, if_not_found=if_not_found, kind=kind)


async def request_reviews(live: Live, at: ChangeRequestRef, user_ids: Sequence[str]) -> SendResult[RequestedReviewers]:
    """Request reviews from users. If some users are requested already, send nothing, because a second request would
    make their reviews outdated. The result is then `changed`, or `done` if all users are requested."""
    op = reviews.Request(at=at, users=tuple(user_ids))
    failure_prefix, if_not_found = "Could not request the reviews", "the server does not show the review request"
    return await send_direct(live, op, failure_prefix=failure_prefix, if_not_found=if_not_found)
