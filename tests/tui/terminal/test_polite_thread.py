"""The thread for long work."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from octavo.tui.terminal import polite_thread
from octavo.tui.terminal.polite_thread import PoliteThread


class Steps:
    """Work that notes its steps, each once it may."""

    def __init__(self, name: str, done: list[str], count: int = 3) -> None:
        self.name, self.done, self.count = name, done, count
        self.may = threading.Semaphore(0)
        self.stands = threading.Semaphore(0)
        self.ended = threading.Event()
        self.errors: list[Exception] = []

    def __iter__(self) -> Iterator[None]:
        for number in range(self.count):
            self.stands.release()
            assert self.may.acquire(timeout=30)
            self.done.append(f"{self.name}{number}")
            yield
        self.ended.set()


def test_newest_work_runs_first_and_deferred_work_last() -> None:
    thread, done = PoliteThread(), list[str]()
    first, last, later = Steps("a", done), Steps("b", done), Steps("c", done)
    thread.begin(iter(first), first.errors.append)
    assert first.stands.acquire(timeout=30)
    thread.begin(iter(later), later.errors.append, soon=False)
    thread.begin(iter(last), last.errors.append)
    for each in (first, last, later):
        each.may.release(3)
    assert later.ended.wait(30)
    assert done == ["a0", "b0", "b1", "b2", "a1", "a2", "c0", "c1", "c2"]


def test_stopped_work_runs_no_more_steps() -> None:
    thread, done = PoliteThread(), list[str]()
    steps, after = Steps("a", done), Steps("b", done)
    work = thread.begin(iter(steps), steps.errors.append)
    assert steps.stands.acquire(timeout=30)
    work.stop()
    steps.may.release(3)
    after.may.release(3)
    thread.begin(iter(after), after.errors.append, soon=False)
    assert after.ended.wait(30)
    assert done == ["a0", "b0", "b1", "b2"]


def test_error_is_reported_and_other_work_continues() -> None:
    thread, done = PoliteThread(), list[str]()
    told = threading.Event()
    errors: list[Exception] = []

    def wrong() -> Iterator[None]:
        yield
        raise ValueError("wrong")

    def failed(error: Exception) -> None:
        errors.append(error)
        told.set()

    thread.begin(wrong(), failed)
    assert told.wait(30)
    assert [str(error) for error in errors] == ["wrong"]
    after = Steps("b", done)
    after.may.release(3)
    thread.begin(iter(after), after.errors.append)
    assert after.ended.wait(30)


def test_work_waits_for_the_frame_after_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "_LONGEST_WAIT", 30.0)
    thread, done = PoliteThread(), list[str]()
    steps = Steps("a", done)
    steps.may.release(3)
    polite_thread.expect_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert not steps.stands.acquire(timeout=0.05)
    polite_thread.frame_written()
    assert steps.ended.wait(30)


def test_key_without_a_frame_delays_work_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "_LONGEST_WAIT", 0.01)
    thread, done = PoliteThread(), list[str]()
    steps = Steps("a", done, count=100_000)
    steps.may.release(100_000)
    polite_thread.expect_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert steps.ended.wait(30)
    assert len(done) == 100_000
