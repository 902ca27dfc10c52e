"""The Info dialog: details of the selected item, and why keys are disabled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.api.operation import Model
from octavo.api.spaces import Space
from octavo.data.offline_spaces import OfflineSpace
from octavo.tui.shell.info_facts import LINK_NAMES, item_details
from octavo.tui.shell.kept_words import offline_summary
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.commands import active_commands


def show_info(view: View) -> None:
    """Open the Info dialog for the selected item of a view. `enter` copies a detail."""

    def chosen(value: str | None) -> None:
        if value:
            clipboard.copy(view.shell, value, "Copied.")

    has_links = not view.shell.session.is_embedded
    view.shell.push_screen(
        InfoScreen(view.selected_items, view, view.shell.session.offline.get, has_links=has_links), chosen
    )


class InfoScreen(Chooser[str | None, str]):
    """Details of items, followed by the disabled keys of the screen below. `enter` copies a detail."""

    PLACEHOLDER: ClassVar[str] = "Find a detail or a keyboard shortcut"
    FOOT: ClassVar[str] = "enter copy · esc close"

    def __init__(
        self,
        items: Sequence[Model],
        screen_below: Screen[Any],
        offline_space: Callable[[str], OfflineSpace | None],
        *,
        has_links: bool = True,
    ) -> None:
        """`offline_space` returns the offline copy of a space by its id. Without `has_links`, details that are links are
        omitted."""
        super().__init__("Info", empty="No details to show. Select an item first.")
        self._offline_space = offline_space
        self._items, self._screen_below, self._omitted = items, screen_below, () if has_links else LINK_NAMES

    def choices(self) -> Sequence[Choice[str]]:
        choices: list[Choice[str]] = []
        for item in self._items:
            kind, details = item_details(item)
            if isinstance(item, Space) and (offline_space := self._offline_space(item.id)) is not None:
                details.append(("offline", offline_summary(offline_space)))
            shown = [(name, value) for name, value in details if name not in self._omitted]
            choices += [Choice(value, name, detail=value, group=kind.upper()) for name, value in shown]
        for command in active_commands(self._screen_below):
            if command.reason:
                name = f"{command.key}  {command.title}"
                choices.append(Choice("", name, group="UNAVAILABLE SHORTCUTS", off=command.reason))
        return choices

    def take(self, choice: Choice[str]) -> None:
        self.dismiss(choice.value)
