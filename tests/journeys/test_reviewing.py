from __future__ import annotations

from octavo.api import change_requests, reviews
from octavo.api.bodies import Markdown
from tests.journeys.stage import Run, Stage


async def go_to(run: Run, *words: str) -> None:
    """Put the cursor of the list of change requests on the one that is called so."""
    await run.press("/", *" ".join(words), "enter")
    await run.see("1 of ")


async def open_one(run: Run, *words: str) -> None:
    await go_to(run, *words)
    await run.press("enter")


async def test_open_a_change_request_read_its_diff_and_mark_its_pages_viewed(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("3")
        await run.see("Open 7", "Drafts 2", "Merged 4", "Archived 1")
        await open_one(run, "refused")
        await run.see("#7 Show what a refused time looks like", "0 of 2 viewed", "✓ Noor Haddad", "page 1 of 2")
        await run.see("− All times in requests", "+ All times in requests", "┊ ● Yuki Tanabe")
        await run.press("enter", "n", "n")
        await run.see("change 2 of 2")
        await run.press("x")
        await run.see("1 of 2 viewed", "page 2 of 2", "✓ ~ Time and time zones")
        await run.press("x")
        await run.see("2 of 2 viewed")
        await run.press("x")
        await run.see("1 of 2 viewed")
        await run.quit()
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.see("1 of 2 viewed")


async def test_threads_of_a_change_request_hang_in_its_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.see("┊ ● Yuki Tanabe")
        await run.press("t")
        await run.see("1 of 2", "The API sends straight quotes")
        await run.press("t")
        await run.see("2 of 2")
        await run.press("escape", "C")
        await run.see("Comment on #7", "┊ Show what a refused time looks like")
        await run.type("As a whole: yes.")
        await run.press("ctrl+s")
        await run.see("● 3 open")
        await run.sent()
        await run.see("● 3 open")


async def test_comment_on_a_block_of_a_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.see("− All times")
        await run.press("enter", "n", "c")
        await run.see("Comment on Time and time zones", "┊ All times in requests and answers are UTC")
        await run.type("Say which zone.")
        await run.press("ctrl+s")
        await run.see("┊ ● Mara Lindqvist", "┊ Say which zone.")
        await run.sent()
        await run.see("┊ ● Mara Lindqvist · 0s · open", "┊ Say which zone.")


async def test_approve_with_a_few_words(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.see("✓ 1 approved")
        await run.press("a")
        await run.see("Approve #7 Show what a refused time looks like?", "optional")
        await run.type("Clear now.")
        await run.press("ctrl+s")
        await run.hear("Approved #7")
        await run.see("✓ 2 approved", "✓ Mara Lindqvist")
        (sent,) = run.gate.sent(reviews.Submit)
        assert sent.comment == Markdown(markdown="Clear now.")


async def test_asking_for_changes_wants_to_know_which(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.press("A")
        await run.see("Ask for changes in #7", "What has to change?")
        await run.press("ctrl+s")
        await run.hear("Say what has to change: the author has only your words to go by.")
        assert not run.gate.sent(reviews.Submit)
        await run.type("The quotes are curly.")
        await run.press("ctrl+s")
        await run.hear("Asked for changes in #7")
        await run.see("Mara Lindqvist asks for changes")


async def test_update_from_main(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "Rotate")
        await run.see("#5 Rotate webhook secrets", "outdated")
        await run.press("U")
        await run.see("Update #5")
        await run.press("y")
        await run.hear("#5 is up to date with the primary content.")
        await run.gone("✗ outdated")
        await run.press("U")
        await run.until(lambda: len(run.gate.sent(change_requests.UpdateFromMain)) == 1, "update once")


async def test_merge_through_the_dialog_and_see_the_merged_text_in_the_page(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.see("0 of 2 viewed")
        await run.press("m")
        await run.see("Merge #7 into Harbour API?", "✓  state        open", "✓  up to date", "✓  conflicts    none")
        await run.see("✓  approval     Noor Haddad approved this revision", "!  threads      2 threads are open")
        await run.see("you may merge in Harbour API", "~ Time and time zones   ~ Troubleshooting", "checked 0 s ago")
        await run.press("m", "m", "enter")
        assert not run.gate.sent(change_requests.Merge), "m does not merge, and Cancel has the focus"
        await run.gone("Merge #7 into")
        await run.press("m")
        await run.see("Merge #7 into Harbour API?", "checked 0 s ago")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("#7: Merged.")
        await run.see(" merged ")
        assert len(run.gate.sent(change_requests.Merge)) == 1
        await run.press("2")
        await run.press("/", *"zones", "enter", "enter")
        await run.see("› Time and time zones", "refused, with 400", '"bad-time"')
        await run.press("3", "escape", "]", "]")
        await run.see("Merged 5", "Show what a refused time looks like")


async def test_checks_older_than_five_seconds_are_made_again_before_anything_is_sent(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.press("m")
        await run.see("checked 0 s ago")
        asked = len(run.gate.sent(change_requests.Get))
        await run.later(seconds=20)
        await run.press("y")
        await run.hear("#7: Merged.")
        assert len(run.gate.sent(change_requests.Get)) > asked + 1
        assert len(run.gate.sent(change_requests.Merge)) == 1


async def test_what_changed_since_one_looked_is_not_merged(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "refused")
        await run.press("m")
        await run.see("checked 0 s ago")
        await run.later(seconds=20)
        at = run.gate.sent(change_requests.Get)[-1].at
        await run.ask(reviews.Submit(at=at, status="changes-requested"), "noor-haddad")
        await run.press("y")
        await run.hear("Something changed since you looked. Read the checks again, then merge.")
        await run.see("Noor Haddad asks for changes")
        assert not run.gate.sent(change_requests.Merge)


async def test_with_conflicts_the_number_must_be_typed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_one(run, "retry", "schedule")
        await run.press("m")
        await run.see("✗  conflicts    may conflict: Retries", "type 4 and press enter to merge anyway")
        await run.press("y")
        await run.hear("Pages may conflict, so y is off: type 4 and press enter to merge anyway.")
        assert not run.gate.sent(change_requests.Merge)
        await run.press("4", "enter")
        await run.hear("#4: Merged with conflicts: both sides of each are in the text.")
        await run.press("2", "/", *"Retries", "enter", "enter")
        await run.see("› Retries")
        await run.until(lambda: "onflict" in run.text, "see both sides marked")


async def test_archive_reopen_and_rename(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await go_to(run, "Battery")
        await run.press("m")
        await run.hear("Your role in Limpet manual does not let you merge. Ask an administrator of the space.")
        await run.press("escape")
        await go_to(run, "refused")
        await run.press("X")
        await run.see("Archive #7 Show what a refused time looks like?", "It can be reopened")
        await run.press("y")
        await run.see("Open 6", "Archived 2")
        await run.press("escape", "]", "]", "]")
        await run.see("Show what a refused time looks like")
        await go_to(run, "refused")
        await run.press("X")
        await run.see("Reopen #7")
        await run.press("y")
        await run.see("Open 7", "Archived 1")
        await run.press("]")
        await go_to(run, "refused")
        await run.press("E")
        await run.see("Subject of #7")
        await run.press("end", *" now", "enter")
        await run.see("Show what a refused time looks like now")


async def test_start_a_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await go_to(run, "refused")
        await run.press("ctrl+n")
        await run.see("New change request in Harbour API")
        await run.press("enter")
        await run.hear("A subject of 1 to 100 characters, please.")
        await run.type("Say what a surge is")
        await run.press("enter")
        await run.see("#9 Say what a surge is", "draft", "Nothing is changed yet.")
        await run.press("escape")
        await run.see("Drafts 3")


async def test_a_subject_that_is_too_long_is_given_back(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await go_to(run, "refused")
        await run.press("ctrl+n")
        await run.type("a" * 101)
        await run.press("enter")
        await run.hear("A subject has at most 100 characters; this one has 101.")
        await run.see("New change request in Harbour API", "aaaaaaaaaaaaaaaaaaaa")


async def test_only_mine(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press("@")
        await run.see("only mine", "One word for one thing: endpoint")
        await run.gone("Battery figures")
        await run.press("@")
        await run.see("Battery figures")
