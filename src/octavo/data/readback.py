"""Reads the target of a write: before the write is sent, and after its response was lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from octavo.api import change_requests, comments, reviews
from octavo.api.errors import NotFound, PaginationError
from octavo.api.operation import ListPage
from octavo.api.paging import read_pages
from octavo.data.comment_write import CommentWrite
from octavo.data.entry import Entry, OriginalComment
from octavo.data.matching import holds, made, normal, same_words
from octavo.data.sending import Send

PAGE = 100
"""Items on a page."""


@dataclass(frozen=True)
class Ready:
    """The write may be sent: the ids of what was there already, and when the newest of it was posted."""

    baseline: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class AlreadyDone:
    """The write is done already: the id of what it created, if it creates something."""

    remote: str = ""


@dataclass(frozen=True)
class ChangedSince:
    """The target has changed since the user saw it. `sentence` follows “Could not …: ”."""

    sentence: str


async def prepare(
    send: Send, op: CommentWrite, basis: OriginalComment, me: str | None, baseline: tuple[str, ...] = ()
) -> Ready | AlreadyDone | ChangedSince:
    """Check the target of `op` before it is sent. `baseline` is the result of the first check, if the write may have
    arrived since. Raises ApiError."""
    match op:
        case comments.Create():
            async for page in _newest(send, op):
                if page.items:  # the newest threads are enough: a new thread comes after them
                    return _ready(page.items)
            return Ready()
        case comments.CreateReply():
            replies: list[comments.Reply] = []
            with suppress(PaginationError):  # a part of them is enough: older replies are told apart by `since`
                async for page_of_replies in _replies(send, op):
                    replies += page_of_replies.items
            return _ready(replies)
        case comments.Update() | comments.UpdateReply():
            now = await _current(send, op)
            if holds(op, now, me):
                return AlreadyDone()
            if op.body is not None and _differs(now, basis):
                return ChangedSince("someone else has changed the text. Retry to replace it with your text")
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
    """Return what the server made of a write that was sent. None if it is not there. Raises ApiError, PaginationError
    among them if the list does not end: then nobody can tell."""
    op = entry.op
    match op:
        case comments.Create() | comments.CreateReply():
            known = set(entry.baseline)
            found: list[comments.Comment | comments.Reply] = []
            if isinstance(op, comments.Create):
                async for page in _newest(send, op):
                    found += page.items
                    if any(item.id in known for item in page.items):
                        break
            else:
                async for page_of_replies in _replies(send, op):
                    found += page_of_replies.items
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
            # Outdated reviews count too: another review may have been requested meanwhile.
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
    """Return the fields of `now` that differ after `op` has arrived, even if others have undone it since.

    A thread that was resolved and reopened looks like one that was never resolved, except for its replies.
    """
    told = []
    if op.body is not None:
        told.append(f"edited {now.edited_at}")
    if isinstance(op, comments.Update) and op.resolved is not None and isinstance(now, comments.Comment):
        told.append(f"{now.replies} replies" if op.resolved else f"resolved {now.resolved_at}")
    return tuple(told)


def _undone_by_others(op: comments.Update | comments.UpdateReply) -> str:
    if op.body is not None:
        return "someone else has restored the previous text. Retry to replace it with your text"
    if isinstance(op, comments.Update) and op.resolved:
        return "someone else has replied, and the thread is open. Retry to resolve it anyway"
    return "someone else has resolved the thread again. Retry to reopen it anyway"


def _ready(items: Sequence[comments.Comment | comments.Reply]) -> Ready:
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


def _newest(send: Send, op: comments.Create) -> AsyncGenerator[ListPage[comments.Comment], None]:
    """Return the threads of a place, the newest first."""
    return read_pages(send, comments.List(at=op.at, order="desc", status="all", format="markdown", limit=PAGE))


def _replies(send: Send, op: comments.CreateReply) -> AsyncGenerator[ListPage[comments.Reply], None]:
    """Return the replies of a thread."""
    return read_pages(send, comments.ListReplies(at=op.at, comment_id=op.comment_id, format="markdown", limit=PAGE))
