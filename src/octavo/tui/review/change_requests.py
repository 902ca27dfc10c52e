"""Change requests of the organization: a list by status, what each is about, and the way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, get_args

from textual import on
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from octavo.api.change_requests import ChangeRequest, ListOfOrganization, Status
from octavo.api.operation import ListPage, Model
from octavo.api.organizations import Organization
from octavo.api.places import SpaceRef
from octavo.api.users import User
from octavo.data.live import Snapshot
from octavo.data.queries import change_requests_of
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments.discarding import UNSENT
from octavo.tui.review import list_filters, status_summary
from octavo.tui.review.list_filters import RequestFilter
from octavo.tui.review.request_actions import CHANGE, NEW_CHANGE
from octavo.tui.review.request_at_hand import RequestAtHand, others_ticked
from octavo.tui.review.request_summary import ASK_AFTER, Summary
from octavo.tui.review.status_loader import RequestStatuses
from octavo.tui.shell.link_commands import LINK_COMMANDS
from octavo.tui.shell.list_view import PREVIEW_COMMANDS, TAB_COMMANDS, ActiveFilters, ListView
from octavo.tui.shell.permissions import CANNOT_DELETE, why_no_space
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.unsent_texts import with_unsent_mark
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Heading, Row, RowList
from octavo.tui.widgets.section_tabs import Section, SectionTabs
from octavo.tui.widgets.wording import plural, short_age

NOTHING, NEXT = "No change requests with this status.", "] next tab   ctrl+n new change request"
NAMES: dict[str, str] = {"open": "Open", "draft": "Drafts", "merged": "Merged", "archived": "Archived"}
LOOKED_AT = 200
"""Change requests that are looked at to tell whether they are among those that are wanted, and as many more when one comes
to the end of the list: each is a question of its own."""
_AROUND = 6
"""Cells of a row beside its second line."""
SIGNS = {
    "open": ("◐", "$primary"),
    "draft": ("○", "$octavo-muted"),
    "merged": ("✓", "$success"),
    "archived": ("✗", "$octavo-muted"),
}

_STATES = TAB_COMMANDS.with_changed(
    "previous_section", title="Previous tab", help="Go to the previous tab"
).with_changed("next_section", title="Next tab", help="Go to the next tab")


def _named_alone(view: ChangesScreen) -> ChangeRequest | None:
    request = view.request_at_hand
    return request.about if request is not None and others_ticked(request) is None else None


def _why_none_named(view: ChangesScreen) -> str:
    request = view.request_at_hand
    return (request and others_ticked(request)) or "Select a change request first."


_ADDRESS = LINK_COMMANDS.for_target(_named_alone, no_target=_why_none_named)


def _read_on(view: ChangesScreen, step: int) -> None:
    if not view.query_one(Summary).scroll_page_on(step):
        view.rows.move(step)


def _choose_only(_: Shell, view: ChangesScreen) -> None:
    snapshot = view.lists.get(view.sections.current, Snapshot())
    items = list(snapshot.value.items) if snapshot.value is not None else []
    offered = list_filters.offered(items, view.narrowing.filters, view.space_title, view.standings.of)
    more = [(each, f"{left} so far" if untold else str(left)) for each, left, untold in offered]
    view.narrowing.choose("Filter change requests", more)


def _only_mine(_: Shell, view: ChangesScreen) -> None:
    view.only_mine = not view.only_mine
    view.redraw_list()


CHANGES: Commands[ChangesScreen] = Commands(
    "changes",
    (
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next change request", shown=False,
                run=lambda _, view: _read_on(view, 1)),
        Command("read_back", "b", "Scroll back", "Scroll up; at the top, go to the previous change request", shown=False,
                run=lambda _, view: _read_on(view, -1)),
        Command("next", "J", "Next", "Go to the next change request", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous", "K", "Previous", "Go to the previous change request", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("narrow", "F", "Filter by…", "Filter by review, status, conflicts, space, or author", shown=False,
                run=_choose_only),
        Command("order", "S", "Sort", "Sort change requests", shown=False,
                run=lambda _, view: view.choose_list_order("Sort change requests")),
        Command("all", "escape", "Clear filters", "Clear the filters", run=lambda _, view: view.narrowing.replace(), shown=False),
        Command("delete", "X", "Delete", "Explain why a change request cannot be deleted", shown=False,
                run=lambda app, _: app.explain(CANNOT_DELETE), why_not=lambda *_: CANNOT_DELETE),
        Command("mine", "at", "Mine", "Switch between your change requests and all change requests", key_display="@", shown=False, id="list.mine",
                run=_only_mine),
    ),
    find=lambda view: view,
)  # fmt: skip


class ChangesScreen(ListView[ChangeRequest]):
    """The change requests by status, with a preview of the selected change request."""

    MODE = "changes"
    CONTEXT = "list of change requests"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = {key: name for key, (name, _) in list_filters.ORDERS.items()}
    ORDER_FACT = "order of change requests"
    HELP = (
        "This list shows the change requests in all spaces, with a preview. Press enter to open a change request, "
        "a to approve it, m to run the checks and merge it, or x to select several change requests. "
        "Press esc to clear the filters."
    )
    CSS_PATH = "change_requests.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        CHANGE,
        NEW_CHANGE,
        _ADDRESS,
        PREVIEW_COMMANDS,
        _STATES,
        UNSENT,
        CHANGES,
    )

    def __init__(self) -> None:
        super().__init__()
        self.lists: dict[str, Snapshot[ListPage[ChangeRequest]]] = {}
        """What the server lists, by the state they are in."""
        self.only_mine = False
        self.narrowing: ActiveFilters[RequestFilter] = ActiveFilters(self, self._narrowed)
        self._reach, self._looks_on = LOOKED_AT, False
        """How many of a list are looked at, and whether there are more of which that would tell something."""
        self._told_so_far = ""
        """Of how many it is not known yet whether they are among those that are wanted."""
        self.standings = RequestStatuses(self, self._stands_otherwise)
        self._looking: Timer | None = None
        self._redrawing: Timer | None = None

    def body(self) -> Iterable[Widget]:
        rows: RowList[ChangeRequest] = RowList(
            self._draw,
            key=lambda each: each.id,
            search=lambda each: (
                f"{each.title} #{each.number} {self.space_title(each)} {each.created_by.name if each.created_by else ''}"
            ),
            groups=lambda each: [Heading(self.space_title(each).upper())] if self.list_order == "space" else [],
            two_lines=True,
            selectable=True,
            empty=NOTHING,
            hint=NEXT,
            id="change-requests",
        )
        sections = tuple(Section(status, NAMES[status]) for status in ("open", "draft", "merged", "archived"))
        yield from self.list_with_preview(rows, Summary(self.standings.of, id="summary"), sections=sections)

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._spaces_changed())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self.rows.redraw())
        if self.shell.workspace.organization is not None:
            self._enter(self.shell.workspace.organization)
        self._spaces_changed()
        self.watch(self.rows, "scroll_y", self._look_soon, init=False)
        self.rows.focus()

    def _spaces_changed(self) -> None:
        if not self.show_no_organization(self.rows, "change requests"):
            self.rows.search_texts.discard()
            self.rows.apply_filter()
            self.rows.redraw()

    def _enter(self, organization: Organization) -> None:
        self.lists.clear()
        self.standings.forget()
        for status in get_args(Status):
            self.follow(status, change_requests_of(organization.id, status), partial(self._show, status))
        self.redraw_list()

    def _show(self, status: str, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        self.lists[status] = snapshot
        self.sections.sections = tuple(
            Section(each.key, each.name, _count(self.lists.get(each.key))) for each in self.sections.sections
        )
        if status == self.sections.current:
            self.redraw_list()

    @on(SectionTabs.Switched)
    def redraw_list(self) -> None:
        self._told_so_far = ""
        status = self.sections.current
        snapshot = self.lists.get(status, Snapshot())
        if snapshot.value is not None:
            items = [
                each for each in snapshot.value.items if not self.only_mine or _is_of(self.shell.workspace.me, each)
            ]
            here = len(items) if all(each.needs is None for each in self.narrowing.filters) else self._reach
            untold = list_filters.untold(items[:here], self.narrowing.filters, self.standings.of)
            self._looks_on = here < len(items)
            looked = f"first {here if self._looks_on else len(snapshot.value.items)}"
            items = sorted(
                list_filters.narrowed(items, self.narrowing.filters, self.standings.of), key=self.space_title
            )
            items.sort(key=lambda each: list_filters.ORDERS[self.list_order][1](each, self.standings.of(each)))
            some = bool(self.narrowing.filters or self.only_mine)
            self.rows.state.empty = "No change requests match the filters." if some else NOTHING
            partly = some and (self._looks_on or snapshot.value.next is not None)
            if partly:
                self.rows.state.empty = f"No matches in the {looked} change requests."
            if untold and list_filters.still_looks(untold, self.narrowing.filters, self.standings.of):
                self.rows.state.empty = "No matches yet. Still loading…"
            self.rows.state.hint = "esc clear filters" if self.narrowing.filters else "@ show all" if some else NEXT
            if partly:
                self.rows.state.hint = f"G load more   {self.rows.state.hint}"
                self.rows.show(items, partial_note=f"Only the {looked} are loaded")
            else:
                self.rows.show_page(snapshot.value, items)
            self._find(untold)
            self._look_soon()
            self._other_change_request()  # the change request under the cursor may be newer
        self.show_response(snapshot, "Change requests", "change requests")
        self._say_where()

    def _say_where(self) -> None:
        organization = self.shell.workspace.organization.title if self.shell.workspace.organization else ""
        mine = " · mine" if self.only_mine else ""
        mine += "".join(f" · {each}" for each in self.narrowing.names)
        ticked = f" · {len(self.selected_rows)} selected" if self.selected_rows else ""
        where = f"Changes · {organization} · {NAMES[self.sections.current].lower()}{mine}{ticked}"
        self.show_location(where, self.rows.counts.summary + self._told_so_far)

    def space_title(self, change_request: ChangeRequest) -> str:
        """What its space is called, as far as that is known."""
        space = self.shell.workspace.space(change_request.space) if change_request.space else None
        return space.title if space else ""

    def _draw(self, each: ChangeRequest) -> Row:
        sign, style = SIGNS.get(each.status, ("?", "$octavo-muted"))
        author = each.created_by.name if each.created_by else ""
        where = "" if self.list_order == "space" else self.space_title(each)
        room = self.rows.scrollable_content_region.width - _AROUND
        below = status_summary.line(self.standings.of(each), [fact for fact in (where, author) if fact], room)
        return Row(
            text=Content.assemble((f"#{each.number}  ", "$octavo-muted"), (each.title, "bold")),
            right=with_unsent_mark(
                self._unsent_of(each), f"updated {short_age(each.updated_at)}" if each.updated_at else ""
            ),
            second_line=below,
            sign=Content.styled(sign, style),
        )

    def _unsent_of(self, each: ChangeRequest) -> Sequence[UnsentText]:
        space = _space_of(each)
        return self.shell.workspace.unsent.index.of_place(each.ref(space)) if space is not None else ()

    @property
    def unsent_at_hand(self) -> Sequence[UnsentText]:
        """Return the unsent drafts in the selected change requests, else in the one under the cursor."""
        among = self.selected_rows or ([self.rows.item] if self.rows.item is not None else [])
        return [words for each in among for words in self._unsent_of(each)]

    # How each stands

    def _look_soon(self) -> None:
        """Ask how those on show stand, once the list is at rest."""
        if self._looking is not None:
            self._looking.stop()
        self._looking = self.set_timer(ASK_AFTER, self._look)

    def _look(self) -> None:
        if not self.is_current:
            return  # nothing of it is seen
        rows = self.rows
        self.standings.look_at([rows.items[index] for index in rows.visible_indexes])

    def on_resize(self) -> None:
        self._look_soon()

    def on_screen_resume(self) -> None:
        if is_whole(self):
            self.rows.redraw()
            self._look_soon()

    def _stands_otherwise(self, name: str) -> None:
        if not is_whole(self):
            return
        self.rows.redraw(name)
        self.query_one(Summary).status_changed(name)
        if (self.narrowing.filters or self.list_order == "threads") and self._redrawing is None:
            self._redrawing = self.set_timer(ASK_AFTER, self._draw_again)

    def _draw_again(self) -> None:
        self._redrawing = None
        self.redraw_list()

    def _find(self, untold: Sequence[ChangeRequest]) -> None:
        """Load the facts that the filters need for `untold`, and say how many are missing or failed."""
        asks = [each.needs for each in self.narrowing.filters if each.needs is not None]
        causes = [cause for about in untold for fact in asks if (cause := self.standings.of(about).unread.get(fact))]
        left = [each for each in untold if not any(fact in self.standings.of(each).unread for fact in asks)]
        if left:
            self._told_so_far = f" · checking {len(left)} more"
            self.standings.find(left, asks)
        if causes:
            self.rows.state.fail(f"Could not check {plural(len(untold) - len(left), 'change request')}", causes[0])

    # Several

    @on(RowList.SelectionChanged, "#change-requests")
    def _other_ticks(self) -> None:
        self._say_where()
        self.refresh_bindings()

    @property
    def request_at_hand(self) -> RequestAtHand | None:
        """The one under the cursor, and those that are ticked."""
        item = self.rows.item
        return RequestAtHand(item, _space_of(item), self, tuple(self.selected_rows)) if item is not None else None

    @property
    def selected_items(self) -> Sequence[Model]:
        item = self.rows.item
        space = self.shell.workspace.space(item.space) if item is not None and item.space is not None else None
        return [each for each in (item, space) if each is not None]

    @on(LineList.Highlighted, "#change-requests")
    def _other_change_request(self) -> None:
        item = self.rows.item
        space = _space_of(item) if item is not None else None
        if item is not None and space is not None:
            self.query_one(Summary).show(item, space)
        elif item is None:
            self.query_one(Summary).clear()
        self.refresh_bindings()

    @on(LineList.MoreRequested, "#change-requests")
    def _more(self) -> None:
        op = self.subscriptions.operation(self.sections.current)
        if self._looks_on:
            self._reach += LOOKED_AT
            self.redraw_list()
        elif isinstance(op, ListOfOrganization):
            self.shell.background(self.live.fetch_next_page(op))

    @on(LineList.FilterChanged, "#change-requests")
    def _filtered(self) -> None:
        self._say_where()
        self._look_soon()

    @on(LineList.Opened, "#change-requests")
    def _open(self) -> None:
        item = self.rows.item
        space = _space_of(item) if item is not None else None
        if item is not None and space is not None:
            self.shell.go(ToChangeRequest(item.ref(space), item))
        elif item is not None:
            self.shell.explain(why_no_space(item))

    def refresh_data(self) -> None:
        self.standings.ask_again()
        super().refresh_data()
        self.redraw_list()

    def _narrowed(self) -> None:
        self.standings.stop_finding()
        self._reach = LOOKED_AT
        self.redraw_list()


def _space_of(each: ChangeRequest) -> SpaceRef | None:
    return SpaceRef(space_id=each.space) if each.space else None


def _count(snapshot: Snapshot[ListPage[ChangeRequest]] | None) -> int | None:
    """How many the server says there are, where they are not all here."""
    if snapshot is None or snapshot.value is None:
        return None
    return max(snapshot.value.count or 0 if snapshot.value.next else 0, len(snapshot.value.items))


def _is_of(person: User | None, each: ChangeRequest) -> bool:
    return person is not None and each.created_by is not None and person.id == each.created_by.id
