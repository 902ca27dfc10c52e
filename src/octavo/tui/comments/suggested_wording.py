"""A suggested wording in a thread: what the block says against what is suggested, word by word, as diffs show it."""

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
    from octavo.tui.render.comparison import PageComparison
    from octavo.tui.shell.shell import Shell

Block = tuple[str, str, str]
"""The id of a page, a revision (empty: the current one), and the key of a block."""


class Suggested:
    """What threads suggest, compared with the blocks they hang on. `changed` is called when one more is read."""

    def __init__(self, octavo: Callable[[], Shell], changed: Callable[[], None]) -> None:
        self._octavo, self._changed = octavo, changed
        self._compared: dict[tuple[Block, str], PageComparison | None] = {}
        """None: it is being read, or cannot be."""
        self._was: dict[Block, str] = {}
        self._page = ""
        """Current text of the page of the thread. Empty until it is loaded."""
        self._fates: dict[tuple[Block, str], str] = {}
        """Result of applying a suggestion to the current page. Empty until it is computed."""

    def page_says(self, text: str) -> None:
        """The page of the thread says something else now."""
        if text != self._page:
            self._page = text
            self._fates.clear()
            self._changed()

    def _fate(self, block: Block, text: str) -> str:
        if (block, text) not in self._fates and self._page and block in self._was:
            self._fates[block, text] = ""
            self._octavo().background(self._judge(block, text, self._page))
        return self._fates.get((block, text), "")

    async def _judge(self, block: Block, text: str, page: str) -> None:
        done = await asyncio.to_thread(apply_suggestion, page, block[2], self._was[block], text)
        if page == self._page:
            self._fates[block, text] = done.kind
            self._changed()

    def compared(self, at: Discussion, thread: Comment, message: Comment | Reply) -> tuple[PageComparison, ...]:
        """Return the comparisons of a message's suggestions with their block, in order.

        Empty if the message suggests nothing, or while a comparison is not loaded.
        """
        found = find_suggestions(message.body.text)
        if not found or (block := _block_of(thread)) is None:
            return ()
        if missing := [each.text for each in found if (block, each.text) not in self._compared]:
            self._compared |= {(block, text): None for text in missing}
            self._octavo().background(self._compare(at, block, missing))
        compared = [self._compared[block, each.text] for each in found]
        known = tuple(each for each in compared if each is not None)
        return known if len(known) == len(compared) else ()

    def lines(
        self, at: Discussion, thread: Comment, message: Comment | Reply, width: int, look: Styles
    ) -> list[Line] | None:
        """Return the lines of a message with its suggestions as word diffs. None if `compared` is empty."""
        compared, block = self.compared(at, thread, message), _block_of(thread)
        if not compared or block is None:
            return None
        from octavo.tui.render.thread_layout import suggestion_lines  # lazy: the layout of diffs, rarely needed

        # The result is above the diff: the end of a long suggestion is not visible.
        notes = [_note(self._fate(block, each.text), look) for each in find_suggestions(message.body.text)]
        return suggestion_lines(message.body.text, compared, width, look, notes)

    async def _compare(self, at: Discussion, block: Block, wanted: list[str]) -> None:
        from octavo.tui.render.comparison import compare

        page, revision, key = block
        live = self._octavo().session.live
        ref = RevisionRef(space_id=at.space_id, revision_id=revision) if revision else at
        op = content.GetPage(at=ref, page_id=page, format="markdown")
        try:
            found = await (live.cached_or_fetch(op) if revision else live.fetch(op))
        except ApiError:
            return  # what is suggested is shown as it was written
        was = await asyncio.to_thread(find_block_source, found.markdown or "", key)
        if was is None:
            return
        self._was[block] = was
        for text in wanted:
            self._compared[block, text] = await asyncio.to_thread(compare, was, text)
        self._changed()


def _block_of(thread: Comment) -> Block | None:
    target = thread.target
    # A comment that is not sent yet is on the block as it is now.
    revision = "" if thread.id.startswith("pending-") else target.revision
    if target.page is None or target.node is None or revision is None:
        return None
    return target.page.id, revision, target.node.id


def _note(fate: str, look: Styles) -> list[Line]:
    if fate == "same":
        return [Line([Piece(f"{look.glyphs.yes} applied to the page", look.success)])]
    if fate == "changed":
        return [Line([Piece("outdated: the block was edited or deleted", look.warning)])]
    return []
