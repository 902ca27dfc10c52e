"""The threads that a diff shows below their blocks, and suggested changes as word diffs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from octavo.api import content
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.operation import Discussion, ListPage
from octavo.data.drafts import UnsentText
from octavo.data.live import Snapshot
from octavo.data.queries import replies_op
from octavo.documents.suggestions import (
    WordChange,
    apply_suggestion,
    find_block_source,
    find_suggestions,
    has_fewer_blocks,
)
from octavo.lazy_import import lazy
from octavo.tui.core.session import unsent_mark
from octavo.tui.core.view import View
from octavo.tui.core.workspace import PENDING
from octavo.tui.render.styled_lines import Line, StyledText
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import DRAFT_PREFIX, ThreadReply, ThreadSummary
from octavo.tui.widgets.short_texts import short_age

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.render.comparison import PageComparison

_compare = lazy("octavo.tui.render.comparison:compare")
_lines_with_suggestions = lazy("octavo.tui.render.diff_lines:lines_with_suggestions")

BlockId = tuple[str, str, str]
"""Page ID, revision ID (empty for the current revision) and key of a block."""


class SuggestionDiffs:
    """Word diffs between the block of a thread and the changes that its messages suggest. Loaded in the background."""

    def __init__(self, get_shell: Callable[[], Shell], on_change: Callable[[], None]) -> None:
        self._shell, self._on_change = get_shell, on_change
        self._diffs: dict[tuple[BlockId, str], PageComparison | None] = {}
        """Diff for each block and suggested text. None while the diff is loading, and if it could not be loaded."""
        self._sources: dict[BlockId, tuple[str, str]] = {}
        """Markdown of each block, and Markdown of the whole page from which the block was read."""
        self._page_text = ""
        """Current Markdown of the page. Empty if it is not loaded."""
        self._results: dict[tuple[BlockId, str], str] = {}
        """Effect of applying a suggested text to its block, such as `same`. Empty text until the effect is known."""

    def set_page_text(self, text: str) -> None:
        """Set the current Markdown of the thread's page, which tells whether a suggestion is applied already."""
        if text != self._page_text:
            self._page_text = text
            self._results.clear()
            self._on_change()

    def _result(self, block_id: BlockId, text: str) -> str:
        if (block_id, text) not in self._results and self._page_text and block_id in self._sources:
            self._results[block_id, text] = ""
            self._shell().background(self._try_apply(block_id, text, self._page_text))
        return self._results.get((block_id, text), "")

    async def _try_apply(self, block_id: BlockId, text: str, page_text: str) -> None:
        source, old_page = self._sources[block_id]
        is_lost = await asyncio.to_thread(has_fewer_blocks, page_text, old_page, source)
        apply = partial(apply_suggestion, is_equal_block_lost=is_lost)
        applied = await asyncio.to_thread(apply, page_text, block_id[2], source, text)
        if page_text == self._page_text:
            self._results[block_id, text] = applied.kind
            self._on_change()

    def diffs(self, at: Discussion, thread: Comment, message: Comment | Reply) -> tuple[PageComparison, ...]:
        """Return the diffs of all suggestions in `message`. Start to load missing diffs. Empty until all are loaded."""
        suggestions = find_suggestions(message.body.text)
        if not suggestions or (block_id := _block_id(thread)) is None:
            return ()
        if texts := [suggestion.text for suggestion in suggestions if (block_id, suggestion.text) not in self._diffs]:
            self._diffs |= {(block_id, text): None for text in texts}
            self._shell().background(self._compare(at, block_id, texts))
        diffs = [self._diffs[block_id, suggestion.text] for suggestion in suggestions]
        loaded_diffs = tuple(diff for diff in diffs if diff is not None)
        return loaded_diffs if len(loaded_diffs) == len(diffs) else ()

    def lines(
        self, at: Discussion, thread: Comment, message: Comment | Reply, width: int, styles: Styles
    ) -> list[Line] | None:
        """Return the lines of `message` with suggestions as word diffs. None if there are none, or while diffs load."""
        diffs, block_id = self.diffs(at, thread, message), _block_id(thread)
        if not diffs or block_id is None:
            return None
        # Notes are above the diff, because the end of the diff may be out of view.
        notes = [
            _result_note(self._result(block_id, suggestion.text), styles)
            for suggestion in find_suggestions(message.body.text)
        ]
        lines: list[Line] = _lines_with_suggestions(message.body.text, diffs, width, styles, notes)
        return lines

    async def _compare(self, at: Discussion, block_id: BlockId, texts: list[str]) -> None:
        page, revision, key = block_id
        live = self._shell().session.live
        content_ref = at.revision_ref(revision) if revision else at
        op = content.GetPage(at=content_ref, page_id=page, format="markdown")
        try:
            loaded_page = await (live.cached_or_fetch(op) if revision else live.fetch(op))
        except ApiError:
            return  # If there is no comparison, the view shows the suggestion as plain Markdown.
        markdown = loaded_page.markdown or ""
        source = await asyncio.to_thread(find_block_source, markdown, key)
        if source is None:
            return
        self._sources[block_id] = source, markdown
        for text in texts:
            self._diffs[block_id, text] = await asyncio.to_thread(_compare, source, text)
        self._on_change()


def _block_id(thread: Comment) -> BlockId | None:
    target = thread.target
    # An unsent comment is on the current page: no revision is needed.
    revision = "" if thread.id.startswith("pending-") else target.revision
    if target.page is None or target.node is None or revision is None:
        return None
    return target.page.id, revision, target.node.id


def _result_note(result: str, styles: Styles) -> list[Line]:
    if result == "same":
        return [Line([StyledText(f"{styles.glyphs.yes} applied to the page", styles.success)])]
    if result == "changed":
        return [Line([StyledText("outdated: the block was edited or deleted", styles.warning)])]
    return []


MAX_REPLIES = 3
"""Maximum number of replies shown below a block. Only the newest are shown; the thread dialog shows all."""


class DiffThreads:
    """The threads of a space or change request, as rows that a diff shows below its blocks."""

    def __init__(self, view: View, at: Discussion, redraw: Callable[[], None]) -> None:
        """`redraw` is called when threads or replies have changed."""
        self._view, self._at, self._redraw = view, at, redraw
        self.comments: tuple[Comment, ...] = ()
        self._replies: dict[str, tuple[Reply, ...]] = {}
        self._suggestions = SuggestionDiffs(lambda: view.shell, redraw)

    @property
    def posted_threads(self) -> list[Comment]:
        """Threads that other people can see: all but your pending comments."""
        return [thread for thread in self.comments if self._view.shell.workspace.pending_entry(thread.id) is None]

    def threads_on_page(self, page_id: str | None) -> tuple[Comment, ...]:
        """Return the threads on a page. If `page_id` is None, return the threads on no page."""
        return tuple(
            comment
            for comment in self.comments
            if (comment.target.page.id if comment.target.page is not None else None) == page_id
        )

    def summaries(
        self,
        threads_by_block: Mapping[str, Sequence[Comment]],
        word_change: Callable[[Comment], WordChange],
        new_page_title: Callable[[Comment], str],
    ) -> dict[str, list[ThreadSummary]]:
        """Return the rows that show threads in a diff, by block key (`""` for no block). `word_change` returns how the
        words quoted by a thread changed, and `new_page_title` the title of the page to which these words moved."""
        return {
            key: [self._summary(thread, key, word_change(thread), new_page_title(thread)) for thread in in_block]
            for key, in_block in threads_by_block.items()
        }

    def _summary(self, thread: Comment, key: str, word_change: WordChange, new_page_title: str) -> ThreadSummary:
        workspace = self._view.shell.workspace
        replies, target = self._replies.get(thread.id, ()), thread.target
        is_block_missing = not key and target.node is not None
        drafts = workspace.unsent.index.of_thread(self._at, thread.id)
        return ThreadSummary(
            author=thread.posted_by.name,
            age=self._age_label(thread),
            text=thread.body.text,
            reply_count=max(thread.replies, len(replies)),
            is_open=thread.is_open_thread,
            is_review=thread.is_open and thread.is_review_text,
            is_pending=workspace.sending_status(thread.id) == PENDING,
            shown_replies=tuple(
                ThreadReply(
                    reply.posted_by.name,
                    self._age_label(reply),
                    reply.body.text,
                    self._suggestions.diffs(self._at, thread, reply),
                )
                for reply in replies[-MAX_REPLIES:]
            ),
            key=thread.id,
            word_change="gone" if is_block_missing else word_change,
            new_page_title=new_page_title,
            unsent=unsent_mark(each for each in drafts if not each.starts_a_thread).plain,
            suggestion_diffs=self._suggestions.diffs(self._at, thread, thread),
            quote=" ".join((target.node.preview or "").split()) if is_block_missing and target.node is not None else "",
        )

    def _age_label(self, message: Comment | Reply) -> str:
        return self._view.shell.workspace.sending_status(message.id) or short_age(message.posted_at)

    def unsent_by_page(self) -> dict[str, list[UnsentText]]:
        """Return the unsent drafts by page ID. Drafts on no page have the key ""."""
        index = self._view.shell.workspace.unsent.index
        return index.by_page(self._at, self.comments) if index else {}

    def draft_summaries(self, drafts: Sequence[UnsentText]) -> list[ThreadSummary]:
        """Return the rows that show unsent comments in a diff."""
        shell = self._view.shell
        my_name = shell.workspace.me.name if shell.workspace.me is not None else "You"
        stored_drafts = shell.session.drafts
        return [
            ThreadSummary(
                my_name,
                "draft",
                stored_drafts.get(draft.draft_key) or "",
                is_open=False,
                key=f"{DRAFT_PREFIX}{draft.draft_key}",
                is_draft=True,
            )
            for draft in drafts
        ]

    def follow_replies(self, thread_ids: Iterable[str]) -> None:
        """Load the replies of threads, and keep them up to date."""
        for thread_id in thread_ids:
            if not thread_id.startswith("pending-"):
                show = partial(self._show_replies, thread_id)
                self._view.follow(f"replies {thread_id}", replies_op(self._at, thread_id), show)

    def replies_of(self, thread: Comment) -> tuple[Reply, ...]:
        """Return the replies of a thread, as far as they are loaded."""
        return self._replies.get(thread.id, ())

    def _show_replies(self, thread_id: str, snapshot: Snapshot[ListPage[Reply]]) -> None:
        if snapshot.value is not None and self._replies.get(thread_id) != snapshot.value.items:
            self._replies[thread_id] = snapshot.value.items
            self._redraw()
