"""Where one writes: a line and a text, both without a frame, into which nothing harmful can be pasted."""

from __future__ import annotations

from textual.content import Content
from textual.events import Paste
from textual.geometry import Offset, Size
from textual.strip import Strip
from textual.widgets import Input, TextArea
from textual.widgets.text_area import DocumentNavigator, EditResult, Location

from octavo.api.safety import address as safe_whole
from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.tui.widgets.long_text import LongText, WrappedRows
from octavo.tui.widgets.scrolling import Scrolling

MOST = 20_000
"""Characters of a line: more than any that is sent has, and few enough to be drawn with each key."""
SEARCHED = 20_000
"""Characters of a text that is looked through with each key."""


class LineInput(Input, Scrolling):
    """One line to write in. It holds what is longer than lines are shown: who changes an address sends all of it."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus {
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(safe_whole(value[:MOST]), placeholder=safe_line(placeholder), id=id)
        self._whole_placeholder = self.placeholder
        self.cursor_blink = False

    def on_resize(self) -> None:
        """Where what it is for does not fit, it is seen that it goes on."""
        words = Content(self._whole_placeholder)
        self.placeholder = words.truncate(self.content_size.width, ellipsis=True).plain

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self._put(event.text)

    def action_paste(self) -> None:
        self._put(self.app.clipboard)

    def _put(self, text: str) -> None:
        """In place of what is selected, as pasting does everywhere."""
        self.replace(_first_line(text), *self.selection)


class TextEditor(TextArea):
    """Several lines to write in, wrapped at words: also a megabyte of them, or one of a megabyte."""

    DEFAULT_CSS = """
    TextEditor, TextEditor:focus {
        border: none;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        scrollbar-size-vertical: 1;
        & .text-area--placeholder { color: $octavo-muted; }
        & .text-area--cursor-line { background: transparent; }
    }
    """

    def __init__(self, text: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(
            placeholder=Content(safe_text(placeholder)),  # no markup, and examples of YAML have several lines
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            id=id,
        )
        self.cursor_blink = False
        self.document = LongText(safe_text(text))
        self.wrapped_document = rows = WrappedRows(self.document)  # type: ignore[assignment]  # has its public methods
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.virtual_size = Size(0, rows.height)

    def load_text(self, text: str) -> None:
        """Replace the whole text. The edits before cannot be undone: Textual would replace the document, too."""
        self.replace(text, self.document.start, self.document.end, maintain_selection_offset=False)
        self.move_cursor((0, 0))
        self.history.clear()

    def render_line(self, y: int) -> Strip:
        # In two columns, which are padding, Textual wraps the placeholder to no width and raises ValueError.
        return super().render_line(y) if self.content_size.width else Strip([])

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self._put(event.text)

    def action_paste(self) -> None:
        self._put(self.app.clipboard)

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        """Where there is nothing between them but a cut in a long line, what lies beyond it: that is not seen."""
        on = self.navigator
        while start != end and not self.get_text_range(start, end):
            first, last = sorted((start, end))
            if last[0] >= self.document.line_count:
                break  # the last line, which has no end
            wider = (
                (first, on.get_location_right(last))
                if self.cursor_location == first
                else (on.get_location_left(first), last)
            )
            if wider == (first, last):
                break  # nothing lies beyond
            start, end = wider
        return super().delete(start, end, maintain_selection_offset=maintain_selection_offset)

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """Only in what is not too long to be looked through with each key."""
        return super().find_matching_bracket(bracket, search_from) if len(self.text) <= SEARCHED else None

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Not while the cursor is below the last line: Textual takes lines away, and with them the scroll bar, before it
        moves the cursor to where they were, and looks for it then."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def _put(self, text: str) -> None:
        """In place of what is selected, as pasting does everywhere."""
        put = self.replace(safe_text(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(put.end_location)


def _first_line(text: str) -> str:
    """The first line of pasted text, fit for a line of input."""
    lines = text.strip()[:MOST].splitlines()  # of a megabyte all would take long
    return safe_whole(lines[0]) if lines else ""
