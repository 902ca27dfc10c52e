"""What the browser writes: each thing once, read back where its answer is lost, and taken back where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from octavo.api.errors import ApiError, NotFound, Outcome
from octavo.api.operation import ListPage, Operation
from octavo.api.wire import location
from octavo.data.live import Live
from octavo.data.send_once import Sent, SingleRequest, send_once
from octavo.tui.resources.resource import Action, Known, Resource, made
from octavo.tui.shell.write_queue import UndoAction
from octavo.tui.widgets.wording import plural

MOST_PAGES = 40
"""Pages of a list that are looked through for one thing."""


async def find(live: Live, resource: Resource[Any], known: Known, key: str) -> Any | None:
    """A thing as it is now. None: there is no such thing any more. Raises ApiError."""
    op = resource.list_op(known)
    for _ in range(MOST_PAGES):
        answer = await live.send(op)
        found = next((each for each in resource.items(answer) if resource.key(each) == key), None)
        following = answer.next if isinstance(answer, ListPage) else None
        if found is not None or following is None:
            return found
        op = op.model_copy(update={"page": following.page})
    return None


async def look(live: Live, resource: Resource[Any], known: Known, thing: Any) -> Any | None:
    """A thing as it is now. None: it is gone. Raises ApiError."""
    if resource.get is None:
        return await find(live, resource, known, resource.key(thing))
    try:
        found = await live.send(made(resource.get, resource.known_of(known, thing)))
    except NotFound:
        return None
    return None if getattr(found, "deleted_at", None) is not None else found  # that of a space is told for 7 days


def many_of(resource: Resource[Any], things: Sequence[Any]) -> str:
    """What some things are called together: by name when it is one."""
    return resource.title(things[0]) if len(things) == 1 else plural(len(things), resource.one, resource.many)


async def delete(live: Live, resource: Resource[Any], known: Known, things: Sequence[Any]) -> Sent[tuple[Any, ...]]:
    """Delete things, one after the other, each asked for once. Those deleted are the answer; it ends with the first that
    was not."""
    _, done_verb = resource.verbs
    done: list[Any] = []
    for thing in things:
        sent = await _delete_one(live, resource, known, thing, done_verb)
        if sent.kind != "done":
            far = f" {len(done)} of {len(things)} were {done_verb} before." if done else ""
            return Sent(sent.kind, f"{sent.sentence}{far}")
        done.append(thing)
    return Sent("done", answer=tuple(done))


async def _delete_one(live: Live, resource: Resource[Any], known: Known, thing: Any, done: str) -> Sent[bool]:
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
        undone=f"{name} was not {done}",
        missing=f"{name} is still there",
    )
    sent = await send_once(live, what)
    if sent.kind == "refused" and isinstance(sent.error, NotFound):
        return Sent("done", answer=True)  # somebody else was faster
    return sent


def putting_back(live: Live, resource: Resource[Any], known: Known, things: Sequence[Any]) -> UndoAction | None:
    """What makes things again that were deleted. None: that cannot be for all of them."""
    ops = [resource.as_it_was(known, thing) for thing in things]
    if any(op is None for op in ops):
        return None
    name = many_of(resource, things)

    async def back() -> Sent[bool]:
        for thing, op in zip(things, ops, strict=True):
            assert op is not None, "looked at above"
            sent = await send(live, op, f"{resource.title(thing)} was not put back")
            if sent.kind != "done":
                return Sent(sent.kind, sent.sentence)
        return Sent("done", answer=True)

    return UndoAction(f"put {name} back", back, f"{name} {'is' if len(things) == 1 else 'are'} back.")


async def act(
    live: Live, action: Action[Any], resource: Resource[Any], known: Known, thing: Any, *, back: bool = False
) -> Sent[Any]:
    """Do something else with a thing, or with `back` what undoes that."""
    operation, values = (action.back, action.back_values) if back else (action.operation, action.values)
    assert operation is not None, "only what can be undone is"
    op = made(operation, {**resource.known_of(known, thing), **values})
    return await send(live, op, f"{resource.title(thing)} is as it was")


async def send(live: Live, op: Operation[Any], undone: str) -> Sent[Any]:
    """Send what nobody can look for afterwards. `undone`: what is said first where it was refused."""
    try:
        answer = await live.write(op)
    except ApiError as error:
        if error.outcome is Outcome.UNKNOWN:
            return Sent("unknown", f"{error} It may have been done all the same: look before you do it again.")
        return Sent("refused", f"{undone}: {error}", error=error)
    return Sent("done", answer=True if answer is None else answer)
