"""Info: what is known of what the cursor is on, and why keys are dim there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.api.operation import Model
from octavo.api.spaces import Space
from octavo.data.offline_spaces import OfflineSpace
from octavo.tui.shell.info_facts import LINKS, facts_of
from octavo.tui.shell.kept_words import said_of
from octavo.tui.shell.view import View
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.commands import active_commands


def show_info(view: View) -> None:
    """Tell of the things a view has at hand, over it."""

    def chosen(value: str | None) -> None:
        if value:
            clipboard.copy(view.shell, value, "Copied.")

    there = not view.shell.session.is_here
    view.shell.push_screen(
        InfoScreen(view.things_at_hand, view, view.shell.session.offline.get, addresses=there), chosen
    )


class InfoScreen(Chooser[str | None, str]):
    """Facts of some things, one below the other, then the dim keys of the screen below. Enter copies a fact."""

    PLACEHOLDER: ClassVar[str] = "Find a detail or a keyboard shortcut"
    FOOT: ClassVar[str] = "enter copy · esc close"

    def __init__(
        self,
        things: Sequence[Model],
        below: Screen[Any],
        kept: Callable[[str], OfflineSpace | None],
        *,
        addresses: bool = True,
    ) -> None:
        """`kept`: how far keeping a space for offline got. `addresses`: whether a browser comes to what they are the
        addresses of."""
        super().__init__("Info", empty="No details to show. Select an item first.")
        self._kept = kept
        self._things, self._below, self._left_out = things, below, () if addresses else LINKS

    def choices(self) -> Sequence[Choice[str]]:
        found: list[Choice[str]] = []
        for thing in self._things:
            kind, facts = facts_of(thing)
            if isinstance(thing, Space) and (kept := self._kept(thing.id)) is not None:
                facts.append(("offline", said_of(kept)))
            shown = [(name, value) for name, value in facts if name not in self._left_out]
            found += [Choice(value, name, detail=value, group=kind.upper()) for name, value in shown]
        for command in active_commands(self._below):
            if command.reason:
                name = f"{command.key}  {command.title}"
                found.append(Choice("", name, group="UNAVAILABLE SHORTCUTS", disabled_reason=command.reason))
        return found

    def accept(self, choice: Choice[str]) -> None:
        self.dismiss(choice.value)
