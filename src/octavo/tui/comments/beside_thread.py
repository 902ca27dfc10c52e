"""A list with a thread beside it: what one does with the thread works on the list as well."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from octavo.api.comments import Comment
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.shell.permissions import OF_A_THREAD, not_allowed_with
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard


class BesideThread(View):
    """A view with one thread on show."""

    CONTEXT: ClassVar[str] = "comments"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "resolve", "Done", tooltip="Resolve the thread, or all that are ticked; reopen what is resolved", id="comments.resolve"),
        Binding("c", "reply", "Reply", tooltip="Reply to the thread, or to all that are ticked", id="comments.reply"),
        Binding("C", "comment_page", "Comment on page", show=False, tooltip="Comment on the page the thread is on, as a whole", id="comments.new"),
        Binding("D", "reply_resolve", "Reply, done", show=False, tooltip="Reply, also to all that are ticked, and resolve them", id="comments.reply_resolve"),
        Binding("plus", "react", "React", key_display="+", show=False, tooltip="React with an emoji, also to all that are ticked", id="comments.react"),
        Binding("e", "edit", "Edit", show=False, tooltip="Edit my comment", id="comments.edit"),
        Binding("X", "delete", "Delete", show=False, tooltip="Delete my comment", id="comments.delete"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the text of the comment, or of all that are ticked", id="comments.copy"),
        Binding("Y", "copy_address", "Copy address", show=False, tooltip="Copy the address of the comment", id="comments.copy_address"),
        Binding("o", "open_outside", "In the browser", show=False, tooltip="Open the comment in the browser", id="comments.open_browser"),
    ]  # fmt: skip

    @property
    def thread(self) -> ThreadView:
        return self.query_one(ThreadView)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in (*OF_A_THREAD, "copy") and self.is_mounted:
            return self.thread.why_not(action, parameters)
        if action == "comment_page" and self.is_mounted:
            if self.thread.comment is None or self.thread.at is None:
                return "There is no thread here, so no page it is on."
            if self.thread.comment.target.page is None:
                return "This thread is on no page: it is about the whole place."
            return not_allowed_with(self.shell, self.thread.at, "comment")
        if action in ("copy_address", "open_outside") and self.is_mounted:
            if self.thread.comment is None:
                return "There is no thread here."
            if not _address(self.thread.comment) or self.shell.session.is_here:
                from octavo.tui.shell.outside import said_without_address

                return said_without_address(self.shell, "comment")
        return super().why_not(action, parameters)

    def action_resolve(self) -> None:
        self.thread.action_resolve()

    def action_reply(self) -> None:
        self.thread.action_reply()

    def action_comment_page(self) -> None:
        at, comment = self.thread.at, self.thread.comment
        if at is not None and comment is not None and (page := comment.target.page) is not None:
            title = page.title or page.path or "this page"
            thread_actions.start_thread(
                self.shell, at, page=page.id, node=None, title=f"the page {title}", excerpt=title
            )

    def action_reply_resolve(self) -> None:
        self.thread.action_reply_resolve()

    def action_react(self) -> None:
        self.thread.action_react()

    def action_edit(self) -> None:
        self.thread.action_edit()

    def action_delete(self) -> None:
        self.thread.action_delete()

    def action_copy(self) -> None:
        self.thread.action_copy()

    def action_copy_address(self) -> None:
        if self.thread.comment is not None:
            clipboard.copy(self.shell, _address(self.thread.comment), "Copied the address of the comment.")

    def action_open_outside(self) -> None:
        from octavo.tui.shell.outside import open_outside

        if self.thread.comment is not None:
            open_outside(self.shell, _address(self.thread.comment))


def _address(comment: Comment) -> str:
    return comment.urls.app or comment.urls.published or ""
