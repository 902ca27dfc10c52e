"""Whole pages: nothing raw is left in them, no word is lost, blocks stand on the lines they say, and set into lines they stay
in their room.

Those the views are tested with always; real ones when there are any: name their folder in OCTAVO_CORPUS. Of it every
`*.md` is read and set, as `python -m tests.documents.checker` does, and pairs of `before.md` and `after.md` in the folders of
`pairs` are compared.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from time import perf_counter

import pytest

from octavo.documents.diff import diff
from octavo.documents.parse import parse
from tests.documents import audit_of_lines
from tests.documents.audit import misplaced, tree_text
from tests.documents.checker import check, check_all, faults
from tests.documents.independent_reader import lost
from tests.documents.sides import check_sides

PAGES = sorted((Path(__file__).parents[1] / "tui" / "reader" / "pages").glob("*.md"))
CORPUS = Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"))

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="OCTAVO_CORPUS names no folder")


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_a_page_is_read_and_shown_whole(path: Path) -> None:
    # Some of these pages have what nobody knows, so that it is seen what becomes of it.
    assert [fault for fault in check(path) if not fault.what.startswith("unknown")] == []


def test_the_audit_sees_what_is_lost_and_out_of_place() -> None:
    source = "# One\n\n{% hint %}\ntwo **three**\n{% endhint %}\n"
    document = parse(source)
    assert not list(lost(source, tree_text(document.blocks)))
    assert list(lost(source, tree_text(document.blocks[1:]))) == [("one", 1)]
    assert misplaced(document) == []
    hint = document.blocks[1]
    lifted = hint._replace(children=(hint.children[0]._replace(lines=(0, 1)),))
    said = misplaced(document._replace(blocks=(document.blocks[0], lifted)))
    assert [each.rpartition(" lines ")[2].split()[0] for each in said] == ["1-1", "1-1", "1-1"]


def test_the_checker_sees_emoji_nobody_knows() -> None:
    assert [fault.what for fault in faults("# T\n\n:no_such_sign: here\n", widths=(80,))] == [
        "unknown emoji :no_such_sign:"
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [("nobody", []), ("hint", ["unknown block: hint"]), ("  ", ["unknown block: without a name"])],
)
def test_the_checker_takes_boxes_of_tags_that_the_platform_has_or_that_have_no_name_for_faults(
    name: str, said: list[str]
) -> None:
    document = parse("{% nobody %}\nIn it\n{% endnobody %}\n")
    (box,) = document.blocks
    assert box.kind == "unknown"
    found = audit_of_lines.faults(document._replace(blocks=(box._replace(attrs={"name": name}),)), (80,))
    assert sorted({fault.what for fault in found}) == said


@needs_corpus
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_pages() -> None:
    found = {str(path.relative_to(CORPUS)): wrong for path, wrong in check_all(CORPUS, jobs=2)}
    assert found
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


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
