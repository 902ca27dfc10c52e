"""Checks writes of comments and replies before they are sent, searches the server for lost ones, and undoes them.

The second half of the module recognizes comments that Octavo has created.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from octavo.api import comments, safety
from octavo.api.bodies import Markdown
from octavo.api.comments import Comment, Create, CreateReply, Reaction, Reply, Update, UpdateReply
from octavo.api.errors import NotFound, PaginationError
from octavo.api.operation import ListPage, Operation, read_pages
from octavo.data.access import Send
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

PAGE_SIZE = 100

_CODE_POINTS = re.compile(r"[0-9a-fA-F]{2,6}(-[0-9a-fA-F]{2,6})*")
_Edit = Update | UpdateReply
_Delete = comments.Delete | comments.DeleteReply


async def _check_comment(send: Send, attempt: WriteAttempt[Create]) -> Check:
    async for page in _newest_threads(send, attempt.op):
        if page.items:  # a page of the list is empty if the user cannot read its threads
            return _ready(page.items)
    return Ready()


async def _search_for_comment(send: Send, attempt: WriteAttempt[Create]) -> AlreadyDone | None:
    baseline, found = set(attempt.baseline or ()), list[Comment]()
    async for page in _newest_threads(send, attempt.op):
        found += page.items
        if any(item.id in baseline for item in page.items):
            break
    return _result_among(attempt, found)


async def _check_reply(send: Send, attempt: WriteAttempt[CreateReply]) -> Check:
    replies: list[Reply] = []
    # Old replies after the failed page are missing in the baseline. But a search usually fails at this page, too.
    with suppress(PaginationError):
        async for page in _replies(send, attempt.op):
            replies += page.items
    return _ready(replies)


async def _search_for_reply(send: Send, attempt: WriteAttempt[CreateReply]) -> AlreadyDone | None:
    return _result_among(attempt, [item async for page in _replies(send, attempt.op) for item in page.items])


async def _check_edit(send: Send, attempt: WriteAttempt[Update] | WriteAttempt[UpdateReply]) -> Check:
    """Return AlreadyDone if the comment already has all values that the write sets. Return Changed if another user has
    edited the text, or has undone the write after an earlier check. Otherwise, return Ready."""
    op, current_comment = attempt.op, await _fetch_current(send, attempt.op)
    if is_applied(attempt, current_comment):
        return AlreadyDone()
    if op.body is not None and _differs(current_comment, attempt.expected):
        return Changed("someone else has changed the text. Retry to replace it with yours")
    fingerprint = _fingerprint(op, current_comment)
    if attempt.baseline and attempt.baseline != fingerprint:
        return Changed(_undone_by_others(op))
    return Ready(fingerprint)


async def _search_for_edit(send: Send, attempt: WriteAttempt[Update] | WriteAttempt[UpdateReply]) -> AlreadyDone | None:
    return AlreadyDone() if is_applied(attempt, await _fetch_current(send, attempt.op), was_sent=True) else None


async def _check_delete(
    send: Send, attempt: WriteAttempt[comments.Delete] | WriteAttempt[comments.DeleteReply]
) -> Check:
    try:
        current_comment = await _fetch_current(send, attempt.op)
    except NotFound:
        return AlreadyDone()
    changed = Changed("someone else has changed the text. Retry to delete it anyway")
    return changed if _differs(current_comment, attempt.expected) else Ready()


async def _search_for_deletion(
    send: Send, attempt: WriteAttempt[comments.Delete] | WriteAttempt[comments.DeleteReply]
) -> AlreadyDone | None:
    try:
        await _fetch_current(send, attempt.op)
    except NotFound:
        return AlreadyDone()
    return None


def _undo_edit(op: _Edit, expected: ExpectedState) -> Operation[Any] | str:
    changes: dict[str, Any] = {}
    if op.body is not None:
        if expected.text is None:
            return "Could not undo the edit: the previous text is unknown. Edit the text again instead."
        changes["body"] = Markdown(markdown=expected.text)
    if isinstance(op, Update) and op.resolved is not None:
        changes["resolved"] = not op.resolved
    if op.added_reactions:
        changes["removed_reactions"] = op.added_reactions
    if op.removed_reactions:
        changes["added_reactions"] = op.removed_reactions
    target_fields = {"comment_id": op.comment_id, "at": op.at}
    if isinstance(op, UpdateReply):
        target_fields["comment_reply_id"] = op.comment_reply_id
    return type(op)(**target_fields, **changes)


def _fingerprint(op: _Edit, current: Comment | Reply) -> tuple[str, ...]:
    """Return texts that differ after another user has changed what `op` sets, even if the user has changed it back: the
    edit time for a new text, the number of replies for resolving, and the resolve time for reopening."""
    fingerprint = []
    if op.body is not None:
        fingerprint.append(f"edited {current.edited_at}")
    if isinstance(op, Update) and op.resolved is not None and isinstance(current, Comment):
        fingerprint.append(f"{current.replies} replies" if op.resolved else f"resolved {current.resolved_at}")
    return tuple(fingerprint)


def _undone_by_others(op: _Edit) -> str:
    if op.body is not None:
        return "someone else has restored the previous text. Retry to replace it with yours"
    if isinstance(op, Update) and op.resolved:
        return "someone else has replied, and the thread is open. Retry to resolve it anyway"
    return "someone else has resolved the thread again. Retry to reopen it anyway"


def _traits(op: Create | CreateReply | _Edit | _Delete) -> WriteTraits:
    if isinstance(op, Create):
        return WriteTraits(page_id=op.page or "", block_key=op.node or "", text=op.body.markdown, creates=True)
    if isinstance(op, CreateReply):
        return WriteTraits(op.comment_id, text=op.body.markdown, creates=True)
    if isinstance(op, _Delete):
        return WriteTraits(op.comment_id)
    other_changes = {"body", "added_reactions", "removed_reactions"} & op.model_fields_set
    only_resolves = isinstance(op, Update) and op.resolved is not None and not other_changes
    return WriteTraits(op.comment_id, text=op.body.markdown if op.body is not None else "", only_resolves=only_resolves)


def _result_among(
    attempt: WriteAttempt[Create] | WriteAttempt[CreateReply], items: Sequence[Comment | Reply]
) -> AlreadyDone | None:
    created_item = find_created(attempt, items)
    return AlreadyDone(created_item.id) if created_item else None


def _ready(items: Sequence[Comment | Reply]) -> Ready:
    times = [item.posted_at for item in items if item.posted_at]
    return Ready(tuple(item.id for item in items), max(times, default=None))


def _differs(current: Comment | Reply, expected: ExpectedState) -> bool:
    return (
        expected.text is not None
        and normalize(current.body.text) != normalize(expected.text)
        and not _has_same_letters(current.body.text, expected.text)
    )


async def _fetch_current(send: Send, op: _Edit | _Delete) -> Comment | Reply:
    if isinstance(op, UpdateReply | comments.DeleteReply):
        of_reply = {"comment_id": op.comment_id, "comment_reply_id": op.comment_reply_id}
        return await send(comments.GetReply(at=op.at, **of_reply, format="markdown"))
    return await send(comments.Get(at=op.at, comment_id=op.comment_id, format="markdown"))


def _newest_threads(send: Send, op: Create) -> AsyncGenerator[ListPage[Comment], None]:
    return read_pages(send, comments.List(at=op.at, order="desc", status="all", format="markdown", limit=PAGE_SIZE))


def _replies(send: Send, op: CreateReply) -> AsyncGenerator[ListPage[Reply], None]:
    return read_pages(
        send, comments.ListReplies(at=op.at, comment_id=op.comment_id, format="markdown", limit=PAGE_SIZE)
    )


def normalize(text: str) -> str:
    """Return a text in a form for comparisons: sanitized, NFC, without surrounding white space."""
    return unicodedata.normalize("NFC", safety.safe_text(text)).strip()


def _has_same_letters(text: str, other: str) -> bool:
    """Return whether two texts have equal letters and digits (at least one), because servers may change markup."""
    letters = _letters(text)
    return letters != "" and letters == _letters(other)


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())


def emoji_key(emoji: str) -> str:
    """Return an emoji as characters without variation selectors. `emoji` may also be code points, such as `1f44d`."""
    if _CODE_POINTS.fullmatch(emoji):
        points = [int(code, 16) for code in emoji.split("-")]
        if all(point < 0x110000 for point in points):
            emoji = "".join(map(chr, points))
    return emoji.replace("\ufe0f", "")


def _has_reaction(reactions: Iterable[Reaction], emoji: str, user_id: str) -> bool:
    key = emoji_key(emoji)
    return any(
        emoji_key(reaction.emoji) == key and any(other.user.id == user_id for other in reaction.users)
        for reaction in reactions
    )


def find_created(
    attempt: WriteAttempt[Create] | WriteAttempt[CreateReply], items: Iterable[Comment | Reply]
) -> Comment | Reply | None:
    """Return the oldest of `items` that a write whose response was lost may have created. None if no item matches."""
    op = attempt.op
    page = op.page if isinstance(op, Create) else None
    candidates = [
        item
        for item in items
        if attempt.may_have_created(item.id, item.posted_by.id, item.posted_at)
        and (not isinstance(item, Comment) or (item.target.page.id if item.target.page else None) == page)
    ]
    text = op.body.markdown
    equal_items = [item for item in candidates if normalize(item.body.text) == normalize(text)]
    matches = equal_items or [item for item in candidates if _has_same_letters(item.body.text, text)]
    return min(matches, key=lambda item: item.posted_at.timestamp() if item.posted_at else 0.0, default=None)


def is_applied(
    attempt: WriteAttempt[Update] | WriteAttempt[UpdateReply], current: Comment | Reply, *, was_sent: bool = False
) -> bool:
    """Return whether `current` has all values that the write sets. If `was_sent`, the markup of the text may differ.
    The markup must be equal if the write may change only markup. False if reactions need `my_id`, but it is None."""
    op, my_id, old_text = attempt.op, attempt.my_id, attempt.expected.text
    if op.body is not None and normalize(current.body.text) != normalize(op.body.markdown):
        changes_letters = old_text is not None and not _has_same_letters(old_text, op.body.markdown)
        if not (was_sent and changes_letters and _has_same_letters(current.body.text, op.body.markdown)):
            return False
    if (
        isinstance(op, Update)
        and op.resolved is not None
        and isinstance(current, Comment)
        and current.is_open == op.resolved
    ):
        return False
    added_emoji, removed_emoji = op.added_reactions or (), op.removed_reactions or ()
    if (added_emoji or removed_emoji) and my_id is None:
        return False
    return all(_has_reaction(current.reactions, emoji, my_id or "") for emoji in added_emoji) and not any(
        _has_reaction(current.reactions, emoji, my_id or "") for emoji in removed_emoji
    )


_NO_UNDO = no_undo("Could not undo: the comment has already been posted. Delete the comment instead.")
_NO_UNDO_OF_DELETE = no_undo("Could not undo: the text has already been deleted. Write the text again instead.")
COMMENT_WRITES: Mapping[type[Operation[Any]], WriteKind[Any]] = {
    Create: WriteKind(_search_for_comment, _check_comment, _traits, _NO_UNDO, is_durable=True),
    CreateReply: WriteKind(_search_for_reply, _check_reply, _traits, _NO_UNDO, is_durable=True),
    Update: WriteKind(_search_for_edit, _check_edit, _traits, _undo_edit, is_durable=True),
    UpdateReply: WriteKind(_search_for_edit, _check_edit, _traits, _undo_edit, is_durable=True),
    comments.Delete: WriteKind(_search_for_deletion, _check_delete, _traits, _NO_UNDO_OF_DELETE, is_durable=True),
    comments.DeleteReply: WriteKind(_search_for_deletion, _check_delete, _traits, _NO_UNDO_OF_DELETE, is_durable=True),
}
