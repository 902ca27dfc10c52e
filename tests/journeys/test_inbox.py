"""The inbox: actions of other users create rows with reasons, and commands on the rows remove them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.data.inbox import ThreadRef
from octavo.data.inbox_marks import InboxMarks
from octavo.data.queries import replies_op
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import mention_suffix
from octavo.local_time import localize
from octavo.settings.table import InboxFilter
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.used_computer import new_stage, stage, used_folders
from tests.server.refusing_platform import Platform

__all__ = ["new_stage", "stage", "used_folders"]
HARBOUR = SpaceRef(space_id="harbour-api")
NOOR, TOMAS, YUKI = "noor-haddad", "tomas-okafor", "yuki-tanabe"


def comment_body(words: str) -> Markdown:
    return Markdown(markdown=words)


def view(run: Run) -> InboxScreen:
    assert isinstance(run.app.screen, InboxScreen)
    return run.app.screen


def reasons(run: Run, words: str) -> list[str]:
    """Return the reasons of the rows whose title contains `words`."""
    return [
        each for row in view(run).marked_rows.active if words in row.title for each in (row.reason, *row.other_reasons)
    ]


async def refresh(run: Run) -> None:
    """Refresh with `r`."""
    await run.press("r")


async def select_row(run: Run, words: str) -> None:
    """Move the cursor to the row whose title contains `words`."""
    key = next(row.key for row in view(run).rows.items if words in row.title)
    assert view(run).rows.go_to(key)
    await run.settle()


async def open_change_request(run: Run, person: str, subject: str) -> ChangeRequestRef:
    """Create a change request that is ready for review, and return the reference."""
    made = await run.ask(change_requests.Create(at=HARBOUR, subject=subject), person)
    at = made.ref(HARBOUR)
    await run.ask(change_requests.Update(at=at, status="open"), person)
    return at


async def edit_page(run: Run, at: ChangeRequestRef, person: str) -> None:
    """Replace the text of a page in a change request."""
    tree = await run.ask(content.ListPages(at=at), person)
    page = next(page for page in tree.walk() if page.title == "Time and time zones")
    body = content.DocumentBody(markdown=f"# Time and time zones\n\nAll is new, says {person}.\n")
    edit = content.UpdatePage(page=page.id, document=body)
    await run.ask(content.Edit(at=at, changes=(edit,), compat=False), person)


async def test_review_given_in_the_inbox_removes_the_row(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, NOOR, "Say what a datum is")
        await run.ask(reviews.Request(at=at, users=(MARA,)), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["review requested"]
        await select_row(run, "Say what a datum is")
        await run.see("review requested by Noor", "○ your review requested")
        await run.press("a")
        await run.see("Approve #9")
        await run.press("ctrl+s")
        await run.gone("Say what a datum is")
        await run.sent()
        (given,) = (await run.ask(reviews.List(at=at), NOOR)).items
        assert (given.status, given.reviewer.id) == ("approved", MARA)
        assert reasons(run, "Say what a datum is") == []


async def test_item_marked_as_done_in_another_instance_leaves_the_list(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        row = view(run).marked_rows.active[0]
        run.app.background_refresh.refresh_if_due()
        await InboxMarks(run.app.session.state).mark_done(row)
        await run.later(minutes=1)
        run.app.background_refresh.refresh_if_due()
        await run.gone(row.title)
        assert row in view(run).marked_rows.done


async def test_row_marked_as_unread_stays_unread_under_the_cursor(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("j")
        row = view(run).rows.item
        assert row is not None
        await run.press("minus")
        await run.hear("Marked the item as unread.")
        await asyncio.sleep(3)
        await run.settle()
        assert row.key in view(run).marked_rows.unread


async def test_new_row_appears_under_the_filter_unread(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        marks = view(run).feed.marks
        assert marks is not None
        read_row, *unread_rows = view(run).marked_rows.active
        await marks.mark_read(read_row)
        view(run).feed.regroup()
        await run.press("F", *"unread", "enter")
        await run.see(f"unread · {len(unread_rows)} of {len(unread_rows)}")
        at = await open_change_request(run, NOOR, "Mend the jetty")
        await run.ask(reviews.Request(at=at, users=(MARA,)), NOOR)
        await refresh(run)
        await run.see("Mend the jetty", f"unread · {len(unread_rows) + 1} of {len(unread_rows) + 1}")


async def test_preview_of_a_draft_shows_words_that_were_added_in_another_view(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("enter", "c")
        await run.type("A title of many words that fills the whole row of the inbox, and more than that.\n\nOne.")
        await run.press("escape", "1")
        await select_row(run, "A title of many words")
        await run.see("One.")
        row = view(run).rows.item
        assert row is not None
        await run.until(lambda: row.key not in view(run).marked_rows.unread, "mark the row as read")
        await run.press("enter")
        await run.see("Harbour API › Welcome")
        await run.press("c")
        await run.type(" Two.")
        await run.press("escape")
        await run.press("1")
        await run.see("One. Two.", "discard the draft")


async def test_replies_after_your_last_message_are_marked_as_new(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("]", "]", "]")
        await run.see("11 of 11", "1 new reply from Ruta Vaitkute", "↳ Ruta Vaitkute · 1 day ago · new")
        assert run.text.count("· new") == 1
        await run.press("j")
        await run.see("3 new replies from Noor Haddad")
        await run.until(lambda: run.text.count("· new") == 3, "mark three replies as new")


@pytest.mark.before_release
async def test_change_after_your_review_moves_the_item_back_to_the_inbox(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, NOOR, "Say what a datum is")
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == []
        await edit_page(run, at, NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["changed since review"]
        await select_row(run, "Say what a datum is")
        await run.see("changed since you approved it", "Mara Lindqvist approved · outdated")


@pytest.mark.before_release
async def test_approved_change_request_can_be_merged_in_the_inbox(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        await edit_page(run, at, MARA)
        await run.ask(reviews.Submit(at=at, status="approved"), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["approved"]
        await select_row(run, "Say what a datum is")
        await run.see("approved by Noor Haddad")
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #9.")
        await run.gone("Say what a datum is")


@pytest.mark.before_release
async def test_requested_changes_are_snoozed_until_there_is_news(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        await run.ask(reviews.Submit(at=at, status="changes-requested"), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["changes requested"]
        await select_row(run, "Say what a datum is")
        await run.press("w")
        await run.see("Snooze #9 Say what a datum is")
        await run.press("down", "down", "down", "enter")
        await run.hear("Snoozed until something new happens")
        assert reasons(run, "Say what a datum is") == []
        await run.ask(reviews.Submit(at=at, status="changes-requested"), TOMAS)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["changes requested"], "a new review must show the row again"


@pytest.mark.before_release
async def test_updating_an_outdated_change_request_removes_the_row(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        await edit_page(run, at, MARA)
        other = await open_change_request(run, NOOR, "Say what a tide is")
        tree = await run.ask(content.ListPages(at=other), NOOR)
        page = next(page for page in tree.walk() if page.title == "Errors")
        edit = content.UpdatePage(page=page.id, document=content.DocumentBody(markdown="# Errors\n\nThere are none.\n"))
        await run.ask(content.Edit(at=other, changes=(edit,), compat=False), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == []
        await run.ask(change_requests.Merge(at=other), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["outdated"]
        await select_row(run, "Say what a datum is")
        await run.see("main has changed: update needed", "outdated")
        await run.press("U")
        await run.see("Update #9 from main?", "none expected")
        await run.press("y")
        await run.hear("Updated #9.")
        assert reasons(run, "Say what a datum is") == []
        assert not (await run.ask(change_requests.Get(at=at), MARA)).outdated


@pytest.mark.before_release
async def test_resolving_a_conflict_from_the_inbox_removes_the_row(
    stage: Stage,
) -> None:
    async with stage.play(start="inbox") as run:
        at, other = (
            await open_change_request(run, MARA, "Say what a datum is"),
            await open_change_request(run, NOOR, "Say what a tide is"),
        )
        await edit_page(run, at, MARA)
        await edit_page(run, other, NOOR)
        await run.ask(change_requests.Merge(at=other), NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["outdated"]
        await select_row(run, "Say what a datum is")
        await run.press("U")
        await run.see("may conflict: Time and time zones")
        await run.press("y")
        await run.see("conflict 1 of 1", f"says {MARA}", f"says {NOOR}")
        await run.press("m")
        await run.see("1 of 1 resolved")
        await run.press("ctrl+s")
        await run.hear("Resolved 1 conflict in #")
        await run.press("1")
        await refresh(run)
        assert reasons(run, "Say what a datum is") == []


@pytest.mark.before_release
async def test_replying_in_the_inbox_removes_the_row(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        thread = await run.ask(comments.Create(at=HARBOUR, body=comment_body("Why is it called a datum?")), MARA)
        await run.ask(comments.CreateReply(at=HARBOUR, comment_id=thread.id, body=comment_body("It is given.")), NOOR)
        await refresh(run)
        assert reasons(run, "Why is it called a datum?") == ["new replies"]
        await select_row(run, "Why is it called a datum?")
        await run.see("1 new reply from Noor Haddad", "It is given.")
        await run.press("c")
        await run.type("Thanks, I see.")
        await run.press("ctrl+s")
        await run.gone("Why is it called a datum?")
        await run.press("u")
        await run.until(lambda: reasons(run, "Why is it called a datum?") != [], "restore the row")
        await run.press("c")
        await run.see("Thanks, I see.")
        await run.press("ctrl+s")
        await run.sent()
        replies = (await run.ask(comments.ListReplies(at=HARBOUR, comment_id=thread.id, format="markdown"), NOOR)).items
        assert [each.body.text for each in replies] == ["It is given.", "Thanks, I see."]


@pytest.mark.before_release
async def test_resolving_a_thread_in_the_inbox_can_be_undone(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        thread = await run.ask(comments.Create(at=at, body=comment_body("Is this not too long?")), NOOR)
        await refresh(run)
        assert reasons(run, "Is this not too long?") == ["on my change requests"]
        await select_row(run, "Is this not too long?")
        await run.press("R")
        await run.hear("Resolving thread…")
        await run.until(lambda: reasons(run, "Is this not too long?") == [], "remove the row")
        await run.press("u")
        await run.until(lambda: reasons(run, "Is this not too long?") != [], "restore the row")
        row = view(run).rows.item
        assert row is not None
        assert row.title == "Is this not too long?"
        assert run.app.current_mode == "inbox"
        await run.press("R")
        await run.sent()
        assert not (await run.ask(comments.Get(at=at, comment_id=thread.id), NOOR)).is_open


async def test_done_on_a_thread_removes_the_row_and_does_not_resolve_the_thread(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        thread = await run.ask(comments.Create(at=at, body=comment_body("Is this not too long?")), NOOR)
        await refresh(run)
        await select_row(run, "Is this not too long?")
        await run.press("d")
        await run.hear("Marked the item as done until something new happens")
        await run.until(lambda: reasons(run, "Is this not too long?") == [], "remove the row")
        assert not run.app.session.outbox.entries
        assert (await run.ask(comments.Get(at=at, comment_id=thread.id), NOOR)).is_open


@pytest.mark.before_release
async def test_enter_on_a_thread_opens_its_change_request(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, MARA, "Say what a datum is")
        await edit_page(run, at, MARA)
        tree = await run.ask(content.ListPages(at=at), MARA)
        page = next(page for page in tree.walk() if page.title == "Time and time zones")
        text = (await run.ask(content.GetRawPage(at=at, page_id=page.id), MARA)).markdown
        assert text is not None
        block = next(
            each.key for each in parse(text.text).walk() if "All is new" in each.plain() and each.kind == "paragraph"
        )
        on_block = await run.ask(
            comments.Create(at=at, page=page.id, node=block, body=comment_body("Is all of it new?")), NOOR
        )
        on_whole = await run.ask(comments.Create(at=at, body=comment_body("Is this not too long?")), NOOR)
        await refresh(run)
        for thread in (on_block, on_whole):
            await select_row(run, thread.body.text)
            await run.press("enter")
            shown = run.app.screen
            assert isinstance(shown, ChangeRequestScreen)
            stop = shown.main_pane.cursor.current()
            assert stop is not None
            assert stop[3].key == thread.id
            assert shown.focused is shown.main_pane, "the page must have the focus, so that keys apply to the thread"
            await run.press("1")


@pytest.mark.before_release
async def test_thread_in_the_inbox_can_be_copied_and_shown_in_details(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        thread = await run.ask(comments.Create(at=HARBOUR, body=comment_body("Why is it called a datum?")), MARA)
        await run.ask(comments.CreateReply(at=HARBOUR, comment_id=thread.id, body=comment_body("It is given.")), NOOR)
        await refresh(run)
        await select_row(run, "Why is it called a datum?")
        await run.press("y")
        await run.hear("Copied the comment.")
        assert run.app.clipboard == "Why is it called a datum?"
        await run.press("Y")
        await run.see("This comment")


@pytest.mark.before_release
async def test_mention_marked_as_done_leaves_the_inbox(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        named = f"[@Mara{mention_suffix(MARA)} is this a datum?"
        await run.ask(comments.Create(at=SpaceRef(space_id="limpet"), body=comment_body(named)), YUKI)
        await refresh(run)
        (row,) = [row for row in view(run).marked_rows.active if "is this a datum?" in row.title]
        assert row.reason == "mentioned"
        await select_row(run, "is this a datum?")
        await run.see("Yuki Tanabe mentioned you")
        await run.press("d")
        await run.until(lambda: reasons(run, "is this a datum?") == [], "remove the row")


@pytest.mark.before_release
async def test_done_item_returns_when_there_is_news(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        at = await open_change_request(run, NOOR, "Say what a datum is")
        await run.ask(reviews.Request(at=at, users=(MARA,)), NOOR)
        await refresh(run)
        await select_row(run, "Say what a datum is")
        await run.press("d")
        await run.hear("Marked the item as done until something new happens")
        assert reasons(run, "Say what a datum is") == []
        await refresh(run)
        assert reasons(run, "Say what a datum is") == [], "a refresh without news must not restore the row"
        await edit_page(run, at, NOOR)
        await refresh(run)
        assert reasons(run, "Say what a datum is") == ["review requested"]


@pytest.mark.before_release
async def test_snoozed_item_returns_on_time_or_on_request(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("w", "enter")
        await run.hear("Snoozed until")
        await run.see("16 of 16", "Snoozed 1")
        await run.press("u")
        await run.see("17 of 17")
        await run.press("w", "enter")
        await run.see("16 of 16")
        await run.press("[", "[")
        await run.see("until ", "1 of 1")
        await run.press("]", "]")
        await run.later(hours=2)
        run.app.workspace.inbox.regroup()
        await run.see("17 of 17")


async def test_snooze_on_a_sunday_offers_monday_once(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        while localize(run.app.session.state.now()).weekday() != 6:
            await run.later(days=1)
        await run.press("w")
        await run.see("Until tomorrow", "Mon 08:00", "Until something new happens")
        assert "Until next week" not in run.text


async def test_undo_of_a_second_snooze_restores_the_first(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("w", "down", "enter")
        await run.see("16 of 16", "Snoozed 1")
        ((_, until),) = view(run).marked_rows.snoozed
        await run.press("[", "[")
        await run.see("1 of 1")
        await run.press("w", "down", "down", "enter")
        await run.until(lambda: view(run).marked_rows.snoozed[0][1] != until, "snooze the row until next week")
        await run.press("u")
        await run.hear("Undid the snooze.")
        await run.until(lambda: [each for _, each in view(run).marked_rows.snoozed] == [until], "restore the snooze")


@pytest.mark.before_release
async def test_selected_rows_are_marked_as_done_and_undone_together(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("*", "d")
        await run.until(lambda: not view(run).marked_rows.active, "remove all selected rows")
        await run.see("Nothing needs your attention.")
        await run.press("u")
        await run.until(lambda: len(view(run).marked_rows.active) == 17, "restore all rows")
        assert not run.app.session.outbox.entries


@pytest.mark.before_release
async def test_empty_inbox_lists_done_and_snoozed_items(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("w", "down", "enter")
        await run.press("]", "*", "d")
        await run.press("[", "*", "d")
        await run.until(lambda: not view(run).marked_rows.active, "remove all rows")
        await run.see(
            "✓ Nothing needs your attention.",
            "DONE TODAY",
            "SNOOZED",
            "#7 Show what a refused time looks like",
            "08:00",
            "s search",
        )


@pytest.mark.before_release
async def test_discarding_an_unsent_draft_can_be_undone(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.app.session.drafts.save("comment harbour-api welcome ", "Half a thought about the tide.")
        await refresh(run)
        assert reasons(run, "Half a thought") == ["unsent draft"]
        await select_row(run, "Half a thought")
        await run.see("Half a thought about the tide.", "X discard the draft")
        await run.press("X")
        await run.hear("Draft discarded")
        await run.until(lambda: reasons(run, "Half a thought") == [], "remove the row")
        assert run.app.session.drafts.get("comment harbour-api welcome ") is None
        await run.press("u")
        await run.until(lambda: reasons(run, "Half a thought") == ["unsent draft"], "restore the row")
        assert run.app.session.drafts.get("comment harbour-api welcome ") == "Half a thought about the tide."


@pytest.mark.before_release
async def test_rejected_write_is_in_the_inbox_and_opens_the_activity(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        run.platform.refuse_next(comments.CreateReply, 403, "Not today.", times=9)
        await run.press("]", "]", "]", "c")
        await run.type("An answer nobody gets.")
        await run.press("ctrl+s")
        await run.later(seconds=9)
        await run.press("[", "[", "[")
        await run.see("NOT SENT", "An answer nobody gets.")
        await select_row(run, "An answer nobody gets.")
        await run.see("Not today.")
        await run.press("enter")
        await run.see("Activity", "reply")


@pytest.mark.before_release
async def test_saved_filter_is_shown_as_a_tab(stage: Stage) -> None:
    saved = (InboxFilter("Manual", space="Limpet manual"),)
    async with stage.play(start="inbox", inbox_filters=saved) as run:
        await run.see("Manual 2")
        await run.press("[", "[", "[")
        await run.see("Inbox · Manual · 2 of 2", "#2 Battery figures for cold harbours")


@pytest.mark.before_release
@pytest.mark.parametrize("kind", [reviews.List, reviews.ListRequested, comments.List])
async def test_inbox_with_a_failed_list_reports_the_error_and_is_not_empty(
    new_stage: Stage, kind: type[Operation[object]]
) -> None:
    def refuse_list(platform: Platform) -> None:
        platform.refuse_next(kind, 500, "The platform stumbled.", times=500)

    async with new_stage.play(start="inbox", change=refuse_list) as run:
        await run.see("Could not load", "r retry", "not loaded yet")
        assert "Nothing needs your attention" not in run.text
        run.accept()
        await run.press("r")
        await run.see("17 of 17")
        await run.gone("Could not load")


@pytest.mark.before_release
async def test_cached_inbox_is_shown_offline_with_its_age(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.quit()
    stage.clock.forward(hours=3)
    async with stage.play(start="inbox", shut=True) as run:
        await run.see("17 of 17", "updated 3h ago", "REVIEW REQUESTED")


@pytest.mark.before_release
async def test_top_bar_shows_updated_after_all_lists_are_loaded(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.quit()
    stage.clock.forward(hours=3)
    async with stage.play(start="inbox", shut=True) as run:
        run.gate.open(change_requests.ListOfOrganization)
        await run.settle()
        assert "○ cached 3h" in run.lines[0], (
            "until all lists are loaded, the top bar must show the age of the cached rows"
        )
        run.gate.open()
        await run.settle()
        assert "● updated" in run.lines[0]


@pytest.mark.before_release
async def test_moves_before_the_rows_wait_and_other_keys_report_loading(new_stage: Stage) -> None:
    async with new_stage.play(start="inbox", shut=True) as run:
        await run.press("j", "w")
        await run.hear("Still loading. Wait a moment.")
        run.gate.open()
        await run.see("17 of 17")
        assert view(run).rows.cursor == 1


@pytest.mark.before_release
async def test_curly_brackets_move_between_headings(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        rows = view(run).rows
        headings = [index for index, first in enumerate(rows.first_lines) if first - 1 in rows.extra_lines]
        assert len(headings) > 2
        for index in headings[1:]:
            await run.press("}")
            assert rows.cursor == index
        await run.press("}")
        assert rows.cursor == headings[-1], "the cursor must stay on the last heading"
        await run.press("{")
        assert rows.cursor == headings[-2]
        await run.press("j", "{")
        assert rows.cursor == headings[-2]


@pytest.mark.before_release
async def test_commands_work_on_rows_at_every_size(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(40, 12)) as run:
        for size in ((40, 12), (60, 20), (80, 24), (200, 60)):
            await run.pilot.resize_terminal(*size)
            await run.until(lambda: len(view(run).marked_rows.active) == 17)
            await run.see("#7 Show")
            await run.press("d")
            await run.until(lambda: len(view(run).marked_rows.active) == 16)
            await run.press("u")
            await run.hear("Moved the item back to the inbox.")
            await run.until(lambda: len(view(run).marked_rows.active) == 17)


@pytest.mark.before_release
async def test_start_in_another_view_shows_the_cached_count(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("d")
        await run.see("16 of 16")
        await run.quit()
    async with stage.play(shut=True) as run:
        assert "Inbox 16" in run.lines[0]
        assert run.app.workspace.inbox.loader is None, "the inbox must not load before it is opened"


@pytest.mark.before_release
async def test_inbox_count_is_updated_in_the_background(
    stage: Stage,
) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.quit()
    async with stage.play() as run:
        at = await open_change_request(run, NOOR, "Say what a datum is")
        await run.ask(reviews.Request(at=at, users=(MARA,)), NOOR)
        asked = len(run.gate.passed)
        run.app.background_refresh.refresh_if_due()
        run.clock.forward(seconds=31)
        run.app.background_refresh.refresh_if_due()
        await run.settle()
        assert "Inbox 18" in run.lines[0]
        assert len(run.gate.passed) - asked < 25, [type(op) for op in run.gate.passed[asked:]]


@pytest.mark.before_release
async def test_inbox_sends_no_requests_before_it_is_opened(new_stage: Stage) -> None:
    async with new_stage.play() as run:
        run.app.background_refresh.refresh_if_due()
        run.clock.forward(seconds=31)
        run.app.background_refresh.refresh_if_due()
        await run.settle()
        assert not run.gate.sent(reviews.ListRequested)
        assert run.app.workspace.inbox.loader is None


@pytest.mark.before_release
async def test_filter_of_the_inbox_is_copied_as_settings(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("F")
        await run.gone("Save this filter")
        await run.type("limpet manual")
        await run.press("enter")
        await run.see("in Limpet manual")
        await run.press("F")
        await run.type("save this")
        await run.press("enter")
        await run.hear('Copied the setting [inbox."in Limpet manual"]', "config.toml")
        assert run.app.clipboard == '[inbox."in Limpet manual"]\nspace = "limpet"\n'


@pytest.mark.before_release
async def test_preview_of_a_row_is_loaded_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage.play(start="inbox") as run:
        await run.quit()
    # The delay is long enough for a second update of the rows, even on a busy machine. Idle time is skipped.
    for module in ("inbox.inbox_screen", "review.request_preview"):
        monkeypatch.setattr(f"octavo.tui.{module}.SELECTION_DELAY", 8.0)
    async with stage.play(start="inbox") as run:
        rows = view(run).rows.items
        at, title = next((row.target, row.title) for row in rows if isinstance(row.target, ChangeRequestRef))
        await select_row(run, title)
        statuses = view(run).statuses
        await run.until(lambda: at.change_request_id in statuses._followed, "follow the change request")
        asked = [op for op in run.gate.passed if getattr(op, "at", None) == at]
        assert [type(op) for op in asked] == [content.ListChanges], (
            "the inbox has the reviews already, so only the changes may be loaded"
        )


async def test_cursor_that_passes_rows_sends_no_requests(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage.play(start="inbox") as run:
        await run.quit()
    async with stage.play(start="inbox") as run:
        monkeypatch.setattr("octavo.tui.inbox.inbox_screen.SELECTION_DELAY", 1000.0)
        rows, before, shown_count = view(run).rows, len(run.gate.passed), 0
        threads = {row.target.comment_id for row in rows.items if isinstance(row.target, ThreadRef)}
        for _ in rows.items:
            await run.press("j")
            shown_count += len(view(run).row_preview.thread._messages) > 1
        assert shown_count > 5, "cached replies must be shown at once"
        assert not [op for op in run.gate.passed[before:] if getattr(op, "comment_id", "") in threads]
        monkeypatch.undo()
        await run.press("k")
        assert rows.item is not None
        thread = rows.item.target
        assert isinstance(thread, ThreadRef)
        replies = replies_op(thread.at, thread.comment_id)
        await run.until(lambda: replies in run.gate.passed[before:], "load the replies of the selected thread")


async def see_preview(run: Run) -> None:
    """Wait until the preview of the change request under the cursor is loaded, and its merge is predicted."""
    statuses = view(run).statuses
    shown = view(run).feed.change_request(view(run).rows.item)
    assert shown is not None
    await run.until(lambda: shown.id in statuses._followed, "follow the change request under the cursor")
    run.gate.open()
    await run.until(lambda: not statuses._lacks_prediction(shown), "predict whether the change request can be merged")


async def preview_next_row(run: Run) -> list[type[Operation[Any]]]:
    """Move the cursor to the next row and wait for its preview. Return the kinds of the requests that Octavo sent."""
    before = len(run.gate.passed)
    # The preview and the prediction share one request, but not if the first has its response before the other starts.
    run.gate.shut(content.ListChanges)
    await run.press("j")
    await see_preview(run)
    return [type(op) for op in run.gate.passed[before:]]


@pytest.mark.before_release
async def test_second_start_and_cursor_send_few_requests(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await see_preview(run)
        assert content.Get in [kind for _ in range(3) for kind in await preview_next_row(run)]
        await run.quit()
    async with stage.play(start="inbox") as run:
        await see_preview(run)
        assert len(run.gate.passed) <= 10
        for _ in range(3):
            assert await preview_next_row(run) == [content.ListChanges]
        await run.ask(comments.Create(at=HARBOUR, body=comment_body("Which quay?")), NOOR)
        await run.quit()
    async with stage.play(start="inbox") as run:
        await see_preview(run)
        assert len(run.gate.passed) <= 10


async def test_preview_shows_the_text_of_an_unsent_review(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED", "#7 Show what a refused time looks like")
        await run.press("a")
        await run.see("Approve #7")
        await run.type("The example is short and good.")
        await run.press("escape")
        await run.see("◌ unsent draft: an approval", "The example is short and good.")
        await run.press("j")
        await run.gone("The example is short and good.")
