"""Forms that create and edit items: single items, several at once, and undo."""

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
from octavo.tui.resources.references import reference_lists
from octavo.tui.resources.resource import Action, Arguments, Resource, UndoFactory, build_operation
from octavo.tui.shell.permissions import lacks_right
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.write_queue import DirectUndo
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.wording import plural


def open_create_form(app: Shell, resource: Resource[Any], known: Arguments, then: Callable[[str], None]) -> None:
    """Open the form that creates an item. `then` is called with the key of the new item."""
    assert resource.create is not None, "the resource must have a create operation"
    live = app.session.live
    unmaking = resource.prepare_undo(live, known) if resource.prepare_undo is not None else None

    def sent(op: Operation[Any], answer: Any) -> None:
        name = _created_title(resource, answer)
        back = (
            _undo_creation(live, resource, known, op, answer) if unmaking is None else _undo_roles(live, op, unmaking)
        )
        there = f"Created {name}." if name else f"Created the {resource.singular}."
        app.say(there if resource.create_notice is None else resource.create_notice(op, answer), undo=back is not None)
        if back is not None:
            app.writes.take_back_by(back)
        else:
            app.writes.is_final(
                f"You cannot undo “{resource.create_label}” by pressing u."
                + (
                    f" To {resource.delete_verbs[0]} the {resource.singular}, select the {resource.singular} and press X."
                    if resource.delete is not None
                    else ""
                )
            )
        if key := _created_key(resource, answer):
            then(key)
        if resource.after_write is not None:
            app.background(resource.after_write(app, known, op, answer))

    fill_in(
        app,
        resource.create,
        title=resource.create_label,
        known=known,
        draft=f"form {resource.name} new {_place_path(resource, known)}",
        references=_reference_lists(app, resource, known) | _permitted_places(app, resource, known),
        verb="Create" if resource.create_notice is None else resource.create_label,
        required=resource.required_fields,
        intro=resource.create_intro or resource.description,
        sent=sent,
    )


def open_action_form(app: Shell, resource: Resource[Any], known: Arguments, thing: Any, action: Action[Any]) -> None:
    """Open the form of an action."""
    here, name = resource.arguments_for(known, thing), resource.title(thing)

    def sent(op: Operation[Any], answer: Any) -> None:
        app.say(f"{name} {action.done_text}.")
        app.writes.is_final(f"You cannot undo “{action.name}” by pressing u.")
        if resource.after_write is not None:
            app.background(resource.after_write(app, here, op, answer))

    fill_in(
        app,
        action.operation,
        title=f"{action.name}: {name}",
        known={**here, **action.values},
        draft=f"form {resource.name} {resource.key(thing)} {action.name} {_place_path(resource, known)}",
        references=_reference_lists(app, resource, here),
        verb=action.name,
        intro=action.help,
        sent=sent,
    )


def open_edit_form(app: Shell, resource: Resource[Any], known: Arguments, thing: Any) -> None:
    """Open the form that edits an item."""
    assert resource.update is not None, "the resource must have an update operation"
    live = app.session.live
    name = resource.title(thing)
    here = resource.arguments_for(known, thing)

    async def read() -> Model | None:
        found = await writing.load_item(live, resource, known, thing)
        return None if found is None else resource.as_update(found)

    def sent(op: Operation[Any], answer: Any) -> None:
        back = _reverse_edit(op, resource.as_update(thing), here)
        app.say(f"Changed {name}.", undo=back is not None)
        if back is None:
            app.writes.is_final(f"You cannot undo the change to {name} by pressing u. To edit {name} again, press e.")
            return
        app.writes.take_back_by(
            _undo_of(live, f"undo the change to {name}", [(name, back)], f"Undid the change to {name}.")
        )

    fill_in(
        app,
        resource.update,
        title=name,
        known=here,
        now=resource.as_update(thing),
        read=read,
        draft=f"form {resource.name} {resource.key(thing)} {_place_path(resource, known)}",
        references=_reference_lists(app, resource, here),
        sent=sent,
    )


def open_bulk_edit_form(
    app: Shell, resource: Resource[Any], known: Arguments, things: Sequence[Any], untick: Callable[[], None]
) -> None:
    """Open the form that makes the same change in several items. Empty fields are not changed."""
    assert resource.update is not None, "the resource must have an update operation"
    first, *others = things
    here = resource.arguments_for(known, first)
    what = plural(len(things), resource.singular, resource.plural)

    def sent(op: Operation[Any], answer: Any) -> None:
        values = {name: getattr(op, name) for name in op.model_fields_set if name not in here}
        untick()
        app.writes.send(
            f"change {what}",
            _send_bulk_edit(app.session.live, resource, known, first, op, others, values),
            said=f"Changed {what}.",
            back=lambda back: back,
        )

    fill_in(
        app,
        resource.update,
        title=f"Edit {what}",
        known=here,
        draft=f"form {resource.name} several {_place_path(resource, known)}",
        references=_reference_lists(app, resource, here),
        verb=f"Change {what}",
        intro="Fields that you leave empty stay unchanged in all selected items.",
        sent=sent,
    )


async def _send_bulk_edit(
    live: Live,
    resource: Resource[Any],
    known: Arguments,
    first: Any,
    op: Operation[Any],
    others: Sequence[Any],
    values: Mapping[str, Any],
) -> SendResult[DirectUndo]:
    backs: list[tuple[str, Operation[Any]]] = []

    def note(thing: Any, sent: Operation[Any]) -> None:
        back = _reverse_edit(sent, resource.as_update(thing), resource.arguments_for(known, thing))
        if back is not None:
            backs.append((resource.title(thing), back))

    note(first, op)
    for number, thing in enumerate(others, start=1):
        each = build_operation(type(op), {**resource.arguments_for(known, thing), **values})
        try:
            await live.write(each)
        except ApiError as error:
            done = f"Changed {number} of {len(others) + 1} {resource.plural} before the error occurred."
            sentence = f"Could not change {resource.title(thing)}: {error} {done}"
            return SendResult("refused", sentence, error=error)
        note(thing, each)
    what = plural(len(others) + 1, resource.singular, resource.plural)
    return SendResult(
        "done", result=_undo_of(live, f"undo the change to {what}", backs, f"Undid the change to {what}.")
    )


def _undo_of(live: Live, doing: str, ops: Sequence[tuple[str, Operation[Any]]], said: str) -> DirectUndo:
    async def back() -> SendResult[bool]:
        for name, op in ops:
            sent = await send_plain(live, op, f"Could not undo the change to {name}")
            if sent.kind != "done":
                return SendResult(sent.kind, sent.message)
        return SendResult("done", result=True)

    return DirectUndo(doing, back, said)


def _reverse_edit(op: Operation[Any], was: Model, known: Arguments) -> Operation[Any] | None:
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
        return build_operation(type(op), {**known, **values})
    except ValidationError:
        return None  # The previous value is not valid in a request, for example a role of a newer server.


def _undo_creation(
    live: Live, resource: Resource[Any], known: Arguments, op: Operation[Any], answer: Any
) -> DirectUndo | None:
    """Return the undo of a creation. None if the server did not send the ID of the new item."""
    if resource.delete is None:
        return None
    name = _created_title(resource, answer) or f"the {resource.singular}"
    asked = {field: getattr(op, field) for field in op.model_fields_set}
    try:
        named = resource.arguments_for(known, answer) if name and isinstance(answer, Model) else {**known, **asked}
        unmade = build_operation(resource.delete, named)
    except (ValidationError, AttributeError):
        return None
    return _undo_of(live, f"delete {name}", [(name, unmade)], f"Deleted {name}.")


def _undo_roles(live: Live, op: Operation[Any], unmaking: UndoFactory) -> DirectUndo | None:
    ops = unmaking(op)
    if ops is None:
        return None
    return _undo_of(live, "undo the role changes", [("the roles", each) for each in ops], "Undid the role changes.")


def _created_title(resource: Resource[Any], answer: Any) -> str:
    """Return the title of the new item. Empty if the server did not send it."""
    try:
        return resource.title(answer) if isinstance(answer, Model) else ""
    except AttributeError:
        return ""  # The response is of another kind, for example the number of invited members.


def _created_key(resource: Resource[Any], answer: Any) -> str:
    """Return the key of the new item. Empty if the server did not send it."""
    try:
        return resource.key(answer) if isinstance(answer, Model) else ""
    except AttributeError:
        return ""  # The response is of another kind, as in `_title`.


def _reference_lists(app: Shell, resource: Resource[Any], known: Arguments) -> dict[str, References]:
    return reference_lists(app, known, resource.reference_lists)


def _permitted_places(app: Shell, resource: Resource[Any], known: Arguments) -> dict[str, References]:
    """Return the spaces and collections to create an item in. Those without permission are disabled."""
    listed = _reference_lists(app, resource, known)

    def only(lists: References, right: str) -> References:
        def choice(each: Any) -> Choice[str]:
            lacks = lacks_right((each,), right, f"create {resource.plural} there", "space or collection")
            return replace(lists.choice(each), off=lacks or "")

        return replace(lists, choice=choice)

    return {name: only(listed[name], right) for name, right in resource.permissions.place_fields.items()}


def _place_path(resource: Resource[Any], known: Arguments) -> str:
    return location(resource.list_operation(known))
