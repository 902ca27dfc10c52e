"""The dialog in which reviewers are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.content import Content

from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.row_list import Row

REVIEWERS: Commands[ReviewersScreen] = Commands(
    "reviewers",
    (
        Command("ask", "ctrl+s", "Request", "Request reviews from the selected people", priority=True,
                writes=True, run=lambda _, dialog: dialog.ask(), why_not=lambda _, dialog: dialog.why_not_asked()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Returns the ids of the people whose review is wanted. None if the dialog was cancelled."""

    CONTEXT: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type a name to find people. Press enter to select or deselect a person. Press ctrl+s to request reviews from the "
        "people you selected, and to withdraw the review requests to people you deselected. Press esc to cancel."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter select · ctrl+s request reviews"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (REVIEWERS,)

    def __init__(self, title: str, people: Sequence[Choice[str]], asked: frozenset[str]) -> None:
        super().__init__(title, people, empty="No one can review this change request.")
        self._asked, self._wanted = asked, set(asked)

    def draw(self, found: MatchedChoice[str]) -> Row:
        row = super().draw(found)
        tick = "[x] " if found.choice.value in self._wanted else "[ ] "
        return Row(Content.assemble((tick, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    def find_matches(self, query: str) -> list[MatchedChoice[str]]:
        # People who cannot review come last.
        return sorted(super().find_matches(query), key=lambda found: bool(found.choice.disabled_reason))

    def accept(self, choice: Choice[str]) -> None:
        self._wanted ^= {choice.value}
        self.rows.redraw()

    def why_not_asked(self) -> str | None:
        """Return why nothing can be requested. None if it can."""
        return "Press enter to select or deselect a reviewer first." if self._wanted == self._asked else None

    def ask(self) -> None:
        """Close the dialog with the selected people."""
        self.dismiss(frozenset(self._wanted))
