"""Conflict markers in a text."""

from __future__ import annotations

from octavo.documents.source_reader import ConflictMarkers, find_markers, parse


def test_complete_conflict_markers_are_found() -> None:
    text = "a\n<<<<<<< main\nx\n=======\ny\n>>>>>>> #12\nb\n<<<<<<< main\nhalf"
    assert find_markers(text) == [ConflictMarkers(1, 3, 5, "main", "#12")]
    assert find_markers(text.replace("\n", "\r\n")) == find_markers(text)
    assert find_markers("=======\n>>>>>>> x") == []


def test_conflict_markers_in_code_are_shown_as_code() -> None:
    code = "<<<<<<< main\nx\n=======\ny\n>>>>>>> #12"
    (block,) = parse(f"```\n{code}\n```\n").blocks
    assert (block.kind, block.text) == ("code", code)
