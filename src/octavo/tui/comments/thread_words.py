"""The words of threads that a filter looks in: of what each begins with, of the block it hangs on, and of the replies that
were read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from octavo.api.folding import FoldedText, fold
from octavo.api.places import Discussion
from octavo.data.comment_text import plain_text
from octavo.tui.comments.filters import Thread
from octavo.tui.terminal.textual_internals import is_whole

if TYPE_CHECKING:
    from octavo.tui.shell.view import View
    from octavo.tui.widgets.row_list import RowList

_BEFORE = 20
"""Characters shown before the word that was found."""


class ThreadWords:
    """The words of the threads of a list. Replies are those the index knows (`data/search_index.py`): they are looked up anew
    whenever somebody begins to filter."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._replies: Mapping[tuple[Discussion, str], Sequence[str]] = {}
        self._is_fresh = self._looking = False

    def all_of(self, thread: Thread) -> str:
        """All words of a thread, with its author and its place."""
        return " ".join((_own(thread), _quoted(thread), *self._replies_to(thread)))

    def found_in(self, thread: Thread, words: Sequence[str]) -> str:
        """Return where the words of a filter (folded) are found that are not in the visible text of a thread:
        `in a reply: …`. Empty where all are."""
        own = fold(_own(thread))
        missing = [word for word in words if word not in own]
        said = [("in a reply", each) for each in self._replies_to(thread)] + [("in the quoted text", _quoted(thread))]
        for where, text in said:
            shown = plain_text(text)
            folded = FoldedText(shown)
            found = [place.start for word in missing for place in islice(folded.find(word), 1)]
            if found:
                start = max(0, min(found) - _BEFORE)
                start = shown.find(" ", start, min(found)) + 1 if start else 0
                return f"{where}: {'…' if start else ''}{shown[start:]}"
        return ""

    def look_up(self, rows: RowList[Thread]) -> None:
        """Learn what replies are known, if somebody began to filter, and filter by them, too."""
        if not rows.query_text:
            self._is_fresh = False
        elif not (self._is_fresh or self._looking):
            self._looking = True
            self._view.shell.background(self._learn(rows))

    async def _learn(self, rows: RowList[Thread]) -> None:
        try:
            replies = await self._view.shell.session.search_index.replies()
        finally:
            self._looking = False
        self._is_fresh = True
        if replies != self._replies and is_whole(rows):
            self._replies = replies
            rows.search_texts.discard()
            rows.apply_filter()

    def _replies_to(self, thread: Thread) -> Sequence[str]:
        return self._replies.get((thread.at, thread.comment.id), ())


def _own(thread: Thread) -> str:
    return f"{thread.comment.body.text} {thread.comment.posted_by.name} {thread.page} {thread.place}"


def _quoted(thread: Thread) -> str:
    node = thread.comment.target.node
    return (node.preview or "") if node is not None else ""
