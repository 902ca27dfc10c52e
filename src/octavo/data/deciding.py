"""What decides about a change request, each sent once: start it, mark it ready, review it, bring it up to date, merge it."""

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
from octavo.data.entry import Entry, OriginalComment, is_reviewing
from octavo.data.live import Live
from octavo.data.merge_basis import MergeBasis, read_basis, what_changed
from octavo.data.outbox import QueuedWrite
from octavo.data.request_lists import requested_of, reviews_of
from octavo.data.send_once import Sent, SingleRequest, Sleep, send_once
from octavo.data.state import NotSaved

Verdict = Literal["approved", "changes-requested"]

_ON_ITS_WAY = "Your review is on its way already, after its comments. ! shows how it stands."


def merging(at: ChangeRequestRef) -> str:
    """What a merge is claimed as."""
    return f"merge {at.space_id}/{at.change_request_id}"


async def merge(
    live: Live, at: ChangeRequestRef, checked: MergeBasis, *, sleep: Sleep = asyncio.sleep
) -> Sent[MergeResult]:
    """Merge the change request at `at` if the change request and main are still as they were `checked`.

    When the answer was lost, its `result` is empty: whether there were conflicts was in that answer only.
    """

    async def happened() -> MergeResult | None:
        now = await live.send(change_requests.Get(at=at))
        return MergeResult(revision=now.revision_merged, result="") if now.status == "merged" else None

    async def ready() -> Sent[MergeResult] | None:
        now = await read_basis(live, at)
        if now.change_request.status == "merged":
            answer = MergeResult(revision=now.change_request.revision_merged, result="")
            return Sent("done", "It was merged already.", answer)
        if changed := await what_changed(live, at, checked, now):
            return Sent("moved", f"{changed} Read the checks again, then merge.")
        return None

    what = SingleRequest(
        merging(at),
        change_requests.Merge(at=at),
        happened,
        ready,
        undone="Not merged",
        missing="the server has not merged it",
    )
    return await send_once(live, what, sleep=sleep)


async def update(
    live: Live, at: ChangeRequestRef, checked: MergeBasis, *, sleep: Sleep = asyncio.sleep
) -> Sent[MergeResult]:
    """Update the change request from main if the change request and main are still as they were `checked`.

    When the answer was lost, its `result` is empty: whether there were conflicts was in that answer only.
    """
    seen = checked.change_request

    async def happened() -> MergeResult | None:
        now = await live.send(change_requests.Get(at=at))
        updated = now.base != seen.base and now.revision != seen.revision
        return MergeResult(revision=now.revision, result="") if updated else None

    async def ready() -> Sent[MergeResult] | None:
        now = await read_basis(live, at)
        if now.change_request.status == seen.status and not now.change_request.outdated:
            done = MergeResult(revision=now.change_request.revision, result="update")
            return Sent("done", "It is up to date with the primary content already.", done)
        if changed := await what_changed(live, at, checked, now):
            return Sent("moved", f"{changed} Read the checks again, then update.")
        return None

    what = SingleRequest(
        f"update {at.space_id}/{at.change_request_id}",
        change_requests.UpdateFromMain(at=at),
        happened,
        ready,
        undone="Not updated",
        missing="the server has not updated it",
    )
    return await send_once(live, what, sleep=sleep)


async def review(
    live: Live,
    at: ChangeRequestRef,
    status: Verdict,
    expected_revision: str | None,
    comment: str = "",
    *,
    sleep: Sleep = asyncio.sleep,
) -> Sent[Review]:
    """Say what I think of the change request, if its head is still `expected_revision`: what I read.

    The interface takes no revision: when it is edited in the moment between, the sentence of what was done says so.
    """
    me = live.outbox.me
    before: frozenset[str] | None = None

    async def given() -> tuple[Review, ...]:
        return (await live.send(reviews.List(at=at, format="markdown", outdated=False))).items

    async def happened() -> Review | None:
        for each in await given():
            mine = me is None or each.reviewer.id == me.id
            # Where another instance sends it, what there was before is not known: then the revision has to tell.
            new = each.id not in before if before is not None else each.revision == expected_revision
            if mine and new and each.status == status:
                return each
        return None

    async def ready() -> Sent[Review] | None:
        nonlocal before
        if is_reviewing(live.outbox.entries, at):
            return Sent("refused", _ON_ITS_WAY)
        now, known = await asyncio.gather(live.send(change_requests.Get(at=at)), given())
        if expected_revision is not None and now.revision != expected_revision:
            return Sent("moved", "Not sent: it was edited since you looked. Read what changed, then review again.")
        before = frozenset(each.id for each in known)
        return None

    body = {"comment": Markdown(markdown=comment)} if comment else {}
    what = SingleRequest(
        f"review {at.space_id}/{at.change_request_id}",
        reviews.Submit(at=at, status=status, **body),
        happened,
        ready,
        undone="Couldn't approve" if status == "approved" else "Couldn't ask for changes",
        missing="the server has no such review of yours",
    )
    sent = await send_once(live, what, sleep=sleep)
    of = sent.answer.revision if sent.answer is not None else None
    if sent.kind == "done" and expected_revision and of and of != expected_revision:
        return Sent(
            "done",
            "It was edited in that very moment, so your review is of a newer revision than you read. Look again.",
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
    """Send what is gathered for the change request, and the verdict after it, if its head is still `expected_revision`.

    Both are in the outbox in one moment: a verdict on its own may wait in memory, but one whose comments have gone out
    must not be lost with the process. It is sent when all of them have arrived. Nothing leaves without a connection.
    """
    body = {"comment": Markdown(markdown=comment)} if comment else {}
    verdict = QueuedWrite(
        reviews.Submit(at=at, status=status, **body), doing, place, OriginalComment(revision=expected_revision)
    )
    try:
        now = await live.send(change_requests.Get(at=at))
        if now.status not in ("draft", "open"):
            return Sent("moved", f"Not sent: it is {now.status} meanwhile. Your comments stay held.")
        if expected_revision is not None and now.revision != expected_revision:
            said = "Not sent: it was edited since you looked. Read what changed, then review again."
            return Sent("moved", f"{said} Your comments stay held.")
        entries = await live.outbox.let_go(at, verdict)
    except (ApiError, NotSaved) as error:
        return Sent("refused", f"Not sent: {error} Your comments stay held.")
    return Sent("done", answer=entries) if entries else Sent("refused", _ON_ITS_WAY)


async def withdraw_review(
    live: Live, at: ChangeRequestRef, given: Review, *, sleep: Sleep = asyncio.sleep
) -> Sent[Review]:
    """Let a review of mine count no more.

    The interface deletes none: it counts until its writer is asked again. So I ask myself; and where nobody had asked
    me before, that request is taken back.
    """
    me = given.reviewer.id

    async def happened() -> RequestedReviewers | None:
        items = (await live.send(reviews_of(at))).items
        counts_no_more = any(each.id == given.id and each.outdated for each in items)
        return RequestedReviewers() if counts_no_more else None

    async def ready() -> Sent[RequestedReviewers] | None:
        found = await happened()
        return Sent("done", "It does not count any more already.", found) if found is not None else None

    what = SingleRequest(
        f"withdraw {at.space_id}/{at.change_request_id} {given.id}",
        reviews.Request(at=at, users=(me,)),
        happened,
        ready,
        undone="Not withdrawn",
        missing="it still counts",
    )
    sent = await send_once(live, what, sleep=sleep)
    if sent.kind != "done":
        return Sent(sent.kind, sent.sentence, error=sent.error)
    if given.requested_by is None and sent.sentence == "":
        try:
            await live.send(reviews.Withdraw(at=at, user_id=me))
        except ApiError as error:
            return Sent("done", f"It does not count any more. You are asked for another: {error}", given)
        live.touched(what.op)
    return Sent("done", sent.sentence, given)


async def create(live: Live, at: SpaceRef, subject: str, *, sleep: Sleep = asyncio.sleep) -> Sent[ChangeRequest]:
    """Start a draft with this subject."""
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
        undone="Couldn't start a change request",
        missing="the server has no such draft of yours",
    )
    return await send_once(live, what, sleep=sleep)


NO_DRAFTS = (
    "This server has no operation to mark a change request ready, or a draft again: that is done in the browser."
)
_NO_OPERATION = {405, 501}


async def set_ready(
    live: Live, at: ChangeRequestRef, seen: ChangeRequest, *, sleep: Sleep = asyncio.sleep
) -> Sent[ChangeRequest]:
    """Let a draft be ready for review, and what is ready a draft, if it is still what was `seen`."""
    status: Literal["open", "draft"] = "open" if seen.status == "draft" else "draft"
    undone = f"#{seen.number} is {_called(seen.status)} still"
    op = change_requests.Update(at=at, status=status)

    async def happened() -> ChangeRequest | None:
        now = await live.send(change_requests.Get(at=at))
        return now if now.status == status else None

    async def ready() -> Sent[ChangeRequest] | None:
        now = await live.send(change_requests.Get(at=at))
        return None if now.status == seen.status else Sent("moved", f"#{seen.number} is {_called(now.status)} already.")

    what = SingleRequest(
        f"status {at.space_id}/{at.change_request_id}",
        op,
        happened,
        ready,
        undone=undone,
        missing=f"the server has it as {_called(seen.status)}",
    )
    sent = await send_once(live, what, sleep=sleep)
    if sent.kind == "moved":
        live.touched(op)  # what is on show is not what is there
    if isinstance(sent.error, NotFound) or (sent.error is not None and sent.error.status in _NO_OPERATION):
        live.marks_drafts = False  # it was read just before, so it is there: the server does not know the way
        return Sent("refused", NO_DRAFTS)
    if sent.kind == "done" and sent.answer is not None and sent.answer.status != status:
        return Sent("refused", f"{undone}: the server took the request and left it so. Change it in the browser.")
    return sent


def _called(status: str) -> str:
    return {"open": "ready for review", "draft": "a draft"}.get(status, status)


async def request_reviews(
    live: Live, at: ChangeRequestRef, people: Sequence[str], *, sleep: Sleep = asyncio.sleep
) -> Sent[RequestedReviewers]:
    """Ask people for a review, but for those who are asked already: asking again would take back what they said."""
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
            return Sent("done", "They are asked already.", RequestedReviewers(users=asked))
        return (
            None
            if missing() == list(people)
            else Sent("moved", "Not asked: somebody else asked some of them meanwhile.")
        )

    what = SingleRequest(
        f"request {at.space_id}/{at.change_request_id} {' '.join(people)}",
        reviews.Request(at=at, users=tuple(people)),
        happened,
        ready,
        undone="Nobody was asked",
        missing="the server has no such request",
    )
    return await send_once(live, what, sleep=sleep)
