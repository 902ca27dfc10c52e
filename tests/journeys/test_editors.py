"""The person's own editor under Octavo: Ctrl-C is for the editor, and what it wrote is kept whatever it is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from octavo.data.drafts import Drafts
from octavo.data.state import State
from tests.benchmarks.terminal import Terminal
from tests.journeys.stage import Stage
from tests.journeys.terminals import terminal

CTRL_C, CTRL_BACKSLASH = b"\x03", b"\x1c"
WATCHFUL = """#!/bin/sh
trap 'echo INTERRUPTED' INT QUIT
echo EDITOR OPEN
until read -r line; do :; done
printf '%s' "$line" >> "$1"
"""
"""An editor, as a shell script, that Ctrl-C does not end. It adds a line to the text."""
HEEDLESS = """#!/bin/sh
printf 'half a sentence' >> "$1"
echo EDITOR OPEN
while :; do sleep 60; done
"""
"""One that Ctrl-C ends, with something written."""
WRITES = """#!{python}
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


def writes(what: str, then: str = "") -> str:
    return WRITES.format(python=sys.executable, what=what, then=then)


def kept(stage: Stage) -> list[str]:
    """The drafts on disk."""
    state = State(stage.folder / "state", f"demo {stage.database.parent}")
    drafts = [draft.text for draft in Drafts(state).all()]
    state.close()
    return drafts


def left(stage: Stage) -> list[Path]:
    """The files of editors on disk."""
    return sorted((stage.folder / "state" / "editing").glob("*.md"))


def open_in_composer(running: Terminal) -> None:
    """Begin a comment on the first page, and go on in the editor."""
    running.wait_for("Harbour API › Welcome", "how deep is the water now")
    running.write(b"\r")
    running.wait_for("f links")
    running.write(b"c")
    running.wait_for("Comment on Welcome", "Write a comment")
    running.write(b"\x1b[200~My words\x1b[201~")
    running.wait_for("My words", "draft kept")
    running.write(b"\x05")
    running.wait_for("EDITOR OPEN")


@pytest.mark.parametrize("key", [CTRL_C, CTRL_BACKSLASH])
def test_ctrl_c_in_an_editor_is_for_the_editor(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, WATCHFUL))
    with terminal(stage, "octavo", "demo", controls=True) as running:
        open_in_composer(running)
        for _ in range(3):
            running.write(key)
            running.wait_for("INTERRUPTED")
        running.write(b", and more\r")
        running.wait_for("Comment on Welcome", "My words, and more", "draft kept")
        running.write(b"\x1b")
        running.wait_for("f links")
        running.write(b"\x11")
        assert running.end() == 0
    assert kept(stage) == ["My words, and more"]
    assert left(stage) == []


def test_an_editor_that_ctrl_c_ends_leaves_what_it_wrote_to_be_opened_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, HEEDLESS))
    with terminal(stage, "octavo", "demo", controls=True) as running:
        open_in_composer(running)
        running.write(CTRL_C)
        running.wait_for("Comment on Welcome", "! opens it again")
        assert [path.read_text() for path in left(stage)] == ["My wordshalf a sentence"]
