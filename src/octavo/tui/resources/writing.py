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
from octavo.tui.resources.resource import Action, Arguments, Resource, build_operation
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.wording import plural


async def _find_item(live: Live, resource: Resource[Any], known: Arguments, key: str) -> Any | None:
    """Return an item as it is now. None if it was deleted. Raises ApiError, or PaginationError if the list does not
    end."""
    op = resource.list_operation(known)
    if not isinstance(op, Listing):
        return _with_key(resource, await live.send(op), key)
    async for page in read_pages(live.send, op):
        if (found := _with_key(resource, page, key)) is not None:
            return found
    return None


def _with_key(resource: Resource[Any], answer: Any, key: str) -> Any | None:
    """Return the item with a key in a response. None if the response does not contain it."""
    return next((each for each in resource.items(answer) if resource.key(each) == key), None)


async def load_item(live: Live, resource: Resource[Any], known: Arguments, thing: Any) -> Any | None:
    """Return an item as it is now. None if it was deleted. Raises ApiError."""
    if resource.get is None:
        return await _find_item(live, resource, known, resource.key(thing))
    try:
        found = await live.send(build_operation(resource.get, resource.arguments_for(known, thing)))
    except NotFound:
        return None
    # The server returns a deleted space for 7 more days.
    return None if getattr(found, "deleted_at", None) is not None else found


def title_of_items(resource: Resource[Any], things: Sequence[Any]) -> str:
    """Return the title of a single item, else the number of items."""
    return resource.title(things[0]) if len(things) == 1 else plural(len(things), resource.singular, resource.plural)


async def delete_items(
    live: Live, resource: Resource[Any], known: Arguments, things: Sequence[Any]
) -> SendResult[tuple[Any, ...]]:
    """Delete items one after the other until one fails. Return the deleted items."""
    done: list[Any] = []
    for thing in things:
        sent = await _delete_one(live, resource, known, thing)
        if sent.kind != "done":
            far = (
                f" {resource.delete_verbs[1].capitalize()} {len(done)} of {len(things)} {resource.plural} before the error occurred."
                if done
                else ""
            )
            return SendResult(sent.kind, f"{sent.message}{far}")
        done.append(thing)
    return SendResult("done", result=tuple(done))


async def _delete_one(live: Live, resource: Resource[Any], known: Arguments, thing: Any) -> SendResult[bool]:
    assert resource.delete is not None, "the resource must have a delete operation"
    op = build_operation(resource.delete, resource.arguments_for(known, thing))

    async def find(send: Send, attempt: Attempt[Any]) -> AlreadyDone | None:
        return AlreadyDone(result=True) if await load_item(live, resource, known, thing) is None else None

    name = resource.title(thing)
    failed, missing = (
        f"Could not {resource.delete_verbs[0]} {name}",
        f"the server had not yet {resource.delete_verbs[1]} {name}",
    )
    kind = WriteKind[Any](find)  # Built here, because the list to check depends on the resource.
    sent = await send_direct(live, op, failed=failed, missing=missing, kind=kind)
    if sent.kind == "refused" and isinstance(sent.error, NotFound):
        return SendResult("done", result=True)  # Another user has deleted the item.
    return sent


def undo_of_deletion(live: Live, resource: Resource[Any], known: Arguments, things: Sequence[Any]) -> DirectUndo | None:
    """Return the undo of a deletion. None if one of the items cannot be created again."""
    ops = [resource.recreate_operation(known, thing) for thing in things]
    if any(op is None for op in ops):
        return None
    name = title_of_items(resource, things)

    async def back() -> SendResult[bool]:
        for thing, op in zip(things, ops, strict=True):
            assert op is not None, "checked above"
            sent = await send_plain(live, op, f"Could not restore {resource.title(thing)}")
            if sent.kind != "done":
                return SendResult(sent.kind, sent.message)
        return SendResult("done", result=True)

    return DirectUndo(f"restore {name}", back, f"Restored {name}.")


async def send_action(
    live: Live, action: Action[Any], resource: Resource[Any], known: Arguments, thing: Any, *, back: bool = False
) -> SendResult[Any]:
    """Send an action on a thing, or with `back` the operation that undoes it."""
    operation, values = (action.undo_operation, action.undo_values) if back else (action.operation, action.values)
    assert operation is not None, "the action must have an operation"
    op = build_operation(operation, {**resource.arguments_for(known, thing), **values})
    return await send_plain(live, op, f"Could not change {resource.title(thing)}")
