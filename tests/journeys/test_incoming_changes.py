"""Before an update and a merge: the incoming diff, paragraphs merged by words, and changes that main has already."""

from __future__ import annotations

from octavo.api import change_requests
from octavo.tui.review.checked_dialog import CheckedDialog
from tests.journeys.contests import Contest, new, says
from tests.journeys.stage import Stage

BASE = "# Stores\n\nThe probe reads 10 cm at low water and 20 cm at high water.\n"
MAIN = BASE.replace("10 cm", "12 cm")
MINE = BASE.replace("20 cm", "21 cm")
BOTH = "The probe reads 12 cm at low water and 21 cm at high water."


async def test_the_incoming_diff_is_shown_page_by_page_before_an_update(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        contest = Contest(run)
        await contest.publish(new(BASE), subject="Write down the stores")
        page = (await contest.page("Stores")).id
        await contest.propose(says(page, BASE.replace("10 cm", "11 cm")))
        mine = contest.number
        await contest.publish(says(page, MAIN), subject="Read the probe again")
        contest.number = mine
        await contest.open()
        await run.press("U")
        await run.see("Update #", "may conflict: Stores", "d show diff")
        await run.press("d")
        await run.see("INCOMING", "1 change of main", "Stores", "conflicts", "12 cm")
        await run.press("escape")
        await run.see(f"Update #{mine} from main?", "Update  (y)")
        assert not run.gate.sent(change_requests.UpdateFromMain)


async def test_a_paragraph_merged_by_words_is_shown_before_it_is_published(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        contest = Contest(run)
        await contest.publish(new(BASE), subject="Write down the stores")
        page = (await contest.page("Stores")).id
        await contest.propose(says(page, MINE))
        mine = contest.number
        await contest.publish(says(page, MAIN), subject="Read the probe again")
        contest.number = mine
        await contest.open()
        await run.press("m")
        await run.see("merged by words", "12 cm at low water and 21 cm")
        await run.press("n", "U")
        await run.see(f"Update #{mine} from main?", "merged by words", "12 cm at low water and 21 cm")
        await run.press("y")
        await run.hear(f"Updated #{mine}. 1 paragraph was merged by words: press R to check the text.")
        await run.press("m")
        await run.see("checked 0 s ago")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear(f"#{mine}: Merged.")
        assert BOTH in await contest.text("Stores")


async def test_a_change_request_whose_changes_are_on_main_offers_to_archive_it(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        contest = Contest(run)
        await contest.publish(new(BASE), subject="Write down the stores")
        page = (await contest.page("Stores")).id
        await contest.propose(says(page, MAIN))
        mine = contest.number
        await contest.publish(says(page, MAIN), subject="Read the probe again")
        contest.number = mine
        await contest.open()
        await run.see("already on main: L archives")
        await run.press("m")
        await run.see("Already on main. Merging would change nothing.", "L archive")
        await run.later(seconds=1)
        await run.press("y")
        assert not run.gate.sent(change_requests.Merge)
        await run.press("L")
        await run.see(f"Archive #{mine}")
        await run.until(lambda: not isinstance(run.app.screen, CheckedDialog), "close the checks")
        await run.press("y")
        await run.hear(f"Archived #{mine}")
        await run.sent()
        assert [op.status for op in run.gate.sent(change_requests.Update)] == ["archived"]
