"""A pane one reads in: a cursor of blocks, letters over what can be opened, words to find."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Blur, Click, Key, Paste
from textual.message import Message
from textual.strip import Strip

from octavo.api.text import line as safe_line
from octavo.documents.blocks import Block
from octavo.tui.commands import Explains
from octavo.tui.page.cursor_pane import CursorPane, Stop
from octavo.tui.page.finding import Find, Finder, Mark, marks
from octavo.tui.page.hinting import Hints
from octavo.tui.page.lines import Hot, Line, cells, hots_of
from octavo.tui.page.painting import over, restyled


def motions(place: str) -> list[BindingType]:
    """The keys by which one moves in `place`, and what they are called."""
    rows = (
        ("j,down", "scroll_lines(1)", "Down", "Scroll down one line", "down"),
        ("k,up", "scroll_lines(-1)", "Up", "Scroll up one line", "up"),
        ("g,home", "scroll_edge(0)", "Top", "Go to the top", "top"),
        ("G,end", "scroll_edge(1)", "Bottom", "Go to the end", "bottom"),
        ("ctrl+d,pagedown", "scroll_half(1)", "Half page down", "Scroll down half a page", "page_down"),
        ("ctrl+u,pageup", "scroll_half(-1)", "Half page up", "Scroll up half a page", "page_up"),
        ("b", "scroll_page(-1)", "Page back", "Scroll up one page", "read_back"),
        ("left_parenthesis", "move_cursor(-1)", "Block before", "Put the cursor on the block before", "prev_block"),
        ("right_parenthesis", "move_cursor(1)", "Next block", "Put the cursor on the next block", "next_block"),
    )
    return [
        Binding(keys, action, title, show=False, tooltip=tooltip, id=f"{place}.{name}")
        for keys, action, title, tooltip, name in rows
    ]


class Reader(CursorPane):
    """A pane with a cursor on a block, link hints and a find line. A subclass opens what is opened (`open_spot`)."""

    KEYBAR: ClassVar[tuple[str, ...]] = ()

    class ReadOn(Message):
        """`space` was pressed at the end: the reader wants what comes next."""

    class BlockChosen(Message):
        """The reader wants to say something about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class ThreadWanted(Message):
        """The reader wants to see what is said about a block."""

        def __init__(self, block: Block) -> None:
            super().__init__()
            self.block = block

    class Copied(Message):
        """Something was copied to the clipboard. `what` names it: code, paragraph."""

        def __init__(self, text: str, what: str) -> None:
            super().__init__()
            self.text = text
            self.what = what

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
        self._marks: dict[int, list[Mark]] = {}

    needle: str = ""
    _hints: Hints | None = None
    _prompt: str | None = None
    _find: Find | None = None
    _finds: tuple[Find, ...] = ()
    _finder: Finder | None = None
    _before_find = 0

    # What a subclass says

    def open_spot(self, hot: Hot, *, outside: bool) -> None:
        """Something on the page was opened; `outside`: in the browser."""

    def make_finder(self) -> Finder:
        """What is searched."""
        raise NotImplementedError

    def unfold(self, find: Find) -> bool:
        """Open what hides a find. True when anything was closed."""
        return False

    def is_hidden(self, find: Find) -> bool:
        """Whether a find stands in something closed."""
        return False

    # Reading on

    def action_read_on(self) -> None:
        if self.scroll_offset.y >= self.galley.total - self.rows:
            self.post_message(self.ReadOn())
        else:
            self.action_scroll_page(1)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "comment" and isinstance(self.screen, Explains):
            # Where a comment would go, and who may write one, is known to the screen.
            return self.screen.why_not(action, parameters)
        return super().why_not(action, parameters)

    def action_comment(self) -> None:
        if (stop := self.cursor_stop()) is not None:
            self.post_message(self.BlockChosen(stop[3]))

    # What can be opened

    def hots_on_show(self) -> list[Hot]:
        """What can be opened now; `line` counts rows of the pane."""
        self.paint()
        out = []
        for y, (unit, _, line) in enumerate(self.rows_on_show):
            margin = self.margin_of(unit)
            out += [hot._replace(line=y, start=hot.start + margin, end=hot.end + margin) for hot in hots_of([line])]
        return out

    def action_link_hints(self) -> None:
        self._show_hints(self.hots_on_show())

    def _show_hints(self, hots: list[Hot]) -> None:
        self._hints = Hints(hots) if hots else None
        self.repaint()

    def has_thread(self, stop: Stop) -> bool:
        """Whether a thread is shown at the block of a stop."""
        return False

    def action_open(self) -> None:
        """Open what the block under the cursor has: its thread, else the one link, or one of several by its letter."""
        stop = self.cursor_stop()
        if stop is None:
            return
        if self.has_thread(stop):
            self.post_message(self.ThreadWanted(stop[3]))
            return
        _unit, _first, _last, block = stop
        hots = [hot for hot in self.hots_on_show() if self.rows_on_show[hot.line][2].block is block]
        if len({id(hot.spot) for hot in hots}) == 1:
            self.open_spot(hots[0], outside=False)
        elif hots:
            self._show_hints(hots)
        else:
            self.post_message(self.ThreadWanted(block))

    def on_click(self, event: Click) -> None:
        hot = next((hot for hot in self.hots_on_show() if hot.line == event.y and hot.start <= event.x < hot.end), None)
        if hot is not None:
            self.open_spot(hot, outside=event.ctrl)
            return
        if event.y < len(self.rows_on_show):
            unit, _, line = self.rows_on_show[event.y]
            stop = next((stop for stop in self.stops_of(unit) if stop[3] is line.block), None)
            if stop is not None:
                self.put_cursor(stop, reveal=False)

    # Finding

    @property
    def finding(self) -> str:
        """How the search stands, for the status line: `3 of 12`. Empty when nothing is searched."""
        if not self.needle:
            return ""
        if not self._finds:
            return "not found"
        return f"{self._finds.index(self._find) + 1 if self._find in self._finds else 0} of {len(self._finds)}"

    def action_find(self) -> None:
        self._prompt = ""
        self._before_find = self.scroll_offset.y
        self.repaint()

    def find(self, needle: str) -> int:
        """Mark every place `needle` stands, and go to the first from here on; how many there are."""
        self.needle = needle
        self._marks = {}
        if not needle.strip():
            self.needle, self._finds, self._find = "", (), None
            self.repaint()
            self.tell()
            return 0
        if self._finder is None:
            self._finder = self.make_finder()
        self._finds = tuple(self._finder.find(needle))
        here = self.galley.at(self._before_find)[0] if len(self.galley) else 0
        self._find = next((find for find in self._finds if find.unit >= here), next(iter(self._finds), None))
        if self._find is not None:
            self._go_to_find(self._find)
        self.repaint()
        self.tell()
        return len(self._finds)

    def step_find(self, step: int) -> None:
        """Go to the next find, round the end."""
        if not self._finds:
            return
        at = self._finds.index(self._find) if self._find in self._finds else -1
        self._find = self._finds[(at + step) % len(self._finds)]
        self._go_to_find(self._find)

    def _go_to_find(self, find: Find) -> None:
        self.unfold(find)
        shown = [each for each in self._finds if each.unit == find.unit and not self.is_hidden(each)]
        nth = shown.index(find) if find in shown else 0
        found = self._marks_of(find.unit)
        mark = next((mark for mark in found if mark.nth == min(nth, found[-1].nth)), None) if found else None
        line = mark.line if mark is not None else 0
        block = self.galley.lines(find.unit)[line].block if self.galley.lines(find.unit) else None
        if block is not None:
            self.cursor = (find.unit, block)
        here = self.galley.top(find.unit) + line - self.scroll_offset.y
        if not 1 <= here < self.rows - 2:
            self.go(self.galley.top(find.unit) + line - self.rows // 3)
        self._now = (find.unit, mark.nth if mark is not None else -1)
        self.repaint()
        self.tell()

    _now = (-1, -1)

    def _marks_of(self, unit: int) -> list[Mark]:
        if unit not in self._marks:
            self._marks[unit] = marks(self.galley.lines(unit), self.needle)
        return self._marks[unit]

    def content_changed(self) -> None:
        """What is searched is other content now."""
        self._finder = None
        if self.needle:
            self._finder = self.make_finder()
            self._finds = tuple(self._finder.find(self.needle))
            self._find = self._find if self._find in self._finds else None
        self._marks = {}

    def relaid(self) -> None:
        super().relaid()
        self._marks = {}
        self._hints = None

    # Keys that are typed

    @property
    def is_typing(self) -> bool:
        """Whether letters are typed rather than keys pressed."""
        return self._prompt is not None or self._hints is not None

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return self.is_typing and character is not None and character.isprintable()

    def on_key(self, event: Key) -> None:
        if self._hints is not None:
            self._press_hint(event)
        elif self._prompt is not None:
            self._press_prompt(event)
        elif event.key == "escape" and self.needle:
            self.find("")
        else:
            return
        event.stop()
        event.prevent_default()

    def _press_hint(self, event: Key) -> None:
        hints, letter = self._hints, event.character or ""
        if hints is None or event.key in ("escape", "enter", "backspace") or not letter.isalpha():
            self._hints = None
            self.repaint()
            return
        result = hints.press(letter)
        if isinstance(result, Hot):
            self._hints = None
            self.open_spot(result, outside=hints.upper)
        elif not result:
            self._hints = None
        self.repaint()

    def _press_prompt(self, event: Key) -> None:
        text = self._prompt or ""
        if event.key in ("enter", "escape"):
            self._prompt = None
            if event.key == "escape" or not text:
                self.find("")
                self.go(self._before_find)
            self.repaint()
            return
        if event.key == "backspace":
            self._prompt = text[:-1]
        elif event.key == "ctrl+u":
            self._prompt = ""
        elif event.key in ("down", "up", "ctrl+n", "ctrl+p"):
            self.step_find(1 if event.key in ("down", "ctrl+n") else -1)
            return
        elif event.character and event.is_printable:
            self._prompt = text + event.character
        self.find(self._prompt or "")

    def on_paste(self, event: Paste) -> None:
        if self._prompt is not None:
            self._prompt += safe_line(event.text)
            self.find(self._prompt)
            event.stop()

    def on_blur(self, event: Blur) -> None:
        self._prompt, self._hints = None, None

    # Painting

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        look, margin = self.look, self.margin_of(unit)
        if self.needle and self._finds:
            spans: list[tuple[int, int, Style]] = []
            for mark in self._marks_of(unit):
                if mark.line == place:
                    style = look.hit_now if (unit, mark.nth) == self._now else look.hit
                    spans.append((mark.start + margin, mark.end + margin, style))
            strip = restyled(strip, spans)
        strip = super().decorate(strip, unit, place, line)
        if self._hints is not None:
            row = self.galley.top(unit) + place - self.scroll_offset.y
            for at, label in self._hints.on_line(row):
                strip = over(strip, at, label, look.button)
        return strip

    def foot(self) -> Strip | None:
        look, ground = self.look, self.ground
        if self._prompt is None:
            return None
        width = self.pane_width
        words = f" / {self._prompt}"
        count = f"{self.finding}  enter keeps  esc ends " if self._prompt else "type what to find  esc ends "
        room = width - cells(words) - 1 - len(count)
        style = ground + look.panel
        parts = [
            Segment(" / ", style + look.accent),
            Segment(self._prompt, style),
            Segment(" ", style + Style(reverse=True)),
        ]
        if room > 0:
            parts += [Segment(" " * room, style), Segment(count, style + look.muted)]
        return Strip(parts).extend_cell_length(width, style)
