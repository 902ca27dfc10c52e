"""The diff view: what changed on a page, as the page shows it, with the threads between the lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from octavo.documents.blocks import Block
from octavo.tui.reader.cursor_pane import Stop
from octavo.tui.reader.diff_navigation import NO_BLOCKS, GoingAbout
from octavo.tui.reader.reading_pane import motions
from octavo.tui.reader.two_sided_pane import Layout
from octavo.tui.render.block_slices import whole_of
from octavo.tui.render.comparison import Compared
from octavo.tui.render.diff_lines import guess, set_diff_unit
from octavo.tui.render.diff_sequence import changes, one_side, source_changes
from octavo.tui.render.diff_sides import BETWEEN, SideWidths
from octavo.tui.render.diff_units import Changes, DiffUnit, Unfolding
from octavo.tui.render.failed_block import written_in
from octavo.tui.render.layout import set_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.page_parts import LinkFollowed
from octavo.tui.render.source_finders import sources
from octavo.tui.render.styled_lines import HotSpot
from octavo.tui.render.text_search import Finder
from octavo.tui.render.thread_lines import ThreadLine
from octavo.tui.render.virtual_lines import ScrollAnchor, VirtualLines
from octavo.tui.widgets.empty_states import nothing

WIDEST = 108
"""The most cells a side takes."""
_SAID: dict[Layout, str] = {"changes": "", "sides": "side by side", "new": "as it is now", "old": "as it was"}


class DiffView(GoingAbout):
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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "change(1)", "Next change", tooltip="Go to the next change; while finding, to the next hit", id="diff.next_hit"),
        Binding("N", "change(-1)", "Change before", show=False, tooltip="Go to the change before; while finding, to the hit before", id="diff.prev_hit"),
        Binding("t", "thread(1)", "Threads", tooltip="Go to the next open thread, after the last of a page to the next page that has one", id="diff.next_thread"),
        Binding("T", "thread(-1)", "Thread before", show=False, tooltip="Go to the open thread before, also of the pages before", id="diff.prev_thread"),
        Binding("c", "comment", "Comment", tooltip="Say something about the block under the cursor; on a thread, reply", id="diff.comment"),
        Binding("enter", "open", "Open", show=False, tooltip="Open the thread, link or fold under the cursor", id="diff.open"),
        Binding("equals_sign", "unfold", "More context", tooltip="Open the fold under the cursor, else show more of what did not change", id="diff.unfold"),
        Binding("minus", "fold", "Less context", show=False, tooltip="Show less of what did not change", id="diff.fold"),
        Binding("vertical_line", "layout", "Layout", show=False, key_display="|", tooltip="Old beside new or above it; each of a rewritten page", id="diff.layout"),
        Binding("backslash", "source", "Source", show=False, tooltip="The changes as the page shows them, or of its Markdown source", id="diff.source"),
        Binding("slash", "find", "Find", show=False, key_display="/", tooltip="Find words in what is shown", id="diff.filter"),
        Binding("f", "link_hints", "Links", show=False, tooltip="Put letters on links and folds: type them to open", id="diff.link_hints"),
        Binding("space", "read_on", "Read on", show=False, tooltip="Scroll one page, at the end go to what comes next", id="diff.read_on"),
        *motions("diff"),
        Binding("right", "pan(1)", "Pan right", show=False, tooltip="Move wide code or a wide table to the left", id="diff.pan_right"),
        Binding("left", "pan(-1)", "Pan left", show=False, tooltip="Move wide code or a wide table back", id="diff.pan_left"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy the block under the cursor", id="diff.yank"),
    ]  # fmt: skip

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
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(ascii=ascii, mono=mono, name=name, id=id, classes=classes)
        self.sources = sources(diagrams=False)  # of a diagram the text is compared
        self.unfolding = Unfolding()
        self.places = {}
        self.threads: Mapping[str, Sequence[ThreadLine]] = {}
        self._title = ""
        self._was_on_none = False
        self._asked: set[str] = set()
        """The threads whose replies were asked for."""
        self.folds = Folds()
        self.changed = Changes()
        self._of_source = Changes()
        """The changes of the source, while it is shown."""
        self._made_for: Layout = "changes"
        """How the sides lie in what is on show, or is being made."""

    # What callers ask and do

    @property
    def facts(self) -> str:
        """Which change and which thread one is at, for the status line: `change 2 of 7 · 2 threads`."""
        count, at = self.change_count, self.change_number
        parts = (
            [f"change {at} of {count}" if at else f"{count} {'change' if count == 1 else 'changes'}"] if count else []
        )
        if self.changed.thread_count:
            parts.append("1 thread" if self.changed.thread_count == 1 else f"{self.changed.thread_count} threads")
        if self.shows_source:
            parts.append("source")
        if said := _SAID[self.layout_now]:
            parts.append(said)
        if self.needle:
            parts.append(f"“{self.needle}” {self.finding}")
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
        before = self.compared if key == self.key else None
        same = before is not None
        self.settled()
        told = before is not None and compared.says_the_same(before) and title == self._title
        if told and (threads is None or threads == self.threads):
            return
        self.compared, self._title = compared, title
        self.threads = threads if threads is not None else self.threads if same else {}
        if not same:
            self.note_place()
            for late in self.sources:
                late.drop()
            self.key, self.cursor, self.shows_source, self.unfolding = key, None, False, Unfolding()
            self.lay_out_page()
            self.needle, self._finds, self._find, self._search, self._asked = "", (), None, None, set()
            self.no_units()
            self.meet()
        if same and self.shows_source:
            self.run_worker(self._show_source(compared, turns=False), group="source", exclusive=True)
        else:
            self.make_units()

    def set_threads(self, threads: Mapping[str, Sequence[ThreadLine]]) -> None:
        """Show other threads between the lines."""
        if threads == self.threads:
            return
        self.threads = threads
        self.make_units()

    def clear(self) -> None:
        """Show nothing."""
        self.settled()
        self.note_place()
        self.compared, self.key, self.threads = None, "", {}
        self.no_units()
        self.reset()

    # Laying out

    def make_galley(self, width: int) -> VirtualLines[DiffUnit]:
        self.margin = 2
        layout, most = self.layout_now, max(24, width - 4)
        is_split = layout == "sides"
        room = SideWidths.of(min(2 * WIDEST + BETWEEN if is_split else WIDEST, most), split=is_split)
        setting = LayoutContext(
            self.look, self.folds, set_block, room=room.side, sources=self.sources, written=self.written
        )
        return self.units_there.anew(self.completed(lambda unit: set_diff_unit(setting, unit, room)))

    def no_units(self) -> None:
        super().no_units()
        self.changed, self.galley = Changes(), self.units_there

    def guess_unit(self, unit: DiffUnit) -> int:
        return guess(unit)

    def wanted_units(self) -> Changes:
        layout = self._made_for = self.layout_now
        if self.compared is None:
            return Changes()
        if self.shows_source:
            return self._of_source
        if layout == "new" or layout == "old":
            return one_side(self.compared, layout, self.threads, self._title)
        is_split = layout == "sides"
        return changes(self.compared.diff, self.unfolding, self.threads, self._title, side_by_side=is_split)

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        if self._made_for != self.layout_now and not self.is_making:
            self.make_units()  # there is no room any more for both sides, or there is again
        else:
            super().reset(anchor=anchor)

    def written(self, block: Block) -> str:
        if self.compared is None:
            return ""
        document = self.compared.old if self.compared.is_old(whole_of(block)) else self.compared.new
        return written_in(document.source, block)

    def before_painting(self) -> None:
        super().before_painting()
        on_show = {row[2].block.key for row in self.rows_on_show if row[2].block and row[2].block.kind == "thread"}
        if wanted := on_show - self._asked - {""}:
            self._asked |= wanted
            lines = [thread for threads in self.threads.values() for thread in threads if thread.key in wanted]
            if keys := tuple(thread.key for thread in lines if thread.replies > len(thread.answers)):
                self.post_message(self.RepliesWanted(keys))

    def empty_lines(self) -> list[Content]:
        return [] if self.is_making else nothing("Nothing changed on this page.", "J goes to the next page")

    def make_finder(self) -> Finder:
        def shown(unit: int) -> Block:
            rows = [
                "".join(each.text for each in line.pieces if not each.furniture) for line in self.galley.lines(unit)
            ]
            return Block("paragraph", text="\n".join(rows))

        return Finder(((unit, shown(unit)) for unit in range(len(self.galley))), letters=1)  # to set one takes long

    # Opening

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        if hot.kind == "fold" and hot.target.startswith("fold "):
            self.open_fold(hot.target)
        elif hot.kind in ("fold", "tab") and self.compared is not None:
            block = self.compared.new.find(hot.target) or self.compared.old.find(hot.target)
            if block is not None and hot.kind == "tab" and hot.spot.index < len(block.children):
                self.folds.choose(block.children[hot.spot.index])
            elif block is not None:
                self.folds.toggle(block)
            self.change(self.rows_on_show[hot.line][0])
        elif hot.kind in ("link", "image", "file"):
            self.post_message(LinkFollowed(hot.target, outside, hot.kind))

    def thread_at(self, stop: Stop) -> Block | None:
        if stop[3].kind == "thread":
            return stop[3]
        return next((each for each in stop[3].walk() if each.key and self.has_open_on(each.key)), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        return [each for block in self.changed.units[stop[0]].blocks for each in block.walk()]

    # Actions

    @property
    def _is_on_none(self) -> bool:
        """Whether the cursor is on no block of either side."""
        here = self.cursor_stop()
        return here is not None and here[3].kind in NO_BLOCKS - {"thread"}

    @property
    def block_near(self) -> Block | None:
        """The block of the page the cursor is on, or else the one that what it is on is about."""
        here = self.cursor_stop()
        if here is None:
            return None
        unit, block = self.changed.units[here[0]], here[3]
        if unit.lines:
            first = next((line for line in unit.lines if line.op != "equal"), unit.lines[0]).new_number
            return Block("change", lines=(first, first + 1))
        if block.kind not in NO_BLOCKS:
            return block
        return next((each for each in (*unit.hidden, *unit.blocks) if each.kind not in NO_BLOCKS), None)

    def _tell(self) -> None:
        super()._tell()
        self.note_place()
        if self._is_on_none != self._was_on_none:
            self._was_on_none = self._is_on_none
            self.refresh_bindings()  # no comment there

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "thread" and not self.threads_elsewhere and not any(map(self.has_open_on, self.threads)):
            return "No thread is open here. c comments on the block under the cursor."
        if not len(self.galley) and action != "thread":
            return self.why_empty if self._waiting or self.is_making else "There is no change here."
        if action == "comment" and self._is_on_none:
            return "A comment needs a block of the page: ) and ( go to one."
        if action == "change" and not self.change_count and not self.needle:
            return "Nothing changed on this page."
        if action == "layout" and (why := self.why_no_layout) is not None:
            return why
        return super().why_not(action, parameters)

    def action_change(self, step: int) -> None:
        if self.needle:
            self.step_find(step)
            return
        if not self.go_to_change(step):
            which, other = ("last", "next page") if step > 0 else ("first", "page before")
            self.explain(f"This is the {which} change of the page. {'J' if step > 0 else 'K'} goes to the {other}.")

    def action_thread(self, step: int) -> None:
        if self.shows_source and any(map(self.has_open_on, self.threads)):
            self.explain("The source shows no threads: \\ leaves it.")
        elif not len(self.galley) or not self.go_to_thread(step):
            self.post_message(self.ThreadBeyond(step))

    def action_unfold(self) -> None:
        here = self.cursor_stop()
        if here is not None and here[3].kind == "fold":
            self.open_fold(here[3].key)
            return
        self.unfolding.more()
        self.make_units()

    def action_fold(self) -> None:
        self.unfolding.less()
        self.make_units()

    def action_layout(self) -> None:
        self.next_layout()
        self.make_units()

    def action_source(self) -> None:
        if self.compared is not None:
            self.run_worker(self._show_source(self.compared, turns=True), group="source", exclusive=True)

    async def _show_source(self, compared: Compared, *, turns: bool) -> None:
        made = await asyncio.to_thread(lambda: source_changes(compared.hunks).whole())
        if compared is not self.compared:
            return
        self._of_source = made
        if turns:
            self.shows_source = not self.shows_source
            self.cursor = None
            self.no_units()
            self.meet()
        self.make_units()
