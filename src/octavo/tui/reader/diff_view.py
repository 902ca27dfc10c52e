"""`DiffView` shows the changes of a page, with the threads between the lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.message import Message

from octavo.documents.blocks import Block
from octavo.tui.reader.block_cursor import AT_CURSOR, PANNING, CursorBlock
from octavo.tui.reader.contents import PaneState
from octavo.tui.reader.diff_contents import DiffContents, Layout
from octavo.tui.reader.diff_navigation import CHANGES, DIFF_THREADS, LAYOUT, NO_BLOCKS, DiffNavigation
from octavo.tui.reader.find_bar import FIND
from octavo.tui.reader.link_hints import LINK_HINTS
from octavo.tui.reader.reading_pane import MOTIONS, READ_ON, Reader
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_units import ContextSize
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.widgets.commands import Commands

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.render.reading_position import ReadingPosition
    from octavo.tui.render.unit_layout import LaidUnits

LEFT_AFTER = 0.3
"""Seconds until the previous page disappears while another page is loading."""
_SAID: dict[Layout, str] = {"changes": "", "sides": "split", "new": "new version", "old": "old version"}
_OF_OUTCOME = ("diff.next_hit", "diff.unfold")
"""Ids of the first commands in the key bar for the preview of a merge result."""


def _nothing(view: DiffView) -> str:
    if view.contents.making.is_making:
        return "This page is still loading."
    return view.state.why_empty("No changes to show.")


def _about(group: Commands[Any]) -> Commands[Any]:
    """Return commands that are disabled while the view is empty."""
    find: Callable[[Any], Any] = group.find
    return group.about(lambda view: find(view) if len(view.galley) else None, name="diff", nothing=_nothing)


_SEEN = (
    AT_CURSOR.changed(
        "comment",
        help="Comment on the block, or reply to its thread",
        there=lambda _, block: not block.pane.contents.is_outcome,
    )
    .changed("open", help="Open the thread or link, or expand hidden lines")
    .changed("yank", help="Copy the block")
)


class DiffBlock(CursorBlock):
    """Commands for the selected block of a diff, which may be of the old or the new version."""

    def __init__(self, pane: DiffView) -> None:
        super().__init__(pane)
        self._contents = pane.contents

    @property
    def side(self) -> Literal["old", "new"]:
        """Version of the selected block. Unchanged blocks belong to the new version."""
        here = self.pane.cursor.stop()
        return "old" if here is not None and self._contents.is_old(here[3]) else "new"

    @property
    def is_on_none(self) -> bool:
        """True if the selected row is not a block of the page."""
        here = self.pane.cursor.stop()
        return here is not None and here[3].kind in NO_BLOCKS - {"thread"}

    @property
    def near(self) -> Block | None:
        """The selected block of the page. On another row, the block nearest to it."""
        here = self.pane.cursor.stop()
        if here is None:
            return None
        unit, block = self._contents.changed.units[here[0]], here[3]
        if unit.lines:
            first = next((line for line in unit.lines if line.op != "equal"), unit.lines[0]).new_number
            return Block("change", lines=(first, first + 1))
        if block.kind not in NO_BLOCKS:
            return block
        return next((each for each in (*unit.hidden_blocks, *unit.blocks) if each.kind not in NO_BLOCKS), None)

    @property
    def why_no_comment(self) -> str | None:
        return "Press ( or ) to select a block, then press c to comment." if self.is_on_none else super().why_no_comment


class DiffState(PaneState):
    """Message of a diff view. While another page is loading, the previous page stays visible for `LEFT_AFTER`."""

    def __init__(self, view: DiffView) -> None:
        super().__init__(view)
        self._view = view
        self._leaving: Timer | None = None

    def wait_for(self, what: str, key: str = "") -> None:
        """Show that `what` is loading. `key` is the key of its page."""
        super().wait_for(what)
        shown = self._view.contents
        if shown.compared is not None and key != shown.key and self._leaving is None:
            self._leaving = self._view.set_timer(LEFT_AFTER, partial(self._leave, what))

    def _leave(self, what: str) -> None:
        self._view.clear()
        super().wait_for(what)

    def fail(self, what: str, cause: str, key: str = "") -> None:
        """Show an error and its cause, unless the page `key` is shown."""
        if key != self._view.contents.key:
            self._view.clear()
        super().fail(what, cause)

    def settled(self) -> None:
        super().settled()
        if self._leaving is not None:
            self._leaving.stop()
            self._leaving = None


class DiffView(Reader):
    """Shows the changes of a page: `show` takes a comparison."""

    CONTEXT: ClassVar[str] = "diff"
    HELP: ClassVar[str] = (
        "This view shows the changes to the page. Press n to go to the next change, c to comment on the selected block, "
        "= to show more unchanged lines, or | to switch between the split and unified views. Press esc to go back."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = (
        "diff.next_hit",
        "diff.next_thread",
        "diff.comment",
        "diff.layout",
        "diff.unfold",
    )
    HIT_KEYS: ClassVar[tuple[str, ...]] = ("diff.next_hit", "diff.prev_hit")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _about(CHANGES),
        DIFF_THREADS,
        _about(_SEEN.only("comment", "open")),
        _about(LAYOUT),
        _about(FIND.only("filter").changed("filter", help="Find text in the diff", shown=False)),
        _about(
            LINK_HINTS.changed(
                "link_hints", help="Show letters that open a link or expand lines when you type them", shown=False
            )
        ),
        _about(READ_ON),
        _about(MOTIONS),
        _about(PANNING),
        _about(_SEEN.only("yank")),
    )
    contents: DiffContents

    class RepliesWanted(Message):
        """Visible threads have replies that are not loaded. `keys` are the ids of the threads."""

        def __init__(self, keys: tuple[str, ...]) -> None:
            super().__init__()
            self.keys = keys

    def __init__(self, *, ascii: bool = False, outcome: bool = False, id: str | None = None) -> None:
        """`outcome`: the view previews a merge result, and comments are disabled."""
        super().__init__(ascii=ascii, id=id)
        self.contents = DiffContents(self)
        self.contents.is_outcome = outcome
        self.place = DiffNavigation(self)
        self.cursor_block: DiffBlock = DiffBlock(self)
        self.state: DiffState = DiffState(self)
        self._was_on_none = False
        self._asked: set[str] = set()
        """Threads whose replies were requested."""

    # For callers

    @property
    def facts(self) -> str:
        """Selected change and number of threads, for the status line: `change 2 of 7 · 2 threads`."""
        count, at = self.contents.change_count, self.place.change_number
        parts = (
            [f"change {at} of {count}" if at else f"{count} {'change' if count == 1 else 'changes'}"] if count else []
        )
        if threads := self.contents.changed.thread_count:
            parts.append("1 thread" if threads == 1 else f"{threads} threads")
        if self.contents.shows_source:
            parts.append("source")
        if said := _SAID[self.contents.layout_now]:
            parts.append(said)
        if self.finder.needle:
            parts.append(f"“{self.finder.needle}” {self.finder.finding}")
        return " · ".join(parts)

    def show(self, compared: PageComparison, *, title: str = "", key: str = "") -> None:
        """Show a comparison. If `key` is unchanged, the position and expanded lines are kept. Other pages open at their
        last position."""
        contents = self.contents
        before = contents.compared if key == contents.key else None
        same = before is not None
        self.state.settled()
        if before is not None and compared.has_same_texts(before) and title == contents.title:
            return
        contents.compared, contents.title = compared, title
        if not same:
            self.place.note_place()
            for late in contents.sources:
                late.clear_requests()
            contents.key, contents.threads = key, {}
            contents.shows_source, contents.unfolding = False, ContextSize()
            contents.lay_out_page()
            self.cursor.at, self._asked = None, set()
            self.finder.clear()
            contents.drop_units()
            self.place.meet()
        if same and contents.shows_source:
            self.place.show_source()
        else:
            contents.making.make()

    def clear(self) -> None:
        """Show an empty view."""
        self.state.settled()
        self.place.note_place()
        self.contents.compared, self.contents.key, self.contents.threads = None, "", {}
        self.contents.drop_units()
        self.reset()

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        return _OF_OUTCOME if self.contents.is_outcome and not self.finder.needle else super().KEYBAR

    def reset(self, *, anchor: ReadingPosition | None = None, laid: LaidUnits | None = None) -> None:
        if self.contents.made_for != self.contents.layout_now and not self.contents.making.is_making:
            self.contents.making.make()  # The terminal became too narrow or wide enough for two sides.
            return
        meets = self.place.meets
        super().reset(anchor=anchor, laid=laid)
        if meets:
            self.place.meet()

    def before_painting(self) -> None:
        super().before_painting()
        rows = self.painter.rows_on_show
        on_show = {row[2].block.key for row in rows if row[2].block and row[2].block.kind == "thread"}
        lines = [thread for threads in self.contents.threads.values() for thread in threads]
        lacking = {thread.key for thread in lines if thread.reply_count > len(thread.shown_replies)}
        # Only threads with replies: the first reply may arrive while the thread is visible.
        if wanted := (on_show & lacking) - self._asked:
            self._asked |= wanted
            self.post_message(self.RepliesWanted(tuple(wanted)))

    # Links and messages

    def open_spot(self, hot: ClickableSpan, *, outside: bool) -> None:
        if hot.kind == "fold" and hot.target.startswith("fold "):
            self.place.open_fold(hot.target)
        elif hot.kind in ("fold", "tab") and self.contents.compared is not None:
            block = self.contents.compared.find(hot.target)
            if block is not None and hot.kind == "tab" and hot.clickable.index < len(block.children):
                self.folds.choose_tab(block.children[hot.clickable.index])
            elif block is not None:
                self.folds.toggle(block)
            self.change(self.painter.rows_on_show[hot.line][0])
        elif hot.kind in ("link", "image", "file"):
            self.post_message(LinkFollowed(hot.target, outside, hot.kind))

    def _tell(self) -> None:
        super()._tell()
        self.place.note_place()
        if self.cursor_block.is_on_none != self._was_on_none:
            self._was_on_none = self.cursor_block.is_on_none
            self.refresh_bindings()  # Comments are disabled there.

    def on_unmount(self) -> None:
        self.contents.making.drop()
