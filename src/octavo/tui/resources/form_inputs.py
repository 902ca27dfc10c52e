"""The inputs of a form: lines, texts, buttons that open a list, and secrets."""

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
from octavo.tui.widgets.safe_text import safe, safe_lines
from octavo.tui.widgets.secret_input import SecretInput
from octavo.tui.widgets.text_inputs import LineInput, PathInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText

_NAMED = re.compile(r"(\s*(?:- )?[\w.$\"'-]+:(?:\s|$))(.*)", re.DOTALL)
_BULLET = "•"


class MaskedEditor(TextEditor):
    """Several lines of which names are seen, and what they are of only when it is asked for."""

    masked = True

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if not self.masked:
            return line
        named = _NAMED.fullmatch(line.plain)
        seen, hidden = (named[1], named[2]) if named is not None else ("", line.plain)
        return Text(seen + re.sub(r"\S", _BULLET, hidden), end="")

    def action_copy(self) -> None:
        if not self.masked:
            super().action_copy()

    def action_cut(self) -> None:
        if not self.masked:
            super().action_cut()

    def show(self, clear: bool) -> None:
        """Let it be seen, or hide it again."""
        self.masked = not clear
        self.notify_style_update()  # it keeps the lines it drew
        self.refresh()


def _at_its_end(editor: TextArea) -> TextArea:
    """Go on where one left off, as lines do."""
    editor.cursor_location = editor.document.end
    return editor


class FieldRow(Vertical):
    """A field of a form: its name, where it is written, and below that what is wrong with it."""

    def __init__(self, field: FormField, written: str | None, *, picked: bool, id: str) -> None:
        """`picked`: it is chosen from a list, and not written."""
        super().__init__(id=id, classes="form--field")
        self.field, self._written, self._picked = field, written, picked

    def compose(self) -> ComposeResult:
        with Horizontal(classes="form--row"):
            yield ChangingText(safe(self.field.label), classes="form--label")
            self.input = self._made()
            self._shown = self._text
            yield self.input
            if self.field.kind == "colour":
                yield Static("", classes="form--swatch")
        yield ChangingText("", classes="form--wrong")

    def _made(self) -> Widget:
        field, written = self.field, self._written or ""
        limits = "an ID" if field.kind == "reference" else field.limits
        if field.file and field.kind in ("structure", "text"):
            limits = "press ctrl+f to choose a file"
        said = " · ".join(filter(None, ["required" if field.required else "", limits]))
        if field.example and field.kind in ("structure", "text", "list"):
            said = ", ".join(filter(None, (said, f"for example:\n{field.example}")))
        elif field.example:
            said = " · ".join(filter(None, (said, f"for example {field.example}")))
        if self._picked:
            return TextButton("")
        if field.kind == "secret":
            secret = SecretInput(placeholder=said)
            secret.value = written
            return secret
        if field.file and field.kind == "line":
            return PathInput(written, placeholder="required · a link, or a file such as ~/notes.zip")
        if field.kind in ("text", "list", "structure", "choices") or "\n" in written:
            editor = (MaskedEditor if field.masked else TextEditor)(written, placeholder=said)
            editor.styles.min_height = 2 if written else max(2, min(8, 1 + said.count("\n")))
            return _at_its_end(editor)
        return LineInput(written, placeholder=said)

    @property
    def is_picked(self) -> bool:
        """Whether it is chosen from a list, and not written."""
        return self._picked

    @property
    def _text(self) -> str:
        """What stands in it."""
        if isinstance(self.input, TextArea):
            return self.input.text
        return self.input.value if isinstance(self.input, Input) else ""

    @property
    def text(self) -> str:
        """What is written in it. Where nobody wrote, just what it was given: it may be shown in other characters."""
        return (self._written or "") if self._text == self._shown else self._text

    def put(self, written: str | None) -> None:
        """Write something else in it."""
        text = written or ""
        if text == self.text:
            return
        if isinstance(self.input, TextArea):
            self.input.load_text(safe_text(text))
            _at_its_end(self.input)
        elif isinstance(self.input, Input):
            self.input.value = safe_address(text)
        self._written, self._shown = text, self._text

    def show_words(self, words: str) -> None:
        """What was picked, in words."""
        if isinstance(self.input, TextButton):
            self.input.label = f"{words} ▾"

    def say(self, sentence: str, *, changed: bool) -> None:
        """What is wrong with it, if anything, and whether it is other than it was."""
        wrong = self.query_one(".form--wrong", ChangingText)
        wrong.update(safe_lines(sentence))
        wrong.display = bool(sentence)
        self.set_class(changed, "-changed")
        sign = Content("+ ") if changed else Content("  ")
        self.query_one(".form--label", ChangingText).update(sign + safe(self.field.label))
        for swatch in self.query(".form--swatch").results(Static):
            try:
                swatch.styles.background = Color.parse(self.text.strip())
                swatch.display = bool(self.text.strip())
            except ColorParseError:
                swatch.display = False

    def reveal(self, clear: bool) -> None:
        """Let what is hidden be seen, or hide it again."""
        if isinstance(self.input, MaskedEditor):
            self.input.show(clear)
        elif isinstance(self.input, SecretInput):
            self.input.password = not clear
