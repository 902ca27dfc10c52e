"""The writes of comments and replies: how each is checked, found again after a lost response, undone and shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from octavo.api import change_requests, comments, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotFound, PaginationError
from octavo.api.operation import ListPage, Operation
from octavo.api.paging import read_pages
from octavo.data.sending import Send
from octavo.data.writes.comment_overlays import in_replies, in_reply, in_thread, in_threads, on_counter, on_counters
from octavo.data.writes.write_kind import (
    AlreadyDone,
    Attempt,
    Basis,
    Changed,
    Check,
    Overlay,
    Ready,
    WriteFacts,
    WriteKind,
)
from octavo.data.writes.write_matching import find_own, is_applied, normalized, same_letters

PAGE = 100
"""Items on a page."""

_Edit = comments.Update | comments.UpdateReply
_Delete = comments.Delete | comments.DeleteReply


async def check_comment(send: Send, attempt: Attempt[comments.Create]) -> Check:
    """Return the newest threads as the baseline: a new thread comes after them."""
    async for page in _newest(send, attempt.op):
        if page.items:
            return _ready(page.items)
    return Ready()


async def find_comment(send: Send, attempt: Attempt[comments.Create]) -> AlreadyDone | None:
    """Return the thread that a lost write created. None if it is not there."""
    known, found = set(attempt.baseline or ()), list[comments.Comment]()
    async for page in _newest(send, attempt.op):
        found += page.items
        if any(item.id in known for item in page.items):
            break
    return _own(attempt, found)


async def check_reply(send: Send, attempt: Attempt[comments.CreateReply]) -> Check:
    """Return the replies of the thread as the baseline."""
    replies: list[comments.Reply] = []
    with suppress(PaginationError):  # A part of the replies is enough: older ones are told apart by `since`.
        async for page in _replies(send, attempt.op):
            replies += page.items
    return _ready(replies)


async def find_reply(send: Send, attempt: Attempt[comments.CreateReply]) -> AlreadyDone | None:
    """Return the reply that a lost write created. None if it is not there."""
    return _own(attempt, [item async for page in _replies(send, attempt.op) for item in page.items])


async def check_edit(send: Send, attempt: Attempt[comments.Update] | Attempt[comments.UpdateReply]) -> Check:
    """Compare a comment with the one that the user changed. A repeated attempt also compares the signs of a change by
    others with those of the first attempt."""
    op, now = attempt.op, await _current(send, attempt.op)
    if is_applied(op, now, attempt.me):
        return AlreadyDone()
    if op.body is not None and _differs(now, attempt.basis):
        return Changed("someone else has changed the text. Retry to replace it with yours")
    signs = signs_of_change(op, now)
    if attempt.baseline and attempt.baseline != signs:
        return Changed(_undone_by_others(op))
    return Ready(signs)


async def find_edit(
    send: Send, attempt: Attempt[comments.Update] | Attempt[comments.UpdateReply]
) -> AlreadyDone | None:
    """Return whether a comment is as a lost write wants it. None if it is not."""
    now = await _current(send, attempt.op)
    return AlreadyDone() if is_applied(attempt.op, now, attempt.me, was=attempt.basis.text, sent=True) else None


async def check_delete(send: Send, attempt: Attempt[comments.Delete] | Attempt[comments.DeleteReply]) -> Check:
    """Compare a comment with the one that the user deletes."""
    try:
        now = await _current(send, attempt.op)
    except NotFound:
        return AlreadyDone()
    changed = Changed("someone else has changed the text. Retry to delete it anyway")
    return changed if _differs(now, attempt.basis) else Ready()


async def find_delete(
    send: Send, attempt: Attempt[comments.Delete] | Attempt[comments.DeleteReply]
) -> AlreadyDone | None:
    """Return whether a comment was deleted. None if it is still there."""
    try:
        await _current(send, attempt.op)
    except NotFound:
        return AlreadyDone()
    return None


def undo_edit(op: _Edit, basis: Basis) -> Operation[Any] | str:
    """Return the edit that restores a comment, else why there is none."""
    changes: dict[str, Any] = {}
    if op.body is not None:
        if basis.text is None:
            return "Could not undo the edit: the previous text is unknown. Edit the text again instead."
        changes["body"] = Markdown(markdown=basis.text)
    if isinstance(op, comments.Update) and op.resolved is not None:
        changes["resolved"] = not op.resolved
    if op.added_reactions:
        changes["removed_reactions"] = op.added_reactions
    if op.removed_reactions:
        changes["added_reactions"] = op.removed_reactions
    where = {"comment_id": op.comment_id, "at": op.at}
    if isinstance(op, comments.UpdateReply):
        where["comment_reply_id"] = op.comment_reply_id
    return type(op)(**where, **changes)


def no_undo_of_comment(op: comments.Create | comments.CreateReply, basis: Basis) -> str:
    """Return why a posted comment cannot be undone."""
    return "Could not undo: the comment has already been posted. Delete the comment instead."


def no_undo_of_delete(op: _Delete, basis: Basis) -> str:
    """Return why a deleted comment cannot be restored."""
    return "Could not undo: the text has already been deleted. Write the text again instead."


def signs_of_change(op: _Edit, now: comments.Comment | comments.Reply) -> tuple[str, ...]:
    """Return the fields of a comment that show that others undid `op`, although its content is as before `op`.

    A thread that was resolved and reopened equals a thread that was never resolved, except for its replies.
    """
    signs = []
    if op.body is not None:
        signs.append(f"edited {now.edited_at}")
    if isinstance(op, comments.Update) and op.resolved is not None and isinstance(now, comments.Comment):
        signs.append(f"{now.replies} replies" if op.resolved else f"resolved {now.resolved_at}")
    return tuple(signs)


def _undone_by_others(op: _Edit) -> str:
    if op.body is not None:
        return "someone else has restored the previous text. Retry to replace it with yours"
    if isinstance(op, comments.Update) and op.resolved:
        return "someone else has replied, and the thread is open. Retry to resolve it anyway"
    return "someone else has resolved the thread again. Retry to reopen it anyway"


def _facts_of_comment(op: comments.Create) -> WriteFacts:
    return WriteFacts(page=op.page or "", node=op.node or "", text=op.body.markdown, creates=True)


def _facts_of_reply(op: comments.CreateReply) -> WriteFacts:
    return WriteFacts(op.comment_id, text=op.body.markdown, creates=True)


def _facts_of_delete(op: _Delete) -> WriteFacts:
    return WriteFacts(op.comment_id)


def _facts_of_edit(op: _Edit) -> WriteFacts:
    more = {"body", "added_reactions", "removed_reactions"} & op.model_fields_set
    only_resolves = isinstance(op, comments.Update) and op.resolved is not None and not more
    return WriteFacts(op.comment_id, text=op.body.markdown if op.body is not None else "", only_resolves=only_resolves)


def _own(
    attempt: Attempt[comments.Create] | Attempt[comments.CreateReply],
    found: list[comments.Comment] | list[comments.Reply],
) -> AlreadyDone | None:
    known, since = attempt.baseline or (), attempt.since
    own = find_own(attempt.op, found, baseline=known, since=since, claimed=attempt.claimed, me=attempt.me)
    return AlreadyDone(own.id) if own else None


def _ready(items: Sequence[comments.Comment | comments.Reply]) -> Ready:
    times = [item.posted_at for item in items if item.posted_at]
    return Ready(tuple(item.id for item in items), max(times, default=None))


def _differs(now: comments.Comment | comments.Reply, basis: Basis) -> bool:
    return (
        basis.text is not None
        and normalized(now.body.text) != normalized(basis.text)
        and not same_letters(now.body.text, basis.text)
    )


async def _current(send: Send, op: _Edit | _Delete) -> comments.Comment | comments.Reply:
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


_COUNTERS: Mapping[type[Operation[Any]], Overlay] = {
    spaces.Get: on_counter,
    spaces.List: on_counters,
    change_requests.Get: on_counter,
    change_requests.List: on_counters,
    change_requests.ListOfOrganization: on_counters,
}
_THREADS: Mapping[type[Operation[Any]], Overlay] = {comments.List: in_threads, comments.Get: in_thread}
_REPLIES: Mapping[type[Operation[Any]], Overlay] = {comments.ListReplies: in_replies, comments.GetReply: in_reply}

_CHANGED_THREAD = {**_THREADS, **_COUNTERS}
_CHANGED_REPLIES = {**_THREADS, **_REPLIES}

COMMENT_KINDS: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    comments.Create: WriteKind(
        check_comment, find_comment, _facts_of_comment, no_undo_of_comment, _CHANGED_THREAD, is_durable=True
    ),
    comments.CreateReply: WriteKind(
        check_reply, find_reply, _facts_of_reply, no_undo_of_comment, _CHANGED_REPLIES, is_durable=True
    ),
    comments.Update: WriteKind(check_edit, find_edit, _facts_of_edit, undo_edit, _CHANGED_THREAD, is_durable=True),
    comments.UpdateReply: WriteKind(check_edit, find_edit, _facts_of_edit, undo_edit, _REPLIES, is_durable=True),
    comments.Delete: WriteKind(
        check_delete, find_delete, _facts_of_delete, no_undo_of_delete, _CHANGED_THREAD, is_durable=True
    ),
    comments.DeleteReply: WriteKind(
        check_delete, find_delete, _facts_of_delete, no_undo_of_delete, _CHANGED_REPLIES, is_durable=True
    ),
}
