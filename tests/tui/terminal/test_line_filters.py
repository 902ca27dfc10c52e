from __future__ import annotations

import pytest
from rich.segment import Segment
from textual.color import Color

from octavo.tui.terminal.line_filters import ASCII_SYMBOLS, AsciiSymbols


@pytest.mark.parametrize(
    ("sign", "twin"),
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
def test_symbols_become_ascii_and_user_text_stays(sign: str, twin: str) -> None:
    assert AsciiSymbols().apply([Segment(sign)], Color(0, 0, 0)) == [Segment(twin)]


def test_every_replacement_is_one_ascii_character() -> None:
    assert all(len(str(twin)) == 1 and str(twin).isascii() for twin in ASCII_SYMBOLS.values())
