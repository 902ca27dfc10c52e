"""Whole pages: nothing raw is left in them, no word is lost, and blocks stand on the lines they say.

Those the views are tested with always; real ones when there are any: name their folder in OCTAVO_CORPUS. Of it every
`*.md` is read, and pairs of `before.md` and `after.md` in the folders of `pairs` are compared.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from time import perf_counter

import pytest

from octavo.documents.diff import diff
from octavo.documents.parse import parse
from tests.documents.audit import lost, misplaced, raw_tags, source_words
from tests.documents.sides import check_sides

PAGES = sorted((Path(__file__).parents[1] / "tui" / "page" / "pages").glob("*.md"))
CORPUS = Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"))

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="OCTAVO_CORPUS names no folder")


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_page_is_read_whole(path: Path) -> None:
    document = parse(path.read_text("utf-8"))
    assert not lost(document)
    assert raw_tags(document) == []
    assert misplaced(document) == []


def test_the_audit_sees_what_is_lost_and_out_of_place() -> None:
    document = parse("# One\n\n{% hint %}\ntwo **three**\n{% endhint %}\n")
    assert not lost(document)
    assert lost(document._replace(blocks=document.blocks[1:])) == {"One": 1}
    assert misplaced(document) == []
    hint = document.blocks[1]
    lifted = hint._replace(children=(hint.children[0]._replace(lines=(0, 1)),))
    said = misplaced(document._replace(blocks=(document.blocks[0], lifted)))
    assert [each.rpartition(" lines ")[2].split()[0] for each in said] == ["1-1", "1-1", "1-1"]


@needs_corpus
def test_pages(capsys: pytest.CaptureFixture[str]) -> None:
    times, said, wrong = [], [], []
    for path in sorted(CORPUS.rglob("*.md")):
        start = perf_counter()
        document = parse(path.read_text("utf-8", "replace"))
        times.append(perf_counter() - start)
        name = path.relative_to(CORPUS)
        said += [f"{name}:{each.line + 1} {each.message}" for each in document.diagnostics]
        wrong += [f"{name}: {each}" for each in (*raw_tags(document), *misplaced(document))]
        missing, total = lost(document), source_words(document.source).total()
        if missing.total() > total * 0.005:
            wrong.append(f"{name}: of {total} words are lost {dict(missing.most_common(20))}")
    with capsys.disabled():
        print(f"\n{len(times)} pages in {sum(times):.2f} s, the slowest {max(times) * 1000:.0f} ms", *said, sep="\n  ")
    assert wrong == []


@needs_corpus
def test_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    times = []
    for folder in sorted((CORPUS / "pairs").iterdir()):
        old, new = (parse((folder / name).read_text("utf-8", "replace")) for name in ("before.md", "after.md"))
        start = perf_counter()
        found = diff(old, new)
        times.append((perf_counter() - start) * 1000)
        check_sides(found, old, new)
        assert not found.is_empty
        assert found.size.after == diff(new, new).size.before
    with capsys.disabled():
        print(f"\n{len(times)} pairs: median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")
