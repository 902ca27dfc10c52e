from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews
from octavo.api.bodies import Markdown, document_text
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.documents.json_editing import document_to_markdown
from octavo.documents.markdown_to_json import to_json_document
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.request_scenario import RequestScenario, edit_page
from tests.journeys.stage import MARA, Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")


async def select_change_request(run: Run, *words: str) -> None:
    """Select a change request in the list by words of its subject."""
    await run.press("/", *" ".join(words), "enter")
    await run.see("1 of ")


async def open_change_request(run: Run, *words: str) -> None:
    await select_change_request(run, *words)
    await run.press("enter")


async def find_seven(run: Run) -> ChangeRequest:
    """Return the change request #7 of the demo."""
    listed = (await run.ask(change_requests.List(at=HARBOUR), MARA)).items
    return next(each for each in listed if each.number == 7)


async def ref_of_seven(run: Run) -> ChangeRequestRef:
    return (await find_seven(run)).ref(HARBOUR)


async def ask_as_yuki(run: Run, title: str) -> None:
    """Comment “Which one?” on a page of #7 as another user."""
    tree = await run.ask(content.ListPages(at=HARBOUR), MARA)
    page = next(page.id for page in tree.walk() if page.title == title)
    op = comments.Create(at=await ref_of_seven(run), page=page, body=Markdown(markdown="Which one?"))
    await run.ask(op, "yuki-tanabe")


async def open_changes_of_seven(run: Run) -> None:
    """Open the change request #7 of the demo, and focus the changes of its first page."""
    await open_change_request(run, "refused")
    await run.see("− All times")
    await run.press("enter")


async def open_refused(run: Run) -> ChangeRequestScreen:
    """Open the change request #7 of the demo."""
    await open_change_request(run, "refused")
    screen = run.app.screen
    assert isinstance(screen, ChangeRequestScreen)
    return screen


async def test_revert_dialog_does_not_open_over_another_view(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.see("− All times")
        await run.press("enter")
        run.gate.shut(content.GetRawPage)
        await run.press("Q")
        await run.until(lambda: run.gate.waiting > 0, "load the page")
        await run.press("escape", "escape", "escape")
        await run.see("Open 7")
        run.gate.open()
        await run.settle()
        assert "Revert the changes" not in run.text


async def test_dialog_that_withdraws_a_review_does_not_open_over_another_view(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_refused(run)
        await run.ask(reviews.Submit(at=screen.at, status="approved"), MARA)
        await run.press("r")
        await run.see("✓ 2 approved")
        run.gate.shut(reviews.List)
        await run.press("w")
        await run.until(lambda: run.gate.waiting > 0, "load the review")
        await run.press("escape", "2")
        await run.see("Your first tide")
        run.gate.open()
        await run.settle()
        assert "Withdraw your review" not in run.text


@pytest.mark.before_release
async def test_pages_of_a_merged_change_request_can_be_marked_as_viewed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("]", "]")
        await run.see("4 of 4")
        await run.press("enter")
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.press("x")
        await run.see("1 of 2 viewed", "page 2 of 2")


@pytest.mark.before_release
async def test_viewed_pages_of_a_change_request_are_kept_after_a_restart(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("3")
        await run.see("Open 7", "Drafts 2", "Merged 4", "Archived 1")
        await open_change_request(run, "refused")
        await run.see("#7 Show what a refused time looks like", "0 of 2 viewed", "✓ Noor Haddad", "page 1 of 2")
        await run.see("− All times in requests", "+ All times in requests", "┊ ● Yuki Tanabe")
        await run.press("enter", "n", "n")
        await run.see("change 2 of 2")
        await run.press("x")
        await run.see("1 of 2 viewed", "page 2 of 2", "✓~ Time and time")
        await run.press("x")
        await run.see("2 of 2 viewed")
        await run.press("x")
        await run.see("1 of 2 viewed")
        await run.quit()
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("1 of 2 viewed")


@pytest.mark.before_release
async def test_threads_of_a_change_request_are_shown_in_its_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("┊ ● Yuki Tanabe")
        await run.press("t", "enter", "enter")
        await run.see("1 of 2", "The API sends straight quotes")
        await run.press("t")
        await run.see("2 of 2")
        await run.press("escape", "escape", "C")
        await run.see("Comment on #7", "┊ Show what a refused time looks like")
        await run.type("As a whole: yes.")
        await run.press("ctrl+s")
        await run.see("● 2 open")
        await run.sent()
        await run.see("● 2 open")


def selected_block(run: Run) -> str:
    """Return the text of the selected block in the diff."""
    screen = run.app.screen
    assert isinstance(screen, ChangeRequestScreen)
    stop = screen.main_pane.cursor.current()
    return f"{stop[3].kind}: {stop[3].plain()}" if stop is not None else ""


@pytest.mark.before_release
@pytest.mark.parametrize("focus", ["list", "diff"])
async def test_t_goes_through_open_threads_of_all_pages_and_reports_the_end(stage: Stage, focus: str) -> None:
    async with stage.play(start="changes") as run:
        await ask_as_yuki(run, "Troubleshooting")
        await open_change_request(run, "refused")
        await run.see("┊ ● Yuki Tanabe")
        if focus == "diff":
            await run.press("enter")
        await run.press("t")
        await run.until(lambda: selected_block(run).startswith("thread: The API sends"), selected_block(run))
        await run.press("t")
        await run.see("Troubleshooting", "┊ Which one?")
        await run.until(lambda: selected_block(run) == "thread: Which one?", selected_block(run))
        while not any("No more open threads in #7. Press T to go" in said for said in run.said):
            last_thread = selected_block(run)
            await run.press("t")
        assert selected_block(run) == last_thread
        while not any("No previous open threads in #7. Press t to go" in said for said in run.said):
            await run.press("T")
        assert selected_block(run).startswith("thread: The API sends")


@pytest.mark.before_release
async def test_first_reply_to_a_thread_is_shown_in_the_diff(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 60)) as run:
        await ask_as_yuki(run, "Time and time zones")
        await open_change_request(run, "refused")
        await run.see("┊ Which one?")
        await run.press("enter", "t", "T", "T", "T")
        await run.until(lambda: selected_block(run) == "thread: Which one?", selected_block(run))
        await run.press("c")
        await run.type("The first one.")
        await run.press("ctrl+s")
        await run.see("┊   ↳ Mara Lindqvist", "The first one.")
        await run.gone("1 more reply")
        await run.sent()
        await run.see("┊   ↳ Mara Lindqvist", "The first one.")
        await run.gone("1 more reply")


@pytest.mark.before_release
async def test_last_change_of_the_only_page_names_no_next_page(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 50)) as run:
        await open_change_request(run, "endpoint")
        await run.see("change 1 of 1", "page 1 of 1")
        await run.press("n")
        await run.hear("This is the last change on this page.")
        await run.press("N")
        await run.hear("This is the first change on this page.")
        only = {"This is the last change on this page.", "This is the first change on this page."}
        assert only <= set(run.said), "the messages must not offer J and K, because there is no other page"


@pytest.mark.before_release
async def test_first_change_of_a_page_names_the_previous_page(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 50)) as run:
        await open_change_request(run, "refused")
        await run.see("change 1 of 2", "page 1 of 2")
        await run.press("N")
        await run.hear("This is the first change on this page.")
        assert "This is the first change on this page." in run.said, "the message must not name a previous page"
        await run.press("J")
        await run.see("page 2 of 2")
        await run.press("N", "N", "N", "N")
        await run.hear("This is the first change on this page. Press K for the previous page.")


@pytest.mark.before_release
async def test_keys_of_the_diff_work_from_the_list_of_pages(stage: Stage) -> None:
    async with stage.play(start="changes", size=(200, 50)) as run:
        await open_change_request(run, "refused")
        await run.see("− All times", "change 1 of 2", "blocks unchanged")
        await run.press("n")
        await run.see("change 2 of 2")
        await run.press("n")
        await run.hear("This is the last change on this page. Press J for the next page.")
        await run.press("N")
        await run.see("change 1 of 2")
        await run.see("split")
        await run.press("|")
        await run.gone("split")
        for _ in range(4):
            await run.press("=")
        await run.gone("blocks unchanged")
        for _ in range(4):
            await run.press("-")
        await run.see("blocks unchanged")
        await run.press("\\")
        await run.see("· source")
        await run.press("t")
        await run.hear("The source diff shows no threads")
        assert isinstance(run.app.screen, ChangeRequestScreen)
        assert run.app.screen.focused is run.app.screen.changed_tree.widget


@pytest.mark.before_release
async def test_comment_on_a_block_of_a_diff_appears_at_the_block(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("c")
        await run.see("Comment on Time and time zones", "┊ All times in requests and answers are UTC")
        await run.type("Say which zone.")
        await run.press("ctrl+s")
        await run.see("┊ ● Mara Lindqvist", "┊ Say which zone.")
        await run.sent()
        await run.see("┊ ● Mara Lindqvist · 0s · open", "┊ Say which zone.")


@pytest.mark.before_release
async def test_selected_page_is_not_compared_again_in_the_background(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_refused(run)
        await run.see("page 1 of 2")
        tree = screen.changed_tree
        assert [each.title for each in tree.likely_next()] == ["Troubleshooting", "General comments"]
        await run.press("J")
        assert [each.title for each in tree.likely_next()] == ["General comments", "Time and time zones"]


async def test_comment_on_a_page_that_could_not_be_loaded_says_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7")
        run.platform.refuse_next(content.GetPage, 500, "Out of order", times=99)
        screen = await open_refused(run)
        await run.see("Could not load Time and time zones")
        # Drawing the sizes loads the page again, and it must not be loading when c is pressed.
        await run.until(lambda: not screen._draw_delay.is_waiting, "draw the sizes")
        await run.press("c")
        await run.hear("Time and time zones could not be loaded. Press r to retry.")


@pytest.mark.before_release
async def test_missing_base_revision_is_reported_until_the_server_names_it(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7")
        change_request = (await find_seven(run)).model_copy(update={"revision_initial": None})
        run.gate.shut(change_requests.Get)
        run.app.go(ToChangeRequest(change_request.ref(HARBOUR), change_request))
        await run.see(
            "Could not compare the versions of Time and time zones",
            "The server did not return the base revision",
            "r retry",
        )
        run.gate.open()
        await run.see("+ All times in requests")


@pytest.mark.before_release
async def test_links_in_a_diff_open_the_changed_page_or_the_page_in_main(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "Rotate")
        await run.see("− Each endpoint has one signing secret.")
        await run.press("enter", "G", "f")
        await run.see("type a letter")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        hints = screen.main_pane.clickables.hints
        assert hints is not None
        await run.press(next(label for label, hot in hints.by_label.items() if hot.target == "rotation.md"))
        await run.see("page 2 of 2", "A rotation gives an endpoint a second secret")
        screen.main_pane.post_message(LinkFollowed("#deploy-it", False, "link"))
        await run.hear("Octavo did not find “deploy-it”.")
        screen.main_pane.post_message(LinkFollowed("../../../nowhere.md", False, "link"))
        await run.hear("This link is broken.")
        screen.main_pane.post_message(LinkFollowed("../../../concepts/time.md", False, "link"))
        await run.see("› Time and time zones")


@pytest.mark.before_release
async def test_tree_of_pages_stays_in_place_on_the_way_to_another_page(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await open_change_request(run, "refused")
        await run.see("This page: 1 number,", "+7")
        row = next(number for number, line in enumerate(run.lines) if "~ Troubleshooting" in line)
        for key, words in (("J", "This page: 1 wording"), ("K", "This page: 1 number,")):
            await run.press(key)
            await run.see(words)
            assert "~ Troubleshooting" in run.lines[row]


@pytest.mark.before_release("long-all pages", "long-one page", "short-all pages")
@pytest.mark.parametrize("keys", [(), ("v",)], ids=["one page", "all pages"])
@pytest.mark.parametrize("length", [30, 900], ids=["short", "long"])
async def test_link_in_a_diff_opens_another_changed_page_at_the_heading(
    stage: Stage, keys: tuple[str, ...], length: int
) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        text = "Words.\n\n" * length + "## New\n\nIt came late.\n\n" + "More words.\n\n" * length
        pages = [(await scenario.page(title)).id for title in ("Quickstart", "Time and time zones")]
        await scenario.propose(*(edit_page(page, text) for page in pages))
        await scenario.open()
        await run.press(*keys)
        await run.see("page 1 of 2", "Quickstart")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        shown = screen.page_diff.visible_page
        assert shown is not None
        other = next(page for page in pages if page != shown[0])
        assert "It came late." not in run.text
        screen.page_diff.pane.post_message(LinkFollowed(f"/pages/{other}#new", False, "link"))
        await run.see("It came late.")
        assert screen.page_diff.visible_page is not None
        assert screen.page_diff.visible_page[0] == other
        screen.page_diff.pane.post_message(LinkFollowed(f"/pages/{shown[0]}#nowhere", False, "link"))
        await run.hear("This page has no heading “nowhere”. The heading may have been renamed.")


async def test_link_in_a_diff_to_a_missing_heading_is_reported(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        page, other = [(await scenario.page(title)).id for title in ("Quickstart", "Time and time zones")]
        include = '{% include "/reusable-content/none" %}'
        await scenario.propose(edit_page(page, f"## New\n\nWords.\n\n{include}"))
        await scenario.open()
        await run.see("page 1 of 1", "Quickstart")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        screen.page_diff.pane.post_message(LinkFollowed("#old", False, "link"))
        await run.hear("Octavo did not find “old”. It may be in a part of this page that Octavo does not search.")
        screen.page_diff.pane.post_message(LinkFollowed(f"/pages/{other}#nowhere", False, "link"))
        await run.see("› Time and time zones")
        await run.hear("This page has no heading “nowhere”. The heading may have been renamed.")


@pytest.mark.before_release
async def test_approval_with_a_comment_is_sent(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("✓ 1 approved")
        await run.press("a")
        await run.see("Approve #7 Show what a refused time looks like?", "optional")
        await run.type("Clear now.")
        await run.press("ctrl+s")
        await run.hear("Approved #7")
        await run.see("✓ 2 approved", "✓ Mara Lindqvist")
        (sent,) = run.gate.sent(reviews.Submit)
        assert sent.comment == Markdown(markdown="Clear now.")
        await run.press("u")
        await run.hear("You cannot undo your review by pressing u. To withdraw the review, press w.")


@pytest.mark.before_release
async def test_request_for_changes_needs_a_comment(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("A")
        await run.see("Request changes on #7", "What needs to change?")
        await run.press("ctrl+s")
        await run.hear("Describe what needs to change.")
        assert not run.gate.sent(reviews.Submit)
        await run.type("The quotes are curly.")
        await run.press("ctrl+s")
        await run.hear("Requested changes on #7")
        await run.see("Mara Lindqvist requested changes")


@pytest.mark.before_release
async def test_update_from_main_removes_the_outdated_mark(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "Rotate")
        await run.see("#5 Rotate webhook secrets", "outdated")
        await run.press("U")
        await run.see("Update #5")
        await run.press("y")
        await run.hear("Updated #5.")
        await run.gone("✗ outdated")
        await run.press("U")
        await run.until(lambda: len(run.gate.sent(change_requests.UpdateFromMain)) == 1, "send one update")


@pytest.mark.before_release
async def test_merged_text_is_shown_on_the_page(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("0 of 2 viewed")
        await run.press("m")
        await run.see("Merge #7 into Harbour API?", "✓  status        open", "✓  up to date", "✓  conflicts     none")
        await run.see("✓  approval      Noor Haddad approved this revision", "!  threads       1 open thread")
        await run.see("you can merge into Harbour API", "~ Time and time zones   ~ Troubleshooting", "checked just now")
        await run.press("m", "m", "enter")
        assert not run.gate.sent(change_requests.Merge), "m must not merge, and Cancel must have the focus"
        await run.gone("Merge #7 into")
        await run.press("m")
        await run.see("Merge #7 into Harbour API?", "checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7.")
        await run.see(" merged ")
        assert len(run.gate.sent(change_requests.Merge)) == 1
        await run.press("2")
        await run.press("/", *"zones", "enter", "enter")
        await run.see("› Time and time zones", "refused, with 400", '"bad-time"')
        await run.press("3", "escape", "]", "]")
        await run.see("Merged 5", "Show what a refused time looks like")


@pytest.mark.before_release
async def test_checks_older_than_five_seconds_run_again_before_a_merge(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("m")
        await run.see("checked just now")
        requests_before = len(run.gate.sent(change_requests.Get))
        await run.later(seconds=20)
        await run.press("y")
        await run.hear("Merged #7.")
        assert len(run.gate.sent(change_requests.Get)) > requests_before + 1
        assert len(run.gate.sent(change_requests.Merge)) == 1


@pytest.mark.before_release
async def test_change_request_that_changed_after_the_checks_is_not_merged(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=20)
        at = run.gate.sent(change_requests.Get)[-1].at
        await run.ask(reviews.Submit(at=at, status="changes-requested"), "noor-haddad")
        await run.press("y")
        await run.hear("Something has changed since the checks were loaded. Review the checks again before you merge.")
        await run.see("Noor Haddad requested changes")
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.before_release
async def test_merge_with_conflicts_needs_the_typed_number(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "retry", "schedule")
        await run.press("m")
        await run.see("✗  conflicts     may conflict: Retries", "type the number of the change request (4) and")
        await run.press("y")
        await run.hear(
            "Readers may see conflict markers on Retries. To update from main first, press esc, then U. "
            "To merge anyway, type the number of the change request (4) and press enter."
        )
        assert not run.gate.sent(change_requests.Merge)
        await run.press("4", "enter")
        await run.hear("Merged #4 with conflicts. Readers now see both versions of each conflict.")
        await run.press("2", "/", *"Retries", "enter", "enter")
        await run.see("› Retries")
        await run.until(lambda: "onflict" in run.text, "mark the conflict")


async def test_x_on_a_change_request_points_to_archive(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        await run.press("X")
        await run.hear("A change request cannot be deleted. Press L to archive it.")
        await run.press("L")
        await run.see("Archive #7 Show what a refused time looks like?")
        await run.press("escape", "enter")
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.press("X")
        await run.see("Delete Time and time zones?")
        await run.press("escape", "enter", "t")
        await run.press("X")
        await run.hear("Only Yuki Tanabe or an admin can delete this comment.")
        await run.press("L")
        await run.see("Archive #7 Show what a refused time looks like?")
        await run.press("y")
        await run.hear("Archived #7")
        await run.press("u")
        await run.hear("Reopened #7")
        assert [each.status for each in run.gate.sent(change_requests.Update)] == ["archived", "open"]


@pytest.mark.long
async def test_change_request_can_be_archived_reopened_and_renamed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "Battery")
        await run.press("m")
        await run.hear("You need the Creator role in Limpet manual to merge. Ask an admin of the space for access.")
        await run.press("escape")
        await select_change_request(run, "refused")
        await run.press("L")
        await run.see("Archive #7 Show what a refused time looks like?", "You can reopen the change")
        await run.press("y")
        await run.see("Open 6", "Archived 2")
        await run.press("escape", "]", "]", "]")
        await run.see("Show what a refused time looks like")
        await select_change_request(run, "refused")
        await run.press("L")
        await run.see("Reopen #7")
        await run.press("y")
        await run.see("Open 7", "Archived 1")
        await run.press("]")
        await select_change_request(run, "refused")
        await run.press("E")
        await run.see("Edit the details of #7")
        await run.press("end", *" now", "enter")
        await run.see("Show what a refused time looks like now")
        await run.press("E", "tab")
        await run.type("Twice. ")
        await run.press("ctrl+s")
        await run.hear("Saved")
        (update,) = [op for op in run.gate.sent(change_requests.Update) if op.description is not None]
        assert document_text(update.description).startswith(
            "Twice. Adds an example of the error. Support gets this question"
        )
        assert "subject" not in update.model_fields_set


async def test_description_that_another_user_changed_is_not_overwritten(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        at = await ref_of_seven(run)
        await run.press("E", "tab")
        await run.type("Mine. ")
        theirs = to_json_document("Their description.")
        await run.ask(change_requests.Update(at=at, subject="Refused, theirs", description=theirs), "tomas-okafor")
        await run.press("ctrl+s")
        await run.hear(
            "The details of #7 were not saved, because someone else changed the description. "
            "Saved as a draft. Open this dialog again to continue."
        )
        await run.see("Refused, theirs")
        assert (await find_seven(run)).description_text == "Their description."
        await run.press("E")
        await run.see("Refused, theirs", "It is now: Their", "<<<<<<<")
        await run.press("tab", "f7")
        await run.type("Mine and theirs.")
        await run.press("ctrl+s")
        await run.hear("Saved the details of #7.")
        assert (await find_seven(run)).description_text == "Mine and theirs."


DESCRIPTION = """## Why

Support gets this **every** week, see [the list](<https://sea.example/list>) and `wait_ms`.

- one
- two, _slowly_

```py
x = "`a`"
```"""


async def set_description(run: Run, markdown: str, *more: dict[str, Any]) -> ChangeRequestRef:
    """Set the description of #7, with more nodes after it, as another program does."""
    await run.press("enter")
    await run.see("#7 Show what a refused time")
    at = run.gate.sent(change_requests.Get)[-1].at
    made = to_json_document(markdown)
    await run.ask(change_requests.Update(at=at, description={**made, "nodes": [*made["nodes"], *more]}), MARA)
    await run.press("r")
    return at


async def test_edit_of_a_formatted_description_keeps_the_rest(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        at = await set_description(run, DESCRIPTION)
        before = (await run.ask(change_requests.Get(at=at), MARA)).description
        await run.press("E")
        await run.see("Description (Markdown)", "Support gets this **every** week", "- one")
        await run.press("tab", "down", "down", *["right"] * len("Support gets this **"), *["delete"] * len("every"))
        await run.type("each")
        await run.press("ctrl+s")
        await run.hear("Saved")
        after = (await run.ask(change_requests.Get(at=at), MARA)).description
        assert isinstance(before, dict)
        assert isinstance(after, dict)
        assert document_to_markdown(after) == DESCRIPTION.replace("every", "each")
        changed = [was != now for was, now in zip(before["nodes"], after["nodes"], strict=True)]
        assert changed == [False, True, False, False]
        assert {**after, "nodes": []} == {**before, "nodes": []}


@pytest.mark.before_release
async def test_description_without_markdown_form_is_not_edited(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        at = await set_description(
            run, DESCRIPTION, {"object": "block", "type": "carousel", "data": {"speed": 3}, "nodes": []}
        )
        before = (await run.ask(change_requests.Get(at=at), MARA)).description
        await run.press("E")
        await run.see("You can edit only the subject here.", "Save  (enter)")
        await run.gone("Description (Markdown)")
        await run.press("end", *" now", "enter")
        await run.hear("Saved the details of #7")
        now = await run.ask(change_requests.Get(at=at), MARA)
        assert now.subject.endswith("looks like now")
        assert now.description == before


@pytest.mark.before_release
async def test_new_change_request_opens_as_a_draft(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        await run.press("ctrl+n")
        await run.see("New change request in Harbour API")
        await run.press("enter")
        await run.hear("Enter a subject of 1 to 100 characters.")
        await run.type("Say what a surge is")
        await run.press("enter")
        await run.see("#9 Say what a surge is", "draft", "No changes yet.")
        await run.press("escape")
        await run.see("Drafts 3")


@pytest.mark.before_release
async def test_subject_that_is_too_long_stays_in_the_editor(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        await run.press("ctrl+n")
        await run.type("a" * 101)
        await run.press("enter")
        await run.hear("The subject has 101 characters. Enter at most 100 characters.")
        await run.see("New change request in Harbour API", "aaaaaaaaaaaaaaaaaaaa")


@pytest.mark.before_release
async def test_at_sign_shows_only_your_change_requests(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press("@")
        await run.see("mine", "One word for one thing: endpoint")
        await run.gone("Battery figures")
        await run.press("@")
        await run.see("Battery figures")


@pytest.mark.long
async def test_review_of_sixty_pages_continues_after_a_restart(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "classic")
        await run.see("0 of 60 viewed", "▾ Regions › The Estuary", "~ Tollan Quay", "+2 −2", "Yuki Tanabe")
        await run.press(*"xxxx")
        await run.see("4 of 60 viewed", "✓~ Tollan Quay", "Saltmarsh Creek", "page 5 of 60")
        await run.press("c")
        await run.see("Comment on Saltmarsh Creek")
        await run.type("Since which year?")
        await run.press("ctrl+s")
        await run.see("┊ ● Mara Lindqvist", "● 3 open")
        await run.press("x", "K", "K")
        await run.see("5 of 60 viewed", "page 4 of 60")
        await run.press("x")
        await run.see("4 of 60 viewed", "page 4 of 60")
        await run.press("enter", "n", "n")
        await run.see("change 3 of 3")
        await run.sent()
        await run.quit()
    async with stage.play(start="changes") as run:
        await open_change_request(run, "classic")
        await run.see("4 of 60 viewed", "page 4 of 60", "│  Pell Ferry", "change 3 of 3")
        await run.press("x")
        await run.see("5 of 60 viewed", "page 6 of 60")


@pytest.mark.long
async def test_preloaded_diffs_are_reviewed_offline(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "classic")
        await run.see("0 of 60 viewed")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        await run.until(lambda: len(screen.comparison.diffs.sizes) == 60, "compare all 60 pages")
        await run.quit()
    async with stage.play(start="changes", shut=True) as run:
        await run.see("Limpet 3 becomes")
        await run.press("/", *"classic", "enter", "enter")
        await run.see("Limpet Classic, since", "0 of 60 viewed", "+2 −2")
        await run.press("J", "J", "x")
        await run.see("1 of 60 viewed", "page 4 of 60", "│  Pell Ferry", "change 1 of 3")


@pytest.mark.long
async def test_changes_missing_in_the_list_of_the_server_are_found(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.tui.review.request_comparison.FIRST_LIMIT", 10)
    monkeypatch.setattr("octavo.tui.review.request_comparison.MAX_LIMIT", 30)
    async with stage.play(start="changes") as run:
        await open_change_request(run, "classic")
        await run.see("0 of 60 viewed", "page 1 of 60")
        await run.gone("not listed by the server")
        await run.press("r", "G", "K")
        await run.see("0 of 60 viewed", "page 60 of 60", "Last Light")


@pytest.mark.long
async def test_page_is_no_longer_viewed_after_an_edit(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.press("B")
        await run.see("Compare with", "You have not reviewed this change request")
        await run.press("escape")
        await run.press("x", "x")
        await run.see("2 of 2 viewed")
        await run.hear("You viewed all changes in #7. Press a to approve, or A to request changes.")
        await run.press("a")
        await run.see("Approve #7")
        await run.press("ctrl+s")
        await run.see("✓ Mara Lindqvist")
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        here = next(
            key for key, entry in screen.changed_tree.changed_pages.items() if entry.title == "Time and time zones"
        )
        body = content.DocumentBody(markdown="# Time and time zones\n\nAll is new.\n")
        edit = content.UpdatePage(page=here, document=body)
        await run.ask(content.Edit(at=screen.at, changes=(edit,), compat=False), "tomas-okafor")
        await run.press("r")
        await run.see(
            "1 of 2 viewed",
            "• 1 viewed page changed",
            "•~ Time and time",
            "(you) · outdated",
            "(1 page changed)",
        )
        await run.press("B", "down")
        await run.see("Your last review")
        await run.press("enter")
        await run.see("compared with your last review", "0 of 1 viewed", "− Why so strict", "page 1 of 1")
        await run.press("x")
        await run.see("1 of 1 viewed")
        await run.press("B", "up", "enter")
        await run.see("2 of 2 viewed")
        await run.press("full_stop")
        await run.see("    Quality flags")
