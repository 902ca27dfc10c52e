"""Writes from the tables. Each is sent once, checked if its response is lost, and undone if possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.api.errors import NotFound
from octavo.api.operation import Listing
from octavo.api.paging import read_pages
from octavo.data.live import Live
from octavo.data.sending import Send
from octavo.data.writes.direct import SendResult, send_direct, send_plain
from octavo.data.writes.write_kind import AlreadyDone, Attempt, WriteKind
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources.resource import Action, Arguments, Resource, build_operation
from octavo.tui.widgets.wording import plural


async def _find_item(live: Live, resource: Resource[Any], arguments: Arguments, key: str) -> Any | None:
    """Return an item as it is now. None if it was deleted. Raises ApiError, or PaginationError if the list does not
    end."""
    op = resource.list_operation(arguments)
    if not isinstance(op, Listing):
        return _with_key(resource, await live.send(op), key)
    async for page in read_pages(live.send, op):
        if (current := _with_key(resource, page, key)) is not None:
            return current
    return None


def _with_key(resource: Resource[Any], response: Any, key: str) -> Any | None:
    """Return the item with a key in a response. None if the response does not contain it."""
    return next((each for each in resource.items(response) if resource.key(each) == key), None)


async def load_item(live: Live, resource: Resource[Any], arguments: Arguments, item: Any) -> Any | None:
    """Return an item as it is now. None if it was deleted. Raises ApiError."""
    if resource.get is None:
        return await _find_item(live, resource, arguments, resource.key(item))
    try:
        current = await live.send(build_operation(resource.get, resource.arguments_for(arguments, item)))
    except NotFound:
        return None
    # The server returns a deleted space for 7 more days.
    return None if getattr(current, "deleted_at", None) is not None else current


def title_of_items(resource: Resource[Any], items: Sequence[Any]) -> str:
    """Return the title of a single item, else the number of items."""
    return resource.title(items[0]) if len(items) == 1 else plural(len(items), resource.singular, resource.plural)


async def delete_items(
    live: Live, resource: Resource[Any], arguments: Arguments, items: Sequence[Any]
) -> SendResult[tuple[Any, ...]]:
    """Delete items one after the other until one fails. Return the deleted items."""
    deleted: list[Any] = []
    for item in items:
        sent = await _delete_one(live, resource, arguments, item)
        if sent.kind != "done":
            progress = (
                f" {resource.delete_verbs[1].capitalize()} {len(deleted)} of {len(items)} {resource.plural} before the error occurred."
                if deleted
                else ""
            )
            return SendResult(sent.kind, f"{sent.message}{progress}")
        deleted.append(item)
    return SendResult("done", result=tuple(deleted))


async def _delete_one(live: Live, resource: Resource[Any], arguments: Arguments, item: Any) -> SendResult[bool]:
    assert resource.delete is not None, "the resource must have a delete operation"
    op = build_operation(resource.delete, resource.arguments_for(arguments, item))

    async def find(send: Send, attempt: Attempt[Any]) -> AlreadyDone | None:
        return AlreadyDone(result=True) if await load_item(live, resource, arguments, item) is None else None

    name = resource.title(item)
    failed_message, missing_message = (
        f"Could not {resource.delete_verbs[0]} {name}",
        f"the server had not yet {resource.delete_verbs[1]} {name}",
    )
    kind = WriteKind[Any](find)  # Built here, because the list to check depends on the resource.
    sent = await send_direct(live, op, failed=failed_message, missing=missing_message, kind=kind)
    if sent.kind == "refused" and isinstance(sent.error, NotFound):
        return SendResult("done", result=True)  # Another user has deleted the item.
    return sent


def undo_of_deletion(
    live: Live, resource: Resource[Any], arguments: Arguments, items: Sequence[Any]
) -> DirectUndo | None:
    """Return the undo of a deletion. None if one of the items cannot be created again."""
    ops = [resource.recreate_operation(arguments, item) for item in items]
    if any(op is None for op in ops):
        return None
    name = title_of_items(resource, items)

    async def undo() -> SendResult[bool]:
        for item, op in zip(items, ops, strict=True):
            assert op is not None, "checked above"
            sent = await send_plain(live, op, f"Could not restore {resource.title(item)}")
            if sent.kind != "done":
                return SendResult(sent.kind, sent.message)
        return SendResult("done", result=True)

    return DirectUndo(f"restore {name}", undo, f"Restored {name}.")


async def send_action(
    live: Live, action: Action[Any], resource: Resource[Any], arguments: Arguments, item: Any, *, is_undo: bool = False
) -> SendResult[Any]:
    """Send an action on an item. `is_undo` sends the operation that undoes the action."""
    operation, values = (action.undo_operation, action.undo_values) if is_undo else (action.operation, action.values)
    assert operation is not None, "the action must have an operation"
    op = build_operation(operation, {**resource.arguments_for(arguments, item), **values})
    return await send_plain(live, op, f"Could not change {resource.title(item)}")
