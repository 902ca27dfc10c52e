"""The state of a form: its text, its changes, its draft, and sending."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api.errors import ApiError, NotFound, Outcome
from octavo.api.operation import SPECS, Model, Operation
from octavo.data.writes.uploads import NotSendable
from octavo.data.writes.write_kind import cause_of
from octavo.documents.yaml_values import YamlError
from octavo.tui.resources import form_yaml
from octavo.tui.resources.form_fields import FormField, fields_of
from octavo.tui.resources.form_files import FormUploads, with_placeholder
from octavo.tui.resources.form_references import ReferenceList
from octavo.tui.resources.form_values import (
    FORM,
    FormResult,
    build_request,
    field_in_error,
    initial_texts,
    is_same_text,
    unreported_fields,
)
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

NOTHING_CHANGED = "You have not changed anything."
_MAYBE_SENT = "The change may already have been made. Check the list before you send the form again."


ItemReader = Operation[Any] | Callable[[], Awaitable[Model | None]]
"""Operation or function that loads the item as it is now. The function returns None if the item was deleted. Raises
ApiError."""


@dataclass(frozen=True)
class FormRequest:
    """The task of a form: the operation to fill in, and the item to change."""

    shell: Shell
    operation: type[Operation[Any]]
    title: str
    arguments: Mapping[str, Any]
    """Arguments that the form does not ask for."""
    item: Model | None
    """The item to change. None if the form creates an item."""
    draft_name: str
    """Name of the draft in the database."""
    on_sent: Callable[[Any, Any], None]
    """Called with the operation that was sent and its response."""
    reference_lists: Mapping[str, ReferenceList]
    item_reader: ItemReader | None
    """Loads the item just before it is changed."""
    verb: str
    intro: str
    progress_notice: str = "Sending…"
    """Notice while the server works."""
    required_fields: frozenset[str] = frozenset()
    """Fields that must be filled in, although the API does not require them."""

    async def load_item(self) -> Model | None:
        """Return the item as it is now. None if it was deleted. Raises ApiError."""
        if self.item_reader is None:
            return self.item
        try:
            current = (
                await self.shell.session.live.fetch(self.item_reader)
                if isinstance(self.item_reader, Operation)
                else await self.item_reader()
            )
        except NotFound:
            return None
        return current if isinstance(current, Model) else None


@dataclass(frozen=True)
class SubmittedForm:
    """A form that was sent."""

    operation: Operation[Any]
    response: Any
    """None if the response was lost, but the change was made."""


class FormState:
    """The text of a form and the state of sending it. Outlives the dialog, which can be closed while the form is
    sent."""

    def __init__(self, form: FormRequest) -> None:
        self.form = form
        self.fields: tuple[FormField, ...] = fields_of(
            form.operation, leave_out=frozenset(form.arguments), required_fields=form.required_fields
        )
        self.initial_texts = initial_texts(self.fields, form.item)
        self.unreported_fields = unreported_fields(self.fields, form.item)
        """Names of the fields whose present value the server does not send."""
        if form.item is None and not self._is_creation:
            # The item exists but is not loaded, so its fields start empty and are sent only if the user fills them in.
            self.initial_texts = dict.fromkeys(self.initial_texts, "")
        self.texts: dict[str, str | None] = dict(self.initial_texts)
        self.server_errors: dict[str, str] = {}
        """Errors from the server and conflicts with other users, by field name."""
        self.was_attempted = False
        """Whether the user tried to send the form. From then on, all missing fields are reported."""
        self.is_sending = False
        self.is_uploading = False
        """Whether files are being uploaded. The user can cancel an upload."""
        self._uploads = FormUploads(form.shell)
        self.draft = DialogDraft(form.shell, form.draft_name)
        self.editor_draft = DialogDraft(form.shell, f"{form.draft_name} as YAML")
        self.yaml_error = ""
        """Error in the YAML from the editor. The YAML is saved as a separate draft."""
        self.yaml_error_line = 1
        self.is_from_draft = self._load_draft()

    @property
    def verb(self) -> str:
        """Label of the button that sends the form."""
        return self.form.verb or ("Create" if self._is_creation else "Save")

    @property
    def _is_creation(self) -> bool:
        """Whether the form creates an item."""
        spec = SPECS.get(self.form.operation)
        return self.form.item is None and (spec is None or not spec.changes)

    # Text

    def parse(self) -> FormResult:
        """Return the operation that the text makes, or the errors in it."""
        form = self.form
        texts = {each.name: with_placeholder(each, self.texts[each.name]) for each in self.fields}
        return build_request(
            form.operation, self.fields, form.arguments, self.initial_texts, texts, is_new=self._is_creation
        )

    def set_text(self, name: str, text: str | None) -> None:
        """Set the text of a field."""
        if self.texts[name] != text:
            self.texts[name] = text
            self.server_errors.pop(name, None)
            self.server_errors.pop(FORM, None)

    def is_changed(self, name: str) -> bool:
        """Return whether the text of a field differs from the original text."""
        return not is_same_text(self.texts[name], self.initial_texts[name])

    def visible_errors(self, result: FormResult) -> dict[str, str]:
        """Return the errors to show. Errors in fields that the user has not changed are shown only after an attempt to
        send."""
        shown = {
            name: sentence
            for name, sentence in result.errors.items()
            if self.was_attempted
            or (name == FORM and result.changed_fields)
            or (name != FORM and self.is_changed(name))
        }
        return {**shown, **self.server_errors}

    # Draft

    def _load_draft(self) -> bool:
        """Load the saved draft. Return whether the form now has changes."""
        try:
            saved = parse_json(self.draft.text) if self.draft.text else {}
        except ValueError:
            saved = {}
        for each in self.fields:
            if isinstance(saved, dict) and each.name in saved and isinstance(saved[each.name], str | None):
                self.texts[each.name] = saved[each.name]
        if text := self.editor_draft.text:
            self.load_yaml(text)
        return any(self.is_changed(each.name) for each in self.fields)

    @property
    def draft_text(self) -> str:
        """The changed fields as JSON. Empty without changes."""
        changed = {each.name: self.texts[each.name] for each in self.fields if self.is_changed(each.name)}
        return json.dumps(changed, ensure_ascii=False) if changed else ""

    def save_draft(self) -> None:
        """Save the draft."""
        self.draft.keep(self.draft_text)

    def save_draft_now(self) -> None:
        """Save the draft before returning, because Octavo quits or is suspended."""
        self.draft.keep_now(self.draft_text)

    # External editor

    def to_yaml(self) -> str:
        """Return the form as YAML. YAML that could not be read before is returned unchanged."""
        title = f"{self.form.title}"
        return self.editor_draft.text or form_yaml.form_to_yaml(title, self.fields, self.initial_texts, self.texts)

    def load_yaml(self, text: str) -> bool:
        """Set the fields from YAML. Return False if it could not be read: `fault` has the error, and the YAML stays a
        draft.

        Empty text discards the draft of the YAML and changes no field.
        """
        if not text.strip():
            self.yaml_error, self.yaml_error_line = "", 1
            self.editor_draft.drop()
            return True
        try:
            texts = form_yaml.yaml_to_texts(text, self.fields, self.initial_texts)
        except YamlError as fault:
            self.yaml_error, self.yaml_error_line = f"{fault.place}: {fault.sentence}", fault.line
            self.editor_draft.keep(text)
            return False
        for name, each in texts.items():
            self.set_text(name, each)
        self.yaml_error, self.yaml_error_line = "", 1
        self.editor_draft.drop()
        self.save_draft()
        return True

    # Sending

    async def send(self, report_progress: Callable[[str], None]) -> SubmittedForm | str:
        """Send the form. Return the error if it was not sent. `say` is called with the progress.

        An error in a single field is in `refused` too.
        """
        self.is_sending = True
        try:
            return await self._send(report_progress)
        finally:
            self.is_sending = self.is_uploading = False

    async def _send(self, report_progress: Callable[[str], None]) -> SubmittedForm | str:
        live = self.form.shell.session.live
        if self.form.item_reader is not None and (error_sentence := await self._check_for_changes()):
            return error_sentence
        result = self.parse()
        if result.operation is None:
            if not result.changed_fields:
                self.draft.drop()
            return next(iter(self.visible_errors(result).values()), NOTHING_CHANGED)
        response: Any = None
        try:
            self.is_uploading = any(each.upload_kind for each in self.fields)
            operation = await self._uploads.upload_all(result.operation, report_progress)
            self.is_uploading = False
            report_progress(self.form.progress_notice)
        except (ApiError, NotSendable) as error:
            return self._add_error(str(error))
        try:
            response = await live.write(operation)
        except ApiError as error:
            if isinstance(error, NotFound):
                self._uploads.forget()  # The server deletes uploaded files after some time.
            if error.outcome is not Outcome.UNKNOWN:
                return self._add_error(str(error))
            if not await self._was_applied(result):
                return self._add_error(f"{cause_of(error)} {_MAYBE_SENT}", for_whole_form=True)
        self.draft.drop()
        return SubmittedForm(operation, response)

    def _add_error(self, sentence: str, *, for_whole_form: bool = False) -> str:
        now_text = [each for each in self.fields if each.is_active(self.texts)]
        self.server_errors[FORM if for_whole_form else field_in_error(sentence, now_text)] = (
            f"{sentence[:1].upper()}{sentence[1:]}"
        )
        return sentence

    async def _check_for_changes(self) -> str:
        """Check whether another user has changed the item. Return the error, or an empty string if the form can be
        sent."""
        try:
            current = await self.form.load_item()
        except ApiError as error:
            return self._add_error(
                f"Could not check for newer changes, so nothing was sent: {error}", for_whole_form=True
            )
        if current is None:
            return self._add_error("The item was deleted, so nothing was sent.", for_whole_form=True)
        previous, self.initial_texts = self.initial_texts, initial_texts(self.fields, current)
        conflicts: dict[str, str] = {}
        for each in self.fields:
            name, now_text = each.name, self.initial_texts[each.name]
            if is_same_text(previous[name], now_text):
                continue
            if is_same_text(self.texts[name], previous[name]):
                self.texts[name] = now_text  # The user has not edited this field.
            elif not is_same_text(self.texts[name], now_text):
                quoted = _quoted(each, now_text)
                their_change = f"changed this field to {quoted}" if quoted else "cleared this field"
                conflicts[name] = f"Someone else {their_change}. To use your value instead, {self.verb.lower()} again."
        self.server_errors |= conflicts
        return "Someone else changed the same fields. Check the fields, then save again." if conflicts else ""

    async def _was_applied(self, result: FormResult) -> bool:
        """Return whether the item has the values that were sent, after the response was lost."""
        if self.form.item_reader is None:
            return False
        try:
            current = await self.form.load_item()
        except ApiError:
            return False
        if current is None:
            return False
        current_texts = initial_texts(self.fields, current)
        return all(
            is_same_text(current_texts[each.name], self.texts[each.name])
            for each in self.fields
            if each.operation_field in result.changed_fields
        )


def _quoted(result: FormField, texts: str | None) -> str:
    text = result.label_of(" ".join((texts or "").split()))
    return f"“{text[:60]}{'…' if len(text) > 60 else ''}”" if text else ""
