"""Unsent texts of pages are drafts with their base revision."""

from __future__ import annotations

from octavo.api.text import Raw
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.tui.editing.page_drafts import PageDraftKey, page_drafts, unused_key
from tests.server.asking import Clock

PLACE = PageDraftKey("s1", "p1", "r1")


async def test_draft_is_found_only_by_its_key(drafts: Drafts, clock: Clock) -> None:
    await drafts.save(PLACE.stored_key, "for a new one")
    clock.forward(seconds=1)
    into = PageDraftKey("s1", "p1", "r2", "c1")
    await drafts.save(into.stored_key, "\ufefffor c1\r\n")
    await drafts.save("page s1 p10 - r1 1", "of another page")
    found = page_drafts(drafts, "s1", "p1")
    assert [(each.key, each.text) for each in found] == [
        (into, Raw("\ufefffor c1\r\n")),
        (PLACE, Raw("for a new one")),
    ]
    assert [each.key for each in page_drafts(drafts, "s1", "p1", "c1")] == [into]
    assert page_drafts(drafts, "s1", "p2") == ()


async def test_draft_of_an_earlier_run_is_deleted_after_sending(state: StateDb) -> None:
    await Drafts(state).save(PLACE.stored_key, "kept by a run that was killed")
    now = Drafts(state)
    assert page_drafts(now, "s1", "p1")
    await now.save(PLACE.stored_key, "")
    assert page_drafts(now, "s1", "p1") == ()
    assert page_drafts(Drafts(state), "s1", "p1") == ()


async def test_new_edit_does_not_overwrite_a_draft(drafts: Drafts) -> None:
    assert unused_key(drafts, PLACE) == PLACE
    await drafts.save(PLACE.stored_key, "one")
    other = unused_key(drafts, PLACE)
    await drafts.save(other.stored_key, "two")
    assert {each.text.text for each in page_drafts(drafts, "s1", "p1")} == {"one", "two"}
