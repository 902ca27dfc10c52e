"""Pages are edited in an editor and in the page tree. No text is lost, and a merge publishes the edits."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from octavo.api import change_requests, content
from octavo.api.content import DocumentBody, GetRawPage, UpdatePage
from octavo.api.operation import Operation, SpaceRef
from octavo.tui.editing import page_edit
from octavo.tui.editing.page_drafts import PageDraftKey, editor_folder, page_drafts
from octavo.tui.terminal.external_editor import Edited
from tests.data.connections import refuse_to_save
from tests.journeys.app_terminal import terminal
from tests.journeys.stage import MARA, Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")
YUKI = "yuki-tanabe"
MARKED = "<<<<<<< yours\nMine\n=======\nTheirs\n>>>>>>> theirs\n"


async def page_source(run: Run, page: str) -> str:
    raw = (await run.ask(GetRawPage(at=HARBOUR, page_id=page, format="markdown"), MARA)).markdown
    assert raw is not None
    return raw.text


async def leave_editor_file(run: Run, page: str, **changes: str) -> Path:
    """Create the file that a killed Octavo leaves when a page is open in an editor, with some words changed."""
    space = run.app.workspace.space(HARBOUR.space_id)
    assert space is not None
    assert space.revision is not None
    text = await page_source(run, page)
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    place = PageDraftKey(HARBOUR.space_id, page, space.revision)
    name = place.file_name(run.app.session).rpartition(".")[0]
    editor_folder(run.app).mkdir(mode=0o700)
    path = editor_folder(run.app) / f"{name}.{2**22 + 1}-left.md"
    path.write_text(text)
    return path


async def test_editor_text_of_a_killed_run_is_merged_with_other_edits(
    stage: Stage,
) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        path = await leave_editor_file(run, page, three="four")
        await run.press("f2", "escape")
        await run.see("Welcome           ✎ draft", "unsent draft (press e to continue)")
        await run.press("e")
        await run.see("Continue editing", "Save the draft", "Discard", "for a new change request")
        assert not path.exists()
        theirs = (await page_source(run, page)).replace("What do you want to do?", "What shall it be?")
        at = (await run.ask(change_requests.Create(at=HARBOUR, subject="Theirs"), YUKI)).ref(HARBOUR)
        change = UpdatePage(page=page, document=DocumentBody(markdown=theirs))
        await run.ask(content.Edit(at=at, changes=(change,)), YUKI)
        await run.ask(change_requests.Merge(at=at), MARA)
        await run.press("down", "enter")
        await run.hear(
            "Saved Welcome to #10 Edit Welcome. The page also includes the changes that others made in the meantime."
        )
        await run.see("#10 Edit Welcome", "answers four questions")
        assert len(run.gate.sent(content.Edit)) == 1
        await run.press("m")
        await run.see("Merge #10", "checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #10.")
        await run.press("2")
        await run.see("answers four questions", "What shall it be?")
        assert "unsent draft: press e" not in run.text
        assert "answers four" in await page_source(run, page)


@pytest.mark.long
async def test_pages_are_added_renamed_moved_deleted_and_reverted(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"time and", "enter", "M")
        await run.see("Rename", "Move", "Details", "New page", "Delete")
        await run.press("enter")
        await run.see("Choose a change request", "New change request", "#6 Say in the quickstart")
        await run.press("enter")
        await run.see("New title for Time and time zones")
        await run.press("ctrl+u")
        await run.type("Time")
        await run.press("enter")
        await run.hear("Renamed Time and time zones to Time in #9")
        await run.see("#9 Rename Time and time zones", "page title: Time and time zones → Time")
        await run.press("M", "down", "enter")
        await run.see("Move Time under…")
        await run.type("guides")
        await run.press("enter")
        await run.see("Position of Time", "Last", "First", "After Webhooks")
        await run.press("down", "enter")
        await run.hear("Moved Time in #9")
        await run.press("M", "down", "down", "down", "enter")
        await run.see("Position of the new page", "Under Time", "After Time", "At the end")
        await run.press("down", "enter")
        await run.type("Leap seconds")
        await run.press("enter")
        await run.hear("Added the page Leap seconds in #9", "Press e to write the text of the page.")
        await run.see("+ Leap seconds", "page 2 of 2")
        await run.press("M", "enter")
        await run.see("New title for Leap seconds")  # Also e acts on the new page.
        await run.press("escape", "k")
        await run.press("M", "down", "down", "down", "down", "enter")
        await run.see("Delete Time?", "Its 1 subpage will also be deleted.", "You cannot restore 1 of them", "Type 1")
        await run.press("1", "enter")
        await run.hear("Deleted Time in #9")
        await run.press("e")
        await run.hear("is deleted in this change request. Press Q to revert the deletion.")
        await run.press("Q")
        await run.see("The deleted page will be restored.")
        await run.press("y")
        await run.hear("Reverted Time and time zones.")
        await run.see("No changes yet.")
        run.platform.refuse_next(content.Edit, 404, "Nobody knows this path.")
        await run.press("2", "escape", "X")
        await run.press("enter")
        await run.see("Readers will still see the page until the change request is merged.")
        await run.press("y")
        await run.hear("This server does not support editing content.")
        run.app.notices.say("and then")
        await run.press("e")
        await run.hear("and then", "Edit pages in the browser.")


async def test_page_added_to_a_change_request_with_other_pages_is_selected(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("ctrl+n")
        await run.see("Choose a change request")
        await run.press("down", "enter")
        await run.see("Position of the new page", "After Welcome")
        await run.press("enter")
        await run.type("Leap seconds")
        await run.press("enter")
        await run.hear("Added the page Leap seconds in #6")
        await run.see("#6 Say in the quickstart", "+ Leap seconds", "This page is empty.")
        await run.press("M", "enter")
        await run.see("New title for Leap seconds")
        await run.press("escape", "X")
        await run.see("Delete Leap seconds?", "only in this change request, so you cannot undo its deletion.")
        assert "Readers will still see" not in run.text
        await run.press("y")
        await run.hear("Deleted Leap seconds in #6")
        await run.press("u")
        await run.hear("The page is only in this change request, so you cannot undo its deletion.")


async def edit_as_yuki(run: Run, page: str, text: str) -> tuple[PageDraftKey, PageDraftKey]:
    """Create a change request, in which Yuki edits the page. Return the keys of drafts that are based on the revisions before
    and after the edit."""
    at = (await run.ask(change_requests.Create(at=HARBOUR, subject="Ours"), MARA)).ref(HARBOUR)
    before = (await run.ask(change_requests.Get(at=at), MARA)).revision
    theirs = text.replace("three questions", "five questions")
    edit = content.Edit(at=at, changes=(UpdatePage(page=page, document=DocumentBody(markdown=theirs)),))
    await run.ask(edit, YUKI)
    after = (await run.ask(change_requests.Get(at=at), MARA)).revision
    old, new = (PageDraftKey(HARBOUR.space_id, page, each or "", at.change_request_id) for each in (before, after))
    return old, new


async def test_conflict_with_another_edit_is_resolved_even_after_a_restart(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        text = await page_source(run, page)
        key, _ = await edit_as_yuki(run, page, text)
        at = key.request_ref
        await run.app.session.drafts.save(key.stored_key, text.replace("three questions", "four questions"))
        await run.press("e")
        await run.see("Save the draft to the server")
        await run.press("down", "enter")
        await run.see("conflict 1 of 1", "Theirs  m", "Yours  t", "five questions", "four questions")
        await run.see("three questions", "0 of 1 resolved")
        await run.press("t", "escape")
        await run.see("unsent draft (press e to continue)")
        await run.quit()
    async with stage.play() as run:
        await run.hear("Your draft of Welcome in Harbour API has not been sent. Press e on the page to continue.")
        await run.see("unsent draft (press e to continue)")
        await run.press("e")
        await run.see("Resolve conflicts", "1 conflict with the change request")
        await run.press("enter")
        await run.see("1 of 1 resolved", "✓ Yours chosen")
        await run.press("p")
        await run.see("PREVIEW", "compared with the version that others saved", "four questions")
        await run.press("p")
        await run.see("✓ Yours chosen")
        await run.press("ctrl+s")
        await run.hear("Saved Welcome to #9 Ours.")
        raw = (await run.ask(GetRawPage(at=at, page_id=page, format="markdown"), MARA)).markdown
        assert raw is not None
        assert raw.text == text.replace("three questions", "four questions")
        await run.until(
            lambda: not page_drafts(run.app.session.drafts, HARBOUR.space_id, page), "remove the draft after sending it"
        )


async def test_conflict_in_a_draft_for_a_merged_request_opens_in_the_editor(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def edit(app: object, text: str, folder: Path, **keywords: object) -> Edited:
        opened.append(text)
        return Edited(text[text.index(">>>>>>> theirs\n") + len(">>>>>>> theirs\n") :])

    monkeypatch.setattr(page_edit, "edit_text", edit)
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        text = await page_source(run, page)
        _, key = await edit_as_yuki(run, page, text)
        await run.ask(change_requests.Update(at=key.request_ref, status="archived"), MARA)
        marked = f"{MARKED}\n{text}"
        await run.app.session.drafts.save(key.stored_key, marked)
        await run.press("e")
        await run.see("Resolve conflicts", "1 conflict with the change request")
        await run.press("enter")
        await run.hear("Saved Welcome to #10 Edit Welcome.")
        assert opened == [marked]


@pytest.mark.before_release("ctrl+n")
@pytest.mark.parametrize("key", ["X", "ctrl+n"])
async def test_key_pressed_twice_opens_one_dialog(stage: Stage, key: str) -> None:
    async with stage.play() as run:
        screens = len(run.app.screen_stack)
        run.send_key(key)
        run.send_key(key)
        await run.see("Choose a change request")
        assert len(run.app.screen_stack) == screens + 1


@pytest.mark.parametrize(("keys", "late"), [(["X"], change_requests.List), (["X", "enter"], content.ListPages)])
async def test_deletion_does_not_open_its_dialog_while_the_user_types(
    stage: Stage, keys: list[str], late: type[Operation[object]]
) -> None:
    async with stage.play() as run:
        await run.press("/", *"time and", "enter", *keys[1:] and ["X"])
        run.gate.shut(late)
        await run.press(keys[-1])
        await run.until(lambda: run.gate.waiting > 0, "load what the dialog shows")
        await run.press("escape", "C")
        composer = run.app.screen
        run.gate.open()
        await run.settle()
        assert run.app.screen is composer
        await run.press(*"yes")
        assert not run.gate.sent(content.Edit)
        await run.see("yes")


async def test_draft_of_a_page_that_cannot_be_discarded_is_reported(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        await leave_editor_file(run, page, three="four")
        await run.press("e")
        await run.see("Continue editing", "Discard the draft")
        await run.press("down", "down", "enter")
        await run.see("Discard your draft of Welcome?")
        allow = refuse_to_save(run.app.session.state)
        await run.press("y")
        await run.hear("Could not discard your draft: Nothing is being saved: ")
        allow()


async def test_conflict_does_not_replace_another_draft_of_the_page(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        text = await page_source(run, page)
        old_key, new_key = await edit_as_yuki(run, page, text)
        drafts = run.app.session.drafts
        for key, number in ((new_key, "six"), (old_key, "four")):
            await drafts.save(key.stored_key, text.replace("three questions", f"{number} questions"))
            await run.later(minutes=1)
        await run.press("e")
        await run.see("Save the draft to the server")
        await run.press("down", "enter")
        await run.see("conflict 1 of 1", "five questions", "four questions")
        texts = [each.text.text for each in page_drafts(drafts, HARBOUR.space_id, page)]
        assert sum("six questions" in each for each in texts) == 1
        assert sum("four questions" in each for each in texts) == 1


async def test_texts_of_several_killed_runs_are_all_kept(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        path = await leave_editor_file(run, page, three="four")
        for name, number in (
            (path.name.replace("-left", "-other"), "five"),
            (path.name.replace(".1.", ".2."), "six"),  # The number that the draft of the text before gets.
        ):
            path.with_name(name).write_text(path.read_text().replace("four", number))
        await run.press("e")
        await run.see("Continue editing")
        texts = [each.text.text for each in page_drafts(run.app.session.drafts, HARBOUR.space_id, page)]
        assert len(texts) == 3
        assert all(any(f"{number} questions" in each for each in texts) for number in ("four", "five", "six"))


async def test_text_of_a_killed_run_does_not_replace_a_newer_draft(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        path = await leave_editor_file(run, page, three="five")
        text = path.read_text().replace("five questions", "four questions")
        key = PageDraftKey(HARBOUR.space_id, page, path.name.split(".")[3])
        await run.app.session.drafts.save(key.stored_key, text)  # Another edit, because the editor was still open.
        await run.press("e")
        await run.see("Continue editing")
        texts = [each.text.text for each in page_drafts(run.app.session.drafts, HARBOUR.space_id, page)]
        assert sorted(number for each in texts for number in ("four", "five") if f"{number} questions" in each) == [
            "five",
            "four",
        ]


async def test_text_of_a_killed_run_replaces_the_draft_with_which_the_editor_was_opened(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        path = await leave_editor_file(run, page, three="five")
        text = path.read_text().replace("five questions", "four questions")
        key = PageDraftKey(HARBOUR.space_id, page, path.name.split(".")[3])
        await run.app.session.drafts.save(key.stored_key, text)
        note = path.with_name(f"{path.name}.json")
        note.touch()
        os.utime(note, times=(opened := run.clock().timestamp() + 1, opened))
        await run.press("e")
        await run.see("Continue editing")
        (draft,) = page_drafts(run.app.session.drafts, HARBOUR.space_id, page)
        assert "five questions" in draft.text.text


async def test_draft_that_is_edited_while_it_is_sent_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    replacements = [("three questions", "four questions"), ("four questions", f"five questions\n\n{MARKED}")]

    def edit(app: object, text: str, folder: Path, *, save_text: Callable[[str], str], **keywords: object) -> Edited:
        edited = text.replace(*replacements.pop(0))
        assert save_text(edited) == ""
        return Edited(edited)

    monkeypatch.setattr(page_edit, "edit_text", edit)
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        run.gate.shut(content.Edit)
        await run.press("e")
        await run.see("New change request")
        await run.press("enter")
        await run.until(lambda: run.gate.waiting > 0, "send the text")
        await run.press("e")
        await run.see("Continue editing")
        await run.press("enter")
        await run.see("Send Welcome with conflicts?")
        run.gate.open()
        await run.hear("Saved Welcome to #9 Edit Welcome.")
        await run.press("escape")
        await run.hear("Your text is saved as a draft.")
        (draft,) = page_drafts(run.app.session.drafts, HARBOUR.space_id, page)
        assert "five questions" in draft.text.text


EDITOR = """
import sys, time
from pathlib import Path

path = Path(sys.argv[-1])
path.write_text(path.read_text().replace("three questions", "four questions"))
print("the text is saved", flush=True)
time.sleep(60)
"""


@pytest.mark.long
def test_open_editor_text_of_a_killed_run_is_kept(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "editor.py").write_text(EDITOR)
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(tmp_path / "editor.py")]))
    with terminal(stage, size=(80, 24)) as running:
        running.wait_for("Measured and predicted", "e edit")
        running.write(b"e")
        running.wait_for("New change request")
        running.write(b"\r")
        running.wait_for("the text is saved")
        os.kill(running.pid, signal.SIGKILL)
        time.sleep(0.2)
    with terminal(stage, size=(80, 24)) as again:
        again.wait_for("unsent draft (press e to continue)")
        again.write(b"e")
        again.wait_for("Continue editing")
        again.write(b"\x1b[B\r")
        again.wait_for("#9 Edit Welcome", "four questions")


LINES = """
import sys
import time
from pathlib import Path

line, path = sys.argv[-2:]
print("opened at", line, repr(Path(path).read_text().split("\\n")[int(line) - 1]), flush=True)
sys.stdin.readline()
time.sleep(0.5)  # Octavo asks after an editor that ends sooner without a change
"""


@pytest.mark.before_release
def test_editor_opens_at_the_selected_block(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "editor.py").write_text(LINES)
    vim = tmp_path / "vim"
    vim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / "editor.py"))} "$@"\n')
    vim.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(vim))
    with terminal(stage, size=(80, 24)) as running:
        running.wait_for("Measured and predicted", "e edit")
        running.write(b"\t")
        running.write(b"G")
        running.wait_for("100% read")
        running.write(b"e")
        running.wait_for("New change request")
        running.write(b"\r")
        running.wait_for("opened at +28 'The gauge itself is described")
        running.write(b"\r")
        running.wait_for("You made no changes, so nothing was sent.")
        running.write(b"3")
        running.wait_for("Show what a refused")
        running.write(b"j\r")
        running.wait_for("change 1 of 2")
        running.write(b"\te")
        running.wait_for("opened at +3 'All times in requests and answers")
        running.write(b"\r")
        running.wait_for("You made no changes, so nothing was sent.")
