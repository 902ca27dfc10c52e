"""Labels of reactions."""

from __future__ import annotations

import pytest

from octavo.tui.comments.autocomplete import _reaction_label


@pytest.mark.parametrize(
    ("code", "part"), [("1f44d", "thumbs up sign"), ("", ""), ("no emoji", "latin small letter n")]
)
def test_unknown_reaction_code_has_a_label(code: str, part: str) -> None:
    assert part in _reaction_label(code, {})
