"""The sides of a conflict are set as far as they are shown, and no others."""

from __future__ import annotations

import pytest

from octavo.documents.merging.page_merge import merge
from octavo.tui.render.conflict_lines import ConflictDecision, set_conflict
from octavo.tui.render.conflict_page import Shown, prepare
from octavo.tui.render.layout import set_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.styles import Styles
from tests.benchmarks.block_app import edited
from tests.benchmarks.huge_blocks import HUGE
from tests.calls import Calls


@pytest.mark.parametrize("width", [60, 120])
def test_what_went_of_a_huge_text_is_not_set_beside_what_came(width: int) -> None:
    text = HUGE["formula of words"](100)
    pieces = prepare(merge(text, edited(text), edited(text, "y")), edited(text))
    conflict = next(each for each in pieces if isinstance(each, Shown))
    setting = LayoutContext(Styles(), Folds(), set_block, room=width)
    with Calls(Line.__init__) as made:
        lines = set_conflict(setting, conflict, ConflictDecision(None, ("main", "#1")), (1, 1), width)
    assert len(lines) > 160
    assert 0 < made.counts.total() < 6000
