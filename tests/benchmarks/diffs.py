"""Diffs: the time to compare pages, and to open a change request of 60 pages in the demo.

`OCTAVO_CORPUS` may name a folder with `pairs/*/before.md` and `pairs/*/after.md`. Then these are compared, too.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmarks.installation import Installation, key_times, times
from tests.benchmarks.terminal import Painted, processor_time
from tests.benchmarks.texts import made_page
from tests.documents.huge_blocks import edited

COMPARE = """
import statistics, sys
from pathlib import Path
from time import process_time
from octavo.documents.diff import diff
try:
    from octavo.documents.source_reader import parse
except ImportError:  # An older version, given with --against.
    from octavo.documents.parse import parse

for path in sorted(Path(sys.argv[1]).glob("*.before.md")):
    before, after = path.read_text("utf-8"), Path(str(path).replace(".before.", ".after.")).read_text("utf-8")
    times = []
    for _ in range(7):
        begin = process_time()
        diff(parse(before), parse(after))
        times.append(process_time() - begin)
    print(statistics.median(times) * 1000, path.name.removesuffix(".before.md"))
"""
"""Program that prints the median processor time to parse and compare each pair of pages in a folder."""


def prepare(installation: Installation) -> None:
    """Open the demo once, and write the pairs of pages to a folder."""
    installation.prepare_demo()
    (folder := installation.home / "pairs").mkdir()
    for name, sides in _pairs(3000 if installation.is_quick else 46_000).items():
        for side, text in zip(("before", "after"), sides, strict=True):
            (folder / f"{name}.{side}.md").write_text(text, "utf-8")


def _pairs(size: int) -> dict[str, tuple[str, str]]:
    """Return pairs of pages, of which the made ones have about `size` characters."""
    page = made_page(size)
    pairs = {"few edits": (page, edited(page)), "another page": (page, made_page(size + 4000)[4000:])}
    if corpus := os.environ.get("OCTAVO_CORPUS"):
        for folder in Path(corpus, "pairs").iterdir():
            pairs[folder.name] = (folder / "before.md").read_text("utf-8"), (folder / "after.md").read_text("utf-8")
    return pairs


def measure(installation: Installation) -> dict[str, float]:
    """Compare the pairs, and open the change request."""
    figures: dict[str, float] = {}
    for line in installation.output("-c", COMPARE, str(installation.home / "pairs")).splitlines():
        milliseconds, _, name = line.partition(" ")
        figures[f"{name}, CPU ms"] = float(milliseconds)
    with installation.demo() as demo:
        demo.write(b"3")
        demo.wait_for("Limpet Classic")
        demo.press(b"/")
        demo.write(b"Classic\r")
        demo.wait_for("1 of 7 shown", "enter open")
        demo.rest()
        before, spent = demo.now(), processor_time(demo.pid)
        demo.write(b"\r")
        shown = demo.wait_for("Limpet Classic, since")
        figures |= times("first of 60 diffs", Painted(shown.wall - before, shown.cpu - spent))
        demo.rest()
        figures["all of 60 diffs, CPU ms"] = (processor_time(demo.pid) - spent) * 1000
        demo.press(b"\t")
        demo.press(b"g")  # The last run may have selected the last block, where j does nothing.
        figures |= key_times("j or k in a diff", demo, [b"j", b"k"] * (installation.count // 2))
    return figures
