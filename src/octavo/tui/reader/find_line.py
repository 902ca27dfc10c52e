"""Finding words in a pane: a line to type them in, marks where they stand, going from one to the next."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from rich.style import Style
from textual.events import Key
from textual.strip import Strip

from octavo.api.safety import line as safe_line
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.line_painter import LinePainter
from octavo.tui.reader.moves import START, Top, above, distance
from octavo.tui.reader.pane import STILL, Pane
from octavo.tui.render.painting import restyle
from octavo.tui.render.text_search import Match, MatchSpan, TextFinder, match_spans
from octavo.tui.widgets.commands import Command, Commands

AT_ONCE = 0.012
"""Seconds of work that a page is searched before the next frame; the rest is between keys."""


def _why_no_hit(_: object, finder: FindLine) -> str | None:
    if finder.finds:
        return None
    if not finder.needle:
        return "You have not searched yet. Press / to find text."
    return f"No matches for “{finder.needle}” on this page." if finder.pane.contents.is_whole else STILL


class FindLine:
    """The search in a pane, with its line at the foot that shows the number of matches."""

    def __init__(self, pane: Pane, painter: LinePainter, cursor: BlockCursor) -> None:
        self.pane, self.painter, self.cursor = pane, painter, cursor
        self._prompt: str | None = None
        self._marks: dict[int, list[MatchSpan]] = {}
        self._finder: TextFinder | None = None
        self._before_find = START
        self._now = (-1, -1)
        self.clear()

    def clear(self) -> None:
        """Search nothing, and stay where one is."""
        self.needle = ""
        self.finds: Sequence[Match] = ()
        """What was found so far."""
        self._find: Match | None = None
        self._search: Iterator[Match | None] | None = None
        """What is still to be searched."""
        self._seeks = False
        """Whether one goes to the first find from where one was."""

    # Finding

    @property
    def finding(self) -> str:
        """How the search stands, for the status line: `3 of 12`. Empty when nothing is searched."""
        if not self.needle:
            return ""
        if not self.finds:
            return "no matches" if self._search is None else "searching"
        more = "" if self._search is None else " so far"
        if self._find not in self.finds:
            return f"{len(self.finds)} found{more}"
        return f"{self.finds.index(self._find) + 1} of {len(self.finds)}{more}"

    def begin(self) -> None:
        """Type what to find."""
        self._prompt = ""
        self._before_find = self.pane.top
        self._find_line_changed()

    def find(self, needle: str) -> int:
        """Mark every place `needle` stands, and go to the first from here on; how many there are, as far as that is known
        at once."""
        self.needle = needle
        self._marks = {}
        self.finds, self._find, self._search = (), None, None
        if not needle.strip():
            self.needle = ""
            self._find_line_changed()
            self.pane.tell()
            return 0
        self._find_line_changed()
        self._seeks = True
        self._search_anew()
        self.pane.repaint()
        self.pane.tell()
        return len(self.finds)

    def _search_anew(self) -> None:
        if self._finder is None:
            self._finder = self.pane.contents.finder()
        self.finds, self._search = [], self._finder.find(self.needle)
        self._search_on(AT_ONCE)
        self.pane.work_soon()

    def _search_on(self, seconds: float) -> None:
        """Search for so long, at least a stretch of the page."""
        until, before = time.thread_time() + seconds, len(self.finds)
        search, found = self._search, list(self.finds)
        while search is not None:
            for find in search:
                if find is None:
                    break
                found.append(find)
            else:
                search = None
            if time.thread_time() >= until:
                break
        self.finds, self._search = found, search
        if self._seeks:
            self._seek(before)

    def _seek(self, known: int) -> None:
        """Go to the first find from where one was, if it is among those after the `known` ones."""
        here = self._before_find.unit
        found = next((find for find in self.finds[known:] if find.unit >= here), None)
        if found is None and self._search is None:
            found = next(iter(self.finds), None)
        if found is not None or self._search is None:
            self._seeks = False
        if found is not None:
            self._find = found
            self._go_to_find(found)

    @property
    def is_searching(self) -> bool:
        """Whether something is still to be searched."""
        return self._search is not None

    def search_on(self, seconds: float) -> None:
        """Search for so long."""
        self._search_on(seconds)
        if self._search is None and self._find is not None and self._find not in self.finds:
            self._find = None
        self.pane.repaint()
        self.pane.tell()

    def step(self, step: int) -> None:
        """Go to the next find, round the end."""
        self._seeks = False
        if not self.finds:
            return
        at = self.finds.index(self._find) if self._find in self.finds else -1
        self._find = self.finds[(at + step) % len(self.finds)]
        self._go_to_find(self._find)

    def _go_to_find(self, find: Match) -> None:
        self.pane.contents.unfold(find)
        known: dict[tuple[int, int], bool] = {}
        shown = [
            each for each in self.finds if each.unit == find.unit and not self.pane.contents.is_hidden(each, known)
        ]
        nth = shown.index(find) if find in shown else 0
        found = self._marks_of(find.unit)
        mark = next((mark for mark in found if mark.nth == min(nth, found[-1].nth)), None) if found else None
        line = mark.line if mark is not None else 0
        lines = self.pane.galley.lines(find.unit)
        block = self.pane.contents.block_at(lines[line], mark.start if mark is not None else 0) if lines else None
        if block is not None:
            self.cursor.at = (find.unit, block)
        rows, place = self.pane.rows, Top(find.unit, line)
        if not 1 <= distance(self.pane.galley, self.pane.top, place, rows) < rows - 2:
            self.pane.go(above(self.pane.galley, place, rows // 3, rows))
        self._now = (find.unit, mark.nth if mark is not None else -1)
        self.pane.repaint()
        self.pane.tell()

    def _marks_of(self, unit: int) -> list[MatchSpan]:
        if unit not in self._marks:
            self._marks[unit] = match_spans(self.pane.galley.lines(unit), self.needle)
        return self._marks[unit]

    def content_changed(self) -> None:
        """What is searched is other content now."""
        self._finder = None
        self._marks = {}
        if self.needle:
            self._search_anew()
            if self._search is None and self._find not in self.finds:
                self._find = None

    def relaid(self) -> None:
        """Lines are others than before."""
        self._marks = {}

    def _find_line_changed(self) -> None:
        """The find line comes or goes, and with it the last row."""
        self.pane.tell_length()
        self.pane.repaint()
        if self.pane.is_running:
            self.pane.refresh_bindings()

    # Typing

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """The keys that do something while letters are typed, for the key bar. Empty while no letters are typed."""
        if self._prompt is None:
            return ()
        steps = (("enter", "done"), ("down", "next match"), ("up", "previous match")) if self._prompt else ()
        return (*steps, ("escape", "cancel"))

    def press(self, event: Key) -> bool:
        """Take a key. False when it is not meant here."""
        if self._prompt is not None:
            self._press(event, self._prompt)
        elif event.key == "escape" and self.needle:
            self.find("")
        else:
            return False
        return True

    def _press(self, event: Key, text: str) -> None:
        match event.key:
            case "enter" | "escape":
                self._prompt = None
                if event.key == "escape" or not text:
                    self.find("")
                    self.pane.go(self._before_find)
                self._find_line_changed()
            case "down" | "ctrl+n":
                self.step(1)
            case "up" | "ctrl+p":
                self.step(-1)
            case "backspace":
                self._type(text[:-1])
            case "ctrl+u":
                self._type("")
            case _ if event.character and event.is_printable:
                self._type(text + event.character)

    def _type(self, text: str) -> None:
        self._prompt = text
        self.find(text)

    def paste(self, text: str) -> bool:
        """Put a text into what is typed. False when nothing is."""
        if self._prompt is None:
            return False
        self._type(self._prompt + safe_line(text))
        return True

    def left(self) -> None:
        """Nothing is typed any more: something else has focus."""
        self._prompt = None
        self._find_line_changed()

    # Painting

    def marked(self, strip: Strip, unit: int, place: int) -> Strip:
        """The strip of a line with what was found on it marked."""
        look, margin = self.pane.look, self.pane.contents.margin_of(unit)
        spans: list[tuple[int, int, Style]] = []
        found = self._marks_of(unit)  # from the top down: a row looks at none of the thousands in others
        for at in range(bisect_left(found, place, key=attrgetter("line")), len(found)):
            if (mark := found[at]).line != place:
                break
            style = look.hit_now if (unit, mark.nth) == self._now else look.hit
            spans.append((mark.start + margin, mark.end + margin, style))
        return restyle(strip, spans)

    @property
    def foot_rows(self) -> int:
        """How many rows it takes."""
        return 1 if self.needle or self._prompt is not None else 0

    def foot(self) -> tuple[int, Strip] | None:
        """The row it takes, and what stands there."""
        if not self.foot_rows:
            return None
        if self._prompt is None:
            return self.painter.at_foot(
                "/", self.needle, self.finding, *(("n next", "N previous") if self.finds else ()), "esc"
            )
        if self._prompt:
            return self.painter.at_foot("/", self._prompt, self.finding, "enter done", "esc cancel", typing=True)
        return self.painter.at_foot("/", "", "type the text to find", "esc cancel", typing=True)


FIND: Commands[FindLine] = Commands(
    "page",
    (
        Command("filter", "slash", "Find", "Find text on this page", run=lambda _, finder: finder.begin(), key_display="/"),
        Command("next_hit", "n", "Next match", "Go to the next match", run=lambda _, finder: finder.step(1), why_not=_why_no_hit, shown=False),
        Command("prev_hit", "N", "Previous match", "Go to the previous match", run=lambda _, finder: finder.step(-1), why_not=_why_no_hit, shown=False),
    ),
    find=lambda view: view.finder,
)  # fmt: skip
