"""Who is asked for a review: people are ticked, and those whose tick changed are asked, or asked no more."""

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
        Command("ask", "ctrl+s", "Ask", "Ask the ticked, and take back the request of others", priority=True,
                writes=True, run=lambda _, dialog: dialog.ask(), why_not=lambda _, dialog: dialog.why_not_asked()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Answers the ids of those who shall be asked. None: nothing is to change."""

    CONTEXT: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type to find people, tick them with enter, then ask them with ctrl+s. Untick who is asked to take it back."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter tick · ctrl+s ask the ticked"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (REVIEWERS,)

    def __init__(self, title: str, people: Sequence[Choice[str]], asked: frozenset[str]) -> None:
        super().__init__(title, people, empty="Nobody can be asked here.")
        self._asked, self._wanted = asked, set(asked)

    def draw(self, found: Found[str]) -> Row:
        row = super().draw(found)
        tick = "[x] " if found.choice.value in self._wanted else "[ ] "
        return Row(Content.assemble((tick, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    def answers(self, query: str) -> list[Found[str]]:
        # Those who cannot be asked come last.
        return sorted(super().answers(query), key=lambda found: bool(found.choice.off))

    def take(self, choice: Choice[str]) -> None:
        self._wanted ^= {choice.value}
        self.rows.redraw()

    def why_not_asked(self) -> str | None:
        """Why nobody is asked, or asked no more, in a sentence."""
        return "Nothing changed: tick somebody with enter first." if self._wanted == self._asked else None

    def ask(self) -> None:
        """Answer who shall be asked."""
        self.dismiss(frozenset(self._wanted))
