"""Escape, the key after it, and escape sequences in pasted text, however the input is split."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from textual.events import Key, Paste

from octavo.tui.terminal.driver import EscapeOrAlt, KeyReader
from octavo.tui.terminal.textual_internals import XTermParser


def read(*pieces: str, quiet: bool = True) -> list[str]:
    """Return the keys and pastes that the reader makes of `pieces`. With `quiet`, no input follows the last piece."""
    reader = KeyReader(XTermParser())
    messages = [message for piece in pieces for message in reader.feed(piece)]
    if quiet:
        messages += reader.tick()
    return [expected for message in messages for expected in _describe(message)]


def _describe(message: object) -> Sequence[str]:
    if isinstance(message, EscapeOrAlt):
        return [f"{message.key} or {' '.join(each.key for each in message.separate)}"]
    if isinstance(message, Key):
        return [message.key]
    return [f"pasted {message.text!r}"] if isinstance(message, Paste) else [str(message)]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("\x1bj", ["alt+j or escape j"]),
        ("\x1bJ", ["alt+shift+j or escape J"]),
        ("\x1bb", ["ctrl+left or escape b"]),
        ("\x1b1", ["inverted_exclamation_mark or escape 1"]),
        ("\x1b/", ["escape", "slash"]),
        ("\x1b:", ["escape", "colon"]),
        ("\x1b\r", ["escape", "enter"]),
        ("\x1b\x13", ["escape", "ctrl+s"]),
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1b\x1b[A", ["escape", "up"]),
        ("\x1b[A\x1b[1;3A", ["up", "alt+up"]),
        ("\x1bOP\x1b[24~", ["f1", "f12"]),
        ("\x1bO", ["alt+shift+o or escape O"]),
        ("\x1b]", ["escape", "right_square_bracket"]),
        ("\x1b[", ["escape", "left_square_bracket"]),
        ("\x1b", ["escape"]),
        ("\x1bqj", ["alt+q or escape q", "j"]),
        ("é\x1bé", ["é", "alt+é or escape é"]),
    ],
)
def test_escape_followed_by_a_key_gives_both(text: str, keys: list[str]) -> None:
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == keys, f"the input is split after {cut} characters"


@pytest.mark.parametrize(
    "pasted",
    [
        "plain",
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07a",
        "ends with an escape \x1b",
        "\x1b[200~within\x1b[200~",
        "\x1bq\x1bO\x1b[A\x1b[20",
        "lines\rof\r\ntext\t and \x1b\x1b\x1b",
        "",
    ],
)
def test_escape_in_pasted_text_is_not_a_key(pasted: str) -> None:
    text = f"a\x1b[200~{pasted}\x1b[201~b"
    expected = ["a", f"pasted {pasted.replace(chr(27), '␛')!r}", "b"]
    assert read(text) == expected
    assert read(*text) == expected, "the result must be the same for single characters"
    cuts = random.Random(7)
    for _ in range(50):
        first, second = sorted(cuts.choices(range(len(text)), k=2))
        assert read(text[:first], text[first:second], text[second:]) == expected


@pytest.mark.parametrize("sequence", ["\x1b[1114112;1u", "\x1b[97;5;99999999999u", "\x1b[97:65;1u", "\x1b[97;1:3u"])
def test_key_with_an_impossible_number_is_ignored(sequence: str) -> None:
    text = f"a{sequence}b"
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == ["a", "b"], f"the input is split after {cut} characters"


@pytest.mark.parametrize(
    "response",
    [
        "\x1b_Gi=31;OK\x1b\\",
        "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
        "\x1b]11;rgb:ff/ff/ff\x07",
        "\x1bP>|kitty(0.31)\x1b\\",
        "\x1b[?62;4c",
        "\x1b[>1;95;0c",
        "\x1b[6;20;10t",
        "\x1b[?1u",
    ],
)
def test_late_response_of_the_terminal_is_no_key(response: str) -> None:
    text = f"a{response}b"
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == ["a", "b"], f"the input is split after {cut} characters"
    assert read(*text) == ["a", "b"]
