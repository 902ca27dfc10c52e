"""The view of all threads of the organization: a list, and the selected thread beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget

from octavo.api.comments import Comment
from octavo.api.operation import Discussion, Model
from octavo.api.organizations import Organization
from octavo.data.drafts import UnsentText
from octavo.documents.suggestions import one_line_text
from octavo.tui.comments import thread_commands, thread_filters
from octavo.tui.comments.thread_commands import THREAD, UNSENT, ThreadTarget
from octavo.tui.comments.thread_filters import Thread, ThreadFilter, ThreadSearchText
from octavo.tui.comments.thread_loader import OutdatedBlocks, ThreadLoader
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.core.list_view import (
    PREVIEW_COMMANDS,
    TAB_COMMANDS,
    ActiveFilters,
    ListView,
    back_to_list,
    browse_commands,
)
from octavo.tui.core.session import with_unsent_mark
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import report_missing_threads
from octavo.tui.core.workspace import PENDING
from octavo.tui.render.threads import WORD_CHANGES, WORD_MARKS
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList, available_filters, filter_items
from octavo.tui.widgets.short_texts import plural, short_age

_LIST_KEYS = ("list.open", "comments.resolve", "comments.reply", "comments.read_on", "list.tick", "comments.narrow")


def _why_no_filter(app: Shell, view: CommentsScreen) -> str | None:
    is_too_short = not view.active_filters.filters and view.tab_thread_count < 2
    return "There are too few threads in this list to filter." if is_too_short else None


def _choose_filter(app: Shell, view: CommentsScreen) -> None:
    me, section = view.shell.workspace.my_id, view.tabs.current
    threads_of_section = [
        each for each in view.threads.loaded_threads() if thread_filters.is_in_section(each, section, me)
    ]
    threads_of_section.sort(key=thread_filters.ORDERS[view.list_order][1])
    candidates = thread_filters.all_filters(threads_of_section, short_texts.clock(), me)
    available_items = available_filters(candidates, threads_of_section, view.active_filters.filters)
    choices = [(each, plural(match_count, "thread")) for each, match_count in available_items]
    view.active_filters.open_picker("Filter threads", choices)


THREADS: Commands[CommentsScreen] = Commands(
    "comments",
    (
        *browse_commands("thread"),
        Command("narrow", "F", "Filter by…", "Filter threads by author, space, age, or status",
                run=_choose_filter, why_not=_why_no_filter, shown=False),
        Command("order", "S", "Sort", "Sort threads",
                run=lambda app, view: view.choose_list_order("Sort threads"), shown=False),
        Command("mine", "at", "Mine", "Switch between your threads and all open threads", key_display="@", shown=False, id="list.mine",
            run=lambda _, view: view.tabs.choose("open" if view.tabs.current == "mine" else "mine")),
        Command("list", "escape", "Back", "Go back to the list or clear the filters", run=back_to_list, shown=False),
    ),
).with_changed("next", keys="J,t", title="Next thread").with_changed("previous", keys="K,T", title="Previous thread")  # fmt: skip


class CommentsScreen(ListView[Thread]):
    """List of threads, grouped by space or change request and by page, with the selected thread beside it."""

    MODE = "comments"
    HELP_NAME = "list and preview"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = {key: name for key, (name, _) in thread_filters.ORDERS.items()}
    ORDER_KEY = "order of threads"
    HELP = (
        "This view shows the comment threads in the organization, grouped by space and page. Press c to reply, d to resolve, enter to open the page, "
        "or x to select more than one thread. Press [ or ] to switch tabs. The tab Review comments shows the comments of reviews, which are no threads. "
        "Press esc to go back to the list or clear the filters."
    )
    CSS_PATH = "comments_screen.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        THREAD.for_target(lambda view: view.thread_target),
        PREVIEW_COMMANDS,
        TAB_COMMANDS,
        UNSENT,
        THREADS,
    )

    thread: ThreadView
    active_filters: ActiveFilters[ThreadFilter]

    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadLoader(self, self.redraw_list)
        self.tab_thread_count = 0
        """Number of threads in the current tab, before the filters."""
        self._is_complete = False
        self._bulk_changed_ids: set[str] = set()
        """IDs of threads that a bulk action changed. A thread is selected again if the write to it fails."""
        self._failed_writes: Mapping[str, str] = {}
        """Reason why the last write to a thread failed, by thread ID."""
        self._initial_row: Hashable = None
        """Key of the row that was selected automatically while threads were loading."""
        self.active_filters = ActiveFilters(self, self.redraw_list)
        self._discussion_headings: Mapping[tuple[str, ...], RowHeading] = {}
        self.search_text = ThreadSearchText(self)
        self.outdated_blocks = OutdatedBlocks(self, self._redraw_threads)

    def body(self) -> Iterable[Widget]:
        rows: RowList[Thread] = RowList(
            self._draw,
            key=lambda thread: thread.key,
            search=self.search_text.text_of,
            groups=self._headings,
            selectable=True,
            id="list",
        )
        names = {
            "open": "Open",
            "mine": "My threads",
            "resolved": "Resolved",
            "reviews": "Review comments",
            "all": "All",
        }
        tabs = tuple(ListTab(key, name) for key, name in names.items())
        self.thread = ThreadView()
        yield from self.list_with_preview(rows, self.thread, tabs=tabs)

    @property
    def thread_target(self) -> ThreadTarget | None:
        """Target of the commands: the thread beside the list, and the selected threads. None if no thread is shown."""
        target = self.thread.thread_target
        if target is None:
            return None
        return replace(target, selected=tuple(self.selected_rows), clear_selection=self._clear_selection)

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Your unsent drafts in the selected threads, else in the current thread."""
        threads = self.selected_rows or ([self.rows.item] if self.rows.item is not None else [])
        index = self.shell.workspace.unsent.index
        return [text for thread in threads for text in index.of_thread(thread.at, thread.comment.id)]

    def _clear_selection(self) -> None:
        self._bulk_changed_ids |= {row.comment.id for row in self.selected_rows}
        self.rows.selection.clear()

    def _redraw_if_failure_discarded(self) -> None:
        """Redraw the list if a failed write was discarded. The server sends no response that would redraw it."""
        if self._failed_writes.keys() - self.shell.workspace.failure_reasons.keys():
            self.redraw_list()

    def _select_failed(self, failed_writes: Mapping[str, str]) -> None:
        failed_again = self._bulk_changed_ids & failed_writes.keys()
        self._bulk_changed_ids -= failed_again
        self.rows.selection.add(item.key for item in self.rows.items if item.comment.id in failed_again)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        return _LIST_KEYS if self.rows.has_focus else ()

    @property
    def selected_items(self) -> Sequence[Model]:
        item = self.rows.item
        space = self.shell.workspace.space(item.at.space_id) if item is not None else None
        return [each for each in (item.comment if item is not None else None, space) if each is not None]

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._load)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._follow_sources())
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._redraw_if_failure_discarded())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self.rows.redraw())
        if self.shell.workspace.organization is not None:
            self._load(self.shell.workspace.organization)
        else:
            self._follow_sources()
        self.thread.why_not_this_thread = lambda: thread_commands.why_not_single(
            self.rows.selection.keys, self.rows.key
        )
        self.rows.focus()

    def _load(self, organization: Organization) -> None:
        self._is_complete, self.active_filters.filters, self._initial_row = False, (), self.rows.key
        self.rows.state.show_loading("threads")
        self.threads.load(organization)

    def _follow_sources(self) -> None:
        if not self.show_no_organization(self.rows, "threads"):
            self.threads.follow_sources()

    @on(ListTabs.Switched)
    def redraw_list(self) -> None:
        tabs, my_id = self.tabs, self.shell.workspace.my_id
        threads = sorted(self.threads.loaded_threads(), key=thread_filters.ORDERS[self.list_order][1])
        pending_ids = {entry.created_id for entry in self.shell.session.outbox.entries if entry.state == "pending"}
        posted_threads = [thread for thread in threads if thread.comment.id not in pending_ids]
        tabs.tabs = tuple(
            ListTab(
                tab.key,
                tab.name,
                sum(thread_filters.is_in_section(thread, tab.key, my_id) for thread in posted_threads),
            )
            for tab in tabs.tabs
        )
        tab_threads = [each for each in threads if thread_filters.is_in_section(each, tabs.current, my_id)]
        self.tab_thread_count = len(tab_threads)
        visible_threads = filter_items(tab_threads, self.active_filters.filters)
        self._discussion_headings = thread_filters.discussion_headings(visible_threads)
        self._set_empty_text()
        self._failed_writes = self.shell.workspace.failure_reasons
        is_moved = self.rows.key != self._initial_row
        self.rows.show(visible_threads, partial_note=f"{self._loaded_label} loaded" if self.threads.has_more else "")
        if not self._is_complete:
            # Until the user moves, the first row stays selected during loading.
            if not is_moved:
                self.rows.go_to_first()
                self._initial_row = self.rows.key
            self._is_complete = not self.threads.is_loading
        self._select_failed(self._failed_writes)
        report_missing_threads(self.rows, self.threads.snapshots)
        self._show_status()
        self._draw_thread()

    @property
    def _loaded_label(self) -> str:
        return f"{len(self.threads.requested)} of {plural(self.threads.source_count, 'space or change request', 'spaces and change requests')}"

    def _headings(self, thread: Thread) -> Sequence[RowHeading]:
        if self.list_order != "place":
            return []
        return [self._discussion_headings[thread.discussion_key], RowHeading(thread.page_name, key=thread.page_id)]

    def _set_empty_text(self) -> None:
        has_more = self.threads.has_more
        thread_nouns = {
            "open": "open threads",
            "resolved": "resolved threads",
            "mine": "open threads started by you",
            "reviews": "review comments",
        }
        loaded_note = f" {self._loaded_label} are loaded." if has_more else ""
        filtered = f" match this filter: {', '.join(self.active_filters.names)}" if self.active_filters.filters else ""
        self.rows.state.empty = f"No {thread_nouns.get(self.tabs.current, 'threads')}{filtered}.{loaded_note}"
        self.rows.state.hint = (
            "Press esc to clear the filters." if self.active_filters.filters else "Press [ or ] to switch tabs."
        )
        if has_more:
            self.rows.state.hint = f"Press G to load more.   {self.rows.state.hint}"

    @on(RowList.SelectionChanged, "#list")
    @on(LineList.FilterChanged, "#list")
    def _show_status(self) -> None:
        self.search_text.load_replies(self.rows)
        has_more = any(snapshot.value.next for snapshot in self.threads.snapshots if snapshot.value)
        count_text, count, total = self.rows.counts.summary, self.threads.loaded_source_count, self.threads.source_count
        if count < total:
            count_text = f"{count} of {plural(total, 'space or change request', 'spaces and change requests')} loaded"
        elif self.active_filters.filters and not self.rows.query_text:
            count_text = f"{len(self.rows.items)} of {self.tab_thread_count}"
        status_parts = [
            "Comments",
            next((each.name.lower() for each in self.tabs.tabs if each.key == self.tabs.current), ""),
            f"filter: {', '.join(self.active_filters.names)}" if self.active_filters.filters else "all spaces",
            thread_filters.ORDERS[self.list_order][0] if self.list_order != "place" else "",
            f"{len(self.selected_rows)} selected" if self.selected_rows else "",
        ]
        self.show_location(
            " · ".join(filter(None, status_parts)), count_text + (" · more threads on the server" if has_more else "")
        )
        self.refresh_bindings()

    def _draw(self, thread: Thread) -> Row:
        comment = thread.comment
        hidden_match = self.search_text.hidden_match(thread, self.rows.filter_words)
        text = Content.styled(hidden_match, "italic") if hidden_match else Content(one_line_text(comment.body.text))
        if comment.is_open and (why := self._failed_writes.get(comment.id)):
            text = Content.assemble((f"failed: {why}", "$warning"), "  ", text)
        if self.list_order != "place":
            text = Content.assemble((f"{thread.page_name}  ", "$octavo-muted"), text)
        age = self.shell.workspace.sending_status(comment.id) or short_age(comment.posted_at)
        if change := self.outdated_blocks.change_of(thread):
            text = Content.assemble((WORD_MARKS[change], "$warning"), "  ", text)
        elif thread.is_outdated and comment.is_open:
            age = f"outdated · {age}"
        thread_drafts = self.shell.workspace.unsent.index.of_thread(thread.at, comment.id)
        # If the whole thread is unsent, the age column already says so.
        other_drafts = [each for each in thread_drafts if not each.starts_a_thread]
        return Row(
            text=Content.assemble((comment.posted_by.name, "bold"), "  ", text),
            right=with_unsent_mark(other_drafts, f"{age}{f' ↳{comment.replies}' if comment.replies else ''}"),
            sign=Content.styled("◌", "$octavo-note") if age == PENDING else Content.styled(*thread.sign),
        )

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Select the thread of `comment`, changing tab and filters if necessary. Return False if none is loaded."""
        self.redraw_list()
        thread = next(
            (each for each in self.threads.loaded_threads() if comment is not None and each.comment.id == comment.id),
            None,
        )
        if thread is None:
            return False
        if not self.rows.go_to(thread.key):
            self.active_filters.filters = ()
            self.rows.set_filter("")
            me, sections = self.shell.workspace.my_id, ("open", "resolved", "reviews")
            self.tabs.choose(next(each for each in sections if thread_filters.is_in_section(thread, each, me)))
            self.redraw_list()
        self.rows.focus()
        return self.rows.go_to(thread.key)

    @on(LineList.Highlighted, "#list")
    def _draw_thread(self) -> None:
        item = self.rows.item
        if item is None:
            self.thread.clear()
        else:
            change = self.outdated_blocks.change_of(item)
            note = f"{WORD_CHANGES[change].capitalize()}." if change else ""
            self.thread.show(item.at, item.comment, title=f"{item.location} › {item.page_name}", outdated_note=note)
        self.refresh_bindings()

    def _redraw_threads(self) -> None:
        if is_fully_mounted(self):
            self.rows.redraw()
            self._draw_thread()

    @on(LineList.Opened, "#list")
    def _focus_thread(self) -> None:
        self.thread.focus()

    @on(LineList.MoreRequested, "#list")
    def _load_more(self) -> None:
        self.threads.load_more()

    @on(ThreadView.ShowOnPageRequested)
    def _on_page_requested(self) -> None:
        if (item := self.rows.item) is not None:
            thread_commands.open_on_page(self.shell, item.at, item.comment)

    @on(ThreadView.Updated)
    def _on_thread_updated(self) -> None:
        self.refresh_bindings()

    def refresh_data(self) -> None:
        # The list is incomplete until the threads of all its spaces are loaded.
        self._is_complete = self.threads.is_loaded
        self.outdated_blocks.clear()
        super().refresh_data()
        self.thread.refresh_replies()
