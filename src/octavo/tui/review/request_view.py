"""The view of a change request: first line, changed pages, diffs, reviews and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage, Model, SpaceRef
from octavo.api.reviews import RequestedReviewer
from octavo.api.users import Contributor
from octavo.data.drafts import UnsentText
from octavo.data.live import Snapshot
from octavo.data.proposed_notes import ProposedNote
from octavo.data.queries import UNDECIDED, all_threads_op, requested_reviewers_op
from octavo.data.writes.machine import OutboxEntry
from octavo.documents.page_trees import WHOLE_REQUEST, ChangedPage
from octavo.tui.comments import thread_actions
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.page_comments import COMMENTING, SELECT_COMMANDS, THREAD_HERE
from octavo.tui.comments.thread_commands import UNSENT
from octavo.tui.core.file_dialogs import choose_export
from octavo.tui.core.list_view import LINK_COMMANDS
from octavo.tui.core.permissions import CANNOT_DELETE, why_not_in_discussion
from octavo.tui.core.view import View, current_view, focus_if
from octavo.tui.editing.page_commands import PAGE_COMMANDS, PageEditing, why_no_page_edit
from octavo.tui.reader.diff_navigation import ThreadOnOtherPageRequested
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.review import request_status
from octavo.tui.review.changed_tree import TREE_COMMANDS, ChangedTree, diff_of
from octavo.tui.review.page_blame import BlameScreen, BlameTarget
from octavo.tui.review.page_diff import PageDiff
from octavo.tui.review.page_findings import FINDING_COMMANDS, REVERT_COMMANDS, PageFindings, SelectedChange
from octavo.tui.review.request_commands import NEW_REQUEST, REQUEST_COMMANDS, comment_on_request, why_no_request_comment
from octavo.tui.review.request_comparison import COMPARISON_COMMANDS, Comparison
from octavo.tui.review.request_findings import RequestFindings
from octavo.tui.review.review_submission import open_review_dialog, why_no_review
from octavo.tui.review.status_changes import RequestTarget
from octavo.tui.review.suggestion_preview import SUGGESTION_COMMANDS, SuggestionReview
from octavo.tui.review.term_screen import TERM_COMMANDS, PageTerms
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

DETAILS = {"reviews": "reviews", "threads": "threads", "requested": "reviewers", "contributors": "contributors"}
"""Names of the data whose loading errors are not on screen, by slot."""
MAX_REVISIONS = 5
"""Maximum number of reviewed revisions for which Octavo counts the pages that changed since."""


class RequestHead:
    """Draws the first line (`#head`) and the reviewers (`#standing`) in the view of a change request."""

    def __init__(self, view: View, comparison: Comparison, threads: DiffThreads, pages: ChangedTree) -> None:
        self._view, self._comparison, self._threads, self._pages = view, comparison, threads, pages
        self._drawn_pending: tuple[OutboxEntry, ...] = ()
        """Pending comments that the first line counted when it was last drawn."""
        self._changed_since: dict[str, int] = {}
        """Number of pages that changed since a reviewed revision, by revision ID."""

    def start(self) -> None:
        """Load the requested reviewers and the contributors, and keep them up to date."""
        at = self._comparison.at
        contributors = change_requests.ListContributors(at=at)
        self._view.subscriptions.follow_whole("requested", requested_reviewers_op(at), lambda _: self.draw())
        self._view.subscriptions.follow_whole("contributors", contributors, lambda _: self.draw())

    def show_reviews(self, *, counts_again: bool = False) -> None:
        """Draw the reviews, and count the pages that changed after each review that is not outdated. Unless
        `counts_again`, count only for the reviews without a count."""
        if counts_again:
            self._changed_since.clear()
        self.draw()
        comparison = self._comparison
        head = comparison.change_request.revision
        reviewed_ids = [each.revision for each in comparison.reviews if not each.outdated and each.revision]
        uncounted_ids = [each for each in dict.fromkeys(reviewed_ids) if each not in (*self._changed_since, head)]
        if uncounted_ids and head:
            comparison.replace_worker("reviews", partial(self._count_changed_since, uncounted_ids[:MAX_REVISIONS]))

    async def _count_changed_since(self, revision_ids: list[str]) -> None:
        head = self._comparison.change_request.revision
        for revision_id in revision_ids:
            try:
                pages = await self._comparison.changed_since(revision_id)
            except ApiError:
                return  # The review is marked as outdated even without the count.
            if pages is not None and head == self._comparison.change_request.revision:
                self._changed_since[revision_id] = len(pages)
        self.draw()

    def show_pending(self, draw_threads: Callable[[], None]) -> None:
        """If the pending comments have changed, call `draw` and `draw_threads`, and refresh the key bar."""
        if self._drawn_pending != self._pending_comments():
            self.draw()
            draw_threads()
            self._view.refresh_bindings()

    def _pending_comments(self) -> tuple[OutboxEntry, ...]:
        shell = self._view.shell
        return shell.session.outbox.pending_comments(self._comparison.at) if shell.has_session else ()

    def _proposed_notes(self) -> tuple[ProposedNote, ...]:
        shell = self._view.shell
        return shell.session.proposed_notes.at(self._comparison.at) if shell.has_session else ()

    def draw(self) -> None:
        """Draw the first line, the reviewers and the location."""
        view, comparison = self._view, self._comparison
        if not is_fully_mounted(view):
            return
        change_request, workspace = comparison.change_request, view.shell.workspace
        self._drawn_pending = self._pending_comments()
        signs = request_status.status_signs(
            change_request,
            comparison.reviews,
            open_thread_count=sum(thread.is_open_thread for thread in self._threads.posted_threads),
            conflict_count=comparison.conflict_count,
            unresolved_count=len(comparison.diffs.pages_with_markers) if change_request.status in UNDECIDED else 0,
            pending_count=len(self._drawn_pending),
            proposed_count=len(self._proposed_notes()),
            is_on_main=comparison.is_on_main,
        )
        if isinstance(view.subscriptions.snapshot("change request").error, Forbidden | NotFound):
            signs.append(("  ✗ deleted or no access", "$error"))
        width = max(20, view.size.width - 1)
        space_title = workspace.space_title(comparison.space.space_id)
        first_line = request_status.first_line(change_request, space_title, signs, width)
        view.query_one("#head", ChangingText).update(first_line)
        requested: ListPage[RequestedReviewer] | None = view.subscriptions.snapshot("requested").value
        contributors: ListPage[Contributor] | None = view.subscriptions.snapshot("contributors").value
        people_text = request_status.review_details(
            change_request,
            comparison.reviews,
            requested.items if requested else (),
            contributors.items if contributors else (),
            self._changed_since,
            workspace.my_id,
        )
        view.query_one("#standing", ChangingText).update(people_text)
        self.show_position()

    def show_position(self) -> None:
        """Show the location and a status such as `page 2 of 5`. Tell the diff whether pages come before and after."""
        comparison, pages = self._comparison, self._pages
        change_request, revisions = comparison.change_request, comparison.revisions
        keys = list(pages.changed_pages)
        selected_key = pages.key
        position = f"page {keys.index(selected_key) + 1} of {len(keys)}" if selected_key in pages.changed_pages else ""
        comparison_note = f"compared with {revisions.old_name}" if revisions is not None and revisions.old_name else ""
        space_title = self._view.shell.workspace.space_title(comparison.space.space_id)
        prefix = f"{space_title} › " if space_title else ""
        diff = diff_of(self._view)
        diff.contents.has_page_before = pages.next_key(-1) is not None
        diff.contents.has_page_after = pages.next_key(1) is not None
        self._view.show_location(
            f"Changes › {prefix}#{change_request.number} {change_request.title}",
            " · ".join(each for each in (position, comparison_note, diff.status_text) if each),
        )


DRAW_DELAY = 0.3
"""Seconds before new sizes of changes are drawn, so that several are drawn together."""


def _is_whole_selected(view: ChangeRequestScreen) -> bool:
    return view.focused is not view.main_pane or view.page_diff.visible_page is None


def _comment_on_page(app: Shell, view: ChangeRequestScreen) -> None:
    if _is_whole_selected(view):
        comment_on_request(app, view.request_target)
    else:
        view.page_discussion.comment_on_page()


def _why_no_comment_on_page(app: Shell, view: ChangeRequestScreen) -> str | None:
    if _is_whole_selected(view):
        return why_no_request_comment(app, view.request_target)
    return view.page_discussion.why_no_comment(is_whole_page=True)


COMMENT_COMMANDS: Commands[Any] = (
    COMMENTING.only("page")
    .with_changed("page", run=_comment_on_page, why_not=_why_no_comment_on_page)
    .for_target(lambda view: view)
)


def _request_changes(app: Shell, view: ChangeRequestScreen) -> None:
    if view.page_diff.selected_blocks:
        view.page_diff.selected_blocks.write_remark(app)
    else:
        open_review_dialog(app, view.request_target, "changes-requested")


def _why_not_request_changes(app: Shell, view: ChangeRequestScreen) -> str | None:
    if view.page_diff.selected_blocks:
        return why_not_in_discussion(app, view.at, "comment")
    return why_no_review(app, view.request_target)


def _remark_label(_: Shell, view: ChangeRequestScreen) -> str | None:
    count = len(view.page_diff.selected_blocks)
    return f"Remark on {plural(count, 'block')}" if count else None


REQUEST_CHANGES_COMMANDS: Commands[Any] = (
    REQUEST_COMMANDS.only("ask")
    .with_changed("ask", run=_request_changes, why_not=_why_not_request_changes, title_now=_remark_label)
    .for_target(lambda view: view)
)
"""Command that requests changes. If blocks are selected, the command comments on these blocks and requests nothing."""


def _thread_to_delete(view: ChangeRequestScreen) -> Comment | None:
    return view.page_discussion.thread_of_selected_line() if view.focused is view.main_pane else None


def _delete(app: Shell, view: ChangeRequestScreen) -> None:
    if (thread := _thread_to_delete(view)) is not None:
        thread_actions.delete(app, view.at, thread, thread)
    else:
        view.authoring.delete()


def _why_no_deletion(app: Shell, view: ChangeRequestScreen) -> str | None:
    selected = view.changed_tree.selected
    if selected is None:
        return why_no_page_edit(app, view.authoring)
    if (thread := _thread_to_delete(view)) is not None:
        return why_not_in_discussion(app, view.at, "delete", thread)
    if selected.page is None:
        return f"{selected.title} is not a page. {CANNOT_DELETE}"
    if not selected.exists_after:
        return f"{selected.title} is already deleted in this change request. Press Q to revert the deletion."
    return why_no_page_edit(app, view.authoring)


DELETE_COMMANDS: Commands[Any] = (
    PAGE_COMMANDS.only("delete")
    .with_changed("delete", run=_delete, why_not=_why_no_deletion)
    .for_target(lambda view: view)
)


def _unsent_of_selection(view: ChangeRequestScreen) -> Sequence[UnsentText]:
    if view.focused is view.main_pane:
        return view.page_diff.drafts_in_selection
    return view.changed_tree.unsent_of(view.changed_tree.key)


def _export(app: Shell, view: ChangeRequestScreen) -> None:
    selected, request = view.changed_tree.selected, view.comparison.change_request
    page = selected.page if selected is not None and selected.is_document and selected.exists_after else None
    choose_export(
        app, view.at, f"#{request.number} {request.title}", (page.id, selected.title) if page and selected else None
    )


def _why_no_blame(app: Shell, view: ChangeRequestScreen) -> str | None:
    selected = view.changed_tree.selected
    if selected is None or selected.page is None or not selected.is_document:
        return "Select a page first."
    return None if selected.exists_after else f"{selected.title} is deleted in this change request."


def _open_blame(app: Shell, view: ChangeRequestScreen) -> None:
    selected, number = view.changed_tree.selected, view.comparison.change_request.number
    if selected is not None and selected.page is not None:
        block = view.page_diff.visible_block if view.focused is view.main_pane else None
        app.push_screen(BlameScreen(BlameTarget(view.at, selected.page.id, selected.title, block, f"#{number}")))


def _run_linters(app: Shell, view: ChangeRequestScreen) -> None:
    view.findings.use_all_linters()
    view.comparison.diffs.compare_again(view.changed_tree.reading_order)
    names_text = ", ".join(each.name for each in view.findings.linters)
    app.say(f"Running {names_text} on the changed pages. Press ; to go to a finding.")


def _why_no_linters(_: Shell, view: ChangeRequestScreen) -> str | None:
    return None if view.findings.linters else "No linters for this space. To add one, read `octavo help linters`."


VIEW_COMMANDS: Commands[ChangeRequestScreen] = Commands(
    "change",
    (
        Command("blame", "I", "Blame", "Show who wrote each block of this page", run=_open_blame, why_not=_why_no_blame,
                shown=False, id="page.blame"),
        Command("continuous", "v", "Continuous", "Switch between one page and all changed pages", shown=False,
                run=lambda _, view: view.page_diff.toggle_layout(), title_now=lambda _, view: "One page" if view.page_diff.all_pages.is_on else None),
        Command("lint", "", "Run linters", "Run all linters of this space on the changed pages", run=_run_linters, why_not=_why_no_linters,
                shown=False),
        Command("export", "ctrl+e", "Export", "Export the change request or the selected page", run=_export, shown=False),
        Command("up", "escape", "Back", "Go back to the pages, then to the list", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip


class ChangeRequestScreen(View):
    """View of a change request: changed pages and reviewers on the left, the diff on the right."""

    MODE = "changes"
    HELP_NAME = "change request"
    HELP = (
        "The changed pages are on the left, and the diff of the selected page is on the right. "
        "Press c to comment on a block, a to approve, A to request changes, or m to run the checks and merge. "
        "Press esc to go back to the pages. Press esc again to go back to the list."
    )
    CSS_PATH = "request_view.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        REQUEST_COMMANDS.without("comment", "ask"),
        REQUEST_CHANGES_COMMANDS,
        NEW_REQUEST,
        LINK_COMMANDS,
        PAGE_COMMANDS.only("edit", "arrange").for_target(lambda view: view.authoring),
        DELETE_COMMANDS,
        COMMENTING.only("block"),
        SELECT_COMMANDS,
        COMMENT_COMMANDS,
        THREAD_HERE,
        UNSENT.for_target(_unsent_of_selection),
        SUGGESTION_COMMANDS,
        FINDING_COMMANDS,
        TERM_COMMANDS,
        COMPARISON_COMMANDS,
        REVERT_COMMANDS,
        TREE_COMMANDS,
        VIEW_COMMANDS,
    )

    def __init__(
        self,
        change_request: ChangeRequest,
        space: SpaceRef,
        thread: Comment | None = None,
        block: tuple[str, str] | None = None,
    ) -> None:
        """`thread` is the thread to open first. `block` has the IDs of a page and of the block to select first."""
        super().__init__()
        self.at: ChangeRequestRef = change_request.ref(space)
        self.comparison = Comparison(
            self,
            change_request,
            space,
            on_change=self.show_changed_pages,
            on_diff=self._on_diff_loaded,
            on_reviews=lambda: self.request_head.show_reviews(),
            on_new_base=self.select_first_change,
            opens_at_review=thread is None and block is None,
        )
        self.diff_threads = DiffThreads(self, self.at, lambda: self.page_diff.draw_threads())
        self.findings = RequestFindings(self, change_request.id, space, self._on_findings_changed)
        self.changed_tree = ChangedTree(
            self, self.comparison, self.diff_threads, self.findings, self.show_changed_pages
        )
        self.page_findings = PageFindings(self, self.at, self.changed_tree, self.findings)
        self.request_head = RequestHead(self, self.comparison, self.diff_threads, self.changed_tree)
        self.page_diff: PageDiff = PageDiff(
            self,
            self.comparison,
            self.changed_tree,
            self.diff_threads,
            self.page_findings,
            self.request_head.show_position,
            thread,
            block,
        )
        self.page_discussion = self.page_diff.page_discussion
        self.suggestion_review = SuggestionReview(self.page_diff, self.diff_threads)
        self.page_terms = PageTerms(self, self.comparison, self.changed_tree, self.page_diff)
        self.authoring = PageEditing(self, self.page_diff)
        self._draw_delay = Delay(self)

    def body(self) -> Iterable[Widget]:
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield ChangingText("PAGES", classes="pane-title", id="changes-title")
                yield Tree(
                    empty="No changes yet.",
                    hint="Edit a page in the space, then press r to refresh.",
                    has_collapse_all_keys=False,
                    id="changes",
                )
                yield ChangingText("", id="standing")
            yield DiffView(ascii=self.shell.settings.ascii, id="diff")
            yield DiffView(ascii=self.shell.settings.ascii, has_several_pages=True, id="scroll")
            yield ChangingText("", id="words")

    @property
    def main_pane(self) -> DiffView:
        return self.page_diff.pane

    def on_mount(self) -> None:
        self.changed_tree.widget.state.show_loading("the changes")
        self.follow("change request", change_requests.Get(at=self.at), self._show_change_request)
        self.subscriptions.follow_whole("threads", all_threads_op(self.at), self._show_threads)
        self.request_head.start()
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self.refresh_bindings())
        draw_threads = self.page_diff.draw_threads
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self.request_head.show_pending(draw_threads))
        self.shell.workspace.unsent.changed.subscribe(self, lambda _: self._show_unsent())
        self.changed_tree.load_marks()
        self.shell.exit_callbacks.add(self.changed_tree.marks.save_position)
        for pane in self.query(DiffView):
            pane.navigation.positions = self.changed_tree.marks.positions
            pane.block_commands.why_no_comment_here = self.page_discussion.why_no_comment
        self.page_diff.all_pages.restore_choice()
        self.request_head.draw()
        self.changed_tree.widget.focus()
        self.comparison.start()

    def on_resize(self) -> None:
        self.request_head.draw()
        self.show_changed_pages()

    def on_unmount(self) -> None:
        self.changed_tree.marks.save_position()
        self.shell.exit_callbacks.discard(self.changed_tree.marks.save_position)
        self.comparison.stop()

    def _show_change_request(self, snapshot: Snapshot[ChangeRequest]) -> None:
        if snapshot.value is None:
            return
        if self.comparison.set_change_request(snapshot.value, is_current=not snapshot.is_loading):
            self.changed_tree.load_marks()
            self.comparison.reload()
            self.request_head.show_reviews(counts_again=True)
        self.request_head.draw()
        self.refresh_bindings()

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None:
            self.diff_threads.comments = snapshot.value.items
            self.shell.workspace.count_review_summaries(self.comparison.change_request.id, snapshot.value)
            self.show_changed_pages()
            self.page_diff.draw_threads()
            self.request_head.draw()

    def refresh_data(self) -> None:
        super().refresh_data()
        self.changed_tree.load_marks()
        self.page_diff.retry()
        self.shell.background(self._report_failures())

    async def _report_failures(self) -> None:
        """Wait until the details are loaded, and report the errors, which are not on screen."""
        for op in filter(None, map(self.subscriptions.operation, DETAILS)):
            await self.live.wait_loaded(op)
        errors = {name: self.subscriptions.snapshot(slot).error for slot, name in DETAILS.items()}
        if names := [name for name, error in errors.items() if error is not None]:
            cause = str(errors[names[0]]).removesuffix(" Try again.")
            self.shell.say(f"Could not load the {' and the '.join(names)}: {cause} Press r to retry.", tone="failed")

    def on_screen_resume(self) -> None:
        if not is_fully_mounted(self):
            return  # Another screen was pushed before this one was composed.
        self._on_findings_changed(self.changed_tree.key)
        if self.diff_threads.unsent_by_page():
            self.page_diff.draw_threads()  # The unsent drafts may have changed in another view.

    def _show_unsent(self) -> None:
        self.show_changed_pages()
        self.page_diff.draw_threads()

    def show_changed_pages(self) -> None:
        if not is_fully_mounted(self) or self.comparison.is_waiting_for_tree:
            return
        self._set_finding_revisions()
        if self.comparison.changed_pages is not None:
            self.changed_tree.show(self.comparison.changed_pages)
            self.page_diff.show()
            self.page_diff.run_pending_jump()
        elif self.comparison.error_text:
            self.changed_tree.show_error()

    def select_first_change(self) -> None:
        self.changed_tree.select_first_change()
        self.page_diff.show()

    def _on_diff_loaded(self, page: ChangedPage, compared: PageComparison) -> None:
        self._set_finding_revisions()
        self.findings.check(page, compared)
        self.page_diff.update_word_changes(page, compared)
        self._draw_sizes_soon()

    def _set_finding_revisions(self) -> None:
        self.findings.set_revisions(self.comparison.revisions, self.comparison.tree.value)

    def _on_findings_changed(self, page_key: str) -> None:
        if is_fully_mounted(self) and current_view(self.shell) is self:
            if self.page_diff.shows(page_key):
                self.page_diff.draw_threads()
                self.refresh_bindings()
            self._draw_sizes_soon()

    def _draw_sizes_soon(self) -> None:
        self._draw_delay.start_once(DRAW_DELAY, self._draw_sizes)

    def _draw_sizes(self) -> None:
        if current_view(self.shell) is self:
            self.show_changed_pages()
            self.request_head.draw()

    @on(LineList.Highlighted, "#changes")
    def _on_page_selected(self) -> None:
        self.changed_tree.save_position_soon()
        self.changed_tree.draw_title()
        self.page_diff.show()

    @on(PaneMoved)
    def _on_diff_moved(self) -> None:
        self.page_diff.all_pages.load_near()
        self.changed_tree.save_position_soon()
        self.changed_tree.draw_title()
        self.request_head.show_position()

    @on(LineList.Opened, "#changes")
    def _on_page_opened(self) -> None:
        self.main_pane.focus()

    @on(LinkFollowed)
    def _on_link_followed(self, message: LinkFollowed) -> None:
        self.page_diff.follow_link(message)

    @on(Reader.CommentRequested)
    def _on_comment_requested(self, message: Reader.CommentRequested) -> None:
        selected = self.main_pane.cursor.current()
        if selected is not None and selected.block.key == message.block.key:  # The cursor may have moved since.
            self.page_discussion.comment()

    @on(Reader.ThreadRequested)
    def _on_thread_requested(self, message: Reader.ThreadRequested) -> None:
        self.page_discussion.open_block_thread(message.block)

    @on(Reader.NextPageRequested)
    def _on_next_page_requested(self) -> None:
        self.changed_tree.select_next(1)

    @on(ThreadOnOtherPageRequested)
    def _on_thread_on_other_page_requested(self, message: ThreadOnOtherPageRequested) -> None:
        self.page_diff.go_to_page_with_thread(message.step)

    @on(DiffView.RepliesRequested)
    def _on_replies_requested(self, message: DiffView.RepliesRequested) -> None:
        self.diff_threads.follow_replies(message.keys)

    def go_to_block(self, at: Discussion, page_id: str | None, block_key: str) -> bool:
        if self.at != at:
            return False
        if page_id is not None and page_id != (self.page_diff.visible_page or ("",))[0]:
            self.changed_tree.select_page(page_id)
        return True

    def go_up(self) -> bool:
        return self.page_diff.selected_blocks.clear() or focus_if(
            self.changed_tree.widget, condition=self.focused is self.main_pane
        )

    @property
    def request_target(self) -> RequestTarget:
        """Target of the commands: the change request that this view shows."""
        comparison = self.comparison
        return RequestTarget(
            comparison.change_request,
            comparison.space,
            self,
            reviews=comparison.reviews,
            why_outdated=comparison.why_outdated(),
            titles=lambda: comparison.titles,
            pending_note=self.page_diff.word_changes.pending_mark,
            show_pending_comment=self._show_pending_comment,
            show_block=self.page_diff.show_block,
            show_edited=self._show_edited,
        )

    def _show_edited(self, pages: tuple[str, ...]) -> None:
        self.refresh_data()
        if pages and self.changed_tree.select_page(pages[0]):
            self.main_pane.focus()

    def _show_pending_comment(self, entry: OutboxEntry) -> None:
        self.changed_tree.select_page(entry.traits.page_id or WHOLE_REQUEST)
        self.page_discussion.open_thread(entry.created_id)

    @property
    def selected_change(self) -> SelectedChange | None:
        """Current page, with the selected block if the diff has the focus. None if no page is selected."""
        change = self.changed_tree.selected
        block = self.page_diff.visible_block if self.focused is self.main_pane else None
        return SelectedChange(self.comparison, change, block) if change is not None else None

    @property
    def selected_items(self) -> Sequence[Model]:
        space = self.shell.workspace.space(self.at.space_id)
        return [each for each in (self.comparison.change_request, space) if each is not None]
