"""Forms that create items, edit one or several items, or run an action, with their undo."""

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
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import resource_writes
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest
from octavo.tui.resources.reference_lists import ReferenceList, reference_lists
from octavo.tui.resources.resource import Action, Arguments, Resource, UndoFactory, build_operation
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.wording import plural


def open_create_form(
    app: Shell, resource: Resource[Any], arguments: Arguments, on_created: Callable[[str], None]
) -> None:
    """Open the form that creates an item. `on_created` is called with the key of the new item."""
    assert resource.create is not None, "the resource must have a create operation"
    live = app.session.live
    undo_factory = resource.prepare_undo(live, arguments) if resource.prepare_undo is not None else None

    def on_sent(operation: Operation[Any], response: Any) -> None:
        name = _created_title(resource, response)
        undo = (
            _undo_creation(live, resource, arguments, operation, response)
            if undo_factory is None
            else _undo_roles(live, operation, undo_factory)
        )
        notice = f"Created {name}." if name else f"Created the {resource.singular}."
        app.say(
            notice if resource.create_notice is None else resource.create_notice(operation, response),
            undo=undo is not None,
        )
        if undo is not None:
            app.writes.set_undo(undo)
        else:
            app.writes.forbid_undo(
                f"You cannot undo “{resource.create_label}” by pressing u."
                + (
                    f" To {resource.delete_verbs[0]} the {resource.singular}, select the {resource.singular} and press X."
                    if resource.delete is not None
                    else ""
                )
            )
        if key := _created_key(resource, response):
            on_created(key)
        if resource.after_write is not None:
            app.background(resource.after_write(app, arguments, operation, response))

    open_form(
        FormRequest(
            app,
            resource.create,
            title=resource.create_label,
            arguments=arguments,
            draft_name=f"form {resource.name} new {_place_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, arguments) | _permitted_places(app, resource, arguments),
            verb="Create" if resource.create_notice is None else resource.create_label,
            required_fields=resource.required_fields,
            intro=resource.create_intro or resource.description,
            on_sent=on_sent,
        )
    )


def open_action_form(app: Shell, resource: Resource[Any], arguments: Arguments, item: Any, action: Action[Any]) -> None:
    """Open the form of an action, for example of an upload."""
    item_arguments, name = resource.arguments_for(arguments, item), resource.title(item)

    def on_sent(operation: Operation[Any], response: Any) -> None:
        app.say(f"{name} {action.done_text}.")
        app.writes.forbid_undo(f"You cannot undo “{action.name}” by pressing u.")
        if resource.after_write is not None:
            app.background(resource.after_write(app, item_arguments, operation, response))

    open_form(
        FormRequest(
            app,
            action.operation,
            title=f"{action.name}: {name}",
            arguments={**item_arguments, **action.values},
            draft_name=f"form {resource.name} {resource.key(item)} {action.name} {_place_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            verb=action.name,
            intro=action.help,
            on_sent=on_sent,
        )
    )


def open_edit_form(app: Shell, resource: Resource[Any], arguments: Arguments, item: Any) -> None:
    """Open the form that edits an item."""
    assert resource.update is not None, "the resource must have an update operation"
    live = app.session.live
    name = resource.title(item)
    item_arguments = resource.arguments_for(arguments, item)

    async def load() -> Model | None:
        current = await resource_writes.load_item(live, resource, arguments, item)
        return None if current is None else resource.as_update(current)

    def on_sent(operation: Operation[Any], response: Any) -> None:
        undo = _reverse_edit(operation, resource.as_update(item), item_arguments)
        app.say(f"Changed {name}.", undo=undo is not None)
        if undo is None:
            app.writes.forbid_undo(
                f"You cannot undo the change to {name} by pressing u. To edit {name} again, press e."
            )
            return
        app.writes.set_undo(
            _undo_of(live, f"undo the change to {name}", [(name, undo)], f"Undid the change to {name}.")
        )

    open_form(
        FormRequest(
            app,
            resource.update,
            title=name,
            arguments=item_arguments,
            item=resource.as_update(item),
            item_reader=load,
            draft_name=f"form {resource.name} {resource.key(item)} {_place_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            on_sent=on_sent,
        )
    )


def open_bulk_edit_form(
    app: Shell, resource: Resource[Any], arguments: Arguments, items: Sequence[Any], clear_selection: Callable[[], None]
) -> None:
    """Open the form that makes the same change in several items. Empty fields are not changed."""
    assert resource.update is not None, "the resource must have an update operation"
    first, *others = items
    item_arguments = resource.arguments_for(arguments, first)
    count = plural(len(items), resource.singular, resource.plural)

    def on_sent(operation: Operation[Any], response: Any) -> None:
        values = {name: getattr(operation, name) for name in operation.model_fields_set if name not in item_arguments}
        clear_selection()
        app.writes.send(
            f"change {count}",
            _send_bulk_edit(app.session.live, resource, arguments, first, operation, others, values),
            message=f"Changed {count}.",
            make_undo=lambda undo: undo,
        )

    open_form(
        FormRequest(
            app,
            resource.update,
            title=f"Edit {count}",
            arguments=item_arguments,
            draft_name=f"form {resource.name} several {_place_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            verb=f"Change {count}",
            intro="Fields that you leave empty stay unchanged in all selected items.",
            on_sent=on_sent,
        )
    )


async def _send_bulk_edit(
    live: Live,
    resource: Resource[Any],
    arguments: Arguments,
    first: Any,
    operation: Operation[Any],
    others: Sequence[Any],
    values: Mapping[str, Any],
) -> SendResult[DirectUndo]:
    reverse_operations: list[tuple[str, Operation[Any]]] = []

    def add_reverse(item: Any, sent: Operation[Any]) -> None:
        undo = _reverse_edit(sent, resource.as_update(item), resource.arguments_for(arguments, item))
        if undo is not None:
            reverse_operations.append((resource.title(item), undo))

    add_reverse(first, operation)
    for number, item in enumerate(others, start=1):
        each = build_operation(type(operation), {**resource.arguments_for(arguments, item), **values})
        try:
            await live.write(each)
        except ApiError as error:
            done = f"Changed {number} of {len(others) + 1} {resource.plural} before the error occurred."
            sentence = f"Could not change {resource.title(item)}: {error} {done}"
            return SendResult("refused", sentence, error=error)
        add_reverse(item, each)
    count = plural(len(others) + 1, resource.singular, resource.plural)
    return SendResult(
        "done",
        result=_undo_of(live, f"undo the change to {count}", reverse_operations, f"Undid the change to {count}."),
    )


def _undo_of(live: Live, title: str, ops: Sequence[tuple[str, Operation[Any]]], message: str) -> DirectUndo:
    async def undo() -> SendResult[bool]:
        for name, operation in ops:
            sent = await send_plain(live, operation, f"Could not undo the change to {name}")
            if sent.kind != "done":
                return SendResult(sent.kind, sent.message)
        return SendResult("done", result=True)

    return DirectUndo(title, undo, message)


def _reverse_edit(operation: Operation[Any], previous: Model, arguments: Arguments) -> Operation[Any] | None:
    """Return the operation that reverts an edit. None if no request can hold the previous values."""
    values: dict[str, Any] = {}
    for name in operation.model_fields_set - set(arguments):
        if not hasattr(previous, name):
            return None
        value = getattr(previous, name)
        if value is None and name not in SPECS[type(operation)].nullable:
            return None
        is_object = isinstance(value, Model) and isinstance(getattr(operation, name), str)
        values[name] = (
            value.id if is_object else value.model_dump(exclude_none=True) if isinstance(value, Model) else value
        )
    try:
        return build_operation(type(operation), {**arguments, **values})
    except ValidationError:
        return None  # The previous value is not valid in a request, for example a role of a newer server.


def _undo_creation(
    live: Live, resource: Resource[Any], arguments: Arguments, operation: Operation[Any], response: Any
) -> DirectUndo | None:
    """Return the undo of a creation. None if the server did not send the ID of the new item."""
    if resource.delete is None:
        return None
    name = _created_title(resource, response) or f"the {resource.singular}"
    sent_values = {field: getattr(operation, field) for field in operation.model_fields_set}
    try:
        delete_arguments = (
            resource.arguments_for(arguments, response)
            if name and isinstance(response, Model)
            else {**arguments, **sent_values}
        )
        delete_operation = build_operation(resource.delete, delete_arguments)
    except (ValidationError, AttributeError):
        return None
    return _undo_of(live, f"delete {name}", [(name, delete_operation)], f"Deleted {name}.")


def _undo_roles(live: Live, operation: Operation[Any], undo_factory: UndoFactory) -> DirectUndo | None:
    ops = undo_factory(operation)
    if ops is None:
        return None
    return _undo_of(live, "undo the role changes", [("the roles", each) for each in ops], "Undid the role changes.")


def _created_title(resource: Resource[Any], response: Any) -> str:
    """Return the title of the new item. Empty if the server did not send it."""
    try:
        return resource.title(response) if isinstance(response, Model) else ""
    except AttributeError:
        return ""  # The response is of another kind, for example the number of invited members.


def _created_key(resource: Resource[Any], response: Any) -> str:
    """Return the key of the new item. Empty if the server did not send it."""
    try:
        return resource.key(response) if isinstance(response, Model) else ""
    except AttributeError:
        return ""  # The response is of another kind, as in `_created_title`.


def _reference_lists(app: Shell, resource: Resource[Any], arguments: Arguments) -> dict[str, ReferenceList]:
    return reference_lists(app, arguments, resource.reference_lists)


def _permitted_places(app: Shell, resource: Resource[Any], arguments: Arguments) -> dict[str, ReferenceList]:
    """Return the spaces and collections to create an item in. Those without permission are disabled."""
    lists = _reference_lists(app, resource, arguments)

    def restricted(reference_list: ReferenceList, permission: str) -> ReferenceList:
        def choice(each: Any) -> Choice[str]:
            missing = why_no_permission((each,), permission, f"create {resource.plural} there", "space or collection")
            return replace(reference_list.choice_of(each), disabled_reason=missing or "")

        return replace(reference_list, choice_of=choice)

    return {name: restricted(lists[name], permission) for name, permission in resource.permissions.place_fields.items()}


def _place_path(resource: Resource[Any], arguments: Arguments) -> str:
    return location(resource.list_operation(arguments))
