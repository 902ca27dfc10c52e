"""Threads as a diff shows them, on the rail below the block they hang on."""

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
from octavo.tui.comments.suggested_wording import Suggested
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.threads import DRAFT, ThreadReply, ThreadSummary
from octavo.tui.shell.unsent_texts import unsent_mark
from octavo.tui.shell.view import View
from octavo.tui.shell.workspace import PENDING
from octavo.tui.widgets.wording import short_age

MOST_ANSWERS = 3
"""How many replies a rail shows, the newest ones: all of them are where the thread is shown."""


class DiffThreads:
    """The threads of one place as a diff of its pages shows them. The replies of those on show are followed."""

    def __init__(self, view: View, at: Discussion, redraw: Callable[[], None]) -> None:
        """`redraw` is called when they are others."""
        self._view, self._at, self._redraw = view, at, redraw
        self.all: tuple[Comment, ...] = ()
        self._replies: dict[str, tuple[Reply, ...]] = {}
        self._suggested = Suggested(lambda: view.shell, redraw)

    @property
    def posted(self) -> list[Comment]:
        """Those others see too: none that are held for a review."""
        return [thread for thread in self.all if self._view.shell.workspace.pending_entry(thread.id) is None]

    def on_page(self, page_id: str | None) -> tuple[Comment, ...]:
        """Those on a page, or with None those on all of the place."""
        return tuple(
            each for each in self.all if (each.target.page.id if each.target.page is not None else None) == page_id
        )

    def lines(
        self, hanging: Mapping[str, Sequence[Comment]], is_outdated: Callable[[Comment], bool]
    ) -> dict[str, list[ThreadSummary]]:
        """Threads by block as the diff shows them."""
        shell = self._view.shell
        index = shell.workspace.unsent.index

        def unsent(thread: Comment) -> str:
            return unsent_mark(each for each in index.of_thread(self._at, thread.id) if not each.starts_a_thread).plain

        suggested = partial(self._suggested.compared, self._at)
        return thread_lines(hanging, shell.workspace.send_status, self._replies, is_outdated, unsent, suggested)

    def unsent_by_page(self) -> dict[str, list[UnsentText]]:
        """What one wrote and did not send, by the id of the page it hangs on; on none, by ""."""
        index = self._view.shell.workspace.unsent.index
        return index.by_page(self._at, self.all) if index else {}

    def draft_lines(self, drafts: Sequence[UnsentText]) -> list[ThreadSummary]:
        """Comments that are not sent, as the diff shows them where they are to hang."""
        shell = self._view.shell
        me = shell.workspace.me.name if shell.workspace.me is not None else "You"
        kept = shell.session.drafts
        return [
            ThreadSummary(
                me,
                "draft",
                kept.get(each.draft_key) or "",
                is_open=False,
                key=f"{DRAFT}{each.draft_key}",
                is_draft=True,
            )
            for each in drafts
        ]

    def follow_replies(self, keys: Iterable[str]) -> None:
        """Show the replies of these threads."""
        for key in keys:
            if not key.startswith("pending-"):
                op = comments.ListReplies(at=self._at, comment_id=key, format="markdown", limit=200)
                self._view.follow(f"replies {key}", op, partial(self._show_replies, key))

    def _show_replies(self, key: str, snapshot: Snapshot[ListPage[Reply]]) -> None:
        if snapshot.value is not None and self._replies.get(key) != snapshot.value.items:
            self._replies[key] = snapshot.value.items
            self._redraw()


def thread_lines(
    threads: Mapping[str, Sequence[Comment]],
    on_its_way: Callable[[str], str],
    replies: Mapping[str, Sequence[Reply]] = MappingProxyType({}),
    is_outdated: Callable[[Comment], bool] = lambda thread: False,
    unsent: Callable[[Comment], str] = lambda thread: "",
    suggested: Callable[[Comment, Comment | Reply], tuple[PageComparison, ...]] = lambda thread, message: (),
) -> dict[str, list[ThreadSummary]]:
    """Threads by block as a diff shows them, those on no block under "". `on_its_way` says of an id how far it got that
    is not there yet; `unsent` marks what is written in one and not sent."""

    def age(message: Comment | Reply) -> str:
        return on_its_way(message.id) or short_age(message.posted_at)

    def line(thread: Comment, key: str) -> ThreadSummary:
        answers = replies.get(thread.id, ())
        target = thread.target
        is_gone = not key and target.node is not None
        return ThreadSummary(
            author=thread.posted_by.name,
            age=age(thread),
            text=thread.body.text,
            reply_count=max(thread.replies, len(answers)),
            is_open=thread.is_open_thread,
            is_review=thread.is_open and thread.is_review,
            is_pending=on_its_way(thread.id) == PENDING,
            shown_replies=tuple(
                ThreadReply(each.posted_by.name, age(each), each.body.text, suggested(thread, each))
                for each in answers[-MOST_ANSWERS:]
            ),
            key=thread.id,
            is_outdated=is_gone or is_outdated(thread),
            unsent=unsent(thread),
            suggestion_diffs=suggested(thread, thread),
            quote=" ".join((target.node.preview or "").split()) if is_gone and target.node is not None else "",
        )

    return {key: [line(thread, key) for thread in hanging] for key, hanging in threads.items()}
