"""The dialog in which the user fills in an API operation: start at `open_form`. Each field has a row. The user can also
edit all fields as YAML in an editor."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.events import DescendantFocus
from textual.widgets import Input, Static, TextArea

from octavo.tui.core.dialog_draft import save_or_get_error
from octavo.tui.core.file_dialogs import ask_for_file
from octavo.tui.resources.form_fields import FormField
from octavo.tui.resources.form_inputs import FieldRow, FormPickers
from octavo.tui.resources.form_state import (
    MAYBE_SENT,
    NOTHING_CHANGED,
    FormRequest,
    FormState,
    SubmittedForm,
    text_after_choosing_file,
    values_implied_by_file_name,
)
from octavo.tui.resources.form_values import FORM, FormResult
from octavo.tui.terminal.external_editor import Edited, FileNote, edit_text
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay, DraftDelay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, TextButton, dialog_styles
from octavo.tui.widgets.short_texts import plural, safe, safe_lines
from octavo.tui.widgets.text_widgets import ChangingText

_CHOICE_HINTS = {
    False: "press enter or space to choose an option",
    True: "press enter or space to switch between yes and no",
}
_FILE_HINTS = {
    "import_file": "a link (http or https) or a file, for example ~/notes.zip · press tab to complete the path",
    "text": "or the path to a file, for example ~/spec.yaml · press ctrl+f to choose a file",
    "customization_font": "press ctrl+f to add a font file · Octavo reads the weight from the file name",
}
_LONG_FORM = 4000
"""Number of characters in all fields above which the form is checked only when the user pauses."""


def open_form(request: FormRequest) -> None:
    """Open the form that fills in `request`. Closing the form keeps the typed text as a draft. If the form is still
    being sent, tell the user instead of opening the draft, which could then be sent a second time."""
    if request.draft_name in request.shell.forms_being_sent:
        request.shell.explain(f"The form “{request.title}” is still being sent. Try again in a moment.")
        return
    request.shell.push_screen(FormDialog(FormState(request)))


FORM_COMMANDS: Commands[FormDialog] = Commands(
    "form",
    (
        Command("send", "ctrl+s", "Save", "Save the changes", run=lambda _, form: form.send(), writes=True, why_not=lambda _, form: form.why_not_send(),
                title_now=lambda _, form: form.state.verb, priority=True),
        Command("edit", "ctrl+e", "Edit as YAML", "Edit the form as YAML in your editor", run=lambda _, form: form.edit_as_yaml(), priority=True,
                why_not=lambda _, form: form.why_not_edit()),
        Command("file", "ctrl+f", "Choose file", "Choose a file for this field", run=lambda _, form: form.choose_file(),
                is_available=lambda _, form: any(each.upload_kind for each in form.state.fields), why_not=lambda _, form: form.why_no_file(), priority=True),
        Command("reveal", "ctrl+r", "Show/hide", "Show or hide secrets", run=lambda _, form: form.toggle_hidden_text(),
                is_available=lambda _, form: any(each.is_masked for each in form.state.fields), priority=True),
        Command("restore", "ctrl+b", "Reset", "Reset this field", run=lambda _, form: form.reset_field(),
                why_not=lambda _, form: form.why_not_reset(), priority=True, shown=False),
        Command("close", "escape", "Close", "Close the form and keep the draft, or cancel the upload",
                run=lambda _, form: form.cancel_or_close(), priority=True, title_now=lambda _, form: "Cancel" if form.state.is_uploading else None),
        Command("next", "tab", "Next", "Go to the next field", run=lambda _, form: form.focus_next(), shown=False),
        Command("previous", "shift+tab", "Previous", "Go to the previous field", run=lambda _, form: form.focus_previous(), shown=False),
    ),
)  # fmt: skip


class FormDialog(Dialog[None]):
    """The dialog of a form. Sending continues after the dialog is closed."""

    HELP_NAME: ClassVar[str] = "form"
    HELP: ClassVar[str] = (
        "Fill in the form. Only changed fields, marked with +, are sent. "
        "Press tab to go to the next field, enter or space to open a list, ctrl+s to send the form, or ctrl+e to edit it as YAML. "
        "Press esc to close the form and keep a draft."
    )
    CSS_PATH = dialog_styles(__file__, "form.tcss")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (FORM_COMMANDS,)

    def __init__(self, state: FormState) -> None:
        super().__init__()
        self.state: FormState = state
        self._shell = state.form.shell
        self._pickers = FormPickers(state, self._set_text)
        self._rows = {
            each.name: FieldRow(
                each, state.texts[each.name], is_picked=self._pickers.is_picked(each), id=f"field-{number}"
            )
            for number, each in enumerate(state.fields)
        }
        self._is_revealed = False
        self._message = self._progress = ""
        self._send_task: asyncio.Task[None] | None = None
        self._result = state.parse()
        self._draft_delay = DraftDelay(self)
        self._validation_delay = Delay(self)

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self.state.form.title, self._footer_text)
            with VerticalScroll(classes="form--body", can_focus=False):
                yield Static(safe_lines(self.state.form.intro), classes="form--intro")
                group = ""
                for field in self.state.fields:
                    if field.group != group and field.group:
                        yield Static(safe(field.group), classes="form--group")
                    group = field.group
                    yield self._rows[field.name]
            yield ChangingText(classes="form--about")
            yield ChangingText(classes="form--why")
            with Horizontal(classes="form--buttons"):
                yield TextButton("Close", "esc", id="no")
                yield TextButton(self.state.verb, "ctrl+s", id="yes", classes="-primary")

    def on_mount(self) -> None:
        state = self.state
        self._shell.exit_callbacks.add(state.save_draft_now)
        self.app.app_suspend_signal.subscribe(self, lambda _: state.save_draft_now())
        self.query_one(".form--intro").display = bool(state.form.intro)
        if state.yaml_error:
            self._message = f"{state.yaml_error} Press ctrl+e to correct your YAML."
        elif state.is_from_draft:
            self._message = (
                f"{state.draft_source_text} {MAYBE_SENT if state.may_have_been_sent else 'It has not been sent.'}"
            )
        self._shell.background(self._load_labels())
        self._validate_form()
        if first_row := next((row for row in self._rows.values() if row.display), None):
            self.focus_at_once(first_row.input)
        else:
            self.focus_at_once(self.query_one("#yes"))

    def on_screen_suspend(self) -> None:
        """Save the draft, because navigation may close the form."""
        if self._draft_delay.has_unsaved:
            self._save_draft()

    def on_unmount(self) -> None:
        self._shell.exit_callbacks.discard(self.state.save_draft_now)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _on_typed(self, message: Input.Changed | TextArea.Changed) -> None:
        row = next((ancestor for ancestor in message.control.ancestors if isinstance(ancestor, FieldRow)), None)
        if row is None or row.is_picked:
            return
        old_text, text = self.state.texts[row.field.name], row.text
        if text != (old_text or ""):
            self._set_text(row.field, text)

    def _set_text(self, field: FormField, text: str | None) -> None:
        self.state.set_text(field.name, text)
        for name, value in values_implied_by_file_name(field, text).items():
            if name in self._rows and not self.state.texts[name]:
                self.state.set_text(name, value)
        self._message = ""
        self._draft_delay.save_soon(self._save_draft)
        if sum(len(each or "") for each in self.state.texts.values()) > _LONG_FORM:
            self._validation_delay.start(0.3, self._validate_form)
        else:
            self._validate_form()

    def _validate_form(self) -> None:
        """Check the texts, show their errors, and show only the fields that are needed for the chosen values."""
        state = self.state
        self._validation_delay.stop()
        if not self.query(".form--buttons"):
            return
        result = self._result = state.parse()
        errors = state.visible_errors(result)
        for name, row in self._rows.items():
            row.display = row.field.is_shown(state.texts)
            row.show_state(errors.get(name, ""), is_changed=state.is_changed(name))
            if row.is_picked:
                row.show_label(self._pickers.label_of(row.field))
        message_line = self.query_one(".form--why", ChangingText)
        message_line.update(safe_lines(errors.get(FORM, "") or self._message))
        message_line.display = bool(errors.get(FORM, "") or self._message)
        button = self.query_one("#yes", TextButton)
        button.is_dimmed = self.why_not_send() is not None
        self._show_hint()
        self.query_one(DialogFrame).set_border_texts(self.state.form.title, self._footer_text)
        self.refresh_bindings()

    @property
    def _footer_text(self) -> str:
        changed_count = sum(self.state.is_changed(name) for name in self._rows)
        parts = [f"{plural(changed_count, 'field')} changed"] if changed_count else []
        return " · ".join([*parts, f"ctrl+s {self.state.verb.lower()}", "ctrl+e edit as YAML"])

    @on(DescendantFocus)
    def _show_hint(self) -> None:
        if not self.query(".form--about"):
            return
        row = self._focused_row
        parts: tuple[str, ...] = ()
        if row is not None and row.field.upload_kind:
            parts = (row.field.hint.partition(". ")[0], _FILE_HINTS[row.field.upload_kind])
        elif row is not None:
            choice_hint = _CHOICE_HINTS[row.field.kind == "yes or no"]
            parts = (row.field.hint, choice_hint if row.is_picked else row.field.example_or_limits)
        hint = " · ".join(part.rstrip(".") for part in parts if part)
        self.query_one(".form--about", ChangingText).update(safe_lines(hint))

    @property
    def _focused_row(self) -> FieldRow | None:
        focused = self.focused
        ancestors = focused.ancestors if focused is not None else ()
        return next((ancestor for ancestor in ancestors if isinstance(ancestor, FieldRow)), None)

    @on(Input.Submitted)
    def _leave_field(self) -> None:
        self.focus_next()

    @on(TextButton.Pressed)
    async def _on_button_pressed(self, message: TextButton.Pressed) -> None:
        button = message.button
        button_row = next((ancestor for ancestor in button.ancestors if isinstance(ancestor, FieldRow)), None)
        if button.id == "yes":
            await self.run_command("form.send")
        elif button.id == "no":
            await self.run_command("form.close")
        elif (row := self._focused_row or button_row) is not None:
            self._pickers.pick(row.field)

    async def _load_labels(self) -> None:
        await self._pickers.load_labels()
        self._validate_form()

    @property
    def _file_rows(self) -> list[FieldRow]:
        return [row for row in self._rows.values() if row.field.upload_kind and row.display]

    @property
    def _file_row(self) -> FieldRow | None:
        rows, focused_row = self._file_rows, self._focused_row
        return focused_row if focused_row in rows else rows[0] if len(rows) == 1 else None

    def why_no_file(self) -> str | None:
        if self._file_row is not None:
            return self.why_not_edit()
        labels_text = " and ".join(file_row.field.label for file_row in self._file_rows)
        return f"This field does not accept a file. These fields accept files: {labels_text}."

    def choose_file(self) -> None:
        """Ask for a file for the focused field. If this field accepts none, use the only field that accepts files."""
        if (row := self._file_row) is None:
            return
        field = row.field
        row.input.focus()

        def on_chosen(path: str) -> None:
            text = text_after_choosing_file(field, self.state.texts[field.name], path)
            self._set_text(field, text)
            row.set_text(text)

        ask_for_file(self._shell, field.label, field.upload_kind, on_chosen)

    def toggle_hidden_text(self) -> None:
        """Show or hide the secrets in all fields."""
        self._is_revealed = not self._is_revealed
        for row in self._rows.values():
            row.set_revealed(self._is_revealed)

    def why_not_reset(self) -> str | None:
        row = self._focused_row
        if row is None:
            return "Select a field first."
        return None if self.state.is_changed(row.field.name) else f"{row.field.label} has not been changed."

    def reset_field(self) -> None:
        """Restore the original text of the focused field."""
        if (row := self._focused_row) is not None:
            original_text = self.state.initial_texts[row.field.name]
            self._set_text(row.field, original_text)
            row.set_text(original_text)

    def edit_as_yaml(self) -> None:
        """Open the form as YAML in the user's editor, and read the result into the fields."""
        state, shell = self.state, self._shell
        state.save_draft_now()
        note = FileNote(state.form.title, state.editor_draft.key, shell.session.state.namespace)
        result = edit_text(
            shell,
            state.to_yaml(),
            shell.settings.state_folder / "editing",
            name="form",
            suffix=".yaml",
            save_text=lambda text: save_or_get_error(state.editor_draft.save_now, text),
            note=note,
            line=state.yaml_error_line,
        )
        if not isinstance(result, Edited):
            self._message = result.message
        elif state.load_yaml(result.text):
            self._message = ""
            for name, row in self._rows.items():
                row.set_text(state.texts[name])
        else:
            self._message = f"{state.yaml_error} Press ctrl+e to correct the YAML. To discard the YAML, delete all text in the file."
        self._validate_form()

    def _save_draft(self) -> None:
        self._draft_delay.mark_saved()
        self.state.save_draft()

    def why_not_edit(self) -> str | None:
        return "The form is already being sent." if self.state.is_sending else None

    def why_not_send(self) -> str | None:
        state = self.state
        if reason := self.why_not_edit():
            return reason
        for name, sentence in self._result.errors.items():
            if state.was_attempted and (name == FORM or name in self._rows):
                return sentence
        return state.yaml_error or None

    def send(self) -> None:
        """Send the form. If fields have errors, focus the first one instead. If nothing has changed, tell the user."""
        self.state.was_attempted = True
        self._validate_form()
        result = self._result
        if result.errors:
            self._focus_error(result)
        elif result.operation is None:
            self._show_message(NOTHING_CHANGED)
        else:
            self._save_draft()
            self.state.is_sending = True  # Set before the task starts, so that a second key press sends nothing.
            self._show_message(self.state.form.progress_notice)
            self._send_task = self._shell.background(self._send_and_report())

    async def _send_and_report(self) -> None:
        started_at = monotonic()
        seconds_timer = self.set_interval(1.0, lambda: self._show_seconds(monotonic() - started_at))
        focused, fields_container = self.focused, self.query_one(".form--body")
        fields_container.disabled = True  # Otherwise, text that is typed during sending would be lost.
        try:
            form_or_error = await self.state.send(self._show_progress)
        except asyncio.CancelledError:
            if self in self.app.screen_stack:
                self._show_message("Upload canceled. Nothing was sent. Your text is still here.")
            raise
        finally:
            seconds_timer.stop()
            fields_container.disabled = False
            if self.focused is None:
                self.set_focus(focused, from_app_focus=True)  # With this argument, Textual does not select the text.
        form = self.state.form
        if isinstance(form_or_error, SubmittedForm):
            self._draft_delay.mark_saved()
            self.dismiss(None)
            form.on_sent(form_or_error)
        elif self not in self.app.screen_stack:
            self._shell.say(f"{form.title}: {form_or_error} Your text is saved as a draft.", tone="failed")
        else:
            for name, row in self._rows.items():
                row.set_text(self.state.texts[name])
            self._show_message("" if self.state.server_errors else form_or_error)
            self._focus_error(self._result)

    def _show_progress(self, message: str) -> None:
        if self._progress.partition(":")[0] != message.partition(":")[0]:
            self.refresh_bindings()  # During an upload, the label of `esc` is “Cancel”.
        self._progress = message
        for message_line in self.query(".form--why").results(ChangingText):
            message_line.update(safe_lines(message))
            message_line.display = True

    def _show_seconds(self, seconds: float) -> None:
        if not self.state.is_uploading and self._progress:
            self._show_progress(f"{self._progress.partition(' · ')[0]} · {seconds:.0f} s")

    def _show_message(self, message: str) -> None:
        self._progress = ""
        self._message = message
        self._validate_form()

    def _focus_error(self, result: FormResult) -> None:
        names = [*self.state.server_errors, *result.errors]
        if first_row := next((row for name, row in self._rows.items() if name in names and row.display), None):
            first_row.input.focus()

    def cancel_or_close(self) -> None:
        """Cancel the running upload. Else close the form, and save its texts as a draft unless they are being sent."""
        if self.state.is_uploading and self._send_task is not None:
            self._send_task.cancel()
            return
        if not self.state.is_sending:
            self._save_draft()
        self.dismiss(None)
