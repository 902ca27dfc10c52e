"""Blocks of code, whatever is said of them together."""

from __future__ import annotations

from itertools import product

import pytest

from octavo.documents.blocks import Block
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styles import Styles

NOTES = ((), ((2, "1"),), ((12, "1"),), ((2, "1"), (12, "x")), ((40, "1"),))


@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("rows", [0, 1, 10, 14, 30])
def test_code_is_set_whatever_is_said_of_it_together(rows: int, notes: tuple[tuple[int, str], ...]) -> None:
    text = "\n".join(f"line {row}" for row in range(rows))
    for expandable, numbers, wraps, title, width in product((True, False), (True, False), (True, False), "T ", (8, 60)):
        attrs = {"expandable": expandable, "numbers": numbers, "wrap": wraps, "title": title.strip(), "notes": notes}
        lines = lay_out((Block(kind="code", attrs=attrs, text=text, key="k"),), width, Styles()).lines
        shown = "\n".join("".join(piece.text for piece in line.pieces) for line in lines)
        assert ("line 0" in shown) == (rows > 0)
        assert ("line 11" in shown) == (rows > 11 and not expandable)
