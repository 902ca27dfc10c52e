"""Opens the forms that create items, edit items or run actions. Also deletes items, and undoes all these changes. Start
at `open_create_form`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from pydantic import ValidationError

from octavo.api.errors import ApiError, NotFound
from octavo.api.operation import SPECS, Listing, Model, Operation, read_pages
from octavo.api.wire import url_path
from octavo.data.access import Send
from octavo.data.live import Live
from octavo.data.writes.direct import SendResult, send_direct, send_unchecked
from octavo.data.writes.machine import AlreadyDone, WriteAttempt, WriteKind, classify_failure
from octavo.tui.core.permissions import why_no_permission
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources.form import open_form
from octavo.tui.resources.form_state import FormRequest, SubmittedForm
from octavo.tui.resources.resource import (
    Action,
    Arguments,
    ReferenceList,
    Resource,
    UndoFactory,
    build_operation,
    reference_lists,
)
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.short_texts import plural


def open_create_form(
    app: Shell, resource: Resource[Any], arguments: Arguments, on_created: Callable[[str], None]
) -> None:
    """Open the form that creates an item. `on_created` is called with the key of the new item, if the key is known."""
    assert resource.create is not None, "the resource must have a create operation"
    live = app.session.live
    undo_factory = resource.prepare_undo(live, arguments) if resource.prepare_undo is not None else None

    def on_sent(form: SubmittedForm) -> None:
        operation, response = form.operation, form.response
        name = _read_item(resource.title, response)
        why_no_undo = _why_not_deletable(resource, response)
        if undo_factory is not None:
            undo = _undo_roles(live, operation, undo_factory)
        else:
            undo = None if why_no_undo else _undo_creation(live, resource, arguments, operation, response)
        notice = f"{resource.create_verbs[1]} {name or f'the {resource.singular}'}."
        app.say(
            notice if resource.creation_notice is None else resource.creation_notice(operation, response),
            undo=undo is not None,
        )
        if undo is not None:
            app.writes.add_undo(undo)
        else:
            hint = why_no_undo
            if not hint and resource.delete is not None:
                hint = f"To {resource.delete_verbs[0]} the {resource.singular}, select the {resource.singular} and press X."
            app.writes.forbid_undo(f"You cannot undo “{resource.create_label}” by pressing u. {hint}".rstrip())
        if key := _read_item(resource.key, response):
            on_created(key)
        if resource.after_write is not None:
            app.background(resource.after_write(app, arguments, operation, response))

    open_form(
        FormRequest(
            app,
            resource.create,
            title=resource.create_label,
            arguments=arguments,
            draft_name=f"form {resource.name} new {_list_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, arguments) | _permitted_parents(app, resource, arguments),
            verb=resource.create_verbs[0] if resource.creation_notice is None else resource.create_label,
            required_fields=resource.required_fields,
            intro=resource.create_intro or resource.description,
            on_sent=on_sent,
        )
    )


def open_action_form(app: Shell, resource: Resource[Any], arguments: Arguments, item: Any, action: Action[Any]) -> None:
    """Open the form of an action on `item`, such as an upload."""
    item_arguments, name = resource.arguments_for(arguments, item), resource.title(item)

    def on_sent(form: SubmittedForm) -> None:
        app.say(f"{name} {action.done_text}.")
        app.writes.forbid_undo(f"You cannot undo “{action.name}” by pressing u.")
        if resource.after_write is not None:
            app.background(resource.after_write(app, item_arguments, form.operation, form.response))

    open_form(
        FormRequest(
            app,
            action.operation,
            title=f"{action.name}: {name}",
            arguments={**item_arguments, **action.values},
            draft_name=f"form {resource.name} {resource.key(item)} {action.name} {_list_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            verb=action.name,
            intro=action.help,
            on_sent=on_sent,
        )
    )


def open_edit_form(app: Shell, resource: Resource[Any], arguments: Arguments, item: Any) -> None:
    assert resource.update is not None, "the resource must have an update operation"
    live = app.session.live
    name = resource.title(item)
    item_arguments = resource.arguments_for(arguments, item)

    async def load() -> Model | None:
        current_item = await load_item(live, resource, arguments, item)
        return None if current_item is None else resource.as_update(current_item)

    def on_sent(form: SubmittedForm) -> None:
        undo = None if form.replaced is None else _reverse_edit(resource, form.operation, form.replaced, item_arguments)
        app.say(f"Changed {name}.", undo=undo is not None)
        if undo is None:
            app.writes.forbid_undo(
                f"You cannot undo the change to {name} by pressing u. To edit {name} again, press e."
            )
            return
        send = _undo_edit_if_unchanged(live, resource, arguments, item, undo, form.response)
        app.writes.add_undo(_undo_of(f"undo the change to {name}", [send], f"Undid the change to {name}."))

    open_form(
        FormRequest(
            app,
            resource.update,
            title=name,
            arguments=item_arguments,
            item=resource.as_update(item),
            item_reader=load,
            draft_name=f"form {resource.name} {resource.key(item)} {_list_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            on_sent=on_sent,
        )
    )


def open_bulk_edit_form(
    app: Shell,
    resource: Resource[Any],
    arguments: Arguments,
    items: Sequence[Any],
    deselect: Callable[[Iterable[str]], None],
) -> None:
    """Open a form that changes all `items` alike. Empty fields change nothing. `deselect` gets the keys of changed
    items."""
    assert resource.update is not None, "the resource must have an update operation"
    item_arguments, keys = resource.arguments_for(arguments, items[0]), [resource.key(each) for each in items]
    current_items: dict[str, Any] = {}
    items_text = plural(len(items), resource.singular, resource.plural)

    async def load() -> Model | None:
        # The undo restores the values just before the change, which other users may have set.
        current_items.update(await _find_items(app.session.live, resource, arguments, keys))
        return resource.as_update(current_items[keys[0]]) if keys[0] in current_items else None

    def on_sent(form: SubmittedForm) -> None:
        edited_items = [current_items.get(key, each) for key, each in zip(keys, items, strict=True)]
        app.writes.send(
            f"change {items_text}",
            _send_bulk_edit(app.session.live, resource, arguments, edited_items, form, deselect),
            message=f"Changed {items_text}.",
            make_undo=lambda undo: undo,
        )

    open_form(
        FormRequest(
            app,
            resource.update,
            title=f"Edit {items_text}",
            arguments=item_arguments,
            item_reader=load,
            several_titles={resource.key(each): resource.title(each) for each in items},
            draft_name=f"form {resource.name} several {_list_path(resource, arguments)}",
            reference_lists=_reference_lists(app, resource, item_arguments),
            verb=f"Change {items_text}",
            intro="Fields that you leave empty stay unchanged in all selected items.",
            on_sent=on_sent,
        )
    )


async def _send_bulk_edit(
    live: Live,
    resource: Resource[Any],
    arguments: Arguments,
    items: Sequence[Any],
    form: SubmittedForm,
    deselect: Callable[[Iterable[str]], None],
) -> SendResult[DirectUndo]:
    """Change the other items as `form` has already changed the first item, until a request fails. Deselect changed
    items. The SendResult has the error as its message, and the undo of all changes as its result."""
    operation, first_arguments = form.operation, resource.arguments_for(arguments, items[0])
    values = {name: getattr(operation, name) for name in operation.model_fields_set if name not in first_arguments}
    undo_sends: list[_Send] = []
    changed_count, failure = 0, ""
    for item in items:
        edit, response = operation, form.response
        if changed_count:
            edit = build_operation(type(operation), {**resource.arguments_for(arguments, item), **values})
            result = await send_unchecked(live, edit, f"Could not change {resource.title(item)}")
            if result.kind != "done":
                progress = f"Changed {changed_count} of {len(items)} {resource.plural} before the error occurred."
                failure = f"{result.message} {progress}"
                break
            response = result.result
        changed_count += 1
        deselect([resource.key(item)])
        undo = _reverse_edit(resource, edit, resource.as_update(item), resource.arguments_for(arguments, item))
        if undo is not None:
            undo_sends.append(_undo_edit_if_unchanged(live, resource, arguments, item, undo, response))
    label = plural(changed_count, resource.singular, resource.plural)
    message = f"Undid the change to {label}."
    if len(undo_sends) < changed_count:
        message = f"Undid the change to {len(undo_sends)} of {label}. The others cannot be changed back by pressing u."
    return SendResult("done", failure, _undo_of(f"undo the change to {label}", undo_sends, message))


_Send: TypeAlias = Callable[[], Coroutine[Any, Any, SendResult[Any]]]


def _undo_of(title: str, sends: Sequence[_Send], message: str) -> DirectUndo:
    """Return an undo that calls `sends` in order until a request fails. After a failure, the `result` of its SendResult
    is an undo for the rest. This `result` is None if nothing is left to send, or if the first request failed and can
    be tried again."""

    async def undo() -> SendResult[Any]:
        for number, send in enumerate(sends):
            result = await send()
            if result.kind == "done":
                continue
            is_waiting = result.error is not None and classify_failure(result.error, was_sent=True) == "waiting"
            if is_waiting and not number:
                return result
            if not (rest := sends[number if is_waiting else number + 1 :]):
                return SendResult(result.kind, result.message)
            rest_undo = _undo_of(title, rest, "Undid the other changes.")
            return SendResult(result.kind, f"{result.message} Press u to undo the other changes.", rest_undo)
        return SendResult("done", result=True)

    return DirectUndo(title, undo, message)


def _undo_edit_if_unchanged(
    live: Live, resource: Resource[Any], arguments: Arguments, item: Any, undo: Operation[Any], response: Any
) -> _Send:
    """Return a function that sends `undo`. The function sends nothing if a field that `undo` sets has changed since the
    edit, which returned the item `response`. If the edit returned no item, the function always sends `undo`."""
    failure_prefix = f"Could not undo the change to {resource.title(item)}"

    send_undo = partial(send_unchecked, live, undo, failure_prefix)
    if type(response) is not type(item):
        return send_undo

    async def send_if_unchanged() -> SendResult[Any]:
        try:
            current_item = await load_item(live, resource, arguments, item)
        except ApiError as error:
            return SendResult("refused", f"{failure_prefix}: {error}", error=error)
        if current_item is not None:
            current, edited = resource.as_update(current_item), resource.as_update(response)
            if any(getattr(current, each, None) != getattr(edited, each, None) for each in undo.model_fields_set):
                return SendResult("changed", f"{failure_prefix}: it has changed since. Press e to edit it.")
        return await send_undo()

    return send_if_unchanged


def _reverse_edit(
    resource: Resource[Any], operation: Operation[Any], old_item: Model, arguments: Arguments
) -> Operation[Any] | None:
    """Return the operation that undoes the edit `operation` of `old_item`. None if an old value cannot be restored."""
    values: dict[str, Any] = {}
    for name in operation.model_fields_set - set(arguments):
        if not hasattr(old_item, name):
            return None
        value = getattr(old_item, name)
        if value is None and name not in SPECS[type(operation)].nullable:
            return None
        is_object = isinstance(value, Model) and isinstance(getattr(operation, name), str)
        values[name] = (
            value.id if is_object else value.model_dump(exclude_none=True) if isinstance(value, Model) else value
        )
    try:
        return resource.undo_update(build_operation(type(operation), {**arguments, **values}))
    except ValidationError:
        return None  # The old value may be invalid here, such as a role that only a newer server knows.


def _why_not_deletable(resource: Resource[Any], response: Any) -> str:
    if not resource.permissions.on_item or not isinstance(response, Model):
        return ""
    sources, verb = (resource.permission_source(response),), f"{resource.delete_verbs[0]} {resource.plural}"
    return why_no_permission(sources, resource.permissions.delete, verb, resource.singular) or ""


def _undo_creation(
    live: Live, resource: Resource[Any], arguments: Arguments, operation: Operation[Any], response: Any
) -> DirectUndo | None:
    """Return an undo that deletes the created item. None if it cannot be deleted, or if its ID is unknown."""
    if resource.delete is None:
        return None
    name = _read_item(resource.title, response) or f"the {resource.singular}"
    sent_values = {field: getattr(operation, field) for field in operation.model_fields_set}
    try:
        delete_arguments = (
            resource.arguments_for(arguments, response) if isinstance(response, Model) else {**arguments, **sent_values}
        )
        delete_operation = build_operation(resource.delete, delete_arguments)
    except (ValidationError, AttributeError):
        return None
    verb, past_verb = resource.delete_verbs
    send = partial(send_unchecked, live, delete_operation, f"Could not {verb} {name}")
    return _undo_of(f"{verb} {name}", [send], f"{past_verb.capitalize()} {name}.")


def _undo_roles(live: Live, operation: Operation[Any], undo_factory: UndoFactory) -> DirectUndo | None:
    if not (ops := undo_factory(operation)):
        return None
    sends = [partial(send_unchecked, live, each, "Could not undo the role changes") for each in ops]
    return _undo_of("undo the role changes", sends, "Undid the role changes.")


def _read_item(read: Callable[[Any], str], response: Any) -> str:
    try:
        return read(response) if isinstance(response, Model) else ""
    except AttributeError:
        return ""


def _reference_lists(app: Shell, resource: Resource[Any], arguments: Arguments) -> dict[str, ReferenceList]:
    return reference_lists(app, arguments, resource.reference_lists)


def _permitted_parents(app: Shell, resource: Resource[Any], arguments: Arguments) -> dict[str, ReferenceList]:
    """Return the lists of spaces and collections in which the new item can be created, by form field. Spaces and
    collections without permission are disabled."""
    lists = _reference_lists(app, resource, arguments)

    def with_disabled_choices(reference_list: ReferenceList, permission: str) -> ReferenceList:
        def choice_with_reason(item: Any) -> Choice[str]:
            reason = why_no_permission((item,), permission, f"create {resource.plural} there", "space or collection")
            return replace(reference_list.choice_of(item), disabled_reason=reason or "")

        return replace(reference_list, choice_of=choice_with_reason)

    return {
        name: with_disabled_choices(lists[name], permission)
        for name, permission in resource.permissions.parent_fields.items()
    }


def _list_path(resource: Resource[Any], arguments: Arguments) -> str:
    return url_path(resource.list_operation(arguments))


async def _find_items(
    live: Live, resource: Resource[Any], arguments: Arguments, keys: Collection[str]
) -> dict[str, Any]:
    """Load the list, and return the items with the given `keys`, by key. Deleted items are missing. Raises ApiError."""
    op, found_items = resource.list_operation(arguments), dict[str, Any]()
    if not isinstance(op, Listing):
        return _items_with_keys(resource, await live.send(op), keys)
    async for response in read_pages(live.send, op):
        found_items |= _items_with_keys(resource, response, keys)
        if len(found_items) == len(keys):
            break
    return found_items


def _items_with_keys(resource: Resource[Any], response: Any, keys: Collection[str]) -> dict[str, Any]:
    return {key: each for each in resource.items(response) if (key := resource.key(each)) in keys}


async def load_item(live: Live, resource: Resource[Any], arguments: Arguments, item: Any) -> Any | None:
    """Load an item again, and return the current item. None if the item was deleted. Raises ApiError."""
    if resource.get is None:
        key = resource.key(item)
        return (await _find_items(live, resource, arguments, [key])).get(key)
    try:
        current_item = await live.send(build_operation(resource.get, resource.arguments_for(arguments, item)))
    except NotFound:
        return None
    # The server still returns a deleted space for 7 days.
    return None if getattr(current_item, "deleted_at", None) is not None else current_item


def title_of_items(resource: Resource[Any], items: Sequence[Any]) -> str:
    """Return the title of the only item. If there are several items, their number, such as `3 teams`."""
    return resource.title(items[0]) if len(items) == 1 else plural(len(items), resource.singular, resource.plural)


async def delete_items(
    live: Live, resource: Resource[Any], arguments: Arguments, items: Sequence[Any]
) -> SendResult[tuple[Any, ...]]:
    """Delete items until a deletion fails. The result has the deleted items, and the kind `done` if there are any."""
    deleted_items: list[Any] = []
    for item in items:
        result = await _delete_one(live, resource, arguments, item)
        if result.kind != "done":
            if not deleted_items:
                return SendResult(result.kind, result.message)
            verb = resource.delete_verbs[1].capitalize()
            progress = f"{verb} {len(deleted_items)} of {len(items)} {resource.plural} before the error occurred."
            return SendResult("done", f"{result.message} {progress}", tuple(deleted_items))
        deleted_items.append(item)
    return SendResult("done", result=tuple(deleted_items))


async def _delete_one(live: Live, resource: Resource[Any], arguments: Arguments, item: Any) -> SendResult[bool]:
    assert resource.delete is not None, "the resource must have a delete operation"
    op = build_operation(resource.delete, resource.arguments_for(arguments, item))

    async def find(send: Send, attempt: WriteAttempt[Any]) -> AlreadyDone | None:
        return AlreadyDone(result=True) if await load_item(live, resource, arguments, item) is None else None

    name = resource.title(item)
    failed_message, missing_message = (
        f"Could not {resource.delete_verbs[0]} {name}",
        f"the server had not yet {resource.delete_verbs[1]} {name}",
    )
    kind = WriteKind[Any](find)
    return await send_direct(live, op, failure_prefix=failed_message, if_not_found=missing_message, kind=kind)


def undo_of_deletion(
    live: Live, resource: Resource[Any], arguments: Arguments, items: Sequence[Any]
) -> DirectUndo | None:
    """Return an undo that creates deleted items again. None if one of the items cannot be created again."""
    sends: list[_Send] = []
    for item in items:
        if (op := resource.recreate_operation(arguments, item)) is None:
            return None
        sends.append(partial(send_unchecked, live, op, f"Could not restore {resource.title(item)}"))
    name = title_of_items(resource, items)
    return _undo_of(f"restore {name}", sends, f"Restored {name}.")


async def send_action(
    live: Live, action: Action[Any], resource: Resource[Any], arguments: Arguments, item: Any, *, is_undo: bool = False
) -> SendResult[Any]:
    """Send the operation of an action on an item. With `is_undo`, send the operation that undoes the action."""
    operation, values = (action.undo_operation, action.undo_values) if is_undo else (action.operation, action.values)
    assert operation is not None, "the action must have an operation"
    op = build_operation(operation, {**resource.arguments_for(arguments, item), **values})
    return await send_unchecked(live, op, f"Could not change {resource.title(item)}")
