"""A crash report never overwrites an earlier report, and contains no secrets."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual.app import App
from textual.worker import WorkerFailed

from octavo.tui.terminal.crash_report import report_crash


def test_each_report_has_its_own_file(tmp_path: Path) -> None:
    messages = [report_crash(tmp_path, ValueError("gb_api_abcdefgh is wrong")).plain for _ in range(2)]
    reports = list(tmp_path.glob("crash-*.txt"))
    assert len(reports) == 2
    for report in reports:
        assert sum(str(report) in message for message in messages) == 1
        assert "ValueError: [redacted] is wrong" in report.read_text()
        assert stat.S_IMODE(report.stat().st_mode) == 0o600


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
