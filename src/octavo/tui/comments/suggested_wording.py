"""A suggested wording in a thread: what the block says against what is suggested, word by word, as diffs show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.api import content
from octavo.api.comments import Comment, Reply
from octavo.api.errors import ApiError
from octavo.api.places import Discussion, RevisionRef
from octavo.documents.suggesting import applied, source_of, suggestions
from octavo.tui.render.quotes import lines_kept
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.tui.render.comparison import Compared
    from octavo.tui.shell.shell import Shell

Block = tuple[str, str, str]
"""A page, a revision of it, and the key of a block there."""


class Suggested:
    """What threads suggest, compared with the blocks they hang on. `changed` is called when one more is read."""

    def __init__(self, octavo: Callable[[], Shell], changed: Callable[[], None]) -> None:
        self._octavo, self._changed = octavo, changed
        self._compared: dict[tuple[Block, str], Compared | None] = {}
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
        done = await asyncio.to_thread(applied, page, block[2], self._was[block], text)
        if page == self._page:
            self._fates[block, text] = done.kind
            self._changed()

    def lines(
        self, at: Discussion, thread: Comment, message: Comment | Reply, width: int, look: Styles
    ) -> list[Line] | None:
        """A message with what it suggests. None where it suggests nothing, or it is not known for what."""
        found = suggestions(message.body.text)
        target = thread.target
        if not found or target.page is None or target.node is None or target.revision is None:
            return None
        block = (target.page.id, target.revision, target.node.id)
        if missing := [each.text for each in found if (block, each.text) not in self._compared]:
            self._compared |= {(block, text): None for text in missing}
            self._octavo().background(self._compare(at, block, missing))
        from octavo.documents.parse import parse
        from octavo.tui.render.layout import lay_out

        out: list[Line] = []
        written, start = message.body.text.split("\n"), 0

        def words(end: int) -> None:
            text = lines_kept("\n".join(written[start:end]))
            if text.strip():
                out.extend(lay_out(parse(text).blocks, width, look, source=text).lines)
                out.append(Line([]))

        for each in found:
            compared = self._compared[block, each.text]
            if compared is None:
                return None
            words(each.lines[0])
            out.append(Line([Piece("suggested change", look.muted)]))
            fate = self._fate(block, each.text)  # said first: of a long suggestion the end is not on show
            if fate == "same":
                out.append(Line([Piece(f"{look.glyphs.yes} applied to the page", look.success)]))
            elif fate == "changed":
                out.append(Line([Piece("outdated: the block was edited or deleted", look.warning)]))
            out += [*_set(compared, width, look), Line([])]
            start = each.lines[1]
        words(len(written))
        return out[:-1]

    async def _compare(self, at: Discussion, block: Block, wanted: list[str]) -> None:
        from octavo.tui.render.comparison import compare

        page, revision, key = block
        ref = RevisionRef(space_id=at.space_id, revision_id=revision)
        try:
            found = await self._octavo().session.live.known(content.GetPage(at=ref, page_id=page, format="markdown"))
        except ApiError:
            return  # what is suggested is shown as it was written
        was = await asyncio.to_thread(source_of, found.markdown or "", key)
        if was is None:
            return
        self._was[block] = was
        for text in wanted:
            self._compared[block, text] = await asyncio.to_thread(compare, was, text)
        self._changed()


def _set(compared: Compared, width: int, look: Styles) -> list[Line]:
    """The lines of a diff of two wordings."""
    from octavo.tui.render.diff_lines import set_diff_unit
    from octavo.tui.render.diff_sequence import changes, source_changes
    from octavo.tui.render.diff_sides import SideWidths
    from octavo.tui.render.diff_units import Unfolding
    from octavo.tui.render.layout import set_block
    from octavo.tui.render.layout_context import Folds, LayoutContext

    found = changes(compared.diff, Unfolding(), {}) if not compared.diff.is_empty else source_changes(compared.hunks)
    setting = LayoutContext(look, Folds(), set_block, room=width)
    room = SideWidths.of(width, split=False)
    lines = [
        line for unit in found.whole().units if unit.kind != "title" for line in set_diff_unit(setting, unit, room)
    ]
    while lines and not "".join(piece.text for piece in lines[0].pieces).strip(" │┊"):
        lines.pop(0)
    return lines
