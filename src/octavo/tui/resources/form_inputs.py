"""The inputs of a form, and the pickers with which the user chooses values from lists. `form.py` puts them into a
dialog. Start at `FieldRow`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, TextArea

from octavo.api import permissions
from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.api.safety import safe_address
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_state import FormState
from octavo.tui.resources.resource import LoadedChoices, ReferenceList
from octavo.tui.resources.roles import ROLES, actions
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.dialog import TextButton
from octavo.tui.widgets.short_texts import first_few, safe, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, PathInput, SecretInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_DESCRIPTIONS = {
    "visibility": {
        "public": "everyone; search engines can index it",
        "unlisted": "everyone with the link, not search engines",
        "share-link": "only visitors with a share link",
        "visitor-auth": "only visitors who sign in",
    },
    "specification": {
        "private": "only members can see the specification",
        "public": "everyone can see the specification",
    },
    "edit_mode": {"live": "pages can be edited directly", "locked": "pages can be edited only in change requests"},
    "agents_context": {
        "included": "AI agents get context about the site",
        "excluded": "AI agents get no context about the site",
    },
    "default_level": {"inherit": "same as the collection or organization"},
    "spaces": {"sample": "a new space with sample pages", "empty": "a new space without pages"},
}

_GRANTS = (permissions.Grant, permissions.UpdateUser, permissions.UpdateTeam)
_GUEST = ("Guest", "can access only spaces where they have a role")


def null_choice(field: FormField, operation: type[Operation[Any]]) -> tuple[str, str]:
    """Return the label (such as `none`) and the explanation (may be empty) of the choice that sends null."""
    if operation in _GRANTS:
        return "none", "removes the assigned role"
    if field.name == "default_level":
        return "none", "only members with an assigned role have access"
    return _GUEST if field.name in ("role", "default_role") else ("none", "")


def description_of(field: FormField, option: str) -> str:
    """Return a sentence part that explains a choice, such as `can read`. Empty if the choice needs no explanation."""
    if option in ROLES and "admin" in field.choices:
        return f"can {actions(option)}"
    name = field.name.rpartition(".")[2]
    if name == "visibility" and "private" in field.choices:
        name = "specification"
    return _DESCRIPTIONS.get(name, {}).get(option, "")


_YAML_NAME = re.compile(r"(\s*(?:- )?[\w.$\"'-]+:(?:\s|$))(.*)", re.DOTALL)
_BULLET = "•"


class MaskedEditor(TextEditor):
    """A text editor that shows bullets instead of the values in YAML, until the user reveals them."""

    is_masked = True

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if not self.is_masked:
            return line
        name_match = _YAML_NAME.fullmatch(line.plain)
        shown_text, hidden_text = (name_match[1], name_match[2]) if name_match is not None else ("", line.plain)
        return Text(shown_text + re.sub(r"\S", _BULLET, hidden_text), end="")

    def action_copy(self) -> None:
        if not self.is_masked:
            super().action_copy()

    def action_cut(self) -> None:
        if not self.is_masked:
            super().action_cut()

    def set_revealed(self, is_revealed: bool) -> None:
        """Show the values if `is_revealed`, otherwise bullets."""
        self.is_masked = not is_revealed
        self.notify_style_update()  # Lets Textual clear its cache of rendered lines.
        self.refresh()


def _move_to_end(editor: TextArea) -> TextArea:
    editor.cursor_location = editor.document.end
    return editor


class FieldRow(Vertical):
    """One row of a form: the label of a field, its input, and the error below."""

    def __init__(self, field: FormField, original_text: str | None, *, is_picked: bool, id: str) -> None:
        """`is_picked` is True if a button chooses or switches the value, and False if the user types the value."""
        super().__init__(id=id, classes="form--field")
        self.field, self._original_text, self.is_picked = field, original_text, is_picked

    def compose(self) -> ComposeResult:
        with Horizontal(classes="form--row"):
            yield ChangingText(safe(self.field.label), classes="form--label")
            self.input = self._build_input()
            self._initial_input_text = self._input_text
            yield self.input
        yield ChangingText("", classes="form--wrong")

    def _build_input(self) -> Widget:
        field, original_text = self.field, self._original_text or ""
        limits_text = "an ID" if field.kind == "reference" else field.example_or_limits
        if field.upload_kind and field.kind in ("structure", "text"):
            limits_text = "press ctrl+f to choose a file"
        hint = " · ".join(filter(None, ["required" if field.is_required else "", limits_text]))
        if field.example and field.kind in ("structure", "text", "list"):
            hint = ", ".join(filter(None, (hint, f"for example:\n{field.example}")))
        if self.is_picked:
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
    def _input_text(self) -> str:
        if isinstance(self.input, TextArea):
            return self.input.text
        return self.input.value if isinstance(self.input, Input) else ""

    @property
    def text(self) -> str:
        """The text in the input. If it is unchanged, the original text, because the input shows a sanitized copy."""
        return (self._original_text or "") if self._input_text == self._initial_input_text else self._input_text

    def set_text(self, text: str | None) -> None:
        """Show `text` in the input as the new original text. None is an empty text. Do nothing if `text` is shown."""
        text = text or ""
        if text == self.text:
            return
        if isinstance(self.input, TextArea):
            self.input.load_text(text)
            _move_to_end(self.input)
        elif isinstance(self.input, Input):
            self.input.value = safe_address(text)
        self._original_text, self._initial_input_text = text, self._input_text

    def show_label(self, label: str) -> None:
        """Show `label` on the button of the field, if the field has a button."""
        if isinstance(self.input, TextButton):
            self.input.label = f"{label} ▾"

    def show_state(self, error: str, *, is_changed: bool) -> None:
        """Show `error` below the field, or nothing if it is empty. If `is_changed`, mark the field as changed."""
        error_line = self.query_one(".form--wrong", ChangingText)
        error_line.update(safe_lines(error))
        error_line.display = bool(error)
        self.set_class(is_changed, "-changed")
        sign = Content("+ ") if is_changed else Content("  ")
        self.query_one(".form--label", ChangingText).update(sign + safe(self.field.label))

    def set_revealed(self, is_revealed: bool) -> None:
        """Show the text of a secret if `is_revealed`, otherwise bullets."""
        if isinstance(self.input, MaskedEditor):
            self.input.set_revealed(is_revealed)
        elif isinstance(self.input, SecretInput):
            self.input.password = not is_revealed


_MAX_LABELS = 4
_NULL = "\0null"
"""Value of the choice that sends null. Other values contain no NUL character."""

SearchOptions = Callable[[str], Awaitable[Sequence[Choice[str]]]]


@dataclass
class _PickerState:
    """An open picker for a form field, and the choices that are loaded so far."""

    options: LoadedChoices
    is_loading: bool = False
    search: SearchOptions | None = None
    make_choices: Callable[[], Sequence[Choice[str]]] = tuple
    picker: Picker[str] | None = None

    def title(self, field: FormField) -> str:
        hint = " · press esc to finish" if field.kind in ("list", "choices") else ""
        search_hint = " · type to find more" if self.search is not None else ""
        return f"{field.label}{hint}{self.options.title_suffix}{search_hint}"


class FormPickers:
    """Opens the pickers of a form, and remembers the labels of the chosen values."""

    def __init__(self, state: FormState, set_text: Callable[[FormField, str | None], None]) -> None:
        """`set_text` sets the text of a field to the values that the user has chosen, or to None for null."""
        self._state, self._set_text = state, set_text
        self._labels: dict[str, dict[str, str]] = {}
        """Labels of values by field name and ID."""

    @property
    def _shell(self) -> Shell:
        return self._state.form.shell

    @property
    def _references(self) -> Mapping[str, ReferenceList]:
        return self._state.form.reference_lists

    def is_picked(self, field: FormField) -> bool:
        """Return True if a button chooses or switches the value of a field. False if the user types the value."""
        is_reference = "reference" in (field.kind, field.item_kind) and field.name in self._references
        return field.kind in ("choice", "choices", "yes or no") or is_reference

    def label_of(self, field: FormField) -> str:
        """Return the label of a field's button: the labels of the chosen values, or a text such as `not set`."""
        text = self._state.texts[field.name]
        if text is None:
            return null_choice(field, self._state.form.operation)[0]
        if not text.strip():
            return self._empty_label(field)
        labels_by_id = self._labels.get(field.name, {})
        labels = [labels_by_id.get(each) or field.label_of(each) for each in text.splitlines() if each.strip()]
        return ", ".join(first_few(labels, _MAX_LABELS))

    def _empty_label(self, field: FormField) -> str:
        if field.is_required:
            return "choose"
        if self._state.form.item is None:
            return "not set"
        return "unchanged" if field.name in self._state.unreported_fields else "not set"

    async def load_labels(self) -> None:
        """Load the labels of the initial values of fields with a picker."""
        for field in self._state.fields:
            if field.name in self._references and (self._state.texts[field.name] or "").strip():
                reference_list = self._references[field.name]
                self._add_labels(field, reference_list.loaded_choices(self._shell, self._state.texts))
                op = reference_list.list_operation(self._state.texts)
                if op is None or self._labels[field.name]:
                    continue
                try:
                    self._add_labels(field, (await reference_list.load(self._shell, op)).choices)
                except ApiError:
                    continue  # Without a label, the form shows the ID.

    def _add_labels(self, field: FormField, choices: Sequence[Choice[str]]) -> None:
        self._labels.setdefault(field.name, {}).update({choice.value: choice.title for choice in choices})

    def pick(self, field: FormField) -> None:
        """Open the picker of a field. If the kind of the field is `yes or no`, switch its value instead."""
        text = self._state.texts[field.name] or ""
        if field.kind == "yes or no":
            opposites = {"yes": "no", "no": "yes" if field.is_required or self._state.initial_texts[field.name] else ""}
            self._set_text(field, opposites.get(text, "yes"))
        elif field.name in self._references:
            self._pick_reference(field, self._references[field.name])
        else:
            choices = [
                Choice(choice, field.label_of(choice), description_of(field, choice)) for choice in field.choices
            ]
            self._choose(field, _PickerState(LoadedChoices(choices)))

    def _pick_reference(self, field: FormField, reference_list: ReferenceList) -> None:
        op = reference_list.list_operation(self._state.texts)
        if op is None:
            self._shell.explain(reference_list.blocked_message)
            return
        state = _PickerState(
            LoadedChoices(reference_list.loaded_choices(self._shell, self._state.texts)), is_loading=True
        )
        self._choose(field, state)
        self._shell.background(self._load_options(field, reference_list, op, state))

    async def _load_options(
        self, field: FormField, reference_list: ReferenceList, op: Operation[Any], state: _PickerState
    ) -> None:
        search = reference_list.search_operation

        async def search_options(query: str) -> Sequence[Choice[str]]:
            assert search is not None, "the list must support search"
            try:
                choices = (await reference_list.load(self._shell, search(query))).choices
            except ApiError:
                return ()  # A failed search adds no items, and the loaded items stay.
            self._add_labels(field, choices)
            return choices

        error: ApiError | None
        try:
            state.options = await reference_list.load(self._shell, op)
            error = state.options.error
        except ApiError as failure:
            error = failure
        if error is not None and self._shell.screen is state.picker:
            list_name = "all items" if state.options.choices else "the list"
            self._shell.say(
                f"Could not load {list_name}: {error} Press ctrl+e to edit the form as YAML and enter the ID there.",
                tone="failed",
            )
            if not state.options.choices:
                state.picker.dismiss(None)
                return
        state.is_loading = False
        self._add_labels(field, state.options.choices)
        if search is not None and not state.options.is_complete:
            state.search = search_options
        if state.picker is not None:
            state.picker.show_loaded(state.title(field), state.make_choices(), state.search)

    def _choose(self, field: FormField, state: _PickerState) -> None:
        if field.kind in ("list", "choices"):
            self._choose_several(field, state)
            return
        text = self._state.texts[field.name]
        special_choices: list[Choice[str]] = []
        if not field.is_required and not (self._state.initial_texts[field.name] or ""):
            special_choices.append(Choice("", "not set"))
        if field.is_nullable:
            special_choices.append(Choice(_NULL, *null_choice(field, self._state.form.operation)))

        state.make_choices = lambda: [*special_choices, *state.options.choices]
        self._open_picker(
            field,
            state,
            lambda answer: self._set_text(field, None if answer == _NULL else answer),
            _NULL if text is None else text,
        )

    def _open_picker(
        self, field: FormField, state: _PickerState, on_chosen: Callable[[str], None], selected_value: str | None
    ) -> None:
        state.picker = Picker(
            state.title(field),
            state.make_choices(),
            initial=selected_value,
            find_more=state.search,
            is_loading=state.is_loading,
        )
        self._shell.ask(state.picker, on_chosen)

    def _choose_several(self, field: FormField, state: _PickerState, cursor_value: str | None = None) -> None:
        values = [each.strip() for each in (self._state.texts[field.name] or "").splitlines() if each.strip()]

        def label_of(value: str) -> str:
            return self._labels.get(field.name, {}).get(value) or field.label_of(value)

        def make_choices() -> list[Choice[str]]:
            details = {choice.value: choice.detail for choice in state.options.choices}
            return [
                *(Choice(each, label_of(each), details.get(each, ""), "remove", "SELECTED", "✓") for each in values),
                *(
                    replace(choice, group=choice.group or "ADD", sign=" ")
                    for choice in state.options.choices
                    if choice.value not in values
                ),
                *(
                    Choice(each, field.label_of(each), description_of(field, each), group="INSTEAD", sign=" ")
                    for each in exclusive_values
                    if each not in values
                ),
            ]

        # Words such as `all`, each of which replaces all items of a list.
        exclusive_values = field.choices if field.kind == "list" else ()

        def on_chosen(value: str) -> None:
            if value in values:
                new_values = [each for each in values if each != value]
            elif value in exclusive_values:
                new_values = [value]
            else:
                new_values = [*(each for each in values if each not in exclusive_values), value]
            self._set_text(field, "\n".join(new_values))
            # The cursor starts at the first unselected item, so that selected items stay visible.
            other_values = (choice.value for choice in state.options.choices if choice.value not in values)
            self._choose_several(field, state, next((each for each in other_values if each != value), None))

        state.make_choices = make_choices
        self._open_picker(field, state, on_chosen, cursor_value)
