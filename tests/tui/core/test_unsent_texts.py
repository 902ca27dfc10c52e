"""Marks of drafts and pending comments."""

from __future__ import annotations

from textual.content import Content

from octavo.api.operation import SpaceRef
from octavo.data.drafts import UnsentText
from octavo.tui.core.session import unsent_mark, with_unsent_mark

HERE = SpaceRef(space_id="s")
DRAFT, PENDING = UnsentText("reply", HERE, thread_id="k", draft_key="reply s k"), UnsentText("held", HERE, entry_id="e")


def test_unsent_mark_names_drafts_and_pending_comments_or_shows_signs() -> None:
    assert unsent_mark([]) == Content("")
    assert [unsent_mark(each).plain for each in ([DRAFT], [DRAFT] * 2, [PENDING], [PENDING] * 3)] == [
        "✎ draft",
        "✎ 2 drafts",
        "◌ pending",
        "◌ 3 pending",
    ]
    assert unsent_mark([DRAFT, PENDING]).plain == "✎ draft ◌ pending"
    assert unsent_mark([DRAFT, PENDING], symbols_only=True).plain == "✎◌"
    assert with_unsent_mark([DRAFT], "2d").plain == "✎ draft  2d"
    assert with_unsent_mark([], "2d").plain == "2d"
