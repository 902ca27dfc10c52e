"""How long pages made to blow up a reader take to parse, and what memory: each in a process of its own.

    .venv/bin/python tests/benchmarks/parse.py [--size 1000000] [--only words] [--seconds 2] [--megabytes 150]

For each page: processor time of parsing it, the growth of time when it is four times as long (4.0 is linear), peak
memory of the process beyond that of one that has parsed a word, how many blocks it has, and whether a part of it is
too much and shown as source. Pages beyond the limits are marked, and the exit status says whether there are any. A page that takes ten times the limit is given up.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from octavo.documents.parse import parse
from tests.documents.blow_ups import BLOW_UPS


def page(name: str, size: int) -> str:
    """The page called `name`, of about `size` bytes."""
    make = BLOW_UPS[name]
    count = 64
    while len(make(count).encode()) < size and count < size * 8:
        count *= 2
    low, high = count // 2, count
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if len(make(middle).encode()) < size else (low, middle)
    return make(low)


def measure(name: str, size: int) -> None:
    """Print the figures of one page."""
    whole = page(name, size)
    parse("a word")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    document = parse(whole)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    quarter = page(name, size // 4)
    start = time.process_time()
    parse(quarter)
    short = time.process_time() - start
    blocks = sum(1 for _ in document.walk())
    capped = any(word in each.message for each in document.diagnostics for word in ("source", "deeply"))
    print(
        json.dumps([len(whole.encode()), seconds, seconds / max(short, 1e-6), (peak - before) / 1024, blocks, capped])
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a row for each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--megabytes", type=float, default=150)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        measure(given.measure, given.size)
        return 0
    print(f"{'page':28}{'bytes':>10}{'seconds':>9}{'growth':>8}{'MB':>7}{'blocks':>9}")
    beyond = 0
    for name in BLOW_UPS:
        if given.only in name:
            beyond += not _shown(name, given)
    print(f"{beyond} beyond {given.seconds:g} s or {given.megabytes:g} MB" if beyond else "all within the limits")
    return bool(beyond)


def _shown(name: str, given: argparse.Namespace) -> bool:
    """Whether a page is within the limits. Prints its row."""
    command = [sys.executable, __file__, "--measure", name, "--size", str(given.size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * given.seconds + 10, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name:28}{'given up':>19}  <--", flush=True)
        return False
    if done.returncode:
        print(f"{name:28}{done.stderr.strip().splitlines()[-1:] or ['died']}  <--", flush=True)
        return False
    size, seconds, growth, megabytes, blocks, capped = json.loads(done.stdout)
    fits = seconds <= given.seconds and megabytes <= given.megabytes
    mark = ("" if fits else "  <--") + ("  capped" if capped else "")
    print(f"{name:28}{size:10}{seconds:9.2f}{growth:8.1f}{megabytes:7.0f}{blocks:9}{mark}", flush=True)
    return bool(fits)


if __name__ == "__main__":
    sys.exit(main())
