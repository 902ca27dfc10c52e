"""Octavo reports drafts and writes that cannot be saved on disk."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from octavo.api import comments
from octavo.data import database, drafts
from octavo.data.drafts import Drafts
from octavo.data.state_db import NotSaved, StateDb
from octavo.tui.app import quitting
from octavo.tui.app.quitting import UNSAVED_FILE_PREFIX
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.terminal.external_editor import FileNote, write_file
from tests.data.connections import refuse_to_save
from tests.journeys.stage import MARA, Stage


@pytest.mark.before_release
async def test_failed_undo_is_reported_and_can_be_retried(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("d")
        await run.see("Open 71")
        allow = refuse_to_save(run.app.session.state)
        await run.press("u")
        await run.hear("Could not undo your last change: Nothing is being saved: ")
        allow()
        await run.press("u")
        await run.hear("Canceled: resolve the thread · ")
        await run.see("Open 72")


@pytest.mark.before_release
async def test_failed_retry_and_discard_are_reported(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        run.platform.refuse_next(comments.Update, 403, "Not now.")
        await run.press("d")
        await run.later(seconds=6)
        await run.press("!")
        await run.see("FAILED", "failed", "resolve the thread")
        allow = refuse_to_save(run.app.session.state)
        await run.press("r")
        await run.hear("Could not send “resolve the thread” again: Nothing is being saved: ")
        await run.press("X")
        await run.see("Discard this change?", "resolve the thread")
        await run.press("y")
        await run.hear("Could not discard “resolve the thread”: Nothing is being saved: ")
        await run.see("FAILED", "failed")
        allow()
        await run.press("X", "y")
        await run.gone("FAILED")


async def test_change_sent_before_its_discard_is_confirmed_is_not_discarded(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.press("d", "!")
        await run.see("sending soon", "resolve the thread")
        await run.press("g", "X")  # The list may have been opened before the change was stored.
        await run.see("Discard this change?", "This change will not be sent.")
        assert "kept as a draft" not in run.text
        await run.sent()
        await run.press("y")
        await run.hear("Could not discard “resolve the thread”: it is being sent or was already sent.")


@pytest.mark.before_release
async def test_locked_database_does_not_stop_typing(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "THREADS  2 open")
        state = run.app.session.state
        state.write_now(lambda db: None)
        with closing(sqlite3.connect(stage.folder / "state" / "state.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await run.press("c")
            await run.pilot.press(*"Hello")
            await run.pilot.press("escape")
            assert "Hello" not in run.text, "the composer must close before the draft is saved"
            other.execute("ROLLBACK")
        run.app.session.drafts.flush()
        again = StateDb(stage.folder / "state", state.namespace)
        assert [draft.text for draft in Drafts(again).all()] == ["Hello"]
        again.close()
        await run.settle()
        await run.press("c")
        await run.see("Hello", "draft")
        await run.press("ctrl+s")
        await run.sent()
        assert run.app.session.drafts.all() == ()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite wait only briefly for a locked file."""
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.2)


@contextmanager
def lock_state_file(stage: Stage) -> Iterator[None]:
    """Lock the state file, as another program could."""
    with closing(sqlite3.connect(stage.folder / "state" / "state.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_row_shows_an_unsaved_draft_until_it_is_saved(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 4 * drafts.LATE_SAVE_SECONDS)
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.app.session.state.write_now(lambda db: None)
        with lock_state_file(stage):
            await run.press("c")
            await run.type("Half a thought")
            await run.pilot.press("escape")
            await run.see("! not saved yet", "1 draft not saved yet: ", "another program is using the file")
            assert "✎ draft" not in run.text
            await run.pilot.press("c")
            await run.see("Could not save the draft: another program is using the file. Octavo is retrying.")
            assert "draft kept" not in run.text
            await run.pilot.press("escape")
        await run.see("✎ draft")
        await run.gone("not saved yet")
        await run.settle()
    assert drafts_on_disk(stage) == ["Half a thought"]


@pytest.mark.before_release("q")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("keys", [("ctrl+q",), ("q", "q")], ids=lambda keys: keys[0])
async def test_quitting_asks_before_a_draft_is_lost(stage: Stage, keys: tuple[str, ...]) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.app.session.state.write_now(lambda db: None)
        with lock_state_file(stage):
            await run.press("c")
            await run.type("Half a thought")
            await run.pilot.press("escape", *keys)
            await run.see(
                "Quit and discard unsaved drafts?", "14 characters: Half a thought", "another program is using the file"
            )
            await run.pilot.press("c")
            assert run.app.clipboard == "Half a thought"
            await run.pilot.press("w")
            await run.see("Save the unsaved drafts?")
            await run.pilot.press("ctrl+u", *str(stage.folder / "kept.md"), "enter")
            await run.see("Saved the unsaved drafts to")
            assert (stage.folder / "kept.md").read_text() == "Half a thought"
            await run.pilot.press("escape")
            await run.gone("Quit and discard")
            assert not run.app.is_ending
            await run.pilot.press(*keys)
            await run.see("Quit and discard unsaved drafts?")
        await run.see("All drafts are saved now.")
        await run.press("y")
        assert run.app.is_ending
    assert drafts_on_disk(stage) == ["Half a thought"]


@pytest.mark.usefixtures("impatient")
async def test_long_unsaved_draft_is_not_said_to_be_copied(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.app.session.state.write_now(lambda db: None)
        with lock_state_file(stage):
            await run.press("c")
            await run.type("word " * 20_000)
            await run.pilot.press("escape", "ctrl+q")
            await run.see("Quit and discard unsaved drafts?")
            await run.pilot.press("c")
            await run.see("Could not copy: the text is too long")
            assert "Copied 1 draft." not in run.said
            await run.pilot.press("escape")
        await run.gone("Quit and discard")


async def test_file_of_an_unsaved_draft_is_kept_if_there_is_a_newer_draft(stage: Stage) -> None:
    key = "comment harbour-api harbour-api-page-1 b"
    async with stage.play() as run:
        DialogDraft(run.app, key).save_now("A newer text")
        note = FileNote("A comment", key, run.app.session.state.namespace)
    file = write_file("An older text", stage.folder / "state" / "editing", UNSAVED_FILE_PREFIX, ".md", note)
    os.utime(file, (0, 0))
    async with stage.play() as run:
        await run.hear("Your draft “A comment” was not sent. Press ! to open it.")
        await run.press("!")
        await run.see("Octavo wrote this file because the draft could not be saved.")
    assert file.read_text() == "An older text"
    assert drafts_on_disk(stage) == ["A newer text"]


async def test_file_of_a_form_does_not_replace_a_newer_draft_of_the_form(stage: Stage) -> None:
    key = "form site new /orgs/saltmarsh/sites"
    async with stage.play() as run:
        note = FileNote("New site", key, run.app.session.state.namespace)
        quitting._save_draft(run.app, note, '{"title": "Tides"}')
        quitting._save_draft(run.app, note, '{"title": "Tides"}')
        with pytest.raises(NotSaved, match="The form has a newer draft"):
            quitting._save_draft(run.app, note, '{"title": "Moon"}')
    assert drafts_on_disk(stage) == ['{"title": "Tides"}']


@pytest.mark.usefixtures("impatient")
async def test_quitting_discards_an_unsaved_open_draft_only_after_yes(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        run.app.session.state.write_now(lambda db: None)
        with lock_state_file(stage):
            await run.press("c")
            await run.type("Half a thought")
            await run.pilot.press("ctrl+q")
            await run.see("Quit and discard unsaved drafts?")
            await run.pilot.press("y")
            await run.until(lambda: run.app.is_ending)
    assert list((stage.folder / "state").glob("editing/unsaved-*")) == []


@pytest.mark.usefixtures("impatient")
async def test_quitting_asks_before_an_unsaved_form_is_lost(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart")
        await run.press("3")
        await run.see("#")
        run.app.session.state.write_now(lambda db: None)
        with lock_state_file(stage):
            await run.pilot.press("ctrl+n")
            await run.see("New change request")
            await run.type("A subject nobody saw")
            await run.pilot.press("ctrl+q")
            await run.see("Quit and discard unsaved drafts?", "A subject nobody saw")
            await run.pilot.press("escape")
            await run.see("1 draft not saved yet")
        await run.gone("not saved yet")
    assert drafts_on_disk(stage) == ["A subject nobody saw"]


@pytest.mark.usefixtures("impatient")
async def test_draft_unsaved_at_the_end_of_the_app_is_restored(stage: Stage) -> None:
    with ExitStack() as lock_until_exit:
        async with stage.play(start="comments") as run:
            await run.see("Open 72")
            await run.press("c")
            await run.type("Sixteen letters.")
            await run.press("escape")
            await run.see("✎ draft")
            lock_until_exit.enter_context(lock_state_file(stage))
            await run.press("c")
            await run.type(" And three thousand more.")
            os.kill(os.getpid(), signal.SIGTERM)
            await run.until(lambda: run.app.is_ending)
    assert drafts_on_disk(stage) == ["Sixteen letters."]
    async with stage.play(start="comments") as run:
        await run.hear("as a draft")
        await run.press("c")
        await run.see("Sixteen letters. And three thousand more.", "draft")
        await run.press("escape")
    assert drafts_on_disk(stage) == ["Sixteen letters. And three thousand more."]
    assert list((stage.folder / "state" / "editing").iterdir()) == []


def drafts_on_disk(stage: Stage) -> list[str]:
    state = StateDb(stage.folder / "state", f"demo {MARA}")
    texts = [draft.text for draft in Drafts(state).all()]
    state.close()
    return texts
