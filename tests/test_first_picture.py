"""The picture of the first screen: when it is shown, when it is not, and in what state it leaves the terminal."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from octavo.data.state_db import StateDb
from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.journeys.conftest import hide_greeting, library

__all__ = ["library"]

PAGE, OTHER = "The Harbour API answers", "Your first tide"
CTRL_Q, ENTER = b"\x11", b"\r"
LEFT = b"\x1b[?1049l"


@pytest.fixture(scope="module")
def opened_home(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder in which the demo was open until its first picture was saved."""
    folder = tmp_path_factory.mktemp("known")
    (demo_folder := folder / "data" / "demo").mkdir(parents=True, mode=0o700)
    shutil.copyfile(library, demo_folder / "platform.db")
    hide_greeting(folder)
    with demo(folder) as first:
        first.wait_for("Inbox", "updated")
        first.write(b"2")
        first.wait_for(PAGE, OTHER, "updated")
        while not pictures(folder):
            first.read(0.1)
        quit_from(first)
    return folder


@pytest.fixture
def home(opened_home: Path, tmp_path: Path) -> Path:
    """Return a copy of the home folder that a test may change."""
    shutil.copytree(opened_home, tmp_path / "home")
    # Facts are stored per demo folder, and the copy is another folder.
    hide_greeting(tmp_path / "home")
    state = StateDb(tmp_path / "home" / "state", f"demo {tmp_path / 'home' / 'data' / 'demo'}")
    state.set_value("view", "content")
    state.close()
    return tmp_path / "home"


def demo(home: Path, *options: str, columns: int = 120, **environ: str) -> Terminal:
    folders = {f"OCTAVO_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {**folders, "HOME": str(home), **THIS_TREE, **environ}
    return Terminal([sys.executable, "-m", "octavo", "demo", *options], environment, columns=columns)


def quit_from(app: Terminal) -> None:
    app.write(CTRL_Q)
    assert app.end() == 0


def pictures(home: Path) -> list[Path]:
    return list((home / "cache").glob("first-screen-????????"))


def is_shown_before_the_app(app: Terminal) -> bool:
    """Return True if the page was on the screen before the app queried the terminal."""
    app.wait_for(PAGE)
    return not any(b"\x1b[?1003h" in chunk.data for chunk in app.chunks)


def test_picture_is_shown_and_keys_typed_meanwhile_reach_the_app(home: Path) -> None:
    with demo(home) as app:
        assert is_shown_before_the_app(app)
        assert "○ cached" in app.screen
        assert "● updated" not in app.screen
        app.write(b"s")  # The key waits in the terminal until the app reads it.
        app.wait_for("Search everywhere")
        app.write(b"\x1b")
        app.wait_for("● updated")
        quit_from(app)
        # The app started on the alternate screen of the picture and left the screen once.
        written = b"".join(chunk.data for chunk in app.chunks)
        assert (written.count(b"\x1b[?1049h"), written.count(LEFT)) == (1, 1)


@pytest.mark.long
def test_next_start_shows_the_last_inbox(home: Path) -> None:
    for kept in ("state", "cache"):
        shutil.rmtree(home / kept)
    with demo(home) as app:
        app.wait_for("REVIEW REQUESTED", "17 of 17", "updated")
        while not pictures(home):  # The greeting covers the inbox for some seconds.
            app.read(0.1)
        quit_from(app)
    with demo(home) as app:
        app.wait_for("17 of 17")
        assert not any(b"\x1b[?1003h" in chunk.data for chunk in app.chunks)
        app.wait_for("● updated")
        quit_from(app)


@pytest.mark.long
def test_picture_is_not_shown_in_another_kind_of_terminal(home: Path) -> None:
    for app in (demo(home, columns=121), demo(home, TERM="xterm"), demo(home, OCTAVO_THEME="light")):
        with app:
            assert not is_shown_before_the_app(app)


@pytest.mark.long
def test_picture_is_not_shown_after_a_reset(home: Path) -> None:
    with demo(home, "--reset") as app:
        app.wait_for("REVIEW REQUESTED")
        assert any(b"\x1b[?1003h" in chunk.data for chunk in app.chunks)


@pytest.mark.long
def test_reset_in_another_role_deletes_the_picture(home: Path) -> None:
    (kept,) = pictures(home)
    with demo(home, "--reset", "--as", "reader") as app:
        app.wait_for("DEMO as reader")
    assert not kept.exists()


@pytest.mark.long
def test_damaged_picture_is_not_shown(home: Path) -> None:
    (kept,) = pictures(home)
    kept.write_text(kept.read_text(encoding="utf-8") + "\x1b]52;c;aGk=\x07", encoding="utf-8")
    with demo(home) as app:
        assert not is_shown_before_the_app(app)


SHOW = """
import os, sys
from pathlib import Path
from octavo.first_picture import FirstPicture

picture = FirstPicture(Path(sys.argv[1]), "a place", "a look")
if sys.argv[2:]:
    picture.save(["a row"] * os.get_terminal_size(2).lines)
is_shown = picture.show()
picture.take_down()
print("It was shown." if is_shown else "Nothing was shown.")
"""
"""A program that shows the picture as the app does before its import. With an argument, it first stores a picture."""


def is_shown(folder: Path, *keep: str) -> bool:
    with Terminal([sys.executable, "-c", SHOW, str(folder), *keep], THIS_TREE) as program:
        program.wait_for("shown.")
        assert program.end() == 0
        written = b"".join(chunk.data for chunk in program.chunks)
        assert (b"a row" in written) == ("It was shown." in program.screen)
        return "It was shown." in program.screen


def test_picture_with_control_sequences_is_not_shown(tmp_path: Path) -> None:
    assert is_shown(tmp_path, "keep")
    (kept,) = tmp_path.iterdir()
    head, *rows = kept.read_text(encoding="utf-8").split("\n")
    spoiled = (
        [head, *rows[:-1], "\x1b]52;c;aGk=\x07"],
        [head, *rows[:-1], rows[-1] + "\x9b2J"],
        [head, *rows, "one row more"],
        [json.dumps({**json.loads(head), "version": "0"}), *rows],
        ["not JSON", *rows],
    )
    for lines in spoiled:
        kept.write_text("\n".join(lines), encoding="utf-8")
        assert not is_shown(tmp_path)
    kept.write_text("\n".join([head, *rows]), encoding="utf-8")
    assert is_shown(tmp_path)


def test_picture_that_others_could_write_is_not_shown(tmp_path: Path) -> None:
    assert is_shown(tmp_path, "keep")
    (kept,) = tmp_path.iterdir()
    kept.chmod(0o620)
    assert not is_shown(tmp_path)


@pytest.mark.long
def test_picture_shows_the_last_page_at_its_position(home: Path) -> None:
    with demo(home) as app:
        app.wait_for(PAGE, "● updated")
        app.write(b"J")
        app.wait_for("Quickstart", "From nothing")
        app.write(b"\tG")
        app.wait_for("Where to go from here", "100% read")
        quit_from(app)
    with demo(home) as app:
        app.wait_for("Where to go from here")
        assert not any(b"\x1b[?1003h" in chunk.data for chunk in app.chunks)
        app.wait_for("● updated")
        assert "100% read" in app.screen
        quit_from(app)


@pytest.mark.long
def test_picture_is_deleted_if_the_next_start_shows_another_page(home: Path) -> None:
    with demo(home) as app:
        app.wait_for(PAGE, "● updated")
        app.write(b"J")
        app.wait_for("Quickstart", "From nothing")
        app.write(b"3")
        app.wait_for("7 of 7")
        quit_from(app)
    assert not pictures(home)


def test_terminal_is_restored_if_the_app_cannot_start(home: Path) -> None:
    shutil.rmtree(home / "data")
    (home / "data").write_text("in the way")
    with demo(home) as app:
        before = app.modes()
        assert app.end() == 1
        assert app.modes() == before
        written = b"".join(chunk.data for chunk in app.chunks)
        assert LEFT in written
        assert b"octavo: " in written.partition(LEFT)[2]
