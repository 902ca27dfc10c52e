"""Actions on the rows of a table: the selected rows, else the row with the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api.operation import Model, Operation
from octavo.api.sites import Site
from octavo.data.availability import why_frozen
from octavo.tui.resources import writing
from octavo.tui.resources.exports import FORMATS
from octavo.tui.resources.references import loaded_items
from octavo.tui.resources.resource import Action, Arguments, NameOf, Resource, TableColumn
from octavo.tui.resources.table import TableState
from octavo.tui.shell.permissions import has_right, lacks_right
from octavo.tui.shell.shell import Shell
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.wording import plural

MAX_TITLES = 12
"""Most titles in the confirmation of a deletion."""
MAX_TYPED_LENGTH = 60
"""Longest title that must be typed to confirm. The verb replaces longer titles and titles that are not ASCII."""


@dataclass(frozen=True)
class Selection:
    """The selected items and their place."""

    resource: Resource[Any]
    arguments: Arguments
    parent: Model
    """The parent: a site, a team, or the organization."""
    items: tuple[Any, ...]
    """The selected items, else the item with the cursor."""
    clear: Callable[[], None]

    @property
    def first(self) -> Any:
        """The first selected item."""
        return self.items[0]

    @property
    def first_arguments(self) -> Arguments:
        """Arguments for operations on the first item."""
        return self.resource.arguments_for(self.arguments, self.first)

    @property
    def title(self) -> str:
        """The title of a single item, else the number of items."""
        return writing.title_of_items(self.resource, self.items)

    def why_no_permission(self, app: Shell, right: str, deed: str) -> str | None:
        """Return why the user lacks a permission on the items. None if the user has the permission."""
        return lacks_right(
            self._permission_sources(app), right, f"{deed} {self.resource.plural}", self.resource.singular
        )

    def _permission_sources(self, app: Shell) -> Sequence[Any]:
        """Return the objects with the user's permissions. None in the place of an object that is not loaded."""
        resource, rights = self.resource, self.resource.permissions
        if rights.on_item:
            return [resource.permission_source(each) for each in self.items]
        if not rights.place_fields:
            return (self.parent,)
        listed = {
            name: loaded_items(app, self.arguments, resource.reference_lists, name) for name in rights.place_fields
        }
        places = {name: None if found is None else {each.id: each for each in found} for name, found in listed.items()}
        return [self._permission_source(each, places) for each in self.items]

    def _permission_source(self, thing: Any, places: Mapping[str, Mapping[str, Any] | None]) -> Any:
        for name, found in places.items():
            if (named := getattr(thing, name, None)) is not None:
                return None if found is None else found.get(named, self.parent)
        return self.parent

    def is_leaving(self, user: str) -> bool:
        """Return whether the deletion removes only this user from a team or the organization."""
        about = [self.resource.arguments_for(self.arguments, each).get("user_id") for each in self.items]
        return self.resource.permissions.allows_leaving and about == [user]


def _why_unavailable(app: Shell, operation: type[Operation[Any]], inside: Model) -> str | None:
    """Return why the server or the site's plan does not support an operation. None if it does, as far as Octavo
    knows."""
    frozen = why_frozen(inside, operation) if isinstance(inside, Site) else None
    return frozen or app.session.live.unavailable(operation)


# Deleting


def _why_not_deleted(app: Shell, at: Selection) -> str | None:
    verb = at.resource.delete_label.lower()
    if at.resource.delete is None:
        return at.resource.read_only_reason or f"The server's API has no way to {verb} {at.resource.plural}."
    if why := _why_unavailable(app, at.resource.delete, at.parent):
        return why
    me = app.workspace.me
    return (
        None
        if me is not None and at.is_leaving(me.id)
        else at.why_no_permission(app, at.resource.permissions.delete, verb)
    )


def _delete(app: Shell, at: Selection) -> None:
    from octavo.tui.widgets.confirm import Confirm, Confirmed
    from octavo.tui.widgets.fact_list import Fact

    resource, things = at.resource, at.items
    verb, done = resource.delete_verbs
    whence = f" from the {resource.container}" if resource.container else ""
    title, button = f"{verb} {at.title}{whence}", resource.delete_label
    live = app.session.live
    back = writing.undo_of_deletion(live, resource, at.arguments, things)
    typed = "" if back is not None else text_to_type(button.lower(), resource, things)
    effects = list(dict.fromkeys(said for thing in things for said in resource.delete_effects(thing)))
    facts = [Fact("care", "", said) for said in first_titles(effects, "more effects")]
    if len(things) > 1:
        named = first_titles([resource.title(each) for each in things], "more")
        facts = [*(Fact("note", "", said) for said in named), *facts]

    def decided(answer: Confirmed | None) -> None:
        if answer is None:
            return
        at.clear()
        app.writes.send(
            title,
            writing.delete_items(live, resource, at.arguments, things),
            said=f"{done[:1].upper()}{done[1:]} {at.title}{whence}.",
            back=None if back is None else lambda _: back,
        )

    app.push_screen(
        Confirm(
            f"{title[:1].upper()}{title[1:]}?",
            verb=button,
            intro="" if back is None else "You can undo this by pressing u.",
            facts=facts,
            typed=typed,
            why_typed=f"This cannot be undone. Type {typed} to confirm.",
        ),
        decided,
    )


def first_titles(names: Sequence[str], more: str) -> list[str]:
    """Return the first names or sentences. The last item counts those that are not shown, and calls them `more`."""
    rest = len(names) - MAX_TITLES
    return [*names[:MAX_TITLES], f"and {rest} {more}"] if rest > 0 else list(names)


def text_to_type(verb: str, resource: Resource[Any], things: Sequence[Any]) -> str:
    """Return what must be typed to confirm: the name of one thing, or the verb and the count of several."""
    if len(things) > 1:
        return f"{verb} {len(things)}"
    name = " ".join(resource.title(things[0]).split())
    return name if name == resource.title(things[0]) and name.isascii() and 0 < len(name) <= MAX_TYPED_LENGTH else verb


# Creating and editing


def _change(app: Shell, at: Selection) -> None:
    from octavo.tui.resources import filling  # lazy: the forms and their fields, not needed to browse

    if len(at.items) == 1:
        filling.open_edit_form(app, at.resource, at.arguments, at.first)
    else:
        filling.open_bulk_edit_form(app, at.resource, at.arguments, at.items, at.clear)


def _why_not_changed(app: Shell, at: Selection) -> str | None:
    if at.resource.update is None:
        return at.resource.read_only_reason or f"The server's API has no way to change {at.resource.plural}."
    why = _why_unavailable(app, at.resource.update, at.parent)
    return why or at.why_no_permission(app, at.resource.permissions.update, "change")


@dataclass(frozen=True)
class CreateTarget:
    """The target for new items: a table and its parent."""

    resource: Resource[Any]
    arguments: Arguments
    parent: Model
    on_created: Callable[[str], None]
    """Called with the key of the new item."""
    row: Any = None
    """The row with the cursor."""


def _create(app: Shell, place: CreateTarget) -> None:
    if place.resource.add_item is not None:
        place.resource.add_item(app, place)
        return
    from octavo.tui.resources import filling  # lazy: as in _change

    filling.open_create_form(app, place.resource, place.arguments, place.on_created)


def _why_not_created(app: Shell, place: CreateTarget) -> str | None:
    resource = place.resource
    if resource.is_single and place.row is not None:
        return f"The {resource.singular} already exists. Press e to edit it."
    if resource.create is None and resource.add_item is None:
        return resource.read_only_reason or f"The server's API has no way to create {resource.plural}."
    if resource.create is not None and (why := _why_unavailable(app, resource.create, place.parent)):
        return why
    lacks = lacks_right((place.parent,), resource.permissions.create, f"create {resource.plural}", resource.singular)
    return lacks and (None if _may_create_in_some(app, place) else lacks)


def _may_create_in_some(app: Shell, place: CreateTarget) -> bool:
    """Return whether the user may create the item in one of the spaces or collections. True if they are not loaded."""
    for name, right in place.resource.permissions.place_fields.items():
        found = loaded_items(app, place.arguments, place.resource.reference_lists, name)
        if found is None or any(has_right(each, right) for each in found):
            return True
    return False


def _why_no_command(app: Shell, place: CreateTarget) -> str | None:
    return None if (ask := place.resource.command) is None else _why_unavailable(app, ask.operation, place.parent)


def _run_command(app: Shell, place: CreateTarget) -> None:
    if place.resource.command is not None:
        place.resource.command.run(app, place)


# Actions


def _why_no_actions(app: Shell, at: Selection) -> str | None:
    if not at.resource.actions:
        return f"There are no other actions for {at.resource.plural}."
    return at.why_no_permission(app, at.resource.permissions.update, "change")


def why_no_action(app: Shell, at: Selection, action: Action[Any]) -> str | None:
    """Return why an action is not possible for the first item. None if it is possible."""
    why = action.disabled_reason(at.first) or _why_unavailable(app, action.operation, at.parent)
    return why or at.why_no_permission(app, action.permission(at.first) or at.resource.permissions.update, "change")


def _choose_action(app: Shell, at: Selection) -> None:
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    choices = [
        Choice(
            each,
            each.name,
            detail=each.help,
            off=why_no_action(app, at, each) or "",
        )
        for each in at.resource.actions
    ]

    def chosen(action: Action[Any] | None) -> None:
        if action is not None and action.run is not None:
            action.run(app, at)
        elif action is not None:
            _confirm_action(app, at, action)

    app.push_screen(Picker(at.resource.title(at.first), choices), chosen)


def open_first_action(app: Shell, at: Selection) -> None:
    """Open the form of the resource's first action."""
    from octavo.tui.resources import filling  # lazy: as in _change

    filling.open_action_form(app, at.resource, at.arguments, at.first, at.resource.actions[0])


def _confirm_action(app: Shell, at: Selection, action: Action[Any]) -> None:
    from octavo.tui.shell.write_queue import DirectUndo
    from octavo.tui.widgets.confirm import Confirm, Confirmed

    resource, known, thing, live = at.resource, at.arguments, at.first, app.session.live
    title = resource.title(thing)
    back = partial(writing.send_action, live, action, resource, known, thing, back=True)
    undo = DirectUndo(f"undo “{action.name}” for {title}", back, f"Undid “{action.name}” for {title}.")

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.writes.send(
                f"{action.name.lower()} {title}",
                writing.send_action(live, action, resource, known, thing),
                said=f"{title} {action.done_text}.",
                back=None if action.undo_operation is None else lambda _: undo,
            )

    app.push_screen(Confirm(f"{action.name} {title}?", verb=action.name, intro=action.help), decided)


# Copying and opening


def _url_of(at: Selection) -> str:
    urls = getattr(at.first, "urls", None)
    named = (getattr(urls, name, "") for name in ("app", "published", "public"))
    return at.resource.url_of(at.first) or next(filter(None, named), "") or ""


def _why_no_url(app: Shell, at: Selection) -> str | None:
    if not _url_of(at):
        return f"{at.resource.title(at.first)} has no link."
    return None


def _why_not_opened(app: Shell, at: Selection) -> str | None:
    if app.session.is_here:
        from octavo.tui.shell.outside import said_without_address

        return said_without_address(app, at.resource.singular)
    return _why_no_url(app, at)


def _open(app: Shell, at: Selection) -> None:
    from octavo.tui.shell.outside import open_outside

    open_outside(app, _url_of(at))


def _copy(app: Shell, at: Selection) -> None:
    names = "\n".join(at.resource.title(each) for each in at.items)
    what = f"the name of {at.title}" if len(at.items) == 1 else f"the names of {at.title}"
    clipboard.copy(app, names, f"Copied {what}.")


def _create_label(resource: Resource[Any]) -> str | None:
    return None if resource.create is None and resource.add_item is None else resource.create_label


CREATE_COMMANDS: Commands[CreateTarget] = Commands(
    "resource",
    (
        Command("create", "ctrl+n", "New", "Create an item", run=_create, why_not=_why_not_created, writes=True,
                called=lambda _, place: _create_label(place.resource)),
        Command("ask", "t", "Test", "Test a link on the site, or search the site", run=_run_command, why_not=_why_no_command,
                there=lambda _, place: place.resource.command is not None,
                called=lambda _, place: None if place.resource.command is None else place.resource.command.name),
    ),
)  # fmt: skip
"""Commands for new items."""
SELECTION_COMMANDS: Commands[Selection] = Commands(
    "resource",
    (
        Command("change", "e", "Edit", "Edit the selected items", run=_change, why_not=_why_not_changed, writes=True,
                called=lambda _, at: "Edit" + (f" ({len(at.items)})" if len(at.items) > 1 else "")),
        Command("delete", "X", "Delete", "Delete the selected items (asks for confirmation)",
                run=_delete, why_not=_why_not_deleted, writes=True, called=lambda _, at: _delete_label(at)),
        Command("act", "a", "More…", "Show more actions for the selected item", run=_choose_action, why_not=_why_no_actions, writes=True,
                there=lambda _, at: bool(at.resource.actions)),
        Command("yank", "y", "Copy name", "Copy the names of the selected items", run=_copy, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy the link to the selected item", shown=False, why_not=_why_no_url,
                run=lambda app, at: clipboard.copy(app, _url_of(at), f"Copied the link to {at.resource.title(at.first)}.")),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser", run=_open, why_not=_why_not_opened, shown=False),
    ),
    context="selected items",
    nothing="Select an item first.",
)  # fmt: skip
"""Commands for the selected items."""


def _delete_label(at: Selection) -> str:
    whence = f" from {at.resource.container}" if at.resource.container else ""
    return f"{at.resource.delete_label}{whence}" + (f" ({len(at.items)})" if len(at.items) > 1 else "")


# Columns, order and export


def choose_sort_column(app: Shell, table: TableState, changed: Callable[[], None]) -> None:
    """Ask for the column to sort by."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    as_listed = "Default order"
    choices: list[Choice[TableColumn[Any] | str]] = [
        Choice(each, f"{each.name[:1].upper()}{each.name[1:]}", right=_order_note(table, each))
        for each in table.resource.columns
    ]
    choices.append(Choice(as_listed, as_listed, right="" if table.sort_column is not None else "current"))

    def chosen(by: TableColumn[Any] | str | None) -> None:
        if by is not None:
            table.sort_by(None if isinstance(by, str) else by)
            changed()

    app.push_screen(Picker(f"Sort {table.resource.plural}", choices, now=table.sort_column or as_listed), chosen)


def _order_note(table: TableState, column: TableColumn[Any]) -> str:
    return "" if column is not table.sort_column else "current · press enter to reverse the order"


def choose_columns(
    app: Shell, table: TableState, changed: Callable[[], None], now: TableColumn[Any] | None = None
) -> None:
    """Ask for columns to show or hide, until the user closes the list."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    choices = [
        Choice(each, f"{each.name[:1].upper()}{each.name[1:]}", right="shown" if each in table.columns else "")
        for each in table.resource.columns
    ]

    def chosen(column: TableColumn[Any] | None) -> None:
        if column is not None:
            table.toggle_column(column)
            changed()
            choose_columns(app, table, changed, column)

    app.push_screen(Picker(f"Choose columns for {table.resource.plural}", choices, now=now), chosen)


def export(app: Shell, table: TableState, things: Sequence[Any], names: NameOf) -> None:
    """Ask for a format and a file, and export items."""
    from octavo.tui.shell.exporting import Export, ask_where, slug
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    resource = table.resource
    what = plural(len(things), resource.singular, resource.plural)

    async def content(ending: str) -> AsyncIterator[bytes]:
        written = await asyncio.to_thread(FORMATS[ending][1], table.columns, things, names, resource.secret_fields)
        yield written.encode("utf-8", "replace")

    def chosen(ending: str | None) -> None:
        if ending is not None:
            ask_where(app, Export(what, f"{slug(resource.plural)}.{ending}", partial(content, ending)))

    details = {
        "json": "all fields",
        "csv": "the visible columns",
        "md": "a table with the visible columns",
    }
    choices = [Choice(ending, name, detail=details[ending]) for ending, (name, _) in FORMATS.items()]
    app.push_screen(Picker(f"Export {what}", choices), chosen)
