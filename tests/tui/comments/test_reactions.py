"""What reactions are called."""

from __future__ import annotations

import pytest

from octavo.tui.comments.reactions import _reaction_label


@pytest.mark.parametrize(
    ("code", "called"), [("1f44d", "thumbs up sign"), ("", ""), ("no emoji", "latin small letter n")]
)
def test_a_reaction_is_called_something_whatever_a_server_says_it_is(code: str, called: str) -> None:
    assert called in _reaction_label(code, {})
