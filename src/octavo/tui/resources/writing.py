"""Writes of the tables: each sent once, read back if the response is lost, and undone if possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.api.errors import ApiError, NotFound, Outcome
from octavo.api.operation import Listing, Operation
from octavo.api.paging import read_pages
from octavo.api.wire import location
from octavo.data.live import Live
from octavo.data.send_once import Sent, SingleRequest, send_once
from octavo.tui.resources.resource import Action, Known, Resource, made
from octavo.tui.shell.write_queue import UndoAction
from octavo.tui.widgets.wording import plural


async def find(live: Live, resource: Resource[Any], known: Known, key: str) -> Any | None:
    """Return a thing as it is now. None if it was deleted. Raises ApiError, PaginationError among them if the list does
    not end."""
    op = resource.list_op(known)
    if not isinstance(op, Listing):
        return _with_key(resource, await live.send(op), key)
    async for page in read_pages(live.send, op):
        if (found := _with_key(resource, page, key)) is not None:
            return found
    return None


def _with_key(resource: Resource[Any], answer: Any, key: str) -> Any | None:
    """Return the thing with a key in a response. None if it is not there."""
    return next((each for each in resource.items(answer) if resource.key(each) == key), None)


async def look(live: Live, resource: Resource[Any], known: Known, thing: Any) -> Any | None:
    """Return a thing as it is now. None if it was deleted. Raises ApiError."""
    if resource.get is None:
        return await find(live, resource, known, resource.key(thing))
    try:
        found = await live.send(made(resource.get, resource.known_of(known, thing)))
    except NotFound:
        return None
    return None if getattr(found, "deleted_at", None) is not None else found  # that of a space is told for 7 days


def many_of(resource: Resource[Any], things: Sequence[Any]) -> str:
    """Return the title of one thing, or the count of several."""
    return resource.title(things[0]) if len(things) == 1 else plural(len(things), resource.one, resource.many)


async def delete(live: Live, resource: Resource[Any], known: Known, things: Sequence[Any]) -> Sent[tuple[Any, ...]]:
    """Delete things, one after the other, each asked for once. Those deleted are the answer; it ends with the first that
    was not."""
    done: list[Any] = []
    for thing in things:
        sent = await _delete_one(live, resource, known, thing)
        if sent.kind != "done":
            far = f" The first {len(done)} of {len(things)} succeeded." if done else ""
            return Sent(sent.kind, f"{sent.sentence}{far}")
        done.append(thing)
    return Sent("done", answer=tuple(done))


async def _delete_one(live: Live, resource: Resource[Any], known: Known, thing: Any) -> Sent[bool]:
    assert resource.delete is not None, "only what can be deleted is"
    op = made(resource.delete, resource.known_of(known, thing))

    async def happened() -> bool | None:
        return True if await look(live, resource, known, thing) is None else None

    async def ready() -> Sent[bool] | None:
        return None

    name = resource.title(thing)
    what: SingleRequest[Any] = SingleRequest(
        f"delete {location(op)}",
        op,
        happened,
        ready,
        undone=f"Could not {resource.verbs[0]} {name}",
        missing=f"the server had not {resource.verbs[1]} {name}",
    )
    sent = await send_once(live, what)
    if sent.kind == "refused" and isinstance(sent.error, NotFound):
        return Sent("done", answer=True)  # somebody else was faster
    return sent


def putting_back(live: Live, resource: Resource[Any], known: Known, things: Sequence[Any]) -> UndoAction | None:
    """Return the undo of a deletion. None if one of the things cannot be created again."""
    ops = [resource.as_it_was(known, thing) for thing in things]
    if any(op is None for op in ops):
        return None
    name = many_of(resource, things)

    async def back() -> Sent[bool]:
        for thing, op in zip(things, ops, strict=True):
            assert op is not None, "looked at above"
            sent = await send(live, op, f"Could not restore {resource.title(thing)}")
            if sent.kind != "done":
                return Sent(sent.kind, sent.sentence)
        return Sent("done", answer=True)

    return UndoAction(f"restore {name}", back, f"Restored {name}.")


async def act(
    live: Live, action: Action[Any], resource: Resource[Any], known: Known, thing: Any, *, back: bool = False
) -> Sent[Any]:
    """Send an action on a thing, or with `back` the operation that undoes it."""
    operation, values = (action.back, action.back_values) if back else (action.operation, action.values)
    assert operation is not None, "only what can be undone is"
    op = made(operation, {**resource.known_of(known, thing), **values})
    return await send(live, op, f"Could not change {resource.title(thing)}")


async def send(live: Live, op: Operation[Any], undone: str) -> Sent[Any]:
    """Send an operation whose effect cannot be read back. `undone` begins the sentence if it is refused."""
    try:
        answer = await live.write(op)
    except ApiError as error:
        if error.outcome is Outcome.UNKNOWN:
            return Sent(
                "unknown",
                f"{error} The change may have been made. Check whether the change was made before you try again.",
            )
        return Sent("refused", f"{undone}: {error}", error=error)
    return Sent("done", answer=True if answer is None else answer)
