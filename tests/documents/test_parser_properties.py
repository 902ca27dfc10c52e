"""Properties of every page: parsing succeeds, keeps the text, and takes linear time."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Block, Document, plain_text
from octavo.documents.source_reader import IncrementalParse, parse
from octavo.documents.tag_blocks import TagScanner
from tests.documents.expensive_pages import EXPENSIVE_PAGES

FRAGMENTS = [
    *(
        "{% hint %}",
        "{% endhint %}",
        "{% tabs %}",
        '{% tab title="t" %}',
        "{% endtab %}",
        "{% endtabs %}",
        "{% code %}",
    ),
    *(
        "{% endcode %}",
        "{% step %}",
        '{% embed url="u" %}',
        "{% endembed %}",
        "{% if a %}",
        "{% else %}",
        "{% endif %}",
    ),
    *("{% x", '{% @a/b c="d\n"e" %}', "{%", "%}", "{% column %}", "<details>", "<summary>", "</summary>", "</details>"),
    *(
        "<table><tr><td>",
        "</td></tr></table>",
        "<p>",
        "</p>",
        "<div>",
        "</div>",
        "<figure>",
        "</figure>",
        "<pre><code>",
    ),
    *("</code></pre>", "<a href='", "<!--", "-->", "<br>", "<strong>", "</strong>", "<h2>", "</h2>", "<ul><li>"),
    *(
        "\n",
        "\n\n",
        "\n\n",
        "  ",
        "    ",
        "* ",
        "1. ",
        "> ",
        "# ",
        "## ",
        "```\n",
        "~~~\n",
        "$$",
        "$$\n",
        "|",
        "|-|-|\n",
    ),
    *(
        "**",
        "*",
        "`",
        "~~",
        "[",
        "](",
        ")",
        "![",
        "[^1]",
        "[^1]: ",
        ":rocket:",
        "https://a.b/",
        "\\",
        "&#x20;",
        "---\n",
    ),
    *("<<<<<<< main\n", "=======\n", ">>>>>>> #1\n", "{#id}", "\u202e", "\x1b", "é", "漢"),
]
pages = st.lists(st.sampled_from(FRAGMENTS) | st.from_regex(r"w[a-z]{3,6}", fullmatch=True), max_size=60).map("".join)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(pages)
@example("{% column %}{% hint %}{% column %}")
@example('{% swagger method="get" path="/a" summary="what\tit\ndoes" %}\n{% endswagger %}\n')
@example('{%{% x{% @a/b c="d\n"e" %}')
@example('{% prompt description="a\tb" %}\n```\nx\n```\n{% endprompt %}\n\n![a\nb](c "d\ne")\n')
@example('{% update date="a\nb" tags="c\td" %}\nx\n{% endupdate %}\n<img alt="a\n b\tc" src="d">\n')
def test_any_page_is_parsed(page: str) -> None:
    document = parse(page)
    count = document.source.count("\n") + 1
    keys = [block.key for block in document.walk()]
    assert len(keys) == len(set(keys))
    for block in document.walk():
        first, last = block.lines
        assert 0 <= first < last <= count
        assert not (block.runs and block.text)
        assert not [said for said in _single_line_texts(block) if re.search(r"[\n\t]", said)]
    assert all(0 <= diagnostic.line < count for diagnostic in document.diagnostics)
    assert not any("\x1b" in run.text or "\u202e" in run.text for block in document.walk() for run in block.runs)


def _single_line_texts(block: Block) -> Iterator[str]:
    """Yield the texts of a block that may not contain line breaks or tabs."""
    for value in block.attrs.values():
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, str))
    yield from (run.text.replace("\t", " ") for run in block.runs if run.kind != "break")


@settings(max_examples=150)
@given(pages)
def test_parsing_twice_gives_equal_pages(page: str) -> None:
    assert parse(page) == parse(page)


SAFE = [
    piece for piece in FRAGMENTS if not re.search(r"<!--|-->|href|\]|\[|---|<details|<table|\||{% x|@a|{%$|%}$", piece)
]
wordy = st.lists(st.sampled_from(SAFE) | st.from_regex(r"\nw[a-z]{3,6}\n", fullmatch=True), max_size=40).map("".join)


@settings(max_examples=150)
@given(wordy)
def test_parsing_keeps_every_word(page: str) -> None:
    wanted = Counter(re.findall(r"\bw[a-z]{3,6}\b", page))
    found = Counter(re.findall(r"w[a-z]{3,6}", _all_text(parse(page))))
    assert not wanted - found


def _all_text(document: Document) -> str:
    parts = [document.front_matter]
    for block in document.walk():
        parts += [
            block.text,
            *(run.text + str(dict(run.attrs)) + str(run.link) for run in block.runs),
            str(block.attrs),
        ]
    return " ".join(parts)


TAGGED = st.text(alphabet="{%}- \n=\"'“”ab@/_\\\\&", max_size=80)


@given(TAGGED | st.text(max_size=40), TAGGED | st.text(max_size=40))
def test_any_tag_is_scanned(before: str, text: str) -> None:
    source = before + "{% x " + text
    tag = TagScanner(source).tag_at(len(before))
    if tag is not None:
        written = source[len(before) : tag.end]
        assert written.startswith("{% x")
        assert written.endswith("%}")
        assert tag.name.startswith("x")
        # A tag consists of its name, its raw attributes and white space only.
        assert written.removesuffix("%}").rstrip("-").removeprefix("{% ").removeprefix(tag.name).strip(" \n-") == (
            tag.raw.strip(" \n-")
        )


@given(TAGGED)
def test_text_around_possible_tags_is_kept(text: str) -> None:
    said = _all_text(parse(f"first\n\n{{% x {text}\n\nlast"))
    assert "first" in said
    assert "last" in said


VALUES = st.text(alphabet="ab %}{\n=/'()", max_size=20).filter(
    lambda value: "=" not in value and not re.search(r"\n|\{%", value.partition("%}")[2])
)
"""Values of attributes. After a `%}` in a value, no line break or tag follows: an unclosed quote would end there."""


@given(st.dictionaries(st.sampled_from(["a", "b-c", "d:e", "f_g"]), VALUES, max_size=3), st.sampled_from(["", "-"]))
def test_tag_ends_after_its_last_value(values: dict[str, str], dash: str) -> None:
    written = " ".join(f'{name}="{value}"' for name, value in values.items())
    source = f"{{%{dash} x {written} {dash}%}} after %}}"
    tag = TagScanner(source).tag_at(0)
    assert tag is not None
    assert source[tag.end :] == " after %}"
    assert tag.arguments == values


@given(st.lists(st.sampled_from(['"w"', "(w)", '["w"]', "w", "\n\n", "``` w", "%% w"]), max_size=8))
def test_tag_values_can_contain_quotes(parts: list[str]) -> None:
    value = "graph " + " ".join(parts) + " ."
    tag = TagScanner(f'{{% @a/b content="{value}" url="u" %}} after').tag_at(0)
    assert tag is not None
    assert tag.arguments == {"content": value, "url": "u"}


@settings(max_examples=200)
@given(pages)
def test_page_parsed_in_slices_is_the_same(page: str) -> None:
    assert parse_in_slices(page, 20) == parse_in_slices(page, 1_000_000)


def parse_in_slices(page: str, stretch: int) -> Document:
    """Return the page, parsed in slices of this length."""
    reading = IncrementalParse(page, stretch)
    blocks = list(reading.read())
    assert all(now is then for now, then in zip(reading.document.blocks, blocks, strict=True))
    return reading.document


ALWAYS = {"open tags", "tags without end", "tags in text", "quotes within quotes", "lists within lists", "brackets"}
ALWAYS |= {"stars", "open elements", "cells", "wide table", "spaces"}
ALWAYS |= {"items", "escaped brackets", "html spans", "surplus cells"}


@pytest.mark.before_release(
    "cells",
    "items",
    "open elements",
    "quotes within quotes",
    "spaces",
    "surplus cells",
    "tags in text",
    "tags without end",
)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=() if name in ALWAYS else pytest.mark.long)
        for name, page in EXPENSIVE_PAGES.items()
    ],
)
def test_parsing_takes_linear_work(page: Callable[[int], str]) -> None:
    small, large = page(300), page(1200)
    growth = len(large) / len(small)
    assert _calls(large) <= 1.5 * growth * _calls(small) + 5000
    # Work inside of the regular expression engine is not counted: the test times out on this large page
    # if the engine does not take linear time.
    huge = page(1 + 80_000 * 100 // len(page(100)))
    parse(huge)


def test_tag_with_a_distant_end_is_text() -> None:
    document = parse('{% x a="\n' * 20_000 + "%}")
    assert any("is not closed" in diagnostic.message for diagnostic in document.diagnostics)


NESTS: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: "> " * n + "deep",
    "lists": lambda n: "".join("  " * i + "* a\n" for i in range(n)) + "  " * n + "deep",
    "lists and quotes": lambda n: "* > " * n + "deep",
    "links": lambda n: "[" * n + "deep" + "](b)" * n,
    "images": lambda n: "![" * n + "deep" + "](b)" * n,
    "emphasis": lambda n: "**a _b " * n + "deep" + " b_ a**" * n,
    "elements": lambda n: "<b>" * n + "deep" + "</b>" * n,
    "divisions": lambda n: "<div>\n\n" * n + "deep\n\n" + "</div>\n\n" * n,
    "tables": lambda n: "<table><tr><td>" * n + "deep" + "</td></tr></table>" * n,
    "tags": lambda n: "{% hint %}\n" * n + "deep\n" + "{% endhint %}\n" * n,
    "tags in lists": lambda n: "".join("  " * i + "* {% hint %}\n" for i in range(n)) + "  " * n + "deep",
    "footnotes": lambda n: "[^a]\n\n" + "[^a]: " * n + "deep",
}


@pytest.mark.parametrize("page", NESTS.values(), ids=NESTS.keys())
def test_deeply_nested_text_is_kept(page: Callable[[int], str]) -> None:
    for depth in (30, 34, 45, 300):
        assert any(
            "deep" in (block.text or plain_text(block.runs) or str(block.attrs)) for block in parse(page(depth)).walk()
        )


@pytest.mark.before_release("items")
@pytest.mark.parametrize(
    "page",
    [
        "".join(f"* word{number}\n" for number in range(20_000)),
        "".join(f"{{% hint %}}\nword{number}\n{{% endhint %}}\n" for number in range(20_000)),
        " ".join(f"*word{number}*" for number in range(20_000)),
        "".join(f"<td>word{number}</td>" for number in range(20_000)).join(("<table><tr>", "</tr></table>")),
    ],
    ids=["items", "tags", "marks", "cells"],
)
def test_content_beyond_a_limit_is_shown_as_source(page: str) -> None:
    document = parse(page)
    assert any("shown as source" in each.message for each in document.diagnostics)
    found = set(re.findall(r"word\d+", "\n".join(block.plain() for block in document.blocks)))
    assert len(found) == 20_000


def _calls(page: str) -> int:
    count = 0

    def counting(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    parse("warm")
    sys.setprofile(counting)
    try:
        parse(page)
    finally:
        sys.setprofile(None)
    return count
