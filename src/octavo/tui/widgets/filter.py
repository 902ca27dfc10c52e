"""The `/` line above a list: it shows what matches as one types."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Paste
from textual.message import Message
from textual.widgets import Input, Static

from octavo.api.text import line as safe_line
from octavo.tui.widgets.lines import Lines


class FilterInput(Input):
    """A line without a frame. What is pasted is made safe. Esc empties it, then leaves; enter keeps the filter."""

    CONTEXT: ClassVar[str] = "filter line"
    DEFAULT_CSS = """
    FilterInput, FilterInput:focus {
        height: 1;
        border: none;
        padding: 0;
        background: transparent;
        color: $foreground;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Keep", tooltip="Keep the filter and go to the list", id="filter.keep"),
        Binding("escape", "leave", "Clear, then close", tooltip="Empty the line; when it is empty, close it", id="filter.leave"),
        Binding("down", "keep", "To the list", show=False, tooltip="Go to the list", id="filter.to_list"),
    ]  # fmt: skip

    class Left(Message):
        """The line is done with: enter, down, or esc in an empty line (`closed`)."""

        def __init__(self, *, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    def action_keep(self) -> None:
        self.post_message(self.Left(closed=not self.value))

    def action_leave(self) -> None:
        if self.value:
            self.clear()
        else:
            self.post_message(self.Left(closed=True))

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(cleaned(event.text))


def cleaned(text: str) -> str:
    """The first line of pasted text, fit for a line of input."""
    lines = text.strip().splitlines()
    return safe_line(lines[0]) if lines else ""


class Filterable(Vertical):
    """A list with a filter line above it that `/` opens, and how many match at its end."""

    DEFAULT_CSS = """
    Filterable {
        width: 1fr;
        height: 1fr;
        & > .filter--line {
            height: 1;
            layout: horizontal;
            display: none;
            background: $background;
            & > .filter--sign { width: 3; color: $primary; padding: 0 0 0 1; }
            & > FilterInput { width: 1fr; }
            & > .filter--count { width: auto; color: $octavo-muted; padding: 0 1; }
        }
        &.-filtering > .filter--line { display: block; }
        & > Lines { height: 1fr; }
    }
    """

    def __init__(
        self,
        lines: Lines,
        *,
        placeholder: str = "",
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.lines = lines
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        with Vertical(classes="filter--line"):
            yield Static(Content("/"), classes="filter--sign")
            line = FilterInput(placeholder=self._placeholder)
            line.can_focus = False  # until it is opened: a hidden line must not take the first focus
            yield line
            yield Static(classes="filter--count")
        yield self.lines

    @property
    def input(self) -> FilterInput:
        """The line one types in."""
        return self.query_one(FilterInput)

    def _shown(self, shown: bool) -> None:
        self.set_class(shown, "-filtering")
        self.input.can_focus = shown

    @on(Lines.FilterWanted)
    def _open(self, message: Lines.FilterWanted) -> None:
        message.stop()
        self._shown(True)
        self.input.focus()

    @on(Input.Changed)
    def _type(self, message: Input.Changed) -> None:
        message.stop()
        self.lines.set_filter(message.value)

    @on(Lines.Filtered)
    def _filtered(self, message: Lines.Filtered) -> None:
        if message.query != self.input.value:
            self.input.value = message.query
        if not message.query and not self.input.has_focus:
            self._shown(False)
        self.query_one(".filter--count", Static).update(Content(self.lines.loaded if message.query else ""))

    @on(FilterInput.Left)
    def _leave(self, message: FilterInput.Left) -> None:
        message.stop()
        if message.closed:
            self._shown(False)
        else:
            self.lines.stay()
        self.lines.focus()
