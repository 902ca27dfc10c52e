"""The palette: every colour of the app, by what it means. Widgets name tokens, never hues.

Contrast of each pair is held by a test: text and state colours on ground, surface and cursor at 4.5 : 1 or more.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.theme import Theme


class Palette(NamedTuple):
    """The tokens of one theme."""

    background: str
    surface: str
    panel: str
    cursor: str
    text: str
    muted: str
    line: str
    """Hairlines between panes: seen, not read."""
    accent: str
    success: str
    warning: str
    error: str
    note: str
    """People talking: threads, mentions, agents."""
    add_line: str
    add_word: str
    remove_line: str
    remove_word: str

    def theme(self, name: str, *, dark: bool) -> Theme:
        """The palette as Textual has it."""
        return Theme(
            name=name,
            dark=dark,
            primary=self.accent,
            secondary=self.note,
            accent=self.accent,
            foreground=self.text,
            background=self.background,
            surface=self.surface,
            panel=self.panel,
            success=self.success,
            warning=self.warning,
            error=self.error,
            variables={
                "octavo-cursor": self.cursor,
                "octavo-muted": self.muted,
                "octavo-line": self.line,
                "octavo-note": self.note,
                "octavo-add-line": self.add_line,
                "octavo-add-word": self.add_word,
                "octavo-remove-line": self.remove_line,
                "octavo-remove-word": self.remove_word,
                "text-muted": self.muted,
                "block-cursor-background": self.cursor,
                "block-cursor-foreground": self.text,
                "block-cursor-text-style": "none",
                "input-cursor-background": self.accent,
                "input-selection-background": self.cursor,
                "scrollbar": self.panel,
                "scrollbar-hover": self.line,
                "scrollbar-active": self.accent,
                "scrollbar-background": self.background,
                "scrollbar-background-hover": self.background,
                "scrollbar-background-active": self.background,
                "scrollbar-corner-color": self.background,
                "border": self.accent,
                "border-blurred": self.line,
                "footer-key-foreground": self.accent,
            },
        )


DARK = Palette(
    background="#14161b",
    surface="#1b1e25",
    panel="#262a33",
    cursor="#2b3a55",
    text="#d9dce3",
    muted="#a3a9b6",
    line="#3a404d",
    accent="#7cb1ff",
    success="#7ec699",
    warning="#e5b567",
    error="#f0868c",
    note="#b79cf2",
    add_line="#17301f",
    add_word="#23562f",
    remove_line="#3a1b20",
    remove_word="#6b2730",
)
LIGHT = Palette(
    background="#fbfbfc",
    surface="#f2f3f5",
    panel="#e6e8ec",
    cursor="#d5e3fb",
    text="#22252b",
    muted="#5c6270",
    line="#c6cad2",
    accent="#1a56c4",
    success="#1b6b37",
    warning="#7a5000",
    error="#b3261e",
    note="#6236b5",
    add_line="#dff3e4",
    add_word="#aee0ba",
    remove_line="#fbe3e3",
    remove_word="#f4b6b6",
)
_CB_DARK = {
    "add_line": "#11305a",
    "add_word": "#1d5aa8",
    "remove_line": "#4a2c00",
    "remove_word": "#8a4f00",
    "success": "#6cb6ff",
    "warning": "#ffcf70",
    "error": "#ff9d4d",
}
_CB_LIGHT = {
    "add_line": "#d6e6fb",
    "add_word": "#a3c8f5",
    "remove_line": "#fbe8cf",
    "remove_word": "#f3c58c",
    "success": "#14519e",
    "warning": "#6b4a00",
    "error": "#8f3b00",
}


def palettes() -> dict[str, tuple[Palette, bool]]:
    """Every palette of ours by theme name, and whether it is dark."""
    return {
        "dark": (DARK, True),
        "light": (LIGHT, False),
        "cb-dark": (DARK._replace(**_CB_DARK), True),
        "cb-light": (LIGHT._replace(**_CB_LIGHT), False),
    }


def themes() -> list[Theme]:
    """Every theme of ours, as Textual has them."""
    return [palette.theme(name, dark=dark) for name, (palette, dark) in palettes().items()]
