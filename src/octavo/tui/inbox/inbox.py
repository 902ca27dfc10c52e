"""The inbox: what needs the person, the most urgent first, with what it is about beside it, acted on in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from octavo.api.comments import Comment
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.places import Discussion, SpaceRef
from octavo.data.inbox import InboxRow, ThreadRef, matches
from octavo.data.inbox_loader import InboxSnapshot
from octavo.data.inbox_marks import MarkedRows
from octavo.settings import FILE
from octavo.tui.comments.filters import Thread
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.inbox import acting, nothing, opening, sections
from octavo.tui.inbox.row_drawing import RowDrawing
from octavo.tui.inbox.row_preview import RowPreview
from octavo.tui.inbox.sections import GROUPS, RowFilter
from octavo.tui.review.request_actions import CHANGE
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.review.request_summary import ASK_AFTER
from octavo.tui.review.status_loader import RequestStatuses
from octavo.tui.shell.inbox_feed import InboxFeed
from octavo.tui.shell.link_commands import LINK_COMMANDS
from octavo.tui.shell.list_view import PREVIEW_COMMANDS, TAB_COMMANDS, ActiveFilters, ListView
from octavo.tui.shell.shell import Shell
from octavo.tui.terminal import clipboard
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.section_tabs import Section, SectionTabs
from octavo.tui.widgets.wording import offline_since, plural, short_age

_KEYS_OF_THE_LIST = (
    "list.open",
    "inbox.done",
    "comments.reply",
    "inbox.resolve",
    "inbox.snooze",
    "change.approve",
    "inbox.read_on",
    "list.tick",
)
_AGE_EVERY = 5.0
"""Seconds between two times it is said how old what is on show is."""
_LEAST_LINES_FOR_PREVIEW = 30
"""Lines of a terminal, if list and preview are one below the other. In smaller ones the inbox starts without its preview."""
_NOTHING = "Nothing needs your attention."


def _of_rows(view: InboxScreen) -> acting.Rows | None:
    rows = tuple(view.selected_rows) or ((view.rows.item,) if view.rows.item is not None else ())
    if not rows or view.feed.marks is None:
        return None
    away = view.sections.current in ("snoozed", "done")

    def came_back(row: InboxRow) -> None:
        view.wanted = row.key

    return acting.Rows(rows, view.feed, away, view.rows.selection.clear, came_back)


def _why_no_thread(view: InboxScreen) -> str:
    return (
        "None of the selected items is a thread. Press esc to clear the selection."
        if view.selected_rows
        else "Select a thread first."
    )


def _open_threads(view: InboxScreen, row: InboxRow) -> int:
    about = view.feed.change_request(row)
    return view.shell.workspace.open_thread_count(about) if about is not None else 0


def _read_on(view: InboxScreen, step: int) -> None:
    if not view.row_preview.scroll_page_on(step):
        view.rows.move(step)


def _choose_only(_: Shell, view: InboxScreen) -> None:
    rows = view.of_tab(view.sections.current)
    offered = sections.offered(rows, view.narrowing.filters, view.marked.unread, view.space_title)
    more = [(each, plural(left, "item")) for each, left in offered]
    save = partial(_save_filter, view) if _narrowed(view) else None
    view.narrowing.choose("Filter by…", more, save)


def _narrowed(view: InboxScreen) -> bool:
    """Whether what is on show is some of what needs the person, and not a tab of its own already."""
    tab = view.sections.current
    if tab in ("snoozed", "done") or tab.startswith("own "):
        return False
    return bool(view.narrowing.filters or view.rows.query_text or tab in GROUPS)


def _save_filter(view: InboxScreen) -> None:
    """Copy the lines that make a tab of what the list is narrowed by: nobody but the person writes their settings."""
    from octavo.tui.inbox.filter_settings import lines_of  # few do
    from octavo.tui.shell.file_dialogs import short_path

    reasons = GROUPS[view.sections.current][1] if view.sections.current in GROUPS else ()
    settings = view.shell.settings
    taken = [each.name for each in settings.inbox_filters]
    lines, left_out = lines_of(view.narrowing.filters, view.rows.query_text.strip(), reasons, taken)
    names = " and ".join(left_out)
    if not lines:
        view.shell.explain(
            f"Could not save the filter “{names}”: a saved tab can filter only by reason, space, or words."
        )
        return
    without = (
        f" The tab will not include the filter “{names}”: a saved tab can filter only by reason, space, or words."
        if left_out
        else ""
    )
    where = short_path(settings.config_folder / FILE)
    clipboard.copy(
        view.shell,
        lines,
        f"Copied the setting {lines.splitlines()[0]}. Paste the setting at the end of {where}. The tab will appear after you restart Octavo.{without}",
    )


ROWS: Commands[acting.Rows] = Commands(
    "inbox",
    (
        Command("done", "d", "Done", "Mark the item as done until something new happens", run=acting.mark_done, title_now=acting.done_label),
        Command("snooze", "w", "Snooze", "Snooze the item", run=acting.snooze),
        Command("discard", "X,ctrl+x", "Discard", "Discard the unsent draft (press u to undo)",
                run=acting.discard, why_not=acting.why_not_discarded, shown=False),
        Command("unread", "minus", "Unread", "Mark the item as unread", run=acting.unread, shown=False),
    ),
    no_target="No item is selected.",
)  # fmt: skip
"""What is done with rows, whatever they are about: those that are ticked, or the one under the cursor."""
INBOX: Commands[InboxScreen] = Commands(
    "inbox",
    (
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next item", run=lambda _, view: _read_on(view, 1)),
        Command("read_back", "b", "Scroll back", "Scroll up; at the top, go to the previous item", shown=False,
                run=lambda _, view: _read_on(view, -1)),
        Command("next", "J", "Next", "Go to the next item", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous", "K", "Previous", "Go to the previous item", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("narrow", "F", "Filter by…", "Filter the items, or save the filter as a tab", run=_choose_only, shown=False),
        Command("order", "S", "Sort", "Sort items", shown=False,
                run=lambda _, view: view.choose_list_order("Sort the inbox")),
        Command("list", "escape", "Back", "Go back to the list, or clear the filter", run=lambda _, view: view.back_to_list(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
"""What can be done with the list."""


class InboxScreen(ListView[InboxRow]):
    """Two-line rows on the left, each with its reason; what the one under the cursor is about on the right."""

    MODE = "inbox"
    CONTEXT = "inbox"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = sections.ORDERS
    ORDER_FACT = "order of the inbox"
    HELP = (
        "The inbox shows all items that need your attention, most urgent first. Press enter to open an item, c to reply, d to "
        "mark the item as done, or w to snooze it. Press esc to go back to the list."
    )
    CSS_PATH = "inbox.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        ROWS.for_target(_of_rows),
        THREAD.only("resolve", "reply", "reply_resolve", "react")
        .with_changed("resolve", id="inbox.resolve", keys="R", title="Resolve", help="Resolve the thread for everyone")
        .for_target(lambda view: view.thread_target, no_target=_why_no_thread),
        CHANGE.only("approve", "ask", "merge", "held", "update", "comment"),
        LINK_COMMANDS.for_target(
            lambda view: view.feed.change_request(view.rows.item) or view.feed.comment(view.rows.item)
        ),
        PREVIEW_COMMANDS,
        TAB_COMMANDS,
        INBOX,
    )

    row_preview: RowPreview

    def __init__(self) -> None:
        super().__init__()
        self.marked = MarkedRows()
        """The rows by what was done with them."""
        self.narrowing: ActiveFilters[RowFilter] = ActiveFilters(self, self.redraw_list)
        self.standings = RequestStatuses(self, self._stands_otherwise)
        self._drawing = RowDrawing(partial(_open_threads, self))
        self._resting: Timer | None = None
        self.wanted: ThreadRef | str | None = None
        """What the cursor goes to when it is there: a thread, or a row by its key."""

    @property
    def feed(self) -> InboxFeed:
        """Where the rows come from."""
        return self.shell.workspace.inbox

    def body(self) -> Iterable[Widget]:
        rows: RowList[InboxRow] = RowList(
            lambda row: self._drawing.draw(row, self.rows.scrollable_content_region.width),
            key=lambda row: row.key,
            search=lambda row: f"{row.title} {row.context} {row.words}",
            groups=lambda row: self._drawing.groups(row),
            two_lines=True,
            selectable=True,
            empty=_NOTHING,
            id="inbox",
        )
        own = [Section(f"own {each.name}", each.name) for each in self.shell.settings.inbox_filters]
        tabs = (Section("all", "To do"), *(Section(key, name) for key, (name, _) in GROUPS.items()), *own)
        self.row_preview = RowPreview(self.standings.of, id="preview")
        yield from self.list_with_preview(
            rows, self.row_preview, sections=(*tabs, Section("snoozed", "Snoozed"), Section("done", "Done"))
        )

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show())
        self.feed.changed.subscribe(self, lambda _: self._show())
        self.set_interval(_AGE_EVERY, self._time_passed)
        self.set_class(self.app.size.width < 100 and self.app.size.height < _LEAST_LINES_FOR_PREVIEW, "-no-preview")
        self.feed.start()
        self.subscriptions.depend_on(*self.feed.list_operations)
        self._show()
        self.rows.focus()

    def _enter(self, organization: Organization) -> None:
        self.narrowing.filters = ()
        self.standings.forget()
        self.subscriptions.depend_on(*self.feed.list_operations)
        self._show()

    def _time_passed(self) -> None:
        if any(until is not None and until <= self.shell.session.state.now() for _, until in self.marked.snoozed):
            self.feed.regroup()
        self._say_where()

    # The list

    @property
    def snapshot(self) -> InboxSnapshot:
        """What is known of the inbox."""
        return self.feed.snapshot or InboxSnapshot(is_loading=True)

    def _show(self) -> None:
        self.marked = self.feed.rows or MarkedRows()
        now = self.shell.session.state.now()
        self._drawing.unread = self.marked.unread
        self._drawing.until = {row.key: f"until {acting.moment(until, now)}" for row, until in self.marked.snoozed}
        self.sections.sections = tuple(
            Section(each.key, each.name, len(self.of_tab(each.key))) for each in self.sections.sections
        )
        self.redraw_list()

    @on(SectionTabs.Switched)
    def redraw_list(self) -> None:
        if self.show_no_organization(self.rows, "the inbox"):
            self.row_preview.show(self.rows.item)
            return
        of_tab = self.of_tab(self.sections.current)
        shown = sections.ordered(sections.narrowed(of_tab, self.narrowing.filters), self.list_order, self.space_title)
        self._drawing.headings = sections.headings(shown, self.list_order, self.space_title)
        self._drawing.order = self.list_order
        self._say_what_is_empty()
        is_at_top = self.snapshot.is_first and self.rows.cursor == 0
        self.rows.show(shown)
        if is_at_top and shown:
            self.rows.go_to(shown[0].key)  # nobody chose the row that came first
        if self.wanted is not None:
            self._go_to_wanted()
        snapshot = self.snapshot
        wrong = [each for each in snapshot.failed if not (each.is_unreached and of_tab)]
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            what = wrong[0].label
            self.rows.state.fail(f"Could not load {what}", f"{wrong[0].cause}{more}")
        elif snapshot.failed:
            self.rows.state.show_age(offline_since(self.feed.as_of))
        elif snapshot.is_loading and not (snapshot.rows or snapshot.is_known):
            self.rows.state.wait_for("the inbox")
        self._say_where()
        self.row_preview.show(self.rows.item)
        self.shell.note_page_shown(self)

    def of_tab(self, tab: str) -> Sequence[InboxRow]:
        """The rows of a tab, in the order of the inbox."""
        for saved in self.shell.settings.inbox_filters:
            if tab == f"own {saved.name}":
                return [row for row in self.marked.here if matches(row, saved, self.space_title(row.space_id))]
        return sections.of_tab(tab, self.marked)

    def _say_what_is_empty(self) -> None:
        """Why there is nothing in the list, as far as that is known."""
        snapshot, state = self.snapshot, self.rows.state
        tab = self.sections.current
        is_quiet = not (self.narrowing.filters or snapshot.is_loading or snapshot.unknown.words or snapshot.failed)
        state.empty, state.hint, state.custom_lines = _NOTHING, "", None
        if self.narrowing.filters:
            state.empty = f"No items match the filter: {' and '.join(self.narrowing.names)}."
            state.hint = "Press esc to clear the filter."
        elif tab in ("snoozed", "done"):
            state.empty = "No snoozed items." if tab == "snoozed" else "No items are marked as done."
            state.hint = (
                "Press w on an item to snooze it." if tab == "snoozed" else "Press d on an item to mark it as done."
            )
        elif snapshot.is_loading:
            state.empty = "No items loaded yet."
            state.hint = self._progress
        elif snapshot.unknown.words:
            state.empty = "None of the items loaded so far need your attention."
            state.hint = f"{snapshot.unknown.words}   Press r to refresh."
        elif tab != "all" and self.marked.here:
            state.empty = "Nothing needs your attention in this tab."
            state.hint = "Press [ or ] to switch tabs."
        elif is_quiet:
            state.custom_lines = self._day
        is_empty = is_quiet and not self.marked.here and tab == "all"
        self.set_class(is_empty, "-nothing")

    def _day(self, width: int) -> list[Content]:
        """What was done today and what sleeps, in place of an empty list."""
        now = self.shell.session.state.now().astimezone()
        done = self.feed.marks.done_since(nothing.beginning_of_day(now)) if self.feed.marks is not None else ()
        return nothing.lines(done, self.marked.snoozed, self.shell.workspace.counts, now, width)

    def space_title(self, space_id: str) -> str:
        """What a space is called, as far as that is known."""
        space = self.shell.workspace.space(space_id) if space_id else None
        return space.title if space is not None else ""

    @property
    def _progress(self) -> str:
        snapshot = self.snapshot
        asked = f"loading… {snapshot.fetched} of {snapshot.due}" if snapshot.due else "loading…"
        return f"{asked} · {snapshot.unknown.words}" if snapshot.unknown.words else asked

    @on(RowList.SelectionChanged, "#inbox")
    @on(LineList.FilterChanged, "#inbox")
    def _say_where(self) -> None:
        if self.shell.workspace.organization is None:
            self.show_location("Inbox")
            return
        snapshot = self.snapshot
        tab = next((each.name for each in self.sections.sections if each.key == self.sections.current), "")
        said = ["Inbox", tab, *self.narrowing.names, self.rows.counts.summary, self.LIST_ORDERS[self.list_order]]
        if self.selected_rows:
            said.append(f"{len(self.selected_rows)} selected")
        facts = [f"loading… {snapshot.fetched} of {snapshot.due}" if snapshot.is_loading and snapshot.due else ""]
        if (as_of := self.feed.as_of) is not None:
            facts.append(f"updated {short_age(as_of)} ago")
        if snapshot.unknown.words and not snapshot.is_loading:
            facts.insert(0, snapshot.unknown.words)
        self.show_location(" · ".join(said), " · ".join(filter(None, facts)))
        self.refresh_bindings()

    # What the keys are about

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """The ids the key bar begins with, in the list."""
        return _KEYS_OF_THE_LIST if self.rows.has_focus else ()

    @property
    def request_at_hand(self) -> RequestAtHand | None:
        """The change request under the cursor, and those that are ticked."""
        requests = [each for row in self.selected_rows if (each := self.feed.change_request(row)) is not None]
        about = self.feed.change_request(self.rows.item)
        if about is None:
            return None
        space = SpaceRef(space_id=about.space) if about.space else None
        return RequestAtHand(about, space, self, tuple(requests))

    @property
    def thread_target(self) -> ThreadTarget | None:
        """The thread under the cursor, or those that are ticked."""
        ticked = [
            Thread(comment, row.target.at, self.space_title(row.space_id))
            for row in self.selected_rows
            if (comment := self.feed.comment(row)) is not None and isinstance(row.target, ThreadRef)
        ]
        if self.selected_rows:
            untick = self.rows.selection.clear
            first = ticked[0] if ticked else None
            return ThreadTarget(first.at, first.comment, first.comment, tuple(ticked), untick) if first else None
        row = self.rows.item
        comment = self.feed.comment(row)
        if row is None or comment is None or not isinstance(row.target, ThreadRef):
            return None
        shown = self.row_preview.thread.thread_target
        if shown is not None and shown.thread.id == comment.id:
            return replace(shown, message=shown.thread)
        return ThreadTarget(row.target.at, comment, comment)

    @property
    def selected_items(self) -> Sequence[Model]:
        row = self.rows.item
        if row is None:
            return ()
        space = self.shell.workspace.space(row.space_id) if row.space_id else None
        return [each for each in (self.feed.change_request(row), self.feed.comment(row), space) if each is not None]

    # What is beside it

    @on(LineList.Highlighted, "#inbox")
    def _other_row(self) -> None:
        self.row_preview.show(self.rows.item)
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(ASK_AFTER, self._rests)
        self.refresh_bindings()

    def _rests(self) -> None:
        """The cursor rests on a row: ask for what is to be seen of it, and say in a moment that it was read."""
        row = self.rows.item
        if row is None:
            return
        request = self.feed.change_request(row)
        if request is not None:
            self.standings.look_at([request])
        self.row_preview.read_on_show()
        reading = acting.Reading(self.feed, self.shell)
        self._resting = self.set_timer(reading.AFTER, lambda: reading.rested(row))

    def _stands_otherwise(self, name: str) -> None:
        if is_whole(self):
            self.rows.redraw()
            self.row_preview.summary.status_changed(name)

    # Going on from here

    @on(LineList.Opened, "#inbox")
    @on(ThreadView.PlaceWanted)
    def _open(self) -> None:
        row = self.rows.item
        if row is None:
            return
        opening.open_row(self.shell, self.feed, row)

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Put the cursor on a thread as soon as it is in the list again."""
        if comment is not None:
            self.wanted = ThreadRef(at, comment.id)
            self._go_to_wanted()
        return comment is not None

    @property
    def is_as_at_start(self) -> bool:
        """Whether it shows nothing that a start would not show."""
        covered = any(notices.display for notices in self.query(Notices)) or self.rows.has_filter
        return self.sections.current == "all" and not (covered or self.narrowing.filters or self.preview.has_focus)

    def keep_place(self) -> None:
        """There is nothing to remember: a start begins at the top."""

    def _go_to_wanted(self) -> None:
        wanted = self.wanted
        key = next((row.key for row in self.rows.items if wanted in (row.key, row.target)), None)
        if key is not None:
            self.wanted = None
            self.rows.go_to(key)

    def refresh_data(self) -> None:
        self.standings.ask_again()
        super().refresh_data()
        self.row_preview.thread.ask_again()
        if self.feed.loader is not None:
            if self.feed.marks is not None:
                self.feed.marks.reload()
            self.shell.background(self.feed.loader.refresh())

    def back_to_list(self) -> None:
        """Go to the list; from there show all rows again."""
        if self.rows.has_focus and self.narrowing.filters:
            self.narrowing.replace()
        self.rows.focus()
