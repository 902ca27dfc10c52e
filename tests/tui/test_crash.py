"""The crash report is written whatever lies there already."""

from __future__ import annotations

import os
from pathlib import Path

from octavo.tui.crash import report_crash


def test_a_report_is_written_when_a_process_of_that_number_wrote_one(tmp_path: Path) -> None:
    (tmp_path / f"crash-{os.getpid()}.txt").write_text("an earlier one")
    said = report_crash(tmp_path, ValueError("gb_api_abcdefgh is wrong")).plain
    new = tmp_path / f"crash-{os.getpid()}-2.txt"
    assert str(new) in said
    assert "ValueError: [redacted] is wrong" in new.read_text()
    assert (tmp_path / f"crash-{os.getpid()}.txt").read_text() == "an earlier one"
