"""The theme the app wears: which at first, how one of others comes to have our tokens, and what is kept of a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from octavo.settings import Settings
from octavo.tui.widgets.themes import adopted, palettes, themes

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session


class ThemeChoice(App[int]):
    """Put before an app: it knows our themes, and can wear those of others."""

    _session: Session | None

    def wear_first(self, settings: Settings, session: Session | None) -> None:
        """Wear the theme of the settings, else the one chosen last, else what the terminal says of its ground."""
        for theme in themes():
            self.register_theme(theme)
        last = session.state.recall("theme") if session else None
        wanted = (settings.theme, str(last or ""))
        ground = "light" if settings.light_ground else "dark"
        self.theme = next((name for name in wanted if name in self.available_themes), ground)

    def validate_theme(self, name: str) -> str:
        """Give a theme of others our tokens before it is worn: without them no style could be read."""
        if name not in palettes():
            self.register_theme(adopted(self.available_themes[name]))
        return name

    def action_theme(self) -> None:
        from octavo.tui.widgets.theme_picker import ThemePicker

        ThemePicker(self, self.remember_theme).choose()

    def remember_theme(self, name: str) -> None:
        """Wear it at the next start too."""
        if self._session is not None:
            self._session.state.remember("theme", name)
