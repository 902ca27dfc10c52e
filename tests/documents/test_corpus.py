"""Real pages, when there are any: name their folder in OCTAVO_CORPUS. It has `pages/*.md`, and pairs of
`before.md` and `after.md` in the folders of `pairs`."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from time import perf_counter

import pytest

from octavo.documents.changes import new_side, old_side
from octavo.documents.diff import diff
from octavo.documents.parse import parse

CORPUS = Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"))

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="OCTAVO_CORPUS names no folder")


def test_pages(capsys: pytest.CaptureFixture[str]) -> None:
    times, wrong, left = [], [], []
    for path in sorted(CORPUS.rglob("*.md")):
        text = path.read_text("utf-8", "replace")
        start = perf_counter()
        document = parse(text)
        times.append(perf_counter() - start)
        wrong += [f"{path.name}:{each.line + 1} {each.message}" for each in document.diagnostics]
        runs = [run for block in document.walk() for run in block.runs if run.kind != "code"]
        left += [f"{path.name}: {run.text}" for run in runs if "{%" in run.text]
    with capsys.disabled():
        print(f"\n{len(times)} pages in {sum(times):.2f} s, the slowest {max(times) * 1000:.0f} ms", *wrong, sep="\n  ")
    assert left == []


def test_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    times = []
    for folder in sorted((CORPUS / "pairs").iterdir()):
        old, new = (parse((folder / name).read_text("utf-8", "replace")) for name in ("before.md", "after.md"))
        start = perf_counter()
        found = diff(old, new)
        times.append((perf_counter() - start) * 1000)
        assert old_side(found.entries) == list(old.blocks)
        assert new_side(found.entries) == list(new.blocks)
        assert not found.is_empty
    with capsys.disabled():
        print(f"\n{len(times)} pairs: median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")
