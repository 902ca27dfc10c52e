"""Find in page (`FindBar`). Also text that is selected with the mouse, and copying this text (`TextSelection`)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from rich.style import Style
from textual.actions import SkipAction
from textual.events import Key
from textual.screen import Screen
from textual.selection import SELECT_ALL, Selection
from textual.strip import Strip

from octavo.api.safety import safe_line
from octavo.tui.core.external_links import MAX_COPIED_BYTES, is_too_long_to_copy
from octavo.tui.reader.block_cursor import BlockCursor
from octavo.tui.reader.reading_position import START, LinePosition
from octavo.tui.reader.viewport import PanePart, Viewport, app_of, explain
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.painting import (
    MAX_MATCHES,
    BlockTextFinder,
    Match,
    MatchSpan,
    bottom_line,
    match_spans,
    restyle,
    text_between,
)
from octavo.tui.render.styled_lines import Line, cells
from octavo.tui.widgets.commands import Command, Commands

FIRST_SEARCH_SECONDS = 0.012
"""Seconds for which a new search runs at once. After that, the search continues between key presses."""


def _why_no_match(_: object, find_bar: FindBar) -> str | None:
    if not find_bar.needle:
        return "You have not searched yet. Press / to find text."
    if find_bar.matches or find_bar.is_text_loading:
        return None
    return f"No matches for “{find_bar.needle}” on this page."


class FindBar(PanePart):
    """Find in page. The find bar is the last row of the pane."""

    def __init__(self, viewport: Viewport, cursor: BlockCursor) -> None:
        super().__init__(viewport)
        self.cursor = cursor
        self._typed_text: str | None = None
        """Text in the find bar while the user types. None if the bar does not have the focus."""
        self._spans: dict[int, tuple[list[Line], list[MatchSpan]]] = {}
        """By chunk index: the lines of the chunk, and the cells that show matches."""
        self._text_finder: BlockTextFinder | None = None
        self._top_before = START
        """First visible line when the find bar was opened. Canceling the search scrolls back to this line."""
        self._selected_before_search = cursor.selected
        self._highlighted_match = (-1, -1)
        """Chunk index of the match that is highlighted as selected, and its number in the chunk. -1 stands for none."""
        self._end_search()

    def _end_search(self) -> None:
        self.needle = ""
        self.matches: Sequence[Match] = ()
        """Matches that the search has found so far."""
        self._selected_match: Match | None = None
        self._search: Iterator[Match | None] | None = None
        """Iterator that continues the search. None if the search is complete."""
        self._reserve_rows()
        self._goes_to_first_match = False
        """True while the search must still scroll to its first match."""
        self._delayed_steps = 0
        """Number of matches to go forward when the page is parsed. Negative to go back."""
        self._top_at_delay = START
        """First visible line when `_delayed_steps` was set. If the user has scrolled since, the steps are dropped."""

    def page_changed(self, *, was_loading_shown: bool = False) -> None:
        """End the search because another page is shown. Search the new page for the same text if the user is typing it
        in the find bar, or if `was_loading_shown`: the text was then typed while the new page was loading."""
        needle = self.needle if was_loading_shown or self._typed_text is not None else ""
        self._end_search()
        self._top_before, self._selected_before_search = START, None
        self._text_finder, self._spans = None, {}
        self.needle, self._goes_to_first_match = needle, bool(needle)
        self._reserve_rows()

    @property
    def search_status(self) -> str:
        """Result of the search, such as `3 of 12` or `10000+ found`. Empty if the user does not search."""
        if not self.needle:
            return ""
        is_complete = self._search is None and not self.is_text_loading
        note = "" if is_complete else " so far"
        if is_complete and (left_out := self.viewport.contents.unsearched_part):
            note = f", {left_out} not searched"
        if not self.matches:
            return f"no matches{note}" if is_complete else "searching"
        count = f"{len(self.matches)}{'+' if len(self.matches) >= MAX_MATCHES else ''}"
        if self._selected_match not in self.matches:
            return f"{count} found{note}"
        return f"{self.matches.index(self._selected_match) + 1} of {count}{note}"

    @property
    def is_text_loading(self) -> bool:
        """True if some text of the page is not loaded or not parsed yet, so that matches may be missing."""
        contents = self.viewport.contents
        return contents.has_more_to_search or not contents.is_fully_parsed or self.viewport.widget.is_waiting_for_lines

    def open(self) -> None:
        """Open the find bar, and let the user type."""
        self._typed_text = ""
        self._top_before, self._selected_before_search = self.viewport.top, self.cursor.selected
        self._find_bar_changed()

    def find(self, needle: str) -> None:
        """Search for `needle`, highlight its matches, and go to the first match below the position at which the user
        started the search. A blank `needle` ends the search."""
        self.needle = needle
        self._spans = {}
        self.matches, self._selected_match, self._search, self._delayed_steps = (), None, None, 0
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
        end_time, known_count = time.thread_time() + seconds, len(self.matches)
        search, matches = self._search, list(self.matches)
        while search is not None:
            for match in search:
                if match is None:
                    break
                matches.append(match)
            else:
                search = None
            if time.thread_time() >= end_time:
                break
        self.matches, self._search = matches, search
        if self._goes_to_first_match:
            self._go_to_first_match(known_count)
        if search is None and self._delayed_steps and not self.is_text_loading:
            steps, self._delayed_steps = self._delayed_steps, 0
            if self.viewport.top == self._top_at_delay:
                self.step(steps)

    def _go_to_first_match(self, known_count: int) -> None:
        """Go to the first match below the place where the search started. If there is none, go to the first match of
        the page. The first `known_count` matches were considered before."""
        start_chunk_index = self._top_before.chunk_index
        match_to_select = next(
            (match for match in self.matches[known_count:] if match.chunk_index >= start_chunk_index), None
        )
        is_complete = self._search is None and not self.viewport.contents.has_more_to_search
        if match_to_select is None and is_complete:
            match_to_select = next(iter(self.matches), None)
        if match_to_select is not None or (is_complete and len(self.viewport.virtual_lines)):
            self._goes_to_first_match = False
        if match_to_select is not None:
            self._selected_match = match_to_select
            self._go_to_match(match_to_select)

    @property
    def has_work(self) -> bool:
        """True if the search is not complete yet."""
        return self._search is not None

    def work_for(self, seconds: float) -> None:
        """Continue the search for about `seconds`, and highlight the new matches."""
        self._continue_search(seconds)
        if self._search is None and self._selected_match is not None and self._selected_match not in self.matches:
            self._selected_match = None
        self.viewport.repaint()
        self.viewport.notify_moved()

    def step(self, step: int) -> None:
        """Select the match `step` matches further, or back if negative. After the last match comes the first. If there
        may be further matches in text that is not parsed yet, wait for this text."""
        self._goes_to_first_match = False
        if self.viewport.top != self._top_at_delay:
            self._delayed_steps = 0
        default_index = -1 if step > 0 else 0  # Without a selected match, go to the first or last match.
        index = self.matches.index(self._selected_match) if self._selected_match in self.matches else default_index
        is_last = step > 0 and index == len(self.matches) - 1
        if self._delayed_steps or (self.is_text_loading and (is_last or not self.matches)):
            self._delayed_steps, self._top_at_delay = self._delayed_steps + step, self.viewport.top
        elif self.matches:
            self._selected_match = self.matches[(index + step) % len(self.matches)]
            self._go_to_match(self._selected_match)

    def _go_to_match(self, match: Match) -> None:
        self.viewport.contents.expand_to(match)
        lines = self.viewport.virtual_lines.lines(match.chunk_index)
        line, spans = self._line_and_spans_of(match, lines)
        match_number = spans[0].match_number if spans else -1
        block = self.viewport.contents.block_at(lines[line], spans[0].start if spans else 0) if lines else None
        if block is not None:
            self.cursor.selected = (match.chunk_index, block)
        rows, position = self.viewport.row_count, LinePosition(match.chunk_index, line)
        if not 1 <= self.viewport.row_of(position) < rows - 2:
            self.viewport.show_in_row(position, rows // 3)
        if pan := next((span.pan for span in spans if span.pan), 0):
            beyond = self.viewport.pane_width // 6
            self.cursor.pan(pan + (beyond if pan > 0 else -beyond))
        self._highlighted_match = (match.chunk_index, match_number)
        self.viewport.repaint()
        self.viewport.notify_moved()

    def _line_and_spans_of(self, match: Match, lines: Sequence[Line]) -> tuple[int, list[MatchSpan]]:
        """Return the line of a match, counted from the start of its chunk, and the cells that show the match. If the
        match is not visible, return the first line of its table row, or 0 outside of tables, and no cells."""
        matches = self.viewport.contents.visible_matches(
            [each for each in self.matches if each.chunk_index == match.chunk_index]
        )
        spans, first_line = self._match_spans(match.chunk_index), 0
        row = next((whole_block(each) for each in match.path if each.kind == "row"), None)
        row_lines = [number for number, line in enumerate(lines) if row is not None and line.block is row]
        if row_lines:
            first_line, last_line = row_lines[0], row_lines[-1]
            matches = [each for each in matches if any(whole_block(block) is row for block in each.path)]
            spans = [each for each in spans if first_line <= each.line <= last_line]
        shown_numbers = list(dict.fromkeys(span.match_number for span in spans))
        if not shown_numbers:
            return first_line, []
        match_number = shown_numbers[min(matches.index(match) if match in matches else 0, len(shown_numbers) - 1)]
        spans_of_match = [span for span in spans if span.match_number == match_number]
        return spans_of_match[0].line, spans_of_match

    def _match_spans(self, chunk_index: int) -> list[MatchSpan]:
        lines = self.viewport.virtual_lines.lines(chunk_index)
        searched_lines, spans = self._spans.get(chunk_index, (None, []))
        if searched_lines is not lines:
            spans = match_spans(lines, self.needle)
            self._spans[chunk_index] = lines, spans
        return spans

    @property
    def match_chunk_index(self) -> int:
        """Index of the chunk that contains the selected match. -1 if no match is selected."""
        return self._selected_match.chunk_index if self._selected_match is not None else -1

    def content_changed(self, *, match_chunk_index: int = -1) -> None:
        """Search again, because the page has changed. `match_chunk_index` is the new index of the chunk with the
        selected match. If the index is -1, the chunk is found by the key of the block."""
        if (match := self._selected_match) is not None:
            if match_chunk_index < 0:
                match_chunk_index = self.viewport.contents.find_chunk_index(match.chunk_index, match.path[0].key)
            self._selected_match = match._replace(chunk_index=match_chunk_index)
            self._highlighted_match = match_chunk_index, self._highlighted_match[1]
        self._text_finder = None
        self._spans = {}
        if self.needle:
            self._restart_search()
            if self._search is None and self._selected_match not in self.matches:
                self._selected_match = None

    def lines_changed(self) -> None:
        self._spans = {}  # Frees the old lines.

    def _find_bar_changed(self) -> None:
        self._reserve_rows()
        self.viewport.update_scroll_bar()
        self.viewport.repaint()
        if self.viewport.widget.is_running:
            self.viewport.widget.refresh_bindings()

    @property
    def typing_keys(self) -> tuple[tuple[str, str], ...]:
        """Keys and labels for the key bar while the user types in the find bar. Empty otherwise."""
        if self._typed_text is None:
            return ()
        steps = (("enter", "done"), ("down", "next match"), ("up", "previous match")) if self._typed_text else ()
        return (*steps, ("escape", "cancel"))

    def press(self, event: Key) -> bool:
        """Handle a key. Return False if the find bar does not use the key."""
        if self._typed_text is not None:
            self._handle_typing_key(event, self._typed_text)
        elif event.key == "escape" and self.needle:
            self.find("")
        else:
            return False
        return True

    def _handle_typing_key(self, event: Key, text: str) -> None:
        match event.key:
            case "enter" | "escape":
                self._typed_text = None
                if event.key == "escape" or not text:
                    self.find("")
                    self.viewport.go_to(self._top_before)
                    self.cursor.selected = self._selected_before_search
                    self.viewport.notify_moved()
                self._find_bar_changed()
            case "down" | "ctrl+n":
                self.step(1)
            case "up" | "ctrl+p":
                self.step(-1)
            case "backspace":
                self._set_typed(text[:-1])
            case "ctrl+u":
                self._set_typed("")
            case _ if event.character and event.is_printable:
                self._set_typed(text + event.character)

    def _set_typed(self, text: str) -> None:
        self._typed_text = text
        self.find(text)

    def paste(self, text: str) -> bool:
        """Insert pasted text into the find bar. Return False if the user is not typing there."""
        if self._typed_text is None:
            return False
        self._set_typed(self._typed_text + safe_line(text))
        return True

    def close(self) -> None:
        """Leave the find bar. The matches stay highlighted."""
        self._typed_text = None
        self._find_bar_changed()

    def with_matches(self, strip: Strip, chunk_index: int, number: int) -> Strip:
        """Return the strip of line `number` of a chunk, with the matches highlighted."""
        styles, margin = self.viewport.text_styles, self.viewport.contents.margin_of(chunk_index)
        spans: list[tuple[int, int, Style]] = []
        for match in self._match_spans(chunk_index):
            if match.line == number:
                style = (
                    styles.current_match
                    if (chunk_index, match.match_number) == self._highlighted_match
                    else styles.match
                )
                spans.append((match.start + margin, match.end + margin, style))
        return restyle(strip, spans)

    def _reserve_rows(self) -> None:
        self.viewport.bar_rows = 1 if self.needle or self._typed_text is not None else 0

    def bar_row(self) -> tuple[int, Strip] | None:
        """Return the row of the pane that shows the find bar, and its strip. None if the find bar is not shown."""
        if not self.viewport.bar_rows:
            return None
        if self._typed_text is None:
            parts = [self.search_status, *(("n next", "N previous") if self.matches else ()), "esc"]
        else:
            parts = [self.search_status if self._typed_text else "type the text to find"]
            parts += ["enter done", "esc cancel"] if self._typed_text else ["esc cancel"]
        text, is_typing, viewport = self._typed_text or self.needle, self._typed_text is not None, self.viewport
        strip = bottom_line(
            viewport.text_styles, viewport.base_style, viewport.pane_width, "/", text, *parts, is_typing=is_typing
        )
        return viewport.widget.size.height - 1, strip


FIND_COMMANDS: Commands[FindBar] = Commands(
    "page",
    (
        Command("filter", "slash", "Find", "Find text on this page", takes_text=True, run=lambda _, find_bar: find_bar.open(), key_display="/"),
        Command("next_hit", "n", "Next match", "Go to the next match", run=lambda _, find_bar: find_bar.step(1), why_not=_why_no_match, shown=False),
        Command("prev_hit", "N", "Previous match", "Go to the previous match", run=lambda _, find_bar: find_bar.step(-1), why_not=_why_no_match, shown=False),
    ),
    find_target=lambda view: view.find_bar,
)  # fmt: skip


class CopyPending(SkipAction):
    """Raised if the selected text is not loaded yet and will be copied later."""


class DelayedCopyScreen(Screen[None]):
    """Screen on which you can copy a selection that is not loaded yet. The pane copies it when it is loaded."""

    def action_copy_text(self) -> None:
        with suppress(CopyPending):  # The pane has told the user that the text is copied later.
            super().action_copy_text()


class TextSelection(PanePart):
    """The text in a pane that the user selected with the mouse."""

    def __init__(self, viewport: Viewport) -> None:
        super().__init__(viewport)
        self._waiting: Selection | None = None
        """Selection to copy when the page is parsed. None if no selection waits."""

    def lines_changed(self) -> None:
        widget = self.viewport.widget
        if widget.is_running and widget.text_selection not in (None, SELECT_ALL):
            widget.screen.clear_selection()  # The selected line numbers now belong to other text.

    def with_selection(self, strips: list[Strip], line: int) -> list[Strip]:
        """Return `strips` with the selected text highlighted. `line` is the line number of the first strip."""
        selection = self.viewport.widget.text_selection
        if selection is None:
            return strips
        style = self.viewport.widget.screen.get_component_rich_style("screen--selection")
        return [_highlight(strip, selection, y, style) for y, strip in enumerate(strips, line)]

    def selected_text(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text and a line break, in the form that Textual expects. None if the pane has no lines.
        If the selection continues in text that is not parsed yet, raise CopyPending and copy the text later."""
        text, is_complete = self._collect(selection)
        if is_complete or self.viewport.contents.is_fully_parsed:
            self._waiting = None
            return (text, "\n") if len(self.viewport.virtual_lines) else None
        self._waiting = selection
        explain(self.viewport.widget, "Octavo will copy the selection when it is fully loaded.")
        raise CopyPending

    def _collect(self, selection: Selection) -> tuple[str, bool]:
        """Return the selected text in the lines, or as much as the clipboard can hold. The second value is False if the
        selection may continue in text that has no lines yet."""
        (start, end), virtual_lines = selection, self.viewport.virtual_lines
        first_index, first_line = virtual_lines.chunk_at(start.y) if start is not None else (0, 0)
        last_index, last_line = virtual_lines.chunk_at(end.y) if end is not None else (len(virtual_lines) - 1, 0)
        texts: list[str] = []
        size = 0
        for index in range(first_index, last_index + 1) if len(virtual_lines) else ():
            text_start = (0, start.x) if start is not None and index == first_index else None
            is_last = end is not None and index == last_index
            lines = virtual_lines.lines(index)[first_line if text_start else 0 : last_line + 1 if is_last else None]
            text_end = (len(lines) - 1, end.x) if end is not None and is_last else None
            if lines:
                texts.append(text_between(lines, self.viewport.contents.margin_of(index), text_start, text_end))
                size += len(texts[-1])
            if size > MAX_COPIED_BYTES:
                return "\n".join(texts), True
        return "\n".join(texts), end is not None

    def cancel_copy(self) -> None:
        """Cancel a copy that waits, and tell the user that nothing was copied."""
        if self._waiting is not None:
            self._waiting = None
            explain(self.viewport.widget, "Nothing was copied: you left the page before the selection was loaded.")

    @property
    def has_work(self) -> bool:
        """True if a copy waits and can be made now, because the page is parsed."""
        return self._waiting is not None and self.viewport.contents.is_fully_parsed

    def work_for(self, seconds: float) -> None:
        """Copy the selection that waits, unless the user has changed it."""
        selection, self._waiting = self._waiting, None
        if selection is not None and selection == self.viewport.widget.text_selection:
            self.viewport.widget.screen.action_copy_text()
            if not is_too_long_to_copy(self._collect(selection)[0]):
                app_of(self.viewport.widget).say("Copied the selection.")


def _highlight(strip: Strip, selection: Selection, y: int, style: Style) -> Strip:
    if (span := selection.get_span(y)) is None:
        return strip
    text = strip.text
    start, end = cells(text[: span[0]]), cells(text if span[1] == -1 else text[: span[1]])
    return restyle(strip, [(start, end, style)])
