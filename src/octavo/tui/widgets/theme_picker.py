"""Preview and choice of a theme. A preview changes the colors at once; the theme is saved only if it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from octavo.tui.widgets.themes import THEME_DETAILS, palettes

if TYPE_CHECKING:
    from textual.app import App


class ThemePicker:
    """Previews themes in the app, and then keeps one or restores the theme before."""

    def __init__(self, app: App[Any], save: Callable[[str], None] = lambda name: None) -> None:
        """`save` saves the name of a chosen theme."""
        self._app, self._save = app, save
        self.chosen = app.theme
        """The chosen theme, which is restored after a preview."""

    @property
    def names(self) -> list[str]:
        """Names of all themes, those of Octavo first."""
        own = list(palettes())
        others = sorted(
            name for name in self._app.available_themes if name not in own and not name.startswith("textual-")
        )
        return own + others

    def preview(self, name: str | None) -> None:
        """Preview a theme. None restores the chosen theme."""
        if self._app.theme != (name := name or self.chosen):
            self._app.theme = name

    def choose(self) -> None:
        """Open a picker for the theme, which previews the theme under the cursor."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        choices = [
            Choice(
                name,
                name,
                detail=THEME_DETAILS.get(name, ""),
                right="current" if name == self.chosen else "",
                group="OCTAVO THEMES" if name in palettes() else "POPULAR THEMES",
            )
            for name in self.names
        ]
        self._app.push_screen(Picker("Theme", choices, on_preview=self.preview, initial=self.chosen), self.keep)

    def keep(self, name: str | None) -> None:
        """Switch to a theme and save it. None restores the chosen theme."""
        self.preview(name)
        if name is not None:
            self.chosen = name
            self._save(name)
