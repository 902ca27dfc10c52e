"""Inputs for one line, longer texts, file paths and API keys. Also the line with the filter above a list."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from pydantic import SecretStr
from rich.cells import cell_len
from textual import on
from textual.actions import SkipAction
from textual.app import App, ComposeResult, RenderResult
from textual.content import Content
from textual.events import Key, Paste
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Location

from octavo.api.folding import fold
from octavo.api.safety import safe_address, safe_line, safe_text
from octavo.tui.terminal.textual_internals import wrap_lines
from octavo.tui.widgets.commands import Command, Commands, HasCommands
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.text_widgets import ChangingText, ScrollWidget

MAX_INPUT_LENGTH = 20_000
"""Maximum number of characters in an input of one line. Servers accept fewer."""
MAX_BRACKET_SEARCH = 20_000
"""Maximum number of characters of a text in which Textual searches for matching brackets."""


class LineInput(Input, ScrollWidget):
    """An input of one line. It keeps long texts such as URLs whole, up to `MAX_INPUT_LENGTH` characters."""

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
        super().__init__(safe_address(value[:MAX_INPUT_LENGTH]), placeholder=safe_line(placeholder), id=id)
        self._full_placeholder = self.placeholder
        self.cursor_blink = False

    def on_resize(self) -> None:
        """Cut the placeholder if it does not fit, and end it with “…”."""
        placeholder = Content(self._full_placeholder)
        self.placeholder = placeholder.truncate(self.content_size.width, ellipsis=True).plain

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self._paste(event.text)

    def action_paste(self) -> None:
        self._paste(self.app.clipboard)

    def _paste(self, text: str) -> None:
        self.replace(_one_line(text), *self.selection)


class TextEditor(TextArea):
    """An input with several lines, wrapped at words."""

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
            safe_text(text),
            placeholder=Content(safe_text(placeholder)),
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            id=id,
        )
        self.cursor_blink = False

    def fit_to_size(self) -> None:
        """Wrap the lines for the new width. Called in the layout, so that the first frame shows them."""
        wrap_lines(self)

    def load_text(self, text: str) -> None:
        super().load_text(safe_text(text))

    def render_line(self, y: int) -> Strip:
        # Without width, Textual wraps the placeholder to 0 columns and raises ValueError.
        return super().render_line(y) if self.content_size.width else Strip([])

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        if not self.read_only:
            event.stop()
            self._paste(event.text)

    def action_paste(self) -> None:
        if not self.read_only:
            self._paste(self.app.clipboard)

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """Return the location of the matching bracket. None if there is none, or if the text is too long to search."""
        return super().find_matching_bracket(bracket, search_from) if len(self.text) <= MAX_BRACKET_SEARCH else None

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll until the cursor is visible. Do nothing while a deletion leaves the cursor outside the text."""
        if self.cursor_location[0] >= self.document.line_count:
            return Offset()
        return super().scroll_cursor_visible(center, animate)

    def _paste(self, text: str) -> None:
        result = self.replace(safe_text(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)


def _one_line(text: str) -> str:
    return safe_address(" ".join(text.strip()[:MAX_INPUT_LENGTH].splitlines()))


MAX_ENTRIES = 5000
"""Maximum number of files and folders that are read from one folder."""


class PathInput(LineInput):
    """An input that suggests how to complete a file path. It also accepts other texts, such as a URL."""

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(value, placeholder=placeholder, id=id)
        self.suggester = PathSuggester()
        # After the path of a folder, the user types a name, so the path must not be selected.
        self.select_on_focus = not value.endswith("/")

    def on_key(self, event: Key) -> None:
        if event.key == "tab" and self.cursor_position == len(self.value):
            typed_path = self.value
            self.action_cursor_right()  # At the end of the text, this action accepts the suggestion.
            if self.value != typed_path:
                event.stop()
                event.prevent_default()


class PathSuggester(Suggester):
    """Suggests the name of an existing file or folder after a typed path."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        if not value.startswith(("~/", "/", "./", "../")):
            return None
        return await asyncio.to_thread(complete_path, value)


def complete_path(path: str) -> str | None:
    """Return `path` with its last name completed to an existing file or folder. None if nothing completes it."""
    folder, _, prefix = path.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(f"{folder}/")) as entries:
            matches = [
                each
                for each in islice(entries, MAX_ENTRIES)
                if fold(each.name).startswith(fold(prefix)) and each.name.isprintable()
            ]
            suggestions = [match for match in matches if prefix or not match.name.startswith(".")]
            entry = min(
                suggestions,
                key=lambda suggestion: (not suggestion.name.startswith(prefix), fold(suggestion.name)),
                default=None,
            )
            completion = f"{folder}/{entry.name}{'/' if entry.is_dir() else ''}" if entry is not None else path
            return None if completion == path else completion
    except (OSError, ValueError):
        return None


_REFUSED = "With {name}, any API key that you type is logged. Restart Octavo without {name}, then enter the API key."


def why_no_token(environment: Mapping[str, str], features: frozenset[str] = frozenset()) -> str | None:
    """Return why the user must not type a token now: Textual logs key presses. None if Textual does not log them."""
    if environment.get("TEXTUAL_LOG"):
        return _REFUSED.format(name="TEXTUAL_LOG")
    requested_features = {each.strip().lower() for each in environment.get("TEXTUAL", "").split(",")}
    if "devtools" in features or "devtools" in requested_features:
        return _REFUSED.format(name="the developer tools")
    return None


def extract_token(pasted_text: str) -> str:
    """Return the API key in pasted text: its first word, without quotes and `Authorization: Bearer`. Empty if none."""
    words = pasted_text.replace('"', " ").replace("'", " ").split()
    while words and words[0].lower() in ("authorization:", "bearer"):
        words.pop(0)
    return "".join(character for character in words[0] if character.isprintable()) if words else ""


SECRET: Commands[SecretInput] = Commands(
    "secret", (Command("clear", "ctrl+l", "Clear", "Clear the field", run=lambda _, line: line.clear(), shown=False),)
)


class SecretInput(HasCommands, Input):
    """An input for an API key. It shows bullets, cannot be copied, and takes only the API key from pasted text."""

    HELP_NAME: ClassVar[str] = "API key field"
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    SecretInput, SecretInput:focus {
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        & > .input--placeholder { color: $octavo-muted; }
    }
    """
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (SECRET,)

    def __init__(self, placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(placeholder=placeholder, password=True, id=id)

    @property
    def disabled_reason(self) -> str | None:
        """Reason why the user must not type an API key now. None if typing is allowed."""
        return why_no_token(os.environ, frozenset(self.app.features))

    @property
    def secret(self) -> SecretStr | None:
        """The typed API key. None if the input is empty."""
        key = extract_token(self.value)
        return SecretStr(key) if key else None

    def on_key(self, event: Key) -> None:
        if self.disabled_reason is not None and event.is_printable:
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        if self.disabled_reason is None:
            self.insert_text_at_cursor(extract_token(event.text.strip()[:MAX_INPUT_LENGTH]))

    def action_copy(self) -> None:
        raise SkipAction  # Textual would copy the API key itself, not the bullets.

    def action_cut(self) -> None:
        raise SkipAction

    def action_paste(self) -> None:
        if self.disabled_reason is None:
            self.insert_text_at_cursor(extract_token(self.app.clipboard.strip()[:MAX_INPUT_LENGTH]))


class SecretLengthLabel(Widget):
    """Shows how many characters the API key in a `SecretInput` has, or why typing is not allowed."""

    DEFAULT_CSS = "SecretLengthLabel { height: 1; width: auto; color: $octavo-muted; }"

    def __init__(self, source: SecretInput, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source = source

    def on_mount(self) -> None:
        self.watch(self._source, "value", self._update_count)

    def _update_count(self) -> None:
        self.refresh(layout=True)

    def render(self) -> RenderResult:
        if (refusal := self._source.disabled_reason) is not None:
            return Content.styled(refusal, "$warning")
        count = len(extract_token(self._source.value))
        return Content(plural(count, "character") if count else "")


def _keep(app: App[Any], line: FilterInput) -> None:
    line.keep()


FILTER: Commands[FilterInput] = Commands(
    "filter",
    (
        Command("keep", "enter", "Apply", "Apply the filter and go to the list", run=_keep),
        Command("leave", "escape", "Clear", "Clear the filter, or close an empty filter line", run=lambda _, line: line.leave()),
        Command("to_list", "down", "Go to list", "Go to the list", run=_keep, shown=False),
    ),
)  # fmt: skip


class FilterInput(LineInput):
    """The input of a filter. Enter keeps the filter and goes to the list. Esc clears it, or closes an empty input."""

    HELP_NAME: ClassVar[str] = "filter line"
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

    @dataclass(kw_only=True)
    class Finished(Message):
        """Posted when the user leaves the input with enter, down or esc. `is_empty` is True if the input is empty."""

        is_empty: bool

    def keep(self) -> None:
        """Leave the input, and keep the filter."""
        self.post_message(self.Finished(is_empty=not self.value))

    def leave(self) -> None:
        """Clear the filter. If the filter is already empty, leave the input."""
        if self.value:
            self.clear()
        else:
            self.post_message(self.Finished(is_empty=True))


class FilterLine(Widget):
    """The line with the filter above a list: `/`, the input, and the number of matches."""

    DEFAULT_CSS = """
    FilterLine {
        layout: horizontal;  /* even if a screen has other rules for its panes */
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
        """`apply` is called with the filter whenever the filter changes. `leave` is called when the user leaves the
        line. Its argument is True if there is a filter."""
        super().__init__()
        self._apply, self._leave = apply, leave
        self._match_count, self._item_count = 0, 0
        self._input = FilterInput()
        self._input.can_focus = False  # Only an open line may get the focus.

    def compose(self) -> ComposeResult:
        yield Static(Content("/"), classes="filter--sign")
        yield self._input
        yield ChangingText(classes="filter--count")

    def open(self, focus: bool = True) -> None:
        """Show the line. With `focus`, also focus the input."""
        self.display = True
        self._input.can_focus = True
        if focus:
            self._input.focus()

    def close(self) -> None:
        self.display = False
        self._input.can_focus = False

    def show_filter(self, query: str) -> None:
        """Show `query` in the line. If `query` is empty, hide the line unless its input has the focus."""
        if query != self._input.value:
            self._input.value = query
        if query:
            self.open(focus=False)
        elif not self._input.has_focus:
            self.close()

    def show_counts(self, match_count: int, item_count: int) -> None:
        """Show how many of the items match the filter."""
        self._match_count, self._item_count = match_count, item_count
        self._show_count()

    def on_resize(self) -> None:
        self._show_count()

    def _show_count(self) -> None:
        """Show the number of matches in the longest form that fits, such as `2 of 31 shown` or `2/31`. Hide it without
        a filter, or if nothing fits. The number is padded, so that typing does not change the layout."""
        free_width = self.size.width - 3 - cell_len(self._input.value) - 1 - 2
        total = str(self._item_count)
        matches = str(self._match_count).rjust(len(total))
        texts = (f"{matches} of {total} shown", f"{matches} shown", f"{matches}/{total}") if self._input.value else ()
        text = next((each for each in texts if len(each) <= free_width), "")
        for count in self.query(".filter--count").results(ChangingText):
            count.update(Content(text))
            count.display = bool(text)

    @on(Input.Changed)
    def _apply_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._apply(self._input.value)  # The message may have an older value than the input.

    @on(FilterInput.Finished)
    def _finish(self, message: FilterInput.Finished) -> None:
        message.stop()
        if message.is_empty:
            self.close()
        self._leave(not message.is_empty)
