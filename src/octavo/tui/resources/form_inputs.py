"""The inputs of a form: lines, multi-line text, buttons that open a list, and secrets."""

from __future__ import annotations

import re

from rich.text import Text
from textual.app import ComposeResult
from textual.color import Color, ColorParseError
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from octavo.api.safety import address as safe_address
from octavo.api.safety import text as safe_text
from octavo.tui.resources.form_fields import FormField
from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.path_input import PathInput
from octavo.tui.widgets.safe_text import safe, safe_lines
from octavo.tui.widgets.secret_input import SecretInput
from octavo.tui.widgets.text_inputs import LineInput, TextEditor

_YAML_NAME = re.compile(r"(\s*(?:- )?[\w.$\"'-]+:(?:\s|$))(.*)", re.DOTALL)
_BULLET = "•"


class MaskedEditor(TextEditor):
    """A multi-line editor that shows names and hides values until the user reveals them."""

    is_masked = True

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if not self.is_masked:
            return line
        match = _YAML_NAME.fullmatch(line.plain)
        visible, hidden = (match[1], match[2]) if match is not None else ("", line.plain)
        return Text(visible + re.sub(r"\S", _BULLET, hidden), end="")

    def action_copy(self) -> None:
        if not self.is_masked:
            super().action_copy()

    def action_cut(self) -> None:
        if not self.is_masked:
            super().action_cut()

    def reveal(self, is_revealed: bool) -> None:
        """Show the values, or hide them again."""
        self.is_masked = not is_revealed
        self.notify_style_update()  # Clears the cache of rendered lines.
        self.refresh()


def _move_to_end(editor: TextArea) -> TextArea:
    """Move the cursor to the end, where line inputs have it too."""
    editor.cursor_location = editor.document.end
    return editor


class FieldRow(Vertical):
    """A field of a form: its label, its input, and below that its error."""

    def __init__(self, field: FormField, original_text: str | None, *, is_picked: bool, id: str) -> None:
        """`picked`: the value is chosen from a list instead of typed."""
        super().__init__(id=id, classes="form--field")
        self.field, self._original_text, self._is_picked = field, original_text, is_picked

    def compose(self) -> ComposeResult:
        with Horizontal(classes="form--row"):
            yield ChangingText(safe(self.field.label), classes="form--label")
            self.input = self._build_input()
            self._initial_input_text = self._input_text
            yield self.input
            if self.field.kind == "colour":
                yield Static("", classes="form--swatch")
        yield ChangingText("", classes="form--wrong")

    def _build_input(self) -> Widget:
        field, original_text = self.field, self._original_text or ""
        limits = "an ID" if field.kind == "reference" else field.limits
        if field.upload_kind and field.kind in ("structure", "text"):
            limits = "press ctrl+f to choose a file"
        hint = " · ".join(filter(None, ["required" if field.is_required else "", limits]))
        if field.example and field.kind in ("structure", "text", "list"):
            hint = ", ".join(filter(None, (hint, f"for example:\n{field.example}")))
        elif field.example:
            hint = " · ".join(filter(None, (hint, f"for example {field.example}")))
        if self._is_picked:
            return TextButton("")
        if field.kind == "secret":
            secret = SecretInput(placeholder=hint)
            secret.value = original_text
            return secret
        if field.upload_kind and field.kind == "line":
            return PathInput(original_text, placeholder="required · a link, or a file such as ~/notes.zip")
        if field.kind in ("text", "list", "structure", "choices") or "\n" in original_text:
            editor = (MaskedEditor if field.is_masked else TextEditor)(original_text, placeholder=hint)
            editor.styles.min_height = 2 if original_text else max(2, min(8, 1 + hint.count("\n")))
            return _move_to_end(editor)
        return LineInput(original_text, placeholder=hint)

    @property
    def is_picked(self) -> bool:
        """Whether the value is chosen from a list instead of typed."""
        return self._is_picked

    @property
    def _input_text(self) -> str:
        """The text in the input."""
        if isinstance(self.input, TextArea):
            return self.input.text
        return self.input.value if isinstance(self.input, Input) else ""

    @property
    def text(self) -> str:
        """The text of the field. Until the user types, the original text, because the input may show sanitized
        characters."""
        return (self._original_text or "") if self._input_text == self._initial_input_text else self._input_text

    def set_text(self, original_text: str | None) -> None:
        """Replace the text."""
        text = original_text or ""
        if text == self.text:
            return
        if isinstance(self.input, TextArea):
            self.input.load_text(safe_text(text))
            _move_to_end(self.input)
        elif isinstance(self.input, Input):
            self.input.value = safe_address(text)
        self._original_text, self._initial_input_text = text, self._input_text

    def show_label(self, label: str) -> None:
        """Show the label of the chosen value."""
        if isinstance(self.input, TextButton):
            self.input.words = f"{label} ▾"

    def show_state(self, sentence: str, *, changed: bool) -> None:
        """Show an error, and mark the field if it has changed."""
        error_line = self.query_one(".form--wrong", ChangingText)
        error_line.update(safe_lines(sentence))
        error_line.display = bool(sentence)
        self.set_class(changed, "-changed")
        sign = Content("+ ") if changed else Content("  ")
        self.query_one(".form--label", ChangingText).update(sign + safe(self.field.label))
        for swatch in self.query(".form--swatch").results(Static):
            try:
                swatch.styles.background = Color.parse(self.text.strip())
                swatch.display = bool(self.text.strip())
            except ColorParseError:
                swatch.display = False

    def reveal(self, is_revealed: bool) -> None:
        """Show hidden text, or hide it again."""
        if isinstance(self.input, MaskedEditor):
            self.input.reveal(is_revealed)
        elif isinstance(self.input, SecretInput):
            self.input.password = not is_revealed
