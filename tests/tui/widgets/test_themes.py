from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from octavo.tui.widgets.themes import MIN_CONTRAST, Palette, adapt_palette, contrast, palettes

TEXTUAL_THEMES = sorted(name for name, theme in BUILTIN_THEMES.items() if not theme.ansi)
TERMINAL_THEMES = ("ansi-dark", "ansi-light")


def unreadable_pairs(palette: Palette) -> list[str]:
    """Return the pairs of colors of a palette with too little contrast to be readable."""
    colour = {name: Color.parse(value) for name, value in palette._asdict().items()}
    inks = ("text", "muted", "accent", "success", "warning", "error", "note")
    pairs = [(ink, ground) for ink in inks for ground in ("background", "surface", "cursor")]
    pairs += [("text", ground) for ground in ("panel", "add_line", "add_word", "remove_line", "remove_word")]
    return [f"{ink} on {ground}" for ink, ground in pairs if contrast(colour[ink], colour[ground]) < MIN_CONTRAST]


@pytest.mark.parametrize("name", [name for name in palettes() if name not in TERMINAL_THEMES])
def test_own_themes_have_enough_contrast(name: str) -> None:
    assert unreadable_pairs(palettes()[name][0]) == []


@pytest.mark.parametrize("name", TEXTUAL_THEMES)
def test_adapted_themes_have_enough_contrast(name: str) -> None:
    assert unreadable_pairs(adapt_palette(BUILTIN_THEMES[name])) == []
