"""Tests a condition on visitor claims. The result or the error is updated while the user types."""

from __future__ import annotations

from pathlib import PurePath
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from octavo.documents import conditions, yaml_values
from octavo.documents.yaml_values import YamlError
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.widgets.buttons import TextButton
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.safe_text import safe_lines
from octavo.tui.widgets.text_inputs import DraftClock, LineInput, TextEditor
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell
    from octavo.tui.resources.resource import Arguments

TEST_COMMANDS: Commands[ConditionTest] = Commands(
    "condition",
    (
        Command("close", "escape", "Close", "Close the dialog and keep the claims", run=lambda _, view: view.save_and_close(), priority=True),
        Command("next", "tab", "Next", "Switch between the condition and the claims", run=lambda _, view: view.focus_next(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


def open_condition(shell: Shell, arguments: Arguments, condition: Any) -> None:
    """Open the test of a condition."""
    shell.push_screen(ConditionTest(shell, arguments["at"].site_id, condition.condition))


class ConditionTest(Dialog[None]):
    """A condition and visitor claims to test it with. The claims are saved for all conditions of the site."""

    CONTEXT: ClassVar[str] = "test a condition"
    HELP: ClassVar[str] = (
        "This dialog tests a condition against visitor claims, which you write as JSON or YAML. Nothing is sent to the server. "
        "Press tab to switch between the condition and the claims. "
        "Press esc to close the dialog and keep the claims."
    )
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("form.tcss"),
    ]
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TEST_COMMANDS,)

    def __init__(self, shell: Shell, site: str, condition: str) -> None:
        super().__init__()
        self._shell, self._condition = shell, condition
        self._draft = DialogDraft(shell, f"claims tried {site}")
        self._clock = DraftClock()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        with DialogFrame() as frame:
            frame.set_border_texts("Test a condition", "nothing is sent to the server")
            yield Static("")
            with Horizontal(classes="form--row"):
                yield Static("  Condition", classes="form--label")
                yield LineInput(self._condition, placeholder='visitor.claims.plan == "pro"', id="condition")
            with Horizontal(classes="form--row"):
                yield Static("  Claims", classes="form--label")
                yield TextEditor(self._draft.text, placeholder='{"plan": "pro"}', id="claims")
            yield ChangingText(classes="form--about", id="outcome")
            with Horizontal(classes="form--buttons"):
                yield TextButton("Close", "esc", id="no")

    def on_mount(self) -> None:
        self._shell.exit_callbacks.add(self._save_claims_now)
        self.query_one("#claims", TextEditor).focus()
        self._update_outcome()

    def on_unmount(self) -> None:
        self._shell.exit_callbacks.discard(self._save_claims_now)

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _handle_typing(self) -> None:
        self._update_outcome()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self._clock.seconds_until_save(monotonic()), self._save_claims)

    def _update_outcome(self) -> None:
        self.query_one("#outcome", ChangingText).update(safe_lines(self.outcome))

    @property
    def outcome(self) -> str:
        """Return the result of the condition, or the error and its position."""
        try:
            parsed = yaml_values.parse_yaml(self._claims)
        except YamlError as fault:
            return f"Could not read the claims. {fault.place}: {fault.sentence}"
        claims = parsed.value if parsed is not None else {}
        if not isinstance(claims, dict):
            return 'Could not read the claims. Enter an object, for example {"plan": "pro"}.'
        try:
            is_met = conditions.evaluate(self.query_one("#condition", LineInput).value, claims)
        except conditions.ConditionError as fault:
            return f"Could not evaluate the condition. {fault}"
        return (
            "True: visitors with these claims see the content."
            if is_met
            else "False: visitors with these claims do not see the content."
        )

    @property
    def _claims(self) -> str:
        return self.query_one("#claims", TextEditor).text

    def _save_claims(self) -> None:
        self._clock.mark_saved()
        self._draft.autosave(self._claims)

    def _save_claims_now(self) -> None:
        self._draft.autosave_now(self._claims)

    @on(TextButton.Pressed)
    def _handle_button(self) -> None:
        self.save_and_close()

    def save_and_close(self) -> None:
        """Save the claims and close the dialog."""
        self._save_claims()
        self.dismiss(None)
