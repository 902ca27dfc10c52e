"""Form for the details of a page, such as slug, description, emoji, icon and visibility."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static, TextArea

from octavo.api.content import Page, PageTree, UpdatePage
from octavo.api.folding import fold
from octavo.documents.emoji import to_emoji
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.dialog import STYLES, TextButton, dialog_styles
from octavo.tui.widgets.short_texts import safe, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.untrusted_input import parse_json

Values = dict[str, str]
"""Text of each form field, by name. The field `hidden` is `yes` or empty."""

FIELD_LABELS = {"slug": "Slug", "description": "Description", "emoji": "Emoji", "icon": "Icon", "hidden": "Hidden"}
_MISSING_FIELDS = {"group": {"description"}, "link": {"slug", "description"}, "computed": {"description"}}
_MAX_LENGTHS = {"slug": 100, "description": 1000, "emoji": 50, "icon": 50}
_SLUG = re.compile(r"[\w.-]+")
_ICON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def field_names(page: Page) -> tuple[str, ...]:
    """Return the names of the form fields that exist for this type of page."""
    return tuple(name for name in FIELD_LABELS if name not in _MISSING_FIELDS.get(page.type, ()))


def current_values(page: Page) -> Values:
    values = {name: getattr(page, name) for name in field_names(page)}
    texts = {name: ("yes" if value else "") if name == "hidden" else str(value or "") for name, value in values.items()}
    if "emoji" in texts:
        texts["emoji"] = to_emoji(texts["emoji"])
    return texts


def changed_values(page: Page, values: Mapping[str, str]) -> Values:
    """Return the `values` that differ from the current details of the page."""
    current_texts = current_values(page)
    return {
        name: values[name].strip()
        for name in current_texts
        if name in values and values[name].strip() != current_texts[name].strip()
    }


def page_update(page: Page, values: Mapping[str, str]) -> UpdatePage | None:
    """Return the content edit that saves the changed values. None if nothing has changed."""
    sent_fields: dict[str, Any] = {}
    for name, value in changed_values(page, values).items():
        if name == "hidden":
            sent_fields[name] = value == "yes"
        elif name in ("slug", "description"):
            sent_fields[name] = value
        else:
            sent_fields[name] = value or None
    return UpdatePage(page=page.id, **sent_fields) if sent_fields else None


def value_errors(page: Page, tree: PageTree, values: Mapping[str, str]) -> dict[str, str]:
    """Return an error message for each changed value that is invalid, by field name. Empty if all are valid."""
    errors: dict[str, str] = {}
    new_values = changed_values(page, values)
    for name, value in new_values.items():
        if len(value) > _MAX_LENGTHS.get(name, len(value)):
            errors[name] = f"Use at most {_MAX_LENGTHS[name]} characters. This text has {len(value)} characters."
    slug, icon = new_values.get("slug", ""), new_values.get("icon", "")
    if slug and "slug" not in errors:
        if not _SLUG.fullmatch(slug):
            errors["slug"] = "Use only letters, digits, and hyphens. Example: first-steps"
        elif page_with_slug := next(
            (each for each in tree.siblings(page.id) if each.id != page.id and fold(each.slug or "") == fold(slug)),
            None,
        ):
            errors["slug"] = f"“{page_with_slug.title or 'Untitled'}” at this level already uses this slug."
    if icon and "icon" not in errors:
        if not _ICON.fullmatch(icon):
            errors["icon"] = "Use only lowercase letters, digits, and hyphens. Example: rocket-launch"
        elif values.get("emoji", "").strip():
            errors["icon"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    if new_values.get("emoji") and "emoji" not in errors:
        if not _is_emoji(new_values["emoji"]):
            errors["emoji"] = "Use one emoji, such as 🚀, or its code, such as 1f680."
        elif values.get("icon", "").strip() and "icon" not in errors:
            errors["emoji"] = "A page can have an emoji or an icon, but not both. Clear one of these fields."
    return errors


def server_errors(sentence: str, names: Sequence[str]) -> dict[str, str]:
    """Return `{name: sentence}` for the first of `names` that the error `sentence` mentions. Empty if there is none."""
    return next(({name: sentence} for name in names if re.search(rf"\b{name}\b", sentence, re.IGNORECASE)), {})


def _is_emoji(value: str) -> bool:
    character = to_emoji(value)
    if character.endswith("\N{COMBINING ENCLOSING KEYCAP}"):
        return len(character) <= 3
    return all(ord(each) > 0xA8 and not each.isspace() and not each.isalpha() for each in character)


def to_draft(page: Page, values: Mapping[str, str]) -> str:
    """Return the changed values as JSON, to store them as a draft. Empty if nothing has changed."""
    new_values = changed_values(page, values)
    return json.dumps(new_values, ensure_ascii=False) if new_values else ""


def from_draft(page: Page, draft: str) -> Values:
    """Return the details of the page as changed by the draft. If the draft is invalid, return the current details."""
    texts = current_values(page)
    try:
        saved_values = parse_json(draft) if draft else {}
    except ValueError:
        return texts
    return texts | {
        name: str(saved_values[name]) for name in texts if isinstance(saved_values, dict) and name in saved_values
    }


def change_notes(page: Page, draft: str, base: str) -> dict[str, str]:
    """Return, by name, a note for each value in `draft` that others have changed. `base` is JSON of the old values."""
    edited, current = from_draft(page, base), current_values(page)
    return {
        name: f"This has changed since you typed your draft. It is now: {current[name] or 'empty'}"
        for name in changed_values(page, from_draft(page, draft))
        if edited[name] != current[name]
    }


_HINTS = {
    "slug": "leave empty to use the title",
    "description": "shown below the title",
    "emoji": "one emoji, such as 🚀",
    "icon": "the name of an icon, such as rocket",
}
_ROOMY_HEIGHT = 32
"""Minimum number of rows of a terminal in which there are empty lines between the fields."""
_VISIBLE_LABEL, _HIDDEN_LABEL = (
    "no: the page is in the table of contents",
    "yes: only people with the link can find the page",
)


class PageForm(ConfirmDialog):
    """Form for the details of a page."""

    CSS_PATH = dialog_styles(__file__, STYLES / "confirm.tcss", "page_form.tcss")
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
        validate: Callable[[Values], Mapping[str, str]],
        save: Callable[[Values], None],
        save_now: Callable[[Values], None],
        refused: Mapping[str, str],
    ) -> None:
        """`validate` returns error messages by field name. `refused` has messages that stay until their field is
        edited, such as errors of the server. The name "" stands for the whole form. `save` stores the values as a draft
        in the background. `save_now` waits until they are stored, because the app quits."""
        super().__init__(title, verb="Save", intro=intro, foot="")
        self._values, self._validate, self._keep_values, self._keep_values_now = dict(values), validate, save, save_now
        self._refused = dict(refused)
        self.confirmed_values: Values = {}
        """Values of the form when the user pressed Save. Empty before that."""
        self._fields = {name: self._field_of(name, value) for name, value in values.items()}

    def _field_of(self, name: str, value: str) -> DialogField:
        lines = 3 if name == "description" else 1
        return DialogField(
            FIELD_LABELS[name],
            value,
            lines,
            placeholder=_HINTS.get(name, ""),
            save_draft=lambda _: self._save_drafts(),  # Saves the draft of the whole form.
        )

    def field_widgets(self, name: str, field: DialogField) -> ComposeResult:
        with Horizontal(classes="form--row"):
            yield Static(safe(field.label), classes="form--label")
            if name == "hidden":
                yield TextButton(_HIDDEN_LABEL if field.value else _VISIBLE_LABEL, id=name)
            elif field.height > 1:
                yield TextEditor(field.value, placeholder=field.placeholder, id=name)
            else:
                yield LineInput(field.value, placeholder=field.placeholder, id=name)
        yield ChangingText("", classes="form--wrong", id=f"wrong-{name}")

    def on_resize(self) -> None:
        self.set_class(self.size.height >= _ROOMY_HEIGHT, "-roomy")

    @property
    def initial_focus(self) -> str:
        return next(filter(None, self._refused), next(iter(self._fields)))

    @property
    def values(self) -> Values:
        return {name: self._field_text(name) for name in self._fields}

    def _field_text(self, name: str) -> str:
        return self._values["hidden"] if name == "hidden" else super()._field_text(name)

    def why_not_confirm(self) -> str | None:
        if self._is_composed and self._is_active:
            for name, sentence in self._validate(self.values).items():
                return f"{FIELD_LABELS[name]}: {sentence}"
        return super().why_not_confirm()

    def _show_state(self) -> None:
        super()._show_state()
        errors = {**self._refused, **self._validate(self.values)}
        for name in self._fields:
            error_label = self.query_one(f"#wrong-{name}", Static)
            error_label.update(safe(errors.get(name, "")))
            error_label.display = name in errors
        form_error = self.query_one(".confirm--why", Static)
        form_error.update(safe_lines(errors.get("", "")))
        form_error.display = "" in errors

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _on_edited(self, message: Input.Changed | TextArea.Changed) -> None:
        name = message.control.id or ""
        if name in self._refused and self._field_text(name) != self._values[name].strip():
            del self._refused[name]  # The refused value was edited.

    @on(TextButton.Pressed, "#hidden")
    def _on_hidden_pressed(self, message: TextButton.Pressed) -> None:
        message.prevent_default()  # The base class would close the dialog.
        self._values["hidden"] = "" if self._values["hidden"] else "yes"
        message.button.label = _HIDDEN_LABEL if self._values["hidden"] else _VISIBLE_LABEL
        self._refused.pop("hidden", None)
        self._save_drafts()
        self._show_state()

    def _save_drafts(self) -> None:
        self._draft_delay.mark_saved()
        self._keep_values(self.values)

    def _save_drafts_now(self) -> None:
        self._keep_values_now(self.values)

    def confirm(self) -> None:
        if not self._is_answered:
            entered_values = self.values
            self._is_answered = True
            self._keep_values(entered_values)
            self.confirmed_values = entered_values
            self.dismiss(Confirmed())
