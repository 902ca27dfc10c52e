"""Choices in a form: one of a few labels, one or several items of a list that is loaded, yes or no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from octavo.api.errors import ApiError
from octavo.api.operation import Operation
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_meanings import meaning, nothing
from octavo.tui.resources.form_references import Listed, References
from octavo.tui.resources.form_state import FormState
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_SHOWN_NAMES = 4
_NULL = "\0null"
"""Stands for null among what can be picked: no value has a NUL."""

Look = Callable[[str], Awaitable[Sequence[Choice[str]]]]


@dataclass
class _Offer:
    """What can be picked in a field, as far as it was read, and where it is shown."""

    listed: Listed
    waits: bool = False
    """Whether it is being read."""
    look: Look | None = None
    choices: Callable[[], Sequence[Choice[str]]] = tuple
    picker: Picker[str] | None = None

    def title(self, field: FormField) -> str:
        """What stands above it."""
        return f"{field.label}{' · press esc to finish' if field.kind in ('list', 'choices') else ''}{self.listed.said}"


class Picking:
    """What can be picked in the fields of a form, and what it is called."""

    def __init__(self, state: FormState, picked: Callable[[FormField, str | None], None]) -> None:
        """`picked` is told what is in a field from now on."""
        self._state, self._picked = state, picked
        self._names: dict[str, dict[str, str]] = {}
        """What is picked is called, by field and id."""

    @property
    def _shell(self) -> Shell:
        return self._state.form.shell

    @property
    def _references(self) -> Mapping[str, References]:
        return self._state.form.references

    def takes(self, field: FormField) -> bool:
        """Whether a field is picked, and not written."""
        of_list = "reference" in (field.kind, field.items) and field.name in self._references
        return field.kind in ("choice", "choices", "yes or no") or of_list

    def words(self, field: FormField) -> str:
        """What is picked in a field, as it is called."""
        written = self._state.written[field.name]
        if written is None:
            return nothing(field, self._state.form.operation)[0]
        if not written.strip():
            return self._words_of_nothing(field)
        names = self._names.get(field.name, {})
        words = [names.get(each) or field.label_of(each) for each in written.splitlines() if each.strip()]
        more = f" and {len(words) - _SHOWN_NAMES} more" if len(words) > _SHOWN_NAMES else ""
        return ", ".join(words[:_SHOWN_NAMES]) + more

    def _words_of_nothing(self, field: FormField) -> str:
        if field.required:
            return "choose"
        if self._state.form.now is None:
            return "not set"
        return "unchanged" if field.name in self._state.untold else "not set"

    async def learn_names(self) -> None:
        """Learn what is called what is in the fields already."""
        for field in self._state.fields:
            if field.name in self._references and (self._state.written[field.name] or "").strip():
                references = self._references[field.name]
                self._call(field, references.known(self._shell, self._state.written))
                op = references.op(self._state.written)
                if op is None or self._names[field.name]:
                    continue
                try:
                    self._call(field, (await references.all(self._shell, op)).choices)
                except ApiError:
                    continue  # its id is shown

    def _call(self, field: FormField, choices: Sequence[Choice[str]]) -> None:
        self._names.setdefault(field.name, {}).update({each.value: each.title for each in choices})

    def pick(self, field: FormField) -> None:
        """Open the choices of a field, or switch yes and no."""
        written = self._state.written[field.name] or ""
        if field.kind == "yes or no":
            turned = {"yes": "no", "no": "yes" if field.required or self._state.begin[field.name] else ""}
            self._picked(field, turned.get(written, "yes"))
        elif field.name in self._references:
            self._pick_reference(field, self._references[field.name])
        else:
            self._choose(
                field,
                _Offer(Listed([Choice(each, field.label_of(each), meaning(field, each)) for each in field.choices])),
            )

    def _pick_reference(self, field: FormField, references: References) -> None:
        """What is known is offered at once, and the rest when it is read: what is typed meanwhile is looked for in it."""
        op = references.op(self._state.written)
        if op is None:
            self._shell.explain(references.nothing)
            return
        offer = _Offer(Listed(references.known(self._shell, self._state.written)), waits=True)
        self._choose(field, offer)
        self._shell.background(self._read(field, references, op, offer))

    async def _read(self, field: FormField, references: References, op: Operation[Any], offer: _Offer) -> None:
        search = references.search

        async def look(query: str) -> Sequence[Choice[str]]:
            assert search is not None, "the list must support search"
            try:
                found = (await references.all(self._shell, search(query))).choices
            except ApiError:
                return ()  # what was listed stays
            self._call(field, found)
            return found

        try:
            offer.listed = await references.all(self._shell, op)
        except ApiError as error:
            self._shell.say(
                f"Could not load the list: {error} Press ctrl+e to edit the form as YAML and enter the ID there.",
                tone="failed",
            )
            if not offer.listed.choices and offer.picker is not None and self._shell.screen is offer.picker:
                offer.picker.dismiss(None)
                return
        offer.waits = False
        self._call(field, offer.listed.choices)
        if search is not None and not offer.listed.is_whole:
            offer.look = look
        if offer.picker is not None:
            offer.picker.show_loaded(offer.title(field), offer.choices(), offer.look)

    def _choose(self, field: FormField, offer: _Offer) -> None:
        if field.kind in ("list", "choices"):
            self._choose_several(field, offer)
            return
        written = self._state.written[field.name]
        first: list[Choice[str]] = []
        if not field.required and not (self._state.begin[field.name] or ""):
            first.append(Choice("", "not set"))
        if field.nullable:
            first.append(Choice(_NULL, *nothing(field, self._state.form.operation)))

        def chosen(answer: str | None) -> None:
            if answer is not None:
                self._picked(field, None if answer == _NULL else answer)

        offer.choices = lambda: [*first, *offer.listed.choices]
        self._show(field, offer, chosen, _NULL if written is None else written)

    def _show(self, field: FormField, offer: _Offer, chosen: Callable[[str | None], None], now: str | None) -> None:
        offer.picker = Picker(
            offer.title(field), offer.choices(), initial=now, find_more=offer.look, is_loading=offer.waits
        )
        self._shell.push_screen(offer.picker, chosen)

    def _choose_several(self, field: FormField, offer: _Offer, at: str | None = None) -> None:
        """Ask for one more, or one to be taken off, again and again until that is left."""
        now = [each.strip() for each in (self._state.written[field.name] or "").splitlines() if each.strip()]

        def choices() -> list[Choice[str]]:
            names = self._names.get(field.name, {})
            known = {each.value: each for each in offer.listed.choices}
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
                    for each in offer.listed.choices
                    if each.value not in now
                ),
                *(
                    Choice(each, field.label_of(each), meaning(field, each), group="INSTEAD", sign=" ")
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
            self._picked(field, "\n".join(after))
            # One more of them is what comes next: what is in it is seen above.
            others = (each.value for each in offer.listed.choices if each.value not in now)
            self._choose_several(field, offer, next((each for each in others if each != one), None))

        offer.choices = choices
        self._show(field, offer, chosen, at)
