"""The diff view: what changed on a page, as the page shows it, with the threads between the lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.message import Message

from octavo.documents.blocks import Block
from octavo.tui.reader.block_cursor import PANNING
from octavo.tui.reader.diff_contents import DiffContents, Layout
from octavo.tui.reader.diff_navigation import NO_BLOCKS, DiffNavigation
from octavo.tui.reader.find_line import FIND
from octavo.tui.reader.hot_spots import LINK_HINTS
from octavo.tui.reader.late_sources import LateSources
from octavo.tui.reader.reading_pane import MOTIONS, READING, Reader
from octavo.tui.reader.unit_making import FIRST
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_sequence import source_changes
from octavo.tui.render.diff_units import Unfolding
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.render.styled_lines import HotSpot
from octavo.tui.render.thread_lines import ThreadLine
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.tui.render.virtual_lines import ScrollAnchor

LEFT_AFTER = 0.3
"""Seconds until what is on show goes, while that of another page is on its way."""
_SAID: dict[Layout, str] = {"changes": "", "sides": "side by side", "new": "as it is now", "old": "as it was"}
_OF_OUTCOME = ("diff.next_hit", "diff.unfold")
"""The ids the key bar begins with for a page that is not there yet."""


def _nothing(view: DiffView) -> str:
    if view.contents.making.is_making:
        return "This page is still being laid out."
    return view.state.why_empty("There is no change here.")


def _about(group: Commands[Any]) -> Commands[Any]:
    """What can be done in a diff, while it has lines."""
    find: Callable[[Any], Any] = group.find
    return group.about(lambda view: find(view) if len(view.galley) else None, name="diff", nothing=_nothing)


def _why_no_comment(_: object, view: DiffView) -> str | None:
    return "A comment needs a block of the page: ) and ( go to one." if view.is_on_none else view.why_no_comment


def _why_no_change(_: object, view: DiffView) -> str | None:
    return "Nothing changed on this page." if not view.contents.change_count and not view.finder.needle else None


def _why_no_thread(_: object, view: DiffView) -> str | None:
    if view.threads_elsewhere or view.contents.has_open_threads:
        return None
    return "No thread is open here. c comments on the block under the cursor."


def _can_be_spoken_of(_: object, view: DiffView) -> bool:
    return not view.contents.is_outcome


CHANGES: Commands[DiffView] = Commands(
    "diff",
    (
        Command("next_hit", "n", "Next change", "Go to the next change; while finding, to the next hit",
                run=lambda _, view: view.go_to_change(1), why_not=_why_no_change),
        Command("prev_hit", "N", "Change before", "Go to the change before; while finding, to the hit before",
                run=lambda _, view: view.go_to_change(-1), why_not=_why_no_change, shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
DIFF_THREADS: Commands[DiffView] = Commands(
    "diff",
    (
        Command("next_thread", "t", "Threads", "Go to the next open thread, after the last of a page to the next page that has one",
                run=lambda _, view: view.go_to_thread(1), why_not=_why_no_thread, there=_can_be_spoken_of),
        Command("prev_thread", "T", "Thread before", "Go to the open thread before, also of the pages before",
                run=lambda _, view: view.go_to_thread(-1), why_not=_why_no_thread, there=_can_be_spoken_of, shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
LAYOUT: Commands[DiffView] = Commands(
    "diff",
    (
        Command("unfold", "equals_sign", "More context", "Open the fold under the cursor, else show more of what did not change", run=lambda _, view: view.unfold()),
        Command("fold", "minus", "Less context", "Show less of what did not change", run=lambda _, view: view.fold(), shown=False),
        Command("layout", "vertical_line", "Layout", "Old beside new or above it; each of a rewritten page",
                run=lambda _, view: view.next_layout(), why_not=lambda _, view: view.contents.why_no_layout, shown=False, key_display="|"),
        Command("source", "backslash", "Source", "The changes as the page shows them, or of its Markdown source",
                run=lambda _, view: view.turn_source(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip
_SEEN = (
    READING.changed(
        "comment",
        help="Say something about the block under the cursor; on a thread, reply",
        why_not=_why_no_comment,
        there=_can_be_spoken_of,
    )
    .changed("open", help="Open the thread, link or fold under the cursor")
    .changed("yank", help="Copy the block under the cursor")
)


class DiffView(Reader):
    """What changed on a page: `show` what was compared."""

    CONTEXT: ClassVar[str] = "diff"
    HELP: ClassVar[str] = (
        "What changed on the page. n and N go from change to change, ( and ) move the bar that marks the block a "
        "comment is about, on either side; on a thread c replies. = and - show more or less of what did not change, "
        "| puts the sides beside one another, on a page that was rewritten it goes from the new one to the old one."
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
        _about(FIND.only("filter").changed("filter", help="Find words in what is shown", shown=False)),
        _about(LINK_HINTS.changed("link_hints", help="Put letters on links and folds: type them to open", shown=False)),
        _about(_SEEN.only("read_on")),
        _about(MOTIONS),
        _about(PANNING),
        _about(_SEEN.only("yank")),
    )
    contents: DiffContents

    class RepliesWanted(Message):
        """Threads are on show whose replies are not: `keys` are their ids."""

        def __init__(self, keys: tuple[str, ...]) -> None:
            super().__init__()
            self.keys = keys

    class ThreadBeyond(Message):
        """The open thread after the last of this page is wanted, or with -1 the one before its first."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    threads_elsewhere: bool = False
    """Whether open threads hang on other pages, where `ThreadBeyond` leads."""

    def __init__(
        self,
        *,
        ascii: bool = False,
        mono: bool = False,
        outcome: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`outcome`: of a page that is not there yet, of which nothing can be said."""
        super().__init__(ascii=ascii, mono=mono, name=name, id=id, classes=classes)
        late = LateSources(self, self.viewport, self.painter, self.cursor)
        self.contents = DiffContents(self, self.cursor, late, lambda units: self.navigation.made(units))
        self.contents.is_outcome = outcome
        self.navigation = DiffNavigation(self, self.contents)
        self._was_on_none = False
        self._asked: set[str] = set()
        """The threads whose replies were asked for."""
        self._leaving: Timer | None = None

    # What callers ask and do

    @property
    def facts(self) -> str:
        """Which change and which thread one is at, for the status line: `change 2 of 7 · 2 threads`."""
        count, at = self.contents.change_count, self.navigation.change_number
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

    def show(
        self,
        compared: Compared,
        *,
        title: str = "",
        key: str = "",
        threads: Mapping[str, Sequence[ThreadLine]] | None = None,
    ) -> None:
        """Show what changed. While `key` is the same, the place and the folds are kept; one comes back to a page where
        one left it. Threads lie at the blocks of their keys, those of "" at the top."""
        contents = self.contents
        before = contents.compared if key == contents.key else None
        same = before is not None
        self.settled()
        told = before is not None and compared.says_the_same(before) and title == contents.title
        if told and (threads is None or threads == contents.threads):
            return
        contents.compared, contents.title = compared, title
        contents.threads = threads if threads is not None else contents.threads if same else {}
        if not same:
            self.navigation.note_place()
            for late in contents.sources:
                late.drop()
            contents.key, contents.shows_source, contents.unfolding = key, False, Unfolding()
            contents.lay_out_page()
            self.cursor.at, self._asked = None, set()
            self.finder.clear()
            contents.drop_units()
            self.navigation.meet()
        if same and contents.shows_source:
            self.run_worker(self._show_source(compared, turns=False), group="source", exclusive=True)
        else:
            contents.making.make()

    def set_threads(self, threads: Mapping[str, Sequence[ThreadLine]]) -> None:
        """Show other threads between the lines."""
        if threads == self.contents.threads:
            return
        self.contents.threads = threads
        self.contents.making.make()

    def clear(self) -> None:
        """Show nothing."""
        self.settled()
        self.navigation.note_place()
        self.contents.compared, self.contents.key, self.contents.threads = None, "", {}
        self.contents.drop_units()
        self.reset()

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to a heading of the page as it is. False when it has none of that name."""
        return self.navigation.go_to_anchor(anchor)

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        return _OF_OUTCOME if self.contents.is_outcome and not self.finder.needle else super().KEYBAR

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        if self.contents.made_for != self.contents.layout_now and not self.contents.making.is_making:
            self.contents.making.make()  # there is no room any more for both sides, or there is again
            return
        meets = self.navigation.meets
        super().reset(anchor=anchor)
        if meets:
            self.navigation.meet()

    # What is on its way

    def wait_for(self, what: str, key: str = "") -> None:
        """Say that `what` is loading. What is on show stays for a moment, and that of the same key until the end."""
        self.state.wait_for(what)
        if self.contents.compared is not None and key != self.contents.key and self._leaving is None:
            self._leaving = self.set_timer(LEFT_AFTER, partial(self._leave, what))

    def _leave(self, what: str) -> None:
        self.clear()
        self.state.wait_for(what)

    def fail(self, what: str, cause: str, key: str = "") -> None:
        """Say what did not load and why, unless that of the same key is on show."""
        if key != self.contents.key:
            self.clear()
        self.settled()
        self.state.fail(what, cause)

    def settled(self) -> None:
        """Nothing is awaited any more, and nothing failed."""
        self.state.settled()
        if self._leaving is not None:
            self._leaving.stop()
            self._leaving = None

    def before_painting(self) -> None:
        super().before_painting()
        rows = self.painter.rows_on_show
        on_show = {row[2].block.key for row in rows if row[2].block and row[2].block.kind == "thread"}
        if wanted := on_show - self._asked - {""}:
            self._asked |= wanted
            lines = [thread for threads in self.contents.threads.values() for thread in threads if thread.key in wanted]
            if keys := tuple(thread.key for thread in lines if thread.replies > len(thread.answers)):
                self.post_message(self.RepliesWanted(keys))

    # Opening

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        if hot.kind == "fold" and hot.target.startswith("fold "):
            self.navigation.open_fold(hot.target)
        elif hot.kind in ("fold", "tab") and self.contents.compared is not None:
            block = self.contents.compared.find(hot.target)
            if block is not None and hot.kind == "tab" and hot.spot.index < len(block.children):
                self.folds.choose(block.children[hot.spot.index])
            elif block is not None:
                self.folds.toggle(block)
            self.change(self.painter.rows_on_show[hot.line][0])
        elif hot.kind in ("link", "image", "file"):
            self.post_message(LinkFollowed(hot.target, outside, hot.kind))

    @property
    def side(self) -> Literal["old", "new"]:
        """The side the block under the cursor is of: what is the same on both is of the new one."""
        here = self.cursor.stop()
        return "old" if here is not None and self.contents.is_old(here[3]) else "new"

    @property
    def is_on_none(self) -> bool:
        """Whether the cursor is on no block of either side."""
        here = self.cursor.stop()
        return here is not None and here[3].kind in NO_BLOCKS - {"thread"}

    @property
    def block_near(self) -> Block | None:
        """The block of the page the cursor is on, or else the one that what it is on is about."""
        here = self.cursor.stop()
        if here is None:
            return None
        unit, block = self.contents.changed.units[here[0]], here[3]
        if unit.lines:
            first = next((line for line in unit.lines if line.op != "equal"), unit.lines[0]).new_number
            return Block("change", lines=(first, first + 1))
        if block.kind not in NO_BLOCKS:
            return block
        return next((each for each in (*unit.hidden, *unit.blocks) if each.kind not in NO_BLOCKS), None)

    def _tell(self) -> None:
        super()._tell()
        self.navigation.note_place()
        if self.is_on_none != self._was_on_none:
            self._was_on_none = self.is_on_none
            self.refresh_bindings()  # no comment there

    # Going about

    def go_to_change(self, step: int) -> None:
        """Go to the next change, or the one before; while finding, to the next hit."""
        if self.finder.needle:
            self.finder.step(step)
            return
        if not self.navigation.go_to_change(step):
            which, other = ("last", "next page") if step > 0 else ("first", "page before")
            self.explain(f"This is the {which} change of the page. {'J' if step > 0 else 'K'} goes to the {other}.")

    def go_to_thread(self, step: int) -> None:
        """Go to the next open thread, or the one before, also of other pages."""
        if self.contents.shows_source and self.contents.has_open_threads:
            self.explain("The source shows no threads: \\ leaves it.")
        elif not len(self.galley) or not self.navigation.go_to_thread(step):
            self.post_message(self.ThreadBeyond(step))

    def unfold(self) -> None:
        """Open the fold under the cursor, else show more of what did not change."""
        here = self.cursor.stop()
        if here is not None and here[3].kind == "fold":
            self.navigation.open_fold(here[3].key)
            return
        self.contents.unfolding.more()
        self.contents.making.make()

    def fold(self) -> None:
        """Show less of what did not change."""
        self.contents.unfolding.less()
        self.contents.making.make()

    def next_layout(self) -> None:
        """Go on to the next way in which it can be shown."""
        self.contents.next_layout()
        self.contents.making.make()

    def turn_source(self) -> None:
        """Show the changes of the source, or as the page shows them again."""
        if self.contents.compared is not None:
            self.run_worker(self._show_source(self.contents.compared, turns=True), group="source", exclusive=True)

    async def _show_source(self, compared: Compared, *, turns: bool) -> None:
        made = await asyncio.to_thread(lambda: source_changes(compared.hunks).whole())
        if compared is not self.contents.compared:
            return
        self.contents.of_source = made
        if turns:
            self.contents.shows_source = not self.contents.shows_source
            self.cursor.at = None
            self.contents.drop_units()
            self.navigation.meet()
        self.contents.making.make()

    # What is done while nothing else happens

    @property
    def has_work(self) -> bool:
        return self.contents.making.is_making or super().has_work

    def work(self, seconds: float) -> bool:
        if not self.contents.making.is_making:
            return super().work(seconds)
        self.contents.making.make_on(seconds if len(self.galley) else max(seconds, FIRST))
        return False
