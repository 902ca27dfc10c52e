"""Drafts of edits. A text that has changed since the user typed its draft is shown before the draft replaces it."""

from __future__ import annotations

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.data.writes.content_writes import OTHERS_LABEL, OWN_LABEL
from octavo.documents.markdown_to_json import to_json_document
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_comments import open_thread, select_first_paragraph, send_comment
from tests.journeys.test_page_details import HARBOUR
from tests.journeys.test_pending_comments import add_pending_comment
from tests.journeys.test_reviewing import find_seven, open_change_request, ref_of_seven, select_change_request

TOMAS = "tomas-okafor"


async def open_draft_of_a_changed_comment(run: Run) -> None:
    """Add the comment `Is it five?`, and type ` Or six?` behind it. Open this draft again after the comment became
    `Why seven minutes?`."""
    await select_first_paragraph(run)
    await send_comment(run, "Is it five?")
    await open_thread(run)
    await run.press("e")
    await run.see("Edit your comment")
    await run.type(" Or six?")
    await run.press("escape")
    (sent,) = run.gate.sent(comments.Create)
    (thread,) = [
        each
        for each in (await run.ask(comments.List(at=sent.at, format="markdown"), MARA)).items
        if each.body.text == "Is it five?"
    ]
    newer = comments.Update(at=sent.at, comment_id=thread.id, body=Markdown(markdown="Why seven minutes?"))
    await run.ask(newer, MARA)
    await run.press("r")
    await run.see("Why seven minutes?")
    await run.press("e")


async def test_edit_of_a_comment_that_has_changed_shows_both_texts(stage: Stage) -> None:
    async with stage.play() as run:
        await open_draft_of_a_changed_comment(run)
        await run.see("The comment has changed since you typed your draft. It is now: Why seven minutes?")
        await run.see("=======", "Is it five? Or six?", f">>>>>>> {OWN_LABEL}")
        await run.press("ctrl+s")
        await run.hear("Resolve the conflict between the markers <<<<<<< and >>>>>>> first.")
        await run.type(" Typed behind a marker.")
        await run.press("ctrl+s")
        assert not run.gate.sent(comments.Update)
        await run.press("f7")
        await run.type("Is it seven or six?")
        await run.press("ctrl+s")
        await run.sent()
        (update,) = run.gate.sent(comments.Update)
        assert update.body is not None
        assert update.body.markdown == "Is it seven or six?"


async def test_comment_that_quotes_conflict_markers_is_sent(stage: Stage) -> None:
    quote = f"What is `<<<<<<< {OTHERS_LABEL}`?"
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, quote)
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.body.markdown == quote
        await open_thread(run)
        await run.press("e")
        await run.see("Edit your comment")
        await run.type(f" And `>>>>>>> {OWN_LABEL}`?")
        await run.press("ctrl+s")
        await run.sent()
        (update,) = run.gate.sent(comments.Update)
        assert update.body is not None
        assert update.body.markdown == f"{quote} And `>>>>>>> {OWN_LABEL}`?"


async def test_reopened_draft_that_quotes_conflict_markers_is_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, "What is a marker?")
        await open_thread(run)
        await run.press("e")
        await run.see("Edit your comment")
        await run.type(f" This: <<<<<<< {OTHERS_LABEL}")
        await run.press("escape", "e")
        await run.see(f"This: <<<<<<< {OTHERS_LABEL}")
        await run.press("ctrl+s")
        await run.sent()
        (update,) = run.gate.sent(comments.Update)
        assert update.body is not None
        assert update.body.markdown == f"What is a marker? This: <<<<<<< {OTHERS_LABEL}"


async def test_reopened_draft_with_a_conflict_is_not_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await open_draft_of_a_changed_comment(run)
        await run.see(f">>>>>>> {OWN_LABEL}")
        await run.press("escape")
        await run.press("e")
        await run.see(f">>>>>>> {OWN_LABEL}")
        await run.press("ctrl+s")
        await run.hear("Resolve the conflict between the markers <<<<<<< and >>>>>>> first.")
        assert not run.gate.sent(comments.Update)


async def edit_new_pending_comment(run: Run) -> None:
    """Add the pending comment `Say which zone.`, and type a longer text for it without saving."""
    await open_change_request(run, "refused")
    await add_pending_comment(run, "Say which zone.")
    await run.see("◌ 1 pending comment")
    await run.press("H", "e")
    await run.see("Edit a pending comment")
    await run.type(" Local?")


async def test_edit_of_a_pending_comment_that_another_instance_edited_shows_both_texts(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await edit_new_pending_comment(run)
        await run.press("escape")
        outbox = run.app.session.outbox
        (entry,) = outbox.entries
        newer = entry.op.model_copy(update={"body": Markdown(markdown="Name the time zone, please.")})
        assert await outbox.edit_pending_comment(entry, newer, "none")
        await run.see("Name the time zone, please.")
        await run.press("e")
        await run.see("It is now: Name the time zone, please.", "Say which zone. Local?", f">>>>>>> {OWN_LABEL}")


async def test_draft_of_an_edit_without_a_base_shows_the_text(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        at = await ref_of_seven(run)
        await run.app.session.drafts.save(f"subject {at.space_id} {at.change_request_id}", "Saved by an older Octavo")
        await run.press("E")
        await run.see("The subject may have changed since you typed your draft. It is now: Show what")
        await run.see("Saved by an older Octavo")


async def test_unsaved_edit_of_a_sent_pending_comment_stays_in_the_inbox(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await edit_new_pending_comment(run)
        await run.press("escape", "escape", "a")
        await run.see("Say which zone. (your edit is not saved)")
        await run.press("ctrl+s")
        await run.sent()
        await run.press("1", "]", "]", "]", "]")
        await run.see("Say which zone. Local?", "unsent draft: an edited commen")
        await run.press("X")
        await run.hear("Draft discarded")
        assert not run.app.session.drafts.all()


async def test_draft_of_details_that_have_changed_shows_both_texts(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await select_change_request(run, "refused")
        at = await ref_of_seven(run)
        await run.press("E", "end", *" mine", "tab")
        await run.type("Mine. ")
        await run.press("escape")
        theirs = to_json_document("Their description.")
        await run.ask(change_requests.Update(at=at, subject="Refused, theirs", description=theirs), TOMAS)
        await run.press("r")
        await run.see("Refused, theirs")
        await run.press("E")
        await run.see(
            "The subject has changed since you typed your draft. It is now: Refused, theirs", "time looks like mine"
        )
        await run.see("The description has changed since", f"<<<<<<< {OTHERS_LABEL}", "Their description.")
        await run.press("ctrl+s")
        await run.hear("Resolve the conflict")
        assert (await find_seven(run)).subject == "Refused, theirs"
        await run.press("tab", "f7")
        await run.type("Both.")
        await run.press("ctrl+s")
        await run.hear("Saved the details of #7.")
        assert (await find_seven(run)).description_text == "Both."


async def test_draft_of_a_title_that_has_changed_shows_the_title(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"time and", "enter", "M", "enter")
        await choose_six(run)
        await run.see("New title for Time and time zones")
        await run.press("end", *" now", "escape")
        await change_details_of_page(run, title="Clocks", slug="clocks")
        await run.press("M", "enter")
        await choose_six(run)
        await run.see("New title for Clocks", "It is now: Clocks", "Time and time zones now")


async def test_draft_of_page_details_that_have_changed_shows_them(stage: Stage) -> None:
    async with stage.play() as run:
        await open_details(run)
        await run.press("ctrl+u")
        await run.type("time-zones")
        await run.press("escape")
        await run.gone("Details of")
        await change_details_of_page(run, slug="clocks", description="What a clock shows.")
        await open_details(run)
        await run.see(
            "time-zones", "This has changed since you typed your draft. It is now: clocks", "What a clock shows."
        )
        assert "It is now: What" not in run.text


async def change_details_of_page(run: Run, **details: str) -> None:
    """Change the details of the page `Time and time zones` in change request #6, as another instance would."""
    items = (await run.ask(change_requests.List(at=HARBOUR, status="open"), MARA)).items
    at = next(each.ref(HARBOUR) for each in items if each.number == 6)
    tree = await run.ask(content.ListPages(at=at), MARA)
    page = next(page for page in tree.walk() if page.title == "Time and time zones")
    await run.ask(content.Edit(at=at, changes=(content.UpdatePage(page=page.id, **details),)), MARA)


async def choose_six(run: Run) -> None:
    await run.see("Choose a change request")
    await run.type("#6")
    await run.press("enter")


async def open_details(run: Run) -> None:
    await run.press("/", *"time and", "enter", "M", "down", "down", "enter")
    await choose_six(run)
    await run.see("Details of Time and time zones")
