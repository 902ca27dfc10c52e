"""The texts of threads that a filter searches: first comments, quoted blocks, and replies in the search index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from octavo.api.folding import FoldedText, fold
from octavo.api.places import Discussion
from octavo.data.comment_text import plain_text
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.terminal.textual_internals import is_whole

if TYPE_CHECKING:
    from octavo.tui.core.view import View
    from octavo.tui.widgets.row_list import RowList

_CONTEXT = 20
"""Characters shown before the word that was found."""


class ThreadSearchText:
    """The searchable texts of a list of threads. Replies are those in the search index, read each time the user starts
    to filter."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._replies: Mapping[tuple[Discussion, str], Sequence[str]] = {}
        self._is_current = self._is_loading = False

    def text_of(self, thread: Thread) -> str:
        """Return all searchable text of a thread, with its author and location."""
        return " ".join((_own_text(thread), _quoted_text(thread), *self._replies_to(thread)))

    def match_outside(self, thread: Thread, words: Sequence[str]) -> str:
        """Return where the filter finds `words` (case-folded) outside of the visible text of a thread, such as `in a
        reply: …`. Empty if the visible text has all of them."""
        own_text = fold(_own_text(thread))
        missing = [word for word in words if word not in own_text]
        candidates = [("in a reply", each) for each in self._replies_to(thread)] + [
            ("in the quoted text", _quoted_text(thread))
        ]
        for place_name, text in candidates:
            plain = plain_text(text)
            folded = FoldedText(plain)
            starts = [place.start for word in missing for place in islice(folded.find(word), 1)]
            if starts:
                start = max(0, min(starts) - _CONTEXT)
                start = plain.find(" ", start, min(starts)) + 1 if start else 0
                return f"{place_name}: {'…' if start else ''}{plain[start:]}"
        return ""

    def load_replies(self, rows: RowList[Thread]) -> None:
        """Load the replies of the search index when the user starts to filter, and filter again."""
        if not rows.query_text:
            self._is_current = False
        elif not (self._is_current or self._is_loading):
            self._is_loading = True
            self._view.shell.background(self._read_index(rows))

    async def _read_index(self, rows: RowList[Thread]) -> None:
        try:
            replies = await self._view.shell.session.search_index.replies()
        finally:
            self._is_loading = False
        self._is_current = True
        if replies != self._replies and is_whole(rows):
            self._replies = replies
            rows.search_texts.discard()
            rows.apply_filter()

    def _replies_to(self, thread: Thread) -> Sequence[str]:
        return self._replies.get((thread.at, thread.comment.id), ())


def _own_text(thread: Thread) -> str:
    return f"{thread.comment.body.text} {thread.comment.posted_by.name} {thread.page} {thread.place}"


def _quoted_text(thread: Thread) -> str:
    node = thread.comment.target.node
    return (node.preview or "") if node is not None else ""
