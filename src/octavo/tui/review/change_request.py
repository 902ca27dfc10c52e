"""One change request: what it changes page by page, who looked, what people say, and the way to merge it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widget import Widget

from octavo.api import change_requests, comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import ListPage, Model
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments import thread_actions
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.discarding import UNSENT
from octavo.tui.comments.held_comments import page_of
from octavo.tui.comments.page_discussion import COMMENTING, THREAD_HERE, PageDiscussion
from octavo.tui.reader.diff_navigation import ThreadBeyond
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.review.changed_pages import WHOLE
from octavo.tui.review.changed_tree import CHANGED_PAGE, ChangedTree
from octavo.tui.review.diff_base import COMPARISON, Comparison
from octavo.tui.review.page_diff import SUGGESTIONS, PageDiff
from octavo.tui.review.request_actions import CHANGE, NEW_CHANGE, comment_on_whole, may_not_comment_on_whole
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.review.request_head import RequestHead
from octavo.tui.review.reverting import TAKING_BACK, ChangeAtHand
from octavo.tui.shell.link_commands import LINK_COMMANDS
from octavo.tui.shell.navigation_history import is_stop
from octavo.tui.shell.permissions import CANNOT_DELETE, why_not_in_discussion
from octavo.tui.shell.view import View
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree
from octavo.tui.writing.page_commands import PAGE_COMMANDS, PageEditing, why_no_page_edit

if TYPE_CHECKING:
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.shell.shell import Shell

DRAW_AGAIN = 0.15
"""Seconds in which the sizes that arrive are drawn at once."""


def _comments_on_whole(view: ChangeRequestScreen) -> bool:
    """From the diff of a page the page is meant, from the list of pages the change request as a whole."""
    return view.focused is not view.view or view.page_diff.page_on_show is None


def _comment_on_page(app: Shell, view: ChangeRequestScreen) -> None:
    if _comments_on_whole(view):
        comment_on_whole(app, view.request_at_hand)
    else:
        view.page_discussion.comment_on_page()


def _may_not_comment_on_page(app: Shell, view: ChangeRequestScreen) -> str | None:
    if _comments_on_whole(view):
        return may_not_comment_on_whole(app, view.request_at_hand)
    return view.page_discussion.why_no_comment(whole=True)


COMMENT_ON_PAGE: Commands[Any] = (
    COMMENTING.only("page")
    .with_changed("page", run=_comment_on_page, why_not=_may_not_comment_on_page)
    .for_target(lambda view: view)
)


def _thread_to_delete(view: ChangeRequestScreen) -> Comment | None:
    """The thread under the cursor of the diff, while that has the focus."""
    return view.page_discussion.thread_under_cursor() if view.focused is view.view else None


def _delete(app: Shell, view: ChangeRequestScreen) -> None:
    if (thread := _thread_to_delete(view)) is not None:
        thread_actions.delete(app, view.at, thread, thread)
    else:
        view.authoring.delete()


def _may_not_delete(app: Shell, view: ChangeRequestScreen) -> str | None:
    change = view.changed_tree.change
    if change is None:
        return why_no_page_edit(app, view.authoring)
    if (thread := _thread_to_delete(view)) is not None:
        return why_not_in_discussion(app, view.at, "delete", thread)
    if change.page is None:
        return f"{change.title} is not a page. {CANNOT_DELETE}"
    if not change.is_there_after:
        return f"{change.title} is already deleted in this change request. Press Q to revert the deletion."
    return why_no_page_edit(app, view.authoring)


DELETING: Commands[Any] = (
    PAGE_COMMANDS.only("delete")
    .with_changed("delete", run=_delete, why_not=_may_not_delete)
    .for_target(lambda view: view)
)


def _unsent_at_hand(view: ChangeRequestScreen) -> Sequence[UnsentText]:
    """Return the unsent drafts for the block in the focused diff, else for the page."""
    if view.focused is view.view:
        return view.page_diff.unsent_at_hand
    return view.changed_tree.unsent_of(view.changed_tree.key)


def _export(app: Shell, view: ChangeRequestScreen) -> None:
    from octavo.tui.shell.file_dialogs import choose_export

    change, about = view.changed_tree.change, view.comparison.about
    page = change.page if change is not None and change.is_document and change.is_there_after else None
    choose_export(app, view.at, f"#{about.number} {about.title}", (page.id, change.title) if page and change else None)


REVIEW: Commands[ChangeRequestScreen] = Commands(
    "change",
    (
        Command("export", "ctrl+e", "Export", "Export the change request or the selected page", run=_export, shown=False),
        Command("up", "escape", "Back", "Go back to the pages, then to the list", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ChangeRequestScreen(View):
    """The changed pages and the status of a change request on the left, the diff of the selected page on the right."""

    MODE = "changes"
    CONTEXT = "change request"
    HELP = (
        "The changed pages are on the left, and the diff of the selected page is on the right. "
        "Press c to comment on a block, a to approve, A to request changes, or m to run the checks and merge. "
        "Press esc to go back to the pages. Press esc again to go back to the list."
    )
    CSS_PATH = "change_request.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        CHANGE.without("comment"),
        NEW_CHANGE,
        LINK_COMMANDS,
        PAGE_COMMANDS.only("edit", "arrange").for_target(lambda view: view.authoring),
        DELETING,
        COMMENTING.only("block"),
        COMMENT_ON_PAGE,
        THREAD_HERE,
        UNSENT.for_target(_unsent_at_hand),
        SUGGESTIONS,
        COMPARISON,
        TAKING_BACK,
        CHANGED_PAGE,
        REVIEW,
    )

    def __init__(self, change_request: ChangeRequest, space: SpaceRef, thread: Comment | None = None) -> None:
        """`thread`: what one goes to in it, once it is there."""
        super().__init__()
        self.at: ChangeRequestRef = change_request.ref(space)
        self.comparison = Comparison(self, self, change_request, space)
        self.diff_threads = DiffThreads(self, self.at, lambda: self.page_diff.draw_threads())
        self.changed_tree = ChangedTree(self, self, self.comparison, self.diff_threads)
        self.request_head = RequestHead(self, self.comparison, self.diff_threads, self.changed_tree)
        self.page_diff = PageDiff(
            self, self.comparison, self.changed_tree, self.diff_threads, self.request_head.say_where, thread
        )
        self.authoring = PageEditing(self, self.page_diff)
        self._drawing: Timer | None = None

    def body(self) -> Iterable[Widget]:
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield ChangingText("PAGES", classes="pane-title", id="changes-title")
                yield Tree(
                    empty="No changes yet.",
                    hint="Edit a page in the space, then press r to refresh.",
                    has_fold_all_keys=False,
                    id="changes",
                )
                yield ChangingText("", id="standing")
            yield DiffView(ascii=self.shell.settings.ascii, id="diff")
            yield ChangingText("", id="words")

    @property
    def view(self) -> DiffView:
        return self.page_diff.pane

    @property
    def key_fallback(self) -> DiffView:
        return self.view

    def on_mount(self) -> None:
        self.changed_tree.widget.state.wait_for("the changes")
        self.follow("change request", change_requests.Get(at=self.at), self._show_change_request)
        threads = comments.List(at=self.at, status="all", format="markdown", limit=200)
        self.subscriptions.follow_whole("threads", threads, self._show_threads)
        self.request_head.start()
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.refresh_bindings())
        self.shell.workspace.frame_changed.subscribe(
            self, lambda _: self.request_head.show_held(self.page_diff.draw_threads)
        )
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._show_unsent())
        self.changed_tree.take_up_marks()
        self.view.place.places = self.changed_tree.marks.places
        self.view.cursor_block.why_no_comment_here = self.page_discussion.why_no_comment
        self.request_head.draw()
        self.changed_tree.widget.focus()
        self.comparison.start()

    def on_resize(self) -> None:
        self.request_head.draw()
        self.show_changed()

    def on_unmount(self) -> None:
        self.changed_tree.marks.keep_place()
        self.comparison.stop()

    # What arrives

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is None:
            return
        if self.comparison.now_is(snapshot.value):
            self.changed_tree.take_up_marks()
            self.comparison.compare_again()
            self.request_head.show_reviews(anew=True)
        self.request_head.draw()
        self.refresh_bindings()

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None:
            self.diff_threads.all = snapshot.value.items
            self.shell.workspace.record_open_comments(self.comparison.about.id, snapshot.value)
            self.show_changed()
            self.page_diff.draw_threads()
            self.request_head.draw()

    def on_screen_suspend(self) -> None:
        if is_stop(self.app.screen):  # over a dialog it stays as it is
            self.comparison.rest()

    def on_screen_resume(self) -> None:
        if self.diff_threads.unsent_by_page():
            self.page_diff.draw_threads()  # what is not sent may be other words

    def _show_unsent(self) -> None:
        self.show_changed()
        self.page_diff.draw_threads()

    def show_changed(self) -> None:
        if self.comparison.changed is not None and is_whole(self):
            self.changed_tree.show(self.comparison.changed)
            self.page_diff.show()
            self.page_diff.arrive()

    def go_to_some_change(self) -> None:
        self.changed_tree.go_to_some_change()
        self.page_diff.show()

    def could_not_compare(self, cause: str) -> None:
        self.changed_tree.widget.state.fail("Could not load the changes", cause)

    def show_reviews(self) -> None:
        self.request_head.show_reviews()

    def show_sizes(self) -> None:
        if self._drawing is None:
            self._drawing = self.set_timer(DRAW_AGAIN, self._draw_sizes)

    def _draw_sizes(self) -> None:
        self._drawing = None
        self.show_changed()
        self.request_head.draw()

    # Going about in it

    @on(LineList.Highlighted, "#changes")
    def _highlighted(self) -> None:
        self.changed_tree.keep_place_soon()
        self.page_diff.show()

    @on(DiffView.Moved)
    def _diff_moved(self) -> None:
        self.changed_tree.keep_place_soon()
        self.request_head.say_where()

    @on(LineList.Opened, "#changes")
    def _chosen(self) -> None:
        self.view.focus()

    @on(LinkFollowed)
    def _link_followed(self, message: LinkFollowed) -> None:
        self.page_diff.follow_link(message)

    @on(Reader.BlockChosen)
    def _block_chosen(self) -> None:
        self.page_discussion.comment()

    @on(Reader.ThreadWanted)
    def _thread_wanted(self, message: Reader.ThreadWanted) -> None:
        self.page_discussion.open_thread_on(message.block)

    @on(Reader.Copied)
    def _copied(self, message: Reader.Copied) -> None:
        self.shell.say(f"Copied the {message.what}.")

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.changed_tree.read_on(1)

    @on(ThreadBeyond)
    def _thread_beyond(self, message: ThreadBeyond) -> None:
        self.page_diff.go_to_thread_beyond(message.step)

    @on(DiffView.RepliesWanted)
    def _replies_wanted(self, message: DiffView.RepliesWanted) -> None:
        self.diff_threads.follow_replies(message.keys)

    def go_to_place(self, at: Discussion, page: str | None, node: str) -> bool:
        if self.at != at:
            return False
        if page is not None and page != (self.page_diff.page_on_show or ("",))[0]:
            self.changed_tree.reveal(page)
        return True

    def go_up(self) -> bool:
        return self.focus_if(self.changed_tree.widget, condition=self.focused is self.view)

    # What its keys are about

    @property
    def request_at_hand(self) -> RequestAtHand:
        """What the keys of change requests are about."""
        comparison = self.comparison
        return RequestAtHand(
            comparison.about,
            comparison.space,
            self,
            reviews=comparison.reviews,
            titles=lambda: comparison.titles,
            shows_held=self._show_where_held,
            shows_written=self._show_written,
        )

    def _show_written(self, pages: tuple[str, ...]) -> None:
        self.refresh_data()
        if pages and self.changed_tree.reveal(pages[0]):
            self.view.focus()

    def _show_where_held(self, entry: OutboxEntry) -> None:
        self.changed_tree.reveal(page_of(entry) or WHOLE)
        self.page_discussion.open_thread(entry.created_id)

    @property
    def change_at_hand(self) -> ChangeAtHand | None:
        """The change under the cursor, with the block where the diff has the focus."""
        change = self.changed_tree.change
        block = self.page_diff.block_on_show if self.focused is self.view else None
        return ChangeAtHand(self.comparison, change, block) if change is not None else None

    @property
    def selected_items(self) -> Sequence[Model]:
        space = self.shell.workspace.space(self.at.space_id)
        return [each for each in (self.comparison.about, space) if each is not None]

    @property
    def page_discussion(self) -> PageDiscussion:
        """What people say of the page on show."""
        return self.page_diff.page_discussion
