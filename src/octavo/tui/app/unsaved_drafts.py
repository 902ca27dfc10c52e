"""The confirmation before Octavo quits while drafts cannot be saved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, ClassVar

from octavo.data.unsent_index import KIND_NAMES
from octavo.tui.core.file_dialogs import Export, ask_for_path
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.text_widgets import Fact
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.drafts import Draft
    from octavo.tui.core.shell import Shell

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
            intro=self._why,
            facts=self._named_drafts,
            foot="c copy · w write to a file",
        )

    @property
    def _why(self) -> str:
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
            self.update(intro=self._why, facts=self._named_drafts)
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
