"""Conflicts found in a text."""

from __future__ import annotations

from octavo.documents.conflicts import Markers, markers


def test_markers() -> None:
    text = "a\n<<<<<<< main\nx\n=======\ny\n>>>>>>> #12\nb\n<<<<<<< main\nhalf"
    assert markers(text) == [Markers(1, 3, 5, "main", "#12")]
    assert markers("=======\n>>>>>>> x") == []
