"""Settings of memory allocation in the C library. Each test runs a separate process."""

from __future__ import annotations

import subprocess
import sys

import pytest

THREAD_PROGRAM = """
import ctypes, sys, threading
from octavo.tui.app import pauses

if sys.argv[1] == "one":
    pauses.use_one_arena()
together = threading.Barrier(5)

def take():
    taken = [bytearray(2000) for _ in range(100)]
    together.wait()

threads = [threading.Thread(target=take) for _ in range(4)]
for each in threads:
    each.start()
together.wait()
ctypes.CDLL(None).malloc_stats()
"""
FRAGMENTATION_PROGRAM = """
from octavo.tui.app import pauses

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

taken = [bytearray(3000) for _ in range(10_000)]
last = bytearray(3000)
at_most = resident()
del taken
kept = resident()
pauses.return_free_memory()
print(at_most, kept, resident())
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_all_threads_allocate_from_one_arena() -> None:
    def arenas(which: str) -> int:
        return run(THREAD_PROGRAM, which).stderr.count("\nArena ") + 1

    if arenas("each") == 1:
        pytest.skip("this C library has no arenas")
    assert arenas("one") == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_free_memory_below_used_memory_is_returned() -> None:
    at_most, kept, left = map(int, run(FRAGMENTATION_PROGRAM).stdout.split())
    if kept < at_most - 1000:
        pytest.skip("this C library gives it back by itself")
    assert left < at_most - 5000
