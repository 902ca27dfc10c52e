"""Find in page: the find bar, highlighted matches, and the commands for the next and previous match."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.style import Style
from textual.events import Key
from textual.strip import Strip

from octavo.api.safety import line as safe_line
from octavo.tui.reader.contents import STILL
from octavo.tui.reader.moves import START, Top, above, distance
from octavo.tui.render.painting import restyle
from octavo.tui.render.text_search import Match, MatchSpan, TextFinder, match_spans
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader

AT_ONCE = 0.012
"""Seconds of search before the next frame. The search continues between keys."""


def _why_no_hit(_: object, finder: FindLine) -> str | None:
    if finder.finds:
        return None
    if not finder.needle:
        return "You have not searched yet. Press / to find text."
    return f"No matches for “{finder.needle}” on this page." if finder.pane.contents.is_whole else STILL


class FindLine:
    """Search in a reader, with a find bar in the last row that shows the number of matches."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._prompt: str | None = None
        self._marks: dict[int, list[MatchSpan]] = {}
        self._finder: TextFinder | None = None
        self._before_find = START
        self._now = (-1, -1)
        self.clear()

    def clear(self) -> None:
        """End the search, and keep the scroll position."""
        self.needle = ""
        self.finds: Sequence[Match] = ()
        """Matches found so far."""
        self._find: Match | None = None
        self._search: Iterator[Match | None] | None = None
        """Iterator over the rest of the search. None if the search is complete."""
        self._seeks = False
        """True until the first match after the original scroll position is shown."""

    # Finding

    @property
    def finding(self) -> str:
        """State of the search for the status line, for example `3 of 12`. Empty without a search."""
        if not self.needle:
            return ""
        if not self.finds:
            return "no matches" if self._search is None else "searching"
        more = "" if self._search is None else " so far"
        if self._find not in self.finds:
            return f"{len(self.finds)} found{more}"
        return f"{self.finds.index(self._find) + 1} of {len(self.finds)}{more}"

    def begin(self) -> None:
        """Open the find bar."""
        self._prompt = ""
        self._before_find = self.pane.top
        self._find_line_changed()

    def find(self, needle: str) -> int:
        """Highlight all matches of `needle` and go to the first from the current position on. Return the number of
        matches found so far."""
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
        """Search for a number of seconds, at least one part of the page."""
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
        """Go to the first match after the original scroll position, if it is not among the first `known` matches."""
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
        """True while a part of the page is not searched yet."""
        return self._search is not None

    def search_on(self, seconds: float) -> None:
        """Search for a number of seconds, and show the result."""
        self._search_on(seconds)
        if self._search is None and self._find is not None and self._find not in self.finds:
            self._find = None
        self.pane.repaint()
        self.pane.tell()

    def step(self, step: int) -> None:
        """Go to the next match, or to the previous if `step` is negative. After the last match follows the first."""
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
            self.pane.cursor.at = (find.unit, block)
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
        """Search again after the content changed."""
        self._finder = None
        self._marks = {}
        if self.needle:
            self._search_anew()
            if self._search is None and self._find not in self.finds:
                self._find = None

    def relaid(self) -> None:
        """Clear caches that depend on the lines."""
        self._marks = {}

    def _find_line_changed(self) -> None:
        """Update the reader after the find bar opened or closed."""
        self.pane.tell_length()
        self.pane.repaint()
        if self.pane.is_running:
            self.pane.refresh_bindings()

    # Typing

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys for the key bar while the find bar has focus. Empty otherwise."""
        if self._prompt is None:
            return ()
        steps = (("enter", "done"), ("down", "next match"), ("up", "previous match")) if self._prompt else ()
        return (*steps, ("escape", "cancel"))

    def press(self, event: Key) -> bool:
        """Handle a key. Return False if the key is not for the find bar."""
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
        """Insert pasted text into the find bar. Return False if the bar does not have focus."""
        if self._prompt is None:
            return False
        self._type(self._prompt + safe_line(text))
        return True

    def left(self) -> None:
        """Close the find bar after the reader lost focus."""
        self._prompt = None
        self._find_line_changed()

    # Painting

    def marked(self, strip: Strip, unit: int, place: int) -> Strip:
        """Return the strip of a line with highlighted matches."""
        look, margin = self.pane.look, self.pane.contents.margin_of(unit)
        spans: list[tuple[int, int, Style]] = []
        found = self._marks_of(unit)  # Sorted by line: a row skips the matches of other rows.
        for at in range(bisect_left(found, place, key=attrgetter("line")), len(found)):
            if (mark := found[at]).line != place:
                break
            style = look.hit_now if (unit, mark.nth) == self._now else look.hit
            spans.append((mark.start + margin, mark.end + margin, style))
        return restyle(strip, spans)

    @property
    def foot_rows(self) -> int:
        """Number of rows that the find bar takes."""
        return 1 if self.needle or self._prompt is not None else 0

    def foot(self) -> tuple[int, Strip] | None:
        """Return the number and strip of the row with the find bar. None if the bar is closed."""
        if not self.foot_rows:
            return None
        if self._prompt is None:
            return self.pane.painter.at_foot(
                "/", self.needle, self.finding, *(("n next", "N previous") if self.finds else ()), "esc"
            )
        if self._prompt:
            return self.pane.painter.at_foot("/", self._prompt, self.finding, "enter done", "esc cancel", typing=True)
        return self.pane.painter.at_foot("/", "", "type the text to find", "esc cancel", typing=True)


FIND: Commands[FindLine] = Commands(
    "page",
    (
        Command("filter", "slash", "Find", "Find text on this page", run=lambda _, finder: finder.begin(), key_display="/"),
        Command("next_hit", "n", "Next match", "Go to the next match", run=lambda _, finder: finder.step(1), why_not=_why_no_hit, shown=False),
        Command("prev_hit", "N", "Previous match", "Go to the previous match", run=lambda _, finder: finder.step(-1), why_not=_why_no_hit, shown=False),
    ),
    find=lambda view: view.finder,
)  # fmt: skip
