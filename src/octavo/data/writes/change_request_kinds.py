"""Checks each write to a change request before it is sent, and searches the server for its result if the response was
lost.

A merge or update is sent only if the `MergeState` that the user saw is still current. Edits of pages are at the end of
the module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.content import DeletePage, InsertFiles, InsertPage, Page, Revision, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.operation import SPECS, ChangeRequestRef, Operation, decode_response
from octavo.api.reviews import RequestedReviewer, RequestedReviewers
from octavo.api.safety import safe_line
from octavo.data.access import Send
from octavo.data.queries import UNDECIDED, requested_reviewers_op, reviews_op
from octavo.data.writes.machine import (
    AlreadyDone,
    Changed,
    Check,
    ExpectedState,
    Ready,
    WriteAttempt,
    WriteKind,
    WriteTraits,
    no_undo,
)

MAX_REVISIONS = 10
"""Maximum number of revisions that are searched for an edit whose response was lost."""
_SETTINGS = frozenset(("description", "emoji", "icon", "hidden", "no_index", "no_robots_index"))


@dataclass(frozen=True)
class MergeState:
    """A change request and the revision of main, read at the same time. A merge or update is sent only if both are
    still as the user saw them."""

    change_request: ChangeRequest
    main_revision: str | None
    """Revision of main. None if the server does not send it."""

    @property
    def expected(self) -> ExpectedState:
        """This state as the `ExpectedState` of a merge or update."""
        request = self.change_request
        return ExpectedState(
            revision=request.revision,
            base=request.base,
            status=request.status,
            is_outdated=request.outdated,
            main=self.main_revision,
        )


async def read_merge_state(send: Send, at: ChangeRequestRef) -> MergeState:
    """Load the change request and the current revision of main. Raises ApiError."""
    change_request, space = await asyncio.gather(send(change_requests.Get(at=at)), send(spaces.Get(at=at.space)))
    return MergeState(change_request, space.revision)


async def describe_changes_since(send: Send, at: ChangeRequestRef, expected: ExpectedState, current: MergeState) -> str:
    """Return sentences for the user about what changed from `expected` to `current`. Empty if no change was found."""
    sentences = []
    if expected.revision is not None and current.change_request.revision != expected.revision:
        sentences.append("This change request has been edited since the checks were loaded.")
    has_main_changed = expected.main is not None and current.main_revision != expected.main
    # If main changed between the two requests of `read_merge_state`, only `outdated` shows this.
    if has_main_changed or (current.change_request.outdated and not expected.is_outdated):
        merged = await _change_request_merged_as(send, at, current.main_revision) if has_main_changed else None
        merge_note = f": #{merged.number} {merged.subject}".rstrip() + " was merged" if merged is not None else ""
        sentences.append(f"Main has changed since the checks were loaded{merge_note}.")
    return " ".join(sentences)


async def _change_request_merged_as(send: Send, at: ChangeRequestRef, main: str | None) -> ChangeRequest | None:
    if main is None:
        return None
    try:
        revision = await send(content.Get(at=at.revision_ref(main)))
    except ApiError:
        return None
    return change_request_in(revision.merged_from)


def change_request_in(merged_from: Any) -> ChangeRequest | None:
    """Return the change request in `merged_from`, the field `mergedFrom` of a revision. None if missing or invalid."""
    try:
        codec = SPECS[change_requests.Get].codec
        return decode_response(codec, to_json(merged_from)) if isinstance(merged_from, dict) else None
    except ValueError:
        return None


async def _check_merge(send: Send, attempt: WriteAttempt[change_requests.Merge]) -> Check:
    current_state = await read_merge_state(send, attempt.op.at)
    if current_state.change_request.status == "merged":
        result = MergeResult(revision=current_state.change_request.revision_merged, result="")
        return AlreadyDone(result=result, remark=f"#{current_state.change_request.number} is already merged.")
    if changes := await describe_changes_since(send, attempt.op.at, attempt.expected, current_state):
        return Changed(f"{changes} Review the checks again before you merge")
    return Ready()


async def _search_for_merge(send: Send, attempt: WriteAttempt[change_requests.Merge]) -> AlreadyDone | None:
    """Return AlreadyDone with an empty `MergeResult.result` if the change request is merged, else None."""
    change_request = await send(change_requests.Get(at=attempt.op.at))
    if change_request.status != "merged":
        return None
    return AlreadyDone(result=MergeResult(revision=change_request.revision_merged, result=""))


async def _check_update(send: Send, attempt: WriteAttempt[change_requests.UpdateFromMain]) -> Check:
    current_state = await read_merge_state(send, attempt.op.at)
    change_request = current_state.change_request
    if change_request.status == attempt.expected.status and not change_request.outdated:
        result = MergeResult(revision=change_request.revision, result="update")
        return AlreadyDone(result=result, remark=f"#{change_request.number} is already up to date with main.")
    if changes := await describe_changes_since(send, attempt.op.at, attempt.expected, current_state):
        return Changed(f"{changes} Review the checks again before you update")
    return Ready()


async def _search_for_update(send: Send, attempt: WriteAttempt[change_requests.UpdateFromMain]) -> AlreadyDone | None:
    """Return AlreadyDone with an empty `MergeResult.result` if both base and head differ from `expected`, else None."""
    change_request = await send(change_requests.Get(at=attempt.op.at))
    if change_request.base == attempt.expected.base or change_request.revision == attempt.expected.revision:
        return None
    return AlreadyDone(result=MergeResult(revision=change_request.revision, result=""))


def review_target_changed(current: ChangeRequest, expected: ExpectedState) -> Changed | None:
    """Return why a review must not be sent, such as an edit of the change request. None if it may be sent."""
    if current.status not in UNDECIDED:
        return Changed(f"the change request is {current.status} now")
    if expected.revision is not None and current.revision != expected.revision:
        return Changed(
            "the change request has been edited since you opened it. Read the new changes before you submit your review"
        )
    return None


async def _check_review(send: Send, attempt: WriteAttempt[reviews.Submit]) -> Check:
    change_request = await send(change_requests.Get(at=attempt.op.at))
    if (changed := review_target_changed(change_request, attempt.expected)) is not None:
        return changed
    return Ready(tuple(review.id for review in (await send(reviews_op(attempt.op.at))).items))


async def _search_for_review(send: Send, attempt: WriteAttempt[reviews.Submit]) -> AlreadyDone | None:
    if attempt.baseline is None:  # the check did not finish, so nothing was sent
        return None
    for review in (await send(reviews_op(attempt.op.at))).items:
        may_be_ours = attempt.may_have_created(review.id, review.reviewer.id, review.created_at)
        if may_be_ours and review.status == attempt.op.status:
            return AlreadyDone(review.id, review)
    return None


async def _check_creation(send: Send, attempt: WriteAttempt[change_requests.Create]) -> Check:
    return Ready(tuple(draft.id for draft in await _fetch_drafts_of_user(send, attempt)))


async def _search_for_creation(send: Send, attempt: WriteAttempt[change_requests.Create]) -> AlreadyDone | None:
    if attempt.baseline is None:  # the check did not finish, so nothing was sent
        return None
    for draft in await _fetch_drafts_of_user(send, attempt):
        if draft.subject == safe_line(attempt.op.subject or "") and draft.id not in attempt.baseline:
            return AlreadyDone(draft.id, draft)
    return None


async def _fetch_drafts_of_user(send: Send, attempt: WriteAttempt[change_requests.Create]) -> tuple[ChangeRequest, ...]:
    creator_filter = {"creator": attempt.my_id} if attempt.my_id is not None else {}
    return (await send(change_requests.List(at=attempt.op.at, status="draft", limit=100, **creator_filter))).items


async def _check_status(send: Send, attempt: WriteAttempt[change_requests.Update]) -> Check:
    change_request = await send(change_requests.Get(at=attempt.op.at))
    if change_request.status == attempt.expected.status:
        return Ready()
    return Changed(f"#{change_request.number} is already {status_name(change_request.status)}")


async def _search_for_details(send: Send, attempt: WriteAttempt[change_requests.Update]) -> AlreadyDone | None:
    op, change_request = attempt.op, await send(change_requests.Get(at=attempt.op.at))
    for name in op.model_fields_set - {"at"}:
        sent, current = getattr(op, name), getattr(change_request, name)
        if current != (safe_line(sent) if isinstance(sent, str) else sent):
            return None
    return AlreadyDone(result=change_request)


def details_kind(seen_request: ChangeRequest) -> WriteKind[change_requests.Update]:
    """Return a WriteKind that sends an update only if the details to change are still as in `seen_request`."""

    async def check(send: Send, attempt: WriteAttempt[change_requests.Update]) -> Check:
        current, names = await send(change_requests.Get(at=attempt.op.at)), attempt.op.model_fields_set - {"at"}
        changed_names = sorted(each for each in names if getattr(current, each) != getattr(seen_request, each))
        cause = f"because someone else changed the {' and the '.join(changed_names)}"
        return Changed(f"the details of #{current.number} were not saved, {cause}") if changed_names else Ready()

    return WriteKind(_search_for_details, check, lock_name=_lock_name("status"))


def status_name(status: str) -> str:
    """Return the name of a change request's status in messages, such as `ready for review` for `open`."""
    return {"open": "ready for review", "draft": "a draft"}.get(status, status)


async def _check_request(send: Send, attempt: WriteAttempt[reviews.Request]) -> Check:
    """Check a request for reviews, or the withdrawal of a review. Return AlreadyDone if there is nothing left to do,
    Changed if only some of the reviews are requested already, else Ready."""
    if attempt.expected.review is not None:
        found = await _search_for_request(send, attempt)
        return replace(found, remark="Your review is already withdrawn.") if found is not None else Ready()
    requested = (await send(requested_reviewers_op(attempt.op.at))).items
    missing_ids = _missing_reviewers(requested, attempt.op)
    if not missing_ids:
        return AlreadyDone(result=RequestedReviewers(users=requested), remark="These reviews are already requested.")
    if len(missing_ids) < len(attempt.op.users):
        return Changed(
            "reviews not requested: someone else has requested some of these reviews. Open the list of reviewers again to see the current requests"
        )
    return Ready()


async def _search_for_request(send: Send, attempt: WriteAttempt[reviews.Request]) -> AlreadyDone | None:
    """Return AlreadyDone if all reviewers are requested, or if the review to withdraw is outdated. Otherwise None."""
    at = attempt.op.at
    if attempt.expected.review is not None:
        submitted_reviews = (await send(reviews_op(at))).items
        is_outdated = any(review.id == attempt.expected.review and review.outdated for review in submitted_reviews)
        return AlreadyDone(result=RequestedReviewers()) if is_outdated else None
    requested = (await send(requested_reviewers_op(at))).items
    return (
        None if _missing_reviewers(requested, attempt.op) else AlreadyDone(result=RequestedReviewers(users=requested))
    )


def _missing_reviewers(requested: Iterable[RequestedReviewer], op: reviews.Request) -> list[str]:
    requested_ids = {reviewer.user.id for reviewer in requested if reviewer.user is not None}
    return [user_id for user_id in op.users if user_id not in requested_ids]


def _traits_of_review(op: reviews.Submit) -> WriteTraits:
    return WriteTraits(text=op.comment.markdown if op.comment is not None else "", creates=True, is_review=True)


async def _check_edit(send: Send, attempt: WriteAttempt[content.Edit]) -> Check:
    current, expected_revision = await send(change_requests.Get(at=attempt.op.at)), attempt.expected.revision
    if expected_revision is None or current.revision == expected_revision:
        return Ready()
    reason = "the change request has changed since you opened it. Read the new changes before you save again"
    return Changed(reason, current.revision)


async def _search_for_edit(send: Send, attempt: WriteAttempt[content.Edit]) -> AlreadyDone | None:
    """Return AlreadyDone with the first revision after `expected.revision` that has the whole edit. None if the last
    `MAX_REVISIONS` revisions do not have the edit."""
    op, expected_revision = attempt.op, attempt.expected.revision
    head = (await send(change_requests.Get(at=op.at))).revision
    if head is None or head == expected_revision:
        return None
    found_revision: Revision | None = None
    later_revision = await send(content.Get(at=op.at.revision_ref(head)))
    for _ in range(MAX_REVISIONS):
        earlier_revision: Revision | None = None
        if later_revision.parents:
            earlier_revision = await send(content.Get(at=op.at.revision_ref(later_revision.parents[0])))
        if await _is_made_by(send, op, earlier_revision, later_revision):
            found_revision = later_revision
        elif found_revision is not None:
            break
        if earlier_revision is None or earlier_revision.id == expected_revision:
            break
        later_revision = earlier_revision
    return AlreadyDone(found_revision.id, found_revision) if found_revision is not None else None


async def _is_made_by(send: Send, op: content.Edit, previous: Revision | None, revision: Revision) -> bool:
    old_pages, new_pages = _pages(previous), _pages(revision)
    for change in op.changes:
        match change:
            case UpdatePage(page=page_id):
                if page_id not in new_pages or not await _contains_update(
                    send, op, change, new_pages[page_id], revision
                ):
                    return False
            case InsertPage(title=title):
                inserted = [page for page_id, page in new_pages.items() if page_id not in old_pages]
                if not any(title is None or page.title == safe_line(title) for page in inserted):
                    return False
            case DeletePage(page=page_id):
                if page_id in new_pages:
                    return False
            case InsertFiles():
                if len(revision.files) <= (len(previous.files) if previous is not None else 0):
                    return False
            case _:
                if _page_state(old_pages.get(change.page)) == _page_state(new_pages.get(change.page)):
                    return False
    return True


async def _contains_update(send: Send, op: content.Edit, change: UpdatePage, page: Page, revision: Revision) -> bool:
    if change.title is not None and page.title != safe_line(change.title):
        return False
    changed_settings = _SETTINGS & change.model_fields_set
    if any(_canonical(getattr(change, name)) != _canonical(getattr(page, name)) for name in changed_settings):
        return False
    if "into" in change.model_fields_set and revision.parent_id(page.id) != change.into:
        return False
    if change.document is None or change.document.markdown is None:
        return True
    stored_page = await send(content.GetRawPage(at=op.at.revision_ref(revision.id), page_id=page.id, format="markdown"))
    # A server may change the line breaks of a text, so only words are compared.
    return stored_page.markdown is not None and stored_page.markdown.text.split() == change.document.markdown.split()


def _canonical(value: str | bool | None) -> str:
    """Return a page setting as text, to compare two settings. Emoji become code points. None and False become empty."""
    if not isinstance(value, str):
        return str(value or "")
    code = "-".join(f"{ord(char):x}" for char in value) if value and ord(value[0]) > 0x2000 else value
    return " ".join(safe_line(code).split())


def _page_state(page: Page | None) -> tuple[str | None, ...]:
    return (page.title, page.document_id, page.path, page.description, page.emoji) if page is not None else ()


def _pages(revision: Revision | None) -> dict[str, Page]:
    return {page.id: page for page in revision.walk()} if revision is not None else {}


def _lock_name(verb: str) -> Callable[[Any, ExpectedState], str]:
    return lambda op, expected: f"{verb} {_name(op.at)}"


def _lock_name_of_request(op: reviews.Request, expected: ExpectedState) -> str:
    if expected.review is not None:
        return f"withdraw {_name(op.at)} {expected.review}"
    return f"request {_name(op.at)} {' '.join(op.users)}"


def _lock_name_of_edit(op: content.Edit, expected: ExpectedState) -> str:
    # The hash distinguishes edits of the same revision, so that both can be sent.
    identity = f"{expected.revision} {op.model_dump_json()}".encode(errors="surrogatepass")
    return f"edit {_name(op.at)} {sha256(identity).hexdigest()[:16]}"


def _name(at: ChangeRequestRef) -> str:
    return f"{at.space_id}/{at.change_request_id}"


CHANGE_REQUEST_WRITES: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    change_requests.Merge: WriteKind(_search_for_merge, _check_merge, lock_name=_lock_name("merge")),
    change_requests.UpdateFromMain: WriteKind(_search_for_update, _check_update, lock_name=_lock_name("update")),
    change_requests.Create: WriteKind(
        _search_for_creation, _check_creation, lock_name=lambda op, expected: f"create {op.at.space_id} {op.subject}"
    ),
    change_requests.Update: WriteKind(_search_for_details, _check_status, lock_name=_lock_name("status")),
    reviews.Request: WriteKind(_search_for_request, _check_request, lock_name=_lock_name_of_request),
    reviews.Submit: WriteKind(
        _search_for_review,
        _check_review,
        _traits_of_review,
        no_undo(
            "Could not undo: your review has already been submitted. Withdraw the review, or submit another review."
        ),
        is_durable=True,
        lock_name=_lock_name("review"),
    ),
    content.Edit: WriteKind(_search_for_edit, _check_edit, lock_name=_lock_name_of_edit),
}
