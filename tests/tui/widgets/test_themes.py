from __future__ import annotations

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from octavo.tui.widgets.themes import MIN_CONTRAST, Palette, adapt_palette, contrast, palettes

OTHERS = sorted(name for name, theme in BUILTIN_THEMES.items() if not theme.ansi)
OF_THE_TERMINAL = ("ansi-dark", "ansi-light")


def unread(palette: Palette) -> list[str]:
    """The pairs of a palette that cannot be told apart well enough to read one on the other."""
    colour = {name: Color.parse(value) for name, value in palette._asdict().items()}
    inks = ("text", "muted", "accent", "success", "warning", "error", "note")
    pairs = [(ink, ground) for ink in inks for ground in ("background", "surface", "cursor")]
    pairs += [("text", ground) for ground in ("panel", "add_line", "add_word", "remove_line", "remove_word")]
    return [f"{ink} on {ground}" for ink, ground in pairs if contrast(colour[ink], colour[ground]) < MIN_CONTRAST]


@pytest.mark.parametrize("name", [name for name in palettes() if name not in OF_THE_TERMINAL])
def test_own_themes_have_enough_contrast(name: str) -> None:
    assert unread(palettes()[name][0]) == []


@pytest.mark.parametrize("name", OTHERS)
def test_adapted_themes_have_enough_contrast(name: str) -> None:
    assert unread(adapt_palette(BUILTIN_THEMES[name])) == []
