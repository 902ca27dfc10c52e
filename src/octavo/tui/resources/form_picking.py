"""Choices in a form: an option, items of a list that is loaded, or yes and no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_meanings import description_of, null_choice
from octavo.tui.resources.form_references import OptionList, ReferenceList
from octavo.tui.resources.form_state import FormState
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_MAX_LABELS = 4
_NULL = "\0null"
"""Represents null among the options. No other value contains a NUL character."""

SearchOptions = Callable[[str], Awaitable[Sequence[Choice[str]]]]


@dataclass
class _OptionPicker:
    """The options of a field as far as they are loaded, and the picker that shows them."""

    options: OptionList
    is_loading: bool = False
    """Whether the list is still loading."""
    search: SearchOptions | None = None
    choices: Callable[[], Sequence[Choice[str]]] = tuple
    picker: Picker[str] | None = None

    def picker_title(self, field: FormField) -> str:
        """Return the title of the picker."""
        return f"{field.label}{' · press esc to finish' if field.kind in ('list', 'choices') else ''}{self.options.title_suffix}"


class FormPickers:
    """Opens the pickers of a form, and knows the labels of chosen values."""

    def __init__(self, state: FormState, set_text: Callable[[FormField, str | None], None]) -> None:
        """`picked` is called with the new text of a field."""
        self._state, self._set_text = state, set_text
        self._labels: dict[str, dict[str, str]] = {}
        """Labels of values, by field and ID."""

    @property
    def _shell(self) -> Shell:
        return self._state.form.shell

    @property
    def _references(self) -> Mapping[str, ReferenceList]:
        return self._state.form.reference_lists

    def is_picked(self, field: FormField) -> bool:
        """Return whether the value of a field is chosen instead of typed."""
        of_list = "reference" in (field.kind, field.item_kind) and field.name in self._references
        return field.kind in ("choice", "choices", "yes or no") or of_list

    def label_of(self, field: FormField) -> str:
        """Return the labels of a field's values."""
        text = self._state.texts[field.name]
        if text is None:
            return null_choice(field, self._state.form.operation)[0]
        if not text.strip():
            return self._empty_label(field)
        labels_by_id = self._labels.get(field.name, {})
        labels = [labels_by_id.get(each) or field.label_of(each) for each in text.splitlines() if each.strip()]
        others = f" and {len(labels) - _MAX_LABELS} more" if len(labels) > _MAX_LABELS else ""
        return ", ".join(labels[:_MAX_LABELS]) + others

    def _empty_label(self, field: FormField) -> str:
        if field.is_required:
            return "choose"
        if self._state.form.item is None:
            return "not set"
        return "unchanged" if field.name in self._state.unreported_fields else "not set"

    async def load_labels(self) -> None:
        """Load the labels of the values that the form starts with."""
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
                    continue  # The ID is shown instead.

    def _add_labels(self, field: FormField, choices: Sequence[Choice[str]]) -> None:
        self._labels.setdefault(field.name, {}).update({each.value: each.title for each in choices})

    def pick(self, field: FormField) -> None:
        """Open the choices of a field, or switch yes and no."""
        text = self._state.texts[field.name] or ""
        if field.kind == "yes or no":
            switched = {"yes": "no", "no": "yes" if field.is_required or self._state.initial_texts[field.name] else ""}
            self._set_text(field, switched.get(text, "yes"))
        elif field.name in self._references:
            self._pick_reference(field, self._references[field.name])
        else:
            self._choose(
                field,
                _OptionPicker(
                    OptionList(
                        [Choice(each, field.label_of(each), description_of(field, each)) for each in field.choices]
                    )
                ),
            )

    def _pick_reference(self, field: FormField, reference_list: ReferenceList) -> None:
        """Open a picker with the items loaded so far. Items loaded later are added to the open picker."""
        op = reference_list.list_operation(self._state.texts)
        if op is None:
            self._shell.explain(reference_list.blocked_message)
            return
        option_picker = _OptionPicker(
            OptionList(reference_list.loaded_choices(self._shell, self._state.texts)), is_loading=True
        )
        self._choose(field, option_picker)
        self._shell.background(self._load_options(field, reference_list, op, option_picker))

    async def _load_options(
        self, field: FormField, reference_list: ReferenceList, op: Operation[Any], option_picker: _OptionPicker
    ) -> None:
        search = reference_list.search_operation

        async def search_options(query: str) -> Sequence[Choice[str]]:
            assert search is not None, "the list must support search"
            try:
                choices = (await reference_list.load(self._shell, search(query))).choices
            except ApiError:
                return ()  # The items loaded so far stay.
            self._add_labels(field, choices)
            return choices

        try:
            option_picker.options = await reference_list.load(self._shell, op)
        except ApiError as error:
            self._shell.say(
                f"Could not load the list: {error} Press ctrl+e to edit the form as YAML and enter the ID there.",
                tone="failed",
            )
            if (
                not option_picker.options.choices
                and option_picker.picker is not None
                and self._shell.screen is option_picker.picker
            ):
                option_picker.picker.dismiss(None)
                return
        option_picker.is_loading = False
        self._add_labels(field, option_picker.options.choices)
        if search is not None and not option_picker.options.is_complete:
            option_picker.search = search_options
        if option_picker.picker is not None:
            option_picker.picker.arrived(
                option_picker.picker_title(field), option_picker.choices(), option_picker.search
            )

    def _choose(self, field: FormField, option_picker: _OptionPicker) -> None:
        if field.kind in ("list", "choices"):
            self._choose_several(field, option_picker)
            return
        text = self._state.texts[field.name]
        special_choices: list[Choice[str]] = []
        if not field.is_required and not (self._state.initial_texts[field.name] or ""):
            special_choices.append(Choice("", "not set"))
        if field.is_nullable:
            special_choices.append(Choice(_NULL, *null_choice(field, self._state.form.operation)))

        def chosen(answer: str | None) -> None:
            if answer is not None:
                self._set_text(field, None if answer == _NULL else answer)

        option_picker.choices = lambda: [*special_choices, *option_picker.options.choices]
        self._show(field, option_picker, chosen, _NULL if text is None else text)

    def _show(
        self, field: FormField, option_picker: _OptionPicker, chosen: Callable[[str | None], None], selected: str | None
    ) -> None:
        option_picker.picker = Picker(
            option_picker.picker_title(field),
            option_picker.choices(),
            now=selected,
            find_more=option_picker.search,
            waits=option_picker.is_loading,
        )
        self._shell.push_screen(option_picker.picker, chosen)

    def _choose_several(self, field: FormField, option_picker: _OptionPicker, cursor_value: str | None = None) -> None:
        """Let the user add and remove items until the picker is closed."""
        selected = [each.strip() for each in (self._state.texts[field.name] or "").splitlines() if each.strip()]

        def choices() -> list[Choice[str]]:
            labels_by_id = self._labels.get(field.name, {})
            loaded = {each.value: each for each in option_picker.options.choices}
            detail = {name: each.detail for name, each in loaded.items()}
            return [
                *(
                    Choice(
                        each,
                        labels_by_id.get(each) or field.label_of(each),
                        detail.get(each, ""),
                        "remove",
                        "SELECTED",
                        "✓",
                    )
                    for each in selected
                ),
                *(
                    replace(each, group=each.group or "ADD", sign=" ")
                    for each in option_picker.options.choices
                    if each.value not in selected
                ),
                *(
                    Choice(each, field.label_of(each), description_of(field, each), group="INSTEAD", sign=" ")
                    for each in labels
                    if each not in selected
                ),
            ]

        labels = field.choices if field.kind == "list" else ()

        def chosen(value: str | None) -> None:
            if value is None:
                return
            is_exclusive = value in labels
            remaining = [each for each in selected if each not in labels]
            new_values = (
                [each for each in selected if each != value]
                if value in selected
                else [value]
                if is_exclusive
                else [*remaining, value]
            )
            self._set_text(field, "\n".join(new_values))
            # The cursor moves to the next item that can be added, because most users add several.
            addable = (each.value for each in option_picker.options.choices if each.value not in selected)
            self._choose_several(field, option_picker, next((each for each in addable if each != value), None))

        option_picker.choices = choices
        self._show(field, option_picker, chosen, cursor_value)
