"""How a row of the inbox is drawn."""

from __future__ import annotations

import pytest

from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import InboxRow
from octavo.tui.inbox.row_drawing import RowDrawing
from tests.server.asking import START


@pytest.mark.parametrize(
    ("person", "said"),
    [
        ("Ada", "review requested by Ada"),
        ("小林 さくら", "review"),
        ("somebody of many names", "review"),
    ],
)
def test_why_a_row_is_there_is_said_in_full_where_that_leaves_its_title_most_of_the_cells(
    person: str, said: str
) -> None:
    about = ChangeRequestRef(space_id="s", change_request_id="c")
    words = f"review requested by {person}"
    row = InboxRow("c", "review requested", (), words, "A title", "", START, "s", about, "1")
    assert str(RowDrawing(lambda _: 0).draw(row, 76).right).startswith(f"{said} ")
