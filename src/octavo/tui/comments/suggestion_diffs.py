"""Suggested changes in threads, shown as word diffs against the text of the block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.api import content
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.places import Discussion, RevisionRef
from octavo.documents.suggestions import apply_suggestion, find_block_source, find_suggestions
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.render.comparison import PageComparison

BlockId = tuple[str, str, str]
"""The id of a page, a revision (empty: the current one), and the key of a block."""


class SuggestionDiffs:
    """Diffs between the suggestions of a thread's messages and the source of the block. `on_change` is called when a diff
    is loaded."""

    def __init__(self, shell: Callable[[], Shell], on_change: Callable[[], None]) -> None:
        self._shell, self._on_change = shell, on_change
        self._diffs: dict[tuple[BlockId, str], PageComparison | None] = {}
        """The diff of a block and a suggestion. None while the diff is loading, or if it could not be loaded."""
        self._sources: dict[BlockId, str] = {}
        self._page_text = ""
        """Current text of the page of the thread. Empty until it is loaded."""
        self._results: dict[tuple[BlockId, str], str] = {}
        """Result of applying a suggestion to the current page. Empty until it is computed."""

    def set_page_text(self, text: str) -> None:
        """Set the current text of the thread's page."""
        if text != self._page_text:
            self._page_text = text
            self._results.clear()
            self._on_change()

    def _result(self, block: BlockId, text: str) -> str:
        if (block, text) not in self._results and self._page_text and block in self._sources:
            self._results[block, text] = ""
            self._shell().background(self._try_apply(block, text, self._page_text))
        return self._results.get((block, text), "")

    async def _try_apply(self, block: BlockId, text: str, page: str) -> None:
        applied = await asyncio.to_thread(apply_suggestion, page, block[2], self._sources[block], text)
        if page == self._page_text:
            self._results[block, text] = applied.kind
            self._on_change()

    def diffs(self, at: Discussion, thread: Comment, message: Comment | Reply) -> tuple[PageComparison, ...]:
        """Return the comparisons of a message's suggestions with their block, in order. Empty if the message suggests
        nothing, or while a comparison is not loaded."""
        found = find_suggestions(message.body.text)
        if not found or (block := _block_id(thread)) is None:
            return ()
        if missing := [each.text for each in found if (block, each.text) not in self._diffs]:
            self._diffs |= {(block, text): None for text in missing}
            self._shell().background(self._compare(at, block, missing))
        diffs = [self._diffs[block, each.text] for each in found]
        known = tuple(each for each in diffs if each is not None)
        return known if len(known) == len(diffs) else ()

    def lines(
        self, at: Discussion, thread: Comment, message: Comment | Reply, width: int, styles: Styles
    ) -> list[Line] | None:
        """Return the lines of a message with its suggestions as word diffs. None if `diffs` is empty."""
        diffs, block = self.diffs(at, thread, message), _block_id(thread)
        if not diffs or block is None:
            return None
        from octavo.tui.render.thread_layout import suggestion_lines  # lazy: the layout of diffs, rarely needed

        # The result is above the diff: the end of a long suggestion is not visible.
        notes = [_result_note(self._result(block, each.text), styles) for each in find_suggestions(message.body.text)]
        return suggestion_lines(message.body.text, diffs, width, styles, notes)

    async def _compare(self, at: Discussion, block: BlockId, texts: list[str]) -> None:
        from octavo.tui.render.comparison import compare

        page, revision, key = block
        live = self._shell().session.live
        ref = RevisionRef(space_id=at.space_id, revision_id=revision) if revision else at
        op = content.GetPage(at=ref, page_id=page, format="markdown")
        try:
            found = await (live.cached_or_fetch(op) if revision else live.fetch(op))
        except ApiError:
            return  # The view then shows the suggestion as plain Markdown.
        source = await asyncio.to_thread(find_block_source, found.markdown or "", key)
        if source is None:
            return
        self._sources[block] = source
        for text in texts:
            self._diffs[block, text] = await asyncio.to_thread(compare, source, text)
        self._on_change()


def _block_id(thread: Comment) -> BlockId | None:
    target = thread.target
    # An unsent comment has no revision: its block is a block of the current page.
    revision = "" if thread.id.startswith("pending-") else target.revision
    if target.page is None or target.node is None or revision is None:
        return None
    return target.page.id, revision, target.node.id


def _result_note(result: str, styles: Styles) -> list[Line]:
    if result == "same":
        return [Line([Piece(f"{styles.glyphs.yes} applied to the page", styles.success)])]
    if result == "changed":
        return [Line([Piece("outdated: the block was edited or deleted", styles.warning)])]
    return []
