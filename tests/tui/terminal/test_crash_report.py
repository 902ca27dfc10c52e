"""A crash report never overwrites an earlier report, and contains no secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.app import App
from textual.worker import WorkerFailed

from octavo.tui.terminal.crash_report import report_crash


def test_report_file_name_is_unique_for_a_reused_process_id(tmp_path: Path) -> None:
    (tmp_path / f"crash-{os.getpid()}.txt").write_text("an earlier one")
    message = report_crash(tmp_path, ValueError("gb_api_abcdefgh is wrong")).plain
    new = tmp_path / f"crash-{os.getpid()}-2.txt"
    assert str(new) in message
    assert "ValueError: [redacted] is wrong" in new.read_text()
    assert (tmp_path / f"crash-{os.getpid()}.txt").read_text() == "an earlier one"


class AppWithFailingWorker(App[None]):
    """An app with a worker that raises an error."""

    def on_mount(self) -> None:
        self.run_worker(self._work())

    async def _work(self) -> None:
        kept_here = "what a local variable holds"
        self._look_up(kept_here)

    def _look_up(self, name: str) -> None:
        raise KeyError(len(name))


def report_in(folder: Path) -> str:
    (written,) = folder.glob("crash-*.txt")
    return written.read_text()


async def test_report_of_a_worker_error_names_the_line_of_the_error(tmp_path: Path) -> None:
    app = AppWithFailingWorker()
    with pytest.raises(WorkerFailed) as caught:
        async with app.run_test() as pilot:
            await pilot.pause()
    message = report_crash(tmp_path, caught.value).plain
    report = report_in(tmp_path)
    assert "KeyError: 27" in message
    for line in ("in _work", "in _look_up", "raise KeyError(len(name))", f'File "{__file__}", line '):
        assert line in report
    assert "what a local variable holds" not in message + report
