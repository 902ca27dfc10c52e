"""The sections of a page for full-text search."""

from __future__ import annotations

import pytest

from octavo.api.folding import mentioned_urls, with_titles
from octavo.documents.sections import MAX_SECTION_LENGTH, split_sections


def test_sections_have_the_headings_of_the_page() -> None:
    text = (
        "---\ndescription: not words\n---\n# Harbour\n\nBoats.\n\n## Fees {#x}\n\n```sh\n# no heading\ncost\n```\n\n"
        '### <a id="own"></a>By day\n\n* [ ] one\n> two\n\n##Fees\n\nUnder\n=====\n\n{% tab title="Python" %}\n'
        '[Read *this*](/there "x") and ![a map](map.png) &amp; `go`\n\n| a | b |\n|---|---|\n| c | d |\n'
    )
    found = [(each.headings, each.anchor, each.text) for each in split_sections(text, "Harbour")]
    assert found == [
        ((), "", "Boats."),
        (("Fees",), "x", "# no heading\ncost"),
        (("Fees", "By day"), "own", "one\ntwo"),
        (("Fees",), "fees", ""),
        (("Under",), "under", "Python\nRead this and a map & go\na\nb\nc\nd"),
    ]


def test_words_beside_small_signs_are_whole() -> None:
    words = '<a data-footnote-ref href="#user-content-fn-2">the quay</a>'
    text = f"Octavo[^1] and Octavo<sup>TM</sup> on {words}.\n\n[^1]: A program"
    (only,) = split_sections(text, "T")
    assert only.text.split() == ["Octavo", "and", "Octavo", "TM", "on", "the", "quay.", "A", "program"]


def test_block_links_are_indexed_by_title_and_own_words() -> None:
    for text, url in (("two.md", "two.md"), ("Second", "two.md"), ("Elsewhere", "https://a.example/b")):
        (only,) = split_sections(f'{{% content-ref url="{url}" %}}\n[{text}]({url})\n{{% endcontent-ref %}}', "T")
        assert with_titles(only.text, {"two.md": "Two"}.get)[0] == "\n".join(
            [*["Two"] * ("://" not in url), *[text] * (text != url)]
        )


def test_text_of_diagrams_has_labels_and_no_syntax() -> None:
    text = (
        "```mermaid\nflowchart LR\n  A[Open the sluice] -->|then| B{{Is it high?}}\n  style A fill:#f9f\n```\n\n"
        '{% @mermaid/diagram content="sequenceDiagram\n  Anna->>Ben: Lower the bridge\n" %}\n\n'
        '{% @mermaid/diagram content="graph TB\\n a[One] --> b" %}\n\n```mermaids\nx[y]\n```\nEnd.'
    )
    (only,) = split_sections(text, "T")
    assert only.text.split("\n")[:5] == [
        "Open the sluice then Is it high?",
        "Lower the bridge",
        "One",
        "x[y]",
        "End.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '[/pages/p2](/pages/p2 "mention")',
        '[overview.md](/pages/p2 "mention")',
        '[p2](</pages/p2> "mention")',
        '<a data-mention href="/pages/p2">/pages/p2</a>',
        '<a href="/pages/p2" data-mention>overview</a>',
        "[/pages/p2](/pages/p2)",
    ],
)
def test_mentioned_pages_are_indexed_by_title(text: str) -> None:
    (only,) = split_sections(f"See {text} first.", "T")
    assert list(mentioned_urls(only.text)) == ["/pages/p2"]
    assert with_titles(only.text, {"/pages/p2": "Overview"}.get)[0] == "See Overview first."


def test_links_are_indexed_by_their_text() -> None:
    (only,) = split_sections("[a.example](https://a.example) [Setup](setup.md) ![x.png](x.png) [b](<c.md>)", "T")
    assert only.text == "a.example Setup x.png b"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("[[source]](https://a.example/tree/main)", "[source]"),
        ("[a [b] c](d.md)", "a [b] c"),
        ("[![A crane](img/crane.png)](https://a.example/cranes)", "A crane"),
        ('![Low tide](<../.gitbook/assets/low tide.png> "t")', "t\nLow tide"),
        ("![Low tide](low tide (1).png)", "Low tide"),
        ("[a](u_(1).md) b", "a b"),
        ('{% openapi src="a.json" path="/boats/{id}" method="get" %} c {% endopenapi %}', "/boats/{id}\nc"),
    ],
)
def test_url_of_a_link_is_left_out(link: str, words: str) -> None:
    (only,) = split_sections(link, "T")
    assert only.text == words


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("`Bearer <token>` or <b>a</b>", "Bearer <token> or a"),
        (r"Call it \<ModName>, <i>not</i> \{% x %}", "Call it <ModName>, not {% x %}"),
        ('{% swagger-parameter in="path" name="vessel" %}<a name="top"></a>', "vessel"),
    ],
)
def test_text_that_looks_like_a_tag_is_kept(line: str, text: str) -> None:
    (only,) = split_sections(line, "T")
    assert only.text == text


def test_code_in_list_items_is_no_text() -> None:
    text = (
        "1. ```\n   # one\n   ```\n2. ```\n   # two\n   ```\n\n# Next\n\n* > ~~~\n  > # three\n  > ~~~\n\n# Last\n\nend"
    )
    found = [(each.headings, each.text) for each in split_sections(text, "T")]
    assert found == [((), "# one\n# two"), (("Next",), "# three"), (("Last",), "end")]


def test_decoded_entities_are_sanitized() -> None:
    (only,) = split_sections("one &#27;[31m two &#x202e; <b onclick='x'>three</b>", "T")
    assert only.text == "one \ufffd[31m two three" or ("\x1b" not in only.text and "\u202e" not in only.text)


def test_long_section_is_split() -> None:
    _, *found = split_sections("## A\n\n" + "word and word\n" * 2000, "T")
    assert len(found) > 4
    assert max(len(each.text) for each in found) <= MAX_SECTION_LENGTH
    assert {each.headings for each in found} == {("A",)}
    assert sum(each.text.count("word") for each in found) == 4000


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 50_000, "<" * 50_000, "{%" * 50_000, "*`~" * 30_000, "![](" * 20_000, "> " * 50_000, "- " * 50_000),
        *("#" * 20_000, "\n" * 90_000, "=\n" * 10_000, "a\n=\n" * 6_000, "```\n" * 6_000, "&" * 90_000),
        # Four times or more as long, and slow because of their many headings and blocks.
        *(pytest.param(text, marks=pytest.mark.long) for text in ("#" * 90_000, "=\n" * 50_000, "a\n=\n" * 30_000)),
        pytest.param("```\n" * 30_000, marks=pytest.mark.long),
    ],
)
def test_hostile_text_is_split_without_backtracking(text: str) -> None:
    list(split_sections(text, "T"))
