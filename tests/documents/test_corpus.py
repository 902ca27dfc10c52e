"""Whole pages: all text is shown, no raw markup remains, blocks have their source lines, and rendered lines fit their width.

The pages of the reader tests are always checked. OCTAVO_CORPUS may name a folder with real pages: every `*.md` is checked as
`python -m tests.documents.checker` does, and the folders in `pairs` are compared, each with `before.md` and `after.md`.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pytest

from octavo.documents.blocks import Run
from octavo.documents.diff import diff
from octavo.documents.source_reader import parse
from octavo.tui.render.styled_lines import StyledText, crop, decoration
from octavo.tui.render.tables import _LongestWords
from tests.documents import rendered_line_checks
from tests.documents.checker import check, check_all, faults
from tests.documents.independent_reader import missing_words
from tests.documents.rebuilt_pages import check_rebuilt_pages
from tests.documents.source_line_checks import misplaced_blocks, tree_text

PAGES = sorted((Path(__file__).parents[1] / "tui" / "reader" / "pages").glob("*.md"))
CORPUS = Path(os.environ.get("OCTAVO_CORPUS", "/nonexistent"))

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="OCTAVO_CORPUS names no folder")


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_corpus_page_is_parsed_and_rendered_completely(path: Path) -> None:
    # Some pages contain unknown blocks on purpose.
    assert [fault for fault in check(path) if not fault.what.startswith("unknown")] == []


def test_source_line_checks_report_lost_and_misplaced_text() -> None:
    source = "# One\n\n{% hint %}\ntwo **three**\n{% endhint %}\n"
    document = parse(source)
    assert not list(missing_words(source, tree_text(document.blocks)))
    assert list(missing_words(source, tree_text(document.blocks[1:]))) == [("one", 1)]
    assert misplaced_blocks(document) == []
    hint = document.blocks[1]
    lifted = hint._replace(children=(hint.children[0]._replace(lines=(0, 1)),))
    said = misplaced_blocks(document._replace(blocks=(document.blocks[0], lifted)))
    assert [each.rpartition(" lines ")[2].split()[0] for each in said] == ["1-1", "1-1", "1-1"]


def test_checker_reports_unknown_emoji() -> None:
    assert [fault.what for fault in faults("# T\n\n:no_such_sign: here\n", widths=(80,))] == [
        "unknown emoji :no_such_sign:"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "See[^2] and[^1].\n\n[^1]: first\n[^2]: second\n",
        "The [one](https://a.b)[two](https://c.d) and [three](e.md)[four](f.md)five.\n",
        "The [server 10.5](https://a.b)[and storage](https://a.b) of it.\n",
        "Match [[:digit:]] or [:alpha:] here.\n",
        'In [[p.md](p.md "mention")](q.md#a) it is.\n',
        '{% code title="t" %}```sh\nls\n```{% endcode %}\n\nAfter\n',
        "Some \\*\\*Why?\\*\\*Because **b**.\n",
        "<!-- Not yet\n\n{% hint %}\nso far\n{% endhint %} -->\n\nNow.\n",
        "1. One:\n<br>\n![shot](a/b.png)\n\n2. Two\n<br>\n```js\nx()\n```\n",
        "{%ace edit=true, lang='html'%}\n\n<h1>a</h1>\n<br>\n{%endace%}\n\nAfter\n",
        "```\n{%ace lang='html'%}\n<h1>a</h1>\n{%endace%}\n```\n",
        "```md\na\n\u200b```\n\u200b```java\nx();\n```\n\nAfter\n",
        "| Long | B |\n|-|-|\n| RESTゲートウェイの長い名前 | `x` |\n",
        "Then:\n\n$$\n\\begin{aligned}\na&=b\\\\\nc&=\\frac{d}{e}\n\n\\end{aligned}\n$$\n\nAfter\n",
        '<table data-view="cards"><thead><tr><th>Key</th><th data-type="select">Kind</th><th>Sign</th></tr></thead><tbody>'
        '<tr><td>a</td><td></td><td><i class="fa-star">:star:</i></td></tr></tbody></table>\n',
        "1. One\n\n   ```xml\n   <Host name='a'>\n     <Valve />\n   </Host>\n   ```\n\n2. Two **words**\n\n   ```sh\n   x\n   ```\n",
        f"| Name | Text |\n|-|-|\n| {'max.in.flight.of.all' * 2} | 如果设置了重试设置{'MAX_IN_FLIGHT' * 4}否则在重试此失败消息 |\n",
        "| Command | It |\n|-|-|\n| put <source> <destination> | copies |\n",
        "Use:\n\n```yaml\ntext: |\n  ![P](https://a.example/p.png)\n```\n",
        "Here $$[D_n](X)$$ is one:\n\n$$\n[D_n](X)=X\n$$\n",
    ],
)
def test_checker_reports_nothing_for_correct_lines(source: str) -> None:
    assert faults(source) == []


def crop_too_early(pieces: Sequence[StyledText], start: int, width: int, more: str) -> list[StyledText]:
    """Return the beginning of a scrolled line with unused cells at its end."""
    return [*crop(pieces, start, start + width - 5), decoration(more)]


ROW = "const client = await ServiceClientFactory.init<Indexer>({ network: Network.MAIN_NETWORK });"


@pytest.mark.parametrize(
    ("old", "new", "source", "said"),
    [
        (
            "tables._longest_words",
            lambda texts, natural: _LongestWords(9, 9, 9),
            f"| Name | Text |\n|-|-|\n| IssuingCountryCode | {ROW} |\n",
            "a word of 18",
        ),
        ("code.pan_pieces", crop_too_early, f"```ts\n{ROW}\n```\n", "room left in code"),
        ("layout_context.file_label", str, "x ![](data:image/png;base64,AA**BB**CC)\n", "raw **"),
    ],
)
def test_checker_reports_layout_errors(
    old: str, new: object, source: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert faults(source, widths=(60,)) == []
    monkeypatch.setattr(f"octavo.tui.render.{old}", new)
    assert any(fault.what.startswith(said) for fault in faults(source, widths=(60,)))


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((Run("an option**.** Then"),), "bold at a sign: **.**"),
        ((Run(r"A \in B"),), "raw \\in"),
        ((Run("x_{17}"),), "raw _{1"),
    ],
)
def test_checker_reports_unrendered_marks_and_formulas(runs: tuple[Run, ...], said: str) -> None:
    document = parse("Words\n")
    found = rendered_line_checks.faults(document._replace(blocks=(document.blocks[0]._replace(runs=runs),)), (80,))
    assert said in {fault.what.partition(": A")[0].partition(": x")[0] for fault in found}


def test_checker_reports_undrawn_diagrams() -> None:
    assert [fault.what for fault in faults("```mermaid\nsankey-beta\na,b,1\n```\n", widths=(80,))] == [
        "a diagram not drawn: “sankey-beta” is not a supported diagram type."
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [("nobody", []), ("hint", ["unknown block: hint"]), ("  ", ["unknown block: without a name"])],
)
def test_checker_reports_boxes_of_known_or_unnamed_tags(name: str, said: list[str]) -> None:
    document = parse("{% nobody %}\nIn it\n{% endnobody %}\n")
    (box,) = document.blocks
    assert box.kind == "unknown"
    found = rendered_line_checks.faults(document._replace(blocks=(box._replace(attrs={"name": name}),)), (80,))
    assert sorted({fault.what for fault in found}) == said


@needs_corpus
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_pages_of_the_corpus_have_no_faults() -> None:
    found = {str(path.relative_to(CORPUS)): wrong for path, wrong in check_all(CORPUS, jobs=2)}
    assert found
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@needs_corpus
def test_all_pairs_of_the_corpus_can_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    times = []
    for folder in sorted((CORPUS / "pairs").iterdir()):
        old, new = (parse((folder / name).read_text("utf-8", "replace")) for name in ("before.md", "after.md"))
        start = perf_counter()
        found = diff(old, new)
        times.append((perf_counter() - start) * 1000)
        check_rebuilt_pages(found, old, new)
        assert not found.is_empty
        assert found.size.words_after == diff(new, new).size.words_before
    with capsys.disabled():
        print(f"\n{len(times)} pairs: median {statistics.median(times):.1f} ms, most {max(times):.1f} ms")
