from __future__ import annotations

import sys

import pytest

from octavo.tui.terminal.display import can_paint, may_show, query_terminal


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
    assert may_show(environment) is expected


def test_image_library_is_not_loaded_in_other_terminals() -> None:
    query_terminal({"TERM": "xterm-256color"})
    assert "textual_image" not in sys.modules
    assert not can_paint()
