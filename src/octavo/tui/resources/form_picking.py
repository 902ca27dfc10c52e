"""What is picked in a form: a word of a few, one or several of a list that is asked for, yes or no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_references import Listed, References
from octavo.tui.resources.form_state import FormState
from octavo.tui.shell.progress import meanwhile
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.picker import Picker

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_SHOWN_NAMES = 4
_NULL = "\0null"
"""Stands for null among what can be picked: no value has a NUL."""

Look = Callable[[str], Awaitable[Sequence[Choice[str]]]]


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
            return "none"
        if not written.strip():
            return "choose" if field.required else "left out" if self._state.form.now is None else "not set"
        names = self._names.get(field.name, {})
        words = [names.get(each, each) for each in written.splitlines() if each.strip()]
        more = f" and {len(words) - _SHOWN_NAMES} more" if len(words) > _SHOWN_NAMES else ""
        return ", ".join(words[:_SHOWN_NAMES]) + more

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
        """Ask what shall be in a field; turn what is yes or no."""
        written = self._state.written[field.name] or ""
        if field.kind == "yes or no":
            turned = {"yes": "no", "no": "yes" if field.required or self._state.begin[field.name] else ""}
            self._picked(field, turned.get(written, "yes"))
        elif field.name in self._references:
            self._shell.background(self._pick_reference(field, self._references[field.name]))
        else:
            self._choose(field, Listed([Choice(each, each) for each in field.choices]), None)

    async def _pick_reference(self, field: FormField, references: References) -> None:
        op = references.op(self._state.written)
        if op is None:
            self._shell.explain(references.nothing)
            return
        on_show = self._shell.screen
        try:
            with meanwhile(self._shell, "Reading what there is to pick…"):
                listed = await references.all(self._shell, op)
        except ApiError as error:
            self._shell.say(f"What can be picked did not load: {error} ctrl+e lets you write an id.", tone="failed")
            return
        self._call(field, listed.choices)
        search = references.search

        async def look(query: str) -> Sequence[Choice[str]]:
            assert search is not None, "asked for below only where it is"
            try:
                found = (await references.all(self._shell, search(query))).choices
            except ApiError:
                return ()  # what was listed stays
            self._call(field, found)
            return found

        if self._shell.screen is on_show:
            words = [Choice(each, each, group="INSTEAD") for each in field.choices] if field.kind == "list" else []
            every = replace(listed, choices=[*listed.choices, *words])
            self._choose(field, every, look if search is not None and not listed.is_whole else None)

    def _choose(self, field: FormField, listed: Listed, look: Look | None) -> None:
        if field.kind in ("list", "choices"):
            self._choose_several(field, listed, look)
            return
        written = self._state.written[field.name]
        first: list[Choice[str]] = []
        if not field.required and not (self._state.begin[field.name] or ""):
            first.append(Choice("", "Leave it out"))
        if field.nullable:
            first.append(Choice(_NULL, "None", field.hint))

        def chosen(answer: str | None) -> None:
            if answer is not None:
                self._picked(field, None if answer == _NULL else answer)

        now = _NULL if written is None else written
        title = f"{field.label}{listed.said}"
        self._shell.push_screen(Picker(title, [*first, *listed.choices], now=now, find_more=look), chosen)

    def _choose_several(self, field: FormField, listed: Listed, look: Look | None, at: str | None = None) -> None:
        """Ask for one more, or one to be taken off, again and again until that is left."""
        now = [each.strip() for each in (self._state.written[field.name] or "").splitlines() if each.strip()]
        names = self._names.get(field.name, {})
        known = {each.value: each for each in listed.choices}
        inside = [
            Choice(
                each,
                names.get(each, each),
                known[each].detail if each in known else "",
                "takes it off",
                "IN IT NOW",
                "✓",
            )
            for each in now
        ]
        others = [
            replace(each, group=each.group or "CAN BE ADDED", sign=" ")
            for each in listed.choices
            if each.value not in now
        ]

        def chosen(one: str | None) -> None:
            if one is None:
                return
            alone = one in field.choices and field.kind == "list"
            left = [each for each in now if each not in field.choices or field.kind == "choices"]
            after = [each for each in now if each != one] if one in now else [one] if alone else [*left, one]
            self._picked(field, "\n".join(after))
            # One more of them is what comes next: what is in it is seen above.
            self._choose_several(field, listed, look, next((each.value for each in others if each.value != one), None))

        title = f"{field.label} · esc when done{listed.said}"
        self._shell.push_screen(Picker(title, [*inside, *others], now=at, find_more=look), chosen)
