"""Creates and changes things in the tables: forms, changes of several rows, and undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from octavo.api.errors import ApiError
from octavo.api.operation import SPECS, Model, Operation
from octavo.api.wire import location
from octavo.data.live import Live
from octavo.data.writes.direct import SendResult, send_plain
from octavo.tui.resources import writing
from octavo.tui.resources.form import fill_in
from octavo.tui.resources.form_references import References
from octavo.tui.resources.references import references
from octavo.tui.resources.resource import Action, Known, Resource, Unmaking, made
from octavo.tui.shell.permissions import why_no_permission
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.wording import plural


def create(app: Shell, resource: Resource[Any], known: Known, then: Callable[[str], None]) -> None:
    """Open a form that creates a thing. `then` is called with its key."""
    assert resource.create is not None, "the resource must have a create operation"
    live = app.session.live
    unmaking = resource.unmaking(live, known) if resource.unmaking is not None else None

    def sent(op: Operation[Any], answer: Any) -> None:
        name = _title(resource, answer)
        back = _unmaking(live, resource, known, op, answer) if unmaking is None else _taking_back(live, op, unmaking)
        there = f"Created {name}." if name else f"Created the {resource.one}."
        app.say(there if resource.said_new is None else resource.said_new(op, answer), undo=back is not None)
        if back is not None:
            app.writes.set_undo(back)
        else:
            app.writes.forbid_undo(
                f"You cannot undo “{resource.called_new}” by pressing u."
                + (
                    f" To {resource.verbs[0]} the {resource.one}, select the {resource.one} and press X."
                    if resource.delete is not None
                    else ""
                )
            )
        if key := _key(resource, answer):
            then(key)
        if resource.afterwards is not None:
            app.background(resource.afterwards(app, known, op, answer))

    fill_in(
        app,
        resource.create,
        title=resource.called_new,
        known=known,
        draft=f"form {resource.name} new {_place(resource, known)}",
        references=_references(app, resource, known) | _where_one_may(app, resource, known),
        verb="Create" if resource.said_new is None else resource.called_new,
        required=resource.required,
        intro=resource.making or resource.about,
        sent=sent,
    )


def act(app: Shell, resource: Resource[Any], known: Known, thing: Any, action: Action[Any]) -> None:
    """Open a form for an action on a thing."""
    here, name = resource.known_of(known, thing), resource.title(thing)

    def sent(op: Operation[Any], answer: Any) -> None:
        app.say(f"{name} {action.done}.")
        app.writes.forbid_undo(f"You cannot undo “{action.name}” by pressing u.")
        if resource.afterwards is not None:
            app.background(resource.afterwards(app, here, op, answer))

    fill_in(
        app,
        action.operation,
        title=f"{action.name}: {name}",
        known={**here, **action.values},
        draft=f"form {resource.name} {resource.key(thing)} {action.name} {_place(resource, known)}",
        references=_references(app, resource, here),
        verb=action.name,
        intro=action.help,
        sent=sent,
    )


def change(app: Shell, resource: Resource[Any], known: Known, thing: Any) -> None:
    """Open a form that changes a thing."""
    assert resource.update is not None, "the resource must have an update operation"
    live = app.session.live
    name = resource.title(thing)
    here = resource.known_of(known, thing)

    async def read() -> Model | None:
        found = await writing.look(live, resource, known, thing)
        return None if found is None else resource.written(found)

    def sent(op: Operation[Any], answer: Any) -> None:
        back = _as_before(op, resource.written(thing), here)
        app.say(f"Changed {name}.", undo=back is not None)
        if back is None:
            app.writes.forbid_undo(
                f"You cannot undo the change to {name} by pressing u. To edit {name} again, press e."
            )
            return
        app.writes.set_undo(
            _undoing(live, f"undo the change to {name}", [(name, back)], f"Undid the change to {name}.")
        )

    fill_in(
        app,
        resource.update,
        title=name,
        known=here,
        now=resource.written(thing),
        read=read,
        draft=f"form {resource.name} {resource.key(thing)} {_place(resource, known)}",
        references=_references(app, resource, here),
        sent=sent,
    )


def change_all(
    app: Shell, resource: Resource[Any], known: Known, things: Sequence[Any], untick: Callable[[], None]
) -> None:
    """Open a form that makes the same change in several things. Empty fields stay as they are in each."""
    assert resource.update is not None, "the resource must have an update operation"
    first, *others = things
    here = resource.known_of(known, first)
    what = plural(len(things), resource.one, resource.many)

    def sent(op: Operation[Any], answer: Any) -> None:
        values = {name: getattr(op, name) for name in op.model_fields_set if name not in here}
        untick()
        app.writes.send(
            f"change {what}",
            _change_others(app.session.live, resource, known, first, op, others, values),
            message=f"Changed {what}.",
            make_undo=lambda back: back,
        )

    fill_in(
        app,
        resource.update,
        title=f"Edit {what}",
        known=here,
        draft=f"form {resource.name} several {_place(resource, known)}",
        references=_references(app, resource, here),
        verb=f"Change {what}",
        intro="Fields that you leave empty stay unchanged in all selected items.",
        sent=sent,
    )


async def _change_others(
    live: Live,
    resource: Resource[Any],
    known: Known,
    first: Any,
    op: Operation[Any],
    others: Sequence[Any],
    values: Mapping[str, Any],
) -> SendResult[DirectUndo]:
    backs: list[tuple[str, Operation[Any]]] = []

    def note(thing: Any, sent: Operation[Any]) -> None:
        back = _as_before(sent, resource.written(thing), resource.known_of(known, thing))
        if back is not None:
            backs.append((resource.title(thing), back))

    note(first, op)
    for number, thing in enumerate(others, start=1):
        each = made(type(op), {**resource.known_of(known, thing), **values})
        try:
            await live.write(each)
        except ApiError as error:
            done = f"Changed {number} of {len(others) + 1} {resource.many} before the error occurred."
            sentence = f"Could not change {resource.title(thing)}: {error} {done}"
            return SendResult("refused", sentence, error=error)
        note(thing, each)
    what = plural(len(others) + 1, resource.one, resource.many)
    return SendResult(
        "done", result=_undoing(live, f"undo the change to {what}", backs, f"Undid the change to {what}.")
    )


def _undoing(live: Live, doing: str, ops: Sequence[tuple[str, Operation[Any]]], said: str) -> DirectUndo:
    async def back() -> SendResult[bool]:
        for name, op in ops:
            sent = await send_plain(live, op, f"Could not undo the change to {name}")
            if sent.kind != "done":
                return SendResult(sent.kind, sent.message)
        return SendResult("done", result=True)

    return DirectUndo(doing, back, said)


def _as_before(op: Operation[Any], was: Model, known: Known) -> Operation[Any] | None:
    """Return the operation that reverts `op`. None if no request can hold the previous values."""
    values: dict[str, Any] = {}
    for name in op.model_fields_set - set(known):
        if not hasattr(was, name):
            return None
        value = getattr(was, name)
        if value is None and name not in SPECS[type(op)].nullable:
            return None
        is_thing = isinstance(value, Model) and isinstance(getattr(op, name), str)
        values[name] = (
            value.id if is_thing else value.model_dump(exclude_none=True) if isinstance(value, Model) else value
        )
    try:
        return made(type(op), {**known, **values})
    except ValidationError:
        return None  # as it was it cannot be written: a value of a newer server


def _unmaking(live: Live, resource: Resource[Any], known: Known, op: Operation[Any], answer: Any) -> DirectUndo | None:
    """Return the undo of a creation. None if the server did not say how to name the new thing."""
    if resource.delete is None:
        return None
    name = _title(resource, answer) or f"the {resource.one}"
    asked = {field: getattr(op, field) for field in op.model_fields_set}
    try:
        named = resource.known_of(known, answer) if name and isinstance(answer, Model) else {**known, **asked}
        unmade = made(resource.delete, named)
    except (ValidationError, AttributeError):
        return None
    return _undoing(live, f"delete {name}", [(name, unmade)], f"Deleted {name}.")


def _taking_back(live: Live, op: Operation[Any], unmaking: Unmaking) -> DirectUndo | None:
    ops = unmaking(op)
    if ops is None:
        return None
    return _undoing(live, "undo the role changes", [("the roles", each) for each in ops], "Undid the role changes.")


def _title(resource: Resource[Any], answer: Any) -> str:
    """Return the title of the created thing, if the server said it."""
    try:
        return resource.title(answer) if isinstance(answer, Model) else ""
    except AttributeError:
        return ""  # it answers something else: how many were invited


def _key(resource: Resource[Any], answer: Any) -> str:
    """Return the key of the created thing, if the server said it."""
    try:
        return resource.key(answer) if isinstance(answer, Model) else ""
    except AttributeError:
        return ""  # as above


def _references(app: Shell, resource: Resource[Any], known: Known) -> dict[str, References]:
    return references(app, known, resource.references)


def _where_one_may(app: Shell, resource: Resource[Any], known: Known) -> dict[str, References]:
    """Return the places to create a thing in. Places where the user may not are disabled."""
    listed = _references(app, resource, known)

    def only(lists: References, right: str) -> References:
        def choice(each: Any) -> Choice[str]:
            lacks = why_no_permission((each,), right, f"create {resource.many} there", "space or collection")
            return replace(lists.choice(each), disabled_reason=lacks or "")

        return replace(lists, choice=choice)

    return {name: only(listed[name], right) for name, right in resource.rights.places.items()}


def _place(resource: Resource[Any], known: Known) -> str:
    return location(resource.list_op(known))
