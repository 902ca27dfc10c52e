"""Optimistic updates: comments and replies on the responses on screen before the server confirms them. Pure.

A comment or reply without an id has the id `pending-<entry id>`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from octavo.api import comments
from octavo.api.bodies import Body
from octavo.api.comments import Comment, Reaction, Reply, UserReaction
from octavo.api.operation import ListPage, Operation
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.users import User
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.write_matching import emoji_key, find_own

C = TypeVar("C", Comment, Reply)

NOBODY = User(id="pending", display_name="You")


def in_threads(read: comments.List, page: ListPage[Comment], entry: OutboxEntry, me: User) -> ListPage[Comment]:
    op = entry.op
    if entry.at != read.at:
        return page
    match op:
        case comments.Create():
            if not _wanted(read, op, me) or _there(page, op, entry, me):
                return page
            thread = _thread(op, entry, me)
            if read.order == "desc":
                return counted(page.before(thread), 1)
            return page if page.next else counted(_behind(page, thread), 1)
        case comments.Delete():
            return _without(page, op.comment_id)
    changed = _each(page, entry.facts.thread, lambda thread: _thread_after(thread, entry, me))
    if changed is page or read.status == "all":
        return changed
    gone = [thread.id for thread in changed.items if thread.is_open != (read.status == "open")]
    for thread_id in gone:
        changed = _without(changed, thread_id)
    return changed


def _thread_after(thread: Comment, entry: OutboxEntry, me: User) -> Comment:
    match entry.op:
        case comments.Update() as op:
            thread = _updated(thread, op, entry, me)
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


def in_thread(read: comments.Get, thread: Comment, entry: OutboxEntry, me: User) -> Comment:
    here = entry.at == read.at and entry.facts.thread == read.comment_id
    return _thread_after(thread, entry, me) if here else thread


def in_replies(read: comments.ListReplies, page: ListPage[Reply], entry: OutboxEntry, me: User) -> ListPage[Reply]:
    op = entry.op
    if entry.at != read.at or entry.facts.thread != read.comment_id:
        return page
    match op:
        case comments.CreateReply():
            return page if _there(page, op, entry, me) else counted(_behind(page, _reply(op, entry, me)), 1)
        case comments.UpdateReply():
            return _each(page, op.comment_reply_id, lambda reply: _updated(reply, op, entry, me))
        case comments.DeleteReply():
            return _without(page, op.comment_reply_id)
        case _:
            return page


def in_reply(read: comments.GetReply, reply: Reply, entry: OutboxEntry, me: User) -> Reply:
    op = entry.op
    if isinstance(op, comments.UpdateReply) and entry.at == read.at and op.comment_reply_id == read.comment_reply_id:
        return _updated(reply, op, entry, me)
    return reply


def on_counter(read: Operation[Any], holder: Any, entry: OutboxEntry, me: User) -> Any:
    """Return a space or a change request with its number of open comments."""
    change = opened(entry)
    if change == 0 or not holds_thread(holder, entry.at):
        return holder
    return holder.model_copy(update={"comments": max(0, holder.comments + change)})


def on_counters(read: Operation[Any], page: ListPage[Any], entry: OutboxEntry, me: User) -> ListPage[Any]:
    if opened(entry) == 0:
        return page
    changed = [on_counter(read, item, entry, me) for item in page.items]
    if all(after is before for after, before in zip(changed, page.items, strict=True)):
        return page
    return page.model_copy(update={"items": tuple(changed)})


def opened(entry: OutboxEntry) -> int:
    """Return by how much a write changes the number of open comments."""
    if entry.state in ("failed", "pending"):
        return 0  # Other people do not see a pending comment.
    match entry.op:
        case comments.Create():
            return 1
        case comments.Update(resolved=bool(resolved)) if entry.basis.is_open in (None, resolved):
            return -1 if resolved else 1
        case comments.Delete() if entry.basis.is_open:
            return -1
        case _:
            return 0


def holds_thread(holder: Any, at: Discussion) -> bool:
    change_request = at.change_request_id if isinstance(at, ChangeRequestRef) else None
    if holder.object == "space":
        return change_request is None and bool(holder.id == at.space_id)
    return change_request in (holder.id, str(holder.number)) and holder.space in (None, at.space_id)


def _wanted(read: comments.List, op: comments.Create, me: User) -> bool:
    return (
        read.status != "resolved"
        and read.target_page in (None, op.page)
        and (read.authors is None or me.id in read.authors)
    )


def _there(page: ListPage[Any], op: comments.Create | comments.CreateReply, entry: OutboxEntry, me: User) -> bool:
    """Return whether the response has what the write creates, though the write is not confirmed yet."""
    if any(item.id == entry.pending_id for item in page.items):
        return True
    if entry.started_at is None or entry.state not in ("sending", "unknown"):
        return False
    author = None if me is NOBODY else me.id
    it = find_own(op, page.items, baseline=entry.baseline, since=entry.since, claimed=(), me=author)
    return it is not None


def _thread(op: comments.Create, entry: OutboxEntry, me: User) -> Comment:
    return Comment(
        id=entry.pending_id,
        body=Body(markdown=op.body.markdown),
        posted_by=me,
        posted_at=entry.created_at,
        target=comments.Target(
            space=op.at.space_id,
            change_request=op.at.change_request_id if isinstance(op.at, ChangeRequestRef) else None,
            page=comments.TargetPage(id=op.page) if op.page else None,
            node=comments.TargetNode(id=op.node) if op.node else None,
        ),
        permissions=comments.Permissions(view=True, reply=True),
    )


def _reply(op: comments.CreateReply, entry: OutboxEntry, me: User) -> Reply:
    return Reply(
        id=entry.pending_id,
        body=Body(markdown=op.body.markdown),
        posted_by=me,
        posted_at=entry.created_at,
        permissions=comments.Permissions(view=True),
    )


def _updated(item: C, op: comments.Update | comments.UpdateReply, entry: OutboxEntry, me: User) -> C:
    changes: dict[str, Any] = {}
    if op.body is not None:
        changes.update(body=Body(markdown=op.body.markdown), edited_at=entry.created_at)
    reactions = item.reactions
    for emoji in op.added_reactions or ():
        reactions = _reacted(reactions, emoji, UserReaction(user=me, reacted_at=entry.created_at))
    for emoji in op.removed_reactions or ():
        reactions = _unreacted(reactions, emoji, me)
    if reactions is not item.reactions:
        changes["reactions"] = reactions
    return item.model_copy(update=changes) if changes else item


def _reacted(reactions: tuple[Reaction, ...], emoji: str, mine: UserReaction) -> tuple[Reaction, ...]:
    key = emoji_key(emoji)
    for place, reaction in enumerate(reactions):
        if emoji_key(reaction.emoji) == key:
            if any(each.user.id == mine.user.id for each in reaction.users):
                return reactions
            more = reaction.model_copy(update={"count": reaction.count + 1, "users": (*reaction.users, mine)})
            return (*reactions[:place], more, *reactions[place + 1 :])
    return (*reactions, Reaction(emoji=emoji, count=1, users=(mine,)))


def _unreacted(reactions: tuple[Reaction, ...], emoji: str, me: User) -> tuple[Reaction, ...]:
    key = emoji_key(emoji)
    after = []
    for reaction in reactions:
        users = tuple(each for each in reaction.users if each.user.id != me.id)
        if emoji_key(reaction.emoji) == key and len(users) < len(reaction.users):
            if reaction.count > 1:
                after.append(reaction.model_copy(update={"count": reaction.count - 1, "users": users}))
        else:
            after.append(reaction)
    return tuple(after) if after != list(reactions) else reactions


def _each(page: ListPage[C], item_id: str, change: Callable[[C], C]) -> ListPage[C]:
    """Return the page with one item changed. The same object if nothing changes."""
    places = [place for place, item in enumerate(page.items) if item.id == item_id]
    changed = {place: after for place in places if (after := change(page.items[place])) is not page.items[place]}
    if not changed:
        return page
    items = list(page.items)
    for place, after in changed.items():
        items[place] = after
    return page.model_copy(update={"items": tuple(items)})


def _without(page: ListPage[C], item_id: str) -> ListPage[C]:
    return counted(page.without(item_id), -1) if any(item.id == item_id for item in page.items) else page


def _behind(page: ListPage[C], item: C) -> ListPage[C]:
    return page.model_copy(update={"items": (*page.items, item)})


def counted(page: ListPage[C], change: int) -> ListPage[C]:
    return page if page.count is None else page.model_copy(update={"count": max(0, page.count + change)})
