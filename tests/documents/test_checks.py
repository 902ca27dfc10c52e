"""Checks of pages: source positions, references, and rules for a single page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.anchors import match_anchor
from octavo.documents.blocks import sanitize
from octavo.documents.checks.findings import FileRange, Finding, LocationFinder, matches_path, read_page
from octavo.documents.checks.references import CheckedFolder, LazyPages
from octavo.documents.source_reader import parse


def found_url(text: str, url: str) -> list[str]:
    source = parse(text).source
    places = LocationFinder(source, text)
    return [source[start:end] for start, end in places.find_url(url, (0, source.count("\n") + 1))]


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        ("[a](b.md)", "b.md", ["b.md"]),
        ("b.md [a](b.md 'b.md') [c](b.md)", "b.md", ["b.md", "b.md"]),
        ("[a](<b c.md>)", "b c.md", ["b c.md"]),
        (r"![](a\_b.png)", "a_b.png", [r"a\_b.png"]),
        ('<img src="a&#x26;b.png">', "a&b.png", ["a&#x26;b.png"]),
        ('{% content-ref url="b.md" %}\n[b.md](b.md)\n{% endcontent-ref %}', "b.md", ["b.md"]),
        ("[a][x]\n\n[x]: <b.md>", "b.md", ["b.md"]),
        ("[a](abc.md)", "b.md", []),
        ("[a](b.md)", "", []),
        ("[a](b.md)", "b" * 3000, []),
    ],
)
def test_url_is_found_as_the_source_writes_it(text: str, url: str, expected: list[str]) -> None:
    assert found_url(text, url) == expected


def test_label_without_its_url_in_the_lines_is_found_at_its_definition() -> None:
    source = "see [a][x]\n\n[x]: b.md\n"
    assert LocationFinder(source, source).find_url("b.md", (0, 1)) == [(17, 21)]


@given(st.text(alphabet="ab\u200b\u00ad🎉é\x1b\t", max_size=12), st.text(alphabet="cd\u200b ", max_size=6))
def test_columns_count_the_characters_of_the_file(before: str, after: str) -> None:
    text = f"first\n{before}[X](gone.md){after}"
    source = sanitize(text)
    start = source.index("gone.md")
    place = LocationFinder(source, text).location(start, start + len("gone.md"))
    line = text.split("\n")[place.line - 1]
    assert line[place.column - 1 : place.end_column - 1] == "gone.md"


def test_unusual_line_separators_do_not_move_lines() -> None:
    text = "a\u2028b\n\n[x](gone.md)"
    (found,) = _findings({"a.md": text})
    assert (found.rule, found.words) == ("link", "gone.md")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("{% tabs %}\n{% tab title=\"a\" %}\nx\n{% tab title=\"b\" %}\ny\n{% endtab %}\n{% endtabs %}", (2, 1)),
        ("* a\n\n  {% hint %}\n  x\n\nafter", (3, 3)),
        ("{% endhint %}", (1, 1)),
        ("text {% endhint %} more", (1, 6)),
        ("<details>\n\nx", (1, 1)),
        ("{% else %}", (1, 1)),
        ("{% tab title=\"a\" %}\nx\n{% endtab %}\n", (1, 1)),
    ],
)  # fmt: skip
def test_tag_without_a_partner_is_found_at_its_line(page: str, expected: tuple[int, int]) -> None:
    found = [each for each in read_page("a.md", page).findings if each.rule == "unclosed-tag"]
    assert expected in [(each.location.line, each.location.column) for each in found]
    assert all(each.block_key == "" and not each.message.endswith(".") for each in found)


@pytest.mark.parametrize(
    "page",
    [
        "{% hint %}\nx\n{% endhint %}",
        "{% embed url=\"https://a.b\" %}",
        "{% file src=\"a.pdf\" %}",
        "{% raw %}{{ x }}{% endraw %}",
        "{% if a %}\nx\n{% else %}\ny\n{% endif %}",
        "```\n{% hint %}\n```",
        "`{% hint %}`",
        "<div>\n\nx\n\n</div>",
        "{% @mermaid/diagram content=\"a\" %}",
        "{{% tabs %}}\n\nx {{% hint %}}",
    ],
)  # fmt: skip
def test_closed_tags_and_code_are_no_findings(page: str) -> None:
    assert read_page("a.md", page).findings == ()


@pytest.mark.parametrize(
    ("yaml", "message", "place"),
    [
        ("title: [a", "the front matter is not valid YAML: ", FileRange(2, 8, 2, 10)),
        ("a: 1\na: 2", "the front matter is not valid YAML: a is set twice", FileRange(3, 1, 3, 5)),
        ("hidden: 'yes'", "hidden must be true or false", FileRange(2, 1, 2, 14)),
        ("description:\n  a: b", "description must be text", FileRange(2, 1, 2, 13)),
        ("layout: wide", "layout must be a section", FileRange(2, 1, 2, 13)),
    ],
)
def test_wrong_front_matter_is_found(yaml: str, message: str, place: FileRange) -> None:
    (found,) = [
        each for each in read_page("a.md", f"---\n{yaml}\n---\n\n# A\n").findings if each.rule == "front-matter"
    ]
    assert found.message.startswith(message)
    assert found.location == place


@pytest.mark.parametrize(
    ("path", "pattern", "is_match"),
    [
        ("drafts/a/b.md", "drafts/**", True),
        ("x/drafts/a.md", "drafts/**", False),
        ("x/drafts/a.md", "**/drafts/**", True),
        ("a/b.md", "b.md", True),
        ("a/b.md", "a/*.md", True),
        ("a/b.md", "/a/b.md", True),
        ("ab/c.md", "b/c.md", False),
    ],
)
def test_path_matches_pattern(path: str, pattern: str, is_match: bool) -> None:
    assert matches_path(path, pattern) is is_match


def test_anchor_of_a_heading_ignores_names_in_angle_brackets() -> None:
    assert match_anchor("less-than-buffer-greater-than-section", ["other", "buffer-section"]) == "buffer-section"
    assert match_anchor("a-and-b", ["a-b"]) == "a-b"
    assert match_anchor("less-than-buffer", ["than-buffer"]) is None


@pytest.mark.before_release
def test_hundreds_of_faults_on_a_page_are_all_found() -> None:
    text = "".join(f"[x](gone{number}.md) [x](#a{number}) {{% hint %}}\n\n" for number in range(300))
    found = _findings({"a.md": text})
    assert len([each for each in found if each.rule == "link"]) == 300
    assert len([each for each in found if each.rule == "anchor"]) == 300


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("it's here.png", '<img src=".gitbook/assets/it&#x27;s here.png">'),
        ("it's here.png", "![](<.gitbook/assets/it's here.png>)"),
        ("a & b.png", '<img src=".gitbook/assets/a%20&#x26;%20b.png">'),
        ("a_b (1).png", r"![](.gitbook/assets/a\_b%20\(1\).png)"),
        ("Logo.PNG", "![](.gitbook/assets/logo.png)"),
        ("cafe\u0301.png", "![](.gitbook/assets/caf\u00e9.png)"),
        ("潮" * 80 + ".png", f"![](.gitbook/assets/{quote('潮' * 80)}.png)"),
    ],
    ids=["entity", "apostrophe", "entity in a URL", "escapes", "case", "accents", "long name"],
)
def test_file_is_used_however_its_name_is_written(name: str, url: str) -> None:
    found = _findings({"README.md": url}, files=[f".gitbook/assets/{name}", ".gitbook/assets/spare.png"])
    assert [each.path for each in found if each.rule == "unused-file"] == [".gitbook/assets/spare.png"]


def test_redirect_to_a_page_is_no_loop_because_the_page_comes_first() -> None:
    pages = dict.fromkeys(("a.md", "b/README.md", "README.md"), "# Page")
    redirects = "redirects:\n  a: a.md\n  b: b/README.md\n  c: ./a.md\n  d: e\n  e: d\n  f: f.md\n"
    redirects += "  readme: README.md\n  g: README.md\n  old/g: g.md\n"
    found = _findings(pages, configuration=redirects)
    assert [each.words for each in found if each.rule == "redirect-loop"] == ["d", "e"]
    assert [each.words for each in found if each.rule == "link"] == ["f"]


def test_redirect_whose_target_is_no_text_says_so() -> None:
    found = _findings({"a.md": "# A\n"}, configuration="redirects:\n  b:\n  c: {x: y}\n  d: a.md\n")
    assert [(each.words, each.message) for each in found] == [
        ("b", "the target of the redirect must be text"),
        ("c", "the target of the redirect must be text"),
    ]


def test_page_in_the_same_folder_is_suggested_before_others_with_its_name() -> None:
    links = {"docs/10/a.md": "[b](/docs/b.md) [index](/docs/old/README.md) [a](../8/a.md)"}
    others = ("docs/9/b.md", "docs/10/b.md", "docs/10/README.md", "README.md", "docs/9/a.md")
    found = _findings(links | dict.fromkeys(others, "# Page"))
    assert [each.suggestion for each in found if each.rule == "link"] == ["b.md", None, "../9/a.md"]


def _findings(texts: dict[str, str], **fields: Any) -> list[Finding]:
    """Return the findings of all files of a folder, in the order of paths."""
    folder = CheckedFolder(LazyPages(texts), **fields)
    return [each for path in sorted(folder.paths) for each in folder.findings_in(path)]


class _RecordedTexts(dict[str, str]):
    """Texts by path, with the paths whose texts were taken."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__(texts)
        self.taken: list[str] = []

    def __getitem__(self, path: str) -> str:
        self.taken.append(path)
        return super().__getitem__(path)


def test_file_is_checked_without_reading_pages_it_does_not_link_to() -> None:
    texts = _RecordedTexts({"a.md": "[b](b.md) [c](c.md#gone) [d](d.md)", "b.md": "# B", "c.md": "# C"})
    found = list(CheckedFolder(LazyPages(texts)).findings_in("a.md"))
    assert [each.rule for each in found] == ["anchor", "link"]
    assert texts.taken == ["a.md", "c.md"]
