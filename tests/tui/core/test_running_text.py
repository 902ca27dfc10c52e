from __future__ import annotations

import pytest

from octavo.tui.core.write_queue import running_text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("approve #4", "Approving #4…"),
        ("withdraw your review of #4", "Withdrawing your review of #4…"),
        ("set Limpet manual as default", "Setting Limpet manual as default…"),
        ("undo “move Docs”", "Undoing “move Docs”…"),
    ],
)
def test_running_text_begins_with_a_gerund(action: str, text: str) -> None:
    assert running_text(action) == text
