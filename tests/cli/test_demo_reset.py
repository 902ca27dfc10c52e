"""`octavo demo --reset` is refused while the demo is open in another process."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.journeys.conftest import library

__all__ = ["library"]

CTRL_Q = b"\x11"
REFUSED = (
    "octavo: Could not reset the demo: it is open in another terminal. Quit Octavo there, then run octavo demo --reset"
)


@pytest.fixture
def home(library: Path, tmp_path: Path) -> Path:
    """Return a home with a demo in which a comment was saved."""
    (demo := tmp_path / "data" / "demo").mkdir(parents=True, mode=0o700)
    shutil.copyfile(library, demo / "platform.db")
    with closing(sqlite3.connect(demo / "platform.db")) as db, db:
        db.execute("INSERT INTO settings VALUES ('comment', 'sent')")
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    folders = {f"OCTAVO_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**folders, "HOME": str(home), **THIS_TREE}


def demo(home: Path, *options: str) -> Terminal:
    return Terminal([sys.executable, "-m", "octavo", "demo", *options], environment(home))


def has_comment(home: Path) -> bool:
    """Return True if the demo still has its comment."""
    with closing(sqlite3.connect(home / "data" / "demo" / "platform.db")) as db:
        return bool(db.execute("SELECT value FROM settings WHERE name = 'comment'").fetchall())


def assert_refused(home: Path) -> None:
    key = (home / "data" / "demo" / "key").read_bytes()
    with demo(home, "--reset") as second:
        assert second.end() == 1
        second.look()
        assert REFUSED in " ".join(second.screen.split())
    assert has_comment(home)
    assert (home / "data" / "demo" / "key").read_bytes() == key


def assert_reset(home: Path) -> None:
    with demo(home, "--reset") as app:
        app.wait_for("updated")
        app.write(CTRL_Q)
        assert app.end() == 0
    assert not has_comment(home)


@pytest.mark.before_release
def test_killed_octavo_does_not_block_a_reset(home: Path) -> None:
    with demo(home) as first:
        first.wait_for("updated")
        subprocess.run(["kill", "-KILL", str(first.pid)], check=True)
        first.end()
    assert_reset(home)


@pytest.mark.before_release
def test_reset_is_refused_until_both_open_demos_have_ended(home: Path) -> None:
    with demo(home) as first, demo(home, "--as", "reviewer") as second:
        first.wait_for("updated")
        second.wait_for("updated", "as reviewer")
        first.write(CTRL_Q)
        assert first.end() == 0
        assert_refused(home)
        second.write(CTRL_Q)
        assert second.end() == 0
    assert_reset(home)


@contextmanager
def running_server(home: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "octavo", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment(home)}) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith("Serving on")
        yield
        serving.terminate()


def test_reset_is_refused_while_the_demo_is_served(home: Path) -> None:
    with running_server(home):
        assert_refused(home)


def test_reset_that_cannot_delete_drafts_changes_nothing_and_says_so(home: Path) -> None:
    (home / "state" / "state.db").mkdir(parents=True)  # SQLite cannot open a folder.
    with demo(home, "--reset") as app:
        assert app.end() == 1
        app.look()
        shown = " ".join(app.screen.split())
    assert "octavo: " in shown
    assert "Traceback" not in shown
    assert has_comment(home)
