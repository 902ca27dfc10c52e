"""How writes that are not confirmed yet change the answers on show. Pure.

A comment or reply that has no name yet is called `pending-<entry id>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any, TypeVar

from octavo.api import comments, reviews
from octavo.api.bodies import Body
from octavo.api.comments import Comment, Reaction, Reply, UserReaction
from octavo.api.operation import SPECS, ListPage, Operation
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.users import User
from octavo.data.comment_write import CommentWrite
from octavo.data.writes.machine import Entry, OriginalComment
from octavo.data.writes.write_matching import emoji_key, made

C = TypeVar("C", Comment, Reply)
Fold = Callable[[Any, Any, Entry, User], Any]

_READS = comments.List | comments.Get | comments.ListReplies | comments.GetReply
NOBODY = User(id="pending", display_name="You")


def fold(op: Operation[Any], value: Any, entries: Sequence[Entry], me: User | None) -> tuple[Any, int]:
    """The answer `value` to `op` with `entries` on top, and how many of them it shows that are on their way.

    A new comment that was refused stays where it was written, until it is discarded; anything else that was refused
    is taken back.
    """
    one = _FOLDS.get(SPECS[type(op)].name)
    if one is None or value is None:
        return value, 0
    shown: set[str] = set()

    def put(value: Any, entries: Iterable[Entry]) -> Any:
        for entry in entries:
            before, value = value, one(op, value, entry, me or NOBODY)
            if value is not before and entry.state != "done" and not entry.asks:
                shown.add(entry.id)
        return value

    on_top = [
        entry
        for entry in entries
        if entry.state != "failed" or isinstance(entry.op, (comments.Create, comments.CreateReply))
    ]
    if not isinstance(value, ListPage):
        return put(value, on_top), len(shown)
    # Thousands may be ticked, of thousands: what changes an item is put on it alone, not looked for among all.
    changes = _changes(op, value.items, on_top)
    if not changes:
        return put(value, on_top), len(shown)
    after = {
        id(item): put(value.model_copy(update={"items": (item,), "count": None}), changes[place]).items
        for place, item in enumerate(value.items)
        if place in changes
    }
    of_items = {entry.id for each in changes.values() for entry in each}
    value = put(value, (entry for entry in on_top if entry.id not in of_items))
    items = tuple(each for item in value.items for each in after.get(id(item), (item,)))
    if len(items) == len(value.items) and all(map(is_, items, value.items)):
        return value, len(shown)
    return _counted(value.model_copy(update={"items": items}), len(items) - len(value.items)), len(shown)


def _changes(op: Operation[Any], items: Sequence[Any], entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """What changes items of a list that are there, by their places."""
    places: dict[Any, list[int]] = {}
    found: dict[int, list[Entry]] = {}
    if isinstance(op, comments.List | comments.ListReplies):
        for place, item in enumerate(items):
            places.setdefault(item.id, []).append(place)
    for entry in entries:
        match op, entry.op:
            case comments.List(), _:
                about: Any = entry.facts.thread
            case comments.ListReplies(), comments.UpdateReply() | comments.DeleteReply():
                about = entry.op.comment_reply_id
            case comments.ListReplies(), _:
                continue
            case _:
                about = entry.at
                if _opened(entry) and about not in places:
                    places[about] = [place for place, item in enumerate(items) if _holds(item, about)]
        for place in places.get(about, ()):
            found.setdefault(place, []).append(entry)
    return found


def basis_of(op: CommentWrite, shown: Iterable[tuple[Operation[Any], Any]]) -> OriginalComment:
    """What the screens show of the comment that `op` changes."""
    match op:
        case comments.UpdateReply() | comments.DeleteReply():
            wanted, kind = op.comment_reply_id, "comment-reply"
        case comments.CreateReply() | comments.Update() | comments.Delete():
            wanted, kind = op.comment_id, "comment"
        case comments.Create() | reviews.Submit():
            return OriginalComment()
    for read, value in shown:
        if not isinstance(read, _READS) or read.at != op.at or read.format == "document":
            continue
        items: tuple[Comment | Reply, ...] = value.items if isinstance(value, ListPage) else (value,)
        for item in items:
            if item.id == wanted and item.object == kind:
                return OriginalComment(item.body.markdown, item.is_open if isinstance(item, Comment) else None)
    return OriginalComment()


def _threads(read: comments.List, page: ListPage[Comment], entry: Entry, me: User) -> ListPage[Comment]:
    op = entry.op
    if entry.at != read.at:
        return page
    match op:
        case comments.Create():
            if not _wanted(read, op, me) or _there(page, op, entry, me):
                return page
            thread = _thread(op, entry, me)
            if read.order == "desc":
                return _counted(page.before(thread), 1)
            return page if page.next else _counted(_behind(page, thread), 1)
        case comments.Delete():
            return _without(page, op.comment_id)
    changed = _each(page, entry.facts.thread, lambda thread: _thread_after(thread, entry, me))
    if changed is page or read.status == "all":
        return changed
    gone = [thread.id for thread in changed.items if thread.is_open != (read.status == "open")]
    for thread_id in gone:
        changed = _without(changed, thread_id)
    return changed


def _thread_after(thread: Comment, entry: Entry, me: User) -> Comment:
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


def _one_thread(read: comments.Get, thread: Comment, entry: Entry, me: User) -> Comment:
    here = entry.at == read.at and entry.facts.thread == read.comment_id
    return _thread_after(thread, entry, me) if here else thread


def _replies(read: comments.ListReplies, page: ListPage[Reply], entry: Entry, me: User) -> ListPage[Reply]:
    op = entry.op
    if entry.at != read.at or entry.facts.thread != read.comment_id:
        return page
    match op:
        case comments.CreateReply():
            return page if _there(page, op, entry, me) else _counted(_behind(page, _reply(op, entry, me)), 1)
        case comments.UpdateReply():
            return _each(page, op.comment_reply_id, lambda reply: _updated(reply, op, entry, me))
        case comments.DeleteReply():
            return _without(page, op.comment_reply_id)
        case _:
            return page


def _one_reply(read: comments.GetReply, reply: Reply, entry: Entry, me: User) -> Reply:
    op = entry.op
    if isinstance(op, comments.UpdateReply) and entry.at == read.at and op.comment_reply_id == read.comment_reply_id:
        return _updated(reply, op, entry, me)
    return reply


def _counter(read: Operation[Any], holder: Any, entry: Entry, me: User) -> Any:
    """A space or a change request, which count their open comments."""
    change = _opened(entry)
    if change == 0 or not _holds(holder, entry.at):
        return holder
    return holder.model_copy(update={"comments": max(0, holder.comments + change)})


def _counters(read: Operation[Any], page: ListPage[Any], entry: Entry, me: User) -> ListPage[Any]:
    if _opened(entry) == 0:
        return page
    changed = [_counter(read, item, entry, me) for item in page.items]
    if all(after is before for after, before in zip(changed, page.items, strict=True)):
        return page
    return page.model_copy(update={"items": tuple(changed)})


_FOLDS: dict[str, Fold] = {
    "comments.List": _threads,
    "comments.Get": _one_thread,
    "comments.ListReplies": _replies,
    "comments.GetReply": _one_reply,
    "spaces.Get": _counter,
    "spaces.List": _counters,
    "change_requests.Get": _counter,
    "change_requests.List": _counters,
    "change_requests.ListOfOrganization": _counters,
}


def _opened(entry: Entry) -> int:
    """By how much a write changes the number of open comments."""
    if entry.state in ("failed", "gathered"):
        return 0  # what is held for a review is seen by nobody else
    match entry.op:
        case comments.Create():
            return 1
        case comments.Update(resolved=bool(resolved)) if entry.basis.is_open in (None, resolved):
            return -1 if resolved else 1
        case comments.Delete() if entry.basis.is_open:
            return -1
        case _:
            return 0


def _holds(holder: Any, at: Discussion) -> bool:
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


def _there(page: ListPage[Any], op: comments.Create | comments.CreateReply, entry: Entry, me: User) -> bool:
    """Whether the server shows what the write made, though it was not confirmed yet."""
    if any(item.id == entry.pending_id for item in page.items):
        return True
    if entry.started_at is None or entry.state not in ("sending", "unknown"):
        return False
    author = None if me is NOBODY else me.id
    it = made(op, page.items, baseline=entry.baseline, since=entry.since, claimed=(), me=author)
    return it is not None


def _thread(op: comments.Create, entry: Entry, me: User) -> Comment:
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


def _reply(op: comments.CreateReply, entry: Entry, me: User) -> Reply:
    return Reply(
        id=entry.pending_id,
        body=Body(markdown=op.body.markdown),
        posted_by=me,
        posted_at=entry.created_at,
        permissions=comments.Permissions(view=True),
    )


def _updated(item: C, op: comments.Update | comments.UpdateReply, entry: Entry, me: User) -> C:
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
    """The page with one item changed; the page itself when nothing changes."""
    places = [place for place, item in enumerate(page.items) if item.id == item_id]
    changed = {place: after for place in places if (after := change(page.items[place])) is not page.items[place]}
    if not changed:
        return page
    items = list(page.items)
    for place, after in changed.items():
        items[place] = after
    return page.model_copy(update={"items": tuple(items)})


def _without(page: ListPage[C], item_id: str) -> ListPage[C]:
    return _counted(page.without(item_id), -1) if any(item.id == item_id for item in page.items) else page


def _behind(page: ListPage[C], item: C) -> ListPage[C]:
    return page.model_copy(update={"items": (*page.items, item)})


def _counted(page: ListPage[C], change: int) -> ListPage[C]:
    return page if page.count is None else page.model_copy(update={"count": max(0, page.count + change)})
