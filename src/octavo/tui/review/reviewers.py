"""The dialog in which you choose reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.content import Content

from octavo.tui.widgets.chooser import Choice, Chooser, Found
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.row_list import Row

REVIEWERS: Commands[ReviewersScreen] = Commands(
    "reviewers",
    (
        Command("ask", "ctrl+s", "Request", "Request reviews from the selected people", priority=True,
                writes=True, run=lambda _, dialog: dialog.submit(), why_not=lambda _, dialog: dialog.why_not_submit()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Dialog that returns the IDs of the selected people, or None if it was canceled."""

    CONTEXT: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type a name to find people. Press enter to select or deselect a person. Press ctrl+s to request reviews from the "
        "people you selected, and to withdraw the review requests to people you deselected. Press esc to cancel."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter select · ctrl+s request reviews"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (REVIEWERS,)

    def __init__(self, title: str, people: Sequence[Choice[str]], requested: frozenset[str]) -> None:
        super().__init__(title, people, empty="No one can review this change request.")
        self._requested, self._selected = requested, set(requested)

    def draw(self, found: Found[str]) -> Row:
        row = super().draw(found)
        checkbox = "[x] " if found.choice.value in self._selected else "[ ] "
        return Row(Content.assemble((checkbox, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    def answers(self, query: str) -> list[Found[str]]:
        # People who cannot review come last.
        return sorted(super().answers(query), key=lambda found: bool(found.choice.off))

    def take(self, choice: Choice[str]) -> None:
        self._selected ^= {choice.value}
        self.rows.redraw()

    def why_not_submit(self) -> str | None:
        """Return why nothing can be requested. None if it can."""
        return "Press enter to select or deselect a reviewer first." if self._selected == self._requested else None

    def submit(self) -> None:
        """Close the dialog with the selected people."""
        self.dismiss(frozenset(self._selected))
