"""Pictures and line filters of the terminal."""

from __future__ import annotations

import sys

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from octavo.tui.terminal.display import (
    ASCII_SYMBOLS,
    AsciiSymbols,
    can_paint_pictures,
    may_support_pictures,
    query_terminal,
    simplify_emoji,
)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "230400"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, False),
        ({"TERM": "xterm-kitty", "NO_COLOR": ""}, False),
        ({}, False),
    ],
)
def test_only_terminals_that_can_show_images_are_queried(environment: dict[str, str], expected: bool) -> None:
    assert may_support_pictures(environment) is expected


def test_image_library_is_not_loaded_in_other_terminals() -> None:
    query_terminal({"TERM": "xterm-256color"})
    assert "textual_image" not in sys.modules
    assert not can_paint_pictures()


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


@pytest.mark.parametrize(
    ("text", "simple_text"),
    [
        ("👩🏽\u200d💻 code", "👩 code"),
        ("👩\u200d👩\u200d👧\u200d👦!", "👩!"),
        ("👍🏽👍", "👍👍"),
        ("❤\ufe0f x", "❤  x"),
        ("☎\ufe0e x", "☎ x"),
        ("1\ufe0f\u20e3 one", "1  one"),
        ("🇩🇪🇫🇷 de", "DEFR de"),
        ("नमस्ते क्\u200dष مرحبا 日本語 🌊 🚀", "नमस्ते क्\u200dष مرحبا 日本語 🌊 🚀"),
    ],
)
def test_combined_emoji_become_simple_emoji_of_the_same_width(text: str, simple_text: str) -> None:
    assert simplify_emoji(text) == simple_text
    assert cell_len(simple_text) == cell_len(text)


def test_every_replacement_is_one_ascii_character() -> None:
    assert all(len(str(ascii_text)) == 1 and str(ascii_text).isascii() for ascii_text in ASCII_SYMBOLS.values())
