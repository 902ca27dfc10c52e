"""The resource tables: a list of tables on the left, the rows of one, and below them the details of the selected row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.errors import NotFound
from octavo.api.operation import SPECS, Listing, ListPage, Model, Operation
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef
from octavo.api.wire import location
from octavo.data.live import Snapshot
from octavo.tui.resources import acting, arranging
from octavo.tui.resources.details import Details
from octavo.tui.resources.resource import NO_VALID_ID, Arguments, Resource, build_full_list, names_by_id
from octavo.tui.resources.table import TableState
from octavo.tui.resources.telling import DetailLoader
from octavo.tui.shell.info import show_info
from octavo.tui.shell.list_view import PANES, ListView, Preview
from octavo.tui.shell.routes import Route, ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import is_covered
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Row, Rows
from octavo.tui.widgets.wording import in_a_line, plural, short_age

LOAD_DELAY = 0.12
"""Seconds that the cursor stays on a table before the table is loaded."""
MAX_ROWS = 20_000
"""Most rows of a list that are loaded. Sorting and filtering cover all of them."""


@dataclass
class BrowserLevel:
    """A level of the breadcrumbs: the organization, or an open item."""

    title: str
    """Title in the breadcrumbs."""
    resources: tuple[Resource[Any], ...]
    arguments: Arguments
    parent: Model
    """The open item. At the top level, the organization."""
    status: str = ""
    resource: Resource[Any] = field(init=False)
    """The selected table."""
    positions: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Filter and key of the selected row that a table had when the user left it, by the plural of the table."""

    def __post_init__(self) -> None:
        self.resource = self.resources[0]

    def selection(self, *rows: Any, untick: Callable[[], None] = lambda: None) -> acting.Selection | None:
        """Return the selection for some rows. None if the server sent no valid ID for one of them."""
        kind, things = self.resource.item_of(rows[0])[0], tuple(self.resource.item_of(each)[1] for each in rows)
        if not all(kind.has_valid_ids(self.arguments, each) for each in things):
            return None
        return acting.Selection(kind, self.arguments, self.parent, things, untick)

    def create_target(self, then: Callable[[str], None] = lambda key: None, row: Any = None) -> acting.CreateTarget:
        """Return the target for new items. `then` is called with the key of the new item."""
        return acting.CreateTarget(self.resource, self.arguments, self.parent, then, row)

    def child_level(self, thing: Any) -> BrowserLevel:
        """Return the level for an item of the selected table."""
        kind = self.resource
        known, inside = kind.arguments_for(self.arguments, thing), kind.permission_source(thing)
        return BrowserLevel(kind.title(thing), kind.children, known, inside, kind.status(thing))


def _step_table(step: int) -> Callable[[Shell, BrowserScreen], None]:
    return lambda _, view: view.table_list.move(step) if view.levels else view.pending.move(step)


def _scroll_details(view: BrowserScreen, step: int) -> None:
    if not view.query_one(Details).read_on(step):
        view.rows.move(step)


def _export(app: Shell, view: BrowserScreen) -> None:
    acting.export(app, view.table, view.ticked or tuple(view.rows.items), view.name_of)


def _why_no_table(app: Shell, view: BrowserScreen) -> str | None:
    return None if view.levels else "The organization is still loading."


def _why_not_sorted(app: Shell, view: BrowserScreen) -> str | None:
    if view.levels and view.level.resource.resolve_row is not None:
        here = structure_target(view)
        move = " To move an item, press alt+↑ or alt+↓." if here is not None and here.structure is not None else ""
        return f"This list is in the order that visitors see, so you cannot sort it.{move}"
    return _why_no_table(app, view)


def _why_not_exported(app: Shell, view: BrowserScreen) -> str | None:
    return None if view.rows.items else "This list has no items to export."


def _why_single_table(app: Shell, view: BrowserScreen) -> str | None:
    return "There is only one table here." if view.levels and len(view.level.resources) < 2 else None


def selection(view: BrowserScreen) -> acting.Selection | None:
    """Return the selected rows, else the row with the cursor."""
    if not view.levels or view.rows.item is None or is_covered(view, view.rows):
        return None
    return view.level.selection(*(view.ticked or (view.rows.item,)), untick=view.rows.ticks.untick)


def create_target(view: BrowserScreen) -> acting.CreateTarget | None:
    """Return the target for new items in the selected table."""
    return view.level.create_target(view.select_new, view.rows.item) if view.levels else None


def structure_target(view: BrowserScreen) -> arranging.StructureTarget | None:
    """Return the visible site structure and the selected part. None without a table."""
    if not view.levels or is_covered(view, view.rows):
        return None
    level = view.level
    return arranging.structure_target(
        level.resource, level.arguments, level.parent, view.snapshot.value, view.rows.item
    )


def _open_route(view: BrowserScreen, route: Route) -> None:
    """Open the view that a row leads to, if the user has access."""
    if isinstance(route, ToPage) and view.shell.workspace.space(route.space) is None:
        view.shell.explain("You do not have access to this space.")
    else:
        view.shell.go(route)


def _why_no_selection(view: BrowserScreen) -> str:
    if view.levels and is_covered(view, view.rows):
        return f"The list of {view.level.resource.plural} is hidden. Press enter to show it."
    return NO_VALID_ID if view.levels and view.rows.item is not None else "Select an item first."


BROWSER: Commands[BrowserScreen] = Commands(
    "resources",
    (
        Command("previous_kind", "left_square_bracket", "Previous", "Show the previous table", key_display="[", shown=False,
                run=_step_table(-1), why_not=_why_single_table),
        Command("next_kind", "right_square_bracket", "Next", "Show the next table", key_display="]",
                run=_step_table(1), why_not=_why_single_table),
        Command("sort", "S", "Sort", "Sort by a column, or reverse the order",
                run=lambda _, view: acting.choose_sort_column(view.shell, view.table, view.draw_list), why_not=_why_not_sorted),
        Command("columns", "F", "Columns", "Show or hide columns",
                run=lambda _, view: acting.choose_columns(view.shell, view.table, view.draw_list), why_not=_why_no_table),
        Command("export", "ctrl+e", "Export", "Export the list as CSV, JSON, or Markdown", shown=False,
                run=_export, why_not=_why_not_exported),
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next item", shown=False,
                run=lambda _, view: _scroll_details(view, 1)),
        Command("read_back", "b", "Scroll back", "Scroll up; at the top, go to the previous item", shown=False,
                run=lambda _, view: _scroll_details(view, -1)),
        Command("next", "J", "Next", "Go to the next item", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous", "K", "Previous", "Go to the previous item", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("up", "escape", "Back", "Go up one level", run=lambda _, view: view.go_up(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
"""Commands of the tables."""


class BrowserScreen(ListView[Any]):
    """View of declared tables. Enter opens a row, esc goes up one level."""

    CONTEXT = "sites and organization"
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
        acting.SELECTION_COMMANDS.about(selection, nothing=_why_no_selection),
        acting.CREATE_COMMANDS.about(create_target),
        arranging.STRUCTURE_KEYS.about(structure_target),
        PANES,
        BROWSER,
    )

    table_list: Rows[Resource[Any]]

    def __init__(
        self, view: str, title: str, kinds: tuple[Resource[Any], ...], known: Callable[[Organization], Arguments]
    ) -> None:
        """Create the view for the mode `view`. `known` returns the arguments at the top level besides the
        organization."""
        super().__init__()
        self.VIEW = view
        self._title, self._resources, self._root_arguments = title, kinds, known
        self.levels: list[BrowserLevel] = []
        """Levels of the breadcrumbs, the organization first. Empty until the organization is known."""
        self.tables: dict[str, TableState] = {}
        self.counts: dict[tuple[str, Operation[Any]], str] = {}
        """Number of items in each loaded table, by table and list operation."""
        self.snapshot: Snapshot[Any] = Snapshot()
        self._names: dict[str, str] = {}
        """Names of items by ID, from the responses so far."""
        self._detail_loader = DetailLoader(self, lambda: self.live, self._show_details)
        self._load_timer: Timer | None = None
        self._new_key = ""
        """Key of a new item, until the item is in the list."""
        self.pending = PendingNavigation(self)

    def body(self) -> Iterable[Widget]:
        self.table_list = Rows(self._render_table_row, key=lambda each: each.plural, id="kinds")
        self.rows = Rows(
            lambda thing: self.table.render_row(thing, self.name_of),
            key=lambda thing: self.level.resource.key(thing),
            search=lambda thing: self.table.search_text(thing, self.name_of),
            ticks=lambda _: self.level.resource.resolve_row is None,
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
        """Show or hide the tables after the list of spaces has changed."""
        if self.show_nowhere(self.rows, self._resources[0].plural):
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
        known = {"at": at, **self._root_arguments(organization)}
        kinds = tuple(each for each in self._resources if each.is_available(known))
        self.levels.append(BrowserLevel(self._title, kinds, known, organization))
        self.pending.show_top_level()

    # Levels and tables

    @property
    def level(self) -> BrowserLevel:
        """The innermost level."""
        return self.levels[-1]

    @property
    def table(self) -> TableState:
        """Columns and order of the selected table."""
        kind = self.level.resource
        name = f"{kind.name} {kind.plural}"  # Two tables can use the same list operation.
        if name not in self.tables:
            self.tables[name] = TableState(kind, self.shell.session.state)
        return self.tables[name]

    def open_level(self, level: BrowserLevel) -> None:
        self.levels.append(level)
        self.show_level()

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

    def show_table(self, many: str) -> None:
        """Show a table of the top level."""
        self.save_position()
        del self.levels[1:]
        self.level.resource = next((each for each in self.level.resources if each.plural == many), self.level.resource)
        self.show_level()

    def save_position(self) -> None:
        if self.levels:
            self.level.positions[self.level.resource.plural] = (self.rows.query_text, self.rows.key)

    @on(Lines.Highlighted, "#kinds")
    def _select_table(self) -> None:
        kind = self.table_list.item
        if kind is not None and self.levels and kind.plural != self.level.resource.plural:
            self.save_position()
            self._open_table(kind, after=LOAD_DELAY)

    def _open_table(self, kind: Resource[Any], *, after: float = 0.0, anyway: bool = False) -> None:
        """Show a table and load its items, after `after` seconds.

        `anyway` loads a table that the server reported as unavailable.
        """
        for table in self.tables.values():
            table.clear_sort_keys()
        self.level.resource, self.snapshot, self._new_key = kind, Snapshot(), ""
        self.follow("list", None)
        self.rows.ticks.untick()
        self.rows.show(())  # Cleared first, because removing the filter redraws the list.
        self.rows.set_filter("")
        self.rows.kept_key = None
        self.rows.columns = self.table.headings()
        if self._load_timer is not None:
            self._load_timer.stop()
        if self._unavailable_reason(kind) and not (anyway and kind.unavailable_reason(self.level.parent) is None):
            self.draw_list()
            return
        self.rows.state.wait_for(kind.plural)
        self._show_details()
        self._update_status()
        if after:
            self._load_timer = self.set_timer(after, self._load)
        else:
            self._load()

    def _load(self) -> None:
        kind, known = self.level.resource, self.level.arguments
        for number, lookup in enumerate(kind.lookups):
            self.follow(f"names {number}", build_full_list(lookup, known), self.add_names)
        op = kind.list_operation(known)
        if isinstance(op, Listing):
            self.subscriptions.follow_whole("list", op, self._show_list, MAX_ROWS)
        else:
            self.follow("list", op, self._show_list)
        query, key = self.level.positions.get(kind.plural, ("", None))
        self.rows.set_filter(query)
        if key is not None:
            self.rows.go_to(key)

    # Responses

    def _show_list(self, snapshot: Snapshot[Any]) -> None:
        level, op = self.level, self.subscriptions.op("list")
        if snapshot.value is not self.snapshot.value:
            self._detail_loader.forget()
        if op is not None:
            _clear_sibling_counts(self, op, snapshot.value)
        self.snapshot = snapshot
        if snapshot.value is not None and op is not None:
            self.counts[level.resource.plural, op] = _count_label(snapshot.value, level.resource)
        self.draw_list()
        _load_more_names(self)
        self.table_list.redraw()
        self.pending.finish()

    def add_names(self, snapshot: Snapshot[Any] | None = None) -> None:
        """Add the names in a response, and redraw if a name has changed."""
        before = self._names
        if snapshot is not None and snapshot.value is not None:
            self._names = before | names_by_id(snapshot.value)
        if self.levels:
            if snapshot is None or self._names != before:
                self.table.clear_sort_keys()
                self.rows.filter_words.forget()
                self.rows.apply_filter()
            if self.level.resource.derive is not None:
                self.draw_list()
            _load_more_names(self)
            self.rows.redraw()
            self._show_details()
            self.refresh_bindings()

    def name_of(self, name: str) -> str:
        """Return the name of the item with an ID, or the ID itself if the name is not loaded."""
        known = self.shell.workspace.space(name) or self.shell.workspace.organization
        return known.title if known is not None and known.id == name else self._names.get(name, name)

    def draw_list(self) -> None:
        if not self.levels:
            return
        kind, snapshot = self.level.resource, self.snapshot
        self.rows.columns = self.table.headings()
        why = self._unavailable_reason(kind)
        self.rows.state.empty = why or kind.empty_text or f"No {kind.plural}."
        self.rows.state.hint = _hint(kind, why, self.level.parent)
        if snapshot.value is not None:
            things = self.table.sort_items(_derived_items(self, kind, snapshot.value), self.name_of)
            if isinstance(snapshot.value, ListPage):
                self.rows.show_page(snapshot.value, things)
            else:
                self.rows.show(things)
            if self._new_key and self.rows.go_to(self._new_key):
                self._new_key = ""
        if why or (kind.is_single and isinstance(snapshot.error, NotFound)):
            self.rows.show(())
        elif snapshot.error is not None:
            self.rows.state.fail(f"Could not load {kind.plural}", str(snapshot.error))
        self._show_details()
        self._update_status()

    def _unavailable_reason(self, kind: Resource[Any]) -> str | None:
        """Return why the selected table is unavailable, as far as the server reported it."""
        return kind.unavailable_reason(self.level.parent) or self.live.unavailable(
            kind.list_operation(self.level.arguments)
        )

    @on(Rows.Ticked, "#things")
    @on(Lines.Filtered, "#things")
    def _update_status(self) -> None:
        if not self.levels:
            return
        kind = self.level.resource
        op = kind.list_operation(self.level.arguments)
        count = (
            self.rows.extent.said
            if self.rows.query_text or self.rows.extent.is_partial
            else self.counts.get((kind.plural, op), "")
        )
        if count and kind.resolve_row is not None and count.isdigit():
            # In a list with several kinds of items, the heading does not say what is counted.
            count = plural(int(count), kind.singular)
        crumbs = [level.title for level in self.levels if (level.title, len(self.levels)) != (kind.heading, 1)]
        ticked = f"{len(self.ticked)} selected" if self.ticked else ""
        where = " › ".join((*crumbs, kind.heading))
        age = f"updated {short_age(self.snapshot.fetched_at)} ago" if self.snapshot.fetched_at is not None else ""
        self.status(
            " · ".join(filter(None, (where, count, ticked))), " · ".join(filter(None, (self.table.sort_label, age)))
        )
        # Without the list of tables, only this line names the parent of the rows.
        whose = f"{self.level.title} › " if len(self.levels) > 1 and len(self.level.resources) < 2 else ""
        name = Content.assemble(f"{whose}{kind.heading} ", (count, "$octavo-muted"))
        self.query_one("#kind", Static).update(name)
        self.refresh_bindings()

    @property
    def more_help(self) -> str:
        """The description of the selected table, for the help."""
        return (
            f"{self.level.resource.heading}: {self.level.resource.description}"
            if self.levels and self.level.resource.description
            else ""
        )

    # Details and counts

    @on(Lines.Highlighted, "#things")
    def _show_details(self) -> None:
        if self.levels:
            kind, thing = self.level.resource, self.rows.item
            if thing is not None:
                kind, thing = kind.item_of(thing)
            told = self._detail_loader.details_of(kind, self.level.arguments, thing)
            self.query_one(Details).show(kind, thing, self.name_of, told)

    def _render_table_row(self, kind: Resource[Any]) -> Row:
        op = kind.list_operation(self.level.arguments)
        why = self._unavailable_reason(kind)
        counted = kind.count_in(self.level.parent)
        count = "–" if why else self.counts.get((kind.plural, op), "" if counted is None else str(counted))
        return Row(text=kind.heading, right=Content.styled(count, "$octavo-muted"), dim=bool(why))

    def select_new(self, key: str) -> None:
        """Select a new item as soon as it is in the list."""
        self._new_key = key
        self.draw_list()

    @property
    def things_at_hand(self) -> Sequence[Model]:
        if not self.levels:
            return ()
        item = None if self.rows.item is None else self.level.resource.item_of(self.rows.item)[1]
        return [each for each in (item, *(level.parent for level in reversed(self.levels))) if each is not None]

    # Navigation

    @on(Lines.Chosen, "#kinds")
    def _focus_rows(self) -> None:
        self.rows.focus()

    @on(Lines.Chosen, "#things")
    def _open_item(self) -> None:
        kind = self.level.resource
        if (thing := self.rows.item) is None:
            return
        if (route := kind.route(thing)) is not None:
            _open_route(self, route)
        elif kind.open_dialog is not None:
            kind.open_dialog(self.shell, self.level.arguments, thing)
        elif kind.children:
            open_selected_row(self)
        else:
            show_info(self)

    @on(Lines.MoreWanted, "#things")
    def _load_more(self) -> None:
        op = self.subscriptions.op("list")
        if isinstance(op, Listing):
            self.shell.background(self.live.more(op))

    def go_up(self) -> bool:
        if not self.levels:
            return False
        if self.rows.has_focus and len(self.level.resources) > 1 and not self.has_class("-tiny"):
            self.table_list.focus()
            return True
        if len(self.levels) == 1:
            return self.climb(self.table_list, self.rows.has_focus and len(self.level.resources) > 1)
        self.levels.pop()
        self.show_level()
        self.rows.focus()
        return True

    def ask_again(self) -> None:
        if self.levels and self._unavailable_reason(self.level.resource):
            self._open_table(self.level.resource, anyway=True)
        self._detail_loader.forget()  # Details come from other requests too: they can change while the list stays the same.
        self._show_details()
        super().ask_again()


def _hint(kind: Resource[Any], why: str | None, inside: Any) -> str:
    """Return the text below the sentence of an empty table: the next step, else the description of the table."""
    if why:
        return kind.description if kind.unavailable_reason(inside) is not None else "Press r to retry."
    if kind.empty_text or (kind.create is None and kind.add_item is None):
        return kind.description or kind.read_only_reason
    return f"{kind.description} Press ctrl+n to {in_a_line(kind.create_title) or f'create the first {kind.singular}'}.".lstrip()


def _clear_sibling_counts(view: BrowserScreen, op: Operation[Any], now: Any) -> None:
    """Forget the counts of sibling tables after a list has changed.

    Sibling lists can depend on each other: a new role changes the number of members who can merge.
    """
    beside, before = location(op).rpartition("/")[0], view.snapshot.value
    if view.level.resource.update is None or beside == _place_path(op) or before is None or now == before:
        return
    for kind, other in list(view.counts):
        if other != op and location(other).rpartition("/")[0] == beside:
            del view.counts[kind, other]


def _load_more_names(view: BrowserScreen) -> None:
    """Load the names that `lookups` do not contain."""
    kind, known = view.level.resource, view.level.arguments
    if view.snapshot.value is None:
        return
    answers = {each: view.live.peek(build_full_list(each, known)).value for each in kind.lookups}
    for number, op in enumerate(kind.more_lookups(kind.items(view.snapshot.value), known, answers)):
        if view.subscriptions.op(f"more names {number}") != op:
            view.follow(f"more names {number}", op, view.add_names)


def _place_path(op: Operation[Any]) -> str:
    """Return the URL path of the place that an operation is about."""
    return location(op).removesuffix(SPECS[type(op)].path)


def _derived_items(view: BrowserScreen, kind: Resource[Any], answer: Any) -> Sequence[Any]:
    """Return the items in a response, with values derived from other responses."""
    things = kind.items(answer)
    if kind.derive is None:
        return things
    known = {each: view.live.peek(build_full_list(each, view.level.arguments)).value for each in kind.lookups}
    return kind.derive(things, view.level.parent, known)


def open_selected_row(view: BrowserScreen, kind_in_it: str = "") -> None:
    """Open the selected row at its first table, or at the table `kind_in_it`."""
    if (thing := view.rows.item) is None:
        return
    level, kind = view.level, view.level.resource
    if not kind.has_valid_ids(level.arguments, thing):
        view.shell.explain(NO_VALID_ID)
        return
    view.save_position()
    inside = level.child_level(thing)
    inside.resource = next((each for each in inside.resources if each.plural == kind_in_it), inside.resource)
    view.open_level(inside)


class PendingNavigation:
    """Navigation that waits until a list is loaded: to an item, or by a number of tables."""

    def __init__(self, view: BrowserScreen) -> None:
        self._view = view
        self._target: tuple[str, str, str] | None = None
        self._steps = 0

    def move(self, step: int) -> None:
        """Select the table that many places further down, as soon as the tables are there."""
        self._steps = max(0, self._steps + step)

    def open_item(self, kind: str, key: str, below: str) -> None:
        """Open an item as soon as it is in the list, at the table `below`."""
        self._target = (kind, key, below)
        if self._view.levels:
            self._view.save_position()
            del self._view.levels[1:]
            self.show_top_level()

    def show_top_level(self) -> None:
        """Show the top level at the table of the item to open."""
        level = self._view.level
        if self._target is not None:
            level.resource = next((each for each in level.resources if each.plural == self._target[0]), level.resource)
            level.positions.pop(level.resource.plural, None)
        last = len(level.resources) - 1
        level.resource = level.resources[max(0, min(level.resources.index(level.resource) + self._steps, last))]
        self._steps = 0
        self._view.show_level()

    def finish(self) -> None:
        """Open the item now that its list is loaded, or report that the item is missing."""
        view = self._view
        if self._target is None or view.snapshot.value is None or view.level.resource.plural != self._target[0]:
            return
        _, key, below = self._target
        self._target = None
        if view.rows.go_to(key):
            open_selected_row(view, below)
        else:
            view.shell.say(
                f"Could not find the item in {view.level.resource.plural}: it was deleted, or you do not have access to it.",
                tone="care",
            )


def _count_label(answer: Any, kind: Resource[Any]) -> str:
    """Return the number of items as text, with a + if the list continues."""
    here = len(kind.items(answer))
    if not isinstance(answer, ListPage) or answer.next is None:
        return str(here)
    return str(answer.count) if (answer.count or 0) > here else f"{here}+"
