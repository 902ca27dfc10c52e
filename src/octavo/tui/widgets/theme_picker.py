"""Trying on the colours of a theme: they are shown at once, and kept only when they are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.tui.widgets.themes import WHAT_FOR, palettes

if TYPE_CHECKING:
    from textual.app import App


class ThemePicker:
    """Shows an app in other colours until it is in those before again, or those of one theme are kept."""

    def __init__(self, app: App[Any], remember: Callable[[str], None] = lambda name: None) -> None:
        """`remember` is told of a theme that is kept."""
        self._app, self._remember = app, remember
        self.before = app.theme
        """The theme while none is tried on."""

    @property
    def names(self) -> list[str]:
        """The themes there are, our own first."""
        own = list(palettes())
        others = sorted(
            name for name in self._app.available_themes if name not in own and not name.startswith("textual-")
        )
        return own + others

    def try_on(self, name: str | None) -> None:
        """Show the colours of a theme; None: those before."""
        if self._app.theme != (name := name or self.before):
            self._app.theme = name

    def choose(self) -> None:
        """Ask which theme is to be kept: the one under the cursor is tried on."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        choices = [
            Choice(
                name,
                name,
                detail=WHAT_FOR.get(name, ""),
                right="current" if name == self.before else "",
                group="OCTAVO THEMES" if name in palettes() else "POPULAR THEMES",
            )
            for name in self.names
        ]
        self._app.push_screen(Picker("Theme", choices, look=self.try_on, now=self.before), self.keep)

    def keep(self, name: str | None) -> None:
        """Stay with the colours of a theme, also at the next start; None: with those before."""
        self.try_on(name)
        if name is not None:
            self.before = name
            self._remember(name)
