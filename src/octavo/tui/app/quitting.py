"""Quitting: `q` twice at the top level of a view, and a confirmation while changes are unsent or drafts cannot be saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, ClassVar

from octavo.data.unsent_index import KIND_NAMES
from octavo.tui.core.file_dialogs import Export, ask_for_path
from octavo.tui.core.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.short_texts import Fact, plural

if TYPE_CHECKING:
    from octavo.data.drafts import Draft
    from octavo.tui.core.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


MOST_NAMED = 5
AGAIN = "Press q again to quit."


def quit_or_up(app: Shell) -> None:
    """Go up one level. At the top of a view, quit if “Press q again to quit.” is still on the screen, else show it."""
    screen = app.screen
    hints = [each.number for each in app.notices.shown() if each.text == AGAIN]
    for number in hints:
        app.notices.close(number)
    if app.history.go_up():
        return
    focused = screen.focused.id if screen.focused is not None else None
    if isinstance(screen, View) and focused not in screen.QUIT_LISTS and screen.go_up():
        return
    if len(app.screen_stack) > 1:
        app.pop_screen()
    elif hints or not isinstance(screen, View):
        _quit(app)
    else:
        app.say(AGAIN, tone="care")


def _quit(app: Shell) -> None:
    """Quit, after a confirmation if changes are unsent."""
    entries = app.session.outbox.entries if app.has_session else ()
    if not entries:
        app.background(app.action_quit())
        return

    def quit_app(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(app.action_quit())

    actions = Counter(entry.action for entry in entries)
    named = [each if times == 1 else f"{each} ({times} times)" for each, times in actions.most_common(MOST_NAMED)]
    more = f" · and {len(actions) - MOST_NAMED} more" if len(actions) > MOST_NAMED else ""
    intro = f"{' · '.join(named)}{more}"
    pending = sum(entry.state == "pending" for entry in entries)
    after = (
        "Octavo will try to send these changes now. Any changes that cannot be sent now will be sent the next time you "
        "start Octavo."
    )
    if pending == len(entries):
        after = (
            "Your pending comments will stay in your review. To submit the review, start Octavo again, open the change "
            "request, and press a to approve or A to request changes."
        )
    elif pending:
        after += f" {plural(pending, 'pending comment')} will stay in your review."
    title = f"Quit with {plural(len(entries), 'unsent change')}?"
    app.push_screen(ConfirmDialog(title, verb="Quit", intro=intro, after=after), quit_app)


def ask_about_unsaved(app: Shell, on_answer: Callable[[Confirmed | None], None]) -> None:
    """Ask whether to quit without the drafts that cannot be saved, unless the dialog is open already."""
    if not any(isinstance(each, UnsavedDrafts) for each in app.screen_stack):
        app.push_screen(UnsavedDrafts(app), on_answer)


UNSAVED: Commands[UnsavedDrafts] = Commands(
    "unsaved",
    (
        Command("copy", "c", "Copy", "Copy the drafts to the clipboard", run=lambda _, dialog: dialog.copy()),
        Command("write", "w", "Write to a file", "Write the drafts to a file", run=lambda _, dialog: dialog.write()),
    ),
    find=lambda dialog: dialog,
)


class UnsavedDrafts(ConfirmDialog):
    """A dialog that lists the drafts that would be lost. Octavo keeps trying to save them while it is open."""

    CONTEXT: ClassVar[str] = "unsaved drafts"
    HELP: ClassVar[str] = (
        "This dialog lists drafts that Octavo could not save in its data folder. Press c to copy the drafts, "
        "w to write them to a file that you choose, or y to discard them and quit. Press esc to go back."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (UNSAVED,)

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._unobserve = shell.session.drafts.observe(self._update)
        self._drafts: tuple[Draft, ...] = shell.session.drafts.unsaved()
        super().__init__(
            "Quit and discard unsaved drafts?",
            verb="Quit and discard drafts",
            intro=self._problem,
            facts=self._named_drafts,
            foot="c copy · w write to a file",
        )

    @property
    def _problem(self) -> str:
        return f"Not saved yet: {self._shell.session.drafts.unsaved_reason}. Octavo will keep trying."

    @property
    def _named_drafts(self) -> tuple[Fact, ...]:
        return tuple(
            Fact("bad", _kind(each), f"{plural(len(each.text), 'character')}: {' '.join(each.text.split())[:60]}")
            for each in self._drafts
        )

    def on_unmount(self) -> None:
        self._unobserve()

    def _update(self) -> None:
        """Remove the drafts that have been saved."""
        self._drafts = self._shell.session.drafts.unsaved()
        if self._drafts:
            self.update(intro=self._problem, facts=self._named_drafts)
        else:
            self.update(intro="All drafts are saved now.", facts=(), verb="Quit", foot="")

    def copy(self) -> None:
        """Copy all drafts to the clipboard."""
        self._shell.copy_to_clipboard(self._joined_drafts)
        self._shell.say(f"Copied {plural(len(self._drafts), 'draft')}.")

    def write(self) -> None:
        """Write all drafts to a file that the user chooses."""
        content = self._joined_drafts.encode("utf-8", "surrogatepass")

        async def chunks() -> AsyncIterator[bytes]:
            yield content

        ask_for_path(self._shell, Export("the unsaved drafts", "octavo-unsaved.md", chunks))

    @property
    def _joined_drafts(self) -> str:
        return "\n\n".join(each.text for each in self._drafts)


def _kind(draft: Draft) -> str:
    return KIND_NAMES.get(draft.key.partition(" ")[0], "a draft").capitalize()
