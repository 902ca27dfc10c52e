"""The help: what one does where the focus is, then every key that works there, steps last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen

from octavo.tui.widgets.chooser import Choice, Chooser, Found
from octavo.tui.widgets.commands import ActiveCommand, Command, Commands, by_relevance, name_of
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.safe_text import fit, safe

_KEYS_WIDTH = 13
_TALL = 30
"""Rows from which on the help says all there is to say of where one is."""


HELP_TOPICS: Commands[HelpScreen] = Commands(
    "help",
    (
        Command("topics", "f1", "Help topics", "Read about keys, settings, commands, security and problems",
                run=lambda _, screen: screen.show_topics(), priority=True),
    ),
    find=lambda screen: screen,
)  # fmt: skip


class HelpScreen(Chooser[None, ActiveCommand]):
    """Explains the screen below. Enter closes it and does what the row says."""

    CONTEXT: ClassVar[str] = "help"
    PLACEHOLDER: ClassVar[str] = "Find a key or command"
    FOOT: ClassVar[str] = "enter run"
    EXPLAINS: ClassVar[bool] = True
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (HELP_TOPICS,)

    def __init__(self, below: Screen[Any], show_topics: Callable[[], object]) -> None:
        super().__init__("Help")
        self._below, self._show_topics = below, show_topics

    def choices(self) -> Sequence[Choice[ActiveCommand]]:
        below, focused = self._below, self._below.focused
        self._title = f"Help: {name_of(focused or below)}"
        return [
            Choice(
                command,
                command.title,
                detail=command.help,
                right=" ".join(command.keys),
                group=place,
                off=command.reason or "",
            )
            for place, command in by_relevance(below)
        ]

    def prose(self) -> Content | None:
        below = self._below
        places: list[DOMNode] = list(below.focused.ancestors_with_self) if below.focused else [below]
        said = dict.fromkeys(text for place in places if (text := getattr(place, "HELP", "")) and place is not self.app)
        # Where rows are few there is room for what is nearest, and for the keys.
        shown = list(said)[: 1 if self.app.size.height < _TALL else None]
        shown += dict.fromkeys(text for place in below.query("*") if (text := getattr(place, "more_help", "")))
        return Content("\n").join(safe(text) for text in shown if isinstance(text, str)) if shown else None

    def draw(self, found: Found[ActiveCommand]) -> Row:
        choice = found.choice
        keys = Content.styled(choice.right, "$octavo-muted" if choice.off else "$primary")
        detail = (choice.off or choice.detail) if self.has_row_details else ""
        text = Content.assemble(
            fit(keys, _KEYS_WIDTH),
            "  ",
            fit(self.titled(found), self._column),
            "  ",
            (safe(detail).plain, "$octavo-muted"),
        )
        return Row(text=text, dim=bool(choice.off))

    def take(self, choice: Choice[ActiveCommand]) -> None:
        self.dismiss(None)
        self.app.call_later(choice.value.run)

    def show_topics(self) -> None:
        """Close the help, and show the list of help topics."""
        self.dismiss(None)
        self.app.call_later(self._show_topics)
