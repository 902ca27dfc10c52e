"""A page that is parsed in slices equals the page parsed as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.documents.source_reader import IncrementalParse
from tests.documents.test_corpus import CORPUS
from tests.documents.test_parser_properties import parse_in_slices

WHOLE = 10_000_000
PAGES = Path(__file__).parents[1] / "tui" / "reader" / "pages"

FILLING = "A paragraph with [a link](x.md) that is here to take room.\n\n" * 3
APART = {
    "a link before its definition": f"[a] and [b][a]\n\n{FILLING}[a]: /first 'title'\n[a]: /second\n",
    "definitions in containers": f"[a] [b]\n\n{FILLING}> [a]: /quoted\n\n* [b]: /listed\n",
    "no definition in code": f"[a]\n\n{FILLING}```\n[a]: /x\n```\n",
    "no definition in a table": f"[a]\n\n{FILLING}<table>\n\n<tr><td>\n\n[a]: /x\n\n</td></tr></table>\n",
    "footnotes": f"one[^2] two[^1] inline^[of a *kind*]\n\n[^1]: first\n\n{FILLING}more[^2] and [^3]\n\n[^2]: second\n\n"
    "    goes on\n\n[^unused]: never\n",
    "a footnote in a footnote": f"a[^1] b[^2] c[^3]\n\n[^1]: * [^2]: in\n  * more\n\n{FILLING}> [^3]: > [^4]:",
    "footnotes of HTML": f'<p>a<a href="#user-content-fn-1">1</a></p>\n\n{FILLING}[^1]: said\n',
    "a list over blank lines": "* a\n\n" * 40 + "  within\n\n1. b\n\n" + FILLING,
    "code over blank lines": f"```\na\n\n\n{FILLING}```\n\n    indented\n\n    more\n\n{FILLING}",
    "HTML to its end": f"<table>\n\n<tr><td>\n\n{FILLING}</td></tr>\n\n</table>\n\n<pre>\n\n{FILLING}</pre>\n\n{FILLING}",
    "HTML in a list": f"* a\n\n  <table>\n\n  <tr><td>{FILLING}</td></tr></table>\n\n{FILLING}",
    "HTML without an end": f"<figure>\n\n{FILLING}<!-- \n\n{FILLING}",
    "a formula over blank lines": f"$$\na\n\n{FILLING}\nb $$\n\n$$ c\n\n{FILLING}",
    "the end of a formula after a blank line": f"$$\na\n\nb + c + d\n\n$$\n\n{FILLING}",
    "a formula and HTML below a table with loose dashes": f"| a | b |\n|-|\n| c | d |\n$$\na\n\n{FILLING}\nb $$\n\n"
    f"| a | b |\n|-|\n| c | d |\n<table>\n\n{FILLING}\n\n</table>\n\n##a\n\n{FILLING}",
    "a tag over blank lines": f'{{% embed url="a\n\n{FILLING}" %}}\n\n{{% @x/y a="\n\n{FILLING}',
    "tags that may go without an end": f'{{% embed url="a" %}}\n\n{FILLING * 9}{{% embed url="b" %}}\nc\n{{% endembed %}}\n',
    "tags nobody knows": f"{{% what %}}\n\n{FILLING}{{% what %}}\n\n{FILLING}{{% endwhat %}}\n\n{{% that %}}\n{FILLING}",
    "containers that stay open": f"{{% tab title='a' %}}\n\n{FILLING}<details>\n\n{FILLING}{{% endtabs %}}\n\n{FILLING}",
    "the same words": "## Same\n\nSame\n\n" * 30,
    "front matter": f"---\ntitle: T\n---\n\n# H\n\n{FILLING}<<<<<<< main\na\n\n=======\nb\n\n>>>>>>> #1\n{FILLING}",
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("stretch", [1, 60, 400])
def test_distant_definitions_and_closing_tags_are_found(name: str, stretch: int) -> None:
    assert parse_in_slices(APART[name], stretch) == parse_in_slices(APART[name], WHOLE)


def files() -> Iterator[Path]:
    yield from PAGES.glob("*.md")
    if CORPUS.is_dir():
        yield from CORPUS.rglob("*.md")


def test_slice_length_does_not_change_the_page() -> None:
    differing = [
        path
        for path in files()
        if (page := path.read_text("utf-8")) and parse_in_slices(page, 100) != parse_in_slices(page, WHOLE)
    ]
    assert not differing


def test_incremental_parse_yields_first_blocks_early() -> None:
    reading = IncrementalParse("# Title\n\n" + FILLING * 1000)
    blocks = reading.read()
    next(blocks)
    assert reading.document.title == "Title"
    assert len(reading.document.blocks) == 1
    assert not reading.is_done
    assert len(list(blocks)) == 3000
    assert reading.is_done
    assert len(reading.document.blocks) == 3001
