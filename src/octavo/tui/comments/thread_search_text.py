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
    from octavo.tui.shell.view import View
    from octavo.tui.widgets.row_list import Rows

_CONTEXT = 20
"""Characters shown before the word that was found."""


class ThreadSearchText:
    """The searchable texts of a list of threads. Replies are those in the search index, read each time the user starts
    to filter."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._replies: Mapping[tuple[Discussion, str], Sequence[str]] = {}
        self._is_fresh = self._looking = False

    def all_of(self, thread: Thread) -> str:
        """Return all searchable text of a thread, with its author and location."""
        return " ".join((_own_text(thread), _quoted_text(thread), *self._replies_to(thread)))

    def found_in(self, thread: Thread, words: Sequence[str]) -> str:
        """Return where the filter finds `words` (case-folded) outside of the visible text of a thread, such as `in a
        reply: …`.

        Empty if the visible text has all of them.
        """
        own = fold(_own_text(thread))
        missing = [word for word in words if word not in own]
        said = [("in a reply", each) for each in self._replies_to(thread)] + [
            ("in the quoted text", _quoted_text(thread))
        ]
        for where, text in said:
            shown = plain_text(text)
            folded = FoldedText(shown)
            found = [place.start for word in missing for place in islice(folded.find(word), 1)]
            if found:
                start = max(0, min(found) - _CONTEXT)
                start = shown.find(" ", start, min(found)) + 1 if start else 0
                return f"{where}: {'…' if start else ''}{shown[start:]}"
        return ""

    def look_up(self, rows: Rows[Thread]) -> None:
        """Load the replies of the search index when the user starts to filter, and filter again."""
        if not rows.query_text:
            self._is_fresh = False
        elif not (self._is_fresh or self._looking):
            self._looking = True
            self._view.shell.background(self._learn(rows))

    async def _learn(self, rows: Rows[Thread]) -> None:
        try:
            replies = await self._view.shell.session.index.replies()
        finally:
            self._looking = False
        self._is_fresh = True
        if replies != self._replies and is_whole(rows):
            self._replies = replies
            rows.filter_words.forget()
            rows.apply_filter()

    def _replies_to(self, thread: Thread) -> Sequence[str]:
        return self._replies.get((thread.at, thread.comment.id), ())


def _own_text(thread: Thread) -> str:
    return f"{thread.comment.body.text} {thread.comment.posted_by.name} {thread.page} {thread.place}"


def _quoted_text(thread: Thread) -> str:
    node = thread.comment.target.node
    return (node.preview or "") if node is not None else ""
