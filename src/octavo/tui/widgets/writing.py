"""Where one writes: a line and a text, both without a frame, into which nothing harmful can be pasted."""

from __future__ import annotations

from textual.events import Paste
from textual.widgets import Input, TextArea

from octavo.api.safety import line as safe_line
from octavo.api.safety import text as safe_text
from octavo.tui.widgets.filter import cleaned


class Line(Input):
    """One line to write in."""

    DEFAULT_CSS = """
    Line, Line:focus {
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        color: $foreground;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(safe_line(value), placeholder=safe_line(placeholder), id=id)
        self.cursor_blink = False

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(cleaned(event.text))


class Writing(TextArea):
    """Several lines to write in, wrapped at words."""

    DEFAULT_CSS = """
    Writing, Writing:focus {
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
            safe_text(text),
            placeholder=safe_line(placeholder),
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            id=id,
        )
        self.cursor_blink = False

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert(safe_text(event.text))
