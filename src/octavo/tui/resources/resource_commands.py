"""Commands for the selected rows of a table, or else for the row with the cursor. Also the commands that create items
or need no selected row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from octavo.api.operation import SPECS, Model, Operation
from octavo.api.sites import Site
from octavo.tui.core.external_links import confirm_link, copy_text, missing_link_reason
from octavo.tui.core.file_dialogs import Export, ask_for_path, slug
from octavo.tui.core.permissions import has_permission, why_no_permission
from octavo.tui.core.shell import Shell
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.resources import resource_forms
from octavo.tui.resources.resource import Action, Arguments, NameOf, Resource, ResourceColumn, loaded_items
from octavo.tui.resources.table import FORMATS, TableState
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import InfoRow, as_clause, first_few, plural

MAX_TITLES = 12
"""Maximum number of titles that the confirmation of a deletion lists."""
MAX_TYPED_LENGTH = 60
"""Maximum length in characters of a title that the user must type to confirm a deletion."""
_FEATURES = {
    "redirects": "sites-redirects",
    "share_links": "sites-share-links",
    "adaptive_schema": "sites-adaptive-content",
    "site_structure.CreateSection": "sites-sections",
    "site_structure.UpdateSection": "sites-sections",
    "site_structure.CreateGroup": "sites-sections",
    "fonts": "sites-custom-fonts",
    "search.InSite": "sites-full-text-search",
}
"""Feature of the site that an operation needs, by name of the operation or of its API module."""


@dataclass(frozen=True)
class Selection:
    """The items on which a command runs: the selected rows of a table, or else the row with the cursor."""

    resource: Resource[Any]
    arguments: Arguments
    parent: Model
    """Item that contains the table: a site, a team, or the organization."""
    items: tuple[Any, ...]
    """Items on which the command runs. Never empty."""
    deselect: Callable[[Iterable[str]], None]
    """Deselects the items with these keys."""

    @property
    def first_item(self) -> Any:
        return self.items[0]

    @property
    def title(self) -> str:
        """Title of the item. If there are several items, their number, such as `3 teams`."""
        return resource_forms.title_of_items(self.resource, self.items)

    def why_no_permission(self, app: Shell, permission: str, verb_phrase: str) -> str | None:
        """Return why the user lacks `permission` on the items. None if granted. `verb_phrase` is text like `change`."""
        return why_no_permission(
            self._permission_sources(app), permission, f"{verb_phrase} {self.resource.plural}", self.resource.singular
        )

    def _permission_sources(self, app: Shell) -> Sequence[Any]:
        """Return the objects whose permissions apply to the items. An object is None if it is not loaded."""
        resource, needs = self.resource, self.resource.permissions
        if needs.on_item:
            return [resource.permission_source(item) for item in self.items]
        if not needs.parent_fields:
            return (self.parent,)
        lists = {
            name: loaded_items(app, self.arguments, resource.reference_lists, name) for name in needs.parent_fields
        }
        parents = {name: None if items is None else {item.id: item for item in items} for name, items in lists.items()}
        return [self._permission_source(item, parents) for item in self.items]

    def _permission_source(self, item: Any, parents: Mapping[str, Mapping[str, Any] | None]) -> Any:
        for name, parents_by_id in parents.items():
            if (id_of_parent := getattr(item, name, None)) is not None:
                return None if parents_by_id is None else parents_by_id.get(id_of_parent, self.parent)
        return self.parent

    def is_leaving(self, user_id: str) -> bool:
        """Return True if only the membership of the user `user_id` is selected, and members may end it."""
        user_ids = [self.resource.arguments_for(self.arguments, item).get("user_id") for item in self.items]
        return self.resource.permissions.allows_leaving and user_ids == [user_id]


def _why_unavailable(app: Shell, operation: type[Operation[Any]], parent: Model) -> str | None:
    reason = frozen_feature_reason(parent, operation) if isinstance(parent, Site) else None
    return reason or app.session.live.availability.why_unavailable(operation)


def frozen_feature_reason(site: Site, op: type[Operation[Any]]) -> str | None:
    """Return a sentence such as `The plan of “Guide” no longer includes redirects.` None if the plan includes the
    feature that `op` needs, if this is unknown, or if `op` needs no feature."""
    name = SPECS[op].name
    feature_id = _FEATURES.get(name) or _FEATURES.get(name.partition(".")[0])
    feature = next((each for each in site.features if each.id == feature_id and each.frozen), None)
    if feature is None:
        return None
    feature_name = feature.id.removeprefix("sites-").replace("-", " ")
    upgrade_sentence = f" Upgrade the site to the {feature.plan} plan." if feature.plan else ""
    return f"The plan of “{site.title}” no longer includes {feature_name}.{upgrade_sentence}"


def _why_not_deleted(app: Shell, selection: Selection) -> str | None:
    resource, me = selection.resource, app.workspace.me
    verb = resource.delete_label.lower()
    if resource.delete is None:
        return resource.read_only_reason or f"The server's API has no way to {verb} {resource.plural}."
    if reason := _why_unavailable(app, resource.delete, selection.parent):
        return reason
    if me is not None and selection.is_leaving(me.id):
        return None
    return selection.why_no_permission(app, resource.permissions.delete, verb)


def _delete_effects(resource: Resource[Any], items: Sequence[Any]) -> list[str]:
    titles_by_effect: dict[str, list[str]] = {}
    for item in items:
        for effect in resource.delete_effects(item):
            titles_by_effect.setdefault(effect, []).append(resource.title(item))
    sentences = []
    for effect, titles in titles_by_effect.items():
        if len(items) == 1 or titles[0] in effect:
            sentences.append(effect)
        else:
            affects_all_items = len(titles) == len(items)
            subject = f"For each {resource.singular}" if affects_all_items else ", ".join(first_few(titles, 2))
            sentences.append(f"{subject}: {effect[:1].lower()}{effect[1:]}")
    return sentences


def _delete(app: Shell, selection: Selection) -> None:
    resource, items = selection.resource, selection.items
    verb, past_verb = resource.delete_verbs
    origin_phrase = f" from the {resource.container}" if resource.container else ""
    action_text, button = f"{verb} {selection.title}{origin_phrase}", resource.delete_label
    live = app.session.live
    can_undo = resource_forms.undo_of_deletion(live, resource, selection.arguments, items) is not None
    confirmation = "" if can_undo else confirmation_text(button.lower(), resource, items)
    info_rows = [
        InfoRow("care", "", text) for text in first_few(_delete_effects(resource, items), MAX_TITLES, "more effects")
    ]
    if len(items) > 1:
        titles = first_few([resource.title(each) for each in items], MAX_TITLES)
        info_rows = [*(InfoRow("note", "", text) for text in titles), *info_rows]

    def make_undo(deleted_items: Sequence[Any]) -> DirectUndo:
        undo = resource_forms.undo_of_deletion(live, resource, selection.arguments, deleted_items)
        assert undo is not None, "each item can be created again"
        return undo

    def on_decided(answer: Confirmed) -> None:
        app.writes.send(
            action_text,
            resource_forms.delete_items(live, resource, selection.arguments, items),
            message=f"{past_verb[:1].upper()}{past_verb[1:]} {selection.title}{origin_phrase}.",
            on_success=lambda deleted_items: selection.deselect(map(resource.key, deleted_items)),
            make_undo=make_undo if can_undo else None,
        )

    app.ask(
        ConfirmDialog(
            f"{action_text[:1].upper()}{action_text[1:]}?",
            verb=button,
            intro="You can undo this by pressing u." if can_undo else "",
            info_rows=info_rows,
            word=confirmation,
            word_reason=f"This cannot be undone. Type {confirmation} to confirm.",
        ),
        on_decided,
    )


def confirmation_text(verb: str, resource: Resource[Any], items: Sequence[Any]) -> str:
    """Return the text that the user must type to confirm. For one item, its title, or `verb` if the title is hard to
    type. For several items, `verb` and their number, such as `delete 3`."""
    if len(items) > 1:
        return f"{verb} {len(items)}"
    name = " ".join(resource.title(items[0]).split())
    return name if name == resource.title(items[0]) and name.isascii() and 0 < len(name) <= MAX_TYPED_LENGTH else verb


def _edit_selected(app: Shell, selection: Selection) -> None:
    if len(selection.items) == 1:
        resource_forms.open_edit_form(app, selection.resource, selection.arguments, selection.first_item)
    else:
        resource_forms.open_bulk_edit_form(
            app, selection.resource, selection.arguments, selection.items, selection.deselect
        )


def _why_not_editable(app: Shell, selection: Selection) -> str | None:
    resource = selection.resource
    if resource.update is None:
        return resource.read_only_reason or f"The server's API has no way to change {resource.plural}."
    reason = _why_unavailable(app, resource.update, selection.parent)
    return reason or selection.why_no_permission(app, resource.permissions.update, "change")


@dataclass(frozen=True)
class CurrentTable:
    """The table on screen, for commands that create items in it or that need no selected item."""

    resource: Resource[Any]
    arguments: Arguments
    parent: Model
    on_created: Callable[[str], None]
    """Called with the key of the new item."""
    row: Any = None
    """The row with the cursor. None if the table has no rows."""


def _create(app: Shell, table: CurrentTable) -> None:
    if table.resource.add_item is not None:
        table.resource.add_item(app, table)
        return
    resource_forms.open_create_form(app, table.resource, table.arguments, table.on_created)


def why_not_create(app: Shell, table: CurrentTable) -> str | None:
    """Return why the user cannot create an item in a table. None if the user can."""
    resource = table.resource
    if resource.is_single and table.row is not None:
        return f"The {resource.singular} already exists. Press e to edit it."
    if resource.create is None and resource.add_item is None:
        return resource.read_only_reason or f"The server's API has no way to create {resource.plural}."
    if resource.create is not None and (reason := _why_unavailable(app, resource.create, table.parent)):
        return reason
    phrase = as_clause(resource.create_title) or f"create {resource.plural}"
    action = phrase if " " in phrase else f"{phrase} items"
    permission_reason = why_no_permission((table.parent,), resource.permissions.create, action, resource.singular)
    return permission_reason and (None if _may_create_in_some_parent(app, table) else permission_reason)


def _may_create_in_some_parent(app: Shell, table: CurrentTable) -> bool:
    for name, permission in table.resource.permissions.parent_fields.items():
        parents = loaded_items(app, table.arguments, table.resource.reference_lists, name)
        if parents is None or any(has_permission(parent, permission) for parent in parents):
            return True
    return False


def _why_not_run_command(app: Shell, table: CurrentTable) -> str | None:
    command = table.resource.command
    return None if command is None else _why_unavailable(app, command.operation, table.parent)


def _run_command(app: Shell, table: CurrentTable) -> None:
    if table.resource.command is not None:
        table.resource.command.run(app, table)


def _why_several(selection: Selection) -> str | None:
    if len(selection.items) == 1:
        return None
    return f"{selection.title} are selected. This key acts on one item at a time. Press esc to clear the selection."


def _why_no_actions(app: Shell, selection: Selection) -> str | None:
    if (reason := _why_several(selection)) is not None:
        return reason
    return selection.why_no_permission(app, selection.resource.permissions.update, "change")


def why_no_action(app: Shell, selection: Selection, action: Action[Any]) -> str | None:
    """Return why an action is not possible for the first selected item. None if it is possible."""
    reason = action.disabled_reason(selection.first_item) or _why_unavailable(app, action.operation, selection.parent)
    permission = action.permission(selection.first_item) or selection.resource.permissions.update
    return reason or selection.why_no_permission(app, permission, "change")


def _choose_action(app: Shell, selection: Selection) -> None:
    choices = [
        Choice(each, each.name, detail=each.help, disabled_reason=why_no_action(app, selection, each) or "")
        for each in selection.resource.actions
    ]

    def on_chosen(action: Action[Any]) -> None:
        if action.run is not None:
            action.run(app, selection)
        else:
            _confirm_action(app, selection, action)

    app.ask(Picker(selection.resource.title(selection.first_item), choices), on_chosen)


def open_first_action(app: Shell, selection: Selection) -> None:
    """Open the form of the first action of the resource, for the first selected item."""
    resource = selection.resource
    resource_forms.open_action_form(app, resource, selection.arguments, selection.first_item, resource.actions[0])


def _confirm_action(app: Shell, selection: Selection, action: Action[Any]) -> None:
    resource, arguments, item, live = selection.resource, selection.arguments, selection.first_item, app.session.live
    title = resource.title(item)
    send_undo = partial(resource_forms.send_action, live, action, resource, arguments, item, is_undo=True)
    undo = DirectUndo(f"undo “{action.name}” for {title}", send_undo, f"Undid “{action.name}” for {title}.")

    def on_decided(answer: Confirmed) -> None:
        app.writes.send(
            f"{action.name.lower()} {title}",
            resource_forms.send_action(live, action, resource, arguments, item),
            message=f"{title} {action.done_text}.",
            make_undo=None if action.undo_operation is None else lambda _: undo,
        )

    app.ask(ConfirmDialog(f"{action.name} {title}?", verb=action.name, intro=action.help), on_decided)


def _url_of(selection: Selection) -> str:
    urls = getattr(selection.first_item, "urls", None)
    candidates = (getattr(urls, name, "") for name in ("app", "published", "public"))
    return selection.resource.url_of(selection.first_item) or next(filter(None, candidates), "") or ""


def _why_no_url(app: Shell, selection: Selection) -> str | None:
    no_url_reason = None if _url_of(selection) else missing_link_reason(app, selection.resource.singular)
    return _why_several(selection) or no_url_reason


def _why_not_opened(app: Shell, selection: Selection) -> str | None:
    if app.session.is_embedded:
        return _why_several(selection) or missing_link_reason(app, selection.resource.singular)
    return _why_no_url(app, selection)


def _copy(app: Shell, selection: Selection) -> None:
    titles_text = "\n".join(selection.resource.title(item) for item in selection.items)
    label = f"the name of {selection.title}" if len(selection.items) == 1 else f"the names of {selection.title}"
    copy_text(app, titles_text, f"Copied {label}.")


CREATE_COMMANDS: Commands[CurrentTable] = Commands(
    "resource",
    (
        Command("create", "ctrl+n", "New", "Create an item", run=_create, why_not=why_not_create, writes=True,
                title_now=lambda _, table: table.resource.create_label if table.resource.create or table.resource.add_item else None,
                applies=lambda _, table: bool(table.resource.create or table.resource.add_item)),
        Command("ask", "t", "Test", "Test a link on the site, or search the site", run=_run_command, why_not=_why_not_run_command,
                is_available=lambda _, table: table.resource.command is not None,
                title_now=lambda _, table: None if table.resource.command is None else table.resource.command.name),
    ),
)  # fmt: skip
SELECTION_COMMANDS: Commands[Selection] = Commands(
    "resource",
    (
        Command("change", "e", "Edit", "Edit the selected items", run=_edit_selected, why_not=_why_not_editable, writes=True,
                title_now=lambda _, selection: "Edit" + (f" ({len(selection.items)})" if len(selection.items) > 1 else ""),
                applies=lambda _, selection: selection.resource.update is not None),
        Command("delete", "X", "Delete", "Delete or remove the selected items (asks for confirmation)",
                run=_delete, why_not=_why_not_deleted, writes=True, title_now=lambda _, selection: _delete_label(selection),
                applies=lambda _, selection: selection.resource.delete is not None),
        Command("act", "a", "More…", "Show more actions for the selected item", run=_choose_action, why_not=_why_no_actions, writes=True,
                is_available=lambda _, selection: bool(selection.resource.actions)),
        Command("yank", "y", "Copy name", "Copy the names of the selected items", run=_copy, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy the link to the selected item", shown=False, why_not=_why_no_url,
                run=lambda app, selection: copy_text(app, _url_of(selection), f"Copied the link to {selection.resource.title(selection.first_item)}.")),
        Command("open_browser", "o", "Open in browser", "Open the selected item in the browser", shown=False,
                run=lambda app, selection: confirm_link(app, _url_of(selection)), why_not=_why_not_opened),
    ),
    context="selected items",
    no_target="Select an item first.",
)  # fmt: skip


def _delete_label(selection: Selection) -> str:
    resource, count = selection.resource, len(selection.items)
    origin_phrase = f" from {resource.container}" if resource.container else ""
    return f"{resource.delete_label}{origin_phrase}{f' ({count})' if count > 1 else ''}"


def choose_sort_column(app: Shell, table: TableState, on_change: Callable[[], None]) -> None:
    """Ask by which column to sort, sort the table, and call `on_change`."""
    default_order = "Default order"
    current_note = "current · press enter to reverse the order"
    choices: list[Choice[ResourceColumn[Any] | str]] = [
        Choice(each, _column_label(each), right=current_note if each is table.sort_column else "")
        for each in table.resource.columns
    ]
    choices.append(Choice(default_order, default_order, right="" if table.sort_column is not None else "current"))

    def on_chosen(column: ResourceColumn[Any] | str) -> None:
        table.sort_by(None if isinstance(column, str) else column)
        on_change()

    app.ask(Picker(f"Sort {table.resource.plural}", choices, initial=table.sort_column or default_order), on_chosen)  # type: ignore[misc]  # mypy infers no union


def _column_label(column: ResourceColumn[Any]) -> str:
    return f"{column.name[:1].upper()}{column.name[1:]}"


def choose_columns(
    app: Shell, table: TableState, on_change: Callable[[], None], selected: ResourceColumn[Any] | None = None
) -> None:
    """Ask which columns to show or hide, until the user closes the dialog. `on_change` shows the new columns. The
    column `selected` is selected first."""
    columns, visible_columns = table.resource.columns, table.columns
    choices = [Choice(each, _column_label(each), right="shown" if each in visible_columns else "") for each in columns]

    def on_chosen(column: ResourceColumn[Any]) -> None:
        table.toggle_column(column)
        on_change()
        choose_columns(app, table, on_change, column)

    app.ask(Picker(f"Choose columns for {table.resource.plural}", choices, initial=selected), on_chosen)


def export(app: Shell, table: TableState, items: Sequence[Any], name_of: NameOf) -> None:
    """Ask for a format and a path, and export `items` to a file."""
    resource = table.resource
    items_text = plural(len(items), resource.singular, resource.plural)

    async def content(extension: str) -> AsyncIterator[bytes]:
        text = await asyncio.to_thread(FORMATS[extension][1], table.columns, items, name_of, resource.secret_fields)
        yield text.encode("utf-8", "replace")

    notes = {"json": "all fields", "csv": "the visible columns", "md": "a table with the visible columns"}
    choices = [Choice(extension, name, detail=notes[extension]) for extension, (name, _) in FORMATS.items()]
    name = slug(resource.plural)
    app.ask(
        Picker(f"Export {items_text}", choices),
        lambda extension: ask_for_path(app, Export(items_text, f"{name}.{extension}", partial(content, extension))),
    )
