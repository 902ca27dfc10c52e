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

    def __init__(self, state: FormState, picked: Callable[[FormField, str | None], None]) -> None:
        """`picked` is called with the new text of a field."""
        self._state, self._set_text = state, picked
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
        written = self._state.texts[field.name]
        if written is None:
            return null_choice(field, self._state.form.operation)[0]
        if not written.strip():
            return self._empty_label(field)
        names = self._labels.get(field.name, {})
        words = [names.get(each) or field.label_of(each) for each in written.splitlines() if each.strip()]
        more = f" and {len(words) - _MAX_LABELS} more" if len(words) > _MAX_LABELS else ""
        return ", ".join(words[:_MAX_LABELS]) + more

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
                references = self._references[field.name]
                self._add_labels(field, references.loaded_choices(self._shell, self._state.texts))
                op = references.list_operation(self._state.texts)
                if op is None or self._labels[field.name]:
                    continue
                try:
                    self._add_labels(field, (await references.load(self._shell, op)).choices)
                except ApiError:
                    continue  # The ID is shown instead.

    def _add_labels(self, field: FormField, choices: Sequence[Choice[str]]) -> None:
        self._labels.setdefault(field.name, {}).update({each.value: each.title for each in choices})

    def pick(self, field: FormField) -> None:
        """Open the choices of a field, or switch yes and no."""
        written = self._state.texts[field.name] or ""
        if field.kind == "yes or no":
            turned = {"yes": "no", "no": "yes" if field.is_required or self._state.initial_texts[field.name] else ""}
            self._set_text(field, turned.get(written, "yes"))
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

    def _pick_reference(self, field: FormField, references: ReferenceList) -> None:
        """Open a picker with the items loaded so far. Items loaded later are added to the open picker."""
        op = references.list_operation(self._state.texts)
        if op is None:
            self._shell.explain(references.blocked_message)
            return
        offer = _OptionPicker(OptionList(references.loaded_choices(self._shell, self._state.texts)), is_loading=True)
        self._choose(field, offer)
        self._shell.background(self._load_options(field, references, op, offer))

    async def _load_options(
        self, field: FormField, references: ReferenceList, op: Operation[Any], offer: _OptionPicker
    ) -> None:
        search = references.search_operation

        async def look(query: str) -> Sequence[Choice[str]]:
            assert search is not None, "the list must support search"
            try:
                found = (await references.load(self._shell, search(query))).choices
            except ApiError:
                return ()  # The items loaded so far stay.
            self._add_labels(field, found)
            return found

        try:
            offer.options = await references.load(self._shell, op)
        except ApiError as error:
            self._shell.say(
                f"Could not load the list: {error} Press ctrl+e to edit the form as YAML and enter the ID there.",
                tone="failed",
            )
            if not offer.options.choices and offer.picker is not None and self._shell.screen is offer.picker:
                offer.picker.dismiss(None)
                return
        offer.is_loading = False
        self._add_labels(field, offer.options.choices)
        if search is not None and not offer.options.is_complete:
            offer.search = look
        if offer.picker is not None:
            offer.picker.arrived(offer.picker_title(field), offer.choices(), offer.search)

    def _choose(self, field: FormField, offer: _OptionPicker) -> None:
        if field.kind in ("list", "choices"):
            self._choose_several(field, offer)
            return
        written = self._state.texts[field.name]
        first: list[Choice[str]] = []
        if not field.is_required and not (self._state.initial_texts[field.name] or ""):
            first.append(Choice("", "not set"))
        if field.is_nullable:
            first.append(Choice(_NULL, *null_choice(field, self._state.form.operation)))

        def chosen(answer: str | None) -> None:
            if answer is not None:
                self._set_text(field, None if answer == _NULL else answer)

        offer.choices = lambda: [*first, *offer.options.choices]
        self._show(field, offer, chosen, _NULL if written is None else written)

    def _show(
        self, field: FormField, offer: _OptionPicker, chosen: Callable[[str | None], None], now: str | None
    ) -> None:
        offer.picker = Picker(
            offer.picker_title(field), offer.choices(), now=now, find_more=offer.search, waits=offer.is_loading
        )
        self._shell.push_screen(offer.picker, chosen)

    def _choose_several(self, field: FormField, offer: _OptionPicker, at: str | None = None) -> None:
        """Let the user add and remove items until the picker is closed."""
        now = [each.strip() for each in (self._state.texts[field.name] or "").splitlines() if each.strip()]

        def choices() -> list[Choice[str]]:
            names = self._labels.get(field.name, {})
            known = {each.value: each for each in offer.options.choices}
            detail = {name: each.detail for name, each in known.items()}
            return [
                *(
                    Choice(
                        each, names.get(each) or field.label_of(each), detail.get(each, ""), "remove", "SELECTED", "✓"
                    )
                    for each in now
                ),
                *(
                    replace(each, group=each.group or "ADD", sign=" ")
                    for each in offer.options.choices
                    if each.value not in now
                ),
                *(
                    Choice(each, field.label_of(each), description_of(field, each), group="INSTEAD", sign=" ")
                    for each in words
                    if each not in now
                ),
            ]

        words = field.choices if field.kind == "list" else ()

        def chosen(one: str | None) -> None:
            if one is None:
                return
            alone = one in words
            left = [each for each in now if each not in words]
            after = [each for each in now if each != one] if one in now else [one] if alone else [*left, one]
            self._set_text(field, "\n".join(after))
            # The cursor moves to the next item that can be added, because most users add several.
            others = (each.value for each in offer.options.choices if each.value not in now)
            self._choose_several(field, offer, next((each for each in others if each != one), None))

        offer.choices = choices
        self._show(field, offer, chosen, at)
