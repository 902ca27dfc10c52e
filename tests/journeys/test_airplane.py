"""The airplane: a program in a terminal, a platform that is another program, and a wire between them that is cut.

Nothing is done but keys pressed, and nothing is believed but what stands on the screen and what `octavo api` reads back. The
same within one process, and shorter, is in `test_offline.py`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from octavo.tui.widgets.short_texts import plural
from tests.benchmarks.terminal import Terminal

OCTAVO = (sys.executable, "-m", "octavo")
HARBOUR = "spaceId=harbour-api"
REPLIES = ("First from the plane.", "Second from the plane.", "Third from the plane.")
QUIT = b"\x11"
KEYS = {"enter": b"\r", "escape": b"\x1b", "down": b"\x1b[B", "ctrl+s": b"\x13"}


class Machine:
    """Folders of one person, and a platform on a port that stays the same while it comes and goes."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "platform"
        places = {f"OCTAVO_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.environ = {**places, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]

    @contextmanager
    def platform(self) -> Iterator[None]:
        """The platform answers."""
        command = [*OCTAVO, "serve", "--data", str(self._data), "--port", str(self._port)]
        with subprocess.Popen(
            command, env={**os.environ, **self.environ}, stdout=subprocess.PIPE, text=True
        ) as serving:
            assert serving.stdout is not None
            origin = serving.stdout.readline().split()[-1]
            key = (self._data / "key").read_text(encoding="ascii").strip()
            self.environ |= {"OCTAVO_BASE_URL": origin, "OCTAVO_API_KEY": key}
            try:
                yield
            finally:
                serving.send_signal(signal.SIGINT)

    def app(self, size: tuple[int, int] = (150, 36)) -> Terminal:
        """`octavo` in a terminal."""
        return Terminal(OCTAVO, self.environ, columns=size[0], rows=size[1])

    def api(self, *asked: str) -> Any:
        """Return the output of `octavo api`."""
        command = [*OCTAVO, "api", *asked]
        ran = subprocess.run(command, env={**os.environ, **self.environ}, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(ran.stdout)


def press(running: Terminal, *keys: str) -> None:
    """Press keys, and type what has no name."""
    for key in keys:
        running.write(KEYS.get(key) or key.encode())
        running.settle(0.15, wait=0.3)


def see(running: Terminal, *words: str) -> str:
    """The screen, once all of these are on it."""
    running.settle(0.05)
    list(running._draw())
    shown = running.screen
    if not all(each in shown for each in words):
        running.wait_for(*words)
    return running.screen


def close_dialog(running: Terminal, words: str) -> None:
    """Press escape until these are gone. What is pressed right after it would be another key."""
    press(running, "escape")
    while words in see(running):
        running.wait_for("")


def kill(running: Terminal) -> None:
    os.kill(running.pid, signal.SIGKILL)
    assert running.end() == -signal.SIGKILL


def keep_harbour_api(running: Terminal) -> None:
    see(running, "● updated", "REVIEW REQUESTED")
    press(running, "2")
    see(running, "Harbour API › Welcome")
    press(running, ":", "available offline")
    see(running, "Make available offline", "Download this space for offline use")
    press(running, "enter")
    see(running, "Downloading Harbour API: 33 pages")
    see(running, "Harbour API is available offline")
    press(running, "!")
    see(running, "AVAILABLE OFFLINE", "Harbour API  available offline, ")
    close_dialog(running, "AVAILABLE OFFLINE")


PAGES = {
    "Quickstart": "From nothing to a water level",
    "Authentication": "Keys, scopes, and what to do",
    "Your first tide table": "A day of high and low waters",
    "Try it with an assistant": "A prompt that teaches",
    "Stations and sensors": "What a station is, and how it gets its name.",
}


def read_five_pages(running: Terminal) -> None:
    """None of them was opened before."""
    press(running, "2")
    see(running, "Harbour API › Welcome", "○ offline")
    press(running, "enter")
    for title, words in PAGES.items():
        press(running, "J")
        see(running, title, words, "○ offline", "Last updated")


def find_leilani(running: Terminal) -> None:
    """A word that stands in a reply, and nowhere else."""
    press(running, "s", "leilani helps")
    see(running, "Offline: searched only local copies", "in a reply", "if Leilani helps.")
    press(running, "enter")
    see(running, "Comments · open", "Alerts too, if Leilani helps.")


def answer(running: Terminal, words: Sequence[str]) -> None:
    """Reply to the thread under the cursor, and to those below it."""
    for at, each in enumerate(words, 1):
        press(running, "c")
        see(running, "Reply to")
        press(running, each, "ctrl+s")
        see(running, each, f"{plural(at, 'change')} queued")
        press(running, "j")


def what_waits(running: Terminal) -> None:
    """Return the rows of writes and offline spaces in the activity."""
    press(running, "!")
    shown = see(running, "IN PROGRESS", "AVAILABLE OFFLINE", "offline", "Harbour API  available offline, ")
    assert shown.count("  reply  “") == 3
    assert shown.count("  resolve the thread  “") == 2
    close_dialog(running, "AVAILABLE OFFLINE")


def gone(running: Terminal, words: str, limit: float = 60.0) -> None:
    """Wait until these are not on the screen any more, and stay away: what waits is not known yet in the first frames."""
    end, times = running.now() + limit, 0
    while times < 3:
        times = 0 if words in see(running) else times + 1
        assert running.now() < end, f"{words} stays: {running.screen}"
        running.settle(0.5, wait=0.5)


def send_what_needs_a_decision(running: Terminal) -> None:
    """A reply may have been sent if a kill fell between the note that it is sent and its request: then Octavo asks."""
    if "your decision" not in see(running):
        return
    press(running, "!")
    see(running, "may have been sent")
    press(running, "r")
    close_dialog(running, "AVAILABLE OFFLINE")
    gone(running, "your decision")
    gone(running, " queued")


def is_there_once(machine: Machine, before: Sequence[Any]) -> None:
    """The platform has what was written, exactly once, and nothing else is new."""
    were = {each["id"]: each for each in before}
    threads = machine.api("comments.List", HARBOUR, "status=all", "limit=200")["items"]
    assert len(threads) == len(before)
    said = []
    for each in threads:
        if each.get("replies", 0) != were[each["id"]].get("replies", 0):
            listed = machine.api("comments.ListReplies", HARBOUR, f"commentId={each['id']}", "format=markdown")
            said += [reply["body"]["markdown"] for reply in listed["items"]][were[each["id"]].get("replies", 0) :]
    assert sorted(said) == sorted(REPLIES)
    assert sum(each["status"] != were[each["id"]]["status"] for each in threads) == 2


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [(), (0.0, 0.1, 0.2, 0.4)], ids=["once", "while it goes out too"])
def test_offline_pages_are_readable_and_each_write_arrives_once(tmp_path: Path, kills: Sequence[float]) -> None:
    """`kills`: after so many seconds in which writes go out the app is killed once more."""
    machine = Machine(tmp_path)
    with machine.platform():
        with machine.app() as running:
            keep_harbour_api(running)
            running.write(QUIT)
            assert running.end() == 0
        before = machine.api("comments.List", HARBOUR, "status=all", "limit=200")["items"]
    with machine.app() as running:
        see(running, "Harbour API › Welcome", "○ offline")
        find_leilani(running)
        read_five_pages(running)
        press(running, "4")
        see(running, "HARBOUR API", "○ offline")
        answer(running, REPLIES)
        press(running, "d")
        see(running, "4 changes queued")
        press(running, "d")
        see(running, "5 changes queued")
        what_waits(running)
        kill(running)
    for seconds in kills:
        with machine.app() as running:
            see(running, " queued")
            with machine.platform():
                running.wait_for("● updated" if not seconds else " queued")
                running.settle(seconds, limit=seconds)
                kill(running)
    with machine.app() as running:
        if not kills:
            see(running, "○ offline", "5 changes queued")
            what_waits(running)
        with machine.platform():
            see(running, "● updated")  # the frame is there, and what waits with it
            gone(running, " queued")
            send_what_needs_a_decision(running)
            is_there_once(machine, before)
