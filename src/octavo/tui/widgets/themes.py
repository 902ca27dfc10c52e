"""The color palettes of the themes. Widgets name a color by its meaning, such as `note` for threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from textual.color import BLACK, WHITE, Color
from textual.theme import Theme

MIN_CONTRAST = 4.5
"""Minimum contrast of text and status colors with the colors behind them. A test checks the palettes of Octavo."""


class Palette(NamedTuple):
    """The colors of a theme, by their meaning."""

    background: str
    surface: str
    panel: str
    cursor: str
    text: str
    muted: str
    hairline: str
    """Color of the lines between panes. These lines need little contrast."""
    accent: str
    success: str
    warning: str
    error: str
    note: str
    """Color for threads, mentions and AI agents."""
    add_line: str
    add_word: str
    remove_line: str
    remove_word: str

    def theme(self, name: str, *, dark: bool, ansi: bool = False) -> Theme:
        """Return a Textual theme with these colors. `dark` is True for a dark background. With `ansi`, the terminal
        decides what the colors look like."""
        return Theme(
            name=name,
            dark=dark,
            ansi=ansi,
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
                "octavo-line": self.hairline,
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
                "scrollbar-hover": self.hairline,
                "scrollbar-active": self.accent,
                "scrollbar-background": self.background,
                "scrollbar-background-hover": self.background,
                "scrollbar-background-active": self.background,
                "scrollbar-corner-color": self.background,
                "border": self.accent,
                "border-blurred": self.hairline,
                "footer-key-foreground": self.accent,
                "ansi-background": "ansi_black" if dark else "ansi_white",
                "ansi-foreground": "ansi_white" if dark else "ansi_black",
            },
        )


DARK = Palette(
    background="#14161b",
    surface="#1b1e25",
    panel="#262a33",
    cursor="#2b3a55",
    text="#d9dce3",
    muted="#a3a9b6",
    hairline="#3a404d",
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
    hairline="#c6cad2",
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
_COLOR_BLIND_DARK = {
    "add_line": "#11305a",
    "add_word": "#1d5aa8",
    "remove_line": "#4a2c00",
    "remove_word": "#8a4f00",
    "success": "#6cb6ff",
    "warning": "#ffcf70",
    "error": "#ff9d4d",
}
_COLOR_BLIND_LIGHT = {
    "add_line": "#d6e6fb",
    "add_word": "#a3c8f5",
    "remove_line": "#fbe8cf",
    "remove_word": "#f3c58c",
    "success": "#14519e",
    "warning": "#6b4a00",
    "error": "#8f3b00",
}


_GREYS = Palette(
    background="#141414",
    surface="#1c1c1c",
    panel="#2b2b2b",
    cursor="#3a3a3a",
    text="#e4e4e4",
    muted="#b0b0b0",
    hairline="#454545",
    accent="#ffffff",
    success="#d6d6d6",
    warning="#f0f0f0",
    error="#ffffff",
    note="#cccccc",
    add_line="#2a2a2a",
    add_word="#484848",
    remove_line="#202020",
    remove_word="#383838",
)
_LIGHT_GREYS = Palette(
    background="#fcfcfc",
    surface="#f3f3f3",
    panel="#e6e6e6",
    cursor="#d8d8d8",
    text="#222222",
    muted="#575757",
    hairline="#c6c6c6",
    accent="#000000",
    success="#333333",
    warning="#1a1a1a",
    error="#000000",
    note="#3d3d3d",
    add_line="#e4e4e4",
    add_word="#c4c4c4",
    remove_line="#efefef",
    remove_word="#d6d6d6",
)
# The terminal defines these colors. Changed lines have no background color.
_ANSI = Palette(
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_bright_black",
    cursor="ansi_bright_black",
    text="ansi_default",
    muted="ansi_white",
    hairline="ansi_bright_black",
    accent="ansi_bright_blue",
    success="ansi_bright_green",
    warning="ansi_bright_yellow",
    error="ansi_bright_red",
    note="ansi_bright_magenta",
    add_line="ansi_default",
    add_word="ansi_default",
    remove_line="ansi_default",
    remove_word="ansi_default",
)
_ANSI_LIGHT = _ANSI._replace(
    panel="ansi_white",
    cursor="ansi_white",
    muted="ansi_bright_black",
    hairline="ansi_white",
    accent="ansi_blue",
    success="ansi_green",
    warning="ansi_red",
    error="ansi_red",
    note="ansi_magenta",
)


def palettes() -> dict[str, tuple[Palette, bool]]:
    """Return Octavo's palettes by the names of their themes. Each comes with True if the theme is dark."""
    return {
        "dark": (DARK, True),
        "light": (LIGHT, False),
        "cb-dark": (DARK._replace(**_COLOR_BLIND_DARK), True),
        "cb-light": (LIGHT._replace(**_COLOR_BLIND_LIGHT), False),
        "mono": (_GREYS, True),
        "mono-light": (_LIGHT_GREYS, False),
        "ansi-dark": (_ANSI, True),
        "ansi-light": (_ANSI_LIGHT, False),
    }


THEME_DETAILS = {
    "cb-dark": "color-blind friendly: blue and orange",
    "cb-light": "color-blind friendly, light background",
    "mono": "shades of gray",
    "mono-light": "shades of gray, light background",
    "ansi-dark": "terminal colors, dark background",
    "ansi-light": "terminal colors, light background",
}
"""Explanations of themes whose names do not say enough, by name."""


def themes() -> list[Theme]:
    """Return Octavo's own themes for Textual."""
    return [
        palette.theme(name, dark=dark, ansi=palette.text.startswith("ansi"))
        for name, (palette, dark) in palettes().items()
    ]


def adapt_theme(theme: Theme) -> Theme:
    """Return a theme of Textual with the color names that Octavo uses. Colors with too little contrast are changed."""
    return adapt_palette(theme).theme(theme.name, dark=theme.dark)


def adapt_palette(theme: Theme) -> Palette:
    """Return a palette with the colors of a theme of Textual. Text colors with too little contrast are changed."""
    system_colors = theme.to_color_system().generate()
    names = ("background", "surface", "panel", "foreground", "primary", "secondary", "success", "warning", "error")
    colors = {name: Color.parse(system_colors[name]) for name in names}
    background, surface, panel = (colors[name] for name in names[:3])
    strongest = WHITE if theme.dark else BLACK
    surfaces = (background, surface, panel)
    text = _first_with_contrast(lambda share: colors["foreground"].blend(strongest, share), surfaces, MIN_CONTRAST + 2)
    cursor = _first_with_contrast(
        lambda share: background.blend(colors["primary"], 0.3 * (1 - share)), (text,), MIN_CONTRAST + 1.5
    )

    def readable_color(color: Color) -> str:
        return _first_with_contrast(lambda share: color.blend(strongest, share), (*surfaces, cursor), MIN_CONTRAST).hex

    def background_tint(color: Color, strength: float) -> str:
        return _first_with_contrast(
            lambda reduction: background.blend(color, strength * (1 - reduction)), (text,), MIN_CONTRAST
        ).hex

    return Palette(
        background=background.hex,
        surface=surface.hex,
        panel=panel.hex,
        cursor=cursor.hex,
        text=text.hex,
        muted=readable_color(text.blend(background, 0.35)),
        hairline=text.blend(background, 0.75).hex,
        accent=readable_color(colors["primary"]),
        success=readable_color(colors["success"]),
        warning=readable_color(colors["warning"]),
        error=readable_color(colors["error"]),
        note=readable_color(colors["secondary"]),
        add_line=background_tint(colors["success"], 0.15),
        add_word=background_tint(colors["success"], 0.35),
        remove_line=background_tint(colors["error"], 0.15),
        remove_word=background_tint(colors["error"], 0.35),
    )


def contrast(first: Color, second: Color) -> float:
    """Return the contrast of two colors as WCAG defines it: from 1 (equal colors) to 21 (black and white)."""
    lower, higher = sorted((_luminance(first), _luminance(second)))
    return (higher + 0.05) / (lower + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _first_with_contrast(color_at: Callable[[float], Color], colors: tuple[Color, ...], min_contrast: float) -> Color:
    steps = (color_at(step / 20) for step in range(21))
    last_color = color_at(1.0)
    return next((each for each in steps if min(contrast(each, other) for other in colors) >= min_contrast), last_color)
