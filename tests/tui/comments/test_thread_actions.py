"""The names of threads in messages."""

from __future__ import annotations

from octavo.tui.comments.thread_actions import short_quote


def test_quotation_marks_inside_a_quote_are_single() -> None:
    assert short_quote('“Two” and "three".') == "“‘Two’ and 'three'.”"
