"""The terminal driver, and the thread for long work."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from octavo.tui.terminal import polite_thread
from octavo.tui.terminal.polite_thread import PoliteThread
from tests.benchmarks.terminal import ROOT, THIS_TREE, Terminal

PROGRAM = """
import os
import signal
import sys
from textual.app import App
from textual.widgets import Static
from octavo.settings import read
from octavo.tui.terminal.driver import TerminalDriver

class Patient(TerminalDriver):
    LOOK = 3600.0  # who waits for its next look waits for ever

class Small(App):
    times = 0
    settings = read({"OCTAVO_RIGHT_TO_LEFT": os.environ.get("TURNS", "")})
    BINDINGS = [("e", "edit", "Edit"), ("x", "exit", "Exit")]

    def compose(self):
        yield Static("here we are")

    def action_edit(self):
        with self.suspend():
            print("the terminal is yours")
        self.times += 1
        self.query_one(Static).update(f"back, {self.times}")

    def action_exit(self):
        self.exit()

    async def action_quit(self):
        self.exit()

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # who runs tests with nohup ignores it, and so would we
Small(driver_class=Patient).run()
print("gone")
"""


def test_terminal_is_suspended_and_restored_without_delay() -> None:
    with Terminal([sys.executable, "-c", PROGRAM], THIS_TREE) as app:
        before = app.modes()
        app.wait_for("here we are")
        for number in ("1", "2"):
            app.write(b"e")
            app.wait_for(f"back, {number}")
        app.write(b"x")
        assert app.end() == 0
        written = b"".join(chunk.data for chunk in app.chunks)
        assert written.count(b"the terminal is yours") == 2
        assert written.rstrip().endswith(b"gone")
        assert app.modes() == before


def test_terminal_is_told_not_to_reorder_text() -> None:
    pytest.importorskip("bidi")
    with Terminal([sys.executable, "-c", PROGRAM], {**THIS_TREE, "TURNS": "octavo"}) as app:
        app.wait_for("here we are")
        app.write(b"e")
        app.wait_for("back, 1")
        app.write(b"x")
        assert app.end() == 0
        written = b"".join(chunk.data for chunk in app.chunks)
        assert re.findall(rb"\x1b\[8[lh]|the terminal is yours", written) == [
            *(b"\x1b[8l", b"\x1b[8h", b"the terminal is yours"),
            *(b"\x1b[8l", b"\x1b[8h"),
        ]


def test_joined_emoji_is_written_as_its_first_emoji() -> None:
    with Terminal([sys.executable, "-c", PROGRAM.replace("here we are", "👩\u200d💻 here we are")], THIS_TREE) as app:
        app.wait_for("here we are")
        app.write(b"x")
        assert app.end() == 0
        written = b"".join(chunk.data for chunk in app.chunks).decode()
        assert "👩 here we are" in written
        assert "\u200d" not in written


def test_character_split_over_reads_is_decoded() -> None:
    with Terminal([sys.executable, "-c", PROGRAM.replace('("e",', '("ß",')], THIS_TREE) as app:
        app.wait_for("here we are")
        for byte in "ß".encode():
            app.write(bytes([byte]))
            app.settle(0.05)
        app.wait_for("back, 1")
        app.write(b"x")
        assert app.end() == 0


def test_invalid_utf8_does_not_end_the_input() -> None:
    """A terminal with another encoding, or a paste of binary data, may send invalid UTF-8. Later keys must still
    work."""
    with Terminal([sys.executable, "-c", PROGRAM], THIS_TREE) as app:
        app.wait_for("here we are")
        app.write(b"\xff\xfe\xe9")
        app.settle(0.05)
        app.write(b"e")
        app.wait_for("back, 1")
        app.write(b"x")
        assert app.end() == 0


def test_sigcont_without_a_stop_is_ignored() -> None:
    with Terminal([sys.executable, "-c", PROGRAM], THIS_TREE) as app:
        app.wait_for("here we are")
        os.kill(app.pid, signal.SIGCONT)
        app.settle(0.2)
        app.write(b"x")
        assert app.end() == 0


def test_app_ends_when_its_terminal_is_closed() -> None:
    with Terminal([sys.executable, "-c", PROGRAM], THIS_TREE) as app:
        app.wait_for("here we are")
        assert app.hang_up() == -signal.SIGHUP


@pytest.mark.parametrize("module", ["octavo", "tests"])
def test_child_program_uses_the_tree_under_test(module: str) -> None:
    code = f"import {module}; print({module}.__file__, end='.')"
    with Terminal([sys.executable, "-c", code], THIS_TREE, columns=500) as app:
        app.wait_for(f"{ROOT}/", f"{module}/__init__.py.")
    assert subprocess.check_output([sys.executable, "-c", code], text=True).startswith(f"{ROOT}/")


class StepwiseWork:
    """Work that records its steps. Each step waits until the test allows it."""

    def __init__(self, name: str, done: list[str], count: int = 3) -> None:
        self.name, self.done, self.count = name, done, count
        self.allowed = threading.Semaphore(0)
        self.started = threading.Semaphore(0)
        self.ended = threading.Event()
        self.errors: list[Exception] = []

    def __iter__(self) -> Iterator[None]:
        for number in range(self.count):
            self.started.release()
            assert self.allowed.acquire(timeout=30)
            self.done.append(f"{self.name}{number}")
            yield
        self.ended.set()


def test_newest_work_runs_first() -> None:
    thread, done = PoliteThread(), list[str]()
    first, last = StepwiseWork("a", done), StepwiseWork("b", done)
    thread.begin(iter(first), first.errors.append)
    assert first.started.acquire(timeout=30)
    thread.begin(iter(last), last.errors.append)
    for each in (first, last):
        each.allowed.release(3)
    assert first.ended.wait(30)
    assert done == ["a0", "b0", "b1", "b2", "a1", "a2"]


def test_stopped_work_runs_no_more_steps() -> None:
    thread, done = PoliteThread(), list[str]()
    steps, after = StepwiseWork("a", done), StepwiseWork("b", done)
    work = thread.begin(iter(steps), steps.errors.append)
    assert steps.started.acquire(timeout=30)
    work.stop()
    steps.allowed.release(3)
    after.allowed.release(3)
    thread.begin(iter(after), after.errors.append)
    assert after.ended.wait(30)
    assert done == ["a0", "b0", "b1", "b2"]


def test_error_is_reported_and_other_work_continues() -> None:
    thread, done = PoliteThread(), list[str]()
    is_reported = threading.Event()
    errors: list[Exception] = []

    def fail() -> Iterator[None]:
        yield
        raise ValueError("wrong")

    def record_error(error: Exception) -> None:
        errors.append(error)
        is_reported.set()

    thread.begin(fail(), record_error)
    assert is_reported.wait(30)
    assert [str(error) for error in errors] == ["wrong"]
    after = StepwiseWork("b", done)
    after.allowed.release(3)
    thread.begin(iter(after), after.errors.append)
    assert after.ended.wait(30)


def test_work_waits_for_the_frame_after_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "_MAX_FRAME_WAIT", 30.0)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done)
    steps.allowed.release(3)
    polite_thread.expect_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert not steps.started.acquire(timeout=0.05)
    polite_thread.on_frame_written()
    assert steps.ended.wait(30)


def test_key_without_a_frame_delays_work_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "_MAX_FRAME_WAIT", 0.01)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done, count=100_000)
    steps.allowed.release(100_000)
    polite_thread.expect_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert steps.ended.wait(30)
    assert len(done) == 100_000


def test_work_that_the_event_loop_waits_for_does_not_wait_for_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "THREAD_WAIT", 10.0)
    monkeypatch.setattr(polite_thread, "_MAX_FRAME_WAIT", 60.0)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done)
    steps.allowed.release(3)
    polite_thread.expect_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert thread.wait(steps.ended)


def test_window_title_is_no_frame() -> None:
    code = """
import octavo.tui.terminal.polite_thread as polite_thread
from octavo.tui.terminal.driver import TerminalDriver
from textual.app import App

class TitleApp(App):
    def on_ready(self):
        self.call_after_refresh(self.check)
    def check(self):
        polite_thread.expect_frame()
        self._driver.write("\\x1b]2;title\\x07")
        after_title = polite_thread._is_written.is_set()
        self._driver.write("frame")
        self.exit(f"title {after_title}, frame {polite_thread._is_written.is_set()}")

print(TitleApp(driver_class=TerminalDriver).run())
"""
    with Terminal([sys.executable, "-c", code], THIS_TREE) as app:
        app.wait_for("title False, frame True")


def test_work_that_is_not_ready_in_time_waits_for_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "THREAD_WAIT", 0.0)
    monkeypatch.setattr(polite_thread, "_MAX_FRAME_WAIT", 60.0)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done)
    thread.begin(iter(steps), steps.errors.append)
    assert steps.started.acquire(timeout=30)
    assert not thread.wait(steps.ended)
    steps.allowed.release(3)
    assert not steps.started.acquire(timeout=0.05)
    polite_thread.on_frame_written()
    assert steps.ended.wait(30)
