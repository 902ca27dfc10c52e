"""The views Sites and Admin (`BrowserScreen`): tables, the rows of one table, and the details of the selected row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.errors import NotFound
from octavo.api.operation import SPECS, Listing, ListPage, Model, Operation, OrganizationRef
from octavo.api.organizations import Organization
from octavo.api.wire import url_path
from octavo.data.live import Snapshot
from octavo.tui.core.item_info import show_info
from octavo.tui.core.list_view import PREVIEW_COMMANDS, ListView, Preview, browse_commands
from octavo.tui.core.routes import Route, ToPage
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import focus_if, is_covered, show_load_error
from octavo.tui.resources import resource_commands, site_tree
from octavo.tui.resources.resource import NO_VALID_ID, Arguments, Resource, build_largest_list_operation, names_by_id
from octavo.tui.resources.table import DetailLoader, Details, TableState
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.short_texts import as_clause, plural, short_age
from octavo.tui.widgets.text_widgets import ChangingText

LOAD_DELAY = 0.12
"""Seconds that the cursor must stay on a table before Octavo loads its rows."""
MAX_ROWS = 20_000
"""Maximum number of rows that Octavo loads for one table."""


@dataclass
class BrowserLevel:
    """The tables that can be chosen at one level: of the organization, or inside an opened item."""

    title: str
    """Title of the opened item in the breadcrumbs, such as `Guide`."""
    resources: tuple[Resource[Any], ...]
    arguments: Arguments
    parent: Model
    """The object whose `permissions` apply to the tables: mostly the opened item, at the top level the organization."""
    status: str = ""
    resource: Resource[Any] = field(init=False)
    """The table that is selected."""
    positions: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Filter text and key of the selected row for each table that the user has left, by `Resource.plural`."""

    def __post_init__(self) -> None:
        self.resource = self.resources[0]

    def selection(
        self, *rows: Any, deselect: Callable[[Iterable[str]], None] = lambda keys: None
    ) -> resource_commands.Selection | None:
        """Return one or more rows as a `Selection` with the function `deselect`. None if a row has an invalid ID."""
        resource, items = self.resource.item_of(rows[0])[0], tuple(self.resource.item_of(row)[1] for row in rows)
        if not all(resource.has_valid_ids(self.arguments, item) for item in items):
            return None
        return resource_commands.Selection(resource, self.arguments, self.parent, items, deselect)

    def current_table(
        self, on_created: Callable[[str], None] = lambda key: None, row: Any = None
    ) -> resource_commands.CurrentTable:
        """Return the selected table. `row` is the row with the cursor. `on_created` gets the key of a new item."""
        return resource_commands.CurrentTable(self.resource, self.arguments, self.parent, on_created, row)

    def child_level(self, item: Any) -> BrowserLevel:
        """Return the level below: the tables inside an item of the selected table."""
        resource = self.resource
        arguments, parent = resource.arguments_for(self.arguments, item), resource.permission_source(item)
        return BrowserLevel(resource.title(item), resource.children, arguments, parent, resource.status(item))


def _move_to_table(step: int) -> Callable[[Shell, BrowserScreen], None]:
    return lambda _, view: view.table_list.move(step) if view.levels else view.pending_navigation.move(step)


def _why_no_table(app: Shell, view: BrowserScreen) -> str | None:
    return None if view.levels else StillLoading("The organization is still loading.")


def _why_not_sorted(app: Shell, view: BrowserScreen) -> str | None:
    if view.levels and view.level.resource.resolve_row is not None:
        target = selected_site_part(view)
        move = " To move an item, press alt+↑ or alt+↓." if target is not None and target.structure is not None else ""
        return f"This list is in the order that visitors see, so you cannot sort it.{move}"
    return _why_no_table(app, view)


def _why_single_table(app: Shell, view: BrowserScreen) -> str | None:
    return "There is only one table here." if view.levels and len(view.level.resources) < 2 else None


def selection(view: BrowserScreen) -> resource_commands.Selection | None:
    """Return the selected rows, else the row with the cursor. None if no row is visible, or if a row ID is invalid."""
    if not view.levels or view.rows.item is None or is_covered(view, view.rows):
        return None
    return view.level.selection(*(view.selected_rows or (view.rows.item,)), deselect=view.rows.selection.remove)


def current_table(view: BrowserScreen) -> resource_commands.CurrentTable | None:
    """Return the table on screen, for commands that create items. None until the organization is loaded."""
    return view.level.current_table(view.select_new_item, view.rows.item) if view.levels else None


def selected_site_part(view: BrowserScreen) -> site_tree.SelectedSitePart | None:
    """Return the site and its selected part, for commands that move the part. None if no table is visible."""
    if not view.levels or is_covered(view, view.rows):
        return None
    level = view.level
    return site_tree.selected_site_part(
        level.resource, level.arguments, level.parent, view.snapshot.value, view.rows.item
    )


def _open_route(view: BrowserScreen, route: Route) -> None:
    if isinstance(route, ToPage) and view.shell.workspace.space(route.space_id) is None:
        view.shell.explain("You do not have access to this space.")
    else:
        view.shell.go(route)


def _why_no_selection(view: BrowserScreen) -> str:
    if view.levels and is_covered(view, view.rows):
        return f"The list of {view.level.resource.plural} is hidden. Press enter to show it."
    return NO_VALID_ID if view.levels and view.rows.item is not None else "Select an item first."


TABLE_COMMANDS: Commands[BrowserScreen] = Commands(
    "resources",
    (
        Command("previous_kind", "left_square_bracket", "Previous", "Show the previous table", key_display="[", shown=False,
                run=_move_to_table(-1), why_not=_why_single_table),
        Command("next_kind", "right_square_bracket", "Next", "Show the next table", key_display="]",
                run=_move_to_table(1), why_not=_why_single_table),
        Command("sort", "S", "Sort", "Sort by a column, or reverse the order",
                run=lambda _, view: resource_commands.choose_sort_column(view.shell, view.table, view.redraw_list), why_not=_why_not_sorted),
        Command("columns", "F", "Columns", "Show or hide columns",
                run=lambda _, view: resource_commands.choose_columns(view.shell, view.table, view.redraw_list), why_not=_why_no_table),
        Command("export", "ctrl+e", "Export", "Export the list as CSV, JSON, or Markdown", shown=False,
                run=lambda app, view: resource_commands.export(app, view.table, view.selected_rows or tuple(view.rows.items), view.name_of),
                why_not=lambda _, view: None if view.rows.items else "This list has no items to export."),
        *browse_commands("item"),
        Command("up", "escape", "Back", "Go up one level", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip


class BrowserScreen(ListView[Any]):
    """A view of tables that are declared as `Resource`. Enter opens an item, esc goes up one level."""

    HELP_NAME = "sites and organization"
    HELP = (
        "The tables are on the left. The items in the selected table and the details of the selected item are on the right. "
        "Press enter to open an item, ctrl+n to create an item, e to edit the selected items, or X to delete them. "
        "Press esc to go up one level."
    )
    CSS_PATH = "browser.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = (
        "list.open",
        "resource.change",
        "resource.create",
        "structure.move",
        "resource.ask",
        "resource.delete",
        "resource.act",
        "list.tick",
        "resources.sort",
        "resources.columns",
        "list.filter",
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        resource_commands.SELECTION_COMMANDS.for_target(selection, no_target=_why_no_selection),
        resource_commands.CREATE_COMMANDS.for_target(current_table),
        site_tree.STRUCTURE_COMMANDS.for_target(selected_site_part),
        PREVIEW_COMMANDS,
        TABLE_COMMANDS,
    )

    table_list: RowList[Resource[Any]]

    def __init__(
        self,
        mode: str,
        title: str,
        resources: tuple[Resource[Any], ...],
        root_arguments: Callable[[Organization], Arguments],
    ) -> None:
        """`root_arguments` returns arguments for the tables of an organization, in addition to `at`."""
        super().__init__()
        self.MODE = mode
        self._title, self._resources, self._root_arguments = title, resources, root_arguments
        self.levels: list[BrowserLevel] = []
        """The levels that the user has opened, the top level first. Empty until the organization is loaded."""
        self.tables: dict[str, TableState] = {}
        self.counts: dict[tuple[str, Operation[Any]], str] = {}
        """Number of items of each table that was loaded, such as `300+`, by `Resource.plural` and list operation."""
        self.snapshot: Snapshot[Any] = Snapshot()
        self._names: dict[str, str] = {}
        """Names of items by ID, to show instead of IDs."""
        self._detail_loader = DetailLoader(self, lambda: self.live, self._show_details)
        self._load_delay = Delay(self)
        self._new_key = ""
        """Key of a new item to select as soon as the list contains the item. Empty if no item is awaited."""
        self.pending_navigation = PendingNavigation(self)

    def body(self) -> Iterable[Widget]:
        self.table_list = RowList(self._render_table_row, key=lambda each: each.plural, id="kinds")
        self.rows = RowList(
            lambda item: self.table.render_row(item, self.name_of),
            key=lambda item: self.level.resource.key(item),
            search=lambda item: self.table.search_text(item, self.name_of),
            selectable=lambda _: self.level.resource.resolve_row is None,
            id="things",
        )
        details = Details(id="details")
        self.preview = Preview(self, self.rows, (details,))
        with Horizontal(id="all"):
            with Vertical(id="left", classes="hairline"):
                yield ChangingText("", classes="pane-title", id="inside")
                yield ChangingText("", id="state")
                yield self.table_list
            with Horizontal(id="right"):
                with Vertical(id="table"):
                    yield ChangingText("", classes="pane-title", id="kind")
                    yield self.rows
                yield details

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._open_organization)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._refresh_spaces())
        self._refresh_spaces()
        if self.shell.workspace.organization is not None:
            self._open_organization(self.shell.workspace.organization)
        self.rows.focus()

    def _refresh_spaces(self) -> None:
        if self.show_no_organization(self.rows, self._resources[0].plural):
            self.levels.clear()
            self.follow("list", None)
            self.table_list.show(())
            self.table_list.display = False
            self.query_one("#inside", Static).update("")
        else:
            self.add_names()

    def _open_organization(self, organization: Organization) -> None:
        self.levels.clear()
        self.counts.clear()
        at = OrganizationRef(organization_id=organization.id)
        arguments = {"at": at, **self._root_arguments(organization)}
        resources = tuple(resource for resource in self._resources if resource.is_available(arguments))
        self.levels.append(BrowserLevel(self._title, resources, arguments, organization))
        self.pending_navigation.show_top_level()

    @property
    def level(self) -> BrowserLevel:
        """The level whose tables are on the screen."""
        return self.levels[-1]

    @property
    def table(self) -> TableState:
        """Columns and sort order of the selected table."""
        resource = self.level.resource
        name = f"{resource.name} {resource.plural}"
        if name not in self.tables:
            self.tables[name] = TableState(resource, self.shell.session.state)
        return self.tables[name]

    def show_level(self) -> None:
        level = self.level
        self.set_class(len(level.resources) < 2, "-one-kind")
        self.query_one("#inside", Static).update(Content(level.title.upper() if len(self.levels) == 1 else level.title))
        self.query_one("#state", Static).update(Content(level.status))
        self.table_list.display = True
        self.table_list.show(level.resources)
        self.table_list.go_to(level.resource.plural)
        self._open_table(level.resource)
        (self.table_list if len(level.resources) > 1 and len(self.levels) > 1 else self.rows).focus()

    def show_table(self, plural_name: str) -> None:
        """Show the top-level table `plural_name`, or the last selected top-level table if the name is unknown."""
        self.save_position()
        del self.levels[1:]
        self.level.resource = next(
            (resource for resource in self.level.resources if resource.plural == plural_name), self.level.resource
        )
        self.show_level()

    def save_position(self) -> None:
        if self.levels:
            self.level.positions[self.level.resource.plural] = (self.rows.query_text, self.rows.key)

    @on(LineList.Highlighted, "#kinds")
    def _select_table(self) -> None:
        resource = self.table_list.item
        if resource is not None and self.levels and resource.plural != self.level.resource.plural:
            self.save_position()
            self._open_table(resource, delay=LOAD_DELAY)

    def _open_table(self, resource: Resource[Any], *, delay: float = 0.0, force: bool = False) -> None:
        """Show a table and load its rows after `delay` seconds. `force` also loads a list that was unavailable."""
        self.level.resource, self.snapshot, self._new_key = resource, Snapshot(), ""
        self.follow("list", None)
        self.rows.selection.clear()
        self.rows.show(())  # Remove the old rows first, because `set_filter` would redraw them.
        self.rows.set_filter("")
        self.rows.last_selected_key = None
        self.rows.columns = self.table.headings()
        self._load_delay.stop()
        if self._unavailable_reason(resource) and not (
            force and resource.unavailable_reason(self.level.parent) is None
        ):
            self.redraw_list()
            return
        self.rows.state.show_loading(resource.plural)
        self._show_details()
        self._update_status()
        if delay:
            self._load_delay.start(delay, self._load)
        else:
            self._load()

    def _load(self) -> None:
        resource, arguments = self.level.resource, self.level.arguments
        self.follow_lookups("names", [build_largest_list_operation(lookup, arguments) for lookup in resource.lookups])
        op = resource.list_operation(arguments)
        if isinstance(op, Listing):
            self.subscriptions.follow_whole("list", op, self._show_list, MAX_ROWS)
        else:
            self.follow("list", op, self._show_list)
        query, key = self.level.positions.get(resource.plural, ("", None))
        self.rows.set_filter(query)
        if key is not None:
            self.rows.go_to(key)

    def follow_lookups(self, slots: str, ops: Sequence[Operation[Any]]) -> None:
        """Watch `ops`, which load names, in the slots `{slots} 0`, `{slots} 1` and so on. Unwatch later slots."""
        for index, op in enumerate(ops):
            self.follow(f"{slots} {index}", op, self.add_names)
        index = len(ops)
        while self.subscriptions.operation(f"{slots} {index}") is not None:
            self.follow(f"{slots} {index}", None)
            index += 1

    def _show_list(self, snapshot: Snapshot[Any]) -> None:
        level, op = self.level, self.subscriptions.operation("list")
        if snapshot.value is not self.snapshot.value:
            self._detail_loader.clear()
        if op is not None:
            _clear_sibling_counts(self, op, snapshot.value)
        self.snapshot = snapshot
        if snapshot.value is not None and op is not None:
            self.counts[level.resource.plural, op] = _count_label(snapshot.value, level.resource)
        self.redraw_list()
        _load_more_names(self)
        self.table_list.redraw()
        self.pending_navigation.open_requested_item()

    def add_names(self, snapshot: Snapshot[Any] | None = None) -> None:
        """Add the names in `snapshot` (None if only spaces changed), and show changed names in the rows."""
        old_names = self._names
        if snapshot is not None and snapshot.value is not None:
            self._names = old_names | names_by_id(snapshot.value)
        if self.levels:
            if snapshot is None or self._names != old_names:
                self.rows.search_texts.discard()
                self.rows.apply_filter()
            if self.level.resource.derive_items is not None:
                self.redraw_list()
            _load_more_names(self)
            self.rows.redraw()
            self._show_details()
            self.refresh_bindings()

    def name_of(self, item_id: str) -> str:
        """Return the name of the item with this ID. Return the ID if the name is not loaded."""
        item = self.shell.workspace.space(item_id) or self.shell.workspace.organization
        return item.title if item is not None and item.id == item_id else self._names.get(item_id, item_id)

    def redraw_list(self) -> None:
        if not self.levels:
            return
        resource, snapshot = self.level.resource, self.snapshot
        self.rows.columns = self.table.headings()
        reason = self._unavailable_reason(resource)
        self.rows.state.empty = reason or resource.empty_text or f"No {resource.plural}."
        why_not_create = resource_commands.why_not_create(self.shell, self.level.current_table())
        self.rows.state.hint = _empty_table_hint(resource, reason, self.level.parent, why_not_create)
        if snapshot.value is not None:
            items = self.table.sort_items(_derived_items(self, resource, snapshot.value), self.name_of)
            if isinstance(snapshot.value, ListPage):
                self.show_list_page(snapshot.value, items)
            else:
                self.rows.show(items)
            if self._new_key and self.rows.go_to(self._new_key):
                self._new_key = ""
        if reason or (resource.is_single and isinstance(snapshot.error, NotFound)):
            self.rows.show(())
        elif snapshot.error is not None:
            show_load_error(self.rows, f"Could not load {resource.plural}", snapshot.error)
        self._show_details()
        self._update_status()

    def _unavailable_reason(self, resource: Resource[Any]) -> str | None:
        return resource.unavailable_reason(self.level.parent) or self.live.availability.why_unavailable(
            resource.list_operation(self.level.arguments)
        )

    @on(RowList.SelectionChanged, "#things")
    @on(LineList.FilterChanged, "#things")
    def _update_status(self) -> None:
        if not self.levels:
            return
        resource = self.level.resource
        op = resource.list_operation(self.level.arguments)
        count_text = (
            self.rows.counts.summary
            if self.rows.query_text or self.rows.counts.is_partial
            else self.counts.get((resource.plural, op), "")
        )
        if count_text and resource.resolve_row is not None and count_text.isdigit():
            # Add the noun, as in “5 parts”, because the heading “Structure” does not name the items.
            count_text = plural(int(count_text), resource.singular)
        crumbs = [level.title for level in self.levels if (level.title, len(self.levels)) != (resource.heading, 1)]
        selection_text = f"{len(self.selected_rows)} selected" if self.selected_rows else ""
        location = " › ".join((*crumbs, resource.heading))
        age = f"updated {short_age(self.snapshot.fetched_at)} ago" if self.snapshot.fetched_at is not None else ""
        self.show_location(
            " · ".join(filter(None, (location, count_text, selection_text))),
            " · ".join(filter(None, (self.table.sort_label, age))),
        )
        # If there is only one table, the list of tables is hidden, and with it the title of the parent.
        prefix = f"{self.level.title} › " if len(self.levels) > 1 and len(self.level.resources) < 2 else ""
        name = Content.assemble(f"{prefix}{resource.heading} ", (count_text, "$octavo-muted"))
        self.query_one("#kind", Static).update(name)
        self.refresh_bindings()

    @property
    def more_help(self) -> str:
        """Description of the selected table, for the help of this view. Empty if it has none, or during loading."""
        return (
            f"{self.level.resource.heading}: {self.level.resource.description}"
            if self.levels and self.level.resource.description
            else ""
        )

    @on(LineList.Highlighted, "#things")
    def _show_details(self) -> None:
        if self.levels:
            resource, item = self.level.resource, self.rows.item
            if item is not None:
                resource, item = resource.item_of(item)
            loaded_values = self._detail_loader.request_details(resource, self.level.arguments, item)
            self.query_one(Details).show(resource, item, self.name_of, loaded_values)
            if not self.rows.state.shows_loading:  # Keep the layout while a table loads.
                self.set_class(not self.rows.items, "-empty")

    def _render_table_row(self, resource: Resource[Any]) -> Row:
        op = resource.list_operation(self.level.arguments)
        reason = self._unavailable_reason(resource)
        count_text = "–" if reason else self.counts.get((resource.plural, op), "")
        return Row(text=resource.heading, right=Content.styled(count_text, "$octavo-muted"), dim=bool(reason))

    def select_new_item(self, key: str) -> None:
        """Select a new item as soon as it is in the list."""
        self._new_key = key
        self.redraw_list()

    @property
    def selected_items(self) -> Sequence[Model]:
        if not self.levels:
            return ()
        item = None if self.rows.item is None else self.level.resource.item_of(self.rows.item)[1]
        return [each for each in (item, *(level.parent for level in reversed(self.levels))) if each is not None]

    @on(LineList.Opened, "#kinds")
    def _focus_rows(self) -> None:
        self.rows.focus()

    @on(LineList.Opened, "#things")
    def _open_item(self) -> None:
        resource = self.level.resource
        if (item := self.rows.item) is None:
            return
        if (route := resource.route(item)) is not None:
            _open_route(self, route)
        elif resource.open_dialog is not None:
            resource.open_dialog(self.shell, self.level.arguments, item)
        elif resource.children:
            open_selected_row(self)
        else:
            show_info(self)

    @on(LineList.MoreRequested, "#things")
    def _load_more(self) -> None:
        op = self.subscriptions.operation("list")
        if isinstance(op, Listing):
            self.shell.background(self.live.fetch_next_page(op))

    def go_up(self) -> bool:
        if not self.levels:
            return False
        if self.rows.has_focus and len(self.level.resources) > 1 and not self.has_class("-tiny"):
            self.table_list.focus()
            return True
        if len(self.levels) == 1:
            return focus_if(self.table_list, self.rows.has_focus and len(self.level.resources) > 1)
        self.levels.pop()
        self.show_level()
        self.rows.focus()
        return True

    def refresh_data(self) -> None:
        if self.levels and self._unavailable_reason(self.level.resource):
            self._open_table(self.level.resource, force=True)
        self._detail_loader.clear()
        self._show_details()
        super().refresh_data()


def _empty_table_hint(resource: Resource[Any], reason: str | None, parent: Any, why_not_create: str | None) -> str:
    if reason:
        return resource.description if resource.unavailable_reason(parent) is not None else "Press r to retry."
    if resource.empty_text or (resource.create is None and resource.add_item is None):
        return resource.description or resource.read_only_reason
    if why_not_create:
        return f"{resource.description} {why_not_create}".lstrip()
    return f"{resource.description} Press ctrl+n to {as_clause(resource.create_title) or f'create the first {resource.singular}'}.".lstrip()


def _clear_sibling_counts(view: BrowserScreen, op: Operation[Any], new_value: Any) -> None:
    """Forget the counts of the other lists with the same parent URL, if `new_value` differs from the old value of the
    list `op`. Do nothing if the items of this list cannot be edited, or if the parent URL is that of `op.at`."""
    parent_path, old_value = url_path(op).rpartition("/")[0], view.snapshot.value
    if (
        view.level.resource.update is None
        or parent_path == url_path(op).removesuffix(SPECS[type(op)].path)
        or old_value is None
        or new_value == old_value
    ):
        return
    for resource, other_op in list(view.counts):
        if other_op != op and url_path(other_op).rpartition("/")[0] == parent_path:
            del view.counts[resource, other_op]


def _load_more_names(view: BrowserScreen) -> None:
    resource, arguments = view.level.resource, view.level.arguments
    if view.snapshot.value is None:
        return
    responses = _lookup_responses(view, resource)
    view.follow_lookups("more names", resource.more_lookups(resource.items(view.snapshot.value), arguments, responses))


def _lookup_responses(browser: BrowserScreen, resource: Resource[Any]) -> dict[type[Operation[Any]], Any]:
    return {
        lookup: browser.live.peek(build_largest_list_operation(lookup, browser.level.arguments)).value
        for lookup in resource.lookups
    }


def _derived_items(view: BrowserScreen, resource: Resource[Any], response: Any) -> Sequence[Any]:
    items = resource.items(response)
    if resource.derive_items is None:
        return items
    return resource.derive_items(items, view.level.parent, _lookup_responses(view, resource))


def open_selected_row(view: BrowserScreen, table: str = "") -> None:
    """Show the tables inside the selected item. Select the table called `table`, else the first table."""
    if (item := view.rows.item) is None:
        return
    level, resource = view.level, view.level.resource
    if not resource.has_valid_ids(level.arguments, item):
        view.shell.explain(NO_VALID_ID)
        return
    view.save_position()
    child = level.child_level(item)
    child.resource = next((each for each in child.resources if each.plural == table), child.resource)
    view.levels.append(child)
    view.show_level()


class PendingNavigation:
    """Navigation that the user requested before the needed list was loaded: to an item, or to another table."""

    def __init__(self, view: BrowserScreen) -> None:
        self._view = view
        self._requested_item: tuple[str, str, str] | None = None
        self._steps = 0

    def move(self, step: int) -> None:
        """Remember to move the selection by `step` when tables are loaded. Steps up only cancel earlier steps down."""
        self._steps = max(0, self._steps + step)

    def open_item(self, resource: str, key: str, child_table: str) -> None:
        """Show the table `resource`. As soon as the item `key` is loaded, open its table `child_table`."""
        self._requested_item = (resource, key, child_table)
        if self._view.levels:
            self._view.save_position()
            del self._view.levels[1:]
            self.show_top_level()

    def show_top_level(self) -> None:
        """Show the top-level tables. Select the requested table, if any, then move by the remembered steps."""
        level = self._view.level
        if self._requested_item is not None:
            level.resource = next(
                (resource for resource in level.resources if resource.plural == self._requested_item[0]), level.resource
            )
            level.positions.pop(level.resource.plural, None)
        last_index = len(level.resources) - 1
        level.resource = level.resources[max(0, min(level.resources.index(level.resource) + self._steps, last_index))]
        self._steps = 0
        self._view.show_level()

    def open_requested_item(self) -> None:
        """If the list has the requested item, open it. If it is missing although all pages are loaded, or because more
        pages could not be loaded, tell the user. If the user has left the table of the item, forget the request."""
        view = self._view
        if self._requested_item is None or view.snapshot.value is None:
            return
        table, key, child_table = self._requested_item
        if view.level.resource.plural != table:
            self._requested_item = None
        elif view.rows.go_to(key):
            self._requested_item = None
            open_selected_row(view, child_table)
        elif not view.snapshot.is_loading and not view.snapshot.needs_more(MAX_ROWS):
            self._requested_item = None
            cause = view.snapshot.error or "it was deleted, or you do not have access to it."
            view.shell.say(f"Could not find the item in {view.level.resource.plural}: {cause}", tone="care")


def _count_label(response: Any, resource: Resource[Any]) -> str:
    loaded_count = len(resource.items(response))
    if not isinstance(response, ListPage) or response.next is None:
        return str(loaded_count)
    return str(response.count) if (response.count or 0) > loaded_count else f"{loaded_count}+"
