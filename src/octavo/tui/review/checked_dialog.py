"""Dialog that runs checks before an important write, such as a merge. The checks load when the dialog opens, and again
before the write if they are older than `MAX_AGE`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual.screen import Screen

from octavo.api.errors import ApiError
from octavo.tui.widgets import short_texts
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.dialog import DialogFrame
from octavo.tui.widgets.short_texts import InfoRow
from octavo.tui.widgets.text_inputs import LineInput

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

MAX_AGE = 5.0
"""Seconds after which the checks are loaded again before the write."""

ChecksT = TypeVar("ChecksT")


@dataclass(frozen=True)
class DialogContent:
    """Rows, texts and actions for the loaded checks. Two contents are equal if their rows and texts are equal."""

    info_rows: tuple[InfoRow, ...]
    intro: str | None = None
    """Text that replaces the introduction. If None, the introduction stays."""
    text_below: str = ""
    """Text below the rows of the checks."""
    blocked: str = ""
    """Reason why the write is blocked. Empty if it is allowed."""
    confirmation_text: str = ""
    """Text that you must type to confirm. Empty if pressing `y` is enough."""
    confirmation_reason: str = ""
    """Sentences that say why you must type `confirmation_text`."""
    show_diff: Callable[[], None] | None = field(default=None, compare=False)
    """Opens the incoming changes in place of the dialog. None if the dialog does not offer this."""
    archive: Callable[[], None] | None = field(default=None, compare=False)
    """Closes this dialog and opens the dialog that archives the change request. None if this is not offered."""


@dataclass(frozen=True)
class CheckedWrite(Generic[ChecksT]):
    """A write that you confirm in a `CheckedDialog`, and the checks that run before it."""

    title: str
    verb: str
    intro: str
    checks_label: str
    """Label of the row that says that the checks are loading or could not be loaded."""
    blocked_while_loading: str
    """Reason why the write is blocked while the checks load."""
    blocked_on_error: str
    """Reason why the write is blocked, and the next step, if the checks could not be loaded."""
    load: Callable[[], Awaitable[ChecksT]]
    """Loads the checks. Raises ApiError."""
    make_content: Callable[[ChecksT], DialogContent]
    send: Callable[[ChecksT], Coroutine[Any, Any, str | None]]
    """Sends the write. If data changed since the checks, sends nothing and returns a sentence about the changes."""
    next_step: str
    """Sentence that tells you what to do if the data has changed since the checks."""
    describe_changes: Callable[[ChecksT, ChecksT], Awaitable[str]] | None = None
    """Returns sentences about the differences between two results of the checks. Empty if they are unknown."""
    rows: int = 13
    """Height in rows that the dialog has while the checks load. It should be enough for usual results."""
    goes_live: bool = False
    """True if readers see the result at once. The dialog then ignores a `y` that is pressed too early."""


CHECKED_COMMANDS: Commands[CheckedDialog[Any]] = Commands(
    "checked",
    (
        Command("diff", "d", "Incoming changes", "Show the incoming changes page by page", run=lambda _, dialog: dialog.show_diff(),
                is_available=lambda _, dialog: dialog.content is not None and dialog.content.show_diff is not None),
        Command("archive", "L", "Archive", "Archive the change request instead", run=lambda _, dialog: dialog.archive(),
                is_available=lambda _, dialog: dialog.content is not None and dialog.content.archive is not None),
    ),
)  # fmt: skip


class CheckedDialog(ConfirmDialog, Generic[ChecksT]):
    """Dialog that shows the results of checks and asks you to confirm the write. No command opens this dialog with the
    key `y`, so a repeated key press confirms nothing."""

    HELP_NAME: ClassVar[str] = "checks before merging, updating, or reverting"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CHECKED_COMMANDS,)

    def __init__(self, app: Shell, write: CheckedWrite[ChecksT]) -> None:
        super().__init__(
            write.title,
            verb=write.verb,
            intro=write.intro,
            info_rows=(InfoRow("asking", write.checks_label, "loading…"),),
            blocked=write.blocked_while_loading,
            check_again=self._start_checks,
        )
        self._shell, self._write = app, write
        self._checks: ChecksT | None = None
        self.content: DialogContent | None = None
        self._checked_at = short_texts.clock()

    def on_mount(self) -> None:
        self.query_one(DialogFrame).min_rows = self._write.rows
        self._start_checks()
        if self._write.goes_live:
            self.set_interval(1.0, self._show_age)

    def _start_checks(self) -> None:
        self.run_worker(self._load_checks(), exclusive=True, group="checks")

    async def _load_checks(self) -> None:
        checked_at, write = short_texts.clock(), self._write
        try:
            checks = await write.load()
        except ApiError as error:
            self._checks = None
            foot = "not checked · r check again" if write.goes_live else None
            self.update(
                info_rows=(InfoRow("bad", write.checks_label, str(error)),), blocked=write.blocked_on_error, foot=foot
            )
            return
        self._checks, self._checked_at = checks, checked_at
        if write.goes_live:
            self.require_reading()
        content = self.content = write.make_content(checks)
        self.update(
            info_rows=content.info_rows,
            intro=content.intro,
            after=content.text_below,
            blocked=content.blocked,
            word=content.confirmation_text,
            word_reason=content.confirmation_reason,
        )
        self._show_age()

    def _show_age(self) -> None:
        if self._write.goes_live and self._checks is not None:
            seconds = int(_seconds_since(self._checked_at))
            age = f"{seconds}s ago" if seconds else "just now"
            self.update(foot=f"checked {age} · r check again")

    def confirm(self) -> None:
        if self._is_answered or self._checks is None:
            return
        if _seconds_since(self._checked_at) > MAX_AGE:
            # The checks are old, so load them again. Confirm the write only if they have not changed.
            self.run_worker(self._check_again_and_confirm(), exclusive=True, group="checks")
        else:
            self._confirm_with(self._checks)

    async def _check_again_and_confirm(self) -> None:
        checks_before, content = self._checks, self.content
        await self._load_checks()
        new_checks = self._checks
        if checks_before is None or new_checks is None or self.content is None or self.content.blocked:
            return
        if content == self.content:
            # Pass the checks that the user saw, because `send` compares the server's state with them.
            self._confirm_with(checks_before)
            return
        self.query_one("#typed", LineInput).clear()  # The text was typed for the earlier checks.
        compare = self._write.describe_changes
        changes = await compare(checks_before, new_checks) if compare is not None else ""
        self._shell.say(
            f"{changes or 'Something has changed since the checks were loaded.'} {self._write.next_step}", tone="care"
        )

    def _confirm_with(self, checks: ChecksT) -> None:
        stack = self.app.screen_stack
        if self._is_answered or self not in stack:
            return  # The dialog was closed while the checks loaded.
        self._is_answered = True
        self._shell.background(self._send(checks, stack[stack.index(self) - 1]))
        self.dismiss(Confirmed())

    async def _send(self, checks: ChecksT, screen_below: Screen[Any]) -> None:
        if change_sentence := await self._write.send(checks):
            self._shell.say(change_sentence, tone="care")
            if self._shell.screen is screen_below:
                self._shell.push_screen(CheckedDialog(self._shell, self._write))

    def show_diff(self) -> None:
        """Open the incoming changes, if the dialog offers this. The dialog opens again when you go back."""
        if self.content is not None and self.content.show_diff is not None:
            self.content.show_diff()

    def archive(self) -> None:
        """Close the dialog and open the dialog that archives the change request."""
        if self.content is not None and (archive := self.content.archive) is not None:
            self.cancel()
            archive()

    def cancel(self) -> None:
        self.workers.cancel_group(self, "checks")
        super().cancel()


def _seconds_since(moment: datetime) -> float:
    return (short_texts.clock() - moment).total_seconds()
