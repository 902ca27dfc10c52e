"""Text selected with the mouse, copied without borders and bullets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress

from rich.style import Style
from textual.actions import SkipAction
from textual.message import Message
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip

from octavo.tui.core.external_links import COPIED_BYTES
from octavo.tui.reader.reading_position import Lines
from octavo.tui.reader.viewport import PanePart, Viewport, explain
from octavo.tui.render.painting import restyle, text_between
from octavo.tui.render.styled_lines import cells

FIRST_COLLECT_SECONDS = 0.015
"""Seconds in which selected text is copied immediately. Longer text is collected between keys."""


class CopyPending(SkipAction):
    """The selected text is not collected yet. It is copied later."""


class CopiesWhenReady(Screen[None]):
    """Screen whose panes may need time to collect selected text. The text is copied once it is complete."""

    def action_copy_text(self) -> None:
        with suppress(CopyPending):  # The pane notifies the user.
            super().action_copy_text()


class SelectionCollector:
    """Collects the text of a selection."""

    def __init__(self, selection: Selection, virtual_lines: Lines) -> None:
        self.selection, self.virtual_lines = selection, virtual_lines
        start, end = selection
        self._first, at = virtual_lines.at(start.y) if start is not None else (0, 0)
        self._start = (at, start.x) if start is not None else None
        last, at = virtual_lines.at(end.y) if end is not None else (None, 0)
        self._last = math.inf if last is None else last
        self._end = (at, end.x) if end is not None else None
        self._next = self._first
        self._texts: list[str] = []
        self._size = 0

    @property
    def text(self) -> str:
        return "\n".join(self._texts)

    def collect(self, margin_of: Callable[[int], int], seconds: float) -> bool:
        """Collect text for a number of seconds. Return True when there is nothing more to collect: the selection ends,
        there are no more lines, or the clipboard takes no more text."""
        until, virtual_lines = time.perf_counter() + seconds, self.virtual_lines
        # The clipboard takes no more than COPIED_BYTES.
        while self._next < len(virtual_lines) and self._next <= self._last and self._size <= COPIED_BYTES:
            unit, self._next = self._next, self._next + 1
            start = self._start if unit == self._first else None
            end = self._end if unit == self._last else None
            if lines := virtual_lines.lines(unit)[: None if end is None else end[0] + 1]:
                lines = lines[0 if start is None else start[0] :]
                start, end = start and (0, start[1]), end and (len(lines) - 1, end[1])
                self._texts.append(text_between(lines, margin_of(unit), start, end))
                self._size += len(self._texts[-1])
            if time.perf_counter() >= until:
                return False
        return True

    @property
    def needs_more(self) -> bool:
        """True if the selection continues below the last existing line."""
        return self._last >= len(self.virtual_lines) and self._size <= COPIED_BYTES


class TextCopied(Message):
    """Text was copied to the clipboard. `content_kind` says what was copied, for example “code” or “paragraph”."""

    def __init__(self, text: str, content_kind: str) -> None:
        super().__init__()
        self.text = text
        self.content_kind = content_kind


class TextSelection(PanePart):
    """Selected text of a pane."""

    def __init__(self, viewport: Viewport) -> None:
        super().__init__(viewport)
        self._collector: SelectionCollector | None = None

    def with_selection(self, strips: list[Strip], line: int) -> list[Strip]:
        """Return strips with the selected text highlighted. `line` is the line number of the first strip."""
        selection = self.viewport.widget.text_selection
        if selection is None:
            return strips
        style = self.viewport.widget.screen.get_component_rich_style("screen--selection")
        return [_highlight(strip, selection, y, style) for y, strip in enumerate(strips, line)]

    def selected_text(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text and a line end, as Textual expects. None if the pane has no lines.
        Raise CopyPending if collecting the text takes long: then the text is copied later."""
        seconds = FIRST_COLLECT_SECONDS if isinstance(self.viewport.widget.screen, CopiesWhenReady) else math.inf
        if self._collect(selection, seconds):
            collector, self._collector = self._collector, None
            return (collector.text, "\n") if collector is not None and len(self.viewport.virtual_lines) else None
        explain(self.viewport.widget, "Octavo will copy the selection when it is fully loaded.")
        self.viewport.continue_work()
        raise CopyPending

    def _collect(self, selection: Selection, seconds: float) -> bool:
        """Collect selected text for a number of seconds. Return True once it is complete."""
        collector, contents = self._collector, self.viewport.contents
        if (
            collector is None
            or collector.selection != selection
            or collector.virtual_lines is not self.viewport.virtual_lines
        ):
            collector = self._collector = SelectionCollector(selection, self.viewport.virtual_lines)
        done = collector.collect(contents.margin_of, seconds)
        return done and (contents.is_fully_parsed or not collector.needs_more)

    def cancel_copy(self) -> None:
        """Cancel a copy that is not complete when the user leaves the page."""
        if self._collector is not None:
            self._collector = None
            explain(self.viewport.widget, "Nothing was copied: you left the page before the selection was loaded.")

    @property
    def has_work(self) -> bool:
        """True while selected text of a complete page is collected for a copy."""
        return self._collector is not None and self.viewport.contents.is_fully_parsed

    def work(self, seconds: float) -> None:
        """Collect selected text for a number of seconds, and copy it once it is complete."""
        selection = self.viewport.widget.text_selection
        if self._collector is None or selection != self._collector.selection:
            self._collector = None  # The user has selected other text, or none.
        elif self._collect(selection, seconds):
            text = self._collector.text
            self.viewport.widget.screen.action_copy_text()
            if len(text.encode("utf-8", "replace")) <= COPIED_BYTES:
                self.viewport.widget.post_message(TextCopied(text, "selection"))


def _highlight(strip: Strip, selection: Selection, y: int, style: Style) -> Strip:
    if (span := selection.get_span(y)) is None:
        return strip
    text = strip.text
    start, end = cells(text[: span[0]]), cells(text if span[1] == -1 else text[: span[1]])
    return restyle(strip, [(start, end, style)])
