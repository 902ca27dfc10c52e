"""The thread for long work, which gives way to keys and frames."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from octavo.tui.terminal import driver
from octavo.tui.terminal.driver import PoliteThread


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


def test_newest_work_runs_first_and_deferred_work_last() -> None:
    thread, done = PoliteThread(), list[str]()
    first, last, later = StepwiseWork("a", done), StepwiseWork("b", done), StepwiseWork("c", done)
    thread.begin(iter(first), first.errors.append)
    assert first.started.acquire(timeout=30)
    thread.begin(iter(later), later.errors.append, soon=False)
    thread.begin(iter(last), last.errors.append)
    for each in (first, last, later):
        each.allowed.release(3)
    assert later.ended.wait(30)
    assert done == ["a0", "b0", "b1", "b2", "a1", "a2", "c0", "c1", "c2"]


def test_stopped_work_runs_no_more_steps() -> None:
    thread, done = PoliteThread(), list[str]()
    steps, after = StepwiseWork("a", done), StepwiseWork("b", done)
    work = thread.begin(iter(steps), steps.errors.append)
    assert steps.started.acquire(timeout=30)
    work.stop()
    steps.allowed.release(3)
    after.allowed.release(3)
    thread.begin(iter(after), after.errors.append, soon=False)
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
    monkeypatch.setattr(driver, "_LONGEST_WAIT", 30.0)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done)
    steps.allowed.release(3)
    driver.pause_until_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert not steps.started.acquire(timeout=0.05)
    driver.frame_written()
    assert steps.ended.wait(30)


def test_key_without_a_frame_delays_work_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_LONGEST_WAIT", 0.01)
    thread, done = PoliteThread(), list[str]()
    steps = StepwiseWork("a", done, count=100_000)
    steps.allowed.release(100_000)
    driver.pause_until_frame()
    thread.begin(iter(steps), steps.errors.append)
    assert steps.ended.wait(30)
    assert len(done) == 100_000
