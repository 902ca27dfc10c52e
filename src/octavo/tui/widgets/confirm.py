"""The dialog that shows what an action will change before the user confirms the action (`ConfirmDialog`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.events import Event, Key, Resize
from textual.widgets import Input, Static, TextArea

from octavo.tui.terminal.textual_internals import is_being_removed
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.commands import Command, Commands, HostApp
from octavo.tui.widgets.delay import Delay, DraftDelay
from octavo.tui.widgets.dialog import Dialog, DialogFrame, TextButton, dialog_styles
from octavo.tui.widgets.short_texts import AnyText, InfoRow, safe, safe_lines
from octavo.tui.widgets.text_inputs import LineInput, PathInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText, InfoTable

READ_SECONDS = 0.5
"""Seconds in which new content cannot be confirmed, because a key may have been meant for the old content."""
_ANSWERED_UNSEEN = "You answered before this dialog was shown. Read it, then press y."
_SCROLL_KEYS = Binding.Group("scroll")


@dataclass(frozen=True)
class DialogField:
    """An input in a confirmation dialog, such as for a title or a comment."""

    label: str
    value: str = ""
    height: int = 1
    """Height in lines. With one line, enter confirms the dialog. With more lines, ctrl+s does."""
    required_error: str = ""
    """Error that is shown while the field is empty. If there is no such error, the user need not fill in the field."""
    max_length: int = 0
    """Maximum number of characters. 0 if there is no limit."""
    why_invalid: Callable[[str], str | None] = lambda text: None
    """Returns the reason why a text cannot be confirmed. None if it can be confirmed."""
    placeholder: str = ""
    is_path: bool = False
    """True if the input completes file paths."""
    save_draft: Callable[[str], None] | None = None
    """Saves the text as a draft. Called while the user types, and when the dialog closes. None if there is no draft."""
    save_draft_now: Callable[[str], None] | None = None
    """Saves the text as a draft, and waits for the disk. Called when the app exits. None if there is no draft."""


@dataclass(frozen=True)
class Confirmed:
    """Result of a confirmed dialog: the texts of its two fields, without spaces at the ends."""

    text: str = ""
    second_text: str = ""


# The key bar shows `y` and ctrl+s once: they have the same function.
def _confirm(app: App[Any], dialog: ConfirmDialog) -> None:
    if isinstance(app, HostApp):
        if dialog.was_answered_unseen(app.input_time):
            app.explain(_ANSWERED_UNSEEN)
            return
        app.notices.close_text(_ANSWERED_UNSEEN)
    dialog.confirm()


def _cancel(app: App[Any], dialog: ConfirmDialog) -> None:
    dialog.cancel()


CONFIRM: Commands[ConfirmDialog] = Commands(
    "dialog",
    (
        Command("yes", "y", "Yes", "Confirm", run=_confirm, why_not=lambda _, dialog: dialog.why_not_confirm(),
                title_now=lambda _, dialog: dialog.verb, is_available=lambda _, dialog: dialog.can_confirm,
                applies=lambda _, dialog: dialog.confirms_by_key),
        Command("send", "ctrl+s", "Yes", "Confirm", run=_confirm, why_not=lambda _, dialog: dialog.why_not_confirm(),
                title_now=lambda _, dialog: dialog.verb, is_available=lambda _, dialog: dialog.can_confirm, priority=True),
        Command("no", "n", "No", "Cancel", run=_cancel, title_now=lambda _, dialog: dialog.cancel_word),
        Command("cancel", "escape", "No", "Cancel", run=_cancel, title_now=lambda _, dialog: dialog.cancel_word),
        Command("next", "tab,right", "Next", "Go to the next button", run=lambda _, dialog: dialog.focus_next(), shown=False),
        Command("previous", "shift+tab,left", "Previous", "Go to the previous button", run=lambda _, dialog: dialog.focus_previous(), shown=False),
        Command("down", "down,j,pagedown", "Down", "Scroll down",
                run=lambda _, dialog: dialog.scroll_body(1), group=_SCROLL_KEYS),
        Command("up", "up,k,pageup", "Up", "Scroll up", run=lambda _, dialog: dialog.scroll_body(-1), group=_SCROLL_KEYS),
        Command("check", "r", "Check again", "Reload the checks", run=lambda _, dialog: dialog.check_again and dialog.check_again(),
                is_available=lambda _, dialog: dialog.check_again is not None and dialog.can_confirm),
    ),
)  # fmt: skip


class ConfirmDialog(Dialog[Confirmed | None]):
    """A dialog in which the user confirms an action. Its result is a `Confirmed`, or None if the user cancels. If there
    is a `word`, the user must type it to confirm. If `blocked` is not empty, it says why confirming is impossible."""

    CSS_PATH = dialog_styles(__file__, "confirm.tcss")
    HELP_NAME: ClassVar[str] = "confirm dialog"
    HELP: ClassVar[str] = "This dialog shows what an action will change. Press y to confirm, or n or esc to cancel."
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CONFIRM,)
    DRAFT_NOTE: ClassVar[str] = "closing keeps your text as a draft · clear the text to discard it"
    """Text in the lower border, as soon as the user has changed a text that is saved as a draft."""

    def __init__(
        self,
        title: str,
        *,
        verb: str,
        intro: AnyText = "",
        info_rows: Sequence[InfoRow] = (),
        after: AnyText = "",
        field: DialogField | None = None,
        second_field: DialogField | None = None,
        word: str = "",
        word_reason: str = "",
        blocked: str = "",
        foot: str = "",
        cancel: str = "",
        check_again: Callable[[], None] | None = None,
    ) -> None:
        """`after` is shown below the `info_rows`, and `foot` in the lower border. `cancel` is the label of the cancel
        button. If empty, the label is “Close” or “Cancel”. `word_reason` says why `word` must be typed."""
        super().__init__()
        self._title = title
        self.verb: str = verb
        self._intro, self._info_rows, self._after, self._field = intro, info_rows, after, field
        self._fields = {name: each for name, each in (("field", field), ("also", second_field)) if each is not None}
        has_drafts = any(each.save_draft is not None for each in self._fields.values())
        self.cancel_word: str = cancel or ("Close" if has_drafts else "Cancel")
        self._word, self._word_reason, self._blocked, self._foot = word, word_reason, blocked, foot
        self.check_again: Callable[[], None] | None = check_again
        self._is_answered = False
        self._is_composed = False
        self._mount_time = 0.0
        """Time at which the dialog was mounted, by the clock of `Event.time`."""
        self._content_time: datetime | None = None
        """Time at which content was shown that the user must read before confirming. None without such content."""
        self._reading_delay = Delay(self)
        self._draft_delay = DraftDelay(self)

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts(self._title, self._foot)
            with VerticalScroll(classes="confirm--body", can_focus=False):
                yield ChangingText(safe_lines(self._intro), classes="confirm--intro")
                yield InfoTable(self._info_rows)
                yield ChangingText(safe_lines(self._after), classes="confirm--after")
            for name, field in self._fields.items():
                yield from self.field_widgets(name, field)
            yield ChangingText(classes="confirm--why")
            word_input = LineInput(id="typed")
            word_input.select_on_focus = False  # `on_key` inserts the first letter, and the second must not replace it.
            yield word_input
            with Horizontal(classes="confirm--buttons"):
                yield TextButton(self.cancel_word, id="no")
                yield TextButton(self.verb, id="yes", classes="-primary")

    def field_widgets(self, name: str, field: DialogField) -> ComposeResult:
        """Yield the label and the input of a field. The input has the widget ID `name`."""
        yield Static(safe(field.label), classes="confirm--label")
        if field.height > 1:
            editor = TextEditor(field.value, placeholder=field.placeholder, id=name)
            editor.styles.height = field.height
            yield editor
        else:
            input_class = PathInput if field.is_path else LineInput
            yield input_class(field.value, placeholder=field.placeholder, id=name)

    def on_mount(self) -> None:
        self._is_composed, self._mount_time = True, Event().time
        if isinstance(self.app, HostApp):
            self.app.exit_callbacks.add(self._save_drafts_now)
        self.update()
        self.focus_at_once(self.query_one(f"#{self.initial_focus}"))

    @property
    def initial_focus(self) -> str:
        """ID of the widget that has the focus at first."""
        return "field" if self._field is not None else "typed" if self._word else "no"

    def update(
        self,
        *,
        info_rows: Sequence[InfoRow] | None = None,
        intro: AnyText | None = None,
        after: AnyText | None = None,
        word: str | None = None,
        word_reason: str | None = None,
        blocked: str | None = None,
        foot: str | None = None,
        verb: str | None = None,
    ) -> None:
        """Change parts of the content. Parts whose argument is None, typed texts and the focus stay unchanged."""
        if info_rows is not None:
            self._info_rows = info_rows
        self._word = self._word if word is None else word
        self._word_reason = self._word_reason if word_reason is None else word_reason
        if blocked is not None and blocked != self._blocked:
            if self._blocked and isinstance(self.app, HostApp):
                # The earlier reason is no longer true, but a notification may still show it.
                self.app.notices.close_text(self._blocked)
            self._blocked = blocked
        self._foot = self._foot if foot is None else foot
        self.verb = self.verb if verb is None else verb
        self._intro = self._intro if intro is None else intro
        self._after = self._after if after is None else after
        if not self._is_composed or not self._is_active:
            return
        self.query_one(InfoTable).rows = self._info_rows
        for name, text in (
            ("intro", self._intro),
            ("after", self._after),
            ("why", self._blocked or (self._word and self._word_reason)),
        ):
            static = self.query_one(f".confirm--{name}", Static)
            static.update(safe_lines(text))
            static.display = bool(text)
        word_input = self.query_one("#typed", LineInput)
        word_input.display = bool(self._word) and not self._blocked
        self._show_state()
        self._refresh_scroll_keys()

    @on(Resize)
    def _refresh_scroll_keys(self) -> None:
        # After the layout, because the scroll keys are bound only if the text scrolls.
        self.call_after_refresh(self.refresh_bindings)

    def was_answered_unseen(self, input_time: float) -> bool:
        """Return True if an answer that the user gave at `input_time` was typed before the dialog was mounted. Always
        False for a dialog in which the user types text."""
        return not self._fields and not self._word and input_time < self._mount_time

    def require_reading(self) -> None:
        """Disable the confirm key for `READ_SECONDS` because of new content. No effect if a `word` must be typed."""
        self._content_time = short_texts.clock()
        self._reading_delay.start(READ_SECONDS, self._finish_reading)

    def _finish_reading(self) -> None:
        self._content_time = None
        if self._is_composed and self._is_active:
            self._show_state()

    @property
    def _is_confirming_delayed(self) -> bool:
        if self._content_time is None or self._word:
            return False
        return 0 <= (short_texts.clock() - self._content_time).total_seconds() < READ_SECONDS

    @property
    def _is_active(self) -> bool:
        return not self._is_answered and not is_being_removed(self)

    @property
    def can_confirm(self) -> bool:
        """True if the user may confirm. Subclasses return False while the action runs in the dialog, and after it."""
        return True

    @property
    def confirms_by_key(self) -> bool:
        """True if the key `y` confirms. False if the user must type a `word`, or if the action is `blocked`."""
        return not (self._word or self._blocked)

    @property
    def text(self) -> str:
        """Text in the first field, without spaces at the ends. Empty if there is no field."""
        return self._field_text("field")

    def _field_text(self, name: str) -> str:
        if name not in self._fields:
            return ""
        field = self.query_one(f"#{name}")
        return (field.text if isinstance(field, TextArea) else field.value if isinstance(field, Input) else "").strip()

    def why_not_confirm(self) -> str | None:
        if not self._is_composed or not self._is_active:
            return None
        if self._blocked:
            return self._blocked
        if self._is_confirming_delayed:
            return "The checks just finished loading. Read them, then press y."
        for name, field in self._fields.items():
            length = len(self._field_text(name))
            if field.required_error and not length:
                return field.required_error
            if field.max_length and length > field.max_length:
                return (
                    f"The {field.label.lower()} has {length} characters. Enter at most {field.max_length} characters."
                )
            if why := field.why_invalid(self._field_text(name)):
                return why
        if self._word and self.query_one("#typed", LineInput).value.strip() != self._word:
            return self._word_reason or f"Type {self._word} to confirm."
        return None

    @property
    def hidden_keys(self) -> frozenset[str]:
        # The key bar hides ctrl+s if enter confirms too, and the scroll keys if there is nothing to scroll.
        confirms_by_enter = any(button.key == "enter" for button in self.query("#yes").results(TextButton))
        can_scroll = any(each.max_scroll_y for each in self.query(".confirm--body"))
        unused_keys = ({"ctrl+s"} if confirms_by_enter else set()) | (set() if can_scroll else {"↓", "↑"})
        return super().hidden_keys | unused_keys

    def _show_state(self) -> None:
        button = self.query_one("#yes", TextButton)
        button.label = self.verb
        button.is_dimmed = self.why_not_confirm() is not None
        max_height = max((field.height for field in self._fields.values()), default=0)
        key = "y" if not max_height else "ctrl+s" if max_height > 1 else "enter"
        button.styles.min_width = cell_len(f"  {self.verb}  ({key})  ")  # The buttons do not move.
        button.key = "" if self._word or self._blocked or self._is_confirming_delayed else key
        initial_texts = {name: each.value.strip() for name, each in self._fields.items() if each.save_draft is not None}
        has_changed_draft = any(
            self._field_text(name) not in ("", initial_text) for name, initial_text in initial_texts.items()
        )
        self.query_one(DialogFrame).set_border_texts(
            self._title, self._foot or (self.DRAFT_NOTE if has_changed_draft else "")
        )
        self.refresh_bindings()

    def on_key(self, event: Key) -> None:
        """If the user types the first letter of `word` while a button has the focus, insert it and focus the input."""
        word_input = self.query_one("#typed", LineInput)
        if word_input.display and isinstance(self.focused, TextButton) and event.character == self._word[:1]:
            event.stop()
            word_input.value = self._word[:1]
            word_input.focus()

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _text_changed(self) -> None:
        self._show_state()
        if any(field.save_draft is not None for field in self._fields.values()):
            self._draft_delay.save_soon(self._save_drafts)

    def _save_drafts(self) -> None:
        self._draft_delay.mark_saved()
        for name, field in self._fields.items():
            if field.save_draft is not None and self.query(f"#{name}"):
                field.save_draft(self._field_text(name))

    def _save_drafts_now(self) -> None:
        for name, field in self._fields.items():
            if field.save_draft_now is not None and self.query(f"#{name}"):
                field.save_draft_now(self._field_text(name))

    def on_screen_suspend(self) -> None:
        """Save the drafts, because navigation may close the dialog."""
        if self._draft_delay.has_unsaved and not self._is_answered:
            self._save_drafts()

    def on_unmount(self) -> None:
        if isinstance(self.app, HostApp):
            self.app.exit_callbacks.discard(self._save_drafts_now)

    @on(Input.Submitted)
    async def _submitted(self) -> None:
        await self.run_command("dialog.yes")

    @on(TextButton.Pressed)
    async def _pressed(self, message: TextButton.Pressed) -> None:
        await self.run_command("dialog.yes" if message.button.id == "yes" else "dialog.no")

    def confirm(self) -> None:
        """Save the drafts, and close the dialog. Its result has the texts of the fields."""
        if not self._is_answered:
            self._is_answered = True
            self._save_drafts()
            self.dismiss(Confirmed(self.text, self._field_text("also")))

    def cancel(self) -> None:
        """Save the drafts, and close the dialog. Its result is None."""
        if not self._is_answered:
            self._is_answered = True
            self._save_drafts()
            self.dismiss(None)

    def scroll_body(self, step: int) -> None:
        """Scroll the content down by almost its visible height, or up if `step` is -1."""
        body = self.query_one(".confirm--body", VerticalScroll)
        body.scroll_relative(y=step * max(1, body.size.height - 2), animate=False)
