"""Blocks of code, whatever is said of them together."""

from __future__ import annotations

from itertools import product

import pytest

from octavo.documents.blocks import Block
from octavo.tui.render.layout import lay_out
from octavo.tui.render.layout_context import Folds
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


@pytest.mark.parametrize(("room", "wide"), [(60, 60), (90, 90), (200, 113)])
def test_code_is_cut_where_its_box_ends_and_takes_the_room_there_is(room: int, wide: int) -> None:
    row = "const client = await ServiceClientFactory.init<NetworkIndexer>({ network: Network.MAIN_NETWORK_INDEXER_LONG });"
    block = Block(kind="code", attrs={}, text=row[:109], key="k")
    folds = Folds()
    lines = lay_out((block,), 60, Styles.plain(), folds, room=room).lines
    shown = row[: wide - 5] + "…" if wide < 113 else row[:109]
    assert [line.text for line in lines][1] == f"│ {shown} │"
    folds.move("k", 10_000)
    moved = lay_out((block,), 60, Styles.plain(), folds, room=room).lines[1].text
    assert moved == (f"│ …{row[109 - wide + 5 : 109]} │" if wide < 113 else f"│ {shown} │")
