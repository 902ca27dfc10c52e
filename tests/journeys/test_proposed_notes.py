"""Notes that a program proposes, in the list of pending comments."""

from __future__ import annotations

import pytest

from octavo.api import comments, reviews
from octavo.data.proposed_notes import NewNote
from tests.journeys.stage import Run, Stage
from tests.journeys.test_reviewing import open_change_request, ref_of_seven


async def propose(run: Run, *words: str, source: str = "claude") -> None:
    notes = [NewNote("harbour-api-page-12", "038bbb9b2b44", each, source, f"{each} {source}") for each in words]
    await run.app.session.proposed_notes.propose(await ref_of_seven(run), notes)


async def test_proposed_notes_are_accepted_edited_and_discarded(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await propose(run, "Name the zone.", "Say why.", "Third note.", "Fourth note.")
        await propose(run, "A long sentence.", source="vale")
        await open_change_request(run, "refused")
        await run.see("− All times", "◌ 5 proposed notes (press H)")
        await run.press("H")
        await run.see("0 pending comments in your review of #7, 5 proposed notes", "proposed by claude: Name the zone.")
        await run.press("'")
        await run.see("1 pending comment in your review of #7, 4 proposed notes")
        await run.press("u")
        await run.see("0 pending comments in your review of #7, 5 proposed notes")
        await run.press("X")
        await run.see("0 pending comments in your review of #7, 4 proposed notes")
        await run.press("e")
        await run.see("Edit and accept a note of claude", "ctrl+s accept")
        await run.type("Really: ")
        await run.press("ctrl+s")
        await run.see("1 pending comment in your review of #7, 3 proposed notes")
        await run.press("G", "k", "A")
        await run.see("3 pending comments in your review of #7, 1 proposed note", "proposed by vale: A long sentence.")
        await run.press("escape", "a")
        await run.see("3 pending comments will be sent with the review:", "1 proposed note is not included.")
        await run.press("ctrl+s")
        await run.later(seconds=60)
        await run.sent()
        sent = [op for op in run.gate.passed if isinstance(op, (comments.Create, reviews.Submit))]
        assert len(sent) == 4
        assert all("sentence" not in each.body.markdown for each in sent if isinstance(each, comments.Create))
        assert [each.source for each in run.app.session.proposed_notes.at(await ref_of_seven(run))] == ["vale"]


@pytest.mark.before_release
async def test_enter_on_a_proposed_note_shows_its_block(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await propose(run, "Name the zone.")
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("H")
        await run.see("proposed by claude")
        await run.press("enter")
        await run.see("bad-time")


async def test_note_discarded_elsewhere_is_not_called_accepted(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await propose(run, "Name the zone.")
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("H", "e")
        await run.see("Edit and accept a note of claude")
        proposed = run.app.session.proposed_notes
        await proposed.discard(proposed.at(await ref_of_seven(run)))
        await run.press("ctrl+s")
        await run.hear("Could not accept the note: it was edited, sent, removed or decided in the meantime.")
