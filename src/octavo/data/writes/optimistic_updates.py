"""Optimistic updates: unconfirmed writes on the responses on screen. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from octavo.api import comments, reviews
from octavo.api.comments import Comment, Reply
from octavo.api.operation import ListPage, Operation
from octavo.api.users import User
from octavo.data.writes.comment_overlays import NOBODY, counted, holds_thread, opened
from octavo.data.writes.kinds import kind_of
from octavo.data.writes.machine import OutboxEntry
from octavo.data.writes.write_kind import Basis

if TYPE_CHECKING:
    from octavo.data.writes.write_kind import DurableWrite

_READS = comments.List | comments.Get | comments.ListReplies | comments.GetReply


def fold(op: Operation[Any], value: Any, entries: Sequence[OutboxEntry], me: User | None) -> tuple[Any, int]:
    """Return the response `value` of `op` with `entries` on it, and the number of entries it shows that are not done.

    A new comment that was refused stays where it was written, until it is discarded. Other refused writes are not shown.
    """
    on_top = [
        entry
        for entry in (entries if value is not None else ())
        if type(op) in kind_of(entry.op).overlay
        and (entry.state != "failed" or isinstance(entry.op, (comments.Create, comments.CreateReply)))
    ]
    shown: set[str] = set()

    def put(value: Any, entries: Iterable[OutboxEntry]) -> Any:
        for entry in entries:
            overlay = kind_of(entry.op).overlay[type(op)]
            before, value = value, overlay(op, value, entry, me or NOBODY)
            if value is not before and entry.state != "done" and not entry.needs_user:
                shown.add(entry.id)
        return value

    if not isinstance(value, ListPage):
        return put(value, on_top), len(shown)
    # Thousands of items may be selected: each entry is applied to its own item, not to the whole list.
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
    return counted(value.model_copy(update={"items": items}), len(items) - len(value.items)), len(shown)


def _changes(op: Operation[Any], items: Sequence[Any], entries: Iterable[OutboxEntry]) -> dict[int, list[OutboxEntry]]:
    """Return the entries that change items of a list, by the index of the item."""
    places: dict[Any, list[int]] = {}
    found: dict[int, list[OutboxEntry]] = {}
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
                if opened(entry) and about not in places:
                    places[about] = [place for place, item in enumerate(items) if holds_thread(item, about)]
        for place in places.get(about, ()):
            found.setdefault(place, []).append(entry)
    return found


def basis_of(op: DurableWrite, shown: Iterable[tuple[Operation[Any], Any]]) -> Basis:
    """Return what the screen shows of the comment that `op` changes. Empty if it is not loaded as markdown."""
    match op:
        case comments.UpdateReply() | comments.DeleteReply():
            wanted, kind = op.comment_reply_id, "comment-reply"
        case comments.CreateReply() | comments.Update() | comments.Delete():
            wanted, kind = op.comment_id, "comment"
        case comments.Create() | reviews.Submit():
            return Basis()
    for read, value in shown:
        if not isinstance(read, _READS) or read.at != op.at or read.format == "document":
            continue
        items: tuple[Comment | Reply, ...] = value.items if isinstance(value, ListPage) else (value,)
        for item in items:
            if item.id == wanted and item.object == kind:
                return Basis(item.body.markdown, item.is_open if isinstance(item, Comment) else None)
    return Basis()
