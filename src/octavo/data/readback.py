"""Asks the server what is there: before a write is sent, and after its answer was lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from octavo.api import change_requests, comments, reviews
from octavo.api.errors import NotFound
from octavo.api.operation import Listing
from octavo.data.comment_write import CommentWrite
from octavo.data.sending import Send
from octavo.data.writes.machine import Entry, OriginalComment
from octavo.data.writes.write_matching import holds, made, normal, same_words

PAGE, PAGES = 100, 50


@dataclass(frozen=True)
class Ready:
    """It may be sent: what is there already, and when the newest of that was posted."""

    baseline: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class AlreadyDone:
    """The server has it: what it is called, if the write made it."""

    remote: str = ""


@dataclass(frozen=True)
class ChangedSince:
    """What it was meant for is no longer what the person saw. `sentence` follows "Could not ...: "."""

    sentence: str


async def prepare(
    send: Send, op: CommentWrite, basis: OriginalComment, me: str | None, baseline: tuple[str, ...] = ()
) -> Ready | AlreadyDone | ChangedSince:
    """What there is to know before `op` is sent. `baseline` is what this answered before it was sent the first time, if
    it may be that it arrived then. Raises ApiError."""
    match op:
        case comments.Create():
            async for items in _newest(send, op):
                if items:  # the newest are enough to tell what comes after them
                    return _ready(items)
            return Ready()
        case comments.CreateReply():
            return _ready([item async for items in _replies(send, op) for item in items])
        case comments.Update() | comments.UpdateReply():
            now = await _current(send, op)
            if holds(op, now, me):
                return AlreadyDone()
            if op.body is not None and _differs(now, basis):
                return ChangedSince("someone else has changed the text. Retry to replace it with yours")
            told = changed_fields(op, now)
            if baseline and baseline != told:
                return ChangedSince(_undone_by_others(op))
            return Ready(told)
        case comments.Delete() | comments.DeleteReply():
            try:
                now = await _current(send, op)
            except NotFound:
                return AlreadyDone()
            changed = ChangedSince("someone else has changed the text. Retry to delete it anyway")
            return changed if _differs(now, basis) else Ready()
        case reviews.Submit():
            about = await send(change_requests.Get(at=op.at))
            if about.status not in ("draft", "open"):
                return ChangedSince(f"the change request is {about.status} now")
            if basis.revision is not None and about.revision != basis.revision:
                return ChangedSince(
                    "the change request has changed since you opened it. Read the changes, then review again"
                )
            return Ready(tuple(each.id for each in (await send(_reviews(op))).items))


async def look(send: Send, entry: Entry, me: str | None, claimed: frozenset[str]) -> AlreadyDone | None:
    """Whether the server has what was sent. Raises ApiError."""
    op = entry.op
    match op:
        case comments.Create() | comments.CreateReply():
            known = set(entry.baseline)
            found: list[comments.Comment | comments.Reply] = []
            async for items in _newest(send, op) if isinstance(op, comments.Create) else _replies(send, op):
                found += items
                if isinstance(op, comments.Create) and any(item.id in known for item in items):
                    break
            it = made(op, found, baseline=known, since=entry.since, claimed=claimed, me=me)
            return AlreadyDone(it.id) if it else None
        case comments.Update() | comments.UpdateReply():
            now = await _current(send, op)
            return AlreadyDone() if holds(op, now, me, was=entry.basis.text, sent=True) else None
        case comments.Delete() | comments.DeleteReply():
            try:
                await _current(send, op)
            except NotFound:
                return AlreadyDone()
            return None
        case reviews.Submit():
            # Also among those that are outdated: somebody may have asked for another meanwhile.
            for each in (await send(_reviews(op))).items:
                mine = me is None or each.reviewer.id == me
                if mine and each.status == op.status and each.id not in entry.baseline and each.id not in claimed:
                    return AlreadyDone(each.id)
            return None


def _reviews(op: reviews.Submit) -> reviews.List:
    return reviews.List(at=op.at, format="markdown", limit=PAGE)


def changed_fields(
    op: comments.Update | comments.UpdateReply, now: comments.Comment | comments.Reply
) -> tuple[str, ...]:
    """What differs in `now` once `op` arrived, or somebody answered it, though all is again as it was before.

    A thread that was resolved and is open again looks as one that never was, but for what was said with it.
    """
    told = []
    if op.body is not None:
        told.append(f"edited {now.edited_at}")
    if isinstance(op, comments.Update) and op.resolved is not None and isinstance(now, comments.Comment):
        told.append(f"{now.replies} replies" if op.resolved else f"resolved {now.resolved_at}")
    return tuple(told)


def _undone_by_others(op: comments.Update | comments.UpdateReply) -> str:
    if op.body is not None:
        return "someone else has restored the previous text. Retry to replace it with yours"
    if isinstance(op, comments.Update) and op.resolved:
        return "someone else has replied, and the thread is open. Retry to resolve it anyway"
    return "someone else has resolved the thread again. Retry to reopen it anyway"


def _ready(items: list[Any]) -> Ready:
    times = [item.posted_at for item in items if item.posted_at]
    return Ready(tuple(item.id for item in items), max(times, default=None))


def _differs(now: comments.Comment | comments.Reply, basis: OriginalComment) -> bool:
    return (
        basis.text is not None
        and normal(now.body.text) != normal(basis.text)
        and not same_words(now.body.text, basis.text)
    )


async def _current(
    send: Send, op: comments.Update | comments.UpdateReply | comments.Delete | comments.DeleteReply
) -> comments.Comment | comments.Reply:
    if isinstance(op, comments.UpdateReply | comments.DeleteReply):
        return await send(
            comments.GetReply(
                at=op.at, comment_id=op.comment_id, comment_reply_id=op.comment_reply_id, format="markdown"
            )
        )
    return await send(comments.Get(at=op.at, comment_id=op.comment_id, format="markdown"))


def _newest(send: Send, op: comments.Create) -> AsyncIterator[list[Any]]:
    return _pages(send, comments.List(at=op.at, order="desc", status="all", format="markdown", limit=PAGE))


def _replies(send: Send, op: comments.CreateReply) -> AsyncIterator[list[Any]]:
    return _pages(send, comments.ListReplies(at=op.at, comment_id=op.comment_id, format="markdown", limit=PAGE))


async def _pages(send: Send, listing: Listing[Any]) -> AsyncIterator[list[Any]]:
    seen: set[str] = set()
    for _ in range(PAGES):
        page = await send(listing)
        yield list(page.items)
        cursor = page.next.page if page.next else None
        if cursor is None or cursor in seen:
            return
        seen.add(cursor)
        listing = listing.model_copy(update={"page": cursor})
