"""Comments on the open page and on its selected block, and the threads there."""

from __future__ import annotations

from typing import Protocol

from octavo.api.comments import Comment
from octavo.api.places import Discussion
from octavo.documents.blocks import Block
from octavo.lazy_import import lazy
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.core.view import View, is_covered
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.threads import DRAFT, FINDING
from octavo.tui.widgets.commands import Command, Commands

_thread_dialog = lazy("octavo.tui.comments.thread_dialog:ThreadDialog")


class DiscussionView(Protocol):
    """A view that shows a page with threads. Views of spaces and of change requests implement it."""

    @property
    def discussion(self) -> Discussion | None:
        """The space or change request that comments are written to."""

    @property
    def visible_page(self) -> tuple[str, str] | None:
        """The id and title of the page whose blocks are shown."""

    @property
    def target_page(self) -> tuple[str, str] | None:
        """The id and title of the page that a comment on the page is written to."""

    @property
    def visible_block(self) -> Block | None:
        """The selected block. None if no block is selected."""

    @property
    def is_old_version(self) -> bool:
        """Return whether the selected block belongs to the old version of the page."""

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        """The visible threads."""

    @property
    def pane(self) -> Reader:
        """The pane that shows the page."""

    def go_to_thread(self, thread: Comment) -> bool:
        """Select the block of a thread. Return False if this page does not have that block."""

    def threads_on(self, block: Block) -> list[Comment]:
        """Return the threads on a block and on the blocks inside it. For a block of the kind `thread`, return that
        thread."""

    def outdated_note(self, thread: Comment) -> str:
        """Return a sentence about the changed or deleted block of an outdated thread. Empty if the block is unchanged."""

    def source_of(self, block: Block) -> str:
        """Return the Markdown of a block, for a suggested change. Empty if no change can be suggested."""

    def why_no_block(self) -> str | None:
        """Return why keys do not act on the selected block, for example because another pane has the focus. None if the
        keys act on the block."""

    def why_not_commentable(self, *, is_whole_page: bool) -> str | None:
        """Return why you cannot comment on the selected block. With `is_whole_page`, return why you cannot comment on
        the page. None if you can."""


class PageDiscussion:
    """Comment actions for the page in a view, and the threads on its selected block."""

    def __init__(self, view: View, pages: DiscussionView) -> None:
        self._view, self._pages = view, pages

    def thread_on(self, block: Block) -> Comment | None:
        """Return the thread on a block, an open thread first. None if there is none."""
        threads = self._pages.threads_on(block)
        return next((thread for thread in threads if thread.is_open), threads[0] if threads else None)

    @property
    def _why_no_block(self) -> str | None:
        pane = self._view.main_pane
        if pane is not None and is_covered(self._view, pane):
            return "The page is not on the screen. Press tab to go to the page."
        return self._pages.why_no_block()

    @property
    def selected_thread(self) -> ThreadTarget | None:
        """The thread on the selected block. None if there is none, or if keys do not act on the block."""
        at, block = self._pages.discussion, self._pages.visible_block
        if at is None or block is None or self._why_no_block is not None:
            return None
        thread = self.thread_on(block)
        return ThreadTarget(at, thread, thread) if thread is not None else None

    @property
    def why_no_thread(self) -> str:
        """Return why no thread can be acted on."""
        return self._why_no_block or "The selected block has no thread. Press t to go to the next thread."

    def selected_thread_line(self) -> Comment | None:
        """Return the thread whose line is selected in a diff. None if a block is selected."""
        block = self._pages.visible_block
        return self.thread_on(block) if block is not None and block.kind == "thread" else None

    def why_no_comment(self, *, is_whole_page: bool = False) -> str | None:
        """Return why you cannot comment on the selected block. With `is_whole_page`, return why you cannot comment on
        the page. None if you can."""
        pages = self._pages
        if why := (None if is_whole_page else self._why_no_block) or pages.why_not_commentable(
            is_whole_page=is_whole_page
        ):
            return why
        at, page = pages.discussion, pages.target_page if is_whole_page else pages.visible_page
        if at is None or page is None:
            return "To comment on a page, open the page first."
        thread = None if is_whole_page else self.selected_thread_line()
        return why_not_in_discussion(self._view.shell, at, "reply" if thread else "comment", thread)

    def comment(self) -> None:
        """Write a comment on the selected block. On the line of a thread, reply to the thread."""
        pages = self._pages
        block, page, at = pages.visible_block, pages.visible_page, pages.discussion
        if at is not None and block is not None and block.kind == "thread":
            if (thread := self.thread_on(block)) is not None:
                thread_actions.reply(self._view.shell, at, thread)
        elif at is not None and page is not None:
            thread_actions.start_thread(
                self._view.shell,
                at,
                page=page[0],
                node=block.key if block is not None else None,
                title=f"the old version of {page[1]}" if pages.is_old_version else page[1],
                excerpt=block.plain() if block is not None else page[1],
                source=pages.source_of(block) if block is not None else "",
                quote=pages.is_old_version,
                is_code=block is not None and block.kind == "code",
            )

    def comment_on_page(self) -> None:
        page, at = self._pages.target_page, self._pages.discussion
        if at is not None and page is not None:
            thread_actions.start_thread(
                self._view.shell, at, page=page[0], node=None, title=f"the page {page[1]}", excerpt=page[1]
            )

    def open_block_thread(self, block: Block) -> None:
        """Show the thread on a block. On the line of an unsent comment, continue the draft. On the line of a linter's
        finding, comment on the block of the finding. Do nothing on other blocks without a thread."""
        if (thread := self.thread_on(block)) is not None:
            self.open_thread(thread.id)
        elif block.key.startswith((DRAFT, FINDING)) and self.why_no_comment() is None:
            self.comment()

    def open_thread(self, comment_id: str) -> None:
        """Show a thread in a dialog beside or below its block."""
        pages, threads = self._pages, {thread.id: thread for thread in self._pages.known_threads}
        if pages.discussion is not None and comment_id in threads:
            dialog = _thread_dialog(
                pages.discussion,
                list(threads.values()),
                comment_id,
                pages.outdated_note,
                pages.pane,
                pages.go_to_thread,
            )
            self._view.app.push_screen(dialog)


COMMENTING: Commands[PageDiscussion] = Commands(
    "comment",
    (
        Command("block", "c", "Comment", "Comment on the block or reply to its thread",
                writes=True, run=lambda app, discussion: discussion.comment(), why_not=lambda app, discussion: discussion.why_no_comment()),
        Command("page", "C", "Comment on page", "Comment on the page", shown=False,
                writes=True, run=lambda app, discussion: discussion.comment_on_page(), why_not=lambda _, discussion: discussion.why_no_comment(is_whole_page=True)),
    ),
    context="pages and diffs",
    find=lambda view: view.page_discussion,
)  # fmt: skip
"""Commands that comment on the open page. They act on the `page_discussion` of a view."""
THREAD_HERE: Commands[ThreadTarget] = (
    THREAD.only("resolve", "reply_resolve", "react")
    .with_changed("resolve", id="comment.resolve_here", help="Resolve the thread on this block", shown=False)
    .with_changed(
        "reply_resolve", id="comment.reply_resolve_here", help="Reply to the thread on this block and resolve it"
    )
    .with_changed("react", id="comment.react_here", help="React to the thread on this block")
    .for_target(
        lambda view: view.page_discussion.selected_thread,
        context="pages and diffs",
        no_target=lambda view: view.page_discussion.why_no_thread,
    )
)
"""Commands for the thread on the selected block."""
