"""The view of the inbox: items that need the user's attention, most urgent first, with a preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget

from octavo.api.comments import Comment
from octavo.api.operation import Discussion, Model
from octavo.api.organizations import Organization
from octavo.data.inbox import InboxRow, ThreadRef, matches
from octavo.data.inbox_loader import InboxSnapshot
from octavo.data.inbox_marks import MarkedRows
from octavo.local_time import localize
from octavo.settings.file import FILE
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.core.external_links import copy_text
from octavo.tui.core.file_dialogs import short_path
from octavo.tui.core.list_view import (
    LINK_COMMANDS,
    PREVIEW_COMMANDS,
    TAB_COMMANDS,
    ActiveFilters,
    ListView,
    back_to_list,
    browse_commands,
)
from octavo.tui.core.session import InboxFeed
from octavo.tui.core.shell import Shell
from octavo.tui.inbox import row_commands, row_views
from octavo.tui.inbox.row_commands import open_row
from octavo.tui.inbox.row_views import REASON_TABS, RowFilter, RowPreview, RowRenderer, tab_settings
from octavo.tui.review.request_commands import REQUEST_COMMANDS
from octavo.tui.review.request_preview import SELECTION_DELAY
from octavo.tui.review.request_status import StatusLoader
from octavo.tui.review.status_changes import RequestTarget
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.row_list import RowList, available_filters, filter_items
from octavo.tui.widgets.short_texts import offline_since, plural, short_age

_LIST_KEYBAR = (
    "list.open",
    "inbox.done",
    "comments.reply",
    "inbox.resolve",
    "inbox.snooze",
    "change.approve",
    "inbox.read_on",
    "list.tick",
)
_STATUS_INTERVAL = 5.0
"""Seconds between two updates of “updated 5s ago” in the status line."""
_MIN_PREVIEW_LINES = 30
"""Minimum height in lines of a narrow terminal in which the preview is shown."""
_EMPTY_MESSAGE = "Nothing needs your attention."


def _selected_rows(view: InboxScreen) -> row_commands.SelectedRows | None:
    rows = tuple(view.selected_rows) or ((view.rows.item,) if view.rows.item is not None else ())
    if not rows or view.feed.marks is None:
        return None
    are_hidden = view.tabs.current in ("snoozed", "done")

    def select_row(row: InboxRow) -> None:
        view.pending_selection = row.key

    return row_commands.SelectedRows(
        rows, view.feed, are_hidden, view.rows.selection.clear, select_row, view.load_preview_unread
    )


def _why_no_thread(view: InboxScreen) -> str:
    return (
        "None of the selected items is a thread. Press esc to clear the selection."
        if view.selected_rows
        else "Select a thread first."
    )


def _open_thread_count(view: InboxScreen, row: InboxRow) -> int:
    request = view.feed.change_request(row)
    return view.shell.workspace.open_thread_count(request) if request is not None else 0


def _choose_filter(_: Shell, view: InboxScreen) -> None:
    rows, unread_before = view.rows_of_tab(view.tabs.current), view.marked_rows.unread
    candidates = row_views.all_filters(
        rows,
        lambda row: row.key in unread_before | view.marked_rows.unread,  # A row that you read stays listed.
        view.shell.workspace.space_title,
    )
    available = available_filters(candidates, rows, view.active_filters.filters)
    choices = [(each, plural(count, "item")) for each, count in available]
    save = partial(_copy_tab_settings, view) if _has_unsaved_filters(view) else None
    view.active_filters.open_picker("Filter by…", choices, save)


def _has_unsaved_filters(view: InboxScreen) -> bool:
    tab = view.tabs.current
    if tab in ("snoozed", "done") or tab.startswith("own "):
        return False
    return bool(view.active_filters.filters or view.rows.query_text or tab in REASON_TABS)


def _copy_tab_settings(view: InboxScreen) -> None:
    """Copy the TOML of a tab with the current filters, to paste it into the settings file."""
    reasons = REASON_TABS[view.tabs.current][1] if view.tabs.current in REASON_TABS else ()
    settings = view.shell.settings
    taken_names = [saved_tab.name for saved_tab in settings.inbox_filters]
    lines, unsupported = tab_settings(view.active_filters.filters, view.rows.query_text.strip(), reasons, taken_names)
    names = " and ".join(unsupported)
    if not lines:
        view.shell.explain(
            f"Could not save the filter “{names}”: a saved tab can filter only by reason, space, or words."
        )
        return
    warning = (
        f" The tab will not include the filter “{names}”: a saved tab can filter only by reason, space, or words."
        if unsupported
        else ""
    )
    settings_path = short_path(settings.config_folder / FILE)
    copy_text(
        view.shell,
        lines,
        f"Copied the setting {lines.splitlines()[0]}. Paste the setting at the end of {settings_path}. The tab will appear after you restart Octavo.{warning}",
    )


ROW_COMMANDS: Commands[row_commands.SelectedRows] = Commands(
    "inbox",
    (
        Command("done", "d", "Done", "Mark the item as done until something new happens", run=row_commands.mark_done, acts_at_once=True,
                title_now=lambda _, selected: "Move back" if selected.are_hidden else None),
        Command("snooze", "w", "Snooze", "Snooze the item", run=row_commands.snooze),
        Command("discard", "X,ctrl+x", "Discard", "Discard the unsent draft (press u to undo)",
                run=row_commands.discard, why_not=row_commands.why_not_discard, acts_at_once=True, shown=False),
        Command("unread", "minus", "Unread", "Mark the item as unread", run=row_commands.mark_unread, acts_at_once=True, shown=False),
    ),
    no_target="No item is selected.",
)  # fmt: skip
LIST_COMMANDS: Commands[InboxScreen] = Commands(
    "inbox",
    (
        *browse_commands("item"),
        Command("narrow", "F", "Filter by…", "Filter the items, or save the filter as a tab", run=_choose_filter, shown=False),
        Command("order", "S", "Sort", "Sort items", shown=False,
                run=lambda _, view: view.choose_list_order("Sort the inbox")),
        Command("list", "escape", "Back", "Go back to the list, or clear the filter", run=back_to_list, shown=False),
    ),
)  # fmt: skip


class InboxScreen(ListView[InboxRow]):
    """List of items that need the user's attention, with a preview of the selected item."""

    MODE = "inbox"
    HELP_NAME = "inbox"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = row_views.ORDERS
    ORDER_KEY = "order of the inbox"
    HELP = (
        "The inbox shows all items that need your attention, most urgent first. Press enter to open an item, c to reply, d to "
        "mark the item as done, or w to snooze it. Press esc to go back to the list."
    )
    CSS_PATH = "inbox.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        ROW_COMMANDS.for_target(_selected_rows),
        THREAD.only("resolve", "reply", "reply_resolve", "react")
        .with_changed("resolve", id="inbox.resolve", keys="R", title="Resolve", help="Resolve the thread for everyone")
        .for_target(lambda view: view.thread_target, no_target=_why_no_thread),
        REQUEST_COMMANDS.only("approve", "ask", "merge", "held", "update", "comment"),
        LINK_COMMANDS.for_target(
            lambda view: view.feed.change_request(view.rows.item) or view.feed.comment(view.rows.item)
        ),
        PREVIEW_COMMANDS,
        TAB_COMMANDS,
        LIST_COMMANDS,
    )

    row_preview: RowPreview
    active_filters: ActiveFilters[RowFilter]

    def __init__(self) -> None:
        super().__init__()
        self.marked_rows = MarkedRows()
        self.active_filters = ActiveFilters(self, self.redraw_list)
        self.statuses = StatusLoader(self, self._redraw_status)
        self._row_renderer = RowRenderer(partial(_open_thread_count, self))
        self._preview_delay = Delay(self)
        self.pending_selection: ThreadRef | str | None = None
        """Thread or row key to select as soon as it is in the list. None if there is none."""

    @property
    def feed(self) -> InboxFeed:
        """The object that loads and groups the rows of the inbox."""
        return self.shell.workspace.inbox

    def body(self) -> Iterable[Widget]:
        rows: RowList[InboxRow] = RowList(
            lambda row: self._row_renderer.render(row, self.rows.scrollable_content_region.width),
            key=lambda row: row.key,
            search=lambda row: f"{row.title} {row.context} {row.reason_text}",
            groups=lambda row: self._row_renderer.headings_of(row),
            two_lines=True,
            selectable=True,
            empty=_EMPTY_MESSAGE,
            id="inbox",
        )
        saved_tabs = [
            ListTab(f"own {saved_tab.name}", saved_tab.name) for saved_tab in self.shell.settings.inbox_filters
        ]
        fixed_tabs = (
            ListTab("all", "To do"),
            *(ListTab(key, name) for key, (name, _) in REASON_TABS.items()),
            *saved_tabs,
        )
        self.row_preview = RowPreview(self.statuses.status_of, id="preview")
        yield from self.list_with_preview(
            rows, self.row_preview, tabs=(*fixed_tabs, ListTab("snoozed", "Snoozed"), ListTab("done", "Done"))
        )

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._change_organization)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show_rows())
        self.feed.changed.subscribe(self, lambda _: self._show_rows())
        self.set_interval(_STATUS_INTERVAL, self._update_snoozed_and_status)
        self.set_class(self.app.size.width < 100 and self.app.size.height < _MIN_PREVIEW_LINES, "-no-preview")
        self.preview.find_scrolled_pane = lambda: self.row_preview.visible_pane
        self.feed.start()
        self.subscriptions.depend_on(*self.feed.list_operations)
        self._show_rows()
        self.rows.focus()

    def on_screen_resume(self) -> None:
        self.feed.rebuild()  # The user may have changed the text of a draft in another view.
        self.row_preview.show(self.rows.item)

    def _change_organization(self, organization: Organization) -> None:
        self.active_filters.filters = ()
        self.statuses.clear()
        self.subscriptions.depend_on(*self.feed.list_operations)
        self._show_rows()

    def _update_snoozed_and_status(self) -> None:
        if any(until is not None and until <= self.shell.session.state.now() for _, until in self.marked_rows.snoozed):
            self.feed.regroup()
        self._update_status()

    @property
    def snapshot(self) -> InboxSnapshot:
        """Content of the inbox as far as it is loaded."""
        return self.feed.snapshot or InboxSnapshot(is_loading=True)

    def _show_rows(self) -> None:
        self.marked_rows = self.feed.rows or MarkedRows()
        now = self.shell.session.state.now()
        self._row_renderer.unread_keys = self.marked_rows.unread
        self._row_renderer.snooze_labels = {
            row.key: f"until {row_commands.snooze_end_label(until, now)}" for row, until in self.marked_rows.snoozed
        }
        self.tabs.tabs = tuple(ListTab(tab.key, tab.name, len(self.rows_of_tab(tab.key))) for tab in self.tabs.tabs)
        self.redraw_list()

    @on(ListTabs.Switched)
    def redraw_list(self) -> None:
        if self.show_no_organization(self.rows, "the inbox"):
            self.row_preview.show(self.rows.item)
            return
        tab_rows, space_title = self.rows_of_tab(self.tabs.current), self.shell.workspace.space_title
        visible_rows = row_views.sort_rows(
            filter_items(tab_rows, self.active_filters.filters), self.list_order, space_title
        )
        self._row_renderer.headings = row_views.row_headings(visible_rows, self.list_order, space_title)
        self._row_renderer.order = self.list_order
        self._set_empty_message()
        is_at_top = self.snapshot.is_first_update and self.rows.cursor == 0
        self.rows.show(visible_rows)
        if is_at_top and visible_rows:
            self.rows.go_to(visible_rows[0].key)  # Until the user moves the cursor, the first row stays selected.
        if self.pending_selection is not None:
            self._select_pending()
        snapshot = self.snapshot
        is_cached = bool(tab_rows) or snapshot.is_known
        shown_failures = [each for each in snapshot.failed if not (each.is_unreached and is_cached)]
        if shown_failures:
            more_label = f" (and {len(shown_failures) - 1} more)" if len(shown_failures) > 1 else ""
            label = shown_failures[0].label
            self.rows.state.fail(f"Could not load {label}", f"{shown_failures[0].cause}{more_label}")
        elif snapshot.failed:
            self.rows.state.show_age(offline_since(self.feed.current_as_of))
        elif snapshot.is_loading and not (snapshot.rows or snapshot.is_known):
            self.rows.state.show_loading("the inbox")
        self._update_status()
        self.row_preview.show(self.rows.item)
        self.shell.note_page_shown(self)

    def rows_of_tab(self, tab: str) -> Sequence[InboxRow]:
        """Return the rows of the tab with the key `tab`, in the order of the inbox."""
        space_title = self.shell.workspace.space_title
        for inbox_filter in self.shell.settings.inbox_filters:
            if tab == f"own {inbox_filter.name}":
                return [row for row in self.marked_rows.active if matches(row, inbox_filter, space_title(row.space_id))]
        return row_views.rows_of_tab(tab, self.marked_rows)

    def _set_empty_message(self) -> None:
        snapshot, state = self.snapshot, self.rows.state
        tab = self.tabs.current
        is_complete_and_unfiltered = not (
            self.active_filters.filters or snapshot.is_loading or snapshot.unknown.summary or snapshot.failed
        )
        state.empty, state.hint, state.custom_lines = _EMPTY_MESSAGE, "", None
        if self.active_filters.filters:
            state.empty = f"No items match the filter: {' and '.join(self.active_filters.names)}."
            state.hint = "Press esc to clear the filter."
        elif tab in ("snoozed", "done"):
            state.empty = "No snoozed items." if tab == "snoozed" else "No items are marked as done."
            state.hint = (
                "Press w on an item to snooze it." if tab == "snoozed" else "Press d on an item to mark it as done."
            )
        elif snapshot.is_loading:
            state.empty = "No items loaded yet."
            state.hint = self._loading_label
        elif snapshot.unknown.summary:
            state.empty = "None of the items loaded so far need your attention."
            state.hint = f"{snapshot.unknown.summary}   Press r to refresh."
        elif tab != "all" and self.marked_rows.active:
            state.empty = "No unsent drafts." if tab == "unsent" else "Nothing needs your attention in this tab."
            state.hint = "Press [ or ] to switch tabs."
        elif is_complete_and_unfiltered:
            state.custom_lines = self._day_summary
        is_empty = is_complete_and_unfiltered and not self.marked_rows.active and tab == "all"
        self.set_class(is_empty, "-nothing")

    def _day_summary(self, width: int) -> list[Content]:
        now = localize(self.shell.session.state.now())
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        done_marks = self.feed.marks.done_since(midnight) if self.feed.marks is not None else ()
        return row_views.summary_lines(
            done_marks, self.marked_rows.snoozed, self.shell.workspace.attention_counts, now, width
        )

    @property
    def _loading_label(self) -> str:
        snapshot = self.snapshot
        progress = f"loading… {snapshot.fetched_count} of {snapshot.due_count}" if snapshot.due_count else "loading…"
        return f"{progress} · {snapshot.unknown.summary}" if snapshot.unknown.summary else progress

    @on(RowList.SelectionChanged, "#inbox")
    @on(LineList.FilterChanged, "#inbox")
    def _update_status(self) -> None:
        if self.shell.workspace.organization is None:
            self.show_location("Inbox")
            return
        snapshot = self.snapshot
        tab = next((each.name for each in self.tabs.tabs if each.key == self.tabs.current), "")
        parts = ["Inbox", tab, *self.active_filters.names, self.rows.counts.summary, self.LIST_ORDERS[self.list_order]]
        if self.selected_rows:
            parts.append(f"{len(self.selected_rows)} selected")
        status_parts = [
            f"loading… {snapshot.fetched_count} of {snapshot.due_count}"
            if snapshot.is_loading and snapshot.due_count
            else ""
        ]
        if (as_of := self.feed.current_as_of) is not None:
            status_parts.append(f"updated {short_age(as_of)} ago")
        if snapshot.unknown.summary and not snapshot.is_loading:
            status_parts.insert(0, snapshot.unknown.summary)
        self.show_location(" · ".join(parts), " · ".join(filter(None, status_parts)))
        self.refresh_bindings()

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """IDs of the commands that come first in the key bar. Empty if the list does not have the focus."""
        return _LIST_KEYBAR if self.rows.has_focus else ()

    @property
    def request_target(self) -> RequestTarget | None:
        """Target of the commands for change requests: the change requests of the current row and of the selected rows.
        None if the current row has no change request."""
        selected = {
            row.key: request for row in self.selected_rows if (request := self.feed.change_request(row)) is not None
        }
        current_request = self.feed.change_request(self.rows.item)
        if current_request is None:
            return None
        return RequestTarget(
            current_request, current_request.space_ref, self, tuple(selected.values()), tuple(selected)
        )

    @property
    def thread_target(self) -> ThreadTarget | None:
        """Target of thread commands: the threads of the selected rows or, if no row is selected, of the current row.
        None if there is no thread."""
        selected_threads = [
            Thread(comment, row.target.at, self.shell.workspace.space_title(row.space_id))
            for row in self.selected_rows
            if (comment := self.feed.comment(row)) is not None and isinstance(row.target, ThreadRef)
        ]
        if self.selected_rows:
            if not selected_threads:
                return None
            at, comment = selected_threads[0].at, selected_threads[0].comment
            return ThreadTarget(at, comment, comment, tuple(selected_threads), self.rows.selection.clear)
        row = self.rows.item
        comment = self.feed.comment(row)
        if row is None or comment is None or not isinstance(row.target, ThreadRef):
            return None
        shown_target = self.row_preview.thread.thread_target
        if shown_target is not None and shown_target.thread.id == comment.id:
            return replace(shown_target, message=shown_target.thread)
        return ThreadTarget(row.target.at, comment, comment)

    @property
    def selected_items(self) -> Sequence[Model]:
        row = self.rows.item
        if row is None:
            return ()
        space = self.shell.workspace.space(row.space_id) if row.space_id else None
        return [each for each in (self.feed.change_request(row), self.feed.comment(row), space) if each is not None]

    @on(LineList.Highlighted, "#inbox")
    def _show_preview(self) -> None:
        self.row_preview.show(self.rows.item)
        self._preview_delay.start(SELECTION_DELAY, self._load_preview)
        self.refresh_bindings()

    def load_preview_unread(self) -> None:
        """Load the preview of the current row without marking the row as read later."""
        self._load_preview()
        self._preview_delay.stop()

    def _load_preview(self) -> None:
        row = self.rows.item
        if row is None:
            return
        request = self.feed.change_request(row)
        if request is not None:
            self.statuses.follow_visible([request])
        self.row_preview.load_thread()
        mark_read = partial(row_commands.mark_read, self.shell, self.feed, row)
        self._preview_delay.start(row_commands.READ_DELAY, mark_read)

    def _redraw_status(self, request_id: str) -> None:
        if is_fully_mounted(self):
            self.rows.redraw()
            self.row_preview.summary.status_changed(request_id)

    @on(LineList.Opened, "#inbox")
    @on(ThreadView.ShowOnPageRequested)
    def _open_row(self) -> None:
        if self.rows.item is not None:
            open_row(self.shell, self.feed, self.rows.item)

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Select the thread of `comment` as soon as it is in the list. Return False if `comment` is None."""
        if comment is not None:
            self.pending_selection = ThreadRef(at, comment.id)
            self._select_pending()
        return comment is not None

    @property
    def is_in_start_state(self) -> bool:
        is_changed = any(notices.display for notices in self.query(Notices)) or self.rows.has_filter
        return self.tabs.current == "all" and not (is_changed or self.active_filters.filters or self.preview.has_focus)

    def save_position(self) -> None:
        """Save nothing: the inbox always starts at the top."""

    def _select_pending(self) -> None:
        pending = self.pending_selection
        key = next((row.key for row in self.rows.items if pending in (row.key, row.target)), None)
        if key is not None:
            self.pending_selection = None
            self.rows.go_to(key)

    def refresh_data(self) -> None:
        self.statuses.drop_for_reload()
        super().refresh_data()
        self.row_preview.thread.refresh_replies()
        if self.feed.loader is not None:
            if self.feed.marks is not None:
                self.feed.marks.reload()
            self.shell.background(self.feed.loader.refresh())
