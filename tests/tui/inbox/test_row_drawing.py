"""How a row of the inbox is drawn."""

from __future__ import annotations

import pytest

from octavo.api.places import ChangeRequestRef
from octavo.data.inbox import InboxRow
from octavo.tui.inbox.row_views import RowRenderer
from tests.server.asking import START


@pytest.mark.parametrize(
    ("person", "said"),
    [
        ("Ada", "review requested by Ada"),
        ("小林 さくら", "review"),
        ("somebody of many names", "review"),
    ],
)
def test_a_long_reason_is_shortened_to_leave_room_for_the_title(person: str, said: str) -> None:
    about = ChangeRequestRef(space_id="s", change_request_id="c")
    words = f"review requested by {person}"
    row = InboxRow("c", "review requested", (), words, "A title", "", START, "s", about, "1")
    assert str(RowRenderer(lambda _: 0).render(row, 76).right).startswith(f"{said} ")
