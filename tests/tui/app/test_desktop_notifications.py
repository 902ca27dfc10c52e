from __future__ import annotations

import pytest

from octavo.tui.app.user_programs import MAX_NOTIFICATION_LENGTH, notification


@pytest.mark.parametrize(
    ("setting", "environ", "begin"),
    [
        ("off", {"KITTY_WINDOW_ID": "1"}, ""),
        ("osc9", {}, "\x1b]9;"),
        ("osc777", {}, "\x1b]777;notify;Octavo;"),
        ("osc99", {}, "\x1b]99;;"),
        ("auto", {}, ""),
        ("auto", {"KITTY_WINDOW_ID": "1"}, "\x1b]99;;"),
        ("auto", {"TERM": "foot-extra"}, "\x1b]777;notify;Octavo;"),
        ("auto", {"TERM_PROGRAM": "WezTerm"}, "\x1b]9;"),
        ("auto", {"TERM_PROGRAM": "Apple_Terminal"}, ""),
    ],
)
def test_setting_and_terminal_choose_the_sequence(setting: str, environ: dict[str, str], begin: str) -> None:
    assert notification("hello", setting, environ) == (f"{begin}hello\x1b\\" if begin else "")


def test_inside_tmux_the_sequence_is_passed_through() -> None:
    wrapped = notification("hello", "osc9", {"TMUX": "/tmp/tmux"})
    assert wrapped == "\x1bPtmux;\x1b\x1b]9;hello\x1b\x1b\\\x1b\\"


@pytest.mark.parametrize("text", ["a\x1b]0;evil\x07b", "a\x9c\x1b\\b", "a\nb\rc", "a;b;c", "\u202eabc", "x" * 500])
def test_hostile_text_stays_one_short_text(text: str) -> None:
    shown = notification(text, "osc777", {}).removeprefix("\x1b]777;notify;Octavo;").removesuffix("\x1b\\")
    assert shown.isprintable()
    assert ";" not in shown
    assert len(shown) <= MAX_NOTIFICATION_LENGTH
