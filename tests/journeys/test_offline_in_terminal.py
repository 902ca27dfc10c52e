"""A user works offline: Octavo runs in a terminal, the platform is another program, and the test stops and starts
the platform.

The test only presses keys. It checks the screen, and reads the results with `octavo api`. `test_offline.py` has
shorter tests of the same features in one process."""

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


class OfflineComputer:
    """Folders of one user, and a platform that always listens on the same port when it runs."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "platform"
        places = {f"OCTAVO_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.environ = {**places, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]

    @contextmanager
    def platform(self) -> Iterator[None]:
        """Run the platform until the context ends."""
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
        """Return `octavo` in a terminal."""
        return Terminal(OCTAVO, self.environ, columns=size[0], rows=size[1])

    def api(self, *arguments: str) -> Any:
        """Return the parsed output of `octavo api`."""
        command = [*OCTAVO, "api", *arguments]
        ran = subprocess.run(command, env={**os.environ, **self.environ}, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(ran.stdout)


def press(running: Terminal, *keys: str) -> None:
    """Press named keys, and type all other texts."""
    for key in keys:
        running.write(KEYS.get(key) or key.encode())
        running.settle(0.15, wait=0.3)


def see(running: Terminal, *words: str) -> str:
    """Wait until all these texts are on the screen, and return the screen."""
    running.settle(0.05)
    list(running._draw())
    shown = running.screen
    if not all(each in shown for each in words):
        running.wait_for(*words)
    return running.screen


def close_dialog(running: Terminal, words: str) -> None:
    """Press escape, and wait until the text disappears. A key right after escape would be read as another key."""
    press(running, "escape")
    while words in see(running):
        running.wait_for("")


def kill(running: Terminal) -> None:
    os.kill(running.pid, signal.SIGKILL)
    assert running.end() == -signal.SIGKILL


def make_harbour_api_available_offline(running: Terminal) -> None:
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
    """Read five pages that were not opened before."""
    press(running, "2")
    see(running, "Harbour API › Welcome", "○ offline")
    press(running, "enter")
    for title, words in PAGES.items():
        press(running, "J")
        see(running, title, words, "○ offline", "Last updated")


def search_for_leilani(running: Terminal) -> None:
    """Search for a word that is only in one reply."""
    press(running, "s", "leilani helps")
    see(running, "Offline: searched only local copies", "in a reply", "if Leilani helps.")
    press(running, "enter")
    see(running, "Comments · open", "Alerts too, if Leilani helps.")


def reply_to_threads(running: Terminal, words: Sequence[str]) -> None:
    """Reply to the selected thread and to the threads below it."""
    for at, each in enumerate(words, 1):
        press(running, "c")
        see(running, "Reply to")
        press(running, each, "ctrl+s")
        see(running, each, f"{plural(at, 'change')} queued")
        press(running, "j")


def see_waiting_writes(running: Terminal) -> None:
    """Check that the activity lists three replies, two resolved threads and the offline space."""
    press(running, "!")
    shown = see(running, "IN PROGRESS", "AVAILABLE OFFLINE", "offline", "Harbour API  available offline, ")
    assert shown.count("  reply  “") == 3
    assert shown.count("  resolve the thread  “") == 2
    close_dialog(running, "AVAILABLE OFFLINE")


def wait_until_gone(running: Terminal, words: str, limit: float = 60.0) -> None:
    """Wait until a text is not on the screen in three checks in a row, because the first frames do not show all
    waiting writes."""
    end, times = running.now() + limit, 0
    while times < 3:
        times = 0 if words in see(running) else times + 1
        assert running.now() < end, f"{words!r} is still on the screen: {running.screen}"
        running.settle(0.5, wait=0.5)


def retry_uncertain_replies(running: Terminal) -> None:
    """Send the replies whose status is unknown. The status is unknown if a kill fell between the note that a reply
    is sent and its request."""
    if "your decision" not in see(running):
        return
    press(running, "!")
    see(running, "may have been sent")
    press(running, "r")
    close_dialog(running, "AVAILABLE OFFLINE")
    wait_until_gone(running, "your decision")
    wait_until_gone(running, " queued")


def check_each_write_arrived_once(computer: OfflineComputer, before: Sequence[Any]) -> None:
    """Check that the platform has each write exactly once, and nothing else that is new."""
    threads_before = {each["id"]: each for each in before}
    threads = computer.api("comments.List", HARBOUR, "status=all", "limit=200")["items"]
    assert len(threads) == len(before)
    new_replies = []
    for each in threads:
        if each.get("replies", 0) != threads_before[each["id"]].get("replies", 0):
            listed = computer.api("comments.ListReplies", HARBOUR, f"commentId={each['id']}", "format=markdown")
            new_replies += [reply["body"]["markdown"] for reply in listed["items"]][
                threads_before[each["id"]].get("replies", 0) :
            ]
    assert sorted(new_replies) == sorted(REPLIES)
    assert sum(each["status"] != threads_before[each["id"]]["status"] for each in threads) == 2


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [(), (0.0, 0.1, 0.2, 0.4)], ids=["once", "while it goes out too"])
def test_offline_pages_are_readable_and_each_write_arrives_once(tmp_path: Path, kills: Sequence[float]) -> None:
    """Kill the app again after each of these seconds, counted from the moment at which Octavo starts to send writes."""
    computer = OfflineComputer(tmp_path)
    with computer.platform():
        with computer.app() as running:
            make_harbour_api_available_offline(running)
            running.write(QUIT)
            assert running.end() == 0
        before = computer.api("comments.List", HARBOUR, "status=all", "limit=200")["items"]
    with computer.app() as running:
        see(running, "Harbour API › Welcome", "○ offline")
        search_for_leilani(running)
        read_five_pages(running)
        press(running, "4")
        see(running, "HARBOUR API", "○ offline")
        reply_to_threads(running, REPLIES)
        press(running, "d")
        see(running, "4 changes queued")
        press(running, "d")
        see(running, "5 changes queued")
        see_waiting_writes(running)
        kill(running)
    for seconds in kills:
        with computer.app() as running:
            see(running, " queued")
            with computer.platform():
                running.wait_for("● updated" if not seconds else " queued")
                running.settle(seconds, limit=seconds)
                kill(running)
    with computer.app() as running:
        if not kills:
            see(running, "○ offline", "5 changes queued")
            see_waiting_writes(running)
        with computer.platform():
            see(running, "● updated")  # The frame also shows the waiting writes.
            wait_until_gone(running, " queued")
            retry_uncertain_replies(running)
            check_each_write_arrived_once(computer, before)
