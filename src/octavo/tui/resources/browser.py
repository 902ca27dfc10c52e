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
from octavo.tui.resources.resource import UNNAMED, Known, Resource, listed, names_in
from octavo.tui.resources.table import Table
from octavo.tui.resources.telling import Telling
from octavo.tui.shell.item_info import show_info
from octavo.tui.shell.list_view import PREVIEW_COMMANDS, ListView, Preview
from octavo.tui.shell.routes import Route, ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import is_covered
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import as_clause, plural, short_age

ASK_AFTER = 0.12
"""Seconds the cursor stays on a table before it is loaded."""
MOST = 20_000
"""Rows of a list that are loaded without asking, so that sorting and filtering cover all of them."""


@dataclass
class Level:
    """Where one is: at the top, or in a thing."""

    title: str
    """What stands in the breadcrumbs."""
    kinds: tuple[Resource[Any], ...]
    known: Known
    inside: Model
    """The thing one is in; at the top the organization."""
    state: str = ""
    kind: Resource[Any] = field(init=False)
    """The kind that is open."""
    left_at: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """The filter that held for a kind, and the thing the cursor was on."""

    def __post_init__(self) -> None:
        self.kind = self.kinds[0]

    def at_hand(self, *rows: Any, untick: Callable[[], None] = lambda: None) -> acting.AtHand | None:
        """What the keys are about where these rows are ticked, or one has the cursor. None: nothing can be asked of one of
        them."""
        kind, things = self.kind.itself(rows[0])[0], tuple(self.kind.itself(each)[1] for each in rows)
        if not all(kind.is_named(self.known, each) for each in things):
            return None
        return acting.AtHand(kind, self.known, self.inside, things, untick)

    def place(self, then: Callable[[str], None] = lambda key: None, row: Any = None) -> acting.Place:
        """Where one more of the kind can be made. `then` is told its key."""
        return acting.Place(self.kind, self.known, self.inside, then, row)

    def into(self, thing: Any) -> Level:
        """Where one is in a thing of the kind."""
        kind = self.kind
        known, inside = kind.known_of(self.known, thing), kind.holder(thing)
        return Level(kind.title(thing), kind.children, known, inside, kind.state(thing))


def _go_through_kinds(step: int) -> Callable[[Shell, BrowserScreen], None]:
    return lambda _, view: view.kinds.move(step) if view.levels else view.seeking.step(step)


def _read_on(view: BrowserScreen, step: int) -> None:
    if not view.query_one(Details).read_on(step):
        view.rows.move(step)


def _export(app: Shell, view: BrowserScreen) -> None:
    acting.export(app, view.table, view.selected_rows or tuple(view.rows.items), view.name_of)


def _why_no_table(app: Shell, view: BrowserScreen) -> str | None:
    return None if view.levels else "The organization is still loading."


def _why_no_order(app: Shell, view: BrowserScreen) -> str | None:
    if view.levels and view.level.kind.of_kinds is not None:
        here = arranged(view)
        move = " To move an item, press alt+↑ or alt+↓." if here is not None and here.structure is not None else ""
        return f"This list is in the order that visitors see, so you cannot sort it.{move}"
    return _why_no_table(app, view)


def _why_nothing_to_export(app: Shell, view: BrowserScreen) -> str | None:
    return None if view.rows.items else "This list has no items to export."


def _why_one_kind(app: Shell, view: BrowserScreen) -> str | None:
    return "There is only one table here." if view.levels and len(view.level.kinds) < 2 else None


def at_hand(view: BrowserScreen) -> acting.AtHand | None:
    """What is ticked, else what the cursor is on."""
    if not view.levels or view.rows.item is None or is_covered(view, view.rows):
        return None
    return view.level.at_hand(*(view.selected_rows or (view.rows.item,)), untick=view.rows.selection.clear)


def place(view: BrowserScreen) -> acting.Place | None:
    """Where one more can be made."""
    return view.level.place(view.go_to_new, view.rows.item) if view.levels else None


def arranged(view: BrowserScreen) -> arranging.Arranged | None:
    """The structure on show, and the part of it under the cursor."""
    if not view.levels or is_covered(view, view.rows):
        return None
    level = view.level
    return arranging.arranged(level.kind, level.known, level.inside, view.answer.value, view.rows.item)


def _open(view: BrowserScreen, route: Route) -> None:
    """Go to what a row leads to, out of the tables, as far as one may see it."""
    if isinstance(route, ToPage) and view.shell.workspace.space(route.space) is None:
        view.shell.explain("You do not have access to this space.")
    else:
        view.shell.go(route)


def _why_nothing_at_hand(view: BrowserScreen) -> str:
    if view.levels and is_covered(view, view.rows):
        return f"The list of {view.level.kind.many} is hidden. Press enter to show it."
    return UNNAMED if view.levels and view.rows.item is not None else "Select an item first."


BROWSER: Commands[BrowserScreen] = Commands(
    "resources",
    (
        Command("previous_kind", "left_square_bracket", "Previous", "Show the previous table", key_display="[", shown=False,
                run=_go_through_kinds(-1), why_not=_why_one_kind),
        Command("next_kind", "right_square_bracket", "Next", "Show the next table", key_display="]",
                run=_go_through_kinds(1), why_not=_why_one_kind),
        Command("sort", "S", "Sort", "Sort by a column, or reverse the order",
                run=lambda _, view: acting.choose_order(view.shell, view.table, view.redraw_list), why_not=_why_no_order),
        Command("columns", "F", "Columns", "Show or hide columns",
                run=lambda _, view: acting.choose_columns(view.shell, view.table, view.redraw_list), why_not=_why_no_table),
        Command("export", "ctrl+e", "Export", "Export the list as CSV, JSON, or Markdown", shown=False,
                run=_export, why_not=_why_nothing_to_export),
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next item", shown=False,
                run=lambda _, view: _read_on(view, 1)),
        Command("read_back", "b", "Scroll back", "Scroll up; at the top, go to the previous item", shown=False,
                run=lambda _, view: _read_on(view, -1)),
        Command("next", "J", "Next", "Go to the next item", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous", "K", "Previous", "Go to the previous item", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("up", "escape", "Back", "Go up one level", run=lambda _, view: view.go_up(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
"""Keys of the tables."""


class BrowserScreen(ListView[Any]):
    """Shows tables as they are declared. Enter opens a row, esc leaves it."""

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
        acting.THING.for_target(at_hand, no_target=_why_nothing_at_hand),
        acting.PLACE.for_target(place),
        arranging.STRUCTURE_KEYS.for_target(arranged),
        PREVIEW_COMMANDS,
        BROWSER,
    )

    kinds: RowList[Resource[Any]]

    def __init__(
        self, view: str, title: str, kinds: tuple[Resource[Any], ...], known: Callable[[Organization], Known]
    ) -> None:
        """`view`: the mode it is. `known` is what is known at the top, beside the organization."""
        super().__init__()
        self.MODE = view
        self._title, self._kinds, self._known = title, kinds, known
        self.levels: list[Level] = []
        """Where one is, the top first. None: it is not known yet in which organization."""
        self.tables: dict[str, Table] = {}
        self.counts: dict[tuple[str, Operation[Any]], str] = {}
        """How many there are of what was looked at, by what was asked."""
        self.answer: Snapshot[Any] = Snapshot()
        self._called: dict[str, str] = {}
        """What things are called, by their ids, as far as the lists that were asked tell it."""
        self._telling = Telling(self, lambda: self.live, self._draw_about)
        self._asking: Timer | None = None
        self._wanted = ""
        """The key of what was made, until it is in the list."""
        self.seeking = Seeking(self)

    def body(self) -> Iterable[Widget]:
        self.kinds = RowList(self._draw_kind, key=lambda each: each.many, id="kinds")
        self.rows = RowList(
            lambda thing: self.table.row(thing, self.name_of),
            key=lambda thing: self.level.kind.key(thing),
            search=lambda thing: self.table.words(thing, self.name_of),
            selectable=lambda _: self.level.kind.of_kinds is None,
            id="things",
        )
        details = Details(id="details")
        self.preview = Preview(self, self.rows, (details,))
        with Horizontal(id="all"):
            with Vertical(id="left", classes="hairline"):
                yield ChangingText("", classes="pane-title", id="inside")
                yield ChangingText("", id="state")
                yield self.kinds
            with Horizontal(id="right"):
                with Vertical(id="table"):
                    yield ChangingText("", classes="pane-title", id="kind")
                    yield self.rows
                yield details

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._spaces_came())
        self._spaces_came()
        if self.shell.workspace.organization is not None:
            self._enter(self.shell.workspace.organization)
        self.rows.focus()

    def _spaces_came(self) -> None:
        """Spaces have other names, or there is no organization, or none any more."""
        if self.show_no_organization(self.rows, self._kinds[0].many):
            self.levels.clear()
            self.follow("list", None)
            self.kinds.show(())
            self.kinds.display = False
            self.query_one("#inside", Static).update("")
        else:
            self.names_came()

    def _enter(self, organization: Organization) -> None:
        self.levels.clear()
        self.counts.clear()
        at = OrganizationRef(organization_id=organization.id)
        known = {"at": at, **self._known(organization)}
        kinds = tuple(each for each in self._kinds if each.is_there(known))
        self.levels.append(Level(self._title, kinds, known, organization))
        self.seeking.open()

    # Where one is

    @property
    def level(self) -> Level:
        """Where one is."""
        return self.levels[-1]

    @property
    def table(self) -> Table:
        """That of the kind that is open."""
        kind = self.level.kind
        name = f"{kind.name} {kind.many}"  # two may be of one list
        if name not in self.tables:
            self.tables[name] = Table(kind, self.shell.session.state)
        return self.tables[name]

    def go_into(self, level: Level) -> None:
        self.levels.append(level)
        self.show_level()

    def show_level(self) -> None:
        level = self.level
        self.set_class(len(level.kinds) < 2, "-one-kind")
        self.query_one("#inside", Static).update(Content(level.title.upper() if len(self.levels) == 1 else level.title))
        self.query_one("#state", Static).update(Content(level.state))
        self.kinds.display = True
        self.kinds.show(level.kinds)
        self.kinds.go_to(level.kind.many)
        self._open_kind(level.kind)
        (self.kinds if len(level.kinds) > 1 and len(self.levels) > 1 else self.rows).focus()

    def show_kind(self, many: str) -> None:
        """Show a kind at the top."""
        self.leave_kind()
        del self.levels[1:]
        self.level.kind = next((each for each in self.level.kinds if each.many == many), self.level.kind)
        self.show_level()

    def leave_kind(self) -> None:
        if self.levels:
            self.level.left_at[self.level.kind.many] = (self.rows.query_text, self.rows.key)

    @on(LineList.Highlighted, "#kinds")
    def _other_kind(self) -> None:
        kind = self.kinds.item
        if kind is not None and self.levels and kind.many != self.level.kind.many:
            self.leave_kind()
            self._open_kind(kind, after=ASK_AFTER)

    def _open_kind(self, kind: Resource[Any], *, after: float = 0.0, anyway: bool = False) -> None:
        """Show the things of a kind; what is not known is asked for, once the cursor rests there."""
        for table in self.tables.values():
            table.forget()
        self.level.kind, self.answer, self._wanted = kind, Snapshot(), ""
        self.follow("list", None)
        self.rows.selection.clear()
        self.rows.show(())  # first: what was there is of another kind, and a filter that goes has it drawn
        self.rows.set_filter("")
        self.rows.returning_key = None
        self.rows.columns = self.table.headings()
        if self._asking is not None:
            self._asking.stop()
        if self._why_nothing(kind) and not (anyway and kind.absent(self.level.inside) is None):
            self.redraw_list()
            return
        self.rows.state.wait_for(kind.many)
        self._draw_about()
        self._say_where()
        if after:
            self._asking = self.set_timer(after, self._ask)
        else:
            self._ask()

    def _ask(self) -> None:
        kind, known = self.level.kind, self.level.known
        for number, lookup in enumerate(kind.lookups):
            self.follow(f"names {number}", listed(lookup, known), self.names_came)
        op = kind.list_op(known)
        if isinstance(op, Listing):
            self.subscriptions.follow_whole("list", op, self._show, MOST)
        else:
            self.follow("list", op, self._show)
        query, key = self.level.left_at.get(kind.many, ("", None))
        self.rows.set_filter(query)
        if key is not None:
            self.rows.go_to(key)

    # What arrives

    def _show(self, snapshot: Snapshot[Any]) -> None:
        level, op = self.level, self.subscriptions.operation("list")
        if snapshot.value is not self.answer.value:
            self._telling.forget()
        if op is not None:
            _forget_counts(self, op, snapshot.value)
        self.answer = snapshot
        if snapshot.value is not None and op is not None:
            self.counts[level.kind.many, op] = _count(snapshot.value, level.kind)
        self.redraw_list()
        _ask_more_names(self)
        self.kinds.redraw()
        self.seeking.arrived()

    def names_came(self, snapshot: Snapshot[Any] | None = None) -> None:
        """What things are called is told, or may be another."""
        before = self._called
        if snapshot is not None and snapshot.value is not None:
            self._called = before | names_in(snapshot.value)
        if self.levels:
            if snapshot is None or self._called != before:
                self.table.forget()
                self.rows.search_texts.discard()
                self.rows.apply_filter()
            if self.level.kind.beside is not None:
                self.redraw_list()
            _ask_more_names(self)
            self.rows.redraw()
            self._draw_about()
            self.refresh_bindings()

    def name_of(self, name: str) -> str:
        """What something is called that is known by its id; else the id."""
        known = self.shell.workspace.space(name) or self.shell.workspace.organization
        return known.title if known is not None and known.id == name else self._called.get(name, name)

    def redraw_list(self) -> None:
        if not self.levels:
            return
        kind, snapshot = self.level.kind, self.answer
        self.rows.columns = self.table.headings()
        why = self._why_nothing(kind)
        self.rows.state.empty = why or kind.none or f"No {kind.many}."
        self.rows.state.hint = _hint(kind, why, self.level.inside)
        if snapshot.value is not None:
            things = self.table.sorted(_things(self, kind, snapshot.value), self.name_of)
            if isinstance(snapshot.value, ListPage):
                self.rows.show_page(snapshot.value, things)
            else:
                self.rows.show(things)
            if self._wanted and self.rows.go_to(self._wanted):
                self._wanted = ""
        if why or (kind.single and isinstance(snapshot.error, NotFound)):
            self.rows.show(())
        elif snapshot.error is not None:
            self.rows.state.fail(f"Could not load {kind.many}", str(snapshot.error))
        self._draw_about()
        self._say_where()

    def _why_nothing(self, kind: Resource[Any]) -> str | None:
        """Return why a table is unavailable here, as far as the server said so."""
        return kind.absent(self.level.inside) or self.live.unavailable(kind.list_op(self.level.known))

    @on(RowList.SelectionChanged, "#things")
    @on(LineList.FilterChanged, "#things")
    def _say_where(self) -> None:
        if not self.levels:
            return
        kind = self.level.kind
        op = kind.list_op(self.level.known)
        count = (
            self.rows.counts.summary
            if self.rows.query_text or self.rows.counts.is_partial
            else self.counts.get((kind.many, op), "")
        )
        if count and kind.of_kinds is not None and count.isdigit():
            count = plural(int(count), kind.one)  # rows of several kinds: the heading does not say what is counted
        crumbs = [level.title for level in self.levels if (level.title, len(self.levels)) != (kind.heading, 1)]
        ticked = f"{len(self.selected_rows)} selected" if self.selected_rows else ""
        where = " › ".join((*crumbs, kind.heading))
        age = f"updated {short_age(self.answer.fetched_at)} ago" if self.answer.fetched_at is not None else ""
        self.show_location(
            " · ".join(filter(None, (where, count, ticked))), " · ".join(filter(None, (self.table.said, age)))
        )
        # Without the list of tables beside it, only this line says whose rows these are.
        whose = f"{self.level.title} › " if len(self.levels) > 1 and len(self.level.kinds) < 2 else ""
        name = Content.assemble(f"{whose}{kind.heading} ", (count, "$octavo-muted"))
        self.query_one("#kind", Static).update(name)
        self.refresh_bindings()

    @property
    def more_help(self) -> str:
        """What the table on show lists, for the help."""
        return f"{self.level.kind.heading}: {self.level.kind.about}" if self.levels and self.level.kind.about else ""

    # What is beside it

    @on(LineList.Highlighted, "#things")
    def _draw_about(self) -> None:
        if self.levels:
            kind, thing = self.level.kind, self.rows.item
            if thing is not None:
                kind, thing = kind.itself(thing)
            told = self._telling.of(kind, self.level.known, thing)
            self.query_one(Details).show(kind, thing, self.name_of, told)

    def _draw_kind(self, kind: Resource[Any]) -> Row:
        op = kind.list_op(self.level.known)
        why = self._why_nothing(kind)
        counted = kind.count(self.level.inside)
        count = "–" if why else self.counts.get((kind.many, op), "" if counted is None else str(counted))
        return Row(text=kind.heading, right=Content.styled(count, "$octavo-muted"), dim=bool(why))

    def go_to_new(self, key: str) -> None:
        """Put the cursor on what was made, as soon as it is in the list."""
        self._wanted = key
        self.redraw_list()

    @property
    def selected_items(self) -> Sequence[Model]:
        if not self.levels:
            return ()
        item = None if self.rows.item is None else self.level.kind.itself(self.rows.item)[1]
        return [each for each in (item, *(level.inside for level in reversed(self.levels))) if each is not None]

    # Going on from here

    @on(LineList.Opened, "#kinds")
    def _into_table(self) -> None:
        self.rows.focus()

    @on(LineList.Opened, "#things")
    def _chosen(self) -> None:
        kind = self.level.kind
        if (thing := self.rows.item) is None:
            return
        if (route := kind.opens(thing)) is not None:
            _open(self, route)
        elif kind.shows is not None:
            kind.shows(self.shell, self.level.known, thing)
        elif kind.children:
            go_into_row(self)
        else:
            show_info(self)

    @on(LineList.MoreRequested, "#things")
    def _more(self) -> None:
        op = self.subscriptions.operation("list")
        if isinstance(op, Listing):
            self.shell.background(self.live.fetch_next_page(op))

    def go_up(self) -> bool:
        if not self.levels:
            return False
        if self.rows.has_focus and len(self.level.kinds) > 1 and not self.has_class("-tiny"):
            self.kinds.focus()
            return True
        if len(self.levels) == 1:
            return self.focus_if(self.kinds, self.rows.has_focus and len(self.level.kinds) > 1)
        self.levels.pop()
        self.show_level()
        self.rows.focus()
        return True

    def refresh_data(self) -> None:
        if self.levels and self._why_nothing(self.level.kind):
            self._open_kind(self.level.kind, anyway=True)
        self._telling.forget()  # Details come from other requests too: they can change while the list stays the same.
        self._draw_about()
        super().refresh_data()


def _hint(kind: Resource[Any], why: str | None, inside: Any) -> str:
    """Return what stands below the sentence of an empty table: the next step, else what the table shows."""
    if why:
        return kind.about if kind.absent(inside) is not None else "Press r to retry."
    if kind.none or (kind.create is None and kind.add is None):
        return kind.about or kind.elsewhere
    return f"{kind.about} Press ctrl+n to {as_clause(kind.new) or f'create the first {kind.one}'}.".lstrip()


def _forget_counts(view: BrowserScreen, op: Operation[Any], now: Any) -> None:
    """What is listed beside what changed tells of the same from another side: how many may merge follows from who was
    given a role. What lies right in the place is of its own."""
    beside, before = location(op).rpartition("/")[0], view.answer.value
    if view.level.kind.update is None or beside == _place_of(op) or before is None or now == before:
        return
    for kind, other in list(view.counts):
        if other != op and location(other).rpartition("/")[0] == beside:
            del view.counts[kind, other]


def _ask_more_names(view: BrowserScreen) -> None:
    """Ask what the ids are called of which only what they are in tells."""
    kind, known = view.level.kind, view.level.known
    if view.answer.value is None:
        return
    answers = {each: view.live.peek(listed(each, known)).value for each in kind.lookups}
    for number, op in enumerate(kind.also_named(kind.items(view.answer.value), known, answers)):
        if view.subscriptions.operation(f"more names {number}") != op:
            view.follow(f"more names {number}", op, view.names_came)


def _place_of(op: Operation[Any]) -> str:
    """The path of the place an operation is about."""
    return location(op).removesuffix(SPECS[type(op)].path)


def _things(view: BrowserScreen, kind: Resource[Any], answer: Any) -> Sequence[Any]:
    """Those of a kind in an answer, with what follows of what is known beside it."""
    things = kind.items(answer)
    if kind.beside is None:
        return things
    known = {each: view.live.peek(listed(each, view.level.known)).value for each in kind.lookups}
    return kind.beside(things, view.level.inside, known)


def go_into_row(view: BrowserScreen, kind_in_it: str = "") -> None:
    """Go into what the cursor is on, to its first kind or another."""
    if (thing := view.rows.item) is None:
        return
    level, kind = view.level, view.level.kind
    if not kind.is_named(level.known, thing):
        view.shell.explain(UNNAMED)
        return
    view.leave_kind()
    inside = level.into(thing)
    inside.kind = next((each for each in inside.kinds if each.many == kind_in_it), inside.kind)
    view.go_into(inside)


class Seeking:
    """A thing at the top that is to be gone into, and the kind wanted in it, until it is listed; and how many kinds on one
    is to be, until they are there."""

    def __init__(self, view: BrowserScreen) -> None:
        self._view = view
        self._sought: tuple[str, str, str] | None = None
        self._steps = 0

    def step(self, step: int) -> None:
        """Go so many kinds on as soon as they are there."""
        self._steps = max(0, self._steps + step)

    def begin(self, kind: str, key: str, below: str) -> None:
        """Go into a thing of a kind as soon as it is listed, and to the kind `below` in it."""
        self._sought = (kind, key, below)
        if self._view.levels:
            self._view.leave_kind()
            del self._view.levels[1:]
            self.open()

    def open(self) -> None:
        """Show the top, with the kind that is looked for."""
        level = self._view.level
        if self._sought is not None:
            level.kind = next((each for each in level.kinds if each.many == self._sought[0]), level.kind)
            level.left_at.pop(level.kind.many, None)
        last = len(level.kinds) - 1
        level.kind = level.kinds[max(0, min(level.kinds.index(level.kind) + self._steps, last))]
        self._steps = 0
        self._view.show_level()

    def arrived(self) -> None:
        """Go into what is looked for now that a list came, or say that it is not there."""
        view = self._view
        if self._sought is None or view.answer.value is None or view.level.kind.many != self._sought[0]:
            return
        _, key, below = self._sought
        self._sought = None
        if view.rows.go_to(key):
            go_into_row(view, below)
        else:
            view.shell.say(
                f"Could not find the item in {view.level.kind.many}: it was deleted, or you do not have access to it.",
                tone="care",
            )


def _count(answer: Any, kind: Resource[Any]) -> str:
    """How many there are, as an answer tells."""
    here = len(kind.items(answer))
    if not isinstance(answer, ListPage) or answer.next is None:
        return str(here)
    return str(answer.count) if (answer.count or 0) > here else f"{here}+"
