"""Comments: every thread of the organization in one list, and the selected thread beside the list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget

from octavo.api.comments import Comment
from octavo.api.operation import Model
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.data.comment_text import plain_text
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments import bulk_actions, filters
from octavo.tui.comments.discarding import UNSENT
from octavo.tui.comments.filters import Thread, ThreadFilter
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.comments.thread_places import AllThreads
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.comments.thread_words import ThreadWords
from octavo.tui.shell.list_view import PREVIEW_COMMANDS, TAB_COMMANDS, ActiveFilters, ListView
from octavo.tui.shell.routes import ToChangeRequest, ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.unsent_texts import with_unsent_mark
from octavo.tui.shell.view import report_missing_parts
from octavo.tui.shell.workspace import PENDING
from octavo.tui.widgets import wording
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Heading, Row, RowList
from octavo.tui.widgets.section_tabs import Section, SectionTabs
from octavo.tui.widgets.wording import plural, short_age

_KEYS_OF_THE_LIST = (
    "list.open",
    "comments.resolve",
    "comments.reply",
    "comments.read_on",
    "list.tick",
    "comments.narrow",
)


def _too_few(app: Shell, view: CommentsScreen) -> str | None:
    few = not view.narrowing.filters and view.in_section < 2
    return "There are too few threads in this list to filter." if few else None


def _choose_narrowing(app: Shell, view: CommentsScreen) -> None:
    """Ask of whom, where or from when threads are to be shown."""
    me, section = view.user_id, view.sections.current
    there = [each for each in view.threads.known() if filters.belongs(each, section, me)]
    there.sort(key=filters.ORDERS[view.list_order][1])
    offered = filters.offered(there, view.narrowing.filters, wording.clock(), me)
    more = [(each, plural(left, "thread")) for each, left in offered]
    view.narrowing.choose("Filter threads", more)


THREADS: Commands[CommentsScreen] = Commands(
    "comments",
    (
        Command("read_on", "space", "Scroll", "Scroll down; at the end, go to the next thread", run=lambda app, view: view.read_on(1), shown=False),
        Command("read_back", "b", "Scroll back", "Scroll up; at the top, go to the previous thread", run=lambda app, view: view.read_on(-1), shown=False),
        Command("narrow", "F", "Filter by…", "Filter threads by author, space, age, or status",
                run=_choose_narrowing, why_not=_too_few, shown=False),
        Command("order", "S", "Sort", "Sort threads",
                run=lambda app, view: view.choose_list_order("Sort threads"), shown=False),
        Command("mine", "at", "Mine", "Switch between your threads and all open threads", key_display="@", shown=False, id="list.mine",
            run=lambda app, view: view.show_mine()),
        Command("next", "J,t", "Next thread", "Go to the next thread", run=lambda app, view: view.rows.move(1), shown=False),
        Command("previous", "K,T", "Previous thread", "Go to the previous thread", run=lambda app, view: view.rows.move(-1), shown=False),
        Command("list", "escape", "Back", "Go back to the list or clear the filters", run=lambda app, view: view.back_to_list(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
"""Commands of the list of threads."""


class CommentsScreen(ListView[Thread]):
    """The threads grouped by space or change request and by page on the left, the selected thread on the right."""

    MODE = "comments"
    CONTEXT = "list and preview"
    LIST_ORDERS: ClassVar[Mapping[str, str]] = {key: name for key, (name, _) in filters.ORDERS.items()}
    ORDER_FACT = "order of threads"
    HELP = (
        "This view shows the comment threads in the organization, grouped by space and page. Press c to reply, d to resolve, enter to open the page, "
        "or x to select more than one thread. Press [ or ] to switch tabs. The Reviews tab shows review comments, which do not count as open threads. "
        "Press esc to go back to the list or clear the filters."
    )
    CSS_PATH = "all_threads.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        THREAD.for_target(lambda view: view.thread_target),
        PREVIEW_COMMANDS,
        TAB_COMMANDS,
        UNSENT,
        THREADS,
    )

    thread: ThreadView

    def __init__(self) -> None:
        super().__init__()
        self.threads = AllThreads(self, self.redraw_list, self._say_where)
        self.in_section = 0
        """How many threads are of the section on show."""
        self._complete = False
        self._in_bulk: set[str] = set()
        """Threads to which something was done with others, and of which nothing was refused."""
        self._refused: Mapping[str, str] = {}
        """Why the last write to a thread failed, by the id of the thread."""
        self._begun_at: Hashable = None
        """The row the cursor was put on while places were still arriving: there until somebody moves it."""
        self.narrowing: ActiveFilters[ThreadFilter] = ActiveFilters(self, self.redraw_list)
        self._places: dict[str, Heading] = {}
        self.words = ThreadWords(self)

    def body(self) -> Iterable[Widget]:
        rows: RowList[Thread] = RowList(
            self._draw,
            key=lambda thread: thread.key,
            search=self.words.all_of,
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
        sections = tuple(Section(key, name) for key, name in names.items())
        self.thread = ThreadView(id="thread")
        yield from self.list_with_preview(rows, self.thread, sections=sections)

    @property
    def thread_target(self) -> ThreadTarget | None:
        """Return the target of the keys of threads: the previewed thread, or the selected threads of the list."""
        one = self.thread.thread_target
        return (
            replace(one, ticked=tuple(self.selected_rows), untick=self._done_with_ticked) if one is not None else None
        )

    @property
    def unsent_at_hand(self) -> Sequence[UnsentText]:
        """Return your unsent drafts in the current thread, or in the selected threads."""
        threads = self.selected_rows or ([self.rows.item] if self.rows.item is not None else [])
        index = self.shell.workspace.unsent.index
        return [words for each in threads for words in index.of_thread(each.at, each.comment.id)]

    def _done_with_ticked(self) -> None:
        """Something was done to all that are ticked: what is refused of it is ticked again."""
        self._in_bulk |= {each.comment.id for each in self.selected_rows}
        self.rows.selection.clear()

    def _forget_discarded(self) -> None:
        """What was refused and is discarded is said of no row any more: no answer of the server tells of it."""
        if self._refused.keys() - self.shell.workspace.failure_reasons.keys():
            self.redraw_list()

    def _tick_refused(self, refused: Mapping[str, str]) -> None:
        again = self._in_bulk & refused.keys()
        self._in_bulk -= again
        self.rows.selection.add(each.key for each in self.rows.items if each.comment.id in again)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        """The ids the key bar begins with, in the list."""
        return _KEYS_OF_THE_LIST if self.rows.has_focus else ()

    @property
    def selected_items(self) -> Sequence[Model]:
        item = self.rows.item
        space = self.shell.workspace.space(item.at.space_id) if item is not None else None
        return [each for each in (item.comment if item is not None else None, space) if each is not None]

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._follow_places())
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._forget_discarded())
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self.rows.redraw())
        if self.shell.workspace.organization is not None:
            self._enter(self.shell.workspace.organization)
        else:
            self._follow_places()
        self.thread.not_for_this = lambda: bulk_actions.why_not_one(self.rows.selection.keys, self.rows.key)
        self.rows.focus()

    def _enter(self, organization: Organization) -> None:
        self._complete, self.narrowing.filters, self._begun_at = False, (), self.rows.key
        self.rows.state.wait_for("threads")
        self.threads.enter(organization)

    def _follow_places(self) -> None:
        if not self.show_no_organization(self.rows, "threads"):
            self.threads.follow_places()

    # The list

    @property
    def user_id(self) -> str:
        """The id of who one is."""
        return self.shell.workspace.me.id if self.shell.workspace.me else ""

    @on(SectionTabs.Switched)
    def redraw_list(self) -> None:
        threads, sections, me = (
            sorted(self.threads.take(), key=filters.ORDERS[self.list_order][1]),
            self.sections,
            self.user_id,
        )
        held = {entry.created_id for entry in self.shell.session.outbox.entries if entry.state == "pending"}
        posted = [thread for thread in threads if thread.comment.id not in held]
        sections.sections = tuple(
            Section(each.key, each.name, sum(filters.belongs(thread, each.key, me) for thread in posted))
            for each in sections.sections
        )
        of_section = [each for each in threads if filters.belongs(each, sections.current, me)]
        self.in_section = len(of_section)
        shown = filters.narrowed(of_section, self.narrowing.filters)
        self._places = {place: Heading(place, said) for place, said in filters.place_summaries(shown).items()}
        self._say_what_is_empty()
        self._refused = self.shell.workspace.failure_reasons
        moved = self.rows.key != self._begun_at
        self.rows.show(shown, partial_note=f"{self._asked_of_all} loaded" if self.threads.places_left else "")
        if not self._complete:
            # Places arrive one by one: until all are here the cursor waits at the top, unless somebody took it away.
            if not moved:
                self.rows.go_to_first()
                self._begun_at = self.rows.key
            self._complete = not self.threads.is_loading
        self._tick_refused(self._refused)
        report_missing_parts(self.rows, "threads", self.threads.answers)
        self._say_where()
        self._draw_thread()

    @property
    def _asked_of_all(self) -> str:
        return f"{len(self.threads.asked)} of {plural(self.threads.places, 'space or change request', 'spaces and change requests')}"

    def _headings(self, thread: Thread) -> Sequence[Heading]:
        return [self._places[thread.place], Heading(thread.page)] if self.list_order == "place" else []

    def _say_what_is_empty(self) -> None:
        left = self.threads.places_left
        threads = {
            "open": "open threads",
            "resolved": "resolved threads",
            "mine": "open threads started by you",
            "reviews": "review comments",
        }
        loaded = f" {self._asked_of_all} are loaded." if left else ""
        filtered = f" match this filter: {', '.join(self.narrowing.names)}" if self.narrowing.filters else ""
        self.rows.state.empty = f"No {threads.get(self.sections.current, 'threads')}{filtered}.{loaded}"
        self.rows.state.hint = (
            "Press esc to clear the filters." if self.narrowing.filters else "Press [ or ] to switch tabs."
        )
        if left:
            self.rows.state.hint = f"Press G to load more.   {self.rows.state.hint}"

    @on(RowList.SelectionChanged, "#list")
    @on(LineList.FilterChanged, "#list")
    def _say_where(self) -> None:
        self.words.look_up(self.rows)
        more_there = any(snapshot.value.next for snapshot in self.threads.answers if snapshot.value)
        known, heard, places = self.rows.counts.summary, self.threads.places_heard, self.threads.places
        if heard < places:
            known = f"{heard} of {plural(places, 'space or change request', 'spaces and change requests')} loaded"
        elif self.narrowing.filters and not self.rows.query_text:
            known = f"{len(self.rows.items)} of {self.in_section}"
        said = [
            "Comments",
            self.sections.current,
            f"filter: {', '.join(self.narrowing.names)}" if self.narrowing.filters else "all spaces",
            filters.ORDERS[self.list_order][0] if self.list_order != "place" else "",
            f"{len(self.selected_rows)} selected" if self.selected_rows else "",
        ]
        self.show_location(
            " · ".join(filter(None, said)), known + (" · more threads on the server" if more_there else "")
        )
        self.refresh_bindings()

    def _draw(self, thread: Thread) -> Row:
        comment = thread.comment
        elsewhere = self.words.found_in(thread, self.rows.filter_words)
        words = Content.styled(elsewhere, "italic") if elsewhere else Content(plain_text(comment.body.text))
        if comment.is_open and (why := self._refused.get(comment.id)):
            words = Content.assemble((f"failed: {why}", "$warning"), "  ", words)
        if self.list_order != "place":
            words = Content.assemble((f"{thread.page}  ", "$octavo-muted"), words)
        age = self.shell.workspace.send_status(comment.id) or short_age(comment.posted_at)
        if thread.is_outdated and comment.is_open:
            age = f"outdated · {age}"
        of_thread = self.shell.workspace.unsent.index.of_thread(thread.at, comment.id)
        unsent = [each for each in of_thread if not each.starts_a_thread]  # of that the age says it
        return Row(
            text=Content.assemble((comment.posted_by.name, "bold"), "  ", words),
            right=with_unsent_mark(unsent, f"{age}{f' ↳{comment.replies}' if comment.replies else ''}"),
            sign=Content.styled("◌", "$octavo-note") if age == PENDING else Content.styled(*thread.sign),
        )

    def go_to_thread(self, at: Discussion, comment: Comment | None) -> bool:
        """Put the cursor on a thread, in a section and among threads where it is to be seen."""
        self.threads.catch_up()
        found = next(
            (each for each in self.threads.known() if comment is not None and each.comment.id == comment.id), None
        )
        if found is None:
            return False
        if not self.rows.go_to(found.key):
            self.narrowing.filters = ()
            self.rows.set_filter("")
            sections = ("open", "resolved", "reviews")
            self.sections.choose(next(each for each in sections if filters.belongs(found, each, self.user_id)))
            self.redraw_list()
        self.rows.focus()
        return self.rows.go_to(found.key)

    # The thread

    @on(LineList.Highlighted, "#list")
    def _draw_thread(self) -> None:
        item = self.rows.item
        if item is None:
            self.thread.clear()
        else:
            self.thread.show(item.at, item.comment, about=f"{item.place} › {item.page}")
        self.refresh_bindings()

    @on(LineList.Opened, "#list")
    def _chosen(self) -> None:
        self.thread.focus()

    @on(LineList.MoreRequested, "#list")
    def _more(self) -> None:
        self.threads.ask_more()

    @on(ThreadView.PlaceWanted)
    def _place_wanted(self) -> None:
        item = self.rows.item
        if item is None:
            return
        if isinstance(item.at, ChangeRequestRef):
            self.shell.go(ToChangeRequest(item.at, thread=item.comment))
        elif item.comment.target.page is not None:
            node = item.comment.target.node
            self.shell.go(ToPage(item.at.space_id, item.comment.target.page.id, node.id if node else ""))
        else:
            self.shell.go(ToPage(item.at.space_id))

    @on(ThreadView.Changed)
    def _thread_changed(self) -> None:
        self.refresh_bindings()

    def refresh_data(self) -> None:
        # Places that did not load come one by one again.
        self._complete = self.threads.is_told
        super().refresh_data()
        self.thread.ask_again()

    def show_mine(self) -> None:
        """Show the threads one began, or the open ones again."""
        self.sections.choose("open" if self.sections.current == "mine" else "mine")

    def read_on(self, step: int) -> None:
        """Read on in the thread, or back; at its end go to the next."""
        if self.has_class("-tiny") or not self.thread.scroll_page_on(step):
            self.rows.move(step)

    def back_to_list(self) -> None:
        """Go to the list; from there show all threads again."""
        if self.rows.has_focus and self.narrowing.filters:
            self.narrowing.replace()
        self.rows.focus()
