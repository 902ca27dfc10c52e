"""The form of what else a page has: slug, description, emoji or icon, and whether it is hidden."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static, TextArea

from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, Field
from octavo.tui.widgets.dialog import STYLES, DialogFrame
from octavo.tui.widgets.safe_text import safe, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText, FactList
from octavo.tui.writing.page_settings import NAMES, Values

_HINTS = {
    "slug": "leave empty to use the title",
    "description": "shown below the title",
    "emoji": "one emoji, such as 🚀",
    "icon": "the name of an icon, such as rocket",
}
_ROOMY = 32
"""Rows of a terminal from which on a line is left free between fields."""
_SHOWN, _HIDDEN = "no: the page is in the table of contents", "yes: only people with the link can find the page"


class PageForm(ConfirmDialog):
    """One field below the other, each with what is wrong with it. None is the answer of leaving."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        STYLES / "confirm.tcss",
        PurePath(__file__).with_name("page_form.tcss"),
    ]
    HELP: ClassVar[str] = (
        "Edit the details of a page, such as the slug and the description. Press tab to go to the next field, space to turn "
        "Hidden on or off, or ctrl+s to save. Press esc to close the form and keep your changes as a draft."
    )

    DRAFT_NOTE: ClassVar[str] = "if you close this form, your changes are kept as a draft"

    def __init__(
        self,
        title: str,
        values: Values,
        *,
        intro: str,
        wrong: Callable[[Values], Mapping[str, str]],
        keep: Callable[[Values], None],
        keep_now: Callable[[Values], None],
        refused: Mapping[str, str],
    ) -> None:
        """`wrong` says what cannot be so, by field; `refused` what a server said of `values`; "" is of none of them."""
        super().__init__(title, verb="Save", intro=intro, foot="")
        self._values, self._wrong, self._keep_values, self._keep_values_now = dict(values), wrong, keep, keep_now
        self._refused = dict(refused)
        self.answer: Values = {}
        """What was written, once it is confirmed."""
        # A draft is kept while one writes in any of them (`_keep`).
        self._fields = {name: self._field_of(name, value) for name, value in values.items()}

    def _field_of(self, name: str, value: str) -> Field:
        lines = 3 if name == "description" else 1
        return Field(
            NAMES[name], value, lines, placeholder=_HINTS.get(name, ""), save_draft=lambda written: self._save_drafts()
        )

    def compose(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self._title, self._foot)
            with VerticalScroll(classes="confirm--body", can_focus=False):
                yield Static(safe_lines(self._intro), classes="confirm--intro")
                yield FactList(())
                yield ChangingText("", classes="confirm--after")
            for name, field in self._fields.items():
                with Horizontal(classes="form--row"):
                    yield Static(safe(field.label), classes="form--label")
                    if name == "hidden":
                        yield TextButton(_HIDDEN if field.value else _SHOWN, id=name)
                    elif field.lines > 1:
                        yield TextEditor(field.value, placeholder=field.placeholder, id=name)
                    else:
                        yield LineInput(field.value, placeholder=field.placeholder, id=name)
                yield ChangingText("", classes="form--wrong", id=f"wrong-{name}")
            yield ChangingText(classes="confirm--why")
            yield LineInput(id="typed")
            with Horizontal(classes="confirm--buttons"):
                yield TextButton(self.cancel_word, id="no")
                yield TextButton(self.verb, id="yes", classes="-primary")

    def on_resize(self) -> None:
        self.set_class(self.size.height >= _ROOMY, "-roomy")

    @property
    def initial_focus(self) -> str:
        return next(filter(None, self._refused), next(iter(self._fields)))

    @property
    def written(self) -> Values:
        """What is written in the fields now."""
        return {name: self._field_text(name) for name in self._fields}

    def _field_text(self, name: str) -> str:
        return self._values["hidden"] if name == "hidden" else super()._field_text(name)

    @property
    def _wrong_now(self) -> dict[str, str]:
        return {**self._refused, **self._wrong(self.written)}

    def why_not_confirmed(self) -> str | None:
        if self._is_composed and self._is_active:
            for name, sentence in self._wrong(self.written).items():
                return f"{NAMES[name]}: {sentence}"
        return super().why_not_confirmed()

    def _show_state(self) -> None:
        super()._show_state()
        wrong = self._wrong_now
        for name in self._fields:
            said = self.query_one(f"#wrong-{name}", Static)
            said.update(safe(wrong.get(name, "")))
            said.display = name in wrong
        why = self.query_one(".confirm--why", Static)
        why.update(safe_lines(wrong.get("", "")))
        why.display = "" in wrong

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _edited(self, message: Input.Changed | TextArea.Changed) -> None:
        name = message.control.id or ""
        if name in self._refused and self._field_text(name) != self._values[name].strip():
            del self._refused[name]  # it is not what was refused any more

    @on(TextButton.Pressed, "#hidden")
    def _turn(self, message: TextButton.Pressed) -> None:
        message.prevent_default()  # it is no answer
        self._values["hidden"] = "" if self._values["hidden"] else "yes"
        message.button.label = _HIDDEN if self._values["hidden"] else _SHOWN
        self._refused.pop("hidden", None)
        self._save_drafts()
        self._show_state()

    def _save_drafts(self) -> None:
        if self._draft_timer is not None:
            self._draft_timer.stop()
        self._draft_clock.mark_saved()
        self._keep_values(self.written)

    def _save_drafts_now(self) -> None:
        self._keep_values_now(self.written)

    def confirm(self) -> None:
        if not self._is_answered:
            written = self.written
            self._is_answered = True
            self._keep_values(written)
            self.answer = written
            self.dismiss(Confirmed())
