"""The external editor receives ctrl+c, and Octavo always keeps the text."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import Terminal
from tests.journeys.app_terminal import terminal
from tests.journeys.stage import Stage

CTRL_C, CTRL_BACKSLASH = b"\x03", b"\x1c"
ENDURING_EDITOR = """#!/bin/sh
trap 'echo INTERRUPTED' INT
trap 'echo ASKED TO QUIT' QUIT
echo EDITOR OPEN
until read -r line; do :; done
printf '%s' "$line" >> "$1"
"""
"""An editor, as a shell script, that ctrl+c does not end. The editor adds a line to the text."""
FRAGILE_EDITOR = """#!/bin/sh
printf 'half a sentence' >> "$1"
echo EDITOR OPEN
exec sleep 60
"""
"""An editor that adds text, and that ctrl+c ends."""
EDITOR_TEMPLATE = """#!{python}
import sys
from pathlib import Path
path = Path(sys.argv[-1])
raw = path.read_bytes()
path.write_bytes({what})
print("EDITOR OPEN", flush=True)
{then}
"""


def editor(folder: Path, script: str) -> str:
    program = folder / "my editor"
    program.write_text(script)
    program.chmod(0o700)
    return shlex.quote(str(program))


def editor_script(what: str, then: str = "") -> str:
    return EDITOR_TEMPLATE.format(python=sys.executable, what=what, then=then)


def saved_drafts(stage: Stage) -> list[str]:
    """Return the drafts on disk."""
    state = StateDb(stage.folder / "state", f"demo {stage.database.parent}")
    drafts = [draft.text for draft in Drafts(state).all()]
    state.close()
    return drafts


def editor_files(stage: Stage) -> list[Path]:
    """Return the files on disk that were opened in editors."""
    return sorted((stage.folder / "state" / "editing").glob("*.md"))


def open_in_composer(running: Terminal) -> None:
    """Begin a comment on the first page, and continue it in the editor."""
    running.wait_for("Harbour API › Welcome", "how deep is the water now")
    running.write(b"\r")
    running.wait_for("f follow link")
    running.write(b"c")
    running.wait_for("Comment on Welcome", "Write a comment")
    running.write(b"\x1b[200~My words\x1b[201~")
    running.wait_for("My words", "draft saved")
    running.write(b"\x05")
    running.wait_for("EDITOR OPEN")


@pytest.mark.before_release
def test_ctrl_c_in_an_editor_goes_to_the_editor(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, ENDURING_EDITOR))
    with terminal(stage, controls=True) as running:
        open_in_composer(running)
        for key, response in ((CTRL_C, "INTERRUPTED"), (CTRL_BACKSLASH, "ASKED TO QUIT")) * 2:
            running.write(key)
            running.wait_for(response)
        running.write(b", and more\r")
        running.wait_for("Comment on Welcome", "My words, and more", "draft saved")
        running.write(b"\x1b")
        running.wait_for("f follow link")
        running.write(b"\x11")
        assert running.end() == 0
    assert saved_drafts(stage) == ["My words, and more"]
    assert editor_files(stage) == []


@pytest.mark.before_release
def test_text_of_an_editor_ended_by_ctrl_c_can_be_opened_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, FRAGILE_EDITOR))
    with terminal(stage, controls=True) as running:
        open_in_composer(running)
        running.write(CTRL_C)
        running.wait_for("Comment on Welcome", "my editor was stopped with ctrl+c. Press ! to open your saved text.")
        assert [path.read_text() for path in editor_files(stage)] == ["My wordshalf a sentence"]
        open_again(running, tmp_path, "Saved your text as a draft: “Comment on Welcome”.")
        running.write(b"c")
        running.wait_for("Comment on Welcome", "My wordshalf a sentence!")
    assert saved_drafts(stage) == ["My wordshalf a sentence!"]
    assert editor_files(stage) == []


def open_again(running: Terminal, folder: Path, *messages: str) -> None:
    """Open the saved text from the activity, in an editor that makes the text valid."""
    editor(folder, editor_script("raw.replace(b'\\xff', b'?').replace(b'\\0', b'')[:90000].rstrip(b'.') + b'!'"))
    running.write(b"\x1b")
    running.settle(0.3, wait=1.0)
    running.write(b"!")
    running.wait_for("DRAFTS FROM YOUR EDITOR", "Press enter to open the draft")
    running.write(b"\r")
    running.wait_for(*messages)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        pytest.param("raw + b' caf\\xff'", "it is not valid UTF-8", id="not UTF-8"),
        # `tests/tui/terminal/test_external_editor.py` covers the messages and the saved text of all cases.
        pytest.param("raw + b' nothing\\0'", "it contains NUL characters", id="NUL", marks=pytest.mark.long),
        pytest.param(
            "raw + b' much' + b'.' * 2**20", "it is larger than 1 MiB", id="too large", marks=pytest.mark.long
        ),
    ],
)
def test_text_that_cannot_be_sent_survives_a_kill(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, why: str
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, editor_script(what)))
    with terminal(stage) as running:
        open_in_composer(running)
        running.wait_for("Comment on Welcome", why, "Press ! to open your saved")
        os.kill(running.pid, signal.SIGKILL)
    (before,) = editor_files(stage)
    words = before.read_bytes()
    assert words.startswith(b"My words")
    with terminal(stage) as again:
        again.wait_for("Your draft “Comment on Welcome” was not sent. Press ! to open it.")
        assert before.read_bytes() == words
        open_again(again, tmp_path, "Saved your text as a draft: “Comment on Welcome”.")
        again.write(b"c")
        again.wait_for("Comment on Welcome", "!", "draft")
    (draft,) = saved_drafts(stage)
    assert draft.startswith("My words")
    assert editor_files(stage) == []


@pytest.mark.before_release
def test_page_that_cannot_be_sent_is_kept_and_sent_later(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, editor_script("raw.replace(b'three', b'f\\xff')")))
    with terminal(stage) as running:
        running.wait_for("Harbour API › Welcome", "e edit")
        running.write(b"e")
        running.wait_for("New change request")
        running.write(b"\r")
        running.wait_for("Could not send the text: it is not valid UTF-8. Press ! to open your saved text.")
        open_again(running, tmp_path, "Continue editing", "Save the draft to the server")
        running.write(b"\x1b[B\r")
        running.wait_for("#9 Edit Welcome")
    assert editor_files(stage) == []


def test_editor_text_of_a_comment_is_a_draft_after_a_kill(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, editor_script("raw + b' and more'", "import time; time.sleep(60)")))
    with terminal(stage) as running:
        open_in_composer(running)
        os.kill(running.pid, signal.SIGKILL)
    with terminal(stage) as again:
        again.wait_for("Saved your text as a draft: “Comment on Welcome”.")
    assert saved_drafts(stage) == ["My words and more"]
    assert editor_files(stage) == []


def test_text_without_a_place_is_kept_if_it_is_too_long_to_copy(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, editor_script("raw + b'!'")))
    file = stage.folder / "state" / "editing" / "comment-left.md"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text("word " * 20_000)
    with terminal(stage) as running:
        running.wait_for("Press ! to open it.")
        running.write(b"!")
        running.wait_for("DRAFTS FROM YOUR EDITOR", "Press enter to open the draft")
        running.write(b"\r")
        running.wait_for("Could not copy the draft: it is too long")
    assert file.read_text() == "word " * 20_000 + "!"


@pytest.mark.before_release
def test_kept_editor_text_is_discarded_only_on_request(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, editor_script("b'caf\\xff'")))
    with terminal(stage) as running:
        open_in_composer(running)
        running.wait_for("Press ! to open your saved text.")
        running.write(b"\x1b")
        running.settle(0.3, wait=1.0)
        running.write(b"!")
        running.wait_for("DRAFTS FROM YOUR EDITOR", "Comment on Welcome")
        running.write(b"X")
        running.wait_for("Discard your draft “Comment on Welcome”?")
        assert len(editor_files(stage)) == 1
        running.write(b"y")
        running.settle(0.3, wait=1.0)
    assert editor_files(stage) == []
