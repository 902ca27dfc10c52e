"""Word changes: whether the text that a thread is about has changed since the thread was written.

Only for threads of change requests. Their pages are compared for the diff anyway, so no request is sent for this.
"""

from __future__ import annotations

from contextlib import suppress

from octavo.api import comments
from octavo.api.comments import Comment
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import OutboxEntry
from octavo.documents.suggestions import find_suggestions
from octavo.documents.thread_anchors import TwoVersionAnchors, WordChange, quoted_text
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.core.view import View
from octavo.tui.render.threads import WORD_CHANGES, WORD_MARKS
from octavo.tui.review.changed_tree import ChangedTree

_UNKNOWN = "Words changed or are gone since this comment."


class WordChanges:
    """The word changes of the threads on the pages that were compared. Pending comments move along with their block."""

    def __init__(self, view: View, threads: DiffThreads, pages: ChangedTree) -> None:
        self._view, self._threads, self._pages = view, threads, pages
        self._by_thread: dict[str, WordChange] = {}
        self._added_texts: dict[str, tuple[str, frozenset[str]]] = {}
        """The title and the added texts of each compared page, by page id."""
        self._moves: set[tuple[str, str]] = set()
        """The id and the new block of the pending comments that were moved."""

    def note_page(self, page_id: str, title: str, anchors: TwoVersionAnchors) -> bool:
        """Note the added texts of a page. Return whether it has the words of a thread on another page."""
        self._added_texts[page_id] = title, anchors.added_texts()
        return any(self.moved_to(thread) == title for thread in self._threads.comments)

    def moved_to(self, thread: Comment) -> str:
        """Return the title of the other changed page that now has the words of a thread. Empty if the words are not
        gone, or if no other page has them."""
        if self._by_thread.get(thread.id) != "gone":
            return ""
        quote = quoted_text(thread)
        texts = ((title, added) for page, (title, added) in self._added_texts.items() if page in self._pages.changing)
        return next((title for title, added in texts if quote in added), "")

    def update(self, page_id: str, anchors: TwoVersionAnchors) -> None:
        """Find the word changes of the threads on a page. If the words of a pending comment have changed, attach the
        comment to the block that has the changed words."""
        for thread in self._threads.on_page(page_id):
            self._by_thread[thread.id] = anchors.word_change(thread)
            entry = self._view.shell.workspace.pending_entry(thread.id)
            if entry is not None and self._by_thread[thread.id] == "changed":
                self._move(entry, anchors.new_key(thread))

    def _move(self, entry: OutboxEntry, key: str) -> None:
        """Move a pending comment to another block. A suggestion stays: it was made for the old words."""
        op = entry.op
        if not isinstance(op, comments.Create) or op.node == key or find_suggestions(op.body.markdown):
            return
        if (entry.id, key) not in self._moves:
            self._moves.add((entry.id, key))
            self._view.shell.background(self._store_move(entry.id, op.model_copy(update={"node": key})))

    async def _store_move(self, entry_id: str, op: comments.Create) -> None:
        with suppress(NotSaved):  # The comment keeps its old block, and its thread says that the words changed.
            await self._view.shell.session.outbox.move_pending_comment(entry_id, op)

    def note(self, thread: Comment, head: str | None) -> str:
        """Return a sentence that says whether the words that a thread is about have changed. The sentence ends with a
        colon if the old words follow. `head` is the current revision of the change request. Empty if the thread is not
        on a block, or if the words cannot have changed."""
        node, page = thread.target.node, thread.target.page
        if node is None or page is None:
            return ""
        change = self._by_thread.get(thread.id)
        if change is None:
            return _UNKNOWN if page.outdated else ""
        if change:
            title = self.moved_to(thread)
            sentence = f"Words moved to {title}" if title else WORD_CHANGES[change].capitalize()
            return f"{sentence}. They were:" if node.preview else f"{sentence}."
        is_earlier = thread.target.revision not in (None, head)
        return "Words have not changed since this comment." if is_earlier else ""

    def pending_note(self, entry: OutboxEntry) -> str:
        """Return a note if the words that a pending comment is about have changed, such as “words are gone”. Empty if
        the words have not changed."""
        change = self._by_thread.get(entry.created_id)
        thread = next((each for each in self._threads.comments if each.id == entry.created_id), None)
        if thread is not None and (title := self.moved_to(thread)):
            return f"words moved to {title}"
        return WORD_MARKS[change] if change else ""
