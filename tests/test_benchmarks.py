"""The benchmark command runs all benchmarks, and compares two installations."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from tests.benchmarks.__main__ import BENCHMARKS, _rows, main
from tests.benchmarks.terminal import processor_time

Output = pytest.CaptureFixture[str]


def test_rows_show_the_median_the_range_and_the_ratio_in_each_round() -> None:
    rounds = [({"x": 2.0}, {"x": 4.0}), ({"x": 3.0}, {"x": 3.0}), ({"x": 9.0}, {"x": 3.0})]
    name, row = _rows("start", rounds)
    assert name == "start"
    assert row.split("  ", 2)[1] == "x"
    assert row.split() == ["x", "3.0", "[2.0–9.0]", "3.0", "[3.0–4.0]", "1.00", "[0.50–3.00]"]


def test_processor_time_includes_threads_that_have_ended() -> None:
    spent: list[float] = []

    def work() -> None:
        while time.thread_time() < 0.02:
            pass
        spent.append(time.thread_time())

    before = processor_time(os.getpid())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert processor_time(os.getpid()) - before >= spent[0]


def test_unknown_benchmark_is_refused(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["ends"])
    assert "'ends' is none of start, keys, pages, diffs, memory" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_all_benchmarks_compare_two_installations(capsys: Output) -> None:
    main(["--quick", "--rounds", "0", "--against", sys.executable])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in BENCHMARKS] == [*BENCHMARKS]
    assert all(line.count("[") == 3 for line in lines if line.startswith("  "))
    assert sum(line.startswith("  ") for line in lines) > 40
