"""The form of a request: one field below the other, each with its error. It can be edited as YAML too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import PurePath
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.events import DescendantFocus
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from octavo.api.operation import Model, Operation
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_files import told_by
from octavo.tui.resources.form_inputs import FieldRow
from octavo.tui.resources.form_picking import Picking
from octavo.tui.resources.form_references import References
from octavo.tui.resources.form_state import NOTHING_CHANGED, FormRequest, FormState, Reads, Sent
from octavo.tui.resources.form_values import FORM, Made
from octavo.tui.shell.dialog_draft import why_not_saved
from octavo.tui.terminal.external_editor import Edited, FileNote, edit_text
from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.safe_text import safe, safe_lines
from octavo.tui.widgets.text_inputs import DraftClock
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

T = TypeVar("T")

NO_REFERENCES: Mapping[str, References] = MappingProxyType({})
_PICKED = {False: "press enter or space to choose an option", True: "press enter or space to switch between yes and no"}
_FROM_FILE = {
    "import_file": "a link (http or https) or a file, for example ~/notes.zip · press tab to complete the path",
    "text": "or the path to a file, for example ~/spec.yaml · press ctrl+f to choose a file",
    "customization_font": "press ctrl+f to add a font file · Octavo reads the weight from the file name",
}
_LONG = 4000
"""Characters in all fields from which on they are not checked with each key."""


def fill_in(
    shell: Shell,
    operation: type[Operation[T]],
    *,
    title: str,
    known: Mapping[str, Any],
    draft: str,
    sent: Callable[[Operation[T], T | None], None],
    now: Model | None = None,
    references: Mapping[str, References] = NO_REFERENCES,
    read: Reads | None = None,
    verb: str = "",
    intro: str = "",
    doing: str = "Sending…",
    required: frozenset[str] = frozenset(),
) -> None:
    """Open the form of a request, and send it. Unsent text is kept as a draft.

    `known`: arguments that are not asked for, such as `at`. `draft`: the name of the draft. `sent` is called with the
    operation and its response; the response is None if it was lost and the change was made. `now`: the thing as it is; only
    changes are sent. `references`: what can be chosen, by field. `read` reads the thing just before sending: its operation,
    or a function. `doing`: the notice while the server works. `required`: fields that must be filled in, although the API
    does not require them.
    """
    form = FormRequest(shell, operation, title, known, now, draft, sent, references, read, verb, intro, doing, required)
    shell.push_screen(FormDialog(FormState(form)))


def _send(app: App[Any], dialog: FormDialog) -> None:
    dialog.send()


FORM_KEYS: Commands[FormDialog] = Commands(
    "form",
    (
        Command("send", "ctrl+s", "Save", "Save the changes", run=_send, writes=True, why_not=lambda _, form: form.why_not_send(),
                title_now=lambda _, form: form.state.verb, priority=True),
        Command("edit", "ctrl+e", "Edit as YAML", "Edit the form as YAML in your editor", run=lambda _, form: form.edit_outside(), priority=True),
        Command("file", "ctrl+f", "Choose file", "Choose a file for this field", run=lambda _, form: form.choose_file(),
                is_available=lambda _, form: form.takes_files, why_not=lambda _, form: form.why_no_file(), priority=True),
        Command("reveal", "ctrl+r", "Show/hide", "Show or hide secrets", run=lambda _, form: form.reveal(),
                is_available=lambda _, form: form.has_hidden, priority=True),
        Command("restore", "ctrl+b", "Reset", "Reset this field", run=lambda _, form: form.restore(),
                why_not=lambda _, form: form.why_not_restore(), priority=True, shown=False),
        Command("close", "escape", "Close", "Close the form and keep the draft, or cancel the upload",
                run=lambda _, form: form.leave(), priority=True, title_now=lambda _, form: "Cancel" if form.state.is_uploading else None),
        Command("next", "tab", "Next", "Go to the next field", run=lambda _, form: form.focus_next(), shown=False),
        Command("previous", "shift+tab", "Previous", "Go to the previous field", run=lambda _, form: form.focus_previous(), shown=False),
    ),
    find=lambda form: form,
)  # fmt: skip


class FormDialog(Dialog[None]):
    """A form. It returns nothing: its state reports what was sent, also after the form was closed."""

    CONTEXT: ClassVar[str] = "form"
    HELP: ClassVar[str] = (
        "Fill in the form. Only changed fields, marked with +, are sent. "
        "Press tab to go to the next field, enter or space to open a list, ctrl+s to send the form, or ctrl+e to edit it as YAML. "
        "Press esc to close the form and keep a draft."
    )
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("form.tcss"),
    ]
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (FORM_KEYS,)

    def __init__(self, state: FormState) -> None:
        super().__init__()
        self.state: FormState = state
        self._shell = state.form.shell
        self._picking = Picking(state, self._write)
        self._rows = {
            each.name: FieldRow(each, state.written[each.name], picked=self._picking.takes(each), id=f"field-{number}")
            for number, each in enumerate(state.fields)
        }
        self._clear = self._is_done = False
        self._said = self._so_far = ""
        self._sending: asyncio.Task[None] | None = None
        self._made = state.made()
        self._clock = DraftClock()
        self._timer: Timer | None = None
        self._judging: Timer | None = None

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self.state.form.title, self._foot)
            with VerticalScroll(classes="form--body", can_focus=False):
                yield Static(safe_lines(self.state.form.intro), classes="form--intro")
                group = ""
                for each in self.state.fields:
                    if each.group != group and each.group:
                        yield Static(safe(each.group), classes="form--group")
                    group = each.group
                    yield self._rows[each.name]
            yield ChangingText(classes="form--about")
            yield ChangingText(classes="form--why")
            with Horizontal(classes="form--buttons"):
                yield TextButton("Close", "esc", id="no")
                yield TextButton(self.state.verb, "ctrl+s", id="yes", classes="-primary")

    def on_mount(self) -> None:
        state = self.state
        self._shell.before_end.add(self._keep_now)
        self.app.app_suspend_signal.subscribe(self, lambda _: self._keep_now())
        self.query_one(".form--intro").display = bool(state.form.intro)
        if state.fault:
            self._said = f"{state.fault} Press ctrl+e to correct your YAML."
        elif state.is_from_draft:
            self._said = "This is your draft. It has not been sent."
        self._shell.background(self._learn_names())
        self._judge()
        if first := next((row for row in self._rows.values() if row.display), None):
            first.input.focus()
        else:
            self.query_one("#yes").focus()

    def on_unmount(self) -> None:
        self._shell.before_end.discard(self._keep_now)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Let the fields scroll where the screen is too low, so that what is said and the buttons are always seen."""
        if not self.query(".form--body"):
            return
        frame, body = self.query_one(DialogFrame), self.query_one(".form--body")
        others = sum(
            each.outer_size.height + each.styles.margin.height
            for each in frame.children
            if each is not body and each.display
        )
        body.styles.max_height = max(3, self.size.height - others - 4)

    # What is written

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _typed(self, message: Input.Changed | TextArea.Changed) -> None:
        row = next((each for each in message.control.ancestors if isinstance(each, FieldRow)), None)
        if row is None or row.is_picked:
            return
        before, text = self.state.written[row.field.name], row.text
        if text != (before or ""):
            self._write(row.field, text)

    def _write(self, field: FormField, text: str | None) -> None:
        self.state.write(field.name, text)
        for name, value in told_by(field, text).items():
            if name in self._rows and not self.state.written[name]:
                self.state.write(name, value)
        self._said = ""
        self._keep_soon()
        if self._judging is not None:
            self._judging.stop()
            self._judging = None
        if sum(len(each or "") for each in self.state.written.values()) > _LONG:
            self._judging = self.set_timer(0.3, self._judge)
        else:
            self._judge()

    def _judge(self) -> None:
        """Show errors, and the fields that belong to the choices made."""
        state, self._judging = self.state, None
        if not self.query(".form--buttons"):
            return
        made = self._made = state.made()
        wrong = state.wrong(made)
        for name, row in self._rows.items():
            row.display = row.field.is_there(state.written)
            row.say(wrong.get(name, ""), changed=state.is_changed(name))
            if row.is_picked:
                row.show_words(self._picking.words(row.field))
        why = self.query_one(".form--why", ChangingText)
        why.update(safe_lines(wrong.get(FORM, "") or self._said))
        why.display = bool(wrong.get(FORM, "") or self._said)
        button = self.query_one("#yes", TextButton)
        button.is_dimmed = self.why_not_send() is not None
        self._say_about()
        self.query_one(DialogFrame).set_border_texts(self.state.form.title, self._foot)
        self.refresh_bindings()
        self.call_after_refresh(self._fit)

    @property
    def _foot(self) -> str:
        """Return the count of changed fields, and the keys."""
        changed = sum(self.state.is_changed(name) for name in self._rows)
        count = [f"{plural(changed, 'field')} changed"] if changed else []
        return " · ".join([*count, f"ctrl+s {self.state.verb.lower()}", "ctrl+e edit as YAML"])

    @on(DescendantFocus)
    def _say_about(self) -> None:
        """Show the hint of the selected field."""
        if not self.query(".form--about"):
            return
        row = self._row
        limits = "" if row is None else _PICKED[row.field.kind == "yes or no"] if row.is_picked else row.field.limits
        said = (row.field.hint, limits) if row is not None else ()
        if row is not None and row.field.file:
            said = (row.field.hint.partition(". ")[0], _FROM_FILE[row.field.file])
        about = " · ".join(each.rstrip(".") for each in said if each)
        self.query_one(".form--about", ChangingText).update(safe_lines(about))

    @property
    def _row(self) -> FieldRow | None:
        """The field with the cursor."""
        focused = self.focused
        places = focused.ancestors if focused is not None else ()
        return next((each for each in places if isinstance(each, FieldRow)), None)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.focus_next()

    # What is picked

    @on(TextButton.Pressed)
    async def _pressed(self, message: TextButton.Pressed) -> None:
        button = message.button
        if button.id == "yes":
            await self.run_command("form.send")
        elif button.id == "no":
            await self.run_command("form.close")
        elif (row := self._row) is not None or (row := self._row_of(button)) is not None:
            self._picking.pick(row.field)

    def _row_of(self, button: TextButton) -> FieldRow | None:
        return next((each for each in button.ancestors if isinstance(each, FieldRow)), None)

    async def _learn_names(self) -> None:
        await self._picking.learn_names()
        self._judge()

    # Files

    @property
    def takes_files(self) -> bool:
        """Whether something here is filled from a file."""
        return any(each.file for each in self.state.fields)

    @property
    def _rows_for_files(self) -> list[FieldRow]:
        return [each for each in self._rows.values() if each.field.file and each.display]

    @property
    def _row_for_file(self) -> FieldRow | None:
        """The field a file would be chosen for: the one with the cursor, else the only one there is."""
        rows, here = self._rows_for_files, self._row
        return here if here in rows else rows[0] if len(rows) == 1 else None

    def why_no_file(self) -> str | None:
        """Why no file can be chosen."""
        if self._row_for_file is not None:
            return None
        named = " and ".join(each.field.label for each in self._rows_for_files)
        return f"This field does not accept a file. These fields accept files: {named}."

    def choose_file(self) -> None:
        """Ask for a file for the field with the cursor, or for the only one that is filled from one."""
        from octavo.tui.resources.form_files import with_file
        from octavo.tui.shell.choosing_files import ask_for_file

        if (row := self._row_for_file) is None:
            return
        field = row.field
        row.input.focus()

        def chosen(path: str) -> None:
            text = with_file(field, self.state.written[field.name], path)
            self._write(field, text)
            row.put(text)

        ask_for_file(self._shell, field.label, field.file, chosen)

    # What is hidden, and what was there

    @property
    def has_hidden(self) -> bool:
        """Whether something is hidden here."""
        return any(each.masked for each in self.state.fields)

    def reveal(self) -> None:
        """Show what is hidden, or hide it again."""
        self._clear = not self._clear
        for row in self._rows.values():
            row.reveal(self._clear)

    def why_not_restore(self) -> str | None:
        """Why the field with the cursor cannot be put back."""
        row = self._row
        if row is None:
            return "Select a field first."
        return None if self.state.is_changed(row.field.name) else f"{row.field.label} has not been changed."

    def restore(self) -> None:
        """Put the field with the cursor back to what it was."""
        if (row := self._row) is not None:
            before = self.state.begin[row.field.name]
            self._write(row.field, before)
            row.put(before)

    # The editor

    def edit_outside(self) -> None:
        """Go on in the person's own editor, with all of it as YAML."""
        state, shell = self.state, self._shell
        self._keep_now()
        about = FileNote(state.form.title, state.editor_draft.place, shell.session.state.namespace)
        result = edit_text(
            shell,
            state.as_yaml(),
            shell.settings.state_folder / "editing",
            name="form",
            suffix=".yaml",
            keep=lambda text: why_not_saved(state.editor_draft.save_now, text),
            note=about,
            line=state.fault_line,
        )
        if not isinstance(result, Edited):
            self._said = result.message
        elif state.take_yaml(result.text):
            self._said = ""
            for name, row in self._rows.items():
                row.put(state.written[name])
        else:
            self._said = (
                f"{state.fault} Press ctrl+e to correct the YAML. To discard the YAML, delete all text in the file."
            )
        self._judge()

    # Keeping, sending, leaving

    def _keep_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self._clock.seconds_until_save(monotonic()), self._keep)

    def _keep(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._clock.mark_saved()
        self.state.keep()

    def _keep_now(self) -> None:
        self.state.keep_now()

    def why_not_send(self) -> str | None:
        """Why it cannot be sent now, in a sentence."""
        state = self.state
        if state.is_sending:
            return "The form is already being sent."
        for name, sentence in self._made.wrong.items():
            if state.attempted and (name == FORM or name in self._rows):
                return sentence
        return state.fault or None

    def send(self) -> None:
        """Send it, or go to what is wrong."""
        self.state.attempted = True
        self._judge()
        made = self._made
        if made.wrong:
            self._go_to_wrong(made)
        elif made.operation is None:
            self._say(NOTHING_CHANGED)
        else:
            self._keep()
            self._say(self.state.form.doing)
            self._sending = self._shell.background(self._sent())

    async def _sent(self) -> None:
        began = monotonic()
        waiting = self.set_interval(1.0, lambda: self._say_waiting(monotonic() - began))
        try:
            sent = await self.state.send(self._say_so_far)
        except asyncio.CancelledError:
            if self in self.app.screen_stack:
                self._say("Upload canceled. Nothing was sent. Your text is still here.")
            raise
        finally:
            waiting.stop()
        form = self.state.form
        if isinstance(sent, Sent):
            self._leave()
            form.sent(sent.operation, sent.answer)
        elif self not in self.app.screen_stack:
            self._shell.say(f"{form.title}: {sent} Your text is saved as a draft.", tone="failed")
        else:
            for name, row in self._rows.items():
                row.put(self.state.written[name])
            self._say("" if self.state.refused else sent)
            self._go_to_wrong(self._made)

    def _say_so_far(self, words: str) -> None:
        """How far it is, without a look at all the fields."""
        if self._so_far.partition(":")[0] != words.partition(":")[0]:
            self.refresh_bindings()  # esc does something else while files are sent
        self._so_far = words
        for why in self.query(".form--why").results(ChangingText):
            why.update(safe_lines(words))
            why.display = True

    def _say_waiting(self, seconds: float) -> None:
        if not self.state.is_uploading and self._so_far:
            self._say_so_far(f"{self._so_far.partition(' · ')[0]} · {seconds:.0f} s")

    def _say(self, words: str) -> None:
        self._so_far = ""
        self._said = words
        self._judge()

    def _go_to_wrong(self, made: Made) -> None:
        names = [*self.state.refused, *made.wrong]
        if first := next((row for name, row in self._rows.items() if name in names and row.display), None):
            first.input.focus()

    def leave(self) -> None:
        """Close; what is written is a draft."""
        if self.state.is_uploading and self._sending is not None:
            self._sending.cancel()
            return
        if not self.state.is_sending:
            self._keep()
        self._leave()

    def _leave(self) -> None:
        if self.app.screen is self:
            self.dismiss(None)
        else:
            self._is_done = True

    def on_screen_resume(self) -> None:
        """What is opened over it is closed: so is the form, where it was sent meanwhile."""
        if self._is_done:
            self.dismiss(None)
