"""Threads of a space or change request, as a diff shows them below their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from octavo.api import comments
from octavo.api.comments import Comment, Reply
from octavo.api.operation import ListPage
from octavo.api.places import Discussion
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments.suggestion_diffs import SuggestionDiffs
from octavo.tui.core.unsent_texts import unsent_mark
from octavo.tui.core.view import View
from octavo.tui.core.workspace import PENDING
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.threads import DRAFT, ThreadReply, ThreadSummary
from octavo.tui.widgets.wording import short_age

MAX_REPLIES = 3
"""Number of newest replies shown below a block. The thread dialog shows all."""


class DiffThreads:
    """The threads of a space or change request, as a diff shows them. Follows the replies of the visible threads."""

    def __init__(self, view: View, at: Discussion, redraw: Callable[[], None]) -> None:
        """Create the threads of a view. `redraw` is called when threads or replies have changed."""
        self._view, self._at, self._redraw = view, at, redraw
        self.comments: tuple[Comment, ...] = ()
        self._replies: dict[str, tuple[Reply, ...]] = {}
        self._suggestions = SuggestionDiffs(lambda: view.shell, redraw)

    @property
    def posted_threads(self) -> list[Comment]:
        """The threads other people can see: all but pending comments."""
        return [thread for thread in self.comments if self._view.shell.workspace.pending_entry(thread.id) is None]

    def on_page(self, page_id: str | None) -> tuple[Comment, ...]:
        """Return the threads on a page. If `page_id` is None, return the threads on no page."""
        return tuple(
            each for each in self.comments if (each.target.page.id if each.target.page is not None else None) == page_id
        )

    def summaries(
        self, threads_by_block: Mapping[str, Sequence[Comment]], is_outdated: Callable[[Comment], bool]
    ) -> dict[str, list[ThreadSummary]]:
        """Return the summaries of threads, by the key of their block."""
        shell = self._view.shell
        index = shell.workspace.unsent.index

        def unsent(thread: Comment) -> str:
            return unsent_mark(each for each in index.of_thread(self._at, thread.id) if not each.starts_a_thread).plain

        suggestion_diffs = partial(self._suggestions.diffs, self._at)
        return thread_summaries(
            threads_by_block, shell.workspace.send_status, self._replies, is_outdated, unsent, suggestion_diffs
        )

    def unsent_by_page(self) -> dict[str, list[UnsentText]]:
        """Return the unsent drafts by page id. Those on no page have the key ""."""
        index = self._view.shell.workspace.unsent.index
        return index.by_page(self._at, self.comments) if index else {}

    def draft_summaries(self, drafts: Sequence[UnsentText]) -> list[ThreadSummary]:
        """Return the summaries of unsent comments."""
        shell = self._view.shell
        me = shell.workspace.me.name if shell.workspace.me is not None else "You"
        stored = shell.session.drafts
        return [
            ThreadSummary(
                me,
                "draft",
                stored.get(each.draft_key) or "",
                is_open=False,
                key=f"{DRAFT}{each.draft_key}",
                is_draft=True,
            )
            for each in drafts
        ]

    def follow_replies(self, keys: Iterable[str]) -> None:
        """Follow the replies of the threads with these ids."""
        for key in keys:
            if not key.startswith("pending-"):
                op = comments.ListReplies(at=self._at, comment_id=key, format="markdown", limit=200)
                self._view.follow(f"replies {key}", op, partial(self._show_replies, key))

    def _show_replies(self, key: str, snapshot: Snapshot[ListPage[Reply]]) -> None:
        if snapshot.value is not None and self._replies.get(key) != snapshot.value.items:
            self._replies[key] = snapshot.value.items
            self._redraw()


def thread_summaries(
    threads: Mapping[str, Sequence[Comment]],
    sending_status: Callable[[str], str],
    replies: Mapping[str, Sequence[Reply]] = MappingProxyType({}),
    is_outdated: Callable[[Comment], bool] = lambda thread: False,
    unsent: Callable[[Comment], str] = lambda thread: "",
    suggestion_diffs: Callable[[Comment, Comment | Reply], tuple[PageComparison, ...]] = lambda thread, message: (),
) -> dict[str, list[ThreadSummary]]:
    """Return the summaries of threads, by the key of their block. Threads on no block have the key "".

    `sending_status` returns the sending status of an unsent message by its id, else "". `unsent` returns the mark of unsent
    drafts in a thread.
    """

    def age(message: Comment | Reply) -> str:
        return sending_status(message.id) or short_age(message.posted_at)

    def summary(thread: Comment, key: str) -> ThreadSummary:
        thread_replies = replies.get(thread.id, ())
        target = thread.target
        is_block_missing = not key and target.node is not None
        return ThreadSummary(
            author=thread.posted_by.name,
            age=age(thread),
            text=thread.body.text,
            reply_count=max(thread.replies, len(thread_replies)),
            is_open=thread.is_open_thread,
            is_review=thread.is_open and thread.is_review,
            is_pending=sending_status(thread.id) == PENDING,
            shown_replies=tuple(
                ThreadReply(each.posted_by.name, age(each), each.body.text, suggestion_diffs(thread, each))
                for each in thread_replies[-MAX_REPLIES:]
            ),
            key=thread.id,
            is_outdated=is_block_missing or is_outdated(thread),
            unsent=unsent(thread),
            suggestion_diffs=suggestion_diffs(thread, thread),
            quote=" ".join((target.node.preview or "").split()) if is_block_missing and target.node is not None else "",
        )

    return {key: [summary(thread, key) for thread in in_block] for key, in_block in threads.items()}
