"""The help of a view: three lines about the view, then all its commands, those of the focused widget first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen

from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice
from octavo.tui.widgets.commands import ActiveCommand, Command, Commands, commands_by_relevance, place_name
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.safe_text import fit, safe

_KEY_COLUMN_WIDTH = 13
_SENTENCE_END = re.compile(r"(?<=\.) (?=\S)")


HELP_TOPICS: Commands[HelpScreen] = Commands(
    "help",
    (
        Command("topics", "f1", "Help topics", "Read about keys, settings, commands, and troubleshooting",
                run=lambda _, screen: screen.show_topics(), priority=True),
    ),
    find=lambda screen: screen,
)  # fmt: skip


class HelpScreen(Chooser[None, ActiveCommand]):
    """A list of the commands of the current view. Enter closes the help and runs the selected command."""

    CONTEXT: ClassVar[str] = "help"
    PLACEHOLDER: ClassVar[str] = "Type to filter"
    UNIT: ClassVar[str] = "command"
    FOOT: ClassVar[str] = "enter run"
    SHOWS_EXPLANATION: ClassVar[bool] = True
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (HELP_TOPICS,)

    def __init__(self, view: Screen[Any], show_topics: Callable[[], object], about_app: str = "") -> None:
        """`about_app` is a sentence that is shown in the help of every view."""
        super().__init__("Help")
        self._view, self._show_topics, self._about_app = view, show_topics, about_app

    def choices(self) -> Sequence[Choice[ActiveCommand]]:
        commands = commands_by_relevance(self._view)
        self._title = f"Help: {commands[0][0].lower() if commands else place_name(self._view)}"
        return [
            Choice(
                command,
                command.title,
                detail=command.help,
                right=" ".join(command.keys),
                group=place,
                disabled_reason=command.reason or "",
            )
            for place, command in commands
        ]

    def intro(self) -> Content | None:
        view = self._view
        nodes: list[DOMNode] = list(view.focused.ancestors_with_self) if view.focused else [view]
        helps = [help for place in nodes if (help := getattr(place, "HELP", "")) and place is not self.app]
        lines = _SENTENCE_END.split(helps[0]) if helps else []
        lines += dict.fromkeys(more for place in (view, *view.query("*")) if (more := getattr(place, "more_help", "")))
        lines += [self._about_app] if self._about_app else []
        return Content("\n").join(safe(each) for each in lines) if lines else None

    def draw(self, found: MatchedChoice[ActiveCommand]) -> Row:
        choice = found.choice
        keys = Content.styled(choice.right, "$octavo-muted" if choice.disabled_reason else "$primary")
        detail = (
            choice.detail if self.has_row_details else ""
        )  # The reason why a command is unavailable is shown below the list.
        text = Content.assemble(
            fit(keys, _KEY_COLUMN_WIDTH),
            "  ",
            fit(self.highlighted_title(found), self._title_width),
            "  ",
            (safe(detail).plain, "$octavo-muted"),
        )
        return Row(text=text, dim=bool(choice.disabled_reason))

    def accept(self, choice: Choice[ActiveCommand]) -> None:
        self.dismiss(None)
        self.app.call_later(choice.value.run)

    def show_topics(self) -> None:
        """Close the help, and show the list of help topics."""
        self.dismiss(None)
        self.app.call_later(self._show_topics)
