from __future__ import annotations

import pytest
from rich.segment import Segment
from textual.color import Color

from octavo.tui.terminal.display import ASCII_SYMBOLS, AsciiSymbols


@pytest.mark.parametrize(
    ("text", "ascii_text"),
    [
        ("● open", "* open"),
        ("○ outdated", "o outdated"),
        ("✓ ok", "v ok"),
        ("✗ bad", "x bad"),
        ("◐ review", "r review"),
        ("◆ agent", "A agent"),
        ("↳ reply", "> reply"),
        ("▸ folded", "+ folded"),
        ("▾ unfolded", "- unfolded"),
        ("┊ rail", ": rail"),
        ("▌ cursor", "| cursor"),
        ("cut…", "cut~"),
        ("Tomás クイック 🌊", "Tomás クイック 🌊"),
    ],
)
def test_symbols_become_ascii_and_user_text_stays(text: str, ascii_text: str) -> None:
    assert AsciiSymbols().apply([Segment(text)], Color(0, 0, 0)) == [Segment(ascii_text)]


def test_every_replacement_is_one_ascii_character() -> None:
    assert all(len(str(ascii_text)) == 1 and str(ascii_text).isascii() for ascii_text in ASCII_SYMBOLS.values())
