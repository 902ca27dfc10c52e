"""Conflicts are resolved in the app, and no text of either side is lost."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from octavo.api import change_requests, content
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.documents.source_reader import find_markers
from tests.benchmarks.terminal import Terminal
from tests.journeys.app_terminal import output_of, terminal
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.tours import ambiguous_keys


async def open_conflicting_change_request(run: Run) -> None:
    await run.press("/", *"retry", "enter")
    await run.see("1 of ")
    await run.press("enter")
    await run.see("#4 Correct the retry schedule", "page 1 of 2")


async def edit_meanwhile(run: Run, at: ChangeRequestRef) -> None:
    """Edit another page of the change request as another user."""
    tree = await run.ask(content.ListPages(at=at), MARA)
    page = next(page for page in tree.walk() if page.title == "Quickstart")
    body = content.DocumentBody(markdown="# Quickstart\n\nBegin here.\n")
    await run.ask(content.Edit(at=at, changes=(content.UpdatePage(page=page.id, document=body),), compat=False), MARA)


async def test_conflict_choices_survive_a_restart_and_are_merged(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_conflicting_change_request(run)
        await run.press("U")
        await run.see("may conflict: Retries", "~ Webhooks")
        await run.press("y")
        await run.see("Conflict 1 of 1", "Not resolved", "turn retries off", "vary by up to 10 %")
        assert len(run.gate.sent(change_requests.UpdateFromMain)) == 1
        assert not ambiguous_keys(run)
        await run.press("ctrl+s")
        await run.hear("Resolve all conflicts on at least one page first. To resolve a conflict, press m, t, b, or e.")
        await run.press("m", "m")
        await run.see("0 of 1 resolved")
        await run.press("b")
        await run.see("✓ Both chosen", "Result", "1 of 1 resolved")
        await run.quit()
    async with stage.play(start="changes") as run:
        await open_conflicting_change_request(run)
        await run.press("R")
        await run.see("✓ Both chosen")
        await edit_meanwhile(run, run.gate.sent(change_requests.Get)[-1].at)
        await run.press("ctrl+s")
        await run.hear(
            "Could not save your choices in #4: the change request was edited at the same time. "
            "Octavo loaded the conflicts that are left."
        )
        assert not run.gate.sent(content.Edit)
        await run.see("✓ Both chosen")
        await run.pilot.press("ctrl+s", "ctrl+s")
        await run.hear("Resolved 1 conflict in #4.")
        await run.see("page 2 of 3", "turn retries off")
        assert len(run.gate.sent(content.Edit)) == 1
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #4.")
        space = run.gate.sent(change_requests.Merge)[0].at.space_id
        tree = await run.ask(content.ListPages(at=SpaceRef(space_id=space)), MARA)
        page = next(page for page in tree.walk() if page.title == "Retries")
        retries = await run.ask(content.GetPage(at=SpaceRef(space_id=space), page_id=page.id, format="markdown"), MARA)
        said = retries.markdown or ""
        assert not find_markers(said)
        for words in ("turn retries off", "vary by up to 10 %", "67 h 11 min", "## Turn retries off"):
            assert words in said


PASTE_ENABLED = b"\x1b[?2004h"
"""The sequence that enables bracketed paste when the app starts."""
EDITOR = """
import sys
import time
from pathlib import Path

path, way = Path(sys.argv[-1]), Path(sys.argv[1]).read_text()
text = path.read_text()
time.sleep(0.5)  # Octavo asks after an editor that ends sooner without a change
input("\\x1b[2Jthe editor is open")
if way == "saved":
    path.write_text(text.rstrip("\\n") + "\\n")
elif way == "deleted":
    path.unlink()
elif way == "failed":
    path.write_text("What I began to say.")
    sys.exit(3)
elif way == "wrote":
    path.write_text(text.replace("What I began", "What I wanted"))
"""


def edit(running: Terminal) -> None:
    """Open and close the editor, and wait until the app reads keys again. A key between the two programs may be
    lost."""
    before = output_of(running).count(PASTE_ENABLED)
    running.write(b"e")
    running.wait_for("the editor is open")
    running.write(b"\r")
    while running.running and output_of(running).count(PASTE_ENABLED) == before:
        running.read(0.1)


@pytest.mark.before_release
def test_closing_the_editor_unchanged_resolves_nothing(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = tmp_path / "way"
    (tmp_path / "editor.py").write_text(EDITOR)
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(tmp_path / "editor.py"), str(ending)]))
    with terminal(stage) as running:
        running.wait_for("Measured and predicted")
        for key, *words in (
            (b"3", "7 of 7", "m merge"),
            (b"/", "enter apply"),
            (b"retry", "1 of 7 shown"),
            (b"\r", "enter open"),
            (b"\r", "page 1 of 2", "n next change"),
            (b"U", "may conflict: Retries"),
            (b"y", "0 of 1 resolved", "Not resolved yet. m main", "e edit"),
        ):
            running.write(key)
            running.wait_for(*words)
        for name, said in (
            ("quit", "You changed nothing, so the conflict is not resolved"),
            ("saved", "You changed nothing, so the conflict is not resolved"),
            ("deleted", "the editor deleted the file"),
            ("failed", "exited with status 3"),
        ):
            ending.write_text(name)
            edit(running)
            running.wait_for(said, "0 of 1 resolved", "Not resolved")
            assert "Edited" not in running.screen
        ending.write_text("wrote")
        edit(running)
        running.wait_for("✓ Edited", "What I wanted to say.", "1 of 1 resolved")
        running.write(b"m")
        running.wait_for("✓ Main chosen")
        ending.write_text("quit")
        edit(running)
        running.wait_for("You changed nothing, so your earlier choice is kept.", "✓ Main chosen")
