"""Keys, pastes and environment variables, as real terminals send them."""

from __future__ import annotations

import pytest

from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from tests.journeys.app_terminal import terminal
from tests.journeys.stage import Stage


@pytest.mark.before_release
def test_escape_and_a_key_sent_together_by_tmux_both_act(stage: Stage) -> None:
    with terminal(stage) as running:
        running.wait_for("Harbour API › Welcome", "how deep is the water now")
        running.write(b"\r")
        running.wait_for("f follow link")
        running.write(b"c")
        running.wait_for("Comment on Welcome", "Write a comment")
        running.write(b"two words")
        running.wait_for("two words")
        running.write(b"\x1bb")  # Alt+b has a key binding, which moves to the previous word.
        running.settle()
        running.write(b"-")
        running.wait_for("two -words")
        running.write(b"\x1b4")
        running.wait_for("Comments · ")
        running.write(b"\x1b?")
        running.wait_for("Help")


def test_pasted_escape_sequences_are_text_and_not_keys(stage: Stage) -> None:
    with terminal(stage) as running:
        running.wait_for("Harbour API › Welcome", "how deep is the water now")
        running.write(b"\r")
        running.wait_for("f follow link")
        running.write(b"c")
        running.wait_for("Comment on Welcome", "Write a comment")
        running.write(b"\x1b[200~one \x1b[31mred\x1b[0m\x1bq\x1b[A word\x1b[201~!")
        running.wait_for("word!", "draft saved")
        running.write(b"\x11")
        assert running.end() == 0
    state = StateDb(stage.folder / "state", f"demo {stage.database.parent}")
    assert [each.text for each in Drafts(state).all()] == ["one ␛[31mred␛[0m␛q␛[A word!"]
    state.close()


@pytest.mark.before_release
def test_terminal_size_overrides_exported_columns_and_lines(stage: Stage) -> None:
    with terminal(stage, COLUMNS="40", LINES="10") as running:
        running.wait_for("Harbour API › Welcome", "how deep is the water now", "? help")
        rows = running.screen.splitlines()
        assert "6 Admin" in rows[0]
        assert "? help" in rows[35], "the key bar must be in the last row of the terminal"
