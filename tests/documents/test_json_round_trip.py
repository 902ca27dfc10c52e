"""A page has the same content as Markdown, as a JSON document made from that, and as Markdown made from the JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octavo.documents.blocks import Block, Run, TableColumn
from octavo.documents.emoji import from_name
from octavo.documents.json_document import read_document
from octavo.documents.json_to_markdown import to_markdown
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse
from tests.documents.block_model import KINDS, MARKS, RUNS
from tests.documents.json_pages import PAIRS
from tests.documents.test_markdown_notations import CASES

FURTHER = {
    "heading levels": '##### Five\n\n###### Six **bold** ##\n\n<h4 align="right" id="own">Four</h4>'
    '\n\n## A <a id="a-2024"></a>',
    "paragraphs": '<p dir="rtl">שלום</p>\n\n<p align="right">a <u>b</u><br>c</p>\n\nA line\\\n1. no list\\\n# no heading\\\n\\##none\\\n- no item',
    "loose list": "* a\n\n  b\n\n* c\n\n- other\n- list\n\n3. x\n\n4. y\n\n   ```\n   code\n   ```",
    "tasks in lists": "1. [x] a\n2. [ ] b\n\n* [ ] c\n* d",
    "code": '{% code title="a \\"b\\" c" overflow="scroll" lineNumbers="false" fullWidth="true" %}\n````md\n```\n| a |\n\n````\n{% endcode %}\n\n```\n```',
    "annotated code": '<pre class="language-js" data-title="t" data-full-width="true"><code class="lang-js">a\n'
    '<strong>b &#x3C; <a data-footnote-ref href="#user-content-fn-1">c</a>\n</strong>d</code></pre>\n\n[^1]: note',
    "table": '<table data-full-width="true" data-header-sticky data-search="true"><thead><tr><th>A <strong>b</strong></th><th align="center"></th></tr>'
    '<tr><th>second</th><th>head</th></tr></thead><tbody><tr><td colspan="2" rowspan="3">x<br>y</td></tr>'
    '<tr><td><code>a | b</code></td><td><a href="/pages/p">z</a></td></tr></tbody></table>',
    "pipes": "| `a \\| b` | <br> | :rocket: |\n| :-- | --: | --- |\n| $$x$$ | ![i](a.png) | **b**c |\n| | x |",
    "empty head": "| | |\n| - | - |\n| a | b |",
    "cards": '<table data-view="cards" data-full-width="true"><thead><tr><th></th><th data-hidden data-card-cover-dark data-type="image">D</th>'
    '<th data-hidden data-card-target data-type="content-ref"></th></tr></thead><tbody><tr><td><strong>One</strong></td><td><a href="d.png">d.png</a></td>'
    "<td></td></tr></tbody></table>",
    "figure": '<div data-full-width="true" align="center">'
    '<figure><a href="https://a.example"><img src="a.png" alt="A &quot;b&quot;" width="50%" height="20"'
    ' title="t" data-size="line"></a><figcaption><p>c <em>d</em></p></figcaption></figure> <figure><img src="b.png" alt=""></figure></div>',
    "inline images": 'x <picture><source srcset="d.png" media="(prefers-color-scheme: dark)"><img src="a (1).png" alt="i" width="1" height="2" title="t"></picture>'
    ' [![l](<b c.png>)](https://a.example) z ![t](u.png "v w")',
    "embed": '{% embed url="https://a.example" fullWidth="true" %}\nThe *caption*\n{% endembed %}\n\n<iframe src="https://a.example/v"></iframe>',
    "openapi": '{% openapi-operation spec="s" path="/p" method="get" fullWidth="true" expanded="false" %}\n[words](https://a.example)\n{% endopenapi-operation %}',
    "condition": "{% if a == 1 %}\none\n{% elseif b %}\ntwo\n{% else %}\nthree\n{% endif %}",
    "button": '<button class="button primary" data-action="ask" data-query="q" data-icon="bolt" disabled>Ask</button> b',
    "color": '<a data-footnote-ref href="#user-content-fn-1"><mark style="color:red;">a</mark></a>\n\n[^1]: b',
    "footnotes": "a[^1] b[^note] c[^1]\n\n[^1]: one\n\n    more\n\n[^note]: two[^1]\n\n[^unused]: three",
    "include": '{% include "x.md" %}\n\nShared words.\n\n{% endinclude %}',
    "marks": "**a**b ***c*** **d *e*** ~~f~~ `` g`h `` <u>i</u> **`j`** <mark>k</mark> *l*m **(n)**. **o.**p [**q** r](s.md) **[t](u.md)** x<sup>*y*</sup>",
    "linked signs": '[:rocket:](a.md) [<i class="fa-bolt"></i>](b.md) [`c`](d.md) **:rocket:** *$$x$$* [](e.md) [f](<g h.md>) <https://i.example>',
    "emoji": ":1234: :bee: :ab: :8ball: :thumbsup_tone2: 🚀 a:b:c",
    "emoji in HTML": '<p align="right">:bee: a</p>\n\n<details>\n\n<summary>:white_check_mark: b</summary>\n\nc\n\n'
    '</details>\n\n<table data-search="true"><thead><tr><th>:bee:</th></tr></thead>'
    "<tbody><tr><td>d <em>:heart: e</em></td></tr></tbody></table>",
    "next to others": "a<b></b>:bee:<b></b>b `a`<b></b>`b*c*` Great!<b></b>[d](e.md)",
    "languages": "```&\n```\n\n~~~`\n~~~\n\n```c++ more\nx\n```",
    "slug": '{% tabs %}\n{% tab title="A" slug="own" %}\nx\n{% endtab %}\n{% endtabs %}',
    "narrow column": '{% columns %}\n{% column width="0.5%" %}\na\n{% endcolumn %}\n{% column width="33.33%" %}\nb\n{% endcolumn %}\n{% endcolumns %}',
    "unknown": '{% widget bare size="3" say="a &quot;b&quot; %}" %}\ninside\n{% endwidget %}\n\n{% image name="x" %}',
    "signs": "\\*a\\* \\_b\\_ \\`c\\` \\[d] \\<e> \\{% f %} &amp;lt; \\$\\$g\\$\\$ \\~\\~h~~ a_b c*d 2\\. x | y ^z",
    "formulas in HTML": '<details>\n\n<summary>a <span class="math">x &lt; y^2</span></summary>\n\nb\n\n</details>\n\n'
    '<table data-search="true"><thead><tr><th><span class="math">z_1</span></th></tr></thead>'
    '<tbody><tr><td><em>c</em> <span class="math">\\frac{d}{e}</span></td></tr></tbody></table>\n\n'
    '<figure><img src="a.png" alt=""><figcaption><p><span class="math">f</span></p></figcaption></figure>',
    "colors": '<mark style="color:blue;">`a`</mark> <mark style="color:red;background-color:$info;">**`b`**</mark> '
    '<span style="color:#DE413A">c</span>\n\n<p align="right"><span style="background-color:red">d</span> '
    '<mark style="color:blue;"><code>e</code></mark></p>',
    "text as cover": '<table data-view="cards"><thead><tr><th data-card-cover></th>'
    "<th data-hidden data-card-target></th></tr></thead>"
    "<tbody><tr><td>a <strong>b</strong></td><td>c</td></tr></tbody></table>",
    "references": "[a](/pages/p#) [b](/files/f#x) [c](/reusable-content/r) [d](#x) [e](/pages/p.md) [f](mailto:a@b.example) [g](/spaces/s/pages/p)",
}
"""Pages with rare attributes and content that is easily lost."""
PAGES = {path.stem: path.read_text() for path in sorted((Path(__file__).parents[1] / "tui/reader/pages").glob("*.md"))}
ALL = (
    {f"{name}, in JSON": text for name, text, _ in PAIRS}
    | {f"{name}, of a tag": text for name, (text, _) in CASES.items()}
    | {f"{name}, a page": text for name, text in PAGES.items()}
    | FURTHER
)
UNWRITTEN = {("code", "source")}
"""Kinds of blocks for content that is too large or too deep."""


def letters_with_marks(runs: Iterable[Run]) -> list[Any]:
    """Return each letter with its marks, link and attributes. Marks of spaces are ignored, since they are invisible."""
    found: list[Any] = []
    for run in runs:
        attrs = sorted((name, value) for name, value in run.attrs.items() if value not in (None, "", False))
        if run.kind in ("text", "code"):
            marks = sorted({*run.marks, *(["code"] if run.kind == "code" else [])})
            letter = [(each, run.link) if each.isspace() else (each, run.link, marks, attrs) for each in run.text]
            found += ["\n" if each[0] == "\n" else each for each in letter]
        elif run.kind == "break":
            found.append("\n")
        elif run.kind == "emoji" and from_name(str(run.attrs["code"])) == run.text:
            found.append(
                (
                    run.kind,
                    run.text,
                    run.link,
                    sorted(run.marks),
                    [("code", "-".join(f"{ord(each):x}" for each in run.text))],
                )
            )
        else:
            found.append((run.kind, run.text, run.link, sorted(run.marks), attrs))
    return found


def comparable(value: Any) -> Any:
    """Return the value of an attribute in a form that can be compared."""
    if isinstance(value, tuple):
        if isinstance(value, TableColumn):
            align = None if value.align == "left" else value.align
            return [letters_with_marks(value.title), *value._replace(align=align, options=dict(value.options))[1:]]
        return [comparable(each) for each in value]
    return dict(value) if hasattr(value, "items") else value


def normalized(block: Block) -> Any:
    """Return the content of a block without its lines and keys, and without empty cells at the end of rows."""
    attrs = {name: comparable(value) for name, value in block.attrs.items() if value not in (None, "", False, ())}
    if block.kind != "figure" and attrs.get("align") == "left":
        del attrs["align"]
    if block.kind == "list":
        bare = all(
            [(each.kind, len(each.attrs)) for each in item.children] == [("paragraph", 0)] for item in block.children
        )
        if not bare or len(block.children) < 2:
            attrs.pop("tight", None)  # Other content in the items determines the spacing.
    inner = [normalized(child) for child in block.children if child.kind != "footnotes"]
    while block.kind in ("row", "card") and inner and inner[-1] == ["cell", {}, [], "", []]:
        inner.pop()
    return [block.kind, attrs, letters_with_marks(block.runs), block.text, inner]


def page_content(blocks: Iterable[Block]) -> list[Any]:
    """Return the content of a page. Footnotes are moved to its end."""
    blocks = tuple(blocks)
    notes = [note for block in blocks for each in block.walk() if each.kind == "footnotes" for note in each.children]
    ordered = sorted(notes, key=lambda note: str(note.attrs["label"]))
    return [normalized(block) for block in blocks if block.kind != "footnotes"] + [normalized(note) for note in ordered]


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_json_keeps_the_whole_page(text: str) -> None:
    assert page_content(read_document(to_json_document(text)).blocks) == page_content(parse(text).blocks)


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_markdown_from_json_keeps_the_whole_page(text: str) -> None:
    assert page_content(parse(to_markdown(to_json_document(text))).blocks) == page_content(parse(text).blocks)


def test_round_trip_covers_all_kinds_and_attributes() -> None:
    tried: set[tuple[str, ...]] = set()
    for text in ALL.values():
        for block in parse(text).walk():
            tried |= {(block.kind,)} | {
                (block.kind, name) for name, value in block.attrs.items() if value not in (None, "", ())
            }
            for run in block.runs:
                tried |= {(f"run {run.kind}",)} | {(f"run {run.kind}", name) for name in run.attrs}
                tried |= {("mark", mark) for mark in run.marks}
    wanted = {(kind,) for kind in KINDS} | {(kind, name) for kind, names in KINDS.items() for name in names}
    wanted |= {(f"run {kind}",) for kind in RUNS} | {
        (f"run {kind}", name) for kind, names in RUNS.items() for name in names
    }
    wanted |= {("mark", mark) for mark in MARKS}
    assert wanted - tried == UNWRITTEN


def _inside(text: str, where: str) -> str:
    """Return the text inside a container."""
    lines = text.split("\n")
    match where:
        case "item":
            return "\n".join(
                (f"  {line}" if number else f"* {line}") if line else "" for number, line in enumerate(lines)
            )
        case "quote":
            return "\n".join(f"> {line}" for line in lines)
        case "expandable":
            return f"<details>\n\n<summary>More</summary>\n\n{text}\n\n</details>"
        case "tab":
            return f'{{% tabs %}}\n{{% tab title="T" %}}\n{text}\n{{% endtab %}}\n{{% endtabs %}}'
    return f"{{% {where} %}}\n{text}\n{{% end{where} %}}"


SHORT = [text for text in ALL.values() if len(text) < 1500]
texts = st.recursive(
    st.sampled_from(SHORT),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("\n\n".join)
        | st.builds(_inside, inner, st.sampled_from(["item", "quote", "expandable", "tab", "hint"]))
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@example('* <p align="center">a</p>\n\n  > a\n\n  > b')
@example('* <iframe src="https://a.b"></iframe>\n\n  9. a')
@example("* * -\n    - a\n\n    b\n\n* c")
@given(texts)
def test_random_pages_survive_the_round_trip(text: str) -> None:
    document = to_json_document(text)
    said = page_content(parse(text).blocks)
    assert page_content(read_document(document).blocks) == said
    assert page_content(parse(to_markdown(document)).blocks) == said


@settings(max_examples=200, deadline=None)
@example("[1](<\\>>) and [2](<a\\<b>)")
@example("[1](>)")
@example("\\:ab: \\:a_b: \\:+1:\n\\:1: a **** b")
@given(st.text(alphabet="ab 1*_`#>-\n|[]()!$:{}%<>/\\.~^&;", max_size=80))
def test_random_markdown_survives_the_round_trip(text: str) -> None:
    document = to_json_document(text)
    said = page_content(parse(text).blocks)
    assert page_content(read_document(document).blocks) == said
    assert page_content(parse(to_markdown(document)).blocks) == said
