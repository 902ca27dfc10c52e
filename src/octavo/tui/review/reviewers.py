"""Who is asked for a review: people are ticked, and those whose tick changed are asked, or asked no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from octavo.tui.widgets.chooser import Choice, Chooser, Found
from octavo.tui.widgets.fuzzy_match import Match
from octavo.tui.widgets.row_list import Row


class ReviewersScreen(Chooser[frozenset[str] | None, str]):
    """Answers the ids of those who shall be asked. None: nothing is to change."""

    CONTEXT: ClassVar[str] = "reviewers"
    HELP: ClassVar[str] = (
        "Type to find people, tick them with enter, then ask them with ctrl+s. Untick who is asked to take it back."
    )
    PLACEHOLDER: ClassVar[str] = "Type a name"
    FOOT: ClassVar[str] = "enter tick · ctrl+s ask the ticked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Ask", tooltip="Ask the ticked, and take back the request of others", id="reviewers.ask", priority=True),
    ]  # fmt: skip

    def __init__(self, title: str, people: Sequence[Choice[str]], asked: frozenset[str]) -> None:
        super().__init__(title, people, empty="Nobody can be asked here.")
        self._asked, self._wanted = asked, set(asked)

    def draw(self, found: Found[str]) -> Row:
        row = super().draw(found)
        tick = "[x] " if found.choice.value in self._wanted else "[ ] "
        return Row(Content.assemble((tick, "$octavo-muted"), row.text), right=row.right, dim=row.dim)

    @staticmethod
    def _match(query: str, choice: Choice[str]) -> Match | None:
        found = Chooser._match(query, choice)
        # Those who cannot be asked come last.
        return Match(found.score - 1000, found.places) if found is not None and choice.off else found

    def take(self, choice: Choice[str]) -> None:
        self._wanted ^= {choice.value}
        self.rows.redraw()

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "send" and self._wanted == self._asked:
            return "Nothing changed: tick somebody with enter first."
        return super().why_not(action, parameters)

    def action_send(self) -> None:
        self.dismiss(frozenset(self._wanted))
