from __future__ import annotations

import os
import signal
import stat
import sys

import pytest

from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import Terminal
from tests.journeys.app_terminal import output_of, prepare_environment, terminal
from tests.journeys.stage import Stage

ALTERNATE_SCREEN_LEFT, CURSOR_SHOWN, MOUSE_OFF = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l"
WORDS = "Half a thought, and the terminal goes."
FAILING_APP = (sys.executable, "-m", "tests.journeys.failing_app")
F11, F12, CTRL_Q = b"\x1b[23~", b"\x1b[24~", b"\x11"


def write_a_comment(running: Terminal) -> None:
    """Begin a comment on the first page."""
    running.wait_for("Harbour API › Welcome", "how deep is the water now")
    running.write(b"\r")
    running.wait_for("f follow link")
    running.write(b"c")
    running.wait_for("Comment on Welcome", "Write a comment")
    running.write(b"\x1b[200~" + WORDS.encode() + b"\x1b[201~")
    running.wait_for(WORDS)


def saved_drafts(stage: Stage) -> list[str]:
    """Return the drafts on disk."""
    state = StateDb(stage.folder / "state", f"demo {stage.database.parent}")
    drafts = [draft.text for draft in Drafts(state).all()]
    state.close()
    return drafts


def is_restored(running: Terminal, before: list[object]) -> bool:
    """Return whether screen, cursor, mouse and keyboard modes of the terminal are restored."""
    sent = output_of(running)
    return running.modes() == before and all(end in sent for end in (ALTERNATE_SCREEN_LEFT, CURSOR_SHOWN, MOUSE_OFF))


@pytest.mark.parametrize("number", [signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_text_in_the_editor_is_a_draft_after_the_terminal_closes(stage: Stage, number: signal.Signals) -> None:
    with terminal(stage) as running:
        before = running.modes()
        write_a_comment(running)
        os.kill(running.pid, number)
        assert running.end() == 0
        assert is_restored(running, before)
    assert saved_drafts(stage) == [WORDS]
    with terminal(stage) as again:
        again.wait_for("Harbour API › Welcome", "how deep is the water now")
        again.write(b"\r")
        again.wait_for("f follow link")
        again.write(b"c")
        again.wait_for("Comment on Welcome", WORDS, "draft")


@pytest.mark.before_release
def test_text_typed_right_before_a_hangup_is_saved(stage: Stage) -> None:
    with terminal(stage) as running:
        write_a_comment(running)
        running.wait_for("draft saved")
        running.write(b"!")
        running.wait_for(WORDS + "!")
        os.kill(running.pid, signal.SIGHUP)
        assert running.end() == 0
    assert saved_drafts(stage) == [WORDS + "!"]


def test_text_typed_together_with_ctrl_q_is_saved(stage: Stage) -> None:
    with terminal(stage) as running:
        write_a_comment(running)
        running.write(b"!?" + CTRL_Q)
        assert running.end() == 0
    assert saved_drafts(stage) == [WORDS + "!?"]


def test_ctrl_q_quits_while_the_screen_handles_no_messages(stage: Stage) -> None:
    with Terminal(FAILING_APP, prepare_environment(stage)) as running:
        running.wait_for("Harbour API › Welcome")
        running.write(F11 + b"j" + CTRL_Q)
        code = running.end()
        assert code == 0, output_of(running)[-3000:]


@pytest.mark.before_release
def test_quitting_restores_the_terminal_modes(stage: Stage) -> None:
    with terminal(stage) as running:
        before = running.modes()
        running.wait_for("Harbour API › Welcome")
        running.write(CTRL_Q)
        assert running.end() == 0
        assert is_restored(running, before)


@pytest.mark.before_release
def test_crash_message_shows_no_secrets_and_drafts_are_kept(stage: Stage) -> None:
    with Terminal(FAILING_APP, prepare_environment(stage)) as running:
        before = running.modes()
        write_a_comment(running)
        running.write(b"\x1b")
        running.settle(0.2, wait=1.0)
        running.write(F12)
        code = running.end()
        assert is_restored(running, before)
    assert code != 0
    output = output_of(running).rpartition(ALTERNATE_SCREEN_LEFT)[2].decode()
    key = (stage.database.parent / "key").read_text().strip()
    assert "Octavo crashed: RuntimeError: a bug with" in output
    assert "Your drafts and unsent comments are saved." in output
    (report,) = (stage.folder / "state").glob("crash-*.txt")
    assert str(report) in output.replace("\r\n", "")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    for text in (output, report.read_text()):
        assert key not in text
        assert "what a local variable holds" not in text
    assert "action_fail" in report.read_text()
    assert saved_drafts(stage) == [WORDS]
