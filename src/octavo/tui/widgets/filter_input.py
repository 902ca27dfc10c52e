"""The filter line above a list, which starts with `/`. The list shows the matches while the user types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.text_inputs import LineInput
from octavo.tui.widgets.text_widgets import ChangingText


def _keep(app: App[Any], line: FilterInput) -> None:
    line.keep()


FILTER: Commands[FilterInput] = Commands(
    "filter",
    (
        Command("keep", "enter", "Apply", "Apply the filter and go to the list", run=_keep),
        Command("leave", "escape", "Clear", "Clear the filter, or close an empty filter line", run=lambda _, line: line.leave()),
        Command("to_list", "down", "Go to list", "Go to the list", run=_keep, shown=False),
    ),
    find=lambda line: line,
)  # fmt: skip


class FilterInput(LineInput):
    """An input without a border. Enter keeps the filter. Esc clears the text, or leaves the empty line."""

    CONTEXT: ClassVar[str] = "filter line"
    DEFAULT_CSS = """
    FilterInput, FilterInput:focus {
        height: 1;
        border: none;
        padding: 0;
        background: transparent;
        background-tint: transparent;
        color: $foreground;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (FILTER,)

    class Finished(Message):
        """The user left the filter line with enter, down or esc. `closed` is set if the line was empty."""

        def __init__(self, *, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    def keep(self) -> None:
        """Keep the filter, and return to the list."""
        self.post_message(self.Finished(closed=not self.value))

    def leave(self) -> None:
        """Clear the text, or leave the line if it is empty."""
        if self.value:
            self.clear()
        else:
            self.post_message(self.Finished(closed=True))


class FilterLine(Widget):
    """The filter input of one list, with `/` before it and the number of matches at its end."""

    DEFAULT_CSS = """
    FilterLine {
        layout: horizontal;  /* whatever a screen says of its own panes */
        height: 1;
        width: 1fr;
        background: $background;
        display: none;
        & > .filter--sign { width: 3; color: $primary; padding: 0 0 0 1; }
        & > FilterInput { width: 1fr; }
        & > .filter--count { width: auto; color: $octavo-muted; padding: 0 1; }
    }
    """

    def __init__(self, apply: Callable[[str], None], leave: Callable[[bool], None]) -> None:
        """`apply` gets the filter after each key press. `leave` is called at the end, with True to keep the filter."""
        super().__init__()
        self._apply, self._leave = apply, leave
        self._matches = ""
        self._input = FilterInput()
        self._input.can_focus = False  # A hidden line must not take the first focus; `open` allows it.

    def compose(self) -> ComposeResult:
        yield Static(Content("/"), classes="filter--sign")
        yield self._input
        yield ChangingText(classes="filter--count")

    def open(self, focus: bool = True) -> None:
        """Show the line and by default focus it."""
        self.display = True
        self._input.can_focus = True
        if focus:
            self._input.focus()

    def close(self) -> None:
        """Hide the line."""
        self.display = False
        self._input.can_focus = False

    def show_filter(self, query: str, matches: str) -> None:
        """Show the current filter and the number of matches."""
        if query != self._input.value:
            self._input.value = query
        if query:
            self.open(focus=False)
        elif not self._input.has_focus:
            self.close()
        self._matches = matches if query else ""
        self._show_count()

    def on_resize(self) -> None:
        self._show_count()

    def _show_count(self) -> None:
        """Show the number of matches in the longest form that leaves room for the typed text."""
        free_width = self.size.width - 3 - cell_len(self._input.value) - 1 - 2
        match_count, _, total = self._matches.removesuffix(" shown").partition(" of ")
        texts = (self._matches, f"{match_count} shown", f"{match_count}/{total}") if total else (self._matches,)
        text = next((each for each in texts if len(each) <= free_width), "")
        for count in self.query(".filter--count").results(ChangingText):
            count.update(Content(text))
            count.display = bool(text)

    @on(Input.Changed)
    def _apply_typed(self, message: Input.Changed) -> None:
        message.stop()
        # The message may be older than the current text. Its text would be written back into the input.
        self._apply(self._input.value)

    @on(FilterInput.Finished)
    def _finish(self, message: FilterInput.Finished) -> None:
        message.stop()
        if message.closed:
            self.close()
        self._leave(not message.closed)
