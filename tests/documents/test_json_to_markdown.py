"""JSON documents of other clients keep their text in Markdown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.blocks import Block
from octavo.documents.json_to_markdown import to_markdown
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.source_reader import parse

SAID = """Five *degrees*, **not** four: see [the table](https://sea.example/t) and `x = 1`.

1. one
2. two
   - inside

- [x] done
- [ ] open

> Quoted.

```py
x = "`"

y = 2
```

# Louder

{% hint style="warning" %}
Take care.
{% endhint %}

3\\. is no list, \\# is no heading, \\* is a star, <kbd>ctrl</kbd>+c, ~~gone~~."""


def paragraph(text: str) -> dict[str, Any]:
    """Return a JSON document with one plain paragraph."""
    leaves = [{"object": "leaf", "text": text, "marks": []}]
    block = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": leaves}]}
    return {"object": "document", "nodes": [block]}


def shape(blocks: tuple[Block, ...]) -> list[Any]:
    """Return the kinds and texts of blocks without keys."""
    return [
        (
            each.kind,
            [(run.text, run.link, sorted(run.marks), run.kind) for run in each.runs],
            each.text.strip(),
            shape(each.children),
        )
        for each in blocks
    ]


def test_blocks_are_written_as_markdown() -> None:
    assert shape(parse(to_markdown(to_json_document(SAID))).blocks) == shape(parse(SAID).blocks)


@given(
    st.text(
        st.characters(
            min_codepoint=32,
            max_codepoint=0x2FFF,
            exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Cf", "Mn"],
            exclude_characters="\u115f\u1160",  # Invisible characters: without them the text is empty.
        ),
        min_size=1,
    )
)
def test_markdown_signs_in_text_are_escaped(words: str) -> None:
    document = paragraph(words)
    (block,) = parse(to_markdown(document)).blocks
    assert block.kind == "paragraph"
    assert block.plain().split() == words.split()


def test_spaces_in_marks_do_not_make_tags_of_signs() -> None:
    document = to_json_document("**Example `run` action:** *a `b` c*~~d `e`~~")
    assert to_markdown(document) == "**Example** **`run`** **action:** _a_ _`b`_ <em>c</em><del>d</del> ~~`e`~~"


@pytest.mark.parametrize(
    "hostile",
    [
        {},
        {"nodes": 3},
        {"nodes": [None, 1, "x", {"object": "block", "nodes": [{"object": "text", "leaves": [{"text": 7}]}]}]},
        {"nodes": [{"object": "block", "type": "code", "data": [], "nodes": [{"nodes": 1}]}]},
        {"nodes": [{"object": "block", "type": "list-ordered", "data": {"start": "x"}, "nodes": [{}]}]},
    ],
)
def test_invalid_document_keeps_its_text(hostile: Any) -> None:
    assert isinstance(to_markdown(hostile), str)


def test_deeply_nested_document_is_written() -> None:
    deep: dict[str, Any] = {"object": "block", "type": "blockquote", "nodes": []}
    for _ in range(5000):
        deep = {"object": "block", "type": "blockquote", "nodes": [deep]}
    assert isinstance(to_markdown({"object": "document", "nodes": [deep]}), str)
