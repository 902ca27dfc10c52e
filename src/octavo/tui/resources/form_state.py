"""An open form without its widgets (`FormState`): texts, draft, uploads, and sending."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from pydantic import BaseModel

from octavo.api.errors import ApiError, NotFound, Outcome
from octavo.api.operation import SPECS, Model, Operation, OrganizationRef
from octavo.data.local_files import FileToUpload, NotSendable, check_file, read_text, upload
from octavo.data.writes.machine import cause_of
from octavo.documents import yaml_values
from octavo.documents.yaml_values import YamlError
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.item_labels import format_size
from octavo.tui.resources.form_fields import FormField, fields_of, upload_kind_of
from octavo.tui.resources.form_values import (
    FORM,
    FormResult,
    build_request,
    field_in_error,
    form_to_yaml,
    initial_texts,
    is_same_text,
    unreported_fields,
    yaml_to_texts,
)
from octavo.tui.resources.resource import ReferenceList
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

PLACEHOLDER_URL = "https://file.invalid/"
"""Start of a URL that replaces the path of a file until the file is uploaded. No real host has this name."""
_FORMATS_BY_SUFFIX = {
    "md": "markdown",
    "markdown": "markdown",
    "html": "html",
    "htm": "html",
    "docx": "docx",
    "zip": "zip",
}
_PATH = re.compile(r"\s*(?:~|\.{0,2})/[^\n]*\s*")
_WEIGHTS = {
    "thin": 100,
    "hairline": 100,
    "extralight": 200,
    "ultralight": 200,
    "light": 300,
    "medium": 500,
    "semibold": 600,
    "demibold": 600,
    "extrabold": 800,
    "ultrabold": 800,
    "bold": 700,
    "black": 900,
    "heavy": 900,
}
"""Font weights by name. A name comes before each name that it contains: `semibold` before `bold`."""

ReportProgress = Callable[[str], None]


def is_path(text: str | None) -> bool:
    """Return True if a text looks like a path: `/fonts/a.woff`, `./a`, `../a` or `~/a`. The file may be missing."""
    return text is not None and _PATH.fullmatch(text) is not None


def text_to_validate(field: FormField, text: str | None) -> str | None:
    """Return the text to validate for a field. A file path in an import field becomes a URL, as the API expects."""
    return (
        PLACEHOLDER_URL + quote(text.strip()) if field.upload_kind == "import_file" and text and is_path(text) else text
    )


def text_after_choosing_file(field: FormField, text: str | None, path: str) -> str:
    """Return the text of a field after the user chose the file at `path`. In most fields, this is the path. In a field
    of fonts, it is the YAML list in `text` with this font added. An invalid list stays unchanged."""
    if field.upload_kind != "customization_font":
        return path
    try:
        parsed = yaml_values.parse_yaml(text or "")
    except YamlError:
        return text or ""
    font_faces = parsed.value if parsed is not None and parsed.value is not None else []
    if not isinstance(font_faces, list):
        return text or ""
    return yaml_values.to_yaml([*font_faces, {"weight": font_weight(path), "storageKey": path}]).rstrip("\n")


def values_implied_by_file_name(field: FormField, text: str | None) -> Mapping[str, str]:
    """Return texts that a chosen file implies for other fields: `{"source": "html"}` for `page.htm`. Empty if none."""
    source = _FORMATS_BY_SUFFIX.get((text or "").strip().rpartition(".")[2].lower())
    return {"source": source} if field.upload_kind == "import_file" and is_path(text) and source is not None else {}


def font_weight(path: str) -> int:
    """Return the font weight in the name of a font file, such as 700 for `Inter-Bold.woff2`. 400 if there is none."""
    name = re.sub(r"[\W_]", "", path.rpartition("/")[2].lower())
    number_match = re.search(r"(?<!\d)([1-9]00)(?!\d)", path.rpartition("/")[2])
    number_weight = int(number_match[1]) if number_match else 400
    return next((weight for word, weight in _WEIGHTS.items() if word in name), number_weight)


class FormUploads:
    """Uploads the files of a form. In the request, replaces the path of each file, usually by its URL. Until `clear`,
    no file is uploaded twice."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._urls_and_keys: dict[FileToUpload, tuple[str, str]] = {}
        """URL and storage key that the server returned for each uploaded file."""

    async def upload_all(self, operation: Any, report_progress: ReportProgress) -> Any:
        """Upload the files whose paths are in `operation`. Return a copy of `operation` with URLs, storage keys or
        texts instead of paths. Raises ApiError or NotSendable."""
        replacements: dict[tuple[str, str], str] = {}
        kinds_and_paths = list(dict.fromkeys(_files_in(operation)))
        checked_files = {
            (kind, text): await asyncio.to_thread(check_file, _file_path(text), kind)
            for kind, text in kinds_and_paths
            if kind != "text"
        }
        for kind, text in kinds_and_paths:
            if kind == "text":
                replacements[kind, text] = await asyncio.to_thread(read_text, text)
            else:
                url, key = await self._upload(checked_files[kind, text], report_progress)
                replacements[kind, text] = key if kind == "customization_font" else url
        return _replace_paths(operation, replacements) if replacements else operation

    async def _upload(self, file: FileToUpload, report_progress: ReportProgress) -> tuple[str, str]:
        organization = self._shell.workspace.organization
        if file not in self._urls_and_keys:
            assert organization is not None, "a form must belong to an organization"
            total_size = format_size(file.size)

            def report_bytes(sent_bytes: int, total_bytes: int) -> None:
                sent_size = format_size(sent_bytes) if sent_bytes else "0"
                report_progress(
                    f"Sending {file.path.name}: {sent_size} of {total_size}, {100 * sent_bytes // total_bytes}%. Press esc to cancel."
                )

            organization_ref = OrganizationRef(organization_id=organization.id)
            session = self._shell.session
            uploaded = await upload(session.live, session.upload, organization_ref, file, report_bytes)
            self._urls_and_keys[file] = (uploaded.url, uploaded.key)
        return self._urls_and_keys[file]

    def clear(self) -> None:
        """Forget the uploads, so that the next attempt uploads the files again."""
        self._urls_and_keys.clear()


def _file_path(text: str) -> str:
    return unquote(text.removeprefix(PLACEHOLDER_URL)) if text.startswith(PLACEHOLDER_URL) else text


def _files_in(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield the kind and the path of each file to upload. The path of an import follows `PLACEHOLDER_URL`."""
    for name, each in value if isinstance(value, BaseModel) else ():
        kind = _upload_kind(value, name)
        if isinstance(each, str) and kind and _is_file(kind, each):
            yield kind, each
        for nested_value in each if isinstance(each, tuple) else (each,):
            if isinstance(nested_value, BaseModel):
                yield from _files_in(nested_value)


def _replace_paths(value: Any, replacements: dict[tuple[str, str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_replace_paths(each, replacements) for each in value)
    if not isinstance(value, BaseModel):
        return value
    changes: dict[str, Any] = {}
    for name in value.model_fields_set:
        each = getattr(value, name)
        replacement = replacements.get((_upload_kind(value, name), each)) if isinstance(each, str) else None
        changes[name] = replacement if replacement is not None else _replace_paths(each, replacements)
    return value.model_copy(update=changes)


def _upload_kind(value: BaseModel, name: str) -> str:
    info = type(value).model_fields[name]
    annotations: Sequence[Any] = (info.annotation, *info.metadata)
    return upload_kind_of(annotations, include_nested=False)


def _is_file(kind: str, text: str) -> bool:
    if kind == "import_file":
        return text.startswith(PLACEHOLDER_URL)
    return kind == "customization_font" or is_path(text)


NOTHING_CHANGED = "You have not changed anything."
MAYBE_SENT = "The change may already have been made. Check the list before you send the form again."


@dataclass(frozen=True)
class FormRequest:
    """The operation that a form fills in and sends, the item to change, if any, and the texts of the form's dialog."""

    shell: Shell
    operation: type[Operation[Any]]
    _: KW_ONLY
    title: str
    arguments: Mapping[str, Any]
    """Arguments of the operation that the form does not ask for, such as `at`."""
    draft_name: str
    """Key under which the typed text is saved as a draft."""
    on_sent: Callable[[SubmittedForm], None]
    """Called after the server has made the change."""
    item: Model | None = None
    """The item to change. Only changed fields are sent. None if there is no item yet, or if its values are unknown."""
    item_reader: Callable[[], Awaitable[Model | None]] | None = None
    """Loads the item again before sending, or returns None if it was deleted. Raises ApiError. The attribute is None if
    the item need not be loaded again."""
    several_titles: Mapping[str, str] = field(default_factory=dict)
    """Titles by key, if the form changes several items. `item_reader` loads the first item."""
    reference_lists: Mapping[str, ReferenceList] = field(default_factory=dict)
    """Lists from which the user chooses values, by field name."""
    verb: str = ""
    """Label of the button that sends the form. If empty, “Create” or “Save”."""
    intro: str = ""
    progress_notice: str = "Sending…"
    """Notification that is shown while the server works."""
    required_fields: frozenset[str] = frozenset()
    """Names of fields that the user must fill in, although the API does not require them."""

    async def load_item(self) -> Model | None:
        """Return the item as loaded by `item_reader`, which must be set. None if it was deleted. Raises ApiError."""
        assert self.item_reader is not None, "the item can be loaded"
        try:
            return await self.item_reader()
        except NotFound:
            return None


@dataclass(frozen=True)
class SubmittedForm:
    """A form that was sent: the request and the response."""

    operation: Operation[Any]
    response: Any
    """Response of the server. None if the response was lost, but the server made the change."""
    replaced: Model | None = None
    """The item as it was just before the change. None if the form created an item or ran an action."""


class FormState:
    """The texts in a form, their errors, and the progress of sending. Uses no widgets."""

    def __init__(self, form: FormRequest) -> None:
        self.form = form
        self._item = form.item
        self.fields: tuple[FormField, ...] = fields_of(
            form.operation, leave_out=frozenset(form.arguments), required_fields=form.required_fields
        )
        self.initial_texts = initial_texts(self.fields, form.item)
        self.unreported_fields = unreported_fields(self.fields, form.item)
        """Names of the fields that the server does not send. Their current values are unknown."""
        if form.item is None and not self._is_creation:
            # The current values of the item are unknown. Empty initial texts let only filled fields be sent.
            self.initial_texts = dict.fromkeys(self.initial_texts, "")
        self.texts: dict[str, str | None] = dict(self.initial_texts)
        self.server_errors: dict[str, str] = {}
        """Errors of the server, and changes by other users, by field name. `FORM` stands for the whole form."""
        self.was_attempted = False
        """True after the user first tried to send the form. Until then, errors in unchanged fields are hidden."""
        self.is_sending = False
        """True from the key press that sends the form until the response arrives."""
        self.is_uploading = False
        """True while files are being uploaded, which the user can cancel."""
        self._was_sent = False
        self.may_have_been_sent = False
        """True if the server may have got the form's texts, but the result is unknown. Stored with the draft."""
        self._uploads = FormUploads(form.shell)
        shown_texts = {each.name: self.initial_texts[each.name] for each in self.fields if not each.is_masked}
        base = shown_texts if form.item is not None else list(form.several_titles)
        edited = json.dumps(base, ensure_ascii=False) if base else None
        self.form_draft = DialogDraft(form.shell, form.draft_name, edited)
        self.editor_draft = DialogDraft(form.shell, f"{form.draft_name} as YAML")
        self.yaml_error = ""
        """Error in the YAML from the editor. Empty if there is none. The invalid YAML is saved as a separate draft."""
        self.yaml_error_line = 1
        self.is_from_draft = self._load_draft()

    @property
    def verb(self) -> str:
        """Label of the button that sends the form."""
        return self.form.verb or ("Create" if self._is_creation else "Save")

    @property
    def draft_source_text(self) -> str:
        """Sentence that says which draft the form shows."""
        is_for_other_items = self.form.several_titles and self.form_draft.earlier_base is not None
        return "You typed this draft for other items." if is_for_other_items else "This is your draft."

    @property
    def _is_creation(self) -> bool:
        spec = SPECS.get(self.form.operation)
        return self.form.item is None and (spec is None or not spec.is_update)

    def parse(self) -> FormResult:
        """Return the operation that the texts describe, or the errors in the texts."""
        form = self.form
        texts = {each.name: text_to_validate(each, self.texts[each.name]) for each in self.fields}
        return build_request(
            form.operation, self.fields, form.arguments, self.initial_texts, texts, is_new=self._is_creation
        )

    def set_text(self, name: str, text: str | None) -> None:
        """Set the text of a field. A new text removes the server's errors about this field and about the whole form."""
        if self.texts[name] != text:
            self.texts[name] = text
            self.server_errors.pop(name, None)
            self.server_errors.pop(FORM, None)

    def is_changed(self, name: str) -> bool:
        """Return True if the text of a field differs from the original text."""
        return not is_same_text(self.texts[name], self.initial_texts[name])

    def visible_errors(self, result: FormResult) -> dict[str, str]:
        """Return the errors to show, by field name. Before the first attempt to send, unchanged fields show none."""
        visible_errors = {
            name: sentence
            for name, sentence in result.errors.items()
            if self.was_attempted
            or (name == FORM and result.changed_fields)
            or (name != FORM and self.is_changed(name))
        }
        return {**visible_errors, **self.server_errors}

    def _load_draft(self) -> bool:
        draft_texts, earlier_texts = _parse_texts(self.form_draft.text), _parse_texts(self.form_draft.earlier_base)
        self.may_have_been_sent = FORM in draft_texts
        for each in self.fields:
            self.texts[each.name] = draft_texts.get(each.name, self.texts[each.name])
        if text := self.editor_draft.text:
            self.load_yaml(text)
        for each in self.fields:
            now_text = self.initial_texts[each.name]
            if not self.is_changed(each.name):
                continue
            if each.is_masked and self.form.item is not None:  # The draft has no earlier text of a secret.
                self.server_errors[each.name] = "This may have changed since you typed your draft."
            elif not is_same_text(earlier_texts.get(each.name, now_text), now_text):
                self.server_errors[each.name] = (
                    f"This has changed since you typed your draft. It is now: {_quote_value(each, now_text) or 'empty'}"
                )
        return any(self.is_changed(each.name) for each in self.fields)

    @property
    def draft_json(self) -> str:
        """JSON with the changed texts, and a mark if `may_have_been_sent`. Empty if nothing changed or the form was sent."""
        fields = () if self._was_sent else self.fields
        changed_texts = {each.name: self.texts[each.name] for each in fields if self.is_changed(each.name)}
        mark = {FORM: "may be sent"} if self.may_have_been_sent else {}
        return json.dumps({**changed_texts, **mark}, ensure_ascii=False) if changed_texts else ""

    def save_draft(self) -> None:
        """Save the changed texts in the background."""
        self.form_draft.autosave(self.draft_json)

    def save_draft_now(self) -> None:
        """Save the changed texts and wait for the disk, because Octavo exits or is suspended."""
        self.form_draft.autosave_now(self.draft_json)

    def to_yaml(self) -> str:
        """Return the fields as YAML. If the user's last YAML has an error, return that YAML instead."""
        return self.editor_draft.text or form_to_yaml(self.form.title, self.fields, self.initial_texts, self.texts)

    def load_yaml(self, text: str) -> bool:
        """Set field texts from YAML. An empty `text` discards the user's YAML and changes no field. If the YAML is
        invalid, save it as a draft and return False."""
        if not text.strip():
            self.yaml_error, self.yaml_error_line = "", 1
            self.editor_draft.delete()
            return True
        try:
            texts = yaml_to_texts(text, self.fields, self.initial_texts)
        except YamlError as fault:
            self.yaml_error, self.yaml_error_line = f"{fault.position}: {fault.sentence}", fault.line
            self.editor_draft.autosave(text)
            return False
        for name, each in texts.items():
            self.set_text(name, each)
        self.yaml_error, self.yaml_error_line = "", 1
        self.editor_draft.delete()
        self.save_draft()
        return True

    async def send(self, report_progress: Callable[[str], None]) -> SubmittedForm | str:
        """Send the form, and return what was sent. If sending fails, return an error sentence."""
        forms_being_sent = self.form.shell.forms_being_sent
        forms_being_sent.add(self.form.draft_name)
        try:
            return await self._send(report_progress)
        finally:
            forms_being_sent.remove(self.form.draft_name)
            self.is_sending = self.is_uploading = False

    async def _send(self, report_progress: Callable[[str], None]) -> SubmittedForm | str:
        live = self.form.shell.session.live
        if self.form.item_reader is not None and (error_sentence := await self._update_unedited_fields()):
            return error_sentence
        result = self.parse()
        if result.operation is None:
            if not result.changed_fields:
                self.form_draft.delete()
            return next(iter(self.visible_errors(result).values()), NOTHING_CHANGED)
        response: Any = None
        try:
            self.is_uploading = any(each.upload_kind for each in self.fields)
            operation = await self._uploads.upload_all(result.operation, report_progress)
            self.is_uploading = False
            report_progress(self.form.progress_notice)
        except (ApiError, NotSendable) as error:
            return self._add_error(str(error))
        self.may_have_been_sent = True
        self.save_draft()
        try:
            response = await live.write(operation)
        except ApiError as error:
            self.may_have_been_sent = error.outcome is Outcome.UNKNOWN
            self.save_draft()
            if isinstance(error, NotFound):
                self._uploads.clear()  # The next attempt uploads again, because the server may have deleted the uploaded files.
            if error.outcome is not Outcome.UNKNOWN:
                return self._add_error(str(error))
            if not await self._has_sent_values(result):
                return self._add_error(f"{cause_of(error)} {MAYBE_SENT}", for_whole_form=True)
        self._was_sent = True
        self.form_draft.delete()
        return SubmittedForm(operation, response, self._item)

    def _add_error(self, sentence: str, *, for_whole_form: bool = False) -> str:
        shown_fields = [each for each in self.fields if each.is_shown(self.texts)]
        self.server_errors[FORM if for_whole_form else field_in_error(sentence, shown_fields)] = (
            f"{sentence[:1].upper()}{sentence[1:]}"
        )
        return sentence

    async def _update_unedited_fields(self) -> str:
        """Load the item again, and update unedited fields. Return why the form must not be sent, or an empty text."""
        try:
            current_item = await self.form.load_item()
        except ApiError as error:
            return self._add_error(
                f"Could not check for newer changes, so nothing was sent: {error}", for_whole_form=True
            )
        if current_item is None:
            name = next(iter(self.form.several_titles.values()), "The item")
            return self._add_error(f"{name} was deleted, or you lost access. Nothing was sent.", for_whole_form=True)
        self._item = current_item
        if self.form.item is None:
            return ""  # The form changes several items, so it shows no values of an item.
        old_texts, self.initial_texts = self.initial_texts, initial_texts(self.fields, current_item)
        conflicts: dict[str, str] = {}
        for each in self.fields:
            name, now_text = each.name, self.initial_texts[each.name]
            if is_same_text(old_texts[name], now_text):
                continue
            if is_same_text(self.texts[name], old_texts[name]):
                self.texts[name] = now_text
            elif not is_same_text(self.texts[name], now_text):
                new_value = _quote_value(each, now_text)
                their_change = f"changed this field to {new_value}" if new_value else "cleared this field"
                conflicts[name] = f"Someone else {their_change}. To use your value instead, {self.verb.lower()} again."
        self.server_errors |= conflicts
        return "Someone else changed the same fields. Check the fields, then save again." if conflicts else ""

    async def _has_sent_values(self, result: FormResult) -> bool:
        """Load the item again. Return True if it has the values that were sent. False if it cannot be loaded."""
        if self.form.item_reader is None:
            return False
        try:
            current_item = await self.form.load_item()
        except ApiError:
            return False
        if current_item is None:
            return False
        current_texts = initial_texts(self.fields, current_item)
        return all(
            is_same_text(current_texts[each.name], self.texts[each.name])
            for each in self.fields
            if each.operation_field in result.changed_fields
        )


def _parse_texts(json_text: str | None) -> dict[str, str | None]:
    """Return the texts by field name from the JSON of a draft. Empty if there is no draft, or it is damaged."""
    with suppress(ValueError):
        if json_text and isinstance(texts := parse_json(json_text), dict):
            return {name: text for name, text in texts.items() if isinstance(text, str | None)}
    return {}


def _quote_value(field: FormField, text_of_field: str | None) -> str:
    text = field.label_of(" ".join((text_of_field or "").split()))
    if text and field.is_masked:
        return "a hidden value"
    return f"“{text[:60]}{'…' if len(text) > 60 else ''}”" if text else ""
