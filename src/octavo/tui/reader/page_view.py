"""The page view: one page, read from its blocks, with its threads marked at the blocks they hang on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.documents.blocks import Block, Document, Run, words
from octavo.tui.reader.cursor_pane import Bring, Stop
from octavo.tui.reader.opening import ReadingPoint
from octavo.tui.reader.page_keys import READING_KEYS
from octavo.tui.reader.reading_pane import motions
from octavo.tui.reader.streaming_page import STILL, Arriving, Head, PendingJump
from octavo.tui.reader.table_reading import Tabling
from octavo.tui.reader.thread_marks import MARK
from octavo.tui.render.failed_block import written_in
from octavo.tui.render.layout import Unit, guess, set_block, set_unit, units
from octavo.tui.render.layout_context import Folds, LayoutContext, trail
from octavo.tui.render.page_parts import ThreadMarks, same_title, source_blocks
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.source_finders import sources
from octavo.tui.render.text_search import Find, Finder
from octavo.tui.render.virtual_lines import ScrollAnchor, VirtualLines
from octavo.tui.terminal.text_direction import FROM_RIGHT
from octavo.tui.widgets.empty_states import nothing

if TYPE_CHECKING:
    from octavo.api.comments import Comment

MEASURES = (76, 100, 0)
"""Cells a line of text may take, narrow and wide; 0 is the whole pane, in which code is not broken either."""


_SLICES_WITH_IT = 4
"""Slices of a block that are looked at for something to stand on: all of them together may take seconds to be set."""


class PageView(Tabling, Arriving):
    """A page to read: `show` a document, or `show_markdown` what is still to be parsed."""

    CONTEXT: ClassVar[str] = "page"
    HELP: ClassVar[str] = (
        "The page. j and k scroll, ( and ) move the bar that marks the block a comment is about, "
        "f puts a letter on each link, / finds words, also in what is folded."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("page.filter", "page.link_hints", "page.next_thread", "page.comment")
    HIT_KEYS: ClassVar[tuple[str, ...]] = ("page.next_hit", "page.prev_hit")
    BINDINGS: ClassVar[list[BindingType]] = [*READING_KEYS, *motions("page")]

    @property
    def more_help(self) -> str:
        """Who turns words round, of a page in a script that is written from right to left."""
        if self.document is None or not FROM_RIGHT.search(self.document.source):
            return ""
        turns = "Octavo turns" if self.app.settings.turns_words else "The terminal turns"  # type: ignore[attr-defined]
        return f"{turns} right-to-left words round: right_to_left in the settings says who does."

    class Loaded(Message):
        """All of the page is read."""

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
        self.document: Document | None = None
        self.folds = Folds()
        self._source_of: Block | None = None
        """The block whose source the cursor is on."""
        self._source_cut: list[Unit] | None = None
        """The units of the source, once they are asked for."""
        self._head: Head = ("", "")
        self.page_cut = UnitReader()
        self._measure = 0
        self.sources = sources()
        """Where what does not stand in the text of the page comes from: give others before a page is shown."""

    # What callers ask and do

    @property
    def facts(self) -> str:
        """How far one has read, and what was found, for the status line."""
        hidden = self.galley.total - self.rows
        parts = [f"{min(100, round(100 * self.scroll_offset.y / hidden))} %"] if hidden > 0 else []
        if self.shows_source:
            parts.insert(0, "source")
        if self.needle:
            parts.append(f"“{self.needle}” {self.finding}")
        return " · ".join(parts)

    def show(
        self,
        document: Document,
        *,
        title: str = "",
        description: str | None = None,
        key: str = "",
        threads: Mapping[str, int | Sequence[Comment]] | None = None,
    ) -> None:
        """Show a page. While `key` is the same, the place and what is opened are kept."""
        self.stop_reading()
        head = (safe_line(title), safe_text(description or ""))
        self._show(
            document, head, key, UnitReader(units(self.top_blocks(document.blocks, head, whole=True))), whole=True
        )
        self._look_for_wanted()
        if threads is not None:
            self.set_threads(threads)
        self.post_message(self.Loaded())

    def show_markdown(self, markdown: str, *, title: str = "", description: str | None = None, key: str = "") -> None:
        """Show a page that is not parsed yet: the beginning of a long one at once, all of it soon. `Loaded` follows."""
        head = (safe_line(title), safe_text(description or ""))
        if self.document is not None and key == self.key and markdown == self.document.source and self.is_whole:
            self.show(self.document, title=title, description=description, key=key)
        else:
            self.read(markdown, head, key)

    def all_read(self, document: Document) -> None:
        self._marked = ThreadMarks(document.blocks, self._marked.counts)
        self._look_for_wanted()
        self.go_back()
        self._stand_again()
        self.refresh_bindings()
        self.tell()
        self.post_message(self.Loaded())

    def _show(self, document: Document, head: Head, key: str, cutting: UnitReader[Unit], *, whole: bool) -> None:
        same = key == self.key and self.document is not None
        if same and document is self.document and head == self._head and self._failure is None:
            return
        self.settled()
        anchor = self._anchor() if same else None
        if not same:
            self._wanted = self._wanted if self.document is None else None
            self._left_standing = None
            self.stop_copying()
            self.leave()
        self.document, self._head, self.is_whole, self.page_cut = document, head, whole, cutting
        self._source_cut = None
        if not same:
            self.key, self.folds, self.cursor, self.shows_source = key, Folds(), None, False
            self._marked = ThreadMarks()
            self.needle, self._finds, self._find, self._search = "", (), None, None
        elif self.cursor is not None:
            self.cursor = (self.cursor[0], self.cursor[1])
        if not same:
            self.galley = VirtualLines((), lambda unit: 0, lambda unit: [])
            for late in self.sources:
                late.drop()
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.reset(anchor=anchor)
        self.content_changed()
        self._marked = ThreadMarks(document.blocks, self._marked.counts)
        if self._wanted is not None and not same:  # asked for before anything was on show
            self.go_to_anchor(self._wanted.anchor)
        self.refresh_bindings()
        self.tell()

    def go_to_anchor(self, anchor: str) -> bool:
        """Go to a heading by its anchor, or to a block by its key. False when there is none (yet)."""
        wanted = anchor.lstrip("#")
        document = self.document
        if document is None:
            self._wanted = PendingJump(wanted, ReadingPoint())
            return False
        if self.shows_source:
            self.action_source()
        self._coming_back = self._left_standing = None
        here = self._here()
        block = next((heading.block for heading in document.headings if heading.anchor == wanted), None)
        if block is not None and block is _left_out(document.blocks, self._head):
            self._go_to_top()
            found = True
        elif block is not None and self._grows:
            # It can stand at the top once there is more below it.
            self.come_back(self.key, ReadingPosition(block.key, 1))
            self._asked_at = here
            self.go_back()
            found = True
        else:
            found = self.go_to_block(block.key if block is not None else wanted)
        self._wanted = None if found or (self.is_whole and self.is_latest) else PendingJump(wanted, here)
        return found

    def _go_to_top(self) -> None:
        if self.shows_source:
            self.action_source()
        self.cursor = None
        self.go(0)
        self.repaint()
        self.tell()

    def go_to_block(self, key: str, *, bring: Bring | None = "top") -> bool:
        if self.shows_source:
            self.action_source()
        tries = _SLICES_WITH_IT
        for unit, each in enumerate(self.galley.units):
            top = each.part or each.block
            path = trail(top, key)
            if not path:
                continue
            if self.folds.reveal(path):
                self.change(unit)
            # Some blocks are nothing one stands on: then it is what is in them, or around them.
            around = {block.key for block in path if block.key}
            inside = {block.key for block in path[-1].walk() if block.key}
            stops = self.stops_of(unit)
            within = (stop for stop in stops if stop[3].key in inside)
            outside = (stop for stop in reversed(stops) if stop[3].key in around)
            exact = (stop for stop in stops if stop[3].key == key)
            if (stop := next(chain(exact, outside, within), None)) is not None:
                self.put_cursor(stop, bring=bring)
                return True
            if (tries := tries - 1) == 0:
                return False
        return False

    def clear(self) -> None:
        """Show nothing."""
        self.settled()
        self.stop_reading()
        self.stop_copying()
        self.leave()
        self.document, self.key, self._marked = None, "", ThreadMarks()
        self.page_cut = UnitReader()
        self._wanted = self._left_standing = None
        self.reset()

    # Laying out

    def make_galley(self, width: int) -> VirtualLines[Unit]:
        room = max(10, width - 2 - MARK)
        measure = min(room, MEASURES[self._measure] or room)
        self.margin = max(2, min((width - measure) // 2, width - measure - MARK))
        setting = LayoutContext(
            self.look,
            self.folds,
            set_block,
            # In a narrow pane the mark of a thread beside a wide block is only its sign.
            room=room if width >= 60 else max(room, width - 4),
            whole_code=self._measure == 2,
            sources=self.sources,
            written=self.written,
        )
        self.measure = measure
        self._margins: dict[int, int] = {}
        set_one = self.completed(lambda unit: set_unit(setting, unit, measure))
        return VirtualLines(self._units(), lambda unit: guess(unit, measure), set_one)

    def written(self, block: Block) -> str:
        return written_in(self.document.source, block) if self.document is not None else ""

    def top_blocks(self, blocks: Sequence[Block], head: Head, *, whole: bool) -> list[Block]:
        title, description = head
        if not blocks or not title:
            return list(blocks)
        rest = blocks[1:] if blocks[0] is _left_out(blocks, head) else blocks
        if not rest and not description and whole:
            return []
        return [Block("page-title", runs=(Run(title),), text=description), *rest]

    def unit_of(self, near: int, key: str) -> int:
        def has(unit: int) -> bool:
            return 0 <= unit < len(self.galley) and bool(
                trail(self.galley.units[unit].part or self.galley.units[unit].block, key)
            )

        around = (unit for away in range(len(self.galley)) for unit in (near - away, near + away))
        return next(filter(has, around), near) if key else near

    def together(self, unit: int) -> range:
        units, first, last = self.galley.units, unit, unit
        while first and units[first - 1].block is units[unit].block:
            first -= 1
        while last + 1 < len(units) and units[last + 1].block is units[unit].block:
            last += 1
        return range(first, last + 1)

    def margin_of(self, unit: int) -> int:
        kept = self._margins.get(unit)
        if kept is None:
            first = self.together(unit)[0]  # slices of a table stand below one another, and the first has its head
            widest = max((line.width for line in self.galley.lines(first)), default=0)
            wide = widest > self.measure
            kept = self._margins[unit] = min(self.margin, max(2, self._width - widest - MARK)) if wide else self.margin
        return kept

    def relaid(self) -> None:
        super().relaid()
        self._margins = {}

    @property
    def has_content(self) -> bool:
        return self.document is not None

    def empty_lines(self) -> list[Content]:
        if not self.is_whole or self.is_outdated:
            return []
        title = [Content(f"  {self._head[0]}").stylize("bold")] if self._head[0] else []
        return [Content(""), *title, *nothing("This page is empty.", "J goes to the next one")]

    # Finding

    def make_finder(self) -> Finder:
        blocks = ((index, unit.part or unit.block) for index, unit in enumerate(self.galley.units))
        return Finder(blocks, self.sources.targets.reads if self.sources.targets is not None else words)

    def is_hidden(self, find: Find, known: dict[tuple[int, int], bool]) -> bool:
        return self.folds.hides(find.path, known)

    def unfold(self, find: Find) -> bool:
        changed = self.folds.reveal(find.path)
        if changed:
            self.change(find.unit)
        return changed

    # Actions

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if not len(self.galley) and action not in ("measure",):
            return self.why_empty
        if action == "thread" and not self._marked:
            return "No block of this page has an open thread." if self.is_whole else STILL
        if action == "hit" and not self._finds:
            if not self.needle:
                return "Nothing is searched: / finds words."
            return f"“{self.needle}” is not on this page." if self.is_whole else STILL
        return super().why_not(action, parameters)

    def action_hit(self, step: int) -> None:
        self.step_find(step)

    def action_measure(self) -> None:
        self._measure = (self._measure + 1) % len(MEASURES)
        self.reset()

    def action_source(self) -> None:
        if self.document is None:
            return
        self._coming_back = self._left_standing = self._wanted = None
        line, at_top = self._line_of_source(), self.scroll_offset.y == 0
        on_show = next((stop[3] for stop in self.visible_stops() if self.cursor_stop() == stop), None)
        self.shows_source = not self.shows_source
        self._source_of, self._source_cut = on_show if self.shows_source else None, None
        self.cursor = None
        self.content_changed()
        self._finder = None
        at, _ = self._unit_with(line)
        self.reset(anchor=ScrollAnchor(at))
        self.content_changed()
        if at_top:
            self.go(0)
        if on_show is not None:
            self._stand_on(on_show.key)
        self.tell()

    def _line_of_source(self) -> int:
        """The line of the source that stands at the top, or begins the block there."""
        if not len(self.galley):
            return 0
        unit, place = self.galley.at(self.scroll_offset.y)
        block: Block = self.galley.units[unit].part or self.galley.units[unit].block
        return block.lines[0] + (place if self.shows_source else 0)

    def _unit_with(self, line: int) -> tuple[int, int]:
        """Which unit will have a line of the source, and the first line of that unit."""
        spans = [(unit.part or unit.block).lines for unit in self._units()]
        return next(((index, first) for index, (first, end) in enumerate(spans) if end > line), (0, 0))

    def source_known(self) -> None:
        self._source_cut = None
        line = self._line_of_source()
        at, first = self._unit_with(line)
        self.reset(anchor=ScrollAnchor(at, place=line - first, width=self._width))

    def _stand_on(self, key: str) -> None:
        """Put the cursor on the block called `key`, from the page in its source or back."""
        if not self.shows_source:
            self.go_to_block(key, bring="third")
            return
        for unit, each in enumerate(self.galley.units):
            if each.block.key == key:
                self.put_cursor(self.stops_of(unit)[0], bring="third")
                return

    def _units(self) -> list[Unit]:
        if self.document is None:
            return []
        if not self.shows_source:
            return self.units_so_far()
        if self._source_cut is None:
            blocks = source_blocks(self.document.source, self.document.blocks, self._source_of)
            self._source_cut = [Unit(block, rows=max(1, block.lines[1] - block.lines[0])) for block in blocks]
        return self._source_cut

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        return (stop[3],)


def _left_out(blocks: Sequence[Block], head: Head) -> Block | None:
    """The first heading, when it says no more than the title above it."""
    first = blocks[0] if blocks else None
    if first is None or first.kind != "heading" or first.attrs.get("level") != 1 or not head[0]:
        return None
    return first if same_title(words(first.runs), head[0]) else None
