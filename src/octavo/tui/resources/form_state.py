"""The state of a form: its text, how it differs from the thing as it is, and sending it."""

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
"""What says how a thing is now: its operation, or what finds it elsewhere. None: it is not there. Raises ApiError."""


@dataclass(frozen=True)
class FormRequest:
    """What a form is of."""

    shell: Shell
    operation: type[Operation[Any]]
    title: str
    known: Mapping[str, Any]
    """The arguments that are not asked."""
    now: Model | None
    """What the thing is like. None: one is made."""
    draft: str
    """Under which what is written is kept."""
    sent: Callable[[Any, Any], None]
    """Called with what was sent, and its answer."""
    references: Mapping[str, References]
    read: Reads | None
    """What is asked just before it is changed."""
    verb: str
    intro: str
    doing: str = "Sending…"
    """The notice while the server works."""
    required: frozenset[str] = frozenset()
    """Fields that must be filled in, although the API does not require them."""

    async def look(self) -> Model | None:
        """How the thing is now. None: it is not there. Raises ApiError."""
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
    """None where it was lost, and what was asked for is there."""


class FormState:
    """What is written so far. What is said of it is asked by the dialog, which may be closed while it is sent."""

    def __init__(self, form: FormRequest) -> None:
        self.form = form
        self.fields: tuple[FormField, ...] = fields_of(
            form.operation, leave_out=frozenset(form.known), required=form.required
        )
        self.begin = beginnings(self.fields, form.now)
        self.untold = untold(self.fields, form.now)
        """The fields of which nobody says how they are now."""
        if form.now is None and not self._is_anew:
            # What is changed is there, and not known: nothing is said of it before somebody does.
            self.begin = dict.fromkeys(self.begin, "")
        self.written: dict[str, str | None] = dict(self.begin)
        self.refused: dict[str, str] = {}
        """What the server said, or somebody else did, by field."""
        self.attempted = False
        """Whether it was tried to send it: then all that is missing is said."""
        self.is_sending = False
        self.is_uploading = False
        """Whether its files are on their way: that can be stopped."""
        self._files = SentFiles(form.shell)
        self.draft = DialogDraft(form.shell, form.draft)
        self.editor_draft = DialogDraft(form.shell, f"{form.draft} as YAML")
        self.fault = ""
        """What is wrong with what an editor wrote, which is kept beside."""
        self.fault_line = 1
        self.is_from_draft = self._take_draft()

    @property
    def verb(self) -> str:
        """What sending it is called."""
        return self.form.verb or ("Create" if self._is_anew else "Save")

    @property
    def _is_anew(self) -> bool:
        """Whether something is made, and nothing changed that is there."""
        spec = SPECS.get(self.form.operation)
        return self.form.now is None and (spec is None or not spec.changes)

    # What is written

    def made(self) -> Made:
        """What it comes to."""
        form = self.form
        written = {each.name: stood_in(each, self.written[each.name]) for each in self.fields}
        return make(form.operation, self.fields, form.known, self.begin, written, anew=self._is_anew)

    def write(self, name: str, text: str | None) -> None:
        """Another text is in a field."""
        if self.written[name] != text:
            self.written[name] = text
            self.refused.pop(name, None)
            self.refused.pop(FORM, None)

    def is_changed(self, name: str) -> bool:
        """Whether something else is written in a field than what was there."""
        return not same(self.written[name], self.begin[name])

    def wrong(self, made: Made) -> dict[str, str]:
        """What is to be said: of what nobody wrote in nothing, until it is sent."""
        shown = {
            name: sentence
            for name, sentence in made.wrong.items()
            if self.attempted or (name == FORM and made.changed) or (name != FORM and self.is_changed(name))
        }
        return {**shown, **self.refused}

    # What is kept of it

    def _take_draft(self) -> bool:
        """Take up what was written before. Whether there was anything."""
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
        """What is kept: only what was changed."""
        changed = {each.name: self.written[each.name] for each in self.fields if self.is_changed(each.name)}
        return json.dumps(changed, ensure_ascii=False) if changed else ""

    def keep(self) -> None:
        """Keep what is written."""
        self.draft.autosave(self.draft_text)

    def keep_now(self) -> None:
        """Keep it before this returns: the app ends, or stops."""
        self.draft.autosave_now(self.draft_text)

    # The editor

    def as_yaml(self) -> str:
        """All of it as a text for the editor: what could not be read there goes on as it is."""
        title = f"{self.form.title}"
        return self.editor_draft.text or form_yaml.text_of(title, self.fields, self.begin, self.written)

    def take_yaml(self, text: str) -> bool:
        """Take what an editor wrote. Whether it could be read: if not, it is kept beside, and `fault` says why. Where all was
        taken out, what was written there before is dropped, and nothing is changed."""
        if not text.strip():
            self.fault, self.fault_line = "", 1
            self.editor_draft.delete()
            return True
        try:
            written = form_yaml.written_of(text, self.fields, self.begin)
        except YamlError as fault:
            self.fault, self.fault_line = f"{fault.place}: {fault.sentence}", fault.line
            self.editor_draft.autosave(text)
            return False
        for name, each in written.items():
            self.write(name, each)
        self.fault, self.fault_line = "", 1
        self.editor_draft.delete()
        self.keep()
        return True

    # Sending

    async def send(self, say: Callable[[str], None]) -> Sent | str:
        """Send it. Else what is to be said, and where that is of a field it is in `refused`. `say` is told how far it is."""
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
                self.draft.delete()
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
                self._files.forget()  # what was sent waits for a while only
            if error.outcome is not Outcome.UNKNOWN:
                return self._refuse(str(error))
            if not await self._is_so(made):
                return self._refuse(f"{cause_of(error)} {_MAYBE}", whole=True)
        self.draft.delete()
        return Sent(operation, answer)

    def _refuse(self, sentence: str, *, whole: bool = False) -> str:
        there = [each for each in self.fields if each.is_there(self.written)]
        self.refused[FORM if whole else refused_field(sentence, there)] = f"{sentence[:1].upper()}{sentence[1:]}"
        return sentence

    async def _look_again(self) -> str:
        """See whether somebody else changed it meanwhile. What is to be said of that: empty when it may be sent."""
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
                self.written[name] = there  # nobody wrote in it here
            elif not same(self.written[name], there):
                quoted = _quoted(each, there)
                theirs = f"changed this field to {quoted}" if quoted else "cleared this field"
                clashes[name] = f"Someone else {theirs}. To use your value instead, {self.verb.lower()} again."
        self.refused |= clashes
        return "Someone else changed the same fields. Check the fields, then save again." if clashes else ""

    async def _is_so(self, made: Made) -> bool:
        """Whether what was sent is so, where its answer was lost: seen, where it can be looked at."""
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
