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
from octavo.tui.resources.form_files import SentFiles, stood_in
from octavo.tui.resources.form_references import References
from octavo.tui.resources.form_values import FORM, Made, beginnings, make, refused_field, same, untold
from octavo.tui.shell.dialog_draft import DialogDraft
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

NOTHING_CHANGED = "You have not changed anything."
_MAYBE = "The change may already have been made. Check the list before you send the form again."


Reads = Operation[Any] | Callable[[], Awaitable[Model | None]]
"""Operation or function that loads the item as it is now. The function returns None if the item was deleted. Raises
ApiError."""


@dataclass(frozen=True)
class FormRequest:
    """The task of a form: the operation to fill in, and the item to change."""

    shell: Shell
    operation: type[Operation[Any]]
    title: str
    known: Mapping[str, Any]
    """Arguments that the form does not ask for."""
    now: Model | None
    """The item to change. None if the form creates an item."""
    draft: str
    """Name of the draft in the database."""
    sent: Callable[[Any, Any], None]
    """Called with the operation that was sent and its response."""
    references: Mapping[str, References]
    read: Reads | None
    """Loads the item just before it is changed."""
    verb: str
    intro: str
    doing: str = "Sending…"
    """Notice while the server works."""
    required: frozenset[str] = frozenset()
    """Fields that must be filled in, although the API does not require them."""

    async def look(self) -> Model | None:
        """Return the item as it is now. None if it was deleted. Raises ApiError."""
        if self.read is None:
            return self.now
        try:
            found = (
                await self.shell.session.live.fetch(self.read)
                if isinstance(self.read, Operation)
                else await self.read()
            )
        except NotFound:
            return None
        return found if isinstance(found, Model) else None


@dataclass(frozen=True)
class Sent:
    """A form that was sent."""

    operation: Operation[Any]
    answer: Any
    """None if the response was lost, but the change was made."""


class FormState:
    """The text of a form and the state of sending it. Outlives the dialog, which can be closed while the form is
    sent."""

    def __init__(self, form: FormRequest) -> None:
        self.form = form
        self.fields: tuple[FormField, ...] = fields_of(
            form.operation, leave_out=frozenset(form.known), required=form.required
        )
        self.begin = beginnings(self.fields, form.now)
        self.untold = untold(self.fields, form.now)
        """Names of the fields whose present value the server does not send."""
        if form.now is None and not self._is_anew:
            # The item exists but is not loaded, so its fields start empty and are sent only if the user fills them in.
            self.begin = dict.fromkeys(self.begin, "")
        self.written: dict[str, str | None] = dict(self.begin)
        self.refused: dict[str, str] = {}
        """Errors from the server and conflicts with other users, by field name."""
        self.attempted = False
        """Whether the user tried to send the form. From then on, all missing fields are reported."""
        self.is_sending = False
        self.is_uploading = False
        """Whether files are being uploaded. The user can cancel an upload."""
        self._files = SentFiles(form.shell)
        self.draft = DialogDraft(form.shell, form.draft)
        self.editor_draft = DialogDraft(form.shell, f"{form.draft} as YAML")
        self.fault = ""
        """Error in the YAML from the editor. The YAML is saved as a separate draft."""
        self.fault_line = 1
        self.is_from_draft = self._take_draft()

    @property
    def verb(self) -> str:
        """Label of the button that sends the form."""
        return self.form.verb or ("Create" if self._is_anew else "Save")

    @property
    def _is_anew(self) -> bool:
        """Whether the form creates an item."""
        spec = SPECS.get(self.form.operation)
        return self.form.now is None and (spec is None or not spec.changes)

    # Text

    def made(self) -> Made:
        """Return the operation that the text makes, or the errors in it."""
        form = self.form
        written = {each.name: stood_in(each, self.written[each.name]) for each in self.fields}
        return make(form.operation, self.fields, form.known, self.begin, written, anew=self._is_anew)

    def write(self, name: str, text: str | None) -> None:
        """Set the text of a field."""
        if self.written[name] != text:
            self.written[name] = text
            self.refused.pop(name, None)
            self.refused.pop(FORM, None)

    def is_changed(self, name: str) -> bool:
        """Return whether the text of a field differs from the original text."""
        return not same(self.written[name], self.begin[name])

    def wrong(self, made: Made) -> dict[str, str]:
        """Return the errors to show. Errors in fields that the user has not changed are shown only after an attempt to
        send."""
        shown = {
            name: sentence
            for name, sentence in made.wrong.items()
            if self.attempted or (name == FORM and made.changed) or (name != FORM and self.is_changed(name))
        }
        return {**shown, **self.refused}

    # Draft

    def _take_draft(self) -> bool:
        """Load the saved draft. Return whether the form now has changes."""
        try:
            kept = parse_json(self.draft.text) if self.draft.text else {}
        except ValueError:
            kept = {}
        for each in self.fields:
            if isinstance(kept, dict) and each.name in kept and isinstance(kept[each.name], str | None):
                self.written[each.name] = kept[each.name]
        if text := self.editor_draft.text:
            self.take_yaml(text)
        return any(self.is_changed(each.name) for each in self.fields)

    @property
    def draft_text(self) -> str:
        """The changed fields as JSON. Empty without changes."""
        changed = {each.name: self.written[each.name] for each in self.fields if self.is_changed(each.name)}
        return json.dumps(changed, ensure_ascii=False) if changed else ""

    def keep(self) -> None:
        """Save the draft."""
        self.draft.keep(self.draft_text)

    def keep_now(self) -> None:
        """Save the draft before returning, because Octavo quits or is suspended."""
        self.draft.keep_now(self.draft_text)

    # External editor

    def as_yaml(self) -> str:
        """Return the form as YAML. YAML that could not be read before is returned unchanged."""
        title = f"{self.form.title}"
        return self.editor_draft.text or form_yaml.text_of(title, self.fields, self.begin, self.written)

    def take_yaml(self, text: str) -> bool:
        """Set the fields from YAML. Return False if it could not be read: `fault` has the error, and the YAML stays a
        draft.

        Empty text discards the draft of the YAML and changes no field.
        """
        if not text.strip():
            self.fault, self.fault_line = "", 1
            self.editor_draft.drop()
            return True
        try:
            written = form_yaml.written_of(text, self.fields, self.begin)
        except YamlError as fault:
            self.fault, self.fault_line = f"{fault.place}: {fault.sentence}", fault.line
            self.editor_draft.keep(text)
            return False
        for name, each in written.items():
            self.write(name, each)
        self.fault, self.fault_line = "", 1
        self.editor_draft.drop()
        self.keep()
        return True

    # Sending

    async def send(self, say: Callable[[str], None]) -> Sent | str:
        """Send the form. Return the error if it was not sent. `say` is called with the progress.

        An error in a single field is in `refused` too.
        """
        self.is_sending = True
        try:
            return await self._send(say)
        finally:
            self.is_sending = self.is_uploading = False

    async def _send(self, say: Callable[[str], None]) -> Sent | str:
        live = self.form.shell.session.live
        if self.form.read is not None and (said := await self._look_again()):
            return said
        made = self.made()
        if made.operation is None:
            if not made.changed:
                self.draft.drop()
            return next(iter(self.wrong(made).values()), NOTHING_CHANGED)
        answer: Any = None
        try:
            self.is_uploading = any(each.file for each in self.fields)
            operation = await self._files.put_in(made.operation, say)
            self.is_uploading = False
            say(self.form.doing)
        except (ApiError, NotSendable) as error:
            return self._refuse(str(error))
        try:
            answer = await live.write(operation)
        except ApiError as error:
            if isinstance(error, NotFound):
                self._files.forget()  # The server deletes uploaded files after some time.
            if error.outcome is not Outcome.UNKNOWN:
                return self._refuse(str(error))
            if not await self._is_so(made):
                return self._refuse(f"{cause_of(error)} {_MAYBE}", whole=True)
        self.draft.drop()
        return Sent(operation, answer)

    def _refuse(self, sentence: str, *, whole: bool = False) -> str:
        there = [each for each in self.fields if each.is_there(self.written)]
        self.refused[FORM if whole else refused_field(sentence, there)] = f"{sentence[:1].upper()}{sentence[1:]}"
        return sentence

    async def _look_again(self) -> str:
        """Check whether another user has changed the item. Return the error, or an empty string if the form can be
        sent."""
        try:
            found = await self.form.look()
        except ApiError as error:
            return self._refuse(f"Could not check for newer changes, so nothing was sent: {error}", whole=True)
        if found is None:
            return self._refuse("The item was deleted, so nothing was sent.", whole=True)
        before, self.begin = self.begin, beginnings(self.fields, found)
        clashes: dict[str, str] = {}
        for each in self.fields:
            name, there = each.name, self.begin[each.name]
            if same(before[name], there):
                continue
            if same(self.written[name], before[name]):
                self.written[name] = there  # The user has not edited this field.
            elif not same(self.written[name], there):
                quoted = _quoted(each, there)
                theirs = f"changed this field to {quoted}" if quoted else "cleared this field"
                clashes[name] = f"Someone else {theirs}. To use your value instead, {self.verb.lower()} again."
        self.refused |= clashes
        return "Someone else changed the same fields. Check the fields, then save again." if clashes else ""

    async def _is_so(self, made: Made) -> bool:
        """Return whether the item has the values that were sent, after the response was lost."""
        if self.form.read is None:
            return False
        try:
            found = await self.form.look()
        except ApiError:
            return False
        if found is None:
            return False
        now = beginnings(self.fields, found)
        return all(same(now[each.name], self.written[each.name]) for each in self.fields if each.top in made.changed)


def _quoted(made: FormField, written: str | None) -> str:
    text = made.label_of(" ".join((written or "").split()))
    return f"“{text[:60]}{'…' if len(text) > 60 else ''}”" if text else ""
