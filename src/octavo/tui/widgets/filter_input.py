"""The `/` line above a list: it shows what matches as one types."""

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

from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.text_inputs import LineInput


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


class FilterInput(HasCommands, LineInput):
    """A line without a frame. Esc empties it, then leaves; enter keeps the filter."""

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

    class Left(Message):
        """The line is done with: enter, down, or esc in an empty line (`closed`)."""

        def __init__(self, *, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    def keep(self) -> None:
        """Keep the filter, and go to the list."""
        self.post_message(self.Left(closed=not self.value))

    def leave(self) -> None:
        """Empty the line; leave it when it is empty."""
        if self.value:
            self.clear()
        else:
            self.post_message(self.Left(closed=True))


class FilterLine(Widget):
    """The line with its `/`, and at its end how many match. It belongs to one list, above which it stands."""

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

    def __init__(self, use: Callable[[str], None], leave: Callable[[bool], None]) -> None:
        """`use` is called with each filter that is typed, `leave` when the line is done with: is its filter kept?"""
        super().__init__()
        self._use, self._leave = use, leave
        self._matches = ""
        self._input = FilterInput()
        self._input.can_focus = False  # until it is opened: a hidden line must not take the first focus

    def compose(self) -> ComposeResult:
        yield Static(Content("/"), classes="filter--sign")
        yield self._input
        yield ChangingText(classes="filter--count")

    def open(self, focus: bool = True) -> None:
        """Show the line, to type in it."""
        self.display = True
        self._input.can_focus = True
        if focus:
            self._input.focus()

    def close(self) -> None:
        """Hide the line."""
        self.display = False
        self._input.can_focus = False

    def holds(self, query: str, matches: str) -> None:
        """Say which filter holds, and how many match it."""
        if query != self._input.value:
            self._input.value = query
        if query:
            self.open(focus=False)
        elif not self._input.has_focus:
            self.close()
        self._matches = matches if query else ""
        self._count()

    def on_resize(self) -> None:
        self._count()

    def _count(self) -> None:
        """Say how many are shown in as many words as leave room for what is typed."""
        room = self.size.width - 3 - cell_len(self._input.value) - 1 - 2
        shown, _, total = self._matches.removesuffix(" shown").partition(" of ")
        ways = (self._matches, f"{shown} shown", f"{shown}/{total}") if total else (self._matches,)
        said = next((each for each in ways if len(each) <= room), "")
        for count in self.query(".filter--count").results(ChangingText):
            count.update(Content(said))
            count.display = bool(said)

    @on(Input.Changed)
    def _type(self, message: Input.Changed) -> None:
        message.stop()
        # What was typed since this message counts too: a filter that is older than the line would be put back into it.
        self._use(self._input.value)

    @on(FilterInput.Left)
    def _done(self, message: FilterInput.Left) -> None:
        message.stop()
        if message.closed:
            self.close()
        self._leave(not message.closed)
