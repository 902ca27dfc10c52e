"""Find in page: the find bar, highlighted matches, and the commands for the next and previous match."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from rich.style import Style
from textual.events import Key
from textual.strip import Strip

from octavo.api.safety import safe_line
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.reading_position import START, LinePosition
from octavo.tui.reader.viewport import PanePart, Viewport
from octavo.tui.render.painting import bottom_line, restyle
from octavo.tui.render.text_search import BlockTextFinder, Match, MatchSpan, match_spans
from octavo.tui.widgets.commands import Command, Commands

FIRST_SEARCH_SECONDS = 0.012
"""Seconds of search before the next frame. The search continues between keys."""


def _why_no_match(_: object, find_bar: FindBar) -> str | None:
    if not find_bar.needle:
        return "You have not searched yet. Press / to find text."
    if find_bar.matches or find_bar.is_text_loading:
        return None
    return f"No matches for “{find_bar.needle}” on this page."


class FindBar(PanePart):
    """Search in a pane, with a find bar in the last row that shows the number of matches."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        super().__init__(viewport)
        self.cursor = cursor
        self._typed: str | None = None
        self._spans: dict[int, list[MatchSpan]] = {}
        self._text_finder: BlockTextFinder | None = None
        self._position_before = START
        self._current = (-1, -1)
        self.clear()

    def clear(self) -> None:
        """End the search, and keep the scroll position."""
        self.needle = ""
        self.matches: Sequence[Match] = ()
        """Matches found so far."""
        self._match: Match | None = None
        self._search: Iterator[Match | None] | None = None
        """Iterator over the rest of the search. None if the search is complete."""
        self._update_rows()
        self._goes_to_first_match = False
        """True until the search has scrolled to the first match after the original position."""
        self._waiting_steps = 0
        """Steps to matches in the part of the page that is not parsed yet."""
        self._waiting_since = START
        """Scroll position when these steps were requested."""

    # Finding

    @property
    def search_status(self) -> str:
        """State of the search for the status line, for example `3 of 12`. Empty without a search."""
        if not self.needle:
            return ""
        is_complete = self._search is None and not self.viewport.contents.has_more_to_search
        more = "" if is_complete else " so far"
        if is_complete and (left_out := self.viewport.contents.not_searched):
            more = f", {left_out} not searched"
        if not self.matches:
            return f"no matches{more}" if is_complete else "searching"
        if self._match not in self.matches:
            return f"{len(self.matches)} found{more}"
        return f"{self.matches.index(self._match) + 1} of {len(self.matches)}{more}"

    @property
    def is_text_loading(self) -> bool:
        """True while a part of the searched text is not loaded or not parsed."""
        contents = self.viewport.contents
        return contents.has_more_to_search or not contents.is_fully_parsed

    def begin(self) -> None:
        """Open the find bar."""
        self._typed = ""
        self._position_before = self.viewport.top
        self._find_bar_changed()

    def find(self, needle: str) -> None:
        """Highlight all matches of `needle` and go to the first from the current position on."""
        self.needle = needle
        self._spans = {}
        self.matches, self._match, self._search, self._waiting_steps = (), None, None, 0
        if not needle.strip():
            self.needle = ""
            self._find_bar_changed()
            self.viewport.notify_moved()
            return
        self._find_bar_changed()
        self._goes_to_first_match = True
        self._restart_search()
        self.viewport.repaint()
        self.viewport.notify_moved()

    def _restart_search(self) -> None:
        if self._text_finder is None:
            self._text_finder = self.viewport.contents.text_finder(self.viewport.virtual_lines)
        self.matches, self._search = [], self._text_finder.find(self.needle)
        self._continue_search(FIRST_SEARCH_SECONDS)
        self.viewport.continue_work()

    def _continue_search(self, seconds: float) -> None:
        """Search for a number of seconds. At least one part of the page is searched."""
        until, before = time.thread_time() + seconds, len(self.matches)
        search, found = self._search, list(self.matches)
        while search is not None:
            for match in search:
                if match is None:
                    break
                found.append(match)
            else:
                search = None
            if time.thread_time() >= until:
                break
        self.matches, self._search = found, search
        if self._goes_to_first_match:
            self._go_to_first_match(before)
        if search is None and self._waiting_steps and not self.is_text_loading:
            steps, self._waiting_steps = self._waiting_steps, 0
            if self.viewport.top == self._waiting_since:
                self.step(steps)

    def _go_to_first_match(self, known_count: int) -> None:
        """Go to the first match after the original scroll position, unless it is one of the first `known_count` matches."""
        here = self._position_before.unit_index
        found = next((match for match in self.matches[known_count:] if match.unit_index >= here), None)
        is_complete = self._search is None and not self.viewport.contents.has_more_to_search
        if found is None and is_complete:
            found = next(iter(self.matches), None)
        if found is not None or (is_complete and len(self.viewport.virtual_lines)):
            self._goes_to_first_match = False
        if found is not None:
            self._match = found
            self._go_to_match(found)

    @property
    def has_work(self) -> bool:
        """True while a part of the page is not searched yet."""
        return self._search is not None

    def work(self, seconds: float) -> None:
        """Continue the search for about `seconds`, and show the matches found so far."""
        self._continue_search(seconds)
        if self._search is None and self._match is not None and self._match not in self.matches:
            self._match = None
        self.viewport.repaint()
        self.viewport.notify_moved()

    def step(self, step: int) -> None:
        """Go to the next match, or to the previous if `step` is negative. After the last match follows the first, once
        the whole page is parsed."""
        self._goes_to_first_match = False
        at = self.matches.index(self._match) if self._match in self.matches else -1
        is_last = step > 0 and at == len(self.matches) - 1
        if self.is_text_loading and (is_last or not self.matches):
            self._waiting_steps, self._waiting_since = self._waiting_steps + step, self.viewport.top
        if not self.matches or self._waiting_steps:
            return
        self._match = self.matches[(at + step) % len(self.matches)]
        self._go_to_match(self._match)

    def _go_to_match(self, match: Match) -> None:
        self.viewport.contents.expand_to(match)
        known: dict[tuple[int, int], bool] = {}
        shown = [
            each
            for each in self.matches
            if each.unit_index == match.unit_index and not self.viewport.contents.is_hidden(each, known)
        ]
        nth = shown.index(match) if match in shown else 0
        found = self._match_spans(match.unit_index)
        mark = next((mark for mark in found if mark.nth == min(nth, found[-1].nth)), None) if found else None
        line = mark.line if mark is not None else 0
        lines = self.viewport.virtual_lines.lines(match.unit_index)
        block = self.viewport.contents.block_at(lines[line], mark.start if mark is not None else 0) if lines else None
        if block is not None:
            self.cursor.selected = (match.unit_index, block)
        rows, position = self.viewport.rows, LinePosition(match.unit_index, line)
        if not 1 <= self.viewport.row_of(position) < rows - 2:
            self.viewport.show_in_row(position, rows // 3)
        self._current = (match.unit_index, mark.nth if mark is not None else -1)
        self.viewport.repaint()
        self.viewport.notify_moved()

    def _match_spans(self, unit_index: int) -> list[MatchSpan]:
        if unit_index not in self._spans:
            self._spans[unit_index] = match_spans(self.viewport.virtual_lines.lines(unit_index), self.needle)
        return self._spans[unit_index]

    @property
    def unit_of_match(self) -> int:
        """Index of the unit with the selected match. -1 if there is none."""
        return self._match.unit_index if self._match is not None else -1

    def content_changed(self, *, unit_of_match: int = -1) -> None:
        """Search again after the content changed. `unit_of_match` is the new index of the unit with the selected
        match, or -1 if it is unchanged."""
        if self._match is not None and unit_of_match >= 0:
            self._match = self._match._replace(unit_index=unit_of_match)
            self._current = unit_of_match, self._current[1]
        self._text_finder = None
        self._spans = {}
        if self.needle:
            self._restart_search()
            if self._search is None and self._match not in self.matches:
                self._match = None

    def forget_lines(self) -> None:
        self._spans = {}

    def _find_bar_changed(self) -> None:
        """Update the pane after the find bar opened or closed."""
        self._update_rows()
        self.viewport.update_scroll_bar()
        self.viewport.repaint()
        if self.viewport.widget.is_running:
            self.viewport.widget.refresh_bindings()

    # Typing

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys for the key bar while the find bar has focus. Empty otherwise."""
        if self._typed is None:
            return ()
        steps = (("enter", "done"), ("down", "next match"), ("up", "previous match")) if self._typed else ()
        return (*steps, ("escape", "cancel"))

    def press(self, event: Key) -> bool:
        """Handle a key. Return False if the key is not for the find bar."""
        if self._typed is not None:
            self._press(event, self._typed)
        elif event.key == "escape" and self.needle:
            self.find("")
        else:
            return False
        return True

    def _press(self, event: Key, text: str) -> None:
        match event.key:
            case "enter" | "escape":
                self._typed = None
                if event.key == "escape" or not text:
                    self.find("")
                    self.viewport.go_to(self._position_before)
                self._find_bar_changed()
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
        self._typed = text
        self.find(text)

    def paste(self, text: str) -> bool:
        """Insert pasted text into the find bar. Return False if the bar does not have focus."""
        if self._typed is None:
            return False
        self._type(self._typed + safe_line(text))
        return True

    def close(self) -> None:
        """Close the find bar after the pane lost focus."""
        self._typed = None
        self._find_bar_changed()

    # Painting

    def with_matches(self, strip: Strip, unit_index: int, number: int) -> Strip:
        """Return the strip of a line with highlighted matches."""
        styles, margin = self.viewport.text_styles, self.viewport.contents.margin_of(unit_index)
        spans: list[tuple[int, int, Style]] = []
        found = self._match_spans(unit_index)  # Sorted by line, so that the matches of one line are found by bisection.
        for at in range(bisect_left(found, number, key=attrgetter("line")), len(found)):
            if (mark := found[at]).line != number:
                break
            style = styles.hit_now if (unit_index, mark.nth) == self._current else styles.hit
            spans.append((mark.start + margin, mark.end + margin, style))
        return restyle(strip, spans)

    def _update_rows(self) -> None:
        self.viewport.bar_rows = 1 if self.needle or self._typed is not None else 0

    def bar_row(self) -> tuple[int, Strip] | None:
        """Return the row number and the strip of the find bar. None if the bar is closed."""
        if not self.viewport.bar_rows:
            return None
        if self._typed is None:
            parts = [self.search_status, *(("n next", "N previous") if self.matches else ()), "esc"]
        else:
            parts = [self.search_status if self._typed else "type the text to find"]
            parts += ["enter done", "esc cancel"] if self._typed else ["esc cancel"]
        text, is_typing, viewport = self._typed or self.needle, self._typed is not None, self.viewport
        strip = bottom_line(
            viewport.text_styles, viewport.base_style, viewport.pane_width, "/", text, *parts, typing=is_typing
        )
        return viewport.widget.size.height - 1, strip


FIND: Commands[FindBar] = Commands(
    "page",
    (
        Command("filter", "slash", "Find", "Find text on this page", takes_text=True, run=lambda _, find_bar: find_bar.begin(), key_display="/"),
        Command("next_hit", "n", "Next match", "Go to the next match", run=lambda _, find_bar: find_bar.step(1), why_not=_why_no_match, shown=False),
        Command("prev_hit", "N", "Previous match", "Go to the previous match", run=lambda _, find_bar: find_bar.step(-1), why_not=_why_no_match, shown=False),
    ),
    find=lambda view: view.find_bar,
)  # fmt: skip
