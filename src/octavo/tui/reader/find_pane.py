"""A pane in which words are found: a line to type them in, marks where they stand, going from one to the next."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from rich.style import Style
from textual.events import Blur, Key, Paste
from textual.strip import Strip

from octavo.api.safety import line as safe_line
from octavo.tui.reader.cursor_pane import CursorPane
from octavo.tui.render.painting import restyled
from octavo.tui.render.styled_lines import Line, Piece, cells, cut, segments, width_of
from octavo.tui.render.text_search import Find, Finder, Mark, marks

AT_ONCE = 0.012
"""Seconds of work that a page is searched before the next frame; the rest is between keys."""


class FindPane(CursorPane):
    """A pane with a cursor and a find line, which stays while something is searched."""

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
    _prompt: str | None = None
    _find: Find | None = None
    _finds: Sequence[Find] = ()
    """What was found so far."""
    _search: Iterator[Find | None] | None = None
    """What is still to be searched."""
    _seeks = False
    """Whether one goes to the first find from where one was."""
    _finder: Finder | None = None
    _before_find = 0
    _now = (-1, -1)

    # What a subclass says

    def make_finder(self) -> Finder:
        """What is searched."""
        raise NotImplementedError

    def unfold(self, find: Find) -> bool:
        """Open what hides a find. True when anything was closed."""
        return False

    def is_hidden(self, find: Find, known: dict[tuple[int, int], bool]) -> bool:
        """Whether a find stands in something closed; `known` is kept while many are asked of."""
        return False

    # Finding

    @property
    def finding(self) -> str:
        """How the search stands, for the status line: `3 of 12`. Empty when nothing is searched."""
        if not self.needle:
            return ""
        if not self._finds:
            return "not found" if self._search is None else "searching"
        more = "" if self._search is None else " so far"
        if self._find not in self._finds:
            return f"{len(self._finds)} found{more}"
        return f"{self._finds.index(self._find) + 1} of {len(self._finds)}{more}"

    def action_find(self) -> None:
        self._prompt = ""
        self._before_find = self.scroll_offset.y
        self._find_line_changed()

    def find(self, needle: str) -> int:
        """Mark every place `needle` stands, and go to the first from here on; how many there are, as far as that is known
        at once."""
        self.needle = needle
        self._marks = {}
        self._finds, self._find, self._search = (), None, None
        if not needle.strip():
            self.needle = ""
            self._find_line_changed()
            self.tell()
            return 0
        self._find_line_changed()
        self._seeks = True
        self._search_anew()
        self.repaint()
        self.tell()
        return len(self._finds)

    def _search_anew(self) -> None:
        if self._finder is None:
            self._finder = self.make_finder()
        self._finds, self._search = [], self._finder.find(self.needle)
        self._search_on(AT_ONCE)
        self.refine_soon()

    def _search_on(self, seconds: float) -> None:
        """Search for so long, at least a stretch of the page."""
        until, before = time.thread_time() + seconds, len(self._finds)
        search, found = self._search, list(self._finds)
        with self.steady():
            while search is not None:
                for find in search:
                    if find is None:
                        break
                    found.append(find)
                else:
                    search = None
                if time.thread_time() >= until:
                    break
        self._finds, self._search = found, search
        if self._seeks:
            self._seek(before)

    def _seek(self, known: int) -> None:
        """Go to the first find from where one was, if it is among those after the `known` ones."""
        here = self.galley.at(self._before_find)[0] if len(self.galley) else 0
        found = next((find for find in self._finds[known:] if find.unit >= here), None)
        if found is None and self._search is None:
            found = next(iter(self._finds), None)
        if found is not None or self._search is None:
            self._seeks = False
        if found is not None:
            self._find = found
            self._go_to_find(found)

    @property
    def has_work(self) -> bool:
        return self._search is not None or super().has_work

    def work(self, seconds: float) -> bool:
        if self._search is None:
            return super().work(seconds)
        self._search_on(seconds)
        if self._search is None and self._find is not None and self._find not in self._finds:
            self._find = None
        self.repaint()
        self.tell()
        return False

    def step_find(self, step: int) -> None:
        """Go to the next find, round the end."""
        self._seeks = False
        if not self._finds:
            return
        at = self._finds.index(self._find) if self._find in self._finds else -1
        self._find = self._finds[(at + step) % len(self._finds)]
        self._go_to_find(self._find)

    def _go_to_find(self, find: Find) -> None:
        self.unfold(find)
        known: dict[tuple[int, int], bool] = {}
        shown = [each for each in self._finds if each.unit == find.unit and not self.is_hidden(each, known)]
        nth = shown.index(find) if find in shown else 0
        found = self._marks_of(find.unit)
        mark = next((mark for mark in found if mark.nth == min(nth, found[-1].nth)), None) if found else None
        line = mark.line if mark is not None else 0
        lines = self.galley.lines(find.unit)
        block = self.block_at(lines[line], mark.start if mark is not None else 0) if lines else None
        if block is not None:
            self.cursor = (find.unit, block)
        self.settle_around(find.unit)
        here = self.galley.top(find.unit) + line - self.scroll_offset.y
        if not 1 <= here < self.rows - 2:
            self.go_to(find.unit, line, below=self.rows // 3)
        self._now = (find.unit, mark.nth if mark is not None else -1)
        self.repaint()
        self.tell()

    def _marks_of(self, unit: int) -> list[Mark]:
        if unit not in self._marks:
            self._marks[unit] = marks(self.galley.lines(unit), self.needle)
        return self._marks[unit]

    def content_changed(self) -> None:
        """What is searched is other content now."""
        self._finder = None
        self._marks = {}
        if self.needle:
            self._search_anew()
            if self._search is None and self._find not in self._finds:
                self._find = None

    def relaid(self) -> None:
        super().relaid()
        self._marks = {}

    def _find_line_changed(self) -> None:
        """The find line comes or goes, and with it the last row."""
        self._sync()
        self.repaint()
        if self.is_running:
            self.refresh_bindings()

    # Typing

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return self.is_typing and character is not None and character.isprintable()

    @property
    def is_typing(self) -> bool:
        """Whether letters are typed rather than keys pressed."""
        return self._prompt is not None

    def on_key(self, event: Key) -> None:
        if self._prompt is not None:
            self._press(event, self._prompt)
        elif event.key == "escape" and self.needle:
            self.find("")
        else:
            return
        event.stop()
        event.prevent_default()

    def _press(self, event: Key, text: str) -> None:
        match event.key:
            case "enter" | "escape":
                self._prompt = None
                if event.key == "escape" or not text:
                    self.find("")
                    self.go(self._before_find)
                self._find_line_changed()
            case "down" | "ctrl+n":
                self.step_find(1)
            case "up" | "ctrl+p":
                self.step_find(-1)
            case "backspace":
                self._type(text[:-1])
            case "ctrl+u":
                self._type("")
            case _ if event.character and event.is_printable:
                self._type(text + event.character)

    def _type(self, text: str) -> None:
        self._prompt = text
        self.find(text)

    def on_paste(self, event: Paste) -> None:
        if self._prompt is not None:
            self._type(self._prompt + safe_line(event.text))
            event.stop()

    def on_blur(self, event: Blur) -> None:
        self._prompt = None
        self._find_line_changed()

    # Painting

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        look, margin = self.look, self.margin_of(unit)
        if self.needle and self._finds:
            spans: list[tuple[int, int, Style]] = []
            found = self._marks_of(unit)  # from the top down: a row looks at none of the thousands in others
            for at in range(bisect_left(found, place, key=attrgetter("line")), len(found)):
                if (mark := found[at]).line != place:
                    break
                style = look.hit_now if (unit, mark.nth) == self._now else look.hit
                spans.append((mark.start + margin, mark.end + margin, style))
            strip = restyled(strip, spans)
        return super().decorate(strip, unit, place, line)

    @property
    def foot_rows(self) -> int:
        return 1 if self.needle or self._prompt is not None else 0

    def foot(self) -> tuple[int, Strip] | None:
        if not self.foot_rows:
            return None
        if self._prompt is None:
            return self.at_foot("/", self.needle, self.finding, *(("n next", "N before") if self._finds else ()), "esc")
        if self._prompt:
            return self.at_foot("/", self._prompt, self.finding, "enter keeps", "esc ends", typing=True)
        return self.at_foot("/", "", "type what to find", "esc ends", typing=True)

    def at_foot(self, sign: str, text: str, *said: str, typing: bool = False) -> tuple[int, Strip]:
        """The last row, with a text at its left and what is `said` at its right. When there is no room for all of that,
        the first and the last part are kept longest."""
        look, width = self.look, self.pane_width
        between = f" {look.glyphs.between} "
        style = self.ground + look.panel
        sign = f" {sign} " if sign else " "
        room = max(0, width - cells(sign) - 1)
        needed = min(cells(text) + (3 if typing else 2), room // 2) if text or typing else 0
        parts = list(said)
        while parts and cells(between.join(parts)) + needed > room:
            del parts[-2 if len(parts) > 1 else -1]
        tail = between.join(parts)
        left = max(0, room - cells(tail) - 3) if tail else max(0, room - 1)
        pieces = [Piece(sign, look.accent), *cut([Piece(text, look.text)], cells(text) - left, cells(text))]
        if typing:
            pieces.append(Piece(" ", Style(reverse=True)))
        blank = width - width_of(pieces) - cells(tail) - 1 if needed else 0
        pieces.append(Piece(" " * max(0, blank) + tail, look.muted))
        return self.size.height - 1, Strip(segments(pieces, style)).extend_cell_length(width, style)
