"""The list of the change requests of an organization, by status, with filters, sort orders and a preview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, get_args

from textual import on
from textual.content import Content
from textual.widget import Widget

from octavo.api.change_requests import ChangeRequest, ListOfOrganization, Status
from octavo.api.folding import fold
from octavo.api.operation import ListPage, Model
from octavo.api.organizations import Organization
from octavo.data.drafts import UnsentText
from octavo.data.inbox import is_mine
from octavo.data.live import Snapshot
from octavo.data.queries import change_requests_op
from octavo.tui.comments.thread_commands import UNSENT
from octavo.tui.core.list_view import (
    LINK_COMMANDS,
    PREVIEW_COMMANDS,
    TAB_COMMANDS,
    ActiveFilters,
    ListView,
    back_to_list,
    browse_commands,
)
from octavo.tui.core.permissions import CANNOT_DELETE, unknown_space_sentence
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.core.session import with_unsent_mark
from octavo.tui.core.shell import Shell
from octavo.tui.review import request_status
from octavo.tui.review.request_commands import NEW_REQUEST, REQUEST_COMMANDS
from octavo.tui.review.request_preview import SELECTION_DELAY, RequestPreview
from octavo.tui.review.request_status import RequestStatus, StatusField, StatusLoader
from octavo.tui.review.status_changes import RequestTarget, why_not_single
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import ListFilter, Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import plural, short_age

StatusOf: TypeAlias = Callable[[ChangeRequest], RequestStatus]

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class RequestFilter(ListFilter):
    """Filter of the list of change requests. Only one filter of each `kind` can be active."""

    matches: Callable[[ChangeRequest, RequestStatus], bool] = field(compare=False)
    needed_field: StatusField | None = None
    """Status field that must be loaded before `matches` is called. None if `matches` needs none."""

    def has_needed_field(self, status: RequestStatus) -> bool:
        """Return True if the status field that the filter needs is loaded, or if the filter needs none."""
        return self.needed_field is None or self.needed_field in status.loaded_fields


def matching_requests(
    items: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf
) -> list[ChangeRequest]:
    """Return the change requests that match all filters. `status` returns the status of a change request as far as it
    is loaded. If a filter needs a status field that is not loaded, the change request does not match."""
    return [
        item
        for item in items
        if all(each.has_needed_field(status(item)) and each.matches(item, status(item)) for each in filters)
    ]


def possible_matches(
    items: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf
) -> list[ChangeRequest]:
    """Return the change requests for which a filter needs a field that is not loaded. All other filters match them."""
    return [
        item
        for item in items
        if all(not each.has_needed_field(status(item)) or each.matches(item, status(item)) for each in filters)
        and not all(each.has_needed_field(status(item)) for each in filters)
    ]


def can_still_match(undecided: Iterable[ChangeRequest], filters: Collection[RequestFilter], status: StatusOf) -> bool:
    """Return True if one of `undecided` has no load error in any needed field, so that it may still match."""
    return any(all(each.needed_field not in status(item).load_errors for each in filters) for item in undecided)


def offered_filters(
    items: Sequence[ChangeRequest],
    active_filters: Sequence[RequestFilter],
    space_title: Callable[[ChangeRequest], str],
    status: StatusOf,
) -> list[tuple[RequestFilter, int, int]]:
    """Return the inactive filters that may shorten the list. Each has two numbers: the change requests that match, and
    those that may match when their status is loaded."""
    filters = [*_STATUS_FILTERS, *_REVIEW_FILTERS, *_CONFLICT_FILTERS]
    approvers = Counter(name for item in items for name in (*status(item).approved, *status(item).outdated_approvals))
    for name, _ in approvers.most_common():
        filters.append(RequestFilter("Approved by", name, _approver_matcher(name), "reviews"))
    for title in sorted({space_title(each) for each in items}, key=fold):
        filters.append(RequestFilter("Space", title, _value_matcher(space_title, title)))
    for name in sorted({each.author_name for each in items} - {""}, key=fold):
        filters.append(RequestFilter("Author", name, _value_matcher(attrgetter("author_name"), name)))
    offered_items = []
    for each in filters:
        other_filters = [other for other in active_filters if other.kind != each.kind]
        candidates = matching_requests(items, other_filters, status)
        match_count = len(matching_requests(candidates, [each], status))
        unknown_count = len(possible_matches(candidates, [each], status))
        if each not in active_filters and (unknown_count or 0 < match_count < len(candidates)):
            offered_items.append((each, match_count, unknown_count))
    return offered_items


_STATUS_FILTERS = (
    RequestFilter("Status", "outdated", lambda _, status: status.is_outdated),
    RequestFilter("Status", "up to date", lambda _, status: not status.is_outdated),
)
_CONFLICT_FILTERS = (
    RequestFilter("Conflicts", "with conflicts", lambda _, status: bool(status.conflicts), "conflicts"),
    RequestFilter("Conflicts", "without conflicts", lambda _, status: not status.conflicts, "conflicts"),
    RequestFilter("Threads", "with open threads", lambda _, status: status.open_thread_count > 0),
    RequestFilter("Threads", "without open threads", lambda _, status: status.open_thread_count == 0),
)
_REVIEW_FILTERS = (
    RequestFilter("Review", "review requested", lambda _, status: status.is_requested_from_me, "requested"),
    RequestFilter("Review", "approved", lambda _, status: bool(status.approved), "reviews"),
    RequestFilter("Review", "approval outdated", lambda _, status: bool(status.outdated_approvals), "reviews"),
    RequestFilter("Review", "changes requested", lambda _, status: bool(status.changes_requested), "reviews"),
    RequestFilter(
        "Review",
        "not reviewed",
        lambda _, status: not (status.approved or status.outdated_approvals or status.changes_requested),
        "reviews",
    ),
)


def _approver_matcher(name: str) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda _, status: name in (*status.approved, *status.outdated_approvals)


def _value_matcher(
    value_of: Callable[[ChangeRequest], str], name: str
) -> Callable[[ChangeRequest, RequestStatus], bool]:
    return lambda each, _: value_of(each) == name


ORDERS: dict[str, tuple[str, Callable[[ChangeRequest, RequestStatus], tuple[object, ...]]]] = {
    "space": ("by space", lambda each, _: ()),
    "newest": ("most recently updated first", lambda each, _: (_NEVER - (each.updated_at or _NEVER),)),
    "oldest": ("least recently updated first", lambda each, _: (each.updated_at or _NEVER,)),
    "threads": ("most open threads first", lambda _, status: (-status.open_thread_count,)),
    "author": ("by author", lambda each, _: (fold(each.author_name),)),
}
"""Sort orders of the list by key: the name, and a function that returns the sort key."""


EMPTY_HINT = "] next tab   ctrl+n new change request"
STATUS_NAMES: dict[str, str] = {"open": "Open", "draft": "Drafts", "merged": "Merged", "archived": "Archived"}
CHECKED_AT_ONCE = 200
"""Number of change requests whose status the filters check at first, and each time you reach the end of the list."""
_ROW_MARGIN = 6
"""Cells of a row that the second line cannot use, such as margins."""
SIGNS = {
    "open": ("◐", "$primary"),
    "draft": ("○", "$octavo-muted"),
    "merged": ("✓", "$success"),
    "archived": ("✗", "$octavo-muted"),
}


def _single_request(view: RequestListScreen) -> ChangeRequest | None:
    target = view.request_target
    return target.change_request if target is not None and why_not_single(target) is None else None


def _why_no_single_request(view: RequestListScreen) -> str:
    target = view.request_target
    return (target and why_not_single(target)) or "Select a change request first."


_SINGLE_REQUEST_LINKS = LINK_COMMANDS.for_target(_single_request, no_target=_why_no_single_request)


def _choose_filter(_: Shell, view: RequestListScreen) -> None:
    offered = offered_filters(
        view.requests_of_tab, view.active_filters.filters, view.space_title, view.statuses.status_of
    )
    choices = [(each, f"{count} so far" if unknown_count else str(count)) for each, count, unknown_count in offered]
    view.active_filters.open_picker("Filter change requests", choices)


def _toggle_mine(_: Shell, view: RequestListScreen) -> None:
    view.only_mine = not view.only_mine
    view.redraw_list()


LIST_COMMANDS: Commands[RequestListScreen] = Commands(
    "changes",
    (
        *browse_commands("change request"),
        Command("narrow", "F", "Filter by…", "Filter by review, status, conflicts, space, or author", shown=False,
                run=_choose_filter),
        Command("order", "S", "Sort", "Sort change requests", shown=False,
                run=lambda _, view: view.choose_list_order("Sort change requests")),
        Command("all", "escape", "Clear filters", "Clear the filters", run=back_to_list, shown=False),
        Command("delete", "X", "Delete", "Explain why a change request cannot be deleted", shown=False,
                run=lambda app, _: app.explain(CANNOT_DELETE), why_not=lambda *_: CANNOT_DELETE),
        Command("mine", "at", "Mine", "Switch between your change requests and all change requests", key_display="@", shown=False, id="list.mine",
                run=_toggle_mine),
    ),
)  # fmt: skip


class RequestListScreen(ListView[ChangeRequest]):
    """List of the change requests by status, with a preview of the selected change request."""

    MODE = "changes"
    HELP_NAME = "list of change requests"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = {key: name for key, (name, _) in ORDERS.items()}
    ORDER_KEY = "order of change requests"
    HELP = (
        "This list shows the change requests in all spaces, with a preview. Press enter to open a change request, "
        "a to approve it, m to run the checks and merge it, or x to select several change requests. "
        "Press esc to clear the filters."
    )
    CSS_PATH = "request_list.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        REQUEST_COMMANDS,
        NEW_REQUEST,
        _SINGLE_REQUEST_LINKS,
        PREVIEW_COMMANDS,
        TAB_COMMANDS,
        UNSENT,
        LIST_COMMANDS,
    )

    def __init__(self) -> None:
        super().__init__()
        self.only_mine = False
        self.active_filters: ActiveFilters[RequestFilter] = ActiveFilters(self, self._on_filters_changed)
        self._checked_count = CHECKED_AT_ONCE
        """Number of change requests that the filters check."""
        self._has_unchecked = False
        """True if the list has more change requests than the filters check."""
        self._progress = ""
        """Text in the status line, such as ` · checking 12 more`, or empty."""
        self.statuses = StatusLoader(self, self._on_status_changed)
        self._follow_delay = Delay(self)
        self._redraw_delay = Delay(self)

    def body(self) -> Iterable[Widget]:
        rows: RowList[ChangeRequest] = RowList(
            self._draw,
            key=lambda each: each.id,
            search=lambda each: f"{each.title} #{each.number} {self.space_title(each)} {each.author_name}",
            groups=lambda each: (
                [RowHeading(self.space_title(each).upper(), key=each.space)] if self.list_order == "space" else []
            ),
            two_lines=True,
            selectable=True,
            hint=EMPTY_HINT,
            id="change-requests",
        )
        tabs = tuple(ListTab(status, STATUS_NAMES[status]) for status in ("open", "draft", "merged", "archived"))
        yield from self.list_with_preview(rows, RequestPreview(self.statuses.status_of, id="summary"), tabs=tabs)

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._show_organization)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._on_spaces_changed())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self.rows.redraw())
        if self.shell.workspace.organization is not None:
            self._show_organization(self.shell.workspace.organization)
        self._on_spaces_changed()
        self.watch(self.rows, "scroll_y", self._follow_visible_rows_later, init=False)
        self.rows.focus()

    def _on_spaces_changed(self) -> None:
        if not self.show_no_organization(self.rows, "change requests"):
            self.rows.search_texts.discard()
            self.rows.apply_filter()
            self.rows.redraw()

    def _show_organization(self, organization: Organization) -> None:
        self.statuses.clear()
        for status in get_args(Status):
            op = change_requests_op(organization.id, status)
            self.follow(status, op, partial(self._show_counts, status))
        self.redraw_list()

    def _show_counts(self, updated_status: str, _: Snapshot[ListPage[ChangeRequest]]) -> None:
        self.tabs.tabs = tuple(
            ListTab(each.key, each.name, _count(self.subscriptions.snapshot(each.key).value)) for each in self.tabs.tabs
        )
        if updated_status == self.tabs.current:
            self.redraw_list()

    @property
    def _snapshot(self) -> Snapshot[ListPage[ChangeRequest]]:
        return self.subscriptions.snapshot(self.tabs.current)

    @property
    def requests_of_tab(self) -> list[ChangeRequest]:
        """Loaded change requests of the current tab, before the filters. With `only_mine`, only yours."""
        list_page, my_id = self._snapshot.value, self.shell.workspace.my_id
        items = list_page.items if list_page else ()
        return [each for each in items if not self.only_mine or is_mine(each, my_id)]

    @on(ListTabs.Switched)
    def redraw_list(self) -> None:
        self._progress = ""
        snapshot = self._snapshot
        if snapshot.value is not None:
            items = self.requests_of_tab
            needs_fields = any(each.needed_field is not None for each in self.active_filters.filters)
            checked_count = self._checked_count if needs_fields else len(items)
            undecided = possible_matches(items[:checked_count], self.active_filters.filters, self.statuses.status_of)
            self._has_unchecked = checked_count < len(items)
            checked_text = f"first {checked_count if self._has_unchecked else len(snapshot.value.items)}"
            items = sorted(
                matching_requests(items, self.active_filters.filters, self.statuses.status_of),
                key=lambda each: (self.space_title(each), each.space or ""),
            )
            items.sort(key=lambda each: ORDERS[self.list_order][1](each, self.statuses.status_of(each)))
            is_filtered = bool(self.active_filters.filters or self.only_mine)
            self.rows.state.empty = f"{'You have no' if self.only_mine else 'No'} {self.tabs.current} change requests."
            if self.active_filters.filters:
                self.rows.state.empty = "No change requests match the filters."
            is_partial = is_filtered and (self._has_unchecked or snapshot.value.next is not None)
            if is_partial:
                self.rows.state.empty = f"No matches in the {checked_text} change requests."
            if undecided and can_still_match(undecided, self.active_filters.filters, self.statuses.status_of):
                self.rows.state.empty = "No matches yet. Still loading…"
            self.rows.state.hint = (
                "esc clear filters" if self.active_filters.filters else "@ show all" if is_filtered else EMPTY_HINT
            )
            if is_partial:
                self.rows.state.hint = f"G load more   {self.rows.state.hint}"
                self.rows.show(items, partial_note=f"Only the {checked_text} are loaded")
            else:
                self.show_list_page(snapshot.value, items)
            self._load_needed_fields(undecided)
            self._follow_visible_rows_later()
            self._on_row_selected()  # The list may have a newer version of the selected change request.
        self.show_response(snapshot, "Change requests", "change requests")
        self._draw_location()

    def _draw_location(self) -> None:
        organization_note = f" · {self.shell.workspace.organization.title}" if self.shell.workspace.organization else ""
        filter_note = " · mine" if self.only_mine else ""
        filter_note += "".join(f" · {each}" for each in self.active_filters.names)
        selection_text = f" · {len(self.selected_rows)} selected" if self.selected_rows else ""
        crumbs = f"Changes{organization_note} · {STATUS_NAMES[self.tabs.current].lower()}{filter_note}{selection_text}"
        self.show_location(crumbs, self.rows.counts.summary + self._progress)

    def space_title(self, change_request: ChangeRequest) -> str:
        """Return the title of the space of a change request. Empty if the title is unknown."""
        return self.shell.workspace.space_title(change_request.space)

    def _draw(self, request: ChangeRequest) -> Row:
        sign, style = SIGNS.get(request.status, ("?", "$octavo-muted"))
        space = "" if self.list_order == "space" else self.space_title(request)
        width = self.rows.scrollable_content_region.width - _ROW_MARGIN
        second_line = request_status.status_line(self.statuses.status_of(request), (space, request.author_name), width)
        return Row(
            text=Content.assemble((f"#{request.number}  ", "$octavo-muted"), (request.title, "bold")),
            right=with_unsent_mark(
                self._unsent_of(request), f"updated {short_age(request.updated_at)}" if request.updated_at else ""
            ),
            second_line=second_line,
            sign=Content.styled(sign, style),
        )

    def _unsent_of(self, request: ChangeRequest) -> Sequence[UnsentText]:
        space = request.space_ref
        return self.shell.workspace.unsent.index.of_discussion(request.ref(space)) if space is not None else ()

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Unsent drafts in the selected change requests, else in the change request under the cursor."""
        requests = self.selected_rows or ([self.rows.item] if self.rows.item is not None else [])
        return [draft for request in requests for draft in self._unsent_of(request)]

    def _follow_visible_rows_later(self) -> None:
        self._follow_delay.start(SELECTION_DELAY, self._follow_visible_rows)

    def _follow_visible_rows(self) -> None:
        if not self.is_current:
            return  # The list is hidden by another view.
        rows = self.rows
        self.statuses.follow_visible([rows.items[index] for index in rows.visible_indexes])

    def on_resize(self) -> None:
        self._follow_visible_rows_later()

    def on_screen_resume(self) -> None:
        if is_fully_mounted(self):
            self.rows.redraw()
            self._follow_visible_rows_later()

    def _on_status_changed(self, request_id: str) -> None:
        if not is_fully_mounted(self):
            return
        self.rows.redraw(request_id)
        self.query_one(RequestPreview).status_changed(request_id)
        if self.active_filters.filters or self.list_order == "threads":
            self._redraw_delay.start_once(SELECTION_DELAY, self.redraw_list)

    def _load_needed_fields(self, undecided: Sequence[ChangeRequest]) -> None:
        needed_fields = [each.needed_field for each in self.active_filters.filters if each.needed_field is not None]
        errors = {each.id: self.statuses.status_of(each).load_errors for each in undecided}
        causes = [each[name] for each in errors.values() for name in needed_fields if name in each]
        loadable_requests = [each for each in undecided if not any(name in errors[each.id] for name in needed_fields)]
        if loadable_requests:
            self._progress = f" · checking {len(loadable_requests)} more"
            self.statuses.load(loadable_requests, needed_fields)
        if causes:
            self.rows.state.fail(
                f"Could not check {plural(len(undecided) - len(loadable_requests), 'change request')}", causes[0]
            )

    @on(RowList.SelectionChanged, "#change-requests")
    def _on_selection_changed(self) -> None:
        self._draw_location()
        self.refresh_bindings()

    @property
    def request_target(self) -> RequestTarget | None:
        """Target of commands: the change request under the cursor, and the selection. None in an empty list."""
        item = self.rows.item
        if item is None:
            return None
        selected = tuple(self.selected_rows)
        return RequestTarget(item, item.space_ref, self, selected, tuple(each.id for each in selected))

    @property
    def selected_items(self) -> Sequence[Model]:
        item = self.rows.item
        space = self.shell.workspace.space(item.space) if item is not None and item.space is not None else None
        return [each for each in (item, space) if each is not None]

    @on(LineList.Highlighted, "#change-requests")
    def _on_row_selected(self) -> None:
        item = self.rows.item
        if item is not None and (space := item.space_ref) is not None:
            self.query_one(RequestPreview).show(item, space)
        elif item is None:
            self.query_one(RequestPreview).clear()
        self.refresh_bindings()

    @on(LineList.MoreRequested, "#change-requests")
    def _on_more_requested(self) -> None:
        op = self.subscriptions.operation(self.tabs.current)
        if self._has_unchecked:
            self._checked_count += CHECKED_AT_ONCE
            self.redraw_list()
        elif isinstance(op, ListOfOrganization):
            self.shell.background(self.live.fetch_next_page(op))

    @on(LineList.FilterChanged, "#change-requests")
    def _on_filter_changed(self) -> None:
        self._draw_location()
        self._follow_visible_rows_later()

    @on(LineList.Opened, "#change-requests")
    def _on_row_opened(self) -> None:
        item = self.rows.item
        if item is not None and (space := item.space_ref) is not None:
            self.shell.go(ToChangeRequest(item.ref(space), item))
        elif item is not None:
            self.shell.explain(unknown_space_sentence(item))

    def refresh_data(self) -> None:
        self.statuses.drop_for_reload()
        super().refresh_data()
        self.redraw_list()

    def _on_filters_changed(self) -> None:
        self.statuses.stop_loading()
        self._checked_count = CHECKED_AT_ONCE
        self.redraw_list()


def _count(listed: ListPage[ChangeRequest] | None) -> int | None:
    return max(listed.count or 0 if listed.next else 0, len(listed.items)) if listed is not None else None
