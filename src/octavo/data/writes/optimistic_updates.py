"""Shows writes of the outbox in cached responses before the server confirms them, such as a new comment in a list. Does
no I/O.

A new item has the ID `pending-ENTRY` until the server gives it an ID.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api import change_requests, comments, reviews, spaces
from octavo.api.bodies import Body
from octavo.api.comments import Comment, Reaction, Reply, UserReaction
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage, Operation
from octavo.api.users import User
from octavo.data.writes.comment_kinds import emoji_key, find_created
from octavo.data.writes.machine import ExpectedState, OutboxEntry, WriteAttempt

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

C = TypeVar("C", Comment, Reply)

_READS = comments.List | comments.Get | comments.ListReplies | comments.GetReply
_UNKNOWN_USER = User(id="pending", display_name="You")


def apply_entries(op: Operation[Any], value: Any, entries: Sequence[OutboxEntry], me: User | None) -> tuple[Any, int]:
    """Return `value` with the changes of `entries`, which `me` made. Also return how many of the applied entries are
    neither done nor waiting for the user. A failed entry changes `value` only if it creates a comment or reply."""
    apply = _OVERLAYS.get(type(op))
    if apply is None or value is None:
        return value, 0
    shown_entries = [
        entry
        for entry in entries
        if entry.state != "failed" or isinstance(entry.op, (comments.Create, comments.CreateReply))
    ]
    unconfirmed_ids: set[str] = set()

    def put(value: Any, entries: Iterable[OutboxEntry]) -> Any:
        for entry in entries:
            before, value = value, apply(op, value, entry, me or _UNKNOWN_USER)
            if value is not before and entry.state != "done" and not entry.needs_user:
                unconfirmed_ids.add(entry.id)
        return value

    # Lists may have thousands of items, so an entry is applied only to the item that it changes.
    entries_by_index = _entries_by_index(op, value.items, shown_entries) if isinstance(value, ListPage) else {}
    if not entries_by_index:
        return put(value, shown_entries), len(unconfirmed_ids)
    item_groups = [
        put(value.model_copy(update={"items": (item,), "count": None}), entries_by_index[index]).items
        if index in entries_by_index
        else (item,)
        for index, item in enumerate(value.items)
    ]
    items = tuple(item for part in item_groups for item in part)
    if len(items) != len(value.items) or not all(map(is_, items, value.items)):
        value = _with_items(value, items)
    applied_ids = {entry.id for entries_of_item in entries_by_index.values() for entry in entries_of_item}
    return put(value, (entry for entry in shown_entries if entry.id not in applied_ids)), len(unconfirmed_ids)


def shown_state(op: DurableWrite, shown_responses: Iterable[tuple[Operation[Any], Any]]) -> ExpectedState:
    """Return what the user sees of the comment that `op` changes. All attributes are None if there is no such comment,
    or if it is not loaded as Markdown."""
    match op:
        case comments.UpdateReply() | comments.DeleteReply():
            item_id, kind = op.comment_reply_id, "comment-reply"
        case comments.CreateReply() | comments.Update() | comments.Delete():
            item_id, kind = op.comment_id, "comment"
        case comments.Create() | reviews.Submit():
            return ExpectedState()
    for read_op, value in shown_responses:
        if not isinstance(read_op, _READS) or read_op.at != op.at or read_op.format == "document":
            continue
        items: tuple[Comment | Reply, ...] = value.items if isinstance(value, ListPage) else (value,)
        for item in items:
            if item.id == item_id and item.object == kind:
                return ExpectedState(item.body.markdown, item.is_open if isinstance(item, Comment) else None)
    return ExpectedState()


def _entries_by_index(
    op: Operation[Any], items: Sequence[Any], entries: Iterable[OutboxEntry]
) -> dict[int, list[OutboxEntry]]:
    """Return the entries that change items of a list, by the index of the item. Entries that add items are left out."""
    indexes_by_key: dict[Any, list[int]] = {}
    entries_by_index: dict[int, list[OutboxEntry]] = {}
    if isinstance(op, comments.List | comments.ListReplies):
        for index, item in enumerate(items):
            indexes_by_key.setdefault(item.id, []).append(index)
    for entry in entries:
        match op, entry.op:
            case comments.List(), _:
                key: Any = entry.traits.thread_id
            case comments.ListReplies(), comments.UpdateReply() | comments.DeleteReply():
                key = entry.op.comment_reply_id
            case comments.ListReplies(), _:
                continue
            case _:
                key = entry.at
                if _open_count_change(entry) and key not in indexes_by_key:
                    indexes_by_key[key] = [index for index, item in enumerate(items) if _is_referred_by(item, key)]
        for index in indexes_by_key.get(key, ()):
            entries_by_index.setdefault(index, []).append(entry)
    return entries_by_index


def _apply_to_threads(read: comments.List, page: ListPage[Comment], entry: OutboxEntry, me: User) -> ListPage[Comment]:
    op = entry.op
    if entry.at != read.at:
        return page
    match op:
        case comments.Create():
            if not _matches_filter(read, op, me) or _has_created(page, op, entry, me):
                return page
            thread = _new_thread(op, entry, me)
            if read.order == "desc":
                return _with_items(page, (thread, *page.items))
            return page if page.next else _append_item(page, thread)
        case comments.Delete():
            return _remove_item(page, op.comment_id)
    changed_page = _with_item(page, entry.traits.thread_id, lambda thread: _changed_thread(thread, entry, me))
    if changed_page is page or read.status == "all":
        return changed_page
    for thread in changed_page.items:
        if thread.is_open != (read.status == "open"):
            changed_page = _remove_item(changed_page, thread.id)
    return changed_page


def _apply_to_thread(read: comments.Get, thread: Comment, entry: OutboxEntry, me: User) -> Comment:
    is_target = entry.at == read.at and entry.traits.thread_id == read.comment_id
    return _changed_thread(thread, entry, me) if is_target else thread


def _apply_to_replies(
    read: comments.ListReplies, page: ListPage[Reply], entry: OutboxEntry, me: User
) -> ListPage[Reply]:
    op = entry.op
    if entry.at != read.at or entry.traits.thread_id != read.comment_id:
        return page
    match op:
        case comments.CreateReply():
            return page if _has_created(page, op, entry, me) else _append_item(page, _new_reply(op, entry, me))
        case comments.UpdateReply():
            return _with_item(page, op.comment_reply_id, lambda reply: _edit_item(reply, op, entry, me))
        case comments.DeleteReply():
            return _remove_item(page, op.comment_reply_id)
        case _:
            return page


def _apply_to_reply(read: comments.GetReply, reply: Reply, entry: OutboxEntry, me: User) -> Reply:
    op = entry.op
    if isinstance(op, comments.UpdateReply) and entry.at == read.at and op.comment_reply_id == read.comment_reply_id:
        return _edit_item(reply, op, entry, me)
    return reply


def _apply_to_counter(read: Operation[Any], counted: Any, entry: OutboxEntry, me: User) -> Any:
    change = _open_count_change(entry)
    if change == 0 or not _is_referred_by(counted, entry.at):
        return counted
    return counted.model_copy(update={"comments": max(0, counted.comments + change)})


def _apply_to_counters(read: Operation[Any], page: ListPage[Any], entry: OutboxEntry, me: User) -> ListPage[Any]:
    if _open_count_change(entry) == 0:
        return page
    changed_items = [_apply_to_counter(read, item, entry, me) for item in page.items]
    if all(map(is_, changed_items, page.items)):
        return page
    return page.model_copy(update={"items": tuple(changed_items)})


_OVERLAYS: Mapping[type[Operation[Any]], Callable[[Any, Any, OutboxEntry, User], Any]] = {
    comments.List: _apply_to_threads,
    comments.Get: _apply_to_thread,
    comments.ListReplies: _apply_to_replies,
    comments.GetReply: _apply_to_reply,
    spaces.Get: _apply_to_counter,
    spaces.List: _apply_to_counters,
    change_requests.Get: _apply_to_counter,
    change_requests.List: _apply_to_counters,
    change_requests.ListOfOrganization: _apply_to_counters,
}
"""Functions that show the write of an entry in a response, by the operation of the response. They return the response
itself if it does not change."""


def _open_count_change(entry: OutboxEntry) -> int:
    if entry.state in ("failed", "pending"):
        return 0  # the server counts neither failed writes nor pending comments
    match entry.op:
        case comments.Create():
            return 1
        case comments.Update(resolved=bool(resolved)) if entry.expected.is_open in (None, resolved):
            return -1 if resolved else 1
        case comments.Delete() if entry.expected.is_open:
            return -1
        case _:
            return 0


def _is_referred_by(counted: Any, at: Discussion) -> bool:
    change_request = at.change_request_id if isinstance(at, ChangeRequestRef) else None
    if counted.object == "space":
        return change_request is None and bool(counted.id == at.space_id)
    return change_request in (counted.id, str(counted.number)) and counted.space in (None, at.space_id)


def _matches_filter(read: comments.List, op: comments.Create, me: User) -> bool:
    return (
        read.status != "resolved"
        and read.target_page in (None, op.page)
        and (read.authors is None or me.id in read.authors)
    )


def _has_created(page: ListPage[Any], op: comments.Create | comments.CreateReply, entry: OutboxEntry, me: User) -> bool:
    if any(item.id == entry.created_id for item in page.items):
        return True
    if entry.started_at is None or entry.state not in ("sending", "unknown"):
        return False
    user_id = None if me is _UNKNOWN_USER else me.id
    attempt: WriteAttempt[Any] = WriteAttempt(op, baseline=entry.baseline, newest_at=entry.newest_at, my_id=user_id)
    return find_created(attempt, page.items) is not None


def _new_thread(op: comments.Create, entry: OutboxEntry, me: User) -> Comment:
    return Comment(
        id=entry.created_id,
        body=Body(markdown=op.body.markdown),
        posted_by=me,
        posted_at=entry.created_at,
        target=comments.Target(
            space=op.at.space_id,
            change_request=op.at.change_request_id if isinstance(op.at, ChangeRequestRef) else None,
            page=comments.TargetPage(id=op.page) if op.page else None,
            node=comments.TargetNode(id=op.node, preview=entry.block_text or None) if op.node else None,
        ),
        permissions=comments.Permissions(view=True, reply=True),
    )


def _new_reply(op: comments.CreateReply, entry: OutboxEntry, me: User) -> Reply:
    return Reply(
        id=entry.created_id,
        body=Body(markdown=op.body.markdown),
        posted_by=me,
        posted_at=entry.created_at,
        permissions=comments.Permissions(view=True),
    )


def _changed_thread(thread: Comment, entry: OutboxEntry, me: User) -> Comment:
    match entry.op:
        case comments.Update() as op:
            thread = _edit_item(thread, op, entry, me)
            if op.resolved is None:
                return thread
            if not op.resolved:
                return thread.model_copy(update={"status": "open", "resolved_at": None, "resolved_by": None})
            resolved = {"status": "resolved", "resolved_at": entry.created_at, "resolved_by": me}
            return thread.model_copy(update=resolved)
        case comments.CreateReply():
            return thread.model_copy(update={"replies": thread.replies + (entry.state != "failed")})
        case comments.DeleteReply():
            return thread.model_copy(update={"replies": max(0, thread.replies - 1)})
        case _:
            return thread


def _edit_item(item: C, op: comments.Update | comments.UpdateReply, entry: OutboxEntry, me: User) -> C:
    changes: dict[str, Any] = {}
    if op.body is not None:
        changes.update(body=Body(markdown=op.body.markdown), edited_at=entry.created_at)
    reactions = item.reactions
    for emoji in op.added_reactions or ():
        reactions = _add_reaction(reactions, emoji, UserReaction(user=me, reacted_at=entry.created_at))
    for emoji in op.removed_reactions or ():
        reactions = _remove_reaction(reactions, emoji, me)
    if reactions is not item.reactions:
        changes["reactions"] = reactions
    return item.model_copy(update=changes) if changes else item


def _add_reaction(reactions: tuple[Reaction, ...], emoji: str, own_reaction: UserReaction) -> tuple[Reaction, ...]:
    key = emoji_key(emoji)
    for index, reaction in enumerate(reactions):
        if emoji_key(reaction.emoji) == key:
            if any(other.user.id == own_reaction.user.id for other in reaction.users):
                return reactions
            changed_reaction = reaction.model_copy(
                update={"count": reaction.count + 1, "users": (*reaction.users, own_reaction)}
            )
            return (*reactions[:index], changed_reaction, *reactions[index + 1 :])
    return (*reactions, Reaction(emoji=emoji, count=1, users=(own_reaction,)))


def _remove_reaction(reactions: tuple[Reaction, ...], emoji: str, me: User) -> tuple[Reaction, ...]:
    key = emoji_key(emoji)
    remaining = []
    for reaction in reactions:
        users = tuple(other for other in reaction.users if other.user.id != me.id)
        if emoji_key(reaction.emoji) == key and len(users) < len(reaction.users):
            if reaction.count > 1:
                remaining.append(reaction.model_copy(update={"count": reaction.count - 1, "users": users}))
        else:
            remaining.append(reaction)
    return tuple(remaining) if remaining != list(reactions) else reactions


def _with_item(page: ListPage[C], item_id: str, change: Callable[[C], C]) -> ListPage[C]:
    items = tuple(change(item) if item.id == item_id else item for item in page.items)
    return page if all(map(is_, items, page.items)) else _with_items(page, items)


def _remove_item(page: ListPage[C], item_id: str) -> ListPage[C]:
    items = tuple(item for item in page.items if item.id != item_id)
    return page if len(items) == len(page.items) else _with_items(page, items)


def _append_item(page: ListPage[C], item: C) -> ListPage[C]:
    return _with_items(page, (*page.items, item))


def _with_items(page: ListPage[C], items: tuple[Any, ...]) -> ListPage[C]:
    added_count = len(items) - len(page.items)
    count = None if page.count is None else max(0, page.count + added_count)
    return page.model_copy(update={"items": items, "count": count})
